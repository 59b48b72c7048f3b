"""Quantiles of the largest of several errors, against laws that are known exactly."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import norm, studentized_range

from shuffledp.analyzers.largest_errors import level_of_each


def pairs(values: int) -> np.ndarray:
    """Covariances of all differences of independent errors."""
    rows = np.zeros((len(list(combinations(range(values), 2))), values))
    for row, (one, other) in zip(rows, combinations(range(values), 2), strict=True):
        row[[one, other]] = 1.0, -1.0
    return rows @ rows.T


@pytest.mark.parametrize("values", [2, 4, 10])
def test_all_differences_have_the_studentized_range(values):
    quantile = norm.isf((1 - level_of_each(pairs(values), 0.95)) / 2)
    assert studentized_range.cdf(quantile * np.sqrt(2), values, np.inf) == pytest.approx(0.95, abs=7e-4)


@pytest.mark.parametrize("errors", [1, 5, 40, 300])
def test_independent_errors_have_sidaks_level(errors):
    scales = np.diag(np.linspace(0.5, 2.0, errors))
    assert level_of_each(scales, 0.9) ** errors == pytest.approx(0.9, abs=5e-3 if errors > 50 else 2e-3)


def test_errors_that_are_one_count_once_and_none_counts_more_than_once():
    assert level_of_each(np.ones((7, 7)), 0.95) == 0.95
    assert level_of_each(np.zeros((4, 4)), 0.95) == pytest.approx(1 - 0.05 / 4)
    assert level_of_each(np.diag([1.0, 0.0]), 0.95) == 0.95


def test_no_level_is_above_that_of_bonferroni():
    for errors in (2, 30):
        assert level_of_each(np.eye(errors), 0.999) <= 1 - 0.001 / errors
