"""What there is to know of a graph before reports walk along it."""

import math
from dataclasses import dataclass

import numpy as np

from shuffledp._described import Described
from shuffledp.graphs.graph import Graph
from shuffledp.graphs.spectrum import mixing_time

__all__ = ["GraphDescription", "describe_graph"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphDescription(Described):
    """A graph, and how walks on its largest part mix.

    Args:
        num_users: people.
        num_edges: edges, each counted once.
        merged_edges: further mentions of an edge, in either direction, that were merged.
        dropped_loops: edges from a person to the same that were left out.
        num_components: parts that cannot reach each other.
        num_isolated: people without a neighbor, whose reports nothing would shuffle.
        largest_component: people in the largest part; all that follows is about it.
        is_bipartite: whether it has two sides, so that walks need laziness to mix.
        least_degree: fewest neighbors.
        largest_degree: most neighbors.
        irregularity: "Gamma" in papers.
        second_eigenvalue: the second largest eigenvalue of a walk.
        smallest_eigenvalue: the smallest one.
        spectral_gap: "alpha" in papers.
        spectrum_error: how far beyond both eigenvalues the true ones may lie, and below the gap the true one.
        mixing_time: log(people) / gap, in rounds; infinite for a walk that never mixes.
        lazy_mixing_time: the same if every report stays where it is with chance 1/2.
        expected_empty: expected number of people who hold no report after many rounds.
    """

    num_users: int
    num_edges: int
    merged_edges: int
    dropped_loops: int
    num_components: int
    num_isolated: int
    largest_component: int
    is_bipartite: bool
    least_degree: int
    largest_degree: int
    irregularity: float
    second_eigenvalue: float
    smallest_eigenvalue: float
    spectral_gap: float
    spectrum_error: float
    mixing_time: float
    lazy_mixing_time: float
    expected_empty: float


def describe_graph(graph: Graph) -> GraphDescription:
    """Count, measure and find both ends of the spectrum.

    Args:
        graph: any graph.

    Example:
        >>> found = describe_graph(Graph.from_edges([(0, 1), (1, 2), (2, 0), (2, 3), (5, 6)]))
        >>> found.num_components, found.num_isolated, found.largest_component, found.irregularity
        (3, 1, 4, 1.125)
    """
    part = graph.largest_component()
    second, smallest = part.spectrum
    never = part.num_users < 2
    return GraphDescription(
        num_users=graph.num_users,
        num_edges=graph.num_edges,
        merged_edges=graph.merged_edges,
        dropped_loops=graph.dropped_loops,
        num_components=int(graph.components.max(initial=-1)) + 1,
        num_isolated=int(np.count_nonzero(graph.degrees == 0)),
        largest_component=part.num_users,
        is_bipartite=part.is_bipartite,
        least_degree=int(part.degrees.min(initial=part.num_users)),
        largest_degree=int(part.degrees.max(initial=0)),
        irregularity=part.irregularity,
        second_eigenvalue=second,
        smallest_eigenvalue=smallest,
        spectral_gap=part.spectral_gap,
        spectrum_error=part.spectrum_error,
        mixing_time=math.inf if never else mixing_time(part),
        lazy_mixing_time=math.inf if never else mixing_time(part, 0.5),
        expected_empty=float(np.exp(part.num_users * np.log1p(-np.minimum(part.stationary, 1 - 1e-16))).sum()),
    )
