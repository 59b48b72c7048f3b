"""Promises to each person before a collection: chance that a report is found, central epsilon, reports kept nearby."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.theorem import common_randomizer, not_adaptive, one_message_each, pure_local
from shuffledp.accounting.theorems.reductions import uniform_epsilons
from shuffledp.core.described import Described
from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.core.table import Floats, Integers
from shuffledp.core.validate import invalid
from shuffledp.protocols.d_sigma.analyzers.group_preservation import preservation
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.planning.households import household_chances
from shuffledp.protocols.d_sigma.planning.person_guarantees import (
    central_epsilons_by_rank,
    common_epsilons_by_rank,
    household_chances_by_rank,
    naming_chances_by_rank,
)
from shuffledp.protocols.d_sigma.shufflers.reference_order import SlotShuffler
from shuffledp.randomness.replayable import SeededSource
from shuffledp.shufflers import UniformShuffler

HOUSEHOLDS = (3, 5)
WEAK = 0.5  # a report that may be named more often than this is hardly hidden
_MOST_REGIONS = 8
_DRAWS, _FEWER_DRAWS, _MANY = 60, 20, 200_000
_SELDOM = 0.05  # chance with which a region keeps less than is said


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadOverPeople(Described):
    """Distribution of a number over people: upper bounds for all people, for nine in ten, and for half."""

    most: float
    nine_in_ten: float
    half: float

    @classmethod
    def of(cls, each: Floats, *, coarse: bool = False) -> "SpreadOverPeople":
        """Largest number, 90% quantile and median over people, rounded up to some person's number.

        Where the numbers tell of something that is not public they are ``coarse``: two digits, rounded up, as on pages.
        """
        nine, half = np.quantile(each, (0.9, 0.5), method="higher")
        most, nine, half = (_two_digits(value) if coarse else float(value) for value in (each.max(), nine, half))
        return cls(most=most, nine_in_ten=nine, half=half)


def _two_digits(value: float) -> float:
    """Smallest number of two significant digits that is at least the value."""
    if value <= 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / unit * (1 - 1e-12)) * unit:.6g}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionKept(Described):
    """Reports that stay in one group's slots: (eta, delta)-preservation.

    Args:
        rank: place of its middle along the reference order, as a share from 0 to 1.
        people: people in the group.
        mean: share of the group's slots that hold one of its reports, on average.
        least: eta: the share that is reached with probability 1 - delta, by simulation where it is not exact.
        delta: the probability of less.
    """

    rank: float
    people: int
    mean: float
    least: float
    delta: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Promises(Described):
    """Promises of a shuffle to the people of given groups, valid for any answers.

    Spreads are over the people who are not alone in a block: the others' reports are not shuffled at all.

    Args:
        epsilon0: local loss.
        delta: remainder of the central losses.
        num_alone: people who are the only ones in their block.
        named: chance that somebody who knows all answers names the slot of one person's report, at most.
        households: for a number k of people who live at one place, the chance to find more than half of their slots.
        central: central epsilon of what is released.
        regions: what some groups keep, along the order.
        common: for a number k of people at one place, the central epsilon of a yes or no that all of them hold in
            common; only where it is asked for, and of randomized response to two answers.
    """

    epsilon0: float
    delta: float
    num_alone: int
    named: SpreadOverPeople
    households: dict[str, SpreadOverPeople]
    central: SpreadOverPeople
    regions: tuple[RegionKept, ...]
    common: dict[str, SpreadOverPeople] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Dictionary of all fields, without ``common`` where it is empty."""
        found = super(Promises, self).to_dict()
        return found if self.common else {key: value for key, value in found.items() if key != "common"}


@lru_cache(maxsize=4)
def uniform_of(local: LocalModel, people: int, delta: float) -> Callable[[int], float]:
    """Function from a number of people to a uniform shuffle's central epsilon, by the quickest bound.

    Each value is kept once it is computed.
    """
    like = ProtocolModel(local=local, shuffle=UniformShuffler().model(max(people, 2)))

    @cache
    def uniform(size: int) -> float:
        return next(iter(uniform_epsilons(like, size, delta)), math.inf)

    return uniform


def named_spread(shuffler: SlotShuffler, model: ProtocolModel) -> SpreadOverPeople | None:
    """Chances of naming the slot of a report, over the people who are not alone in their block.

    None where no theorem covers these reports, where some people may collude (they hide nobody), and where everybody
    is alone.
    """
    needed = (common_randomizer(model), not_adaptive(model), one_message_each(model), pure_local(model))
    mixed = _mixed(shuffler)
    if not mixed.any() or not all(each.holds for each in needed) or model.shuffle.num_honest < model.num_users:
        return None
    try:
        return SpreadOverPeople.of(naming_chances_by_rank(shuffler, model.local.epsilon0)[mixed])
    except UnsupportedModelError:
        return None


