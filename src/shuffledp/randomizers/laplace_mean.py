"""Discrete Laplace mean: a number is rounded to a grid without bias, then moved by random steps."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.guarantees import LocalDP
from shuffledp.core.validate import invalid
from shuffledp.randomizers.families import Columns, RangeModel, RangeRandomizer
from shuffledp.randomizers.inputs import check_integer_columns
from shuffledp.randomizers.sampling.coins import (
    grid_neighbors,
    largest_fraction_up_to,
    round_to_grid,
    rounding_variance,
)
from shuffledp.randomizers.sampling.discrete_laplace import LARGEST_DENOMINATOR, discrete_laplace
from shuffledp.randomness.sources import RandomSource

_MOST_STEPS = 2**20
_LEAST_EPSILON0, _LARGEST_EPSILON0 = 1e-6, 1000.0
_NEVER_EXCEEDED = Fraction(71)  # nats, more than log(2^101): noise of 71 / rate steps or more has chance below 2^-100


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplaceMeanModel(RangeModel):
    """Public description of discrete Laplace noise on a grid.

    Args:
        lower: least value, a finite number.
        upper: largest value, above ``lower``.
        num_steps: steps of the grid between them, from 1 to 2^20.
        rate: privacy loss for each step, above 0; at most 1000 for all steps together; its denominator at most 2^40.
    """

    kind: ClassVar[str] = "laplace-mean"
    num_steps: int
    rate: Fraction

    def __post_init__(self) -> None:
        super(DiscreteLaplaceMeanModel, self).__post_init__()
        validate.integer_at_least(1, num_steps=self.num_steps)
        if self.num_steps > _MOST_STEPS:
            raise invalid(f"at most {_MOST_STEPS}", num_steps=self.num_steps)
        validate.instance_of(Fraction, rate=self.rate)
        largest = int(_LARGEST_EPSILON0)
        if not (0 < self.rate * int(self.num_steps) <= largest and self.rate.denominator <= LARGEST_DENOMINATOR):
            raise invalid(f"above 0, at most {largest} / num_steps, with a denominator up to 2**40", rate=self.rate)
        object.__setattr__(self, "num_steps", int(self.num_steps))

    @classmethod
    def from_epsilon0(cls, *, epsilon0: float, lower: float, upper: float, num_steps: int) -> Self:
        """Model with the largest representable local loss of at most ``epsilon0``, from 1e-6 to 1000."""
        validate.positive(epsilon0=epsilon0)
        validate.integer_at_least(1, num_steps=num_steps)
        if not _LEAST_EPSILON0 <= epsilon0 <= _LARGEST_EPSILON0:
            raise invalid(f"from {_LEAST_EPSILON0:g} to {_LARGEST_EPSILON0:g}", epsilon0=epsilon0)
        wanted = Fraction(float(epsilon0)) / int(num_steps)
        rate = largest_fraction_up_to(wanted, largest_denominator=LARGEST_DENOMINATOR)
        return cls(lower=lower, upper=upper, num_steps=num_steps, rate=rate)

    @property
    def guarantee(self) -> LocalDP:
        """Local guarantee: epsilon is num_steps times the rate, rounded up to a float."""
        exact = self.num_steps * self.rate
        epsilon = float(exact)
        return LocalDP(epsilon=epsilon if epsilon >= exact else math.nextafter(epsilon, math.inf))

    @property
    def total_variation(self) -> float:
        """Total variation between the two ends of the range, rounded up.

        With a = exp(-rate) and S steps it is 1 - (a^(m+1) + a^(S-m)) / (1 + a), m = floor(S / 2): the reports up to m
        tell the ends apart best.
        """
        rate, middle = float(self.rate), self.num_steps // 2
        overlap = math.exp(-rate * (middle + 1)) + math.exp(-rate * (self.num_steps - middle))
        return min(1 - overlap / (1 + math.exp(-rate)) + 1e-14, 1.0)

    @property
    def laplace_steps(self) -> float:
        """Number of steps of the grid.

        A value between two grid points is rounded to one of them at random.
        """
        return self.num_steps

    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Check the one integer column ``value``, within the reach of the noise.

        Every integer is possible, but those refused have together a chance below 2^-100 in one report. A single one
        could move the mean by any amount, and be no accident. To refuse a report costs no privacy: it is computed from
        the report alone.
        """
        check_integer_columns(columns, "value")
        furthest = self._furthest
        values = columns["value"]
        if len(values) and not (-furthest <= int(values.min()) and int(values.max()) <= self.num_steps + furthest):
            raise InvalidParameterError(
                f"reports must be integers from {-furthest} to {self.num_steps + furthest}, which noise leaves with a "
                "chance below 2^-100; got one beyond."
            )

    @property
    def swing(self) -> float:
        """Largest change of the sum by one report that `check` accepts."""
        return (self.upper - self.lower) * (1 + 2 * self._furthest / self.num_steps)

    @property
    def stray(self) -> float:
        """Largest distance of a report's contribution from a number at an end of the range.

        Of the reports that `check` accepts.
        """
        return (self.upper - self.lower) * (1 + self._furthest / self.num_steps)

    @property
    def _furthest(self) -> int:
        """Largest number of steps beyond the grid at which `check` accepts a report."""
        return math.ceil(_NEVER_EXCEEDED / self.rate)

    def contributions(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
        """Numbers at the reported places of the grid; some may lie outside the range."""
        step = (self.upper - self.lower) / self.num_steps
        decoded: NDArray[np.float64] = self.lower + step * columns["value"]
        return decoded

    def log_likelihood(self, columns: Mapping[str, NDArray[Any]], value: Any) -> NDArray[np.float64]:
        """Exact log-likelihood of a value: a mixture of the noise around its two neighboring grid points."""
        left, share = grid_neighbors(value, lower=self.lower, upper=self.upper, num_steps=self.num_steps)
        rate, reports = float(self.rate), columns["value"].astype(np.float64)
        near_left, near_right = -rate * np.abs(reports - left), -rate * np.abs(reports - (left + 1))
        # With share 0 its logarithm is minus infinity, and only the other grid point counts.
        with np.errstate(divide="ignore"):
            both: NDArray[np.float64] = np.logaddexp(np.log1p(-share) + near_left, np.log(share) + near_right)
        return both

    def noise_variance(self, mean: NDArray[np.float64]) -> NDArray[np.float64]:
        """Noise variance: exact for the noise, and a bound for the rounding.

        1 / (2 sinh(rate/2)^2) squared steps, and up to 1/4 of one.
        """
        step = (self.upper - self.lower) / self.num_steps
        noise = step**2 / (2 * math.sinh(float(self.rate) / 2) ** 2)
        inside = np.clip(mean, self.lower, self.upper)
        return noise + rounding_variance(inside, lower=self.lower, upper=self.upper, num_steps=self.num_steps)

    @property
    def report_bits(self) -> int:
        """Size of one report in bits: 64, since every integer is possible."""
        return 64

    @property
    def noise_curvature(self) -> float:
        """Curvature of the noise variance, 0: the noise is the same for all values."""
        return 0.0


class DiscreteLaplaceMean(RangeRandomizer):
    """Means by discrete Laplace noise (the geometric mechanism on a grid).

    A value is rounded to a grid of ``num_steps`` + 1 points, up or down so that it is right on average, and a number Z
    of steps is added with ``Pr[Z = z]`` proportional to ``exp(-rate |z|)``, rate = epsilon0 / num_steps. Reports have
    the column ``value``, int64: places on the grid, beyond its ends too.

    Noise in floating point would give values away, because neighbouring values can reach different floats (Mironov
    2012). Here every integer can be reached from every value, and no float takes part once the value is on the grid.

    Guarantees:
        1. Each report is (epsilon0, 0)-locally differentially private, exactly, for ``model.epsilon0``, which is at
           most the epsilon0 asked for and differs from it by less than 1e-6.
        2. Every integer can be drawn for every value. (Those more than 71 / rate steps from the grid, which have
           together a chance below 2^-100, end in an error and are not reported.)
        3. The noise has the discrete Laplace law exactly, and reports of different people are independent.
        4. Contributions are unbiased for the value, as far as float64 holds its place in the range (to 2^-51 of it).

    Args:
        epsilon0: local privacy loss in nats, from 1e-6 to 1000.
        lower: least value, a finite number; public.
        upper: largest value, above ``lower``; public.
        num_steps: steps of the grid, from 1 to 2^20. Rounding adds at most a quarter of a squared step to the variance,
            against about 2 (num_steps / epsilon0)^2 of them from noise.
        clip: move values outside the range to its nearer end, instead of refusing them; see `clip_to_range`.

    Raises:
        InvalidParameterError: for parameters outside these ranges.

    References:
        Ghosh, Roughgarden, Sundararajan 2009 (the geometric mechanism); Canonne, Kamath, Steinke 2020, Algorithm 2;
        Mironov 2012 (the leak through floating point).

    Example:
        >>> randomizer = DiscreteLaplaceMean(epsilon0=2.0, lower=0, upper=100)
        >>> randomizer.model.rate, randomizer.model.epsilon0
        (Fraction(1, 500), 2.0)
        >>> len(randomizer.randomize([12.5, 100, 37.25]))
        3
    """

    model_type: ClassVar[type[Any]] = DiscreteLaplaceMeanModel
    best_for: ClassVar[str] = "when the error must be known beforehand"
    shown: ClassVar[tuple[str, ...]] = ("epsilon0", "lower", "upper", "num_steps")
    model: DiscreteLaplaceMeanModel

    def __init__(
        self, *, epsilon0: float, lower: float, upper: float, num_steps: int = 1000, clip: bool = False
    ) -> None:
        self.model = DiscreteLaplaceMeanModel.from_epsilon0(
            epsilon0=epsilon0, lower=lower, upper=upper, num_steps=num_steps
        )
        self.clip = clip

    def _randomized(self, numbers: NDArray[np.float64], source: RandomSource) -> Columns:
        model = self.model
        reports = round_to_grid(numbers, lower=model.lower, upper=model.upper, num_steps=model.num_steps, source=source)
        noise = discrete_laplace(model.rate, len(numbers), source=source)
        reports += noise
        noise.fill(0)  # noise that stayed in memory would reveal the values
        return {"value": reports}
