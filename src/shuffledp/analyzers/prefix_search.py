"""Search for the words that many people wrote, level by level, in reports on masked prefixes.

At each level every prefix that is alive is extended by every chunk, and kept if as many reports support it as hardly
ever support any one that nobody holds. Plans state chances of the same rule.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.prefix_models import PrefixModel
from shuffledp.core.validate import integer_at_least, open_probability

MOST_ALIVE = 2000
_GUARD = 1 + 1e-9  # of a tail that floating point may understate


def threshold(num_reports: int, hash_range: int, candidates: float, alpha: float) -> int:
    """Smallest number of supporting reports with which a prefix is kept.

    Any false prefix reaches it with chance ``alpha`` at most.

    It is the least T with m Pr[Bin(n, 1/g) >= T] <= alpha, of m candidates.

    Args:
        num_reports: reports n of the level.
        hash_range: values g of a report.
        candidates: prefixes alive, times g.
        alpha: chance of any false prefix at this level, strictly between 0 and 1.

    Example:
        >>> threshold(1000, 1024, 30 * 1024, 0.05 / 8)
        10
    """
    integer_at_least(0, num_reports=num_reports)
    open_probability(alpha=alpha)
    low, high = 1, num_reports + 1  # more than all reports have a chance of 0
    while low < high:
        middle = (low + high) // 2
        if candidates * _at_least(num_reports, middle, 1 / hash_range) * _GUARD <= alpha:
            high = middle
        else:
            low = middle + 1
    return low


def _at_least(trials: int, successes: int, chance: float) -> float:
    """Probability Pr[Bin(trials, chance) >= successes]."""
    from scipy.special import betainc

    if successes <= 0:
        return 1.0
    return 0.0 if successes > trials else float(betainc(successes, trials - successes + 1, chance))


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Result of a search: the codes found, and the reports needed for a prefix at each level.

    Args:
        codes: in chunks joined to one number each, ascending.
        thresholds: of each level that was reached.
        cut: prefixes dropped because too many were alive.
    """

    codes: tuple[int, ...]
    thresholds: tuple[int, ...]
    cut: int


def search(model: PrefixModel, columns: Mapping[str, NDArray[Any]], *, alpha: float) -> Search:
    """Result of a search for codes with many supporting reports at every prefix.

    Guarantees:
        1. With chance 1 - ``alpha`` or more no prefix is kept that nobody holds, whatever people wrote: a report
           supports one that its sender does not hold with probability 1/g at most, by pairwise independence of the
           hashes, and reports are independent.
        2. Reports of the part for estimates are not looked at.
        3. At most 2,000 prefixes are kept at a level, those with the most reports.

    Args:
        model: of the reports.
        columns: of all reports.
        alpha: chance of any false prefix at any level, strictly between 0 and 1.
    """
    open_probability(alpha=alpha)
    size, bits = model.hash_range, model.prefix_bits
    alive, thresholds, cut = [0], list[int](), 0
    for level in range(model.num_levels):
        reports = int(np.count_nonzero(columns["part"] == level))
        least = threshold(reports, size, size * len(alive), alpha / model.num_levels)
        thresholds.append(least)
        prepared, prefixes, counts = model.prepared(columns, level), list[int](), list[int]()
        for prefix in alive:
            found = model.extension_counts(prepared, prefix)
            kept = np.flatnonzero(found >= least)
            prefixes.extend(prefix << bits | int(each) for each in kept)
            counts.extend(found[kept].tolist())
        if len(prefixes) > MOST_ALIVE:
            cut += len(prefixes) - MOST_ALIVE
            largest = np.argsort(counts, kind="stable")[::-1][:MOST_ALIVE]
            prefixes = [prefixes[place] for place in largest]
        alive = prefixes
        if not alive:
            break
    return Search(codes=tuple(sorted(alive)), thresholds=tuple(thresholds), cut=cut)
