"""Integers out of 2^64: the smallest that keeps a loss, and logarithms that are never too small."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.randomizers.sampling.coins import WORDS, channel_of_support, log_rounded_up, smallest_share

GRID = [
    (epsilon0, factor, coins)
    for epsilon0 in (1e-6, 0.1, 1.0, math.log(3), 5.0, 20.0, 29.0)
    for factor, coins in ((Fraction(1), 1), (Fraction(1), 2), (Fraction(73, 27), 1), (Fraction(5, 1), 1))
]


def loss(share: int, factor: Fraction, coins: int) -> mpmath.mpf:
    odds = Fraction(WORDS - share, share) * factor
    return coins * mpmath.log(mpmath.mpf(odds.numerator) / odds.denominator)


@pytest.mark.parametrize(("epsilon0", "factor", "coins"), GRID)
def test_the_share_is_the_smallest_that_keeps_the_loss_and_comes_within_a_millionth(epsilon0, factor, coins):
    share = smallest_share(epsilon0, factor=factor, coins=coins)
    with mpmath.workdps(60):
        assert epsilon0 - 1e-6 < loss(share, factor, coins) <= epsilon0 < loss(share - 1, factor, coins)


@pytest.mark.parametrize(("factor", "coins"), [(Fraction(1), 1), (Fraction(1), 2), (Fraction(50), 1)])
def test_beyond_the_limit_in_the_message_one_word_would_change_the_loss_by_a_millionth(factor, coins):
    with pytest.raises(InvalidParameterError, match=r"epsilon0 must be from 1e-06 to .* saturates") as caught:
        smallest_share(1000.0, factor=factor, coins=coins)
    largest = float(str(caught.value).split()[6].rstrip(","))
    share = smallest_share(largest - 0.01, factor=factor, coins=coins)
    with mpmath.workdps(60):
        assert loss(share - 1, factor, coins) - loss(share, factor, coins) < 1e-6
        assert loss(share // 2 - 1, factor, coins) - loss(share // 2, factor, coins) > 1e-6


@pytest.mark.parametrize("epsilon0", [1e-7, 5e-324, 31.0, 1e300, 10**290])
def test_a_loss_that_64_bits_cannot_represent_is_refused(epsilon0):
    with pytest.raises(InvalidParameterError, match="64-bit randomness saturates"):
        smallest_share(epsilon0)


@pytest.mark.parametrize(
    ("numerator", "denominator"), [(3, 1), (1, 1), (2**128 - 1, 2**127), (10**6 + 1, 10**6), (1, 7)]
)
def test_a_logarithm_is_the_least_float_that_is_not_below_it(numerator, denominator):
    rounded = log_rounded_up(numerator, denominator)
    with mpmath.workdps(60):
        exact = mpmath.log(mpmath.mpf(numerator) / denominator)
        assert mpmath.mpf(math.nextafter(rounded, -math.inf)) < exact <= mpmath.mpf(rounded)


def test_a_channel_of_support_is_exact_or_rounded():
    support = np.array([[True, False], [False, True]])
    exact = channel_of_support(support, Fraction(2, 3), Fraction(1, 3), exact=True)
    assert exact.matrix.tolist() == [[Fraction(2, 3), Fraction(1, 3)], [Fraction(1, 3), Fraction(2, 3)]]
    assert channel_of_support(support, Fraction(2, 3), Fraction(1, 3), exact=False).matrix.tolist() == [
        [2 / 3, 1 / 3],
        [1 / 3, 2 / 3],
    ]
