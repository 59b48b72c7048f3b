"""Lazy bits: exact decisions about a uniform number whose further bits are drawn only when they matter.

Samplers compute in floats first, with a margin far above the error of a float function. What lies within the margin of
a boundary, a few draws in a million, is decided here, in decimal arithmetic and with as many bits as it takes. So the
laws are exact, and the same words give the same draws on every machine.
"""

import math
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, getcontext, localcontext

from shuffledp.randomness.sources import RandomSource

RELATIVE_ERROR = 2.0**-46  # what a float function may lose: over a hundred times what log1p, expm1 and exp do lose


class Bits:
    """A uniform number in [low, low + 1) / 2^count.

    Args:
        low: its first bits, as an integer.
        count: their number.
    """

    __slots__ = ("count", "low")

    def __init__(self, low: int, count: int = 64) -> None:
        self.low, self.count = low, count

    def extend(self, source: RandomSource) -> None:
        """Draw 64 bits more."""
        self.low = self.low << 64 | int(source.words(1)[0])
        self.count += 64

    def ends(self) -> tuple[Decimal, Decimal]:
        """Both ends of the interval, exactly."""
        scale = Decimal(2) ** self.count
        return Decimal(self.low) / scale, Decimal(self.low + 1) / scale


def precise(digits: int) -> Context:
    """Decimal context of a number of digits, in which nothing overflows."""
    return Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])


def lost() -> Decimal:
    """Error bound of a computation in the current decimal context: half of the digits, far more than any here loses."""
    return Decimal(10) ** -(getcontext().prec // 2)


def settled_floor(
    value: Callable[[Decimal], Decimal], word: int, source: RandomSource, *, most: int, digits: int = 0
) -> int:
    """The integer part of ``value(u)``, or ``most`` if less, for a uniform u whose first 64 bits are known.

    ``value`` is nondecreasing, computed in the precision of the decimal context, to within `lost`; it may need more
    ``digits`` than the usual ones.
    """
    bits = Bits(word)
    while True:
        with localcontext(precise(100 + bits.count + digits)):
            low, high = bits.ends()
            least = min(max(value(low) - lost(), Decimal(0)), Decimal(most))
            largest = min(max(value(high) + lost(), Decimal(0)), Decimal(most))
            if math.floor(least) == math.floor(largest):
                return math.floor(least)
        bits.extend(source)
