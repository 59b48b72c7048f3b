"""What a shuffle near a reference order does to the people of given groups, before and whatever they answer."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp._described import Described
from shuffledp.accounting.theorems.d_sigma import unneeded_shuffle
from shuffledp.analyzers import exact_means
from shuffledp.groups import Groups, order_sensitivity
from shuffledp.groups.places import EARTH_RADIUS
from shuffledp.models import ProtocolModel
from shuffledp.shufflers import SlotShuffler
from shuffledp.tasks.groups import Grouping, GroupsSection
from shuffledp.testing import SeededSource

__all__ = ["Mixing", "between", "mixing_of", "warnings_of"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_DRAWS, _DRAWS_OF_MANY, _MANY = 8, 2, 200_000
_MOST_ASKED = 200
_MOST_MEMBERSHIPS = 4_000_000
_MOST_MEASURED = 50_000
_KENDALL = "kendall"
_RULE = "Every pure shuffle of groups of g people displaces by the order of g^2 / alpha ranks. "
_NEARLY_ALL = 0.8  # of the displacement of a uniform shuffle: then who stands where hardly matters any more


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixing(Described):
    """How a shuffle mixes the people of given groups: public information, the same for whatever they answer.

    Displacements are averages over a few draws from a fixed seed; so are shares, but those that are known exactly.

    Args:
        num_users: people.
        num_groups: different groups.
        smallest: people in the smallest of the people's own groups.
        median: people in the group of half of the people, or fewer.
        largest: people in the largest group.
        num_blocks: stretches of the reference order that do not mix with others.
        largest_block: people in the largest of them.
        num_alone: people who are the only ones in their block, so that their reports are not shuffled at all.
        sensitivity: the exact sensitivity of the reference order.
        sensitivity_distance: of which distance of orders: that of a Mallows shuffle, else Kendall's.
        kind: of the shuffle; for an automatic choice, the one chosen.
        alpha: the loss of the order inside a group.
        delta: the remainder that goes with it.
        displacement: mean distance in ranks between a slot and the report in it.
        displacement_90: so far or nearer are nine of ten reports.
        displacement_uniform: the mean for a uniform shuffle of everybody.
        distance: the median distance between the slot's place and that of the report in it, in the unit of the
            groups' radius; None for groups without coordinates.
        distance_90: so near are nine of ten reports.
        kept: share of the slots of a person's group that hold a report of the group, on average over people.
        kept_least: the share in the group of which it is least.
        kept_exactly: for which share of the people it is exact (`shuffledp.analyzers.exact_means`), not simulated.
        kept_uniform: the share that a uniform shuffle of everybody would leave there.
        compared: mean displacements of what an automatic choice chose from, by name, the least first.
    """

    num_users: int
    num_groups: int
    smallest: int
    median: int
    largest: int
    num_blocks: int
    largest_block: int
    num_alone: int
    sensitivity: int
    sensitivity_distance: str
    kind: str
    alpha: float
    delta: float
    displacement: float
    displacement_90: float
    displacement_uniform: float
    distance: float | None
    distance_90: float | None
    kept: float
    kept_least: float
    kept_exactly: float
    kept_uniform: float
    compared: dict[str, float]

    @property
    def how_kept(self) -> str:
        """How the shares that stay in groups were found: exactly, by simulation, or some in either way."""
        if self.kept_exactly in (0, 1):
            return "exact" if self.kept_exactly else "simulated"
        return f"exact for {self.kept_exactly:.0%} of the people, simulated for the others"

    @property
    def mixes_all(self) -> bool:
        """Whether reports land nearly as far away as after a uniform shuffle of everybody."""
        return self.num_users > 1 and self.displacement >= _NEARLY_ALL * self.displacement_uniform

    @property
    def warning(self) -> str:
        """What to say of a loss that is too small, or too large, for these groups; "" if it is neither."""
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
            f"one. {_RULE if self.alpha else ''}Take {', '.join(self._nearer)}, or the uniform shuffle, whose guarantee is "
            "stronger."
        )

    @property
    def _nearer(self) -> tuple[str, ...]:
        """What would keep reports nearer; no loss that is worth its name does where somebody's group is everybody."""
        return ("smaller groups",) if self.largest == self.num_users else ("a larger alpha", "smaller groups")


def warnings_of(mixing: Mixing, models: Iterable[ProtocolModel]) -> tuple[str, ...]:
    """What to warn of: a loss that does not fit the groups, or one that randomizing alone keeps within.

    Args:
        mixing: what the shuffle does to the groups.
        models: of the columns that it shuffles.
    """
    unneeded = [] if math.isinf(mixing.alpha) else [each for model in models for each in unneeded_shuffle(model)]
    return tuple(dict.fromkeys(filter(None, (mixing.warning, *unneeded))))


