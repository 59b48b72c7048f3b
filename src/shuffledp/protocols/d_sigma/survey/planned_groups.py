"""Plan of a task with groups: their mixing by the shuffle, beside other losses and other groups."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from shuffledp.core.table import Integers
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.planning.group_mixing import GroupsPlan, plan_mixing
from shuffledp.protocols.d_sigma.planning.personal_promises import HOUSEHOLDS, promises_of, require_fitting
from shuffledp.protocols.d_sigma.shufflers.reference_order import SlotShuffler
from shuffledp.protocols.d_sigma.survey.groups import Grouping, GroupsSection
from shuffledp.survey.columns import Column

if TYPE_CHECKING:
    from shuffledp.protocols.d_sigma.survey.grouped_section import GroupedSection


def plan_of_groups(
    section: "GroupedSection", groups: GroupsSection, grouping: Grouping, shuffler: SlotShuffler, column: Column
) -> GroupsPlan:
    """Plan of the mixing of groups by the shuffler of a task.

    Args:
        section: the table ``[shuffler]``.
        groups: the table ``[groups]``.
        grouping: the groups made by it.
        shuffler: the shuffler of these groups.
        column: a private column of the task; of one alone, promises to each person are planned too.
    """

    def family(others: Groups, order: Integers, alpha: float | None) -> SlotShuffler:
        if alpha is None:
            return section.around(others, order)
        # A task may give a concentration in place of alpha: only one may remain.
        given = {"concentration": None} if getattr(section, "concentration", None) is not None else {}
        return cast("GroupedSection", replace(cast(Any, section), alpha=alpha, **given)).around(others, order)

    reaches = {"radius": groups.radius, "neighbors": groups.neighbors}
    promises = None
    if column.part_of is None:
        local = column.randomizer.randomizer().model
        own, people = column.people.household, grouping.num_users
        require_fitting(own, people)
        sizes = (own,) if isinstance(own, int) else tuple(size for size in HOUSEHOLDS if size <= people)
        promises = promises_of(
            shuffler,
            grouping.groups,
            local,
            delta=column.release.delta,
            sizes=sizes,
            households=grouping.households,
            common=own if isinstance(own, int) else None,
        )
    found = plan_mixing(
        grouping.groups,
        shuffler,
        family,
        reach=next(((key, float(value)) for key, value in reaches.items() if value is not None), None),
        coordinates=grouping.coordinates,
        metric=groups.metric,
        method=section.order,
    )
    return replace(found, promises=promises)
