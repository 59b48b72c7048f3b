"""Handing in after a walk: whether the gate lets it, the checked holders, and the reports that each holder hands in."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.table import Integers
from shuffledp.protocols.network.laws.churn_likeness import likeness_given, quick_overlap_given
from shuffledp.protocols.network.laws.churn_schedules import Schedule
from shuffledp.protocols.network.laws.churned_rounds import ChurnedWays
from shuffledp.protocols.network.laws.link_slots import surplus_chance
from shuffledp.protocols.network.laws.walk_sampling import LOST
from shuffledp.protocols.network.people.overlays import Overlay
from shuffledp.randomness.permutations import random_permutation
from shuffledp.randomness.sources import RandomSource

if TYPE_CHECKING:
    from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler

_FEW = 200  # most people whose laws are all compared where each of them asks whether to hand in


def may_hand_in(shuffler: "RandomWalkShuffler", schedule: Schedule) -> bool:
    """Whether the gate lets reports be handed in after this attendance; True without a gate.

    It goes by certain bounds on positions and slots, quick for many people: where it is open, the model of the
    shuffler with this schedule is not refused.
    """
    graph, gate, laziness = shuffler.graph, shuffler.gate, shuffler.laziness
    if gate is None:
        return True
    # After an overlay cycle without absence, all positions have one law, whatever follows.
    mixed = isinstance(graph, Overlay) and shuffler.num_rounds >= graph.num_rounds
    if schedule.offline or (isinstance(graph, Overlay) and not mixed):
        ways = ChurnedWays(graph, schedule)
        if shuffler.num_users > _FEW:
            overlap = quick_overlap_given(ways, laziness=laziness)
        else:
            overlap = likeness_given(ways, laziness=laziness).mean_overlap
        return gate.is_open(overlap=overlap, overflow=surplus_chance(ways, shuffler.slots or (), laziness=laziness))
    overlap = 1.0 if mixed else shuffler.bounds.likeness.mean_overlap
    return gate.is_open(overlap=overlap, overflow=shuffler.overflow)


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
