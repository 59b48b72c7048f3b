"""The options that describe a protocol, and the protocol that they describe."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from shuffledp.cli.options import PARAMETERS, ProtocolOptions, named
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.core.validate import integer_at_least, one_of
from shuffledp.randomizers import model_of_kind, parameters_of_kind

if TYPE_CHECKING:
    from shuffledp.survey import Column, Task

Progress = Callable[[str, int, int | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionProtocol(ProtocolOptions):
    """Description of a protocol by options; None for each option left out.

    Args:
        task: a task file; then everything but the number of users and delta is in it.
        shuffler: a kind, with a colon and a number where it has a parameter; uniform if left out.
        people: a table of the people with their public columns, for a task with groups.
        takes_task: whether the command takes a task file in place of options.

    Raises:
        InvalidParameterError: if the task file is none.
    """

    task: Path | None = None
    shuffler: str | None = None
    people: Path | None = None
    takes_task: bool = True
    read: "Task | None" = field(init=False, default=None)  # the task in that file

    def __post_init__(self) -> None:
        if self.task is not None:
            from shuffledp.survey import Task

            object.__setattr__(self, "read", Task.read(self.task))

    @classmethod
    def of(cls, options: ProtocolOptions, task: Path | None) -> Self:
        """The protocol described by a command's options or by a task file."""
        return cls(task=task, **{each.name: getattr(options, each.name) for each in fields(options)})

    @property
    def kind(self) -> str:
        """The kind of the randomizer."""
        return "ldp" if self.randomizer is None else self.randomizer

    @property
    def parameters(self) -> dict[str, float]:
        """Given parameters of the kind, without epsilon0; missing and superfluous parameters are refused."""
        known = parameters_of_kind(self.kind)
        elsewhere = [name for name, required in known.items() if required and name not in PARAMETERS]
        if elsewhere:
            way = "give a task file in place of options" if self.takes_task else "try epsilon0 in a task with `plan`"
            raise InvalidParameterError(
                f"--randomizer must be a kind without parameters that only a task file gives ({', '.join(elsewhere)}): "
                f"for this one, {way}; got randomizer={self.kind!r}."
            )
        for name, option in PARAMETERS.items():
            given = getattr(self, option) is not None
            if given and name not in known:
                raise _wrong(option, f"left out for randomizer {self.kind!r}", getattr(self, option))
            if not given and known.get(name):
                raise _wrong(option, f"given for randomizer {self.kind!r}", None)
        return {name: getattr(self, option) for name, option in PARAMETERS.items() if getattr(self, option) is not None}

    def model(self) -> ProtocolModel:
        """The protocol's public description."""
        if self.read is not None:
            self._require_only_a_task()
            column = self._column(self.read)
            num_users = self._people(column.people.expected)
            return column.model(num_users, column.shuffler.shuffler_for(column, num_users=num_users))
        for name, option in (("people", "input"), ("value", "value")):
            if (given := getattr(self, name)) is not None:
                raise _wrong(option, "left out without a task file", given)
        return ProtocolModel(local=self._local(), shuffle=_shuffle(self.shuffler or "uniform", self._people(None)))

    def model_of_run(self) -> ProtocolModel:
        """The protocol's public description as in a run: with the groups of an input, or a graph."""
        if self.task is None or self.read is None:
            return self.model()
        from shuffledp.cli.progress_bars import watching
        from shuffledp.survey.planning.task_planning import planned_people

        self._require_only_a_task()
        task, column = self.read, self._column(self.read)
        check_people(task, self.people)
        with watching() as watch:
            (around,) = read_surroundings(
                task, self.task.parent, users=self.users, people=self.people, progress=watch.progress
            ).values()
        known = None if around is None else planned_people(task, None, around)
        if known is not None and self.users not in (None, known):
            raise _wrong("users", f"left out, or {known}, the people of the task's input or graph", self.users)
        num_users = self._people(column.people.expected) if known is None else known
        return column.model(num_users, column.shuffler.shuffler_for(column, around, num_users=num_users))

    def answers(self) -> tuple[str, ...]:
        """Names of the answers in the task; empty without a task, where answers are numbers from 0."""
        return () if self.read is None else self._column(self.read).targets

    def household(self) -> int | None:
        """Largest number of people who live together, by the task's [people]; None without such a number."""
        said = None if self.read is None else self.read.people.household
        return said if isinstance(said, int) else None

    def share(self, others: str) -> str:
        """Sentence that names the column of the results and ends with ``others``; "" if it is the only column."""
        if self.read is None or len(self.read.columns) == 1:
            return ""
        return f"About column {self._column(self.read).value!r} alone, {others}"

    def remainder(self) -> float:
        """Delta from its option, else from the task."""
        if self.delta is None and self.read is not None:
            return self._column(self.read).release.delta
        return self._given("delta")

    def _local(self) -> LocalModel:
        if self.channel is None:
            epsilon0 = self._given("epsilon0", "or --channel FILE, or a task file")
            return model_of_kind(self.kind, epsilon0=epsilon0, **self.parameters)
        from shuffledp.files import read_channel
        from shuffledp.randomizers import ChannelModel

        self._require_nothing("--channel", "randomizer", "epsilon0", "categories", "local_delta")
        return ChannelModel(matrix=read_channel(self.channel))

    def _require_only_a_task(self) -> None:
        self._require_nothing(
            "a task file", "randomizer", "epsilon0", "categories", "channel", "local_delta", "shuffler"
        )

    def _column(self, task: "Task") -> "Column":
        """The private column named by the options, or the task's only one."""
        columns = {column.value: column for column in task.columns}
        if self.value is not None:
            one_of(columns, value=self.value)
            return columns[self.value]
        if len(task.columns) > 1:
            raise InvalidParameterError(
                f"--value COLUMN must be given for a task of several private columns ({', '.join(map(repr, columns))}"
                "); `shuffledp plan` says what one person loses over all of them."
            )
        return task.column

    def _people(self, expected: int | None) -> int:
        users = expected if self.users is None else self.users
        if users is None:
            raise _wrong("users", "given: how many people take part", None)
        integer_at_least(1, num_users=users)
        return users

    def _given(self, name: str, other: str = "") -> float:
        value = getattr(self, name)
        if value is None:
            raise _wrong(name, ", ".join(filter(None, ["given", other])), None)
        return float(value)

    def _require_nothing(self, what: str, *names: str) -> None:
        for name in names:
            if getattr(self, name) is not None:
                shown = f"{named(name)} {getattr(self, name)}"
                raise _wrong(name, f"left out beside {what}, which says it all", shown)


