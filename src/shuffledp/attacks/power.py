"""What an audit could have found: how probably so many trials refute a claim, if the truth is worse."""

import math

import numpy as np
from scipy.stats import binom

from shuffledp.attacks.intervals import LARGEST_EXPONENT, clopper_pearson, most_shown

__all__ = ["POWER", "chance_to_refute", "least_found", "others_of", "trials_to_tell"]

POWER = 0.9  # what is called "found" is found this probably

_QUANTILES = (np.arange(200) + 0.5) / 200  # of the mistakes, each of which stands for as many runs as the next
_STEPS = 25  # of a bisection between losses
_BEYOND = 20.0  # a loss larger than the claim by this is never made by a mistake
_MOST_RUNS = 10**12  # beyond, nobody needs to know how many


def others_of(detected: float, mistaken: float) -> float:
    """The shape of an event: how many other reports, each e^epsilon times less likely, would share what it misses.

    k-ary randomized response sends the truth with p = e^epsilon q and each of m = k - 1 other reports with q, so that
    m = (1 - p) / q. It is 1 at the corner of all that (epsilon, delta) allows, where an event shows most.

    Args:
        detected: probability of the event where it is likely.
        mistaken: that where it is not; 0 is taken for an event of which nothing is missed.

    Returns:
        1 or more.
    """
    return max(1.0, (1 - detected) / mistaken) if mistaken > 0 else 1.0


def chance_to_refute(
    claimed: float, true: float, runs: int, delta: float, *, tail: float, others: float = 1.0
) -> float:
    """How probably a claim is refuted, by an event in which all of the true loss shows.

    The event comes with q = (1 - delta) / (e^true + others) where it is the less likely, and with e^true q + delta
    where it is likely. With ``others = 1`` that is randomized response of one bit. No event of this loss should be
    refuted more probably: larger rates of mistakes are measured better, and a larger one cannot show all of the loss.

    Args:
        claimed: the loss that is claimed, 0 or more.
        true: the loss that it has, 0 or more.
        runs: with each of the two data sets.
        delta: from 0 to 1, not included.
        tail: as in `shuffledp.attacks.intervals.clopper_pearson`.
        others: the shape of the event, see `others_of`.
    """
    odds = math.exp(-min(true, LARGEST_EXPONENT))
    mistaken = (1 - delta) * odds / (1 + others * odds)
    detected = (1 - delta) / (1 + others * odds) + delta
    at_most = clopper_pearson(binom.ppf(_QUANTILES, runs, mistaken), runs, tail=tail)[1]
    needed = np.minimum(delta + math.exp(min(claimed, LARGEST_EXPONENT)) * at_most, 1.0)
    # The lower limit of so many detections is above a probability if even more of them would be that improbable there.
    return float(np.mean(np.where(needed < 1, binom.sf(binom.isf(tail, runs, needed), runs, detected), 0.0)))


def least_found(claimed: float, runs: int, delta: float, *, tail: float, others: float = 1.0) -> float:
    """The smallest true loss of which so many runs refute a claim with probability ``POWER``; arguments as above.

    Returns:
        Above ``claimed``; infinity if not even an event that never errs could refute it.
    """
    if most_shown(runs, delta, tail=tail) <= claimed:
        return math.inf
    missed, found = claimed, claimed + _BEYOND + math.log(others)
    for _ in range(_STEPS):
        middle = (missed + found) / 2
        enough = chance_to_refute(claimed, middle, runs, delta, tail=tail, others=others) >= POWER
        missed, found = (missed, middle) if enough else (middle, found)
    return found


def trials_to_tell(claimed: float, true: float, runs: int, delta: float, *, tail: float) -> int | None:
    """How many trials the best event there could be takes, so as to refute a claim with probability ``POWER``.

    Args:
        claimed: the loss that is claimed, 0 or more.
        true: a larger one, that it has.
        runs: held-out trials of an audit, 1 or more.
        delta: from 0 to 1, not included.
        tail: as in `shuffledp.attacks.intervals.clopper_pearson`.

    Returns:
        None if ``runs`` are enough, else more than them; at most about 10^12.
    """

    def enough(trials: int) -> bool:
        return chance_to_refute(claimed, true, trials, delta, tail=tail) >= POWER

    if enough(runs):
        return None
    few, many = runs, 2 * runs
    while many < _MOST_RUNS and not enough(many):
        few, many = many, 2 * many
    while many - few > max(1, few // 1000):
        middle = (few + many) // 2
        few, many = (few, middle) if enough(middle) else (middle, many)
    return many
