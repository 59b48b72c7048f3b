"""How many reports are lacking where everybody is to hold so many: dummies take their places.

Where the law of every start is too much to work out, the number N held at a place is first taken as if all n reports
were there with the same chance, their average: binomial. Of a sum of independent indicators with chances p_1, p_2, ...
of average p, replacing two chances by their average raises the mean of a convex function whose second differences are
at most 1, by at most a quarter of their squared distance (Hoeffding). So what is lacking at a place, max(0, B - N), is
overrated, by at most half the sum of (p_j - p)^2. Over all places of a connected undirected graph this is at most

    (1 - gap)^2t / (2 min pi),

which is nothing once walks have mixed. After few rounds it is a lot, since people hold reports of few others; then
walks are simulated, which takes no data.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.graphs import Graph, certain_gap
from shuffledp.laws.loads import expected_held
from shuffledp.laws.walking import sample_walks
from shuffledp.laws.walks import graphs_of_rounds, one_round, transitions
from shuffledp.testing import SeededSource

__all__ = ["Gaps", "Lacking", "gaps", "surely_below"]

Floats = NDArray[np.float64]

_NEGLIGIBLE = 1e-12  # of a sum of squares
_SLIGHT = 0.02  # of the root of how many are held too many: what the binomial law may be off by
_STEPS = 20_000_000  # of simulated walks: some tenths of a second
_FEWEST, _MOST = 2, 100  # simulations


class Gaps(NamedTuple):
    """By place, where so many reports are to be held and N are: L = max(0, submissions - N) are lacking."""

    mean: Floats  # of L
    variance: Floats  # of L
    chance: Floats  # that L > 0, so that one more report fills a gap
    squares: Floats  # sum of squared chances of all reports


class _Simulated(NamedTuple):
    """What simulated walks leave lacking."""

    mean: float
    deviation: float  # of one simulation
    number: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Lacking:
    """How many reports are lacking in all; worked out when it is asked for.

    Args:
        graph: one graph, or one for each round.
        num_rounds: 0 or more.
        laziness: from 0 to 1.
        dropout: from 0 to 1.
        submissions: how many reports everybody is to hold.
        counted: what holds of each place, if the law of every start was worked out; None takes independent positions of
            one law, the average of all, or simulates walks where that is off.
    """

    graph: Graph | Sequence[Graph]
    num_rounds: int
    laziness: float
    dropout: float
    submissions: int
    counted: Gaps | None

    @cached_property
    def _gaps(self) -> Gaps:
        if self.counted is not None:
            return self.counted
        load, few = self._load, self._few
        people = load.size
        short = np.array([_binomial(people, load[few] / people, held) for held in range(self.submissions)])
        return gaps(self.submissions, load, load**2 / people, few, short)

    @property
    def _load(self) -> Floats:
        return expected_held(self.graph, self.num_rounds, laziness=self.laziness, dropout=self.dropout)

    @cached_property
    def _few(self) -> NDArray[np.intp]:
        """Places where so many may be held."""
        return np.flatnonzero(~surely_below(self._load, self.submissions))

    @cached_property
    def mean(self) -> float:
        """The expected number."""
        return float(self._gaps.mean.sum()) if self._simulated is None else self._simulated.mean

    @cached_property
    def error(self) -> float:
        """The standard deviation; where walks were simulated, with the error of the mean, and rather too much.

        A few simulations may show too little of it, so that it is no less than by the binomial law, which mostly says
        too much.
        """
        if self._simulated is None:
            return self._by_law
        spread = max(self._by_law, self._simulated.deviation)
        return spread * math.sqrt(1 + 1 / self._simulated.number)

    @cached_property
    def _simulated(self) -> "_Simulated | None":
        """What simulated walks show, the same for everybody; None where they are not needed.

        What is counted is by how many reports people hold too many: the rest of what is lacking is known exactly.
        """
        least = self._people * (self.submissions - (1 - self.dropout) ** self.num_rounds)
        too_many = max(0.0, float(self._gaps.mean.sum()) - least)
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
        """By how much the binomial law may overrate the mean; infinite where that is not known."""
        if not (isinstance(self.graph, Graph) and self.graph.is_connected):
            return math.inf
        kept = (1 - certain_gap(self.graph, self.laziness)) ** (2 * self.num_rounds)
        return kept * (1 - self.dropout) ** (2 * self.num_rounds) / (2 * float(self.graph.stationary.min()))

    @property
    def _people(self) -> int:
        return self.graph.num_users if isinstance(self.graph, Graph) else self.graph[0].num_users

    @cached_property
    def _by_law(self) -> float:
        """The standard deviation by the laws of all starts, or by the binomial law.

        Numbers of different people are not independent, since a report is in one place: by the first order in the
        chances, Cov[f(N_i), f(N_k)] = -sum_j P_j(i) P_j(k) g_i g_k, where g_i is the chance that one more report would
        fill a gap.
        """
        found = self._gaps
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
        """The same, from below, where walks have mixed so well that it is as good as exact; else None.

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
    """Where as many are held with a chance of at most e^-50.

    That a sum of independent indicators of mean m is B or more, above m, has at most the chance exp(B - m) (m / B)^B
    (Chernoff).
    """
    with np.errstate(divide="ignore"):
        bound = submissions - load + submissions * np.log(load / submissions)
    surely: NDArray[np.bool_] = (load < submissions) & (bound <= -50)
    return surely


def gaps(submissions: int, load: Floats, squares: Floats, few: NDArray[np.intp], short: Floats) -> Gaps:
    """Where it is surely below, B - N are lacking, of the mean and variance of N; elsewhere the law of N tells.

    Args:
        submissions: the number B.
        load: means of N, by place.
        squares: sums of squared chances.
        few: places where N may reach B.
        short: the law of N there, below B, shape (submissions, few).
    """
    mean, variance, chance = submissions - load, load - squares, np.ones(load.size)
    lacking = submissions - np.arange(submissions)
    mean[few] = lacking @ short
    variance[few] = lacking**2 @ short - mean[few] ** 2
    chance[few] = short.sum(axis=0)
    return Gaps(mean, variance, chance, squares)


def _binomial(trials: int, chances: Floats, count: int) -> Floats:
    logs = math.lgamma(trials + 1) - math.lgamma(count + 1) - math.lgamma(trials - count + 1)
    chances = np.minimum(chances, 1 - 1e-16)
    with np.errstate(divide="ignore"):
        found: Floats = np.exp(logs + (count * np.log(chances) if count else 0) + (trials - count) * np.log1p(-chances))
    return found
