"""The trade-off of Gaussian noise: delta at each alpha, and how much noise a pair of them needs."""

import math

from shuffledp import _validate
from shuffledp._validate import invalid

__all__ = ["gaussian_alpha", "gaussian_delta", "gaussian_mu"]

_ROUNDING = 2.0**-48  # of a normal probability at 0; with the distance from 0 the error of its argument counts more
_SMALLEST = 1e-300
_LARGEST_MU = 60.0
_FAR = 1e100  # so many standard deviations away nothing is left, and squares may be no floats


def gaussian_delta(mu: float, alpha: float) -> float:
    """The delta at which a Gaussian mechanism of sensitivity ``mu`` scales is (alpha, delta)-private.

    delta = Phi(mu / 2 - alpha / mu) - exp(alpha) Phi(-mu / 2 - alpha / mu), rounded up; and 0 for mu = 0. A sort by
    positions plus Gaussian noise has mu = largest spread of a group (``sort_spreads(..., power=2)``) / scale, and is
    then (alpha, delta)-d_sigma private for every alpha. It is private for no alpha with delta = 0.

    Args:
        mu: 0 or more, in units of the noise's standard deviation.
        alpha: 0 or more.

    Returns:
        From 0 to 1, not below the exact value.

    Raises:
        InvalidParameterError: if an argument is out of range.

    References:
        Balle, Wang, "Improving the Gaussian Mechanism for Differential Privacy", ICML 2018, Theorem 8.

    Example:
        >>> round(gaussian_delta(1.0, 1.0), 6)
        0.126937
    """
    _validate.nonnegative(mu=mu, alpha=alpha)
    if mu == 0 or alpha == math.inf:
        return 0.0
    if mu == math.inf:
        return 1.0
    if alpha == 0:
        return min(math.erf(mu / math.sqrt(8)) * (1 + _ROUNDING) + _SMALLEST, 1.0)
    center, reach = alpha / mu, mu / 2 + alpha / mu
    if reach > _FAR:
        return _SMALLEST if center > mu else 1.0
    likely = _normal_below(mu / 2 - center)
    unlikely = math.exp(min(alpha + _log(_normal_below(-reach)), 0.0))
    error = _ROUNDING * (2 + reach + reach**2)
    return min(max(likely * (1 + error) - unlikely * max(1 - error, 0.0), _SMALLEST), 1.0)


def _normal_below(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


def _log(chance: float) -> float:
    """A logarithm, or minus infinity where digits are lost: what is subtracted may be too small."""
    return math.log(chance) if chance > _SMALLEST else -math.inf


def gaussian_mu(alpha: float, delta: float) -> float:
    """The largest mu, found by halving, at which `gaussian_delta` does not exceed ``delta`` at ``alpha``.

    Args:
        alpha: 0 or more.
        delta: strictly between 0 and 1, 1e-200 or more.

    Returns:
        Above 0 and at most 60: ``gaussian_delta(result, alpha) <= delta``.

    Raises:
        InvalidParameterError: if an argument is out of range.

    Example:
        >>> round(gaussian_mu(1.0, 1e-6), 6)
        0.236704
    """
    _validate.nonnegative(alpha=alpha)
    _validate.open_probability(delta=delta)
    if delta < 1e-200:
        raise invalid("1e-200 or more", delta=delta)
    low, high = 0.0, _LARGEST_MU
    if gaussian_delta(high, alpha) <= delta:
        return high
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return low
        low, high = (middle, high) if gaussian_delta(middle, alpha) <= delta else (low, middle)


def gaussian_alpha(mu: float, delta: float) -> float:
    """The least alpha, found by halving, at which `gaussian_delta` of ``mu`` does not exceed ``delta``.

    Args:
        mu: 0 or more; infinity gives infinity.
        delta: strictly between 0 and 1.

    Returns:
        ``gaussian_delta(mu, result) <= delta``; infinity if no float satisfies that.

    Raises:
        InvalidParameterError: if an argument is out of range.

    Example:
        >>> round(gaussian_alpha(gaussian_mu(1.0, 1e-6), 1e-6), 6)
        1.0
    """
    _validate.nonnegative(mu=mu)
    _validate.open_probability(delta=delta)
    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while gaussian_delta(mu, high) > delta:
        low, high = high, 2 * high
        if mu > _LARGEST_MU * 1e3 or high == math.inf:
            return math.inf
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return high
        low, high = (low, middle) if gaussian_delta(mu, middle) <= delta else (middle, high)
