"""Rounded mean: a number is rounded to a few levels without bias, then randomized by k-ary response."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.channels import Channel
from shuffledp.core.validate import invalid
from shuffledp.randomizers.families import Columns, RangeRandomizer
from shuffledp.randomizers.randomized_response import (
    KaryRandomizedResponse,
    KaryRandomizedResponseModel,
    RespondedRangeModel,
)
from shuffledp.randomizers.sampling.coins import grid_neighbors, round_to_grid, rounding_variance
from shuffledp.randomness.sources import RandomSource

_LARGEST_EPSILON0 = 30.5
_FEWEST_TELLING_LEVELS = 5  # from here on, the standard deviation of rounding is a tenth of the range or less
_CHANNEL_LIMIT = 512  # a larger matrix is slow to check, and ``response.channel()`` gives it where it is wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundedMeanModel(RespondedRangeModel):
    """Public description of the rounded mean: a range, and randomized response over the grid points in it.

    Args:
        lower: least value, a finite number.
        upper: largest value, above ``lower``.
        response: randomized response over the num_levels + 1 grid points.
    """

    kind: ClassVar[str] = "rounded-mean"

    @classmethod
    def from_epsilon0(cls, *, epsilon0: float, lower: float, upper: float, num_levels: int) -> Self:
        """Model with the largest representable local loss of at most ``epsilon0``."""
        validate.integer_at_least(1, num_levels=num_levels)
        if num_levels >= 2**31:
            raise invalid("below 2**31", num_levels=num_levels)
        response = KaryRandomizedResponseModel.from_epsilon0(epsilon0=epsilon0, domain_size=int(num_levels) + 1)
        return cls(lower=lower, upper=upper, response=response)

    @property
    def num_levels(self) -> int:
        """Number of steps of the grid: the number of grid points minus one."""
        return self.response.domain_size - 1

    def contributions(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
        """Number that each report contributes to the mean; it may lie outside the range.

        It is lower + step (report - q sum of all points) / (p - q).
        """
        p, q, levels = self.response.p, self.response.q, self.num_levels
        step = (self.upper - self.lower) / levels
        decoded: NDArray[np.float64] = self.lower + step * (columns["value"] - q * levels * (levels + 1) / 2) / (p - q)
        return decoded

    def log_likelihood(self, columns: Mapping[str, NDArray[Any]], value: Any) -> NDArray[np.float64]:
        """Exact log-likelihood of a value: a mixture of the responses at its two neighboring grid points."""
        left, share = grid_neighbors(value, lower=self.lower, upper=self.upper, num_steps=self.num_levels)
        rounded = (1 - share) * (columns["value"] == left) + share * (columns["value"] == left + 1)
        p, q = self.response.p, self.response.q
        chances: NDArray[np.float64] = np.log(q + (p - q) * rounded)
        return chances

    def noise_variance(self, mean: NDArray[np.float64]) -> NDArray[np.float64]:
        """Noise variance: exact for the response, and a bound for the rounding.

        The bound is at most a quarter of a squared step.
        """
        step = (self.upper - self.lower) / self.num_levels
        inside = np.clip(mean, self.lower, self.upper)
        response = step**2 * _response_variance((inside - self.lower) / step, self.response)
        rounding = rounding_variance(inside, lower=self.lower, upper=self.upper, num_steps=self.num_levels)
        # Rounding is a spread of what the response is given, which adds to its noise as well.
        variance: NDArray[np.float64] = response + (1 + self.noise_curvature) * rounding
        return variance

    @property
    def report_bits(self) -> int:
        """Size of one report in bits: the bits of a level's number."""
        return self.response.report_bits

    @property
    def noise_curvature(self) -> float:
        """Curvature (1 - (p - q)) / (p - q) of the noise variance.

        Spread-out values are noisier, since a false answer moves further.
        """
        kept = self.response.p - self.response.q
        return (1 - kept) / kept

    @property
    def tells_spread(self) -> bool:
        """True if the grid is fine enough for the spread of values to be estimated from the reports."""
        return self.num_levels >= _FEWEST_TELLING_LEVELS

    def channel(self, *, exact: bool = False) -> Channel | None:
        """Channel matrix from the grid points to the reports; None above 512 grid points.

        As fractions if ``exact``. The grid points are enough: any other value is rounded to one of its two neighbours,
        so its row is a mixture of theirs, and no likelihood ratio exceeds that between grid points.
        """
        return self.response.channel(exact=exact) if self.response.domain_size <= _CHANNEL_LIMIT else None


def _response_variance(place: NDArray[np.float64], response: KaryRandomizedResponseModel) -> NDArray[np.float64]:
    """Variance of a report's contribution in squared steps, for a value at this place of the grid.

    Of a report y made at v: E y = (p - q) v + q S1 and E y^2 = (p - q) v^2 + q S2, with S1 and S2 the sums of all grid
    points and of their squares. With L levels, D = p - q and p = D + q, the variance is that at v = 0 less a parabola:
    (q S2 - (q S1)^2 - D (1 - D) v (L - v)) / D^2, because 2 q S1 = (1 - D) L.
    """
    levels, q = response.domain_size - 1, response.q
    kept = response.p - q
    first, second = levels * (levels + 1) / 2, levels * (levels + 1) * (2 * levels + 1) / 6
    at_ends = q * second - (q * first) ** 2
    variance: NDArray[np.float64] = (at_ends - kept * (1 - kept) * place * (levels - place)) / kept**2
    return variance


