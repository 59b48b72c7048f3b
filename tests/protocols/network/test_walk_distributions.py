"""Exact laws of positions, against matrix powers, closed forms and hand-made cases."""

import math

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.laws import walk_distributions as module
from shuffledp.protocols.network.laws.walk_distributions import (
    distance_from_stationarity,
    first_round_within,
    mixing_rounds,
    position_distribution,
    position_distributions,
    unseen_probability,
)
from shuffledp.protocols.network.laws.walk_loads import expected_messages

PAW = Graph.from_edges([(0, 1), (1, 2), (0, 2), (2, 3)])
RING = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)])
WITH_LONER = Graph.from_edges([(0, 1), (1, 2)], 4)
PAW_SQUARES = {
    1: (0.5, 0.5, 1 / 3, 1.0),
    4: (0.2659143518518518, 0.2659143518518518, 0.36844135802469125, 0.2638888889),
}


def complete(people: int) -> Graph:
    return Graph.from_edges(np.column_stack(np.triu_indices(people, 1)))


def matrix(graph: Graph, laziness: float = 0.0) -> np.ndarray:
    moves = np.zeros((graph.num_users, graph.num_users))
    for person in range(graph.num_users):
        around = graph.neighbors_of(person)
        moves[person, around if around.size else person] = 1 / max(around.size, 1)
    return laziness * np.eye(graph.num_users) + (1 - laziness) * moves


