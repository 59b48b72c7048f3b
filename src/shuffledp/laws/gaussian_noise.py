"""Trade-off of Gaussian noise: delta, alpha and mu, the distance of two results in standard deviations.

Delta and alpha err upward and mu downward, so that each is on the safe side.
"""

import math

from shuffledp.core import validate
from shuffledp.core.validate import invalid

_NORMAL_ROUNDING = 2.0**-48  # error of a normal probability at 0; far from 0 the argument's error counts more
_SMALLEST = 1e-300
_LARGEST_MU = 60.0
_FAR = 1e100  # standard deviations: nothing is left so far away, and squares may be no floats


def gaussian_delta(mu: float, alpha: float) -> float:
    """Smallest delta at which a Gaussian mechanism of parameter ``mu`` is (alpha, delta)-private.

    ``mu`` is the sensitivity in units of the noise's scale. delta = Phi(mu / 2 - alpha / mu) - exp(alpha) Phi(-mu / 2 -
    alpha / mu), rounded up; and 0 for mu = 0. A sort by positions plus Gaussian noise has mu = largest spread of a
    group (``sort_spreads(..., power=2)``) / scale, and is then (alpha, delta)-d_sigma private for every alpha. It is
    private for no alpha with delta = 0.

    Args:
        mu: 0 or more, in units of the noise's standard deviation.
        alpha: 0 or more.

    Raises:
        InvalidParameterError: if an argument is out of range.

    References:
        Balle, Wang, "Improving the Gaussian Mechanism for Differential Privacy", ICML 2018, Theorem 8.

    Example:
        >>> round(gaussian_delta(1.0, 1.0), 6)
        0.126937
    """
    validate.nonnegative(mu=mu, alpha=alpha)
    if mu == 0 or alpha == math.inf:
        return 0.0
    if mu == math.inf:
        return 1.0
    if alpha == 0:
        return min(math.erf(mu / math.sqrt(8)) * (1 + _NORMAL_ROUNDING) + _SMALLEST, 1.0)
    center, reach = alpha / mu, mu / 2 + alpha / mu
    if reach > _FAR:
        return _SMALLEST if center > mu else 1.0
    likely = _normal_below(mu / 2 - center)
    unlikely = math.exp(min(alpha + _log(_normal_below(-reach)), 0.0))
    error = _NORMAL_ROUNDING * (2 + reach + reach**2)
    return min(max(likely * (1 + error) - unlikely * max(1 - error, 0.0), _SMALLEST), 1.0)


def _normal_below(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


def _log(chance: float) -> float:
    """Logarithm of a probability; minus infinity if its digits are lost because it is so small."""
    return math.log(chance) if chance > _SMALLEST else -math.inf


def gaussian_mu(alpha: float, delta: float) -> float:
    """Largest mu, at most 60, at which `gaussian_delta` at ``alpha`` is at most ``delta``, by bisection.

    Of alpha 0 or more, and delta strictly between 0 and 1, 1e-200 or more; the errors are those of `gaussian_delta`.

    Example:
        >>> round(gaussian_mu(1.0, 1e-6), 6)
        0.236704
    """
    validate.nonnegative(alpha=alpha)
    validate.open_probability(delta=delta)
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
    """Smallest alpha at which `gaussian_delta` of ``mu`` is at most ``delta``, by bisection; or infinity.

    Of mu 0 or more, infinity included, and delta strictly between 0 and 1; the errors are those of `gaussian_delta`.

    Example:
        >>> round(gaussian_alpha(gaussian_mu(1.0, 1e-6), 1e-6), 6)
        1.0
    """
    validate.nonnegative(mu=mu)
    validate.open_probability(delta=delta)
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
