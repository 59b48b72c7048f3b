"""The expected largest load of two or three uneven bins, by sums over how many balls fall into two of them."""

import math

import numpy as np
from numpy.typing import NDArray

from shuffledp.leakage._counts import binomial, window
from shuffledp.leakage._quadrature import integer_quadrature

__all__ = ["larger_of_two", "largest_of_three"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_BLOCK = 1.5  # of smooth sums, in units of the spread of the sum


def larger_of_two(balls: int, first: float, second: float) -> float:
    """The expected larger load of two bins of several, over how many balls fall into these two.

    Of M balls the first bin holds X ~ Bin(M, s): E max(X, M - X) = M / 2 + E[X - M / 2; X >= M / 2]
    + E[M - X - M / 2; M - X > M / 2], so that tails are multiplied by differences only. Even and odd M are each smooth.
    """
    both = first + second
    low, high = window(balls, both)
    low, high = max(low, 1), min(high, balls)
    smoothness = _BLOCK * math.sqrt(balls * both * max(1 - both, 0.0)) / 2
    total = balls * both / 2
    for start in (low, low + 1):
        nodes, weights = integer_quadrature(max(0, (high - start) // 2 + 1), smoothness)
        held = start + 2 * nodes
        total += float((binomial(held, balls, both) * weights) @ _above_half(held, first / both))
    return total


def largest_of_three(balls: int, shares: list[float]) -> float:
    """The expected largest load of three bins that hold all balls, over how many balls fall into the first two.

    Given their sum M, the first holds X ~ Bin(M, s), and the last c = n - M: E max(X, M - X, c)
    = c + E[X - c; X >= a] + E[M - X - c; M - X >= b] with a, b = M / 2 or c + 1, the larger, rounded so that not both
    are. It is smooth in M below and above 2 n / 3, of even and of odd M.

    The shares must be above 0 and sum to 1, and be so near each other that each bin may be the fullest: few balls may
    fall into any, or terms less smooth than the nodes take them for.
    """
    first, second, last = shares
    both = first + second
    low, high = window(balls, both)
    low, high, edge = max(low, 0), min(high, balls), 2 * balls // 3
    smoothness = _BLOCK * math.sqrt(balls * both * last) / 32  # near the edge terms are less smooth
    total = 0.0
    for start, end in ((low, min(edge - 1, high)), (max(low, edge), high)):
        for odd in (0, 1):
            nodes, weights = integer_quadrature(max(0, (end - start - odd) // 2 + 1), smoothness)
            held = start + odd + 2 * nodes
            total += float((binomial(held, balls, both) * weights) @ _beyond(held, balls - held, first / both))
    return balls * last + total


def _beyond(held: Integers, least: Integers, share: float) -> Floats:
    """By how much the larger of two loads that add up to so many exceeds a number, if it does."""
    total = np.zeros(held.size)
    for chance, half in ((share, (held + 1) // 2), (1 - share, held // 2 + 1)):
        place = np.maximum(half, least + 1)
        total += _exceeding(held, place, chance, least)
    return total


def _exceeding(trials: Integers, place: Integers, chance: float, least: "Integers | Floats") -> Floats:
    """E[X - c; X >= a] for X binomial: (mean - c) P(X >= a) + a (1 - p) P(X = a), where the mean hardly counts."""
    from scipy.special import betainc

    possible = (place <= trials) & (trials > 0)
    inside = np.where(possible, place, 0)
    tail = np.where(inside <= 0, 1.0, betainc(np.maximum(inside, 1), np.maximum(trials - inside + 1, 1), chance))
    exceeding = (trials * chance - least) * tail + inside * (1 - chance) * binomial(inside, trials, chance)
    return np.where(possible, exceeding, 0.0)


def _above_half(held: Integers, share: float) -> Floats:
    """By how much the larger of two loads that add up to so many exceeds half of them, on average."""
    first = _exceeding(held, (held + 1) // 2, share, held / 2)
    return first + _exceeding(held, held // 2 + 1, 1 - share, held / 2)
