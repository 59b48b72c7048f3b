"""Numbers in a public range: checked or clipped, placed on a grid without bias. What randomizers of numbers share."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp import _validate
from shuffledp._validate import invalid
from shuffledp.errors import InvalidParameterError
from shuffledp.models import MeanModel
from shuffledp.randomness import high_product

if TYPE_CHECKING:
    from shuffledp.randomness import RandomSource

__all__ = [
    "BATCH",
    "RangeModel",
    "RangeRandomizer",
    "as_numbers",
    "check_range",
    "clip_to_range",
    "grid_neighbors",
    "grid_positions",
    "round_to_grid",
    "rounding_variance",
]

_LARGEST = 1e100  # of either end of a range: what is squared stays far from the largest float
_LEAST_WIDTH = 1e-100  # and from the subnormal ones, which hold no digits
BATCH = 1 << 17  # values handled at a time: their words stay in the processor's cache


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeModel(MeanModel):
    """What is public about every randomizer of numbers in a range; subclasses add how a number is randomized.

    Args:
        lower: least value, from -1e100 to 1e100.
        upper: largest value, above ``lower`` by 1e-100 or more, up to 1e100.

    Raises:
        InvalidParameterError: for parameters outside these ranges.
    """

    dimension = 1
    lower: float
    upper: float

    def __post_init__(self) -> None:
        check_range(self.lower, self.upper)
        object.__setattr__(self, "lower", float(self.lower))
        object.__setattr__(self, "upper", float(self.upper))


class RangeRandomizer:
    """What randomizers of numbers in a range share: a model, and what to do with values outside its range."""

    _model_type: ClassVar[type[RangeModel]]
    _steps: ClassVar[tuple[str, ...]] = ()  # the parameter that says how fine the grid is, where there is one
    model: RangeModel
    clip: bool

    @classmethod
    def from_model(cls, model: RangeModel, *, clip: bool = False) -> Self:
        """The randomizer that a model describes.

        Raises:
            InvalidParameterError: for the model of another randomizer.
        """
        _validate.instance_of(cls._model_type, model=model)
        randomizer = cls.__new__(cls)
        randomizer.model, randomizer.clip = model, clip
        return randomizer

    def __repr__(self) -> str:
        names = ("epsilon0", "lower", "upper", *self._steps)
        parameters = "".join(f"{name}={getattr(self.model, name)!r}, " for name in names)
        return f"{type(self).__name__}({parameters}clip={self.clip})"

    def _numbers(self, values: ArrayLike) -> NDArray[np.float64]:
        """A fresh column of numbers in the range."""
        return as_numbers(values, lower=self.model.lower, upper=self.model.upper, clip=self.clip)


def check_range(lower: float, upper: float) -> None:
    """Refuse what is not a range of numbers.

    Raises:
        InvalidParameterError: unless both are from -1e100 to 1e100, and ``upper`` is above ``lower`` by 1e-100 or more.
    """
    for name, value in (("lower", lower), ("upper", upper)):
        plain = value.item() if isinstance(value, np.generic) else value  # a float32 does not reach the limits
        if not (_is_number(value) and -_LARGEST <= plain <= _LARGEST):
            raise invalid(f"a finite number from {-_LARGEST:g} to {_LARGEST:g}", **{name: value})
    if not lower < upper:
        raise InvalidParameterError(f"upper must be above lower; got lower={lower!r}, upper={upper!r}.")
    if float(upper) - float(lower) < _LEAST_WIDTH:
        raise InvalidParameterError(f"upper - lower must be {_LEAST_WIDTH:g} or more; got {lower=}, {upper=}.")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def as_numbers(values: ArrayLike, *, lower: float, upper: float, clip: bool = False) -> NDArray[np.float64]:
    """A fresh column of numbers from ``lower`` to ``upper``.

    Args:
        values: numbers, shape (n,): a list, numpy array, Arrow, pandas or polars column.
        lower: least value.
        upper: largest value.
        clip: move numbers outside the range to its nearer end, instead of refusing them.

    Raises:
        InvalidParameterError: for anything but a column of finite numbers, and for numbers outside the range unless
            they are clipped. The message gives places only.
    """
    numbers, outside = _numbers_and_outside(values, lower, upper)
    places = np.flatnonzero(outside)
    if len(places) and not clip:
        raise InvalidParameterError(
            f"values must be numbers from {lower!r} to {upper!r}; {len(places)} outside, first values[{places[0]}]. "
            "To move them to the nearer end, use clip=True."
        )
    return np.clip(numbers, lower, upper, out=numbers)


def clip_to_range(values: ArrayLike, *, lower: float, upper: float) -> tuple[NDArray[np.float64], int]:
    """Numbers outside a range moved to its nearer end, and how many they were.

    The count depends on people's values and is not protected by anything: do not publish it.

    Args:
        values: finite numbers, shape (n,).
        lower: least value.
        upper: largest value.

    Returns:
        float64 array of shape (n,), and the number of values that were outside.

    Raises:
        InvalidParameterError: for anything but a column of finite numbers, or a range that is none.

    Example:
        >>> clip_to_range([3.0, 120.0, 45.0], lower=18, upper=99)
        (array([18., 99., 45.]), 2)
    """
    check_range(lower, upper)
    numbers, outside = _numbers_and_outside(values, lower, upper)
    return np.clip(numbers, lower, upper, out=numbers), int(outside.sum())


def _numbers_and_outside(
    values: ArrayLike, lower: float, upper: float
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    _validate.unmasked(values=values)
    try:
        column = np.asarray(values)
    except (ValueError, TypeError):  # numpy's own message may quote a value
        raise InvalidParameterError("values must be one column, shape (n,); got rows of different lengths.") from None
    if column.ndim != 1:
        raise InvalidParameterError(f"values must be one column, shape (n,); got values.shape={column.shape}.")
    if len(column) and column.dtype.kind not in "iuf":
        if column.dtype.kind == "O":
            others = [place for place, value in enumerate(column) if not _is_number(value)]
            found = f"{len(others)} are something else, first values[{others[0]}]" if others else "got Python objects"
            raise InvalidParameterError(f"values must be numbers, of a numeric type; {found}.")
        # Not the dtype itself: that of texts tells how long the longest is.
        raise InvalidParameterError(f"values must be numbers; got values of type {column.dtype.type.__name__}.")
    with np.errstate(over="ignore"):  # a long double that is too large becomes infinite, and is refused below
        numbers = column.astype(np.float64)
    places = np.flatnonzero(~np.isfinite(numbers))
    if len(places):
        raise InvalidParameterError(f"values must be finite numbers; {len(places)} are not, first values[{places[0]}].")
    return numbers, (numbers < lower) | (numbers > upper)


def grid_positions(
    numbers: NDArray[np.float64], *, lower: float, upper: float, num_steps: int
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Where numbers lie on a grid of ``num_steps`` equal steps: the grid point below, and how far above it.

    A random word below the second number rounds up: then the grid point is the position on average, exactly. The
    position is that of (x - lower) / (upper - lower) in float64, which is within 2^-51 of the true one, cut to a
    multiple of 2^-64; the ends of the range are exact.

    Args:
        numbers: from ``lower`` to ``upper``, shape (n,).
        lower: the first grid point.
        upper: the last grid point.
        num_steps: from 1 to 2^31.

    Returns:
        Numbers of the grid points, from 0 to ``num_steps``, and 2^64 times the rest of a step, both of shape (n,).
    """
    share = (numbers - lower) / (upper - lower)
    at_top = share >= 1
    share[at_top] = 0
    fixed = np.ldexp(share, 64).astype(np.uint64)
    steps = np.uint64(num_steps)
    index = high_product(fixed, steps).astype(np.int64)
    index[at_top] = num_steps
    return index, fixed * steps  # modulo 2^64


