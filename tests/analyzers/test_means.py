"""The analyzer of means: what each of its numbers means. (Bias and coverage over 2000 runs: tests/contracts.)"""

import functools
import operator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hn

from shuffledp.analyzers import MeanAnalyzer, MeanSummary
from shuffledp.analyzers import means as module
from shuffledp.analyzers.means import exact_sums
from shuffledp.core.errors import IncomparableError, InvalidParameterError, UnsupportedModelError
from shuffledp.core.flow import Reports, View
from shuffledp.core.local_models import MeanModel
from shuffledp.core.shuffle_models import DummyReports
from shuffledp.pipeline import Pipeline
from shuffledp.randomizers import DiscreteLaplaceMean, KaryRandomizedResponse, OneBitMean, PrivUnit, RoundedMean
from shuffledp.shufflers import UniformShuffler
from shuffledp.testing import SeededSource

ANALYZER = MeanAnalyzer()
LAPLACE = DiscreteLaplaceMean(epsilon0=2.0, lower=-1, upper=1)
BIT = OneBitMean(epsilon0=1.0, lower=0, upper=1)


def summary_of(model: MeanModel, columns, dummies: DummyReports | None = None) -> MeanSummary:
    reports = Reports(columns, model)
    view = View(reports=reports, shuffle=UniformShuffler().model(max(len(reports), 1)))
    summary = ANALYZER.summarize(view)
    return MeanSummary(
        model=model,
        dummies=dummies,
        sums=summary.sums,
        squares=summary.squares,
        num_reports=summary.num_reports,
    )


def estimate(randomizer, values, seed=1):
    view = UniformShuffler().shuffle(randomizer.randomize(values, source=SeededSource(seed)))
    return ANALYZER.estimate(ANALYZER.summarize(view))


# ---- the estimate ---------------------------------------------------------------------------------------------------


def test_guarantee_1_the_estimate_is_the_mean_contribution():
    model = LAPLACE.model
    found = ANALYZER.estimate(summary_of(model, {"value": np.array([0, 500, 2000, -300])}))
    assert found.estimate == pytest.approx([np.mean([-1, 0.0, 3.0, -1.6])])
    assert found.statistic == "mean"
    assert found.target == ("value",)


def test_vectors_have_one_row_per_coordinate():
    model = PrivUnit(epsilon0=4.0, dimension=3).model
    found = ANALYZER.estimate(summary_of(model, {"vector": np.eye(3)}))
    assert found.target == ("0", "1", "2")
    np.testing.assert_allclose(found.estimate, 1 / 3 / model.scale)


def test_guarantee_3_nothing_is_clipped():
    found = ANALYZER.estimate(summary_of(LAPLACE.model, {"value": np.array([5000, 7000])}))
    assert found.estimate[0] == pytest.approx(11.0)


def test_guarantee_3_intervals_end_where_the_range_does_and_lie_around_the_value_nearest_to_the_estimate():
    far = ANALYZER.estimate(summary_of(LAPLACE.model, {"value": np.array([20000, 30000])}))
    model = LAPLACE.model
    assert far.estimate[0] > model.upper
    assert (far.lower[0], far.upper[0]) == (max(model.lower, model.upper - far.margin[0]), model.upper)
    vectors = ANALYZER.estimate(summary_of(PrivUnit(epsilon0=0.5, dimension=3).model, {"vector": np.eye(3)}))
    assert vectors.lower.min() == -1
    assert vectors.upper.max() == 1
    plain = ANALYZER.estimate(summary_of(model, {"value": np.array([500] * 400 + [520] * 400)}))
    assert plain.upper - plain.lower == pytest.approx(2 * plain.margin)


