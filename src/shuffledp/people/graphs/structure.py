"""Structure of a graph: its connected parts, and whether it is bipartite."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.kernels import compiled, plain_until_worth_compiling

if TYPE_CHECKING:
    from shuffledp.people.graphs.graph import Graph


def adjacency(graph: "Graph", values: NDArray[Any] | None = None) -> Any:
    """The graph as a scipy matrix in rows of neighbors, with these values in place of ones.

    Args:
        graph: any graph.
        values: one for each entry of ``graph.neighbors``; None is 1.0 for each.
    """
    import scipy.sparse as sp

    values = np.ones(graph.neighbors.size) if values is None else values
    narrow = graph.neighbors.size <= np.iinfo(np.int32).max  # else scipy would widen the neighbors
    starts = graph.starts.astype(np.int32) if narrow else graph.starts
    return sp.csr_array((values, graph.neighbors, starts), shape=(graph.num_users, graph.num_users))


def parts_and_sides(graph: "Graph") -> tuple[NDArray[np.int32], bool]:
    """The number of each person's part, and whether every part has two sides.

    Parts are numbered from 0, in the order of each part's first person. Where there are two sides, walks of even and of
    odd length never meet.
    """
    labels, two_sides = _search_for(graph.neighbors.size)(graph)
    labels.setflags(write=False)
    return labels, two_sides


def _searched_plainly(graph: "Graph") -> tuple[NDArray[np.int32], bool]:
    """Search by scipy: in the graph of (person, parity), a bipartite part makes two, as each edge changes parity."""
    import scipy.sparse as sp
    from scipy.sparse.csgraph import connected_components

    if graph.num_users == 0:
        return np.empty(0, dtype=np.int32), True
    # Each edge is there in both directions, so that "strong" is no other than "weak", and takes less time.
    count, labels = connected_components(adjacency(graph), connection="strong")
    people, entries = graph.num_users, graph.neighbors.size
    starts = np.concatenate([graph.starts, entries + graph.starts[1:]])
    neighbors = np.concatenate([graph.neighbors.astype(np.int64) + people, graph.neighbors])
    doubled = sp.csr_array((np.ones(2 * entries), neighbors, starts), shape=(2 * people, 2 * people))
    return labels, bool(connected_components(doubled, connection="strong")[0] == 2 * count)


def _searched(starts: NDArray[np.int64], neighbors: NDArray[np.int32]) -> tuple[NDArray[np.int32], bool]:
    """Breadth-first search, for the compiler."""
    people = starts.size - 1
    labels = np.full(people, -1, dtype=np.int32)
    side = np.zeros(people, dtype=np.bool_)
    queue = np.empty(people, dtype=np.int32)
    parts, two_sides = 0, True
    for first in range(people):
        if labels[first] >= 0:
            continue
        labels[first], queue[0], done, known = parts, first, 0, 1
        while done < known:
            here = queue[done]
            done += 1
            for place in range(starts[here], starts[here + 1]):
                other = neighbors[place]
                if labels[other] < 0:
                    labels[other], side[other], queue[known] = parts, not side[here], other
                    known += 1
                elif side[other] == side[here]:
                    two_sides = False
        parts += 1
    return labels, two_sides


_searched_compiled = compiled(_searched)


def _searched_quickly(graph: "Graph") -> tuple[NDArray[np.int32], bool]:
    labels, two_sides = _searched_compiled(graph.starts, graph.neighbors)
    return labels, bool(two_sides)


_Search = Callable[["Graph"], tuple[NDArray[np.int32], bool]]
_search_for: Callable[[int], _Search] = plain_until_worth_compiling(
    _searched_plainly, _searched_quickly, items=5_000_000
)


def part_of(
    graph: "Graph", inside: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64] | None]:
    """Starts, neighbors and weights of a subset of people that no edge leaves.

    Args:
        graph: any graph.
        inside: for each person whether to keep them; a part, or several.
    """
    number = np.cumsum(inside, dtype=np.int32) - 1
    kept = np.repeat(inside, graph.degrees)
    starts = np.concatenate([[0], np.cumsum(graph.degrees[inside])])
    return starts, number[graph.neighbors[kept]], None if graph.weights is None else graph.weights[kept]
