"""Frequencies: exact expectations and variances; coverage over many runs is in contracts/test_analyzers.py."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.siblings import SubmitterShuffleModel
from shuffledp.analyzers import FrequencyAnalyzer, FrequencySummary, project_to_simplex
from shuffledp.core.errors import IncomparableError, InvalidParameterError, UnsupportedModelError
from shuffledp.core.estimates import Estimate
from shuffledp.core.flow import Reports, View
from shuffledp.core.shuffle_models import DummyReports
from shuffledp.randomizers import KaryRandomizedResponseModel
from shuffledp.shufflers import UniformShuffleModel

BINARY = KaryRandomizedResponseModel(domain_size=2, share=2**62)  # p = 3/4, q = 1/4
QUATERNARY = KaryRandomizedResponseModel(domain_size=4, share=2**61)  # p = 5/8, q = 1/8
TERNARY = KaryRandomizedResponseModel.from_epsilon0(epsilon0=0.8, domain_size=3)


def summary(model, counts, dummies=None) -> FrequencySummary:
    counts = np.array(counts)
    return FrequencySummary(model=model, counts=counts, num_reports=int(counts.sum()), dummies=dummies)


def estimate(model, counts, dummies=None) -> Estimate:
    return FrequencyAnalyzer().estimate(summary(model, counts, dummies))


# ---- guarantee 1: unbiased for the people in the batch --------------------------------------------------------------


@pytest.mark.parametrize("truth", [(16, 0), (0, 16), (12, 4), (2, 14)])
def test_guarantee_1_expected_counts_give_the_true_frequencies_of_two_answers(truth):
    people = np.array(truth)
    expected = (3 * people + people[::-1]) // 4
    assert expected.sum() == 16
    assert estimate(BINARY, expected).estimate.tolist() == (people / 16).tolist()


@pytest.mark.parametrize("truth", [(64, 0, 0, 0), (32, 16, 8, 8), (0, 0, 2, 62)])
def test_guarantee_1_expected_counts_give_the_true_frequencies_of_four_answers(truth):
    people = np.array(truth)
    expected = 64 // 8 + people // 2  # n q + n_v (p - q)
    np.testing.assert_allclose(estimate(QUATERNARY, expected).estimate, people / 64, atol=1e-15)


def outcomes(model, values):
    """Every column of reports that these values can lead to, with its exact probability."""
    channel = model.channel(exact=True).matrix
    for reports in itertools.product(range(model.domain_size), repeat=len(values)):
        yield reports, math.prod(channel[value, report] for value, report in zip(values, reports, strict=True))


@pytest.mark.parametrize("model", [BINARY, TERNARY], ids=["k=2", "k=3"])
@pytest.mark.parametrize("values", [(0,), (0, 1), (1, 1, 1), (0, 1, 1, 0, 1)])
def test_guarantee_1_and_2_mean_and_variance_over_all_outcomes_are_those_of_the_formula(model, values):
    truth = np.bincount(values, minlength=model.domain_size) / len(values)
    mean, square = np.zeros(model.domain_size), np.zeros(model.domain_size)
    for reports, probability in outcomes(model, values):
        found = estimate(model, np.bincount(reports, minlength=model.domain_size)).estimate
        mean += float(probability) * found
        square += float(probability) * found**2
    np.testing.assert_allclose(mean, truth, atol=1e-12)
    p, q = model.p, model.q
    variance = (truth * p * (1 - p) + (1 - truth) * q * (1 - q)) / (len(values) * (p - q) ** 2)
    np.testing.assert_allclose(square - mean**2, variance, rtol=1e-10)


# ---- guarantee 2: two errors, apart ---------------------------------------------------------------------------------


def test_guarantee_2_the_standard_error_is_that_of_the_randomizer_alone():
    found = estimate(BINARY, [10, 6])  # the truth is 12 and 4 of 16
    expected = math.sqrt(3 / 16 / (16 * 0.25))  # p (1 - p) = q (1 - q) = 3/16, (p - q)^2 = 1/4
    np.testing.assert_allclose(found.standard_error, expected)
    uneven = estimate(QUATERNARY, [24, 16, 12, 12])  # 32, 16, 8 and 8 of 64
    shares = np.array([32, 16, 8, 8]) / 64
    variance = (shares * 15 / 64 + (1 - shares) * 7 / 64) / (64 / 4)
    np.testing.assert_allclose(uneven.standard_error, np.sqrt(variance))


def test_guarantee_2_the_sampling_error_is_that_of_a_share_and_kept_apart():
    found = estimate(BINARY, [10, 6])
    np.testing.assert_allclose(found.sampling_error, math.sqrt(0.75 * 0.25 / 16))
    np.testing.assert_allclose(found.population_error, np.hypot(found.standard_error, found.sampling_error))


def test_errors_shrink_with_the_square_root_of_the_number_of_reports():
    few, many = estimate(QUATERNARY, [24, 16, 12, 12]), estimate(QUATERNARY, [2400, 1600, 1200, 1200])
    np.testing.assert_allclose(few.standard_error, 10 * many.standard_error)
    np.testing.assert_allclose(few.sampling_error, 10 * many.sampling_error)


# ---- guarantee 3: clipping is a step of its own ---------------------------------------------------------------------


def test_guarantee_3_an_estimate_may_leave_the_range_of_a_frequency():
    found = estimate(BINARY, [16, 0])
    assert found.estimate.tolist() == [1.5, -0.5]
    assert found.sampling_error.tolist() == [0.0, 0.0]
    assert (found.standard_error > 0).all()
    assert sum(found.estimate) == 1.0


def test_guarantee_3_projecting_is_named_and_keeps_the_errors():
    found = estimate(BINARY, [16, 0])
    projected = project_to_simplex(found)
    assert projected.estimate.tolist() == [1.0, 0.0]
    assert projected.statistic == "frequency (projected)"
    assert projected.standard_error.tolist() == found.standard_error.tolist()
    assert found.estimate.tolist() == [1.5, -0.5]


def raw(values) -> Estimate:
    names = tuple(map(str, range(len(values))))
    return Estimate(
        statistic="x", target=names, estimate=np.array(values), standard_error=np.ones(len(values)), num_reports=1
    )


@settings(max_examples=50)
@given(st.lists(st.floats(-3, 3), min_size=1, max_size=6))
def test_the_projection_is_the_nearest_point_of_the_simplex(values):
    projected = project_to_simplex(raw(values)).estimate
    assert (projected >= 0).all()
    assert projected.sum() == pytest.approx(1)
    np.testing.assert_allclose(project_to_simplex(raw(projected)).estimate, projected, atol=1e-12)
    others = np.random.default_rng(1).dirichlet(np.ones(len(values)), size=100)
    distances = np.linalg.norm(others - np.array(values), axis=1)
    assert np.linalg.norm(projected - values) <= distances.min() + 1e-9


def test_frequencies_that_need_no_projection_stay_as_they_are():
    np.testing.assert_allclose(project_to_simplex(raw([0.2, 0.5, 0.3])).estimate, [0.2, 0.5, 0.3])
    np.testing.assert_allclose(project_to_simplex(raw([0.7, 0.7, -0.5])).estimate, [0.5, 0.5, 0.0])


# ---- dummies --------------------------------------------------------------------------------------------------------


def test_dummies_are_subtracted_whatever_value_they_are_made_from():
    # 48 people (32, 16, 0, 0) and 16 dummies among 64 reports.
    for value in range(4):
        held = np.array([32, 16, 0, 0]) + 16 * (np.arange(4) == value)
        found = estimate(QUATERNARY, 8 + held // 2, DummyReports(fraction=0.25, value=value))
        np.testing.assert_allclose(found.estimate, [2 / 3, 1 / 3, 0, 0], atol=1e-15)


def test_dummies_make_errors_larger_by_the_share_of_people():
    counts = [24, 16, 12, 12]
    plain, mixed = estimate(QUATERNARY, counts), estimate(QUATERNARY, counts, DummyReports(fraction=0.25, value=0))
    np.testing.assert_allclose(mixed.standard_error, plain.standard_error / 0.75)
    inside = np.clip(mixed.estimate, 0, 1)
    np.testing.assert_allclose(mixed.sampling_error, np.sqrt(inside * (1 - inside) / 48))


def test_not_knowing_how_many_dummies_there_are_adds_to_the_error():
    exact, unsure = (
        estimate(QUATERNARY, [24, 16, 12, 12], DummyReports(fraction=0.25, standard_error=error, value=1))
        for error in (0.0, 0.05)
    )
    # d/dr of (mixed - r held) / (1 - r) is (frequency - held) / (1 - r).
    slope = (exact.estimate - np.array([0, 1, 0, 0])) / 0.75
    np.testing.assert_allclose(unsure.standard_error, np.hypot(exact.standard_error, 0.05 * slope))
    assert unsure.estimate.tolist() == exact.estimate.tolist()


@pytest.mark.parametrize("value", [None, 4, 1000])
def test_dummies_that_no_value_explains_are_unsupported(value):
    with pytest.raises(UnsupportedModelError, match="frequencies need dummies made from one of their values"):
        estimate(QUATERNARY, [24, 16, 12, 12], DummyReports(fraction=0.25, value=value))


def test_a_summary_knows_of_the_dummies_from_the_view():
    added = DummyReports(fraction=0.5, value=0)
    reports = Reports({"value": np.array([0, 3])}, QUATERNARY)
    shuffle = SubmitterShuffleModel(num_users=2, added=added)
    found = FrequencyAnalyzer().summarize(View(reports=reports, labels=np.array([0, 0]), shuffle=shuffle))
    assert found.to_dict() == summary(QUATERNARY, [1, 0, 0, 1], added).to_dict()


# ---- summaries ------------------------------------------------------------------------------------------------------


def test_summaries_add_counts_and_reports():
    total = summary(TERNARY, [1, 2, 3]) + summary(TERNARY, [10, 0, 0])
    assert total.counts.tolist() == [11, 2, 3]
    assert total.num_reports == 16


@pytest.mark.parametrize(
    "other", [summary(BINARY, [1, 1]), summary(TERNARY, [1, 2, 3], DummyReports(fraction=0.1, value=0))]
)
def test_summaries_of_other_models_or_other_dummies_refuse_to_be_added(other):
    with pytest.raises(IncomparableError, match="summaries must be of one model"):
        summary(TERNARY, [1, 2, 3]) + other


def test_who_is_lost_moves_from_the_sampling_error_to_the_standard_error():
    full = summary(QUATERNARY, [24, 16, 12, 12])
    some = replace(full, arrival_share=0.75)
    whole, part = (FrequencyAnalyzer().estimate(each) for each in (full, some))
    assert part.estimate.tolist() == whole.estimate.tolist()
    added = part.standard_error**2 - whole.standard_error**2
    np.testing.assert_allclose(added, whole.sampling_error**2 / 4, rtol=1e-12)
    np.testing.assert_allclose(part.sampling_error**2, whole.sampling_error**2 * 3 / 4, rtol=1e-12)
    with pytest.raises(IncomparableError, match="summaries must be of one model"):
        full + some


@pytest.mark.parametrize("counts", [[1, 2], [1, 2, 3, 4], [[1, 2, 3]], [5, -1, 0]])
def test_a_summary_needs_one_count_of_zero_or_more_for_each_value(counts):
    with pytest.raises(InvalidParameterError, match="must be 3 counts of 0 or more"):
        summary(TERNARY, counts)
    with pytest.raises(InvalidParameterError):
        FrequencySummary.from_dict(summary(TERNARY, [1, 2, 3]).to_dict() | {"counts": counts})


def test_a_view_of_uneven_batches_can_be_summed_up():
    reports = Reports({"value": np.array([0, 1, 2, 0, 0])}, TERNARY)
    parts = [reports.take([0]), reports.take([1, 2, 3, 4])]
    views = [View(reports=part, shuffle=UniformShuffleModel(num_users=len(part))) for part in parts]
    total = FrequencyAnalyzer().summarize(views[0]) + FrequencyAnalyzer().summarize(views[1])
    assert total.to_dict() == summary(TERNARY, [3, 1, 1]).to_dict()


# ---- the estimate ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_the_level_is_that_of_the_intervals(level):
    found = FrequencyAnalyzer(level=level).estimate(summary(TERNARY, [100, 200, 300]))
    assert found.level == level
    default = FrequencyAnalyzer().estimate(summary(TERNARY, [100, 200, 300]))
    assert ((found.margin < default.margin) == (level < 0.95)).all()


@pytest.mark.parametrize("level", [0, 1, -0.5, math.nan, "95%"])
def test_a_level_outside_zero_to_one_is_refused(level):
    with pytest.raises(InvalidParameterError, match="level must be"):
        FrequencyAnalyzer(level=level)


def test_targets_are_the_numbers_of_the_values():
    found = estimate(TERNARY, [10, 20, 30])
    assert (found.statistic, found.target, found.num_reports) == ("frequency", ("0", "1", "2"), 60)
