"""Renyi privacy and composition against direct sums and against dp_accounting."""

import itertools
import math

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.accounting import privacy_curve
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.protocols.shares.shufflers.imperfect import DelayShuffler
from shuffledp.randomizers import KaryRandomizedResponse, LdpModel
from shuffledp.shufflers import IdentityShuffleModel, UniformShuffleModel


def generic(epsilon0: float, users: int, **local: float) -> sdp.ProtocolModel:
    return sdp.ProtocolModel(
        local=sdp.LdpModel(epsilon0=epsilon0, **local), shuffle=UniformShuffleModel(num_users=users)
    )


@pytest.mark.parametrize(
    ("users", "epsilon0", "exact"),
    [
        (1000, 1.0, {2.0: 0.0015887269066, 32.0: 0.0254264149609, 64.0: 0.0508945133742, 128.0: 0.102124589963}),
        (2000, 2.0, {2.0: 0.0048718510487, 32.0: 0.0782799532071, 64.0: 0.158702820490, 128.0: 0.339866314123}),
    ],
)
def test_renyi_divergences_are_those_of_the_direct_double_sum_from_above(users, epsilon0, exact):
    found = sdp.renyi(generic(epsilon0, users), orders=list(exact)).guarantee.epsilons
    for value, truth in zip(found, exact.values(), strict=True):
        assert truth <= value <= truth * 1.0005


def test_renyi_privacy_is_at_most_epsilon0_and_needs_a_pure_guarantee():
    assert sdp.renyi(generic(3.0, 2), orders=[2, 1e6]).guarantee.epsilons[1] <= 3.0
    with pytest.raises(UnsupportedModelError):
        sdp.renyi(generic(3.0, 1000, delta0=1e-9), orders=[2])
    with pytest.raises(InvalidParameterError, match="orders must be above 1 and ascending"):
        sdp.renyi(generic(1.0, 1000), orders=[1.0])


def test_a_hundred_releases_cost_what_the_reference_says():
    found = sdp.compose_releases(generic(1.0, 10_000), delta=1e-6, num_releases=100)
    assert 0.5082 <= found.guarantee.epsilon <= 0.5085
    assert (found.basis.theorem, found.guarantee.delta) == ("adding-losses", 1e-6)


@pytest.mark.parametrize(
    ("users", "epsilon0", "releases"), [(10_000, 1.0, 2), (10_000, 1.0, 30), (1000, 4.0, 10), (1, 1.0, 40)]
)
def test_releases_add_up_as_in_dp_accounting(users, epsilon0, releases):
    pytest.importorskip("dp_accounting")
    model = generic(epsilon0, users)
    theirs = sdp.to_privacy_loss_distribution(model, discretization=epsilon0 / 5000).self_compose(releases)
    found = sdp.compose_releases(model, delta=1e-6, num_releases=releases).guarantee.epsilon
    assert found == pytest.approx(theirs.get_epsilon_for_delta(1e-6), rel=2e-3)


def test_one_exported_release_is_the_one_that_is_stated():
    pytest.importorskip("dp_accounting")
    exported = sdp.to_privacy_loss_distribution(generic(1.0, 10_000))
    stated = sdp.account(generic(1.0, 10_000), delta=1e-6).guarantee.epsilon
    assert stated * (1 - 1e-6) <= exported.get_epsilon_for_delta(1e-6) <= stated * 1.01


@pytest.mark.parametrize("delta", [1e-3, 1e-9, 1e-30])
def test_composition_is_no_worse_than_adding_epsilons_nor_than_renyi(delta):
    model = generic(1.0, 10_000)
    found = sdp.compose_releases(model, delta=delta, num_releases=20).guarantee.epsilon
    assert found <= 20 * sdp.account(model, delta=delta / 20).guarantee.epsilon
    once = sdp.renyi(model, orders=[2, 4, 8, 16, 32, 64, 128, 256, 512])
    assert found <= sdp.compose([once] * 20).guarantee.to_central(delta=delta).epsilon
    assert found >= sdp.account(model, delta=delta).guarantee.epsilon


