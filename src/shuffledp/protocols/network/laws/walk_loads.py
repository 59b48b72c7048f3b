"""Loads of walks: reports that people hold and pass on, and the dummies needed.

**Expected loads.** The expected number at i after t rounds is n_i pi_i (1 + h_t(i)), for the n_i people and the
stationary law of i's part. On an undirected graph h_(t+1) is the average of h_t over where a report may go, so that the
largest |h| never grows: once it is below a tolerance, it stays there, and no further round need be walked.

**Dummies** fill up what people lack of a given number of reports. Where the distribution of every start is too much
work, the number N of reports held at a place is first taken as binomial: all n reports are there with the same
probability, their average. Among sums of independent indicators with probabilities p_1, p_2, ... of average p,
replacing two of these by their average raises the mean of a convex function whose second differences are at most 1, by
at most a quarter of their squared distance (Hoeffding). So the binomial distribution overestimates the shortfall at a
place, max(0, B - N), by at most half the sum of (p_j - p)^2: over all places of a connected undirected graph by at most
(1 - gap)^2t / (2 min pi), which vanishes once walks have mixed. Before, walks are simulated, which takes no data.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.caching import WeakCache
from shuffledp.core.table import Floats
from shuffledp.people.graphs import Graph, certain_gap
from shuffledp.protocols.network.laws.overlay_loads import loads_held, loads_passed
from shuffledp.protocols.network.laws.walk_distributions import (
    Ways,
    graphs_of_rounds,
    one_round,
    people_of,
    transitions,
)
from shuffledp.protocols.network.laws.walk_sampling import sample_walks
from shuffledp.protocols.network.people.overlays import Overlay
from shuffledp.randomness.replayable import SeededSource

_SETTLED = 1e-12  # of what is expected somewhere
_CHECK_EVERY = 64  # rounds
_MOST_GRAPHS = 8  # and chances of staying and of being lost
_MOST_STOPS, _FEWEST_STOPS, _STOPS_BYTES = 8, 2, 1 << 26  # for each of them

_NEGLIGIBLE = 1e-12  # of a sum of squares
_SLIGHT = 0.02  # of the root of the mean excess: accepted error of the binomial law
_TINY = 1e-300
_STEPS = 20_000_000  # of simulated walks: some tenths of a second
_FEWEST, _MOST = 2, 100  # simulations


class _SettledLoads(NamedTuple):
    """Loads after a number of rounds: reports held, their sum over rounds, and whether they have settled."""

    rounds: int
    held: Floats  # if none were lost
    passed: Floats  # sum over rounds of what was held before them, losses counted
    settled: bool = False


_STOPS: WeakCache[tuple[_SettledLoads, ...]] = WeakCache(_MOST_GRAPHS)


def expected_messages(
    graph: Ways, num_rounds: int, *, laziness: float = 0.0, dropout: float = 0.0, offline: float = 0.0
) -> Floats:
    """Expected number of reports that each person passes on, if each starts with one report.

    Rounds of one graph are walked once: later calls, for the same and for more rounds, begin where earlier ones ended.

    Guarantees:
        1. Exact up to the rounding of floats, of about 1e-16 of each number a round; or, once 64 rounds or more bring
           everything within 1e-12 of its limit, up to that.

    The arguments are those of `position_distribution`, and ``offline``, from 0 to 1: the chance that a person neither
    passes on nor gets reports in a round. On an overlay, where next holders are drawn among those who are online, it is
    at most, or about, that many.
    """
    validate.probability(laziness=laziness, dropout=dropout, offline=offline)
    meeting = 1 - offline if isinstance(graph, Overlay) else (1 - offline) ** 2
    staying = 1 - (1 - laziness) * meeting
    graphs = graphs_of_rounds(graph, num_rounds)
    if isinstance(graph, Graph):
        passed = _after(graph, num_rounds, staying, dropout).passed
        return passed * ((1 - dropout) * (1 - staying)) * (graph.degrees > 0)
    if isinstance(graph, Overlay) and not staying:
        return loads_passed(graph, num_rounds, dropout=dropout)
    held = np.ones(people_of(graph))
    sent = np.zeros_like(held)
    for matrix in transitions(graphs):
        sent += held * ((1 - dropout) * (1 - staying)) * (1 - matrix.diagonal())
        held = one_round(matrix, held, staying) * (1 - dropout)
    return sent


def expected_held(graph: Ways, num_rounds: int, *, laziness: float = 0.0, dropout: float = 0.0) -> Floats:
    """Expected number of reports that each person holds at the end, if each starts with one report.

    The arguments and the guarantee are those of `expected_messages`.
    """
    validate.probability(laziness=laziness, dropout=dropout)
    graphs = graphs_of_rounds(graph, num_rounds)
    if isinstance(graph, Graph):
        held = _after(graph, num_rounds, laziness, dropout).held
    elif isinstance(graph, Overlay) and not laziness:
        held = loads_held(graph, num_rounds)
    else:
        held = np.ones(people_of(graph))
        for matrix in transitions(graphs):
            held = one_round(matrix, held, laziness)
    return held * (1 - dropout) ** num_rounds


def _after(graph: Graph, num_rounds: int, staying: float, dropout: float) -> _SettledLoads:
    """Loads at this round, computed from the last stored round.

    The result does not depend on which round that is.
    """
    key = (float(staying), float(dropout))
    stops = _STOPS.get((graph,), key) or ()
    before = max((stop for stop in stops if stop.rounds <= num_rounds), key=lambda stop: stop.rounds, default=None)
    if before is None:
        start = np.ones(graph.num_users)
        before = _SettledLoads(0, start, np.zeros_like(start))
    found = before
    if before.rounds < num_rounds and not before.settled:
        found = _walked_on(graph, before, num_rounds, staying, dropout)
    room = min(_MOST_STOPS, max(_FEWEST_STOPS, _STOPS_BYTES // (16 * max(graph.num_users, 1))))
    others = [stop for stop in stops if stop.rounds not in (found.rounds, before.rounds)]
    again = (before,) if 0 < before.rounds < found.rounds else ()
    _STOPS.put((graph,), (found, *again, *others)[:room], key)
    return _further(found, num_rounds - found.rounds, dropout)


def _walked_on(graph: Graph, before: _SettledLoads, num_rounds: int, staying: float, dropout: float) -> _SettledLoads:
    """Loads at this round, or at the round from which all loads have settled."""
    matrix, limit = next(transitions((graph,))), _limit(graph)
    held, passed = before.held, before.passed.copy()
    for done in range(before.rounds, num_rounds):
        if done and done % _CHECK_EVERY == 0 and np.abs(held / limit - 1).max(initial=0.0) <= _SETTLED:
            return _SettledLoads(done, limit, passed, settled=True)
        passed += held * (1 - dropout) ** done if dropout else held
        held = one_round(matrix, held, staying)
    return _SettledLoads(num_rounds, held, passed)


def _limit(graph: Graph) -> Floats:
    """Stationary loads: reports of each part, shared among its people by degree."""
    parts = graph.components
    edges = np.bincount(parts, weights=graph.degrees)[parts]
    people = np.bincount(parts)[parts]
    return np.where(edges > 0, graph.degrees * (people / np.maximum(edges, 1)), 1.0)


def _further(stop: _SettledLoads, num_rounds: int, dropout: float) -> _SettledLoads:
    """Loads ``num_rounds`` rounds later than at ``stop``, if reports held are constant from there on."""
    if not num_rounds:
        return stop
    rounds = float(num_rounds)
    if dropout:  # they count less and less
        lost = math.expm1(num_rounds * math.log1p(-dropout)) if dropout < 1 else -1.0
        rounds = (1 - dropout) ** stop.rounds * -lost / dropout
    return stop._replace(rounds=stop.rounds + num_rounds, passed=stop.passed + rounds * stop.held)


# ---- dummies ---------------------------------------------------------------------------------------------------------


class Shortfalls(NamedTuple):
    """Moments of the shortfall L = max(0, submissions - N) at each place, with N reports held."""

    mean: Floats  # of L
    variance: Floats  # of L
    chance: Floats  # that L > 0, so that one more report lowers it
    squares: Floats  # sum of squared chances of all reports


class _Simulated(NamedTuple):
    """Total shortfall over all places, in simulated walks."""

    mean: float
    deviation: float  # of one simulation
    number: int


@dataclass(frozen=True, kw_only=True, eq=False)
class DummyCount:
    """Mean and standard deviation of the total number of dummies, computed at first use.

    Everybody is to hold ``submissions`` reports. ``counted`` are shortfalls by the distributions of every start, if
    these were computed; None takes binomial ones, or simulates walks where these are off.
    """

    graph: Ways
    num_rounds: int
    laziness: float
    dropout: float
    submissions: int
    counted: Shortfalls | None

    @cached_property
    def _shortfalls(self) -> Shortfalls:
        if self.counted is not None:
            return self.counted
        load, few, people = self._load, self._few, people_of(self.graph)
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
        """Expected number of dummies."""
        return float(self._shortfalls.mean.sum()) if self._simulated is None else self._simulated.mean

    @cached_property
    def error(self) -> float:
        """Standard deviation of the number of dummies, with the error of a simulated mean added.

        It is at least that of the binomial law, mostly an overestimate: a few simulations may show too little.
        """
        if self._simulated is None:
            return self._by_law
        spread = max(self._by_law, self._simulated.deviation)
        return spread * math.sqrt(1 + 1 / self._simulated.number)

    @cached_property
    def _simulated(self) -> "_Simulated | None":
        """Shortfall in simulated walks, equal on every machine; None if not needed.

        Simulations count the excess, the reports that people hold too many: the rest of the shortfall is known exactly.
        """
        people = people_of(self.graph)
        least = people * (self.submissions - (1 - self.dropout) ** self.num_rounds)
        too_many = max(0.0, float(self._shortfalls.mean.sum()) - least)
        if self.counted is not None or not self._few.size or self._off <= _SLIGHT * math.sqrt(too_many):
            return None
        count = min(max(_STEPS // (people * self.num_rounds), _FEWEST), _MOST)
        excess, lacking = np.zeros((2, count))
        for number in range(count):
            walks = sample_walks(
                self.graph,
                self.num_rounds,
                laziness=self.laziness,
                dropout=self.dropout,
                source=SeededSource(0).substream("lacking", number),
            )
            held = np.bincount(walks.positions[walks.positions >= 0], minlength=people)
            excess[number] = np.maximum(held - self.submissions, 0).sum()
            lacking[number] = np.maximum(self.submissions - held, 0).sum()
        return _Simulated(least + float(excess.mean()), float(lacking.std(ddof=1)), count)

    @property
    def _off(self) -> float:
        """Bound on the excess of a binomial estimate over the true mean; infinite where unknown."""
        if isinstance(self.graph, Overlay):  # everybody's report is anywhere with the same chance
            return 0.0
        if not (isinstance(self.graph, Graph) and self.graph.is_connected):
            return math.inf
        kept = (1 - certain_gap(self.graph, self.laziness)) ** (2 * self.num_rounds)
        return kept * (1 - self.dropout) ** (2 * self.num_rounds) / (2 * float(self.graph.stationary.min()))

    @cached_property
    def _by_law(self) -> float:
        """Standard deviation of the number of dummies, from the laws of all starts or the binomial law.

        Numbers at different places are correlated, since a report is in one place: to first order in the
        probabilities, Cov[f(N_i), f(N_k)] = -sum_j P_j(i) P_j(k) g_i g_k, where g_i is the probability that place i
        has a shortfall.
        """
        found = self._shortfalls
        variance = found.variance.sum() - self._sum_of_squares(found.chance) + found.chance**2 @ found.squares
        return math.sqrt(max(0.0, float(variance)))

    def _sum_of_squares(self, weights: Floats) -> float:
        """Sum over starts j of f_j^2, with f_j the sum over places i of P_j(i) w_i."""
        survival = (1 - self.dropout) ** self.num_rounds
        if isinstance(self.graph, Overlay):
            return float(weights.sum() * survival) ** 2 / weights.size
        if self.counted is None and isinstance(self.graph, Graph) and self.graph.is_connected:
            mixed = self._mixed_squares(self.graph, weights, survival)
            if mixed is not None:
                return mixed
        found = weights
        for matrix in transitions(graphs_of_rounds(self.graph, self.num_rounds)[::-1]):
            found = one_round(matrix.T, found, self.laziness)
        return float(found @ found) * survival**2

    def _mixed_squares(self, graph: Graph, weights: Floats, survival: float) -> float | None:
        """Lower bound on `_sum_of_squares`, nearly exact, if walks have mixed well; else None.

        With m the mean of w in the stationary law, and e_j = f_j - m, it is 2 m sum_j f_j - n m^2 + sum_j e_j^2 if
        nothing is lost. The first sum is w times what is expected at each place, and the last one at most (1 - gap)^2t
        / min pi times the variance of w in the stationary law.
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
    """Moments of the shortfall max(0, B - N) at each place, with N reports held and B = ``submissions``.

    B - N itself is taken where N surely stays below B; elsewhere the distribution of N is used.

    ``load`` are means of N, and ``squares`` sums of squared probabilities; at the ``few`` places where N may reach B,
    ``short`` has its distribution below B, shape (submissions, few).
    """
    mean, variance, chance = submissions - load, load - squares, np.ones(load.size)
    lacking = submissions - np.arange(submissions)
    mean[few] = lacking @ short
    variance[few] = lacking**2 @ short - mean[few] ** 2
    chance[few] = short.sum(axis=0)
    return Shortfalls(mean, variance, chance, squares)