@pytest.mark.parametrize("value", [0.0, 0.3, 10.0])
def test_guarantee_3_an_interval_that_ends_at_the_range_covers_whatever_the_uncut_one_does(value):
    randomizer, gained = OneBitMean(epsilon0=0.5, lower=0, upper=10), 0
    for number in range(200):
        reports = randomizer.randomize([value] * 30, source=SeededSource(number))
        found = ANALYZER.estimate(summary_of(randomizer.model, dict(reports.columns)))
        uncut = replace(found, possible=None)
        covered, before = (bool(each.lower[0] <= value <= each.upper[0]) for each in (found, uncut))
        assert covered >= before
        gained += covered - before
    assert gained > 0 or value == 0.3


# ---- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "randomizer",
    [LAPLACE, RoundedMean(epsilon0=5.0, lower=-1, upper=1), RoundedMean(epsilon0=3.0, lower=-1, upper=1, num_levels=9)],
    ids=["laplace", "rounded", "many levels"],
)
def test_guarantee_2_the_two_errors_are_those_of_randomizing_and_of_sampling(randomizer):
    values = np.random.default_rng(0).uniform(-1, 1, 400_000)
    found = estimate(randomizer, values)
    noise = np.mean([randomizer.model.noise_variance(np.array([x]))[0] for x in values[:2000]])
    assert found.standard_error[0] == pytest.approx(np.sqrt(noise / len(values)), rel=0.03)
    assert found.sampling_error[0] == pytest.approx(values.std() / np.sqrt(len(values)), rel=0.03)


def test_of_vectors_the_two_errors_are_told_apart_in_each_coordinate():
    draw = np.random.default_rng(0)
    vectors = draw.normal(size=(50_000, 3)) * [3, 1, 0.3]
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    for split in (None, 0.1):
        found = estimate(PrivUnit(epsilon0=6.0, dimension=3, budget_split=split), vectors)
        np.testing.assert_allclose(found.sampling_error, vectors.std(axis=0) / np.sqrt(50_000), rtol=0.1)


def test_equal_values_have_no_sampling_error_to_speak_of():
    found = estimate(LAPLACE, np.full(100_000, 0.25))
    assert found.sampling_error[0] < 0.1 * found.standard_error[0]


def test_guarantee_2_one_bit_cannot_tell_spread_from_noise_so_that_one_error_covers_both():
    values = np.repeat([0.0, 1.0], 200_000)
    found = estimate(BIT, values)
    p, q = BIT.model.response.p, BIT.model.response.q
    assert found.sampling_error is None
    coin = 0.5 / (p - q) / np.sqrt(len(values))
    assert found.standard_error[0] == pytest.approx(coin, rel=1e-3)
    np.testing.assert_array_equal(found.population_error, found.standard_error)
    # For the people in the batch it is too long by this factor, and never by more than that at any other split.
    true = np.sqrt(p * q) / (p - q) / np.sqrt(len(values))
    assert found.standard_error[0] / true == pytest.approx(0.5 / np.sqrt(p * q), rel=1e-3)


def test_a_coin_with_most_of_the_budget_does_not_tell_the_spread_either():
    randomizer = PrivUnit(epsilon0=1.0, dimension=2, budget_split=0.95)
    assert randomizer.model.noise_curvature < -0.5
    assert estimate(randomizer, np.eye(2)).sampling_error is None


def test_a_single_report_has_an_estimate_with_the_error_of_one():
    found = ANALYZER.estimate(summary_of(LAPLACE.model, {"value": np.array([750])}))
    assert found.estimate[0] == pytest.approx(0.5)
    assert found.standard_error[0] ** 2 == pytest.approx(LAPLACE.model.noise_variance(np.array([0.5]))[0])
    assert found.sampling_error[0] == 0


def test_equal_reports_have_a_variance_of_zero_and_never_below():
    summary = summary_of(LAPLACE.model, {"value": np.full(1000, 333)})
    assert summary.variance.tolist() == [0.0]


# ---- dummies --------------------------------------------------------------------------------------------------------


