"""What is said of walks before they are walked: of several graphs, colluders, losses, and what the paper prints."""

import math
from dataclasses import replace

import pytest

from cli.networks import ring_with_chords
from shuffledp.accounting import account, epsilon_of
from shuffledp.core.errors import InvalidParameterError
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.planning import network_plan
from shuffledp.protocols.network.planning.network_plan import plan_walk, shufflers_of_parts
from shuffledp.protocols.network.planning.network_rounds import NetworkShuffle, fewest_rounds, model_of
from shuffledp.randomizers import KaryRandomizedResponse

BIT = KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
DELTA = 0.05
RING = Graph.from_edges(ring_with_chords(12, 0))
CHORDS = Graph.from_edges([(one, (one + 2) % 12) for one in range(12)])  # two parts, the even and the odd
COMPLETE = Graph.from_edges([(one, other) for one in range(12) for other in range(one)])


@pytest.fixture(autouse=True)
def only_the_tasks_own_rounds(monkeypatch):
    """The search for other numbers of rounds takes long, and is tested elsewhere."""
    monkeypatch.setattr(network_plan, "fewest_rounds", lambda *_, **__: None)
    monkeypatch.setattr(network_plan, "_rounds_to_show", lambda shuffler, *_: [shuffler.num_rounds])


def walk(*graphs, randomizer=BIT, **keys) -> NetworkShuffle:
    return NetworkShuffle(graph=graphs, randomizer=randomizer, **keys)


def planned(graphs, num_rounds=3, **keys):
    return plan_walk(walk(*graphs, **keys), num_rounds, delta=DELTA)


def test_sides_and_parts_are_those_of_all_graphs_that_are_walked_along():
    together = planned((RING, COMPLETE))
    assert not together.two_sides
    assert together.num_parts == 1
    assert together.warnings == ()
    assert planned((RING, COMPLETE), 1).two_sides  # nobody gets to the second
    assert planned((RING, RING)).two_sides
    assert planned((CHORDS, COMPLETE)).num_parts == 1


def test_parts_of_several_graphs_are_accounted_for_each():
    found = planned((CHORDS, CHORDS), colluding=0.0)
    assert found.num_parts == 2
    assert [(part.people, part.mixing_time) for part in found.parts] == [(6, None), (6, None)]
    alone = next(iter(CHORDS.parts()))
    stated = account(model_of(walk(alone).shuffler(3), BIT.model), delta=DELTA)
    assert found.epsilon == pytest.approx(epsilon_of(stated.guarantee))


def test_parts_are_cut_once_and_remember_what_was_found():
    shuffler = walk(CHORDS).shuffler(3)
    assert shufflers_of_parts(shuffler) is shufflers_of_parts(shuffler)
    later = shufflers_of_parts(walk(CHORDS).shuffler(4))
    assert [part.graph for part in later] == [part.graph for part in shufflers_of_parts(shuffler)]
    assert all(one.graph is other.graph for one, other in zip(later, shufflers_of_parts(shuffler), strict=True))
    again = Graph(CHORDS.starts, CHORDS.neighbors)
    assert shufflers_of_parts(walk(again).shuffler(3))[0].graph is not later[0].graph


def test_no_rounds_are_looked_for_where_all_graphs_keep_to_their_sides():
    assert fewest_rounds(walk(RING, RING), delta=DELTA) is None


def test_mixing_is_that_of_the_slowest_part():
    found = planned((CHORDS,), laziness=0.5)
    assert math.isfinite(found.mixing_time)
    assert found.mixing_time == max(part.mixing_time for part in found.parts)
    assert found.distance_rounds[0] == found.distance_rounds[1] > 0


def test_of_very_many_parts_no_mixing_times_are_worked_out():
    pairs = Graph.from_edges([(person, person + 1) for person in range(0, 130, 2)])
    found = planned((pairs,), laziness=0.5)
    assert (found.num_parts, found.parts) == (65, ())
    assert (found.mixing_time, found.distance_rounds) == (None, None)


def test_the_tasks_own_colluders_are_first():
    assert [risk.share for risk in planned((COMPLETE,), colluding=0.25).risks] == [0.25, 0.01, 0.1, 0.5]
    assert [risk.share for risk in planned((COMPLETE,)).risks] == [0.01, 0.1, 0.5]
    assert [math.copysign(1, risk.exposure) for risk in planned((COMPLETE,), 0).risks] == [1, 1, 1]


def test_that_next_to_nothing_will_arrive_is_said():
    assert "Of 12 reports 0.012 are expected not to get lost" in planned((COMPLETE,), 10, dropout=0.5).warnings[0]
    assert planned((COMPLETE,), 1, dropout=0.01).warnings == ()
    few = Graph.from_edges([(0, 1), (1, 2), (0, 2), (2, 3)])
    assert planned((few,)).warnings == ()  # nothing is lost there
    assert "Of 4 reports" in planned((few,), dropout=0.01).warnings[0]


def test_handing_in_all_is_advised_where_it_is_better_in_all_respects():
    all_of_it = planned((COMPLETE,))
    assert all_of_it.epsilon_of_all is None
    assert not all_of_it.all_is_better
    assert replace(all_of_it, epsilon_of_all=all_of_it.epsilon).all_is_better
    assert not replace(all_of_it, epsilon_of_all=1.1 * all_of_it.epsilon).all_is_better


@pytest.mark.deep
def test_what_handing_in_all_would_guarantee_is_worked_out_for_the_same_rounds():
    assert planned((COMPLETE,), protocol="single").epsilon_of_all == planned((COMPLETE,)).epsilon


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rounds": 2.5}, "rounds must be an integer that is 0 or more; got rounds=2.5"),
        ({"rounds": -1}, "rounds must be"),
        ({"delta": 1.0}, "delta must be"),
    ],
)
def test_a_plan_refuses_what_is_no_number_of_rounds_or_no_delta(wrong, message):
    with pytest.raises(InvalidParameterError, match=message):
        plan_walk(walk(COMPLETE), **{"rounds": 1, "delta": DELTA, **wrong})
    with pytest.raises(InvalidParameterError, match="walk must be"):
        plan_walk(COMPLETE, 1, delta=DELTA)
