"""What is public about split and mix: the noise, the grid, the shares, and what their sums tell."""

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shuffledp import _validate
from shuffledp._validate import invalid
from shuffledp.errors import InvalidParameterError
from shuffledp.guarantees import LocalDP
from shuffledp.models import SumModel
from shuffledp.randomizers import polya_law
from shuffledp.randomizers._exact import largest_fraction_up_to
from shuffledp.randomizers.bounded import check_range
from shuffledp.randomizers.discrete_laplace import LARGEST_DENOMINATOR
from shuffledp.randomizers.polya import LEAST_RATE, SAMPLER_ERROR

if TYPE_CHECKING:
    from shuffledp.randomizers.split_and_mix import SplitAndMix

__all__ = ["SplitAndMixModel"]

_NOTED_WRAP_PROBABILITY = 1e-9
_LEAST_EPSILON, _LARGEST_EPSILON = 1e-6, 100.0
_LARGEST_MODULUS = 2**52  # so that the sum of all shares of one value fits into 63 bits
_MOST_SHARES = 2**10
_MOST_STEPS = 2**31
_LARGEST_DIMENSION = 2**20
_DIGITS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitAndMixModel(SumModel):
    """What is public about split and mix.

    Args:
        num_users: people that are planned for, n; fewer may come.
        epsilon: loss of the noise of ``noise_users`` people over all coordinates together, in nats, when one person is
            replaced; from 1e-6 to 100.
        lower: least value (of each coordinate); 0 if ``l1_bounded``.
        upper: largest value; of the sum of all coordinates, if ``l1_bounded``.
        dimension: coordinates of a vector, 1 for numbers; up to 2^20.
        l1_bounded: whether vectors have coordinates of 0 or more that add up to ``upper`` at most.
        integer: whether values are integers that lie on the grid, so that nothing is rounded; then both ends of the
            range are integers and its width divides ``precision``.
        num_shares: messages that each coordinate is split into, m; from 2 to 1024.
        precision: steps of the grid between ``lower`` and ``upper``, p; from 1 to 2^31.
        modulus: what shares are added by, q; above num_users * precision, and at most 2^52. It need not be prime.
        noise_users: how many people's noise adds up to one discrete Laplace; from 1 to ``num_users``.

    Raises:
        InvalidParameterError: for parameters outside these ranges, or noise with a rate below 2^-30 for each step.
    """

    kind: ClassVar[str] = "split-and-mix"
    num_users: int
    epsilon: float
    lower: float
    upper: float
    dimension: int = 1
    l1_bounded: bool = False
    integer: bool = False
    num_shares: int
    precision: int
    modulus: int
    noise_users: int

    def __post_init__(self) -> None:
        check_range(self.lower, self.upper)
        _validate.positive(epsilon=self.epsilon)
        if not _LEAST_EPSILON <= self.epsilon <= _LARGEST_EPSILON:
            raise invalid(f"from {_LEAST_EPSILON:g} to {_LARGEST_EPSILON:g}", epsilon=self.epsilon)
        for name in ("epsilon", "lower", "upper"):
            object.__setattr__(self, name, float(getattr(self, name)))
        _validate.instance_of(bool, l1_bounded=self.l1_bounded, integer=self.integer)
        self._check_counts()
        if self.l1_bounded and self.lower != 0:
            raise invalid("0 if l1_bounded", lower=self.lower)
        if self.integer:
            _check_integer_grid(self.lower, self.upper, self.precision)
        if self.rate < LEAST_RATE:
            raise invalid("2**-30 or more for each step: lower the precision or the dimension", rate=float(self.rate))

    def _check_counts(self) -> None:
        limits = {
            "num_users": (1, _LARGEST_MODULUS),
            "dimension": (1, _LARGEST_DIMENSION),
            "num_shares": (2, _MOST_SHARES),
            "precision": (1, _MOST_STEPS),
            "modulus": (2, _LARGEST_MODULUS),
            "noise_users": (1, self.num_users),
        }
        for name, (least, largest) in limits.items():
            value = getattr(self, name)
            _validate.integer_at_least(least, **{name: value})
            if value > largest:
                raise invalid(f"at most {largest}", **{name: value})
            object.__setattr__(self, name, int(value))
        if self.modulus <= self.num_users * self.precision:
            raise invalid(f"above num_users * precision = {self.num_users * self.precision}", modulus=self.modulus)

    @property
    def num_messages(self) -> int:  # type: ignore[override]  # a plain attribute of the base, computed here
        """Messages of each person: ``num_shares`` for each coordinate, one a round."""
        return self.num_shares * self.dimension

    @property
    def rate(self) -> Fraction:
        """Privacy loss for each step of one coordinate of the ideal noise, rounded down; see `SplitAndMix`."""
        exact_steps = self.integer or not self.l1_bounded
        coordinates = min(self.dimension, 2) if self.l1_bounded else self.dimension
        if exact_steps or self.dimension <= 2:
            return _rate_of_steps(self.epsilon, coordinates * self.precision)
        return _rate_of_distance(self.epsilon, 2 * self.precision)

    @property
    def guarantee(self) -> LocalDP:
        """None before the shuffles: whoever sees all messages of one person adds them up."""
        return LocalDP(epsilon=math.inf)

    @property
    def report_bits(self) -> int:
        """Size of one message in bits, a residue. Its round is told by the shuffle that it goes through."""
        return (self.modulus - 1).bit_length()

    @property
    def sampler_error(self) -> float:
        """Total variation between the law of one person's sampled noise in one coordinate and that of a Polya share."""
        return SAMPLER_ERROR

    @property
    def step(self) -> float:
        """One step of the grid, in units of the values."""
        return (self.upper - self.lower) / self.precision

    @property
    def noise_variance(self) -> float:
        """Variance of the noise in each coordinate of the sum if all planned people come, in squared units."""
        return self.noise_of(self.num_users)

    @property
    def wrap_probability(self) -> float:
        """That the noise of some coordinate brings the sum out of the window it is decoded in; rounded up."""
        limit = (self.modulus - self.num_users * self.precision - 1) // 2
        single = polya_law.tail_bound(float(self.rate), self.num_users / self.noise_users, limit)
        return min(1.0, self.dimension * single)

    @property
    def remarks(self) -> tuple[str, ...]:
        """That messages hide nothing before they are shuffled, and how likely a sum wraps around, where it matters."""
        before = "Before they are shuffled, the messages of one person together give the value away."
        return (before, *self.warnings)

    @property
    def warnings(self) -> tuple[str, ...]:
        """How likely a sum wraps around, where it matters."""
        chance = self.wrap_probability
        if chance <= _NOTED_WRAP_PROBABILITY:
            return ()
        return (
            f"With a probability of up to {chance:.2g} the noise is so large that it wraps around the modulus, and a "
            "sum is decoded as a quite different one; more people or a larger epsilon make it rarer.",
        )

    def randomizer(self) -> "SplitAndMix":
        """What runs on a device."""
        from shuffledp.randomizers.split_and_mix import SplitAndMix

        return SplitAndMix.from_model(self)

    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Reports are the columns ``residue``, below the modulus, and ``round``, below ``num_messages``: integers."""
        wrong = [name for name, array in columns.items() if array.dtype.kind not in "iu" or array.ndim != 1]
        if list(columns) != ["residue", "round"] or wrong:
            found = ", ".join(f"{name} ({array.dtype}, {array.ndim}-d)" for name, array in columns.items())
            raise InvalidParameterError(f"columns must be two integer columns 'residue' and 'round'; got {found}.")
        for name, limit in (("residue", self.modulus), ("round", self.num_messages)):
            column = columns[name]
            if len(column) and not (column.min() >= 0 and column.max() < limit):
                raise InvalidParameterError(f"{name} must be in range({limit}) in every report; got one beyond.")

    def decode(self, residues: tuple[int, ...], people: int) -> NDArray[np.float64]:
        """Sums in units of the values. A residue stands for the number that lies in the window around all sums.

        The window reaches as far below 0 as above people * precision: up to (q + people * precision) / 2, which is
        3 n p / 2 if all people come and q = 2 n p.
        """
        largest = (self.modulus + people * self.precision) // 2
        steps = [residue if residue <= largest else residue - self.modulus for residue in residues]
        width = Fraction(self.upper) - Fraction(self.lower)
        sums = [people * Fraction(self.lower) + width * step / self.precision for step in steps]
        return np.array([float(each) for each in sums])

    def sum_variance(self, people: int) -> float:
        """The noise of so many people, exactly, and a quarter of a squared step for each value that is rounded."""
        return self.noise_of(people) + self.step**2 * self._rounding(people)

    def noise_of(self, people: int) -> float:
        """Variance of the noise of so many people in each coordinate of the sum, exactly, in squared units."""
        return self.step**2 * polya_law.noise_variance(float(self.rate), people / self.noise_users)

    def sum_margin(self, people: int, level: float) -> float:
        """From the law of the noise, with the most that rounding can add as a normal number."""
        shape = people / self.noise_users
        return self.step * polya_law.central_interval(float(self.rate), shape, self._rounding(people), level)

    def _rounding(self, people: int) -> float:
        return 0.0 if self.integer else people / 4


def _check_integer_grid(lower: float, upper: float, precision: int) -> None:
    if not (lower.is_integer() and upper.is_integer() and upper - lower <= _MOST_STEPS):
        raise InvalidParameterError(
            f"lower and upper must be integers at most 2**31 apart if integer; got {lower=}, {upper=}."
        )
    if precision % int(upper - lower):
        raise invalid(f"a multiple of the width {int(upper - lower)} of the range if integer", precision=precision)


def _rate_of_steps(epsilon: float, steps: int) -> Fraction:
    """The largest representable loss for one step, so many of which make epsilon at most."""
    return largest_fraction_up_to(Fraction(epsilon) / steps, largest_denominator=LARGEST_DENOMINATOR)


@functools.lru_cache(maxsize=64)
def _rate_of_distance(epsilon: float, steps: int) -> Fraction:
    """The largest representable rate with steps * (exp(rate) - 1) <= epsilon."""
    with localcontext() as context:
        context.prec = _DIGITS
        wanted = (1 + Decimal(epsilon) / steps).ln() * (1 - Decimal(10) ** -(_DIGITS // 2))
    return largest_fraction_up_to(Fraction(wanted), largest_denominator=LARGEST_DENOMINATOR)
