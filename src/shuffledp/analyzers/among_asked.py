"""Shares of answers among the people who were asked.

Here "(not asked)" is one more answer of everybody's report.

The share of an answer among those asked is a quotient: its share of all people by the share who were asked, both from
the same reports. Fieller's interval holds the quotients r for which ``share - r * asked`` may be 0.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from shuffledp.analyzers.exact_intervals import needs_exact
from shuffledp.analyzers.frequencies import Frequencies, FrequencySummary
from shuffledp.analyzers.frequency_sums import FrequencySums
from shuffledp.analyzers.tick_shares import TickAnalyzer, TickSummary
from shuffledp.analyzers.word_shares import OTHERS, WordEstimate, WordSummary
from shuffledp.core import validate
from shuffledp.core.estimates import NOT_ASKED, SHARES, AskedEstimate, Estimate, normal_half_width
from shuffledp.core.flow import Analyzer, Summary, View
from shuffledp.core.table import Floats

AMONG = " among those asked"  # after the name of the statistic
_TRIED = np.linspace(0.0, 1.0, 5)  # quotients for which reports must be enough to be nearly normal


@dataclass(frozen=True, slots=True)
class Quotients:
    """Estimated shares of answers and of asked people, with variances and covariances of their errors.

    Args:
        own: shares of the answers, shape (answers,).
        asked: share of the people who were asked.
        variances: of the errors of ``own`` and of ``asked``.
        together: covariances of the errors of ``own`` with that of ``asked``.
    """

    own: Floats
    asked: float
    variances: tuple[Floats, float]
    together: Floats

    @property
    def shares(self) -> Floats:
        """Shares of the answers among the people who were asked."""
        return self.own / self.asked

    @property
    def standard_error(self) -> Floats:
        """Standard errors of the shares among the people who were asked, to first order."""
        of_own, of_asked = self.variances
        variance = of_own - 2 * self.shares * self.together + self.shares**2 * of_asked
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)) / self.asked)

    def fieller(self, level: float) -> Floats:
        """Ends of Fieller's intervals, shape (answers, 2); infinite if the share of asked people may be 0."""
        square, (of_own, of_asked) = normal_half_width(level) ** 2, self.variances
        leading = self.asked**2 - square * of_asked
        if leading <= 0:
            return np.tile((-np.inf, np.inf), (len(self.own), 1))
        half = self.own * self.asked - square * self.together
        spread = np.sqrt(np.maximum(half**2 - leading * (self.own**2 - square * of_own), 0.0))
        return np.stack([half - spread, half + spread], axis=1) / leading


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class AmongAsked(Estimate):
    """Estimated shares among asked people, kept with the underlying shares of all people.

    Args:
        whole: shares of all people: the same answers first, and last of the people who were not asked.
    """

    whole: Estimate

    @property
    def compared_targets(self) -> tuple[str, ...]:
        """Answers to compare: all answers, or only the last of two exclusive answers.

        The share of the first of two answers follows from the share of the last.
        """
        return self.target[-1:] if len(self.target) == 2 and isinstance(self.whole, Frequencies) else self.target


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUpAnalyzer:
    """Analyzer of a question that only some people are asked, with shares among the asked people.

    For all else it is another analyzer.

    Guarantees:
        1. Estimates of all people are those of the other analyzer.
        2. Estimates of those asked alone are there only where more than ``minimum_batch`` people were asked, by the
           estimate.
        3. Intervals among those asked hold the shares of the people in the batch who were asked with probability
           ``level`` or nearly so where counts are nearly normal, by Fieller's theorem; of fewer reports with
           probability ``level`` or more. Of words, all hold together where those among all people do.

    Args:
        analyzer: the other one, whose last value says that somebody was not asked.
        minimum_batch: least number of people, 1 or more.
        level: coverage of the intervals, strictly between 0 and 1.

    References:
        Fieller 1954.
    """

    analyzer: Analyzer[Any]
    minimum_batch: int
    level: float = 0.95

    def __post_init__(self) -> None:
        validate.instance_of(Analyzer, analyzer=self.analyzer)
        validate.integer_at_least(1, minimum_batch=self.minimum_batch)
        validate.open_probability(level=self.level)

    def summarize(self, view: View) -> Summary:
        """Summary of a view, made by the analyzer of the whole question."""
        found: Summary = self.analyzer.summarize(view)
        return found

    def estimate(self, summary: Any) -> AskedEstimate:
        """Estimate for all people, with shares among the asked people if these are enough.

        Raises:
            UnsupportedModelError: if it is not known how the errors of different values go together.
        """
        whole = AskedEstimate.of(self.analyzer.estimate(summary))
        people = summary.num_reports / summary.model.num_messages
        quotients = _KINDS[type(summary)]
        among = quotients(summary, whole, self.level, self.minimum_batch / people)
        return whole.of_too_few() if among is None else replace(whole, among_asked=among)


