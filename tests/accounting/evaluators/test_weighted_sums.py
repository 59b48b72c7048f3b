"""Weighted sums: against enumeration and exact binomial laws, from above, at any size."""

import itertools
import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from shuffledp.accounting.evaluators import weighted_sums as weighted
from shuffledp.accounting.evaluators.inversion import mean_positive_part
from shuffledp.accounting.evaluators.weighted_sums import WeightedSum


def law_of(epsilon0, epsilon):
    """G of the strong pair: its values and masses."""
    ratio, factor = math.exp(epsilon0), math.exp(epsilon)
    return np.array([ratio - factor, 1 - ratio * factor]), np.full(2, 1 / (1 + ratio))


def above(values, masses, weights, counts, shift=0.0):
    return WeightedSum(
        values=values,
        masses=masses,
        weights=np.asarray(weights, dtype=float),
        counts=np.asarray(counts, dtype=float),
        shift=shift,
        errors=1e-15 * np.abs(values),
    ).positive_part()


def enumerated(values, masses, weights, shift):
    values, masses = np.append(values, 0.0), np.append(masses, 1 - masses.sum())
    sums, chances = np.full(1, shift), np.ones(1)
    for weight in weights:
        sums = (sums[:, None] + weight * values).ravel()
        chances = (chances[:, None] * masses).ravel()
    return float(chances @ np.maximum(sums, 0))


@pytest.mark.parametrize("seed", range(12))
def test_few_different_weights_against_enumeration(seed):
    generator = np.random.default_rng(seed)
    weights = generator.dirichlet(np.ones(7)) * (1 + 0.2 * (seed % 2))
    for epsilon0, epsilon in itertools.product((0.1, 1.0, 3.0), (0.0, 0.05, 0.3, 0.95)):
        values, masses = law_of(epsilon0, epsilon * epsilon0)
        shift = math.expm1(epsilon * epsilon0) * (weights.sum() - 1)
        exactly = enumerated(values, masses, weights, shift)
        found = above(values, masses, weights, np.ones(7), shift)
        assert exactly * (1 - 1e-13) <= found <= exactly * 1.003 + 1e-15


def test_classes_are_as_many_weights():
    values, masses = law_of(1.0, 0.2)
    together = above(values, masses, [0.2, 0.05], [3, 8])
    apart = enumerated(values, masses, [0.2] * 3 + [0.05] * 8, 0.0)
    assert apart <= together <= apart * 1.002


@pytest.mark.parametrize("users", [5, 40, 300])
def test_far_in_the_tail_against_exact_sums(users):
    """Laws of fractions, so that the truth is known to all digits; down to 1e-42."""
    values, masses = np.array([1.0, -2.0]), np.array([0.25, 0.25])
    for shift in (0.0, -0.1 * users, -0.5 * users):
        exactly = Fraction(0)
        for ups in range(users + 1):
            for downs in range(users + 1 - ups):
                total = ups - 2 * downs + Fraction(shift)
                if total > 0:
                    ways = comb(users, ups) * comb(users - ups, downs)
                    exactly += total * ways * Fraction(1, 4) ** (ups + downs) * Fraction(1, 2) ** (users - ups - downs)
        found = above(values, masses, [1.0], [users], shift)
        assert float(exactly) <= found <= float(exactly) * 1.006  # its atoms lie on 0 exactly: the worst
        if users == 300 and shift < -100:
            assert found < 1e-40


def test_equal_weights_agree_with_the_evaluator_for_them():
    for users, epsilon in ((1000, 0.05), (10**5, 0.004), (10**8, 1e-4)):
        values, masses = law_of(1.0, epsilon)
        lower, upper = mean_positive_part(values, masses, users, tolerance=1e-4)
        found = above(values, masses, [1 / users], [users])
        assert lower <= found <= upper * 1.001


def test_larger_weights_are_above_where_the_mean_is_kept():
    """Which is what lets a law with larger probabilities stand for others."""
    epsilon = 0.3
    values, masses = law_of(1.0, epsilon)
    plain = above(values, masses, [0.5, 0.1], [1, 5])
    raised = above(values, masses, [0.5, 0.15], [1, 5], math.expm1(epsilon) * 0.25)
    assert raised > plain * 1.01


def test_nothing_above_zero_is_next_to_nothing():
    values, masses = np.array([-1.0, -2.0]), np.array([0.25, 0.25])
    assert 0 < above(values, masses, [1.0], [3]) < 1e-300


def test_what_is_always_there_is_counted():
    values, masses = np.array([1e-9, -1e-9]), np.array([1e-3, 1e-3])
    found = above(values, masses, [1.0], [2], shift=0.25)
    assert 0.25 <= found <= 0.2502


@pytest.mark.parametrize("epsilon0", [1.0, 4.0])
def test_frequencies_that_are_left_out_change_nothing(epsilon0, monkeypatch):
    """Of a few hundred classes whose first few leave some fifty frequencies of thousands."""
    values, masses = law_of(epsilon0, 0.1 * epsilon0)
    weights = 0.9 ** np.arange(60) / 100
    for counts in (np.full(60, 50), np.arange(60) + 1):
        shift = math.expm1(0.1 * epsilon0) * (float(weights @ counts) - 1)
        quick = above(values, masses, weights, counts, shift)
        monkeypatch.setattr(weighted, "_NEGLIGIBLE", math.inf)
        assert quick == pytest.approx(above(values, masses, weights, counts, shift), rel=1e-11)
        monkeypatch.undo()


def test_what_is_left_out_is_counted_as_an_error(monkeypatch):
    values, masses = law_of(1.0, 0.1)
    given = (values, masses, 0.8 ** np.arange(20) / 20, np.full(20, 30))
    careful = above(*given)
    monkeypatch.setattr(weighted, "_NEGLIGIBLE", 2.0)
    assert above(*given) > careful * 1.001


pytestmark = pytest.mark.deep  # long: many laws, each enumerated


@pytest.mark.parametrize("seed", range(6))
def test_sums_that_are_hardly_ever_positive_against_enumeration(seed):
    """The best tilt is then infinite, and what floating point does there must not swamp the bound."""
    generator = np.random.default_rng(seed)
    for reach in (0.2, 0.7, 0.95, 1.3):  # of the largest sum: beyond 1, none is positive
        weights = generator.dirichlet(np.ones(6))
        values = np.array([generator.uniform(0.5, 200.0), -generator.uniform(0.1, 2.0)])
        masses = generator.uniform(1e-7, 0.3, size=2)
        shift = -reach * values[0] * weights.sum()
        exactly, found = enumerated(values, masses, weights, shift), above(values, masses, weights, np.ones(6), shift)
        # Where no sum is positive, about exp(tilt * S) is found: the tilt is 600 over the largest term, which is at
        # most values[0], and every S is at most -0.3 * values[0]. Elsewhere it needs no such slack.
        slack = math.exp(-0.3 * 600) * values[0] if reach > 1 else 0.0
        assert exactly * (1 - 1e-13) <= found <= exactly * 1.01 + slack


def test_a_sum_that_is_never_positive_has_nearly_no_positive_part():
    assert above(np.array([104.557]), np.array([1e-6]), [0.002], [1.0], -0.3) < 1e-100
