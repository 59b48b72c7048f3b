"""Sums over releases and caps on leakage come out as computed independently of this library."""

import json
from pathlib import Path

import numpy as np
import pytest

from shuffledp import KaryRandomizedResponse, ProtocolModel, UniformShuffler
from shuffledp.accounting import account, compose_pure, compose_releases, privacy_curve
from shuffledp.core.statement_terms import Kind
from shuffledp.leakage.vulnerability import vulnerability_cap

VALUES = json.loads(Path(__file__).with_name("budget.json").read_text(encoding="utf-8"))


def shuffled(num_users, size, epsilon0):
    local = KaryRandomizedResponse(epsilon0=epsilon0, domain_size=size).model
    return ProtocolModel(local=local, shuffle=UniformShuffler().model(num_users))


@pytest.mark.parametrize(
    ("num_users", "size", "epsilon0", "releases", "delta", "low", "high", "truth"), VALUES["composed_same"]["rows"]
)
def test_equal_releases_add_up_to_no_more_than_the_pair_and_no_less_than_the_truth(  # noqa: PLR0917
    num_users, size, epsilon0, releases, delta, low, high, truth
):
    found = compose_releases(shuffled(num_users, size, epsilon0), delta=delta, num_releases=releases)
    assert low <= high
    assert truth <= found.guarantee.epsilon * (1 + 1e-5)
    assert found.guarantee.epsilon <= high * (1 + 2e-3)


@pytest.mark.deep
@pytest.mark.parametrize(("releases", "delta", "low", "high"), VALUES["composed_mixed"]["rows"])
def test_different_releases_add_up(releases, delta, low, high):
    epsilon = compose_releases([shuffled(*release) for release in releases], delta=delta).guarantee.epsilon
    assert low * 0.7 <= epsilon <= high * (1 + 2e-3)


@pytest.mark.parametrize(
    ("num_users", "epsilon0", "releases", "delta", "epsilon"), VALUES["binary_worst_of_all"]["rows"]
)
def test_binary_releases_lose_what_the_worst_of_all_data_sets_does(num_users, epsilon0, releases, delta, epsilon):
    found = compose_releases(shuffled(num_users, 2, epsilon0), delta=delta, num_releases=releases)
    assert found.guarantee.epsilon == pytest.approx(epsilon, rel=1e-3)
    assert found.kind is (Kind.EXACT if releases == 1 else Kind.UPPER_BOUND)


def test_three_yes_no_questions_to_539_people():
    found = compose_releases([shuffled(539, 2, 1.0)] * 3, delta=3e-6).guarantee.epsilon
    assert 0.2928 <= found <= 0.2930
    assert found < account(shuffled(539, 2, 1.0), delta=1e-6).guarantee.epsilon * 3 * 0.6


@pytest.mark.parametrize(("loss", "releases", "delta", "total"), VALUES["pure_composed"]["rows"])
def test_pure_losses_add_up_to_less_than_their_sum(loss, releases, delta, total):
    assert compose_pure([loss] * releases, delta=delta) == pytest.approx(total, rel=1e-6)


@pytest.mark.parametrize(
    ("num_users", "size", "epsilon0", "prior", "by_guarantees", "by_pairs", "cap"), VALUES["cap_curve"]["rows"]
)
def test_the_curve_caps_what_can_be_guessed(num_users, size, epsilon0, prior, by_guarantees, by_pairs, cap):  # noqa: PLR0917
    found = vulnerability_cap(privacy_curve(shuffled(num_users, size, epsilon0), delta=1e-6), prior=prior)
    tolerance = 2e-5 + 5e-3 * (cap - max(prior))
    if size == 2:  # the recorded cap is that of the blanket's curve; the exact one is lower
        assert max(prior) < found <= cap + tolerance
    else:
        assert found == pytest.approx(cap, abs=tolerance)
    assert cap == pytest.approx(min(by_guarantees, by_pairs))
    assert np.sum(prior) == pytest.approx(1)