def test_dummies_made_from_a_value_are_taken_off():
    values = {"value": np.array([0, 1000, 500, 1000])}  # -1, 1, 0, 1
    plain = ANALYZER.estimate(summary_of(LAPLACE.model, values))
    dummies = DummyReports(fraction=0.2, standard_error=0.01, value=1)
    found = ANALYZER.estimate(summary_of(LAPLACE.model, values, dummies))
    assert found.estimate[0] == pytest.approx((plain.estimate[0] - 0.2) / 0.8)
    spread_of_fraction = (found.estimate[0] - 1) * 0.01 / 0.8
    noise = (plain.standard_error[0] / 0.8) ** 2
    assert found.standard_error[0] ** 2 == pytest.approx(noise + spread_of_fraction**2)


def test_dummies_without_a_value_average_out_to_nothing():
    values = {"value": np.array([0, 1000, 500, 1000])}
    plain = ANALYZER.estimate(summary_of(LAPLACE.model, values))
    found = ANALYZER.estimate(summary_of(LAPLACE.model, values, DummyReports(fraction=0.2)))
    assert found.estimate[0] == pytest.approx(plain.estimate[0] / 0.8)
    # Few reports that vary little: their noise is what the law says. Of many that vary more, all is counted.
    assert found.standard_error[0] == pytest.approx(plain.standard_error[0] / 0.8)
    wide = {"value": np.array([-9000, 10_000])}
    plain, found = (
        ANALYZER.estimate(summary_of(LAPLACE.model, wide, dummies)) for dummies in (None, DummyReports(fraction=0.2))
    )
    assert found.standard_error[0] > 5 * plain.standard_error[0]


def test_sampling_errors_are_those_of_the_people_without_the_dummies():
    values = np.random.default_rng(1).uniform(0, 1, 200_000)
    columns = LAPLACE.randomize(np.concatenate([values, np.zeros(100_000)]), source=SeededSource(1)).columns
    found = ANALYZER.estimate(summary_of(LAPLACE.model, columns, DummyReports(fraction=1 / 3, value=0)))
    assert found.sampling_error[0] == pytest.approx(values.std() / np.sqrt(200_000), rel=0.05)
    assert found.estimate[0] == pytest.approx(values.mean(), abs=5 * found.standard_error[0])


@pytest.mark.parametrize(
    ("model", "columns", "value"),
    [
        (LAPLACE.model, {"value": np.array([1])}, 2),
        (PrivUnit(epsilon0=1.0, dimension=2).model, {"vector": np.eye(2)}, 0),
    ],
)
def test_dummies_of_a_value_that_nobody_can_hold_are_unsupported(model, columns, value):
    summary = summary_of(model, columns, DummyReports(fraction=0.1, value=value))
    with pytest.raises(UnsupportedModelError, match="means need dummies made from one of their values"):
        ANALYZER.estimate(summary)


# ---- summaries ------------------------------------------------------------------------------------------------------


def test_summaries_of_very_different_sizes_add_up_exactly_in_any_order():
    noisy = DiscreteLaplaceMean(epsilon0=1e-6, lower=-1, upper=1, num_steps=2**18).model
    columns = [{"value": np.array([value])} for value in (2**44, 1, -(2**44), 7)]
    parts = [summary_of(noisy, each) for each in columns]
    forward, backward = functools.reduce(operator.add, parts), functools.reduce(operator.add, parts[::-1])
    assert forward.to_dict() == backward.to_dict()
    assert forward.num_reports == 4


def test_summaries_of_other_models_or_dummies_do_not_add_up():
    one, other = summary_of(BIT.model, {"value": np.array([1])}), summary_of(LAPLACE.model, {"value": np.array([1])})
    with pytest.raises(IncomparableError, match="summaries must be of one model"):
        one + other
    with pytest.raises(IncomparableError, match="summaries must be of one model"):
        one + summary_of(BIT.model, {"value": np.array([1])}, DummyReports(fraction=0.5))


