"""Walks past every set of one or two colluders, enumerated: what they and the analyst see is never above the bounds."""

import itertools
import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from shuffledp.accounting import account, delta_at
from shuffledp.accounting.theorem import LocalOnly
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Trust
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.laws.walk_collusion import unseen
from shuffledp.protocols.network.people.overlays import Overlay, rounds_of
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.protocols.network.theorems.network_colluders import NetworkColluders, NetworkOnion
from shuffledp.protocols.network.theorems.network_constant_pattern import NetworkConstantPattern
from shuffledp.protocols.network.theorems.network_limits import NetworkFirstHop, NetworkHistogram
from shuffledp.randomizers import KaryRandomizedResponse, LdpModel
from soundness.exact_collusion import (
    exact_deltas,
    exact_deltas_of_paths,
    joint_law_of_paths,
    layered,
    recognized,
)
from soundness.exact_deltas import response
from soundness.exact_walks import GRAPHS, step_of

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "collusion.json").read_text(encoding="utf-8"))["rows"]
EPSILONS = (0.0, 0.2, 0.5, 0.9)
CHANNEL = response(2, 1.0)
BINARY = KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
OVERLAYS = {
    "3": Overlay(3, (3,)),
    "4": Overlay(4, (4,)),
    "ragged 3": Overlay(3, (2,)),
    "2x2": Overlay(4, (2, 2)),
    "ragged 5": Overlay(5, (2, 2)),
}
SLACK = 1e-12


def matrices_of(name, rounds):
    if name in GRAPHS:
        return [step_of(name)] * rounds
    return [each.transposed_transition().toarray().T for each in rounds_of(OVERLAYS[name], rounds)]


def graph_of(name):
    return Graph.from_edges(GRAPHS[name][1]) if name in GRAPHS else OVERLAYS[name]


@cache
def exact(name, rounds, colluders, victim, sees=recognized):
    return exact_deltas(matrices_of(name, rounds), set(colluders), victim, CHANNEL, EPSILONS, sees=sees)


def model_of(name, rounds, *, local=BINARY.model, **options):
    shuffler = RandomWalkShuffler(graph=graph_of(name), num_rounds=rounds, **options)
    return ProtocolModel(local=local, shuffle=shuffler.model(shuffler.num_users))


def stated(theorem, model):
    return np.array([theorem.delta(model, epsilon=epsilon) for epsilon in EPSILONS])


def sets_of(people, most=2):
    sizes = range(1, min(most, people - 2) + 1)
    return [who for size in sizes for who in itertools.combinations(range(people), size)]


def honest_of(people, colluders):
    return [person for person in range(people) if person not in colluders]


# ---- the enumeration itself ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [row for row in GOLDEN if row["kind"] == "onion_tiny"])
def test_onions_are_those_of_an_independent_enumeration(row):
    given, expected = row["inputs"], row["expected"]
    people, colluding, rounds = given["people"], given["colluders"], given["rounds"]
    honest = people - colluding
    matrices, who = [np.full((people, people), 1 / people)] * rounds, set(range(honest, people))
    zeros, epsilons = (0,) * (honest - 1), given["epsilons"]
    found = exact_deltas(matrices, who, 0, CHANNEL, epsilons, sees=layered, data=zeros)
    assert found == pytest.approx(expected["exact"], abs=row["tolerance"])
    shuffler = RandomWalkShuffler(
        graph=Overlay(people, (people,)), num_rounds=rounds, num_colluding=colluding, onion=True
    )
    model = ProtocolModel(local=BINARY.model, shuffle=shuffler.model(people))
    bound = np.array([NetworkOnion().delta(model, epsilon=epsilon) for epsilon in epsilons])
    assert (bound >= np.array(expected["bound"]) * (1 - SLACK)).all()  # which is of one data set


@pytest.mark.parametrize("row", [row for row in GOLDEN if row["kind"] == "collusion_tiny"])
def test_recognized_reports_are_those_of_an_independent_enumeration(row):
    given, expected, name = row["inputs"], row["expected"], row["inputs"]["overlay"].split()[0].rstrip(",")
    who, victim, epsilons = given["colluders"], given["victim"], given["epsilons"]
    people = 4
    found = exact_deltas(matrices_of(name, 2), set(who), victim, CHANNEL, epsilons, data=(0,) * (people - 2))
    assert found == pytest.approx(expected["exact"], abs=row["tolerance"])
    for rounds, bound in enumerate(expected["bound_after_each_round"]):
        model = of_person(name, 2, who, victim, only=rounds)
        stated_there = np.array([NetworkColluders().delta(model, epsilon=epsilon) for epsilon in epsilons])
        assert (stated_there >= np.array(bound) * (1 - SLACK)).all()
        assert (stated_there >= found * (1 - SLACK)).all()


