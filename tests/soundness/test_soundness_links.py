"""Links with slots, enumerated: what is seen of walks that wait or are aborted, and of traffic that is not hidden."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.core.local_models import ProtocolModel
from shuffledp.protocols.network.laws.walk_distributions import graphs_of_rounds, transposed_transition
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.protocols.network.theorems.network_constant_pattern import surplus_charge
from shuffledp.protocols.network.theorems.network_limits import unmixed_chance
from soundness.exact_deltas import response
from soundness.exact_links import Fillings, joint_law, law_of_places, laws_by_traffic, overflowing
from soundness.exact_walks import GRAPHS, sees_one_each, step_of

ROWS = json.loads((Path(__file__).parents[1] / "golden" / "links.json").read_text(encoding="utf-8"))["rows"]
TINY = [row for row in ROWS if row["kind"] == "overflow_tiny"]
FLOORS = [row for row in ROWS if row["kind"] == "watched_floor"]
EPSILONS = np.array([0.0, 0.2, 0.5, 0.9])
CHANNEL = response(2, 1.0)
BINARY = sdp.KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
WAYS = {name: sdp.Graph.from_edges(GRAPHS[name][1]) for name in ("K3", "P3", "paw", "C4")} | {
    "2x2": sdp.Overlay(4, (2, 2)),
    "ragged 5": sdp.Overlay(5, (2, 2)),
}
CASES = [
    (name, slots, rounds)
    for name, ways in WAYS.items()
    for slots in (1, 2)
    for rounds in ((2, 4) if isinstance(ways, sdp.Overlay) else (1, 2, 3))
    if (name, rounds) != ("ragged 5", 4)
]


def matrices_of(ways, rounds):
    return [transposed_transition(each).toarray().T for each in graphs_of_rounds(ways, rounds)]


def local_delta(epsilons):
    return np.maximum((math.e - np.exp(epsilons)) / (1 + math.e), 0)


@pytest.mark.parametrize("row", TINY, ids=lambda row: str(len(row["inputs"]["matrix"])))
def test_walks_that_wait_or_are_aborted_are_those_of_an_independent_enumeration(row):
    given, expected = row["inputs"], row["expected"]
    step, people = np.array(given["matrix"]), len(given["matrix"])
    law = joint_law([step] * given["rounds"], [given["slots"]] * given["rounds"])
    assert overflowing(law) == pytest.approx(expected["p_exact"], abs=row["tolerance"])
    free = joint_law([step] * given["rounds"], [people] * given["rounds"])
    for places, name in (
        (law_of_places(free), "ideal"),
        (law_of_places(law), "waiting"),
        (law_of_places(law, aborts=True), "abort"),
    ):
        channel, epsilons = response(2, given["eps0"]), np.array(given["epsilons"])
        found = Fillings(places, people).delta(channel, given["data"], given["victim"], epsilons=epsilons)
        assert found == pytest.approx(expected[name], abs=row["tolerance"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case)))
def test_no_more_is_lost_than_without_limits_and_the_charge(case):
    """All data and victims: with the exact chance of a surplus, and what is stated with its bound.

    Traffic is the same for all walks, so that what is handed in is all that an observer and the analyst see.
    """
    name, slots, rounds = case
    ways, limits = WAYS[name], (1, *(slots,) * (rounds - 1))
    people, matrices = ways.num_users, matrices_of(ways, rounds)
    law = joint_law(matrices, limits)
    chance, alone = overflowing(law), local_delta(EPSILONS)
    free = Fillings(law_of_places(joint_law(matrices, (people,) * rounds)), people)
    for surplus, times in (("waits", 2), ("aborts", 1)):
        limited = Fillings(law_of_places(law, aborts=surplus == "aborts"), people)
        charge = chance * (np.exp(EPSILONS) - 1 + times * alone)
        for data in itertools.product((0, 1), repeat=people):
            for victim in range(people):
                found, before = (each.delta(CHANNEL, data, victim, epsilons=EPSILONS) for each in (limited, free))
                assert (found <= before + charge + 1e-14).all()
                stated = stated_deltas(name, limits, surplus)
                assert (found <= stated * (1 + 1e-12)).all()


_STATED = {}


def stated_deltas(name, limits, surplus):
    if (name, limits, surplus) not in _STATED:
        model = walks_model(WAYS[name], limits, surplus=surplus)
        _STATED[name, limits, surplus] = np.array(
            [sdp.delta_at(model, epsilon=epsilon).guarantee.delta for epsilon in EPSILONS.tolist()]
        )
    return _STATED[name, limits, surplus]


def walks_model(ways, limits, **options):
    shuffler = RandomWalkShuffler(graph=ways, num_rounds=len(limits), slots=limits, **options)
    return ProtocolModel(local=BINARY.model, shuffle=shuffler.model(ways.num_users))


@pytest.mark.parametrize("name", ["K3", "paw", "2x2"])
def test_nor_where_everybody_hands_in_one(name):
    ways = WAYS[name]
    rounds, people = 2, ways.num_users
    kernel = sees_one_each(people, people, CHANNEL[0])
    law = law_of_places(joint_law(matrices_of(ways, rounds), (1, 2)))
    model = walks_model(ways, (1, 2), protocol="single", dummies=BINARY)
    stated = np.array([sdp.delta_at(model, epsilon=epsilon).guarantee.delta for epsilon in EPSILONS.tolist()])
    limited = Fillings(law, people)
    for data in itertools.product((0, 1), repeat=people):
        for victim in range(people):
            found = limited.delta(CHANNEL, data, victim, epsilons=EPSILONS, kernel=kernel)
            assert (found <= stated * (1 + 1e-12)).all()


def test_a_surplus_that_waits_can_lose_more_than_walks_without_limits():
    """So the charge is needed: on a lazy paw who waits is nearer to her own place."""
    matrices = [step_of("paw", laziness=0.3)] * 2
    limited, free = (Fillings(law_of_places(joint_law(matrices, slots)), 4) for slots in ((1, 1), (4, 4)))
    one, other = (each.delta(CHANNEL, (0,) * 4, 0, epsilons=EPSILONS) for each in (limited, free))
    assert (one - other).max() > 1e-3


def test_with_few_slots_less_than_epsilon0_is_stated_already():
    assert (stated_deltas("2x2", (1, 2), "waits") < 0.7 * local_delta(EPSILONS))[:2].all()


@pytest.mark.parametrize("row", FLOORS, ids=lambda row: str(row["inputs"]["n"]))
def test_traffic_names_whoever_never_shares_a_bag(row):
    given = row["inputs"]
    chance = unmixed_chance(num_users=given["n"], num_rounds=given["rounds"])
    assert chance == pytest.approx(row["expected"]["alone"], rel=row["tolerance"])
    if given["n"] > 3:
        return
    everybody = [np.full((3, 3), 1 / 3)] * given["rounds"]
    assert sum(alone_by_places(everybody)) == pytest.approx(chance, rel=1e-12)


def alone_by_places(matrices):
    """The chances of all ways of three reports in which nobody is ever with the first."""
    for ways in itertools.product(itertools.product(range(3), repeat=3), repeat=len(matrices)):
        if all(places[0] not in places[1:] for places in ways):
            yield (1 / 3) ** (3 * len(matrices))


@pytest.mark.parametrize(("name", "rounds"), [("K3", 2), ("paw", 2), ("2x2", 2), ("complete", 2)])
def test_whoever_sees_the_traffic_learns_more_than_a_constant_pattern_tells(name, rounds):
    """Exactly: delta given traffic that is not hidden is at least the floor, and above what is stated if it is."""
    matrices = [np.full((3, 3), 1 / 3)] * rounds if name == "complete" else matrices_of(WAYS[name], rounds)
    people = len(matrices[0])
    watched, data = np.zeros(len(EPSILONS)), (0,) * people
    for places in laws_by_traffic(matrices).values():
        watched += Fillings(places, people).delta(CHANNEL, data, 0, epsilons=EPSILONS)
    unwatched = Fillings(law_of_places(joint_law(matrices, (people,) * rounds)), people)
    hidden = unwatched.delta(CHANNEL, data, 0, epsilons=EPSILONS)
    assert (watched > hidden * 1.05).all()
    if name == "complete":
        floor = unmixed_chance(num_users=3, num_rounds=rounds) * local_delta(EPSILONS)
        assert (watched >= floor * (1 - 1e-12)).all()


def test_the_charge_grows_with_epsilon_and_with_the_chance_of_a_surplus():
    waits, aborts = (walks_model(WAYS["paw"], (1, 2, 3), surplus=each) for each in ("waits", "aborts"))
    grid = np.linspace(0, 1, 21).tolist()
    charges = [surplus_charge(waits, epsilon) for epsilon in grid]
    assert charges == sorted(charges)
    overflow = waits.shuffle.overflow
    for epsilon, charge in zip(grid, charges, strict=True):
        expected = overflow * (math.expm1(epsilon) + 2 * local_delta(epsilon))
        assert charge == pytest.approx(expected, rel=1e-9)
        assert charge >= expected
        assert surplus_charge(aborts, epsilon) == pytest.approx(charge - overflow * local_delta(epsilon), rel=1e-9)
