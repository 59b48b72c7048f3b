"""Spacings keep their budgets, and spreads err on the safe side."""

import math
from fractions import Fraction

import numpy as np
import pytest

from laws.enumerated import footrule, groups_of, product, relabelings
from shuffledp.core.errors import InvalidParameterError
from shuffledp.protocols.d_sigma.laws.spacing import (
    RankGroups,
    adaptive_gaps,
    positions_of_gaps,
    refined_gaps,
    sort_spreads,
    uniform_gaps,
)


def windows(num_items=300):
    """Groups whose sizes vary along the line."""
    sizes = [3 + int(20 * (1 + math.sin(k / 20))) for k in range(num_items)]
    return [np.arange(max(0, k - size), min(num_items, k + size)) for k, size in enumerate(sizes)]


def adapted(groups, num_items, budget, power=1, cap=math.inf):
    spreads = sort_spreads(np.arange(num_items), groups, power=power)
    first, last = [group[0] for group in groups], [group[-1] for group in groups]
    return adaptive_gaps(num_items, first, last, spreads, budget, cap=cap)


@pytest.mark.parametrize("num_items", [3, 4, 5])
def test_spreads_at_unit_gaps_are_the_exact_footrule_sensitivities(num_items):
    groups = groups_of(num_items)
    expected = [
        max(footrule(product(range(num_items), each)) for each in relabelings(num_items, group)) for group in groups
    ]
    assert sort_spreads(np.arange(num_items), groups) == pytest.approx(expected, rel=1e-14)


def test_spreads_are_those_of_the_costliest_rearrangement():
    at = [0.0, 0.3, 0.35, 2.0, 2.5]
    for power in (1, 2):
        for group in groups_of(5):
            costs = [
                sum(abs(at[a] - at[b]) ** power for a, b in enumerate(each)) ** (1 / power)
                for each in relabelings(5, group)
            ]
            assert sort_spreads(at, [group], power=power) == pytest.approx(max(costs), rel=1e-14)


def test_spreads_are_not_below_the_exact_sums():
    rng = np.random.default_rng(0)
    at = np.sort(rng.uniform(0, 10, 1001))
    exact = [Fraction(float(x)) for x in at]
    found = float(sort_spreads(at, [np.arange(1001)])[0])
    total = sum(abs(a - b) for a, b in zip(exact, exact[::-1], strict=True))
    assert total <= Fraction(found) <= total * (1 + Fraction(1, 10**11))
    squares = sum((a - b) ** 2 for a, b in zip(exact, exact[::-1], strict=True))
    assert squares <= Fraction(float(sort_spreads(at, [np.arange(1001)], power=2)[0])) ** 2


def test_groups_of_one_and_of_none_cost_nothing():
    assert sort_spreads([0.0, 1.0, 2.0], [[1], [], [0, 2]]).tolist() == pytest.approx([0, 0, 4])
    assert sort_spreads([0.0], []).size == 0


@pytest.mark.parametrize("power", [1, 2])
def test_adaptive_gaps_are_the_least_quotients_of_the_groups_that_span_them(power):
    groups = [np.array([1, 4, 5]), np.array([2, 3]), np.array([7, 8]), np.array([6])]
    spreads = sort_spreads(np.arange(10), groups, power=power)
    expected = [
        min(
            [2.0 / spread for group, spread in zip(groups, spreads, strict=True) if group[0] <= k < group[-1]],
            default=9,
        )
        for k in range(9)
    ]
    assert adapted(groups, 10, 2.0, power, cap=9.0) == pytest.approx(expected, rel=1e-10)
    assert np.isinf(adapted(groups, 10, 2.0, power)).tolist() == [gap == 9 for gap in expected]


def test_long_windows_reach_every_gap():
    rng = np.random.default_rng(3)
    first = rng.integers(0, 900, 200)
    last = first + rng.integers(0, 100, 200)
    spreads = rng.uniform(1, 10, 200)
    found = adaptive_gaps(1000, first, last, spreads, 1.0)
    for k in range(999):
        spanning = (first <= k) & (last > k)
        assert found[k] == pytest.approx(1 / spreads[spanning].max() if spanning.any() else math.inf, rel=1e-10)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("budget", [1e-3, 4.0, 100.0])
def test_refined_gaps_keep_the_budget_and_are_longer_on_the_whole(power, budget):
    groups = windows()
    closed = adapted(groups, 300, budget, power)
    refined = refined_gaps(closed, groups, budget, power=power)
    for gaps in (closed, refined):
        assert sort_spreads(positions_of_gaps(gaps), groups, power=power).max() <= budget
    assert np.log(refined).sum() > np.log(closed).sum() + 30
    assert np.array_equal(refined_gaps(closed, groups, budget, power=power, rounds=0), closed)


