"""What is expected at each place is the sum of everybody's law, in whatever order rounds are asked for.

How many reports are lacking on graphs whose laws are too many to work out: right after few rounds, too.
"""

import math
from functools import partial

import numpy as np
import pytest

from shuffledp.analyzers import FrequencyAnalyzer
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.laws import walk_loads as loads
from shuffledp.protocols.network.laws.walk_distributions import position_distribution
from shuffledp.protocols.network.laws.walk_loads import expected_held, expected_messages
from shuffledp.protocols.network.laws.walk_positions import position_bounds
from shuffledp.protocols.network.laws.walk_sampling import sample_walks
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.testing import SeededSource
from statistical.thresholds import assert_lies_near, lies_near

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


SHUFFLER = "shuffledp.protocols.network.shufflers.random_walk"
SPARSE = Graph.random_regular(3, 20_000, SeededSource(1))
SMALL = Graph.random_regular(3, 600, SeededSource(2))
RING = Graph.from_edges([(person, (person + 1) % 600) for person in range(600)])


@pytest.mark.parametrize("num_rounds", [1, 5, 10])
def test_after_few_rounds_on_a_large_graph_estimates_are_unbiased_and_intervals_cover(monkeypatch, num_rounds):
    """As independent positions of one law it was up to 24% too many dummies: no interval covered."""
    monkeypatch.setattr(f"{SHUFFLER}.position_bounds", partial(position_bounds, most_steps=0))
    randomizer = KaryRandomizedResponse(epsilon0=3.0, domain_size=2)
    answers, source, analyzer = np.arange(SPARSE.num_users) % 2, SeededSource(num_rounds), FrequencyAnalyzer()
    shuffler = RandomWalkShuffler(graph=SPARSE, num_rounds=num_rounds, protocol="single", dummies=randomizer)
    assert not shuffler.bounds.likeness.exact
    lacking, errors = [], []
    for _ in range(20):
        ends = shuffler.walk(source=source).positions
        lacking.append(SPARSE.num_users - np.unique(ends).size)
        view = shuffler.hand_in(randomizer.randomize(answers, source=source), ends, source=source)
        found = analyzer.estimate(analyzer.summarize(view))
        errors.append((found.estimate[1] - 0.5) / found.standard_error[1])
    spread = shuffler.bounds.dummies_error
    assert_lies_near(np.mean(lacking), shuffler.bounds.dummies, spread * math.sqrt(1 / 20 + 1 / 100))
    assert not lies_near(20_000 * (1 - 1 / 20_000) ** 20_000, shuffler.bounds.dummies, spread / 10)
    assert_lies_near(np.mean(errors), 0.0, math.sqrt(1 / 20 + 1 / 100))
    assert np.mean(np.abs(errors) < 1.96) >= 0.75


@pytest.mark.parametrize(("graph", "dropout"), [(SMALL, 0.0), (SMALL, 0.05), (RING, 0.0), ([SMALL, RING] * 2, 0.02)])
@pytest.mark.parametrize("submissions", [1, 2])
@pytest.mark.parametrize("num_rounds", [4])
def test_simulated_numbers_are_near_those_of_all_laws(graph, dropout, submissions, num_rounds):
    """Also where no gap says anything: several graphs."""
    options = {"dropout": dropout, "submissions": submissions}
    exact, found = (position_bounds(graph, num_rounds, most_steps=most, **options) for most in (10**10, 0))
    assert exact.likeness.exact
    assert not found.likeness.exact
    assert found.dummy_count._simulated is not None
    assert_lies_near(found.dummies, exact.dummies, found.dummies_error / 10)
    source, lacking = SeededSource(7), []
    for _ in range(300):
        ends = sample_walks(graph, num_rounds, dropout=dropout, source=source).positions
        lacking.append(np.maximum(submissions - np.bincount(ends[ends >= 0], minlength=600), 0).sum())
    assert 0.85 * np.std(lacking) <= found.dummies_error < 1.6 * np.std(lacking)
    assert found.dummies == position_bounds(graph, num_rounds, most_steps=0, **options).dummies  # whoever asks


def test_where_walks_have_mixed_none_is_simulated_and_the_binomial_law_is_off_by_no_more_than_is_said():
    for num_rounds in (3, 6, 60):
        exact, found = (position_bounds(SMALL, num_rounds, most_steps=most) for most in (10**10, 0))
        binomial = 600 * (1 - 1 / 600) ** 600
        assert -1e-9 <= binomial - exact.dummies <= found.dummy_count._off
        assert (found.dummy_count._simulated is None) == (num_rounds == 60)
    assert found.dummies == pytest.approx(binomial, rel=1e-9)


def test_one_simulation_is_a_walk_of_everybody(monkeypatch):
    monkeypatch.setattr("shuffledp.protocols.network.laws.walk_loads._STEPS", 1)
    found = position_bounds(SMALL, 2, most_steps=0)
    ends = [sample_walks(SMALL, 2, source=SeededSource(0).substream("lacking", each)).positions for each in (0, 1)]
    assert found.dummies == np.mean([600 - np.unique(each).size for each in ends])
