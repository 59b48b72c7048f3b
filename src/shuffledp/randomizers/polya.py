"""Polya shares of discrete Laplace noise, exactly: small shares of many people add up to what one curator would add."""

import functools
import math
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shuffledp import _validate
from shuffledp._validate import invalid
from shuffledp.laws._settled import Bits, lost, precise
from shuffledp.randomizers.discrete_laplace import LARGEST_DENOMINATOR, exponential_coins, successes
from shuffledp.randomness import resolve_source, uniform_integers

if TYPE_CHECKING:
    from shuffledp.randomness import RandomSource

__all__ = ["LARGEST_RATE", "LEAST_RATE", "SAMPLER_ERROR", "polya_noise"]

LEAST_RATE, LARGEST_RATE = Fraction(1, 2**30), Fraction(1000)
# Jumps of 2^20 / rate or more are left out. One has a chance below exp(-2^20), which no float above 0 is as small as.
SAMPLER_ERROR = math.ulp(0.0)
_REACH = 2**20
_MOST_JUMPS = 32  # expected in a chunk of people, whose number is found by one search
_DIGITS = 60  # of the table that is searched, beyond what its decisions need
_WORD_BITS = 64


def polya_noise(
    rate: Fraction, noise_users: int, count: int, *, source: "RandomSource | None" = None
) -> NDArray[np.int64]:
    """Independent integers, any ``noise_users`` of which add up to discrete Laplace noise of this rate.

    With a = exp(-rate), each is the difference of two numbers of negative binomial law (Polya), with shape
    r = 1/noise_users and ratio a. That is compound Poisson: a person makes a number of jumps, of mean
    -2 r log(1 - a), each of size k with probability in proportion to a^k / k, up or down by a fair coin. Nearly
    everybody makes none. So the jumps of all are counted at once and handed out to people at random, which gives each
    the same law, independently (the splitting of Poisson variables).

    Guarantees:
        1. Each integer has the Polya law to a total variation below exp(-2^20) (`SAMPLER_ERROR`), for which only jumps
           of 2^20 / rate or more are left out; every other decision compares integers, and one that 64 bits leave open
           is settled with more.
        2. They are independent if the words of the source are uniform.

    Args:
        rate: from 2^-30 to 1000, with a denominator of at most 2^40.
        noise_users: how many people's noise adds up to one discrete Laplace, 1 or more.
        count: how many, 0 or more.
        source: None is the cryptographic source.

    Returns:
        int64 array of shape (count,).

    Raises:
        InvalidParameterError: if an argument is out of range.

    References:
        Ghazi, Kumar, Manurangsi, Nelson, Zhou 2023, Section 3 (shares of noise); Goryczka, Xiong 2017 (differences of
        Polya variables).

    Example:
        >>> noise = polya_noise(Fraction(1, 100), 1000, 1000)
        >>> bool((noise == 0).mean() > 0.9)
        True
    """
    _validate.instance_of(Fraction, rate=rate)
    _validate.integer_at_least(1, noise_users=noise_users)
    _validate.integer_at_least(0, count=count)
    if not (LEAST_RATE <= rate <= LARGEST_RATE and rate.denominator <= LARGEST_DENOMINATOR):
        raise invalid("a fraction from 2**-30 to 1000 with a denominator of at most 2**40", rate=rate)
    source = resolve_source(source)
    noise = np.zeros(int(count), dtype=np.int64)
    num_jumps = _num_jumps(rate, int(noise_users), noise.size, source)
    if num_jumps:
        people = uniform_integers(noise.size, num_jumps, source=source)
        down = uniform_integers(2, num_jumps, source=source)
        np.add.at(noise, people, (1 - 2 * down) * _jump_sizes(rate, num_jumps, source))
    return noise


# ---- how many jumps -------------------------------------------------------------------------------------------------


def _num_jumps(rate: Fraction, noise_users: int, count: int, source: "RandomSource") -> int:
    """A Poisson number, as a sum over chunks of people, of which all but the last are equal."""
    mean = -2 * math.log(-math.expm1(-float(rate))) / noise_users if rate < 30 else 0.0
    chunk = count if mean * count <= _MOST_JUMPS else max(1, int(_MOST_JUMPS / mean))
    whole, rest = divmod(count, chunk) if count else (0, 0)
    total = int(_poisson(rate, Fraction(chunk, noise_users), whole, source).sum()) if whole else 0
    return total + (int(_poisson(rate, Fraction(rest, noise_users), 1, source)[0]) if rest else 0)


