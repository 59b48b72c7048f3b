"""One answer that several people hold in common: what any view tells of it stays within the bound of their window."""

import itertools
import math

import numpy as np
import pytest

from shuffledp import Groups, KaryRandomizedResponse, MallowsShuffler, NoisySortShuffler
from shuffledp.laws import mallows_law, noisy_sort_law
from shuffledp.protocols.d_sigma.laws.common_answers import common_answer_delta, common_answer_epsilon
from shuffledp.protocols.d_sigma.planning.person_guarantees import common_epsilons_by_rank
from shuffledp.testing import SeededSource

POSITIONS = np.array([0.0, 0.7, 1.5, 2.2, 3.1])
THETA = 0.8
LAWS = {
    "mallows": lambda people: (
        mallows_law(people, THETA),
        lambda low, high: THETA * (2 * (high - low) - 1) if high > low else 0.0,
    ),
    "sort": lambda people: (
        noisy_sort_law(POSITIONS[:people]),
        lambda low, high: 2 * (POSITIONS[high] - POSITIONS[low]),
    ),
}


def remainder(law, answers, targets, epsilon0, epsilon):
    """The remainder at epsilon of views with the targets' common answer yes, against no; the larger way round."""
    orders, weights = np.array(list(law)), np.array(list(law.values()), dtype=float)
    honest = 1 / (1 + math.exp(-epsilon0))
    matrix = np.array([[honest, 1 - honest], [1 - honest, honest]])
    views = np.array(list(itertools.product((0, 1), repeat=orders.shape[1])))
    laws = []
    for common in (1, 0):
        held = np.array(answers)
        held[list(targets)] = common
        laws.append(weights @ matrix[held[orders][:, None, :], views[None]].prod(axis=2))
    one, other = laws
    return max(np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in ((one, other), (other, one)))


def excesses(people, epsilon0, kind):
    """How much the exact remainder exceeds the bound, at most; and the one without the costs of exchanges."""
    law, cost = LAWS[kind](people)
    most, without = -1.0, -1.0
    for size in (2, 3):
        for targets in itertools.combinations(range(people), size):
            low, high = min(targets), max(targets)
            if high - low + 1 <= size:
                low, high = max(0, low - 1), min(people - 1, high + 1)
            crowd, price = high - low + 1, cost(low, high)
            for answers in itertools.product((0, 1), repeat=people):
                for epsilon in (0.0, 0.2, 0.5):
                    bound = common_answer_delta(crowd, size, epsilon0, epsilon)
                    found = [remainder(law, answers, targets, epsilon0, epsilon + n * price) for n in (size, 0)]
                    most, without = (max(pair) for pair in zip((most, without), np.array(found) - bound, strict=True))
    return most, without


@pytest.mark.parametrize("kind", LAWS)
def test_a_common_answer_of_some_of_four_people_is_hidden_as_stated(kind):
    most, without = excesses(4, 0.8, kind)
    assert most <= 1e-9
    assert without > 0.01


@pytest.mark.deep
@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("epsilon0", [0.3, 0.8])
def test_a_common_answer_of_some_of_five_people_is_hidden_as_stated(kind, epsilon0):
    most, without = excesses(5, epsilon0, kind)
    assert most <= 1e-9
    assert without > 1e-5


def test_each_person_takes_the_best_window_and_the_whole_household_changes_at_once():
    people, targets, epsilon0, delta = 400, 3, 0.5, 1e-6
    groups = Groups.from_radius(np.arange(people), 20)
    shuffler = NoisySortShuffler(groups=groups, alpha=2.0, order=np.arange(people))
    each = common_epsilons_by_rank(shuffler, targets, epsilon0, delta)
    at = shuffler.prepare().parameters
    best, size, own = targets * epsilon0, 2 * targets, 0.0
    while size <= people:
        lows = range(max(0, 200 + targets - size), min(200, people - size) + 1)
        price = min(2 * (at[low + size - 1] - at[low]) for low in lows)
        own = common_answer_epsilon(size, targets, epsilon0, delta)
        best, size = min(best, own + targets * price), 2 * size
    assert each[200] == pytest.approx(best)
    assert each[200] > own  # exchanging people is not free
    assert each.max() <= targets * epsilon0
    assert (
        common_epsilons_by_rank(MallowsShuffler(groups=groups, alpha=0.0), targets, epsilon0, delta).max() < each.min()
    )
    gaussian = NoisySortShuffler(groups=groups, alpha=2.0, noise="gaussian", delta=delta)
    assert common_epsilons_by_rank(gaussian, targets, epsilon0, delta) is None


@pytest.mark.parametrize("alpha", [8.0, 400.0])
def test_a_guess_of_a_common_answer_from_the_slots_around_stays_within_the_bound_and_beats_a_coin(alpha):
    """The attacker knows everybody else's answer, and weighs each slot by how often it holds one of theirs."""
    people, targets, epsilon0, trials = 120, np.arange(59, 62), 1.0, 600
    shuffler = NoisySortShuffler(groups=Groups.from_radius(np.arange(people), 8), alpha=alpha, order=np.arange(people))
    others = np.arange(people) % 2
    there = np.zeros(people)
    for draw in range(400):
        star = shuffler.draw(source=SeededSource(draw).substream("learn"))
        there += np.isin(star, targets) / 400
    randomizer = KaryRandomizedResponse(epsilon0=epsilon0, domain_size=2)
    right = 0
    coin = np.random.default_rng(1)
    for trial in range(trials):
        source, common = SeededSource(trial).substream("play"), int(coin.integers(2))
        answers = others.copy()
        answers[targets] = common
        said = randomizer.randomize(answers, source=source).columns["value"]
        view = said[shuffler.draw(source=source)].astype(float)
        right += int((there @ (view - 0.5) > 0) == common)
    delta = 1e-3
    bound = common_epsilons_by_rank(shuffler, targets.size, epsilon0, delta)[targets[0]]
    most = (math.exp(bound) + delta) / (1 + math.exp(bound))
    share, error = right / trials, math.sqrt(0.25 / trials)
    assert share <= most + 3 * error
    if alpha > 100:
        assert share > 0.5 + 4 * error