@pytest.mark.parametrize("graph", [PAW, RING, WITH_LONER])
@pytest.mark.parametrize("laziness", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("dropout", [0.0, 0.1])
@pytest.mark.parametrize("num_rounds", [0, 1, 2, 7])
def test_laws_are_rows_of_matrix_powers(graph, laziness, dropout, num_rounds):
    expected = np.linalg.matrix_power((1 - dropout) * matrix(graph, laziness), num_rounds)
    chances = {"laziness": laziness, "dropout": dropout}
    np.testing.assert_allclose(position_distribution(graph, None, num_rounds, **chances), expected, atol=1e-15)
    for start in range(graph.num_users):
        np.testing.assert_allclose(
            position_distribution(graph, start, num_rounds, **chances), expected[start], atol=1e-15
        )


@pytest.mark.parametrize(("people", "rounds"), [(5, 3), (4, 6), (9, 1)])
def test_the_complete_graph_has_a_closed_form(people, rounds):
    back = 1 / people + (1 - 1 / people) * (-1 / (people - 1)) ** rounds
    assert position_distribution(complete(people), 0, rounds)[0] == pytest.approx(back, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("rounds", PAW_SQUARES)
def test_sums_of_squares_on_the_paw(rounds):
    squares = (position_distribution(PAW, None, rounds) ** 2).sum(axis=1)
    np.testing.assert_allclose(squares, PAW_SQUARES[rounds], rtol=1e-9)


def test_the_printed_bound_on_sums_of_squares_fails_on_the_paw_after_four_rounds():
    excess = (position_distribution(PAW, 2, 4) ** 2).sum() - (PAW.stationary**2).sum()
    assert excess == pytest.approx(0.0871914, abs=1e-6)
    assert excess > (1 - PAW.spectral_gap) ** 8


def test_a_graph_for_each_round_multiplies_their_matrices_in_order():
    graphs = [PAW, RING, PAW]
    expected = matrix(PAW) @ matrix(RING) @ matrix(PAW)
    np.testing.assert_allclose(position_distribution(graphs, None, 3), expected, atol=1e-15)
    assert np.abs(expected - matrix(PAW) @ matrix(PAW) @ matrix(RING)).max() > 0.1


def test_blocks_of_starts_are_the_rows_asked_for():
    ring = Graph.from_edges(np.column_stack([np.arange(700), np.roll(np.arange(700), 1)]))
    blocks = list(position_distributions(ring, 3))
    assert np.concatenate([starts for starts, _ in blocks]).tolist() == list(range(700))
    np.testing.assert_allclose(np.concatenate([laws for _, laws in blocks]), position_distribution(ring, None, 3))
    ((starts, laws),) = position_distributions(ring, 3, starts=[5, 9])
    assert starts.tolist() == [5, 9]
    assert laws[1, 9 + 3] == 1 / 8


def test_the_first_round_within_a_distance_is_the_first():
    found = first_round_within(PAW, 0.01)
    far = [max(distance_from_stationarity(PAW, law) for law in position_distribution(PAW, None, t)) for t in range(99)]
    assert far[found] <= 0.01 < far[found - 1]
    assert first_round_within(RING, 0.1, laziness=0.5) > 0
    assert first_round_within(PAW, 0.3, starts=[3]) <= first_round_within(PAW, 0.3)


@pytest.mark.parametrize(
    "graph", [RING, WITH_LONER, Graph.from_edges([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (3, 5)])]
)
def test_graphs_that_never_mix_have_no_first_round(graph):
    with pytest.raises(UnsupportedModelError, match="never get near one law"):
        first_round_within(graph, 0.1)


def test_expected_messages_follow_where_reports_are():
    sent = expected_messages(PAW, 2, laziness=0.5, dropout=0.1)
    after = 0.9 * np.ones(4) @ matrix(PAW, 0.5)
    np.testing.assert_allclose(sent, 0.9 * 0.5 * (np.ones(4) + after), rtol=1e-14)
    assert expected_messages(PAW, 3, offline=0.5).sum() == pytest.approx(3)  # both ends must be online
    assert expected_messages(WITH_LONER, 1)[3] == 0


def test_who_is_unseen_has_met_no_colluder():
    ring = complete(4)
    np.testing.assert_allclose(unseen_probability(ring, [3], 1), [2 / 3, 2 / 3, 2 / 3, 0])
    np.testing.assert_allclose(unseen_probability(ring, [3], 5), [(2 / 3) ** 5] * 3 + [0], rtol=1e-14)
    assert unseen_probability(ring, [], 9).tolist() == pytest.approx([1.0] * 4)
    kept = matrix(PAW, 0.25)[np.ix_([1, 2, 3], [1, 2, 3])]
    expected = np.linalg.matrix_power(kept, 3).sum(axis=1)
    np.testing.assert_allclose(unseen_probability(PAW, [0], 3, laziness=0.25), [0, *expected], atol=1e-15)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: position_distribution(PAW, 0, -1),
            "num_rounds must be an integer that is 0 or more; got num_rounds=-1",
        ),
        (lambda: position_distribution(PAW, 0, 1.5), "num_rounds must be an integer"),
        (lambda: position_distribution(PAW, 4, 1), "start must be below the number of people, 4; got start=4"),
        (lambda: position_distribution(PAW, 0, 1, laziness=-0.1), "laziness must be a number from 0 to 1"),
        (lambda: position_distribution(PAW, 0, 1, dropout=math.nan), "dropout must be a number from 0 to 1"),
        (
            lambda: position_distribution([], 0, 3),
            "graph must be one graph, or a list of one or more; got an empty one",
        ),
        (lambda: position_distribution([PAW, complete(5)], 0, 2), "of the same people"),
        (lambda: position_distribution("friends.csv", 0, 1), "graph must be a Graph"),
        (lambda: list(position_distributions(PAW, 1, starts=[7])), r"starts must be in range\(4\)"),
        (lambda: first_round_within(PAW, 0.0), "tolerance must be a number strictly between 0 and 1"),
        (lambda: unseen_probability(PAW, [4], 1), r"colluding must be in range\(4\)"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(InvalidParameterError, match=message):
        call()


def test_too_many_laws_are_not_returned_at_once():
    ring = Graph.from_edges(np.column_stack([np.arange(5000), np.roll(np.arange(5000), 1)]))
    with pytest.raises(UnsupportedModelError, match="at most 4096 people; got 5000"):
        position_distribution(ring, None, 1)
    with pytest.raises(UnsupportedModelError, match="give starts"):
        first_round_within(ring, 0.1)


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
    monkeypatch.setattr(module, "_LARGEST_MATRIX", 4)
    least, most, worst, late = mixing_rounds(PATH)
    assert least <= exact <= most
    assert (worst, late) == (None, 4)
    monkeypatch.setattr(module, "_MOST_MIXING_ROUNDS", 1)
    assert mixing_rounds(PATH) == (0, most, None, None)


def test_far_starts_narrow_the_bounds_down(monkeypatch):
    """A clique with a tail of people who all have more neighbors than one person of the clique's side has."""
    clique = [(one, other) for one in range(12) for other in range(one)]
    graph = Graph.from_edges([*clique, (0, 12), (1, 13), (13, 14), (14, 15), (15, 13), (15, 16), (16, 17), (17, 15)])
    exact = mixing_rounds(graph)
    assert exact.worst_start == exact.late_start != int(graph.degrees.argmin())
    monkeypatch.setattr(module, "_LARGEST_MATRIX", 4)
    found = mixing_rounds(graph)
    monkeypatch.setattr(module, "_FAR_STARTS", 0)
    before = mixing_rounds(graph)
    assert before.least < found.least == exact.least
    assert found.late_start in (16, 17)  # who are alike
    assert found.worst_start is None


@pytest.mark.parametrize("edges", [[(0, 1), (1, 2)], [(0, 1), (1, 2), (0, 2), (3, 4)]])
def test_two_sides_and_parts_never_mix(edges):
    assert mixing_rounds(Graph.from_edges(edges)) is None
