"""All edges of graphs that follow each other."""

from collections.abc import Sequence

import numpy as np

from shuffledp.graphs.graph import Graph

__all__ = ["union"]


def union(graphs: Sequence[Graph]) -> Graph:
    """The graph of every edge of any of these: walks along them in turn stay in its parts, and cross its sides.

    Args:
        graphs: one or more, of the same people; weights are left out of several.

    Example:
        >>> union([Graph.from_edges([(0, 1)], 3), Graph.from_edges([(1, 2)])]).num_edges
        2
    """
    if len(graphs) == 1:
        return graphs[0]
    senders = [np.repeat(np.arange(each.num_users), each.degrees) for each in graphs]
    edges = [
        np.column_stack([one, each.neighbors])[one < each.neighbors] for one, each in zip(senders, graphs, strict=True)
    ]
    return Graph.from_edges(np.concatenate(edges), graphs[0].num_users)
