"""Walks with people offline: what is stated given the schedule, and before the run behind a gate."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shuffledp.accounting import account, account_all, compose_releases, delta_at
from shuffledp.core.errors import HypothesisError, InvalidParameterError, LocalProtocolError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.core.statement_terms import Trust
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.laws.churn_schedules import Schedule
from shuffledp.protocols.network.laws.churned_rounds import ChurnedWays
from shuffledp.protocols.network.laws.walk_gates import WalkGate
from shuffledp.protocols.network.people.overlays import Overlay
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.protocols.network.theorems.network_gate import NetworkGate, walk_gate
from shuffledp.protocols.network.theorems.network_overlap import NetworkOverlap
from shuffledp.randomizers import KaryRandomizedResponse, LdpModel
from shuffledp.testing import SeededSource

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "overlap.json").read_text(encoding="utf-8"))["rows"]
GRIDS = [row for row in GOLDEN if row["kind"] == "churn_grid"]
LDP, COIN = LdpModel(epsilon0=1.0), KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
GRAPH, OVERLAY = Graph.random_regular(8, 900, SeededSource(1)), Overlay(900, (30, 30))
SMALL = Overlay(36, (6, 6))
GATE = WalkGate(epsilon=0.95, delta=1e-2, overlap=0.6)


def stated(shuffler, local=LDP, delta=1e-6):
    return account(ProtocolModel(local=local, shuffle=shuffler.model(shuffler.num_users)), delta=delta)


@pytest.mark.parametrize("row", GRIDS, ids=lambda row: f"{row['inputs']['side']}-{row['inputs']['rounds']}")
def test_epsilons_given_a_schedule_are_those_of_an_independent_sum(row):
    given, expected = row["inputs"], row["expected"]
    side, rounds = given["side"], given["rounds"]
    online = (7 * np.arange(side * side) + 3 * np.arange(rounds)[:, None]) % 23 != 0
    schedule = Schedule(online, given["rule"])
    shuffler = RandomWalkShuffler(graph=Overlay(side * side, (side, side)), num_rounds=rounds, schedule=schedule)
    found = stated(shuffler, delta=given["delta"]).guarantee.epsilon
    assert expected["epsilon_least"] * (1 - 1e-6) <= found <= expected["epsilon"] + row["tolerance"]["epsilon"]


@pytest.mark.parametrize(
    ("graph", "offline", "rounds", "expected"),
    [
        (GRAPH, 0.01, 23, 0.15754),
        pytest.param(GRAPH, 0.1, 30, 0.15764, marks=pytest.mark.deep),
        (OVERLAY, 0.01, 6, 0.1579),
    ],
)
def test_nine_hundred_people_of_whom_some_are_offline_come_near_a_uniform_shuffle(graph, offline, rounds, expected):
    shuffler = RandomWalkShuffler(graph=graph, num_rounds=rounds, offline=offline)
    assert stated(shuffler).guarantee.epsilon == 1.0  # before the run
    epsilons = sorted(stated(shuffler.scheduled(source=SeededSource(seed))).guarantee.epsilon for seed in (1, 2))
    assert epsilons[0] > 0.1573  # that of a uniform shuffle
    assert epsilons[0] == pytest.approx(expected, rel=0.005 if graph is GRAPH else 0.03)  # an overlay is brittle


def test_a_gate_states_beforehand_what_each_run_keeps():
    gate = walk_gate(LDP, num_users=900, epsilon=0.16, delta=1e-6)
    assert 0.96 < gate.overlap < 0.98
    shuffler = RandomWalkShuffler(graph=OVERLAY, num_rounds=12, offline=0.01, gate=gate)
    before = stated(shuffler)
    assert (before.basis.theorem, before.guarantee.epsilon) == ("network-gate", 0.16)
    walked = shuffler.scheduled(source=SeededSource(7))
    assert 4 < walked.num_rounds <= 12
    assert walked.gate.first_open_round(walked.ways) == walked.num_rounds
    after = stated(walked)
    assert (after.basis.theorem, after.guarantee.epsilon) == ("network-gate", 0.16)  # one number, before and after
    given = stated(replace(walked, gate=None))
    assert given.basis.theorem == "network-overlap"
    assert 0.1573 < given.guarantee.epsilon <= 0.16


def test_the_gate_is_the_least_overlap_that_keeps_the_promise():
    gate = walk_gate(LDP, num_users=100, epsilon=0.6, delta=1e-4)
    for overlap, kept in ((gate.overlap, True), (gate.overlap * (1 - 1e-4), False)):
        shuffler = RandomWalkShuffler(graph=SMALL, num_rounds=9, gate=replace(gate, overlap=overlap))
        model = ProtocolModel(local=LDP, shuffle=replace(shuffler.model(36), num_users=100, sizes=()))
        assert (NetworkGate().delta(model, epsilon=0.6) <= 1e-4) is kept
        assert (NetworkGate().epsilon(model, delta=1e-4) == 0.6) is kept


def test_the_curve_goes_by_the_overlap_whatever_the_gate_claims():
    honest, boastful = (WalkGate(epsilon=claim, delta=1e-2, overlap=0.3) for claim in (0.95, 0.01))
    models = [
        ProtocolModel(local=LDP, shuffle=RandomWalkShuffler(graph=SMALL, num_rounds=9, gate=each).model(36))
        for each in (honest, boastful)
    ]
    epsilons = np.array([0.2, 0.5, 0.8])
    deltas = [[delta_at(model, epsilon=epsilon).guarantee.delta for epsilon in epsilons] for model in models]
    assert deltas[0] == deltas[1]
    assert (np.diff(deltas[0]) < 0).all()
    assert (NetworkGate().curve(models[0], epsilons=epsilons) >= np.array(deltas[0]) * (1 - 1e-9)).all()
    assert NetworkGate().epsilon(models[1], delta=1e-2) > 0.5  # and not the 0.01 that is claimed
    assert NetworkGate().epsilon(models[1], delta=0.3) < NetworkGate().epsilon(models[1], delta=1e-2)
    overlapping = replace(models[0].shuffle, gate=None, mean_overlap=0.3, sizes=())
    same = ProtocolModel(local=LDP, shuffle=overlapping)
    assert deltas[0] == [NetworkOverlap().delta(same, epsilon=epsilon) for epsilon in epsilons]


def test_releases_behind_gates_compose():
    gate = walk_gate(COIN, num_users=36, epsilon=0.8, delta=1e-3)
    shuffler = RandomWalkShuffler(graph=SMALL, num_rounds=9, offline=0.05, gate=gate)
    model = ProtocolModel(local=COIN.model, shuffle=shuffler.model(36))
    together = compose_releases([model, model], delta=1e-2)
    assert 0.8 < together.guarantee.epsilon < 1.6


def test_who_is_online_is_a_hypothesis_and_a_line_of_trust_and_survives_json():
    shuffler = RandomWalkShuffler(graph=SMALL, num_rounds=20, offline=0.05, gate=GATE)
    walked = shuffler.scheduled(source=SeededSource(2))
    for each in (shuffler, walked, replace(walked, gate=None)):
        statement, model = stated(each, delta=1e-2), each.model(36)
        assumed = [one for one in statement.basis.hypotheses if one.name == "independent-schedule"]
        assert [one.is_assumed for one in assumed] == [True]
        assert Trust.EVERYBODY_COUNTED in statement.trust
        assert Trust.EVERYBODY not in statement.trust
        assert "goes offline because of an answer" in str(statement)
        assert ShuffleModel.from_dict(json.loads(json.dumps(model.to_dict(), allow_nan=False))) == model
    assert "gate" not in RandomWalkShuffler(graph=SMALL, num_rounds=2).model(36).to_dict()


def test_losses_on_the_way_keep_the_gate_shut_for_longer():
    gate, source = replace(GATE, overlap=0.9), SeededSource(3)
    shuffler = RandomWalkShuffler(graph=SMALL, num_rounds=20, offline=0.02, gate=gate)
    walked = shuffler.scheduled(source=source)
    ways = ChurnedWays(SMALL, walked.schedule)
    assert gate.first_open_round(ways, dropout=0.05) is None  # 0.95^t is less already
    model = walked.model(36)
    with pytest.raises(InvalidParameterError, match="gate must be open: the attendance must leave a mean overlap"):
        replace(model, dropout=0.05)
    with pytest.raises(InvalidParameterError, match="gate must be open"):
        replace(model, mean_overlap=0.89)


def test_a_gate_that_stays_shut_hands_in_nothing():
    shuffler = RandomWalkShuffler(graph=SMALL, num_rounds=2, offline=0.5, gate=GATE)
    reports = COIN.randomize([0, 1] * 18)
    for act in (shuffler.walk, lambda: shuffler.shuffle(reports), shuffler.scheduled):
        with pytest.raises(LocalProtocolError, match="the gate stayed shut: after num_rounds=2 rounds"):
            act()


def test_no_lower_bound_is_stated_before_it_is_known_whether_a_gate_opens():
    """One that hardly ever opens hides nearly everything."""
    shuffler = RandomWalkShuffler(graph=SMALL, num_rounds=40, offline=0.01, gate=GATE)
    before, after = (
        [each.basis.theorem for each in account_all(ProtocolModel(local=COIN.model, shuffle=shuffle), delta=0.01)]
        for shuffle in (shuffler.model(36), shuffler.scheduled(source=SeededSource(1)).model(36))
    )
    assert "network-histogram" not in before
    assert "network-histogram" in after


def test_a_view_behind_a_gate_holds_all_reports_with_the_record_of_who_was_online():
    shuffler = RandomWalkShuffler(graph=SMALL, num_rounds=30, offline=0.05, gate=GATE)
    reports = COIN.randomize([0, 1] * 18)
    view = shuffler.shuffle(reports, source=SeededSource(4))
    assert (len(view), view.shuffle.num_rounds) == (36, view.shuffle.schedule.num_rounds)
    assert view.shuffle.mean_overlap >= GATE.overlap
    again = RandomWalkShuffler(
        graph=SMALL, num_rounds=view.shuffle.num_rounds, offline=0.05, gate=GATE, schedule=view.shuffle.schedule
    )
    assert again.model(36) == view.shuffle  # from the record alone


def test_without_a_gate_or_a_record_nothing_is_known():
    model = ProtocolModel(local=LDP, shuffle=RandomWalkShuffler(graph=SMALL, num_rounds=9, offline=0.1).model(36))
    assert not NetworkGate().applies(model, delta=1e-2)
    with pytest.raises(HypothesisError, match="no gate"):
        NetworkGate().state(model, delta=1e-2)
    assert NetworkGate().delta(model, epsilon=0.5) == 1.0
    assert account(model, delta=1e-2).basis.theorem == "local-dp"
    colluding = RandomWalkShuffler(graph=SMALL, num_rounds=9, gate=GATE, num_colluding=1)
    assert stated(colluding, delta=1e-2).basis.theorem == "local-dp"
    in_parts = Graph.from_edges([(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)])
    with pytest.raises(LocalProtocolError, match="shut"):
        RandomWalkShuffler(graph=in_parts, num_rounds=9, gate=replace(GATE, overlap=0.5)).scheduled()


@pytest.mark.parametrize(
    ("epsilon", "delta", "words"),
    [
        (1.0, 1e-6, "gate must be below epsilon0=1"),
        (0.15, 1e-6, "gate must be at least 0.157.*what a uniform shuffle of 900 people gives"),
        (-0.1, 1e-6, "gate must be"),
        (0.5, 0.0, "delta must be"),
    ],
)
def test_promises_that_no_gate_can_keep_are_refused(epsilon, delta, words):
    with pytest.raises(InvalidParameterError, match=words):
        walk_gate(LDP, num_users=900, epsilon=epsilon, delta=delta)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"protocol": "single", "gate": GATE, "dummies": COIN}, "gate must be left out for protocol='single'"),
        ({"gate": 0.16}, "gate must be a WalkGate"),
        ({"schedule": Schedule(np.ones((3, 36), dtype=bool))}, "schedule must be of num_rounds=4 rounds"),
        ({"schedule": Schedule(np.ones((4, 35), dtype=bool))}, "schedule must be of the people in the graph, 36"),
        ({"schedule": "yes"}, "schedule must be a Schedule"),
        ({"gate": GATE, "laziness": 0.1}, "laziness"),
        (
            {"schedule": Schedule(np.ones((4, 36), dtype=bool), "online"), "slots": (9,) * 4},
            "schedule must have the rule 'stay' where links have slots",
        ),
    ],
)
def test_what_does_not_go_with_people_offline_is_refused(options, words):
    with pytest.raises(InvalidParameterError, match=words):
        RandomWalkShuffler(**({"graph": SMALL, "num_rounds": 4} | options)).model(36)


def test_a_model_with_another_schedule_is_refused():
    model = RandomWalkShuffler(graph=SMALL, num_rounds=4, schedule=Schedule(np.ones((4, 36), dtype=bool))).model(36)
    assert math.isfinite(model.mean_overlap)
    with pytest.raises(InvalidParameterError, match="schedule must be of num_users=36 and num_rounds=5"):
        replace(model, num_rounds=5)
    with pytest.raises(InvalidParameterError, match="schedule must be left out for protocol='single'"):
        replace(model, protocol="single")
