"""Losses of the order that meet requirements: people must be hidden, and places not blurred too much.

What hides people gets worse as alpha grows, and what places keep gets better (docs/theorems.md): naming, households,
central loss and mean displacement are monotone in alpha for every mechanism here, so that limits are found by
bisection. The share that stays in a group is not known to be monotone: there a grid is tried. What places keep is
simulated; so that it is no luck of few draws, more draws must meet it with a margin, or alpha is raised by steps of 1%.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core import validate
from shuffledp.core.described import Described
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.table import Floats
from shuffledp.core.validate import invalid
from shuffledp.protocols.d_sigma.laws.naming_tails import naming_tail
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.planning.displacement_choice import displacement_draws, mean_displacement
from shuffledp.protocols.d_sigma.planning.person_guarantees import (
    central_epsilons_by_rank,
    household_chances_by_rank,
    naming_chances_by_rank,
)
from shuffledp.protocols.d_sigma.shufflers.reference_order import SlotShuffler
from shuffledp.protocols.d_sigma.shufflers.swap_geometry import named_with_at_most, whole_crowds
from shuffledp.randomness.replayable import SeededSource

LEAST_ALPHA, MOST_ALPHA = 2.0**-6, 2.0**17
_CLOSE = 1.01  # ratio of alphas at which a bisection ends
_DRAWS, _MOST_GROUPS = 3, 32
_MORE_DRAWS, _MORE_PLACES, _MORE_GROUPS, _OTHER_SEED = 12, 60_000, 256, 1  # to make sure of what is to be kept
_ERRORS, _STEPS = 3.0, 30
_KEPT = 2_000_000  # people of shufflers that are kept while limits are looked for

Make = Callable[[float], SlotShuffler]  # the shuffler with this alpha
Holds = Callable[[SlotShuffler], bool]
# Name of a requirement, its best value in a block of a given size, and its test of the people for whom it is possible.
Hiding = tuple[str, Callable[[int], float], Callable[[NDArray[np.bool_], SlotShuffler], bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements(Described):
    """Requirements of a shuffle near an order; None where nothing is required.

    Args:
        slot_chance: somebody who knows all answers names the slot of a report at most with this chance.
        epsilon: central epsilon of everybody, at most.
        household: number k of people who live at one place, of whose slots more than half are to be found
        chance: at most with this chance.
        blur: mean distance in ranks between a slot and the report in it, at most.
        stays_in_group: share of a group's slots that hold a report of the group on average, at least.
    """

    slot_chance: float | None = None
    epsilon: float | None = None
    household: int | None = None
    chance: float | None = None
    blur: float | None = None
    stays_in_group: float | None = None

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in ("slot_chance", "chance", "stays_in_group")}
        validate.open_probability(**{name: value for name, value in given.items() if value is not None})
        positive = {name: getattr(self, name) for name in ("epsilon", "blur")}
        validate.positive(**{name: value for name, value in positive.items() if value is not None})
        if (self.household is None) != (self.chance is None):
            raise InvalidParameterError(
                "household and chance must be given together: how many people live at one place, and with which chance "
                f"more than half of their reports may be found; got household={self.household}, chance={self.chance}."
            )
        if self.household is not None:
            validate.integer_at_least(1, household=self.household)
        if not any((self.slot_chance, self.epsilon, self.household, self.blur, self.stays_in_group)):
            raise InvalidParameterError("something must be wanted; got nothing.")

    @property
    def hides(self) -> bool:
        """Whether some requirement is about hiding people, which keeps alpha small."""
        return not (self.slot_chance is None and self.epsilon is None and self.household is None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits(Described):
    """Range of alpha in which one mechanism meets all requirements for given groups.

    Args:
        at_most: the largest alpha that hides people as wanted, by what wants it; empty if nothing does.
        at_least: the smallest alpha that keeps places as wanted, by what wants it.
        impossible: people for whom no alpha does, by what is wanted; they are left out of the limits.
        out_of_reach: requirements that no alpha meets at all.
    """

    at_most: dict[str, float] = field(default_factory=dict)
    at_least: dict[str, float] = field(default_factory=dict)
    impossible: dict[str, int] = field(default_factory=dict)
    out_of_reach: tuple[str, ...] = ()

    @property
    def alpha(self) -> float | None:
        """Recommended alpha: the largest that hides people, else the smallest that keeps places; else None.

        Where any alpha does, as of a central epsilon that reports have without a shuffle, it is the largest tried.
        """
        high, low = min(self.at_most.values(), default=math.inf), max(self.at_least.values(), default=0.0)
        if self.out_of_reach or low > high:
            return None
        return high if self.at_most else low if self.at_least else MOST_ALPHA


def crowd_wanted(chance: float, epsilon0: float) -> float:
    """Number of other people who must hide a report fully for a naming chance of at most ``chance``."""
    return math.exp(2 * epsilon0) * (1 - chance) / chance


def epsilon0_wanted(chance: float, crowd: float) -> float:
    """Largest epsilon0 with a naming chance of at most ``chance`` among ``crowd`` others; below 0 if none."""
    return 0.5 * math.log(crowd * chance / (1 - chance)) if crowd > 0 else -math.inf


def can_be_hidden(shuffler: SlotShuffler, epsilon0: float, chance: float) -> NDArray[np.bool_]:
    """Mask of the ranks in blocks large enough for a naming chance of at most ``chance``, at some alpha."""
    sizes = np.diff(shuffler.prepare().starts)
    return np.repeat(_hidden_by_all(sizes, epsilon0) <= chance, sizes)


def _hidden_by_all(size: ArrayLike, epsilon0: float) -> NDArray[np.float64]:
    """Largest chance of naming a report in a block of this size where exchanges are free, as at alpha 0."""
    return named_with_at_most(whole_crowds(size), epsilon0)


def limits_of(
    wanted: Requirements, make: Make, groups: Groups, epsilon0: float, uniform: Callable[[int], float]
) -> Limits:
    """Limits of alpha by one mechanism.

    Args:
        wanted: the requirements.
        make: makes the shuffler with a given alpha; the smaller alpha is, the better it hides.
        groups: of which reports are to stay.
        epsilon0: local loss of everybody's pure randomizer.
        uniform: central epsilon of a uniform shuffle of so many people.
    """
    make = lru_cache(maxsize=max(1, _KEPT // groups.num_users))(make)  # bisections begin alike
    found, lost = _hidden_limits(_hiding(wanted, epsilon0, uniform), wanted, make(LEAST_ALPHA), partial(_largest, make))
    if wanted.blur is not None:
        least = _smallest(make, lambda shuffler: mean_displacement(shuffler) <= float(wanted.blur or 0))
        least = _with_margin(make, least, partial(_spared, float(wanted.blur)))
        lost += _noted(found.at_least, "blur", least)
    if wanted.stays_in_group is not None:
        least = _first_on_grid(
            make, lambda shuffler: kept_on_average(shuffler, groups) >= float(wanted.stays_in_group or 0)
        )
        least = _with_margin(make, least, partial(_stay_margins, groups, float(wanted.stays_in_group)))
        lost += _noted(found.at_least, "stays_in_group", least)
    return Limits(
        at_most={name: limit for name, limit in found.at_most.items() if limit < MOST_ALPHA},
        at_least=found.at_least,
        impossible=found.impossible,
        out_of_reach=tuple(lost),
    )


def limits_apart(wanted: Requirements, make: Make, epsilon0: float, uniform: Callable[[int], float]) -> Limits:
    """Limits of alpha where groups are the blocks: 0 hides best, and every report stays in its group.

    Args:
        wanted: the requirements, without a mean displacement, which alone would ask for more than 0.
        make: makes the shuffler with a given alpha.
        epsilon0: local loss of everybody's pure randomizer.
        uniform: central epsilon of a uniform shuffle of so many people.
    """
    uniformly = make(0.0)

    def none_is_best(holds: Holds) -> float | None:
        return 0.0 if holds(uniformly) else None

    found, lost = _hidden_limits(_hiding(wanted, epsilon0, uniform), wanted, uniformly, none_is_best)
    at_least = {} if wanted.stays_in_group is None else {"stays_in_group": 0.0}
    return replace(found, at_least=at_least, out_of_reach=tuple(lost))


def _hidden_limits(
    hiding: list[Hiding], wanted: Requirements, shuffler: SlotShuffler, largest: Callable[[Holds], float | None]
) -> tuple[Limits, list[str]]:
    """Limits by the requirements that hide people, and names of the requirements that no alpha meets.

    The ``shuffler`` is one of any alpha, for its blocks; ``largest`` finds the largest alpha that holds.
    """
    apart = shuffler.prepare()
    blocks = np.repeat(np.diff(apart.starts), np.diff(apart.starts))
    found = Limits()
    lost: list[str] = []
    for name, best, holds in hiding:
        sizes, place = np.unique(blocks, return_inverse=True)
        possible = np.array([best(int(size)) for size in sizes])[place] <= _limit(wanted, name)
        if not possible.all():
            found.impossible[name] = int(possible.size - possible.sum())
        limit = largest(partial(holds, possible)) if possible.any() else None
        lost += _noted(found.at_most, name, limit)
    return found, lost


def _noted(limits: dict[str, float], name: str, limit: float | None) -> list[str]:
    """Store a limit by its requirement's name, or return the name in a list if the limit is None."""
    if limit is None:
        return [name]
    limits[name] = limit
    return []


