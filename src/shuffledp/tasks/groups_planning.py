"""What to expect of a shuffle near a reference order before a collection: for other losses, and for other groups."""

import math
from dataclasses import dataclass, replace
from typing import Any, cast

from shuffledp._described import Described
from shuffledp.groups import Groups
from shuffledp.shufflers import SlotShuffler
from shuffledp.tasks.grouped_shufflers import GroupedSection
from shuffledp.tasks.groups import Grouping, GroupsSection
from shuffledp.tasks.mixing import Mixing, mixing_of

__all__ = ["GroupsPlan", "Reach", "plan_groups"]

_FACTORS_OF_ALPHA = (1 / 16, 1 / 4, 1.0, 4.0, 16.0)
_FACTORS_OF_REACH = (1 / 4, 1 / 2, 2.0, 4.0)
_MOST_SITES = 5_000  # with more places, groups of another reach are measured along the order of the task's own


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach(Described):
    """Groups of another size.

    Args:
        key: "radius" or "neighbors".
        value: of that key.
        mixing: what the same shuffle does to them.
    """

    key: str
    value: float
    mixing: Mixing


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsPlan(Described):
    """What a shuffle does to the groups of a task.

    Args:
        mixing: as the task says.
        by_alpha: with other losses, ascending; the task's own among them.
        by_reach: with larger and smaller groups, where these have coordinates and a radius that can be multiplied, and
            where anything is shuffled.
    """

    mixing: Mixing
    by_alpha: tuple[Mixing, ...]
    by_reach: tuple[Reach, ...]


def plan_groups(
    section: GroupedSection, groups: GroupsSection, grouping: Grouping, shuffler: SlotShuffler
) -> GroupsPlan:
    """What this shuffler does, and others would do.

    Args:
        section: of the shuffler.
        groups: of the groups.
        grouping: the groups.
        shuffler: what the section makes of them.
    """
    own, order = mixing_of(grouping, groups, shuffler), shuffler.prepare().order
    center = own.alpha if 0 < own.alpha < math.inf else 4.0
    by_alpha = [own]
    for alpha in (center * factor for factor in _FACTORS_OF_ALPHA):
        if not math.isclose(alpha, own.alpha, rel_tol=1e-6):
            other = _with_alpha(section, alpha)
            by_alpha.append(mixing_of(grouping, groups, other.around(grouping.groups, order)))
    return GroupsPlan(
        mixing=own,
        by_alpha=tuple(sorted(by_alpha, key=lambda each: each.alpha)),
        by_reach=tuple(_reaches(section, groups, grouping, shuffler)),
    )


def _with_alpha(section: GroupedSection, alpha: float) -> GroupedSection:
    """The same shuffle with another loss, however the task gives its own."""
    changed: dict[str, Any] = {"alpha": alpha}
    if getattr(section, "concentration", None) is not None:
        changed["concentration"] = None
    return cast(GroupedSection, replace(cast(Any, section), **changed))


def _reaches(section: GroupedSection, groups: GroupsSection, grouping: Grouping, shuffler: SlotShuffler) -> list[Reach]:
    points, metric = grouping.coordinates, groups.metric or "euclidean"
    if points is None or math.isinf(shuffler.prepare().model.alpha):
        return []
    found = []
    for value in _values(groups, len(points)):
        if groups.radius is not None:
            other = Groups.from_radius(points, value, metric)
        else:
            other = Groups.from_neighbors(points, int(value), metric)
        many = other.site_sizes.size > _MOST_SITES
        there = Grouping(other, points)
        order = shuffler.prepare().order if many else there.order(section.order)
        found.append(
            Reach(
                key="neighbors" if groups.radius is None else "radius",
                value=float(value),
                mixing=mixing_of(there, groups, section.around(other, order)),
            )
        )
    return found


def _values(groups: GroupsSection, people: int) -> list[float]:
    """Other radii, or numbers of neighbors; each once, and none that is the task's own."""
    if groups.radius is not None:
        return [groups.radius * factor for factor in _FACTORS_OF_REACH] if 0 < groups.radius < math.inf else []
    own = int(groups.neighbors or 1)
    others = {max(1, min(round(own * factor), people - 1)) for factor in _FACTORS_OF_REACH}
    return [float(value) for value in sorted(others - {own})]
