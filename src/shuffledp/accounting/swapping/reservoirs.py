"""Reservoir of report draws: the number of donors who draw, and bounds on a majorant's mean.

K ~ Bin(donors, W) of the donors draw from the reservoir; with the victim's own, theta is the mean of K + 1 independent
densities r of mean 1. The mean of a convex m(theta) given K falls with K, so counts may be moved down to low ends of
blocks: with k_0 < k_1 < ..., v_i the mean given K = k_i and F_i >= Pr[K < k_i],

    Pr[K < k_0] + E[m; K >= k_0] <= F_0 + v_last + sum_{i > 0} F_i (v_{i-1} - v_i),

in which every F enters with a sign that makes more of it larger.
"""

import math
from dataclasses import dataclass

import numpy as np

from shuffledp.accounting.evaluators.binomial import log_probability, tail_ratio
from shuffledp.accounting.swapping.majorants import Majorant
from shuffledp.accounting.swapping.tilted_integrals import exp_excess
from shuffledp.core.table import Floats

_FAR = np.array([64.0, 32.0, 16.0, 8.0, 4.0, 0.0])
_SCORES = np.concatenate([np.linspace(-8, -3.6, 12), np.linspace(-3.4, 3, 24)])
_ROUND_UP = 1 + 1e-6
_LARGEST = 1e200


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reservoir:
    """Reservoir from which each donor draws with a given chance.

    With the densities of draws (mean 1) and their masses.
    """

    donors: int
    chance: float
    densities: Floats
    masses: Floats

    @property
    def likely(self) -> float:
        """Likely number of draws: a little below the mean."""
        return max(math.floor(self.donors * self.chance - math.sqrt(self.donors)), 0.0)

    @property
    def counts(self) -> Floats:
        """First number of draws in each block, ascending."""
        mean = self.donors * self.chance
        deviation = math.sqrt(mean * max(1 - self.chance, 0.0))
        ends = np.concatenate([mean - 8 * deviation - _FAR, mean + _SCORES * deviation])
        return np.unique(np.clip(np.floor(ends), 0, self.donors))

    def log_moments(self, exponents: Floats, counts: Floats) -> Floats:
        """Log of E exp(q theta) for each number of draws and each exponent q.

        The shape is (counts, exponents).
        """
        draws = counts[:, np.newaxis] + 1
        powers = np.multiply.outer(exponents / draws, self.densities - 1)
        return np.asarray(exponents + draws * np.log1p(exp_excess(powers) @ self.masses))

    def chances_below(self, counts: Floats) -> Floats:
        """Upper bounds on Pr[K < count] for each count."""
        if self.chance >= 1:
            return np.where(counts > self.donors, 1.0, 0.0)
        trials, odds = self.donors, self.chance / (1 - self.chance)
        found = np.ones(len(counts))
        low = counts <= trials * self.chance
        below, above = counts[low], counts[~low]
        ratio = tail_ratio(trials - below, trials, 1 / odds)
        found[low] = np.where(below > 0, np.exp(log_probability(below, trials, self.chance)) * ratio, 0.0)
        upper = np.exp(log_probability(above, trials, self.chance)) * (1 + tail_ratio(above, trials, odds))
        found[~low] = 1 - upper * (1 - 1e-9)
        return np.minimum(found * _ROUND_UP, 1.0)

    def totals(self, terms: list[tuple[Majorant, "Reservoir"]]) -> Floats:
        """Totals Pr[K < k_0] + E[m; K >= k_0] for each k_0, for the worst majorant m.

        Args:
            terms: majorants, each with the reservoir measured against its people's law.
        """
        counts = self.counts
        below = self.chances_below(counts)
        worst = np.zeros(len(counts))
        for each, seen in terms:
            with np.errstate(over="ignore"):
                means = np.exp(each.log_mean(seen.log_moments(each.exponents, counts)))
            means = np.minimum.accumulate(np.minimum(means, _LARGEST))
            falls = np.append(below[1:] * (means[:-1] - means[1:]), 0.0)
            worst = np.maximum(worst, means[-1] + np.cumsum(falls[::-1])[::-1])
        return below + worst
