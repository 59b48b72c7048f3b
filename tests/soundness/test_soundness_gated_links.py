"""Links with slots while people are offline, enumerated: all schedules, whoever hands in, who waits, and the gate."""

import itertools

import numpy as np
import pytest

from shuffledp.core.local_models import ProtocolModel
from shuffledp.protocols.network.laws.churned_rounds import ChurnedWays
from shuffledp.protocols.network.laws.link_slots import surplus_chance
from shuffledp.protocols.network.laws.walk_gates import WalkGate
from shuffledp.protocols.network.theorems.network_constant_pattern import surplus_charge
from soundness.exact_churn import along_edges, every_schedule, product_of, within_groups
from soundness.exact_links import Fillings, joint_law, law_of_places, overflowing
from soundness.test_soundness_churn import (
    CHANNEL,
    EPSILONS,
    LOCAL,
    OFFLINE,
    cases,
    chance_of,
    people_in,
    shuffler_on,
    stated_deltas,
)
from soundness.test_soundness_links import local_delta

WAYS = {"K3": "K3", "P3": "P3", "paw": "paw", "2x2": (4, (2, 2)), "ragged 3": (3, (2,))}
DEEP = [("P3", 3), ("paw", 2), ("2x2", 2), ("ragged 3", 3)]
QUICK = [("K3", 2), ("ragged 3", 2)]


def matrices_given(way, online):
    """Of each round, in fractions from the rules: who is drawn is drawn as if all were online."""
    if isinstance(way, str):
        return [along_edges(way, each) for each in online]
    people, sizes = way
    return [within_groups(people, sizes, number % len(sizes), each, "stay") for number, each in enumerate(online)]


def as_floats(matrices):
    return [np.array([[float(chance) for chance in row] for row in each]) for each in matrices]


def surplus_bound(matrices, slots):
    """The sum over rounds but the first and links of mu^b / b! with b = slots + 1."""
    held, found = np.ones(len(matrices[0])), 0.0
    for number, step in enumerate(matrices):
        if number:
            loads = held[:, None] * step
            np.fill_diagonal(loads, 0.0)
            found += (loads ** (slots[number] + 1)).sum() / np.prod(np.arange(1, slots[number] + 2))
        held = held @ step
    return found


def worst_delta(places, people, last=None):
    """Of all data and victims."""
    seen = Fillings(places, people, last)
    every = itertools.product(itertools.product((0, 1), repeat=people), range(people))
    return np.max([seen.delta(CHANNEL, data, victim, epsilons=EPSILONS) for data, victim in every], axis=0)


def subsets(people):
    return [np.array(each) for each in itertools.product((True, False), repeat=people) if any(each)]


@pytest.mark.parametrize(("name", "rounds"), cases([("P3", 2), ("paw", 2), ("2x2", 2)], QUICK))
def test_no_more_is_lost_than_is_stated_whoever_hands_in_nothing(name, rounds):
    """Every schedule, and everybody who may be away at the end: places that are not handed in are not seen."""
    way, known, gains = WAYS[name], {}, 0
    people = people_in(way)
    for online in every_schedule(people, rounds)[:: 1 if people == 3 else 5]:
        matrices = as_floats(matrices_given(way, online))
        places = law_of_places(joint_law(matrices, (people,) * rounds))
        for last in subsets(people):
            key = (np.linalg.multi_dot([np.eye(people), *matrices]).round(13).tobytes(), last.tobytes())
            if key in known:
                continue
            shuffler = shuffler_on(way, rounds, "stay", online, last)
            known[key] = worst_delta(places, people, last)
            stated = stated_deltas(shuffler)
            assert (known[key] <= stated * (1 + 1e-12)).all()
            gains += bool(stated[2] < 0.999 * local_delta(EPSILONS)[2])
    assert gains > 0 or name == "P3"  # which has two sides


