"""All edges of graphs that follow each other."""

from shuffledp.graphs import Graph, union

SQUARE = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)])
CROSS = Graph.from_edges([(0, 2), (1, 3)])


def test_sides_and_parts_are_those_of_all_graphs():
    assert union([SQUARE]) is SQUARE
    both = union([SQUARE, CROSS, SQUARE])
    assert both.num_edges == 6
    assert SQUARE.is_bipartite
    assert not both.is_bipartite
    assert not CROSS.is_connected
    assert union([CROSS, SQUARE]).is_connected
    assert union([Graph.from_edges([(0, 1)], 5)] * 2).num_users == 5
