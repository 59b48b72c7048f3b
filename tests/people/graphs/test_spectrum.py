"""Both ends of the spectrum, against dense eigenvalues."""

import itertools
import math

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.people.graphs import Graph, certain_gap, lazy_gap, mixing_time
from shuffledp.people.graphs.spectrum import _beyond, spectrum
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


def ring(people: int) -> Graph:
    return Graph.from_edges(np.column_stack([np.arange(people), np.roll(np.arange(people), 1)]))


@pytest.mark.parametrize("graph", [ring(999), irregular(700, 3), Graph.random_regular(6, 600, SeededSource(2))])
@pytest.mark.parametrize("steps", [32, 64, 128])
def test_after_few_steps_the_ends_lie_no_further_than_the_error(graph, steps):
    second, smallest = graph.spectrum
    found = spectrum(graph, most_products=steps * (graph.num_users + graph.neighbors.size))
    assert found.second <= second + 1e-12 <= found.second + found.error
    assert found.smallest >= smallest - 1e-12 >= found.smallest - found.error


def test_the_error_falls_with_the_square_of_the_steps():
    errors = [_beyond(0.5, -0.5, steps, 3000) for steps in (256, 512, 1024, 2048)]
    assert all(0.2 < later / earlier < 0.3 for earlier, later in itertools.pairwise(errors))
    assert 0.002 < errors[0] < 0.02
    assert _beyond(0.999, -0.999, 32, 3000) == pytest.approx(0.001, abs=1e-6)  # no eigenvalue is beyond 1 and -1


def test_guarantees_rest_on_what_is_certain_of_the_gap():
    graph = ring(3001)
    hasty = Graph(graph.starts, graph.neighbors)
    hasty.__dict__["_spectrum"] = spectrum(graph, most_products=64 * 9003)
    for laziness in (0.0, 0.5):
        assert certain_gap(hasty, laziness) <= lazy_gap(graph, laziness) < lazy_gap(hasty, laziness)
        assert certain_gap(graph, laziness) == pytest.approx(lazy_gap(graph, laziness), abs=2e-8)
