"""The result of a task or of one stage, by column: counts, estimates, statements and files."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from shuffledp._version import __version__
from shuffledp.core.estimates import Estimate
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Trust
from shuffledp.core.statements import PrivacyStatement, Statements
from shuffledp.core.upward_calls import Saved
from shuffledp.pipeline import Release
from shuffledp.survey.columns import Column
from shuffledp.survey.data_flow import DEMONSTRATION, LOCAL_NETWORK, DataFlow, said_of_one_operator
from shuffledp.survey.earlier import EarlierRelease
from shuffledp.survey.ledgers.ledger_lines import LedgerMark
from shuffledp.survey.shuffle_result import ShuffleResult
from shuffledp.survey.task import Task

if TYPE_CHECKING:
    from shuffledp.survey.comparisons import ColumnComparisons

Result = TypeVar("Result")


class WrittenResult:
    """Base of results that have been written, with the SHA-256 of each file."""

    __slots__ = ()
    files: dict[str, str]

    def with_files(self, folder: Path, names: Iterable[str]) -> Self:
        """Copy of the result that also has the digests of these files in ``folder``."""
        digests = {}
        for name in names:
            with (folder / name).open("rb") as file:
                digests[name] = hashlib.file_digest(file, "sha256").hexdigest()
        return cast(Self, replace(cast(Any, self), files=self.files | digests))


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnStage(WrittenResult):
    """The reports or the view of a private column, handed on from one stage to the next.

    Args:
        column: the column.
        flow: counts so far.
        num_reports: reports in the file.
        seeded: whether the randomness of this stage, or of one before it, can be replayed.
        is_secret: whether the file gives answers away: reports that guarantee nothing before they are shuffled.
        files: names of the files written, with their SHA-256 digests.
    """

    column: Column
    flow: DataFlow
    num_reports: int
    seeded: bool
    is_secret: bool = False
    files: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Counts of the column, and names and digests of its files."""
        return {"num_reports": self.num_reports, "flow": self.flow.to_dict(), "files": dict(self.files)}


