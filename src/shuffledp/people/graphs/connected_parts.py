"""Connected parts of graphs: their descriptions, and the parts of several graphs together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shuffledp.core.caching import WeakCache
from shuffledp.core.described import Described
from shuffledp.core.table import Integers
from shuffledp.people.graphs.graph import Graph, union
from shuffledp.people.graphs.spectrum import mixing_time

Parts = list[tuple[Integers, Graph]]
Graphs = tuple[Graph, ...]

_MOST_PARTS = 16  # most parts that are described one by one
_MOST_CUT = 2  # graphs, or sequences of graphs, in the cache

_CUT: WeakCache[tuple[Graphs, ...]] = WeakCache(_MOST_CUT)
_TOGETHER: WeakCache[Graph] = WeakCache(_MOST_CUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartDescription(Described):
    """Description of a connected part, and of the speed at which walks mix in it.

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
    """Description of a graph and of its largest parts.

    Args:
        num_users: people.
        num_edges: edges, each counted once.
        merged_edges: further mentions of an edge, in either direction, that were merged.
        dropped_loops: edges from a person to the same that were left out.
        num_components: connected parts; a person without neighbors is one.
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
    """Description of a graph, with the spectrum of each of its largest parts.

    Args:
        graph: any graph.
        parts: result of `largest_parts`, if available; each part keeps its spectrum.

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
        num_components=graph.num_parts,
        num_isolated=int(np.count_nonzero(graph.degrees == 0)),
        least_degree=int(graph.degrees.min(initial=graph.num_users)),
        largest_degree=int(graph.degrees.max(initial=0)),
        parts=tuple(_described(part, int(people[0])) for people, part in parts),
    )


def largest_parts(graph: Graph) -> Parts:
    """Largest connected parts of two people or more, at most 16 parts: their people and graphs.

    The largest first.
    """
    if graph.is_connected:
        return [(np.arange(graph.num_users), graph)] if graph.num_edges else []
    sizes = np.bincount(graph.components)
    chosen = [part for part in np.argsort(-sizes, kind="stable")[:_MOST_PARTS] if sizes[part] > 1]
    belonging = [graph.components == part for part in chosen]
    return [(np.flatnonzero(inside), graph.part(inside)) for inside in belonging]


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


# ---- graphs that reports walk along in turn --------------------------------------------------------------------------


def together(graphs: Sequence[Graph]) -> Graph:
    """Union of the graphs, cached by their identity."""
    different = tuple({id(each): each for each in graphs}.values())
    if len(different) == 1:
        return different[0]
    found = _TOGETHER.get(different)
    return _TOGETHER.put(different, union(different)) if found is None else found


def parts_of(graphs: Graphs) -> list[Graphs]:
    """Graphs cut into the connected parts of their union.

    The parts are cached, so that each keeps its spectrum.
    """
    each = {id(graph): graph for graph in graphs}
    different, everything = tuple(each.values()), together(graphs)
    if everything.is_connected:
        return [graphs]
    cut = _CUT.get(different)
    if cut is None:
        insides = [everything.components == number for number in range(everything.num_parts)]
        pieces = (tuple(graph.part(inside) for graph in different) for inside in insides)
        cut = _CUT.put(different, tuple(pieces))
    places = {key: place for place, key in enumerate(each)}
    return [tuple(part[places[id(graph)]] for graph in graphs) for part in cut]
