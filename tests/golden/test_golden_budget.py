"""Sums over releases and caps on leakage come out as computed independently of this library."""

import json
from pathlib import Path

import numpy as np
import pytest

from shuffledp import KaryRandomizedResponse, ProtocolModel, UniformShuffler
from shuffledp.accounting import compose_releases, privacy_curve
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
    ("num_users", "size", "epsilon0", "prior", "by_guarantees", "by_pairs", "cap"), VALUES["cap_curve"]["rows"]
)
def test_the_curve_caps_what_can_be_guessed(num_users, size, epsilon0, prior, by_guarantees, by_pairs, cap):  # noqa: PLR0917
    found = vulnerability_cap(privacy_curve(shuffled(num_users, size, epsilon0), delta=1e-6), prior=prior)
    assert found == pytest.approx(cap, abs=2e-5 + 5e-3 * (cap - max(prior)))
    assert cap == pytest.approx(min(by_guarantees, by_pairs))
    assert np.sum(prior) == pytest.approx(1)
