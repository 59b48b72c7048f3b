"""Dummy counts: how many dummies it takes until everybody holds a given number of reports after a walk.

Where the distribution of every start is too much work, the number N of reports held at a place is first taken as
binomial: all n reports are there with the same probability, their average. Among sums of independent indicators with
probabilities p_1, p_2, ... of average p, replacing two of these by their average raises the mean of a convex function
whose second differences are at most 1, by at most a quarter of their squared distance (Hoeffding). So the binomial
distribution overestimates the shortfall at a place, max(0, B - N), by at most half the sum of (p_j - p)^2. Over all
places of a connected undirected graph this is at most

    (1 - gap)^2t / (2 min pi),

which vanishes once walks have mixed. After few rounds it is large, since people hold reports of few others; then walks
are simulated, which takes no data.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.table import Floats
from shuffledp.laws.expected_loads import expected_held
from shuffledp.laws.walk_distributions import graphs_of_rounds, one_round, transitions
from shuffledp.laws.walk_sampling import sample_walks
from shuffledp.people.graphs import Graph, certain_gap
from shuffledp.randomness.replayable import SeededSource

_NEGLIGIBLE = 1e-12  # of a sum of squares
_SLIGHT = 0.02  # of the root of the mean excess: accepted error of the binomial law
_STEPS = 20_000_000  # of simulated walks: some tenths of a second
_FEWEST, _MOST = 2, 100  # simulations


class Shortfalls(NamedTuple):
    """Moments of the shortfall L = max(0, submissions - N) of each place that holds N reports."""

    mean: Floats  # of L
    variance: Floats  # of L
    chance: Floats  # that L > 0, so that one more report lowers it
    squares: Floats  # sum of squared chances of all reports


class _Simulated(NamedTuple):
    """Shortfall over all places in simulated walks."""

    mean: float
    deviation: float  # of one simulation
    number: int


@dataclass(frozen=True, kw_only=True, eq=False)
class DummyCount:
    """Mean and standard deviation of the number of dummies, over all places; computed when asked for.

    Args:
        graph: one graph, or one for each round.
        num_rounds: 0 or more.
        laziness: from 0 to 1.
        dropout: from 0 to 1.
        submissions: number of reports that everybody is to hold.
        counted: shortfalls by the distributions of every start, if these were computed; None takes binomial ones, or
            simulates walks where these are off.
    """

    graph: Graph | Sequence[Graph]
    num_rounds: int
    laziness: float
    dropout: float
    submissions: int
    counted: Shortfalls | None

    @cached_property
    def _shortfalls(self) -> Shortfalls:
        if self.counted is not None:
            return self.counted
        load, few = self._load, self._few
        people = load.size
        short = np.array([_binomial(people, load[few] / people, held) for held in range(self.submissions)])
        return shortfalls(self.submissions, load, load**2 / people, few, short)

    @property
    def _load(self) -> Floats:
        return expected_held(self.graph, self.num_rounds, laziness=self.laziness, dropout=self.dropout)

    @cached_property
    def _few(self) -> NDArray[np.intp]:
        """Places that may hold ``submissions`` reports or more."""
        return np.flatnonzero(~surely_below(self._load, self.submissions))

    @cached_property
    def mean(self) -> float:
        """The expected number."""
        return float(self._shortfalls.mean.sum()) if self._simulated is None else self._simulated.mean

    @cached_property
    def error(self) -> float:
        """The standard deviation; where walks were simulated, with the error of the mean.

        It is at least that of the binomial distribution, mostly an overestimate, since a few simulations may show too
        little.
        """
        if self._simulated is None:
            return self._by_law
        spread = max(self._by_law, self._simulated.deviation)
        return spread * math.sqrt(1 + 1 / self._simulated.number)

    @cached_property
    def _simulated(self) -> "_Simulated | None":
        """Shortfall in simulated walks, equal on every machine; None where they are not needed.

        Simulations count the excess, the reports that people hold too many: the rest of the shortfall is known exactly.
        """
        least = self._people * (self.submissions - (1 - self.dropout) ** self.num_rounds)
        too_many = max(0.0, float(self._shortfalls.mean.sum()) - least)
        if self.counted is not None or not self._few.size or self._off <= _SLIGHT * math.sqrt(too_many):
            return None
        count = min(max(_STEPS // (self._people * self.num_rounds), _FEWEST), _MOST)
        excess, lacking = np.zeros((2, count))
        for number in range(count):
            walks = sample_walks(
                self.graph,
                self.num_rounds,
                laziness=self.laziness,
                dropout=self.dropout,
                source=SeededSource(0).substream("lacking", number),
            )
            held = np.bincount(walks.positions[walks.positions >= 0], minlength=self._people)
            excess[number] = np.maximum(held - self.submissions, 0).sum()
            lacking[number] = np.maximum(self.submissions - held, 0).sum()
        return _Simulated(least + float(excess.mean()), float(lacking.std(ddof=1)), count)

    @property
    def _off(self) -> float:
        """Bound on the overestimate of the mean by the binomial distribution; infinite where not known."""
        if not (isinstance(self.graph, Graph) and self.graph.is_connected):
            return math.inf
        kept = (1 - certain_gap(self.graph, self.laziness)) ** (2 * self.num_rounds)
        return kept * (1 - self.dropout) ** (2 * self.num_rounds) / (2 * float(self.graph.stationary.min()))

    @property
    def _people(self) -> int:
        return self.graph.num_users if isinstance(self.graph, Graph) else self.graph[0].num_users

    @cached_property
    def _by_law(self) -> float:
        """Standard deviation by the distributions of all starts, or by the binomial one.

        Numbers at different places are correlated, since a report is in one place: to first order in the
        probabilities, Cov[f(N_i), f(N_k)] = -sum_j P_j(i) P_j(k) g_i g_k, where g_i is the probability that place i
        has a shortfall.
        """
        found = self._shortfalls
        variance = found.variance.sum() - self._sum_of_squares(found.chance) + found.chance**2 @ found.squares
        return math.sqrt(max(0.0, float(variance)))

    def _sum_of_squares(self, weights: Floats) -> float:
        """The sum over starts j of f_j^2, where f_j is the sum over places i of P_j(i) w_i."""
        survival = (1 - self.dropout) ** self.num_rounds
        if self.counted is None and isinstance(self.graph, Graph) and self.graph.is_connected:
            mixed = self._mixed_squares(self.graph, weights, survival)
            if mixed is not None:
                return mixed
        found = weights
        for matrix in transitions(graphs_of_rounds(self.graph, self.num_rounds)[::-1]):
            found = one_round(matrix.T, found, self.laziness)
        return float(found @ found) * survival**2

    def _mixed_squares(self, graph: Graph, weights: Floats, survival: float) -> float | None:
        """Lower bound on the sum of squares, as good as exact where walks have mixed well; else None.

        Let m be the mean of w in the stationary law, and e_j = f_j - m. If nothing is lost, the sum of f_j^2 is

            2 m sum_j f_j - n m^2 + sum_j e_j^2,

        where sum_j f_j is w times what is expected at each place, and the last sum is at most (1 - gap)^2t / min pi
        times the variance of w in the stationary law.
        """
        pi = graph.stationary
        mean = float(pi @ weights) * survival
        kept = (1 - certain_gap(graph, self.laziness)) ** self.num_rounds
        beyond = kept**2 * float(pi @ (weights * survival - mean) ** 2) / float(pi.min())
        load = expected_held(graph, self.num_rounds, laziness=self.laziness, dropout=self.dropout)
        found = 2 * mean * float(weights @ load) - graph.num_users * mean**2
        return found if beyond <= _NEGLIGIBLE * found else None


def surely_below(load: Floats, submissions: int) -> NDArray[np.bool_]:
    """Mask of places that hold ``submissions`` or more with probability at most e^-50.

    A sum of independent indicators of mean m reaches B > m with probability at most exp(B - m) (m / B)^B (Chernoff).
    """
    with np.errstate(divide="ignore"):
        bound = submissions - load + submissions * np.log(load / submissions)
    surely: NDArray[np.bool_] = (load < submissions) & (bound <= -50)
    return surely


def shortfalls(submissions: int, load: Floats, squares: Floats, few: NDArray[np.intp], short: Floats) -> Shortfalls:
    """Moments of max(0, B - N) by place: of B - N where N surely stays below B, else by the distribution of N.

    Args:
        submissions: the number B.
        load: means of N, by place.
        squares: sums of squared probabilities.
        few: places where N may reach B.
        short: distribution of N there, below B, shape (submissions, few).
    """
    mean, variance, chance = submissions - load, load - squares, np.ones(load.size)
    lacking = submissions - np.arange(submissions)
    mean[few] = lacking @ short
    variance[few] = lacking**2 @ short - mean[few] ** 2
    chance[few] = short.sum(axis=0)
    return Shortfalls(mean, variance, chance, squares)


def _binomial(trials: int, chances: Floats, count: int) -> Floats:
    logs = math.lgamma(trials + 1) - math.lgamma(count + 1) - math.lgamma(trials - count + 1)
    chances = np.minimum(chances, 1 - 1e-16)
    with np.errstate(divide="ignore"):
        found: Floats = np.exp(logs + (count * np.log(chances) if count else 0) + (trials - count) * np.log1p(-chances))
    return found
