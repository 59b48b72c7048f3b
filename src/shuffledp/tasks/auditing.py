"""A task put to the test before its collection: each statement about it is held against attacks on its pipeline."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shuffledp import _validate
from shuffledp._version import __version__
from shuffledp.accounting import account_all
from shuffledp.attacks import AuditReport, Verdict, audit
from shuffledp.attacks.findings import outcome_of, tally
from shuffledp.pipeline import Pipeline
from shuffledp.statements import PrivacyStatement
from shuffledp.tasks.groups import Grouping
from shuffledp.tasks.joint import JointTask
from shuffledp.tasks.leakage_auditing import LeakageFinding, audit_leakage
from shuffledp.tasks.network import Graphs, NetworkSection
from shuffledp.tasks.planning import planned_people, require_planned
from shuffledp.tasks.surroundings import shuffler_of
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
        leakage: what became of the stated success of guesses; None if that was not asked for.
    """

    value: str
    report: AuditReport
    leakage: LeakageFinding | None = None

    @property
    def verdicts(self) -> dict[Verdict, int]:
        """How many claims met each verdict, that about guesses among them."""
        found = [finding.verdict for finding in self.report.findings]
        return tally(found if self.leakage is None else [*found, self.leakage.verdict])

    @property
    def weak(self) -> int:
        """How many of the consistent ones could hardly have been refuted by so few trials."""
        return self.report.weak + (self.leakage is not None and self.leakage.weak)


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
        return self.verdicts[Verdict.REFUTED] > 0

    @property
    def audited(self) -> bool:
        """True if a claim is refuted, or one stood that so many trials could have refuted; else nothing is known."""
        return self.refuted or self.verdicts[Verdict.CONSISTENT] > self.weak

    @property
    def verdicts(self) -> dict[Verdict, int]:
        """How many claims met each verdict, those about all columns or several releases among them."""
        counts = {verdict: sum(column.verdicts[verdict] for column in self.columns) for verdict in Verdict}
        counts[Verdict.NOT_AUDITED] += len(self.not_audited)
        return counts

    @property
    def weak(self) -> int:
        """How many of the consistent claims could hardly have been refuted by so few trials."""
        return sum(column.weak for column in self.columns)

    @property
    def outcome(self) -> str:
        """The verdicts in one sentence."""
        return outcome_of(self.verdicts, self.weak)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What to know of the batch that was played."""
        least, expected, found = self.task.release.minimum_batch, self.task.people.expected, []
        if self.num_users < least:
            found.append(
                f"{self.num_users:,} people are fewer than minimum_batch = {least:,}: of so few nothing would be "
                "released. What is claimed here is what would be stated of so few."
            )
        drawn = isinstance(self.task.shuffler, NetworkSection) and self.task.shuffler.degree is not None
        if drawn and expected not in (None, self.num_users):
            found.append(
                f"The graph that was played is drawn for {self.num_users:,} people, and is another one than that of "
                f"the {expected:,} people expected."
            )
        return tuple(found)

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
            "audited": self.audited,
            "verdicts": {verdict.value: number for verdict, number in self.verdicts.items()},
            "weak": self.weak,
            "seeded": self.seeded,
            "columns": [
                {
                    "value": column.value,
                    "findings": [finding.to_dict() for finding in column.report.findings],
                    **({} if column.leakage is None else {"leakage": column.leakage.to_dict()}),
                }
                for column in self.columns
            ],
            "remarks": list(self.remarks),
            "not_audited": list(self.not_audited),
        }


def audit_task(
    task: Task | JointTask,
    num_users: int | None = None,
    *,
    trials: int | None = None,
    confidence: float = 0.99,
    mode: str = "pipeline",
    leakage: bool = False,
    grouping: Grouping | None = None,
    graphs: Graphs | None = None,
    source: "RandomSource | None" = None,
    progress: Callable[[str, int, int | None], None] | None = None,
) -> TaskAudit:
    """Hold every statement about a task against attacks on invented answers; see `shuffledp.attacks.audit`.

    Several columns share the confidence. What is stated of all of them together, or of earlier releases too, is not
    audited: each column of this release is, by itself. A batch below ``minimum_batch`` is played all the same, and
    said to be one.

    Args:
        task: the task; nothing needs to have been collected.
        num_users: people to play, 1 or more; None is what the task expects. A batch smaller than the real one is hidden
            less well, so that attacks show more.
        trials: held-out runs; None is ``shuffledp.attacks.DEFAULT_TRIALS``.
        confidence: strictly between 0 and 1.
        mode: "pipeline" or "statistics".
        leakage: also guess answers, and hold the share of right guesses against `shuffledp.leakage`; in real runs,
            whatever the mode.
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
    each = 1 - (1 - confidence) / len(parts) / (2 if leakage else 1)
    if not each < 1:  # rounded; what attacks would refuse is a number that nobody gave
        raise _validate.invalid(
            f"so far from 1 that {len(parts) * (1 + leakage)} audits can share the rest", confidence=confidence
        )
    columns = []
    for part in parts:
        require_planned(part, num_users)
        pipeline = part.pipeline(shuffler_of(part, grouping, graphs))
        report = audit(
            pipeline,
            _statements(part, pipeline, num_users),
            num_users=num_users,
            trials=trials,
            confidence=each,
            mode=mode,
            source=source,
            progress=None if progress is None else _told(progress, part.value, "auditing"),
        )
        guessed = None
        if leakage:
            guessed = audit_leakage(
                pipeline,
                num_users=num_users,
                trials=trials,
                confidence=each,
                source=source,
                progress=None if progress is None else _told(progress, part.value, "guessing"),
            )
        columns.append(ColumnAudit(value=part.value, report=report, leakage=guessed))
    return TaskAudit(task=task, num_users=int(num_users), columns=tuple(columns), confidence=float(confidence))


def _statements(part: Task, pipeline: Pipeline, num_users: int) -> tuple[PrivacyStatement, ...]:
    """What a run would state about one column."""
    return account_all(pipeline.model(num_users), delta=part.release.delta)


def _told(progress: Callable[[str, int, int | None], None], value: str, verb: str) -> Callable[[int, int | None], None]:
    return lambda done, total: progress(f"{verb} {value}", done, total)
