"""Weights of sets of people in buffers: bounds from below on how many exchanges lead away, good to many digits."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from shuffledp.protocols.shares.theorems import buffer_weights
from shuffledp.protocols.shares.theorems.buffer_weights import BufferWeights, log_binomial, log_g_below, ways_to_hide


def sum_of_sets(one, other, closeness):
    """G(s, t), exactly."""
    return sum(math.comb(one, j) * math.comb(other, j) * closeness**j for j in range(min(one, other) + 1))


def test_binomials_are_good_to_thirteen_digits():
    pairs = [(n, k) for n in (1, 2, 5, 30, 1000, 10**5) for k in {0, 1, 2, n // 3, n // 2, n} if k <= n]
    found = log_binomial(np.array([float(n) for n, _ in pairs]), np.array([float(k) for _, k in pairs]))
    for (n, k), value in zip(pairs, found, strict=True):
        exact = log_of(math.comb(n, k))
        assert abs(value - exact) <= 1e-13 * (1 + exact)


def log_of(number):
    """Logarithm of a fraction, exact to the last place: of its parts, floats would lose what is compared."""
    with localcontext(prec=50):
        return float((Decimal(number.numerator) / Decimal(number.denominator)).ln())


@pytest.mark.parametrize("closeness", [1.0, 0.8, 0.05, 1e-6])
def test_sums_over_sets_are_bounded_from_below(closeness):
    fewer = np.array([1.0, 2, 3, 10, 48, 49, 60, 200])
    others = np.array([700.0, 650, 60, 55, 48, 500, 60, 210])
    found = log_g_below(fewer, others, closeness)
    for one, other, bound in zip(fewer, others, found, strict=True):
        exact = sum_of_sets(int(one), int(other), Fraction(closeness))
        exact_log = log_of(exact)
        assert exact_log - 6 <= bound <= exact_log
        if one <= 48:
            assert bound == pytest.approx(exact_log, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("closeness", [1.0, 0.8, 0.05, 1e-6, 0.0])
@pytest.mark.parametrize("shares", [1, 2, 9])
def test_sums_around_the_largest_term_are_the_whole_sum_rounded_down(closeness, shares):
    users = 30
    half = np.arange(1, users // 2 + 1)
    logs = buffer_weights._log_factorials(shares * users)
    found = buffer_weights._log_g_summed(shares * half, shares * (users - half), closeness, logs)
    for size, bound in zip(half.tolist(), found, strict=True):
        exact = sum_of_sets(shares * size, shares * (users - size), Fraction(closeness))
        exact_log = log_of(exact)
        assert exact_log * (1 - 1e-12) - 1e-11 <= bound <= exact_log


def test_weights_of_cells_are_above_those_of_every_number_in_them():
    for weights in ways_to_hide(2, 3, 0, 0.4):
        exact = {(users, s): w for users, _, row in weights.numbers(60) for s, w in enumerate(row.tolist(), 1)}
        smallest, largest = np.array([1.0, 2, 5]), np.array([1.0, 4, 20])
        above = weights.above(smallest, largest, 50.0, 60.0)
        for low, high, bound in zip(smallest.astype(int), largest.astype(int), above, strict=True):
            assert all(exact[users, s] <= bound for users in range(50, 61) for s in range(low, high + 1))
            assert all(exact[users, users - s] <= bound for users in range(50, 61) for s in range(low, high + 1))


def test_what_hides_people_are_the_buffers_that_are_not_told():
    assert ways_to_hide(4, 3, 1, 0.5) == (BufferWeights(((3, 3),), 0.5),)
    named, free = ways_to_hide(4, 3, 0, 0.5)
    assert (named.hiding, named.free) == (((3, 3), (2, 1)), False)
    assert (free.hiding, free.free) == (((3, 4),), True)
    (rounds,) = ways_to_hide(9, 1, 0, 0.5)
    assert (rounds.rounds, named.rounds, free.rounds) == (8, None, None)
    assert ways_to_hide(9, 1, 3, 0.5)[0].rounds == 6
