"""One-bit mean: a number becomes one bit, whose chance of 1 grows with the number."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.channels import Channel
from shuffledp.core.validate import invalid
from shuffledp.randomizers.families import Columns, RangeRandomizer
from shuffledp.randomizers.randomized_response import KaryRandomizedResponseModel, RespondedRangeModel
from shuffledp.randomizers.sampling.coins import BATCH, grid_positions
from shuffledp.randomness.sources import RandomSource, high_product, word_batches


@dataclass(frozen=True, slots=True, kw_only=True)
class OneBitMeanModel(RespondedRangeModel):
    """Public description of the one-bit mean: a range, and binary randomized response between its two ends.

    Args:
        lower: least value, a finite number.
        upper: largest value, above ``lower``.
        response: randomized response of two answers; p and q are the chances of the bit 1 at the ends of the range.
    """

    kind: ClassVar[str] = "one-bit-mean"

    def __post_init__(self) -> None:
        super(OneBitMeanModel, self).__post_init__()
        if self.response.domain_size != 2:
            raise invalid("2, for one bit", domain_size=self.response.domain_size)

    @classmethod
    def from_epsilon0(cls, *, epsilon0: float, lower: float, upper: float) -> Self:
        """Model with the largest representable local loss of at most ``epsilon0``."""
        response = KaryRandomizedResponseModel.from_epsilon0(epsilon0=epsilon0, domain_size=2)
        return cls(lower=lower, upper=upper, response=response)

    def contributions(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
        """Number that each report contributes to the mean: lower + width (bit - q) / (p - q).

        One of two numbers outside the range.
        """
        p, q = self.response.p, self.response.q
        of_bits = self.lower + (self.upper - self.lower) * (np.array([0.0, 1.0]) - q) / (p - q)
        decoded: NDArray[np.float64] = of_bits[columns["value"]]
        return decoded

    def log_likelihood(self, columns: Mapping[str, NDArray[Any]], value: Any) -> NDArray[np.float64]:
        """Exact log-likelihood of a value; the chance of a 1 is linear in the value."""
        p, q = self.response.p, self.response.q
        chance = q + (p - q) * (value - self.lower) / (self.upper - self.lower)
        chances: NDArray[np.float64] = np.log(np.where(columns["value"] == 1, chance, 1 - chance))
        return chances

    def noise_variance(self, mean: NDArray[np.float64]) -> NDArray[np.float64]:
        """Noise variance of a bit: exact for people of equal values, else a bound.

        See `noise_curvature`.
        """
        p, q, width = self.response.p, self.response.q, self.upper - self.lower
        chance = q + (p - q) * (np.clip(mean, self.lower, self.upper) - self.lower) / width
        variance: NDArray[np.float64] = chance * (1 - chance) * (width / (p - q)) ** 2
        return variance

    @property
    def report_bits(self) -> int:
        """Size of one report in bits: one."""
        return 1

    @property
    def noise_curvature(self) -> float:
        """Curvature of the noise variance, -1.

        The bits have the variance of one coin, whatever the spread of the values.
        """
        return -1.0

    def channel(self, *, exact: bool = False) -> Channel | None:
        """Channel matrix from the two ends of the range to the bit, as fractions if ``exact``.

        Two inputs are enough: the chance of each bit is linear in the value, so any other input's row is a mixture of
        these two, and no likelihood ratio exceeds theirs.
        """
        response = self.response.channel(exact=exact)
        return None if response is None else Channel(response.matrix, (self.lower, self.upper), (0, 1))


class OneBitMean(RangeRandomizer):
    """Means from one bit of each person (Duchi's mechanism for numbers).

    Stochastic rounding followed by Warner's response.

    Pr[bit = 1] = q + (p - q) (x - lower) / (upper - lower), where p / q = exp(epsilon0) and p + q = 1. Reports have the
    column ``value``, uint8: bits.

    Guarantees:
        1. Each report is (epsilon0, 0)-locally differentially private, exactly, for ``model.epsilon0``, which is at
           most the epsilon0 asked for and differs from it by less than 1e-6: of the 2^64 words, the number that lead to
           either bit is never below q 2^64, whatever the value.
        2. The chance of the bit is linear in the value: to 2^-64, given the place of the value in its range, which
           float64 holds to 2^-51. So contributions are unbiased.
        3. Reports of different people are independent, and the time taken does not depend on what is drawn for one.

    Args:
        epsilon0: local privacy loss in nats, from 1e-6 to 30.5.
        lower: least value, a finite number; public.
        upper: largest value, above ``lower``; public.
        clip: move values outside the range to its nearer end, instead of refusing them; see `clip_to_range`.

    Raises:
        InvalidParameterError: for parameters outside these ranges.

    References:
        Duchi, Jordan, Wainwright 2018 (private means, in one dimension).

    Example:
        >>> randomizer = OneBitMean(epsilon0=1.0, lower=-1, upper=1)
        >>> len(randomizer.randomize([0.5, -0.25, 1]))
        3
    """

    model_type: ClassVar[type[Any]] = OneBitMeanModel
    best_for: ClassVar[str] = "small `epsilon0`, smallest message"
    model: OneBitMeanModel

    def _randomized(self, numbers: NDArray[np.float64], source: RandomSource) -> Columns:
        reports = np.empty(len(numbers), dtype=np.uint8)
        for batch, words in word_batches(len(numbers), source, batch=BATCH):
            np.less(words, _thresholds(numbers[batch], self.model), out=reports[batch].view(np.bool_))
        return {"value": reports}


def _thresholds(numbers: NDArray[np.float64], model: OneBitMeanModel) -> NDArray[np.uint64]:
    """Number of the 2^64 words that give the bit 1, for each number.

    ``share`` at the lower end, 2^64 - ``share`` at the upper.
    """
    index, rest = grid_positions(numbers, lower=model.lower, upper=model.upper, num_steps=1)
    spread = np.uint64(model.response.truth_words - model.response.share)
    # The upper end is the one value with index 1, and then nothing is left over.
    thresholds: NDArray[np.uint64] = high_product(rest, spread) + spread * index.astype(np.uint64)
    return thresholds + np.uint64(model.response.share)