def chances_of_few(load: Floats, stationary: Floats, squares: float, *, most: int) -> Floats:
    """Upper bounds on the mean chance that a place ends with k reports or fewer, for k below ``most``.

    Each chance is at most the binomial one of the same mean, plus the distance in total variation (Ehm 1991, Theorem
    1), the sum over reports j of (P_j(i) - p)^2 over (n + 1) p (1 - p), where p is their mean at place i; with another
    number in its place the sum is larger. For k = 0 the inequality of the means is enough.

    Args:
        load: expected number of reports at each place.
        stationary: the stationary law pi, above 0.
        squares: at least the sum over j and i of (P_j(i) - pi_i)^2 / pi_i, of what is not lost.
        most: number of values of k.
    """
    people = load.size
    mean, most = load / people, min(most, people)
    off = squares * float((stationary / np.maximum(mean * (1 - mean), _TINY)).max()) / (people + 1) / people
    single = np.array([_binomial(people, mean, count).mean() for count in range(most)])
    return np.asarray(np.minimum(np.cumsum(single) + np.where(np.arange(most) > 0, off, 0.0), 1.0))


def _binomial(trials: int, chances: Floats, count: int) -> Floats:
    logs = math.lgamma(trials + 1) - math.lgamma(count + 1) - math.lgamma(trials - count + 1)
    chances = np.minimum(chances, 1 - 1e-16)
    with np.errstate(divide="ignore"):
        found: Floats = np.exp(logs + (count * np.log(chances) if count else 0) + (trials - count) * np.log1p(-chances))
    return found
