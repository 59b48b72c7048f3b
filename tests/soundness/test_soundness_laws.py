"""Bounds from a randomizer's own law, against the enumeration of every data set: lower <= exact <= upper, always."""

import math

import numpy as np
import pytest

from accounting.given import GivenChannel, uniformly
from accounting.given import response as response_model
from shuffledp.accounting import THEOREMS
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.randomizers import (
    DiscreteLaplaceMeanModel,
    HadamardResponseModel,
    OptimizedUnaryEncodingModel,
    SubsetSelectionModel,
    SymmetricUnaryEncodingModel,
)
from soundness.exact_deltas import hockey_stick, laws_of_others, random_extremal_channel, with_another, worst_delta

NAMED = {theorem.id: theorem for theorem in THEOREMS}
UPPER = ("blanket-two-level", "blanket-laplace", "blanket-channel")
LOWER = ("two-level-third-value", "two-level-others-equal", "homogeneous-laplace", "homogeneous-channel")
FRACTIONS = np.array([0.0, 0.05, 0.2, 0.5, 0.8, 0.99, 0.99999])  # of epsilon0
ROUNDING = 1e-10  # relative, of the enumeration and of epsilon0
SMALL = [(3, 10), (4, 7), (5, 5)]

deep = pytest.mark.deep


def bounds(model: ProtocolModel, names: tuple[str, ...], epsilons: np.ndarray) -> dict[str, np.ndarray]:
    """The curve of each of these theorems that applies."""
    return {
        name: np.array([NAMED[name].delta(model, epsilon=float(epsilon)) for epsilon in epsilons])
        for name in names
        if NAMED[name].applies(model, delta=1e-6)
    }


def check(model: ProtocolModel, channel: np.ndarray, epsilons: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """That no bound is broken; the exact curve and the upper bounds."""
    exact = worst_delta(channel, laws_of_others(channel, model.num_users - 1), epsilons)
    uppers, lowers = bounds(model, UPPER, epsilons), bounds(model, LOWER, epsilons)
    assert uppers
    assert lowers
    for upper in uppers.values():
        assert (exact <= upper * (1 + ROUNDING) + 1e-15).all()
    for lower in lowers.values():
        assert (lower <= exact * (1 + ROUNDING) + 1e-15).all()
    return exact, uppers


@pytest.mark.parametrize(("size", "users"), [*SMALL, (2, 20), (3, 2)])
@pytest.mark.parametrize("epsilon0", [0.3, 1.0, 4.0])
def test_response_lies_within_its_bounds_for_every_data_set(size, users, epsilon0):
    model = response_model(size, epsilon0, users)
    exact, uppers = check(model, model.local.channel().matrix, FRACTIONS * epsilon0)
    if users > 4:  # the bound is not vacuous: a tenth of it less, and it would be broken or nearly so
        assert (uppers["blanket-two-level"][:5] <= 3 * exact[:5]).all()


@pytest.mark.parametrize(("size", "users"), SMALL)
def test_the_lower_bounds_are_the_deltas_of_their_data_sets(size, users):
    model, epsilons = response_model(size, 1.5, users), FRACTIONS[:5] * 1.5
    channel = model.local.channel().matrix
    exact = {}
    for name, others in (("third", 2), ("first", 0), ("second", 1)):
        law = np.ones((1,) * (size - 1))
        for _ in range(users - 1):
            law = with_another(law, channel[others])
        exact[name] = hockey_stick(with_another(law, channel[0]), with_another(law, channel[1]), epsilons)
    explicit = uniformly(GivenChannel(rows=tuple(map(tuple, channel.tolist()))), users)
    lowers = {**bounds(model, LOWER, epsilons), **bounds(explicit, LOWER, epsilons)}
    assert lowers["two-level-third-value"] == pytest.approx(exact["third"], rel=1e-3)
    equal = np.maximum(exact["first"], exact["second"])
    assert lowers["two-level-others-equal"] == pytest.approx(equal, rel=1e-3)
    assert lowers["homogeneous-channel"] == pytest.approx(np.maximum(equal, exact["third"]), rel=1e-3)


OTHER_MODELS = [
    (SymmetricUnaryEncodingModel.from_epsilon0(epsilon0=1.0, domain_size=3), 3),
    (OptimizedUnaryEncodingModel.from_epsilon0(epsilon0=2.0, domain_size=3), 3),
    (OptimizedUnaryEncodingModel.from_epsilon0(epsilon0=1.0, domain_size=2), 6),
    (HadamardResponseModel.from_epsilon0(epsilon0=1.0, domain_size=3), 8),
    (HadamardResponseModel.from_epsilon0(epsilon0=3.0, domain_size=2), 8),
    (SubsetSelectionModel(domain_size=4, subset_size=2, false_words=2**62), 5),
    (SubsetSelectionModel(domain_size=3, subset_size=2, false_words=2**61), 8),
]


@pytest.mark.parametrize(("local", "users"), OTHER_MODELS)
def test_other_frequency_oracles_lie_within_their_bounds_for_every_data_set(local: LocalModel, users):
    check(uniformly(local, users), local.channel().matrix, FRACTIONS * local.epsilon0)


@pytest.mark.parametrize(("steps", "users"), [(1, 10), (2, 6), (3, 5)])
@pytest.mark.parametrize("epsilon0", [0.5, 3.0])
def test_laplace_noise_on_a_grid_lies_within_its_bounds_for_every_data_set(steps, users, epsilon0):
    local = DiscreteLaplaceMeanModel.from_epsilon0(epsilon0=epsilon0, lower=0, upper=1, num_steps=steps)
    ratio, places = math.exp(-epsilon0 / steps), np.arange(steps + 1.0)
    channel = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.subtract.outer(places, places))
    channel[:, [0, -1]] /= 1 - ratio  # reports beyond the ends tell as much as the ends
    check(uniformly(local, users), channel, FRACTIONS * epsilon0)