@pytest.mark.parametrize(("name", "rounds"), cases(DEEP, QUICK))
def test_those_who_wait_for_slots_while_people_are_offline_cost_no_more_than_the_charge(name, rounds):
    """Every schedule; who was there in the last round hands in, as in a relay. Traffic shows who was there, at most."""
    way, overflowed, used = WAYS[name], 0, 0.0
    people, slots = people_in(way), (1,) * rounds
    for online in every_schedule(people, rounds):
        if not online[-1].any():
            continue
        matrices = as_floats(matrices_given(way, online))
        limited, free = (joint_law(matrices, each) for each in (slots, (people,) * rounds))
        chance = overflowing(limited)
        overflowed += chance > 0
        seen, unlimited = (worst_or_each(law_of_places(law), people, online[-1]) for law in (limited, free))
        charge = chance * (np.exp(EPSILONS) - 1 + 2 * local_delta(EPSILONS))
        assert (seen <= unlimited + charge + 1e-14).all()
        used = max(used, float((seen - unlimited).max()))
        shuffler = shuffler_on(way, rounds, "stay", online, online[-1], slots=slots)
        bound = min(1.0, surplus_bound(matrices, slots))
        assert max(chance, bound) * (1 - 1e-12) <= shuffler.overflow <= bound * (1 + 1e-6) + 1e-12
        assert (seen.max(axis=(0, 1)) <= stated_deltas(shuffler) * (1 + 1e-12)).all()
    assert overflowed > 10
    assert used > 1e-3 or name == "ragged 3"  # so that a charge is needed


def worst_or_each(places, people, last):
    """For all data and victims, shape (data, victims, epsilons)."""
    seen = Fillings(places, people, last)
    return np.array(
        [
            [seen.delta(CHANNEL, data, victim, epsilons=EPSILONS) for victim in range(people)]
            for data in itertools.product((0, 1), repeat=people)
        ]
    )


def restricted_overlap(laws, last):
    """That of the person whom the others overlap with least, of those whose report may be handed in."""
    found = []
    for victim, law in enumerate(laws):
        reached = (law > 0) & last
        if not reached.any():
            continue
        others = np.delete(laws, victim, axis=0)[:, reached]
        found.append(float((others / (law[reached] / law[last].sum())).min(axis=1).mean()))
    return min(found)


@pytest.mark.parametrize(("name", "rounds"), cases([("paw", 2), ("2x2", 2), ("P3", 3)], QUICK))
@pytest.mark.parametrize("overlap", [0.1, 0.3])
def test_behind_a_gate_that_looks_at_slots_too_all_that_is_seen_stays_below_what_is_stated_before(
    name, rounds, overlap
):
    """Seen are the schedule, whether reports are handed in, and who of those there at the end hands in which."""
    way, slots, most = WAYS[name], (1, *(2,) * (rounds - 1)), 0.06
    people = people_in(way)
    gate = WalkGate(epsilon=0.9, delta=0.1, overlap=overlap, overflow=most)
    before = shuffler_on(way, rounds, "stay", offline=OFFLINE, gate=gate, slots=slots)
    stated, total, opened, shut = stated_deltas(before), np.zeros(len(EPSILONS)), 0.0, set()
    for online in every_schedule(people, rounds):
        if not online[-1].any():
            continue
        exact = matrices_given(way, online)
        matrices, laws = as_floats(exact), product_of(exact)
        mixed = restricted_overlap(laws, online[-1]) * (1 + 1e-12) >= overlap
        rare = surplus_bound(matrices, slots) * (1 + 1e-8) <= most
        after = {"online": online, "last": online[-1], "gate": gate, "slots": slots}
        if not (mixed and rare):
            shut.add((mixed, rare))
            with pytest.raises(ValueError, match="gate must be open"):
                shuffler_on(way, rounds, "stay", **after).model(people)
            continue
        seen = worst_delta(law_of_places(joint_law(matrices, slots)), people, online[-1])
        assert (seen <= stated * (1 + 1e-12)).all()
        assert (stated_deltas(shuffler_on(way, rounds, "stay", **after)) == stated).all()
        opened, total = opened + chance_of(online), total + chance_of(online) * seen
    assert (total <= stated * (1 + 1e-12)).all()
    assert 0 < opened < 1
    assert (False, True) in shut


def test_the_charge_behind_a_gate_is_that_of_the_most_that_it_lets_through():
    gate = WalkGate(epsilon=0.9, delta=0.1, overlap=0.1, overflow=0.1)
    online = np.ones((2, 4), dtype=bool)
    for schedule in (None, online):
        shuffler = shuffler_on((4, (2, 2)), 2, "stay", schedule, gate=gate, slots=(1, 2))
        model = ProtocolModel(local=LOCAL, shuffle=shuffler.model(4))
        assert shuffler.overflow < 0.1
        assert surplus_charge(model, 0.3) == pytest.approx(0.1 * (np.expm1(0.3) + 2 * local_delta(0.3)), rel=1e-9)
    ways = ChurnedWays(shuffler.graph, shuffler.schedule)
    assert surplus_chance(ways, (1, 2)) == pytest.approx(surplus_chance(shuffler.graph, (1, 2)), rel=1e-9)
