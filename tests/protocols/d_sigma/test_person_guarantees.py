"""Guarantees of each person: the bound on naming a report, and the distribution of central epsilon."""

import itertools
import math

import numpy as np
import pytest

from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.protocols.d_sigma.laws.common_answers import common_answer_epsilon
from shuffledp.protocols.d_sigma.laws.naming_tails import naming_tail
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.planning.households import household_odds
from shuffledp.protocols.d_sigma.planning.person_guarantees import (
    central_epsilons_by_rank,
    common_epsilons_by_rank,
    household_chances_by_rank,
    naming_chances_by_rank,
)
from shuffledp.protocols.d_sigma.shufflers.mallows import MallowsShuffler
from shuffledp.protocols.d_sigma.shufflers.noisy_sort import NoisySortShuffler
from shuffledp.randomizers import KaryRandomizedResponse

LINE = Groups.from_radius([0, 1, 2, 3, 4, 5, 6, 20, 21, 22, 40], 2)
SHUFFLERS = {
    "mallows": lambda: MallowsShuffler(groups=LINE, alpha=3.0),
    "one concentration": lambda: MallowsShuffler(groups=LINE, alpha=3.0, per_block=False),
    "sort": lambda: NoisySortShuffler(groups=LINE, alpha=3.0),
    "uniform blocks": lambda: NoisySortShuffler(groups=LINE, alpha=0.0),
}


@pytest.mark.parametrize("name", SHUFFLERS)
def test_crowds_are_the_sums_over_all_exchanges(name):
    shuffler = SHUFFLERS[name]()
    order, crowds = shuffler.prepare().order, shuffler.swap_geometry().crowds()
    for rank, person in enumerate(order.tolist()):
        costs = np.delete(shuffler.swap_costs(person), person)
        assert crowds[rank] == pytest.approx(np.exp(-costs).sum(), rel=1e-8, abs=1e-15)
        assert crowds[rank] <= np.exp(-costs).sum() * (1 + 1e-12)


@pytest.mark.parametrize("name", SHUFFLERS)
def test_window_costs_are_the_largest_exchange_inside_the_cheapest_window(name):
    shuffler = SHUFFLERS[name]()
    prepared, geometry = shuffler.prepare(), shuffler.swap_geometry()
    costs = np.array([shuffler.swap_costs(person)[prepared.order] for person in prepared.order.tolist()])
    for size in (1, 2, 3, 5):
        found = geometry.window_costs(size)
        for rank in range(11):
            firsts = range(max(0, rank - size + 1), min(rank, 11 - size) + 1)
            inside = [costs[first : first + size, first : first + size].max() for first in firsts]
            assert found[rank] == pytest.approx(min(inside, default=math.inf), rel=1e-9, abs=1e-12)


def law_of(shuffler, people, draws=0):
    """Exact law of a Mallows shuffle of a few people: permutations of ranks with their chances."""
    theta = shuffler.prepare().parameters[0]
    perms = [np.array(each) for each in itertools.permutations(range(people))]
    inversions = [sum(int(p[a] > p[b]) for a, b in itertools.combinations(range(people), 2)) for p in perms]
    weights = np.exp(-theta * np.array(inversions))
    return perms, weights / weights.sum()


@pytest.mark.parametrize("epsilon0", [0.0, 0.7])
def test_nobody_names_a_report_more_often_than_the_bound_whatever_all_answers_are(epsilon0):
    groups = Groups.from_radius([0, 1, 2, 3], 1)
    shuffler = MallowsShuffler(groups=groups, alpha=1.5)
    perms, law = law_of(shuffler, 4)
    bound = naming_chances_by_rank(shuffler, epsilon0)
    keep = math.exp(epsilon0) / (1 + math.exp(epsilon0))
    best = np.zeros(4)
    for answers in itertools.product((0, 1), repeat=4):
        for target in range(4):
            success = 0.0
            for view in itertools.product((0, 1), repeat=4):
                joint = np.zeros(4)  # of the target's slot, and this view
                for ranks, chance in zip(perms, law, strict=True):
                    said = [keep if view[slot] == answers[ranks[slot]] else 1 - keep for slot in range(4)]
                    joint[int(np.flatnonzero(ranks == target)[0])] += chance * math.prod(said)
                success += joint.max()
            best[target] = max(best[target], success)
    assert (best <= bound[np.argsort(np.argsort(shuffler.prepare().order))]).all()
    assert best.max() > 0.6 * bound.max()  # the bound is no idle one


def test_with_gaussian_noise_the_bound_falls_as_more_people_stand_nearby():
    near = Groups.from_radius(np.arange(400), 20)
    sort = NoisySortShuffler(groups=near, alpha=1.0, noise="gaussian", delta=1e-6)
    wide = NoisySortShuffler(groups=near, alpha=4.0, noise="gaussian", delta=1e-6)
    assert (
        1 / 400
        < naming_chances_by_rank(sort, 0.5).max()
        < naming_chances_by_rank(wide, 0.5).max()
        < naming_chances_by_rank(wide, 1.5).max()
        < 1
    )
    assert (
        np.median(naming_chances_by_rank(sort, 0.5)) < naming_chances_by_rank(sort, 0.5)[0]
    )  # the end of the line is hidden by half as many


def test_with_gaussian_noise_the_nearest_slot_is_named_less_often_than_the_bound():
    groups = Groups.from_radius(np.arange(60), 4)
    sort = NoisySortShuffler(groups=groups, alpha=6.0, noise="gaussian", delta=1e-3)
    draws = np.array([sort.draw_ranks() for _ in range(400)])
    stays = (draws == np.arange(60)).mean(axis=0)
    assert (stays <= naming_chances_by_rank(sort, 0.0) + 0.13).all()
    assert stays.max() > 0.3 * naming_chances_by_rank(sort, 0.0).max()


