"""Caps of the unit sphere: their mass and moments, and the two parts into which PrivUnit cuts the sphere.

A cap around a unit vector u holds the unit vectors v with <v, u> >= gamma. Its *depth* (1 - gamma) / 2, the share of
the diameter that it takes, is what is computed with, since gamma = 1 - 2 depth holds no digits of a small cap. For
uniform v in d dimensions the depth (1 - <v, u>) / 2 has the Beta(a, a) law, a = (d - 1) / 2.

scipy is imported where it is used: it takes most of a second, and most tasks need none of it.
"""

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["best_cap_loss", "cap_depth", "cap_loss", "cap_mass", "cap_moment", "depths_within"]


def cap_mass(depth: float, dimension: int) -> float:
    """Share of the sphere in a cap.

    Its relative error is below 1e-12; so then is the absolute error of `cap_loss`. The tests compare with 40 digits.

    Args:
        depth: above 0 and at most 1/2.
        dimension: 2 or more.
    """
    from scipy import special

    half = (dimension - 1) / 2
    return float(special.betainc(half, half, depth))


def cap_loss(depth: float, dimension: int) -> float:
    """log((1 - mass) / mass): how much likelier a uniform vector is outside the cap than in it."""
    mass = cap_mass(depth, dimension)
    return math.log1p(-mass) - math.log(mass)


def cap_depth(loss: float, dimension: int) -> float:
    """The depth of the cap that has this `cap_loss`, 0 or more."""
    from scipy import special

    half = (dimension - 1) / 2
    return float(special.betaincinv(half, half, special.expit(-loss)))


def cap_moment(depth: float, dimension: int) -> float:
    """E[<v, u>; v in the cap] for uniform v: (1 - gamma^2)^a / ((d - 1) B(1/2, a)), a = (d - 1) / 2.

    Bhowmick et al. 2018 print the same with B(a, a) 2^(d-2), by the duplication formula.
    """
    from scipy import special

    half = (dimension - 1) / 2
    gamma = 1 - 2 * depth
    # 1 - gamma^2 = 4 depth (1 - depth); each form keeps its digits where it is used.
    log_area = math.log1p(-(gamma**2)) if gamma < 0.5 else math.log(4 * depth) + math.log1p(-depth)
    return math.exp(half * log_area - math.log(dimension - 1) - float(special.betaln(0.5, half)))


def best_cap_loss(epsilon0: float, dimension: int) -> float:
    """The part of the loss that the cap should have, so that PrivUnit's reports vary least.

    With c the mass, k the moment and E = exp(epsilon0), the scale is m = k (E - 1) / (1 + (E - 1) c). Since
    dc = -f dgamma and dk = -gamma f dgamma with the same density f, its derivative has the sign of m - gamma. So
    m - gamma falls wherever it is 0: that is at one place, and there m is largest.

    Args:
        epsilon0: the whole loss, above 0.
        dimension: 2 or more.
    """
    from scipy import optimize

    growth = math.expm1(epsilon0)

    def excess(loss: float) -> float:
        depth = cap_depth(loss, dimension)
        scale = cap_moment(depth, dimension) * growth / (1 + growth * cap_mass(depth, dimension))
        return scale - (1 - 2 * depth)

    if excess(epsilon0) > 0:  # only where gamma and the scale are both 1 in floats
        return epsilon0
    return float(optimize.brentq(excess, 0.0, epsilon0, xtol=1e-12 * epsilon0))


def depths_within(
    shares: NDArray[np.float64], in_cap: NDArray[np.bool_], *, depth: float, dimension: int
) -> NDArray[np.float64]:
    """Depths of vectors inside the cap, or outside it: uniform shares of (0, 1) through the inverse law.

    Args:
        shares: shape (n,).
        in_cap: for each, on which side of the cap's edge, shape (n,).
        depth: of the cap.
        dimension: 2 or more.

    Returns:
        Shape (n,), at most ``depth`` in the cap and at least ``depth`` outside.
    """
    from scipy import special

    half = (dimension - 1) / 2
    mass = cap_mass(depth, dimension)
    # Outside, the opposite pole is the near one: each tail is inverted from its own end.
    from_pole = np.where(in_cap, shares * mass, shares * (1 - mass))
    depths = special.betaincinv(half, half, from_pole)
    bounded: NDArray[np.float64] = np.where(in_cap, np.minimum(depths, depth), np.maximum(1 - depths, depth))
    return bounded
