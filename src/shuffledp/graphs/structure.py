"""The parts of a graph, and whether it has two sides."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from shuffledp.graphs.graph import Graph

__all__ = ["adjacency", "component_labels", "is_bipartite", "part_of"]


def adjacency(graph: "Graph", values: NDArray[Any] | None = None) -> Any:
    """The graph as a scipy matrix in rows of neighbors, with these values in place of ones.

    Args:
        graph: any graph.
        values: one for each entry of ``graph.neighbors``; None is 1.0 for each.
    """
    import scipy.sparse as sp

    values = np.ones(graph.neighbors.size) if values is None else values
    return sp.csr_array((values, graph.neighbors, graph.starts), shape=(graph.num_users, graph.num_users))


def component_labels(graph: "Graph") -> NDArray[np.int32]:
    """The number of each person's part, from 0, in the order of each part's first person."""
    if graph.num_users == 0:
        return np.empty(0, dtype=np.int32)
    from scipy.sparse.csgraph import connected_components

    labels: NDArray[np.int32] = connected_components(adjacency(graph), connection="strong")[1]
    labels.setflags(write=False)
    return labels


def is_bipartite(graph: "Graph") -> bool:
    """Whether every part has two sides: its walks of even and of odd length then never meet.

    In the graph of (person, parity), each edge changes the parity; a part with two sides makes two parts of it.
    """
    import scipy.sparse as sp
    from scipy.sparse.csgraph import connected_components

    if graph.num_users == 0:
        return True
    people, entries = graph.num_users, graph.neighbors.size
    starts = np.concatenate([graph.starts, entries + graph.starts[1:]])
    neighbors = np.concatenate([graph.neighbors.astype(np.int64) + people, graph.neighbors])
    doubled = sp.csr_array((np.ones(2 * entries), neighbors, starts), shape=(2 * people, 2 * people))
    # Each edge is there in both directions, so that "strong" is no other than "weak", and takes less time.
    return bool(connected_components(doubled, connection="strong")[0] == 2 * (int(graph.components.max()) + 1))


def part_of(
    graph: "Graph", inside: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64] | None]:
    """Starts, neighbors and weights of these people, none of whose neighbors is anybody else.

    Args:
        graph: any graph.
        inside: for each person whether to keep them; a part, or several.
    """
    number = np.cumsum(inside, dtype=np.int32) - 1
    kept = np.repeat(inside, graph.degrees)
    starts = np.concatenate([[0], np.cumsum(graph.degrees[inside])])
    return starts, number[graph.neighbors[kept]], None if graph.weights is None else graph.weights[kept]
