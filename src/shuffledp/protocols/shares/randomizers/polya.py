"""Exact Polya shares of discrete Laplace noise, and the law of their sums."""

import functools
import math
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.validate import invalid
from shuffledp.laws.exact_draws import Bits, lost, precise
from shuffledp.randomizers.sampling.coins import largest_fraction_up_to
from shuffledp.randomizers.sampling.discrete_laplace import LARGEST_DENOMINATOR, exponential_coins, successes
from shuffledp.randomness.sources import RandomSource, resolve_source, uniform_integers

LEAST_RATE, LARGEST_RATE = Fraction(1, 2**30), Fraction(1000)
# Jumps of 2^20 / rate or more are left out. One has a chance below exp(-2^20), which no float above 0 is as small as.
SAMPLER_ERROR = math.ulp(0.0)
_REACH = 2**20
_MOST_JUMPS = 32  # expected in a chunk of people, whose number is found by one search
_DIGITS = 60  # of the table that is searched, beyond what its decisions need
_WORD_BITS = 64
_GUARD = 1 + 1e-9  # above the error of evaluating a bound in floats
_FINEST = 2e-3  # of the scale of the noise: a finer grid would change no interval by more
_LAW_REACH = 70.0  # nats: what lies further out is less than what floats round off


# ---- Polya shares


def polya_noise(
    rate: Fraction, noise_users: int, count: int, *, source: RandomSource | None = None
) -> NDArray[np.int64]:
    """Independent integers; any ``noise_users`` of them sum to discrete Laplace noise of this rate.

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

    References:
        Ghazi, Kumar, Manurangsi, Nelson, Zhou 2023, Section 3 (shares of noise); Goryczka, Xiong 2017 (differences of
        Polya variables).

    Example:
        >>> noise = polya_noise(Fraction(1, 100), 1000, 1000)
        >>> bool((noise == 0).mean() > 0.9)
        True
    """
    validate.instance_of(Fraction, rate=rate)
    validate.integer_at_least(1, noise_users=noise_users)
    validate.integer_at_least(0, count=count)
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


# ---- Polya shares: how many jumps


def _num_jumps(rate: Fraction, noise_users: int, count: int, source: RandomSource) -> int:
    """Poisson number of jumps, as a sum over chunks of people.

    All chunks are of equal size except the last.
    """
    mean = -2 * math.log(-math.expm1(-float(rate))) / noise_users if rate < 30 else 0.0
    chunk = count if mean * count <= _MOST_JUMPS else max(1, int(_MOST_JUMPS / mean))
    whole, rest = divmod(count, chunk) if count else (0, 0)
    total = int(_poisson(rate, Fraction(chunk, noise_users), whole, source).sum()) if whole else 0
    return total + (int(_poisson(rate, Fraction(rest, noise_users), 1, source)[0]) if rest else 0)


def _poisson(rate: Fraction, shares: Fraction, count: int, source: RandomSource) -> NDArray[np.int64]:
    """Poisson numbers of mean -2 shares log(1 - exp(-rate)), by inversion of the distribution function."""
    table = _table(rate, shares)
    words = source.words(count)
    below, reached = np.searchsorted(table, words, side="left"), np.searchsorted(table, words, side="right")
    for place in np.flatnonzero(below != reached):
        below[place] = _settled_poisson(rate, shares, int(words[place]), source)
    words.fill(0)
    return below.astype(np.int64)


@functools.lru_cache(maxsize=64)
def _table(rate: Fraction, shares: Fraction) -> NDArray[np.uint64]:
    """Poisson distribution function in units of 2^-64, rounded down, until it is at most one unit below 1."""
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


def _settled_poisson(rate: Fraction, shares: Fraction, word: int, source: RandomSource) -> int:
    """Number of values of the distribution function below a uniform number with known first 64 bits."""
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
    """Probabilities Pr[number of jumps <= k] for k = 0, 1, ..., in the current decimal context."""
    ratio = (-Decimal(rate.numerator) / rate.denominator).exp()
    mean = -2 * (1 - ratio).ln() * shares.numerator / shares.denominator
    term = reached = (-mean).exp()
    place = 0
    while True:
        yield reached
        place += 1
        term = term * mean / place
        reached += term


# ---- Polya shares: how large they are


def _jump_sizes(rate: Fraction, count: int, source: RandomSource) -> NDArray[np.int64]:
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


def _random_bits(widths: NDArray[np.int64], source: RandomSource) -> NDArray[np.int64]:
    """Random integers with the given numbers of bits, each below 63."""
    return source.words(widths.size).view(np.int64) & ((np.int64(1) << widths) - 1)


