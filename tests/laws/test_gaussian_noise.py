"""Trade-off of Gaussian noise: delta errs upward, mu keeps it, and the ends are exact."""

import math

import mpmath
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.laws import gaussian_alpha, gaussian_delta, gaussian_mu


def exact_delta(mu, alpha):
    with mpmath.workdps(60):
        mu, alpha = mpmath.mpf(mu), mpmath.mpf(alpha)
        return mpmath.ncdf(mu / 2 - alpha / mu) - mpmath.exp(alpha) * mpmath.ncdf(-mu / 2 - alpha / mu)


@pytest.mark.parametrize("mu", [1e-6, 0.01, 0.24, 1.0, 5.0, 30.0])
@pytest.mark.parametrize("alpha", [0.0, 1e-9, 0.1, 1.0, 4.0, 100.0, 800.0])
def test_delta_errs_upward_and_hardly(mu, alpha):
    exact, found = exact_delta(mu, alpha), gaussian_delta(mu, alpha)
    assert exact <= found <= 1
    likely = mpmath.ncdf(mu / 2 - alpha / mu)
    assert found - exact <= 1e-299 + likely * (1e-9 if alpha < 700 else 1)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0, 20.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.1, 0.9])
def test_mu_is_the_largest_that_keeps_delta(alpha, delta):
    mu = gaussian_mu(alpha, delta)
    assert exact_delta(mu, alpha) <= delta
    assert exact_delta(mu * 1.001, alpha) > delta


def test_budgets_and_spreads_whose_squares_are_no_floats():
    assert 0 < gaussian_delta(60.0, 1e308) <= 1e-300
    assert 0 < gaussian_delta(1e-10, 1e308) <= 1e-300
    assert gaussian_delta(1e200, 1.0) == 1.0
    assert gaussian_delta(1.7e308, 1.7e308) == 1.0
    assert gaussian_mu(1e308, 1e-6) == gaussian_mu(1e5, 1e-6) == 60.0
    assert gaussian_alpha(1e200, 1e-6) == math.inf


def test_delta_at_the_ends():
    assert gaussian_delta(0, 0) == gaussian_delta(1, math.inf) == 0
    assert gaussian_delta(math.inf, 1) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gaussian_delta(-1.0, 1.0), "mu must be"),
        (lambda: gaussian_delta(1.0, math.nan), "alpha must be"),
        (lambda: gaussian_mu(1.0, 0.0), "delta must be"),
        (lambda: gaussian_mu(1.0, 1e-250), "delta must be 1e-200 or more"),
    ],
)
def test_a_trade_off_out_of_range_is_refused(call, message):
    with pytest.raises(InvalidParameterError, match=message):
        call()
