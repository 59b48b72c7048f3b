"""Imperfect and oblivious shuffles of few people: what is stated against the exact delta of everything they can be."""

import itertools
import math

import numpy as np
import pytest

from laws.imperfect_laws import imperfect_laws
from shuffledp.accounting import delta_at
from shuffledp.accounting.theorems.clone_pairs import StrongPair
from shuffledp.accounting.theorems.reductions import ObliviousShuffle, SwapCost
from shuffledp.core.channels import Channel
from shuffledp.core.local_models import ProtocolModel
from shuffledp.protocols.shares.shufflers.imperfect import ImperfectShuffleModel, ObliviousShuffleModel
from shuffledp.randomizers import ChannelModel, KaryRandomizedResponse
from shuffledp.shufflers import UniformShuffleModel
from shufflers.enumerated import release_law
from soundness.exact_deltas import response

SLACK = 1e-12
GAMMAS = (0.1, 0.5, 1.0)
EPSILONS = np.array([0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.6, 0.8, 1.0, 1.1, 1.4, 1.9, 2.0, 2.5])
LOPSIDED = np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]])
CHANNELS = {
    "binary": (KaryRandomizedResponse(epsilon0=1.0, domain_size=2).model, None),
    "binary, weak": (KaryRandomizedResponse(epsilon0=2.0, domain_size=2).model, None),
    "ternary": (KaryRandomizedResponse(epsilon0=1.0, domain_size=3).model, None),
    "lopsided": (ChannelModel(matrix=Channel(LOPSIDED)), LOPSIDED),
}


def matrix_of(name):
    local, matrix = CHANNELS[name]
    return response(local.domain_size, local.epsilon0) if matrix is None else matrix


def exact_deltas(data, views, epsilons=EPSILONS):
    """The largest hockey-stick divergence of two data sets that differ in one person, at each epsilon."""
    differ = (data[:, None, :] != data[None]).sum(axis=2) == 1
    pairs = np.argwhere(differ)
    factors = np.exp(epsilons)[:, None, None]
    return np.maximum(views[pairs[:, 0]] - factors * views[pairs[:, 1]], 0).sum(axis=2).max(axis=1)


# ---- imperfect shuffles ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("name", CHANNELS)
def test_nothing_imperfect_leaks_more_than_is_stated_at_any_epsilon(name, gamma):
    for people in (2, 3, 4):
        shuffle = ImperfectShuffleModel(num_users=people, imperfection=gamma, construction="assumed")
        model = ProtocolModel(local=CHANNELS[name][0], shuffle=shuffle)
        stated = ObliviousShuffle().curve(model, epsilons=EPSILONS)
        for law in imperfect_laws(people, gamma).values():
            exact = exact_deltas(*release_law(law, matrix_of(name)))
            assert (exact <= stated * (1 + 1e-9) + SLACK).all()


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("name", ["binary, weak", "lopsided"])
def test_the_swap_cost_theorem_and_the_headline_hold_too_and_are_a_little_closer(name, gamma):
    shuffle = ImperfectShuffleModel(num_users=4, imperfection=gamma, construction="assumed")
    model = ProtocolModel(local=CHANNELS[name][0], shuffle=shuffle)
    epsilons = np.array([0.0, 0.6 * gamma, gamma + 0.1])
    curve = ObliviousShuffle().curve(model, epsilons=epsilons)
    stated = np.array([SwapCost().delta(model, epsilon=epsilon) for epsilon in epsilons.tolist()])
    assert (stated <= curve * (1 + 1e-9)).all()
    assert delta_at(model, epsilon=epsilons[2]).guarantee.delta <= stated[2]
    for law in imperfect_laws(4, gamma).values():
        exact = exact_deltas(*release_law(law, matrix_of(name)), epsilons)
        assert (exact <= stated * (1 + 1e-9) + SLACK).all()


def test_epsilon_is_where_the_exact_delta_has_fallen_to_delta():
    for (name, (local, _)), gamma, delta in itertools.product(CHANNELS.items(), (0.1, 0.5), (0.2,)):
        shuffle = ImperfectShuffleModel(num_users=3, imperfection=gamma, construction="assumed")
        model = ProtocolModel(local=local, shuffle=shuffle)
        epsilons = np.array([each.epsilon(model, delta=delta) for each in (SwapCost(), ObliviousShuffle())])
        assert (epsilons <= local.epsilon0).all()
        for law in imperfect_laws(3, gamma).values():
            assert (exact_deltas(*release_law(law, matrix_of(name)), epsilons) <= delta + SLACK).all()


