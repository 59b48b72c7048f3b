"""Gaussian charges: a privacy budget that holds even if earlier results decide the next release.

A release is *charged* a pair (mu, d): whatever it tells is no more than "reveal the answer with chance d, else add
Gaussian noise of parameter mu". Such pairs add up, mu by squares and d by sums, in whatever order and however chosen,
as Gaussian noise can be split and put together again; a curve that is filled up release by release does not
(docs/theorems.md, "A budget that is a filter"). With G_mu(e) = Phi(mu/2 - e/mu) - exp(e) Phi(-mu/2 - e/mu)::

    charged so far  (M, D) = (sum of mu^2, sum of d)      all of it loses at most   D + (1 - D) G_sqrt(M)
"""

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.account import account, epsilon_of
from shuffledp.accounting.compose import privacy_curve
from shuffledp.accounting.numerics import ROUND_UP, smallest_below
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.validate import nonnegative, open_probability, positive

Floats = NDArray[np.float64]

_CELLS = 300
_BISECTIONS = 60
_TIGHT = 1e-7  # relative width of the bracket of mu at which bisection ends
_GUARD = 1e-9  # relative, on each Gaussian value: more than its rounding errors
_LEAST_LOSS, _LARGEST_LOSS = 1e-9, 700.0  # below the first the rounding of a quantile would count
_erfc = np.vectorize(math.erfc, otypes=[np.float64])


def gaussian_delta(mu: float, epsilons: Floats) -> Floats:
    """Delta of the Gaussian mechanism at each epsilon.

    By Balle and Wang 2018, Theorem 8, and Dong, Roth, Su 2022.

    Args:
        mu: sensitivity over standard deviation, above 0.
        epsilons: 0 to 700, shape (m,).
    """
    above, below = _tail(epsilons / mu - mu / 2), _tail(epsilons / mu + mu / 2)
    return np.maximum(above - np.exp(epsilons) * below, 0.0)


def charge_of(model: ProtocolModel, *, remainder: float) -> float:
    """Least certified mu of one release's Gaussian charge (mu, d), for a given remainder d.

    The release's curve is at most d + (1 - d) G_mu at every epsilon. The curve of a protocol bounds a function that is
    convex in exp(epsilon), so that between two points the chord bounds it; G_mu is convex too, so that its tangent lies
    below it. In each cell of a grid the chord is compared with the tangent at the middle of the cell.

    Args:
        model: the protocol's public description.
        remainder: d of the charge, strictly between 0 and 1.

    Raises:
        InvalidParameterError: if ``remainder`` is out of range.
        UnsupportedModelError: if no theorem at all applies at so small a delta: nothing is known.

    Example:
        >>> from shuffledp.accounting.account import protocol_of
        >>> model = protocol_of(None, epsilon0=1.0, num_users=100)
        >>> 0.1 < charge_of(model, remainder=1e-10) < pure_charge(1.0)
        True
    """
    open_probability(remainder=remainder)
    below = remainder * (1 - _GUARD)  # so that the curve gets to the remainder itself
    reach = epsilon_of(account(model, delta=below).guarantee)
    if reach == 0:
        return 0.0
    high = pure_charge(reach)
    if reach > _LARGEST_LOSS:
        return high
    epsilons = np.linspace(0.0, reach, _CELLS + 1)
    curve = privacy_curve(model, delta=below)(epsilons)
    low = 0.0
    for _ in range(_BISECTIONS):
        if high - low <= _TIGHT * high:
            break
        middle = (low + high) / 2
        low, high = (low, middle) if _is_above(middle, curve, epsilons, remainder) else (middle, high)
    return high


def pure_charge(epsilon: float) -> float:
    """Least charge mu that covers every pure release of loss epsilon; the remainder d is 0.

    mu = 2 Phi^-1(e^epsilon / (1 + e^epsilon)). With a remainder delta it is this mu and d = delta, as such a release is
    post-processing of a response that is revealed with chance delta (Kairouz, Oh, Viswanath 2015).

    Args:
        epsilon: in nats, 0 or more.

    Returns:
        mu, rounded up; infinity where epsilon is above 700.

    Example:
        >>> round(pure_charge(1.0), 6)
        1.232035
    """
    nonnegative(epsilon=epsilon)
    if epsilon > _LARGEST_LOSS:
        return math.inf
    if epsilon == 0:
        return 0.0
    epsilon = max(epsilon, _LEAST_LOSS)
    return -2 * NormalDist().inv_cdf(1 / (1 + math.exp(epsilon))) * (1 + _GUARD)


def epsilon_of_charges(squares: float, remainders: float, *, delta: float) -> float:
    """Epsilon of all charged releases together, rounded up.

    It is the least at which D + (1 - D) G_sqrt(M) is at most delta.

    Args:
        squares: M, the sum of mu^2, 0 or more.
        remainders: D, the sum of d, 0 or more.
        delta: of all together, strictly between 0 and 1.

    Returns:
        Epsilon; infinity where nothing is left of delta.

    Example:
        >>> round(epsilon_of_charges(0.01, 0.0, delta=1e-6), 6)
        0.396857
    """
    nonnegative(squares=squares, remainders=remainders)
    open_probability(delta=delta)
    left = (delta - remainders) / (1 - remainders) if remainders < 1 else 0.0
    if left <= 0:
        return math.inf
    if squares == 0:
        return 0.0

    def curve(epsilon: float) -> float:
        return float(gaussian_delta(math.sqrt(squares), np.array([epsilon]))[0]) * (1 + _GUARD) * ROUND_UP

    if curve(_LARGEST_LOSS) > left:
        return math.inf
    return smallest_below(curve, level=left, limit=_LARGEST_LOSS)


def squares_within(cap: float, remainders: float, *, delta: float) -> float:
    """Largest sum of squared charges mu^2 that keeps all releases within a cap on epsilon.

    Rounded down. With M this sum, D + (1 - D) G_sqrt(M)(cap) <= delta.

    Args:
        cap: epsilon of all together, above 0.
        remainders: D, what is kept for remainders; below delta.
        delta: of all together, strictly between 0 and 1.
    """
    positive(cap=cap)
    open_probability(delta=delta)
    left, at = (delta - remainders) / (1 - remainders), np.array([min(cap, _LARGEST_LOSS)])
    low, high = 0.0, pure_charge(float(at[0])) + 1000.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        lost = float(gaussian_delta(middle, at)[0]) * (1 + _GUARD) * ROUND_UP
        low, high = (middle, high) if lost <= left else (low, middle)
    return low * low * (1 - _GUARD)


def _is_above(mu: float, curve: Floats, epsilons: Floats, remainder: float) -> bool:
    """Whether a charge's curve d + (1 - d) G_mu is certified to be above the given curve.

    The curve is known at the ends of cells.
    """
    cells = np.flatnonzero(curve[:-1] > remainder)
    start, end = epsilons[cells], epsilons[cells + 1]
    middle = (start + end) / 2
    at, slope = gaussian_delta(mu, middle) * (1 - _GUARD), -_tail(middle / mu + mu / 2)
    fits = True
    for place, values in ((start, curve[cells]), (end, curve[cells + 1])):
        tangent = at + slope * np.exp(middle) * np.expm1(place - middle)
        fits = fits and bool(np.all(values <= remainder + (1 - remainder) * tangent))
    return fits


def _tail(points: Floats) -> Floats:
    """Probability that a standard normal number exceeds each point."""
    found: Floats = _erfc(points / math.sqrt(2)) / 2
    return found
