"""Both ends of the spectrum, against dense eigenvalues."""

import math

import numpy as np
import pytest

from shuffledp.errors import InvalidParameterError
from shuffledp.graphs import Graph, lazy_gap, mixing_time
from shuffledp.testing import SeededSource

PAW = Graph.from_edges([(0, 1), (1, 2), (0, 2), (2, 3)])


def eigenvalues(graph: Graph) -> np.ndarray:
    """All of them, ascending, from the transition matrix itself."""
    matrix = np.zeros((graph.num_users, graph.num_users))
    for person in range(graph.num_users):
        matrix[person, graph.neighbors_of(person)] = 1 / graph.degrees[person]
    return np.sort(np.linalg.eigvals(matrix).real)


def irregular(people: int, seed: int) -> Graph:
    rng = np.random.default_rng(seed)
    chain = np.column_stack([np.arange(people - 1), np.arange(1, people)])
    return Graph.from_edges(np.concatenate([chain, rng.zipf(1.7, (4 * people, 2)) % people]), people)


@pytest.mark.parametrize("people", [5, 80, 300, 700])
def test_both_ends_of_the_spectrum_are_those_of_all_eigenvalues(people):
    graph = irregular(people, people)
    values = eigenvalues(graph)
    assert graph.spectrum == pytest.approx((values[-2], values[0]), abs=1e-9)
    assert graph.spectral_gap == pytest.approx(1 - max(abs(values[-2]), abs(values[0])), abs=1e-9)


def test_a_long_ring_whose_eigenvalues_lie_close_together():
    people = 999
    ring = Graph.from_edges(np.column_stack([np.arange(people), np.roll(np.arange(people), 1)]))
    expected = (math.cos(2 * math.pi / people), -math.cos(math.pi / people))
    assert ring.spectrum == pytest.approx(expected, abs=1e-9)


def test_graphs_that_never_mix_have_no_gap():
    path = Graph.from_edges([(k, k + 1) for k in range(400)])
    assert path.spectrum[1] == -1
    parts = Graph.from_edges([(k, k + 1) for k in range(0, 600, 2)] + [(0, 601), (1, 601)])
    for graph in (path, parts, Graph.from_edges([(0, 1)]), Graph.from_edges([(0, 1), (2, 3)])):
        assert graph.spectral_gap == 0
        assert mixing_time(graph) == math.inf


def test_laziness_mixes_a_graph_of_two_sides():
    ring = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)])
    assert lazy_gap(ring, 0.5) == pytest.approx(0.5, abs=1e-12)
    assert lazy_gap(PAW, 0.0) == pytest.approx(0.2712864461218307, abs=1e-12)
    assert lazy_gap(PAW, 1.0) == 0
    assert mixing_time(PAW) == pytest.approx(math.log(4) / 0.2712864461218307)
    with pytest.raises(InvalidParameterError, match="laziness must be a number from 0 to 1"):
        lazy_gap(PAW, 1.5)


def test_the_smallest_graphs():
    assert Graph.from_edges([], 1).spectrum == (0.0, 0.0)
    assert Graph.from_edges([], 3).spectral_gap == 0
    complete = Graph.random_regular(299, 300, SeededSource(1))
    assert complete.spectrum == pytest.approx((-1 / 299, -1 / 299), abs=1e-9)


pytestmark = pytest.mark.deep  # long, and about nothing yet that a task file can name
