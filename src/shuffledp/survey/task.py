"""The task file: one private column or more, checked against its schema and hashed before a collection begins."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from shuffledp.core.described import Described, without_none
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.upward_calls import above
from shuffledp.core.validate import invalid, one_line
from shuffledp.randomness.sources import RandomSource
from shuffledp.survey.columns import (
    Column,
    Missing,
    PeopleSection,
    ReleaseSection,
    check_wording,
    digest,
    without_defaults,
)
from shuffledp.survey.follow_up import FollowUp
from shuffledp.survey.pools import Pool, pools_of
from shuffledp.survey.questions.question import Question
from shuffledp.survey.questions.question_kinds import TABLES, as_written, with_question
from shuffledp.survey.section import Section, as_columns, named_jointly, read_toml, some_text
from shuffledp.survey.shuffler_section import KEYS, ShufflerSection, uniform_section, with_shuffler

if TYPE_CHECKING:
    from shuffledp.survey.outcome import Outcome

_NOT_IN_FOLDERS = re.compile("[^A-Za-z0-9_-]+")
_LONGEST_FOLDER = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueSection(Section):
    """One block of a private column, or of two ``columns``, with its randomizer."""

    title: ClassVar[str] = "[[value]]"
    column: str
    columns: tuple[str, ...] = ()
    question: str | None = None
    after: str | None = None
    missing: Missing | None = None
    randomizer: Question

    def __post_init__(self) -> None:
        for column in self.columns or (self.column,):
            some_text(column=column)
        check_wording(self.question)

    def to_dict(self) -> dict[str, Any]:
        """Keys of the block, defaults included; question, condition and ``missing`` only if they are set."""
        table = as_columns(super(ValueSection, self).to_dict(), "column")
        for key in ("question", "after", "missing"):
            table = without_none(table, key)
        return as_written(table, self.randomizer)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The block written by ``to_dict``; errors name the column."""
        try:
            data = named_jointly(cls.title, data, "column")
            return super(ValueSection, cls).from_dict(with_question(cls.title, data))
        except InvalidParameterError as error:
            message = str(error)
        column = data.get("column") if isinstance(data, Mapping) else None
        named = f"{cls.title} of column {column!r}" if isinstance(column, str) else cls.title
        raise InvalidParameterError(f"{named} {message.removeprefix(cls.title).lstrip()}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks(Described):
    """Content of a task file with a ``[[value]]`` block for each private column; other keys as in `Column`."""

    title: ClassVar[str] = "the task"
    further: ClassVar[tuple[str, ...]] = KEYS
    name: str
    value: tuple[ValueSection, ...]
    language: str | None = None
    public: tuple[str, ...] = ()
    missing: Missing = Missing.REFUSE
    missing_values: tuple[str, ...] = ("",)
    strip: bool = False
    people: PeopleSection = field(default_factory=PeopleSection)
    shuffler: ShufflerSection = field(default_factory=uniform_section)
    release: ReleaseSection

    def __post_init__(self) -> None:
        one_line(name=self.name)
        check_wording(None, self.language)
        columns = [block.column for block in self.value]
        if not columns:
            raise invalid("one block or more", value=columns)
        if len(set(columns)) != len(columns):
            raise invalid("different columns", value=columns)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The blocks written by ``to_dict``."""
        return super(Blocks, cls).from_dict(with_shuffler(data))

    def to_dict(self) -> dict[str, Any]:
        """All keys of the task file, defaults included."""
        return without_defaults(super(Blocks, self).to_dict() | self.shuffler.beside)

    def columns(self) -> tuple[Column, ...]:
        """The columns, which share all keys outside the blocks and the digest of the whole task."""
        part_of = digest(self.to_dict())
        return tuple(self._column(place, part_of) for place in range(len(self.value)))

    def _column(self, place: int, part_of: str) -> Column:
        block, after = self.value[place], None
        try:
            if block.after is not None:
                later = [each.column for each in self.value[place:]]
                after = FollowUp.of(block.after, self.value[:place], later)
            shared: dict[str, Any] = {
                each.name: getattr(self, each.name) for each in fields(self) if each.name != "value"
            }
            own = {each: getattr(block, each) for each in ("columns", "question", "randomizer")}
            shared["missing"] = block.missing or self.missing
            return Column(value=block.column, after=after, part_of=part_of, **own, **shared)
        except InvalidParameterError as error:
            message = str(error)
        raise InvalidParameterError(f"{block.title} of column {block.column!r}: {message}")


@dataclass(frozen=True, slots=True)
class Task:
    """A collection, fixed before it begins: one private column or more, answered by the same people.

    Each column goes its own way through a shuffle of its own, so that nobody can tell which reports of two columns
    belong to one person; the losses of a person add up.

    Args:
        written: the task as its file has it: a single column, or blocks of columns.

    Attributes:
        columns: each private column with all that is fixed for it.

    Raises:
        InvalidParameterError: as `Column` does, of one of the columns.

    Example:
        >>> randomizer = {"kind": "k-rr", "epsilon0": 1.0, "categories": ["No", "Yes"]}
        >>> task = Task.from_dict({
        ...     "name": "survey", "release": {"delta": 1e-6},
        ...     "value": [{"column": name, "randomizer": randomizer} for name in ("smokes", "drinks")],
        ... })
        >>> [column.value for column in task.columns], len(task.sha256)
        (['smokes', 'drinks'], 64)
    """

    written: Column | Blocks
    columns: tuple[Column, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        columns = self.written.columns() if isinstance(self.written, Blocks) else (self.written,)
        object.__setattr__(self, "columns", columns)
        for each in self.release.compare:
            if not any(each in column.comparable for column in columns):
                raise InvalidParameterError(
                    f"[release] compare must be what a private column has; {each.value!r} needs {each.needed}."
                )

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """The task in a TOML file, with the digests of the files of its groups or graphs.

        Raises:
            InvalidParameterError: if the file is absent, no regular file, larger than 64 MiB, is not TOML, or breaks
                the schema; or a file that it names cannot be read, or has another digest than the task says.
        """
        return cls.from_dict(read_toml(Path(path), "the task file")).pinned(Path(path).parent)

    def pinned(self, folder: Path) -> Self:
        """The task with the digests of its files, whose paths are relative to a folder.

        Raises:
            InvalidParameterError: if a file cannot be read, or has another digest than the task says.
        """
        return type(self)(replace(self.written, shuffler=self.shuffler.pinned(folder)))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The task written by ``to_dict``.

        Raises:
            InvalidParameterError: for an unknown, missing or wrong key, or both a randomizer and a protocol.
        """
        blocks = data.get("value") if isinstance(data, Mapping) else None
        if not isinstance(blocks, list) or (blocks and not any(isinstance(block, Mapping) for block in blocks)):
            return cls(Column.from_dict(data))
        for key in (Question.key, *TABLES):
            if blocks and key in data:
                raise InvalidParameterError(
                    f"[{key}] must be in each [[value]] block, as [value.{key}], where there are such blocks; got one "
                    "beside them."
                )
        return cls(Blocks.from_dict(data))

    def to_dict(self) -> dict[str, Any]:
        """All keys of the task file, defaults included."""
        return self.written.to_dict()

    @property
    def sha256(self) -> str:
        """SHA-256 of the task's content, defaults included; layout and comments of the file do not matter."""
        return digest(self.to_dict())

    @property
    def name(self) -> str:
        """The name of the task."""
        return self.written.name

    @property
    def public(self) -> tuple[str, ...]:
        """Public columns sent with each private column, if the shuffler keeps them."""
        return self.written.public

    @property
    def strip(self) -> bool:
        """Whether blanks around texts of the table are removed."""
        return self.written.strip

    @property
    def people(self) -> PeopleSection:
        """The people who take part."""
        return self.written.people

    @property
    def shuffler(self) -> ShufflerSection:
        """The shuffler of each column's reports."""
        return self.written.shuffler

    @property
    def release(self) -> ReleaseSection:
        """Parameters of each column's release, among them the smallest batch that may be released."""
        return self.written.release

    @property
    def in_blocks(self) -> bool:
        """Whether the file has ``[[value]]`` blocks, so that each column has its own folder or file."""
        return isinstance(self.written, Blocks)

    @property
    def column(self) -> Column:
        """The only private column; refused if there are several columns."""
        if len(self.columns) > 1:
            raise invalid("of one private column here", task=", ".join(column.label for column in self.columns))
        return self.columns[0]

    @property
    def pools(self) -> tuple[Pool, ...]:
        """Pools of messages shuffled together, each with one or more messages of each person."""
        return pools_of(self.columns)

    @property
    def num_hosts(self) -> int:
        """Number of shufflers that pools are spread over."""
        return 1 + max(pool.host for pool in self.pools)

    @property
    def messages(self) -> tuple[Pool, ...]:
        """The pool of each message of a person, in the order of the messages."""
        return tuple(pool for pool in self.pools for _ in range(pool.messages))

    @property
    def folders(self) -> tuple[str, ...]:
        """Folder name of each column, all different even in lower case; only "" for a task without blocks.

        They consist of letters, digits, ``-`` and ``_``.
        """
        if not self.in_blocks:
            return ("",)
        names: list[str] = []
        for column in self.columns:
            plain = _NOT_IN_FOLDERS.sub("_", column.value).strip("_")[:_LONGEST_FOLDER] or "column"
            taken, name, number = {each.lower() for each in names}, plain, 1
            while name.lower() in taken:
                number += 1
                name = f"{plain}-{number}"
            names.append(name)
        return tuple(names)

    def stage_files(self, output: Path) -> tuple[Path, ...]:
        """Files between two stages, one for each column; without blocks only ``output`` itself."""
        return tuple(output / f"{name}.parquet" if name else output for name in self.folders)

    def run(
        self,
        answers: Any,
        *,
        source: RandomSource | None = None,
        earlier: Sequence[str | Path] = (),
        beside: str | Path = ".",
    ) -> "Outcome":
        """Outcome of all stages on a table in memory, as by the command ``run`` but without writing files.

        Whoever runs this sees the raw answers, and the statements say so.

        Args:
            answers: one row per person: a pandas or polars data frame, an Arrow table, or a dictionary of columns.
            source: randomness; None is the cryptographic source.
            earlier: the ``statement.json`` of earlier releases about the same people that the task names.
            beside: the folder of the task file, which paths in the task are relative to.

        Raises:
            InvalidParameterError: if ``earlier`` is not as the task says, or ``answers`` is no table.
            InputDataError: for answers that do not fit the task; the message tells rows, and no answer.
            BatchTooSmallError: if there are fewer reports than the task's smallest batch.
        """
        done = above("run")(self, answers, source=source, earlier=[Path(each) for each in earlier], beside=Path(beside))
        return cast("Outcome", done)

    def expecting(self, num_users: int) -> "Task":
        """The task with this number of people, if its protocol needs one and the task has none."""
        needed = any(column.randomizer.needs_expected for column in self.columns)
        if self.people.expected is not None or not needed:
            return self
        return Task(replace(self.written, people=replace(self.people, expected=num_users)))


def require_service(task: Task, *, relayed: bool) -> None:
    """Refuse a task that services or devices cannot run, and name the reason.

    Args:
        task: the task.
        relayed: whether members pass reports on, so that no shuffler is needed.

    Raises:
        InvalidParameterError: for such a task.
    """
    shuffler = task.shuffler
    known = shuffler.is_kept_by_uniform or shuffler.needs_groups or shuffler.needs_strata
    known = known or (relayed and shuffler.needs_graph)
    reasons = {
        f"[shuffler] of kind {shuffler.kind!r}": None if known else shuffler.no_service,
        "by or weight": "no service shuffles inside strata yet" if shuffler.needs_strata else None,
        "file in [groups]": "devices do not know its rows" if shuffler.needs_groups and shuffler.files else None,
        "id in [people]": "a report that names a person hides nobody" if task.people.id else None,
    }
    for part, why in reasons.items():
        if why:
            raise InvalidParameterError(f"a task that is collected over a network must be without {part}: {why}.")
