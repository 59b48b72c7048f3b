"""Walks on random regular graphs that nobody draws: about what is found on those that are drawn."""

from fractions import Fraction

import numpy as np
import pytest

from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.laws import typical_walks
from shuffledp.protocols.network.laws.typical_walks import _returns, usual_likeness
from shuffledp.protocols.network.laws.walk_likeness import likeness
from shuffledp.testing import SeededSource


def back_at_the_root(degree, rounds):
    """By going through all depths, as fractions."""
    chances = {0: Fraction(1)}
    for _ in range(rounds):
        after: dict[int, Fraction] = {}
        for depth, chance in chances.items():
            up = Fraction(1, degree) if depth else Fraction(0)
            for to, share in ((depth - 1, up), (depth + 1, 1 - up)):
                if share:
                    after[to] = after.get(to, Fraction(0)) + chance * share
        chances = after
    return float(chances.get(0, Fraction(0)))


@pytest.mark.parametrize("degree", [3, 8])
def test_returns_are_those_to_the_root_of_a_tree(degree):
    assert _returns(degree, 9) == pytest.approx([back_at_the_root(degree, rounds) for rounds in range(10)], rel=1e-13)


@pytest.mark.parametrize(("people", "degree", "rounds"), [(300, 8, (9, 10, 13)), (400, 4, (30, 35, 38))])
def test_it_is_about_as_on_a_graph_that_is_drawn(people, degree, rounds):
    """To 30% of what is missing to one law, which a round changes by half of it."""
    drawn = Graph.random_regular(degree, people, SeededSource(people))
    for number in rounds:
        missing = [
            1 - each.mean_overlap for each in (usual_likeness(people, degree, number), likeness(drawn, number, 0))
        ]
        assert missing[0] == pytest.approx(missing[1], rel=0.3)


@pytest.mark.parametrize(("most_rounds", "rounds"), [(0, (21, 25)), (9, (14, 20))])
def test_where_not_all_rounds_are_swept_it_is_what_is_known_of_such_a_graph(monkeypatch, most_rounds, rounds):
    people, degree = 900, 8
    steps = most_rounds * people * people * (degree + 1)
    monkeypatch.setattr(typical_walks, "MOST_STEPS", steps)
    drawn = Graph.random_regular(degree, people, SeededSource(3))
    for number in rounds:
        one, other = usual_likeness(people, degree, number), likeness(drawn, number, 0.0, most_steps=steps)
        assert not other.exact
        assert 1 - one.mean_overlap == pytest.approx(1 - other.mean_overlap, rel=0.5)


def test_more_rounds_are_never_less_alike():
    for people in (900, 10_000, 15_000, 100_000):
        overlaps = [usual_likeness(people, 8, rounds).mean_overlap for rounds in range(0, 60, 2)]
        assert (np.diff(overlaps) >= 0).all()
        assert overlaps[0] == 0
        assert overlaps[-1] > 0.999
