"""Leakage and accounting say the same: delta by delta where both are exact, and bounds on the right side elsewhere."""

import math
from itertools import permutations

import numpy as np
import pytest

from accounting.given import GivenChannel, response, uniformly
from shuffledp.accounting import THEOREMS, account, delta_at
from shuffledp.leakage import (
    bridge_prior,
    delta_of_pair,
    largest_delta,
    strong_vulnerability,
    target_vulnerability,
    vulnerability_from_delta,
    worst_delta,
)
from soundness.exact_deltas import (
    binary_laws_of_others,
    laws_of_others,
    random_extremal_channel,
)
from soundness.exact_deltas import (
    worst_delta as exactly,
)

NAMED = {theorem.id: theorem for theorem in THEOREMS}
FRACTIONS = (0.0, 0.05, 0.2, 0.5, 0.9)


@pytest.mark.parametrize("epsilon0", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("users", [2, 10, 200])
def test_exact_deltas_of_accounting_are_those_of_vulnerability(epsilon0, users):
    """Of the data set in which all others agree, in the worse of two directions."""
    model = response(2, epsilon0, users)
    channel = model.local.channel()
    for share in FRACTIONS:
        epsilon = share * model.local.epsilon0
        from_leakage = worst_delta(channel, epsilon, others=[0, users - 1])
        from_accounting = NAMED["binary-all-equal"].delta(model, epsilon=epsilon)
        if from_leakage > 1e-12:
            assert from_accounting == pytest.approx(from_leakage, rel=1e-6)
            one_way = min(delta_of_pair(channel, *pair, epsilon, others=[0, users - 1]) for pair in ((0, 1), (1, 0)))
            assert epsilon == 0 or one_way != pytest.approx(from_leakage, rel=1e-3)


def test_exact_deltas_of_any_channel_are_those_of_vulnerability():
    generator = np.random.default_rng(11)
    matrix = random_extremal_channel(generator, 1.0, inputs=3, outputs=3)
    model = uniformly(GivenChannel(rows=tuple(map(tuple, matrix))), 12)
    for epsilon in (0.0, 0.1, 0.3):
        alike = [worst_delta(model.local.channel(), epsilon, others=11 * row) for row in np.eye(3, dtype=int)]
        if max(alike) > 1e-9:
            assert NAMED["homogeneous-channel"].delta(model, epsilon=epsilon) == pytest.approx(max(alike), rel=1e-6)


@pytest.mark.parametrize("size", [2, 3])
def test_the_largest_delta_is_the_enumerated_one_and_below_every_promise(size):
    users = 9 if size == 2 else 5
    model = response(size, 1.2, users)
    channel = model.local.channel()
    matrix = channel.matrix.astype(np.float64)
    for share in FRACTIONS:
        epsilon = share * model.local.epsilon0
        laws = binary_laws_of_others(matrix, users - 1) if size == 2 else laws_of_others(matrix, users - 1)
        found = largest_delta(channel, epsilon, num_users=users)
        assert found == pytest.approx(float(exactly(matrix, laws, np.array([epsilon]))[0]), rel=1e-9, abs=1e-15)
        assert found <= delta_at(model, epsilon=epsilon).guarantee.delta * (1 + 1e-9)


@pytest.mark.parametrize(("size", "users"), [(2, 100), (2, 1000), (3, 60), (4, 30)])
def test_no_strong_adversary_beats_what_accounting_promises(size, users):
    model = response(size, 1.0, users)
    channel = model.local.channel()
    for delta in (1e-2, 1e-5):
        statement = account(model, delta=delta)
        epsilon = statement.guarantee.epsilon
        most = vulnerability_from_delta(delta, epsilon)
        for pair in list(permutations(range(size), 2))[:2]:
            prior = np.zeros(size)
            prior[list(pair)] = bridge_prior(epsilon)
            for others in (np.eye(size, dtype=int)[0] * (users - 1), np.eye(size, dtype=int)[-1] * (users - 1)):
                assert strong_vulnerability(prior, channel, others=others).value <= most * (1 + 1e-9)
        sharper = vulnerability_from_delta(0.0, epsilon / 20)  # a promise twenty times as strong would be broken
        prior = np.zeros(size)
        prior[[0, 1]] = bridge_prior(epsilon / 20)
        others = np.eye(size, dtype=int)[0] * (users - 1)
        assert strong_vulnerability(prior, channel, others=others).value > sharper


@pytest.mark.parametrize("size", [2, 3, 5])
def test_an_uninformed_adversary_learns_less_than_privacy_allows(size):
    """(epsilon, delta)-privacy bounds every guess: V <= e^epsilon prior + delta."""
    for users in (5, 500):
        model = response(size, 0.8, users)
        found = target_vulnerability(model)
        for delta in (0.0, 0.05, 1e-4):
            epsilon = account(model, delta=delta).guarantee.epsilon if delta else model.local.epsilon0
            assert found.value <= math.exp(epsilon) / size + delta
