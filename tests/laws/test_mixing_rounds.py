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
    least, most, worst = mixing_rounds(PATH)
    assert least <= exact <= most
    assert worst is None
    monkeypatch.setattr(module, "_MOST_ROUNDS", 1)
    assert mixing_rounds(PATH) == (0, most, None)


@pytest.mark.parametrize("edges", [[(0, 1), (1, 2)], [(0, 1), (1, 2), (0, 2), (3, 4)]])
def test_two_sides_and_parts_never_mix(edges):
    assert mixing_rounds(Graph.from_edges(edges)) is None
