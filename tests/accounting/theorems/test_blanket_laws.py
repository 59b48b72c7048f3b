"""Theorems that evaluate a randomizer's own law: to whom they apply, how they agree, and what they cost."""

import math

import numpy as np
import pytest

from accounting.given import GivenChannel, given, response, uniformly
from shuffledp.accounting import THEOREMS, account
from shuffledp.accounting.numerics import gaussian_epsilon
from shuffledp.core.channels import Channel
from shuffledp.core.errors import HypothesisError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.randomizers import (
    ChannelModel,
    DiscreteLaplaceMeanModel,
    HadamardResponseModel,
    LaplaceModel,
    OneBitMeanModel,
    OptimizedLocalHashingModel,
    OptimizedUnaryEncodingModel,
    PrivUnitModel,
    RoundedMeanModel,
    SubsetSelectionModel,
    SymmetricUnaryEncodingModel,
)
from shuffledp.shufflers import IdentityShuffleModel

NAMED = {theorem.id: theorem for theorem in THEOREMS}
TWO_LEVEL = [
    OptimizedUnaryEncodingModel.from_epsilon0(epsilon0=2.0, domain_size=20),
    SymmetricUnaryEncodingModel.from_epsilon0(epsilon0=2.0, domain_size=20),
    HadamardResponseModel.from_epsilon0(epsilon0=2.0, domain_size=100),
    SubsetSelectionModel.from_epsilon0(epsilon0=2.0, domain_size=40),
    OptimizedLocalHashingModel.from_epsilon0(epsilon0=2.0, domain_size=1000),
    PrivUnitModel.from_epsilon0(epsilon0=2.0, dimension=50),
    OneBitMeanModel.from_epsilon0(epsilon0=2.0, lower=0, upper=1),
    RoundedMeanModel.from_epsilon0(epsilon0=2.0, lower=0, upper=1, num_levels=5),
]


def epsilon(theorem: str, model: ProtocolModel, delta: float = 1e-6) -> float:
    return NAMED[theorem].state(model, delta=delta).guarantee.epsilon


@pytest.mark.parametrize("local", TWO_LEVEL, ids=lambda local: local.kind)
def test_two_levels_are_bracketed_below_the_general_bound(local):
    model = uniformly(local, 10_000)
    upper, lower = (epsilon(name, model) for name in ("blanket-two-level", "two-level-others-equal"))
    assert upper / 2 < lower < upper < epsilon("fmt23-closed", model) / 3
    if local.two_level.triple is not None:
        assert epsilon("two-level-third-value", model) <= upper


@pytest.mark.parametrize(
    ("size", "users", "most"), [(3, 1000, 1.001), (10, 1000, 1.001), (10, 10**4, 1.0001), (100, 10**6, 1.0001)]
)
@pytest.mark.parametrize("epsilon0", [0.5, 1.0, 2.0, 4.0])
def test_response_of_three_answers_or_more_is_solved(size, users, most, epsilon0):
    model = response(size, epsilon0, users)
    upper, lower = (epsilon(name, model) for name in ("blanket-two-level", "two-level-third-value"))
    assert lower <= upper <= most * lower


@pytest.mark.parametrize("size", [2, 3, 5])
def test_a_channel_gives_what_two_levels_give(size):
    model = response(size, 1.5, 2000)
    explicit = uniformly(GivenChannel(rows=tuple(map(tuple, model.local.channel().matrix.tolist()))), 2000)
    assert epsilon("blanket-channel", explicit) == pytest.approx(epsilon("blanket-two-level", model), rel=1e-5)
    lower = max(epsilon(name, model) for name in ("two-level-others-equal", "two-level-third-value")[: 1 + (size > 2)])
    assert epsilon("homogeneous-channel", explicit) == pytest.approx(lower, rel=1e-5)
    assert not NAMED["blanket-channel"].applies(model, delta=1e-6)


def test_binary_response_agrees_with_its_closed_form():
    model = response(2, 1.0, 10_000)
    assert epsilon("two-level-others-equal", model) == pytest.approx(epsilon("binary-all-equal", model), rel=1e-4)


def test_laplace_on_a_fine_grid_is_laplace_of_real_numbers():
    real = uniformly(LaplaceModel(epsilon0=2.0), 10_000)
    grid = DiscreteLaplaceMeanModel.from_epsilon0(epsilon0=2.0, lower=-3, upper=5, num_steps=2**16)
    for name in ("blanket-laplace", "homogeneous-laplace"):
        assert epsilon(name, uniformly(grid, 10_000)) == pytest.approx(epsilon(name, real), rel=1e-4)
    one_step = DiscreteLaplaceMeanModel.from_epsilon0(epsilon0=2.0, lower=0, upper=1, num_steps=1)
    model = uniformly(one_step, 10_000)
    binary = epsilon("blanket-two-level", response(2, 2.0, 10_000))
    assert epsilon("blanket-laplace", model) == pytest.approx(binary, rel=1e-4)


