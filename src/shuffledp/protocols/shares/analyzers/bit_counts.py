"""Sums and means from counted bits: number of ones, minus the expected number of ones among coins."""

from dataclasses import dataclass, replace

import numpy as np

from shuffledp.core import validate
from shuffledp.core.errors import IncomparableError, UnsupportedModelError
from shuffledp.core.estimates import Estimate
from shuffledp.core.flow import Summary, View
from shuffledp.core.sum_models import BitSumModel
from shuffledp.core.validate import invalid
from shuffledp.protocols.shares.analyzers.totals import TotalAnalyzer, people_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BitCountSummary(Summary):
    """Number of ones and number of bits in the views so far.

    Args:
        model: the randomizer's model.
        ones: bits that are one.
        num_reports: all bits.

    Raises:
        InvalidParameterError: if they are no integers of 0 or more, or more bits are one than there are.
    """

    model: BitSumModel
    ones: int
    num_reports: int

    def __post_init__(self) -> None:
        validate.integer_at_least(0, ones=self.ones, num_reports=self.num_reports)
        if self.ones > self.num_reports:
            raise invalid(f"at most num_reports={self.num_reports}", ones=self.ones)

    def __add__(self, other: "BitCountSummary") -> "BitCountSummary":
        if self.model != other.model:
            raise IncomparableError(f"summaries must be of one model; got {self.model!r} and {other.model!r}.")
        return replace(self, ones=self.ones + other.ones, num_reports=self.num_reports + other.num_reports)


@dataclass(frozen=True, slots=True, kw_only=True)
class BitSumAnalyzer(TotalAnalyzer):
    """Sum or mean of numbers in a range, for randomizers whose bits are counted (`BitSumModel`).

    Guarantees:
        1. Unbiased for the people who came and were honest.
        2. ``standard_error`` holds the coins exactly, and the most that rounding to whole bits can add.
        3. Intervals are those of the normal law with that error, which the binomial law of many coins is close to.
        4. No estimate is clipped: it may lie outside what the range allows. Intervals are around the possible value
           nearest to it, and end where the range does, for sums at so many times its ends as there are people. So they
           cover no less than intervals that are not cut.

    Args:
        statistic: "sum" or "mean".
        level: coverage of the intervals, strictly between 0 and 1.

    Example:
        >>> from shuffledp import CountedBits, UniformShuffler
        >>> randomizer = CountedBits(num_users=500, lower=0, upper=10, value_bits=8, coins=2)
        >>> analyzer = BitSumAnalyzer(statistic="mean")
        >>> view = UniformShuffler().shuffle(randomizer.randomize([2.5] * 400))
        >>> estimate = analyzer.estimate(analyzer.summarize(view))
        >>> bool(abs(estimate.estimate[0] - 2.5) < 1)
        True
    """

    def summarize(self, view: View) -> BitCountSummary:
        """Number of ones in a view.

        Raises:
            UnsupportedModelError: if the reports are not bits that are counted.
        """
        model = view.reports.model
        if not isinstance(model, BitSumModel):
            raise UnsupportedModelError(f"counts need bits; got reports of {model.kind!r}.")
        return BitCountSummary(model=model, ones=int(np.count_nonzero(view.reports["bit"])), num_reports=len(view))

    def estimate(self, summary: BitCountSummary) -> Estimate:
        """Sum or mean over the participants, with standard errors and intervals.

        Raises:
            InvalidParameterError: if ``summary`` is not one of ``summarize`` or holds no report, bits are not equally
                many from everybody, or more people came than were planned.
        """
        validate.instance_of(BitCountSummary, summary=summary)
        model, people = summary.model, people_of(summary.model, summary.num_reports)
        unit = self.unit(people)
        return Estimate(
            statistic=self.statistic,
            target=("value",),
            estimate=np.array([model.sum_of(summary.ones, people) / unit]),
            standard_error=np.array([model.sum_variance(people) ** 0.5 / unit]),
            possible=self.possible(model, people),
            level=self.level,
            num_reports=summary.num_reports,
        )
