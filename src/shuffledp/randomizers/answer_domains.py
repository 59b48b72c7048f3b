"""Answers that become one category before randomizing: pairs of two answers, and numbers in bins."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.text import bin_names, names_of, pair_names
from shuffledp.randomizers.inputs import Category, as_categories, as_numbers, as_numbers_of, check_range


@dataclass(frozen=True, slots=True)
class CategoryPairs:
    """Pairs of two answers of one person, as one category each.

    Pair number i m + j is answer i with answer j of m.

    Args:
        first: the categories of the first answer.
        second: categories of the second answer.
    """

    first: tuple[Category, ...]
    second: tuple[Category, ...]

    @classmethod
    def of(cls, categories: Iterable[Iterable[Any]]) -> Self:
        """Pairs from two lists of answers.

        Raises:
            InvalidParameterError: for another number of lists than two, or as for categories of one answer.
        """
        lists = list(categories)
        if len(lists) != 2:
            raise InvalidParameterError(
                f"categories must be one list, or two of answers that are randomized jointly; got {len(lists)} lists."
            )
        return cls(as_categories(lists[0]), as_categories(lists[1]))

    def __len__(self) -> int:
        return len(self.first) * len(self.second)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all pairs, such as "No, Yes"."""
        return pair_names(names_of(self.first), names_of(self.second))

    def numbers(self, values: Any) -> NDArray[np.int64]:
        """Category number of each pair, shape (n,), from a table of two columns or rows of two answers.

        Raises:
            InvalidParameterError: for anything else; the message gives places only.
        """
        columns = _two_columns(values)
        if len({len(column) for column in columns.values()}) > 1:
            raise InvalidParameterError("values must be two columns of one length; got columns of two lengths.")
        first, second = (
            _named(name, column, categories)
            for (name, column), categories in zip(columns.items(), (self.first, self.second), strict=True)
        )
        return first * len(self.second) + second

    def __repr__(self) -> str:
        return f"[{list(self.first)!r}, {list(self.second)!r}]"


@dataclass(frozen=True, slots=True)
class Bins:
    """Bins of numbers, the categories of a histogram.

    A number at an edge belongs to the bin above it.

    A number at the last edge belongs to the last bin.

    Args:
        edges: of 2 to 1,000 bins, finite and ascending; public, and fixed before anybody answers.
        clip: whether a number beyond the edges belongs to the bin nearest to it; else it is refused.

    Raises:
        InvalidParameterError: for other edges.

    Example:
        >>> bins = Bins((0, 18, 65, 120))
        >>> bins.names, bins.numbers([0, 17.9, 18, 120]).tolist()
        (('0 to 18', '18 to 65', '65 to 120'), [0, 0, 1, 2])
    """

    edges: tuple[float, ...]
    clip: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", validate.edges_of_bins(self.edges))

    @classmethod
    def equal(cls, *, lower: float, upper: float, number: int, clip: bool = False) -> Self:
        """Bins of equal width; ``number`` is the number of bins.

        Example:
            >>> Bins.equal(lower=0, upper=1, number=4).edges
            (0.0, 0.25, 0.5, 0.75, 1.0)
        """
        check_range(lower, upper)
        validate.integer_at_least(2, number=number)
        inner = [lower + (upper - lower) * edge / number for edge in range(1, number)]
        return cls((float(lower), *map(float, inner), float(upper)), clip)

    def __len__(self) -> int:
        return len(self.edges) - 1

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the bins, made from their edges."""
        return bin_names(self.edges)

    def numbers(self, values: ArrayLike) -> NDArray[np.int64]:
        """Number of the bin of each value, shape (n,).

        Raises:
            InvalidParameterError: for anything but finite numbers, and, unless they are clipped, for numbers beyond the
                edges; the message gives places only.
        """
        return self.of(as_numbers(values, lower=self.edges[0], upper=self.edges[-1], clip=self.clip))

    def of(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """Number of the bin of each value; values must lie between the edges."""
        found = np.searchsorted(self.edges, numbers, side="right") - 1
        return np.minimum(found, len(self) - 1)


def _two_columns(values: Any) -> Mapping[Any, Any]:
    """Both columns of a table, by name or by place.

    Anything else is refused.
    """
    names = getattr(values, "column_names", None) or getattr(values, "columns", None)
    names = list(values) if isinstance(values, Mapping) else None if names is None else list(names)
    if names is not None:
        if len(names) != 2:
            raise InvalidParameterError(f"values must be two columns, of the two answers; got {len(names)} columns.")
        return {name: values[name] for name in names}
    validate.unmasked(values=values)
    rows = np.empty((0, 2), dtype=object)
    try:
        rows = np.asarray(values, dtype=object) if len(values) else rows
    except (ValueError, TypeError):  # the error's own message may quote a value
        raise InvalidParameterError("values must be rows of two answers, shape (n, 2).") from None
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise InvalidParameterError(f"values must be rows of two answers, shape (n, 2); got shape {rows.shape}.")
    return {place: rows[:, place].tolist() for place in range(2)}


def _named(name: Any, column: Any, categories: tuple[Category, ...]) -> NDArray[np.int64]:
    """Category numbers of one of the two answers of all people, shape (n,).

    Errors name the answer's column.
    """
    try:
        return as_numbers_of(column, categories)
    except InvalidParameterError as error:
        message = str(error)
    raise InvalidParameterError(message.replace("values", f"values[{name!r}]"))