def test_different_releases_compose_and_one_is_itself():
    one, other = generic(1.0, 10_000), generic(0.5, 10_000)
    both = sdp.compose_releases([one, other], delta=1e-6)
    twice = [sdp.compose_releases(each, delta=1e-6, num_releases=2).guarantee.epsilon for each in (other, one)]
    assert twice[0] < both.guarantee.epsilon < twice[1]
    assert len(both.parts) == 2
    assert sdp.compose_releases(one, delta=1e-6) == sdp.account(one, delta=1e-6)
    with pytest.raises(InvalidParameterError, match="num_releases"):
        sdp.compose_releases(one, delta=1e-6, num_releases=0)
    with pytest.raises(InvalidParameterError, match="num_models"):
        sdp.compose_releases([], delta=1e-6)


@pytest.mark.parametrize("delta", [2e-6, 1e-4, 0.01])
def test_sums_from_shares_compose_although_nothing_is_known_of_them_at_tiny_deltas(delta):
    users = 1000
    local = sdp.calibrate.split_and_mix(num_users=users, epsilon=1.0, delta=1e-6, lower=0, upper=1).model
    shares = sdp.ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=users))
    with pytest.raises(UnsupportedModelError):
        sdp.account(shares, delta=1e-10)
    once = [sdp.account(each, delta=delta / 2).guarantee.epsilon for each in (shares, generic(1.0, users))]
    twice = sdp.compose_releases(shares, delta=delta, num_releases=2)
    assert once[0] < twice.guarantee.epsilon == pytest.approx(2 * once[0], rel=1e-12)
    assert twice.guarantee.epsilon >= 2 * once[0]
    assert twice.basis.theorem == "basic-composition"
    assert sdp.accounting.examine(shares, delta=delta, releases=2).upper == twice
    for models in ([shares, generic(1.0, users)], [generic(1.0, users), shares]):
        assert sdp.compose_releases(models, delta=delta).guarantee.epsilon == pytest.approx(sum(once), rel=1e-12)


def test_a_local_remainder_is_charged_for_and_one_too_large_is_not_amplified():
    def epsilon(remainder: float) -> float:
        return sdp.account(generic(1.0, 10_000, delta0=remainder), delta=1e-6).guarantee.epsilon

    assert sdp.account(generic(1.0, 10_000), delta=1e-6).guarantee.epsilon < epsilon(1e-12) < epsilon(1e-11) < 0.05
    assert epsilon(1e-9) == 1.0
    assert math.isfinite(epsilon(1e-9))


def test_pure_losses_compose_as_responses_do():
    chances = {1.0: 1 / (1 + math.exp(-1.0)), 2.0: 1 / (1 + math.exp(-2.0))}

    def remainder(epsilon: float) -> float:
        total = 0.0
        for signs in itertools.product((1, -1), repeat=3):
            losses = list(zip((1.0, 1.0, 2.0), signs, strict=True))
            chance = math.prod(chances[loss] if sign > 0 else 1 - chances[loss] for loss, sign in losses)
            total += chance * max(1 - math.exp(epsilon - sum(loss * sign for loss, sign in losses)), 0.0)
        return total

    for delta in (0.5, 0.1, 0.01):
        found = sdp.accounting.compose_pure([1.0, 2.0, 1.0], delta=delta)
        assert remainder(found) == pytest.approx(delta, rel=1e-6)
    assert sdp.accounting.compose_pure([], delta=0.1) == sdp.accounting.compose_pure([0.0], delta=0.1) == 0.0
    assert sdp.accounting.compose_pure([math.inf, 1.0], delta=0.1) == math.inf
    assert 800 < sdp.accounting.compose_pure([800.0, 1.0], delta=1e-9) <= 801 + 1e-9
    unlike = [0.01 * place for place in range(1, 30)]
    assert sdp.accounting.compose_pure([0.01] * 29, delta=1e-6) < sdp.accounting.compose_pure(unlike, delta=1e-6)
    assert sdp.accounting.compose_pure(unlike, delta=1e-6) <= sum(unlike) * (1 + 1e-12)
    with pytest.raises(InvalidParameterError, match="losses"):
        sdp.accounting.compose_pure([1.0, -1.0], delta=0.1)


