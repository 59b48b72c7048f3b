"""What is said of a graph."""

import math

import pytest

from shuffledp.people.graphs import Graph, GraphDescription, describe_graph, largest_parts


def test_each_part_is_described_and_the_rest_counted():
    edges = [(5, 6), (0, 1), (1, 2), (2, 0), (2, 3), (3, 2), (7, 7)]
    graph = Graph.from_edges(edges)
    found = describe_graph(graph)
    assert (found.num_users, found.num_edges, found.merged_edges, found.dropped_loops) == (8, 5, 1, 1)
    assert (found.num_components, found.num_isolated) == (4, 2)
    assert (found.least_degree, found.largest_degree) == (0, 3)
    large, small = found.parts
    assert (large.first, large.num_users, large.num_edges, large.is_bipartite) == (0, 4, 4, False)
    assert (small.first, small.num_users, small.num_edges, small.is_bipartite) == (5, 2, 1, True)
    assert large.spectral_gap == pytest.approx(0.2712864461218307)
    assert large.mixing_time == pytest.approx(math.log(4) / 0.2712864461218307)
    assert large.expected_empty == pytest.approx(2 * 0.75**4 + 0.625**4 + 0.875**4)
    assert GraphDescription.from_dict(found.to_dict()) == found == describe_graph(graph, largest_parts(graph))
    assert [people.tolist() for people, _ in largest_parts(graph)] == [[0, 1, 2, 3], [5, 6]]


def test_only_the_largest_parts_are_described():
    pairs = [(2 * k, 2 * k + 1) for k in range(40)] + [(0, 2)]
    found = describe_graph(Graph.from_edges(pairs))
    assert (found.num_components, len(found.parts)) == (39, 16)
    assert [part.num_users for part in found.parts] == [4] + [2] * 15


def test_two_sides_mix_with_laziness_only():
    (found,) = describe_graph(Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)])).parts
    assert found.is_bipartite
    assert found.mixing_time == math.inf
    assert found.lazy_mixing_time == pytest.approx(math.log(4) / 0.5)


@pytest.mark.parametrize("people", [0, 1, 3])
def test_without_edges_there_are_no_parts(people):
    found = describe_graph(Graph.from_edges([], people))
    assert (found.num_components, found.num_isolated, found.parts) == (people, people, ())