@pytest.mark.parametrize("seed", [*range(12), *(pytest.param(seed, marks=deep) for seed in range(100, 400))])
def test_random_extremal_channels_lie_within_their_bounds_for_every_data_set(seed):
    generator = np.random.default_rng(seed)
    epsilon0 = float(generator.uniform(0.2, 4))
    shape = {"inputs": int(generator.integers(2, 4)), "outputs": int(generator.integers(2, 5))}
    channel = random_extremal_channel(generator, epsilon0, **shape)
    model = uniformly(GivenChannel(rows=tuple(map(tuple, channel.tolist()))), int(generator.integers(2, 8)))
    check(model, channel, FRACTIONS * model.local.epsilon0)


@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(seed, marks=deep) for seed in range(100, 250))])
def test_channels_without_a_local_guarantee_lie_within_their_bounds(seed):
    generator = np.random.default_rng(seed)
    channel = generator.dirichlet(np.full(4, 0.7), size=3)
    channel[generator.random(channel.shape) < 0.2] = 0
    channel[:, 0] += 1 - channel.sum(axis=1)
    model = uniformly(GivenChannel(rows=tuple(map(tuple, channel.tolist()))), int(generator.integers(2, 7)))
    check(model, channel, np.array([0.0, 0.1, 0.5, 1.0, 2.0, 5.0]))


def test_the_printed_pair_for_response_is_below_a_data_set():
    # FMT23 as first printed, and the variation-ratio code: epsilon 3.8231 for 100 people, three answers, delta 1e-6.
    model = response_model(3, 4.0, 100)
    assert NAMED["two-level-third-value"].epsilon(model, delta=1e-6) == pytest.approx(3.823143, rel=1e-4)
    assert NAMED["two-level-others-equal"].epsilon(model, delta=1e-6) == pytest.approx(3.999963, rel=1e-5)
    assert NAMED["two-level-others-equal"].delta(model, epsilon=3.8231) == pytest.approx(4.44e-3, rel=1e-2)
    # 1000 people, ten answers: 1.52239 by the pair, which merges what the real analyst sees apart.
    assert NAMED["two-level-third-value"].epsilon(response_model(10, 4.0, 1000), delta=1e-6) > 1.5268


def test_a_bound_with_more_overlap_than_there_is_would_be_caught():
    local = SymmetricUnaryEncodingModel.from_epsilon0(epsilon0=2.0, domain_size=2)
    channel, epsilons = local.channel().matrix, np.array([0.5, 1.0])
    exact = worst_delta(channel, laws_of_others(channel, 2), epsilons)
    merged = GivenChannel(rows=((0.6, 0.4), (0.4, 0.6)))
    assert (bounds(uniformly(merged, 3), UPPER, epsilons)["blanket-channel"] < exact).all()
