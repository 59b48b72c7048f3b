"""Central loss of one common yes or no that k people change together, in a uniform shuffle."""

import math

import numpy as np
from scipy.stats import binom

from shuffledp.core import validate
from shuffledp.core.table import Floats
from shuffledp.core.validate import invalid

_NEGLIGIBLE = 1e-16
_HALVINGS = 60


def common_answer_delta(people: int, targets: int, epsilon0: float, epsilon: float) -> float:
    """Upper bound on delta at ``epsilon``, if k people change a common yes or no in a uniform shuffle.

    Everybody answers by randomized response. A report is a fair coin with probability 2 p, p = 1 / (1 + e^epsilon0);
    it is known how many of the others' are: M ~ Bin(people - k, 2 p). The two laws of the number of yeses are those of
    Bin(M, 1/2) + Bin(k, 1 - p) and Bin(M, 1/2) + Bin(k, p).

    Args:
        people: in the shuffle, the targets among them.
        targets: k, from 1 to all people.
        epsilon0: local loss of each report.
        epsilon: 0 or more.

    Raises:
        InvalidParameterError: if an argument is out of range.

    References:
        Feldman, McMillan, Talwar, "Hiding Among the Clones", FOCS 2021; k at a time is our own (docs/theorems.md).
    """
    _check(people, targets, epsilon0)
    validate.nonnegative(epsilon=epsilon)
    honest = 1 / (1 + math.exp(-epsilon0))
    mine, others = (binom.pmf(np.arange(targets + 1), targets, chance) for chance in (honest, 1 - honest))
    found, left = 0.0, 1.0
    for count, weight in _clones(people - targets, 2 * (1 - honest)):
        coins = binom.pmf(np.arange(count + 1), count, 0.5)
        excess = np.convolve(coins, mine) - math.exp(epsilon) * np.convolve(coins, others)
        found += weight * float(np.maximum(excess, 0.0).sum())
        left -= weight
    return min(1.0, found * (1 + 1e-9) + max(left, 0.0) + 1e-15)


def common_answer_epsilon(people: int, targets: int, epsilon0: float, delta: float) -> float:
    """Upper bound on epsilon at ``delta``, at most k epsilon0.

    The arguments are those of `common_answer_delta`.

    Example:
        >>> round(common_answer_epsilon(300, 1, 0.5, 1e-6), 3)
        0.119
    """
    _check(people, targets, epsilon0)
    validate.open_probability(delta=delta)
    low, high = 0.0, targets * epsilon0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if high - low <= 1e-6 * high:
            break
        low, high = (middle, high) if common_answer_delta(people, targets, epsilon0, middle) > delta else (low, middle)
    return high


def _check(people: int, targets: int, epsilon0: float) -> None:
    validate.integer_at_least(1, people=people, targets=targets)
    validate.nonnegative(epsilon0=epsilon0)
    if targets > people:
        raise invalid(f"at most all people, {people}", targets=targets)


def _clones(others: int, chance: float) -> list[tuple[int, float]]:
    """Possible numbers of others' fair-coin reports, with probabilities; negligible numbers are left out."""
    weights: Floats = binom.pmf(np.arange(others + 1), others, chance)
    return [(count, weight) for count, weight in enumerate(weights.tolist()) if weight > _NEGLIGIBLE]