@dataclass(frozen=True, slots=True, kw_only=True)
class StageOutcome:
    """The result of a stage that hands files on to the next stage.

    Args:
        stage: "randomize" or "shuffle".
        task: the task.
        columns: the result of each private column by the name of its folder in a release, which is "" without blocks.
    """

    stage: str
    task: Task
    columns: dict[str, ColumnStage]

    @property
    def column(self) -> ColumnStage:
        """The result of the only private column."""
        return _only(self.task, self.columns)

    @property
    def seeded(self) -> bool:
        """Whether a seed can replay the randomness of any column."""
        return any(column.seeded for column in self.columns.values())

    def to_dict(self) -> dict[str, Any]:
        """The one object that the stage's command prints with ``--json``, as in docs/schema.json.

        That is ``stage``, or ``joint_stage`` where the task has blocks.
        """
        head = {"stage": self.stage, "task_sha256": self.task.sha256, "library_version": __version__}
        if not self.task.in_blocks:
            return {**head, **self.column.to_dict(), "seeded": self.seeded}
        columns = [
            {"value": each.column.value, "task_sha256": each.column.sha256, **each.to_dict()}
            for each in self.columns.values()
        ]
        return {**head, "columns": columns, "seeded": self.seeded}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColumnOutcome(WrittenResult):
    """The result of a private column, ready to be written and drawn.

    Args:
        column: the column.
        flow: counts.
        release: estimate (rows named as the task's categories) and statements about it alone.
        shuffle_result: estimates by place and whatever else the kind of shuffle adds; None if it adds nothing.
        demonstration: whether the answers may be made up.
        composed: what holds for one person over all columns and ``earlier`` releases; empty if there is only this one.
        ledger: entry of the privacy ledger that counts the release; None if none does.
        comparisons: those that the task asks for; None if it asks for none.
        files: names of the files written so far, with their SHA-256 digests.
    """

    column: Column
    flow: DataFlow
    release: Release
    shuffle_result: ShuffleResult | None = None
    demonstration: bool = False
    composed: tuple[PrivacyStatement, ...] = ()
    earlier: tuple[EarlierRelease, ...] = ()
    ledger: LedgerMark | None = None
    comparisons: "ColumnComparisons | None" = None
    files: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.column.label}: {self.release.in_short})"

    @property
    def statements(self) -> tuple[PrivacyStatement, ...]:
        """The statements for one person, headline first."""
        return self.composed or self.release.statements

    @property
    def seeded(self) -> bool:
        """Whether a seed can replay the randomness of this column."""
        return self.release.seeded

    @property
    def model(self) -> ProtocolModel:
        """The public description of the protocol."""
        return self.release.model

    @property
    def promised_for(self) -> str:
        """Phrase on the number of releases that the promise covers, such as "this release alone"."""
        several = self.model.local.releases
        return "this release alone" if several == 1 else f"{several:,} such releases together, of which this is one"

    @property
    def regions(self) -> Estimate | None:
        """The estimates by region or place, a row for each target, with ``where``; None if there are none."""
        return None if self.shuffle_result is None else self.shuffle_result.regions

    def rows(self) -> list[dict[str, Any]]:
        """All estimates: for all people together, then by region or place."""
        by_region = [] if self.shuffle_result is None else self.shuffle_result.rows()
        return self.release.estimate.rows() + by_region

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings to read before the estimates; empty if there are none."""
        of_shuffle = () if self.shuffle_result is None else self.shuffle_result.warnings(self.model)
        return (*self.how_answered, *self.model.local.warnings, *of_shuffle)

    @property
    def how_answered(self) -> tuple[str, ...]:
        """Warnings about the origin of reports: a demonstration, or parties with one operator."""
        trust = self.release.statements[0].trust
        played = () if Trust.HOSTS_APART in trust and Trust.OPERATOR not in trust else self.model.local.played_by_one
        shown = (*((DEMONSTRATION,) if self.demonstration else ()), *played)
        if Trust.LOCAL_NETWORK in trust:
            return (*shown, LOCAL_NETWORK)
        alone = self.flow.collected is not None and Trust.OPERATOR in trust
        return (*shown, *((said_of_one_operator(self.statements),) if alone else ()))

    def to_dict(self) -> dict[str, Any]:
        """The content of ``statement.json`` beside the view (``release`` in docs/schema.json)."""
        result = self.shuffle_result
        return {
            **_written(self.column),
            **self.release.to_dict(),
            "estimates": self.rows(),
            **_compared([self]),
            **({} if result is None else result.written(seeded=self.seeded)),
            "warnings": list(self.warnings),
            "statements": [statement.to_dict() for statement in self.statements],
            "earlier": _counted(self.earlier),
            **_in_ledger(self.ledger),
            "flow": self.flow.to_dict(),
            "model": self.model.to_dict(),
            "files": dict(self.files),
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Outcome(WrittenResult, Saved):
    """The result of a task, with all its private columns.

    Args:
        task: the task.
        columns: the outcome of each private column by the name of its folder, which is "" without blocks.
        statements: about one person, over all columns and earlier releases.
        earlier: releases about the same people before this one, which they cover.
        ledger: entry of the privacy ledger that counts the release; None if none does.
        files: names of the files written beside the folders of columns, with their SHA-256 digests.
    """

    task: Task
    columns: dict[str, ColumnOutcome]
    statements: tuple[PrivacyStatement, ...]
    earlier: tuple[EarlierRelease, ...] = ()
    ledger: LedgerMark | None = None
    files: dict[str, str] = field(default_factory=dict)

    @property
    def column(self) -> ColumnOutcome:
        """The outcome of the only private column."""
        return _only(self.task, self.columns)

    @property
    def promised_for(self) -> str:
        """Phrase on the number of releases that the promise covers, the fewest among all columns."""
        return min((part.promised_for for part in self.columns.values()), key=len)

    @property
    def seeded(self) -> bool:
        """Whether a seed can replay the randomness of any column."""
        return any(column.seeded for column in self.columns.values())

    @property
    def regions(self) -> Estimate | None:
        """The estimates of the only private column by region or place."""
        return self.column.regions

    @property
    def demonstration(self) -> bool:
        """Whether the answers may be made up."""
        return any(column.demonstration for column in self.columns.values())

    def __str__(self) -> str:
        found = [
            f"{part.column.label}: {estimate}"
            for part in self.columns.values()
            for estimate in (part.release.estimate, part.regions)
            if estimate is not None
        ]
        statements = Statements(self.statements)
        return "\n\n".join(filter(None, [statements.danger, *found, statements.listed("outcome.statements")]))

    @property
    def in_short(self) -> str:
        """One line: the task, its columns, and the headline over all of them."""
        named = ", ".join(part.column.label for part in self.columns.values())
        return f"{self.task.name}: {named}; {Statements(self.statements).in_short}"

    def to_dict(self) -> dict[str, Any]:
        """The one object that `run` and `analyze` print with ``--json``, as in docs/schema.json.

        That is ``release``, or ``joint_release`` where the task has blocks.
        """
        if not self.task.in_blocks:
            return self.column.to_dict()
        columns = self.columns.values()
        inside = {f"{name}/{file}": sha for name, part in self.columns.items() for file, sha in part.files.items()}
        return {
            **_written(self.task),
            "estimates": [{"value": part.column.value, **row} for part in columns for row in part.rows()],
            **_compared(columns),
            "statements": [statement.to_dict() for statement in self.statements],
            "earlier": _counted(self.earlier),
            **_in_ledger(self.ledger),
            "warnings": list(dict.fromkeys(each for part in columns for each in part.warnings)),
            "seeded": self.seeded,
            "columns": _by_column(
                self.task, [_counts(part.release.num_reports, part.flow, part.model) for part in columns]
            ),
            "files": inside | self.files,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreleased:
    """The result of a collection whose reports were opened without any release.

    Args:
        task: the task.
        reason: why nothing is released, in a sentence.
        num_reports, flows, models: how many people's reports were opened, counts, and the protocol counted for them;
            for each private column.
        statements: about one person, over all columns and earlier releases.
        earlier: releases about the same people before this one.
        demonstration: whether the answers may be made up.
    """

    task: Task
    reason: str
    num_reports: Sequence[int]
    flows: Sequence[DataFlow]
    models: Sequence[ProtocolModel]
    statements: tuple[PrivacyStatement, ...]
    earlier: Sequence[EarlierRelease]
    demonstration: bool

    def to_dict(self) -> dict[str, Any]:
        """Content of ``statement.json`` as for an `Outcome`, plus ``not_released``; estimates are empty."""
        shown = [DEMONSTRATION] * self.demonstration
        each = [_counts(*column) for column in zip(self.num_reports, self.flows, self.models, strict=True)]
        return {
            **_written(self.task if self.task.in_blocks else self.task.column),
            "not_released": self.reason,
            "estimates": [],
            "statements": [statement.to_dict() for statement in self.statements],
            "earlier": _counted(self.earlier),
            "warnings": shown + list(dict.fromkeys(each for model in self.models for each in model.local.warnings)),
            "seeded": False,
            **({"columns": _by_column(self.task, each)} if self.task.in_blocks else each[0]),
            "files": {},
        }


def _written(task: Task | Column) -> dict[str, Any]:
    """Task, its digest and the version of this library, as keys of a JSON object."""
    return {"task": task.to_dict(), "task_sha256": task.sha256, "library_version": __version__}


def _counts(num_reports: int, flow: DataFlow, model: ProtocolModel) -> dict[str, Any]:
    """Counts and protocol of a column, as keys of a JSON object."""
    return {"num_reports": num_reports, "flow": flow.to_dict(), "model": model.to_dict()}


def _by_column(task: Task, counts: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The counts of all columns with their names, folders and digests."""
    return [
        {"value": column.value, "folder": name, "task_sha256": column.sha256, **each}
        for column, name, each in zip(task.columns, task.folders, counts, strict=True)
    ]


def _only(task: Task, columns: Mapping[Any, Result]) -> Result:
    """The result of the only private column; refused if there are several columns."""
    return list(columns.values())[task.columns.index(task.column)]


def _counted(earlier: Iterable[EarlierRelease]) -> list[dict[str, Any]]:
    """Earlier releases whose losses are in the statements, each once."""
    return list({each: each.to_dict() for release in earlier for each in release.counted}.values())


def _compared(columns: Iterable[ColumnOutcome]) -> dict[str, Any]:
    """Key ``comparisons`` of a release, as a dictionary; empty if the task asks for no comparisons."""
    found = [each.comparisons.to_dict() for each in columns if each.comparisons is not None]
    return {"comparisons": found} if found else {}


def _in_ledger(mark: LedgerMark | None) -> dict[str, Any]:
    """Key ``ledger`` of a release, as a dictionary; empty if no privacy ledger counts the release."""
    return {} if mark is None else {"ledger": mark.to_dict()}