def test_with_too_many_totals_all_losses_count_as_the_largest(monkeypatch):
    losses = [0.1, 0.2, 0.3] * 10
    exact = sdp.accounting.compose_pure(losses, delta=1e-3)
    monkeypatch.setattr("shuffledp.accounting.compose._MOST_TOTALS", 11**3 - 1)
    found = sdp.accounting.compose_pure(losses, delta=1e-3)
    assert exact < found < sum(losses)
    assert found == pytest.approx(sdp.accounting.compose_pure([0.3] * 30, delta=1e-3))


def test_releases_that_are_not_amplified_add_up_as_pure_losses():
    found = sdp.compose_releases(generic(0.1, 1), delta=1e-6, num_releases=52)
    assert found.guarantee.epsilon == sdp.accounting.compose_pure([0.1] * 52, delta=1e-6) < 3.242
    assert found.basis.theorem == "adding-losses"


# ---- the curve of one protocol --------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [1e-6, 0.05])
def test_the_curve_is_at_most_what_the_statement_implies_and_attained_by_response(delta):
    """A pair of loss E and remainder delta is revealed with chance delta, and else randomized response."""
    model = sdp.ProtocolModel(local=LdpModel(epsilon0=1.5, delta0=delta), shuffle=IdentityShuffleModel(num_users=10))
    epsilons, odds = np.array([0.0, 0.3, 1.0, 1.5, 4.0]), math.exp(1.5)
    expected = delta + (1 - delta) * np.maximum(0, odds - np.exp(epsilons)) / (odds + 1)
    np.testing.assert_allclose(privacy_curve(model, delta=delta)(epsilons), expected, rtol=1e-9)


def test_the_curve_of_a_shuffle_whose_theorem_has_no_fast_one_is_what_its_statement_implies():
    local = KaryRandomizedResponse(epsilon0=1.0, domain_size=2).model
    model = sdp.ProtocolModel(local=local, shuffle=DelayShuffler(imperfection=0.25).model(200))
    stated = sdp.account(model, delta=1e-6).guarantee
    odds = math.exp(stated.epsilon)
    assert privacy_curve(model, delta=1e-6)(np.zeros(1))[0] == pytest.approx(
        1e-6 + (1 - 1e-6) * (odds - 1) / (odds + 1)
    )


def test_a_loss_beyond_what_floats_hold_has_a_curve_too():
    model = sdp.ProtocolModel(local=LdpModel(epsilon0=800.0), shuffle=UniformShuffleModel(num_users=2))
    assert (privacy_curve(model, delta=1e-6)(np.array([0.0, 700.0, 900.0])) <= 1).all()


@pytest.mark.parametrize("epsilon0", [709.5, 710.0, 800.0])
def test_losses_beyond_the_range_of_floats_add_up(epsilon0):
    several = sdp.compose_releases(generic(epsilon0, 3), delta=1e-6, num_releases=2).guarantee.epsilon
    assert epsilon0 <= several <= 2 * epsilon0 * (1 + 1e-12)
    mixed = sdp.compose_releases([generic(epsilon0, 3), generic(1.0, 1000)], delta=1e-6).guarantee.epsilon
    assert mixed <= epsilon0 + 1.0 + 1e-9
    assert sdp.renyi(generic(epsilon0, 3), orders=[2, 8]).guarantee.epsilons[1] <= epsilon0