def round_to_grid(
    numbers: NDArray[np.float64], *, lower: float, upper: float, num_steps: int, source: "RandomSource"
) -> NDArray[np.int64]:
    """The grid point below or above each number, at random, so that it is right on average; shape (n,).

    One word for each number, whatever it is. Arguments as of `grid_positions`.
    """
    points = np.empty(len(numbers), dtype=np.int64)
    scratch = np.empty(min(len(numbers), BATCH), dtype=np.uint64)
    for start in range(0, len(numbers), BATCH):
        batch = slice(start, start + BATCH)
        index, rest = grid_positions(numbers[batch], lower=lower, upper=upper, num_steps=num_steps)
        words = scratch[: len(index)]
        source.fill(words)
        np.add(index, words < rest, out=points[batch])
    scratch.fill(0)
    return points


def grid_neighbors(value: float, *, lower: float, upper: float, num_steps: int) -> tuple[int, float]:
    """The number of the grid point at or below a value, and the chance that it is rounded up to the next one."""
    place = (value - lower) / (upper - lower) * num_steps
    left = min(math.floor(place), num_steps - 1)
    return left, min(place - left, 1.0)


def rounding_variance(mean: NDArray[np.float64], *, lower: float, upper: float, num_steps: int) -> NDArray[np.float64]:
    """The most that rounding to the grid can add to the variance of a report, on average over people with this mean.

    A value that lies the share f of a step above a grid point gets f (1 - f) squared steps; the smallest concave
    function above that is f (1 - f) within half a step of the ends, and 1/4 between.
    """
    step = (upper - lower) / num_steps
    place = (mean - lower) / step
    edge = np.clip(np.minimum(place, num_steps - place), 0.0, 0.5)
    variance: NDArray[np.float64] = edge * (1 - edge) * step**2
    return variance
