"""Shares of the people who ticked each option, from randomized ticks: unbiased, with exact variances."""

from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.analyzers.exact_intervals import holders_between, needs_exact, reaches_for_population, shares_between
from shuffledp.core import validate
from shuffledp.core.errors import IncomparableError, UnsupportedModelError
from shuffledp.core.estimates import SHARES, AskedEstimate, Estimate
from shuffledp.core.flow import Summary, View
from shuffledp.core.local_models import LocalModel
from shuffledp.core.table import Floats, Integers
from shuffledp.core.tick_models import Supports, TicksModel
from shuffledp.core.validate import invalid

TOGETHER = " & "  # between the options of a pair that is ticked together


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TickSummary(Summary):
    """Counts so far of the reports about each option.

    Args:
        model: the randomizer's model.
        support: reports that support a tick of each option, shape (num_options,).
        about: reports about each option, shape (num_options,).
        sets: reports of each set, shape (num_sets,), where a report is about a whole set; else None.
        num_reports: reports seen.
    """

    model: TicksModel
    support: NDArray[np.int64]
    about: NDArray[np.int64]
    sets: NDArray[np.int64] | None = None
    num_reports: int

    def __post_init__(self) -> None:
        validate.integer_at_least(0, num_reports=self.num_reports)
        shapes = {each.shape for each in (self.support, self.about)}
        if shapes != {(self.model.num_options,)} or (self.support < 0).any() or (self.support > self.about).any():
            raise invalid(f"{self.model.num_options} counts of 0 or more", shapes_of_counts=sorted(shapes))

    def __add__(self, other: "TickSummary") -> "TickSummary":
        if not isinstance(other, TickSummary) or self.model != other.model:
            raise IncomparableError(f"summaries must be of one model; got {self.model!r} and {other.model!r}.")
        sets = None if self.sets is None or other.sets is None else self.sets + other.sets
        return replace(
            self,
            support=self.support + other.support,
            about=self.about + other.about,
            sets=sets,
            num_reports=self.num_reports + other.num_reports,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TickEstimate(AskedEstimate):
    """Estimated share of each option and, if known, the shares of pairs of options ticked together."""

    model: TicksModel
    pairs: Estimate | None = field(default=None)

    def covariances(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> tuple[Floats, Floats | None]:
        """Covariances of the errors of pairs of options.

        Of columns they are 0 given the answers, and how ticks go together in a population is not seen. About an option
        each, other people are asked: as samples of a population they are independent.
        """
        if self.model.share_asked < 1 and self.sampling_error is not None:
            drawn = self.sampling_error[first] * self.sampling_error[second]
            return -drawn, drawn
        if self.model.separate is not None:
            return np.zeros(len(first)), None
        return super(TickEstimate, self).covariances(first, second)

    def knows_pairs(self, rows: NDArray[np.intp], *, population: bool) -> bool:
        """Whether errors of different options are independent.

        For columns this holds given the answers, for other reports in a population.
        """
        del rows
        return self.model.share_asked < 1 if population else self.model.separate is not None

    def reaches(self, level: float, *, population: bool) -> tuple[Floats, Floats, Floats]:
        """Intervals at another level, exact for a population where the estimate's intervals are exact.

        They are exact only if all people were asked about each option.
        """
        if self.interval is None or not population or self.model.share_asked < 1:
            return super(TickEstimate, self).reaches(level, population=population)
        people, chances = self.num_reports // self.model.num_messages, (self.model.p, self.model.q)
        return reaches_for_population(self, people, chances, level)

    @property
    def derived(self) -> tuple[Estimate, ...]:
        """Estimated shares among the asked people, and shares of pairs of options."""
        return (*super(TickEstimate, self).derived, *([] if self.pairs is None else [self.pairs]))

    def with_targets(self, names: tuple[str, ...]) -> "TickEstimate":
        """Copy of this estimate with other names of the options, also in the pairs."""
        renamed: Any = super(TickEstimate, self).with_targets(names)
        if self.pairs is None:
            return renamed  # type: ignore[no-any-return]
        both = tuple(TOGETHER.join(pair) for pair in combinations(names, 2))
        return replace(renamed, pairs=self.pairs.with_targets(both))  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True, kw_only=True)
class TickAnalyzer:
    """Shares of the people who ticked each option, for any randomizer of ticks (`TicksModel`).

    Of N_j reports about option j, C_j support a tick: its share is estimated by (C_j / N_j - q) / (p - q).

    Guarantees:
        1. Unbiased for the shares of *kept* ticks among the people in the batch, whatever they ticked, as long as
           somebody was asked about each option.
        2. ``standard_error`` is the error from randomizing, and from who was asked where not everybody is: with f the
           share, (f p (1-p) + (1-f) q (1-q)) / (N_j (p-q)^2) + f (1-f) (1/N_j - 1/n). ``sampling_error`` is the further
           error of a random sample of a population.
        3. Errors of different options are independent given the answers where each option is asked by itself.
        4. Intervals are normal ones where counts are nearly normal; of fewer reports they are those of the exact test,
           and of the share nearest to the estimate: they cover with probability ``level`` or more. They end at 0 and 1.

    Args:
        level: coverage of the intervals, strictly between 0 and 1.
        pairs: whether pairs of options are estimated too, from reports of whole sets.

    References:
        Warner 1965 (one option); Wang, Blocki, Li, Jha 2017, Theorem 2 (variance, for sets).

    Example:
        >>> from shuffledp import UniformShuffler
        >>> from shuffledp.randomizers import TickColumns
        >>> reports = TickColumns(epsilon0=8.0, num_options=2, at_most=2).randomize([[1, 0]] * 600 + [[1, 1]] * 400)
        >>> analyzer = TickAnalyzer()
        >>> estimate = analyzer.estimate(analyzer.summarize(UniformShuffler().shuffle(reports)))
        >>> bool(abs(estimate.estimate[1] - 0.4) < 0.05)
        True
    """

    level: float = 0.95
    pairs: bool = False

    def __post_init__(self) -> None:
        validate.open_probability(level=self.level)

    def summarize(self, view: View) -> TickSummary:
        """Counts of a view.

        Raises:
            UnsupportedModelError: if the reports are not about ticks, or the shuffle adds dummy reports or loses some.
        """
        model: LocalModel = view.reports.model
        if not isinstance(model, TicksModel):
            raise UnsupportedModelError(f"shares of ticks need reports about ticks; got reports of {model.kind!r}.")
        if view.shuffle.dummies is not None or view.shuffle.arrival_share < 1:
            raise UnsupportedModelError(
                f"shares of ticks need a shuffle that adds and loses nothing; got one of kind {view.shuffle.kind!r}."
            )
        counted = model.counted(view.reports.columns)
        counts_of_sets = getattr(model, "set_counts", None)
        return TickSummary(
            model=model,
            support=counted.support,
            about=counted.about,
            sets=None if counts_of_sets is None else counts_of_sets(view.reports.columns),
            num_reports=len(view.reports),
        )

    def estimate(self, summary: TickSummary) -> TickEstimate:
        """Shares of the options with standard errors and intervals, in rows named by option numbers.

        Raises:
            InvalidParameterError: if ``summary`` is not one of ``summarize``, or some option has no report.
        """
        validate.instance_of(TickSummary, summary=summary)
        if not summary.about.all():
            raise invalid("a summary with one report or more about every option", num_reports=summary.num_reports)
        model, names = summary.model, tuple(map(str, range(summary.model.num_options)))
        found = self._shares(summary, names, Supports(summary.support, summary.about), (model.p, model.q))
        pairs = None
        if self.pairs and summary.sets is not None:
            pairs = self._pairs(summary, summary.sets)
        shown = {name: getattr(found, name) for name in Estimate.__dataclass_fields__}
        return TickEstimate(**shown, model=model, pairs=pairs)

    def _shares(
        self, summary: TickSummary, names: tuple[str, ...], counted: Supports, chances: tuple[float, float]
    ) -> Estimate:
        """Shares of options from counts of supporting reports.

        A report supports a tick with the first chance if it is there, else with the second.
        """
        (support, about), (p, q) = counted, chances
        share, people = support / about, summary.num_reports / summary.model.num_messages
        frequency = (share - q) / (p - q)
        mixed, inside = np.clip(frequency, 0, 1), np.clip(frequency, 0, 1)
        noise = (mixed * p * (1 - p) + (1 - mixed) * q * (1 - q)) / (about * (p - q) ** 2)
        unasked = inside * (1 - inside) * np.maximum(1 / about - 1 / people, 0.0)
        return Estimate(
            statistic="frequency",
            target=names,
            estimate=frequency,
            standard_error=np.sqrt(noise + unasked),
            sampling_error=np.sqrt(inside * (1 - inside) / people),
            interval=self._exact(counted, people, chances, mixed),
            possible=SHARES,
            level=self.level,
            num_reports=summary.num_reports,
        )

    def _exact(self, counted: Supports, people: float, chances: tuple[float, float], nearest: Floats) -> Floats | None:
        """Exact intervals extended to nearest possible shares, shape (options, 2); None for normal intervals.

        Where not everybody was asked about an option, the ends are those for a population that is sampled, whose
        interval is the longer one.
        """
        (support, about), (p, q) = counted, chances
        if not needs_exact(int(about.min()), p, q):
            return None
        if (about < people).any():
            ends = np.stack(shares_between(support, about, chances, self.level), axis=1)
        else:
            total = int(about[0])
            low, high = holders_between(support, total, p, q, self.level)
            ends = np.stack([low, high], axis=1) / total
        return np.stack([np.minimum(ends[:, 0], nearest), np.maximum(ends[:, 1], nearest)], axis=1)

    def _pairs(self, summary: TickSummary, counts: Integers) -> Estimate:
        """Shares of the people who ticked both options of a pair."""
        model: Any = summary.model
        chances, sets = model.supporting(2), model.sets().astype(np.int64)
        both = (sets * counts[:, np.newaxis]).T @ sets
        first, second = np.triu_indices(model.num_options, 1)
        names = tuple(TOGETHER.join(map(str, pair)) for pair in combinations(range(model.num_options), 2))
        about = np.full(len(first), summary.num_reports, dtype=np.int64)
        found = self._shares(summary, names, Supports(both[first, second], about), (chances.p, chances.q))
        return replace(found, statistic="frequency of pairs")
