"""Parts of the graphs that reports walk along: nothing leaves a part, so that each is a shuffle of its own people."""

from dataclasses import replace

from shuffledp._remembered import Remembered
from shuffledp.graphs import Graph, union
from shuffledp.graphs.structure import part_of
from shuffledp.shufflers import RandomWalkShuffler
from shuffledp.tasks.network import Graphs

__all__ = [
    "all_edges",
    "first_graph",
    "num_parts",
    "parts_of",
    "people_of",
    "perhaps_weakest",
    "shufflers_of_parts",
    "stays_on_sides",
    "together",
]

_MOST_PARTS = 64  # of which each is accounted for by itself
_REMEMBERED = 16  # shufflers: the numbers of rounds that one plan is about
_MOST_CUT = 2  # graphs, or sequences of them

_Measures = tuple[float, float, float]  # fewer people, and how far positions are apart: the larger, the worse

_SHUFFLERS: Remembered[tuple[RandomWalkShuffler, ...]] = Remembered(_REMEMBERED)
_CUT: Remembered[tuple[Graphs, ...]] = Remembered(_MOST_CUT)
_TOGETHER: Remembered[Graph] = Remembered(_MOST_CUT)


def first_graph(shuffler: RandomWalkShuffler) -> Graph:
    """The graph of the first round."""
    return shuffler.graph if isinstance(shuffler.graph, Graph) else shuffler.graph[0]


def all_edges(shuffler: RandomWalkShuffler) -> Graph:
    """Every edge that a report may take in some round."""
    return together(_graphs_of(shuffler))


def together(graphs: Graphs) -> Graph:
    """Every edge of any of these; the same graph at each call."""
    different = tuple({id(each): each for each in graphs}.values())
    if len(different) == 1:
        return different[0]
    found = _TOGETHER.get(different)
    return _TOGETHER.put(different, union(different)) if found is None else found


def stays_on_sides(everything: Graph, resting: float) -> bool:
    """Whether the number of rounds shows on which side of all edges a report began, as none ever rests."""
    return everything.is_bipartite and not resting


def people_of(shuffler: RandomWalkShuffler) -> int:
    """How many people walk along the graph."""
    return first_graph(shuffler).num_users


def num_parts(graph: Graph) -> int:
    """Parts that cannot reach each other."""
    return int(graph.components.max(initial=-1)) + 1


def shufflers_of_parts(shuffler: RandomWalkShuffler) -> tuple[RandomWalkShuffler, ...]:
    """A shuffler for each part, the largest first; none for more parts than are looked at.

    They are the same ones at each call, since each remembers what holds of its positions.
    """
    count = num_parts(all_edges(shuffler))
    if count == 1:
        return (shuffler,)
    if count > _MOST_PARTS:
        return ()
    found = _SHUFFLERS.get((shuffler,))
    return _SHUFFLERS.put((shuffler,), _cut_up(shuffler)) if found is None else found


def _cut_up(shuffler: RandomWalkShuffler) -> tuple[RandomWalkShuffler, ...]:
    return tuple(
        replace(
            shuffler,
            graph=part[0] if isinstance(shuffler.graph, Graph) else part,
            num_colluding=min(shuffler.num_colluding, part[0].num_users),
        )
        for part in sorted(parts_of(_graphs_of(shuffler)), key=lambda part: -part[0].num_users)
    )


def _graphs_of(shuffler: RandomWalkShuffler) -> Graphs:
    return (shuffler.graph,) if isinstance(shuffler.graph, Graph) else tuple(shuffler.graph)


def perhaps_weakest(parts: tuple[RandomWalkShuffler, ...]) -> tuple[RandomWalkShuffler, ...]:
    """Some of these, to which no more is guaranteed than to any other.

    Whoever hands in all is guaranteed no less if there are more people, and positions are nearer to each other, in both
    measures: so what holds of a part that is behind in all three holds of the other too.
    """
    if any(part.protocol != "all" for part in parts):
        return parts
    found: list[tuple[_Measures, RandomWalkShuffler]] = []
    for part in parts:
        people = people_of(part)
        model = part.model(people)
        mine = (-people, model.near_uniformity, model.separation)
        if not any(_is_behind(measures, mine) for measures, _ in found):
            found = [each for each in found if not _is_behind(mine, each[0])]
            found.append((mine, part))
    return tuple(part for _, part in found)


def _is_behind(one: _Measures, other: _Measures) -> bool:
    """In all measures, or equal."""
    return all(a >= b for a, b in zip(one, other, strict=True))


def parts_of(graphs: Graphs) -> list[Graphs]:
    """The same graphs, each cut down to people who reach each other in some of them.

    Parts are the same ones at each call with the same graphs, since each remembers its spectrum.
    """
    each = {id(graph): graph for graph in graphs}
    different, everything = tuple(each.values()), together(graphs)
    if everything.is_connected:
        return [graphs]
    cut = _CUT.get(different)
    if cut is None:
        insides = [everything.components == number for number in range(num_parts(everything))]
        pieces = (tuple(Graph(*part_of(graph, inside)) for graph in different) for inside in insides)
        cut = _CUT.put(different, tuple(pieces))
    places = {key: place for place, key in enumerate(each)}
    return [tuple(part[places[id(graph)]] for graph in graphs) for part in cut]
