"""Frequencies of values from randomized reports: unbiased, with errors from randomizing and from sampling."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.analyzers.exact_intervals import holders_between, needs_exact, reaches_for_population
from shuffledp.core import validate
from shuffledp.core.errors import IncomparableError, UnsupportedModelError
from shuffledp.core.estimates import SHARES, AskedEstimate, Estimate
from shuffledp.core.flow import Summary, View
from shuffledp.core.local_models import FrequencyModel
from shuffledp.core.shuffle_models import DummyReports
from shuffledp.core.table import Floats
from shuffledp.core.validate import invalid


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FrequencySummary(Summary):
    """Support counts of the reports so far.

    Args:
        model: the randomizer's model.
        dummies: the dummy reports to correct for, if the shuffler adds any.
        arrival_share: expected share of people whose own reports are in the view, a random sample of all if below 1.
        counts: reports that support each value, shape (domain_size,).
        num_reports: reports seen.

    Raises:
        InvalidParameterError: if there is not one count of 0 or more for each value.
    """

    model: FrequencyModel
    dummies: DummyReports | None = None
    arrival_share: float = 1.0
    counts: NDArray[np.int64]
    num_reports: int

    def __post_init__(self) -> None:
        validate.integer_at_least(0, num_reports=self.num_reports)
        if self.counts.shape != (self.model.domain_size,) or (self.counts < 0).any():
            raise invalid(f"{self.model.domain_size} counts of 0 or more", shape_of_counts=self.counts.shape)

    def __add__(self, other: "FrequencySummary") -> "FrequencySummary":
        mine = (self.model, self.dummies, self.arrival_share)
        if not isinstance(other, FrequencySummary) or mine != (other.model, other.dummies, other.arrival_share):
            raise IncomparableError(f"summaries must be of one model; got {self.model!r} and {other.model!r}.")
        return replace(self, counts=self.counts + other.counts, num_reports=self.num_reports + other.num_reports)

    @property
    def mixed(self) -> Floats:
        """Frequencies among all reports, including dummies; refused if there are no reports."""
        if self.num_reports == 0:
            raise invalid("a summary of one report or more", num_reports=self.num_reports)
        p, q = self.model.p, self.model.q
        return np.asarray((self.counts / self.num_reports - q) / (p - q))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Frequencies(AskedEstimate):
    """Estimated frequencies from reports of all people, without dummies, and the randomizer's model.

    So it is known how the errors of two values go together, and exact intervals of any level follow.
    """

    model: FrequencyModel

    @property
    def compared_targets(self) -> tuple[str, ...]:
        """Values to compare: all values, or only the last of two, whose shares sum to 1."""
        return self.target[-1:] if len(self.target) == 2 else self.target

    def covariances(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> tuple[Floats, Floats | None]:
        """Covariances of the errors of pairs of values.

        A difference of the values i and j is a sum over reports, whose variance for the people asked is
        (v_0 + (f_i + f_j) (v - v_0)) / (n (p - q)^2), with v the variance of what one report of i or j adds, and v_0 of
        what one of a third value does. Of k-RR that is (s_i + s_j - (p-q)^2 (f_i + f_j)) / (n (p-q)^2), with s the
        shares of reports.
        """
        try:
            own, third = self._steps()
        except UnsupportedModelError:
            return super(Frequencies, self).covariances(first, second)
        unit = self.num_reports * (self.model.p - self.model.q) ** 2
        inside = np.clip(self.estimate, *SHARES)
        apart = (third + (inside[first] + inside[second]) * (own - third)) / unit
        randomizing = (self.standard_error[first] ** 2 + self.standard_error[second] ** 2 - apart) / 2
        return randomizing, -inside[first] * inside[second] / self.num_reports

    def knows_pairs(self, rows: NDArray[np.intp], *, population: bool) -> bool:
        """Whether the model gives the covariances of the errors of two values."""
        del rows, population
        try:
            self._steps()
        except UnsupportedModelError:
            return False
        return True

    def _steps(self) -> tuple[float, float]:
        """Variances of the difference between one report's supports of two values.

        For senders who hold one of the two values, and for all other senders.
        """
        apart = np.zeros(self.model.domain_size)
        apart[:2] = 1.0, -1.0
        variances = self.model.support_variance(apart)
        return float(variances[0]), float(variances[-1])

    def reaches(self, level: float, *, population: bool) -> tuple[Floats, Floats, Floats]:
        """Intervals of another level; exact if the estimate's own intervals are exact."""
        if self.interval is None:
            return super(Frequencies, self).reaches(level, population=population)
        p, q, total = self.model.p, self.model.q, self.num_reports
        if population:
            return reaches_for_population(self, total, (p, q), level)
        counts = np.rint((self.estimate * (p - q) + q) * total).astype(np.int64)
        low, high = (end / total for end in holders_between(counts, total, p, q, level))
        nearest = self.nearest
        return nearest, np.maximum(nearest - low, 0.0), np.maximum(high - nearest, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class FrequencyAnalyzer:
    """Relative frequencies of values, for any randomizer whose reports support values (`FrequencyModel`).

    With counts c_v among N reports, the estimate of value v is (c_v / N - q) / (p - q).

    Guarantees:
        1. Unbiased for the frequencies among the people in the batch, for every true answer of theirs; but where a
           shuffle does not hand in everybody's report with the same chance, as walks with protocol "single" or
           "padded" after few rounds, only where answers do not go with that chance.
        2. ``standard_error`` is the error from randomizing, and from a shuffle that adds dummies or loses reports;
           ``sampling_error`` the further error if the batch is a random sample of a population.
        3. No estimate is clipped: it may be below 0 or above 1. `project_to_simplex` is a separate step.
        4. Intervals are normal ones where counts are nearly normal. Of fewer reports, if everybody's is there and no
           dummies are, they are those of the exact test, and of the share nearest to the estimate: they cover with
           probability ``level`` or more, whatever the answers are.
        5. Intervals are around the share nearest to the estimate, and end at 0 and 1, where shares do. So they cover
           whenever those around the estimate do.

    Args:
        level: coverage of the intervals, strictly between 0 and 1.

    References:
        Wang, Blocki, Li, Jha 2017, Theorems 1 and 2 (unbiasedness and variance of pure protocols).

    Example:
        >>> from shuffledp import KaryRandomizedResponse, UniformShuffler
        >>> from shuffledp.randomness.replayable import SeededSource
        >>> randomizer = KaryRandomizedResponse(epsilon0=3.0, domain_size=2)
        >>> reports = randomizer.randomize([0] * 700 + [1] * 300, source=SeededSource(1))
        >>> analyzer = FrequencyAnalyzer()
        >>> estimate = analyzer.estimate(analyzer.summarize(UniformShuffler().shuffle(reports)))
        >>> bool(abs(estimate.estimate[1] - 0.3) < 4 * estimate.standard_error[1])
        True
    """

    level: float = 0.95

    def __post_init__(self) -> None:
        validate.open_probability(level=self.level)

    def summarize(self, view: View) -> FrequencySummary:
        """Support counts of a view.

        Raises:
            UnsupportedModelError: if the reports do not support values, so that frequencies have no meaning.
        """
        model = view.reports.model
        if not isinstance(model, FrequencyModel):
            raise UnsupportedModelError(f"frequencies need reports that support values; got reports of {model.kind!r}.")
        counts = model.support_counts(view.reports.columns)
        return FrequencySummary(
            model=model,
            dummies=model.named(view.shuffle.dummies),
            arrival_share=view.shuffle.arrival_share,
            counts=counts,
            num_reports=len(view.reports),
        )

    def estimate(self, summary: FrequencySummary) -> Estimate:
        """Frequencies with standard errors and intervals; one row per value, named by its number.

        Raises:
            InvalidParameterError: if ``summary`` is not one of ``summarize``, or holds no report.
        """
        validate.instance_of(FrequencySummary, summary=summary)
        p, q, total, mixed = summary.model.p, summary.model.q, summary.num_reports, summary.mixed
        people: float = total
        frequency, dummy_error = mixed, np.zeros_like(mixed)
        if summary.dummies is not None:
            frequency, dummy_error = without_dummies(mixed, summary.dummies)
            people = total * (1 - summary.dummies.fraction)
        # A report's support of v is a coin with chance p or q; the true shares, estimated, say how many of each.
        share = np.clip(mixed, 0, 1)
        variance = (share * p * (1 - p) + (1 - share) * q * (1 - q)) / (total * (p - q) ** 2)
        scale = total / people
        inside = np.clip(frequency, 0, 1)
        sampling = inside * (1 - inside) / people
        lost_variance = sampling * (1 - summary.arrival_share)  # of a sample of the people, without replacement
        plain = summary.dummies is None and summary.arrival_share == 1
        made: Any = partial(Frequencies, model=summary.model) if plain else Estimate
        found: Estimate = made(
            statistic="frequency",
            target=tuple(str(value) for value in range(summary.model.domain_size)),
            estimate=frequency,
            standard_error=np.sqrt(variance * scale**2 + dummy_error**2 + lost_variance),
            sampling_error=np.sqrt(sampling * summary.arrival_share),
            interval=self._exact_interval(summary, np.clip(frequency, *SHARES)),
            possible=SHARES,
            level=self.level,
            num_reports=total,
        )
        return found

    def _exact_interval(self, summary: FrequencySummary, nearest: Floats) -> Floats | None:
        """Exact intervals extended to nearest possible shares, shape (values, 2); None for normal intervals."""
        p, q, total = summary.model.p, summary.model.q, summary.num_reports
        if summary.dummies is not None or summary.arrival_share < 1 or not needs_exact(total, p, q):
            return None
        low, high = holders_between(summary.counts, total, p, q, self.level)
        return np.stack([np.minimum(low / total, nearest), np.maximum(high / total, nearest)], axis=1)


def without_dummies(mixed: Floats, dummies: DummyReports) -> tuple[Floats, Floats]:
    """Frequencies among people, corrected for dummy reports, and the error by the dummies' unknown number.

    The error is one random number, scaled for each value.
    """
    if dummies.value is None or dummies.value >= len(mixed):
        raise UnsupportedModelError(f"frequencies need dummies made from one of their values; got {dummies!r}.")
    held = np.zeros_like(mixed)
    held[dummies.value] = 1.0
    frequency = (mixed - dummies.fraction * held) / (1 - dummies.fraction)
    return frequency, (frequency - held) * dummies.standard_error / (1 - dummies.fraction)


def nearest_shares(frequencies: Floats) -> Floats:
    """Nearest frequencies (in squared distance) that are nonnegative and sum to 1."""
    descending = np.sort(frequencies)[::-1]
    excess = (np.cumsum(descending) - 1) / np.arange(1, len(descending) + 1)
    kept = np.flatnonzero(descending > excess)[-1]
    return np.asarray(np.maximum(frequencies - excess[kept], 0.0))


def project_to_simplex(estimate: Estimate) -> Estimate:
    """Copy of an estimate with the nearest frequencies that are nonnegative and sum to 1.

    Errors are unchanged. They are the nearest in squared distance. No longer unbiased: small frequencies are pulled up
    and large ones down. Use it for display or for sampling, not for averaging.

    References:
        Wang, Lopuhaa-Zwakenberg, Li, Skoric, Li 2020, "norm-sub".

    Example:
        >>> raw = Estimate(statistic="frequency", target=("a", "b"), estimate=np.array([1.1, -0.1]),
        ...                standard_error=np.array([0.1, 0.1]), num_reports=100)
        >>> project_to_simplex(raw).estimate.tolist()
        [1.0, 0.0]
    """
    projected = nearest_shares(estimate.estimate)
    interval = estimate.interval  # which holds the estimate, wherever that is moved
    if interval is not None:
        interval = np.stack([np.minimum(interval[:, 0], projected), np.maximum(interval[:, 1], projected)], axis=1)
    return replace(estimate, statistic=f"{estimate.statistic} (projected)", estimate=projected, interval=interval)
