"""Orders inside groups: what is stated against everything that few people can be, through the shufflers themselves."""

import itertools
import math

import numpy as np
import pytest

from laws.enumerated import groups_of, kendall_formula, ranks_of, sensitivity
from shuffledp.accounting import account
from shuffledp.accounting.theorems.clone_pairs import StrongPair
from shuffledp.accounting.theorems.reductions import SwapCost
from shuffledp.accounting.theorems.two_levels import BlanketTwoLevel
from shuffledp.core.local_models import ProtocolModel
from shuffledp.laws import d_sigma_loss, gaussian_delta, noisy_sort_law
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.shufflers.mallows import MallowsShuffler
from shuffledp.protocols.d_sigma.shufflers.noisy_sort import NoisySortShuffler
from shuffledp.protocols.d_sigma.theorems.meehan22 import reidentification_bound
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.randomness.permutations import compose, invert
from shuffledp.shufflers import UniformShuffleModel
from shufflers.enumerated import law_of, law_of_ranks, release_law, released

SLACK = 1e-9
DISTANCES = ("kendall", "hamming", "cayley")


def alone_but(group, people):
    """One group, and everybody else alone."""
    return Groups.from_lists([list(group), *([person] for person in range(people) if person not in group)], people)


# ---- the loss is the concentration times the exact sensitivity -------------------------------------------------------


@pytest.mark.parametrize("per_block", [True, False])
@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("people", [3, 4])
def test_mallows_loses_what_its_model_says_for_every_order_and_group(people, distance, per_block):
    for order in itertools.permutations(range(people)):
        for group in groups_of(people):
            groups = alone_but(group, people)
            shuffler = MallowsShuffler(groups=groups, alpha=0.7, distance=distance, order=order, per_block=per_block)
            assert d_sigma_loss(law_of(shuffler), groups) == pytest.approx(shuffler.model(people).alpha, abs=SLACK)
            single = MallowsShuffler(groups=groups, concentration=0.3, distance=distance, order=order)
            exact = 0.3 * sensitivity(people, ranks_of(group, order), distance)
            assert single.model(people).alpha == pytest.approx(exact, abs=SLACK)


def test_overlapping_groups_of_five_people_lose_what_the_model_says():
    draw = np.random.default_rng(5)
    for _ in range(12):
        order = draw.permutation(5)
        lists = [draw.choice(5, size=draw.integers(1, 5), replace=False).tolist() for _ in range(3)]
        groups = Groups.from_lists([*lists, *([person] for person in range(5))], 5)
        shuffler = MallowsShuffler(groups=groups, alpha=1.3, order=order)
        stated = shuffler.model(5).alpha
        assert stated <= 1.3
        assert d_sigma_loss(law_of(shuffler), groups) == pytest.approx(stated, abs=SLACK)


@pytest.mark.parametrize(
    ("order", "group", "multiples"), [((0, 2, 3, 1), (0, 2), (1, 3, 3, 5)), ((0, 2, 1), (0, 2), (1, 3, 3, 1))]
)
def test_other_readings_of_the_composition_are_not_private(order, group, multiples):
    """The paper's products and its eq. (5): only one of four readings loses no more than the sensitivity says."""
    people = len(order)
    shuffler = MallowsShuffler(groups=alone_but(group, people), concentration=0.5, order=order, per_block=False)
    ranks, w_law = np.array(order), law_of_ranks(shuffler)
    inverted = {tuple(invert(w).tolist()): chance for w, chance in w_law.items()}
    # On the lists themselves Kendall's distance from sigma_0 is that of sigma_0^-1 on the other side.
    hat_of_lists = {tuple(compose(w, ranks).tolist()): chance for w, chance in inverted.items()}
    hat = {tuple(compose(ranks, w).tolist()): chance for w, chance in w_law.items()}
    readings = (
        {tuple(compose(each, invert(ranks)).tolist()): chance for each, chance in hat.items()},
        {tuple(compose(invert(ranks), each).tolist()): chance for each, chance in hat.items()},
        {tuple(compose(each, invert(ranks)).tolist()): chance for each, chance in hat_of_lists.items()},
        {tuple(compose(invert(ranks), each).tolist()): chance for each, chance in hat_of_lists.items()},
    )
    assert readings[0] == pytest.approx(law_of(shuffler))
    assert kendall_formula(ranks_of(group, order)) == 1
    losses = [d_sigma_loss(law, [group]) / 0.5 for law in readings]
    assert losses == pytest.approx(multiples)


def test_a_slot_holds_the_report_from_the_rank_that_was_drawn_for_its_rank():
    order = [2, 0, 3, 1]
    shuffler = MallowsShuffler(groups=Groups.from_labels([0] * 4), alpha=1.0, order=order)
    for ranks in itertools.permutations(range(4)):
        slots = released(shuffler, ranks)
        assert [slots[order[k]] for k in range(4)] == [order[w] for w in ranks]


