"""Loss profiles of Mallows shuffles by Kendall's distance, exact for groups of consecutive ranks."""

import math

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.table import Floats
from shuffledp.laws.moments import kendall_inversions, log_partition
from shuffledp.protocols.d_sigma.laws.loss_profiles import (
    ORDERS,
    ROUND_UP,
    LossProfile,
    from_spectrum,
    without_losses,
)

_DEVIATIONS = 16.0
_MOST_PLACES = 1 << 22
_NOTHING = math.log(1e-20)  # transforms below it are left out
_LEFT_OUT = math.log(1e-15)  # probability of fewer inversions than are looked at
_TRIALS = np.geomspace(0.3, 30, 25)  # rates for Chernoff's bound, in inverse standard deviations
_AT_A_TIME = 64  # frequencies


def kendall_profile(window: int, concentration: float, *, releases: int = 1) -> LossProfile:
    """Loss profile of a Kendall-Mallows shuffle on a group of consecutive ranks.

    The loss is concentration * (all pairs - 2 * inversions) with the inversions of a Mallows law of the group alone, a
    sum of truncated geometric numbers. For a group with gaps, the window from its first to its last rank bounds it.

    Args:
        window: ranks from the first to the last member, 0 or more.
        concentration: 0 or more, infinity included.
        releases: how many independent shuffles of the same group, 1 or more.

    Raises:
        InvalidParameterError: if an argument is out of range.

    Example:
        >>> found = kendall_profile(96, 4 / (96 * 95 / 2))
        >>> round(found.pure, 9), round(found.alpha(1e-6), 4)
        (4.0, 1.1648)
    """
    validate.integer_at_least(0, window=window)
    validate.integer_at_least(1, releases=releases)
    validate.nonnegative(concentration=concentration)
    pairs = window * (window - 1) // 2
    if pairs == 0 or concentration == 0:
        return LossProfile(np.zeros(0), np.zeros(0), 0.0, 0.0, np.zeros(ORDERS.size))
    pure = concentration * pairs * releases * (1 + 1e-15)
    if math.isinf(pure):
        return without_losses(math.inf, np.full(ORDERS.size, math.inf))
    divergences = releases * kendall_divergences(window, concentration)
    mean, variance = (releases * each for each in kendall_inversions(window, concentration))
    first = _least_inversions(window, concentration, releases)
    last = min(pairs * releases, math.ceil(mean + _DEVIATIONS * math.sqrt(variance)) + 60)
    size = 1 << (last - first).bit_length()
    if size > _MOST_PLACES:
        return without_losses(pure, divergences)
    spectrum = _spectrum(window, concentration, releases, size)
    law, rounding = from_spectrum(spectrum, size, (first, last), window * releases)
    losses = concentration * (pairs * releases - 2 * np.arange(first, last + 1, dtype=np.float64)) * (1 + 1e-15)
    above = losses > 0
    return LossProfile(losses[above][::-1], law[above][::-1], rounding + math.exp(_LEFT_OUT), pure, divergences)


def kendall_divergences(window: int, concentration: float) -> Floats:
    """Renyi divergences of one release of a Kendall-Mallows shuffle, one for each order in `ORDERS`.

    The arguments are those of `kendall_profile`.

    At order l: concentration C(g, 2) + (log Z((2 l - 1) concentration) - log Z(concentration)) / (l - 1), with Z the
    sum over all orders of exp(-concentration * inversions).
    """
    pairs, base = window * (window - 1) // 2, log_partition(window, concentration)
    changes = np.array([log_partition(window, (2 * order - 1) * concentration) - base for order in ORDERS.tolist()])
    error = 1e-15 * (abs(base) + window) / (ORDERS - 1)
    found: Floats = np.maximum(concentration * pairs + changes / (ORDERS - 1), 0.0) * ROUND_UP + error
    return found


def _least_inversions(window: int, theta: float, releases: int) -> int:
    """Number m of inversions: all smaller numbers together have probability below 1e-15 (Chernoff).

    Fewer inversions lose more.
    """
    _, variance = kendall_inversions(window, theta)
    base, least = log_partition(window, theta), 0.0
    for rate in (_TRIALS / math.sqrt(max(releases * variance, 1e-12))).tolist():
        log_moment = releases * (log_partition(window, theta + rate) - base)
        least = max(least, (_LEFT_OUT - log_moment) / rate)
    return max(0, math.floor(least) - 1)


def _spectrum(window: int, theta: float, releases: int, size: int) -> NDArray[np.complex128]:
    """Fourier transform of the law of inversions; high frequencies, all with values below 1e-20, are 0."""
    counts = np.arange(1, window + 1, dtype=np.float64)
    constants = np.expm1(-theta) / np.expm1(-theta * counts)  # of truncated geometric laws
    whole = np.zeros(size // 2 + 1, dtype=np.complex128)
    rooms = np.log((1 + np.exp(-theta * counts)) * constants)
    for start in range(0, whole.size, _AT_A_TIME):
        angles = 2 * math.pi * np.arange(start, min(start + _AT_A_TIME, whole.size)) / size
        nearest = math.log(abs(np.expm1(complex(-theta, -angles[0]))))
        if releases * float(np.minimum(rooms - nearest, 0.0).sum()) < _NOTHING:
            break
        roots = theta + 1j * angles[:, None]
        factors = constants * np.expm1(-roots * counts) / np.expm1(-roots)
        whole[start : start + angles.size] = factors.prod(axis=1) ** releases
    return whole
