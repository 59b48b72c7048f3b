"""People offline, enumerated: every schedule, what is seen given it, and the gate, refusals included."""

import itertools
import math

import numpy as np
import pytest

from shuffledp.accounting import account, delta_at
from shuffledp.core.local_models import ProtocolModel
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.laws.churn_schedules import Schedule
from shuffledp.protocols.network.laws.churned_rounds import ChurnedWays
from shuffledp.protocols.network.laws.walk_gates import WalkGate
from shuffledp.protocols.network.people.overlays import Overlay
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.protocols.network.theorems.network_gate import NetworkGate, walk_gate
from shuffledp.randomizers import KaryRandomizedResponse, LdpModel
from soundness.exact_churn import every_schedule, laws_given
from soundness.exact_deltas import response
from soundness.exact_walks import GRAPHS, exact_delta, mean_overlap
from soundness.test_soundness_overlap import of_subsets, of_walks

EPSILONS = np.array([0.0, 0.1, 0.3, 0.6, 0.9])
CHANNEL = response(2, 1.0)
LOCAL = LdpModel(epsilon0=1.0)
OFFLINE = 0.2
WAYS = {
    "K3": ("K3", "stay"),
    "P3": ("P3", "stay"),
    "paw": ("paw", "stay"),
    "C4": ("C4", "stay"),
    "2x2": ((4, (2, 2)), "online"),
    "2x2, stay": ((4, (2, 2)), "stay"),
    "ragged 3": ((3, (2,)), "online"),
    "ragged 5": ((5, (2, 2)), "online"),
}
EVERY = [("K3", 3), ("P3", 3), ("paw", 2), ("C4", 2), ("2x2", 2), ("2x2, stay", 2), ("ragged 3", 3)]
QUICK = [("ragged 3", 2), ("K3", 2)]


def shuffler_on(way, rounds, rule, online=None, last=None, **options):
    graph = Graph.from_edges(GRAPHS[way][1]) if isinstance(way, str) else Overlay(*way)
    schedule = None if online is None else Schedule(online, rule, last)
    return RandomWalkShuffler(graph=graph, num_rounds=rounds, schedule=schedule, **options)


def people_in(way):
    return GRAPHS[way][0] if isinstance(way, str) else way[0]


def stated_deltas(shuffler, local=LOCAL):
    model = ProtocolModel(local=local, shuffle=shuffler.model(shuffler.num_users))
    return np.array([delta_at(model, epsilon=epsilon).guarantee.delta for epsilon in EPSILONS.tolist()])


def worst_delta(laws):
    """Of all victims and data, both directions."""
    return np.max([exact_delta(CHANNEL, laws, victim, None, EPSILONS) for victim in range(len(laws))], axis=0)


def chance_of(online):
    """Everybody offline with one chance in each round, by themselves."""
    away = int((~online).sum())
    return OFFLINE**away * (1 - OFFLINE) ** (online.size - away)


def cases(deep, quick):
    marked = [pytest.param(*case, marks=pytest.mark.deep, id=f"{case[0]}-{case[1]}") for case in deep]
    return [*(pytest.param(*case, id=f"{case[0]}-{case[1]}") for case in quick), *marked]


@pytest.mark.parametrize(("name", "rounds"), cases([*EVERY, ("ragged 5", 2)], QUICK))
def test_whoever_knows_the_schedule_learns_no_more_than_is_stated_given_it(name, rounds):
    way, rule = WAYS[name]
    seen, gains = {}, 0
    for online in every_schedule(people_in(way), rounds):
        laws = laws_given(way, online, rule)
        key = laws.round(13).tobytes()
        if key not in seen:
            seen[key] = worst_delta(laws)
            stated = stated_deltas(shuffler_on(way, rounds, rule, online))
            assert (seen[key] <= stated * (1 + 1e-12)).all()
            gains += stated[2] < 0.999 * LOCAL_DELTA
    assert gains > 0
    assert len(seen) > 4


LOCAL_DELTA = (math.exp(1.0) - math.exp(0.3)) / (1 + math.exp(1.0))  # at the third epsilon