def test_who_is_lost_moves_from_the_sampling_error_to_the_standard_error():
    values = {"value": np.arange(0, 1001, 5)}
    full = summary_of(LAPLACE.model, values)
    some = replace(full, arrival_share=0.75)
    whole, part = (ANALYZER.estimate(each) for each in (full, some))
    assert part.estimate.tolist() == whole.estimate.tolist()
    np.testing.assert_allclose(part.standard_error**2 - whole.standard_error**2, whole.sampling_error**2 / 4, rtol=1e-9)
    np.testing.assert_allclose(part.sampling_error**2, whole.sampling_error**2 * 3 / 4, rtol=1e-12)
    with pytest.raises(IncomparableError, match="summaries must be of one model"):
        full + some


def test_a_summary_that_is_none_is_refused():
    good = summary_of(BIT.model, {"value": np.array([1])}).to_dict()
    for changes in ({"sums": []}, {"squares": ["-1"]}, {"num_reports": -1}, {"sums": ["1", "2"]}):
        with pytest.raises(InvalidParameterError):
            MeanSummary.from_dict(good | changes)
    with pytest.raises(InvalidParameterError, match="kind must be one of"):
        MeanSummary.from_dict(good | {"model": KaryRandomizedResponse(epsilon0=1.0, domain_size=2).model.to_dict()})
    assert MeanSummary.from_dict(good).sums == summary_of(BIT.model, {"value": np.array([1])}).sums


def test_frequencies_are_no_means():
    reports = KaryRandomizedResponse(epsilon0=1.0, domain_size=2).randomize([0, 1])
    with pytest.raises(UnsupportedModelError, match="means need reports of numbers or vectors; got reports of 'k-rr'"):
        ANALYZER.summarize(UniformShuffler().shuffle(reports))


def test_a_level_outside_0_to_1_is_refused():
    with pytest.raises(InvalidParameterError, match="level must be"):
        MeanAnalyzer(level=1.0)


# ---- the whole flow -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("randomizer", "values"),
    [
        (LAPLACE, np.linspace(-1, 1, 5000)),
        (BIT, np.linspace(0, 1, 5000)),
        (RoundedMean(epsilon0=5.0, lower=0, upper=1), np.linspace(0, 1, 5000)),
        (PrivUnit(epsilon0=1.0, dimension=2), np.tile([0.6, 0.8], (5000, 1))),
    ],
    ids=lambda each: each.model.kind if hasattr(each, "model") else "",
)
def test_every_kind_runs_through_the_pipeline_with_statements(randomizer, values):
    pipeline = Pipeline(randomizer=randomizer, shuffler=UniformShuffler(), analyzer=ANALYZER)
    release = pipeline.run(values, delta=1e-6)
    truth = np.asarray(values).mean(axis=0)
    assert (np.abs(release.estimate.estimate - truth) < 6 * release.estimate.standard_error).all()
    assert release.statements[0].guarantee.epsilon <= randomizer.model.epsilon0
    assert release.statements[-1].guarantee == randomizer.model.guarantee


def test_fractions_keep_the_mean_of_a_narrow_range_far_from_zero():
    randomizer = DiscreteLaplaceMean(epsilon0=30.0, lower=1e9, upper=1e9 + 1)
    found = estimate(randomizer, np.full(1000, 1e9 + 0.5))
    assert found.estimate[0] == pytest.approx(1e9 + 0.5, abs=0.02)
    assert 0 < found.standard_error[0] < 0.01


# ---- guarantee 4: the covariance of a mean vector -------------------------------------------------------------------