def test_a_channel_that_reveals_somebody_with_some_probability_is_accounted_for():
    rows = np.array([[0.5 - 1e-8, 0.5, 1e-8], [0.5, 0.5 - 1e-8, 1e-8], [0.4, 0.6, 0.0]])
    local = ChannelModel(matrix=Channel(rows))
    assert local.epsilon0 == math.inf
    model = uniformly(local, 10_000)
    statement = account(model, delta=1e-6)
    assert statement.basis.theorem == "blanket-channel"
    assert 0 < epsilon("homogeneous-channel", model) <= statement.guarantee.epsilon < 0.2
    assert epsilon("blanket-channel", model, 1e-9) == math.inf
    assert NAMED["blanket-channel"].delta(model, epsilon=1000.0) == pytest.approx(1e-8)


@pytest.mark.parametrize(
    "name",
    ["blanket-two-level", "blanket-channel", "two-level-third-value", "two-level-others-equal", "homogeneous-channel"],
)
def test_curves_are_the_deltas_in_one_pass(name):
    model, epsilons = response(4, 1.0, 500), np.array([0.0, 0.01, 0.1, 0.5, 0.99, 1.0, 2.0])
    if "channel" in name:
        model = uniformly(GivenChannel(rows=tuple(map(tuple, model.local.channel().matrix.tolist()))), 500)
    curve = NAMED[name].curve(model, epsilons=epsilons)
    deltas = [NAMED[name].delta(model, epsilon=float(each)) for each in epsilons]
    assert curve == pytest.approx(deltas, rel=1e-3, abs=1e-12)
    assert (np.diff(curve) <= 0).all()
    assert curve[-1] == 0


def test_for_many_users_the_limit_is_met():
    for local, name, close in (
        (response(10, 1.0, 1).local, "blanket-two-level", 1e-3),
        (LaplaceModel(epsilon0=1.0), "blanket-laplace", 1e-3),
        (LaplaceModel(epsilon0=1.0), "homogeneous-laplace", 1e-3),
    ):
        model = uniformly(local, 10**9)
        limit = gaussian_epsilon(NAMED[name].limit_mu(model), 1e-6)
        assert epsilon(name, model) == pytest.approx(limit, rel=close)


def test_delta_is_the_inverse_of_epsilon():
    for name in ("blanket-two-level", "two-level-third-value"):
        model = response(10, 1.0, 1000)
        assert NAMED[name].delta(model, epsilon=epsilon(name, model)) == pytest.approx(1e-6, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "model", "hypothesis"),
    [
        ("blanket-two-level", given(1.0, 1000), "two-level"),
        ("blanket-two-level", response(2, 1.0, 1000), None),
        ("two-level-third-value", response(2, 1.0, 1000), "third-value"),
        ("two-level-others-equal", given(1.0, 1000), "two-level"),
        ("blanket-channel", given(1.0, 1000), "small-channel"),
        ("blanket-channel", response(3, 1.0, 1000), "own-law"),
        ("blanket-channel", uniformly(TWO_LEVEL[0], 1000), "small-channel"),
        ("blanket-laplace", response(3, 1.0, 1000), "laplace-noise"),
        ("homogeneous-laplace", response(3, 1.0, 1000), "laplace-noise"),
        ("homogeneous-channel", given(1.0, 1000), "small-channel"),
    ],
)
def test_whom_they_do_not_cover_is_told_why(name, model, hypothesis):
    if hypothesis is None:
        assert NAMED[name].applies(model, delta=1e-6)
        return
    with pytest.raises(HypothesisError, match=name):
        NAMED[name].state(model, delta=1e-6)
    assert hypothesis in [each.name for each in NAMED[name].hypotheses(model, delta=1e-6) if not each.holds]


@pytest.mark.parametrize("name", ["blanket-two-level", "two-level-third-value"])
def test_without_a_shuffle_nothing_is_said(name):
    model = ProtocolModel(local=response(3, 1.0, 10).local, shuffle=IdentityShuffleModel(num_users=10))
    assert not NAMED[name].applies(model, delta=1e-6)


def test_randomizers_too_extreme_for_floats_are_left_to_others():
    model = uniformly(DiscreteLaplaceMeanModel.from_epsilon0(epsilon0=500.0, lower=0, upper=1, num_steps=10), 1000)
    assert not NAMED["blanket-laplace"].applies(model, delta=1e-6)
    rows = ((1 - 1e-9, 1e-9), (0.5, 0.5))
    assert epsilon("blanket-channel", uniformly(GivenChannel(rows=rows), 50)) > 1
