"""Random walks of few people on small graphs: what is stated against the exact delta of everything that is seen."""

import math
from functools import cache

import numpy as np
import pytest

from shuffledp.accounting import account, delta_at
from shuffledp.accounting.theorems.network import NetworkAll, NetworkSingle
from shuffledp.accounting.theorems.network_limits import NetworkHistogram
from shuffledp.channels import Channel
from shuffledp.models import ProtocolModel
from shuffledp.randomizers import ChannelModel, KaryRandomizedResponse, LdpModel
from shuffledp.shufflers.walk_model import RandomWalkShuffleModel
from soundness.exact_deltas import response
from soundness.exact_walks import (
    GRAPHS,
    exact_delta,
    exact_epsilon,
    near_uniformity,
    pairs_of_views,
    positions,
    positions_by_trajectories,
    ranked,
    sees_one_each,
    sees_padded,
    sees_shuffled,
    separation,
    stationary,
    worst_of_pairs,
)

SLACK = 1e-12
EPSILONS = np.array([0.0, 0.02, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 0.99])
SMALL = ["K3", "K4", "C4", "paw", "star", "P3", "P4"]
LARGE = ["K5", "C5"]
ROUNDS = range(5)


def response_of(epsilon0):
    return KaryRandomizedResponse(epsilon0=epsilon0, domain_size=2).model


def walk_model(laws, *, rounds, protocol, pi=None, submissions=0, **others):
    """The public description of walks with these laws of positions."""
    probabilities, counts = np.unique(ranked(laws), return_counts=True)
    weights = laws.mean(axis=0) if pi is None else pi
    return RandomWalkShuffleModel(
        num_users=len(laws),
        num_rounds=rounds,
        protocol=protocol,
        submissions=submissions,
        graph_digest="",
        irregularity=float(len(laws) * weights @ weights),
        near_uniformity=near_uniformity(laws),
        separation=separation(laws, weights),
        position_probabilities=tuple(probabilities[::-1].tolist()),
        position_counts=tuple(counts[::-1].tolist()),
        **others,
    )


def model_of(name, rounds, protocol, *, local=None, **others):
    walks = walk_model(
        positions(name, rounds), rounds=rounds, protocol=protocol, pi=stationary(name)[0], **others
    )
    return ProtocolModel(local=local or response_of(1.0), shuffle=walks)


@cache
def exact(name, rounds, protocol, victim, epsilon0=1.0, submissions=2):
    channel, laws = response(2, epsilon0), positions(name, rounds)
    return exact_delta(channel, laws, victim, kernel_of(protocol, len(laws), channel[0], submissions), EPSILONS * epsilon0)


def kernel_of(protocol, size, dummy, submissions=2):
    if protocol == "single":
        return sees_one_each(size, size, dummy)
    return sees_padded(size, size, dummy, submissions=submissions) if protocol == "padded" else None


def worst(name, rounds, protocol, epsilon0=1.0):
    victims = range(GRAPHS[name][0])
    return np.max([exact(name, rounds, protocol, victim, epsilon0) for victim in victims], axis=0)


# ---- the enumeration itself ------------------------------------------------------------------------------------------

TABLE = [  # graph, rounds, victims, then epsilon at delta 0.05 and 0.01: all, single, and uniform shuffle
    ("K3", 1, [0], (0.9104, 0.9827), (0.6507, 0.7964), (0.8631, 0.9741)),
    ("K3", 2, [0], (0.8631, 0.9741), (0.4688, 0.6831), (0.8631, 0.9741)),
    ("C5", 1, [0], (0.9160, 0.9838), (0.6507, 0.8046), (0.7263, 0.9509)),
    ("C5", 2, [0], (0.8734, 0.9759), (0.4688, 0.6720), (0.7263, 0.9509)),
    ("C5", 4, [0], (0.7433, 0.9509), (0.3590, 0.5577), (0.7263, 0.9509)),
    ("paw", 1, range(4), (0.9177, 0.9841), (0.6231, 0.8261), (0.8076, 0.9644)),
    ("paw", None, range(4), (0.8076, 0.9644), (0.3443, 0.5390), (0.8076, 0.9644)),
    ("K4", None, [0], (0.8076, 0.9644), (0.3734, 0.5783), (0.8076, 0.9644)),
]


@pytest.mark.parametrize(("name", "rounds", "victims", "every", "single", "uniform"), TABLE)
def test_exact_epsilons_are_those_of_an_independent_enumeration(name, rounds, victims, every, single, uniform):
    channel = response(2, 1.0)
    laws = stationary(name) if rounds is None else positions(name, rounds)
    size = len(laws)
    kernels = (None, sees_one_each(size, size, channel[0]), sees_shuffled(size, size, channel[0]))
    for kernel, expected in zip(kernels, (every, single, uniform), strict=True):
        found = [exact_epsilon(channel, laws, victims, kernel, delta) for delta in (0.05, 0.01)]
        assert found == pytest.approx(expected, abs=6e-5)


@pytest.mark.parametrize("name", GRAPHS)
def test_powers_of_the_transition_matrix_count_trajectories(name):
    for rounds in ROUNDS:
        for start, law in enumerate(positions(name, rounds)):
            assert law == pytest.approx([float(chance) for chance in positions_by_trajectories(name, start, rounds)])


# ---- bounds are above ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["all", "single", "padded"])
@pytest.mark.parametrize("name", SMALL)
def test_no_walk_loses_more_than_is_stated(name, protocol):
    for rounds in ROUNDS:
        model = model_of(name, rounds, protocol, submissions=2 if protocol == "padded" else 0)
        found = worst(name, rounds, protocol)
        for theorem in (NetworkAll(), NetworkSingle()):
            stated = np.array([theorem.delta(model, epsilon=epsilon) for epsilon in EPSILONS.tolist()])
            assert (found <= stated * (1 + 1e-9) + SLACK).all()
        headline = np.array([delta_at(model, epsilon=epsilon).guarantee.delta for epsilon in EPSILONS.tolist()])
        assert (found <= headline * (1 + 1e-9) + SLACK).all()


@pytest.mark.parametrize("protocol", ["all", "single"])
@pytest.mark.parametrize("name", LARGE)
def test_nor_does_one_of_five_people(name, protocol):
    for rounds in (1, 2, 4):
        model = model_of(name, rounds, protocol)
        found = exact(name, rounds, protocol, 0)
        headline = np.array([delta_at(model, epsilon=epsilon).guarantee.delta for epsilon in EPSILONS.tolist()])
        assert (found <= headline * (1 + 1e-9) + SLACK).all()
