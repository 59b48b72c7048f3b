"""A task before its collection: what its randomizer will cost and give, and which other one would do better."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from shuffledp import _validate
from shuffledp._described import Described
from shuffledp._version import __version__
from shuffledp.accounting import account, account_all
from shuffledp.errors import BatchTooSmallError, InvalidParameterError, UnsupportedModelError
from shuffledp.flow import Shuffler
from shuffledp.guarantees import Guarantee
from shuffledp.models import ProtocolModel, ShuffleModel
from shuffledp.shufflers import RandomWalkShuffler, SlotShuffler
from shuffledp.statements import PrivacyStatement
from shuffledp.tasks.budget import composed_columns, composed_with
from shuffledp.tasks.earlier import read_earlier
from shuffledp.tasks.grouped_shufflers import GroupedSection
from shuffledp.tasks.groups import Grouping
from shuffledp.tasks.groups_planning import GroupsPlan, plan_groups
from shuffledp.tasks.joint import JointTask
from shuffledp.tasks.mixing import warnings_of
from shuffledp.tasks.network import Graphs, NetworkSection
from shuffledp.tasks.network_plan import NetworkPlan
from shuffledp.tasks.network_planning import plan_network
from shuffledp.tasks.network_rounds import Progress, statements_of_parts, walking
from shuffledp.tasks.protocols import ProtocolPlan, ProtocolSection
from shuffledp.tasks.randomizers import ExpectedError, RandomizerSection
from shuffledp.tasks.task import Missing, Task

__all__ = ["ColumnPlan", "Option", "Plan", "Unfit", "plan", "planned_people", "require_planned"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Option(Described):
    """A randomizer that could do the task.

    Args:
        kind: as in the task file.
        chosen: whether it is the task's own.
        report_bits: size of what one person sends, in bits; None where that differs from person to person.
        error: how far estimates will be off.
        local: what all that one person sends guarantees by itself.
        central: what is guaranteed about everything released; None where no theorem says anything.
        theorem: by which theorem it is; None where there is none.
    """

    kind: str
    chosen: bool
    report_bits: int | None
    error: ExpectedError
    local: Guarantee
    central: Guarantee | None
    theorem: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfit(Described):
    """A randomizer of the same kind of answers that cannot do the task.

    Args:
        kind: as in the task file.
        reason: why not.
    """

    kind: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnPlan:
    """What to expect of one private column.

    Args:
        value: the column.
        options: the randomizers that could do it, those of the smallest error first, the task's own among them.
        unfit: the others for the same kind of answers.
        statements: what will be stated with the task's own: upper bound, lower bounds, local guarantee.
        protocol: what there is to say of a protocol beside that; None for a randomizer.
        network: what walks along a graph do, if the shuffle is one of them.
    """

    value: str
    options: tuple[Option, ...]
    unfit: tuple[Unfit, ...]
    statements: tuple[PrivacyStatement, ...]
    protocol: ProtocolPlan | None = None
    network: NetworkPlan | None = None

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
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to expect of a task, from its public parameters alone.

    Args:
        task: the task.
        num_users: people planned for.
        columns: one for each private column.
        statements: what will be stated about one person, if so many people take part.
        groups: what the shuffle does to the groups, if it is about groups.
        warnings: what to know before anything is collected that way; empty if there is nothing.
    """

    task: Task | JointTask
    num_users: int
    columns: tuple[ColumnPlan, ...]
    statements: tuple[PrivacyStatement, ...]
    groups: GroupsPlan | None = None
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
            "warnings": list(self.warnings),
        }


