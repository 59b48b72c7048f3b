"""Mixing of given groups by a shuffle near a reference order: for its own loss, other losses, and other groups."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.described import Described
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.table import Floats, Integers
from shuffledp.core.text import percent
from shuffledp.planning.family_plan import FamilyPlan
from shuffledp.protocols.d_sigma.analyzers.group_preservation import exact_means
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.people.layout import lay, ranks_of
from shuffledp.protocols.d_sigma.people.orders import reference_order
from shuffledp.protocols.d_sigma.people.public_points import distances
from shuffledp.protocols.d_sigma.people.sensitivity import order_sensitivity
from shuffledp.protocols.d_sigma.planning.mixing_facts import Displacements
from shuffledp.protocols.d_sigma.planning.personal_promises import WEAK, Promises, SpreadOverPeople
from shuffledp.protocols.d_sigma.planning.sharpened_cells import SharpenedCells, sharpened_cells
from shuffledp.protocols.d_sigma.shufflers.reference_order import SlotShuffler
from shuffledp.protocols.d_sigma.theorems.meehan22 import unneeded_shuffle
from shuffledp.randomness.replayable import SeededSource

Family = Callable[[Groups, Integers, float | None], SlotShuffler]  # groups, order, loss; None is the default loss

_DRAWS, _DRAWS_OF_MANY, _MANY = 8, 2, 200_000
_MOST_ASKED = 200
_MOST_MEMBERSHIPS = 4_000_000
_MOST_MEASURED = 50_000
_FACTORS_OF_ALPHA = (1 / 16, 1 / 4, 1.0, 4.0, 16.0)
_FACTORS_OF_REACH = (1 / 4, 1 / 2, 2.0, 4.0)
_MOST_SITES = 5_000  # with more places, groups of another reach are measured along the shuffler's own order
_KENDALL = "kendall"
_RULE = "Every pure shuffle of groups of g people displaces by the order of g^2 / alpha ranks. "
_NEARLY_ALL = 0.8  # of a uniform shuffle's displacement: beyond it, positions hardly matter


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixing(Displacements):
    """Mixing of the people of given groups by a shuffle: public information that depends on no answer.

    Displacements are averages over a few draws from a fixed seed; so are shares, but those that are known exactly.

    Args:
        kept: share of the slots of a person's group that hold a report of the group, on average over people.
        kept_least: the share in the group of which it is least.
        kept_exactly: for which share of the people it is exact and not simulated (see ``exact_means``).
        kept_uniform: the share that a uniform shuffle of everybody would leave there.
        compared: mean displacements of what an automatic choice chose from, by name, the least first.
    """

    kept: float
    kept_least: float
    kept_exactly: float
    kept_uniform: float
    compared: dict[str, float]

    @property
    def how_kept(self) -> str:
        """Words for the method by which kept shares were found: exact, by simulation, or partly by each."""
        if self.kept_exactly in (0, 1):
            return "exact" if self.kept_exactly else "simulated"
        return f"exact for {self.kept_exactly:.0%} of the people, simulated for the others"

    @property
    def mixes_all(self) -> bool:
        """Whether reports land nearly as far away as after a uniform shuffle."""
        return self.num_users > 1 and self.displacement >= _NEARLY_ALL * self.displacement_uniform

    @property
    def warning(self) -> str:
        """Warning about a loss that is too small or too large for these groups; "" otherwise."""
        if math.isinf(self.alpha):
            return (
                "alpha is infinite: nothing is shuffled, every report stays with its sender, and only epsilon0 holds."
            )
        if self.num_alone == self.num_users:
            return "Nobody shares a group with anybody: nothing is shuffled, and only epsilon0 holds."
        if not self.mixes_all:
            return ""
        if self.alpha == 0 and self.num_blocks == 1:
            return (
                "alpha = 0 in one block is the uniform shuffle of everybody: estimates by place would tell nothing but "
                f'the overall one. Take kind = "uniform", about which more is known, or {" or ".join(self._nearer)}.'
            )
        return (
            f"alpha = {self.alpha:.4g} is so small for groups of up to {self.largest:,} of {self.num_users:,} people "
            "that everything is shuffled with everything: estimates by place would tell little more than the overall "
            f"one. {_RULE if self.alpha else ''}Take {', '.join(self._nearer)}, or the uniform shuffle, whose "
            "guarantee is stronger."
        )

    @property
    def _nearer(self) -> tuple[str, ...]:
        """Changes that would keep reports nearer.

        A larger alpha does not help where one group holds all people.
        """
        return ("smaller groups",) if self.largest == self.num_users else ("a larger alpha", "smaller groups")


def mixing_warnings(mixing: Mixing, models: Iterable[ProtocolModel], named: SpreadOverPeople | None) -> tuple[str, ...]:
    """Warnings about a loss that does not fit the groups, or a loss that randomizing alone achieves.

    A loss that randomizing alone achieves is no danger where most reports are hidden among others' all the same.

    Args:
        mixing: what the shuffle does to the groups.
        models: of the columns that it shuffles.
        named: chances of naming the slots of reports; None if they are not known.
    """
    unneeded = [] if math.isinf(mixing.alpha) else [each for model in models for each in unneeded_shuffle(model)]
    if named is not None and named.half <= WEAK:
        unneeded = []
    return tuple(dict.fromkeys(filter(None, (mixing.warning, *unneeded))))


def slots_still_hide(named: SpreadOverPeople | None, models: Iterable[ProtocolModel]) -> str:
    """Sentence that the shuffle still hides slots, where randomizing hides the order better; else ""."""
    if named is None or named.half > WEAK or not any(unneeded_shuffle(model) for model in models):
        return ""
    return (
        "About the order inside groups so large an alpha promises nothing beyond randomizing. What the shuffle "
        "promises is that reports are hidden among those nearby: of half of the people a slot is named at most with "
        f"{percent(named.half, 'at most')}."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach(Described):
    """Mixing of groups of another size, in place of the task's own groups.

    The ``key`` is "radius" or "neighbors", the mixing that by a shuffle of the same kind.
    """

    key: str
    value: float
    mixing: Mixing


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsPlan(FamilyPlan):
    """Mixing of given groups, compared with other losses and other groups.

    Args:
        mixing: by the shuffler itself.
        by_alpha: with other losses, ascending; its own among them.
        by_reach: with larger and smaller groups, where these have coordinates and a radius that can be multiplied, and
            where anything is shuffled.
        promises: to each person, by the shuffler itself; None of several reports each, or where nothing is known.
        sharpened: least cells whose estimates can be sharpened; None if none can.
    """

    key: ClassVar[str] = "groups"
    mixing: Mixing
    by_alpha: tuple[Mixing, ...]
    by_reach: tuple[Reach, ...]
    promises: Promises | None = None
    sharpened: SharpenedCells | None = None

    def warnings_for(self, models: Sequence[ProtocolModel]) -> tuple[str, ...]:
        """Warnings about a loss that does not fit the groups, or that randomizing alone achieves."""
        return mixing_warnings(self.mixing, models, None if self.promises is None else self.promises.named)


def mixing_of(
    groups: Groups, shuffler: SlotShuffler, *, coordinates: Floats | None = None, metric: str | None = None
) -> Mixing:
    """Mixing of the people of these groups by a shuffler, from a few draws with a fixed seed.

    Args:
        groups: the groups; they may be others than those of the shuffler.
        shuffler: what shuffles.
        coordinates: where people are, shape (people, columns), to tell how far away reports land; None if unknown.
        metric: of the coordinates: "euclidean", which None is too, "manhattan" or "haversine".

    Example:
        >>> from shuffledp import Groups, MallowsShuffler
        >>> groups = Groups.from_radius(range(100), 5)
        >>> found = mixing_of(groups, MallowsShuffler(groups=groups, alpha=4.0))
        >>> found.largest, found.kept > found.kept_uniform, found.mixes_all
        (11, True, False)
    """
    prepared, whose = shuffler.prepare(), np.bincount(groups.own, minlength=len(groups))
    people, block_sizes, sizes = prepared.order.size, np.diff(prepared.starts), groups.sizes[whose > 0]
    whose = whose[whose > 0]  # how many people's own group each of them is
    numbers, asked = _asked(groups, prepared.order)
    exact = exact_means(shuffler, groups, numbers)
    drawn = _drawn(groups, [number for number in numbers if number not in exact], shuffler)
    near, far = _distances(coordinates, metric, prepared.order, drawn)
    kept, is_exact = (np.repeat(each, asked) for each in _shares(numbers, exact, drawn.kept))
    return Mixing(
        num_users=people,
        num_groups=len(groups),
        smallest=int(sizes.min()),
        median=_quantile(sizes, whose, 0.5),
        largest=int(sizes.max()),
        num_blocks=block_sizes.size,
        largest_block=int(block_sizes.max()),
        num_alone=prepared.model.num_alone,
        sensitivity=order_sensitivity(groups, prepared.order, distance=_distance_of(shuffler)),
        sensitivity_distance=_distance_of(shuffler),
        kind=_kind(shuffler),
        alpha=prepared.model.alpha,
        delta=prepared.model.delta,
        displacement=float(np.arange(drawn.moved.size) @ drawn.moved / drawn.moved.sum()),
        displacement_90=float(_quantile(np.arange(drawn.moved.size), drawn.moved, 0.9)),
        displacement_uniform=(people**2 - 1) / (3 * people),
        distance=near,
        distance_90=far,
        kept=float(kept.mean()),
        kept_least=float(kept.min()),
        kept_exactly=float(is_exact.mean()),
        kept_uniform=float(sizes @ whose / people / people),
        compared=dict(sorted(shuffler.chosen_from.items(), key=lambda each: each[1])),
    )


def _kind(shuffler: SlotShuffler) -> str:
    """Name of the shuffle, with its noise or distance unless it is the default."""
    model, distance = shuffler.prepare().model, _distance_of(shuffler)
    named = getattr(model, "noise", None) or (distance if distance != _KENDALL else None)
    return model.kind if named is None else f"{model.kind} ({named})"


def _distance_of(shuffler: SlotShuffler) -> str:
    return str(getattr(shuffler.prepare().model, "distance", _KENDALL))


def _quantile(values: Integers, counts: Integers, share: float) -> int:
    """Weighted quantile: smallest value up to which the counts add up to at least this share."""
    order = np.argsort(values, kind="stable")
    passed = np.cumsum(counts[order])
    return int(values[order[np.searchsorted(passed, math.ceil(share * passed[-1]))]])


def _evenly(people: int, most: int) -> Integers:
    """Ranks spread evenly along the order."""
    return np.unique(np.linspace(0, people - 1, min(people, most)).astype(np.int64))


def _asked(groups: Groups, order: Integers) -> tuple[list[int], Integers]:
    """Own groups of people spread along the order, few enough to measure, and owners counted by group."""
    numbers, counts = np.unique(groups.own[order[_evenly(order.size, _MOST_ASKED)]], return_counts=True)
    affordable = np.cumsum(groups.sizes[numbers]) <= _MOST_MEMBERSHIPS
    affordable[0] = True
    return numbers[affordable].tolist(), counts[affordable]


def _shares(
    numbers: list[int], exact: dict[int, float], simulated: dict[int, float]
) -> tuple[Floats, NDArray[np.bool_]]:
    """Share of each group's slots that hold the group's reports, and whether it is the exact mean."""
    shares = simulated | exact
    return np.array([shares[number] for number in numbers]), np.array([number in exact for number in numbers])


class _SimulatedMixing(NamedTuple):
    """Displacements of reports and shares kept by groups, from a few drawn shuffles."""

    moved: Integers  # how many reports moved by 0, 1, 2, ... ranks
    measured: Integers  # the ranks at which distances are measured,
    there: list[Integers]  # for each draw, the ranks whose reports lie there
    kept: dict[int, float]  # the mean share that each of the groups keeps, by number


def _drawn(groups: Groups, numbers: list[int], shuffler: SlotShuffler) -> _SimulatedMixing:
    """Displacements and shares kept by the groups ``numbers``, from shuffles drawn with fixed seeds."""
    order = shuffler.prepare().order
    num_draws = _DRAWS if order.size <= _MANY else _DRAWS_OF_MANY
    members = list(map(partial(ranks_of, lay(groups, order)), numbers)) if numbers else []
    moved, measured, there = np.zeros(1, dtype=np.int64), _evenly(order.size, _MOST_MEASURED), []
    kept = np.zeros(len(numbers))
    for draw in range(num_draws):
        landed, stay, start = [], np.zeros(len(numbers)), 0
        for ranks in shuffler.rank_parts(source=SeededSource(draw)):
            moved = _sum(moved, np.bincount(np.abs(ranks - np.arange(start, start + ranks.size))))
            landed.append(ranks[_between(measured, start, ranks.size)])
            for place, own in enumerate(members):
                found = ranks[_between(own, start, ranks.size)]
                stay[place] += np.count_nonzero(own[np.searchsorted(own, found) % own.size] == found)
            start += ranks.size
        there.append(np.concatenate(landed))
        kept += [count / own.size / num_draws for count, own in zip(stay, members, strict=True)]
    return _SimulatedMixing(moved, measured, there, dict(zip(numbers, kept.tolist(), strict=True)))


def _between(ascending: Integers, start: int, length: int) -> Integers:
    """Numbers of ``ascending`` that are at least ``start`` and below ``start + length``, minus ``start``."""
    low, high = np.searchsorted(ascending, [start, start + length])
    return ascending[low:high] - start


def _sum(one: Integers, other: Integers) -> Integers:
    """Sum of two arrays, the shorter one padded with zeros."""
    total = np.zeros(max(one.size, other.size), dtype=np.int64)
    total[: one.size] += one
    total[: other.size] += other
    return total


def _distances(
    coordinates: Floats | None, metric: str | None, order: Integers, drawn: _SimulatedMixing
) -> tuple[float, float] | tuple[None, None]:
    """Median and 90% quantile of the distance between a slot's place and its report's place of origin."""
    if coordinates is None:
        return None, None
    here = coordinates[order[drawn.measured]]
    found = np.concatenate([distances(here, coordinates[order[ranks]], metric) for ranks in drawn.there])
    near, far = np.quantile(found, (0.5, 0.9))
    return float(near), float(far)


def plan_mixing(
    groups: Groups,
    shuffler: SlotShuffler,
    family: Family,
    *,
    reach: tuple[str, float] | None = None,
    coordinates: Floats | None = None,
    metric: str | None = None,
    method: str = "auto",
) -> GroupsPlan:
    """Plan of the mixing of groups by this shuffler, beside other losses and other groups.

    Args:
        groups: the groups.
        shuffler: what shuffles.
        family: the shuffler of given groups, around a given order, with a given loss; None is its own loss.
        reach: what the groups were made from, ("radius", a distance) or ("neighbors", a number); None if neither.
        coordinates: where people are, shape (people, columns); None if that is not known.
        metric: of the coordinates; None is "euclidean".
        method: how the reference order of other groups is found, as for `shuffledp.protocols.d_sigma.reference_order`.

    Example:
        >>> from shuffledp import Groups, NoisySortShuffler
        >>> groups = Groups.from_radius(range(100), 5)
        >>> def sort(groups, order, alpha):
        ...     return NoisySortShuffler(groups=groups, order=order, alpha=4.0 if alpha is None else alpha)
        >>> [round(each.alpha, 2) for each in plan_mixing(groups, sort(groups, "auto", None), sort).by_alpha]
        [0.25, 1.0, 4.0, 16.0, 64.0]
    """
    own = mixing_of(groups, shuffler, coordinates=coordinates, metric=metric)
    center = own.alpha if 0 < own.alpha < math.inf else 4.0
    by_alpha, order = [own], shuffler.prepare().order
    for alpha in (center * factor for factor in _FACTORS_OF_ALPHA):
        if not math.isclose(alpha, own.alpha, rel_tol=1e-6):
            other = family(groups, order, alpha)
            by_alpha.append(mixing_of(groups, other, coordinates=coordinates, metric=metric))
    by_reach = []
    if coordinates is not None and reach is not None and not math.isinf(shuffler.prepare().model.alpha):
        for value in _other_reaches(*reach, len(coordinates)):
            there = _groups_within(reach[0], value, coordinates, metric or "euclidean")
            if there.site_sizes.size <= _MOST_SITES:
                order = reference_order(there, coordinates=coordinates, method=method)
            else:
                order = shuffler.prepare().order
            mixing = mixing_of(there, family(there, order, None), coordinates=coordinates, metric=metric)
            by_reach.append(Reach(key=reach[0], value=value, mixing=mixing))
    return GroupsPlan(
        mixing=own,
        by_alpha=tuple(sorted(by_alpha, key=lambda each: each.alpha)),
        by_reach=tuple(by_reach),
        sharpened=sharpened_cells(shuffler, own.displacement),
    )


def _groups_within(key: str, value: float, points: Floats, metric: str) -> Groups:
    if key == "radius":
        return Groups.from_radius(points, value, metric)
    return Groups.from_neighbors(points, int(value), metric)


def _other_reaches(key: str, own: float, people: int) -> list[float]:
    """Distinct radii or numbers of neighbors other than ``own``, for comparison."""
    if key == "radius":
        return [own * factor for factor in _FACTORS_OF_REACH] if 0 < own < math.inf else []
    others = {max(1, min(round(own * factor), people - 1)) for factor in _FACTORS_OF_REACH}
    return [float(value) for value in sorted(others - {int(own)})]