def mixing_of(grouping: Grouping, groups: GroupsSection, shuffler: SlotShuffler) -> Mixing:
    """What this shuffler does to these groups."""
    prepared, own = shuffler.prepare(), grouping.groups.sizes[grouping.groups.own]
    people, block_sizes = prepared.order.size, np.diff(prepared.starts)
    num_draws = _DRAWS if people <= _MANY else _DRAWS_OF_MANY
    draws = [shuffler.draw_ranks(source=SeededSource(number)) for number in range(num_draws)]
    moved = np.abs(np.array(draws) - np.arange(people))
    near, far = _distances(grouping, groups, prepared.order, draws)
    kept, is_exact = _kept(grouping, shuffler, draws)
    return Mixing(
        num_users=people,
        num_groups=len(grouping.groups),
        smallest=int(own.min()),
        median=int(np.sort(own)[(people - 1) // 2]),
        largest=int(own.max()),
        num_blocks=block_sizes.size,
        largest_block=int(block_sizes.max()),
        num_alone=prepared.model.num_alone,
        sensitivity=order_sensitivity(grouping.groups, prepared.order, distance=_distance_of(shuffler)),
        sensitivity_distance=_distance_of(shuffler),
        kind=_kind(shuffler),
        alpha=prepared.model.alpha,
        delta=prepared.model.delta,
        displacement=float(moved.mean()),
        displacement_90=float(np.quantile(moved, 0.9)),
        displacement_uniform=(people**2 - 1) / (3 * people),
        distance=near,
        distance_90=far,
        kept=float(kept.mean()),
        kept_least=float(kept.min()),
        kept_exactly=float(is_exact.mean()),
        kept_uniform=float(own.mean() / people),
        compared=dict(sorted(shuffler.chosen_from.items(), key=lambda each: each[1])),
    )


def _kind(shuffler: SlotShuffler) -> str:
    """The shuffle, and its noise or distance where that is not the usual one."""
    model, distance = shuffler.prepare().model, _distance_of(shuffler)
    named = getattr(model, "noise", None) or (distance if distance != _KENDALL else None)
    return model.kind if named is None else f"{model.kind} ({named})"


def _distance_of(shuffler: SlotShuffler) -> str:
    return str(getattr(shuffler.prepare().model, "distance", _KENDALL))


def _kept(grouping: Grouping, shuffler: SlotShuffler, draws: list[Integers]) -> tuple[Floats, NDArray[np.bool_]]:
    """The share of slots of people's own groups that hold the group's reports, and whether it is the exact mean.

    Of people evenly along the order; where the mean is not known, it is one over the draws.
    """
    groups, order = grouping.groups, shuffler.prepare().order
    asked = order[np.unique(np.linspace(0, order.size - 1, min(order.size, _MOST_ASKED)).astype(np.int64))]
    numbers, counts = np.unique(groups.own[asked], return_counts=True)
    affordable = np.cumsum(groups.sizes[numbers]) <= _MOST_MEMBERSHIPS
    affordable[0] = True
    numbers, counts = numbers[affordable], counts[affordable]
    exact = exact_means(shuffler, groups, numbers.tolist())
    rest = [number for number in numbers.tolist() if number not in exact]
    shares = exact | dict(zip(rest, _simulated(groups, rest, order, draws), strict=True))
    found = np.array([(shares[number], number in exact) for number in numbers.tolist()])
    return np.repeat(found[:, 0], counts), np.repeat(found[:, 1] > 0, counts)


def _simulated(groups: Groups, numbers: list[int], order: Integers, draws: list[Integers]) -> list[float]:
    """The mean over the draws of the share that each of these groups keeps."""
    shares = np.zeros(len(numbers))
    inside, sigma = np.zeros(order.size, dtype=np.bool_), np.empty(order.size, dtype=np.int64)
    for ranks in draws:
        sigma[order] = order[ranks]
        for place, number in enumerate(numbers):
            members = groups[number]
            inside[members] = True
            shares[place] += np.count_nonzero(inside[sigma[members]]) / members.size / len(draws)
            inside[members] = False
    found: list[float] = shares.tolist()
    return found


def _distances(
    grouping: Grouping, section: GroupsSection, order: Integers, draws: list[Integers]
) -> tuple[float, float] | tuple[None, None]:
    """The median and the nine tenths of distances between a slot's place and that of the report in it."""
    if grouping.coordinates is None:
        return None, None
    ranks = np.unique(np.linspace(0, order.size - 1, min(order.size, _MOST_MEASURED)).astype(np.int64))
    here = grouping.coordinates[order[ranks]]
    found = np.concatenate([between(here, grouping.coordinates[order[draw[ranks]]], section.metric) for draw in draws])
    near, far = np.quantile(found, (0.5, 0.9))
    return float(near), float(far)


def between(here: Floats, there: Floats, metric: str | None) -> Floats:
    """Distances between points, row by row: kilometers for "haversine", else in the unit of the columns.

    Args:
        here: shape (points, columns).
        there: the same shape.
        metric: as in the task; None is "euclidean".
    """
    if metric == "haversine":
        (lat, lon), (lat2, lon2) = np.radians(here).T, np.radians(there).T
        half = np.sin((lat2 - lat) / 2) ** 2 + np.cos(lat) * np.cos(lat2) * np.sin((lon2 - lon) / 2) ** 2
        arc: Floats = 2 * EARTH_RADIUS * np.arcsin(np.sqrt(np.minimum(half, 1.0)))
        return arc
    apart: Floats = np.abs(here - there)
    total: Floats = apart.sum(axis=1) if metric == "manhattan" else np.sqrt((apart**2).sum(axis=1))
    return total
