"""Intervals of few reports: golden values, exact coverage of every number of holders; too short ones are found."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from shuffledp import FrequencyAnalyzer, KaryRandomizedResponse, OptimizedUnaryEncoding, UniformShuffler
from shuffledp.analyzers.exact_intervals import holders_between, needs_exact
from shuffledp.analyzers.frequencies import FrequencySummary, project_to_simplex

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "budget.json").read_text(encoding="utf-8"))
MODELS = {
    "oue 6": OptimizedUnaryEncoding(epsilon0=6.0, domain_size=4).model,
    "oue 2": OptimizedUnaryEncoding(epsilon0=2.0, domain_size=4).model,
    "k-rr 6, 10 values": KaryRandomizedResponse(epsilon0=6.0, domain_size=10).model,
    "k-rr 1, 2 values": KaryRandomizedResponse(epsilon0=1.0, domain_size=2).model,
}


def law_of_counts(holders, num_reports, p, q):
    """The law of the number of supporting reports, by convolution."""
    return np.convolve(
        binom.pmf(np.arange(holders + 1), holders, p),
        binom.pmf(np.arange(num_reports - holders + 1), num_reports - holders, q),
    )


def coverage(num_reports, holders, p, q, level=0.95):
    law = law_of_counts(holders, num_reports, p, q)
    low, high = holders_between(np.arange(num_reports + 1), num_reports, p, q, level)
    return float(law @ ((low <= holders) & (holders <= high)))


@pytest.mark.parametrize(("name", "num_reports", "p", "q", "count", "low", "high"), GOLDEN["exact_interval"]["rows"])
def test_intervals_are_those_computed_elsewhere(name, num_reports, p, q, count, low, high):  # noqa: PLR0917
    found = holders_between(np.array([count]), num_reports, p, q, 0.95)
    assert [int(end[0]) for end in found] == [low, high]


@pytest.mark.parametrize(("name", "num_reports", "holders", "normal", "exact"), GOLDEN["coverage"]["rows"])
def test_the_coverage_is_that_computed_elsewhere(name, num_reports, holders, normal, exact):
    model = MODELS[name]
    assert coverage(num_reports, holders, model.p, model.q) == pytest.approx(exact, abs=1e-5)
    law, counts = law_of_counts(holders, num_reports, model.p, model.q), np.arange(num_reports + 1)
    share = np.clip((counts / num_reports - model.q) / (model.p - model.q), 0, 1)
    variance = share * model.p * (1 - model.p) + (1 - share) * model.q * (1 - model.q)
    margin = 1.959964 * np.sqrt(variance / num_reports) / (model.p - model.q)
    estimate = (counts / num_reports - model.q) / (model.p - model.q)
    assert float(law @ (np.abs(estimate - holders / num_reports) <= margin)) == pytest.approx(normal, abs=1e-5)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("num_reports", [1, 2, 7, 30])
@pytest.mark.parametrize("name", MODELS)
def test_every_number_of_holders_is_covered_as_often_as_is_said(name, num_reports, level):
    model = MODELS[name]
    covered = [coverage(num_reports, holders, model.p, model.q, level) for holders in range(num_reports + 1)]
    assert min(covered) >= level - 1e-12


def test_intervals_that_leave_out_their_ends_would_be_found():
    model, total = MODELS["oue 6"], 20
    low, high = holders_between(np.arange(total + 1), total, model.p, model.q, 0.95)
    covered = [
        float(law_of_counts(m, total, model.p, model.q) @ ((low + 1 <= m) & (m <= high - 1))) for m in range(total + 1)
    ]
    assert min(covered) < 0.9


def estimate_of(model, counts, num_reports):
    return FrequencyAnalyzer().estimate(FrequencySummary(model=model, counts=np.array(counts), num_reports=num_reports))


@pytest.mark.parametrize("variance", [3.0, 24.0])
def test_counts_of_a_variance_below_25_get_them(variance):
    model = MODELS["k-rr 1, 2 values"]
    total = int(variance / (model.q * (1 - model.q)))
    counts = np.array([total - total // 3, total // 3])
    found = estimate_of(model, counts, total)
    low, high = holders_between(counts, total, model.p, model.q, 0.95)
    np.testing.assert_allclose([found.lower, found.upper], [low / total, high / total])


def test_few_reports_get_them_and_many_get_normal_ones():
    few = estimate_of(MODELS["oue 6"], [10, 2, 0, 0], 20)
    np.testing.assert_allclose(few.upper, [1.0, 11 / 20, 5 / 20, 5 / 20])
    np.testing.assert_allclose(few.lower[:2], [13 / 20, 2 / 20])
    assert few.rows()[1]["upper"] == pytest.approx(11 / 20)
    many = estimate_of(MODELS["k-rr 1, 2 values"], [300, 239], 539)
    np.testing.assert_allclose(many.upper - many.estimate, 1.959964 * many.standard_error, rtol=1e-6)
    assert not needs_exact(10**6, MODELS["oue 6"].p, MODELS["oue 6"].q)


def test_intervals_of_estimates_that_no_truth_can_have_are_those_of_the_exact_test():
    found = estimate_of(MODELS["oue 6"], [20, 15, 0, 0], 20)
    assert found.estimate[0] > 1
    assert found.estimate[2] < 0
    low, high = holders_between(np.array([20, 15, 0, 0]), 20, MODELS["oue 6"].p, MODELS["oue 6"].q, 0.95)
    assert (found.lower == low / 20).all()
    assert (found.upper == high / 20).all()
    assert ((found.lower <= found.nearest) & (found.nearest <= found.upper)).all()
    projected = project_to_simplex(found)
    assert ((projected.lower <= projected.estimate) & (projected.estimate <= projected.upper)).all()


def test_a_shuffle_that_loses_reports_keeps_normal_intervals():
    summary = FrequencySummary(model=MODELS["oue 6"], counts=np.array([10, 2, 0, 0]), num_reports=20, arrival_share=0.9)
    assert FrequencyAnalyzer().estimate(summary).interval is None
    assert UniformShuffler().model(20).arrival_share == 1
