"""Sensitivities are what the definition gives, for every small case; the compiled pass is the plain one."""

import json
from itertools import combinations, permutations
from math import log
from pathlib import Path

import numpy as np
import pytest

from protocols.d_sigma.enumerated import DISTANCES, all_permutations, largest_change, rank_sets, value_loss
from shuffledp.core.errors import InvalidParameterError
from shuffledp.protocols.d_sigma.people import sensitivity
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.people.sensitivity import (
    blocks,
    order_sensitivity,
    order_width,
    position_spreads,
    windows,
)

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "orders.json").read_text(encoding="utf-8"))


def one_group(n, members):
    """One group; everybody else is alone."""
    return Groups.from_lists([list(members), *([person] for person in set(range(n)) - set(members))], n)


def along_ranks(n, ranks, **options):
    return order_sensitivity(one_group(n, [int(rank) for rank in ranks]), np.arange(n), **options)


# ---- against the definition ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7, pytest.param(8, marks=pytest.mark.deep)])
@pytest.mark.parametrize("distance", DISTANCES)
def test_the_sensitivity_of_every_rank_set_is_the_largest_change_of_the_distance(n, distance):
    for ranks in rank_sets(n):
        assert along_ranks(n, ranks, distance=distance) == largest_change(n, ranks, distance), ranks


@pytest.mark.parametrize("n", [3, 4])
def test_the_loss_is_the_sensitivity_for_every_order_and_group(n):
    for order in permutations(range(n)):
        for g in range(1, n + 1):
            for group in combinations(range(n), g):
                expected = largest_loss(order, group, sigma_star)
                assert order_sensitivity(one_group(n, group), order) == expected, (order, group)


def test_the_loss_is_the_sensitivity_for_some_orders_of_five():
    rng = np.random.default_rng(5)
    for _ in range(25):
        order, group = rng.permutation(5).tolist(), rng.permutation(5)[: rng.integers(2, 5)].tolist()
        assert order_sensitivity(one_group(5, group), order) == largest_loss(order, group, sigma_star)


def sigma_star(order, w):
    """The shuffle hat o order^-1: who is at rank w[k] gives the answer of slot order[k]."""
    star = [0] * len(order)
    for k, owner in enumerate(order):
        star[owner] = order[w[k]]
    return tuple(star)


def other_composition(order, hat):
    """order^-1 o hat, as a product read from the left would have it."""
    rank = np.argsort(order)
    return tuple(int(rank[hat[k]]) for k in range(len(order)))


def from_w(order, w):
    return [order[image] for image in w]


def inversions_between(order, hat):
    """Kendall's distance of two lists as the paper's equation (5) has it, on the lists themselves."""
    return sum((order[i] - order[j]) * (hat[i] - hat[j]) < 0 for i in range(len(hat)) for j in range(i))


def largest_loss(order, group, compose, distance=None):
    """Largest change of the exponent between shuffles that give neighboring inputs the same output."""
    n = len(order)
    exponent = {}
    for w in all_permutations(n).tolist():
        if distance is None:
            exponent[compose(order, w)] = DISTANCES["kendall"](w)
        else:
            exponent[compose(order, w)] = distance(order, w)
    largest = 0
    for moved in permutations(group):
        pi = list(range(n))
        for old, new in zip(group, moved, strict=True):
            pi[old] = new
        for star, value in exponent.items():
            largest = max(largest, exponent[tuple(pi[person] for person in star)] - value)
    return largest


def test_the_three_other_readings_of_the_composition_lose_more():
    order, group = [0, 2, 3, 1], [0, 2]
    items = lambda order, hat: DISTANCES["kendall"](list(np.argsort(order)[hat]))  # noqa: E731
    right = lambda order, hat: sigma_star(order, np.argsort(order)[hat])  # noqa: E731
    losses = [
        largest_loss(order, group, compose, distance)
        for distance in (items, inversions_between)
        for compose in (right, other_composition)
    ]
    assert losses == [1, 3, 3, 5]
    assert order_sensitivity(one_group(4, group), order) == 1


@pytest.mark.parametrize("theta", [0.2, 1.5])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, pytest.param(7, marks=pytest.mark.deep)])
def test_the_sensitivity_of_binary_reports_is_exact(n, theta):
    for ranks in rank_sets(n):
        expected = value_loss(n, 2, theta, ranks) / theta
        assert along_ranks(n, ranks, alphabet=2) == pytest.approx(expected, abs=1e-8), ranks


