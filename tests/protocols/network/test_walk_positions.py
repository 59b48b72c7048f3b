"""What is said of everybody's position holds for each law, and is no larger than it must be where laws are few."""

import itertools
import math

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.laws.walk_distributions import position_distribution
from shuffledp.protocols.network.laws.walk_positions import PositionBounds, position_bounds
from shuffledp.protocols.network.laws.walk_sampling import sample_walks
from shuffledp.testing import SeededSource
from statistical.thresholds import assert_lies_near, lies_near

PAW = Graph.from_edges([(0, 1), (1, 2), (0, 2), (2, 3)])
RING = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)])
IRREGULAR = Graph.from_edges([*itertools.pairwise(range(60)), *((0, k) for k in range(2, 60, 3)), (1, 7), (4, 30)])


def complete(people: int) -> Graph:
    return Graph.from_edges(np.column_stack(np.triu_indices(people, 1)))


def ranked(bounds: PositionBounds, people: int) -> np.ndarray:
    """The largest k probabilities together, for each k."""
    listed = np.repeat(*bounds.ranked)
    return np.cumsum(np.concatenate([listed, np.zeros(people - listed.size)]))


def likeness(laws: np.ndarray) -> float:
    found = 0.0
    for j, k, a, b in itertools.product(range(len(laws)), repeat=4):
        upper, lower = laws[j, a] * laws[k, b], laws[j, b] * laws[k, a]
        if upper > 0:
            found = max(found, math.log(upper / lower) if lower > 0 else math.inf)
    return found


@pytest.mark.parametrize("graph", [PAW, RING, IRREGULAR, complete(7)])
@pytest.mark.parametrize("num_rounds", [0, 1, 2, 5, 30, 200])
@pytest.mark.parametrize("most_steps", [10**9, 0])
@pytest.mark.parametrize(("laziness", "dropout"), [(0.0, 0.0), (0.4, 0.02)])
def test_bounds_hold_for_every_start(graph, num_rounds, most_steps, laziness, dropout):
    bounds = position_bounds(graph, num_rounds, laziness=laziness, dropout=dropout, most_steps=most_steps)
    walks = position_distribution(graph, None, num_rounds, laziness=laziness)
    laws = walks * (1 - dropout) ** num_rounds
    descending = np.cumsum(np.sort(laws, axis=1)[:, ::-1], axis=1)
    assert (descending <= ranked(bounds, graph.num_users) + 1e-12).all()
    assert bounds.likeness.separation >= 1 - walks.min(axis=0).sum()
    if graph.num_users < 10:
        assert bounds.likeness.near_uniformity >= likeness(walks)


@pytest.mark.parametrize(
    ("graph", "rounds", "expected"),
    [(complete(5), 4, 0.03883617171420317), (complete(4), 3, 0.30830135965451655), (PAW, 4, 2.538973871058276)],
)
def test_near_uniformity_is_exact_on_small_graphs(graph, rounds, expected):
    assert position_bounds(graph, rounds).likeness.near_uniformity == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("graph", [RING, Graph.from_edges([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)])])
def test_places_that_not_everybody_reaches_are_not_alike(graph):
    bounds = position_bounds(graph, 6)
    assert bounds.likeness.near_uniformity == math.inf
    assert bounds.likeness.separation == 1


def test_on_an_even_graph_that_has_mixed_everybody_is_everywhere():
    bounds = position_bounds(complete(9), 60)
    assert bounds.ranked == (pytest.approx((1 / 9,), rel=1e-9), (9,))
    assert bounds.likeness.near_uniformity < 1e-9
    assert bounds.likeness.separation < 1e-9


def test_many_places_fall_into_few_classes_that_add_up_to_little_more_than_one():
    graph = Graph.random_regular(5, 800, SeededSource(3))
    bounds = position_bounds(graph, 6)
    assert bounds.likeness.exact
    assert len(bounds.ranked[1]) < 150
    total = np.dot(*bounds.ranked)
    assert 1 <= total < 1.011
    worst = position_distribution(graph, bounds.likeness.worst_start, 6)
    squares = (position_distribution(graph, None, 6) ** 2).sum(axis=1)
    assert (worst**2).sum() == pytest.approx(squares.max(), rel=1e-12)


