"""Channels: randomized maps with finitely many inputs and outputs, as labelled row-stochastic matrices.

A channel turns a prior on its input into a `Hyper`: posterior beliefs, each with its probability.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from numbers import Rational
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core.described import Described
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.validate import nonnegative, unmasked

_ROW_SUM_TOLERANCE = 1e-9
_SAME_DIRECTION = 1e-9  # columns of floats that differ by no more, where the largest entry is 1, are multiples
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
        """Dictionary for JSON of the matrix (fractions as strings) and the labels."""
        entry = str if self.is_exact else float
        return {
            "matrix": [[entry(value) for value in row] for row in self.matrix],
            "inputs": list(self.inputs),
            "outputs": list(self.outputs),
        }

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Channel from the dictionary of ``to_dict``; labels must be strings, numbers or tuples of them.

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
        """Cascade of this channel and ``after``, whose inputs must equal this channel's outputs in order."""
        if self.outputs != after.inputs:
            raise InvalidParameterError(f"after must have inputs {self.outputs!r}; got after.inputs={after.inputs!r}.")
        return Channel(times(self.matrix, after.matrix), self.inputs, after.outputs)

    def product(self, beside: "Channel") -> "Channel":
        """Product channel: this channel and ``beside`` on independent inputs; labels become pairs."""
        matrix = np.kron(self.matrix, beside.matrix)
        inputs = tuple((x, y) for x in self.inputs for y in beside.inputs)
        return Channel(matrix, inputs, tuple((x, y) for x in self.outputs for y in beside.outputs))

    def reduced(self) -> "Channel":
        """Equivalent channel with the fewest outputs, in a canonical order.

        Outputs of probability 0 are dropped. Outputs with proportional columns give the same posterior and become one,
        under the label of the first of them. Exact for fractions; for floats, columns that differ by at most 1e-9 of
        their largest entry count as proportional. Posteriors and leakage stay the same, for every prior.

        Example:
            >>> half, third = Fraction(1, 2), Fraction(1, 3)
            >>> Channel([[third, third, third], [half, half, 0]], outputs=("a", "b", "c")).reduced().outputs
            ('c', 'a')
        """
        groups = proportional_columns(self.matrix)
        matrix = np.stack([self.matrix[:, list(group)].sum(axis=1) for group in groups], axis=1)
        return Channel(matrix, self.inputs, tuple(self.outputs[group[0]] for group in groups))

    def joint(self, prior: ArrayLike | None = None) -> NDArray[Any]:
        """Joint distribution ``prior[x] * matrix[x, y]``, in fractions if prior and matrix are fractions.

        Args:
            prior: shape (inputs,); adds up to 1; uniform if left out.

        Raises:
            InvalidParameterError: for a prior of another length, with a negative entry, or with another sum.
        """
        belief = distribution(prior, len(self.inputs))
        if self.is_exact and belief.dtype == object:
            return np.asarray(belief[:, None] * self.matrix)
        return np.asarray(belief[:, None].astype(np.float64) * self.matrix.astype(np.float64))

    def hyper(self, prior: ArrayLike | None = None) -> "Hyper":
        """Hyper-distribution: posterior beliefs about the input, each with its probability.

        The prior and the errors are those of `joint`; fractions keep an exact channel's hyper exact.
        """
        joint = self.joint(prior)
        groups = proportional_columns(joint)
        together = np.stack([joint[:, list(group)].sum(axis=1) for group in groups], axis=1)
        outer = together.sum(axis=0)
        return Hyper(outer, together / outer, self.inputs, tuple(tuple(self.outputs[y] for y in g) for g in groups))

    def epsilon(self) -> float:
        """Least epsilon of pure differential privacy for all input pairs, in nats; infinity if none exists."""
        highest, lowest = self.matrix.max(axis=0), self.matrix.min(axis=0)
        used = highest > 0
        if (lowest[used] == 0).any():
            return math.inf
        return max(_log_ratio(high, low) for high, low in zip(highest[used], lowest[used], strict=True))

    def delta(self, epsilon: float) -> float:
        """Smallest delta that holds at this epsilon for all ordered pairs of inputs (hockey-stick divergence)."""
        nonnegative(epsilon=epsilon)
        largest = math.exp(min(epsilon, _LARGEST_EXPONENT))
        factor = Fraction(largest) if self.is_exact else largest
        return max((float(np.maximum(p - factor * q, 0).sum()) for p, q in permutations(self.matrix, 2)), default=0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Hyper:
    """Hyper-distribution: posterior beliefs after a channel's output, each with its probability.

    Two channels leak the same, by every measure, exactly if they have the same hyper for every prior.

    Args:
        outer: shape (beliefs,); how likely each is to be reached; all above 0, sum 1.
        inners: shape (inputs, beliefs); each column is one posterior, distinct from all others.
        inputs: one label per row.
        outputs: for each belief, the outputs of the channel that lead to it.

    Example:
        >>> hyper = Channel([[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]]).hyper()
        >>> hyper.outer.tolist()
        [Fraction(1, 2), Fraction(1, 2)]
        >>> hyper.posterior(0)
        {0: Fraction(3, 4), 1: Fraction(1, 4)}
    """

    outer: NDArray[Any]
    inners: NDArray[Any]
    inputs: tuple[Hashable, ...]
    outputs: tuple[tuple[Hashable, ...], ...]
    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __post_init__(self) -> None:
        self.outer.setflags(write=False)
        self.inners.setflags(write=False)

    def posterior(self, output: Hashable) -> dict[Hashable, Any]:
        """Posterior belief about the input, given this output.

        Raises:
            InvalidParameterError: if the output never comes under the prior, so that there is no belief to come to.
        """
        for belief, merged in zip(self.inners.T, self.outputs, strict=True):
            if output in merged:
                return dict(zip(self.inputs, belief.tolist(), strict=True))
        raise InvalidParameterError(
            f"output must be one with a probability above 0 under the prior; got output={output!r}."
        )


def distribution(prior: ArrayLike | None, length: int) -> NDArray[Any]:
    """Prior after a check, in fractions if every entry is rational; uniform if ``prior`` is None.

    A prior with other entries is in float64, and the uniform prior in fractions.

    Raises:
        InvalidParameterError: for another length, a negative entry, or another sum (by more than 1e-9 in floats).
    """
    if prior is None:
        return np.full(length, Fraction(1, length), dtype=object)
    belief = numbers(prior, "prior", ndim=1)
    if len(belief) != length:
        raise InvalidParameterError(
            f"prior must have one probability for each of {length} inputs; got {len(belief)} of them."
        )
    if not all(value >= 0 for value in belief):
        raise InvalidParameterError("prior must have entries that are 0 or more; got another one.")
    total = belief.sum()
    if (total != 1) if belief.dtype == object else not abs(total - 1) <= _ROW_SUM_TOLERANCE:
        raise InvalidParameterError("prior must sum to 1; got another sum.")
    return belief


def numbers(entries: ArrayLike, name: str, *, ndim: int) -> NDArray[Any]:
    """Array of fractions if all entries are rational, else of float64; entries must be finite.

    Raises:
        InvalidParameterError: for another number of dimensions, no entries, or an entry that is not a finite number.
    """
    unmasked(**{name: entries})
    try:
        array: NDArray[Any] = np.array(entries)
        if array.dtype.kind in "iu" or (array.dtype == object and all(isinstance(e, Rational) for e in array.flat)):
            array = _fractions(array)
        elif array.dtype.kind in "Of":
            array = array.astype(np.float64)
        else:
            raise TypeError
    except (ValueError, TypeError, OverflowError):
        raise InvalidParameterError(f"{name} must be an array of numbers, with rows of one length.") from None
    if array.ndim != ndim or 0 in array.shape:
        raise InvalidParameterError(f"{name} must have {ndim} dimension(s) and entries; got shape {array.shape}.")
    if array.dtype != object and not np.isfinite(array).all():
        raise InvalidParameterError(f"{name} must have finite numbers only; got another one.")
    return array


def times(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """Product of two matrices, of floats or of fractions (with one denominator for each matrix, for speed)."""
    if left.dtype != object or right.dtype != object:
        return left.astype(np.float64) @ right.astype(np.float64)
    (whole_left, scale_left), (whole_right, scale_right) = integers(left), integers(right)
    scale = scale_left * scale_right
    return np.asarray(np.vectorize(lambda value: Fraction(value, scale), otypes=[object])(whole_left @ whole_right))


def integers(matrix: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Numerators of fractions over one common denominator, and this denominator."""
    scale = math.lcm(*{value.denominator for value in matrix.flat})
    whole = np.vectorize(lambda value: value.numerator * (scale // value.denominator), otypes=[object])(matrix)
    return np.asarray(whole), scale


def proportional_columns(matrix: NDArray[Any]) -> list[tuple[int, ...]]:
    """Indices of proportional columns, group by group; columns of zeros are left out.

    Groups come in descending order of their columns, each divided by its largest entry. For floats, columns that differ
    by at most 1e-9 after that division count as multiples.
    """
    if matrix.dtype == object:
        exact: dict[tuple[int, ...], list[int]] = {}
        for index, column in enumerate(integers(matrix)[0].T):
            if common := math.gcd(*column):
                exact.setdefault(tuple(column // common), []).append(index)
        order = sorted(exact, key=lambda column: [Fraction(value, max(column)) for value in column], reverse=True)
        return [tuple(exact[column]) for column in order]
    largest = matrix.max(axis=0)
    used = np.flatnonzero(largest > 0)
    directions = matrix[:, used] / largest[used]
    groups: list[tuple[tuple[float, ...], tuple[int, ...]]] = []
    left = np.arange(len(used))
    while len(left):
        same = np.abs(directions[:, left] - directions[:, left[:1]]).max(axis=0) <= _SAME_DIRECTION
        column = tuple(np.round(directions[:, left[0]], 9).tolist())
        groups.append((column, tuple(used[left[same]].tolist())))
        left = left[~same]
    return [indices for _, indices in sorted(groups, key=lambda group: group[0], reverse=True)]


def _fractions(array: NDArray[Any]) -> NDArray[Any]:
    """Entries as fractions; numpy integers become Python integers, which do not overflow."""
    entries = [e if type(e) is Fraction else Fraction(int(e.numerator), int(e.denominator)) for e in array.flat]
    return np.array([*entries, None], dtype=object)[:-1].reshape(array.shape)


def _log_ratio(high: Any, low: Any) -> float:
    """Logarithm of high / low for high >= low > 0, accurate also where high and low are nearly equal."""
    exact = isinstance(high, Fraction | int)
    above, below = (Fraction(high), Fraction(low)) if exact else (float(high), float(low))
    excess = (above - below) / below
    if excess < 1:
        return math.log1p(excess)
    return math.log(above / below) if excess < _LARGEST_RATIO else math.log(above) - math.log(below)


def _hashable(labels: Any) -> tuple[Hashable, ...]:
    """Labels read from JSON, in which each list is turned back into a tuple."""
    return tuple(_hashable(label) if isinstance(label, list) else label for label in labels)


def _as_matrix(entries: Sequence[Sequence[Any]] | NDArray[Any]) -> NDArray[Any]:
    """Checked copy of a matrix: object dtype if all entries are rational and one is a Fraction, else float64."""
    try:
        matrix = np.array(entries)
        exact = matrix.dtype == object and all(isinstance(value, Fraction | int) for value in matrix.flat)
        matrix = _fractions(matrix) if exact else matrix.astype(np.float64)
    except (ValueError, TypeError):
        raise InvalidParameterError("matrix must be a table of numbers, with rows of one length.") from None
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise InvalidParameterError(f"matrix must be a table with rows and columns; got matrix.shape={matrix.shape}.")
    weights, one = integers(matrix) if exact else (matrix, 1)
    for index, row in enumerate(weights):
        total = row.sum()
        if not (row >= 0).all():
            raise InvalidParameterError(f"matrix must have entries that are 0 or more; got another one in row {index}.")
        if (total != one) if exact else not abs(total - 1) <= _ROW_SUM_TOLERANCE:
            raise InvalidParameterError(f"matrix must have rows that sum to 1; got another sum in row {index}.")
    return matrix