def test_a_uniform_shuffles_bound_is_false_of_an_imperfect_one():
    """So that the tests above could have failed: without gamma, or with too small a gamma, they would have."""
    local = CHANNELS["binary, weak"][0]
    exact = exact_deltas(*release_law(imperfect_laws(4, 1.0)["cayley"], matrix_of("binary, weak")))
    uniform = ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=4))
    promised = StrongPair().curve(uniform, epsilons=EPSILONS)
    assert (exact > promised * 1.05).any()


def test_below_gamma_the_uniform_delta_at_0_would_be_false():
    """What holds at gamma itself, if the uniform bound is exact, does not hold below gamma."""
    matrix = matrix_of("binary")
    uniform, imperfect = (imperfect_laws(4, gamma)["preserving one"] for gamma in (0.0, 1.0))
    at_zero = exact_deltas(*release_law(uniform, matrix))[0]
    assert (exact_deltas(*release_law(imperfect, matrix))[EPSILONS < 0.1] > at_zero).all()


# ---- differentially oblivious shuffles: anything may be seen, and it may depend on the reports -----------------------


def oblivious_kernel(people, outputs, spread, leak, seed):
    """Pr[seen | reports] of something that mostly depends on the multiset alone, and sometimes on everything."""
    generator = np.random.default_rng(seed)
    reports = np.array(list(itertools.product(range(outputs), repeat=people)))
    _, multisets = np.unique(np.sort(reports, axis=1), axis=0, return_inverse=True)
    base = generator.dirichlet(np.ones(6), size=multisets.max() + 1)[multisets.ravel()]
    kernel = base * np.exp(spread * generator.choice([-0.5, 0.5], size=base.shape))
    kernel /= kernel.sum(axis=1, keepdims=True)
    return reports, np.hstack([(1 - leak) * kernel, leak * np.eye(len(reports))])


def remainder_of(reports, kernel, epsilon1):
    """The least delta1 at this epsilon1, over all reports and exchanges of two of them."""
    codes = (reports.max() + 1) ** np.arange(reports.shape[1])[::-1]
    worst = 0.0
    for first, second in itertools.combinations(range(reports.shape[1]), 2):
        exchanged = reports.copy()
        exchanged[:, [first, second]] = reports[:, [second, first]]
        gaps = np.maximum(kernel - math.exp(epsilon1) * kernel[exchanged @ codes], 0).sum(axis=1)
        worst = max(worst, float(gaps.max()))
    return worst


@pytest.mark.parametrize("leak", [0.0, 0.01])
@pytest.mark.parametrize("spread", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("name", CHANNELS)
def test_no_oblivious_shuffle_leaks_more_than_is_stated(name, spread, leak):
    local, matrix = CHANNELS[name][0], matrix_of(name)
    for people, seed in ((2, 1), (3, 2)):
        reports, kernel = oblivious_kernel(people, matrix.shape[1], spread, leak, seed)
        identity = {tuple(range(people)): 1.0}
        data, sent = release_law(identity, matrix)
        exact = exact_deltas(data, sent @ kernel)
        for epsilon1 in (0.0, spread / 2, spread):
            delta1 = remainder_of(reports, kernel, epsilon1)
            shuffle = ObliviousShuffleModel(num_users=people, epsilon=epsilon1, delta=delta1)
            model = ProtocolModel(local=local, shuffle=shuffle)
            assert (exact <= ObliviousShuffle().curve(model, epsilons=EPSILONS) * (1 + 1e-9) + SLACK).all()


def test_leaving_out_what_the_oblivious_shuffle_gives_away_would_be_false():
    local, matrix = CHANNELS["binary, weak"][0], matrix_of("binary, weak")
    data, sent = release_law({(0, 1, 2): 1.0}, matrix)
    for spread, leak in ((0.0, 0.9), (12.0, 0.0)):
        _, kernel = oblivious_kernel(3, 2, spread, leak, 5)
        perfect = ProtocolModel(local=local, shuffle=ObliviousShuffleModel(num_users=3, epsilon=0.0))
        stated = ObliviousShuffle().curve(perfect, epsilons=EPSILONS)
        assert (exact_deltas(data, sent @ kernel) > stated + SLACK).any()