def test_refinement_finds_the_solution_of_a_small_program():
    # Groups {0, 1, 2} and {2, 3}: both constraints bind, and the product of the first two gaps is largest if equal.
    found = refined_gaps([0.1, 0.2, 0.3], [[0, 1, 2], [2, 3]], 1.0)
    assert found == pytest.approx([0.25, 0.25, 0.5], rel=1e-3)


def test_gaps_of_very_different_sizes_keep_the_budget_too():
    groups = [np.arange(20), np.arange(20, 22), np.arange(19, 21), *(np.arange(at, at + 3) for at in range(22, 28))]
    gaps = 10.0 ** np.random.default_rng(39).uniform(-7, -3, 29)  # sums of the gaps met on the way lose the small ones
    for rounds in (1, 2, 3, 5, 10, 30):
        found = refined_gaps(gaps, groups, 4.0, rounds=rounds)
        assert sort_spreads(positions_of_gaps(found), groups).max() <= 4
        assert np.log(found).sum() > np.log(gaps).sum() + 100


def test_cuts_stay_cuts():
    found = refined_gaps([0.1, math.inf, 0.1], [[0, 1], [2, 3]], 1.0)
    assert found == pytest.approx([0.5, math.inf, 0.5], rel=1e-3)
    assert positions_of_gaps([1.0, math.inf, 2.0]).tolist() == [0.0, 1.0, 1.0, 3.0]
    assert refined_gaps([math.inf], [[0], [1]], 1.0).tolist() == [math.inf]


def test_no_distance_of_positions_exceeds_the_sum_of_its_gaps():
    gaps = np.random.default_rng(4).uniform(1e-9, 1, 2000) ** 3
    at = [Fraction(float(x)) for x in positions_of_gaps(gaps)]
    exact = [Fraction(float(x)) for x in gaps]
    assert all(b - a <= gap for a, b, gap in zip(at, at[1:], exact, strict=False))
    assert float(at[-1]) == pytest.approx(gaps.sum(), rel=1e-10)


def test_uniform_gaps():
    assert uniform_gaps(4, 8.0, 2.0) == pytest.approx([0.25] * 3)
    assert uniform_gaps(2, 0.0, 2.0).tolist() == [math.inf]
    assert uniform_gaps(1, 3.0, 2.0).size == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sort_spreads([1.0, 0.0], []), "positions must be nondecreasing"),
        (lambda: sort_spreads([math.inf], []), "positions must be finite"),
        (lambda: sort_spreads([0.0, 1.0], [[0, 2]]), "groups must hold ranks from 0 to 1; group 0"),
        (lambda: sort_spreads([0.0, 1.0], [[0], [1, 1]]), "groups must hold distinct ranks; group 1"),
        (lambda: sort_spreads([0.0, 1.0], [[0.5]]), "groups must hold distinct ranks; group 0"),
        (lambda: sort_spreads([0.0, 1.0], 3), "groups must be an iterable"),
        (lambda: sort_spreads([0.0, 1.0], [], power=3), "power must be one of 1, 2"),
        (lambda: positions_of_gaps([-1.0]), "gaps must be numbers of 0 or more"),
        (lambda: positions_of_gaps([math.nan]), "gaps must be numbers of 0 or more"),
        (lambda: uniform_gaps(0, 1.0, 1.0), "num_items must be"),
        (lambda: uniform_gaps(3, 1.0, -1.0), "budget must be"),
        (lambda: adaptive_gaps(3, [0], [3], [1.0], 1.0), "windows must lie in 0 to 2"),
        (lambda: adaptive_gaps(3, [1], [0], [1.0], 1.0), "windows must lie"),
        (lambda: adaptive_gaps(3, [0], [1], [math.nan], 1.0), "sensitivities be 0 or more"),
        (lambda: adaptive_gaps(3, [0], [1], [1.0, 2.0], 1.0), "arrays of one length"),
        (lambda: adaptive_gaps(3, [0], [1], [1.0], math.nan), "budget must be"),
        (lambda: refined_gaps([1.0], [[0, 1]], 1.0), "budget must be at least the largest spread of a group, 2"),
        (lambda: refined_gaps([0.0], [[0, 1]], 1.0), "gaps must be numbers above 0"),
        (lambda: refined_gaps([math.inf], [[0, 1]], 1.0), "groups must not span an infinite gap"),
        (lambda: refined_gaps([0.1], [[0, 1]], 0.0), "budget must be"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(InvalidParameterError, match=message):
        call()


def test_rank_groups_are_taken_as_they_are():
    groups = RankGroups.of([[2, 0], [1]], 3)
    assert (groups.ranks.tolist(), groups.starts.tolist()) == ([0, 2, 1], [0, 2, 3])
    assert RankGroups.of(groups, 3) is groups
    assert groups.mirrors.tolist() == [1, 0, 2]
