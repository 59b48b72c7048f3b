"""What counts of right and wrong guesses prove about epsilon: exact binomial limits, and nothing asymptotic."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

__all__ = ["LARGEST_EXPONENT", "clopper_pearson", "loss", "most_shown", "runs_needed", "to_width"]

Limits = tuple[NDArray[np.float64], NDArray[np.float64]]

LARGEST_EXPONENT = 700.0  # beyond, exp overflows
_DECIMALS = 2  # of what has no limits


def clopper_pearson(successes: ArrayLike, runs: int, *, tail: float) -> Limits:
    """Limits of a probability, each of which errs with probability ``tail`` at most, whatever the probability is.

    Args:
        successes: counts from 0 to ``runs``, any shape.
        runs: independent runs, 1 or more.
        tail: strictly between 0 and 1/2.

    Returns:
        Lower and upper limits, of the shape of ``successes``.

    References:
        Clopper, Pearson 1934; the limits as quantiles of beta distributions.
    """
    counts = np.asarray(successes, dtype=np.float64)
    # At 0 and at ``runs`` one quantile does not exist, and the limit is 0 or 1.
    lower = np.where(counts > 0, betaincinv(np.maximum(counts, 1), runs - counts + 1, tail), 0.0)
    upper = np.where(counts < runs, betaincinv(counts + 1, np.maximum(runs - counts, 1), 1 - tail), 1.0)
    return lower, upper


def loss(detected: ArrayLike, mistaken: ArrayLike, *, delta: float) -> NDArray[np.float64]:
    """The epsilon that one event shows, log((detected - delta) / mistaken): detected <= e^epsilon mistaken + delta.

    Args:
        detected: probability of the event where it is likely, any shape.
        mistaken: probability of the event where it is not, of the same shape.
        delta: from 0 to 1.

    Returns:
        Possibly negative; minus infinity where ``detected`` is at most ``delta``, and infinity where only ``mistaken``
        is 0.
    """
    gain = np.maximum(np.asarray(detected, dtype=np.float64) - delta, 0.0)
    with np.errstate(divide="ignore"):
        return np.where(gain > 0, np.log(np.where(gain > 0, gain, 1.0)) - np.log(mistaken), -np.inf)


def runs_needed(epsilon: float, delta: float, *, tail: float) -> float:
    """Runs with each data set from which on an attack could show more than ``epsilon``, if it never erred.

    With u = tail^(1/runs), the lower limit of a chance that never failed is u and the upper limit of one that never
    came is 1 - u. So (u - delta) / (1 - u) must exceed e^epsilon.

    Args:
        epsilon: finite, 0 or more.
        delta: from 0 to 1, not included.
        tail: as in `clopper_pearson`.
    """
    # 1 - u = (1 - delta) / (e^epsilon + 1), in the form that does not overflow.
    missing = (1 - delta) * math.exp(-epsilon) / (1 + math.exp(-epsilon))
    return math.log(tail) / math.log1p(-missing) if missing > 0 else math.inf


def most_shown(runs: int, delta: float, *, tail: float) -> float:
    """The largest epsilon that so many runs with each data set could show: where `runs_needed` gives ``runs``."""
    never_failed = tail ** (1 / runs)
    return max(0.0, float(loss(never_failed, 1 - never_failed, delta=delta)))


def to_width(value: float, lower: float, upper: float, *, percent: bool = False) -> str:
    """A measured number without the digits that its limits leave open: the last is worth about a tenth of them.

    Example:
        >>> to_width(0.123456, 0.10, 0.15), to_width(0.123456, 0.1230, 0.1239, percent=True)
        ('0.12', '12.35%')
    """
    if math.isinf(value):
        return "inf"
    factor = 100 if percent else 1
    width = factor * (upper - lower)
    decimals = _DECIMALS if not 0 < width < math.inf else max(0, -round(math.log10(width / 10)))
    return f"{factor * value:.{decimals}f}{'%' * percent}"
