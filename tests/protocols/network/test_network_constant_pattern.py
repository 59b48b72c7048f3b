"""Walks on links with slots: the same as without limits, but for a charge, and nobody is trusted not to watch."""

import math
from dataclasses import replace

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.accounting import account, account_all, delta_at
from shuffledp.accounting.theorems import THEOREMS
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.core.statement_terms import Trust
from shuffledp.protocols.network.laws.link_slots import slots_needed
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.protocols.network.theorems.network_constant_pattern import surplus_charge
from shuffledp.randomizers import LdpModel

THEOREM = next(each for each in THEOREMS if each.id == "network-constant-pattern")
BINARY = sdp.KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
ANY = LdpModel(epsilon0=1.0)
OVERLAY = sdp.Overlay(400, (20, 20))


def walks(ways=OVERLAY, rounds=2, *, slots=None, local=ANY, overflow=1e-8, **options):
    slots = slots_needed(ways, rounds, overflow=overflow) if slots is None else slots
    shuffler = RandomWalkShuffler(graph=ways, num_rounds=rounds, slots=slots or None, **options)
    return ProtocolModel(local=local, shuffle=shuffler.model(ways.num_users))


def test_it_is_stated_at_nearly_the_epsilon_of_walks_that_nobody_watches():
    hidden, naive = (account(walks(slots=slots), delta=1e-6) for slots in (None, ()))
    assert (hidden.basis.theorem, naive.basis.theorem) == ("network-constant-pattern", "network-overlap")
    assert naive.guarantee.epsilon < hidden.guarantee.epsilon < naive.guarantee.epsilon * 1.001
    assert Trust.UNOBSERVED in naive.trust
    assert [each for each in naive.trust if each not in hidden.trust] == [Trust.UNOBSERVED]
    assert "nobody watches" not in str(hidden)
    assert "envelopes of one length, sealed anew in each round, and sent at fixed times" in str(hidden)
    assert "Of the remainder, " in str(hidden)


def test_no_other_theorem_drops_that_trust_or_speaks_of_links_with_slots():
    model = walks()
    applying = [each for each in THEOREMS if each.kind.promises and each.applies(model, delta=1e-6)]
    assert [each.id for each in applying] == ["local-dp", "network-constant-pattern"]
    others = [each for each in THEOREMS if each.id.startswith("network-") and each is not THEOREM]
    assert all(Trust.UNOBSERVED in each.trust(walks(slots=())) for each in others)
    assert not THEOREM.applies(walks(slots=()), delta=1e-6)
    assert not THEOREM.concerns(walks(slots=()))
    assert model.shuffle.position_windows() == ()


@pytest.mark.parametrize("delta", [1e-4, 1e-6, 2e-8])
@pytest.mark.parametrize("surplus", ["waits", "aborts"])
def test_epsilon_is_that_of_the_walks_at_delta_less_the_charge(delta, surplus):
    model = walks(surplus=surplus)
    found = THEOREM.epsilon(model, delta=delta)
    left = delta - surplus_charge(model, found)
    assert found >= account(walks(slots=()), delta=left * (1 + 1e-9)).guarantee.epsilon * (1 - 1e-3)
    assert THEOREM.delta(model, epsilon=found) <= delta
    assert THEOREM.delta(model, epsilon=found * 0.99) > delta
    grid = np.array([0.0, found / 2, found, 0.9, 1.0])
    curve = THEOREM.curve(model, epsilons=grid)
    assert (np.diff(curve) <= 0).all()
    assert curve == pytest.approx([THEOREM.delta(model, epsilon=epsilon) for epsilon in grid.tolist()], rel=1e-5)
    assert delta_at(model, epsilon=found).guarantee.delta <= delta


def test_with_too_few_slots_epsilon0_is_stated_and_why():
    """More reports than slots are all but sure."""
    model = walks(slots=(1, 1))
    assert model.shuffle.overflow == 1.0
    stated = account(model, delta=1e-6)
    assert (stated.basis.theorem, stated.guarantee.epsilon) == ("local-dp", 1.0)
    assert "network-constant-pattern needs too few slots on any link with a chance below delta=1e-06" in str(stated)


def test_a_charge_of_most_of_delta_leaves_less():
    free = account(walks(slots=()), delta=1e-6).guarantee.epsilon
    for share, times in ((0.9, 1.3), (0.999, math.inf)):
        model = walks()
        model = replace(model, shuffle=replace(model.shuffle, overflow=share * 1e-6 / (math.expm1(free) + 0.93)))
        found = account(model, delta=1e-6).guarantee.epsilon
        assert free * 1.01 < found < min(free * times, 1.0 + 1e-9)


