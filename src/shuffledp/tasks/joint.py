"""A task of several private columns: each is randomized and shuffled by itself, and a person's losses add up."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

from shuffledp._described import Described
from shuffledp._validate import invalid
from shuffledp.errors import InvalidParameterError
from shuffledp.tasks.groups import GroupsSection
from shuffledp.tasks.protocols import as_written, with_protocol
from shuffledp.tasks.randomizers import RandomizerSection
from shuffledp.tasks.section import Section, one_line, some_text
from shuffledp.tasks.shufflers import ShufflerSection, UniformSection
from shuffledp.tasks.task import (
    Missing,
    PeopleSection,
    ReleaseSection,
    Task,
    digest,
    has_blocks,
    read_toml,
    without_none,
)

__all__ = ["JointTask", "ValueSection", "read_task"]

_NOT_IN_FOLDERS = re.compile("[^A-Za-z0-9_-]+")
_LONGEST_FOLDER = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueSection(Section):
    """One private column.

    Args:
        column: its name in the input.
        randomizer: how each answer in it is randomized.
    """

    title: ClassVar[str] = "[[value]]"
    column: str
    randomizer: RandomizerSection

    def __post_init__(self) -> None:
        some_text(column=self.column)

    def to_dict(self) -> dict[str, Any]:
        """What the block says, defaults included."""
        return as_written(super(ValueSection, self).to_dict(), self.randomizer)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The block that ``to_dict`` wrote.

        Raises:
            InvalidParameterError: for an unknown, missing or wrong key; the message names the column.
        """
        try:
            return super(ValueSection, cls).from_dict(with_protocol(cls.title, data))
        except InvalidParameterError as error:
            message = str(error)
        column = data.get("column") if isinstance(data, Mapping) else None
        named = f"{cls.title} of column {column!r}" if isinstance(column, str) else cls.title
        raise InvalidParameterError(message.replace(cls.title, named, 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class JointTask(Described):
    """A collection of several private columns from the same people, fixed before it begins.

    Each column goes its own way through a shuffle of its own, so that nobody can tell which reports of two columns
    belong to one person.

    Args:
        name: for people to read.
        value: the private columns, one or more.
        public: public columns that travel along with each, if the shuffler keeps them.
        missing: what to do with people who did not answer, in each column by itself.
        missing_values: texts in the private columns that mean "did not answer", besides nulls.
        people: who takes part.
        shuffler: how the reports of each column are shuffled.
        groups: whose reports the shuffler mixes, if it is one that hides the order inside groups.
        release: what is stated, with this delta for each column; and when nothing may be released.

    Raises:
        InvalidParameterError: if there is no column, or one twice; or as `Task` does, of one of them.

    Example:
        >>> randomizer = {"kind": "k-rr", "epsilon0": 1.0, "categories": ["No", "Yes"]}
        >>> task = JointTask.from_dict({
        ...     "name": "survey", "release": {"delta": 1e-6},
        ...     "value": [{"column": name, "randomizer": randomizer} for name in ("smokes", "drinks")],
        ... })
        >>> [part.value for part in task.parts()]
        ['smokes', 'drinks']
    """

    title: ClassVar[str] = "the task"
    name: str
    value: tuple[ValueSection, ...]
    public: tuple[str, ...] = ()
    missing: Missing = Missing.REFUSE
    missing_values: tuple[str, ...] = ("",)
    people: PeopleSection = field(default_factory=PeopleSection)
    shuffler: ShufflerSection = field(default_factory=UniformSection)
    groups: GroupsSection | None = None
    release: ReleaseSection

    def __post_init__(self) -> None:
        one_line(name=self.name)
        columns = [section.column for section in self.value]
        if not columns:
            raise invalid("one block or more", value=columns)
        if len(set(columns)) != len(columns):
            raise invalid("different columns", value=columns)
        self.parts()

    def to_dict(self) -> dict[str, Any]:
        """What the task file says, defaults included; without the key ``groups`` where there are none."""
        return without_none(super(JointTask, self).to_dict(), "groups")

    @property
    def sha256(self) -> str:
        """Digest of everything the task says, defaults included; layout and comments of the file do not matter."""
        return digest(self.to_dict())

    def expecting(self, num_users: int) -> "JointTask":
        """The same for so many people, if a protocol needs their number and the task does not say it."""
        if self.people.expected is not None or not any(each.randomizer.needs_expected for each in self.value):
            return self
        return replace(self, people=replace(self.people, expected=num_users))

    def parts(self) -> tuple[Task, ...]:
        """The tasks of single columns, which share everything else and name this one."""
        return tuple(self._part(section) for section in self.value)

    def _part(self, section: ValueSection) -> Task:
        try:
            return Task(
                name=self.name,
                value=section.column,
                public=self.public,
                missing=self.missing,
                missing_values=self.missing_values,
                people=self.people,
                randomizer=section.randomizer,
                shuffler=self.shuffler,
                groups=self.groups,
                release=self.release,
                part_of=self.sha256,
            )
        except InvalidParameterError as error:
            message = str(error)
        raise InvalidParameterError(f"{section.title} of column {section.column!r}: {message}")

    def folders(self) -> tuple[str, ...]:
        """A name for each column's folder: letters, digits, hyphens and underscores, all different in any case."""
        names: list[str] = []
        for section in self.value:
            plain = _NOT_IN_FOLDERS.sub("_", section.column).strip("_")[:_LONGEST_FOLDER] or "column"
            taken, name, number = {each.lower() for each in names}, plain, 1
            while name.lower() in taken:
                number += 1
                name = f"{plain}-{number}"
            names.append(name)
        return tuple(names)


def read_task(path: str | Path) -> Task | JointTask:
    """The task in a TOML file, of one private column or, with ``[[value]]`` blocks, of several.

    Raises:
        InvalidParameterError: if the file is absent, is not TOML, or breaks the schema.
    """
    data = read_toml(path)
    if not has_blocks(data):
        return Task.read(path)
    for key in ("randomizer", "protocol"):
        if key in data:
            raise InvalidParameterError(
                f"[{key}] must be in each [[value]] block, as [value.{key}], where there are such blocks; got one "
                "beside them."
            )
    joint = JointTask.from_dict(data)
    folder = Path(path).parent
    groups = None if joint.groups is None else joint.groups.pinned(folder)
    return replace(joint, groups=groups, shuffler=joint.shuffler.pinned(folder))
