"""The laws of what is drawn from words, under the cryptographic source."""

import numpy as np
import pytest
from thresholds import SAMPLES, assert_fits, assert_rejects

from shuffledp.randomness.sources import bernoulli, resolve_source, uniform_integers


def test_every_byte_of_a_word_is_uniform_and_a_law_with_one_value_rarer_by_a_tenth_is_rejected():
    counts = np.bincount(resolve_source(None).words(SAMPLES // 8).view(np.uint8), minlength=256)
    uniform = np.full(256, 1 / 256)
    assert_fits(counts, uniform)
    uneven = uniform.copy()
    uneven[:128] *= 1.1
    uneven[128:] *= 0.9
    assert_rejects(counts, uneven)


@pytest.mark.parametrize("bound", [2, 3, 6, 100])
def test_uniform_integers_are_uniform_and_a_law_wrong_by_a_twentieth_is_rejected(bound):
    counts = np.bincount(uniform_integers(bound, SAMPLES), minlength=bound)
    uniform = np.full(bound, 1 / bound)
    assert_fits(counts, uniform)
    uneven = np.where(np.arange(bound) < bound // 2, 1.05, 1.0)
    assert_rejects(counts, uneven / uneven.sum())


def test_uniform_integers_of_a_huge_bound_are_uniform_where_a_bare_modulo_is_not():
    # 2^64 = 2 bound + 2^61: a bare modulo would draw the lowest 2/7 of the range 3/2 times as often as the rest.
    bound, cells = 7 * 2**60, 7
    counts = np.bincount(uniform_integers(bound, SAMPLES) // 2**60, minlength=cells)
    assert_fits(counts, np.full(cells, 1 / cells))
    assert_rejects(counts, np.array([3, 3, 2, 2, 2, 2, 2]) / 16)


@pytest.mark.parametrize(("probability", "factor"), [(0.001, 1.5), (0.3, 1.02), (0.5, 1.02), (0.97, 1.02)])
def test_bernoulli_has_its_probability_and_one_wrong_by_a_stated_factor_is_rejected(probability, factor):
    threshold = round(probability * 2**64)
    heads = int(bernoulli(threshold, SAMPLES).sum())
    exact = threshold / 2**64
    assert_fits([heads, SAMPLES - heads], [exact, 1 - exact])
    assert_rejects([heads, SAMPLES - heads], [factor * exact, 1 - factor * exact])


def test_successive_draws_are_independent_and_a_correlation_of_a_hundredth_is_rejected():
    faces = uniform_integers(6, SAMPLES)
    counts = np.bincount(6 * faces[0::2] + faces[1::2], minlength=36)
    independent = np.full((6, 6), 1 / 36)
    assert_fits(counts, independent.ravel())
    sticky = 0.98 * independent + 0.02 * np.eye(6) / 6
    assert_rejects(counts, sticky.ravel())
