"""Caps on vulnerabilities: the most that a differential privacy guarantee lets anybody guess about one person."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.statement_terms import Kind
from shuffledp.core.table import Floats
from shuffledp.leakage.guess_scores import checked_gain, checked_prior
from shuffledp.leakage.vulnerability import Vulnerability

Curve = Callable[[Floats], Floats]  # delta at each epsilon, 0 or more, for both directions of every pair of neighbors

# Any epsilons give a true cap. The best one is near delta(0), which is 0.4 standard deviations of the privacy loss.
_COARSE, _FINE = np.geomspace(1 / 8, 64, 12), 10
_NOTE = "It is bounded by what is guaranteed about the whole release too."


def vulnerability_cap(curve: Curve, *, prior: ArrayLike, gain: ArrayLike | None = None) -> float:
    """The largest vulnerability of any protocol whose delta is at most this curve, for a uniform prior nearly attained.

    With S_m the sum of the m largest prior probabilities and pi_1 the largest, it is the minimum of

    * delta + (1 - delta) max_m e^epsilon S_m / (e^epsilon + m - 1), over a few epsilons, and
    * pi_1 + sum of pi_x delta(log(pi_1 / pi_x)) over the other values x.

    For gains, moved to be 0 or more and with prior vulnerability V: the minimum of V times the number k of values times
    the cap of a uniform prior, and of e^epsilon V + delta max(gain).

    Guarantees:
        1. No adversary guesses better on average: neither one who knows everybody else's value, nor one who knows
           nothing of others independent of the target.

    Args:
        curve: delta at each epsilon, an upper bound for both directions of every pair of neighbors.
        prior: a probability for each value, shape (k,).
        gain: what each guess (row) is worth for each value (column); None is 1 for the right value and 0 otherwise.

    Raises:
        InvalidParameterError: if the prior or the gain is out of range, or a delta is not from 0 to 1.
    """
    given = checked_prior(prior, np.size(prior)).astype(np.float64)
    belief = np.sort(given)[::-1]
    if gain is None:
        pairs = _of_pairs(belief, curve)
        return pairs if len(belief) == 2 else min(pairs, _of_guarantees(belief, curve))
    worth = np.asarray(checked_gain(gain, len(belief)), dtype=np.float64)
    least = float(worth.min())
    before = float((worth @ given).max()) - least
    capacity = len(belief) * vulnerability_cap(curve, prior=np.full(len(belief), 1 / len(belief)))
    epsilons = _scale(curve) * _COARSE
    ratio = float((np.exp(epsilons) * before + _deltas(curve, epsilons) * (worth.max() - least)).min())
    return least + min(before * capacity, ratio)


def _of_guarantees(belief: Floats, curve: Curve) -> float:
    """By single (epsilon, delta) guarantees, of which the best is looked for; tight for each of them."""
    coarse = _scale(curve) * _COARSE
    caps = caps_at(belief, coarse, _deltas(curve, coarse))
    best = int(caps.argmin())
    between = np.linspace(coarse[max(best - 1, 0)], coarse[min(best + 1, len(coarse) - 1)], _FINE)
    return min(float(caps[best]), float(caps_at(belief, between, _deltas(curve, between)).min()))


def _scale(curve: Curve) -> float:
    return float(_deltas(curve, np.zeros(1))[0])


def caps_at(belief: Floats, epsilons: Floats, deltas: Floats) -> Floats:
    """The cap of each single (epsilon, delta) guarantee; the prior, ``belief``, is descending."""
    odds, most = np.exp(epsilons)[:, None], np.cumsum(belief)
    best = (odds * most / (odds + np.arange(len(belief)))).max(axis=1)
    return np.asarray(deltas + (1 - deltas) * np.minimum(best, 1.0))


def _deltas(curve: Curve, epsilons: Floats) -> Floats:
    deltas = np.asarray(curve(epsilons), dtype=np.float64)
    if not ((deltas >= 0) & (deltas <= 1)).all():
        raise InvalidParameterError("curve must give a delta from 0 to 1 at each epsilon.")
    return deltas


def _of_pairs(belief: Floats, curve: Curve) -> float:
    """By what the curve says of the likeliest value against each other one; exact for two values."""
    possible = belief[belief > 0]
    losses, place = np.unique(np.log(possible[0] / possible[1:]), return_inverse=True)
    return float(possible[0] + possible[1:] @ _deltas(curve, losses)[place])


def capped(found: Vulnerability, cap: float) -> Vulnerability:
    """The vulnerability with an upper end of at most ``cap``, where that is better than what was found."""
    upper = math.nextafter(cap, math.inf)
    if found.kind in (Kind.EXACT, Kind.ESTIMATE) or upper >= found.upper or upper < found.lower:
        return found
    value = min(found.value, upper)
    note = " ".join(filter(None, [found.note, _NOTE]))
    return replace(found, value=value, upper=upper, excess=None if value < found.value else found.excess, note=note)
