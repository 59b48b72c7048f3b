"""Bounds on the position distributions of all reports at once: concentration, near-uniformity, dummies.

Up to a number of steps they come from the distribution of every start; for larger graphs from the spectral gap, which
bounds every distribution less tightly.
"""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from shuffledp.core import validate
from shuffledp.core.table import Floats
from shuffledp.laws.walk_distributions import Graphs, graphs_of_rounds, people_of, position_distributions
from shuffledp.laws.walk_loads import DummyCount, Shortfalls, expected_held, shortfalls, surely_below
from shuffledp.people.graphs import Graph, certain_gap

_MOST_STEPS = 10**10  # people * rounds * entries of the matrix: some five seconds
_MOST_PAIRS = 160  # people for whom likeness is worked out for every pair of them
_SLACK = 1e-15  # of a probability, relative: what rounding may add in one round, for each neighbor
_CLASS = 1.01  # ratio of the largest and the smallest probability of one class
_NEGLIGIBLE = 1e-5  # of 1 / people: smaller probabilities are rounded up to this


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionBounds:
    """Bounds on the position of every report after its walk, whoever sent it.

    Args:
        probabilities: of places, descending: a distribution that majorizes everybody's. The sum of the k largest of
            anybody's probabilities is at most the sum of the k first here.
        counts: number of places with each of them.
        near_uniformity: at least log[P_j(a) P_k(b) / (P_j(b) P_k(a))] for all people j, k and places a, b.
        separation: 1 less the sum over places of the least probability of anybody's report, rounded up: all
            distributions have the rest in common. At most the largest 1 - P_j(i) / pi_i.
        worst_start: the start whose distribution has the largest sum of squares; None where not computed.
        exact: whether the distributions of all starts were computed, so that bounds exceed the truth by rounding only.
        dummy_count: number of dummies where people hold too few reports.
    """

    probabilities: tuple[float, ...]
    counts: tuple[int, ...]
    near_uniformity: float
    separation: float
    worst_start: int | None
    exact: bool
    dummy_count: DummyCount = field(repr=False, compare=False)

    @property
    def dummies(self) -> float:
        """Expected number of dummies; computed at the first call, and kept."""
        return self.dummy_count.mean

    @property
    def dummies_error(self) -> float:
        """Standard deviation of the true number from that one; likewise."""
        return self.dummy_count.error


class _Found(NamedTuple):
    """Bounds on all distributions, before anything is rounded."""

    largest: Floats  # by rank
    least: Floats  # by place
    near_uniformity: float
    worst_start: int | None
    shortfalls: Shortfalls | None  # where distributions were computed


def position_bounds(
    graph: Graphs,
    num_rounds: int,
    *,
    laziness: float = 0.0,
    dropout: float = 0.0,
    submissions: int = 1,
    most_steps: int = _MOST_STEPS,
) -> PositionBounds:
    """Bounds on everybody's position after a walk.

    Args:
        graph: one graph, or one for each round.
        num_rounds: 0 or more.
        laziness: as `position_distribution` takes it.
        dropout: likewise. Concentration and dummies are those of what is not lost, and so is likeness.
        submissions: number of reports that everybody is to hold; dummies make up for missing ones.
        most_steps: people * rounds * (people + 2 edges) up to which the distribution of every start is computed. Above
            it, bounds come from the spectral gap (trivial ones for several graphs), and the number of dummies from a
            binomial law, once walks have mixed, or before from simulated walks, with their error in ``dummies_error``.

    References:
        Liew et al. 2022, whose equation (7) fails on irregular graphs. In its place, with the gap "alpha":
        The distance of P_j(i) from pi_i is at most (1 - alpha)^t sqrt(pi_i / pi_j), as for every reversible walk.

    Example:
        >>> triangle = Graph.from_edges([(0, 1), (1, 2), (2, 0)])
        >>> found = position_bounds(triangle, 1)
        >>> found.counts, found.near_uniformity, round(found.dummies, 6)
        ((2,), inf, 0.75)
    """
    validate.integer_at_least(1, submissions=submissions)
    graphs = graphs_of_rounds(graph, num_rounds)
    people, survival = people_of(graph), (1 - dropout) ** num_rounds
    steps = people * sum(each.neighbors.size + people for each in graphs)
    exact = steps <= most_steps
    if exact:
        found = _of_all_starts(graph, num_rounds, laziness, survival, submissions)
    else:
        found = _of_the_gap(graph, num_rounds, laziness, survival)
    different = {id(each): each for each in (graph if isinstance(graph, Graph) else graph[0], *graphs)}.values()
    slack = _SLACK * (1 + num_rounds) * max(1, int(max(each.degrees.max(initial=0) for each in different)))
    # The most concentrated distribution of this total with no rank above a given one.
    most = found.largest * (1 + slack)
    left = survival * (1 + slack) - np.concatenate([[0.0], np.cumsum(most)[:-1]])
    kept = np.minimum(most, np.maximum(0.0, left))
    probabilities, counts = _classes(kept[kept > 0], people)
    return PositionBounds(
        probabilities=probabilities,
        counts=counts,
        near_uniformity=found.near_uniformity + 4 * slack,
        separation=min(1.0, max(0.0, 1 - float(found.least.sum()) + slack)),
        worst_start=found.worst_start,
        exact=exact,
        dummy_count=DummyCount(
            graph=graph,
            num_rounds=num_rounds,
            laziness=laziness,
            dropout=dropout,
            submissions=submissions,
            counted=found.shortfalls,
        ),
    )


