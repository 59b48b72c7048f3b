"""Of the graphs that reports walk along: how many people, edges and sides there are."""

from dataclasses import replace

from shuffledp.graphs import Graph
from shuffledp.graphs.parts import together
from shuffledp.shufflers import RandomWalkShuffler
from shuffledp.tasks.network import NetworkSection

__all__ = ["all_edges", "first_graph", "people_of", "section_of_part", "shufflers_of_parts", "stays_on_sides"]


def first_graph(shuffler: RandomWalkShuffler) -> Graph:
    """The graph of the first round."""
    return shuffler.graph if isinstance(shuffler.graph, Graph) else shuffler.graph[0]


def all_edges(shuffler: RandomWalkShuffler) -> Graph:
    """Every edge that a report may take in some round."""
    return together((shuffler.graph,) if isinstance(shuffler.graph, Graph) else shuffler.graph)


def stays_on_sides(everything: Graph, resting: float) -> bool:
    """Whether the number of rounds shows on which side of all edges a report began, as none ever rests."""
    return everything.is_bipartite and not resting


def people_of(shuffler: RandomWalkShuffler) -> int:
    """How many people walk along the graph."""
    return first_graph(shuffler).num_users


def shufflers_of_parts(shuffler: RandomWalkShuffler) -> tuple[RandomWalkShuffler, ...]:
    """A shuffler for each part, the largest first; that of all if there is one part, none if they are too many."""
    return (shuffler,) if all_edges(shuffler).is_connected else shuffler.parts


def section_of_part(section: NetworkSection, part: Graph) -> NetworkSection:
    """The same for people of one part, none of whom ever holds more reports than there are people in it."""
    if section.submissions is None:
        return section
    return replace(section, submissions=min(section.submissions, part.num_users))
