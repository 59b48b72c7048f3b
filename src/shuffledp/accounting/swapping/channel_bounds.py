"""Swap bound for an explicit channel without zeros, from report laws of all ordered pairs of inputs.

The reservoir is the common part of all inputs, w = min_z R(z) of size W; each person who is no donor may hold any z.
So the worst z counts, with the same choices for all of them.
"""

import math
from dataclasses import dataclass
from functools import partial
from itertools import permutations

import numpy as np

from shuffledp.accounting.numerics import gaussian_epsilon
from shuffledp.accounting.swapping.majorants import Majorant, majorant
from shuffledp.accounting.swapping.report_classes import ROUNDING, ReportClass, merged, one_law
from shuffledp.accounting.swapping.reservoirs import Reservoir
from shuffledp.accounting.swapping.searches import Choices, SearchResult, least_delta, least_epsilon, tilt_at
from shuffledp.accounting.swapping.tilted_integrals import Tilt, cell_bounds
from shuffledp.core.table import Floats

_ROUND_UP = 1 + 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SwapChannel:
    """Channel with positive entries, and the number of people besides the victim.

    Its shape is (inputs, outputs).
    """

    matrix: Floats
    others: int

    @property
    def common(self) -> Floats:
        """Least probability of each output over all inputs."""
        return np.asarray(self.matrix.min(axis=0))

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Ordered pairs of inputs with different rows, most informative first."""
        found = [
            pair
            for pair in permutations(range(len(self.matrix)), 2)
            if (self.matrix[pair[0]] != self.matrix[pair[1]]).any()
        ]
        return sorted(found, key=self._telling, reverse=True)

    def epsilon(self, delta: float, *, limit: float) -> float | None:
        """Epsilon at which every pair's bound is at most delta; None if not found below ``limit``."""
        epsilon, choices = 0.0, None
        for pair in self.pairs:
            bound = partial(self.delta_of, pair)
            if choices is not None:
                borrowed = bound(epsilon, choices)
                if borrowed is not None and borrowed <= delta:
                    continue
            mu = math.sqrt(self._telling(pair) / self.others)
            guess = max(1.02 * gaussian_epsilon(mu, delta), epsilon)
            found = least_epsilon(
                bound, partial(self._start, pair), others=self.others, delta=delta, guess=guess, limit=limit
            )
            if found is None:
                return None
            if found.epsilon >= epsilon:
                epsilon, choices = found.epsilon, found.choices
        return epsilon

    def delta(self, epsilon: float) -> float:
        """Largest bound on delta over all pairs at an epsilon; 1 if the search fails for a pair."""
        worst = 0.0
        for pair in self.pairs:
            found: SearchResult | None = least_delta(
                partial(self.delta_of, pair), epsilon, self._start(pair, epsilon), others=self.others
            )
            worst = max(worst, 1.0 if found is None else found.delta)
            if worst >= 1:
                break
        return worst

    def delta_of(
        self, pair: tuple[int, int], epsilon: float, choices: Choices, *, roughly: bool = False
    ) -> float | None:
        """Bound on delta for one ordered pair of inputs; None if these choices give no bound."""
        del roughly  # W is known here, so that no rough version exists
        donors = round(choices.donors * self.others)
        people = self.others - donors
        if donors < 1 or people < 2:
            return None
        tilt = Tilt(rate=choices.rate, smoothing=choices.smoothing, people=people)
        terms = []
        with np.errstate(over="ignore", under="ignore"):
            for reports, reservoir in self._people(pair, epsilon, donors):
                found = _majorant(reports, reservoir, tilt)
                if found is None:
                    return None
                terms.append((found, reservoir))
            worst = float(terms[0][1].totals(terms).min())
        return min(worst * _ROUND_UP, 1.0) if math.isfinite(worst) else None

    def _people(self, pair: tuple[int, int], epsilon: float, donors: int) -> list[tuple[ReportClass, Reservoir]]:
        """Report law and reservoir of another person, for each input that the person may hold.

        Without inputs that have the same laws as one before.
        """
        first, second = (self.matrix[place] for place in pair)
        size = float(self.common.sum())
        drawn = self.common / size
        found: list[tuple[ReportClass, Reservoir]] = []
        for other in self.matrix:
            reports = one_law(first, second, other, drawn, epsilon)
            densities, masses = merged(other / drawn, drawn)
            reservoir = Reservoir(donors=donors, chance=min(size, 1.0), densities=densities, masses=masses)
            if not any(_alike(reports, reservoir, *each) for each in found):
                found.append((reports, reservoir))
        return found

    def _telling(self, pair: tuple[int, int]) -> float:
        """Largest chi-squared information of a pair of inputs among people who all hold one input."""
        first, second = (self.matrix[place] for place in pair)
        return float(((first - second) ** 2 / self.matrix).sum(axis=1).max())

    def _start(self, pair: tuple[int, int], epsilon: float) -> Choices:
        """Starting choices of a search, taken from the limit of many people."""
        size = float(self.common.sum())
        rate = tilt_at(math.expm1(epsilon), math.sqrt(self._telling(pair) / self.others))
        spread = float((self.matrix**2 / (self.common / size)).sum(axis=1).max()) - 1
        ranges = max(reports.range for reports, _ in self._people(pair, epsilon, 1))
        return Choices(
            rate=rate,
            donors=math.sqrt(max(spread, 1e-12) / (size * self.others)),
            smoothing=0.65 * rate / self.others * ranges,
        )


def _alike(reports: ReportClass, reservoir: Reservoir, other: ReportClass, seen: Reservoir) -> bool:
    """Whether two inputs give equal report laws and reservoirs, up to rounding.

    Inputs of unary encodings, for example, differ in the order of multiplications only.
    """
    pairs = (
        (reports.values, other.values),
        (reports.masses, other.masses),
        (reservoir.densities, seen.densities),
        (reservoir.masses, seen.masses),
    )
    return all(
        one.shape == two.shape and float(np.abs(one - two).max()) <= ROUNDING * float(np.abs(one).max())
        for one, two in pairs
    )


def _majorant(reports: ReportClass, reservoir: Reservoir, tilt: Tilt) -> Majorant | None:
    """Majorant for people with one report law; None if none is found.

    It has a truncation of its own.
    """
    variance = float(reservoir.masses @ (reservoir.densities - 1) ** 2)
    deviation = math.sqrt(variance / (reservoir.donors * reservoir.chance + 1))
    steepness = max(tilt.rate**2 * reports.variance / tilt.people, 1e-6)
    truncation = min(reports.highest, 1 + max(4 * deviation, math.sqrt(24 / steepness)))
    cells = cell_bounds(reports, tilt, deviation=deviation, truncation=truncation, cut=False)
    if cells is None:
        return None
    counts = np.array([reservoir.likely])
    return majorant(reports, tilt.rate, cells, lambda exponents: reservoir.log_moments(exponents, counts)[0])
