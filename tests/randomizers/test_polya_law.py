"""The law of sums of Polya shares, against its probabilities written out."""

import math

import numpy as np
import pytest
from scipy import stats

from shuffledp.randomizers.polya_law import central_interval, noise_variance, tail_bound

SHAPES = [0.2, 0.75, 1.0, 1.3, 4.0]


def difference_law(rate, shape, size=2048):
    """Of the difference of two negative binomial numbers, at -size + 1, ..., size - 1."""
    one = stats.nbinom.pmf(np.arange(size), shape, -math.expm1(-rate))
    return np.convolve(one, one[::-1])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rate", [0.1, 1.0, 3.0])
def test_the_variance_is_that_of_the_law(rate, shape):
    law = difference_law(rate, shape)
    places = np.arange(len(law)) - len(law) // 2
    assert noise_variance(rate, shape) == pytest.approx((law * places**2).sum(), rel=1e-9)
    assert noise_variance(800.0, shape) == 0


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rate", [0.1, 1.0, 3.0])
def test_the_tail_is_bounded_and_exact_for_one_discrete_laplace(rate, shape):
    law = difference_law(rate, shape)
    places = np.abs(np.arange(len(law)) - len(law) // 2)
    for limit in (0, 1, 5, int(10 / rate)):
        exact = law[places > limit].sum()
        bound = tail_bound(rate, shape, limit)
        assert exact <= bound <= 1
        if shape == 1:
            assert bound == pytest.approx(exact, rel=1e-7)
        elif rate * limit >= 9:
            assert bound < 200 * exact + 1e-3


def test_a_tail_beyond_all_floats_is_zero_and_none_is_above_one():
    assert tail_bound(1.0, 1.0, 10**6) == 0
    assert tail_bound(1.0, 3.0, 10**6) == 0
    assert tail_bound(1e-9, 3.0, 1) == 1


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rate", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_the_interval_is_the_least_that_reaches_the_level(rate, shape, level):
    law = difference_law(rate, shape)
    places = np.abs(np.arange(len(law)) - len(law) // 2)
    found = central_interval(rate, shape, 0.0, level)
    assert law[places <= found].sum() >= level - 1e-9
    if found > 0:
        assert law[places < found].sum() < level


@pytest.mark.parametrize("rate", [1e-3, 1e-6])
def test_fine_noise_has_the_interval_of_the_laplace_law_to_a_thousandth(rate):
    assert central_interval(rate, 1.0, 0.0, 0.95) * rate == pytest.approx(math.log(20), rel=1e-3)


@pytest.mark.parametrize("rate", [1e-5, 0.02])
def test_noise_of_many_is_nearly_normal_and_so_is_rounding(rate):
    quantile = stats.norm.ppf(0.975)
    assert central_interval(rate, 1e4, 0.0, 0.95) == pytest.approx(
        quantile * noise_variance(rate, 1e4) ** 0.5, rel=2e-3
    )
    spread = 1e4 / rate**2
    assert central_interval(rate, 1.0, spread, 0.95) == pytest.approx(quantile * spread**0.5, rel=2e-3)


def test_rounding_and_noise_of_one_size_have_the_interval_of_their_convolution():
    rate, spread = 0.2, 30.0
    law = difference_law(rate, 0.8)
    places = np.arange(len(law)) - len(law) // 2
    found = central_interval(rate, 0.8, spread, 0.9)
    inside = stats.norm.cdf((found + 0.5 - places) / spread**0.5) - stats.norm.cdf(
        (-found - 0.5 - places) / spread**0.5
    )
    assert (law * inside).sum() == pytest.approx(0.9, abs=0.01)