@pytest.mark.parametrize(("name", "rounds"), cases([("paw", 2), ("2x2", 2)], QUICK))
def test_no_data_set_loses_more_than_the_overlaps_given_the_schedule_allow(name, rounds):
    way, rule = WAYS[name]
    for online in every_schedule(people_in(way), rounds)[::7]:
        laws = laws_given(way, online, rule)
        for victim in range(len(laws)):
            for data in itertools.product((0, 1), repeat=len(laws)):
                exact, bound = (of(laws, victim, data, EPSILONS) for of in (of_walks, of_subsets))
                assert (exact <= bound * (1 + 1e-12) + 1e-14).all()


@pytest.mark.parametrize(("name", "most"), cases([("K3", 3), ("paw", 2), ("2x2", 3), ("ragged 3", 4)], QUICK))
@pytest.mark.parametrize("overlap", [0.25, 0.6])
def test_behind_a_gate_all_that_is_seen_stays_below_what_is_stated_before_the_run(name, most, overlap):
    """Seen are the schedule, when it stopped, whether reports are handed in, and who hands in which."""
    way, rule = WAYS[name]
    gate = WalkGate(epsilon=0.9, delta=0.1, overlap=overlap)
    shuffler = shuffler_on(way, most, rule, offline=OFFLINE, gate=gate)
    stated, total, opened = stated_deltas(shuffler), np.zeros(len(EPSILONS)), 0.0
    known = {}
    for online in every_schedule(people_in(way), most):
        laws = [laws_given(way, online[: done + 1], rule) for done in range(most)]
        after = next((each for each in laws if mean_overlap(each) * (1 + 1e-12) >= overlap), None)
        if after is None:
            continue  # nothing is handed in, whatever the answers are
        opened += chance_of(online)
        key = after.round(13).tobytes()
        known[key] = known[key] if key in known else worst_delta(after)
        assert (known[key] <= stated * (1 + 1e-12)).all()
        total = total + chance_of(online) * known[key]  # the worst data may be others for each: from above
    assert (total <= stated * (1 + 1e-12)).all()
    assert opened > 0 or (name, overlap) in {("K3", 0.6), ("paw", 0.6)}  # whose few rounds never mix so much
    assert not opened or (total > 0.01 * opened * stated)[:2].all()


def test_a_gate_that_may_stay_shut_refuses_as_often_as_schedules_do():
    way, rule = WAYS["ragged 3"]
    gate = WalkGate(epsilon=0.9, delta=0.1, overlap=0.6)
    refused = 0.0
    for online in every_schedule(3, 2):
        ways = ChurnedWays(Overlay(*way), Schedule(online, rule))
        enough = any(mean_overlap(laws_given(way, online[: done + 1], rule)) >= 0.6 for done in range(2))
        assert (gate.first_open_round(ways) is not None) == enough
        refused += chance_of(online) * (not enough)
    assert 0.2 < refused < 0.5


def test_somebody_who_goes_offline_because_of_the_answer_is_not_covered():
    """What the hypothesis is for: the schedule shows the answer then, and no number of rounds hides it."""
    way, rule = WAYS["ragged 3"]
    gate = WalkGate(epsilon=0.9, delta=0.1, overlap=0.25)
    stated = stated_deltas(shuffler_on(way, 4, rule, gate=gate))
    views = []
    for answer in (False, True):
        online = np.ones((4, 3), dtype=bool)
        online[0, 0] = not answer
        views.append({online.tobytes(): 1.0})
    apart = sum(max(chance - math.exp(0.9) * views[1].get(seen, 0.0), 0.0) for seen, chance in views[0].items())
    assert apart == 1.0 > stated[-1]


def test_a_gate_is_stated_as_it_was_asked_for_and_for_two_answers_exactly_evaluated():
    coin = KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
    gate = walk_gate(coin, num_users=4, epsilon=0.8, delta=0.1)
    shuffler = shuffler_on("C4", 40, "stay", offline=0.1, gate=gate, laziness=0.3)
    model = ProtocolModel(local=coin.model, shuffle=shuffler.model(4))
    statement = account(model, delta=0.1)
    assert (statement.basis.theorem, statement.guarantee.epsilon) == ("network-gate", 0.8)
    assert NetworkGate().delta(model, epsilon=0.8) == pytest.approx(0.1, rel=1e-5)
    assert any(each.name == "independent-schedule" and each.is_assumed for each in statement.basis.hypotheses)
