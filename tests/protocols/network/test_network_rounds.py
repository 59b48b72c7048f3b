"""How many rounds are enough, and what holds where a graph is in parts; plans as values."""

import math

import pytest

from cli.networks import ring_with_chords
from shuffledp.accounting import account, epsilon_of
from shuffledp.core.errors import InvalidParameterError
from shuffledp.people.graphs import Graph, mixing_time
from shuffledp.protocols.network.planning import network_rounds
from shuffledp.protocols.network.planning.network_plan import plan_walk, shufflers_of_parts
from shuffledp.protocols.network.planning.network_rounds import (
    NetworkShuffle,
    _Search,
    fewest_rounds,
    model_of,
    nearest_epsilon,
    why_no_rounds,
)
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.testing import SeededSource

BIT = KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
DELTA = 0.05
GRAPH = Graph.from_edges(ring_with_chords(30, 150))
PARTS = Graph.from_edges(ring_with_chords(30, 150) + ring_with_chords(20, 90, first=30))
RING = Graph.from_edges(ring_with_chords(30, 0))

TRIANGLES = Graph.from_edges([(k + a, k + b) for k in range(0, 27, 3) for a, b in ((0, 1), (1, 2), (0, 2))])


def walk(graph=GRAPH, **keys) -> NetworkShuffle:
    return NetworkShuffle(graph=graph, randomizer=BIT, **keys)


@pytest.mark.deep
def test_the_fewest_rounds_are_enough_and_one_less_is_not():
    found = fewest_rounds(walk(), delta=DELTA)
    enough = 1.05 * nearest_epsilon(BIT.model, 30, DELTA)
    reached, before = (
        epsilon_of(account(model_of(walk().shuffler(rounds), BIT.model), delta=DELTA).guarantee)
        for rounds in (found, found - 1)
    )
    assert reached <= enough < before


@pytest.mark.parametrize("first", [1, 2, 200, 4652, 4653, 4746, 9000])
@pytest.mark.parametrize("known_from", [0, 4600, 4653])
def test_narrowing_down_finds_the_first_that_is_enough_wherever_it_begins(monkeypatch, first, known_from):
    asked = []

    def excess(search, uniform, number):
        asked.append(number)
        return math.inf if number < known_from else (4652.5 - number) / 100

    monkeypatch.setattr(network_rounds, "_excess", excess)
    search = _Search(walk(), DELTA, None)
    assert network_rounds._narrowed(search, 0.03, first) == 4653
    assert len(asked) == len(set(asked)) <= 28


@pytest.mark.parametrize("dropouts", [0.0007, 0.0004])
@pytest.mark.parametrize(("best", "width"), [(18, 0.6), (23, 2), (31, 1), (33, 0.6), (96, 9), (5, 1), (1, 0.6)])
def test_where_reports_get_lost_a_window_between_doublings_is_found(monkeypatch, best, width, dropouts):
    """From 16 rounds to 32 it got worse, and none were found, where 18 were enough."""
    asked = []

    def excess(search, uniform, number):
        asked.append(number)
        return math.inf if number < best / 4 else abs(number - best) - width

    monkeypatch.setattr(network_rounds, "_excess", excess)
    search = _Search(walk(Graph.random_regular(4, 4000), dropout=dropouts), 1e-3, None)
    uniform = nearest_epsilon(BIT.model, 4000, 1e-3)
    assert 90 < network_rounds._last_tried(search, uniform) < 210
    assert network_rounds._narrowed(search, uniform, 1) == best - math.floor(width)
    assert len(asked) == len(set(asked)) <= 24
    asked.clear()
    monkeypatch.setattr(network_rounds, "_excess", lambda *arguments: excess(*arguments) + 2 * width)
    assert network_rounds._narrowed(search, uniform, 1) is None
    assert len(asked) <= 24


@pytest.mark.parametrize("dropouts", [0.0005, 0.003, 0.2])
def test_no_rounds_are_tried_after_which_too_few_reports_are_left(dropouts):
    uniform = nearest_epsilon(BIT.model, 2000, 1e-3)
    search = _Search(walk(Graph.random_regular(4, 2000), dropout=dropouts), 1e-3, None)
    last = network_rounds._last_tried(search, uniform)
    reached = [
        nearest_epsilon(BIT.model, math.ceil(2000 * (1 - dropouts) ** number), 1e-3) / uniform
        for number in (last, last + 1)
    ]
    assert reached[0] <= 1.05 < reached[1]
    lossless = _Search(walk(search.walk.graph), 1e-3, None)
    assert network_rounds._last_tried(lossless, uniform) == network_rounds.MOST_ROUNDS


@pytest.mark.deep
def test_the_few_numbers_of_rounds_that_are_enough_where_reports_get_lost_are_found():
    lossy = walk(Graph.random_regular(16, 400, SeededSource(1)), dropout=0.005)
    enough = 1.05 * nearest_epsilon(BIT.model, 400, 1e-3)
    reached = {
        rounds: epsilon_of(account(model_of(lossy.shuffler(rounds), BIT.model), delta=1e-3).guarantee)
        for rounds in (*range(4, 14), 30)
    }
    enough_after = [rounds for rounds, epsilon in reached.items() if epsilon <= enough]
    assert 4 < enough_after[0] == fewest_rounds(lossy, delta=1e-3)
    assert 30 not in enough_after