# ---- noisy sorts -----------------------------------------------------------------------------------------------------


def random_groups(draw, people):
    lists = [draw.choice(people, size=draw.integers(2, people + 1), replace=False).tolist() for _ in range(3)]
    return Groups.from_lists([*lists, *([person] for person in range(people))], people)


@pytest.mark.parametrize("spacing", ["adaptive", "uniform", "refined"])
@pytest.mark.parametrize("people", [4, 5])
def test_a_laplace_sort_loses_no_more_than_its_model_says_and_nearly_that(people, spacing):
    draw, ratios = np.random.default_rng(people), []
    for _ in range(6):
        groups = random_groups(draw, people)
        shuffler = NoisySortShuffler(groups=groups, alpha=1.5, spacing=spacing, order=draw.permutation(people))
        stated = shuffler.model(people).alpha
        assert stated <= 1.5 + 1e-9
        ratios.append(d_sigma_loss(law_of(shuffler), groups) / stated)
    assert max(ratios) <= 1 + SLACK
    assert max(ratios) > 0.7  # a sort of half the noise would lose more than it says


def test_a_gaussian_sort_keeps_within_its_remainder_at_every_alpha():
    draw = np.random.default_rng(8)
    for _ in range(4):
        groups = random_groups(draw, 4)
        shuffler = NoisySortShuffler(groups=groups, alpha=0.5, noise="gaussian", delta=0.05, order=draw.permutation(4))
        law, model = law_of(shuffler), shuffler.model(4)
        assert model.delta == 0.05
        assert gaussian_delta(model.spread, model.alpha) <= 0.05
        found = [largest_remainder(law, groups, alpha) for alpha in (0.0, 0.25, model.alpha)]
        stated = [gaussian_delta(model.spread, alpha) for alpha in (0.0, 0.25, model.alpha)]
        assert all(exact <= bound + 1e-12 for exact, bound in zip(found, stated, strict=True))
        assert found[0] > 0.3 * stated[0]
        assert d_sigma_loss(law, groups) > model.alpha  # it has no pure loss of this size


def largest_remainder(law, groups, alpha):
    """Over all exchanges within a group: the sum over permutations of (p - e^alpha p')_+."""
    worst = 0.0
    for group in groups:
        for images in itertools.permutations(group.tolist()):
            moves = dict(zip(group.tolist(), images, strict=True))
            there = {tuple(moves.get(item, item) for item in each): chance for each, chance in law.items()}
            worst = max(worst, sum(max(law[each] - math.exp(alpha) * there[each], 0) for each in law))
    return worst


def test_blocks_of_other_groups_are_recomputed_and_crossing_a_cut_is_infinite():
    groups, other = Groups.from_labels([0, 0, 0, 1, 1]), alone_but((0, 2), 5)
    crossing = alone_but((2, 3), 5)
    order = [0, 1, 2, 3, 4]
    for shuffler in (
        MallowsShuffler(groups=groups, alpha=1.2, order=order),
        NoisySortShuffler(groups=groups, alpha=1.2, order=order),
    ):
        law = law_of(shuffler)
        exact, stated = d_sigma_loss(law, other), shuffler.d_sigma_for(other)
        assert stated.groups_digest == other.digest
        assert exact <= stated.alpha + SLACK
        assert stated.alpha < 3 * exact
        assert shuffler.d_sigma_for(crossing).alpha == d_sigma_loss(law, crossing) == math.inf


# ---- what central guarantee remains (swap costs) ---------------------------------------------------------------------


def exact_deltas(law, channel, victim, epsilon):
    """The worst delta over all data sets and both directions, for one person."""
    data, total = release_law(law, channel)
    codes = len(channel) ** np.arange(data.shape[1])[::-1]
    worst = 0.0
    for value in range(len(channel)):
        changed = data.copy()
        changed[:, victim] = value
        excess = total - math.exp(epsilon) * total[changed @ codes]
        worst = max(worst, float(np.maximum(excess, 0).sum(axis=1).max()))
    return worst


