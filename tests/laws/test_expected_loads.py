"""What is expected at each place is the sum of everybody's law, in whatever order rounds are asked for."""

import numpy as np
import pytest

from shuffledp.laws import expected_held, expected_messages, position_bounds, position_distribution
from shuffledp.laws import walk_loads as loads
from shuffledp.people.graphs import Graph

EDGES = [(0, 1), (1, 2), (0, 2), (2, 3), (4, 5), (5, 6), (4, 6), (6, 7), (7, 8)]  # two parts; 9 has no neighbor


def fresh() -> Graph:
    return Graph.from_edges(EDGES, 10)


@pytest.mark.parametrize(("laziness", "dropout"), [(0.0, 0.0), (0.3, 0.0), (0.2, 0.01)])
def test_what_is_held_and_passed_on_is_that_of_everybodys_law(laziness, dropout):
    graph, passed, asked = fresh(), np.zeros(10), (3, 65, 200, 0, 400, 64, 63)
    expected = {}
    for rounds in range(max(asked) + 1):
        held = position_distribution(graph, None, rounds, laziness=laziness, dropout=dropout).sum(axis=0)
        expected[rounds] = held, passed.copy()
        passed += held * (1 - dropout) * (1 - laziness) * (graph.degrees > 0)
    for rounds in asked:
        options = {"laziness": laziness, "dropout": dropout}
        assert expected_held(graph, rounds, **options) == pytest.approx(expected[rounds][0], rel=1e-11)
        assert expected_messages(graph, rounds, **options) == pytest.approx(expected[rounds][1], rel=1e-11)
        alone = expected_messages(fresh(), rounds, **options)
        assert (expected_messages(graph, rounds, **options) == alone).all()  # wherever an earlier call ended


def test_rounds_are_walked_once_and_none_after_all_has_settled(monkeypatch):
    done, step = [], loads.one_round
    monkeypatch.setattr(loads, "one_round", lambda *args: done.append(1) or step(*args))
    graph = fresh()
    for rounds in (10, 30, 20, 30):
        expected_messages(graph, rounds)
        expected_held(graph, rounds)
    assert len(done) == 40  # 30, and again from 10 to 20
    expected_messages(graph, 100_000)
    assert len(done) < 1500


def test_where_walks_have_mixed_the_error_of_dummies_needs_no_walk_back():
    graph = Graph.from_edges([(one, (one + step) % 15) for one in range(15) for step in (1, 2, 4)] + [(0, 7)])
    for rounds in (3, 200):
        bounds = position_bounds(graph, rounds, dropout=0.001, submissions=2, most_steps=0)
        weights = bounds.dummy_count._shortfalls.chance
        exact = ((position_distribution(graph, None, rounds, dropout=0.001) @ weights) ** 2).sum()
        mixed = bounds.dummy_count._mixed_squares(graph, weights, 0.999**rounds)
        assert (mixed is None) == (rounds == 3)
        assert bounds.dummy_count._sum_of_squares(weights) == pytest.approx(exact, rel=1e-11)
