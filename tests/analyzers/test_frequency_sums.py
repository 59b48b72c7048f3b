"""Sums of frequencies: errors equal to those found by enumeration, intervals that cover, and what is refused."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from analyzers.given_counts import drawn, expected
from shuffledp import (
    HadamardResponse,
    KaryRandomizedResponse,
    OptimizedLocalHashing,
    OptimizedUnaryEncoding,
    SubsetSelection,
    SymmetricUnaryEncoding,
)
from shuffledp.analyzers import FrequencyAnalyzer, FrequencySummary, FrequencySums
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.shuffle_models import DummyReports

RNG = np.random.default_rng(20)


def supports_of(model):
    """The channel, and which values each output supports, by enumeration."""
    channel = np.asarray(model.channel().matrix, dtype=float)
    size = model.domain_size
    if model.kind == "k-rr":
        return channel, np.eye(size)
    if model.kind == "hadamard":
        columns = np.arange(channel.shape[1])
        rows = [np.bitwise_count(columns & (value + 1)) % 2 == 0 for value in range(size)]
        return channel, np.array(rows, dtype=float).T
    outputs = np.arange(2**size)
    if model.kind == "subset":
        outputs = outputs[np.bitwise_count(outputs) == model.subset_size]
    return channel, (outputs[:, None] >> np.arange(size) & 1).astype(float)


MODELS = [
    KaryRandomizedResponse(epsilon0=1.0, domain_size=5).model,
    OptimizedUnaryEncoding(epsilon0=1.0, domain_size=4).model,
    SymmetricUnaryEncoding(epsilon0=2.0, domain_size=3).model,
    SubsetSelection(epsilon0=1.0, domain_size=6).model,
    SubsetSelection(epsilon0=1.0, domain_size=2).model,
    HadamardResponse(epsilon0=1.0, domain_size=6).model,
    HadamardResponse(epsilon0=1.0, domain_size=3).model,
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{model.kind} {model.domain_size}")
def test_the_variance_of_the_supported_weights_is_that_of_the_enumerated_law(model):
    channel, supports = supports_of(model)
    weights = RNG.normal(size=(4, model.domain_size))
    sums = weights @ supports.T
    law = sums**2 @ channel.T - (sums @ channel.T) ** 2
    np.testing.assert_allclose(model.support_variance(weights), law, rtol=1e-12)
    np.testing.assert_allclose(model.support_variance(weights[0]), law[0], rtol=1e-12)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{model.kind} {model.domain_size}")
def test_estimates_of_three_people_are_unbiased_with_the_covariances_that_are_stated(model):
    channel, supports = supports_of(model)
    size, people = model.domain_size, [0, 1, 1]
    weights = np.round(RNG.normal(size=(3, size)), 2)
    outcomes = np.array(list(product(range(channel.shape[1]), repeat=3)))
    chances = np.prod([channel[value][outcomes[:, place]] for place, value in enumerate(people)], axis=0)
    counts = sum(supports[outcomes[:, place]] for place in range(3))
    used = np.unique(counts, axis=0, return_inverse=True)
    found = np.array(
        [FrequencySums(FrequencySummary(model=model, counts=each, num_reports=3)).values(weights) for each in used[0]]
    )[used[1].ravel()]
    shares = np.bincount(people, minlength=size) / 3
    np.testing.assert_allclose(chances @ found, weights @ shares, atol=1e-12)
    errors = found - weights @ shares
    law = (chances[:, None] * errors).T @ errors
    stated = FrequencySums(expected(model, shares, 3))
    np.testing.assert_allclose(stated.variances(weights), np.diag(law), rtol=1e-9, atol=1e-12)
    other = stated.covariances(weights, np.roll(weights, 1, axis=0))
    np.testing.assert_allclose(other, [law[0, 2], law[1, 0], law[2, 1]], rtol=1e-9, atol=1e-12)


def test_sums_of_independent_bits_err_less_for_knowing_that_all_shares_add_up_to_one():
    model = OptimizedUnaryEncoding(epsilon0=1.0, domain_size=4).model
    sums, half = FrequencySums(expected(model, [0.25] * 4, 1000)), np.array([[1.0, 1.0, 0.0, 0.0]])
    plain = 2 * FrequencyAnalyzer().estimate(expected(model, [0.25] * 4, 1000)).standard_error[0] ** 2
    assert sums.variances(half)[0] == pytest.approx(plain / 2, rel=1e-9)
    assert sums.variances(np.ones((1, 4)))[0] == pytest.approx(0, abs=1e-15)
    assert sums.values(np.ones((1, 4)))[0] == pytest.approx(1)


def test_of_k_ary_response_a_single_frequency_has_the_error_that_the_analyzer_states():
    model = KaryRandomizedResponse(epsilon0=1.0, domain_size=5).model
    summary = drawn(model, [700, 100, 100, 60, 40], np.random.default_rng(1))
    alone = FrequencyAnalyzer().estimate(expected(model, [0.7, 0.1, 0.1, 0.06, 0.04], 1000))
    sums = FrequencySums(expected(model, [0.7, 0.1, 0.1, 0.06, 0.04], 1000)).estimate(
        np.eye(5), "abcde", statistic="frequency", level=0.95
    )
    np.testing.assert_allclose(sums.standard_error, alone.standard_error, rtol=1e-9)
    np.testing.assert_allclose(sums.sampling_error, alone.sampling_error, rtol=1e-9)
    assert FrequencySums(summary).values(np.eye(5)) == pytest.approx(FrequencyAnalyzer().estimate(summary).estimate)


def test_dummies_and_losses_add_the_errors_that_the_analyzer_states():
    model = KaryRandomizedResponse(epsilon0=4.0, domain_size=3).model
    dummies = DummyReports(fraction=0.2, standard_error=0.03, value=1)
    summary = FrequencySummary(
        model=model, dummies=dummies, arrival_share=0.8, counts=np.array([400, 350, 250]), num_reports=1000
    )
    alone = FrequencyAnalyzer().estimate(summary)
    sums = FrequencySums(summary)
    np.testing.assert_allclose(sums.values(np.eye(3)), alone.estimate, rtol=1e-9)
    np.testing.assert_allclose(np.sqrt(sums.variances(np.eye(3))), alone.standard_error, rtol=1e-6)
    np.testing.assert_allclose(np.sqrt(sums.sampling_variances(np.eye(3))), alone.sampling_error, rtol=1e-6)
    assert sums.nearly_normal(np.eye(3)).all()


@pytest.mark.parametrize("holders", [0, 3, 9, 20])
def test_the_interval_of_a_set_of_answers_of_few_people_covers_in_exact_probability(holders):
    model, total, level = KaryRandomizedResponse(epsilon0=2.0, domain_size=6).model, 20, 0.95
    members = np.array([[1.0, 1.0, 1.0, 0.0, 0.0, 0.0]])
    p, q = model.p + 2 * model.q, 3 * model.q
    law = np.convolve(
        binom.pmf(np.arange(holders + 1), holders, p),
        binom.pmf(np.arange(total - holders + 1), total - holders, q),
    )
    covered = 0.0
    for count, chance in enumerate(law):
        counts = np.array([count, 0, 0, total - count, 0, 0])
        sums = FrequencySums(FrequencySummary(model=model, counts=counts, num_reports=total))
        assert not sums.nearly_normal(members).any()
        ((low, high),) = sums.intervals(members, level)
        assert 0 <= low <= np.clip(sums.values(members)[0], 0, 1) <= high <= 1
        covered += chance * (low <= holders / total <= high)
    assert covered >= level


def test_intervals_of_other_sums_of_few_reports_cover_by_their_variance_alone():
    model = OptimizedUnaryEncoding(epsilon0=6.0, domain_size=4).model
    rng, weights = np.random.default_rng(4), np.array([[1.0, 1.0, 0.0, 0.0], [0.5, -0.5, 0.5, 0.0]])
    summaries = [drawn(model, [27, 18, 15, 0], rng) for _ in range(500)]
    ends = np.array([FrequencySums(each).intervals(weights, 0.8) for each in summaries])
    truth = weights @ [0.45, 0.3, 0.25, 0.0]
    assert ((ends[:, :, 0] <= truth) & (truth <= ends[:, :, 1])).mean(axis=0).min() > 0.99
    spread = np.sqrt(FrequencySums(summaries[0]).variances(weights))
    assert (np.diff(ends[0]).ravel() > 2 * 2.99 * spread).all()


def test_intervals_of_sums_end_where_sums_of_shares_do_and_hold_the_nearest_possible_value():
    model, rng = OptimizedUnaryEncoding(epsilon0=1.0, domain_size=4).model, np.random.default_rng(4)
    weights = np.array([[1.0, 1.0, 0.0, 0.0], [0.5, -0.5, 0.5, 0.0]])
    summaries = [drawn(model, counts, rng) for counts in ([20, 0, 0, 0], [0, 0, 0, 20]) for _ in range(50)]
    values = np.array([FrequencySums(each).values(weights) for each in summaries])
    ends = np.array([FrequencySums(each).intervals(weights, 0.5) for each in summaries])
    least, most = np.array([0.0, -0.5]), np.array([1.0, 0.5])
    assert ((values < least).any(axis=0) & (values > most).any(axis=0)).all()
    nearest = np.clip(values, least, most)
    assert (least <= ends[:, :, 0]).all()
    assert (ends[:, :, 0] <= nearest).all()
    assert (nearest <= ends[:, :, 1]).all()
    assert (ends[:, :, 1] <= most).all()
    assert (np.diff(ends) > 0.1).all()  # none is a point


def test_a_randomizer_whose_errors_are_not_known_to_go_together_is_unsupported():
    model = OptimizedLocalHashing(epsilon0=1.0, domain_size=4).model
    with pytest.raises(UnsupportedModelError, match="such as 'k-rr', 'oue' or 'subset'; for 'olh' they depend"):
        FrequencySums(expected(model, [0.25] * 4, 100)).variances(np.eye(4))


def test_what_is_no_summary_or_holds_no_report_is_refused():
    with pytest.raises(InvalidParameterError, match="summary must be a FrequencySummary; got summary of type str"):
        FrequencySums("counts")
    empty = FrequencySummary(model=MODELS[0], counts=np.zeros(5, dtype=np.int64), num_reports=0)
    with pytest.raises(InvalidParameterError, match="num_reports must be a summary of one report or more"):
        FrequencySums(empty)
