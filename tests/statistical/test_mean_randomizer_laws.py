"""The laws of randomized numbers and vectors, under the cryptographic source."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import special
from thresholds import SAMPLES, assert_fits, assert_rejects

from shuffledp.randomizers import DiscreteLaplaceMean, DiscreteLaplaceMeanModel, OneBitMean, PrivUnit, RoundedMean
from shuffledp.randomizers.priv_unit import cap_mass
from shuffledp.randomizers.sampling.discrete_laplace import discrete_laplace


def laplace_law(rate, reach):
    """Of -reach, ..., reach, with all that lies further in the two end cells."""
    ratio = math.exp(-rate)
    law = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(-reach, reach + 1))
    law[[0, -1]] /= 1 - ratio
    return law


@pytest.mark.parametrize(("rate", "reach"), [(Fraction(1, 20), 100), (Fraction(5, 7), 10), (Fraction(3), 2)])
def test_the_noise_is_discrete_laplace_and_a_rate_wrong_by_a_fiftieth_is_rejected(rate, reach):
    noise = np.clip(discrete_laplace(rate, SAMPLES), -reach, reach)
    counts = np.bincount(noise + reach, minlength=2 * reach + 1)
    assert_fits(counts, laplace_law(float(rate), reach))
    assert_rejects(counts, laplace_law(1.02 * float(rate), reach))


def test_noise_whose_zero_is_not_drawn_again_under_a_minus_sign_would_be_rejected():
    # Then zero has the probability 1 - exp(-rate), nearly twice what it should be for small rates.
    rate, reach = 0.5, 12
    counts = np.bincount(np.clip(discrete_laplace(Fraction(1, 2), SAMPLES), -reach, reach) + reach)
    wrong = laplace_law(rate, reach)
    wrong[reach] = 1 - math.exp(-rate)
    assert_rejects(counts, wrong / wrong.sum())


def test_rounded_values_with_noise_have_the_mixed_law_and_rounding_that_always_goes_down_is_rejected():
    model = DiscreteLaplaceMeanModel(lower=0.0, upper=1.0, num_steps=4, rate=Fraction(1, 2))
    reports = DiscreteLaplaceMean.from_model(model).randomize(np.full(SAMPLES, 0.325))["value"]  # 1.3 steps
    reach = 12
    counts = np.bincount(np.clip(reports - 1, -reach, reach) + reach, minlength=2 * reach + 1)
    at, above = laplace_law(0.5, reach), np.roll(laplace_law(0.5, reach), 1)
    # Cells at the ends hold all that lies further, also for the law that is shifted by one.
    above[0], above[1] = at[0] * math.exp(-0.5), at[0] * (1 - math.exp(-0.5))
    above[-1] = at[-1] + at[-2]
    assert_fits(counts, 0.7 * at + 0.3 * above)
    assert_rejects(counts, at)


@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
def test_the_bit_has_its_chance_and_one_wrong_by_a_fiftieth_is_rejected(value):
    randomizer = OneBitMean(epsilon0=1.0, lower=0, upper=1)
    p, q = randomizer.model.response.p, randomizer.model.response.q
    ones = int(randomizer.randomize(np.full(SAMPLES, value))["value"].sum())
    chance = q + (p - q) * value
    assert_fits([SAMPLES - ones, ones], [1 - chance, chance])
    assert_rejects([SAMPLES - ones, ones], [1 - 1.02 * chance, 1.02 * chance])


def test_the_rounded_mean_mixes_the_rows_of_two_levels_and_those_of_one_alone_are_rejected():
    randomizer = RoundedMean(epsilon0=3.0, lower=0, upper=1, num_levels=5)
    counts = np.bincount(randomizer.randomize(np.full(SAMPLES, 0.45))["value"], minlength=6)  # 2.25 steps
    rows = randomizer.model.channel().matrix
    assert_fits(counts, 0.75 * rows[2] + 0.25 * rows[3])
    assert_rejects(counts, rows[2])
    assert_rejects(counts, 0.74 * rows[2] + 0.26 * rows[3])


# ---- PrivUnit -------------------------------------------------------------------------------------------------------


def product_law(dimension, depth, p, cells):
    """Cells of equal mass under the uniform law, cut at the edge of the cap, of depths within and beyond it."""
    mass = cap_mass(depth, dimension)
    law = np.concatenate([np.full(cells, p / cells), np.full(cells, (1 - p) / cells)])
    half = (dimension - 1) / 2
    inner = special.betaincinv(half, half, np.linspace(0, mass, cells + 1))
    outer = special.betaincinv(half, half, np.linspace(mass, 1, cells + 1))
    return np.concatenate([inner, outer[1:]]), law


@pytest.mark.parametrize("dimension", [2, 3, 8])
def test_the_product_with_the_true_vector_has_its_law_and_a_coin_wrong_by_a_fiftieth_is_rejected(dimension):
    model = PrivUnit(epsilon0=2.0, dimension=dimension).model
    vector = np.ones(dimension) / math.sqrt(dimension)
    reports = PrivUnit.from_model(model).randomize(np.tile(vector, (SAMPLES // 2, 1)))["vector"]
    edges, law = product_law(dimension, model.depth, model.p, cells=10)
    depths = np.clip((1 - reports @ vector) / 2, 0, 1)
    counts = np.histogram(depths, bins=edges)[0]
    assert_fits(counts, law)
    assert_rejects(counts, product_law(dimension, model.depth, 0.98 * model.p, cells=10)[1])
    # A cap that is deeper by a fiftieth, with the same coin, has its edge elsewhere.
    wrong_edges, wrong_law = product_law(dimension, min(1.02 * model.depth, 0.5), model.p, cells=10)
    assert_rejects(np.histogram(depths, bins=wrong_edges)[0], wrong_law)


def test_given_the_product_all_directions_across_are_equally_likely_and_a_tilt_of_a_tenth_is_rejected():
    randomizer = PrivUnit(epsilon0=2.0, dimension=3)
    vector = np.array([2.0, -1.0, 2.0]) / 3
    reports = randomizer.randomize(np.tile(vector, (SAMPLES // 5, 1)))["vector"]
    first = np.array([1.0, 2.0, 0.0]) / math.sqrt(5)
    second = np.cross(vector, first)
    angles = np.arctan2(reports @ second, reports @ first)
    inside = reports @ vector >= randomizer.model.gamma
    cells = 12
    tilted = (1 + 0.1 * np.cos(2 * np.pi * (np.arange(cells) + 0.5) / cells - np.pi)) / cells
    for part in (inside, ~inside):
        counts = np.histogram(angles[part], bins=cells, range=(-np.pi, np.pi))[0]
        assert_fits(counts, np.full(cells, 1 / cells))
        assert_rejects(counts, tilted)


pytestmark = pytest.mark.deep
