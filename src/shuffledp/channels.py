"""Channels: a randomized map with finitely many inputs and outputs, as a labelled row-stochastic matrix."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp._described import Described
from shuffledp._validate import nonnegative
from shuffledp.errors import InvalidParameterError

__all__ = ["Channel"]

_ROW_SUM_TOLERANCE = 1e-9
_LARGEST_RATIO = 1e300  # beyond, ratios leave the floats
_LARGEST_EXPONENT = 709.0  # exp of more is not a float; a smaller factor errs towards a larger delta


@dataclass(frozen=True, slots=True, eq=False)
class Channel(Described):
    """A channel ``matrix[x, y] = Pr[output y | input x]``.

    With a matrix of `fractions.Fraction` cascades and products are exact, and `epsilon` and `delta` round only the
    logarithm, the exponential and the result; with floats everything is float64.

    Args:
        matrix: shape (inputs, outputs); entries 0 or more, every row sums to 1 (exactly, for fractions).
        inputs: one label per row; numbers from 0 if left out.
        outputs: one label per column; numbers from 0 if left out.

    Raises:
        InvalidParameterError: for a wrong shape, a negative entry, a row that does not sum to 1, or repeated labels.

    Example:
        >>> flip = Channel([[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]])
        >>> flip.cascade(flip).matrix[0, 0]
        Fraction(5, 8)
        >>> round(flip.epsilon(), 4)
        1.0986
    """

    matrix: NDArray[Any]
    inputs: tuple[Hashable, ...] = ()
    outputs: tuple[Hashable, ...] = ()
    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __post_init__(self) -> None:
        matrix = _as_matrix(self.matrix)
        matrix.setflags(write=False)
        object.__setattr__(self, "matrix", matrix)
        for axis, name in enumerate(("inputs", "outputs")):
            labels = tuple(getattr(self, name)) or tuple(range(matrix.shape[axis]))
            if len(labels) != matrix.shape[axis] or len(set(labels)) != len(labels):
                raise InvalidParameterError(
                    f"{name} must be {matrix.shape[axis]} distinct labels; got {len(labels)} labels, "
                    f"{len(set(labels))} of them distinct."
                )
            object.__setattr__(self, name, labels)

    @property
    def is_exact(self) -> bool:
        """True if the entries are fractions."""
        return bool(self.matrix.dtype == object)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Channel):
            return NotImplemented
        same_labels = self.inputs == other.inputs and self.outputs == other.outputs
        return same_labels and bool(np.array_equal(self.matrix, other.matrix))

    def to_dict(self) -> dict[str, Any]:
        """Matrix (fractions as strings) and labels."""
        entry = str if self.is_exact else float
        return {
            "matrix": [[entry(value) for value in row] for row in self.matrix],
            "inputs": list(self.inputs),
            "outputs": list(self.outputs),
        }

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """The channel that ``to_dict`` wrote; labels must be strings, numbers or tuples of them.

        Raises:
            InvalidParameterError: if it wrote something else.
        """
        try:
            matrix = [[Fraction(value) if isinstance(value, str) else value for value in row] for row in data["matrix"]]
            inputs, outputs = _hashable(data["inputs"]), _hashable(data["outputs"])
        except (KeyError, TypeError, ValueError, ZeroDivisionError):
            raise InvalidParameterError("a channel must have a matrix of numbers, inputs and outputs.") from None
        return cls(np.array(matrix), inputs, outputs)

    def cascade(self, after: "Channel") -> "Channel":
        """This channel followed by ``after``, which must accept this one's outputs, in this order."""
        if self.outputs != after.inputs:
            raise InvalidParameterError(f"after must have inputs {self.outputs!r}; got after.inputs={after.inputs!r}.")
        return Channel(self.matrix @ after.matrix, self.inputs, after.outputs)

    def product(self, beside: "Channel") -> "Channel":
        """Both channels on independent inputs; labels become pairs."""
        matrix = np.kron(self.matrix, beside.matrix)
        inputs = tuple((x, y) for x in self.inputs for y in beside.inputs)
        return Channel(matrix, inputs, tuple((x, y) for x in self.outputs for y in beside.outputs))

    def epsilon(self) -> float:
        """Pure differential privacy of the channel over all pairs of inputs, in nats; infinity if there is none."""
        highest, lowest = self.matrix.max(axis=0), self.matrix.min(axis=0)
        used = highest > 0
        if (lowest[used] == 0).any():
            return math.inf
        return max(_log_ratio(high, low) for high, low in zip(highest[used], lowest[used], strict=True))

    def delta(self, epsilon: float) -> float:
        """The smallest delta at this epsilon, over all ordered pairs of inputs (hockey-stick divergence)."""
        nonnegative(epsilon=epsilon)
        largest = math.exp(min(epsilon, _LARGEST_EXPONENT))
        factor = Fraction(largest) if self.is_exact else largest
        return max((float(np.maximum(p - factor * q, 0).sum()) for p, q in permutations(self.matrix, 2)), default=0.0)


def _log_ratio(high: Any, low: Any) -> float:
    """log(high / low) for high >= low > 0, to the last digits also where the two are nearly equal."""
    exact = isinstance(high, Fraction | int)
    above, below = (Fraction(high), Fraction(low)) if exact else (float(high), float(low))
    excess = (above - below) / below
    if excess < 1:
        return math.log1p(excess)
    return math.log(above / below) if excess < _LARGEST_RATIO else math.log(above) - math.log(below)


def _hashable(labels: Any) -> tuple[Hashable, ...]:
    """Labels as JSON holds them: pairs became lists."""
    return tuple(_hashable(label) if isinstance(label, list) else label for label in labels)


def _as_matrix(entries: Sequence[Sequence[Any]] | NDArray[Any]) -> NDArray[Any]:
    """A checked copy: object dtype if every entry is rational and one is a Fraction, else float64."""
    try:
        matrix = np.array(entries)
        exact = matrix.dtype == object and all(isinstance(value, Fraction | int) for value in matrix.flat)
        matrix = matrix if exact else matrix.astype(np.float64)
    except (ValueError, TypeError):
        raise InvalidParameterError("matrix must be a table of numbers, with rows of one length.") from None
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise InvalidParameterError(f"matrix must be a table with rows and columns; got matrix.shape={matrix.shape}.")
    for index, row in enumerate(matrix):
        total = row.sum()
        if not all(value >= 0 for value in row):
            raise InvalidParameterError(f"matrix must have entries that are 0 or more; got another one in row {index}.")
        if (total != 1) if exact else not abs(total - 1) <= _ROW_SUM_TOLERANCE:
            raise InvalidParameterError(f"matrix must have rows that sum to 1; got a sum of {total} in row {index}.")
    return matrix
