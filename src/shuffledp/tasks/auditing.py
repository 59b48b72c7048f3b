"""A task put to the test before its collection: each statement about it is held against attacks on its pipeline."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shuffledp import _validate
from shuffledp._version import __version__
from shuffledp.accounting import account_all
from shuffledp.attacks import AuditReport, audit
from shuffledp.flow import Shuffler
from shuffledp.pipeline import Pipeline
from shuffledp.shufflers import RandomWalkShuffler
from shuffledp.statements import PrivacyStatement
from shuffledp.tasks.groups import Grouping
from shuffledp.tasks.joint import JointTask
from shuffledp.tasks.network import Graphs, NetworkSection
from shuffledp.tasks.network_rounds import statements_of_parts, walking
from shuffledp.tasks.planning import planned_people, require_planned
from shuffledp.tasks.task import Task

if TYPE_CHECKING:
    from shuffledp.randomness import RandomSource

__all__ = ["ColumnAudit", "TaskAudit", "audit_task"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnAudit:
    """What attacks found about one private column.

    Args:
        value: the column.
        report: the findings, one for each statement about it.
    """

    value: str
    report: AuditReport


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskAudit:
    """What attacks found about a task.

    Args:
        task: the task.
        num_users: people who were played.
        columns: one for each private column.
        confidence: with which all limits, of all columns, hold together.
    """

    task: Task | JointTask
    num_users: int
    columns: tuple[ColumnAudit, ...]
    confidence: float

    @property
    def refuted(self) -> bool:
        """True if some claim is refuted."""
        return any(column.report.refuted for column in self.columns)

    @property
    def seeded(self) -> bool:
        """True if whoever knows the seed can repeat the runs."""
        return any(column.report.seeded for column in self.columns)

    @property
    def not_audited(self) -> tuple[str, ...]:
        """What a release states besides the statements about each column, and why no attack is held against it."""
        return tuple(
            f"What is stated of {what} together is not audited: attacks look at one column of one release."
            for what, there in (
                ("all columns", len(self.columns) > 1),
                ("this and earlier releases", bool(self.task.people.earlier)),
            )
            if there
        )

    def to_dict(self) -> dict[str, Any]:
        """The one object that ``shuffledp audit --json`` prints (``audit`` in docs/schema.json)."""
        return {
            "task": self.task.to_dict(),
            "task_sha256": self.task.sha256,
            "library_version": __version__,
            "num_users": self.num_users,
            "confidence": self.confidence,
            "mode": self.columns[0].report.mode.value,
            "refuted": self.refuted,
            "seeded": self.seeded,
            "columns": [
                {"value": column.value, "findings": [finding.to_dict() for finding in column.report.findings]}
                for column in self.columns
            ],
            "not_audited": list(self.not_audited),
        }


def audit_task(
    task: Task | JointTask,
    num_users: int | None = None,
    *,
    trials: int | None = None,
    confidence: float = 0.99,
    mode: str = "pipeline",
    grouping: Grouping | None = None,
    graphs: Graphs | None = None,
    source: "RandomSource | None" = None,
    progress: Callable[[str, int, int | None], None] | None = None,
) -> TaskAudit:
    """Hold every statement about a task against attacks on invented answers; see `shuffledp.attacks.audit`.

    Several columns share the confidence. What is stated of all of them together, or of earlier releases too, is not
    audited: each column of this release is, by itself.

    Args:
        task: the task; nothing needs to have been collected.
        num_users: people to play, 1 or more; None is what the task expects. A batch smaller than the real one is hidden
            less well, so that attacks show more.
        trials: held-out runs; None is ``shuffledp.attacks.DEFAULT_TRIALS``.
        confidence: strictly between 0 and 1.
        mode: "pipeline" or "statistics".
        grouping: the groups of the people, for a task with groups.
        graphs: those that reports walk along, for a network shuffle; everybody is played then.
        source: randomness; None is the cryptographic source.
        progress: told for each column how many runs are done, and how many there are at most.

    Raises:
        InvalidParameterError: if an argument is out of range, or it is not known how many people there will be.
        BatchTooSmallError: if the noise of so many people is too little for the protocol.
        UnsupportedModelError: if nothing is known about the privacy of the task, or no sufficient statistics are.
    """
    _validate.open_probability(confidence=confidence)
    num_users = planned_people(task, num_users, grouping=grouping, graphs=graphs)
    task = task.expecting(num_users)
    parts = task.parts()
    each = 1 - (1 - confidence) / len(parts)
    columns = []
    for part in parts:
        require_planned(part, num_users)
        pipeline = part.pipeline(_shuffler(part, grouping, graphs))
        report = audit(
            pipeline,
            _statements(part, pipeline, num_users),
            num_users=num_users,
            trials=trials,
            confidence=each,
            mode=mode,
            source=source,
            progress=None if progress is None else _told(progress, part.value),
        )
        columns.append(ColumnAudit(value=part.value, report=report))
    return TaskAudit(task=task, num_users=int(num_users), columns=tuple(columns), confidence=float(confidence))


def _shuffler(part: Task, grouping: Grouping | None, graphs: Graphs | None) -> Shuffler:
    """The real one, as a run has it."""
    section = part.shuffler
    if graphs is None or not isinstance(section, NetworkSection):
        return section.shuffler(grouping)
    return walking(section, graphs, part.randomizer.randomizer(), part.release.delta)


def _statements(part: Task, pipeline: Pipeline, num_users: int) -> tuple[PrivacyStatement, ...]:
    """What a run would state about one column."""
    delta, shuffler = part.release.delta, pipeline.shuffler
    stated = account_all(pipeline.model(num_users), delta=delta)
    if not isinstance(shuffler, RandomWalkShuffler):
        return stated
    return statements_of_parts(shuffler, pipeline.randomizer.model, delta, stated)


def _told(progress: Callable[[str, int, int | None], None], value: str) -> Callable[[int, int | None], None]:
    return lambda done, total: progress(f"auditing {value}", done, total)