def _shuffle(asked: str, users: int) -> ShuffleModel:
    """The model of a shuffler in an option such as "uniform", "mallows:0.5" or "imperfect:0.5"."""
    from shuffledp.shufflers.shuffler_kinds import described_shuffles

    known = described_shuffles()
    name, _, parameter = asked.partition(":")
    one_of(known, shuffler=name)
    found = known[name]
    form = f"{name}:{found.number.upper()}" if found.number else name
    if bool(parameter) != bool(found.number):
        raise _wrong("shuffler", f"of the form {form}", asked)
    try:
        numbers = [float(parameter)] if parameter else []
    except ValueError:
        raise _wrong("shuffler", f"of the form {form}, with a number", asked) from None
    return found.model(users, *numbers)


def _wrong(option: str, condition: str, value: object) -> InvalidParameterError:
    shown = "none" if value is None else str(value)
    return InvalidParameterError(f"{named(option)} must be {condition}; got {shown}.")


def check_people(task: "Task", people: Path | None) -> None:
    """Refuse a table of people if the task needs none, and require one if the task needs it.

    Strata are not checked.
    """
    if task.shuffler.needs_strata:
        return
    if task.shuffler.needs_groups == (people is None):
        wanted = "left out for a task without [groups], by or weight, which needs no table of people"
        if task.shuffler.needs_groups:
            columns = ", ".join(map(repr, task.shuffler.made_from.columns))
            wanted = "given for a task with [groups]: a table of the people" + f", with {columns}" * bool(columns)
        raise InvalidParameterError(f"--input must be {wanted}; got {'none' if people is None else repr(str(people))}.")


def read_surroundings(
    task: "Task", folder: Path, *, users: int | None, people: Path | None, progress: Progress
) -> dict[str, Any]:
    """Groups, strata or graphs that a task's shuffler needs, as keyword arguments of `survey.plan`.

    `check_people` has been asked; ``users`` take part, for a graph that is drawn.
    """
    from shuffledp.files.people_files import read_around

    users, watching = users or task.people.expected, partial(progress, "reading")
    found = read_around(task, folder, people=people, num_users=users, progress=watching)
    return {"graphs" if task.shuffler.needs_graph else "grouping": found}