def _poisson(rate: Fraction, shares: Fraction, count: int, source: "RandomSource") -> NDArray[np.int64]:
    """Poisson numbers of mean -2 shares log(1 - exp(-rate)): the places of uniform numbers among their distribution."""
    table = _table(rate, shares)
    words = source.words(count)
    below, reached = np.searchsorted(table, words, side="left"), np.searchsorted(table, words, side="right")
    for place in np.flatnonzero(below != reached):
        below[place] = _settled_poisson(rate, shares, int(words[place]), source)
    words.fill(0)
    return below.astype(np.int64)


@functools.lru_cache(maxsize=64)
def _table(rate: Fraction, shares: Fraction) -> NDArray[np.uint64]:
    """The distribution function in units of 2^-64, rounded down, until it is 1 but for one unit."""
    scale, digits = 2**_WORD_BITS, _DIGITS
    while True:
        with localcontext(precise(digits)):
            entries = []
            for reached in _distribution(rate, shares):
                entries.append((math.floor((reached - lost()) * scale), math.floor((reached + lost()) * scale)))
                if entries[-1][0] >= scale - 1:
                    break
        if all(low == high for low, high in entries):
            return np.array([low for low, _ in entries], dtype=np.uint64)
        digits += _DIGITS


def _settled_poisson(rate: Fraction, shares: Fraction, word: int, source: "RandomSource") -> int:
    """How many values of the distribution function a uniform number has reached, whose first 64 bits are known."""
    bits = Bits(word)
    while True:
        with localcontext(precise(_DIGITS + 2 * bits.count)):
            low, high = bits.ends()
            for place, value in enumerate(_distribution(rate, shares)):
                if value - lost() >= high:
                    return place
                if value + lost() > low:
                    break
        bits.extend(source)


def _distribution(rate: Fraction, shares: Fraction) -> Iterator[Decimal]:
    """Pr[number of jumps <= k] for k = 0, 1, ..., in the current decimal context."""
    ratio = (-Decimal(rate.numerator) / rate.denominator).exp()
    mean = -2 * (1 - ratio).ln() * shares.numerator / shares.denominator
    term = reached = (-mean).exp()
    place = 0
    while True:
        yield reached
        place += 1
        term = term * mean / place
        reached += term


# ---- how large they are ---------------------------------------------------------------------------------------------


def _jump_sizes(rate: Fraction, count: int, source: "RandomSource") -> NDArray[np.int64]:
    """Integers k of 1 or more with probability in proportion to exp(-rate k) / k, below 2^20 / rate.

    Blocks 2^j <= k < 2^(j+1) are proposed alike, each with equal probabilities inside: that is in proportion to 2^-j.
    So k is kept with probability (2^j / k) exp(-rate (k - 1)).
    """
    num_blocks = max(1, math.ceil(_REACH / rate).bit_length())
    sizes = np.empty(count, dtype=np.int64)
    done = 0
    while done < count:
        tries = 4 * (count - done) + 16
        block = uniform_integers(num_blocks, tries, source=source)
        proposed = (1 << block) + _random_bits(block, source)
        kept = proposed[_block_coins(block, proposed, source)]
        kept = kept[_decay_coins(kept - 1, rate, source)][: count - done]
        sizes[done : done + kept.size] = kept
        done += kept.size
    return sizes


def _random_bits(widths: NDArray[np.int64], source: "RandomSource") -> NDArray[np.int64]:
    """For each width, below 63, an integer of so many random bits."""
    return source.words(widths.size).view(np.int64) & ((np.int64(1) << widths) - 1)


def _block_coins(block: NDArray[np.int64], size: NDArray[np.int64], source: "RandomSource") -> NDArray[np.bool_]:
    """Coins of probability 2^block / size: integers below 2^(block + 1) are drawn until one is below the size."""
    heads = np.empty(block.size, dtype=np.bool_)
    pending = np.arange(block.size)
    while pending.size:
        drawn = _random_bits(block[pending] + 1, source)
        heads[pending] = drawn < (np.int64(1) << block[pending])
        pending = pending[drawn >= size[pending]]
    return heads


def _decay_coins(steps: NDArray[np.int64], rate: Fraction, source: "RandomSource") -> NDArray[np.bool_]:
    """Coins of probability exp(-rate steps): one of probability exp(-1) for each whole nat, and one for the rest."""
    whole, rest = np.divmod(steps * rate.numerator, rate.denominator)
    return (successes(steps.size, source) >= whole) & exponential_coins(rest, rate.denominator, source)
