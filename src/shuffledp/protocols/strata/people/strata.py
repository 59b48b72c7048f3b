"""Strata of people by public columns: regions, and classes of nearly equal survey weight inside each region."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.table import Floats, Integers, Table

_HEAVIEST = 1e100  # whose square is a float
WEIGHT_CLASSES = 5  # in each region, unless a task says another number


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Strata:
    """Stratum of each person, and the public facts of each stratum.

    Guarantees:
        1. All people of a stratum are of one region, and all of a region who have the same weight are in one stratum.
        2. Of the people of a region at least one in ``2 * weight_classes``, rounded down, are in each of its strata;
           about one in ``weight_classes`` if few of them have the same weight.
        3. The weight of a stratum is the mean of its people's, so that the weights of a region keep their sum.

    Args:
        of_person: the number of the stratum of each person, from 0, shape (people,); no stratum is empty.
        table: a row for each stratum: the region as text, the weight of everybody in it, or both.
        by: the name of the region's column in the table; None if there is none.
        weight: name of the weight's column.
        rounding: the share of all weight that rounding moved from one person to another, in the region where it is
            most: no share of people changes by more, and no mean by more than this times the width of the range.

    Example:
        >>> columns = {"region": ["N", "N", "S", "S", "S"], "weight": [1.0, 3.0, 2.0, 2.0, 2.0]}
        >>> strata = Strata.of(columns, by="region", weight="weight", weight_classes=2)
        >>> strata.of_person.tolist(), strata.sizes, strata.table["weight"].tolist()
        ([0, 1, 2, 2, 2], (1, 1, 3), [1.0, 3.0, 2.0])
    """

    of_person: Integers
    table: Table
    by: str | None = None
    weight: str | None = None
    rounding: float = 0.0

    @classmethod
    def of(
        cls,
        columns: Mapping[str, ArrayLike],
        *,
        by: str | None = None,
        weight: str | None = None,
        weight_classes: int = WEIGHT_CLASSES,
    ) -> Self:
        """Strata of people with these public columns.

        In each region the people are sorted by weight and divided into ``weight_classes`` parts of equal size; each
        division moves to the nearest place where the weight changes, and is left out where a class would be too small.

        Args:
            columns: with those that are named, one entry per person.
            by: the column of regions; None is one region for all.
            weight: the column of weights, finite numbers above 0; None is a weight of 1 for all.
            weight_classes: how many classes of weight a region has at most, 2 or more.

        Raises:
            InvalidParameterError: if neither column is named, nobody is there, or an argument is out of range.
        """
        if by is None and weight is None:
            raise InvalidParameterError("by or weight must be given, or there are no strata; got neither.")
        validate.integer_at_least(2, weight_classes=weight_classes)
        people = len(np.asarray(columns[by or str(weight)]))
        validate.integer_at_least(1, num_people=people)
        names, region = np.array([""]), np.zeros(people, dtype=np.int64)
        if by is not None:
            names, region = np.unique(_labels(columns[by]), return_inverse=True)
        if weight is None:
            return cls(of_person=region, table=Table({str(by): names}), by=by)
        weights = _checked(columns[weight], people)
        of_person, of_stratum = _classes(region, weights, int(weight_classes))
        means = np.bincount(of_person, weights=weights) / np.bincount(of_person)
        least, most = np.full(len(means), np.inf), np.zeros(len(means))
        np.minimum.at(least, of_person, weights)
        np.maximum.at(most, of_person, weights)
        rounded = np.clip(means, least, most)  # the mean of equal weights, too, is that weight to the last bit
        moved, total = (
            np.bincount(region, weights=each) for each in (np.abs(weights - rounded[of_person]) / 2, weights)
        )
        table = ({} if by is None else {by: names[of_stratum]}) | {weight: rounded}
        return cls(of_person=of_person, table=Table(table), by=by, weight=weight, rounding=float((moved / total).max()))

    @property
    def num_users(self) -> int:
        """Number of people in all strata together."""
        return len(self.of_person)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of people in each stratum."""
        return tuple(np.bincount(self.of_person, minlength=len(self.table)).tolist())

    @property
    def design_effect(self) -> float:
        """Design effect of Kish: mean squared weight over squared mean weight of the people; 1 for equal weights."""
        if self.weight is None:
            return 1.0
        return design_effect(np.array(self.sizes), self.table[self.weight])


def design_effect(sizes: NDArray[np.integer], weights: Floats) -> float:
    """Factor by which weights multiply the variance of a mean over people in classes (Kish 1965, 11.7)."""
    return float(sizes.sum() * (sizes @ weights**2) / (sizes @ weights) ** 2)


def _labels(column: ArrayLike) -> NDArray[np.str_]:
    validate.unmasked(by=column)
    labels = np.asarray(column)
    may_miss = labels.tolist() if labels.dtype.kind in "fMO" else []  # a list takes many times as much memory
    if labels.ndim != 1 or any(each is None or each != each for each in may_miss):  # noqa: PLR0124  NaN and NaT
        raise InvalidParameterError("by must be a label for each person, none missing; got others.")
    return labels.astype(np.str_)


def _checked(column: ArrayLike, people: int) -> Floats:
    validate.unmasked(weight=column)
    weights: Floats = np.asarray(column, dtype=np.float64)
    if weights.shape != (people,) or not ((weights > 1 / _HEAVIEST) & (weights < _HEAVIEST)).all():
        raise InvalidParameterError(
            f"weight must be finite numbers above 0 (and from {1 / _HEAVIEST:g} to {_HEAVIEST:g}), one for each of "
            f"{people} people; got others."
        )
    return weights


def _classes(region: Integers, weights: Floats, most: int) -> tuple[Integers, Integers]:
    """Stratum of each person, and region of each stratum, with classes ascending by weight."""
    order = np.lexsort((weights, region))
    of_person, of_stratum = np.empty(len(region), dtype=np.int64), list[int]()
    for here, people in enumerate(np.split(order, np.flatnonzero(np.diff(region[order])) + 1)):
        ends = _ends(weights[people], most)
        of_person[people] = len(of_stratum) + np.searchsorted(ends, np.arange(len(people)), side="right")
        of_stratum += [here] * len(ends)
    return of_person, np.array(of_stratum)


def _ends(weights: Floats, most: int) -> list[int]:
    """Ends of the classes of ascending weights, at the changes of weight nearest to equal class sizes."""
    people, parts = len(weights), np.arange(1, most) * len(weights) / most
    ties = np.append(np.flatnonzero(np.diff(weights)) + 1, people)
    after = np.searchsorted(ties, parts)
    before = np.maximum(after - 1, 0)
    nearest = np.where(np.abs(ties[before] - parts) <= np.abs(ties[after] - parts), ties[before], ties[after])
    least, ends = max(people // (2 * most), 1), list[int]()
    for end in np.unique(nearest).tolist():
        if end - (ends[-1] if ends else 0) >= least and people - end >= least:
            ends.append(end)
    return [*ends, people]