def plan(
    task: Task | JointTask,
    num_users: int | None = None,
    *,
    earlier: Sequence[Path] = (),
    grouping: Grouping | None = None,
    graphs: Graphs | None = None,
    progress: Progress | None = None,
) -> Plan:
    """What to expect of a task, and of every other randomizer that could do it.

    Others get the task's own values of all keys that they have too, such as epsilon0 and the categories or the range,
    and their defaults for the rest.

    Args:
        task: the task; nothing needs to have been collected.
        num_users: people who will take part, 1 or more; None is what the task expects.
        earlier: the ``statement.json`` of each earlier release about the same people that the task names.
        grouping: the groups of the people, for a task with groups; they say how many people there will be.
        graphs: those that reports walk along, for a network shuffle; they say how many people there will be.
        progress: told how many numbers of rounds of a network shuffle have been accounted for.

    Raises:
        InvalidParameterError: if ``earlier`` is not as the task says, or ``grouping`` or ``graphs`` are missing, or of
            another number of people.
        BatchTooSmallError: if so many people are fewer than the task's smallest batch.
        InvalidParameterError: if neither ``num_users`` nor the task says how many people there will be.
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
    shuffler = None if graphs is not None else task.shuffler.shuffler(grouping)
    task = task.expecting(num_users)
    if num_users < task.release.minimum_batch:
        raise BatchTooSmallError(
            f"a release needs at least minimum_batch = {task.release.minimum_batch} people; planned for {num_users}. "
            "Nothing would be released."
        )
    releases = read_earlier(task, earlier)
    parts = task.parts()
    for part in parts:
        require_planned(part, num_users)
    walks = [_Walks.of(part, graphs, progress) for part in parts] if graphs is not None else [None] * len(parts)
    shufflers = [shuffler if walk is None else walk.shuffler for walk in walks]
    models = [part.model(int(num_users), each) for part, each in zip(parts, shufflers, strict=True)]
    columns = tuple(_column_plan(*each) for each in zip(parts, models, shufflers, walks, strict=True))
    largest = models[0].shuffle.largest_group
    found = composed_columns(parts, [column.statements for column in columns], largest_group=largest)
    statements = composed_with(task, releases, found, largest_group=largest)
    groups = _groups_plan(task, grouping, shuffler)
    return Plan(
        task=task,
        num_users=int(num_users),
        columns=columns,
        statements=statements,
        groups=groups,
        warnings=(
            *dict.fromkeys(warning for model in models for warning in model.local.warnings),
            *(() if groups is None else warnings_of(groups.mixing, models)),
            *dict.fromkeys(warning for each in columns if each.network for warning in each.network.warnings),
        ),
    )


def planned_people(
    task: Task | JointTask, num_users: int | None, *, grouping: Grouping | None = None, graphs: Graphs | None = None
) -> int:
    """How many people there will be: those of the groups or the graph, else those asked for, else those expected.

    Raises:
        InvalidParameterError: if nothing says how many, two of these say different numbers, or it is less than 1.
    """
    if grouping is not None or graphs is not None:
        people = grouping.groups.num_users if grouping is not None else (graphs or ())[0].num_users
        if num_users not in (None, people):
            raise _validate.invalid(f"the number of people in the input, {people}, or left out", num_users=num_users)
        return people
    num_users = task.people.expected if num_users is None else num_users
    if num_users is None:
        raise InvalidParameterError(
            "num_users must be given (--users N), or expected in the task's table [people], because errors and "
            "guarantees depend on it; got neither."
        )
    _validate.integer_at_least(1, num_users=num_users)
    return num_users


def require_planned(task: Task, num_users: int) -> None:
    """Refuse numbers of people of whom nothing would be released, as the protocol and the shuffler are described."""
    task.require_people(num_users, planned=True)
    most = task.randomizer.most_people
    if most is not None and num_users > most:
        raise _validate.invalid(f"at most expected={most} in the task's table [people]", num_users=num_users)
    rows, fewer = task.shuffler.num_rows, task.missing is Missing.DROP
    if rows is not None and (num_users > rows or (num_users < rows and not fewer)):
        raise InvalidParameterError(
            f"[shuffler] offsets must be one for each row of the input, so {'at least ' * fewer}as many as the "
            f"num_users={num_users} people planned for; got {rows}."
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Walks:
    """Walks of one column's reports, before what they do is worked out."""

    section: NetworkSection
    graphs: Graphs
    shuffler: RandomWalkShuffler
    progress: Progress | None

    @classmethod
    def of(cls, task: Task, graphs: Graphs, progress: Progress | None) -> "_Walks":
        section = task.shuffler
        if not isinstance(section, NetworkSection):
            raise _validate.invalid("left out but for a 'network' shuffle", graphs="graphs")
        shuffler = walking(section, graphs, task.randomizer.randomizer(), task.release.delta, progress=progress)
        return cls(section=section, graphs=graphs, shuffler=shuffler, progress=progress)

    def plan(self, task: Task) -> NetworkPlan:
        return plan_network(
            self.section,
            self.graphs,
            task.randomizer.randomizer(),
            task.release.delta,
            shuffler=self.shuffler,
            progress=self.progress,
        )


