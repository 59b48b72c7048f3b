"""Nearest match: attack on a person that names the nearest slot whose report is the person's answer."""

import numpy as np

from shuffledp.core.table import Floats, Integers


def nearest_match_success(ranks: Integers, starts: Integers, keep: float, lie: float) -> Floats:
    """Chance that nearest match names the slot of a person's report, if all others answer otherwise.

    The attacker knows that, the reference order and the answer, and looks along the order from the person's own slot
    for the first report that says so; of two equally near ones, one is taken at random. It is a lower bound on what
    somebody who knows all answers can do, exact given one secret permutation, and cheap for any number of people.

    Args:
        ranks: one drawn permutation of ranks: the slot at rank k holds the report from rank ``ranks[k]``.
        starts: the first rank of each block, and the number of people last.
        keep: chance that a report is its sender's answer.
        lie: chance that a report of another answer says this one.

    Returns:
        Shape (people,), by rank.

    Example:
        >>> nearest_match_success(np.array([1, 0, 2]), np.array([0, 3]), 1.0, 0.0).tolist()
        [1.0, 1.0, 1.0]
    """
    people = ranks.size
    landed = np.empty(people, dtype=np.int64)
    landed[ranks] = np.arange(people)
    here = np.arange(people)
    away = np.abs(landed - here)
    sizes = np.diff(starts)
    first, last = np.repeat(starts[:-1], sizes), np.repeat(starts[1:], sizes) - 1
    nearer = np.minimum(here - first, away - 1) + np.minimum(last - here, away - 1) + 1
    nearer = np.where(away == 0, 0, nearer)
    other = 2 * here - landed  # the slot as far away on the other side
    tied = (away > 0) & (other >= first) & (other <= last)
    found: Floats = keep * (1 - lie) ** nearer * np.where(tied, 1 - lie / 2, 1.0)
    return found
