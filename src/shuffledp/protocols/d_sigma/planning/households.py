"""Households: chances that an attacker names the slots of people who live together.

The attacker lacks only the randomness.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp

from shuffledp.core import validate
from shuffledp.core.described import Described, without_none
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.table import Floats, Integers
from shuffledp.protocols.d_sigma.laws.naming_tails import naming_tail_of_alpha
from shuffledp.protocols.d_sigma.shufflers.reference_order import SlotShuffler, window_sizes
from shuffledp.protocols.d_sigma.shufflers.swap_geometry import SwapGeometry
from shuffledp.protocols.d_sigma.theorems.meehan22 import reidentification_bound

_ROUND_UP = 1 + 1e-7  # above the error of gamma functions of millions of people


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseholdOdds(Described):
    """Largest and median upper bound on the chance of naming a household's slots, over all households of one size.

    Args:
        size: k, people of a household.
        at_least: slots of which more than half are named.
        num_households: how many were looked at: given ones, or all neighbors in one block of the order.
        given: whether they were given; else people next to each other stand for them.
        more_than_half: the largest chance of naming more than half of a household's slots.
        more_than_half_median: the chance that half of the households do not exceed.
        all_slots: the largest chance of naming all of them.
        all_slots_median: the chance of that which half of the households do not exceed.
        common: central epsilon of one yes or no that all of them hold in common, the largest; None where that is not
            stated.
        common_median: the epsilon that half of the households do not exceed.
    """

    size: int
    at_least: int
    num_households: int
    given: bool
    more_than_half: float
    more_than_half_median: float
    all_slots: float
    all_slots_median: float
    common: float | None = None
    common_median: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Dictionary of all fields, without the fields on a common answer where they are None."""
        return without_none(without_none(super(HouseholdOdds, self).to_dict(), "common"), "common_median")


def household_odds(
    shuffler: SlotShuffler, model: ProtocolModel, households: int | Sequence[Sequence[int]]
) -> tuple[HouseholdOdds, ...]:
    """Chances that an attacker names the slots of a household, by household size.

    The attacker lacks only the randomness.

    Any window of the order that holds the household hides it: of the k named slots as many are right as Fisher's
    noncentral hypergeometric law has it, at 2 epsilon0 plus the cost of exchanging two people of the window. The best
    window is taken for each household; or its members' common group by its pure loss, where that is less.

    Args:
        shuffler: what shuffles.
        model: the protocol's public description.
        households: the number of people of each, who then stand next to each other in one block of the order; or the
            people of each household, by number, two or more.

    Raises:
        HypothesisError: as for `reidentification_bound`.
        UnsupportedModelError: if exchanges have no finite cost, as with Gaussian noise: more than one person is open.
        InvalidParameterError: if households are no such lists, or larger than everybody together.

    Example:
        >>> from shuffledp import Groups, KaryRandomizedResponse, NoisySortShuffler
        >>> shuffler = NoisySortShuffler(groups=Groups.from_radius(np.arange(2000), 48), alpha=4.0)
        >>> local = KaryRandomizedResponse(epsilon0=0.5, domain_size=2).model
        >>> (found,) = household_odds(shuffler, ProtocolModel(local=local, shuffle=shuffler.model(2000)), 3)
        >>> (found.size, found.at_least, found.num_households), found.more_than_half_median < 0.05
        ((3, 2, 1998), True)
    """
    return tuple(
        HouseholdOdds(
            size=size,
            at_least=size // 2 + 1,
            num_households=chances.shape[1],
            given=not isinstance(households, int),
            more_than_half=float(chances[0].max()),
            more_than_half_median=float(np.median(chances[0])),
            all_slots=float(chances[1].max()),
            all_slots_median=float(np.median(chances[1])),
        )
        for size, chances in household_chances(shuffler, model, households).items()
    )


def household_chances(
    shuffler: SlotShuffler, model: ProtocolModel, households: int | Sequence[Sequence[int]] | Sequence[Integers]
) -> dict[int, Floats]:
    """Chances of naming over half, and all, of each household's slots, by size: shape (2, households).

    Arguments and errors are those of `household_odds`.
    """
    prepared, people = shuffler.prepare(), shuffler.prepare().order.size
    geometry = _geometry(shuffler)
    reidentification_bound(model)  # refused unless its hypotheses hold
    rank = np.empty(people, dtype=np.int64)
    rank[prepared.order] = np.arange(people)
    block, epsilon0, found = geometry.blocks, model.local.epsilon0, dict[int, Floats]()
    for size, ranks in sorted(_ranks_by_size(households, rank, block).items()):
        wins = size // 2 + 1
        first, last = ranks.min(axis=1), ranks.max(axis=1)
        together = block[first] == block[last]
        chances = np.ones((2, first.size))
        whole = np.diff(prepared.starts)[block[first]]  # seldom among the sizes that are tried
        for width in (whole, *window_sizes(int(whole.max()))):
            low, high, fits = _windows(first, last, width, prepared.starts, block)
            costs = geometry.costs(low, high)
            honest = np.maximum(high - low + 1 - model.shuffle.num_untrusted, 0)
            usable = fits & together & (honest >= size)
            for row, least in enumerate((wins, size)):
                tails = _tails(honest[usable], size, least, 2 * epsilon0 + costs[usable])
                chances[row, usable] = np.minimum(chances[row, usable], tails)
        found[size] = np.minimum(chances, _by_group(shuffler, model, prepared.order[ranks], wins))
    return found


