"""Weighted sums of frequencies, such as margins of a table and shares below an edge, with exact errors.

Errors of different frequencies go together as the randomizer makes them, and shares of all values add up to 1. So the
sum with weights c is estimated with the centered weights c - mean(c), and mean(c) is added: among the estimates that
are linear and unbiased, and whose weights do not depend on the data, it has the least error where the errors of all
values are alike.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shuffledp.analyzers.exact_intervals import ALMOST_NORMAL, holders_between
from shuffledp.analyzers.frequencies import FrequencySummary, nearest_shares, without_dummies
from shuffledp.core import validate
from shuffledp.core.estimates import Estimate, normal_half_width
from shuffledp.core.table import Floats

_MOST_EXACT = 1_000_000  # reports; beyond, the time to invert the exact test is felt
_ROUNDING = 1e-9  # relative: by which sums of probabilities may be off

Mask = NDArray[np.bool_]


class FrequencySums:
    """Weighted sums of the frequencies of a summary; all weights have shape (rows, domain_size).

    Guarantees:
        1. `values` are unbiased where frequencies are (see `FrequencyAnalyzer`); `variances` and `covariances` are
           exact for the shares that the reports show, made shares by the nearest that are 0 or more and sum to 1.
        2. `intervals` are normal where the sum over reports is nearly normal whatever the answers are. Of fewer
           reports, if everybody's is there and no dummies are, they are those of an exact test (of one value, or of a
           set of them where a report supports one value at most), or else Cantelli's, for the largest variance that any
           answers lead to; with the nearest possible value to the estimate, if that lies outside. These cover with
           probability ``level`` or more.
        3. A sum lies between its least and its largest weight, and so do the ends of its interval, which is around the
           nearest possible value to the estimate.

    Args:
        summary: of one report or more.

    Raises:
        InvalidParameterError: if it is none, or has no report.
        UnsupportedModelError: if it is not known how the errors of different values go together.

    References:
        Wang, Blocki, Li, Jha 2017 (variances); Cantelli 1928 (the one-sided inequality).
    """

    def __init__(self, summary: FrequencySummary) -> None:
        validate.instance_of(FrequencySummary, summary=summary)
        self._summary, mixed = summary, summary.mixed
        self._frequencies, self._dummy_error = mixed, np.zeros_like(mixed)
        self._people: float = summary.num_reports
        if summary.dummies is not None:
            self._frequencies, self._dummy_error = without_dummies(mixed, summary.dummies)
            self._people *= 1 - summary.dummies.fraction
        self._reported, self._shares = nearest_shares(mixed), nearest_shares(self._frequencies)
        self._unit = self._people * (summary.model.p - summary.model.q)

    @property
    def num_reports(self) -> int:
        """Number of reports in the summary."""
        return self._summary.num_reports

    def values(self, weights: Floats) -> Floats:
        """Estimates of the sums, shape (rows,)."""
        centered, means = _centered(weights)
        return np.asarray(centered @ self._frequencies + means)

    def variances(self, weights: Floats) -> Floats:
        """Variances of the errors from randomizing and shuffling, shape (rows,)."""
        centered, _ = _centered(weights)
        randomized = self._by_value(centered) @ self._reported * self._summary.num_reports / self._unit**2
        lost = self.sampling_variances(weights) * (1 / self._summary.arrival_share - 1)
        return np.asarray(randomized + (centered @ self._dummy_error) ** 2 + lost)

    def covariances(self, first: Floats, second: Floats) -> Floats:
        """Covariances of the errors of each row of ``first`` with the matching row of ``second``.

        Shape (rows,).
        """
        return (self.variances(first + second) - self.variances(first - second)) / 4

    def sampling_variances(self, weights: Floats) -> Floats:
        """Variances of the additional errors if the batch is a random sample of a population, shape (rows,)."""
        centered, _ = _centered(weights)
        spread = np.square(centered) @ self._shares - (centered @ self._shares) ** 2
        return np.asarray(np.maximum(spread, 0.0) * self._summary.arrival_share / self._people)

    def nearly_normal(self, weights: Floats) -> Mask:
        """Mask of the sums with nearly normal errors, shape (rows,).

        The largest step of such a sum is small beside the spread.
        """
        return self._noisy(weights, np.ptp(weights, axis=1))

    @property
    def tells_apart_normally(self) -> bool:
        """Whether differences between any two values have nearly normal errors, even if nobody holds the values."""
        apart = np.zeros((1, self._summary.model.domain_size))
        apart[0, :2] = 1.0, -1.0
        return bool(self._noisy(apart, np.ones(1)).all())

    def _noisy(self, weights: Floats, step: Floats) -> Mask:
        """Mask of the sums whose standard deviation is several ``step``, whatever people answer; shape (rows,)."""
        if self._summary.dummies is not None or self._summary.arrival_share < 1:
            return np.ones(len(weights), dtype=np.bool_)
        centered, _ = _centered(weights)
        least = self._summary.num_reports * self._by_value(centered).min(axis=1)
        return np.asarray(least * (1 + _ROUNDING) >= ALMOST_NORMAL * step**2)

    def intervals(self, weights: Floats, level: float) -> Floats:
        """Ends of the intervals, shape (rows, 2)."""
        possible = weights.min(axis=1), weights.max(axis=1)
        nearest = np.clip(self.values(weights), *possible)
        spread = normal_half_width(level) * np.sqrt(self.variances(weights))
        low, high = nearest - spread, nearest + spread
        few = ~self.nearly_normal(weights)
        exact = few & self._testable(weights)
        low[exact], high[exact] = self._tested(weights[exact] > 0, level)
        rest = few & ~exact
        spread = _cantelli(level) * np.sqrt(self._largest_variances(weights[rest]))
        low[rest], high[rest] = nearest[rest] - spread, nearest[rest] + spread
        low, high = np.minimum(low, nearest), np.maximum(high, nearest)
        return np.stack([np.clip(low, *possible), np.clip(high, *possible)], axis=1)

    def estimate(self, weights: Floats, targets: Sequence[str], *, statistic: str, level: float) -> Estimate:
        """Estimate with one row for each row of weights; ``statistic`` names the meaning of the sums."""
        all_normal = bool(self.nearly_normal(weights).all())
        return Estimate(
            statistic=statistic,
            target=tuple(targets),
            estimate=self.values(weights),
            standard_error=np.sqrt(self.variances(weights)),
            sampling_error=np.sqrt(self.sampling_variances(weights)),
            interval=None if all_normal else self.intervals(weights, level),
            possible=(float(weights.min()), float(weights.max())),
            level=level,
            num_reports=self._summary.num_reports,
        )

    def _by_value(self, centered: Floats) -> Floats:
        """Variance of the total weight that one report supports, for each value; shape (rows, k).

        The value is the sender's.
        """
        variances: Floats = self._summary.model.support_variance(centered)
        return variances

    def _largest_variances(self, weights: Floats) -> Floats:
        """Largest variances over all answers, without lost reports and dummies; shape (rows,)."""
        centered, _ = _centered(weights)
        return np.asarray(self._by_value(centered).max(axis=1) * self._summary.num_reports / self._unit**2)

    def _testable(self, weights: Floats) -> Mask:
        """Mask of the rows for an exact test: a report supports at most one of the row's values.

        Then the count is a sum of two binomials.
        """
        picks = ((weights == 0) | (weights == 1)).all(axis=1)
        joint = self._summary.model.joint_support
        disjoint = joint is not None and joint.with_own == joint.of_others == 0
        small = self._summary.num_reports <= _MOST_EXACT
        return np.asarray(picks & (disjoint | (weights.sum(axis=1) == 1)) & small)

    def _tested(self, members: Mask, level: float) -> tuple[Floats, Floats]:
        """Ends of the exact intervals for the share of people with a value in a set, one set per row."""
        summary, sizes = self._summary, members.sum(axis=1)
        p, q, total = summary.model.p, summary.model.q, summary.num_reports
        low, high = np.zeros(len(members)), np.ones(len(members))
        for size in np.unique(sizes):
            rows = sizes == size
            others = (size - 1) * q  # a report supports another value of the set, if not its own
            ends = holders_between(members[rows] @ summary.counts, total, p + others, q + others, level)
            low[rows], high[rows] = (end / total for end in ends)
        return low, high


def _centered(weights: Floats) -> tuple[Floats, Floats]:
    """Weights minus their mean over all values, and the means."""
    means = weights.mean(axis=1)
    return weights - means[:, None], means


def _cantelli(level: float) -> float:
    """Number of standard deviations that any law exceeds on one side with probability at most (1 - level) / 2."""
    tail = (1 - level) / 2
    return math.sqrt((1 - tail) / tail)
