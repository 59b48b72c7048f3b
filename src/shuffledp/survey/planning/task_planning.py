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
from shuffledp.planning.family_plan import Around, FamilyPlan, Surroundings, entry_of, people_around
from shuffledp.planning.mechanism_choice import Option, option_of, ranked
from shuffledp.planning.trusted_curator import TrustedCurator
from shuffledp.survey.budget import composed_columns, composed_with
from shuffledp.survey.columns import Column, Missing
from shuffledp.survey.earlier import read_earlier
from shuffledp.survey.questions.question import Question
from shuffledp.survey.task import Task

if TYPE_CHECKING:
    from shuffledp.planning.detectable_differences import LeastDifference
    from shuffledp.planning.people_needed import PeoplePlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfit(Described):
    """A randomizer for the same answers that cannot do the task, with the reason."""

    kind: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnPlan:
    """The plan of one private column.

    Args:
        column: the column.
        model: its protocol, with the people planned for.
        options: the randomizers that could do it, those of the smallest error first, the task's own among them.
        unfit: the others for the same kind of answers.
        statements: what will be stated with the task's own: upper bound, lower bounds, local guarantee.
        of_question: what the family of the randomizer adds; None if nothing.
        of_shuffle: what the family of the shuffler adds to each column, as on walks; None if nothing.
        curator: what a trusted curator would err with what is stated; None where there is none to stand beside.
        least_differences: the least that comparisons of the task find; empty where it asks for none.
    """

    column: Column
    model: ProtocolModel
    options: tuple[Option, ...]
    unfit: tuple[Unfit, ...]
    statements: tuple[PrivacyStatement, ...]
    of_question: FamilyPlan | None = None
    of_shuffle: FamilyPlan | None = None
    curator: TrustedCurator | None = None
    least_differences: "tuple[LeastDifference, ...]" = ()

    @property
    def value(self) -> str:
        """Name of the column."""
        return self.column.value

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
            **entry_of(self.of_question),
            **entry_of(self.of_shuffle),
            "curator": None if self.curator is None else self.curator.to_dict(),
            **self._compared,
        }

    @property
    def _compared(self) -> dict[str, Any]:
        """Key ``least_differences`` of a plan, as a dictionary; empty if the task asks for no comparisons."""
        found = [each.to_dict() for each in self.least_differences]
        return {"least_differences": found} if found else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The plan of a task, from its public parameters alone.

    Args:
        task: the task.
        num_users: people planned for.
        columns: one for each private column.
        statements: what will be stated about one person, if this number of people take part.
        of_shuffle: what the family of the shuffler adds for all columns together, as on groups; None if nothing.
    """

    task: Task
    num_users: int
    columns: tuple[ColumnPlan, ...]
    statements: tuple[PrivacyStatement, ...]
    of_shuffle: FamilyPlan | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings to read before the collection begins; empty if there are none."""
        models = [column.model for column in self.columns]
        own = [(plan, [column.model]) for column in self.columns for plan in (column.of_question, column.of_shuffle)]
        added = [(self.of_shuffle, models), *own]
        return (
            *dict.fromkeys(warning for model in models for warning in model.local.warnings),
            *dict.fromkeys(warning for plan, of in added if plan for warning in plan.warnings_for(of)),
        )

    def to_dict(self) -> dict[str, Any]:
        """The one object that ``shuffledp plan --json`` prints (``plan`` in docs/schema.json)."""
        return {
            "task": self.task.to_dict(),
            "task_sha256": self.task.sha256,
            "library_version": __version__,
            "num_users": self.num_users,
            "statements": [statement.to_dict() for statement in self.statements],
            "columns": [column.to_dict() for column in self.columns],
            **entry_of(self.of_shuffle),
            "warnings": list(self.warnings),
        }