@pytest.mark.parametrize(
    ("graph", "keys", "delta", "message"),
    [
        (RING, {}, DELTA, "the graph is bipartite and nobody is lazy"),
        (GRAPH, {"dropout": 0.5}, DELTA, "reports get lost on the way"),
        (GRAPH, {}, 1e-30, "gains next to nothing"),
        (PARTS, {"dropout": 0.5}, DELTA, "of each part; reports get lost on the way"),
        (TRIANGLES, {}, DELTA, "in more than 8 parts it is not looked for"),
        (GRAPH, {"offline": 0.1}, DELTA, "where offline is above 0"),
        (GRAPH, {"colluding": 0.1}, DELTA, "where colluding is above 0"),
    ],
)
def test_where_no_number_of_rounds_is_enough_the_reason_is_said(graph, keys, delta, message):
    assert fewest_rounds(walk(graph, **keys), delta=delta) is None
    assert message in why_no_rounds(walk(graph, **keys), delta=delta)
    with pytest.raises(InvalidParameterError, match=message):
        plan_walk(walk(graph, **keys), delta=delta)


def test_the_weakest_part_is_stated_for_everybody():
    shuffler = walk(PARTS).shuffler(9)
    parts = shufflers_of_parts(shuffler)
    assert [part.graph.num_users for part in parts] == [30, 20]
    epsilons = [epsilon_of(account(model_of(part, BIT.model), delta=DELTA).guarantee) for part in parts]
    stated = epsilon_of(account(model_of(shuffler, BIT.model), delta=DELTA).guarantee)
    assert stated == max(epsilons) < 1.0


def test_nothing_is_claimed_of_walks_whose_reports_wait_together():
    shuffler = walk(offline=0.1).shuffler(9)
    planned = plan_walk(walk(offline=0.1), shuffler, delta=DELTA)
    assert planned.epsilon == 1.0
    assert {row.epsilon for row in planned.by_rounds} == {1.0}
    assert planned.fewest_rounds is None
    assert [part.epsilon for part in planned.parts] == [1.0]
    assert planned.mixing_time == pytest.approx(mixing_time(GRAPH, 1 - 0.9**2))  # that of one report by itself
    assert not plan_walk(walk(RING, offline=0.1), 9, delta=DELTA).two_sides
    model = model_of(shuffler, BIT.model)
    assert model.shuffle.position_windows() == ()
    assert (model.shuffle.separation, model.shuffle.near_uniformity) == (1.0, math.inf)
    assert account(model, delta=DELTA).basis.theorem == "local-dp"


@pytest.mark.parametrize(
    ("dropouts", "excess", "found", "asked"),
    [(0.01, 0.5, None, True), (0.01, 0.0, 9, True), (0.0, 0.5, 9, False)],  # without losses more rounds harm nobody
)
def test_where_reports_get_lost_the_rounds_of_one_part_may_be_too_many_for_another(
    monkeypatch, dropouts, excess, found, asked
):
    fewest, seen = {30: 4, 20: 9}, []

    def excess_of(search, _uniform, number):
        seen.append((search.walk.num_users, number))
        return excess if search.walk.num_users == 30 else -1.0

    monkeypatch.setattr(network_rounds, "fewest_rounds", lambda part, **_: fewest[part.num_users])
    monkeypatch.setattr(network_rounds, "_excess", excess_of)
    search = _Search(walk(PARTS, dropout=dropouts), DELTA, None)
    assert network_rounds._enough_for_parts(search) == found
    assert ((30, 9) in seen) == asked


@pytest.mark.deep
def test_people_of_a_small_part_hand_in_no_more_than_there_are_of_them(monkeypatch):
    monkeypatch.setattr(network_rounds, "_NEAR_UNIFORM", 1.6)  # which a few rounds come to
    padded = walk(PARTS, protocol="padded", submissions=25)
    shuffler = padded.shuffler(9)
    found = plan_walk(padded, shuffler, delta=DELTA)
    assert [part.people for part in found.parts] == [30, 20]
    small = shufflers_of_parts(shuffler)[1].graph
    alone = walk(small, protocol="padded", submissions=20)
    assert found.parts[1].fewest_rounds == network_rounds.fewest_rounds(alone, delta=DELTA)


def test_rounds_are_found_that_come_near_to_a_uniform_shuffle_that_is_evaluated_exactly():
    everybody = Graph.from_edges([(one, other) for one in range(60) for other in range(one)])
    found = plan_walk(walk(everybody), delta=1e-3)
    assert found.uniform < found.epsilon <= 1.05 * found.uniform
    assert nearest_epsilon(BIT.model, 60, 1e-3) == pytest.approx(found.uniform, rel=1e-9)


@pytest.mark.deep
def test_nine_hundred_people_of_eight_neighbors_are_within_five_percent_of_uniform_after_fifteen_rounds():
    found = plan_walk(walk(Graph.random_regular(8, 900, SeededSource(8))), delta=1e-6)
    assert found.rounds == 15
    assert found.uniform == pytest.approx(0.1343, abs=1e-4)
