"""Handing in after a walk: the checked holders, and the reports that each holder hands in."""

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.table import Integers
from shuffledp.laws import LOST
from shuffledp.randomness.permutations import random_permutation
from shuffledp.randomness.sources import RandomSource


def checked_holders(holders: ArrayLike, people: int, *, may_be_lost: bool) -> Integers:
    """Checked holders, one person of the graph for each report; errors never show who holds a report."""
    validate.unmasked(holders=holders)
    given = np.asarray(holders)
    if given.shape != (people,):
        raise validate.invalid(f"one for each of {people} reports", shape_of_holders=given.shape)
    if not np.issubdtype(given.dtype, np.integer):
        raise InvalidParameterError(f"holders must be integers; got holders of type {given.dtype}.")
    lost = given == LOST
    if (((given < 0) & ~lost) | (given >= people)).any():
        raise InvalidParameterError(f"holders must be in range({people}), or {LOST} for a report that is lost.")
    if lost.any() and not may_be_lost:
        raise InvalidParameterError(
            f"holders must be people where dropout is 0, so that no report is lost; {lost.sum()} are {LOST}."
        )
    return given.astype(np.int64)


def chosen_to_hand_in(holders: Integers, people: int, most: int, source: RandomSource) -> tuple[Integers, Integers]:
    """Reports to hand in, at most ``most`` by each holder, and a holder's number for each missing report."""
    order = random_permutation(holders.size, source=source)
    order = order[holders[order] != LOST]
    order = order[np.argsort(holders[order], kind="stable")]
    held = np.bincount(holders[order], minlength=people)
    rank = np.arange(order.size) - np.repeat(np.cumsum(held) - held, held)
    gaps = np.repeat(np.arange(people), np.maximum(most - held, 0))
    return order[rank < most], gaps