def require_fitting(household: int | str | None, people: int) -> None:
    """Refuse a household of more people than there are."""
    if isinstance(household, int) and household > people:
        raise invalid(f"at most the number of people, {people}", household=household)


def _mixed(shuffler: SlotShuffler) -> NDArray[np.bool_]:
    """Mask of the ranks whose person shares a block with others."""
    sizes = np.diff(shuffler.prepare().starts)
    return np.repeat(sizes > 1, sizes)


def promises_of(
    shuffler: SlotShuffler,
    groups: Groups,
    local: LocalModel,
    *,
    delta: float,
    sizes: tuple[int, ...] = HOUSEHOLDS,
    households: Sequence[Integers] | None = None,
    common: int | None = None,
    with_regions: bool = True,
) -> Promises | None:
    """Promises of a shuffler to its people; None where no theorem covers these reports.

    Args:
        shuffler: what shuffles.
        groups: whose preservation is asked for.
        local: everybody's randomizer.
        delta: of central losses.
        sizes: numbers of people of a household, who then stand next to each other in the order; or
        households: the people of each, in place of ``sizes``.
        common: people of a household that may hold one answer in common; None if that is not asked for.
        with_regions: whether to simulate what regions keep.
    """
    prepared = shuffler.prepare()
    model = ProtocolModel(local=local, shuffle=prepared.model)
    named = named_spread(shuffler, model)
    if named is None:
        return None
    mixed = _mixed(shuffler)
    if households is None:
        together = {str(size): household_chances_by_rank(shuffler, size, local.epsilon0) for size in sizes}
        found = {size: each[mixed] for size, each in together.items() if each is not None}
    else:
        found = _of_households(shuffler, model, households)
    central = central_epsilons_by_rank(shuffler, uniform_of(local, prepared.order.size, delta), local.epsilon0)[mixed]
    shared = None if common is None else common_spread(shuffler, model, common, delta)
    return Promises(
        epsilon0=float(local.epsilon0),
        delta=delta,
        num_alone=prepared.model.num_alone,
        named=named,
        households={size: SpreadOverPeople.of(each, coarse=households is not None) for size, each in found.items()},
        central=SpreadOverPeople.of(central),
        regions=_regions(shuffler, groups, prepared.order) if with_regions else (),
        common={} if shared is None else {str(common): shared},
    )


def common_spread(shuffler: SlotShuffler, model: ProtocolModel, people: int, delta: float) -> SpreadOverPeople | None:
    """Central epsilons, over people, of one yes or no that this number of neighbors share.

    None where unknown.

    They are of randomized response to two answers, and of people who are not alone in a block; colluding people hide
    nobody, and of a shuffle with some of them nothing is said.
    """
    local, mixed = model.local, _mixed(shuffler)
    two = local.kind == "k-rr" and getattr(local, "domain_size", 0) == 2
    if not two or not mixed.any() or people > model.num_users or model.shuffle.num_honest < model.num_users:
        return None
    each = common_epsilons_by_rank(shuffler, people, local.epsilon0, delta)
    return None if each is None else SpreadOverPeople.of(each[mixed])


def _of_households(shuffler: SlotShuffler, model: ProtocolModel, households: Sequence[Integers]) -> dict[str, Floats]:
    """Chances of finding over half of a household's slots, for each household, by household size.

    Empty where unknown.
    """
    try:
        return {str(size): found[0] for size, found in household_chances(shuffler, model, households).items()}
    except UnsupportedModelError:
        return {}


def _regions(shuffler: SlotShuffler, groups: Groups, order: Integers) -> tuple[RegionKept, ...]:
    """Preservation of the groups of people spread evenly along the order, each group once."""
    people = order.size
    asked = order[((np.arange(_MOST_REGIONS) + 0.5) * people / _MOST_REGIONS).astype(np.int64)]
    numbers = list(dict.fromkeys(groups.own[asked].tolist()))
    ranks = np.empty(people, dtype=np.int64)
    ranks[order] = np.arange(people)
    members = [groups[number] for number in numbers]
    asked_for = Groups.from_lists([*members, np.arange(people)], people)  # everybody is in the last one
    draws = _DRAWS if people <= _MANY else _FEWER_DRAWS
    found = preservation(shuffler, asked_for, delta=_SELDOM, num_draws=draws, source=SeededSource(0))
    regions = [
        RegionKept(
            rank=float(np.median(ranks[each]) / max(people - 1, 1)),
            people=each.size,
            mean=float(found.mean[place]),
            least=float(found.least[place]),
            delta=_SELDOM,
        )
        for place, each in enumerate(members)
    ]
    return tuple(sorted(regions, key=lambda each: each.rank))
