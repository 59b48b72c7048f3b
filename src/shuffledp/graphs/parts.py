"""Parts of the graphs that reports walk along in turn: nothing leaves a part, whatever the round."""

from collections.abc import Sequence

from shuffledp._remembered import Remembered
from shuffledp.graphs.graph import Graph
from shuffledp.graphs.structure import part_of
from shuffledp.graphs.union import union

__all__ = ["num_parts", "parts_of", "together"]

Graphs = tuple[Graph, ...]

_MOST_CUT = 2  # graphs, or sequences of them

_CUT: Remembered[tuple[Graphs, ...]] = Remembered(_MOST_CUT)
_TOGETHER: Remembered[Graph] = Remembered(_MOST_CUT)


def num_parts(graph: Graph) -> int:
    """Parts that cannot reach each other."""
    return int(graph.components.max(initial=-1)) + 1


def together(graphs: Sequence[Graph]) -> Graph:
    """Every edge of any of these; the same graph at each call."""
    different = tuple({id(each): each for each in graphs}.values())
    if len(different) == 1:
        return different[0]
    found = _TOGETHER.get(different)
    return _TOGETHER.put(different, union(different)) if found is None else found


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
