"""Chances that an attacker names the slot of a person's report after a release, or a household's slots."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.errors import HypothesisError, UnsupportedModelError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.table import Integers
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.planning.households import HouseholdOdds, household_odds
from shuffledp.protocols.d_sigma.planning.personal_promises import common_spread, named_spread
from shuffledp.protocols.d_sigma.shufflers.reference_order import SlotShuffler
from shuffledp.protocols.d_sigma.survey.regional_result import NamingChances
from shuffledp.protocols.d_sigma.theorems.meehan22 import ReidentificationBound, reidentification_bound

_MOST_COMPARED = 100_000
_AT_A_TIME = 1 << 20  # people


def naming_chances(model: ProtocolModel, shuffler: SlotShuffler, groups: Groups) -> NamingChances:
    """Chances that an attacker names a report's slot, where the group or everybody nearby hides it."""
    sizes = _own_sizes(groups, people_alone(shuffler))
    return NamingChances(**_odds(model, shuffler, sizes), named=named_spread(shuffler, model))


def _own_sizes(groups: Groups, alone: NDArray[np.bool_]) -> Integers:
    """Sizes of the own groups of the people who are not alone in their block."""
    owned = np.zeros(len(groups), dtype=np.bool_)
    for start in range(0, alone.size, _AT_A_TIME):
        part = slice(start, start + _AT_A_TIME)
        owned[groups.own[part][~alone[part]]] = True
    return groups.sizes[owned]


def people_alone(shuffler: SlotShuffler) -> NDArray[np.bool_]:
    """Mask of people who are alone in their block."""
    prepared = shuffler.prepare()
    sizes = np.diff(prepared.starts)
    alone = np.empty(prepared.order.size, dtype=np.bool_)
    alone[prepared.order] = np.repeat(sizes == 1, sizes)
    return alone


def household_naming_chances(
    model: ProtocolModel, shuffler: SlotShuffler, household: int | str | None, delta: float
) -> tuple[HouseholdOdds, ...]:
    """Chances of naming the slots of households of this size.

    Empty where unknown or no size is given.

    With the central epsilon, at ``delta``, of one answer that all of them hold in common, where it is known.

    Who lives together, which a column says, is nothing that a release may tell of.
    """
    if not isinstance(household, int) or household > model.num_users:
        return ()
    try:
        found = household_odds(shuffler, model, household)
    except (HypothesisError, UnsupportedModelError):
        return ()
    common = common_spread(shuffler, model, household, delta)
    if common is None:
        return found
    return tuple(replace(each, common=common.most, common_median=common.half) for each in found)


def _odds(model: ProtocolModel, shuffler: SlotShuffler, sizes: Integers) -> dict[str, ReidentificationBound]:
    """Odds of naming a slot: in the largest group, in the smallest, and for the person in mid-order."""
    try:
        found = {"by_group": reidentification_bound(model)}
    except (HypothesisError, UnsupportedModelError):
        return {}
    if sizes.size and sizes.min() < found["by_group"].group_size:
        found["by_smallest"] = reidentification_bound(model, group_size=int(sizes.min()))
    order, starts = shuffler.prepare().order, shuffler.prepare().starts
    middle = order.size // 2
    block = int(np.searchsorted(starts, middle, side="right"))
    if starts[block] - starts[block - 1] > _MOST_COMPARED:
        return found
    try:
        costs = shuffler.swap_costs(int(order[middle]))
    except UnsupportedModelError:
        return found
    return found | {"by_all": reidentification_bound(model, swap_costs=costs)}
