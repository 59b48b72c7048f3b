"""Samplers of permutations have the laws that are written out, and a concentration wrong by a tenth is rejected."""

import math
from collections import Counter

import numpy as np
import pytest
from thresholds import (
    LEAST_EXPECTED,
    SAMPLES,
    SAMPLES_PER_CELL,
    assert_fits,
    assert_lies_near,
    assert_rejects,
    lies_near,
)

from shuffledp.laws import (
    kendall_inversions,
    kendall_mean_displacement,
    mallows_law,
    noisy_sort_law,
    sample_mallows,
    sample_noisy_sort,
)
from shuffledp.laws.exact_draws import draw_codes
from shuffledp.randomness.sources import resolve_source


def compare(draws, right, wrong):
    """Accept the right law and reject the wrong one; permutations that are rare under the right one share a cell."""
    found = Counter(draws)
    least = 4 * LEAST_EXPECTED / sum(found.values())
    by_chance = sorted(right, key=right.get)
    shared = sum(chance < least for chance in right.values())
    shared += 0 < sum(right[each] for each in by_chance[:shared]) < least

    def cells(values):
        own = [values[each] for each in by_chance[shared:]]
        return [*own, sum(values[each] for each in by_chance[:shared])] if shared else own

    assert_fits(cells(found), cells(right))
    assert_rejects(cells(found), cells(wrong))


@pytest.mark.parametrize("distance", ["kendall", "hamming", "cayley"])
@pytest.mark.parametrize(("size", "theta"), [(3, 1.5), (4, 0.7)])
def test_small_permutations_have_the_law_of_their_concentration(distance, size, theta):
    draws = [tuple(sample_mallows(size, theta, distance=distance).tolist()) for _ in range(30_000)]
    right, wrong = (mallows_law(size, factor * theta, distance=distance) for factor in (1.0, 1.2))
    compare(draws, right, wrong)


@pytest.mark.deep
@pytest.mark.parametrize("distance", ["kendall", "hamming", "cayley"])
@pytest.mark.parametrize(("size", "theta", "factor"), [(5, 0.1, 1.5), (6, 0.3, 1.2), (6, 2.5, 1.1)])
def test_permutations_of_six_have_the_law_of_their_concentration(distance, size, theta, factor):
    draws = [tuple(sample_mallows(size, theta, distance=distance).tolist()) for _ in range(750 * SAMPLES_PER_CELL)]
    right, wrong = (mallows_law(size, tilt * theta, distance=distance) for tilt in (1.0, factor))
    compare(draws, right, wrong)


@pytest.mark.parametrize("distance", ["kendall", "hamming", "cayley"])
def test_a_concentration_next_to_0_is_uniform(distance):
    draws = [tuple(sample_mallows(3, 1e-13, distance=distance).tolist()) for _ in range(20_000)]
    compare(draws, mallows_law(3, 0.0), mallows_law(3, 0.1))


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("positions", [(0.0, 0.5, 1.5), (0.0, 0.0, 1.0, 1.2)])
def test_small_sorts_have_the_law_of_their_noise(noise, positions):
    size, count = len(positions), 200_000
    found = sample_noisy_sort(np.tile(positions, count), noise=noise, block_starts=np.arange(0, size * count, size))
    draws = map(tuple, (found.reshape(count, size) % size).tolist())
    compare(draws, noisy_sort_law(positions, noise=noise), noisy_sort_law(positions, noise=noise, scale=1.05))


@pytest.mark.parametrize("theta", [1e-5, 1e-3, 0.5])
def test_inversions_of_a_million_have_their_exact_mean_and_a_fiftieth_more_is_rejected(theta):
    codes = np.empty(1_000_000, dtype=np.int64)
    draw_codes(theta, codes, resolve_source(None), remaining=codes.size)
    found = int(codes.sum())  # the Lehmer code sums up to the number of inversions
    mean, variance = kendall_inversions(codes.size, theta)
    assert_lies_near(found, mean, math.sqrt(variance))
    mean, variance = kendall_inversions(codes.size, 1.02 * theta)
    assert not lies_near(found, mean, math.sqrt(variance))


def test_codes_of_a_million_are_geometric():
    theta, most = 0.5, 10
    codes = np.empty(SAMPLES, dtype=np.int64)
    draw_codes(theta, codes, resolve_source(None), remaining=2**40)
    counts = np.bincount(np.minimum(codes, most), minlength=most + 1)

    def law(rate):
        return np.append(-math.expm1(-rate) * np.exp(-rate * np.arange(most)), math.exp(-rate * most))

    assert_fits(counts, law(theta))
    assert_rejects(counts, law(1.02 * theta))


def test_items_are_displaced_by_their_exact_mean_and_a_twentieth_more_is_rejected():
    size, theta, draws = 20_000, 0.02, 40
    places = np.arange(size)
    found = [np.abs(sample_mallows(size, theta) - places).mean() for _ in range(draws)]
    # A draw's mean varies by less than 2 parts in 100: some size * theta = 400 stretches hardly depend on each other.
    spread = 0.02 * kendall_mean_displacement(size, theta) / math.sqrt(draws)
    assert np.std(found) < 0.02 * np.mean(found)
    assert_lies_near(np.mean(found), kendall_mean_displacement(size, theta), spread)
    assert not lies_near(np.mean(found), kendall_mean_displacement(size, 1.05 * theta), spread)


pytestmark = pytest.mark.deep