def _geometry(shuffler: SlotShuffler) -> SwapGeometry:
    """Swap geometry of a shuffler; refused if exchanging two people has no finite cost."""
    try:
        return shuffler.swap_geometry()
    except UnsupportedModelError:
        raise UnsupportedModelError(
            "how well several people are found together is known for Laplace noise and Kendall's Mallows law; with "
            "Gaussian noise, for which no exchange has a finite cost, it is open. Ask for one person, or take another "
            "noise."
        ) from None


def _ranks_by_size(
    households: int | Sequence[Sequence[int]] | Sequence[Integers], rank: Integers, block: Integers
) -> dict[int, Integers]:
    """Ranks of the members of each household, by household size, shape (households, members).

    If ``households`` is a number of people, they are neighbors along the order, in one block if a block is as large.
    """
    people = rank.size
    if isinstance(households, int):
        validate.integer_at_least(2, households=households)
        if households > people:
            raise validate.invalid(f"at most all people, {people}", households=households)
        first = np.arange(people - households + 1)
        together = block[first] == block[first + households - 1]
        return {households: (first[together] if together.any() else first)[:, None] + np.arange(households)}
    found: dict[int, list[Integers]] = {}
    for members in households:
        checked = np.asarray(members)
        fine = checked.ndim == 1 and checked.size > 1 and checked.dtype.kind in "iu"
        if not fine or np.unique(checked).size < checked.size or checked.min() < 0 or checked.max() >= people:
            raise InvalidParameterError(f"households must hold two different people or more, out of {people}.")
        found.setdefault(checked.size, []).append(rank[checked])
    return {size: np.array(ranks) for size, ranks in found.items()}


def _windows(
    first: Integers, last: Integers, width: int | Integers, starts: Integers, block: Integers
) -> tuple[Integers, Integers, Integers]:
    """Windows of ranks around households, shifted to stay inside their block, and whether each holds its household.

    A window has this width, or is the whole block where the block is narrower, and then counts as not holding it.
    """
    begin, end = starts[block[first]], starts[block[first] + 1]
    low = np.clip((first + last - width + 1) // 2, begin, np.maximum(end - width, begin))
    high = np.minimum(low + width - 1, end - 1)
    return low, high, (low <= first) & (high >= last) & (width <= end - begin)


def _tails(crowds: Integers, size: int, at_least: int, kappas: Floats) -> Floats:
    """Upper bounds of `naming_tail`, for many crowds and costs at once."""
    counts = np.arange(size + 1)
    rest = np.maximum(crowds[:, None] - size, 0)
    free = rest - (size - counts)
    with np.errstate(invalid="ignore"):
        logs = -gammaln(size - counts + 1.0) + gammaln(rest + 1.0) - gammaln(np.maximum(free, 0) + 1.0)
    logs = logs + gammaln(size + 1.0) - gammaln(counts + 1.0) - gammaln(size - counts + 1.0)
    logs = np.where(free < 0, -np.inf, logs) + np.minimum(kappas, 700.0)[:, None] * counts
    found: Floats = np.exp(logsumexp(logs[:, at_least:], axis=1) - logsumexp(logs, axis=1)) * _ROUND_UP
    return np.minimum(np.where(kappas >= 700, 1.0, found), 1.0)


def _by_group(shuffler: SlotShuffler, model: ProtocolModel, members: Integers, wins: int) -> Floats:
    """Chances of naming ``wins`` or more, or all, of a household's slots, from the pure loss of its group.

    The group is the first member's own; 1 where it gives no bound. Shape (2, households).
    """
    groups, size = getattr(shuffler, "groups", None), members.shape[1]
    pure = float(getattr(model.shuffle, "pure_loss", math.inf))
    chances = np.ones((2, members.shape[0]))
    if groups is None or math.isinf(pure):
        return chances
    colluding, known = model.shuffle.num_untrusted, dict[int, tuple[float, float]]()
    for place, household in enumerate(members.tolist()):
        own = int(groups.own[household[0]])
        crowd = int(groups.sizes[own]) - colluding
        if crowd <= size or not np.isin(household, groups[own]).all():
            continue
        if crowd not in known:
            some, whole = (
                naming_tail_of_alpha(crowd, size, least, model.local.epsilon0, pure) for least in (wins, size)
            )
            known[crowd] = some, whole
        chances[:, place] = known[crowd]
    return chances