def _groups_plan(task: Task | JointTask, grouping: Grouping | None, shuffler: Shuffler | None) -> GroupsPlan | None:
    section, groups = task.shuffler, task.groups
    if grouping is None or groups is None or not isinstance(section, GroupedSection):
        return None
    return plan_groups(section, groups, grouping, cast(SlotShuffler, shuffler))


def _column_plan(task: Task, model: ProtocolModel, shuffler: Shuffler | None, walks: _Walks | None) -> ColumnPlan:
    num_users = model.num_users
    chosen, unit = task.randomizer, task.randomizer.unit_of(num_users)
    options, unfit = [_option(task, num_users, shuffler)], []
    for kind, member in RandomizerSection.members().items():
        if kind == chosen.kind or member.answers != chosen.reads:
            continue
        try:
            other = replace(task, randomizer=chosen.instead(member))
            options.append(_option(other, num_users, shuffler, chosen=False, unit=unit))
        except InvalidParameterError as error:
            unfit.append(Unfit(kind=kind, reason=str(error).removeprefix(f"{member.title} ")))
    statements = account_all(model, delta=task.release.delta)
    if walks is not None:
        statements = statements_of_parts(walks.shuffler, model.local, task.release.delta, statements)
    return ColumnPlan(
        value=task.value,
        options=tuple(sorted(options, key=_rank)),
        unfit=tuple(unfit),
        statements=statements,
        protocol=chosen.plan(model.shuffle) if isinstance(chosen, ProtocolSection) else None,
        network=None if walks is None else walks.plan(task),
    )


def _option(task: Task, num_users: int, shuffler: Shuffler | None, *, chosen: bool = True, unit: float = 1.0) -> Option:
    """One randomizer; ``unit`` is what brings the error of an average to the units of the task's own statistic."""
    model = task.model(num_users, shuffler)
    try:
        stated = account(model, delta=task.release.delta)
        if isinstance(shuffler, RandomWalkShuffler):
            stated = statements_of_parts(shuffler, model.local, task.release.delta, (stated,))[0]
    except UnsupportedModelError:
        stated = None
    bits, error = model.local.report_bits, _as_arriving(task.randomizer.expected_error(num_users), model.shuffle)
    if unit != 1:
        error = replace(error, standard_error=error.standard_error * unit, sampling_error=error.sampling_error * unit)
    return Option(
        kind=task.randomizer.kind,
        chosen=chosen,
        report_bits=None if bits is None else bits * model.local.num_messages,
        error=error,
        local=model.local.guarantee,
        central=None if stated is None else stated.guarantee,
        theorem=None if stated is None else stated.basis.theorem,
    )


def _as_arriving(error: ExpectedError, shuffle: ShuffleModel) -> ExpectedError:
    """The error where reports are lost on their way, or dummies are among those that arrive."""
    fraction, arriving = (shuffle.dummies.fraction if shuffle.dummies else 0.0), shuffle.arrival_share
    if arriving in (0.0, 1.0) and not fraction:
        return error
    lost = error.sampling_error**2 * (1 / arriving - 1)  # of a sample of the people
    noise = error.standard_error / math.sqrt(arriving * (1 - fraction))
    return replace(error, standard_error=math.hypot(noise, math.sqrt(lost)))


def _rank(option: Option) -> tuple[float, float, str]:
    """The smallest error first; errors are alike where they differ by less than a part in a million."""
    bits = float("inf") if option.report_bits is None else option.report_bits
    return float(f"{option.error.standard_error:.6g}"), bits, option.kind
