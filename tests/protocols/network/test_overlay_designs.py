"""Overlays to choose from: what each costs, which is best within limits, and what they are compared with."""

import math

import pytest

from shuffledp.accounting import account, epsilon_of
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.people.overlays import Overlay
from shuffledp.protocols.network.planning.network_rounds import NetworkShuffle, epsilon_of_uniform, fewest_rounds
from shuffledp.protocols.network.planning.overlay_designs import _TypicalModel, design_overlays
from shuffledp.protocols.network.planning.overlay_plan import OverlayCost, plan_overlay
from shuffledp.randomizers import KaryRandomizedResponse, LdpModel
from shuffledp.shufflers import UniformShuffleModel
from shuffledp.testing import SeededSource

TABLE = [  # people, sizes, contacts, messages, exposure and first hop with 1% of colluders, slots
    (900, (30, 30), 58, 1.93, 0.0193, 0.0097, 203),
    (1024, (2,) * 10, 10, 5.0, 0.053, 0.0054, 100),
    (9_973, (99, 100), 199, 1.98, 0.0198, 0.010, 599),
    (10_000, (10_000,), 9_999, 1.0, 0.010, 0.010, 9_999),
    (10_000, (100, 100), 198, 1.98, 0.0197, 0.0099, 594),
    (10_000, (10,) * 4, 36, 3.6, 0.0355, 0.009, 225),
    (1_000_000, (100,) * 3, 297, 2.97, 0.029, 0.0099, 1_287),
    (1_000_000, (10,) * 6, 54, 5.4, 0.053, 0.009, 414),
]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row[0]} in {len(row[1])} rounds")
def test_costs_are_those_of_an_independent_table(row):
    people, sizes, contacts, messages, exposure, first_hop, slots = row
    cost = OverlayCost.of(Overlay(people, sizes), colluding=math.ceil(0.01 * people), delta=1e-6)
    assert (cost.contacts, cost.rounds, cost.slots) == (contacts, len(sizes), slots)
    assert cost.messages == pytest.approx(messages, abs=0.005)
    assert cost.exposure == pytest.approx(exposure, abs=0.0006)
    assert cost.first_hop == pytest.approx(first_hop, abs=0.0001)


@pytest.mark.parametrize("people", [2, 3, 5, 37, 900])
def test_the_best_has_the_fewest_rounds_within_the_contacts(people):
    found = design_overlays(people, contacts=40)
    assert found.chosen == found.designs[found.best]
    assert found.chosen.contacts <= 40
    assert [each.rounds for each in found.designs] == sorted({each.rounds for each in found.designs})
    assert all(each.contacts > 40 for each in found.designs[: found.best])
    assert found.task_lines == ("[shuffler]", 'kind = "network"', "overlay = {contacts = 40}")


def test_where_rounds_alone_are_limited_the_fewest_contacts_are_best():
    found = design_overlays(900, rounds=3)
    assert found.chosen.sizes == (9, 10, 10)
    assert found.task_lines[-1] == "overlay = {groups = [9, 10, 10]}"
    assert design_overlays(900, rounds=99).chosen.contacts == 14


def test_what_all_overlays_guarantee_is_what_a_uniform_shuffle_does():
    found = design_overlays(900, epsilon0=2.0, delta=1e-5)
    uniform = ProtocolModel(local=LdpModel(epsilon0=2.0), shuffle=UniformShuffleModel(num_users=900))
    assert found.epsilon == pytest.approx(epsilon_of(account(uniform, delta=1e-5).guarantee), abs=1e-6)


def test_no_overlay_within_both_limits_is_said_with_what_would_be():
    with pytest.raises(InvalidParameterError, match="rounds must be 3 or more with contacts=30; or contacts 58"):
        design_overlays(900, contacts=30, rounds=2)


def test_a_random_graph_needs_more_rounds_messages_and_slots_than_overlays():
    found = design_overlays(900, contacts=60)
    graph = found.random_graph
    assert graph.degree == 8
    assert graph.rounds > 5 * found.chosen.rounds
    assert graph.exposure > 5 * found.chosen.exposure
    assert graph.slots > 4 * found.chosen.slots
    reached = {each.rounds: each.epsilon for each in graph.by_rounds}
    assert reached[graph.rounds] <= 1.05 * found.epsilon
    assert list(reached.values()) == sorted(reached.values(), reverse=True)
    assert design_overlays(900, contacts=15).random_graph.degree == 8
    assert design_overlays(10, contacts=9).random_graph is None


def test_slots_of_a_random_graph_are_those_of_an_independent_count():
    typical = _TypicalModel(num_users=10_000, degree=8, local=LdpModel(epsilon0=1.0), delta=1e-6)
    assert typical.slots(39) == 2_744


@pytest.mark.deep
@pytest.mark.parametrize("people", [300, 900, 40_000])
def test_the_rounds_of_a_usual_graph_are_about_those_of_one_that_is_drawn(people):
    drawn = Graph.random_regular(8, people, SeededSource(1))
    walk = NetworkShuffle(graph=drawn, randomizer=KaryRandomizedResponse(epsilon0=1.0, domain_size=3))
    usual = design_overlays(people).random_graph.rounds
    assert abs(usual - fewest_rounds(walk, delta=1e-6)) <= 1


def test_the_plan_of_an_overlay_says_what_its_rounds_do():
    randomizer = KaryRandomizedResponse(epsilon0=1.0, domain_size=4)
    walk = NetworkShuffle(graph=Overlay(300, (17, 17)), randomizer=randomizer, protocol="single", colluding=0.0)
    plan = plan_overlay(walk, delta=1e-4)
    assert plan.own.rounds == fewest_rounds(walk, delta=1e-4) == 2
    assert plan.uniform == epsilon_of_uniform(randomizer.model, 300, 1e-4)
    assert plan.epsilon <= plan.epsilon_of_all + 1e-9 <= plan.uniform + 1e-6
    assert plan.cost.colluding == 3
    assert [risk.share for risk in plan.risks] == [0.01, 0.1, 0.5]
    assert plan.risks[0].exposure == plan.cost.exposure
    assert plan.warnings == ()
    with pytest.raises(InvalidParameterError, match="`plan_walk` is for graphs"):
        plan_overlay(NetworkShuffle(graph=Graph.random_regular(4, 30), randomizer=randomizer), delta=1e-4)
