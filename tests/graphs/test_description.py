"""What is said of a graph."""

import math

import pytest

from shuffledp.graphs import Graph, GraphDescription, describe_graph


def test_the_largest_part_is_described_and_the_rest_counted():
    edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 2), (5, 6), (7, 7)]
    found = describe_graph(Graph.from_edges(edges))
    assert (found.num_users, found.num_edges, found.merged_edges, found.dropped_loops) == (8, 5, 1, 1)
    assert (found.num_components, found.num_isolated, found.largest_component) == (4, 2, 4)
    assert (found.least_degree, found.largest_degree, found.is_bipartite) == (1, 3, False)
    assert found.spectral_gap == pytest.approx(0.2712864461218307)
    assert found.mixing_time == pytest.approx(math.log(4) / 0.2712864461218307)
    assert found.expected_empty == pytest.approx(2 * 0.75**4 + 0.625**4 + 0.875**4)
    assert GraphDescription.from_dict(found.to_dict()) == found


def test_two_sides_mix_with_laziness_only():
    found = describe_graph(Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)]))
    assert found.is_bipartite
    assert found.mixing_time == math.inf
    assert found.lazy_mixing_time == pytest.approx(math.log(4) / 0.5)


@pytest.mark.parametrize("people", [0, 1, 3])
def test_without_edges_nothing_mixes(people):
    found = describe_graph(Graph.from_edges([], people))
    assert (found.num_components, found.num_isolated) == (people, people)
    assert found.mixing_time == math.inf