def _limit(wanted: Requirements, name: str) -> float:
    return float(getattr(wanted, "chance" if name == "household" else name))


def _hiding(wanted: Requirements, epsilon0: float, uniform: Callable[[int], float]) -> list[Hiding]:
    """Requirements that keep alpha small: name, best value by block size, and test of a shuffler."""
    found: list[Hiding] = []
    if wanted.slot_chance is not None:
        chance = wanted.slot_chance

        def named(possible: NDArray[np.bool_], shuffler: SlotShuffler) -> bool:
            return bool(naming_chances_by_rank(shuffler, epsilon0)[possible].max() <= chance)

        found.append(("slot_chance", lambda size: float(_hidden_by_all(size, epsilon0)), named))
    if wanted.epsilon is not None:
        most = wanted.epsilon

        def central(possible: NDArray[np.bool_], shuffler: SlotShuffler) -> bool:
            return bool(central_epsilons_by_rank(shuffler, uniform, epsilon0)[possible].max() <= most)

        found.append(("epsilon", lambda size: min(epsilon0, uniform(size)) if size > 1 else epsilon0, central))
    if wanted.household is not None:
        targets, least = wanted.household, float(wanted.chance or 0)

        def together(possible: NDArray[np.bool_], shuffler: SlotShuffler) -> bool:
            each = household_chances_by_rank(shuffler, targets, epsilon0)
            return each is not None and bool(each[possible].max() <= least)

        def alone(size: int) -> float:
            return 1.0 if size < targets else naming_tail(size, targets, targets // 2 + 1, 2 * epsilon0)

        found.append(("household", alone, together))
    return found


def _largest(make: Make, holds: Holds) -> float | None:
    """Largest alpha, to 1%, that meets a requirement; None if no alpha meets it.

    If an alpha meets the requirement, every smaller alpha does.
    """
    if not holds(make(LEAST_ALPHA)):
        return None
    if holds(make(MOST_ALPHA)):
        return MOST_ALPHA
    low, high = LEAST_ALPHA, MOST_ALPHA
    while high / low > _CLOSE:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if holds(make(middle)) else (low, middle)
    return _short(low, math.floor)


def _smallest(make: Make, holds: Holds) -> float | None:
    """Smallest alpha, to 1%, that meets a requirement; None if no alpha meets it.

    If an alpha meets the requirement, every larger alpha does.
    """
    if not holds(make(MOST_ALPHA)):
        return None
    if holds(make(LEAST_ALPHA)):
        return LEAST_ALPHA
    low, high = LEAST_ALPHA, MOST_ALPHA
    while high / low > _CLOSE:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(make(middle)) else (middle, high)
    return _short(high, math.ceil)


def _short(alpha: float, rounded: Callable[[float], int]) -> float:
    """Alpha with three significant digits, rounded by ``rounded``: down for upper limits, up for lower limits."""
    unit = 10.0 ** (math.floor(math.log10(alpha)) - 2)
    return float(f"{rounded(alpha / unit) * unit:.6g}")


def _first_on_grid(make: Make, holds: Holds) -> float | None:
    """Smallest alpha of a grid from which on all alphas meet a requirement; None if the largest alpha fails."""
    alpha, found = MOST_ALPHA, None
    while alpha >= LEAST_ALPHA and holds(make(alpha)):
        found, alpha = alpha, alpha / 2
    return found


def kept_on_average(shuffler: SlotShuffler, groups: Groups) -> float:
    """Share of a group's slots that hold the group's reports, averaged over some groups and draws."""
    validate.instance_of(Groups, groups=groups)
    people = shuffler.prepare().order.size
    if people != groups.num_users:
        raise invalid(f"of the shuffler's {people} people", num_users=groups.num_users)
    return float(_kept_draws(shuffler, groups, draws=_DRAWS, most=_MOST_GROUPS, seed=0).mean())


def _kept_draws(shuffler: SlotShuffler, groups: Groups, *, draws: int, most: int, seed: int) -> Floats:
    """Mean share of reports that groups keep, for each simulated draw.

    The groups are of people spread evenly along the order.
    """
    order = shuffler.prepare().order
    places = np.unique(np.linspace(0, order.size - 1, min(order.size, most)).astype(np.int64))
    numbers, counts = np.unique(groups.own[order[places]], return_counts=True)
    shares = np.zeros((draws, numbers.size))
    member = np.zeros(order.size, dtype=np.bool_)
    for draw in range(draws):
        star = shuffler.draw(source=SeededSource(seed).substream("kept", draw))
        for place, number in enumerate(numbers.tolist()):
            people = groups[number]
            member[people] = True
            shares[draw, place] = member[star[people]].mean()
            member[people] = False
    found: Floats = shares @ counts / counts.sum()
    return found


def _spared(blur: float, shuffler: SlotShuffler, draws: int) -> Floats:
    """Margin of each draw: allowed mean displacement in ranks, minus the mean displacement of the draw."""
    enough = min(blur, shuffler.prepare().order.size)  # no report lands farther away
    return enough - displacement_draws(shuffler, draws=draws, seed=_OTHER_SEED)


def _stay_margins(groups: Groups, share: float, shuffler: SlotShuffler, draws: int) -> Floats:
    """Margin of each draw: mean share of reports that stay in their group, minus the required share."""
    return _kept_draws(shuffler, groups, draws=draws, most=_MORE_GROUPS, seed=_OTHER_SEED) - share


def _with_margin(make: Make, alpha: float | None, excess: Callable[[SlotShuffler, int], Floats]) -> float | None:
    """First alpha, from ``alpha`` up in steps of 1%, that meets a requirement by three standard errors.

    After 30 steps without such an alpha, the last one; None stays None.

    ``excess`` are draws, other ones than alpha was found with, of how much more is kept than wanted.
    """
    for _ in range(_STEPS if alpha is not None else 0):
        shuffler = make(alpha or 0.0)
        draws = max(_MORE_DRAWS, -(-_MORE_PLACES // shuffler.prepare().order.size))
        found = excess(shuffler, draws)
        if found.mean() >= _ERRORS * found.std(ddof=1) / math.sqrt(draws):
            return alpha
        alpha = _short((alpha or 0.0) * _CLOSE, math.ceil)
    return alpha
