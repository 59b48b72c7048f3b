"""Search for settings of a task with groups that meet requirements: alpha, radius and mechanism."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from shuffledp.accounting.theorem import common_randomizer, not_adaptive, one_message_each, pure_local
from shuffledp.core.described import Described, without_none
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.flow import Progress
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.core.table import Integers
from shuffledp.planning.family_plan import FamilyPlan
from shuffledp.planning.mechanism_choice import expected_error
from shuffledp.protocols.d_sigma.people.orders import reference_order
from shuffledp.protocols.d_sigma.planning.displacement_choice import mean_displacement
from shuffledp.protocols.d_sigma.planning.group_mixing import mixing_of
from shuffledp.protocols.d_sigma.planning.person_guarantees import naming_chances_by_rank
from shuffledp.protocols.d_sigma.planning.personal_promises import (
    Promises,
    SpreadOverPeople,
    promises_of,
    require_fitting,
    uniform_of,
)
from shuffledp.protocols.d_sigma.planning.wanted_settings import (
    Limits,
    Make,
    Requirements,
    can_be_hidden,
    crowd_wanted,
    epsilon0_wanted,
    kept_on_average,
    limits_apart,
    limits_of,
)
from shuffledp.protocols.d_sigma.shufflers.reference_order import SlotShuffler
from shuffledp.protocols.d_sigma.survey.groups import Grouping, GroupsSection
from shuffledp.protocols.d_sigma.survey.pilot import section_with_groups
from shuffledp.protocols.d_sigma.survey.pilot_bench import shuffler_of
from shuffledp.protocols.d_sigma.survey.pilot_results import EVEN, GAUSSIAN, LAPLACE, MALLOWS, SPENDING, Setting
from shuffledp.protocols.d_sigma.survey.resized_groups import groupings_around
from shuffledp.survey.columns import Column

_LITTLE_MORE = 1.15  # times the least displacement
_PURE = (MALLOWS, LAPLACE, EVEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSetting(Described):
    """Result of the search for one mechanism and one radius (or number of neighbors) of the groups.

    Args:
        setting: the mechanism and the groups; ``alpha`` is what to take, None if nothing meets all that is wanted.
        limits: the alphas that do, and what is to blame if none does.
        displacement: how many ranks a report then moves on average; None without an alpha.
        kept: share of a group's slots that hold a report of the group, on average, of the task's own groups whatever
            the reach is; None without an alpha.
        promises: what each person is promised then.
    """

    setting: Setting
    limits: Limits
    displacement: float | None = None
    kept: float | None = None
    promises: Promises | None = None

    @property
    def num_impossible(self) -> int:
        """Number of people for whom no alpha meets a requirement; the largest over all requirements."""
        return max(self.limits.impossible.values(), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut(Described):
    """People of one place, label or input row for whom no alpha gives the wanted chance of naming a report.

    Args:
        people: how many.
        at: coordinates of the place; of groups without coordinates empty, and then these people are one ``row``, or
            share a label.
        row: a row of the input that is one of them, from 0.
        label: of their group, where groups are labels; else None.
    """

    people: int
    at: tuple[float, ...]
    row: int
    label: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """All fields, as a dictionary; without ``label`` where it is None."""
        return without_none(super(LeftOut, self).to_dict(), "label")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenSetting(Described):
    """Facts about the chosen setting: share of reports kept, error, naming chances, and people left out.

    Args:
        kept_there: share of slots that hold a report of the group, of groups of the setting's own reach: what a plan
            of these lines says.
        median: people in the task's own group of half of the people, or fewer.
        error: standard error that randomizing alone gives a share (or mean) in that group; None of open answers.
        named: chances of naming one report over the people for whom the wanted chance is possible; None if that is not
            wanted.
        left_out: the others, by place.
    """

    kept_there: float
    median: int
    error: float | None
    named: SpreadOverPeople | None
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsSought(FamilyPlan):
    """Settings that meet the requirements on a shuffle near an order.

    Args:
        wanted: the requirements.
        num_users: people.
        epsilon0: local loss.
        crowd: others who must hide a report fully, for the wanted chance of naming it; None if none is wanted.
        epsilon0_least: the largest local loss with which the largest block would be crowd enough; None likewise.
        found: by mechanism and reach.
        best: number of the one to take (see ``choose``); None if none does.
        chosen: what the one to take does besides; None if none does.
        one_of_several: whether the column is one of several of the task: then all promises are about its reports alone.
    """

    key: ClassVar[str] = "sought"
    wanted: Requirements
    num_users: int
    epsilon0: float
    crowd: float | None
    epsilon0_least: float | None
    found: tuple[FoundSetting, ...]
    best: int | None
    chosen: "ChosenSetting | None" = None
    one_of_several: bool = False


def seek(column: Column, grouping: Grouping, wanted: Requirements, *, progress: Progress | None = None) -> GroupsSought:
    """Settings of a task that meet the requirements, from public columns alone.

    Args:
        column: a private column of the task, with groups.
        grouping: the groups of its people.
        wanted: the requirements.
        progress: told how many mechanisms and reaches are done.

    Raises:
        InvalidParameterError: for a task without groups, or whose reports no theorem about names and places covers.
    """
    section, groups_section = section_with_groups(column)
    local: LocalModel = column.randomizer.randomizer().model
    _require_covered(local, grouping.num_users)
    require_fitting(wanted.household, grouping.num_users)
    delta = getattr(section, "delta", None) or column.release.delta
    if progress is not None:
        progress(0, None)  # groups of other reaches, and the order of the first, take some seconds
    settings = list(_settings(groups_section, grouping, delta, wanted))
    uniform, orders, found = (
        uniform_of(local, grouping.num_users, column.release.delta),
        dict[float | None, Integers](),
        [],
    )
    for done, (setting, groups) in enumerate(settings):
        if progress is not None:
            progress(done, len(settings))
        if setting.reach not in orders:
            orders[setting.reach] = reference_order(groups.groups, coordinates=groups.coordinates, method=section.order)
        make: Make
        if _stay_apart(grouping, wanted):
            make = partial(_with_alpha, setting, groups, orders[setting.reach])
            limits = limits_apart(wanted, make, local.epsilon0, uniform)
        else:
            make = shuffler_of(replace(setting, alpha=1.0), groups, orders[setting.reach]).with_alpha
            limits = limits_of(wanted, make, grouping.groups, local.epsilon0, uniform)
        found.append(_sought(setting, limits, make, grouping=grouping, column=column, wanted=wanted))
    if progress is not None:
        progress(len(settings), len(settings))
    best = choose(found, wanted, _own_reach(groups_section))
    chosen: ChosenSetting | None = None
    if best is not None:
        order = orders[settings[best][0].reach]
        chosen = _chosen(found[best], settings[best][1], own=grouping, order=order, local=local, wanted=wanted)
        if settings[best][1].groups.digest == grouping.groups.digest:  # two places state one number
            found[best] = replace(found[best], kept=chosen.kept_there)
    crowd = None if wanted.slot_chance is None else crowd_wanted(wanted.slot_chance, local.epsilon0)
    largest = grouping.num_users - 1
    least = None if wanted.slot_chance is None else epsilon0_wanted(wanted.slot_chance, largest)
    return GroupsSought(
        wanted=wanted,
        num_users=grouping.num_users,
        epsilon0=float(local.epsilon0),
        crowd=crowd,
        epsilon0_least=None if least is None or least < 0 else least,
        found=tuple(found),
        best=best,
        one_of_several=column.part_of is not None,
        chosen=chosen,
    )


def _stay_apart(grouping: Grouping, wanted: Requirements) -> bool:
    """Whether alpha 0 is enough: groups do not overlap, and no limit on displacement is required."""
    return not grouping.overlapping and wanted.blur is None


def _with_alpha(setting: Setting, groups: Grouping, order: Integers, alpha: float) -> SlotShuffler:
    """Shuffler of a setting with another alpha, which may be 0."""
    return shuffler_of(replace(setting, alpha=alpha), groups, order)


def _sought(
    setting: Setting,
    limits: Limits,
    make: Make,
    *,
    grouping: Grouping,
    column: Column,
    wanted: Requirements,
) -> FoundSetting:
    """Result for one mechanism and one radius, with the effects of the recommended alpha where it exists."""
    if limits.alpha is None:
        return FoundSetting(setting=setting, limits=limits)
    shuffler = make(limits.alpha)
    return FoundSetting(
        setting=replace(setting, alpha=limits.alpha),
        limits=limits,
        displacement=mean_displacement(shuffler),
        kept=kept_on_average(shuffler, grouping.groups),
        promises=promises_of(
            shuffler,
            grouping.groups,
            column.randomizer.randomizer().model,
            delta=column.release.delta,
            sizes=() if wanted.household is None else (wanted.household,),
            with_regions=False,
        ),
    )


def _chosen(
    best: FoundSetting,
    groups: Grouping,
    *,
    own: Grouping,
    order: Integers,
    local: LocalModel,
    wanted: Requirements,
) -> ChosenSetting:
    """Record of facts about the setting ``best``, such as the share that its groups keep."""
    shuffler = shuffler_of(best.setting, groups, order)
    named, out = None, np.zeros(0, dtype=np.int64)
    if wanted.slot_chance is not None:
        possible = can_be_hidden(shuffler, local.epsilon0, wanted.slot_chance)
        named = SpreadOverPeople.of(naming_chances_by_rank(shuffler, local.epsilon0)[possible])
        out = np.sort(shuffler.prepare().order[~possible])
    median = int(np.median(own.groups.sizes[own.groups.own]))
    try:
        error: float | None = expected_error(local, median).standard_error
    except UnsupportedModelError:
        error = None
    return ChosenSetting(
        kept_there=mixing_of(groups.groups, shuffler).kept,
        median=median,
        error=error,
        named=named,
        left_out=tuple(_places(out, groups)),
    )


def _places(people: Integers, groups: Grouping) -> Iterator[LeftOut]:
    """Places or labels of these people, those with most people first."""
    labels, points = groups.labels, groups.coordinates
    if labels is None and points is None:
        yield from (LeftOut(people=1, at=(), row=person) for person in people.tolist())
        return
    several = np.asarray(labels)[people].astype(str) if points is None else points[people]
    places, first, counts = np.unique(several, axis=0, return_index=True, return_counts=True)
    for number in np.argsort(-counts, kind="stable").tolist():
        yield LeftOut(
            people=int(counts[number]),
            at=() if points is None else tuple(places[number].tolist()),
            row=int(people[first[number]]),
            label=str(places[number]) if points is None else None,
        )


def _require_covered(local: LocalModel, people: int) -> None:
    """Refuse randomizers that the theorems do not cover."""
    from shuffledp.shufflers import UniformShuffler

    model = ProtocolModel(local=local, shuffle=UniformShuffler().model(people))
    needed = (common_randomizer(model), not_adaptive(model), one_message_each(model), pure_local(model))
    for each in needed:
        if not each.holds:
            raise InvalidParameterError(f"[randomizer] must have {each.text} for this; got {each.value}.")


def _settings(
    section: GroupsSection, grouping: Grouping, delta: float, wanted: Requirements
) -> Iterator[tuple[Setting, Grouping]]:
    """Settings to try, by radius (or size) of the groups.

    Without Gaussian noise if households or central loss matter.

    Groups that do not overlap need one setting, a uniform shuffle inside each.
    """
    if _stay_apart(grouping, wanted):
        largest = int(grouping.groups.sizes.max())
        yield Setting(mechanism=MALLOWS, delta=0.0, reach=_own_reach(section), largest=largest), grouping
        return
    with_gaussian = wanted.household is None and wanted.epsilon is None
    for reach, groups in groupings_around(section, grouping).items():
        largest = int(groups.groups.sizes.max())
        for mechanism in (*_PURE, SPENDING, *((GAUSSIAN,) if with_gaussian else ())):
            remainder = delta if mechanism in {SPENDING, GAUSSIAN} else 0.0
            yield Setting(mechanism=mechanism, delta=remainder, reach=reach, largest=largest), groups


def _own_reach(section: GroupsSection) -> float | None:
    """Radius or number of neighbors of a task; None where groups have neither."""
    reach = section.radius if section.radius is not None else section.neighbors
    return None if reach is None else float(reach)


def choose(found: Sequence[FoundSetting], wanted: Requirements, own: float | None) -> int | None:
    """Index of the setting to choose: fewest people left out first, then the task's own reach.

    Another reach would promise the order of other groups. Of these, one that no other of these beats (see ``_beats``):
    if people are hidden as wanted, of those that displace little more than the least a pure one with the smallest
    alpha, which promises more of the order besides; else the best hidden of those that keep as wanted.
    """
    possible = [each for each in found if each.displacement is not None]
    if not possible:
        return None

    def rank(each: FoundSetting) -> tuple[int, bool]:
        return each.num_impossible, each.setting.reach != own

    first = min(map(rank, possible))
    alike = [each for each in possible if rank(each) == first]
    alike = [each for each in alike if not any(_beats(other, each) for other in alike)]
    if wanted.hides:
        most = _LITTLE_MORE * min(each.displacement or 0.0 for each in alike)
        near = [each for each in alike if (each.displacement or 0.0) <= most]
        return list(found).index(min(near, key=lambda each: (each.setting.delta > 0, each.setting.alpha or 0.0)))

    def hidden(each: FoundSetting) -> float:
        return math.inf if each.promises is None else each.promises.named.nine_in_ten

    return list(found).index(min(alike, key=hidden))


def _beats(other: FoundSetting, one: FoundSetting) -> bool:
    """Whether another setting is at least as good in all printed numbers, and better in at least one."""

    def printed(each: FoundSetting) -> tuple[float, ...]:
        named = 1.0 if each.promises is None else each.promises.named.most
        return each.num_impossible, round(each.displacement or 0.0), -round(each.kept or 0.0, 3), round(named, 3)

    pairs = list(zip(printed(other), printed(one), strict=True))
    return all(better <= own for better, own in pairs) and any(better < own for better, own in pairs)