@pytest.mark.parametrize("split", [None, 0.9])
def test_guarantee_4_the_covariance_is_that_of_the_errors_of_vectors_that_are_alike(split):
    vector, people, runs = np.array([0.8, 0.6, 0.0]), 20, 3000
    randomizer = PrivUnit(epsilon0=4.0, dimension=3, budget_split=split)
    contributions = randomizer.model.contributions(
        randomizer.randomize(np.tile(vector, (people * runs, 1)), source=SeededSource(5)).columns
    )
    errors = contributions.reshape(runs, people, 3).mean(axis=1)
    found = np.mean([estimate(randomizer, np.tile(vector, (people, 1)), seed).covariance for seed in range(60)], axis=0)
    true = np.cov(errors.T)
    scale = np.sqrt(np.outer(np.diag(true), np.diag(true)))
    assert np.abs(found - true).max() < 0.15 * scale.max()
    if split is None:
        assert np.count_nonzero(found) == 3
    else:  # the test can tell it from an uncorrelated one
        assert abs(true[0, 1]) > 0.25 * scale[0, 1]
        assert found[0, 1] == pytest.approx(true[0, 1], rel=0.25)


def test_the_covariance_has_the_squared_standard_errors_on_its_diagonal():
    vectors = np.eye(4)[np.arange(200) % 4]
    for split in (None, 0.8):
        found = estimate(PrivUnit(epsilon0=3.0, dimension=4, budget_split=split), vectors)
        assert np.diag(found.covariance) == pytest.approx(found.standard_error**2)
        assert np.linalg.eigvalsh(found.covariance).min() > 0


def test_numbers_and_very_long_vectors_have_no_covariance(monkeypatch):
    assert estimate(LAPLACE, [0.0, 0.5]).covariance is None
    monkeypatch.setattr("shuffledp.analyzers.means._LARGEST_COVARIANCE", 2)
    assert estimate(PrivUnit(epsilon0=3.0, dimension=3), np.eye(3)).covariance is None


TABLES = hn.arrays(
    np.float64,
    st.tuples(st.integers(0, 30), st.integers(1, 4)),
    elements=st.floats(allow_nan=False, allow_infinity=False),
)


@given(TABLES)
def test_sums_are_those_of_fractions(table):
    assert exact_sums(table) == tuple(sum(map(Fraction, column), Fraction(0)) for column in table.T.tolist())


@given(TABLES, st.integers(0, 30))
def test_sums_of_parts_add_up_to_the_sum_of_the_whole(table, cut):
    parts = exact_sums(table[:cut]), exact_sums(table[cut:])
    assert tuple(a + b for a, b in zip(*parts, strict=True)) == exact_sums(table)


def test_a_long_column_is_summed_in_batches_without_overflow(monkeypatch):
    values = np.full((module._BATCH + 10, 1), -(2.0**53) + 1)
    assert exact_sums(values) == (Fraction(len(values)) * (1 - 2**53),)
    monkeypatch.setattr(module, "_BATCH", 7)
    few = np.random.default_rng(0).normal(size=(50, 3))
    assert exact_sums(few) == tuple(sum(map(Fraction, column)) for column in few.T.tolist())


def test_where_floats_cancel_nothing_is_lost_and_where_numpy_adds_them_something_is():
    values = np.tile([[1e16], [1.0], [-1e16]], (1000, 1))
    assert exact_sums(values) == (Fraction(1000),)
    assert values.sum() != 1000


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(value):
    with pytest.raises(InvalidParameterError, match="values must be finite numbers"):
        exact_sums(np.array([[1.0], [value]]))


@pytest.mark.parametrize(("levels", "tells"), [(2, False), (4, False), (5, True), (16, True)])
def test_a_coarse_grid_does_not_tell_how_values_spread(levels, tells):
    """With two steps a sampling error of .18 was printed where the truth was .91."""
    randomizer = RoundedMean(epsilon0=6.0, lower=0, upper=100, num_levels=levels)
    values = np.tile([30.0, 70.0], 5000)
    view = UniformShuffler().shuffle(randomizer.randomize(values, source=SeededSource(1)))
    found = MeanAnalyzer().estimate(MeanAnalyzer().summarize(view))
    assert (found.sampling_error is not None) == tells
    if tells:
        assert found.sampling_error[0] == pytest.approx(values.std() / 100, rel=0.15)
