"""Shares of answers from responses under a blanket; the view shows the number of random messages."""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shuffledp.analyzers.exact_intervals import ALMOST_NORMAL
from shuffledp.core import validate
from shuffledp.core.blanket_models import BlanketModel
from shuffledp.core.errors import IncomparableError, UnsupportedModelError
from shuffledp.core.estimates import SHARES, Estimate, normal_half_width
from shuffledp.core.flow import Summary, View
from shuffledp.core.validate import invalid


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlanketSummary(Summary):
    """Counts of the messages with each answer so far.

    Args:
        model: the randomizer's model.
        counts: messages with each answer, shape (domain_size,).
        num_reports: messages seen, the empty ones among them.
    """

    model: BlanketModel
    counts: NDArray[np.int64]
    num_reports: int

    def __post_init__(self) -> None:
        validate.integer_at_least(0, num_reports=self.num_reports)
        if self.counts.shape != (self.model.domain_size,) or (self.counts < 0).any():
            raise invalid(f"{self.model.domain_size} counts of 0 or more", shape_of_counts=self.counts.shape)

    def __add__(self, other: "BlanketSummary") -> "BlanketSummary":
        if not isinstance(other, BlanketSummary) or self.model != other.model:
            raise IncomparableError(f"summaries must be of one model; got {self.model!r} and {other.model!r}.")
        return replace(self, counts=self.counts + other.counts, num_reports=self.num_reports + other.num_reports)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlanketAnalyzer:
    """Shares of answers from responses under a blanket (`BlanketModel`).

    Of n people, C_v messages have the answer v, and T = sum of C less n are of the blanket: the share of v is estimated
    by (C_v / n - q - T / (n k)) / (p - q), and all add up to 1.

    Guarantees:
        1. Unbiased for the shares among the people in the batch, if nobody sends other messages than agreed.
        2. ``standard_error`` is the error from the responses, and from the answers of the T messages, of which T / k
           are v on average; ``sampling_error`` the further error of a random sample of a population.
        3. Intervals are normal ones where counts are nearly normal; else Cantelli's, for the largest variance that any
           answers lead to, which cover with probability ``level`` or more. They end at 0 and 1.

    Args:
        level: coverage of the intervals, strictly between 0 and 1.

    References:
        Cantelli 1928 (the one-sided inequality).

    Example:
        >>> from shuffledp import UniformShuffler
        >>> from shuffledp.randomizers import BlanketedResponse
        >>> randomizer = BlanketedResponse(epsilon0=8.0, domain_size=3, blanket_messages=1.0)
        >>> view = UniformShuffler().shuffle(randomizer.randomize([0] * 700 + [2] * 300))
        >>> analyzer = BlanketAnalyzer()
        >>> estimate = analyzer.estimate(analyzer.summarize(view))
        >>> bool(abs(estimate.estimate[0] - 0.7) < 0.1)
        True
    """

    level: float = 0.95

    def __post_init__(self) -> None:
        validate.open_probability(level=self.level)

    def summarize(self, view: View) -> BlanketSummary:
        """Counts of a view.

        Raises:
            UnsupportedModelError: for other reports, or a shuffle that adds reports or loses some.
        """
        model = view.reports.model
        if not isinstance(model, BlanketModel):
            raise UnsupportedModelError(f"a blanket needs responses under one; got reports of {model.kind!r}.")
        if view.shuffle.dummies is not None or view.shuffle.arrival_share < 1:
            raise UnsupportedModelError("a blanket needs a shuffler that adds no reports and loses none.")
        counts = model.answer_counts(view.reports.columns)
        return BlanketSummary(model=model, counts=counts, num_reports=len(view.reports))

    def estimate(self, summary: BlanketSummary) -> Estimate:
        """Shares with standard errors and intervals; one row per answer, named by its number.

        Raises:
            InvalidParameterError: if ``summary`` is not one of ``summarize``, or holds no report.
        """
        validate.instance_of(BlanketSummary, summary=summary)
        if summary.num_reports == 0:
            raise invalid("a summary of one report or more", num_reports=0)
        model, people = summary.model, summary.num_reports / summary.model.num_messages
        k, p, q = model.domain_size, model.p, model.q
        hiding = max(float(summary.counts.sum()) - people, 0.0)
        shares = (summary.counts / people - q - hiding / (people * k)) / (p - q)
        inside = np.clip(shares, *SHARES)
        of_blanket = hiding / k * (1 - 1 / k)
        counted = people * (inside * p * (1 - p) + (1 - inside) * q * (1 - q)) + of_blanket
        unit = people * (p - q)
        return Estimate(
            statistic="frequency",
            target=tuple(map(str, range(k))),
            estimate=shares,
            standard_error=np.sqrt(counted) / unit,
            sampling_error=np.sqrt(inside * (1 - inside) / people),
            interval=self._wide(inside, people * max(p * (1 - p), q * (1 - q)) + of_blanket, counted, unit),
            possible=SHARES,
            level=self.level,
            num_reports=summary.num_reports,
        )

    def _wide(
        self, nearest: NDArray[np.float64], largest: float, counted: NDArray[np.float64], unit: float
    ) -> NDArray[np.float64] | None:
        """Ends of intervals, shape (answers, 2); None if all counts are nearly normal."""
        if counted.min() >= ALMOST_NORMAL:
            return None
        tail = (1 - self.level) / 2
        half = np.where(
            counted >= ALMOST_NORMAL,
            normal_half_width(self.level) * np.sqrt(counted),
            math.sqrt((1 - tail) / tail * largest),
        )
        return np.clip(np.stack([nearest - half / unit, nearest + half / unit], axis=1), *SHARES)