@pytest.mark.parametrize("theta", [0.05, 0.5])
@pytest.mark.parametrize(("people", "letters"), [(3, 2), (3, 3), (4, 2), (4, 3), (5, 2)])
def test_the_swap_cost_bound_holds_for_every_data_set_person_and_window(people, letters, theta):
    shuffler = MallowsShuffler(groups=Groups.from_labels([0] * people), concentration=theta)
    randomizer = KaryRandomizedResponse(epsilon0=1.0, domain_size=letters)
    channel = randomizer.model.channel().matrix.astype(float)
    law, rank = law_of(shuffler), invert(shuffler.prepare().order)
    closest = 0.0
    for victim, size in itertools.product(range(people), range(2, people + 1)):
        if not any(start <= rank[victim] < start + size for start in range(people - size + 1)):
            continue
        cost = theta * (2 * size - 3)
        uniform = ProtocolModel(local=randomizer.model, shuffle=UniformShuffleModel(num_users=size))
        for left in (0.0, 0.2, 0.5):
            bound = min(each.delta_at(uniform, epsilon=left) for each in (StrongPair(), BlanketTwoLevel()))
            exact = exact_deltas(law, channel, victim, left + cost)
            assert exact <= bound + 1e-12
            closest = max(closest, exact / bound if bound else 0.0)
    assert closest > 0.25  # of a bound that a sharper theorem might still lower

    model = ProtocolModel(local=randomizer.model, shuffle=shuffler.model(people))
    for delta in (0.02, 0.2):
        epsilon = account(model, delta=delta).guarantee.epsilon
        assert max(exact_deltas(law, channel, victim, epsilon) for victim in range(people)) <= delta + 1e-12


def test_the_uniform_epsilon_would_be_false_for_a_concentrated_shuffle():
    shuffler = MallowsShuffler(groups=Groups.from_labels([0] * 5), concentration=2.0)
    randomizer = KaryRandomizedResponse(epsilon0=2.0, domain_size=2)
    channel = randomizer.model.channel().matrix.astype(float)
    uniform = ProtocolModel(local=randomizer.model, shuffle=UniformShuffleModel(num_users=5))
    claimed = StrongPair().epsilon(uniform, delta=0.2)
    assert claimed < 1.6
    assert exact_deltas(law_of(shuffler), channel, 0, claimed) > 0.25


def test_the_swap_cost_bound_holds_for_a_laplace_sort():
    draw = np.random.default_rng(3)
    randomizer = KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
    channel = randomizer.model.channel().matrix.astype(float)
    for positions in (draw.uniform(0, 0.3, 4), [0.0, 0.05, 0.1, 1.0]):
        shuffler = NoisySortShuffler(positions=positions)
        law = law_of(shuffler)
        model = ProtocolModel(local=randomizer.model, shuffle=shuffler.model(4))
        for delta in (0.05, 0.2):
            epsilon = SwapCost().epsilon(model, delta=delta)
            assert max(exact_deltas(law, channel, victim, epsilon) for victim in range(4)) <= delta + 1e-12
        for epsilon in (0.3, 0.6):
            bound = SwapCost().delta(model, epsilon=epsilon)
            assert max(exact_deltas(law, channel, victim, epsilon) for victim in range(4)) <= bound + 1e-12


# ---- priors: Theorem 4.1 and the properties of Section A.3 -----------------------------------------------------------


@pytest.mark.parametrize(("people", "group"), [(3, (0, 1, 2)), (3, (0, 2)), (4, (0, 1, 3)), (4, (0, 1, 2, 3))])
def test_no_prior_however_correlated_lets_odds_move_by_more_than_alpha(people, group):
    """Theorem 4.1: given the bag of the group's answers and everybody else's, about who gave which."""
    draw = np.random.default_rng(41)
    groups = alone_but(group, people)
    shuffler = MallowsShuffler(groups=groups, alpha=1.8)
    data, total = release_law(law_of(shuffler), np.eye(3))
    outside = [person for person in range(people) if person not in group]
    known = [(tuple(row[outside].tolist()), tuple(sorted(row[list(group)].tolist()))) for row in data]
    largest = 0.0
    for _ in range(4):
        prior = draw.dirichlet(np.full(len(data), 0.05)) + 1e-12
        for case in set(known):
            rows = np.array([place for place, each in enumerate(known) if each == case])
            largest = max(largest, largest_shift(data[rows], prior[rows], total[rows], group))
    assert largest <= 1.8 + SLACK
    assert largest > 1.0


def largest_shift(data, prior, total, group):
    """By how much a view moves the log odds of "person i gave a" against "person i gave b"."""
    seen = total[:, total.max(axis=0) > 0]
    posterior = prior[:, None] * seen
    worst = 0.0
    for person in group:
        values = sorted(set(data[:, person].tolist()))
        for a, b in itertools.combinations(values, 2):
            with_a, with_b = data[:, person] == a, data[:, person] == b
            before = math.log(prior[with_a].sum() / prior[with_b].sum())
            after = np.log(posterior[with_a].sum(axis=0) / posterior[with_b].sum(axis=0))
            worst = max(worst, float(np.abs(after - before).max()))
    return worst


def test_an_even_prior_does_not_tell_the_likelihood_ratio():
    """Section A.3: posteriors within exp(alpha) of an even prior allow larger ratios; a skewed prior tells them."""
    alpha = 0.5
    ratio = 2 * math.exp(alpha) - 1

    def moved(prior):
        posterior = prior * ratio / (prior * ratio + 1 - prior)
        return max(posterior / prior, prior / posterior, (1 - prior) / (1 - posterior) / ratio)

    assert moved(0.5) < math.exp(alpha) < ratio
    assert moved(1e-9) == pytest.approx(ratio, rel=1e-6)


