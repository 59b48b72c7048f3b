"""Walk sweeps: distance of position laws from the stationary law, by start and round.

What is kept of P_v, in terms of P_v(i) / pi_i, is its largest and its least value and its mean square: so many people
are no matter of memory, and one sweep answers for every number of rounds up to its last. Floats are of 32 bits; what
their rounding can do is in `Sweep.rounding`.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.caching import WeakCache, compiled, plain_until_worth_compiling
from shuffledp.core.table import Floats, Integers
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.laws.walk_distributions import (
    Graphs,
    from_starts,
    graphs_of_rounds,
    one_round,
    people_of,
    transitions,
)

_WIDTH = 64  # starts that walk at a time: their laws stay in the cache
_UNIT = 2.0**-24
_NOTHING = 1e-30  # quotients below it are taken for 0: floats of 32 bits lose digits there
_SWEEPS: "WeakCache[Sweep]" = WeakCache(4)

_Shorts = NDArray[np.float32]
_Moves = tuple[Integers, NDArray[np.int32], _Shorts, _Shorts]  # neighbors, the chance of each of theirs, and 1 / pi


class Sweep(NamedTuple):
    """Extremes of P_v(i) / pi_i over places i, by number of rounds from 1 on (rows) and start v (columns).

    Args:
        most: the largest.
        least: the least.
        squares: the mean of the square under pi, which is 1 or more.
        rounding: after each number of rounds, by what share any of these may be off.
    """

    most: Floats
    least: Floats
    squares: Floats
    rounding: Floats


def swept(graph: Graphs, num_rounds: int, *, laziness: float, ahead: int = 0) -> Sweep:
    """Sweep of at least ``num_rounds`` rounds, with ``ahead`` more if it is computed anew.

    In each row pi is the stationary law of that round's graph. Rows do not depend on how many are asked for.

    Args:
        graph: one graph, or one for each round; everybody has a neighbor.
        num_rounds: 1 or more.
        laziness: the chance that a report stays where it is for a round.
        ahead: further rounds that will probably be asked for; of graphs for each round none.
    """
    period = _period(graph)
    found = _SWEEPS.get(period, laziness)
    if found is None or len(found.most) < num_rounds:
        further = ahead if len(period) == 1 else 0
        made = graphs_of_rounds(period, num_rounds + further)
        found = _SWEEPS.put(period, _of_all_starts(made, people_of(graph), laziness), laziness)
    return found


def _period(graph: Graphs) -> tuple[Graph, ...]:
    """Shortest cycle of graphs that take turns, as a cache key for any number of rounds."""
    if isinstance(graph, Graph):
        return (graph,)
    graphs = tuple(graph)
    for size in range(1, len(graphs)):
        if all(each is graphs[place % size] for place, each in enumerate(graphs)):
            return graphs[:size]
    return graphs


def _of_all_starts(graphs: Sequence[Graph], people: int, laziness: float) -> Sweep:
    shape = (len(graphs), people)
    found = Sweep(np.empty(shape), np.empty(shape), np.empty(shape), _rounding(graphs))
    entries = sum(people + each.neighbors.size for each in graphs)
    for first in range(0, people, _WIDTH):
        starts = np.arange(first, min(first + _WIDTH, people))
        _walk_for(starts.size * entries)(starts, graphs, laziness, found)
    found.least[found.least < _NOTHING] = 0.0
    return found


def _rounding(graphs: Sequence[Graph]) -> Floats:
    """Bound on the relative rounding error after each number of rounds.

    It has d + 1 units for a sum of d products, 4 more in each round for resting, and 8 for the quotient.

    A square is off by what two laws are, by 3 units for its quotient and product, and by 7 where eight are added up.
    """
    of_rounds = [int(each.degrees.max(initial=0)) + 6 for each in graphs]
    return np.expm1((np.cumsum(of_rounds, dtype=np.float64) + 8) * _UNIT)


def _walk_plainly(starts: Integers, graphs: Sequence[Graph], laziness: float, found: Sweep) -> None:
    laws: Any = from_starts(graphs[0].num_users, starts, np.float32)
    for done, (each, matrix) in enumerate(zip(graphs, transitions(graphs), strict=True)):
        laws = one_round(matrix.astype(np.float32), laws, laziness)
        quotients = laws * (1 / each.stationary).astype(np.float32)[:, None]
        found.most[done, starts], found.least[done, starts] = quotients.max(axis=0), quotients.min(axis=0)
        found.squares[done, starts] = (quotients * laws).sum(axis=0, dtype=np.float64)


def _walk_fast(starts: Integers, graphs: Sequence[Graph], laziness: float, found: Sweep) -> None:
    """Compute the sweep in compiled code; `_walk_plainly` computes the same numbers in plain code."""
    moves: dict[int, _Moves] = {id(each): _moves(each) for each in graphs}
    laws = from_starts(graphs[0].num_users, starts, np.float32)
    moved = np.empty_like(laws)
    rest: Any = np.float32(laziness), np.float32(1 - laziness)
    extremes: Any = np.empty((2, starts.size), dtype=np.float32)
    for done, each in enumerate(graphs):
        squares = np.zeros(starts.size)
        extremes[0], extremes[1] = 0.0, np.inf
        _round_compiled(moves[id(each)], (laws, moved), rest, extremes, squares)
        laws, moved = moved, laws
        found.most[done, starts], found.least[done, starts] = extremes
        found.squares[done, starts] = squares


def _moves(graph: Graph) -> _Moves:
    shares = (1 / np.maximum(graph.degrees, 1)).astype(np.float32)
    return graph.starts, graph.neighbors, shares, (1 / graph.stationary).astype(np.float32)


def _round(
    moves: _Moves, both: tuple[_Shorts, _Shorts], rest: tuple[float, float], extremes: _Shorts, squares: Floats
) -> None:
    """Move a few laws (columns) by one round, from the first array into the second, with their extremes."""
    starts, neighbors, shares, inverse = moves
    laws, moved = both
    most, least = extremes[0], extremes[1]
    width = laws.shape[1]
    few = np.zeros(width, dtype=np.float32)  # the squares of eight places at most, added up in 32 bits
    for here in range(laws.shape[0]):
        row, mine, scale = moved[here], laws[here], inverse[here]
        for column in range(width):
            row[column] = 0
        place, last = starts[here], starts[here + 1]
        while place + 4 <= last:  # four at a time, so that the row is written seldom; in the same order
            a, b, c, d = neighbors[place], neighbors[place + 1], neighbors[place + 2], neighbors[place + 3]
            at_a, at_b, at_c, at_d = laws[a], laws[b], laws[c], laws[d]
            of_a, of_b, of_c, of_d = shares[a], shares[b], shares[c], shares[d]
            for column in range(width):
                sums = row[column] + of_a * at_a[column] + of_b * at_b[column]
                row[column] = sums + of_c * at_c[column] + of_d * at_d[column]
            place += 4
        while place < last:
            share, theirs = shares[neighbors[place]], laws[neighbors[place]]
            for column in range(width):
                row[column] += share * theirs[column]
            place += 1
        for column in range(width):
            chance = rest[0] * mine[column] + rest[1] * row[column]
            quotient = chance * scale
            row[column] = chance
            most[column] = quotient if quotient > most[column] else most[column]
            least[column] = quotient if quotient < least[column] else least[column]
            few[column] += chance * quotient
        if here % 8 == 7 or here == laws.shape[0] - 1:
            for column in range(width):
                squares[column] += few[column]
                few[column] = 0


_round_compiled = compiled(_round)
_Walk = Callable[[Integers, Sequence[Graph], float, Sweep], None]
_walk_for: Callable[[int], _Walk] = plain_until_worth_compiling(_walk_plainly, _walk_fast, items=300_000_000)
