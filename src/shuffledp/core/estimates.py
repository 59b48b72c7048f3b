"""Estimated numbers with their errors, in the one schema that every command prints."""

import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from importlib import import_module
from statistics import NormalDist
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.described import encode
from shuffledp.core.text import count_of, is_misleading
from shuffledp.core.upward_calls import Shown, above
from shuffledp.core.validate import invalid

_FRAMES = ("pandas", "polars")
_COLUMNS = ("target", "statistic", "level", "sampling_error", "standard_error", "estimate", "lower", "upper")
SHARES = (0.0, 1.0)  # where a share of people lies
NOT_ASKED = "(not asked)"  # one more answer, of whoever was not asked a question
NO_ANSWER = "(missing)"  # one more answer, of whoever gave none
_MOST_SHOWN = 4
_WEIGHTED = " (weighted)"


def normal_half_width(level: float) -> float:
    """Half-width of a normal interval of this coverage, in standard errors: 1.96 for 0.95."""
    return -NormalDist().inv_cdf((1 - level) / 2)


def weighted(statistic: str) -> str:
    """Name of the statistic, marked as weighted."""
    return f"{statistic}{_WEIGHTED}"


def is_weighted(estimate: "Estimate") -> bool:
    """Whether the statistic is weighted."""
    return _WEIGHTED in estimate.statistic


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Estimate(Shown):
    """Estimated numbers with their errors: one row per target.

    Args:
        statistic: what is estimated, such as "frequency".
        target: one name per row, such as a category.
        estimate: shape (rows,), unbiased; may lie outside the range of the truth.
        standard_error: shape (rows,), of the error that randomizing and shuffling add, for the people in this batch.
        sampling_error: shape (rows,), the further error if the batch is a random sample of a large population; None
            where it makes no sense.
        half_width: shape (rows,), half the width of each interval, where the errors have another law than the normal
            one; None for the normal quantile times ``standard_error``.
        interval: shape (rows, 2), the ends of the intervals, where they do not lie evenly around estimates; else None.
        possible: the least and the largest value that a truth may have, where intervals end; None for all numbers.
        covariance: shape (rows, rows), of the errors that randomizing and shuffling add, with the squares of
            ``standard_error`` on the diagonal; None where it is not given.
        level: coverage of the intervals, strictly between 0 and 1.
        where: one public description of a region per row, or None.
        num_reports: reports that went in.

    Raises:
        InvalidParameterError: if lengths differ or a number is not finite.
    """

    statistic: str
    target: tuple[str, ...]
    estimate: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    sampling_error: NDArray[np.float64] | None = None
    half_width: NDArray[np.float64] | None = None
    interval: NDArray[np.float64] | None = None
    possible: tuple[float, float] | None = None
    covariance: NDArray[np.float64] | None = None
    level: float = 0.95
    where: tuple[Mapping[str, Any], ...] | None = None
    num_reports: int

    def __post_init__(self) -> None:
        validate.open_probability(level=self.level)
        rows = len(self.target)
        for name in ("estimate", "standard_error", "sampling_error", "half_width", "interval", "covariance", "where"):
            column = getattr(self, name)
            if column is not None and len(column) != rows:
                raise invalid(f"of length {rows}, one per target", **{f"len_{name}": len(column)})
            if isinstance(column, np.ndarray) and not np.isfinite(column).all():
                raise invalid("finite numbers", **{name: column})
        if self.covariance is not None and self.covariance.shape != (rows, rows):
            raise invalid(f"of shape {(rows, rows)}", shape_of_covariance=self.covariance.shape)

    @property
    def names(self) -> tuple[str, ...]:
        """Target of each row, with the row's region if there is one: "Yes (region north)"."""
        if self.where is None:
            return self.target
        places = (", ".join(f"{name} {value}" for name, value in place.items()) for place in self.where)
        return tuple(
            f"{target} ({place})" if place else target for target, place in zip(self.target, places, strict=True)
        )

    @property
    def is_correlated(self) -> bool:
        """Whether errors of different rows are known to be correlated."""
        return self.covariance is not None and bool(
            np.count_nonzero(self.covariance - np.diag(np.diag(self.covariance)))
        )

    @property
    def margin(self) -> NDArray[np.float64]:
        """Half the width of the intervals: as given, or the normal quantile times the standard error."""
        if self.interval is not None:
            return np.asarray(self.interval[:, 1] - self.interval[:, 0]) / 2
        if self.half_width is not None:
            return self.half_width
        return normal_half_width(self.level) * self.standard_error

    @property
    def nearest(self) -> NDArray[np.float64]:
        """Possible values nearest to the estimates: the estimates themselves, or an end of ``possible``."""
        return self.estimate if self.possible is None else np.clip(self.estimate, *self.possible)

    @property
    def lower(self) -> NDArray[np.float64]:
        """Lower ends of the intervals."""
        return self._cut(self.nearest - self.margin if self.interval is None else self.interval[:, 0])

    @property
    def upper(self) -> NDArray[np.float64]:
        """Upper ends of the intervals."""
        return self._cut(self.nearest + self.margin if self.interval is None else self.interval[:, 1])

    def _cut(self, ends: NDArray[np.float64]) -> NDArray[np.float64]:
        """Ends of intervals, cut to the range of possible values; a covered truth stays covered."""
        return ends if self.possible is None else np.clip(ends, *self.possible)

    @property
    def derived(self) -> tuple["Estimate", ...]:
        """Estimates of other numbers from the same reports, such as quantiles; empty except in subclasses."""
        return ()

    @property
    def population_error(self) -> NDArray[np.float64]:
        """Standard error for the sampled population: randomizing and sampling error combined."""
        if self.sampling_error is None:
            return self.standard_error
        return np.hypot(self.standard_error, self.sampling_error)

    @property
    def compared_targets(self) -> tuple[str, ...]:
        """Different targets worth comparing; a subclass may leave out targets that follow from others."""
        return tuple(dict.fromkeys(self.target))

    def covariances(
        self, first: NDArray[np.intp], second: NDArray[np.intp]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Covariances of the errors of row pairs, from randomizing and from sampling; shape (pairs,) each.

        Where what randomizing adds is not known, it is the one with which a difference of the two errs most; what
        sampling adds is None then.
        """
        if self.covariance is not None:
            return np.asarray(self.covariance[first, second]), None
        return -self.standard_error[first] * self.standard_error[second], None

    def joint(self, rows: NDArray[np.intp], *, population: bool) -> NDArray[np.float64] | None:
        """Covariance matrix of the errors of these rows, shape (rows, rows); None unless known.

        None too where the errors are not normal. They are about the people asked, or about a ``population``. None where
        it is not known how errors go together.
        """
        if self.interval is not None or self.half_width is not None:
            return None
        errors = (self.population_error if population else self.standard_error)[rows]
        found = np.zeros((len(rows), len(rows)))
        if len(rows) > 1:
            if not self.knows_pairs(rows, population=population):
                return None
            randomizing, sampling = self.covariances(np.repeat(rows, len(rows)), np.tile(rows, len(rows)))
            if population and sampling is None:
                return None
            drawn = sampling if population and sampling is not None else 0.0
            found += (randomizing + drawn).reshape(found.shape)
        np.fill_diagonal(found, errors**2)
        return found

    def knows_pairs(self, rows: NDArray[np.intp], *, population: bool) -> bool:
        """Whether the true covariances of these rows are known, rather than worst-case covariances."""
        del rows
        return self.covariance is not None and not population

    def reaches(
        self, level: float, *, population: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Centers of the intervals at another level, and their lengths below and above the centers.

        Shape (rows,) each. They are about the people asked, or about a ``population`` that these are a random sample
        of. Intervals that do not lie evenly are scaled as normal ones would be.
        """
        z = normal_half_width(level)
        if self.interval is None:
            error = self.population_error if population else self.standard_error
            wider = (
                z * error
                if self.half_width is None
                else np.hypot(z / self._z * self.half_width, z * self._drawn(population))
            )
            return self.estimate, wider, wider
        ends = (self.nearest - self.interval[:, 0], self.interval[:, 1] - self.nearest)
        below, above_it = (np.hypot(z / self._z * each, z * self._drawn(population)) for each in ends)
        return self.nearest, below, above_it

    @property
    def _z(self) -> float:
        return normal_half_width(self.level)

    def _drawn(self, population: bool) -> NDArray[np.float64]:
        """Sampling error if ``population`` is true and the error is known, else 0."""
        return self.sampling_error if population and self.sampling_error is not None else np.zeros(len(self.target))

    def difference(self, *targets: str, other: "Estimate | None" = None, same_people: bool = False) -> "Estimate":
        """Differences of targets within this estimate or to another estimate, with joint intervals.

        They are made from what is released, and cost no privacy. Of several comparisons the intervals are longer, so
        that all of them hold together with the probability ``level`` of this estimate.

        Args:
            targets: which of them are compared; all, if none is given. Without another estimate all their pairs are,
                or, where rows are about regions, all pairs of regions for each target.
            other: of another release of the same targets, such as another region or week: this one less the other.
            same_people: whether the same people are in both. That is a claim of yours: the differences are then about
                those asked, since how their answers of both times go together cannot be seen for a population.

        Returns:
            The `shuffledp.analyzers.Differences`.

        Raises:
            InvalidParameterError: if a target is in none, fewer than two can be compared, or there are too many pairs.

        Example:
            >>> import numpy as np
            >>> north, south = (
            ...     Estimate(statistic="mean", target=("hours",), estimate=np.array([mean]),
            ...              standard_error=np.array([0.3]), num_reports=500)
            ...     for mean in (8.0, 7.0)
            ... )
            >>> found = north.difference(other=south)
            >>> float(found.estimate[0]), [round(float(end[0]), 2) for end in (found.lower, found.upper)]
            (1.0, [0.17, 1.83])
        """
        found: Estimate = above("difference")(self, targets, other=other, same_people=same_people)
        return found

    def rows(self) -> list[dict[str, Any]]:
        """Dictionary for each target, in the schema that every command prints; derived estimates are last.

        Where covariances are given, ``covariance`` holds those with other targets that are not zero.
        """
        sampling = self.sampling_error if self.sampling_error is not None else [None] * len(self.target)
        keys = ("target", "estimate", "standard_error", "lower", "upper", "sampling_error")
        columns = (self.target, self.estimate, self.standard_error, self.lower, self.upper, sampling)
        rows = [
            {"statistic": self.statistic, "level": self.level} | dict(zip(keys, row, strict=True))
            for row in zip(*columns, strict=True)
        ]
        order = ("statistic", "target", "estimate", "standard_error", "lower", "upper", "level", "sampling_error")
        ordered = [{key: encode(row[key]) for key in order} for row in rows]
        if self.covariance is not None:
            for place, row in enumerate(ordered):
                others = {
                    other: float(self.covariance[place, other]) for other in np.flatnonzero(self.covariance[place])
                }
                row["covariance"] = {self.target[other]: value for other, value in others.items() if other != place}
        if self.where is not None:
            ordered = [row | {"where": dict(place)} for row, place in zip(ordered, self.where, strict=True)]
        return ordered + [row for each in self.derived for row in each.rows()]

    def to_frame(self) -> Any:
        """Rows as a data frame of pandas or polars, whichever is imported or else installed.

        Covariances are left out; what is public about the region of a row has columns of its own. Estimates and their
        intervals are the last columns, which a narrow terminal leaves out last.

        Raises:
            ModuleNotFoundError: if neither is installed.
        """
        rows = []
        for row in self.rows():
            where = {f"where_{name}": value for name, value in row.get("where", {}).items()}
            rows.append(where | {name: row[name] for name in _COLUMNS})
        names = sorted(_FRAMES, key=lambda name: name not in sys.modules)  # what is imported comes first
        for name in names:
            with suppress(ModuleNotFoundError):
                return import_module(name).DataFrame(rows)
        raise ModuleNotFoundError("to_frame needs pandas or polars; neither is installed.", name=names[0])

    def plot(self) -> Any:
        """Chart of the estimates with their intervals: a notebook shows it, ``save`` writes it.

        Returns:
            The `shuffledp.documents.charts.drawing.Drawn`; its ``figure`` is matplotlib's own.

        Raises:
            ModuleNotFoundError: if the extra ``cli`` is not installed.
        """
        return above("picture")(self)

    @property
    def in_short(self) -> str:
        """Statistic and target on one line, with the first numbers."""
        shown = [f"{name} {value:.4g}" for name, value in zip(self.target[:_MOST_SHOWN], self.estimate, strict=False)]
        more = [f"{len(self.target) - len(shown)} more"] if len(self.target) > len(shown) else []
        return f"{self.statistic} from {count_of(self.num_reports, 'report')}: {', '.join([*shown, *more])}"

    def with_targets(self, names: tuple[str, ...]) -> "Estimate":
        """Copy of this estimate with other names of its targets, such as categories in place of numbers.

        Raises:
            InvalidParameterError: if a name has controls of its direction, or lone surrogates, which no file holds.
        """
        for name in names:
            if is_misleading(name):
                raise invalid("text without controls of its direction", names=name)
        return replace(self, target=tuple(names))

    def __str__(self) -> str:
        width = max([len(name) for name in self.names], default=0)
        lines = [f"{self.statistic}, {self.level:.0%} intervals, {self.num_reports} reports"]
        for name, *numbers in zip(self.names, self.estimate, self.lower, self.upper, strict=True):
            middle, lower, upper = (f"{each:8.4f}" for each in numbers)
            lines.append(f"  {name:<{width}}  {middle}  [{lower}, {upper}]")
        return "\n".join([*lines, *map(str, self.derived)])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class AskedEstimate(Estimate):
    """Estimated shares of all people, with shares among people asked if some were not asked.

    Args:
        among_asked: a row for each of the first targets; None where everybody is asked, or too few were.
    """

    among_asked: Estimate | None = None

    @property
    def derived(self) -> tuple[Estimate, ...]:
        """Estimated shares among the people who were asked; empty if there are none."""
        return () if self.among_asked is None else (self.among_asked,)

    def with_targets(self, names: tuple[str, ...]) -> Self:
        """Copy of this estimate with other names of its targets, also in shares among people asked."""
        renamed: Any = super(AskedEstimate, self).with_targets(names)
        if self.among_asked is None:
            return cast(Self, renamed)
        theirs = self.among_asked.with_targets(names[: len(self.among_asked.target)])
        return cast(Self, replace(renamed, among_asked=theirs))

    def of_too_few(self) -> Self:
        """Estimate without numbers about asked people alone, for use where asked people are too few."""
        return self

    @classmethod
    def of(cls, estimate: Estimate) -> "AskedEstimate":
        """Estimate as an `AskedEstimate`; unchanged if it is one already."""
        if isinstance(estimate, AskedEstimate):
            return estimate
        return cls(**{each.name: getattr(estimate, each.name) for each in fields(Estimate)})
