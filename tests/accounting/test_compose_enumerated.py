"""Two releases of a lopsided channel: the exact delta over all data sets is never above what is stated."""

import itertools
import math

import numpy as np
import pytest

from shuffledp.accounting import compose_releases, renyi
from shuffledp.core.channels import Channel
from shuffledp.core.local_models import ProtocolModel
from shuffledp.randomizers import ChannelModel
from shuffledp.shufflers import UniformShuffleModel
from soundness.exact_deltas import with_another

LOPSIDED = (
    np.array([[0.7, 0.2, 0.1], [0.2, 0.3, 0.5], [0.25, 0.6, 0.15]]),
    np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]]),
    np.array([[0.02, 0.98], [0.005, 0.995], [0.012, 0.988]]),
)
USERS = 3


def protocol(matrix: np.ndarray) -> ProtocolModel:
    return ProtocolModel(local=ChannelModel(matrix=Channel(matrix)), shuffle=UniformShuffleModel(num_users=USERS))


def neighbors(matrix: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """The laws of the histogram for all data sets of three people and all ordered pairs of the victim's inputs."""
    pairs = []
    for others in itertools.combinations_with_replacement(matrix, USERS - 1):
        law = np.ones((1,) * (matrix.shape[1] - 1))
        for row in others:
            law = with_another(law, row)
        laws = [with_another(law, row).ravel() for row in matrix]
        pairs += itertools.permutations([law[law > 0] for law in laws], 2)
    return pairs


def divergence(first: np.ndarray, second: np.ndarray, order: float) -> float:
    powers = order * np.log(first) + (1 - order) * np.log(second)
    return float(powers.max() + np.log(np.exp(powers - powers.max()).sum())) / (order - 1)


@pytest.mark.parametrize("matrix", [*LOPSIDED[:2], pytest.param(LOPSIDED[2], marks=pytest.mark.deep)])
def test_two_releases_lose_no_more_than_stated(matrix):
    model, one_step = protocol(matrix), neighbors(matrix)
    # What others hold, and who the victim is not, may change from one release to the next, as what was seen suggests.
    products = [
        (np.outer(p, r).ravel(), np.outer(q, s).ravel()) for (p, q), (r, s) in itertools.product(one_step, repeat=2)
    ]
    for delta in (0.2, 0.05, 0.01, 1e-3):
        epsilon = compose_releases(model, delta=delta, num_releases=2).guarantee.epsilon
        worst = max(float(np.maximum(p - math.exp(epsilon) * q, 0).sum()) for p, q in products)
        assert worst <= delta * (1 + 1e-9)
    one = compose_releases(model, delta=0.01, num_releases=1).guarantee.epsilon
    assert max(float(np.maximum(p - math.exp(one) * q, 0).sum()) for p, q in products) > 0.01


@pytest.mark.parametrize("matrix", [*LOPSIDED[:2], pytest.param(LOPSIDED[2], marks=pytest.mark.deep)])
def test_no_data_set_has_a_larger_renyi_divergence(matrix):
    orders = [1.5, 2.0, 8.0, 64.0]
    stated = renyi(protocol(matrix), orders=orders).guarantee.epsilons
    for order, bound in zip(orders, stated, strict=True):
        worst = max(divergence(p, q, order) for p, q in neighbors(matrix))
        assert worst <= bound * (1 + 1e-9)
        assert bound < 8 * worst