@pytest.mark.parametrize("n", [2, 3, 4, 5, pytest.param(6, marks=pytest.mark.deep)])
def test_the_sensitivity_of_three_letters_is_never_too_small_and_below_that_of_distinct_ones(n):
    for ranks in rank_sets(n):
        cap = along_ranks(n, ranks, alphabet=3)
        assert value_loss(n, 3, 1.0, ranks) <= cap + 1e-8
        assert cap <= along_ranks(n, ranks)
    assert n < 4 or along_ranks(n, range(n), alphabet=3) < along_ranks(n, range(n))


def test_a_lower_claim_for_binary_reports_would_be_refuted():
    assert value_loss(4, 2, 1.0, [0, 1, 3]) > along_ranks(4, [0, 1, 3], alphabet=2) - 1 + log(2)


# ---- identities and golden values ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_footrule_is_kendall_and_half_the_size_and_binary_half_the_footrule(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 200))
    group = rng.permutation(n)[: rng.integers(2, n + 1)]
    groups, order = one_group(n, group.tolist()), rng.permutation(n)
    footrule = order_sensitivity(groups, order, distance="footrule")
    assert footrule == order_sensitivity(groups, order) + group.size // 2
    assert footrule == 2 * order_sensitivity(groups, order, alphabet=2)
    assert order_sensitivity(groups, order) <= order_sensitivity(groups, order, distance="kendall-width")
    assert (position_spreads(groups, order, np.arange(n)).max() - footrule) / footrule < 1e-11


@pytest.mark.parametrize("row", GOLDEN["sensitivity"], ids=str)
def test_the_reference_values_are_reproduced(row):
    groups = Groups.from_lists([*row["groups"], *([person] for person in range(row["n"]))], row["n"])
    for distance in ("kendall", "footrule", "hamming", "cayley"):
        assert order_sensitivity(groups, row["order"], distance=distance) == row[distance]
    assert order_sensitivity(groups, row["order"], distance="kendall-width") == row["paper"]
    assert order_width(groups, row["order"]) == row["width"]
    assert order_sensitivity(groups, row["order"], alphabet=2) == row["kendall_binary"]


def test_the_example_of_appendix_a10():
    order = [owner - 1 for owner in (5, 2, 3, 8, 4, 1, 6, 7)]
    for group, width, paper, exact in (((5, 2, 3, 8, 4), 4, 10, 10), ((4, 5, 7), 7, 28, 13), ((8, 3, 5), 3, 6, 5)):
        groups = one_group(8, [person - 1 for person in group])
        assert order_width(groups, order) == width
        assert order_sensitivity(groups, order, distance="kendall-width") == paper
        assert order_sensitivity(groups, order) == exact


def test_the_width_does_not_decide_the_sensitivity():
    n, order = 12, np.arange(12)
    wide, narrow = one_group(n, [0, 11]), one_group(n, range(10))
    assert order_width(wide, order) > order_width(narrow, order)
    for distance in ("kendall", "hamming", "cayley", "footrule"):
        assert order_sensitivity(wide, order, distance=distance) < order_sensitivity(narrow, order, distance=distance)


# ---- the two passes --------------------------------------------------------------------------------------------------


def families(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 120))
    yield Groups.from_radius(rng.integers(0, 9, (n, 2)), 2)
    yield Groups.from_radius(rng.integers(0, 60, n), rng.integers(0, 9, n))
    yield Groups.from_labels(rng.integers(0, 5, n))
    yield Groups.from_lists([*(rng.permutation(n)[: rng.integers(1, n)] for _ in range(9)), np.arange(n)], n)


@pytest.mark.parametrize("seed", range(12))
def test_the_compiled_pass_is_the_plain_one(seed):
    rng = np.random.default_rng(seed)
    for groups in families(seed):
        along = np.argsort(groups.sites, kind="stable")
        for order in (along, along[::-1], rng.permutation(groups.num_users)):
            plain, compiled = sensitivity._measure_plainly(groups, order), sensitivity._measure_compiled(groups, order)
            for name in ("first", "last", "sizes", "kendall"):
                assert np.array_equal(getattr(plain, name), getattr(compiled, name)), name
            at = np.sort(rng.random(groups.num_users))
            for power in (1, 2):
                spreads = (sensitivity._spread_plainly, sensitivity._spread_compiled)
                assert np.allclose(*(spread(groups, order, at, power) for spread in spreads))