def best_num_levels(*, epsilon0: float) -> int:
    """Number of levels at which the largest variance of a contribution is smallest.

    More levels round less and lie more: with E = exp(epsilon0) and L levels, rounding adds up to 1 / (4 L^2) squared
    widths, and lies about L / (3 E) for small L. So L grows as (3 E / 2)^(1/3), whatever the number of people is.

    Args:
        epsilon0: local privacy loss in nats, above 0 and at most 30.5.

    Raises:
        InvalidParameterError: for another ``epsilon0``.

    Example:
        >>> [best_num_levels(epsilon0=epsilon0) for epsilon0 in (1.0, 4.0, 8.0)]
        [1, 4, 16]
    """
    validate.positive(epsilon0=epsilon0)
    if epsilon0 > _LARGEST_EPSILON0:
        raise invalid(f"at most {_LARGEST_EPSILON0}", epsilon0=epsilon0)
    growth = math.exp(epsilon0)
    levels = np.arange(1, math.ceil(2 * growth ** (1 / 3)) + 3, dtype=np.float64)
    q = 1 / (growth + levels)
    kept = (growth - 1) * q
    at_ends = q * levels * (levels + 1) * (2 * levels + 1) / 6 - (q * levels * (levels + 1) / 2) ** 2
    # Between the end and half a step from it, where rounding peaks, the variance is a concave parabola.
    curvature = (1 - kept) / kept
    place = np.clip((1 + curvature - curvature * levels) / 2, 0, 0.5)
    rounding = (1 + curvature) * place * (1 - place)
    largest = (at_ends / kept**2 - curvature * place * (levels - place) + rounding) / levels**2
    return int(levels[np.argmin(largest)])


class RoundedMean(RangeRandomizer):
    """Means from one message per person, with few possible values.

    The single-message sum of the shuffle model. A value is rounded to a grid of ``num_levels`` + 1 points, up or down
    so that it is right on average, and the grid point goes through k-ary randomized response. Reports have the column
    ``value``: numbers of grid points, in the smallest unsigned dtype.

    After a shuffle the lies of all n people hide each. For a central target (epsilon, delta) exp(epsilon0) can be about
    n epsilon^2 / log(1/delta). With L levels lies then add the order of L log(1/delta) / epsilon^2 to the variance of
    the sum (in squared widths), and rounding up to n / (4 L^2). With L of the order n^(1/3) the sum errs by the order
    of n^(1/6), which no protocol of single messages can better. `best_num_levels` finds L for a given epsilon0.

    Guarantees:
        1. Each report is (epsilon0, 0)-locally differentially private, exactly, for ``model.epsilon0``, which is at
           most the epsilon0 asked for and differs from it by less than 1e-6.
        2. Given the grid point, the law of the report is that of `KaryRandomizedResponse`.
        3. Contributions are unbiased for the value, as far as float64 holds its place in the range (to 2^-51 of it).

    Args:
        epsilon0: local privacy loss in nats, as for `KaryRandomizedResponse`.
        lower: least value, a finite number; public.
        upper: largest value, above ``lower``; public.
        num_levels: steps of the grid, 1 or more; None is `best_num_levels`.
        clip: move values outside the range to its nearer end, instead of refusing them; see `clip_to_range`.

    Raises:
        InvalidParameterError: for parameters outside these ranges.

    References:
        Balle, Bell, Gascon, Nissim 2019 (the sum from single messages, and the lower bound that it meets; arXiv
        1903.02837).

    Example:
        >>> randomizer = RoundedMean(epsilon0=6.0, lower=0, upper=1, num_levels=8)
        >>> len(randomizer.randomize([0.5, 0.2, 1]))
        3
    """

    model_type: ClassVar[type[Any]] = RoundedMeanModel
    best_for: ClassVar[str] = "large `epsilon0`"
    shown: ClassVar[tuple[str, ...]] = ("epsilon0", "lower", "upper", "num_levels")
    model: RoundedMeanModel

    def __init__(
        self, *, epsilon0: float, lower: float, upper: float, num_levels: int | None = None, clip: bool = False
    ) -> None:
        if num_levels is None:
            num_levels = best_num_levels(epsilon0=epsilon0)
        self.model = RoundedMeanModel.from_epsilon0(epsilon0=epsilon0, lower=lower, upper=upper, num_levels=num_levels)
        self.clip = clip

    def _randomized(self, numbers: NDArray[np.float64], source: RandomSource) -> Columns:
        model = self.model
        points = round_to_grid(numbers, lower=model.lower, upper=model.upper, num_steps=model.num_levels, source=source)
        return dict(KaryRandomizedResponse.from_model(model.response).randomize(points, source=source).columns)