@pytest.mark.parametrize("protocol", ["single", "padded"])
def test_one_report_of_each_is_certified_as_without_limits(protocol):
    options = {"protocol": protocol, "dummies": BINARY, "local": BINARY.model}
    options |= {"submissions": 3} if protocol == "padded" else {}
    hidden, naive = (account(walks(slots=slots, **options), delta=1e-5) for slots in (None, ()))
    assert hidden.basis.theorem == "network-constant-pattern"
    assert naive.guarantee.epsilon <= hidden.guarantee.epsilon <= naive.guarantee.epsilon * 1.01
    names = [each.name for each in hidden.basis.hypotheses]
    assert {"constant-pattern", "sealed-envelopes", "rare-surplus", "hidden-bag-sizes", "unwatched-bound"} <= {*names}
    assert len(names) == len(set(names))


def test_of_a_graph_in_parts_it_is_that_of_the_weakest():
    edges = [(one + start, other + start) for start in (0, 40) for one in range(40) for other in range(one)]
    graph = sdp.Graph.from_edges(edges)
    hidden, naive = (account(walks(graph, 3, slots=slots), delta=1e-4) for slots in (None, ()))
    assert (hidden.basis.theorem, naive.basis.theorem) == ("network-constant-pattern", "network-parts")
    assert naive.guarantee.epsilon <= hidden.guarantee.epsilon <= naive.guarantee.epsilon * 1.01
    assert "The graph is in 2 parts" in str(hidden)


def test_of_reports_with_a_remainder_the_charge_counts_it():
    local = LdpModel(epsilon0=0.5, delta0=1e-12)
    hidden, naive = (account(walks(slots=slots, local=local), delta=1e-6) for slots in (None, ()))
    assert hidden.basis.theorem == "network-constant-pattern"
    assert naive.guarantee.epsilon < hidden.guarantee.epsilon < naive.guarantee.epsilon * 1.001


def test_whoever_colludes_leaves_epsilon0():
    stated = account(walks(num_colluding=1), delta=1e-6)
    assert (stated.basis.theorem, stated.guarantee.epsilon) == ("local-dp", 1.0)
    assert account(walks(), delta=1e-6, honest_fraction=0.9).basis.theorem == "local-dp"


def test_a_lower_bound_of_walks_that_may_be_aborted_is_not_stated():
    kinds = {
        surplus: [each.basis.theorem for each in account_all(walks(surplus=surplus, local=BINARY.model), delta=1e-6)]
        for surplus in ("waits", "aborts")
    }
    assert "network-histogram" in kinds["waits"]
    assert "network-histogram" not in kinds["aborts"]


def test_beside_colluders_walks_that_are_aborted_are_charged_as_those_that_wait():
    """Being aborted tells nothing, but what colluders have seen until then does."""
    waits, aborts = (walks(surplus=surplus, num_colluding=3) for surplus in ("waits", "aborts"))
    for epsilon in (0.0, 0.3, 0.9):
        assert surplus_charge(aborts, epsilon) == surplus_charge(waits, epsilon)
        assert surplus_charge(walks(surplus="aborts"), epsilon) < surplus_charge(waits, epsilon)


def test_a_model_is_written_and_read_and_says_nothing_of_links_that_have_no_slots():
    model = walks(surplus="aborts").shuffle
    again = ShuffleModel.from_dict(model.to_dict())
    assert again == model
    assert (again.slots, again.surplus) == ((1, 6), "aborts")
    plain = model.unlimited.to_dict()
    assert not {"slots", "surplus", "overflow"} & plain.keys()
    assert ShuffleModel.from_dict(plain) == walks(slots=()).shuffle


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"slots": (1, 2, 3)}, "slots must be one number for each of 2 rounds; got 3"),
        ({"slots": (1, 0)}, "each of slots must be an integer that is 1 or more"),
        ({"slots": (1, 2), "dropout": 0.1}, "dropout must be 0 where links have slots"),
        ({"slots": (1, 2), "surplus": "stays"}, "surplus must be one of"),
    ],
)
def test_what_does_not_go_with_slots_is_refused(options, reason):
    with pytest.raises(InvalidParameterError, match=reason):
        walks(**options)
    model = walks().shuffle
    with pytest.raises(InvalidParameterError, match=reason):
        replace(model, **options)


def test_a_chance_of_a_surplus_without_slots_is_refused():
    with pytest.raises(InvalidParameterError, match="overflow must be 0 without slots"):
        replace(walks(slots=()).shuffle, overflow=0.5)
