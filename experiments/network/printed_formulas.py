"""Printed formulas of "Network Shuffling" (Liew et al. 2022, Theorems 5.3 to 5.6): numbers to compare with.

None of them decides anything, and none can be in a statement: each comes with a flag that names what is wrong with it.
With P the law of where a report is after t rounds, S is the sum of its squared probabilities.

* 5.3 (all, stationary): (epsilon, delta + delta2) with epsilon = A^2 r^2 / 2 + A r sqrt(2 log(1/delta)),
  A = (E - 1) E^2 and r = sqrt((1 - 1/n) S) + sqrt(log(1/delta2)/n).
* 5.4 (all, symmetric): the same with r = rho sqrt((1 - 1/n) S) + sqrt(log(1/delta2)/n).
* 5.5, 5.6 (single): (epsilon, delta) with B = (E - 1) E, epsilon = B^2 S / 2 + B sqrt(2 S log(1/delta)).

The square root of S in 5.3 follows the paper's Lemma 5.1; Theorem 6.1 prints (n - 1) S in place of (1 - 1/n) S.
"""

import math
from dataclasses import dataclass

FLAGS = {
    "5.3": "false after finitely many rounds: on a complete graph of N people and one more who knows but one of them, "
    "after one round, that one's report is alone with a probability of about 1/e; and eq. (7), which it rests on, is "
    "false (a triangle with a pendant, t = 4)",
    "5.4": "unproven after finitely many rounds: given how many reports everybody holds, their order is not uniform if "
    "people's positions have different laws; and empty before positions are nearly uniform",
    "5.5": "true where fresh dummies hide who held nothing, but far from tight: it composes what should be mixed",
    "5.6": "true where fresh dummies hide who held nothing, but far from tight: it composes what should be mixed",
    "eq. (7)": "false on irregular graphs: on a triangle with a pendant, from the node they share, after 4 rounds, "
    "S less the sum of pi^2 is 0.08719, and (1 - alpha)^8 is 0.07952",
}

_LOCAL_FACTOR = 8  # of epsilon0, in the versions for randomizers with a local delta


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedFormula:
    """Printed theorem evaluated for one set of numbers: to compare with, never a guarantee.

    Args:
        theorem: its number in Liew et al. 2022.
        epsilon: what the formula gives, in nats.
        delta: the remainder in all.
        local_delta: for the version of the theorem for reports that are (epsilon0, delta0)-private, the largest delta0
            for which it claims that; 0 for the other version.
        flag: what is wrong with it.
    """

    theorem: str
    epsilon: float
    delta: float
    local_delta: float = 0.0
    flag: str


def printed_all(
    *,
    epsilon0: float,
    num_users: int,
    squares: float,
    delta: float,
    delta2: float,
    spread: float | None = None,
    delta1: float = 0.0,
    corrected: bool = False,
) -> PrintedFormula:
    """Printed Theorem 5.3, or 5.4 if ``spread`` is given.

    Args:
        epsilon0: local loss in nats.
        num_users: n.
        squares: S.
        delta: of the composition, above 0.
        delta2: that a bag is larger than it should be, above 0.
        spread: rho, the largest over the least positive probability of a position.
        delta1: above 0 for the version with a local delta, which may be `largest_local_delta` at most.
        corrected: with the 1/n that Lemma 5.1 drops.
    """
    alone = 1 / num_users if corrected else 0.0
    root = math.sqrt(alone + (1 - 1 / num_users) * squares)
    root = (1.0 if spread is None else spread) * root + math.sqrt(math.log(1 / delta2) / num_users)
    loss = epsilon0 * (_LOCAL_FACTOR if delta1 else 1)
    reach = math.expm1(loss) * math.exp(2 * loss) * root
    epsilon = reach**2 / 2 + reach * math.sqrt(2 * math.log(1 / delta))
    theorem = "5.3" if spread is None else "5.4"
    remainder = delta + delta2 + _remainder(num_users, epsilon, delta1)
    return PrintedFormula(theorem=theorem, epsilon=epsilon, delta=remainder, flag=FLAGS[theorem])


def printed_single(
    *, epsilon0: float, num_users: int, squares: float, delta: float, delta1: float = 0.0, symmetric: bool = False
) -> PrintedFormula:
    """Printed Theorem 5.5, or 5.6 (the same formula) for symmetric positions; arguments as for `printed_all`."""
    loss = epsilon0 * (_LOCAL_FACTOR if delta1 else 1)
    reach = math.expm1(loss) * math.exp(loss)
    epsilon = reach**2 * squares / 2 + reach * math.sqrt(2 * squares * math.log(1 / delta))
    theorem = "5.6" if symmetric else "5.5"
    remainder = delta + _remainder(num_users, epsilon, delta1)
    return PrintedFormula(theorem=theorem, epsilon=epsilon, delta=remainder, flag=FLAGS[theorem])


def largest_local_delta(*, epsilon0: float, delta1: float) -> float:
    """Largest local delta to which the printed formulas for randomizers with a local delta apply."""
    tail = math.log(2 / delta1) / math.log(1 / (1 - math.exp(-5 * epsilon0)))
    return -math.expm1(-epsilon0) * delta1 / (4 * math.exp(epsilon0) * (2 + tail))


def _remainder(num_users: int, epsilon: float, delta1: float) -> float:
    return num_users * (math.exp(epsilon) + 1) * delta1 if delta1 else 0.0
