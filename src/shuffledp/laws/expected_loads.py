"""Expected loads: the expected numbers of reports that people hold and pass on, after any number of rounds.

The expected number at i after t rounds is n_i pi_i (1 + h_t(i)), for the n_i people and the stationary law of i's part.
On an undirected graph h_(t+1) is the average of h_t over where a report may go, so that the largest |h| never grows:
once it is below a tolerance, it stays there, and no further round need be walked.
"""

import math
from typing import NamedTuple

import numpy as np

from shuffledp.core import validate
from shuffledp.core.table import Floats
from shuffledp.core.weak_cache import WeakCache
from shuffledp.laws.walk_distributions import Graphs, graphs_of_rounds, one_round, transitions
from shuffledp.people.graphs import Graph

_SETTLED = 1e-12  # of what is expected somewhere
_CHECK_EVERY = 64  # rounds
_MOST_GRAPHS = 8  # and chances of staying and of being lost
_MOST_STOPS, _FEWEST_STOPS, _STOPS_BYTES = 8, 2, 1 << 26  # for each of them


class _Stop(NamedTuple):
    """Expected loads after a number of rounds; of a settled walk, for all later rounds too."""

    rounds: int
    held: Floats  # if none were lost
    passed: Floats  # sum over rounds of what was held before them, losses counted
    settled: bool = False


_STOPS: WeakCache[tuple[_Stop, ...]] = WeakCache(_MOST_GRAPHS)


def expected_messages(
    graph: Graphs, num_rounds: int, *, laziness: float = 0.0, dropout: float = 0.0, offline: float = 0.0
) -> Floats:
    """Expected number of reports that each person passes on, where everybody starts with one.

    Rounds of one graph are walked once: later calls, for the same and for more rounds, begin where earlier ones ended.

    Guarantees:
        1. Exact up to the rounding of floats, of about 1e-16 of each number a round; or, once 64 rounds or more bring
           everything within 1e-12 of its limit, up to that.

    Args:
        graph: one graph, or one for each round.
        num_rounds: 0 or more.
        laziness: from 0 to 1.
        dropout: from 0 to 1.
        offline: from 0 to 1; an expected number does not depend on whether reports wait together.

    Returns:
        Shape (people,).
    """
    validate.probability(laziness=laziness, dropout=dropout, offline=offline)
    staying = 1 - (1 - laziness) * (1 - offline)
    graphs = graphs_of_rounds(graph, num_rounds)
    if isinstance(graph, Graph):
        passed = _after(graph, num_rounds, staying, dropout).passed
        return passed * ((1 - dropout) * (1 - staying)) * (graph.degrees > 0)
    held = np.ones(graph[0].num_users)
    sent = np.zeros_like(held)
    for each, matrix in zip(graphs, transitions(graphs), strict=True):
        sent += held * ((1 - dropout) * (1 - staying)) * (each.degrees > 0)
        held = one_round(matrix, held, staying) * (1 - dropout)
    return sent


def expected_held(graph: Graphs, num_rounds: int, *, laziness: float = 0.0, dropout: float = 0.0) -> Floats:
    """Expected number of reports that each person holds at the end, where everybody starts with one.

    Guarantees:
        1. As of `expected_messages`.

    Args:
        graph: one graph, or one for each round.
        num_rounds: 0 or more.
        laziness: from 0 to 1.
        dropout: from 0 to 1.

    Returns:
        Shape (people,): the sum of `position_distribution` over all starts.
    """
    validate.probability(laziness=laziness, dropout=dropout)
    graphs = graphs_of_rounds(graph, num_rounds)
    if isinstance(graph, Graph):
        held = _after(graph, num_rounds, laziness, dropout).held
    else:
        held = np.ones(graph[0].num_users)
        for matrix in transitions(graphs):
            held = one_round(matrix, held, laziness)
    return held * (1 - dropout) ** num_rounds


def _after(graph: Graph, num_rounds: int, staying: float, dropout: float) -> _Stop:
    """The stop at this round, walked from the last stop before; the result does not depend on which that is."""
    key = (float(staying), float(dropout))
    stops = _STOPS.get((graph,), key) or ()
    before = max((stop for stop in stops if stop.rounds <= num_rounds), key=lambda stop: stop.rounds, default=None)
    if before is None:
        start = np.ones(graph.num_users)
        before = _Stop(0, start, np.zeros_like(start))
    found = before
    if before.rounds < num_rounds and not before.settled:
        found = _walked_on(graph, before, num_rounds, staying, dropout)
    room = min(_MOST_STOPS, max(_FEWEST_STOPS, _STOPS_BYTES // (16 * max(graph.num_users, 1))))
    others = [stop for stop in stops if stop.rounds not in (found.rounds, before.rounds)]
    again = (before,) if 0 < before.rounds < found.rounds else ()
    _STOPS.put((graph,), (found, *again, *others)[:room], key)
    return _further(found, num_rounds - found.rounds, dropout)


def _walked_on(graph: Graph, before: _Stop, num_rounds: int, staying: float, dropout: float) -> _Stop:
    """The stop at this round, or at the one after which everything has settled."""
    matrix, limit = next(transitions((graph,))), _limit(graph)
    held, passed = before.held, before.passed.copy()
    for done in range(before.rounds, num_rounds):
        if done and done % _CHECK_EVERY == 0 and np.abs(held / limit - 1).max(initial=0.0) <= _SETTLED:
            return _Stop(done, limit, passed, settled=True)
        passed += held * (1 - dropout) ** done if dropout else held
        held = one_round(matrix, held, staying)
    return _Stop(num_rounds, held, passed)


def _limit(graph: Graph) -> Floats:
    """Stationary loads: the reports of a part are shared among its people by their degrees."""
    parts = graph.components
    edges = np.bincount(parts, weights=graph.degrees)[parts]
    people = np.bincount(parts)[parts]
    return np.where(edges > 0, graph.degrees * (people / np.maximum(edges, 1)), 1.0)


def _further(stop: _Stop, num_rounds: int, dropout: float) -> _Stop:
    """The stop ``num_rounds`` after a settled one."""
    if not num_rounds:
        return stop
    rounds = float(num_rounds)
    if dropout:  # they count less and less
        lost = math.expm1(num_rounds * math.log1p(-dropout)) if dropout < 1 else -1.0
        rounds = (1 - dropout) ** stop.rounds * -lost / dropout
    return stop._replace(rounds=stop.rounds + num_rounds, passed=stop.passed + rounds * stop.held)
