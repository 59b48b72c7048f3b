"""Exact discrete Laplace noise by comparing and rejecting integers, without floating point."""

import functools
import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.validate import invalid
from shuffledp.randomness.sources import RandomSource, resolve_source, uniform_integers

LARGEST_DENOMINATOR = 2**40  # then no product below leaves 63 bits, except with probability exp(-10^6)
_BATCH = 1 << 17  # draws at a time: what is computed for them stays in the processor's cache


def discrete_laplace(rate: Fraction, count: int, *, source: RandomSource | None = None) -> NDArray[np.int64]:
    """Independent integers Z with Pr[Z = z] = (1 - a) / (1 + a) a^|z|, where a = exp(-rate).

    With rate = s/t: an integer U below t is kept with probability exp(-U/t), and V counts successes of probability
    exp(-1) before the first failure; then floor((U + t V) / s) is geometric with ratio a. A fair sign, where minus zero
    is drawn again, makes it two-sided. The rate is at most 2^20, with a denominator of at most 2^40.

    Guarantees:
        1. The law is exact if the words of the source are uniform: every decision compares integers.
        2. Every integer is possible.

    References:
        Canonne, Kamath, Steinke 2020, Algorithms 1 and 2 (arXiv 2004.00010); coins of probability exp(-1) are tossed by
        comparing digits instead, which takes one word each.

    Example:
        >>> bool(abs(discrete_laplace(Fraction(1, 2), 1000)).max() < 100)
        True
    """
    validate.instance_of(Fraction, rate=rate)
    validate.integer_at_least(0, count=count)
    if not (0 < rate <= 2**20 and rate.denominator <= LARGEST_DENOMINATOR):
        raise invalid("a fraction above 0 and at most 2**20 with a denominator of at most 2**40", rate=rate)
    source = resolve_source(source)
    noise = np.empty(int(count), dtype=np.int64)
    for start in range(0, noise.size, _BATCH):
        _fill(noise[start : start + _BATCH], rate, source)
    return noise


def _fill(noise: NDArray[np.int64], rate: Fraction, source: RandomSource) -> None:
    pending = np.arange(noise.size)
    while pending.size:
        magnitude = _geometric(rate, pending.size, source)
        negative = uniform_integers(2, pending.size, source=source).astype(np.bool_)
        kept = ~(negative & (magnitude == 0))
        noise[pending[kept]] = np.where(negative, -magnitude, magnitude)[kept]
        pending = pending[~kept]


def _geometric(rate: Fraction, count: int, source: RandomSource) -> NDArray[np.int64]:
    """Random integers Y of 0 or more, with Pr[Y >= y] = exp(-rate y)."""
    part, whole = _within_one(rate.denominator, count, source), successes(count, source)
    return (part + rate.denominator * whole) // rate.numerator


def _within_one(denominator: int, count: int, source: RandomSource) -> NDArray[np.int64]:
    """Random integers U below the denominator, with probability proportional to exp(-U / denominator)."""
    out = np.empty(count, dtype=np.int64)
    pending = np.arange(count)
    while pending.size:
        drawn = uniform_integers(denominator, pending.size, source=source)
        kept = exponential_coins(drawn, denominator, source)
        out[pending[kept]] = drawn[kept]
        pending = pending[~kept]
    return out


def successes(count: int, source: RandomSource) -> NDArray[np.int64]:
    """Number of heads before the first tail, for coins with heads probability exp(-1)."""
    out = np.zeros(count, dtype=np.int64)
    tossing = np.arange(count)
    while tossing.size:
        tossing = tossing[_unit_coins(tossing.size, source)]
        out[tossing] += 1
    return out


def _unit_coins(count: int, source: RandomSource) -> NDArray[np.bool_]:
    """Coins that are True with probability exp(-1).

    Uniform numbers are compared with it digit by digit in base 2^64. The first digit decides, but for one coin in 2^64;
    then the next one does.
    """
    heads = np.empty(count, dtype=np.bool_)
    undecided, place = np.arange(count), 0
    while undecided.size:
        words, digit = source.words(undecided.size), np.uint64(_digit_of_inverse_e(place))
        heads[undecided] = words < digit
        undecided, place = undecided[words == digit], place + 1
        words.fill(0)
    return heads


@functools.cache
def _digit_of_inverse_e(place: int) -> int:
    """Digit of exp(-1) in base 2^64, at this place.

    exp(-1) = 1 - 1 + 1/2 - 1/6 + ... lies between successive partial sums.
    """
    scale = 2 ** (64 * (place + 1))
    total, term, count = Fraction(1), Fraction(-1), 1
    while math.floor(total * scale) != math.floor((total + term) * scale):
        total, count = total + term, count + 1
        term /= -count
    digit: int = math.floor(total * scale) % 2**64
    return digit


def exponential_coins(numerators: NDArray[np.int64], denominator: int, source: RandomSource) -> NDArray[np.bool_]:
    """Coins that are True with probability exp(-numerator / denominator).

    For numerators from 0 to the denominator. With g the fraction, coins of probability g, g/2, g/3, ... are tossed
    until one fails: by the series of exp(-g), the place of that one is odd with probability exp(-g).
    """
    heads = np.empty(numerators.size, dtype=np.bool_)
    tossing, place = np.arange(numerators.size), 1
    while tossing.size:
        succeeded = uniform_integers(place * denominator, tossing.size, source=source) < numerators[tossing]
        heads[tossing[~succeeded]] = place % 2 == 1
        tossing, place = tossing[succeeded], place + 1
    return heads
