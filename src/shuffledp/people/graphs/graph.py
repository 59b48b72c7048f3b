"""Graph of people, undirected and simple: sorted neighbor lists, with an optional weight per edge."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.table import Floats, Integers
from shuffledp.core.text import count_of
from shuffledp.core.upward_calls import ShownByFacts, above
from shuffledp.core.validate import integer_at_least, invalid
from shuffledp.people.graphs.adjacency import (
    READERS,
    adjacency,
    as_pairs,
    as_weights,
    parts_and_sides,
    random_regular_edges,
    sorted_neighbors,
)
from shuffledp.people.graphs.spectrum import Spectrum, spectrum
from shuffledp.randomness.sources import RandomSource

_MOST_NODES = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Graph(ShownByFacts):
    """Undirected graph on the people 0, ..., n - 1, without loops and without parallel edges.

    Made by `from_edges`, `of` or `random_regular`. The neighbors of node v are
    ``neighbors[starts[v] : starts[v + 1]]``, ascending, and ``weights`` is aligned with them.

    Args:
        starts: int64 array of shape (nodes + 1,).
        neighbors: int32 array of shape (2 edges,); every edge stands there twice.
        weights: float64 array of the same shape, or None.
        dropped_loops: number of edges from a node to itself that were left out.
        merged_edges: number of further mentions of an edge, in either direction, that were merged into one.

    Example:
        >>> graph = Graph.from_edges([(0, 1), (1, 2), (2, 1), (2, 2)])
        >>> graph.num_users, graph.num_edges, graph.dropped_loops
        (3, 2, 1)
        >>> graph.neighbors_of(1).tolist()
        [0, 2]
    """

    starts: Integers
    neighbors: NDArray[np.int32]
    weights: Floats | None = None
    dropped_loops: int = 0
    merged_edges: int = 0

    def __post_init__(self) -> None:
        for array in (self.starts, self.neighbors, self.weights):
            if array is not None:
                array.setflags(write=False)

    @property
    def num_users(self) -> int:
        """Number of people (nodes), including people without edges."""
        return self.starts.size - 1

    @property
    def num_edges(self) -> int:
        """Number of edges, each counted once."""
        return self.neighbors.size // 2

    @cached_property
    def degrees(self) -> Integers:
        """Number of neighbors of every node."""
        return np.diff(self.starts)

    def neighbors_of(self, node: int) -> NDArray[np.int32]:
        """Neighbors of one node, ascending."""
        return self.neighbors[self.starts[node] : self.starts[node + 1]]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        weighted = self.weights is not None, other.weights is not None
        return (
            np.array_equal(self.starts, other.starts)
            and np.array_equal(self.neighbors, other.neighbors)
            and weighted[0] == weighted[1]
            and (self.weights is None or other.weights is None or np.array_equal(self.weights, other.weights))
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def facts(self) -> dict[str, str]:
        """Facts for a notebook: the numbers of people, edges and neighbors."""
        least, middle, most = np.quantile(self.degrees, [0, 0.5, 1]) if self.num_users else (0, 0, 0)
        return {
            "people": f"{self.num_users:,}",
            "edges": f"{self.num_edges:,}{', weighted' if self.weights is not None else ''}",
            "neighbors of one person": f"{least:,.0f} to {most:,.0f}, of half of the people at most {middle:,.0f}",
        }

    def __repr__(self) -> str:
        notes = [
            *(["weighted"] if self.weights is not None else []),
            *([f"{self.merged_edges} repeated merged"] if self.merged_edges else []),
            *([f"{count_of(self.dropped_loops, 'loop')} dropped"] if self.dropped_loops else []),
        ]
        return f"Graph({', '.join([f'{self.num_users} people', f'{self.num_edges} edges', *notes])})"

    @classmethod
    def from_edges(cls, edges: ArrayLike, num_users: int | None = None, weights: ArrayLike | None = None) -> Self:
        """Graph with these edges, in any order and direction.

        Directions are forgotten. Loops are dropped and counted. An edge that is named more than once, in either
        direction, is one edge, and its further mentions are counted; it keeps the largest of its weights.

        Args:
            edges: whole numbers of shape (edges, 2), nodes from 0, or a set or an iterator of pairs; may be empty.
            num_users: number of people (nodes); None is one more than the largest node named.
            weights: finite numbers of 0 or more, one per edge, or None. They are for grouping people. Walks choose
                neighbors uniformly: `stationary`, `irregularity`, the spectrum and laws of positions do not heed them,
                and `shuffledp.RandomWalkShuffler` refuses different ones.

        Raises:
            InvalidParameterError: if an entry is no node, a weight is negative or not finite, or the shapes disagree.
        """
        pairs = as_pairs(edges)
        if num_users is None:
            num_users = int(pairs.max()) + 1 if pairs.size else 0
        integer_at_least(0, num_users=num_users)
        if num_users > _MOST_NODES:
            raise invalid(f"at most {_MOST_NODES}", num_users=num_users)
        if pairs.size and not (pairs.min() >= 0 and pairs.max() < num_users):
            outside = (pairs < 0) | (pairs >= num_users)
            row, column = (int(place[0]) for place in np.nonzero(outside))
            raise InvalidParameterError(
                f"edges must name nodes by their numbers, 0 or more and below {num_users}; the edge at place {row}, "
                f"counted from 0, names {int(pairs[row, column])}."
            )
        values = None if weights is None else as_weights(weights, len(pairs))
        return cls(*sorted_neighbors(pairs, values, int(num_users)))

    @classmethod
    def of(cls, graph: Any) -> Self:
        """Graph from networkx, igraph, a scipy sparse adjacency matrix, or a file of edges.

        Directions are forgotten. Nodes of networkx keep their numbers if those are 0, ..., n - 1, and are else numbered
        as it lists them. Weights are the edge attribute ``weight`` where every edge has one, or the entries of a
        matrix, unless all are equal. A file is read as `shuffledp graph inspect` does: text, Parquet or ``.npz``.

        Raises:
            InvalidParameterError: if it is something else.
            InputDataError: if there is no such file, or it is no edge list.
        """
        if isinstance(graph, cls):
            return graph
        if isinstance(graph, str | Path):
            return cast(Self, above("graph")(Path(graph)))
        for looks_like, edges_of in READERS:
            if looks_like(graph):
                edges, weights, num_users = edges_of(graph)
                return cls.from_edges(edges, weights=weights, num_users=num_users)
        raise InvalidParameterError(
            "graph must be a Graph, a networkx or igraph graph, a scipy sparse matrix or a file's name; "
            f"got graph of type {type(graph).__name__}."
        )

    @classmethod
    def from_networkx(cls, graph: Any) -> Self:
        """Graph from a networkx graph with nodes 0, ..., n - 1, which keep their numbers; see `of`."""
        return cls.of(graph)

    def without_weights(self) -> Self:
        """Copy of this graph without weights.

        For walks, which choose neighbors uniformly.
        """
        return replace(self, weights=None)

    @classmethod
    def random_regular(cls, degree: int, num_users: int, source: RandomSource | None = None) -> Self:
        """Random graph in which all people have the same number of neighbors.

        Stubs are paired at random, and those that would make a loop or a second edge are paired anew. For degrees far
        below the square root of the number of people, this comes close to the uniform law.

        Args:
            degree: neighbors of each person, from 1 to ``num_users - 1``.
            num_users: 2 or more; degree * num_users is even.
            source: None is the cryptographic source.

        Raises:
            InvalidParameterError: if there is no such graph.

        References:
            Steger, Wormald, "Generating random regular graphs quickly", 1999.

        Example:
            >>> Graph.random_regular(4, 100).irregularity
            1.0
        """
        integer_at_least(1, degree=degree)
        return cls.from_edges(random_regular_edges(degree, num_users, source=source), num_users)

    # ---- walks from neighbor to neighbor, each chosen uniformly, whatever the weights --------------------------------

    @cached_property
    def stationary(self) -> Floats:
        """Stationary law "pi" of a uniform walk: degrees over their sum; shape (people,).

        Zeros where there is no edge.
        """
        pi: Floats = self.degrees / max(self.neighbors.size, 1)
        pi.setflags(write=False)
        return pi

    @property
    def irregularity(self) -> float:
        """Irregularity "Gamma" of papers: n times the sum of squared stationary probabilities.

        It is 1 for equal degrees. Liew et al. 2022, Table 4, count each edge for its first end only, and print other
        numbers.
        """
        degrees = self.degrees.astype(np.float64)
        total = degrees.sum()
        return float(self.num_users * (degrees @ degrees) / total**2) if total else float(self.num_users)

    @cached_property
    def _spectrum(self) -> Spectrum:
        return spectrum(self)

    @property
    def spectrum(self) -> tuple[float, float]:
        """Second largest and smallest eigenvalue of the walk, up to `spectrum_error`.

        Of a graph in several parts the second largest is 1.
        """
        return self._spectrum.second, self._spectrum.smallest

    @property
    def spectrum_error(self) -> float:
        """Error bound of `spectrum`: 1e-8 or less, and more on graphs of millions of edges.

        There it is proven for all but a share of 1e-12 of the first vectors, and as a rule a thousand times too large.
        Guarantees rest on `spectral_gap` less this error.
        """
        return self._spectrum.error

    @property
    def spectral_gap(self) -> float:
        """Spectral gap "alpha" of papers: 1 minus the largest absolute value in `spectrum`.

        0 for a graph in several parts and for a bipartite one, on which walks never forget where they began, and
        for a graph of nobody.
        """
        second, smallest = self.spectrum
        return max(0.0, 1 - max(abs(second), abs(smallest)))

    @cached_property
    def _parts_and_sides(self) -> tuple[NDArray[np.int32], bool]:
        return parts_and_sides(self.starts, self.neighbors)

    @property
    def components(self) -> NDArray[np.int32]:
        """Number of each person's connected part, from 0."""
        return self._parts_and_sides[0]

    @property
    def is_connected(self) -> bool:
        """True if all people can reach each other; False for an empty graph."""
        return self.num_parts == 1

    @property
    def is_bipartite(self) -> bool:
        """True if people fall into two sides and each edge joins one side to the other."""
        return self._parts_and_sides[1]

    def largest_component(self) -> Self:
        """Largest connected part, renumbered from 0 in the same order.

        The first one among equals.
        """
        if self.num_users == 0 or self.is_connected:
            return self
        return self.part(self.components == np.bincount(self.components).argmax())

    @property
    def num_parts(self) -> int:
        """Number of connected parts."""
        return int(self.components.max(initial=-1)) + 1

    def parts(self) -> tuple[Self, ...]:
        """Connected parts, renumbered from 0, in the order of each part's first person."""
        return tuple(self.part(self.components == number) for number in range(self.num_parts))

    def part(self, inside: NDArray[np.bool_]) -> Self:
        """Subgraph of the people in a mask, renumbered from 0 in the same order.

        No edge may leave the mask.
        """
        number, kept = np.cumsum(inside, dtype=np.int32) - 1, np.repeat(inside, self.degrees)
        starts = np.concatenate([[0], np.cumsum(self.degrees[inside])])
        return type(self)(starts, number[self.neighbors[kept]], None if self.weights is None else self.weights[kept])

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the number of people and the edges, in hexadecimal; weights are not hashed."""
        text = hashlib.sha256(self.starts.astype("<i8").tobytes())
        text.update(self.neighbors.astype("<i4").tobytes())
        return text.hexdigest()

    def balls(self, hops: int) -> tuple[Integers, Integers]:
        """Balls of all nodes: each node with the nodes within ``hops`` edges of it.

        Time and memory grow with the sum of the balls' sizes. The ball of v is ``members[starts[v] : starts[v + 1]]``,
        ascending, of the starts and the members that are returned.

        Args:
            hops: length of the longest path, 0 or more.
        """
        integer_at_least(0, hops=hops)
        import scipy.sparse as sp

        edges = adjacency(self.starts, self.neighbors, np.ones(self.neighbors.size, dtype=np.bool_))
        itself = sp.csr_array(sp.eye_array(self.num_users, dtype=np.bool_))
        step, reached = edges + itself, itself
        for _ in range(hops):
            before = reached.nnz
            reached = reached @ step
            if reached.nnz == before:  # whole components
                break
        reached.sort_indices()
        return reached.indptr.astype(np.int64), reached.indices.astype(np.int64)


def union(graphs: Sequence[Graph]) -> Graph:
    """Union of graphs on the same people.

    Walks along the graphs in turn never leave its parts.

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
