"""(eta, delta)-preservation: laws of the number of a set's own reports that remain in the set's slots."""

import math
from collections.abc import Callable
from fractions import Fraction
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.table import Floats, Integers
from shuffledp.core.validate import invalid

ROUND_UP = 1 + 1e-6  # what the laws of sets of up to 10^7 people lose to rounding is below it
_SMALLEST = 1e-300


def most_lost(set_size: int, eta: Real | float) -> int:
    """Largest number of values that a set may lose and still keep the share ``eta``: l - ceil(eta l), exactly.

    Args:
        set_size: l, 0 or more.
        eta: from 0 to 1. A float is read as the decimal number that it prints as; floats would be one off now and then.

    Raises:
        InvalidParameterError: if an argument is out of range.

    Example:
        >>> most_lost(10, 0.9), most_lost(3, 0.5)
        (1, 1)
    """
    validate.integer_at_least(0, set_size=set_size)
    validate.probability(eta=eta)
    share = eta if isinstance(eta, Fraction) else Fraction(str(eta))
    return int(set_size) - math.ceil(share * int(set_size))


def preservation_delta(law: ArrayLike, eta: Real | float) -> float:
    """Probability that a set keeps less than the share ``eta`` of its values, rounded up.

    The law is that of losing 0, 1, ..., l values; eta and the errors are as for `most_lost`.

    Example:
        >>> round(preservation_delta(hamming_lost_law(6, 0.5, 3), 0.5), 5)
        0.37409
    """
    chances = np.asarray(law, dtype=np.float64)
    if chances.ndim != 1 or not chances.size or not (chances >= 0).all():
        raise InvalidParameterError("law must be probabilities of 0, ..., l, in one dimension.")
    beyond = chances[most_lost(chances.size - 1, eta) + 1 :]
    return min(math.fsum(beyond.tolist()) * ROUND_UP + _SMALLEST, 1.0) if beyond.size else 0.0


def hamming_lost_law(num_items: int, concentration: float, set_size: int) -> Floats:
    """Law of the number of values that a set loses under Hamming-Mallows (Theorem A.4, corrected).

    Pr[J = j] is proportional to C(l, j) C(n - l, j) exp(-2 theta j) A(l - j, j) A(n - l - j, j), where A(m, j) is the
    sum over i of C(m, i) (1 - exp(-theta))^i exp(-theta (m - i)) (m - i + j)!. All terms are positive, so that nothing
    cancels. The printed theorem has a binomial coefficient too many, a wrong f(i, 0) and a ceiling for a floor.
    Probabilities are right to about 1e-10 of themselves for 10^4 items, and 1e-7 for 10^7.

    Args:
        num_items: n, 0 or more.
        concentration: 0 or more, infinity included.
        set_size: l, from 0 to n; which items the set has does not matter.

    Raises:
        InvalidParameterError: if an argument is out of range.

    References:
        Meehan, Roy-Chowdhury, Chaudhuri, Jha, "Privacy Implications of Shuffling", ICLR 2022, Theorem A.4.

    Example:
        >>> hamming_lost_law(2, 0.0, 1).round(9).tolist()
        [0.5, 0.5]
    """
    _checked(num_items, set_size, concentration=concentration)
    law = np.zeros(int(set_size) + 1)
    if concentration == math.inf:
        law[0] = 1.0
        return law
    from scipy.special import gammaln

    outside = int(num_items) - int(set_size)
    factorials = gammaln(np.arange(num_items + 1) + 1.0)
    logs = [
        _log_choose(factorials, set_size, j)
        + _log_choose(factorials, outside, j)
        - 2 * concentration * j
        + _log_arrangements(factorials, set_size - j, j, concentration)
        + _log_arrangements(factorials, outside - j, j, concentration)
        for j in range(min(int(set_size), outside) + 1)
    ]
    law[: len(logs)] = np.exp(np.array(logs) - max(logs))
    law /= law.sum()
    return law


def _log_choose(factorials: Floats, m: int, i: int) -> float:
    return float(factorials[m] - factorials[i] - factorials[m - i])


def _log_arrangements(factorials: Floats, m: int, j: int, theta: float) -> float:
    """Logarithm of the sum A(m, j) in `hamming_lost_law`: m items stay, and j items are exchanged."""
    from scipy.special import logsumexp

    forced = np.arange(m + 1)
    if theta == 0:
        return float(factorials[m + j])
    log_forced = math.log(-math.expm1(-theta))
    terms = factorials[m] - factorials[forced] - factorials[m - forced] + factorials[m - forced + j]
    return float(logsumexp(terms + log_forced * forced - theta * (m - forced)))


def cayley_lost_law(num_items: int, concentration: float, set_size: int) -> Floats:
    """Law of the number of values that a set loses under Cayley-Mallows (the imperfect shuffler).

    With the set's items drawn first and the n - l others inserted one by one, the number lost is a Markov chain:
    insertion t = 0, 1, ... raises J to J + 1 with probability (l - J) / (exp(concentration) + l + t). It takes
    time O(l (n - l)).

    The arguments are those of `hamming_lost_law`, the concentration being "gamma" in papers, and so are the errors.

    Example:
        >>> cayley_lost_law(2, 0.0, 1).tolist()
        [0.5, 0.5]
    """
    _checked(num_items, set_size, concentration=concentration)
    law = np.zeros(int(set_size) + 1)
    law[0] = 1.0
    weight = math.exp(concentration) if concentration < 700 else math.inf
    staying = set_size - np.arange(set_size + 1)
    for step in range(int(num_items) - int(set_size)):
        leaving = law * (staying / (weight + set_size + step))
        law -= leaving
        law[1:] += leaving[:-1]
    return law


def _checked(num_items: int, set_size: int, *, concentration: float) -> None:
    validate.integer_at_least(0, num_items=num_items, set_size=set_size)
    validate.nonnegative(concentration=concentration)
    if set_size > num_items:
        raise invalid(f"at most num_items={num_items}", set_size=set_size)


def preserved_shares(draw: Callable[[], Integers], members: ArrayLike, num_draws: int) -> Floats:
    """Share of a set's slots that hold one of its own reports, in independent draws of a permutation.

    The delta-quantile of many estimates the eta of (eta, delta)-preservation, and is no bound. Shares are ascending.

    Args:
        draw: gives a permutation of 0, ..., n - 1, for example ``lambda: sample_mallows(n, theta)``.
        members: the items of the set, distinct, at least one.
        num_draws: 1 or more.

    Raises:
        InvalidParameterError: if an argument is out of range.

    Example:
        >>> preserved_shares(lambda: np.array([1, 0, 2]), [1, 2], 2).tolist()
        [0.5, 0.5]
    """
    validate.integer_at_least(1, num_draws=num_draws)
    inside = np.asarray(members)
    if inside.ndim != 1 or not inside.size or not np.issubdtype(inside.dtype, np.integer) or inside.min() < 0:
        raise InvalidParameterError("members must be items of 0 or more, at least one, in one dimension.")
    shares = np.empty(int(num_draws))
    for number in range(shares.size):
        permutation = draw()
        if inside.max() >= permutation.size:
            raise invalid(f"below {permutation.size}", members=int(inside.max()))
        member = np.zeros(permutation.size, dtype=np.bool_)
        member[inside] = True
        shares[number] = member[permutation[inside]].mean()
    return np.sort(shares)
