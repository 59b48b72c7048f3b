"""What there is to know of a graph before reports walk along it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp._described import Described
from shuffledp.graphs.graph import Graph
from shuffledp.graphs.spectrum import mixing_time
from shuffledp.graphs.structure import part_of

__all__ = ["GraphDescription", "PartDescription", "describe_graph", "largest_parts"]

Parts = list[tuple[NDArray[np.int64], Graph]]

_MOST_PARTS = 16  # that are described each


@dataclass(frozen=True, slots=True, kw_only=True)
class PartDescription(Described):
    """People who reach each other, and how walks among them mix.

    Args:
        first: the person with the least number.
        num_users: people, 2 or more.
        num_edges: edges, each counted once.
        is_bipartite: whether they have two sides, so that walks need laziness to mix.
        irregularity: "Gamma" in papers.
        second_eigenvalue: the second largest eigenvalue of a walk.
        smallest_eigenvalue: the smallest one.
        spectral_gap: "alpha" in papers.
        spectrum_error: how far beyond both eigenvalues the true ones may lie, and below the gap the true one.
        mixing_time: log(people) / gap, in rounds; infinite for a walk that never mixes.
        lazy_mixing_time: the same if every report stays where it is with chance 1/2.
        expected_empty: expected number of people who hold no report after many rounds.
    """

    first: int
    num_users: int
    num_edges: int
    is_bipartite: bool
    irregularity: float
    second_eigenvalue: float
    smallest_eigenvalue: float
    spectral_gap: float
    spectrum_error: float
    mixing_time: float
    lazy_mixing_time: float
    expected_empty: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphDescription(Described):
    """A graph, and each of its largest parts.

    Args:
        num_users: people.
        num_edges: edges, each counted once.
        merged_edges: further mentions of an edge, in either direction, that were merged.
        dropped_loops: edges from a person to the same that were left out.
        num_components: parts that cannot reach each other; whoever has no neighbor is one.
        num_isolated: people without a neighbor, whose reports nothing would shuffle.
        least_degree: fewest neighbors of anybody.
        largest_degree: most neighbors.
        parts: the largest first, at most 16 of them, and none of people who are alone.
    """

    num_users: int
    num_edges: int
    merged_edges: int
    dropped_loops: int
    num_components: int
    num_isolated: int
    least_degree: int
    largest_degree: int
    parts: tuple[PartDescription, ...]


def describe_graph(graph: Graph, parts: Parts | None = None) -> GraphDescription:
    """Count, measure and find both ends of the spectrum of each of the largest parts.

    Args:
        graph: any graph.
        parts: those of `largest_parts`, if they are at hand: each remembers its spectrum.

    Example:
        >>> found = describe_graph(Graph.from_edges([(0, 1), (1, 2), (2, 0), (2, 3), (5, 6)]))
        >>> found.num_components, found.num_isolated, [(part.num_users, part.irregularity) for part in found.parts]
        (3, 1, [(4, 1.125), (2, 1.0)])
    """
    parts = largest_parts(graph) if parts is None else parts
    return GraphDescription(
        num_users=graph.num_users,
        num_edges=graph.num_edges,
        merged_edges=graph.merged_edges,
        dropped_loops=graph.dropped_loops,
        num_components=int(graph.components.max(initial=-1)) + 1,
        num_isolated=int(np.count_nonzero(graph.degrees == 0)),
        least_degree=int(graph.degrees.min(initial=graph.num_users)),
        largest_degree=int(graph.degrees.max(initial=0)),
        parts=tuple(_described(part, int(people[0])) for people, part in parts),
    )


def largest_parts(graph: Graph) -> Parts:
    """The people and the graphs of the parts of two people or more, the largest first, at most 16 of them.

    Args:
        graph: any graph.
    """
    if graph.is_connected:
        return [(np.arange(graph.num_users), graph)] if graph.num_edges else []
    sizes = np.bincount(graph.components)
    chosen = [part for part in np.argsort(-sizes, kind="stable")[:_MOST_PARTS] if sizes[part] > 1]
    belonging = [graph.components == part for part in chosen]
    return [(np.flatnonzero(inside), Graph(*part_of(graph, inside))) for inside in belonging]


def _described(part: Graph, first: int) -> PartDescription:
    second, smallest = part.spectrum
    return PartDescription(
        first=first,
        num_users=part.num_users,
        num_edges=part.num_edges,
        is_bipartite=part.is_bipartite,
        irregularity=part.irregularity,
        second_eigenvalue=second,
        smallest_eigenvalue=smallest,
        spectral_gap=part.spectral_gap,
        spectrum_error=part.spectrum_error,
        mixing_time=mixing_time(part),
        lazy_mixing_time=mixing_time(part, 0.5),
        expected_empty=float(np.exp(part.num_users * np.log1p(-np.minimum(part.stationary, 1 - 1e-16))).sum()),
    )
