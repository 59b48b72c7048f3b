"""Caps of the sphere against the same integrals with forty digits."""

import math

import mpmath
import numpy as np
import pytest
from scipy import integrate, special

from shuffledp.randomizers.caps import best_cap_loss, cap_depth, cap_loss, cap_mass, cap_moment, depths_within

DIMENSIONS = [2, 3, 4, 7, 50, 200, 3000, 30_000]
LOSSES = [1e-6, 1e-3, 0.1, 1.0, 4.0, 10.0, 20.0, 30.0]


def exact_mass(depth, dimension):
    """By symmetry half of the Beta((d-1)/2, 1/2) law of 1 - t^2 = 4 depth (1 - depth)."""
    square = 4 * mpmath.mpf(depth) * (1 - mpmath.mpf(depth))
    return mpmath.betainc(mpmath.mpf(dimension - 1) / 2, mpmath.mpf(1) / 2, 0, square, regularized=True) / 2


def exact_loss(depth, dimension):
    mass = exact_mass(depth, dimension)
    return mpmath.log((1 - mass) / mass)


@pytest.mark.parametrize("dimension", [*DIMENSIONS, 2**20])
def test_the_loss_of_a_cap_is_right_to_a_thousandth_of_the_guard(dimension):
    with mpmath.workdps(40):
        for loss in LOSSES:
            depth = cap_depth(loss, dimension)
            assert abs(cap_loss(depth, dimension) - exact_loss(depth, dimension)) < 1e-12
            assert abs(cap_loss(depth, dimension) - loss) < 2e-12


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_the_moment_of_a_cap_is_the_printed_one(dimension):
    # Bhowmick et al. 2018: (1 - gamma^2)^a / (2^(d-2) (d-1) B(a, a)), a = (d-1)/2.
    with mpmath.workdps(40):
        half = mpmath.mpf(dimension - 1) / 2
        for loss in LOSSES:
            depth = mpmath.mpf(cap_depth(loss, dimension))
            printed = (4 * depth * (1 - depth)) ** half / (
                mpmath.mpf(2) ** (dimension - 2) * (dimension - 1) * mpmath.beta(half, half)
            )
            assert float(cap_moment(float(depth), dimension) / printed) == pytest.approx(1, abs=1e-10)


def test_mass_and_moment_are_integrals_of_the_density():
    dimension, gamma = 5, 0.3
    density = lambda t: (1 - t * t) ** ((dimension - 3) / 2) / special.beta(0.5, (dimension - 1) / 2)  # noqa: E731
    depth = (1 - gamma) / 2
    assert cap_mass(depth, dimension) == pytest.approx(integrate.quad(density, gamma, 1)[0], rel=1e-10)
    assert cap_moment(depth, dimension) == pytest.approx(
        integrate.quad(lambda t: t * density(t), gamma, 1)[0], rel=1e-10
    )


@pytest.mark.parametrize("dimension", [2, 3, 10, 200])
@pytest.mark.parametrize("epsilon0", [0.01, 1.0, 4.0, 12.0])
def test_no_other_split_has_a_larger_scale_than_the_best(epsilon0, dimension):
    growth = math.expm1(epsilon0)

    def scale(loss):
        depth = cap_depth(loss, dimension)
        return cap_moment(depth, dimension) * growth / (1 + growth * cap_mass(depth, dimension))

    best = best_cap_loss(epsilon0, dimension)
    assert 0 < best < epsilon0
    others = np.linspace(0, epsilon0, 201)
    assert all(scale(best) >= scale(other) * (1 - 1e-12) for other in others)
    assert scale(best) == pytest.approx(1 - 2 * cap_depth(best, dimension), rel=1e-6)


def test_depths_are_on_the_side_that_was_asked_for_and_follow_the_law_there():
    dimension, depth = 6, 0.3
    shares = np.linspace(0.01, 0.99, 99)
    inside = depths_within(shares, np.full(99, True), depth=depth, dimension=dimension)
    outside = depths_within(shares, np.full(99, False), depth=depth, dimension=dimension)
    assert inside.max() <= depth <= outside.min()
    mass = cap_mass(depth, dimension)
    np.testing.assert_allclose(special.betainc(2.5, 2.5, inside), shares * mass, rtol=1e-12)
    np.testing.assert_allclose(1 - special.betainc(2.5, 2.5, outside), shares * (1 - mass), rtol=1e-12)
    ends = depths_within(np.array([0.0, 1.0, 0.0, 1.0]), np.array([True, True, False, False]), depth=depth, dimension=6)
    assert ends == pytest.approx([0.0, depth, 1.0, depth])