# ---- recognized reports ----------------------------------------------------------------------------------------------


def of_person(name, rounds, colluders, victim, *, only=None, local=BINARY.model):
    """The model of one person's walk past these colluders, as if nobody were hidden worse; of one round, or all."""
    graph, people = graph_of(name), len(matrices_of(name, 1)[0])
    left = unseen(graph, colluders, rounds)
    chances, overlaps = left.chances[:, victim], left.overlaps[:, victim]
    if only is not None:
        chances, overlaps = (np.where(np.arange(rounds) == only, each, 0.0) for each in (chances, overlaps))
    walks = RandomWalkShuffler(graph=graph, num_rounds=rounds, num_colluding=len(colluders)).model(people)
    known = {"unseen_chances": tuple(chances), "unseen_overlaps": tuple(overlaps), "sizes": ()}
    return ProtocolModel(local=local, shuffle=replace(walks, **known))


RECOGNIZED = [("K3", 1), ("K3", 2), ("P3", 2), ("paw", 1), ("C4", 1), ("2x2", 2), ("ragged 3", 2), ("3", 2)]
MORE = [("K3", 3), ("P3", 3), ("paw", 2), ("C4", 2), ("4", 2), ("ragged 5", 2), ("2x2", 4)]
DEEP = [pytest.param(*case, marks=pytest.mark.deep) for case in MORE]


@pytest.mark.parametrize(("name", "rounds"), [*RECOGNIZED, *DEEP])
def test_of_recognized_reports_no_more_is_seen_than_stated_of_known_colluders(name, rounds):
    people = len(matrices_of(name, 1)[0])
    for colluders in sets_of(people):
        everybody = np.zeros(len(EPSILONS))
        for victim in honest_of(people, colluders):
            found = exact(name, rounds, colluders, victim)
            assert (stated(NetworkColluders(), of_person(name, rounds, colluders, victim)) >= found - SLACK).all()
            everybody = np.maximum(everybody, found)
        for local in (BINARY.model, LdpModel(epsilon0=1.0)):
            model = model_of(name, rounds, colluders=colluders, local=local)
            assert (stated(NetworkColluders(), model) >= everybody - SLACK).all()
        for lower in (NetworkFirstHop(), NetworkHistogram()):
            assert (stated(lower, model_of(name, rounds, colluders=colluders)) <= everybody + SLACK).all()


@pytest.mark.parametrize(("name", "rounds"), [("3", 1), ("3", 2), ("2x2", 2), ("ragged 3", 1), *DEEP[4:]])
def test_on_an_overlay_no_more_is_seen_than_stated_whoever_collude(name, rounds):
    people = OVERLAYS[name].num_users
    for colluding in range(1, min(2, people - 2) + 1):
        everybody = np.zeros(len(EPSILONS))
        for colluders in itertools.combinations(range(people), colluding):
            for victim in honest_of(people, colluders):
                everybody = np.maximum(everybody, exact(name, rounds, colluders, victim))
        model = model_of(name, rounds, num_colluding=colluding)
        upper = np.array([delta_at(model, epsilon=epsilon).guarantee.delta for epsilon in EPSILONS])
        assert (upper >= everybody - SLACK).all()
        for lower in (NetworkFirstHop(), NetworkHistogram()):
            assert (stated(lower, model) <= everybody + SLACK).all()


def test_of_the_first_round_it_is_exact_and_whoever_has_a_colluder_for_a_group_is_alone():
    model = model_of("4", 1, num_colluding=1)
    worst = np.max([exact("4", 1, (3,), victim) for victim in range(3)], axis=0)
    assert stated(NetworkColluders(), model) == pytest.approx(worst, rel=1e-9)
    one_other = model_of("2x2", 2, num_colluding=1)
    local = np.array([LocalOnly().delta(one_other, epsilon=epsilon) for epsilon in EPSILONS])
    assert stated(NetworkColluders(), one_other) == pytest.approx(local)


def test_as_if_colluders_only_went_missing_it_is_exceeded():
    """A uniform shuffle of the honest people, which is not what colluders leave."""
    honest = delta_at(BINARY, num_users=3, epsilon=0.5).guarantee.delta
    assert exact("4", 1, (3,), 0)[EPSILONS.index(0.5)] > 1.1 * honest


