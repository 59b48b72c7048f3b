"""After how many rounds it hardly matters where walks began."""

import numpy as np
import pytest

from shuffledp.graphs import Graph
from shuffledp.laws import mixing_rounds as module
from shuffledp.laws.mixing_rounds import mixing_rounds

PATH = Graph.from_edges([(0, 1), (1, 2), (0, 2), (2, 3), (3, 4)])  # a triangle with a tail of two


def distances(graph, rounds):
    step = np.zeros((graph.num_users, graph.num_users))
    for person in range(graph.num_users):
        step[person, graph.neighbors_of(person)] = 1 / graph.degrees[person]
    return np.abs(np.linalg.matrix_power(step, rounds) - graph.stationary).sum(axis=1) / 2


def test_rounds_and_the_worst_start_are_those_of_powers_of_the_matrix():
    found = mixing_rounds(PATH)
    assert found.least == found.most
    assert distances(PATH, found.most).max() <= 0.01 < distances(PATH, found.most - 1).max()
    assert distances(PATH, found.most - 1)[found.worst_start] == pytest.approx(distances(PATH, found.most - 1).max())


def test_of_many_people_the_rounds_are_between_two_bounds(monkeypatch):
    exact = mixing_rounds(PATH).most
    monkeypatch.setattr(module, "_MOST_PEOPLE", 4)
    least, most, worst, late = mixing_rounds(PATH)
    assert least <= exact <= most
    assert (worst, late) == (None, 4)
    monkeypatch.setattr(module, "_MOST_ROUNDS", 1)
    assert mixing_rounds(PATH) == (0, most, None, None)


def test_candidates_narrow_the_bounds_down(monkeypatch):
    """A clique with a tail of people who all have more neighbors than one person of the clique's side has."""
    clique = [(one, other) for one in range(12) for other in range(one)]
    graph = Graph.from_edges([*clique, (0, 12), (1, 13), (13, 14), (14, 15), (15, 13), (15, 16), (16, 17), (17, 15)])
    exact = mixing_rounds(graph)
    assert exact.worst_start == exact.late_start != int(graph.degrees.argmin())
    monkeypatch.setattr(module, "_MOST_PEOPLE", 4)
    before, found = mixing_rounds(graph), mixing_rounds(graph, candidates=2)
    assert before.least < found.least == exact.least
    assert found.late_start in (16, 17)  # who are alike
    assert found.worst_start is None


@pytest.mark.parametrize("edges", [[(0, 1), (1, 2)], [(0, 1), (1, 2), (0, 2), (3, 4)]])
def test_two_sides_and_parts_never_mix(edges):
    assert mixing_rounds(Graph.from_edges(edges)) is None
