"""Facts at the head of a network shuffle's plan: its graphs, and the epsilon after its rounds."""

from dataclasses import dataclass

from shuffledp.core.described import Described


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphFacts(Described):
    """Facts about the graphs of a network shuffle.

    Args:
        num_users: people.
        num_edges: of the first round's graph.
        num_graphs: graphs that follow each other.
        merged_edges: further mentions of edges, in either direction, that were merged.
        dropped_loops: edges from a person to the same that were left out.
        num_parts: parts that cannot reach each other, in whatever round.
        two_sides: whether the graph, or all graphs taken together, is bipartite and nobody is lazy, so that the number
            of rounds shows where a report may have begun.
        irregularity: "Gamma" in papers.
    """

    num_users: int
    num_edges: int
    num_graphs: int
    merged_edges: int
    dropped_loops: int
    num_parts: int
    two_sides: bool
    irregularity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedLoss(GraphFacts):
    """Epsilon after the planned rounds of a network shuffle, beside other shuffles.

    Args:
        protocol: what people hand in: "all", "single" or "padded".
        rounds: those that are planned for.
        epsilon: what is guaranteed to everybody after them, by the weakest part.
        uniform: epsilon of a uniform shuffle of as many people.
        epsilon_of_all: what would be guaranteed if people handed in all that they hold; None where they do.
        surviving: reports that are expected not to be lost on their way.
    """

    protocol: str
    rounds: int
    epsilon: float
    uniform: float
    epsilon_of_all: float | None
    surviving: float
