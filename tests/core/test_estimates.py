import json
import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.estimates import Estimate


def estimate(**changes) -> Estimate:
    parts = {
        "statistic": "frequency",
        "target": ("yes", "no"),
        "estimate": np.array([0.25, 0.75]),
        "standard_error": np.array([0.02, 0.04]),
        "sampling_error": np.array([0.01, 0.03]),
        "num_reports": 500,
    }
    return Estimate(**(parts | changes))


def test_intervals_reach_the_normal_quantile_times_the_standard_error_to_both_sides():
    for level, quantile in ((0.95, 1.959964), (0.5, 0.674490), (0.99, 2.575829)):
        each = estimate(level=level)
        np.testing.assert_allclose(each.margin, quantile * each.standard_error, rtol=1e-6)
        np.testing.assert_allclose(each.upper - each.estimate, each.margin)
        np.testing.assert_allclose(each.estimate - each.lower, each.margin)


@pytest.mark.parametrize("name", ["half \ud83d", "\u202eesrever"])
def test_targets_get_no_names_that_cannot_be_written_or_read_as_they_are(name):
    with pytest.raises(InvalidParameterError, match="names must be text without controls of its direction"):
        estimate().with_targets(("a", name))


def test_intervals_of_another_law_than_the_normal_one_are_as_wide_as_given():
    each = estimate(half_width=np.array([0.1, 0.3]))
    np.testing.assert_allclose(each.lower, [0.15, 0.45])
    assert [row["upper"] for row in each.rows()] == pytest.approx([0.35, 1.05])
    assert each.with_targets(("a", "b")).margin.tolist() == [0.1, 0.3]
    for wrong in (np.array([0.1]), np.array([0.1, np.nan])):
        with pytest.raises(InvalidParameterError, match="half_width"):
            estimate(half_width=wrong)


def test_the_error_for_the_population_joins_both_errors():
    np.testing.assert_allclose(estimate().population_error, [math.hypot(0.02, 0.01), 0.05])
    assert estimate(sampling_error=None).population_error.tolist() == [0.02, 0.04]


def test_rows_follow_the_one_schema_and_are_plain_json():
    first, second = json.loads(json.dumps(estimate().rows(), allow_nan=False))
    assert list(first) == [
        "statistic", "target", "estimate", "standard_error", "lower", "upper", "level", "sampling_error"
    ]  # fmt: skip
    assert first["lower"] == pytest.approx(0.25 - 1.959964 * 0.02)
    assert (second["target"], second["estimate"], second["level"]) == ("no", 0.75, 0.95)
    assert estimate(sampling_error=None).rows()[0]["sampling_error"] is None


def test_regions_are_one_more_key():
    rows = estimate(where=({"place": "Ulm"}, {"place": "Bonn"})).rows()
    assert [row["where"] for row in rows] == [{"place": "Ulm"}, {"place": "Bonn"}]
    assert "where" not in estimate().rows()[0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"level": 1.0}, "level must be"),
        ({"level": 0}, "level must be"),
        ({"estimate": np.zeros(3)}, "len_estimate must be of length 2, one per target"),
        ({"standard_error": np.zeros(1)}, "len_standard_error must be"),
        ({"sampling_error": np.zeros(1)}, "len_sampling_error must be"),
        ({"where": ({},)}, "len_where must be"),
        ({"estimate": np.array([0.5, np.nan])}, "estimate must be finite numbers"),
        ({"standard_error": np.array([0.5, np.inf])}, "standard_error must be finite numbers"),
        ({"sampling_error": np.array([0.5, np.nan])}, "sampling_error must be finite numbers"),
    ],
)
def test_columns_of_another_length_and_numbers_that_are_none_are_refused(changes, message):
    with pytest.raises(InvalidParameterError, match=message):
        estimate(**changes)


def test_targets_can_be_renamed_and_nothing_else_changes():
    renamed = estimate().with_targets(("ja", "nein"))
    assert [row["target"] for row in renamed.rows()] == ["ja", "nein"]
    assert renamed.estimate.tolist() == [0.25, 0.75]
    with pytest.raises(InvalidParameterError, match="len_estimate must be of length 1"):
        estimate().with_targets(("ja",))


def test_an_estimate_prints_as_a_small_table():
    assert str(estimate()).splitlines() == [
        "frequency, 95% intervals, 500 reports",
        "  yes    0.2500  [  0.2108,   0.2892]",
        "  no     0.7500  [  0.6716,   0.8284]",
    ]
    nothing = estimate(target=(), estimate=np.zeros(0), standard_error=np.zeros(0), sampling_error=None)
    assert str(nothing) == "frequency, 95% intervals, 500 reports"


def test_an_estimate_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        estimate().level = 0.5


def test_covariances_are_in_the_rows_by_the_names_of_the_others_as_far_as_they_are_not_zero():
    covariance = np.array([[0.0004, -0.0001], [-0.0001, 0.0016]])
    given = estimate(covariance=covariance)
    assert given.is_correlated
    assert [row["covariance"] for row in given.rows()] == [{"no": -0.0001}, {"yes": -0.0001}]
    apart = estimate(covariance=np.diag([0.0004, 0.0016]))
    assert not apart.is_correlated
    assert [row["covariance"] for row in apart.rows()] == [{}, {}]
    assert all("covariance" not in row for row in estimate().rows())


@pytest.mark.parametrize("covariance", [np.ones((2, 3)), np.ones((3, 3)), np.full((2, 2), np.nan)])
def test_a_covariance_that_is_no_matrix_of_the_rows_is_refused(covariance):
    with pytest.raises(InvalidParameterError):
        estimate(covariance=covariance)


@pytest.mark.parametrize("level", [math.nextafter(1.0, 0.0), 0.9999999999999999, 5e-324])
def test_a_level_next_to_certainty_or_to_nothing_has_an_interval(level):
    sure = Estimate(
        statistic="frequency",
        target=("a",),
        estimate=np.array([0.5]),
        standard_error=np.array([0.1]),
        level=level,
        num_reports=9,
    )
    assert 0 <= sure.margin[0] < 1
    assert (sure.margin[0] > 0.8) == (level > 0.5)