def plan(
    task: Task,
    num_users: int | None = None,
    *,
    earlier: Sequence[Path] = (),
    grouping: Surroundings | None = None,
    graphs: Around | None = None,
    alone: bool = False,
    progress: Progress | None = None,
) -> Plan:
    """The plan of a task and of all other randomizers that could do the task.

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
    around = grouping if graphs is None else graphs
    num_users = planned_people(task, num_users, around)
    if graphs is not None and not task.shuffler.needs_graph:
        raise validate.invalid("left out but for a 'network' shuffle", graphs="graphs")
    task = task.expecting(num_users)
    if num_users < task.release.minimum_batch:
        raise BatchTooSmallError(
            f"a release needs at least minimum_batch = {task.release.minimum_batch} people; planned for {num_users}. "
            "Nothing would be released."
        )
    first, section = task.columns[0], task.shuffler
    shared = None
    if not section.of_each_column or around is None:
        shared = section.shuffler_for(first, around, num_users=num_users)
    releases = read_earlier(task, earlier)
    for column in task.columns:
        require_planned(column, num_users, around)

    def planned(column: Column) -> ColumnPlan:
        if shared is not None:
            return column_plan(column, num_users, shared, alone=alone)
        shuffler = section.shuffler_for(column, around, progress=progress)
        added = section.family_plan(column, around, shuffler, progress=progress)
        return replace(column_plan(column, num_users, shuffler, alone=alone), of_shuffle=added)

    columns = tuple(map(planned, task.columns))
    if task.release.compare:
        from shuffledp.survey.planning.planned_comparisons import planned_comparisons

        columns = tuple(
            replace(each, least_differences=planned_comparisons(task, each.column, each.model)) for each in columns
        )
    models = [column.model for column in columns]
    largest = models[0].shuffle.largest_group
    stated = [column.statements for column in columns]
    if shared is not None and (len(columns) > 1 or releases):
        stated = [section.detailed(each, shared) for each in stated]
    found = composed_columns(task.columns, stated, models, largest_group=largest)
    return Plan(
        task=task,
        num_users=int(num_users),
        columns=columns,
        statements=composed_with(task, releases, found, models, largest_group=largest),
        of_shuffle=None if shared is None else section.family_plan(first, around, shared),
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
    if not column.shuffler.is_uniform or own.key != Question.key:
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


def planned_people(task: Task, num_users: int | None, around: Around | None = None) -> int:
    """Planned number of people: of the groups, strata or graph, else as given, else as the task expects."""
    if around is not None:
        people = people_around(around)
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


def require_planned(column: Column, num_users: int, around: Around | None = None) -> None:
    """Refuse a planned number of people for which the protocol or the shuffler would release nothing."""
    column.require_people(num_users, planned=True)
    column.shuffler.require_planned(column, num_users, around)
    most = column.randomizer.most_people
    if most is not None and num_users > most:
        raise validate.invalid(f"at most expected={most} in the task's table [people]", num_users=num_users)
    rows, fewer = column.shuffler.num_rows, column.missing is Missing.DROP
    if rows is not None and (num_users > rows or (num_users < rows and not fewer)):
        raise InvalidParameterError(
            f"[shuffler] offsets must be one for each row of the input, so {'at least ' * fewer}as many as the "
            f"num_users={num_users} people planned for; got {rows}."
        )


def column_plan(
    column: Column, num_users: int, shuffler: Shuffler, *, alone: bool = False, sharp: bool = True
) -> ColumnPlan:
    """Plan of one private column; ``alone`` leaves out other randomizers.

    Without ``sharp``, bounds that take seconds are left out.
    """
    model = column.model(num_users, shuffler)
    people, delta, chosen = model.num_senders, column.release.delta, column.randomizer
    unit = chosen.unit_of(people)
    statements, error = account_all(model, delta=delta, sharp=sharp), chosen.expected_error(people)
    options, unfit = [option_of(chosen.kind, model, error, delta=delta, chosen=True, stated=statements[0])], []
    for kind, member in () if alone else chosen.alternatives().items():
        try:
            other = replace(column, randomizer=chosen.instead(member))
            options.append(_option(other, people, column.shuffler.with_dummies_of(other, shuffler), unit))
        except InvalidParameterError as refusal:
            unfit.append(Unfit(kind=kind, reason=str(refusal).removeprefix(f"{member.title} ")))
    return ColumnPlan(
        column=column,
        model=model,
        options=ranked(options),
        unfit=tuple(unfit),
        statements=statements,
        of_question=chosen.plan(model, delta=delta, alone=alone),
        curator=column.curator(model, statements[0]),
    )


def _option(column: Column, num_users: int, shuffler: Shuffler | None, unit: float) -> Option:
    """A randomizer with its errors; ``unit`` scales the error of an average to the task's statistic."""
    section = column.randomizer
    model, error = column.model(num_users, shuffler), section.expected_error(num_users)
    return option_of(section.kind, model, error, delta=column.release.delta, chosen=False, unit=unit)