# ---- re-identification: Theorem 4.2 ----------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon0", [0.05, 0.5])
@pytest.mark.parametrize("people", [3, 4, 5])
def test_the_best_attacker_on_one_person_stays_below_the_bound_for_every_data_set_and_view(people, epsilon0):
    groups = Groups.from_labels([0] * people)
    shuffler = MallowsShuffler(groups=groups, concentration=0.3)
    randomizer = KaryRandomizedResponse(epsilon0=epsilon0, domain_size=2)
    channel = randomizer.model.channel().matrix.astype(float)
    model, law = ProtocolModel(local=randomizer.model, shuffle=shuffler.model(people)), law_of(shuffler)
    _, total = release_law(law, channel)
    for person in range(people):
        refined = reidentification_bound(model, swap_costs=shuffler.swap_costs(person))
        printed = reidentification_bound(model)
        assert refined.odds <= printed.odds * (1 + 1e-9)
        highest = 0.0
        for slot in range(people):
            _, holding = release_law({each: p for each, p in law.items() if each[slot] == person}, channel)
            highest = max(highest, float((holding / (total - holding)).max()))
        assert highest <= refined.odds
        assert highest > 0.3 * refined.odds


@pytest.mark.parametrize("colluders", [1, 2])
@pytest.mark.parametrize(("concentration", "people"), [(0.0, 3), (0.0, 4), (0.4, 3), (0.4, 4)])
def test_colluders_hide_nobody_from_whoever_knows_their_reports(concentration, people, colluders):
    """All views, beside every report of the colluders; without counting them the bound would be exceeded."""
    shuffler = MallowsShuffler(groups=Groups.from_labels([0] * people), concentration=concentration)
    randomizer = KaryRandomizedResponse(epsilon0=0.05, domain_size=6)
    channel = randomizer.model.channel().matrix.astype(float)
    law, whole = law_of(shuffler), shuffler.model(people)
    told = ProtocolModel(local=randomizer.model, shuffle=whole.counting(people - colluders))
    untold = ProtocolModel(local=randomizer.model, shuffle=whole)
    exceeded = False
    for person in range(people):
        costs = shuffler.swap_costs(person)
        bounds = [reidentification_bound(told).success, reidentification_bound(told, swap_costs=costs).success]
        others = [each for each in range(people) if each != person]
        for who in itertools.combinations(others, colluders):
            wins = best_success(law, channel, person, who)
            assert wins <= min(bounds) * (1 + 1e-9)
            exceeded |= wins > reidentification_bound(untold, swap_costs=costs).success
    assert exceeded


def best_success(law, channel, target, colluders):
    """How often the target's slot is named by the best attacker who knows everybody's answers, here all different."""
    size, chances = len(next(iter(law))), channel.tolist()
    holding: dict[tuple[tuple[int, ...], tuple[int, ...]], list[float]] = {}
    for reports in itertools.product(range(len(chances)), repeat=size):
        sent = math.prod(chances[person][report] for person, report in enumerate(reports))
        known = tuple(reports[person] for person in colluders)
        for order, probability in law.items():
            seen = tuple(reports[person] for person in order)
            holding.setdefault((seen, known), [0.0] * size)[order.index(target)] += sent * probability
    return sum(map(max, holding.values()))


@pytest.mark.parametrize(("people", "probability"), [(3, 2 / 3), (4, 5 / 8), (5, 3 / 5), (6, 7 / 12)])
def test_theorem_4_2_is_false_for_shufflers_that_look_at_the_reports(people, probability):
    """Fair bits; all arrangements of the bag equally likely; owner 0's bit is put into slot 0 wherever it fits."""
    wins = total = 0.0
    for bits in itertools.product(range(2), repeat=people):
        arrangements = set(itertools.permutations(bits))
        total += 1
        wins += sum(each[0] == bits[0] for each in arrangements) / len(arrangements)
    assert wins / total == pytest.approx(probability)
    assert wins / total > 1 / people  # what the theorem would allow at alpha = 0 and epsilon = 0
    model = ProtocolModel(
        local=KaryRandomizedResponse(epsilon0=1e-6, domain_size=2).model,
        shuffle=MallowsShuffler(groups=Groups.from_labels([0] * people), alpha=0.0).model(people),
    )
    assert reidentification_bound(model).success == pytest.approx(1 / people, rel=1e-5)


def test_positions_with_equal_keys_are_mixed_uniformly():
    law = noisy_sort_law([0.0, 0.0, 0.0])
    assert list(law.values()) == pytest.approx([1 / 6] * 6)