def test_central_epsilon_is_the_best_window_and_never_above_epsilon0():
    sort = NoisySortShuffler(groups=Groups.from_radius(np.arange(200), 10), alpha=2.0)
    found = central_epsilons_by_rank(sort, lambda size: 3.0 / math.sqrt(size), 2.0)
    at = sort.prepare().parameters
    assert found.max() <= 2.0
    middle = min(
        3.0 / math.sqrt(size) + 2 * (at[100 + size // 2] - at[100 - (size - 1) // 2]) for size in range(10, 60)
    )
    assert found[100] == pytest.approx(middle, rel=0.05)
    assert found.min() >= middle * (1 - 1e-9)
    gaussian = NoisySortShuffler(groups=LINE, alpha=3.0, noise="gaussian", delta=1e-6)
    assert (central_epsilons_by_rank(gaussian, lambda _: 0.1, 1.0) == 1.0).all()


@pytest.mark.parametrize("kind", [MallowsShuffler, NoisySortShuffler])
def test_in_a_small_block_everybody_hides_among_all_of_the_block(kind):
    sizes = (2, 11, 29, 100)  # of which only the first and the last are among the windows that are looked at
    shuffler = kind(groups=Groups.from_labels(np.repeat(np.arange(4), sizes)), alpha=0.0)
    central = central_epsilons_by_rank(shuffler, lambda size: 3.0 / math.sqrt(size), 10.0)
    household, common = household_chances_by_rank(shuffler, 3, 0.5), common_epsilons_by_rank(shuffler, 3, 0.5, 1e-3)
    for size, start, stop in zip(sizes, *shuffler.prepare().starts[[[0, 1, 2, 3], [1, 2, 3, 4]]], strict=True):
        assert central[start:stop] == pytest.approx(3.0 / math.sqrt(size))
        assert household[start:stop] == pytest.approx(naming_tail(size, 3, 2, 1.0) if size > 2 else 1.0)
        assert common[start:stop] == pytest.approx(common_answer_epsilon(size, 3, 0.5, 1e-3) if size > 2 else 1.5)


def test_a_given_household_hides_among_all_of_a_small_block():
    """Mutant: only windows of the sizes that are tried, and 29 is none."""
    labels = np.repeat(np.arange(2), (29, 100))
    shuffler = NoisySortShuffler(groups=Groups.from_labels(labels), alpha=0.1)
    at = shuffler.prepare().parameters
    local = KaryRandomizedResponse(epsilon0=0.5, domain_size=2).model
    model = ProtocolModel(local=local, shuffle=shuffler.model(129))
    far, others = (shuffler.prepare().order[ranks].tolist() for ranks in ([0, 14, 28], [60, 61, 62]))
    (found,) = household_odds(shuffler, model, [far, others])
    assert found.more_than_half == pytest.approx(naming_tail(29, 3, 2, 1.0 + 2 * (at[28] - at[0])), rel=1e-5)


def test_a_whole_block_costs_as_much_as_exchanging_its_ends():
    shuffler = NoisySortShuffler(groups=LINE, alpha=0.5)
    starts, at = shuffler.prepare().starts, shuffler.prepare().parameters
    found = central_epsilons_by_rank(shuffler, lambda size: 0.1 if size == 7 else math.inf, 10.0)
    assert found[:7] == pytest.approx(0.1 + 2 * (at[6] - at[0]))
    assert starts[1] == 7
    assert (found[7:] == 10.0).all()


def test_other_distances_than_kendalls_are_refused():
    with pytest.raises(UnsupportedModelError, match="Kendall"):
        naming_chances_by_rank(MallowsShuffler(groups=LINE, alpha=3.0, distance="cayley"), 1.0)


def test_gaussian_noise_hides_nobody_in_a_sparse_stretch_better_than_a_guess_without_a_view(monkeypatch):
    """Mutant: people are asked about here and there, and those between two of them have the larger chance."""
    sparse = 1000.0 + 9.0 * np.arange(1, 10)
    line = np.concatenate([np.linspace(0, 1000, 1000), sparse, np.linspace(1090, 2090, 1000)])
    shuffler = NoisySortShuffler(
        groups=Groups.from_radius(line[:, None], 10.0), alpha=16.4, delta=1e-6, noise="gaussian"
    )
    named = naming_chances_by_rank(shuffler, 0.5)
    rank = int(np.flatnonzero(shuffler.prepare().order == 1004)[0])
    noise = np.random.default_rng(1).normal(size=(400, line.size))
    places = np.argsort(shuffler.prepare().parameters + noise, axis=1)
    kept = (places[:, rank] == rank).mean()
    assert named[rank] > kept - 0.06 > 0.05
    monkeypatch.setattr("shuffledp.protocols.d_sigma.planning.person_guarantees._MANY", 100)
    coarse = naming_chances_by_rank(shuffler, 0.5)
    assert (coarse >= named).all()
    assert named[100:900].max() < named[rank] / 2


def test_a_common_answer_pays_for_the_exchange_of_each_member_of_the_household():
    """Mutant: the cost of one exchange for all of them."""
    everybody, theta = Groups.from_labels([0] * 8), 0.005
    shuffler = MallowsShuffler(groups=everybody, concentration=theta)
    each = common_epsilons_by_rank(shuffler, 2, 1.0, 0.1)
    windows = [(4, 2 * 4 - 3), (8, 2 * 8 - 3)]  # two of w + 1 ranks are exchanged for at most 2 w - 1 inversions
    expected = min(common_answer_epsilon(size, 2, 1.0, 0.1) + 2 * theta * pairs for size, pairs in windows)
    assert each == pytest.approx(np.full(8, expected), rel=1e-6)
    assert expected < 2.0