# ---- onions ----------------------------------------------------------------------------------------------------------

ONIONS = [("3", 1), ("3", 2), ("3", 3), ("ragged 3", 3), ("2x2", 2)]
MORE_ONIONS = [("2x2", 4), ("4", 2), ("3", 4), ("4", 3), ("ragged 5", 2)]


@pytest.mark.parametrize(
    ("name", "rounds"), [*ONIONS, *(pytest.param(*case, marks=pytest.mark.deep) for case in MORE_ONIONS)]
)
def test_of_onions_no_more_is_seen_than_stated_whoever_collude(name, rounds):
    people = OVERLAYS[name].num_users
    for colluding in range(1, min(2, people - 2) + 1):
        everybody = np.zeros(len(EPSILONS))
        for colluders in itertools.combinations(range(people), colluding):
            for victim in honest_of(people, colluders):
                everybody = np.maximum(everybody, exact(name, rounds, colluders, victim, layered))
        for local in (BINARY.model, LdpModel(epsilon0=1.0)):
            model = model_of(name, rounds, num_colluding=colluding, onion=True, local=local)
            assert (stated(NetworkOnion(), model) >= everybody - SLACK).all()
            upper = np.array([delta_at(model, epsilon=epsilon).guarantee.delta for epsilon in EPSILONS])
            assert (upper >= everybody - SLACK).all()
        assert (stated(NetworkHistogram(), model_of(name, rounds, num_colluding=colluding)) <= everybody + SLACK).all()


def test_onions_show_less_than_recognized_reports_and_the_bound_is_near():
    recognizable, onions = (exact("3", 3, (2,), 0, sees) for sees in (recognized, layered))
    assert (onions < 0.95 * recognizable).all()
    bound = stated(NetworkOnion(), model_of("3", 3, num_colluding=1, onion=True))
    assert (bound < recognizable).all()
    assert (onions > 0.85 * bound).all()
    single = stated(NetworkOnion(), model_of("3", 1, num_colluding=1, onion=True))
    assert single == pytest.approx(exact("3", 1, (2,), 0, layered), rel=1e-9)


# ---- beside an observer of all links ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "rounds"), [("3", 2), pytest.param("2x2", 2, marks=pytest.mark.deep)])
def test_on_links_with_slots_no_more_is_seen_than_without_limits_and_the_charge(name, rounds):
    """Traffic is the same for all walks: an observer of links adds nothing to what colluders and the analyst see."""
    people, slots = OVERLAYS[name].num_users, (1,) * rounds
    law = joint_law_of_paths(matrices_of(name, rounds), slots)
    chance = sum(each for (_, full), each in law.items() if full)
    assert chance > 0.1
    alone = np.maximum((np.e - np.exp(EPSILONS)) / (1 + np.e), 0)
    for sees, theorem, onion in ((recognized, NetworkColluders(), False), (layered, NetworkOnion(), True)):
        model = model_of(name, rounds, num_colluding=1, onion=onion)
        watched = model_of(name, rounds, num_colluding=1, onion=onion, slots=slots)
        assert NetworkConstantPattern((theorem,)).delta(watched, epsilon=0.5) >= theorem.delta(model, epsilon=0.5)
        bound, colluder = stated(theorem, model), people - 1  # all are alike
        for aborts, victim in itertools.product((False, True), (0, 1) if name == "2x2" else (0,)):
            charge = chance * (np.exp(EPSILONS) - 1 + (1 if aborts else 2) * alone)
            found = exact_deltas_of_paths(law, {colluder}, victim, CHANNEL, EPSILONS, sees=sees, aborts=aborts)
            assert (found <= bound + charge + SLACK).all()


def test_a_statement_beside_an_observer_trusts_layers_and_no_links():
    shuffler = RandomWalkShuffler(
        graph=Overlay(1000, (1000,)), num_rounds=5, num_colluding=10, onion=True, slots=(1, *(5,) * 4)
    )
    found = account(ProtocolModel(local=LdpModel(epsilon0=1.0), shuffle=shuffler.model(1000)), delta=1e-5)
    assert found.basis.theorem == "network-constant-pattern"
    assert 0.128 < found.guarantee.epsilon < 0.1324
    assert set(found.trust) == {Trust.OWN_DEVICE, Trust.HONEST_RELAYS, Trust.LAYERS}
