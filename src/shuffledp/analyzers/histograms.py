"""Histogram and quantiles of a number, from bins that each device chooses and randomizes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from shuffledp.analyzers.frequencies import FrequencyAnalyzer, FrequencySummary
from shuffledp.analyzers.frequency_sums import FrequencySums
from shuffledp.core import validate
from shuffledp.core.estimates import AskedEstimate, Estimate, normal_half_width
from shuffledp.core.flow import View
from shuffledp.core.table import Floats
from shuffledp.core.text import bin_names
from shuffledp.core.validate import invalid

QUARTILES = (0.25, 0.5, 0.75)
_LEAST_ANSWERED = 1e-9  # share of the people who answered, where the estimate is none


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Histogram(AskedEstimate):
    """Shares of the people by bin, and the quantiles derived from them.

    Args:
        edges: of the bins, ascending; one more than there are bins.
        quantiles: one row for each that was asked for, in the units of the edges; None if none was.
        others: see `Estimate`; ``target`` has the bins, and after them people without an answer, and people who were
            not asked, if these are counted.
    """

    edges: tuple[float, ...]
    quantiles: Estimate | None

    def of_too_few(self) -> "Histogram":
        """Shares of the bins without quantiles, since quantiles are about asked people alone."""
        return replace(self, quantiles=None)

    @property
    def derived(self) -> tuple[Estimate, ...]:
        """Estimated shares among the people who were asked, and quantiles of the answers."""
        return (*super(Histogram, self).derived, *([] if self.quantiles is None else [self.quantiles]))


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramAnalyzer:
    """Analyzer of histograms and quantiles from reports on bins.

    It takes any randomizer whose errors of bins have known covariances.

    Shares below the edges are made ascending by isotonic regression, and a quantile is where the line through them
    crosses its level. Its interval is a set of whole bins: from below, edges are passed as long as it is certain that
    fewer people are below than the quantile says, and from above, as long as it is certain that there are more.

    Guarantees:
        1. Shares of bins are unbiased, add up to 1, and have the intervals of `FrequencySums`.
        2. Shares below the edges are nowhere farther from the truth, in the sum of squared distances, for being made
           ascending: the truth is ascending too.
        3. The interval of a quantile holds it with probability ``level`` or more as far as those of shares do, however
           people's numbers lie inside a bin. It is never finer than the bins.
        4. Its ``standard_error`` is half the width of the interval divided by the normal quantile of ``level``.
           Quantiles are not unbiased.

    Args:
        edges: of the bins, ascending; a number at an edge belongs to the bin above it, but for the last.
        quantiles: each strictly between 0 and 1, ascending.
        level: coverage of the intervals, strictly between 0 and 1.

    Raises:
        InvalidParameterError: for other edges, quantiles or level.

    References:
        Barlow, Bartholomew, Bremner, Brunk 1972 (isotonic regression by pooling adjacent violators).

    Example:
        >>> from shuffledp import Bins, OptimizedUnaryEncoding, Pipeline, UniformShuffler
        >>> from shuffledp.testing import SeededSource
        >>> bins = Bins.equal(lower=0, upper=100, number=20)
        >>> pipeline = Pipeline(
        ...     randomizer=OptimizedUnaryEncoding(epsilon0=2.0, categories=bins),
        ...     shuffler=UniformShuffler(),
        ...     analyzer=HistogramAnalyzer(edges=bins.edges),
        ... )
        >>> release = pipeline.run(np.arange(20_000) / 250, delta=1e-6, source=SeededSource(1))
        >>> median = release.estimate.quantiles.rows()[1]
        >>> median["target"], bool(median["lower"] <= 40 <= median["upper"])
        ('0.5', True)
    """

    edges: tuple[float, ...]
    quantiles: tuple[float, ...] = QUARTILES
    level: float = 0.95

    def __post_init__(self) -> None:
        validate.open_probability(level=self.level)
        object.__setattr__(self, "edges", validate.edges_of_bins(self.edges))
        object.__setattr__(self, "quantiles", validate.levels_of_quantiles(self.quantiles))

    def summarize(self, view: View) -> FrequencySummary:
        """Support counts of a view; see `FrequencyAnalyzer`."""
        return FrequencyAnalyzer().summarize(view)

    def estimate(self, summary: FrequencySummary) -> Histogram:
        """Histogram with shares of the bins, named by their edges, and quantiles.

        Raises:
            InvalidParameterError: if ``summary`` is not one of ``summarize``, holds no report, or is of another number
                of values than there are bins, with one or two more for people without an answer or who were not asked.
            UnsupportedModelError: if it is not known how the errors of different bins go together.
        """
        sums, bins = FrequencySums(summary), len(self.edges) - 1
        extra = summary.model.domain_size - bins
        if extra not in (0, 1, 2):
            raise invalid(f"{summary.model.domain_size + 1}, one more than values", number_of_edges=len(self.edges))
        names = (*bin_names(self.edges), *(str(bins + place) for place in range(extra)))
        shares = sums.estimate(np.eye(bins + extra), names, statistic="frequency", level=self.level)
        return Histogram(
            **{field.name: getattr(shares, field.name) for field in fields(Estimate)},
            edges=self.edges,
            quantiles=self._quantiles(sums, extra) if self.quantiles else None,
        )

    def _quantiles(self, sums: FrequencySums, extra: int) -> Estimate:
        """Quantiles of the answers; the last ``extra`` values stand for no answer."""
        below = np.tri(len(self.edges), len(self.edges) - 1 + extra, -1)  # bin b is below edge j > b
        estimates = self._crossings(sums.values(below))
        lower, upper = np.array(list(self._ends(sums, below, extra))).T
        # The bin of the estimate is in the interval too, wherever the tests left it.
        edges = np.array(self.edges)
        lower = np.minimum(lower, edges[np.searchsorted(edges, estimates, side="right") - 1])
        upper = np.maximum(upper, edges[np.searchsorted(edges, estimates, side="left")])
        return Estimate(
            statistic="quantile",
            target=tuple(f"{share:g}" for share in self.quantiles),
            estimate=estimates,
            standard_error=(upper - lower) / (2 * normal_half_width(self.level)),
            interval=np.stack([lower, upper], axis=1),
            level=self.level,
            num_reports=sums.num_reports,
        )

    def _crossings(self, below: Floats) -> Floats:
        """Quantiles from estimated shares below the edges, shape (quantiles,).

        The shares are first made ascending.
        """
        ascending = made_ascending(below / max(below[-1], _LEAST_ANSWERED))
        return np.array([_crossing(self.edges, ascending, share) for share in self.quantiles])

    def _ends(self, sums: FrequencySums, below: Floats, extra: int) -> Iterator[tuple[float, float]]:
        """Ends of each quantile's interval, both taken from the edges."""
        inner, last = below[1:-1], len(self.edges) - 1
        intervals = sums.intervals(inner, self.level)
        for share in self.quantiles:
            # With missing answers: the count below less this share of the answered; without, shares of all people.
            tested = sums.intervals(inner - share * below[-1], self.level) if extra else intervals - share
            open_below = 1 + np.flatnonzero(tested[:, 1] >= 0)  # not certain that fewer are below
            open_above = 1 + np.flatnonzero(tested[:, 0] <= 0)
            yield (
                self.edges[int(open_below[0]) - 1 if open_below.size else last - 1],
                self.edges[int(open_above[-1]) + 1 if open_above.size else 1],
            )


def made_ascending(below: Floats) -> Floats:
    """Shares below the edges, moved to the nearest ascending shares from 0 to 1 (in squared distance).

    Args:
        below: shape (edges,); the first is 0 and the last 1.
    """
    from scipy.optimize import isotonic_regression

    inner = np.clip(isotonic_regression(below[1:-1]).x, 0.0, 1.0)
    return np.concatenate([[0.0], inner, [1.0]])


def _crossing(edges: Sequence[float], ascending: Floats, share: float) -> float:
    """Point at which interpolated shares reach this share; the middle of a flat part."""
    ends = []
    for side in ("left", "right"):
        above = int(np.searchsorted(ascending, share, side=side))
        part = (share - ascending[above - 1]) / (ascending[above] - ascending[above - 1])
        ends.append(edges[above - 1] + part * (edges[above] - edges[above - 1]))
    return float(sum(ends) / 2)
