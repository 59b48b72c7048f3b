"""Discrete Gaussian numbers from a table of 128-bit thresholds, with a bound on the error of their law."""

import functools
import math
from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.validate import invalid
from shuffledp.randomness.sources import RandomSource, resolve_source, word_batches

LEAST_VARIANCE, LARGEST_VARIANCE = 1.0, 4096.0
_REACH = 15  # roots of the variance beyond which nothing is drawn
_DIGITS = 60
_WORD = 64
_BATCH = 1 << 16


def sampler_error(variance: float) -> float:
    """Bound on the total variation between a drawn number and the discrete Gaussian law.

    Each threshold is off by at most 2^-128, and beyond 15 roots of the variance lies at most 2 exp(-15^2 / 2).
    """
    return (2 * _reach(variance) + 2) * 2.0**-128 + 2 * math.exp(-(_REACH**2) / 2)


def discrete_gaussian(variance: float, count: int, *, source: RandomSource | None = None) -> NDArray[np.int64]:
    """Independent integers k, each with a probability in proportion to exp(-k^2 / (2 variance)).

    A uniform number is compared with the distribution function, of which 128 binary places are known; the first 64
    places decide unless they are those of a threshold.

    Guarantees:
        1. Each integer has that law to a total variation of `sampler_error`; decisions compare integers.
        2. They are independent if the words of the source are uniform.

    Args:
        variance: the parameter, from 1 to 4096, which is the variance to less than one part in 10^6.
        count: how many.
        source: randomness; None is the cryptographic source.

    Raises:
        InvalidParameterError: if an argument is out of range.

    Example:
        >>> noise = discrete_gaussian(16.0, 10_000)
        >>> bool(abs(noise.mean()) < 1)
        True
    """
    validate.positive(variance=variance)
    validate.integer_at_least(0, count=count)
    if not LEAST_VARIANCE <= variance <= LARGEST_VARIANCE:
        raise invalid(f"from {LEAST_VARIANCE:g} to {LARGEST_VARIANCE:g}", variance=variance)
    source = resolve_source(source)
    numbers = np.empty(int(count), dtype=np.int64)
    first, second = _thresholds(float(variance))
    for batch, words in word_batches(numbers.size, source, batch=_BATCH):
        places = np.searchsorted(first, words, side="left")
        tied = np.flatnonzero(places != np.searchsorted(first, words, side="right"))
        for place in tied:
            places[place] = _settled(int(words[place]), first, second, source)
        numbers[batch] = places
    return numbers - _reach(float(variance))


def _settled(word: int, first: NDArray[np.uint64], second: NDArray[np.uint64], source: RandomSource) -> int:
    """Number of thresholds at or below a random 128-bit number: ``word``, and 64 further bits drawn here."""
    further = int(source.words(1)[0])
    return sum((int(high), int(low)) <= (word, further) for high, low in zip(first, second, strict=True))


def _reach(variance: float) -> int:
    return math.ceil(_REACH * math.sqrt(variance))


@functools.lru_cache(maxsize=16)
def _thresholds(variance: float) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Distribution function of the number at -reach .. reach - 1, in units of 2^-128, as two words."""
    reach = _reach(variance)
    with localcontext() as context:
        context.prec = _DIGITS
        exact = Decimal(variance)
        weights = [(-Decimal(each * each) / (2 * exact)).exp() for each in range(-reach, reach + 1)]
        total, reached, units = sum(weights), Decimal(0), []
        for weight in weights[:-1]:
            reached += weight
            units.append(min(int((reached / total * 2 ** (2 * _WORD)).to_integral_value()), 2 ** (2 * _WORD) - 1))
    mask = 2**_WORD - 1
    first = np.array([each >> _WORD for each in units], dtype=np.uint64)
    return first, np.array([each & mask for each in units], dtype=np.uint64)
