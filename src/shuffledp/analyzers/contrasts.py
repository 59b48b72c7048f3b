"""Pairs of estimated numbers that are compared, with the covariances of their errors."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.estimates import Estimate
from shuffledp.core.table import Floats

Places = NDArray[np.intp]


class About(StrEnum):
    """People that a difference is about: a sampled population, or only the people asked."""

    POPULATION = "population"
    ASKED = "people asked"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contrast:
    """Pairs of rows that are compared, with the covariances of their errors.

    Args:
        first: has the rows from which those of ``second`` are taken.
        second: the same estimate, or that of another release.
        places: rows of the first and of the second one, shape (pairs,) each.
        target: a name for each pair.
        randomizing: covariances of what randomizing adds to the two, shape (pairs,).
        sampling: those of what sampling adds; None if unknown, and then differences are about those asked.
    """

    first: Estimate
    second: Estimate
    places: tuple[Places, Places]
    target: tuple[str, ...]
    randomizing: Floats
    sampling: Floats | None

    @property
    def about(self) -> About:
        """People that the differences are about."""
        return About.ASKED if self.sampling is None else About.POPULATION

    @property
    def apart(self) -> Floats:
        """Estimated differences, shape (pairs,)."""
        return self.first.estimate[self.places[0]] - self.second.estimate[self.places[1]]

    @property
    def num_reports(self) -> int:
        """Number of reports behind the two estimates of the contrast."""
        return self.first.num_reports if self.first is self.second else self.first.num_reports + self.second.num_reports

    def intervals(self, level: float) -> Floats:
        """Ends of the intervals, each with this coverage, shape (pairs, 2).

        With intervals (l, u) around f of both, a difference reaches sqrt((f1 - l1)^2 + (u2 - f2)^2 - 2 r (f1 - l1) (u2
        - f2)) below itself, with r the correlation of both errors; and above likewise. Of normal intervals that is the
        normal one. Of few reports, where an interval is cut at a possible end, both reaches are added.
        """
        population = self.sampling is not None
        center, below, above = self._reaches(self.first, self.places[0], level, population=population)
        other, under, over = self._reaches(self.second, self.places[1], level, population=population)
        r = self._correlation(population=population)
        apart = center - other
        down, up = self._together(below, over, r), self._together(above, under, r)
        if self._has_ends:
            at_end = self._ends_at(center, other, (below, above), (under, over))
            down, up = np.where(at_end[0], below + over, down), np.where(at_end[1], above + under, up)
        return np.stack([apart - down, apart + up], axis=1)

    def _together(self, one: Floats, other: Floats, correlation: Floats) -> Floats:
        """Reach of the difference of two errors, from each error's reach and the errors' correlation."""
        return np.asarray(np.sqrt(np.maximum(one**2 + other**2 - 2 * correlation * one * other, 0.0)))

    def _ends_at(
        self, center: Floats, other: Floats, first: tuple[Floats, Floats], second: tuple[Floats, Floats]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Masks of the pairs whose interval is cut below, or above, at an end of the range of possible values.

        There the interval reaches less far than its error.
        """
        ends = self.first.possible, self.second.possible
        if ends[0] is None or ends[1] is None:
            return np.zeros(len(center), dtype=np.bool_), np.zeros(len(center), dtype=np.bool_)
        low, high = center - first[0] <= ends[0][0], center + first[1] >= ends[0][1]
        under, over = other - second[0] <= ends[1][0], other + second[1] >= ends[1][1]
        return low | over, high | under

    def _reaches(
        self, estimate: Estimate, places: Places, level: float, *, population: bool
    ) -> tuple[Floats, Floats, Floats]:
        center, below, above = estimate.reaches(level, population=population)
        if estimate.possible is not None and estimate.interval is None and self._has_ends:
            # The other one lies in the possible range: an estimate outside would put all of its error on one side.
            low, high = estimate.possible
            center = estimate.nearest
            below, above = np.minimum(below, center - low), np.minimum(above, high - center)
        return center[places], below[places], above[places]

    @property
    def _has_ends(self) -> bool:
        """Whether at least one of the two estimates gives the ends of intervals, as for few reports."""
        return self.first.interval is not None or self.second.interval is not None

    def _correlation(self, *, population: bool) -> Floats:
        """Correlation of the errors in each pair, shape (pairs,)."""
        errors = [each.population_error if population else each.standard_error for each in (self.first, self.second)]
        scale = errors[0][self.places[0]] * errors[1][self.places[1]]
        together = self.randomizing + (self.sampling if self.sampling is not None else 0.0)
        return np.clip(np.divide(together, scale, out=np.zeros_like(scale), where=scale > 0), -1.0, 1.0)

    def joint(self, pairs: Places) -> Floats | None:
        """Covariances of the errors of the chosen differences, shape (pairs, pairs); None unless all are known."""
        population, chosen = self.sampling is not None, [each[pairs] for each in self.places]
        if self.first is self.second:
            rows, places = np.unique(np.concatenate(chosen), return_inverse=True)
            errors = self.first.joint(rows, population=population)
            sides = np.split(np.eye(len(rows))[places], 2)
            return None if errors is None else np.asarray((sides[0] - sides[1]) @ errors @ (sides[0] - sides[1]).T)
        both = [
            each.joint(rows, population=population)
            for each, rows in zip((self.first, self.second), chosen, strict=True)
        ]
        return None if both[0] is None or both[1] is None else both[0] + both[1]

    def variances(self) -> tuple[Floats, Floats | None]:
        """Variances of the differences for the people asked, and the variances that sampling adds, if known."""
        (first, second), (one, other) = self.places, (self.first, self.second)
        asked = one.standard_error[first] ** 2 + other.standard_error[second] ** 2 - 2 * self.randomizing
        drawn = [each.sampling_error for each in (one, other) if each.sampling_error is not None]
        if self.sampling is None or len(drawn) < 2:
            return np.maximum(asked, 0.0), None
        return np.maximum(asked, 0.0), np.maximum(drawn[0][first] ** 2 + drawn[1][second] ** 2 - 2 * self.sampling, 0.0)
