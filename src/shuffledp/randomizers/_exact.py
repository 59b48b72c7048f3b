"""Exact arithmetic of randomizers: coins as integers out of 2^64, the loss they really have, channels of fractions."""

import functools
import math
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp import _validate
from shuffledp._validate import invalid
from shuffledp.channels import Channel

__all__ = [
    "CHANNEL_LIMIT",
    "RESOLUTION",
    "WORDS",
    "channel_of_support",
    "largest_fraction_up_to",
    "log_rounded_up",
    "smallest_share",
]

WORDS = 2**64
RESOLUTION = 1e-6  # nats by which the loss used may fall short of the one asked for
CHANNEL_LIMIT = 4096  # outputs: the matrix of a larger channel may take more than 128 MiB
_DIGITS = 60


@functools.lru_cache(maxsize=256)
def log_rounded_up(numerator: int, denominator: int) -> float:
    """The logarithm of a fraction above 0, as the least float that is not below it."""
    with localcontext() as context:
        context.prec = _DIGITS
        exact = (Decimal(numerator) / denominator).ln()
        rounded = float(exact)
        return math.nextafter(rounded, math.inf) if Decimal(rounded) < exact else rounded


def smallest_share(epsilon0: float, *, factor: Fraction = Fraction(1), coins: int = 1) -> int:
    """The fewest of the 2^64 words for the unlikely side of a coin whose loss may be ``epsilon0``.

    With s words for the unlikely side the loss is coins * log(factor * (2^64 - s) / s).

    Args:
        epsilon0: local privacy loss in nats, above 0.
        factor: what multiplies the coin's odds.
        coins: how many such coins tell one answer from another.

    Raises:
        InvalidParameterError: if ``epsilon0`` is below 1e-6, or so large that one word more would change it by more.
    """
    _validate.positive(epsilon0=epsilon0)
    # With E = (2^64 - s) / s, one word more takes coins (E + 2 + 1/E) / 2^64 from the loss.
    largest = coins * math.log(float(factor) * (WORDS * RESOLUTION / coins - 3))
    if not RESOLUTION <= epsilon0 <= largest:
        limits = f"from {RESOLUTION:g} to {largest:.4g}"
        raise invalid(f"{limits}, beyond which 64-bit randomness saturates", epsilon0=epsilon0)
    with localcontext() as context:
        context.prec = _DIGITS
        odds = (Decimal(float(epsilon0)) / coins).exp() * factor.denominator / factor.numerator
        return int((WORDS / (odds + 1)).to_integral_value(ROUND_CEILING))


def channel_of_support(support: NDArray[np.bool_], likely: Fraction, unlikely: Fraction, *, exact: bool) -> Channel:
    """A channel with two probabilities: ``likely`` where the output supports the input, else ``unlikely``.

    Args:
        support: shape (inputs, outputs).
        likely: probability of each output that supports the input.
        unlikely: probability of each other output.
        exact: whether the entries stay fractions; else they are rounded.
    """
    entries: NDArray[Any] = np.array([unlikely, likely], dtype=object if exact else np.float64)
    return Channel(entries[support.astype(np.intp)])


def largest_fraction_up_to(value: Fraction, *, largest_denominator: int) -> Fraction:
    """The largest fraction that is at most ``value`` and has at most this denominator.

    As `fractions.Fraction.limit_denominator`, which returns the nearer of the two neighbours that are found here.
    """
    if value.denominator <= largest_denominator:
        return value
    earlier, convergent = (0, 1), (1, 0)
    dividend, divisor = value.numerator, value.denominator
    while True:
        quotient, remainder = divmod(dividend, divisor)
        denominator = earlier[1] + quotient * convergent[1]
        if denominator > largest_denominator:
            break
        earlier, convergent = convergent, (earlier[0] + quotient * convergent[0], denominator)
        dividend, divisor = divisor, remainder
    times = (largest_denominator - earlier[1]) // convergent[1]
    other = Fraction(earlier[0] + times * convergent[0], earlier[1] + times * convergent[1])
    return min(other, Fraction(*convergent))
