"""Post-stratified estimates: strata's estimates, weighted by their shares of people or survey weight."""

import operator
from dataclasses import dataclass, fields, replace
from functools import reduce
from typing import Any, cast

import numpy as np

from shuffledp.analyzers.exact_intervals import needs_exact
from shuffledp.analyzers.frequencies import FrequencyAnalyzer, FrequencySummary
from shuffledp.analyzers.means import MeanSummary
from shuffledp.core import validate
from shuffledp.core.errors import IncomparableError, InvalidParameterError, UnsupportedModelError
from shuffledp.core.estimates import SHARES, Estimate, normal_half_width, weighted
from shuffledp.core.flow import Analyzer, Summary, View
from shuffledp.core.shuffle_models import LabelMeaning, ShuffleModel
from shuffledp.core.table import Floats, Integers
from shuffledp.core.validate import invalid

Part = FrequencySummary | MeanSummary  # of the reports of a stratum


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StratifiedSummary(Summary):
    """Summaries of the reports so far, one for each stratum.

    Args:
        sizes: reports of each stratum in the whole view.
        weights: the weight of everybody in each stratum.
        regions: the region of each stratum; empty if there are none.
        strata: the strata of which reports were seen, ascending.
        parts: the summary of each of these.
    """

    sizes: tuple[int, ...]
    weights: tuple[float, ...]
    regions: tuple[str, ...]
    strata: tuple[int, ...]
    parts: tuple[Part, ...]

    @property
    def num_reports(self) -> int:  # type: ignore[override]  # a plain attribute of the base, computed here
        """Number of reports so far."""
        return sum(part.num_reports for part in self.parts)

    def __add__(self, other: "StratifiedSummary") -> "StratifiedSummary":
        mine = (self.sizes, self.weights, self.regions)
        if not isinstance(other, StratifiedSummary) or mine != (other.sizes, other.weights, other.regions):
            raise IncomparableError("summaries must be of one model and of the same strata.")
        found: dict[int, Any] = dict(zip(self.strata, self.parts, strict=True))
        for stratum, part in zip(other.strata, other.parts, strict=True):
            found[stratum] = found[stratum] + part if stratum in found else part
        if len({part.model for part in found.values()}) > 1:
            raise IncomparableError("summaries must be of one model and of the same strata.")
        strata = tuple(sorted(found))
        return replace(self, strata=strata, parts=tuple(found[stratum] for stratum in strata))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class StratifiedEstimate(Estimate):
    """Estimate for all people, with the estimates for each region.

    Args:
        everybody: what the analyzer of a stratum makes of everybody's reports, or their weighted sum.
        regions: a row for each region and target, with ``where``, in the order of the regions' names; None without.
        others: as ``everybody`` has them.
    """

    everybody: Estimate
    regions: Estimate | None

    @property
    def derived(self) -> tuple[Estimate, ...]:
        """Estimates derived from the reports of all people, such as quantiles; then the estimates for regions."""
        return (*self.everybody.derived, *([] if self.regions is None else [self.regions]))

    def with_targets(self, names: tuple[str, ...]) -> "StratifiedEstimate":
        """This estimate with other target names, also in each region."""
        regions = self.regions
        if regions is not None:
            regions = regions.with_targets(names * (len(regions.target) // len(names)))
        renamed = super(StratifiedEstimate, self).with_targets(names)
        everybody = self.everybody.with_targets(names)
        return cast(StratifiedEstimate, replace(cast(Any, renamed), everybody=everybody, regions=regions))


@dataclass(frozen=True, slots=True, kw_only=True)
class StratifiedAnalyzer:
    """Frequencies or means for all people and for each region, from reports that are shuffled inside strata.

    With an estimate e_s of each stratum s, and its share c_s of the people, or of their weight, the estimate of all is
    the sum of c_s e_s; of a region it is that among its own strata. Where people weigh the same, this is the estimate
    from all their reports together.

    Guarantees:
        1. Unbiased for the weighted frequencies or means of the people in the batch, the weight of each being that of
           the stratum, as far as the estimate of each stratum is unbiased.
        2. ``standard_error`` squared is the sum of c_s^2 times that of the strata, whose errors are independent. So is,
           of different weights, ``sampling_error``, the further error if the people of each stratum are a random sample
           of its population.
        3. Intervals of people who weigh the same are those of the analyzer. Others are normal ones; of so few reports
           that frequencies need exact intervals, an end is as far from the share nearest to the estimate as the root of
           the sum of c_s^2 times squared distances: those of the strata's exact ends, or of their normal ones where
           these are farther.
        4. No interval of a share reaches below 0 or above 1; estimates may, since they are unbiased.

    Args:
        analyzer: of frequencies or means of a stratum.
        by: the column of the view's label table by which there are regions; None for everybody alone.
        weight: the column of it that holds the weight of everybody in a stratum; None is 1.

    References:
        Cochran 1977, Section 5A.9 (post-stratification); Zou, Huang, Zhang 2009 (intervals of weighted sums from those
        of their terms).

    Example:
        >>> from shuffledp import KaryRandomizedResponse
        >>> from shuffledp.protocols.strata.people.strata import Strata
        >>> from shuffledp.protocols.strata.shufflers.stratified import StratifiedShuffler
        >>> reports = KaryRandomizedResponse(epsilon0=30.0, domain_size=2).randomize([0, 1, 0, 0])
        >>> strata = Strata.of({"region": ["west", "west", "east", "east"]}, by="region")
        >>> analyzer = StratifiedAnalyzer(analyzer=FrequencyAnalyzer(), by="region")
        >>> estimate = analyzer.estimate(analyzer.summarize(StratifiedShuffler(strata).shuffle(reports)))
        >>> estimate.estimate.round(6).tolist()
        [0.75, 0.25]
        >>> [(row["where"], round(row["estimate"], 6)) for row in estimate.regions.rows() if row["target"] == "1"]
        [({'region': 'east'}, -0.0), ({'region': 'west'}, 0.5)]
    """

    analyzer: Analyzer[Any]
    by: str | None = None
    weight: str | None = None

    def __post_init__(self) -> None:
        validate.instance_of(Analyzer, analyzer=self.analyzer)

    def summarize(self, view: View) -> StratifiedSummary:
        """Summaries of the strata in a view.

        Raises:
            UnsupportedModelError: if the labels of the view are no strata, or its reports not what the analyzer takes.
            InvalidParameterError: if the view has no such columns of regions or weights.
        """
        table = view.label_table
        if view.shuffle.labels is not LabelMeaning.STRATUM or view.labels is None:
            raise UnsupportedModelError(
                f"post-stratified estimates need labels that are strata; got {view.reports.model.kind!r} reports in a "
                f"{view.shuffle.kind!r} shuffle."
            )
        sizes: tuple[int, ...] = getattr(view.shuffle, "sizes")  # noqa: B009  # as every shuffle into strata has them
        for column in filter(None, (self.by, self.weight)):
            if table is None or column not in table.columns:
                raise InvalidParameterError(f"the label table must have the column {column!r}; it has none.")
        columns = {} if table is None else table.columns
        weights = np.ones(len(sizes)) if self.weight is None else columns[self.weight].astype(np.float64)
        if not (np.isfinite(weights) & (weights > 0)).all():
            raise InvalidParameterError("the weights of strata must be finite numbers above 0; got others.")
        starts = np.flatnonzero(np.diff(view.labels, prepend=-1))
        strata = view.labels[starts].tolist()
        messages = view.reports.model.num_messages
        stops = [*starts[1:].tolist(), len(view)][: len(starts)]
        parts = [
            self.analyzer.summarize(_stratum(view, slice(start, stop), sizes[stratum]))
            for stratum, start, stop in zip(strata, starts.tolist(), stops, strict=True)
        ]
        if not all(isinstance(part, Part) for part in parts):
            raise UnsupportedModelError(
                f"post-stratified estimates are of frequencies and means; got {view.reports.model.kind!r} reports."
            )
        return StratifiedSummary(
            sizes=tuple(size * messages for size in sizes),
            weights=tuple(weights.tolist()),
            regions=() if self.by is None else tuple(columns[self.by].astype(np.str_).tolist()),
            strata=tuple(strata),
            parts=tuple(parts),
        )

    def estimate(self, summary: StratifiedSummary) -> StratifiedEstimate:
        """Estimate for all people, with a row per value or coordinate, and regions' estimates.

        Raises:
            InvalidParameterError: if ``summary`` is not one of ``summarize``, or not of all reports of all strata.
        """
        validate.instance_of(StratifiedSummary, summary=summary)
        if summary.num_reports == 0:
            raise invalid("a summary of one report or more", num_reports=summary.num_reports)
        seen = dict(zip(summary.strata, (part.num_reports for part in summary.parts), strict=True))
        if tuple(seen.get(stratum, 0) for stratum in range(len(summary.sizes))) != summary.sizes:
            raise invalid(f"of all {sum(summary.sizes)} reports, stratum by stratum", num_reports=summary.num_reports)
        everybody, regions = self._of(summary, np.arange(len(summary.sizes))), None
        if self.by is not None:
            names, region = np.unique(np.array(summary.regions), return_inverse=True)
            each = [self._of(summary, np.flatnonzero(region == number)) for number in range(len(names))]
            regions = _one_after_another(each, [{self.by: str(name)} for name in names])
        own = {field.name: getattr(everybody, field.name) for field in fields(Estimate)}
        return StratifiedEstimate(**own, everybody=everybody, regions=regions)

    def _of(self, summary: StratifiedSummary, strata: Integers) -> Estimate:
        """Estimate for the given strata together."""
        parts, weights = [summary.parts[stratum] for stratum in strata.tolist()], np.array(summary.weights)[strata]
        together = self.analyzer.estimate(reduce(operator.add, parts))
        if np.ptp(weights) > 0:
            together = _weighted(parts, weights, self.analyzer, together)
        return replace(together, statistic=weighted(together.statistic)) if self.weight else together


def _stratum(view: View, rows: slice, size: int) -> View:
    """Reports of one stratum as the view of their uniform shuffle."""
    shuffle = ShuffleModel.from_dict({"kind": "uniform", "num_users": size})
    return View(reports=view.reports.take(rows), shuffle=shuffle, seeded=view.seeded)


def _weighted(parts: list[Part], weights: Floats, analyzer: Analyzer[Any], together: Estimate) -> Estimate:
    """Weighted average of the strata's estimates.

    ``together`` is the estimate of all reports without weights.
    """
    numbers, first = np.array([part.num_reports for part in parts]), parts[0]
    share = numbers * weights / (numbers @ weights)
    if isinstance(first, FrequencySummary):  # whatever else an analyzer makes of frequencies is not linear
        analyzer = FrequencyAnalyzer(level=together.level)
    found: list[Estimate] = [analyzer.estimate(part) for part in parts]

    def root(errors: list[Floats]) -> Floats:
        total: Floats = np.sqrt(share**2 @ np.array(errors) ** 2)
        return total

    estimate = share @ np.array([each.estimate for each in found])
    as_many = round(1 / float(share**2 @ (1 / numbers)))  # people of equal weight
    interval = None
    if isinstance(first, FrequencySummary) and needs_exact(as_many, first.model.p, first.model.q):
        # Exact ends stop at the range of the truth: where an estimate lies beyond it, a sum errs no less for that.
        normal = [normal_half_width(together.level) * each.standard_error for each in found]
        below = root([np.maximum(each.estimate - each.lower, z) for each, z in zip(found, normal, strict=True)])
        above = root([np.maximum(each.upper - each.estimate, z) for each, z in zip(found, normal, strict=True)])
        nearest = np.clip(estimate, *SHARES)
        interval = np.stack([nearest - below, nearest + above], axis=1)
    sampling = [each.sampling_error for each in found if each.sampling_error is not None]
    return Estimate(
        statistic=together.statistic,
        target=together.target,
        estimate=estimate,
        standard_error=root([each.standard_error for each in found]),
        sampling_error=root(sampling) if len(sampling) == len(found) else None,
        interval=interval,
        possible=found[0].possible,
        level=together.level,
        num_reports=together.num_reports,
    )


def _one_after_another(estimates: list[Estimate], places: list[dict[str, str]]) -> Estimate:
    """Estimate with the rows of several places' estimates, one place after the other."""
    sampling = [each.sampling_error for each in estimates if each.sampling_error is not None]
    exact = any(each.interval is not None for each in estimates)
    return Estimate(
        statistic=f"{estimates[0].statistic} by region",
        target=tuple(name for each in estimates for name in each.target),
        estimate=np.concatenate([each.estimate for each in estimates]),
        standard_error=np.concatenate([each.standard_error for each in estimates]),
        sampling_error=np.concatenate(sampling) if len(sampling) == len(estimates) else None,
        interval=np.concatenate([np.stack([each.lower, each.upper], axis=1) for each in estimates]) if exact else None,
        possible=estimates[0].possible,
        level=estimates[0].level,
        where=tuple(place for each, place in zip(estimates, places, strict=True) for _ in each.target),
        num_reports=sum(each.num_reports for each in estimates),
    )