def test_before_the_first_round_everybody_is_at_home():
    bounds = position_bounds(PAW, 0)
    assert (bounds.ranked, bounds.dummies) == (((1.0,), (1,)), 0.0)
    assert bounds.likeness.near_uniformity == math.inf
    assert bounds.likeness.separation == 1


def test_expected_dummies_are_exact_for_one_submission():
    for rounds in (1, 2, 5):
        laws = position_distribution(PAW, None, rounds)
        assert position_bounds(PAW, rounds).dummies == pytest.approx(np.prod(1 - laws, axis=0).sum(), rel=1e-12)
    assert position_bounds(complete(30), 90).dummies == pytest.approx(30 * (1 - 1 / 30) ** 30, rel=1e-9)


STAR = Graph.from_edges([(0, leaf) for leaf in range(1, 90)])


@pytest.mark.parametrize("graph", [PAW, IRREGULAR, STAR])
@pytest.mark.parametrize("submissions", [1, 2, 4, 30, 60])
@pytest.mark.parametrize("dropout", [0.0, 0.04])
def test_expected_dummies_are_those_of_each_persons_law(graph, submissions, dropout):
    """Where nobody holds so many but by a miracle, they are not counted one by one, and yet are what counting gives."""
    laws = position_distribution(graph, None, 5, dropout=dropout)
    expected = 0.0
    for chances in laws.T:
        held = np.ones(1)
        for chance in chances:
            held = np.convolve(held, [1 - chance, chance])
        expected += np.maximum(submissions - np.arange(held.size), 0) @ held
    found = position_bounds(graph, 5, dropout=dropout, submissions=submissions)
    assert found.dummies == pytest.approx(expected, rel=1e-12)
    assert found.dummies >= graph.num_users * (submissions - (1 - dropout) ** 5) * (1 - 1e-12)


@pytest.mark.parametrize("most_steps", [10**9, 0])
def test_all_that_is_lacking_of_very_many_is_what_is_not_lost(most_steps):
    graph = Graph.random_regular(8, 400, SeededSource(5))
    found = position_bounds(graph, 8, dropout=0.03, submissions=400, most_steps=most_steps)
    survival = 0.97**8
    assert found.dummies == pytest.approx(400 * (400 - survival), rel=1e-12)
    assert found.dummies_error == pytest.approx(math.sqrt(400 * survival * (1 - survival)), rel=1e-9)


@pytest.mark.parametrize("submissions", [1, 2, 3])
@pytest.mark.parametrize("most_steps", [10**9, 0])
def test_dummies_are_as_many_as_walks_leave_room_for(submissions, most_steps):
    graph = Graph.random_regular(8, 500, SeededSource(5))
    found = position_bounds(graph, 8, dropout=0.03, submissions=submissions, most_steps=most_steps)
    source, lacking = SeededSource(submissions), []
    for _ in range(1500):
        ends = sample_walks(graph, 8, dropout=0.03, source=source).positions
        held = np.bincount(ends[ends >= 0], minlength=500)
        lacking.append(np.maximum(submissions - held, 0).sum())
    spread = np.std(lacking) / math.sqrt(len(lacking))
    assert_lies_near(np.mean(lacking), found.dummies, spread)
    assert not lies_near(np.mean(lacking), found.dummies * 1.02, spread)
    # Of numbers of different people only the first order of how they hang together is counted.
    assert found.dummies_error == pytest.approx(np.std(lacking), rel=0.15)


def test_a_graph_for_each_round_is_worked_out_from_all_starts():
    graphs = [PAW, RING, PAW, PAW]
    bounds, laws = position_bounds(graphs, 4), position_distribution(graphs, None, 4)
    assert bounds.likeness.near_uniformity == pytest.approx(likeness(laws), rel=1e-9)
    assert bounds.likeness.separation == pytest.approx(1 - laws.min(axis=0).sum(), rel=1e-9)
    nothing = position_bounds(graphs, 4, most_steps=0)
    assert (nothing.ranked[0], nothing.likeness.near_uniformity, nothing.likeness.separation) == ((1.0,), math.inf, 1.0)


def test_bad_input_is_refused():
    with pytest.raises(InvalidParameterError, match="submissions must be an integer that is 1 or more"):
        position_bounds(PAW, 1, submissions=0)
    with pytest.raises(InvalidParameterError, match="num_rounds must be an integer that is 0 or more"):
        position_bounds(PAW, -1)
