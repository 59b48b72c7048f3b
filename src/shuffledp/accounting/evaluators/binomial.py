"""Binomial laws: probabilities, tails by quadrature, and laws cut into blocks, for any number of trials.

Two formulas do everything. The probability of a count is Loader's saddle-point form (2000). The tail above it, divided
by it, is an integral of a smooth decreasing function,

    Pr[T > c] / Pr[T = c] = (m - c) w  int_0^1 (1 - u)^c (1 + w u)^(m - c - 1) du,    w = p / (1 - p),

which Gauss-Legendre nodes between 0 and the place where it has fallen by e^-38 give to 1e-13. Tails of scipy are good
to 2e-9 only in places (counts near 10 among 1e8), and a lower bound needs to know on which side of the truth it is.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cache

import numpy as np

from shuffledp.core.table import Floats

_NODES = 24
_NEGLIGIBLE = 38.0  # e^-38 is below the rounding error
_NEWTON_STEPS = 6
_TABLE = 16  # below this count Stirling's series is not accurate enough
_CLOSE = 0.1
_LIKELY = 8.0  # standard deviations in which most blocks lie


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """Binomial law in blocks of successive counts, with a bound on the probability outside.

    Args:
        lows: the first count of each block, ascending; shape (blocks,).
        highs: the last count of each block.
        most: the probability of each block, from above.
        least: the probability of each block, from below.
        outside: more than the probability of all other counts.
    """

    lows: Floats
    highs: Floats
    most: Floats
    least: Floats
    outside: float


def binomial_blocks(trials: int, chance: float, *, outside: float, num_blocks: int) -> Blocks:
    """Binomial law in at most ``num_blocks`` blocks, which leave out at most the chance ``outside``.

    By Chernoff's bound. The chance is above 0. A window of no more counts than blocks is cut into single ones.
    """
    if chance >= 1 or trials == 0:
        everything = np.array([float(trials)])
        return Blocks(lows=everything, highs=everything, most=np.ones(1), least=np.ones(1), outside=0.0)
    low, high = _window(trials, chance, outside)
    error = binomial_error(trials)
    if high - low < num_blocks:
        counts = np.arange(low, high + 1, dtype=np.float64)
        masses = np.exp(log_probability(counts, trials, chance))
        return Blocks(lows=counts, highs=counts, most=masses * (1 + error), least=masses * (1 - error), outside=outside)
    middle = min(max(math.floor(trials * chance), low), high)
    edges = _edges(low, middle, high, num_blocks, _LIKELY * math.sqrt(trials * chance * (1 - chance)))
    masses, sizes = block_masses(edges, trials, chance)
    return Blocks(
        lows=edges[:-1],
        highs=edges[1:] - 1,
        most=masses + error * sizes,
        least=np.maximum(masses - error * sizes, 0.0),
        outside=outside,
    )


def binomial_lattice(trials: int, chance: float, *, outside: float, step: int) -> tuple[int, Floats]:
    """Binomial law on a grid: every count is moved down to the nearest grid point.

    At most ``outside`` is left out. Returns the first count, and the probability of each point, from above.
    """
    if trials == 0:
        return 0, np.ones(1)
    low, high = _window(trials, chance, outside)
    edges = np.append(np.arange(low, high + 1, step, dtype=np.float64), high + 1)
    if step == 1:
        masses = np.exp(log_probability(edges[:-1], trials, chance))
        return low, masses * (1 + binomial_error(trials))
    fine = np.unique(np.append(edges, math.floor(trials * chance)))
    masses, sizes = block_masses(fine, trials, chance)
    return low, np.add.reduceat(masses + binomial_error(trials) * sizes, np.searchsorted(fine, edges[:-1]))


def _edges(low: int, middle: int, high: int, num_blocks: int, reach: float) -> Floats:
    """Edges of blocks: the first count of each block, and the count after the last block.

    3 of 4 blocks lie within reach.
    """
    left, right = max(low, math.floor(middle - reach)), min(high + 1, math.ceil(middle + reach))
    beyond = max(num_blocks // 8, 2) if left > low or right < high + 1 else 1
    within = np.linspace(left, right, num_blocks - 2 * beyond + 1)
    sides = [np.linspace(low, left, beyond), np.linspace(right, high + 1, beyond)]
    return np.unique(np.floor(np.concatenate([[middle], within, *sides])))


def block_masses(edges: Floats, trials: int, chance: float) -> tuple[Floats, Floats]:
    """Probability of each block of counts, as a difference of tails, and the sum of the two tails.

    The sum bounds the rounding error. Edges ascend from 0 to trials + 1; one of them, or the gap between two, is near
    the mean.
    """
    odds = chance / (1 - chance)
    center = min(int(np.searchsorted(edges, math.floor(trials * chance))), len(edges) - 1)
    below, above = np.minimum(edges[: center + 1], trials), np.minimum(edges[center:], trials)
    lower = np.exp(log_probability(below, trials, chance)) * tail_ratio(trials - below, trials, 1 / odds)
    upper = np.exp(log_probability(above, trials, chance)) * (1 + tail_ratio(above, trials, odds))
    upper[edges[center:] > trials] = 0.0
    lower[edges[: center + 1] > trials] = 1.0
    masses = np.concatenate([np.diff(lower), -np.diff(upper)])
    sizes = np.concatenate([lower[1:] + lower[:-1], upper[1:] + upper[:-1]])
    return np.maximum(masses, 0.0), sizes


def _window(trials: int, chance: float, outside: float) -> tuple[int, int]:
    """First and last count of a window that leaves out a probability of at most ``outside``.

    By Chernoff's bound.
    """
    mean = trials * chance
    exponent = math.log(2) - math.log(outside)

    def is_far(count: int) -> bool:
        rest = trials - count
        seen = _deviance_of(count, mean) if count else mean
        return seen + (_deviance_of(rest, trials - mean) if rest else trials - mean) > exponent

    return (
        bisect_left(range(math.floor(mean)), True, key=lambda count: not is_far(count)),
        bisect_left(range(trials), True, lo=math.floor(mean), key=lambda count: is_far(count + 1)),
    )


def _deviance_of(count: int, mean: float) -> float:
    """Deviance count log(count / mean) + mean - count, accurate where count and mean are close."""
    difference = count - mean
    if abs(difference) >= 0.1 * (count + mean):
        return count * math.log(count / mean) - difference
    slope = difference / (count + mean)
    total, term, divisor = difference * slope, 2 * count * slope, 1
    while True:
        term, divisor = term * slope * slope, divisor + 2
        if total + term / divisor == total:
            return total
        total += term / divisor


def binomial_error(trials: int) -> float:
    """Bound on the relative rounding error of a probability and `tail_ratio` together.

    The probability is exp of `log_probability`. Also for a chance that is itself rounded. Measured up to 25 standard
    deviations out: at most half of this.
    """
    return 1e-12 + 1e-14 * math.sqrt(trials)


def log_probability(counts: Floats, trials: Floats | float, chance: float) -> Floats:
    """Log-probability log Pr[T = count] for T ~ Bin(trials, chance), in Loader's form.

    For 0 < chance < 1 and 0 <= count <= trials. The relative error of the probability is below `binomial_error`.
    """
    counts, trials = np.broadcast_arrays(np.asarray(counts, dtype=np.float64), np.asarray(trials, dtype=np.float64))
    rest = trials - counts
    inside = (counts > 0) & (rest > 0)
    some, others = np.where(inside, counts, 1.0), np.where(inside, rest, 1.0)
    whole = some + others
    value = stirling_error(whole) - stirling_error(some) - stirling_error(others)
    value -= _deviance(some, whole * chance) + _deviance(others, whole * (1 - chance))
    value += 0.5 * np.log(whole / (2 * math.pi * some) / others)
    return np.where(inside, value, np.where(counts > 0, trials * math.log(chance), trials * math.log1p(-chance)))


def tail_ratio(counts: Floats, trials: Floats | float, odds: float) -> Floats:
    """Ratio Pr[T > count] / Pr[T = count] for T ~ Bin(trials, odds / (1 + odds)).

    For counts of the mean less 1 or more. The relative error is below `binomial_error`.
    """
    counts, trials = np.broadcast_arrays(np.asarray(counts, dtype=np.float64), np.asarray(trials, dtype=np.float64))
    rest = np.maximum(trials - counts - 1, 0.0)
    reach = _reach(counts, rest, odds)[..., np.newaxis]
    nodes, weights = _gauss_legendre()
    places = reach * nodes
    many, others = counts[..., np.newaxis], rest[..., np.newaxis]
    if odds == 1:  # in a form that loses no digits to cancellation
        values = (others - many) * np.arctanh(places) + (many + others) / 2 * np.log1p(-places * places)
    else:
        values = many * np.log1p(-places) + others * np.log1p(odds * places)
    integral = (np.exp(values, out=values) @ weights) * reach[..., 0]
    return np.asarray((trials - counts) * odds * integral)


def _reach(counts: Floats, rest: Floats, odds: float) -> Floats:
    """Point where the integrand has fallen to e^-38 of its value at 0, or slightly beyond.

    By Newton's method from the right, for a concave logarithm.
    """
    slope = counts - rest * odds
    reach = 2 * _NEGLIGIBLE / (slope + np.sqrt(slope * slope + 2 * _NEGLIGIBLE * counts) + 1e-300)
    outside = ~((reach > 0) & (reach < 1 - 1e-9))  # below 0 where the square of the slope underflows
    reach = np.where(outside, 0.5, reach)
    for _ in range(_NEWTON_STEPS if odds != 1 else 2):
        value = counts * np.log1p(-reach) + rest * np.log1p(odds * reach) + _NEGLIGIBLE
        steepness = -counts / (1 - reach) + rest * odds / (1 + odds * reach)
        falling = (value < 0) & (steepness < 0)
        reach = np.where(falling, reach - value / np.where(falling, steepness, 1.0), reach)
    return np.where(outside, 1.0, reach)


@cache
def _gauss_legendre() -> tuple[Floats, Floats]:
    """Gauss-Legendre nodes and weights on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return (nodes + 1) / 2, weights / 2


