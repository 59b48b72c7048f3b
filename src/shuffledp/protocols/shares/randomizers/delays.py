"""Laplace delays drawn by devices: the promise about the order of arrival, without a shuffler."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.randomizers.sampling.discrete_laplace import LARGEST_DENOMINATOR, discrete_laplace
from shuffledp.randomness.sources import RandomSource, resolve_source


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceDelays:
    """Laplace offsets in whole ticks, for devices that send at a broadcast hour plus their own offset.

    Nobody can send before the hour was broadcast, and no buffer can wait for ever: an offset of more than ``longest``,
    either way, is drawn again. The hour is broadcast ``longest`` before it, and the buffer closes ``skew + longest``
    after it.

    Guarantees:
        1. What is seen of reports with the ticks in which they come in, and so their order with ties by lot, is
           (gamma, delta1)-differentially oblivious, for any number of people: gamma = 2 skew / scale and delta1 =
           1 - (1 - q)^2, where q = (exp(skew / scale) - 1) / (exp((longest + 1) / scale) + exp(longest / scale) - 2).
           `ObliviousShuffleModel` describes that.
        2. Every offset is drawn exactly, without floating point, if the words of the source are uniform.

    The first rests on the promise that, but for their offsets, any two reports come in at most ``skew`` apart, at times
    that depend on no answer and no offset. **Nothing can detect a longer skew.** It holds towards those who cannot see
    who sends when: whoever can knows the order.

    Args:
        skew: longest time between two reports without offsets (clocks and lines together), in ticks, 0 or more.
        scale: of the Laplace law, in ticks, 1 to 2^40.
        longest: offset either way, in ticks; at least ``scale`` and ``skew``, and at most 700 times ``scale``.

    Raises:
        InvalidParameterError: if one is out of range.

    References:
        Ghazi et al. 2023, the introduction's example; the remainder is proven in docs/proofs.md, "Delays that are cut".

    Example:
        >>> delays = LaplaceDelays(skew=1, scale=100, longest=1000)
        >>> f"{delays.imperfection:.3g} {delays.remainder:.2g}"
        '0.02 4.5e-07'
    """

    skew: int
    scale: int
    longest: int

    def __post_init__(self) -> None:
        validate.integer_at_least(0, skew=self.skew)
        validate.integer_at_least(1, scale=self.scale, longest=self.longest)
        if self.scale > LARGEST_DENOMINATOR:
            raise validate.invalid("2^40 or less", scale=self.scale)
        if not max(self.skew, self.scale) <= self.longest <= 700 * self.scale:
            raise validate.invalid("at least skew and scale, and at most 700 * scale", longest=self.longest)

    @property
    def imperfection(self) -> float:
        """Imperfection "gamma" in nats, 0 or more: bound on a view's change of log-chance if two reports swap."""
        return math.nextafter(2 * self.skew / self.scale, math.inf) if self.skew else 0.0

    @property
    def remainder(self) -> float:
        """Remainder delta1 beside the imperfection, from 0 to 1."""
        skew, longest, more = (ticks / self.scale for ticks in (self.skew, self.longest, self.longest + 1))
        lost = math.expm1(skew) / (math.expm1(longest) + math.expm1(more))
        return lost * (2 - lost) * (1 + 1e-12)  # by more than the few roundings can have taken away

    def draw(self, count: int, *, source: RandomSource | None = None) -> NDArray[np.int64]:
        """Independent offsets in ticks, from -longest to longest; int64, shape (count,)."""
        source, rate = resolve_source(source), Fraction(1, self.scale)
        offsets = discrete_laplace(rate, count, source=source)
        while (beyond := np.flatnonzero(np.abs(offsets) > self.longest)).size:
            offsets[beyond] = discrete_laplace(rate, beyond.size, source=source)
        return offsets