def _block_coins(block: NDArray[np.int64], size: NDArray[np.int64], source: RandomSource) -> NDArray[np.bool_]:
    """Coins of probability 2^block / size, by rejection of random integers.

    Integers below 2^(block + 1) are drawn until one is below the size.
    """
    heads = np.empty(block.size, dtype=np.bool_)
    pending = np.arange(block.size)
    while pending.size:
        drawn = _random_bits(block[pending] + 1, source)
        heads[pending] = drawn < (np.int64(1) << block[pending])
        pending = pending[drawn >= size[pending]]
    return heads


def _decay_coins(steps: NDArray[np.int64], rate: Fraction, source: RandomSource) -> NDArray[np.bool_]:
    """Coins of probability exp(-rate steps), from coins for each whole nat and for the rest."""
    whole, rest = np.divmod(steps * rate.numerator, rate.denominator)
    return (successes(steps.size, source) >= whole) & exponential_coins(rest, rate.denominator, source)


# ---- rates


def rate_of_steps(epsilon: float, steps: int) -> Fraction:
    """Largest representable rate per step with steps * rate <= epsilon."""
    return largest_fraction_up_to(Fraction(epsilon) / steps, largest_denominator=LARGEST_DENOMINATOR)


@functools.lru_cache(maxsize=64)
def rate_of_distance(epsilon: float, steps: int) -> Fraction:
    """Largest representable rate with steps * (exp(rate) - 1) <= epsilon."""
    with localcontext() as context:
        context.prec = _DIGITS
        wanted = (1 + Decimal(epsilon) / steps).ln() * (1 - Decimal(10) ** -(_DIGITS // 2))
    return largest_fraction_up_to(Fraction(wanted), largest_denominator=LARGEST_DENOMINATOR)


# ---- the law of sums of Polya shares


def noise_variance(rate: float, shape: float) -> float:
    """Variance of the difference of two negative binomials: shape / (2 sinh(rate/2)^2); 0 for a huge rate.

    The rate is minus the log of their ratio; the shape, how many discrete Laplace variables they add up to.
    """
    return shape / (2 * math.sinh(rate / 2) ** 2) if rate < 700 else 0.0


def tail_bound(rate: float, shape: float, limit: int) -> float:
    """Upper bound on the probability that the noise is beyond +-limit; exact for shape 1.

    With a = exp(-rate) that is 2 a^(limit + 1) / (1 + a). Up to shape 1 the difference is unimodal and symmetric, and
    symmetric noise that is added to it (what shape 1 has more) puts no less outside. Above shape 1 it is Chernoff's
    bound, exp(-s (limit + 1)) times the moment generating function at s, for each side.
    """
    if shape <= 1:
        return min(1.0, _GUARD * 2 * math.exp(-rate * (limit + 1)) / (1 + math.exp(-rate)))
    reach = rate * (limit + 1)
    tilt = rate * reach / (shape + math.hypot(shape, reach))  # best in the limit of a small rate, and below the rate
    # (1 - a)^2 / ((1 - a e^s)(1 - a e^-s)) = sinh(rate/2)^2 / (sinh((rate - s)/2) sinh((rate + s)/2))
    sides = math.expm1(-(rate - tilt)), math.expm1(-(rate + tilt))
    log_moment = shape * (2 * math.log(-math.expm1(-rate)) - math.log(sides[0] * sides[1]))
    exponent = math.log(2 * _GUARD) + log_moment - tilt * (limit + 1)
    return math.exp(min(exponent, 0.0))


@functools.lru_cache(maxsize=256)
def central_interval(rate: float, shape: float, spread: float, level: float) -> float:
    """Smallest m such that the noise, plus a normal number of variance ``spread``, lies within +-m at this level.

    The law is found from its characteristic function on a grid of integers, or of multiples of some integer if they are
    fine enough for the scale of the noise. Without the normal number, and at a coarse scale, the probability of the
    interval may exceed the level. With it each integer stands for all that is up to half a unit away, so that the
    interval is as much wider: rounded values lie on integers that are shifted by a part of one.
    """
    coarse = min(max(rate, _FINEST * math.sqrt(max(shape, 1.0))), max(rate, 1 / 30))
    unit = coarse / rate
    spread = spread / unit**2
    furthest = (_LAW_REACH + 12 * math.sqrt(2 * shape)) / coarse + 12 * math.sqrt(spread)
    size = 1 << max(4, math.ceil(math.log2(2 * furthest)))
    angles = 2 * math.pi * np.arange(size // 2 + 1) / size
    # |1 - a e^(i t)|^2 = (1 - a)^2 + 4 a sin(t/2)^2
    ratio, rest = math.exp(-coarse), -math.expm1(-coarse)
    log_law = -shape * np.log1p(4 * ratio * np.sin(angles / 2) ** 2 / rest**2) - spread * angles**2 / 2
    chances = np.fft.irfft(np.exp(log_law), size)[: size // 2]
    chances[1:] *= 2
    within = int(np.searchsorted(np.maximum.accumulate(np.cumsum(chances)), level - 1e-12))
    return unit * (within + 0.5 if spread else within)
