"""Exact intervals of frequencies from few reports, by inversion of an exact test.

The counts of few reports are not normal.

And those that hold for all rows of an estimate together.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.estimates import SHARES, Estimate
from shuffledp.core.local_models import FrequencyModel, LocalModel
from shuffledp.core.table import Floats

_MOST_REPORTS = 10_000  # beyond, the time to invert the test is felt
ALMOST_NORMAL = 25.0  # variance of a count from which its normal intervals cover as they should
_WHOLE = 1e-6  # so near to a whole number are counts that floats were made of
_SPREADS, _FURTHER = 7.0, 12  # half a window of a binomial law, in standard deviations, and some more places

Integers = NDArray[np.int64]


def needs_exact(num_reports: int, p: float, q: float) -> bool:
    """Whether the exact test is affordable and needed, as normal intervals may cover too little.

    They may for some shares, if the number of reports is small for the variance of a report.
    """
    return num_reports <= _MOST_REPORTS and num_reports * min(p * (1 - p), q * (1 - q)) < ALMOST_NORMAL


def holders_between(counts: Integers, num_reports: int, p: float, q: float, level: float) -> tuple[Integers, Integers]:
    """Smallest and largest plausible number of holders of each value, from counts of supporting reports.

    With m holders among n people, a count is C ~ Bin(m, p) + Bin(n - m, q), which grows with m. The ends are the least
    m with Pr[C >= c] > (1 - level) / 2, and the largest m with Pr[C <= c] > (1 - level) / 2.

    Guarantees:
        1. Whatever m is, the interval holds it with probability ``level`` or more; where no m makes the count likely
           enough it is 0 to n.

    Args:
        counts: reports that support each value, shape (k,).
        num_reports: n, reports in all, one from each person.
        p: the probability that a holder's report supports the value.
        q: the probability that another's does, below p.
        level: strictly between 0 and 1.

    References:
        Clopper and Pearson 1934, for one binomial law.
    """
    distinct, place = np.unique(counts, return_inverse=True)
    tail = (1 - level) / 2

    def reaches(holders: Integers, first: Integers) -> Floats:
        return _tail(holders, first, num_reports, p, q)

    lowest = _first(lambda holders: reaches(holders, distinct) > tail, num_reports, len(distinct))
    beyond = _first(lambda holders: 1 - reaches(holders, distinct + 1) <= tail, num_reports, len(distinct))
    highest = beyond - 1
    unlikely = (lowest > num_reports) | (highest < 0) | (lowest > highest)
    lowest, highest = np.where(unlikely, 0, lowest), np.where(unlikely, num_reports, highest)
    return lowest[place], highest[place]


def chances_between(counts: Integers, num_reports: int | Integers, level: float) -> tuple[Floats, Floats]:
    """Ends of intervals for the chance of support of each value, from its count; shape (k,) each.

    They are about a population that all people are drawn from.

    References:
        Clopper and Pearson 1934.
    """
    from scipy.special import betaincinv

    tail, others = (1 - level) / 2, num_reports - counts
    low = np.where(counts > 0, betaincinv(np.maximum(counts, 1), others + 1, tail), 0.0)
    high = np.where(others > 0, betaincinv(counts + 1, np.maximum(others, 1), 1 - tail), 1.0)
    return low, high


def shares_between(
    counts: Integers, num_reports: int | Integers, chances: tuple[float, float], level: float
) -> tuple[Floats, Floats]:
    """Ends of intervals for shares of a population, from counts of supporting reports; shape (k,) each.

    Reports support a value with the first chance where it is held, and with the second where not.
    """
    p, q = chances
    low, high = (np.clip((end - q) / (p - q), *SHARES) for end in chances_between(counts, num_reports, level))
    return low, high


def reaches_for_population(
    estimate: Estimate, num_reports: int, chances: tuple[float, float], level: float
) -> tuple[Floats, Floats, Floats]:
    """Nearest possible population shares, and reach of exact intervals below and above; shape (k,) each.

    Args:
        estimate: of the shares that each ``num_reports`` reports tell of.
        num_reports: reports about each value.
        chances: as of `shares_between`.
        level: coverage, strictly between 0 and 1.
    """
    p, q = chances
    counts = np.rint((estimate.estimate * (p - q) + q) * num_reports).astype(np.int64)
    low, high = shares_between(counts, num_reports, chances, level)
    return estimate.nearest, np.maximum(estimate.nearest - low, 0.0), np.maximum(high - estimate.nearest, 0.0)


def simultaneous(estimate: Estimate, model: LocalModel | None = None) -> Estimate | None:
    """Copy of an estimate with wider intervals, which hold all together (Bonferroni).

    They hold together with at least the probability with which each interval of the given estimate holds. Whatever rows
    the estimates choose, such as the largest, their intervals then hold with that probability.

    Args:
        estimate: of frequencies, or with normal intervals.
        model: of the reports that it is from; without it only normal intervals are widened.

    Returns:
        The estimate, whose ``level`` is that of each interval; None where intervals of another level are not known.
    """
    level = 1 - (1 - estimate.level) / len(estimate.target)
    if estimate.interval is None:
        return None if estimate.half_width is not None else cast(Estimate, replace(cast(Any, estimate), level=level))
    derived = bool(estimate.derived) or estimate.statistic != "frequency"
    if derived or not isinstance(model, FrequencyModel):
        return None
    total, p, q = estimate.num_reports, model.p, model.q
    supports = (estimate.estimate * (p - q) + q) * total
    counts = np.rint(supports).astype(np.int64)
    if not needs_exact(total, p, q) or np.abs(supports - counts).max() > _WHOLE:
        return None
    low, high = holders_between(counts, total, p, q, level)
    ends = np.minimum(low / total, estimate.nearest), np.maximum(high / total, estimate.nearest)
    return replace(estimate, interval=np.stack(ends, axis=1), level=level)


def _first(holds: Callable[[Integers], NDArray[np.bool_]], most: int, rows: int) -> Integers:
    """Smallest number up to ``most`` from which the condition holds, for each row.

    It is ``most`` + 1 where there is none. It is found by bisection from 0 on.
    """
    low, high = np.zeros(rows, dtype=np.int64), np.full(rows, most + 1, dtype=np.int64)
    while (low < high).any():
        middle = (low + high) // 2
        found = holds(np.minimum(middle, most)) | (middle > most)
        low, high = np.where(found | (low >= high), low, middle + 1), np.where(found & (low < high), middle, high)
    return low


def _tail(holders: Integers, first: Integers, num_reports: int, p: float, q: float) -> Floats:
    """Probability Pr[Bin(m, p) + Bin(n - m, q) >= c] for each row.

    Negligible values of the first law are left out.
    """
    from scipy.special import gammaln, xlog1py, xlogy

    spread = _SPREADS * np.sqrt(holders * p * (1 - p)) + _FURTHER
    start = np.maximum(np.floor(holders * p - spread), 0).astype(np.int64)
    own = start[:, None] + np.arange(int(2 * spread.max()) + 2)
    m, inside = holders[:, None], own <= holders[:, None]
    own = np.minimum(own, m)
    logs = gammaln(m + 1) - gammaln(own + 1) - gammaln(m - own + 1) + xlogy(own, p) + xlog1py(m - own, -p)
    return np.asarray((np.exp(logs) * inside * _at_least(num_reports - m, first[:, None] - own, q)).sum(axis=1))


def _at_least(trials: Integers, successes: Integers, chance: float) -> Floats:
    """Probability Pr[Bin(trials, chance) >= successes], for each element."""
    from scipy.special import betainc

    possible = np.clip(successes, 1, np.maximum(trials, 1))
    found = betainc(possible, np.maximum(trials - possible + 1, 1), chance)
    return np.where(successes <= 0, 1.0, np.where(successes > trials, 0.0, found))