def _among(whole: Estimate, target: tuple[str, ...], found: Quotients, ends: Floats, people: float) -> Estimate:
    """Estimate among the asked people, with intervals extended to the nearest possible shares.

    The estimate ``whole`` is of all ``people``.
    """
    shares, inside = found.shares, np.clip(found.shares, *SHARES)
    among = Estimate(
        statistic=f"{whole.statistic}{AMONG}",
        target=target,
        estimate=shares,
        standard_error=found.standard_error,
        sampling_error=np.sqrt(inside * (1 - inside) / (people * found.asked)),
        interval=np.clip(np.stack([np.minimum(ends[:, 0], inside), np.maximum(ends[:, 1], inside)], axis=1), *SHARES),
        possible=SHARES,
        level=whole.level,
        num_reports=whole.num_reports,
    )
    return related(among, whole)


def related(among: Estimate, whole: Estimate) -> Estimate:
    """Shares among the asked people, kept with the underlying shares of all people.

    Other rows are unchanged.

    Differences between `AmongAsked` shares take into account that all have one divisor.
    """
    if whole.target[:-1] != among.target:
        return among
    return AmongAsked(**{each.name: getattr(among, each.name) for each in fields(Estimate)}, whole=whole)


def _of_values(summary: FrequencySummary, whole: Estimate, level: float, least: float) -> Estimate | None:
    """Shares of values among the asked people; the last value means "not asked"."""
    sums, values = FrequencySums(summary), np.eye(summary.model.domain_size)
    own, asked = values[:-1], 1 - values[-1:]
    share = float(sums.values(asked)[0])
    if share <= least:
        return None
    variances = sums.variances(own), float(sums.variances(asked)[0])
    found = Quotients(sums.values(own), share, variances, sums.covariances(own, np.repeat(asked, len(own), axis=0)))
    tried = np.concatenate([own - share * asked for share in _TRIED])
    if sums.nearly_normal(tried).all():
        return _among(whole, whole.target[:-1], found, found.fieller(level), summary.num_reports)
    low, high = sums.intervals(values, _of_both(level)).T
    return _among(whole, whole.target[:-1], found, _by_ends(low, high), summary.num_reports)


def _of_ticks(summary: TickSummary, whole: Estimate, level: float, least: float) -> Estimate | None:
    """Shares of options among the asked people; the last option means "not asked"."""
    model, people = summary.model, summary.num_reports / summary.model.num_messages
    own, share = whole.estimate[:-1], 1 - float(whole.estimate[-1])
    if share <= least:
        return None
    squares, inside = whole.standard_error**2, np.clip(whole.estimate, *SHARES)
    together = -model.apart_covariance(inside[:-1], float(inside[-1])) / people
    found = Quotients(own, share, (squares[:-1], float(squares[-1])), together)
    if not needs_exact(int(summary.about.min()), model.p, model.q):
        return _among(whole, whole.target[:-1], found, found.fieller(level), people)
    both = TickAnalyzer(level=_of_both(level)).estimate(summary)
    return _among(whole, whole.target[:-1], found, _by_ends(both.lower, both.upper), people)


def _of_words(summary: WordSummary, whole: Estimate, level: float, least: float) -> Estimate | None:
    """Shares of words among the asked people, whose intervals already hold together."""
    del level
    target, estimating = list(whole.target), whole.num_estimating if isinstance(whole, WordEstimate) else 0
    place, people = target.index(NOT_ASKED), summary.num_reports
    share = 1 - float(whole.estimate[place])
    words = [row for row, name in enumerate(target) if name not in (NOT_ASKED, OTHERS)]
    if share <= least or not words:
        return None
    order = [*words, place]
    squares, inside = whole.standard_error[order] ** 2, np.clip(whole.estimate[order], *SHARES)
    drawn = max(1 / max(estimating, 1) - 1 / people, 0.0)  # of those whose reports are of the part for estimates
    together = inside[:-1] * inside[-1] * drawn
    found = Quotients(whole.estimate[words], share, (squares[:-1], float(squares[-1])), together)
    names = tuple(target[row] for row in words)
    return _among(whole, names, found, _by_ends(whole.lower[order], whole.upper[order]), people)


def _of_both(level: float) -> float:
    """Coverage of each of two intervals such that both hold with probability ``level`` or more."""
    return (1 + level) / 2


def _by_ends(low: Floats, high: Floats) -> Floats:
    """Ends of intervals for shares among those asked, from ends that hold for all shares at once.

    The last share is of people not asked.
    """
    most, least = 1 - low[-1], max(1 - high[-1], np.finfo(np.float64).tiny)
    ends: Floats = np.stack([low[:-1] / max(most, least), high[:-1] / least], axis=1)
    return np.minimum(ends, 1.0)


_Ratios = Callable[[Any, Estimate, float, float], Estimate | None]
_KINDS: Mapping[type[Summary], _Ratios] = MappingProxyType(
    {FrequencySummary: _of_values, TickSummary: _of_ticks, WordSummary: _of_words}
)
