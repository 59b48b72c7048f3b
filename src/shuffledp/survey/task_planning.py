"""Plan of a task before its collection: expected loss and error, and randomizers that would do better."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from shuffledp._version import __version__
from shuffledp.accounting import account_all
from shuffledp.core import validate
from shuffledp.core.described import Described
from shuffledp.core.errors import BatchTooSmallError, InvalidParameterError
from shuffledp.core.flow import Progress, Shuffler
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.table import Integers
from shuffledp.planning.mechanism_choice import Option, option_of, ranked
from shuffledp.planning.trusted_curator import TrustedCurator
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.planning.group_mixing import GroupsPlan, Mixing, mixing_warnings, plan_mixing
from shuffledp.protocols.d_sigma.planning.group_mixing import mixing_of as mixing_of_groups
from shuffledp.protocols.d_sigma.shufflers.reference_order import SlotShuffler
from shuffledp.protocols.d_sigma.survey.groups import Grouping, GroupsSection
from shuffledp.protocols.network import NetworkSection, Overlay, RandomWalkShuffler
from shuffledp.protocols.network.laws.walk_distributions import people_of
from shuffledp.protocols.network.people.overlays import Contacts
from shuffledp.protocols.shares.survey.protocol_section import ProtocolPlan, ProtocolSection
from shuffledp.protocols.strata import Strata, StrataPlan, StratifiedSection, StratifiedShuffler
from shuffledp.survey.budget import composed_columns, composed_with
from shuffledp.survey.columns import Column, Missing
from shuffledp.survey.earlier import read_earlier
from shuffledp.survey.questions.question import Question
from shuffledp.survey.shuffler_section import GroupedSection
from shuffledp.survey.task import Task

if TYPE_CHECKING:
    from shuffledp.planning.people_needed import PeoplePlan
    from shuffledp.protocols.network.planning.overlay_plan import WalksPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfit(Described):
    """A randomizer for the same answers that cannot do the task, with the reason."""

    kind: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnPlan:
    """The plan of one private column.

    Args:
        value: the column.
        options: the randomizers that could do it, those of the smallest error first, the task's own among them.
        unfit: the others for the same kind of answers.
        statements: what will be stated with the task's own: upper bound, lower bounds, local guarantee.
        protocol: what there is to say of a protocol beside that; None for a randomizer.
        network: what walks along a graph or an overlay do, if the shuffle is one of them.
        curator: what a trusted curator would err with what is stated; None where there is none to stand beside.
    """

    value: str
    options: tuple[Option, ...]
    unfit: tuple[Unfit, ...]
    statements: tuple[PrivacyStatement, ...]
    protocol: ProtocolPlan | None = None
    network: "WalksPlan | None" = None
    curator: TrustedCurator | None = None

    @property
    def chosen(self) -> Option:
        """The task's own randomizer."""
        return next(option for option in self.options if option.chosen)

    def to_dict(self) -> dict[str, Any]:
        """The column's part of the object that ``shuffledp plan --json`` prints."""
        return {
            "value": self.value,
            "options": [option.to_dict() for option in self.options],
            "unfit": [each.to_dict() for each in self.unfit],
            "statements": [statement.to_dict() for statement in self.statements],
            **({} if self.protocol is None else {"protocol": self.protocol.to_dict()}),
            **({} if self.network is None else {"network": self.network.to_dict()}),
            "curator": None if self.curator is None else self.curator.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The plan of a task, from its public parameters alone.

    Args:
        task: the task.
        num_users: people planned for.
        columns: one for each private column.
        statements: what will be stated about one person, if this number of people take part.
        groups: what the shuffle does to the groups, if it is about groups.
        strata: those that there are, if it is inside strata.
        warnings: what to know before anything is collected that way; empty if there is nothing.
    """

    task: Task
    num_users: int
    columns: tuple[ColumnPlan, ...]
    statements: tuple[PrivacyStatement, ...]
    groups: GroupsPlan | None = None
    strata: StrataPlan | None = None
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The one object that ``shuffledp plan --json`` prints (``plan`` in docs/schema.json)."""
        return {
            "task": self.task.to_dict(),
            "task_sha256": self.task.sha256,
            "library_version": __version__,
            "num_users": self.num_users,
            "statements": [statement.to_dict() for statement in self.statements],
            "columns": [column.to_dict() for column in self.columns],
            **({} if self.groups is None else {"groups": self.groups.to_dict()}),
            **({} if self.strata is None else {"strata": self.strata.to_dict()}),
            "warnings": list(self.warnings),
        }


def plan(
    task: Task,
    num_users: int | None = None,
    *,
    earlier: Sequence[Path] = (),
    grouping: Grouping | Strata | None = None,
    graphs: Contacts | None = None,
    alone: bool = False,
    progress: Progress | None = None,
) -> Plan:
    """The plan of a task, beside every other randomizer that could do it.

    Others get the task's own values of all keys that they have too, such as epsilon0 and the categories or the range,
    and their defaults for the rest.

    Args:
        task: the task; nothing needs to have been collected.
        num_users: people who will take part, 1 or more; None is what the task expects.
        earlier: the ``statement.json`` of each earlier release about the same people that the task names.
        grouping: the groups of the people, for a task with groups, or their strata, for one with ``by`` or ``weight``;
            they say how many people there will be. Without strata, the smallest has as many as the smallest batch.
        graphs: those that reports walk along, for a network shuffle; they say how many people there will be.
        alone: whether other randomizers are left out, which take longer than the task itself.
        progress: told how many numbers of rounds of a network shuffle have been accounted for.

    Raises:
        InvalidParameterError: if ``earlier`` is not as the task says, ``grouping`` or ``graphs`` are missing, or no one
            number of people follows from all that is given.
        BatchTooSmallError: if this number of people, or that of a stratum, is below the task's smallest batch.
        UnsupportedModelError: if nothing is known about the privacy of the task itself.

    Example:
        >>> task = Task.from_dict({
        ...     "name": "survey", "value": "town", "people": {"expected": 10_000},
        ...     "randomizer": {"kind": "k-rr", "epsilon0": 1.0, "categories": [f"town {i}" for i in range(100)]},
        ...     "release": {"delta": 1e-6},
        ... })
        >>> [(option.kind, option.report_bits) for option in plan(task).columns[0].options][0]
        ('subset', 100)
    """
    num_users = planned_people(task, num_users, grouping=grouping, graphs=graphs)
    if graphs is not None and not isinstance(task.shuffler, NetworkSection):
        raise validate.invalid("left out but for a 'network' shuffle", graphs="graphs")
    task = task.expecting(num_users)
    if num_users < task.release.minimum_batch:
        raise BatchTooSmallError(
            f"a release needs at least minimum_batch = {task.release.minimum_batch} people; planned for {num_users}. "
            "Nothing would be released."
        )
    first = task.columns[0]
    shuffler = None if graphs is not None else shuffler_of(first, grouping, num_users=num_users)
    releases = read_earlier(task, earlier)
    for column in task.columns:
        require_planned(column, num_users, grouping)
    shufflers = [
        shuffler_of(column, None, graphs, progress=progress) if shuffler is None else shuffler
        for column in task.columns
    ]
    models = [column.model(int(num_users), each) for column, each in zip(task.columns, shufflers, strict=True)]
    walks = [_walks_plan(column, graphs, each, progress) for column, each in zip(task.columns, shufflers, strict=True)]
    planned = zip(task.columns, models, shufflers, walks, strict=True)
    columns = tuple(column_plan(*each, alone=alone) for each in planned)
    largest = models[0].shuffle.largest_group
    found = composed_columns(task.columns, [column.statements for column in columns], models, largest_group=largest)
    statements = composed_with(task, releases, found, models, largest_group=largest)
    groups = _groups_plan(task, grouping, shuffler)
    strata = StrataPlan.of(shuffler, known=grouping is not None) if isinstance(shuffler, StratifiedShuffler) else None
    return Plan(
        task=task,
        num_users=int(num_users),
        columns=columns,
        statements=statements,
        groups=groups,
        strata=strata,
        warnings=(
            *dict.fromkeys(warning for model in models for warning in model.local.warnings),
            *(() if groups is None else mixing_warnings(groups.mixing, models)),
            *dict.fromkeys(warning for each in columns if each.network for warning in each.network.warnings),
        ),
    )


def people_for_error(task: Task, *, half_width: float, target_epsilon: float | None = None) -> "PeoplePlan":
    """Numbers of people that lead to intervals of this half-width, the fewest first.

    Args:
        task: with one private column, and a uniform shuffle.
        half_width: as for `shuffledp.planning.people_for`; the level is the task's.
        target_epsilon: the central loss that is acceptable: then local losses are chosen for it, and other randomizers
            tried too; None is the task's own randomizer as it is.

    Raises:
        InvalidParameterError: if an argument is out of range, or for another task.
    """
    from shuffledp.planning.people_needed import PeoplePlan, fewest_people, people_for

    column = task.column if not task.in_blocks else None
    if column is None:
        raise InvalidParameterError("the task must have one private column to be asked for an error; it has several.")
    own = column.randomizer
    if not column.shuffler.is_uniform or isinstance(own, ProtocolSection):
        raise InvalidParameterError(
            "the task must have a uniform shuffle of everybody and a randomizer to be asked for an error: how errors "
            f"follow from people is not worked out for others; got [shuffler] kind={column.shuffler.kind!r}"
            f"{', with by or weight' * column.shuffler.needs_strata}."
        )
    release = column.release
    wanted: dict[str, Any] = {"half_width": half_width, "delta": release.delta, "level": release.level}
    wanted["least"] = release.minimum_batch
    if target_epsilon is None:
        needed = people_for(own.randomizer().model, **wanted)
        return PeoplePlan(half_width=half_width, target_epsilon=None, options=(needed,))
    sections = [own]
    for member in own.alternatives().values():
        with suppress(InvalidParameterError):
            sections.append(own.instead(member))
    families = {each.kind: partial(_at_loss, each) for each in sections}
    options = fewest_people(families, target_epsilon=target_epsilon, **wanted)
    return PeoplePlan(half_width=half_width, target_epsilon=target_epsilon, options=options)


def _at_loss(section: Question, epsilon0: float) -> LocalModel:
    """The model of a section's randomizer with another local loss."""
    model: LocalModel = replace(cast(Any, section), epsilon0=epsilon0).randomizer().model
    return model


def planned_people(
    task: Task, num_users: int | None, *, grouping: Grouping | Strata | None = None, graphs: Contacts | None = None
) -> int:
    """Planned number of people: that of groups, strata or a graph, else as given, or as expected by the task."""
    if grouping is not None or graphs is not None:
        people = grouping.num_users if grouping is not None else people_of(graphs or ())
        if num_users not in (None, people):
            raise validate.invalid(f"the number of people in the input, {people}, or left out", num_users=num_users)
        return people
    num_users = task.people.expected if num_users is None else num_users
    if num_users is None:
        raise InvalidParameterError(
            "num_users must be given (--users N), or expected in the task's table [people], because errors and "
            "guarantees depend on it; got neither."
        )
    validate.integer_at_least(1, num_users=num_users)
    return num_users


def require_planned(column: Column, num_users: int, grouping: Grouping | Strata | None = None) -> None:
    """Refuse a number of people with which the protocol and the shuffler would release nothing."""
    column.require_people(num_users, planned=True)
    if isinstance(column.shuffler, StratifiedSection) and isinstance(grouping, Strata):
        shuffle = column.shuffler.shuffler(grouping).model(num_users)
        column.shuffler.require_batch(shuffle, grouping.table, column, planned=True)
    most = column.randomizer.most_people
    if most is not None and num_users > most:
        raise validate.invalid(f"at most expected={most} in the task's table [people]", num_users=num_users)
    rows, fewer = column.shuffler.num_rows, column.missing is Missing.DROP
    if rows is not None and (num_users > rows or (num_users < rows and not fewer)):
        raise InvalidParameterError(
            f"[shuffler] offsets must be one for each row of the input, so {'at least ' * fewer}as many as the "
            f"num_users={num_users} people planned for; got {rows}."
        )


def shuffler_of(
    column: Column,
    grouping: Grouping | Strata | None = None,
    graphs: Contacts | None = None,
    *,
    num_users: int | None = None,
    progress: Progress | None = None,
) -> Shuffler:
    """The shuffler of a private column as in a run; refused if its groups, strata or graphs are not given.

    ``grouping`` is for a shuffle inside groups or strata, ``graphs`` for walks along them; rounds that the task leaves
    open are worked out, and ``progress`` is told how many were accounted for. For ``num_users`` people in unknown
    strata the smallest is as small as it may be.
    """
    section = column.shuffler
    if isinstance(section, StratifiedSection) and grouping is None and num_users is not None:
        return section.at_worst(num_users, column.release.minimum_batch)
    if graphs is None or not isinstance(section, NetworkSection):
        return section.shuffler(grouping)
    return section.walking(graphs, column.randomizer.randomizer(), column.release.delta, progress=progress)


def mixing_of(grouping: Grouping, groups: GroupsSection, shuffler: SlotShuffler) -> Mixing:
    """Mixing of the people of a task's groups by a shuffler."""
    return mixing_of_groups(grouping.groups, shuffler, coordinates=grouping.coordinates, metric=groups.metric)


def _groups_plan(task: Task, grouping: Grouping | Strata | None, shuffler: Shuffler | None) -> GroupsPlan | None:
    section, groups = task.shuffler, task.groups
    if not isinstance(grouping, Grouping) or groups is None or not isinstance(section, GroupedSection):
        return None

    def family(others: Groups, order: Integers, alpha: float | None) -> SlotShuffler:
        if alpha is None:
            return section.around(others, order)
        # A task may give a concentration in place of alpha: only one may remain.
        given = {"concentration": None} if getattr(section, "concentration", None) is not None else {}
        return cast(GroupedSection, replace(cast(Any, section), alpha=alpha, **given)).around(others, order)

    reaches = {"radius": groups.radius, "neighbors": groups.neighbors}
    return plan_mixing(
        grouping.groups,
        cast(SlotShuffler, shuffler),
        family,
        reach=next(((key, float(value)) for key, value in reaches.items() if value is not None), None),
        coordinates=grouping.coordinates,
        metric=groups.metric,
        method=section.order,
    )


def _walks_plan(
    column: Column, graphs: Contacts | None, shuffler: Shuffler, progress: Progress | None
) -> "WalksPlan | None":
    section, randomizer = column.shuffler, column.randomizer.randomizer()
    if graphs is None or not isinstance(section, NetworkSection) or not isinstance(shuffler, RandomWalkShuffler):
        return None
    return section.plan(graphs, randomizer, column.release.delta, shuffler=shuffler, progress=progress)


def _with_own_dummies(column: Column, shuffler: Shuffler) -> Shuffler:
    """The shuffler with dummies from this column's randomizer, if reports walk; any other unchanged."""
    section = column.shuffler
    if not isinstance(section, NetworkSection) or not isinstance(shuffler, RandomWalkShuffler):
        return shuffler
    graphs = shuffler.graph if isinstance(shuffler.graph, Overlay) else shuffler.graphs
    return section.along(graphs, column.randomizer.randomizer(), column.release.delta).shuffler(shuffler.num_rounds)


def column_plan(
    column: Column,
    model: ProtocolModel,
    shuffler: Shuffler,
    walks: "WalksPlan | None" = None,
    *,
    alone: bool = False,
    sharp: bool = True,
) -> ColumnPlan:
    """The plan of one private column; ``alone`` leaves out other randomizers, and not ``sharp`` what takes seconds.

    ``model`` is that of its people and its ``shuffler``, and ``walks`` is what these do, if they are walks.
    """
    num_users, delta, chosen = model.num_senders, column.release.delta, column.randomizer
    unit = chosen.unit_of(num_users)
    statements, error = account_all(model, delta=delta, sharp=sharp), chosen.expected_error(num_users)
    options, unfit = [option_of(chosen.kind, model, error, delta=delta, chosen=True, stated=statements[0])], []
    for kind, member in () if alone else chosen.alternatives().items():
        try:
            other = replace(column, randomizer=chosen.instead(member))
            options.append(_option(other, num_users, _with_own_dummies(other, shuffler), unit))
        except InvalidParameterError as refusal:
            unfit.append(Unfit(kind=kind, reason=str(refusal).removeprefix(f"{member.title} ")))
    return ColumnPlan(
        value=column.value,
        options=ranked(options),
        unfit=tuple(unfit),
        statements=statements,
        protocol=chosen.plan(model) if isinstance(chosen, ProtocolSection) else None,
        network=walks,
        curator=column.curator(model, statements[0]),
    )


def _option(column: Column, num_users: int, shuffler: Shuffler | None, unit: float) -> Option:
    """A randomizer with its errors; ``unit`` converts the error of an average to the unit of the task's statistic."""
    section = column.randomizer
    model, error = column.model(num_users, shuffler), section.expected_error(num_users)
    return option_of(section.kind, model, error, delta=column.release.delta, chosen=False, unit=unit)
