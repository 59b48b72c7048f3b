"""Tails of the number of k people's slots that any attacker names rightly: Fisher's noncentral hypergeometric law.

k people stand among r who may change places at a bounded cost. Whoever names k slots names J of theirs, and moving from
J = j to j - 1 costs at most exp(kappa): the law of J is at most one with weights C(k, j) C(r - k, k - j) exp(kappa j).
"""

import math

import numpy as np
from scipy.special import logsumexp

from shuffledp.core import validate
from shuffledp.core.table import Floats
from shuffledp.core.validate import invalid

ROUND_UP = 1 + 1e-11


def naming_tail(crowd: int, targets: int, at_least: int, kappa: float) -> float:
    """Upper bound on the probability that ``at_least`` or more of k named slots hold reports of the k targets.

    Args:
        crowd: r, people any two of whom may change places at the cost of kappa, the targets among them.
        targets: k, from 1 to the crowd.
        at_least: w, from 0 to k; more than half of the targets is floor(k / 2) + 1.
        kappa: what it costs to exchange two people of the crowd: 2 epsilon0 for the values, and for the order its own.

    Raises:
        InvalidParameterError: if an argument is out of range.

    Example:
        >>> round(naming_tail(96, 3, 2, 1.0), 6), round(naming_tail(96, 3, 2, 0.0), 6)
        (0.012485, 0.00196)
    """
    validate.integer_at_least(1, crowd=crowd, targets=targets)
    validate.integer_at_least(0, at_least=at_least)
    validate.nonnegative(kappa=kappa)
    if targets > crowd:
        raise invalid(f"at most the crowd, {crowd}", targets=targets)
    if at_least > targets:
        raise invalid(f"at most the targets, {targets}", at_least=at_least)
    counts = np.arange(max(0, 2 * targets - crowd), targets + 1)
    if at_least <= counts[0] or kappa == math.inf:
        return 1.0
    logs = (
        _log_choose(targets, targets)[counts] + _log_choose(crowd - targets, targets)[targets - counts] + kappa * counts
    )
    above = counts >= at_least
    return min(1.0, math.exp(logsumexp(logs[above]) - logsumexp(logs)) * ROUND_UP)


def naming_tail_of_alpha(crowd: int, targets: int, at_least: int, epsilon0: float, alpha: float) -> float:
    """Upper bound as in `naming_tail`, from a group's pure loss alone, for targets among ``crowd`` people.

    With T the tail at kappa = 2 epsilon0, it is at most e^alpha T / (1 + (e^alpha - 1) T): all exchanges at once cost
    alpha. ``alpha`` must be the loss of distinct answers.

    Example:
        >>> [round(naming_tail_of_alpha(people, 3, 2, 0.5, 4.0), 3) for people in (96, 300, 1000)]
        [0.408, 0.072, 0.007]
    """
    validate.nonnegative(epsilon0=epsilon0, alpha=alpha)
    tail = naming_tail(crowd, targets, at_least, 2 * epsilon0)
    if tail in (0.0, 1.0):
        return tail
    return min(1.0, ROUND_UP / (1 + math.exp(min(math.log1p(-tail) - math.log(tail) - alpha, 700.0))))


def _log_choose(whole: int, most: int) -> Floats:
    """Logarithms of the binomial coefficients "whole choose j" for j = 0, ..., most.

    There are few factors, each accurate.
    """
    factors = np.arange(most, dtype=np.float64)
    return np.concatenate(([0.0], np.cumsum(np.log(np.maximum(whole - factors, 1e-300) / (factors + 1)))))
