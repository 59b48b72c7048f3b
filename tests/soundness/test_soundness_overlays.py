"""Walks on overlays by design, enumerated: a uniform shuffle to all digits, and never above what is stated."""

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.core.local_models import ProtocolModel
from shuffledp.protocols.network.people.overlays import rounds_of
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.randomizers import LdpModel
from shuffledp.shufflers import UniformShuffleModel
from soundness.exact_deltas import response
from soundness.exact_walks import exact_delta, sees_one_each, sees_padded, sees_shuffled

EPSILONS = np.array([0.0, 0.1, 0.3, 0.6, 0.9])
CHANNEL = response(2, 1.0)
OVERLAYS = {"2x2": sdp.Overlay(4, (2, 2)), "ragged 5": sdp.Overlay(5, (2, 2)), "2x3": sdp.Overlay(6, (2, 3))}
BINARY = sdp.KaryRandomizedResponse(epsilon0=1.0, domain_size=2)


def laws_of(overlay):
    """Row j: the law of where person j's report is in the end, by the matrices of the rounds."""
    found = np.eye(overlay.num_users)
    for each in rounds_of(overlay, overlay.num_rounds):
        found = each.transposed_transition().toarray() @ found
    return found.T


def stated(overlay, local, **options):
    shuffler = RandomWalkShuffler(graph=overlay, num_rounds=overlay.num_rounds, **options)
    return ProtocolModel(local=local, shuffle=shuffler.model(overlay.num_users))


@pytest.mark.parametrize("name", OVERLAYS)
def test_who_hands_in_what_tells_as_much_as_a_uniform_shuffle(name):
    overlay = OVERLAYS[name]
    people, model = overlay.num_users, stated(overlay, LdpModel(epsilon0=1.0))
    exact = exact_delta(CHANNEL, laws_of(overlay), people - 1, None, EPSILONS)
    uniform = np.full((people, people), 1 / people)
    shuffled = exact_delta(CHANNEL, uniform, people - 1, sees_shuffled(people, people, CHANNEL[0]), EPSILONS)
    assert exact == pytest.approx(shuffled, abs=1e-12)
    assert sdp.account(model, delta=0.01).guarantee.epsilon == pytest.approx(
        sdp.account(
            ProtocolModel(local=model.local, shuffle=UniformShuffleModel(num_users=people)), delta=0.01
        ).guarantee.epsilon,
        abs=1e-6,
    )
    for epsilon, delta in zip(EPSILONS.tolist(), exact.tolist(), strict=True):
        assert sdp.delta_at(model, epsilon=epsilon).guarantee.delta >= delta * (1 - 1e-12)


@pytest.mark.parametrize(("protocol", "submissions"), [("single", None), ("padded", 2)])
@pytest.mark.parametrize("name", ["2x2", "ragged 5"])
def test_of_one_report_each_no_more_is_told_than_stated(name, protocol, submissions):
    overlay = OVERLAYS[name]
    people = overlay.num_users
    model = stated(overlay, BINARY.model, protocol=protocol, submissions=submissions, dummies=BINARY)
    sees = sees_one_each if submissions is None else lambda *given: sees_padded(*given, submissions=submissions)
    exact = exact_delta(CHANNEL, laws_of(overlay), 0, sees(people, people, CHANNEL[0]), EPSILONS)
    for epsilon, delta in zip(EPSILONS.tolist(), exact.tolist(), strict=True):
        assert sdp.delta_at(model, epsilon=epsilon).guarantee.delta >= delta * (1 - 1e-12)


def test_an_unfinished_cycle_tells_more():
    """What the refusal of other numbers of rounds is for."""
    overlay = OVERLAYS["2x2"]
    first = rounds_of(overlay, 1)[0].transposed_transition().toarray().T
    one_round, walked = (exact_delta(CHANNEL, laws, 0, None, EPSILONS) for laws in (first, laws_of(overlay)))
    assert (one_round > walked * 1.2).all()


@pytest.mark.parametrize(
    ("people", "sizes", "delta"),
    [(900, (30, 30), 1e-6), (9_973, (99, 100), 1e-6), (10_000, (100, 100), 2e-6), (1_000_000, (100, 100, 100), 1e-6)],
)
def test_epsilon_is_that_of_a_uniform_shuffle(people, sizes, delta):
    local = LdpModel(epsilon0=1.0)
    walks = sdp.account(stated(sdp.Overlay(people, sizes), local), delta=delta)
    uniform = ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=people))
    assert walks.guarantee.epsilon == pytest.approx(sdp.account(uniform, delta=delta).guarantee.epsilon, abs=1e-6)
