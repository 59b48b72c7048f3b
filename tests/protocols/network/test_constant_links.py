"""Links with slots, planned: how many, what they cost, and what is stated then."""

import math
from dataclasses import replace

import pytest

import shuffledp as sdp
from shuffledp.accounting import account
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.planning import calibrate
from shuffledp.protocols.network.laws.link_slots import surplus_chance
from shuffledp.protocols.network.planning.constant_links import SURPLUS_SHARE, ConstantLinks
from shuffledp.protocols.network.planning.network_plan import plan_walk
from shuffledp.protocols.network.planning.network_rounds import NetworkShuffle, fewest_rounds
from shuffledp.protocols.network.planning.overlay_designs import design_overlays
from shuffledp.protocols.network.planning.overlay_plan import plan_overlay
from shuffledp.testing import SeededSource

BIT = sdp.KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
COMPLETE = sdp.Graph.from_edges([(one, other) for one in range(20) for other in range(one)])
OVERLAY = sdp.Overlay(10_000, (10, 10, 10, 10))


def test_ten_thousand_people_in_groups_of_ten_send_225_slots_each():
    assert calibrate.slots(OVERLAY, 4, delta=1e-6) == (1, 8, 8, 8)
    plan = plan_overlay(NetworkShuffle(graph=OVERLAY, randomizer=BIT, links=ConstantLinks()), delta=1e-6)
    naive = plan_overlay(NetworkShuffle(graph=OVERLAY, randomizer=BIT), delta=1e-6)
    assert naive.links is None
    assert (plan.links.slots, plan.links.slots_mean, plan.links.surplus) == (225, 225.0, "waits")
    assert plan.own.theorem == "network-constant-pattern"
    assert naive.epsilon < plan.epsilon < naive.epsilon * 1.001
    shift = math.expm1(plan.epsilon) + 2 * (math.e - math.exp(plan.epsilon)) / (1 + math.e)
    assert plan.links.charge == pytest.approx(plan.links.overflow * shift, rel=1e-9)
    assert plan.links.overflow <= SURPLUS_SHARE * 1e-6


def test_on_a_graph_of_eight_neighbors_they_send_2744_in_39_rounds():
    graph = sdp.Graph.random_regular(8, 10_000, SeededSource(1))
    found = calibrate.slots(graph, 39, delta=1e-6)
    assert (found[0], set(found[1:]), 8 * sum(found)) == (1, {9}, 2_744)


@pytest.mark.parametrize("people", [30, 9_973])
def test_of_each_design_too_few_slots_are_as_rare_as_said(people):
    found = design_overlays(people, contacts=40, delta=1e-5)
    for each in found.designs:
        overlay = sdp.Overlay(people, each.sizes)
        assert surplus_chance(overlay, each.slots_per_link) <= SURPLUS_SHARE * 1e-5
    assert found.links.slots == found.chosen.slots
    model = sdp.RandomWalkShuffler(
        graph=sdp.Overlay(people, found.chosen.sizes), num_rounds=found.chosen.rounds, slots=found.links.slots_per_link
    ).model(people)
    stated = account(ProtocolModel(local=sdp.randomizers.LdpModel(epsilon0=1.0), shuffle=model), delta=1e-5)
    assert found.epsilon_watched == stated.guarantee.epsilon
    assert found.epsilon <= found.epsilon_watched


def test_each_number_of_rounds_has_slots_of_its_own():
    walk = NetworkShuffle(graph=COMPLETE, randomizer=BIT)
    naive, constant = (
        plan_walk(replace(walk, links=links), 3, delta=0.01, fewest_known=True)
        for links in (None, ConstantLinks(overflow=1e-4))
    )
    assert naive.epsilon < constant.epsilon < naive.epsilon * 1.02
    assert len(constant.links.slots_per_link) == constant.rounds == 3
    assert {row.theorem for row in constant.by_rounds} <= {"network-constant-pattern", "local-dp"}


def test_the_fewest_rounds_are_looked_for_without_slots():
    walk = NetworkShuffle(graph=COMPLETE, randomizer=BIT)
    assert fewest_rounds(replace(walk, links=ConstantLinks(slots=(1,))), delta=0.05) == fewest_rounds(walk, delta=0.05)


def test_given_slots_go_on_as_the_last_of_them():
    links = ConstantLinks(slots=(1, 2, 3))
    assert links.of(OVERLAY, 5, 0.0) == (1, 2, 3, 3, 3)
    assert links.of(OVERLAY, 2, 0.0) == (1, 2)
    assert links.of(OVERLAY, 0, 0.0) == ()


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"slots": ()}, "one number or more"),
        ({"slots": (0,)}, "each of slots"),
        ({"overflow": 0.0}, "overflow"),
        ({"surplus": "goes"}, "surplus"),
    ],
)
def test_links_that_are_none_are_refused(given, reason):
    with pytest.raises(InvalidParameterError, match=reason):
        ConstantLinks(**given)


@pytest.mark.parametrize("given", [{"delta": 0.0}, {"delta": 1e-6, "share": 0.0}, {"delta": 1e-6, "share": 1.5}])
def test_a_share_of_no_delta_is_refused(given):
    with pytest.raises(InvalidParameterError):
        calibrate.slots(OVERLAY, 4, **given)


@pytest.mark.parametrize("rounds", [-1, 1.5, None])
def test_slots_of_no_whole_number_of_rounds_are_refused(rounds):
    with pytest.raises(InvalidParameterError, match="num_rounds"):
        calibrate.slots(OVERLAY, rounds, delta=1e-6)