def _deviance(counts: Floats, means: Floats | float) -> Floats:
    """Deviance count log(count / mean) + mean - count, accurate where count and mean are close."""
    difference = counts - means
    slope = difference / (counts + means)
    square = slope * slope
    series = np.zeros_like(slope)
    for divisor in range(19, 1, -2):
        series = (series + 1 / divisor) * square
    close = slope * difference + 2 * counts * slope * series
    apart = np.abs(slope) >= _CLOSE
    if not apart.any():
        return np.asarray(close)
    safe = np.where(apart & (counts > 0), counts, means)
    return np.where(apart, np.where(counts > 0, counts, 0.0) * np.log(safe / means) - difference, close)


def stirling_error(counts: Floats) -> Floats:
    """Error of Stirling's formula: log(count!) minus the formula, for counts of 1 or more."""
    square = 1 / (counts * counts)
    series = (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - square / 1188) * square) * square) * square) / counts
    small = counts < _TABLE
    if not small.any():
        return np.asarray(series)
    return np.where(small, _small_stirling_errors()[np.where(small, counts, 0).astype(np.int64)], series)


@cache
def _small_stirling_errors() -> Floats:
    """Error of Stirling's formula for each count below 16; the first entry is not used."""
    exact = [
        math.lgamma(count + 1) - (count + 0.5) * math.log(count) + count - math.log(2 * math.pi) / 2
        for count in range(1, _TABLE)
    ]
    return np.array([0.0, *exact])