def _of_all_starts(graph: Graphs, num_rounds: int, laziness: float, survival: float, submissions: int) -> _Found:
    people = people_of(graph)
    largest, least, squares = np.zeros(people), np.full(people, np.inf), np.zeros(people)
    load = expected_held(graph, num_rounds, laziness=laziness) * survival
    few = np.flatnonzero(~surely_below(load, submissions))
    short = np.zeros((submissions, few.size))
    short[0] = 1.0
    spread, worst, worst_sum, rows = 0.0, 0, -1.0, []
    for starts, laws in position_distributions(graph, num_rounds, laziness=laziness):
        np.maximum(largest, np.sort(laws, axis=1)[:, ::-1].max(axis=0) * survival, out=largest)
        np.minimum(least, laws.min(axis=0), out=least)
        squares += ((laws * survival) ** 2).sum(axis=0)
        sums = (laws**2).sum(axis=1)
        if sums.max() > worst_sum:
            worst, worst_sum = int(starts[sums.argmax()]), float(sums.max())
        spread = max(spread, _spread(laws, graph))
        _count(short, laws[:, few] * survival)
        if people <= _MOST_PAIRS:
            rows.append(laws)
    likeness = _likeness(np.concatenate(rows)) if rows else 2 * spread
    return _Found(largest, least, likeness, worst, shortfalls(submissions, load, squares, few, short))


def _count(short: Floats, laws: Floats) -> None:
    """Add independent reports, one after the other, to the distributions of the numbers that people hold."""
    for law in laws:
        stay = 1 - law
        more = short[:-1] * law
        short *= stay
        short[1:] += more


def _spread(laws: Floats, graph: Graphs) -> float:
    """The largest log-ratio of any law's quotients by one common law: that of the last graph, or any other."""
    common = graph.stationary if isinstance(graph, Graph) else graph[-1].stationary
    if not (laws.min() > 0 and common.min() > 0):
        return math.inf
    quotients = laws / common
    return float(np.log(quotients.max(axis=1) / quotients.min(axis=1)).max())


def _likeness(laws: Floats) -> float:
    """The largest log[P_j(a) P_k(b) / (P_j(b) P_k(a))]; infinite unless all laws have the same places."""
    places = laws[0] > 0
    if ((laws > 0) != places).any():
        return math.inf
    logs = np.log(laws[:, places])
    found = 0.0
    for row in logs:
        differences = logs - row
        found = max(found, float((differences.max(axis=1) - differences.min(axis=1)).max()))
    return found


def _of_the_gap(graph: Graphs, num_rounds: int, laziness: float, survival: float) -> _Found:
    people = people_of(graph)
    if not isinstance(graph, Graph) or not graph.is_connected:
        first = np.zeros(people)
        first[0] = survival
        return _Found(first, np.zeros(people), math.inf, None, None)
    kept = (1 - certain_gap(graph, laziness)) ** num_rounds
    pi = graph.stationary
    rarest = pi.min()
    largest = np.minimum(1.0, pi + kept * np.sqrt(pi / rarest))
    least = np.maximum(0.0, pi - kept * np.sqrt(pi / rarest))
    away = kept / rarest  # |P_j(i) / pi_i - 1|, for all j and i
    likeness = 2 * math.log((1 + away) / (1 - away)) if away < 1 else math.inf
    return _Found(np.sort(largest)[::-1] * survival, least, likeness, None, None)


def _classes(descending: Floats, people: int) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Probabilities rounded up to the largest of their class, and the size of each class; at least one."""
    if not descending.size:  # all is lost
        return (0.0,), (people,)
    values: list[float] = []
    counts: list[int] = []
    least = _NEGLIGIBLE / people
    for value in np.maximum(descending, min(least, descending[0])).tolist():
        if values and value * _CLASS >= values[-1]:
            counts[-1] += 1
        else:
            values.append(min(1.0, value))
            counts.append(1)
    return tuple(values), tuple(counts)