@pytest.mark.parametrize("ranks", [[0, 99_999], range(1000), [*range(50_000, 51_000), 99_999], range(0, 100_000, 7)])
def test_both_passes_agree_where_buckets_are_wide(ranks):
    n = 100_000
    groups = Groups.from_lists([list(ranks), list(range(n))], n)
    order = np.arange(n)
    plain, compiled = sensitivity._measure_plainly(groups, order), sensitivity._measure_compiled(groups, order)
    assert plain.kendall.tolist() == compiled.kendall.tolist()
    assert compiled.kendall[1] == n * (n - 1) // 2
    draw = np.random.default_rng(1)
    at, order = np.sort(draw.random(n)), draw.permutation(n)
    spreads = [each(groups, order, at, 1) for each in (sensitivity._spread_plainly, sensitivity._spread_compiled)]
    np.testing.assert_allclose(*spreads)


# ---- blocks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_blocks_are_the_finest_cuts_that_no_group_crosses(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    lists = [rng.permutation(n)[:g].tolist() for g in rng.integers(1, min(n, 4) + 1, n // 5)]
    groups = Groups.from_lists([*lists, *([person] for person in range(n))], n)
    order = np.argsort(np.argsort(rng.random(n)))
    rank = np.argsort(order)
    cuts = [k for k in range(1, n) if all(max(rank[g]) < k or min(rank[g]) >= k for g in map(list, groups))]
    found = blocks(groups, order, distance="footrule")
    assert found.starts.tolist() == [0, *cuts, n]
    assert found.sizes.sum() == n
    for place, (low, high) in enumerate(zip(found.starts[:-1], found.starts[1:], strict=True)):
        inside = [g for g in groups if low <= rank[g].min() and rank[g].max() < high]
        expected = max(2 * np.abs(np.sort(rank[g])[::-1] - np.sort(rank[g])).sum() // 2 for g in inside)
        assert found.sensitivities[place] == expected
    assert found.sensitivities.max() == order_sensitivity(groups, order, distance="footrule")


def test_people_alone_are_blocks_of_their_own_with_nothing_to_hide():
    groups = Groups.from_labels(np.arange(4))
    found = blocks(groups, [2, 0, 3, 1])
    assert found.starts.tolist() == [0, 1, 2, 3, 4]
    assert found.sensitivities.tolist() == [0, 0, 0, 0]
    for distance in sensitivity.DISTANCES:
        assert order_sensitivity(groups, [2, 0, 3, 1], distance=distance) == 0


@pytest.mark.parametrize("n", [1, 2])
def test_one_and_two_people(n):
    groups = Groups.from_labels([7] * n)
    assert order_sensitivity(groups, range(n)) == n - 1
    assert order_width(groups, range(n)) == n - 1
    assert len(blocks(groups, range(n)).sensitivities) == 1


def test_windows_say_where_each_group_lies():
    found = windows(Groups.from_lists([[0, 2], [1]]), [1, 2, 0])
    assert (found.first.tolist(), found.last.tolist(), found.sizes.tolist()) == ([1, 0], [2, 0], [2, 1])


def test_a_spread_is_never_rounded_below_the_exact_one():
    groups = Groups.from_lists([[0, 1, 2, 3]])
    at = np.array([0.1, 0.2, 0.3, 0.7])
    assert position_spreads(groups, range(4), at)[0] >= 2 * (0.7 - 0.1) + 2 * (0.3 - 0.2)
    assert position_spreads(groups, range(4), at, power=2)[0] == pytest.approx(2 * 0.36 + 2 * 0.01)


# ---- refusals --------------------------------------------------------------------------------------------------------

PAIR = Groups.from_lists([[0, 1]])

REFUSED = [
    (lambda: order_sensitivity(PAIR, [0]), "order must hold each of 0, ..., 1 once"),
    (lambda: order_sensitivity(PAIR, [0, 0]), "order must hold"),
    (lambda: order_sensitivity(PAIR, [0.0, 1.0]), "order must hold"),
    (lambda: order_sensitivity([[0, 1]], [0, 1]), "groups must be a Groups"),
    (lambda: order_sensitivity(PAIR, [0, 1], distance="ulam"), "distance must be one of"),
    (lambda: order_sensitivity(PAIR, [0, 1], alphabet=1), "alphabet must be an integer that is 2 or more"),
    (lambda: position_spreads(PAIR, [0, 1], [1.0, 0.0]), "positions must be 2 finite numbers that do not decrease"),
    (lambda: position_spreads(PAIR, [0, 1], [0.0, np.nan]), "positions must be 2 finite"),
    (lambda: position_spreads(PAIR, [0, 1], [0.0]), "positions must be 2 finite"),
    (lambda: position_spreads(PAIR, [0, 1], [0.0, 1.0], power=3), "power must be one of 1, 2"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_bad_input_is_refused_by_name(call, message):
    with pytest.raises(InvalidParameterError, match=message):
        call()
