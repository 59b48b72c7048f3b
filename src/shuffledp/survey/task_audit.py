"""Audit of a task before its collection: each statement about it is tested by attacks on its pipeline."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from scipy.stats import binom

from shuffledp._version import __version__
from shuffledp.accounting import account_all
from shuffledp.attacks import AuditReport, Verdict, audit
from shuffledp.attacks.findings import counted, outcome_of, tally
from shuffledp.attacks.guessing_game import DEFAULT_GUESSES, Guessing, guess_answers
from shuffledp.core import validate
from shuffledp.core.described import Described
from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Kind
from shuffledp.core.text import count_of, in_digits
from shuffledp.core.upward_calls import Shown
from shuffledp.leakage import Vulnerability, target_vulnerability
from shuffledp.leakage.protocol_leakage import least_hidden
from shuffledp.pipeline import Pipeline
from shuffledp.planning.family_plan import Around, Surroundings
from shuffledp.planning.guaranteed_leakage import guaranteed_vulnerability
from shuffledp.protocols.family import family_of
from shuffledp.randomness.sources import RandomSource
from shuffledp.shufflers import IdentityShuffler, UniformShuffler
from shuffledp.survey.planning.task_planning import planned_people, require_planned
from shuffledp.survey.task import Task

_POWER = 0.9  # wanted probability of finding a break


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakageFinding(Described):
    """The audited vulnerability of one column, for answers that are all equally likely beforehand.

    Args:
        verdict: refuted, consistent or not audited, for a ``reason``.
        vulnerability: what is stated; None if nothing is.
        guessing: how often an attacker was right; None if no attack is known.
        weak: whether it stood because it could hardly have been refuted: not with probability 90% where the best guess
            gains twice as much as is claimed, or as much as from a report that is not shuffled, if that is more.
    """

    verdict: Verdict
    reason: str = ""
    vulnerability: Vulnerability | None = None
    guessing: Guessing | None = None
    weak: bool = False

    def __str__(self) -> str:
        if self.guessing is not None and not self.reason:
            return " ".join(filter(None, [str(self.guessing), self.power]))
        return f"{self.verdict.upper()}: how often one person's answer can be guessed. {self.reason}"

    @property
    def power(self) -> str:
        """The power of the trials, in a sentence; "" without attacks."""
        if self.guessing is None or self.verdict is not Verdict.CONSISTENT:
            return ""
        lower, upper = self.guessing.success_limits
        said = (
            f"With {self.guessing.trials:,} trials the limits are {in_digits(upper - lower, 'at most', digits=2)} "
            "apart: if the claim is wrong by less, that may well have gone unseen."
        )
        if self.weak:
            said += (
                " These are too few to conclude anything: that guesses gain twice as much as is claimed, or as much as "
                "from reports that are not shuffled, would hardly have been found."
            )
        return said


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnAudit:
    """Audit of one private column: its claims and, if tested, guesses, tracers and households."""

    value: str
    report: AuditReport
    leakage: LeakageFinding | None = None
    tracers: Any = None  # a `shuffledp.attacks.findings.Success` that says whether it is weak
    household: Any = None  # another one
    common: Any = None  # and one of an answer that the household has in common

    @property
    def verdicts(self) -> dict[Verdict, int]:
        """Number of claims for each verdict, the claim about guesses included."""
        others = [each.verdict for each in self._others]
        return tally([*(finding.verdict for finding in self.report.findings), *others])

    @property
    def weak(self) -> int:
        """Number of claims called consistent after too few trials: even a much too small claim could pass."""
        return self.report.weak + sum(bool(each.weak) for each in self._others)

    @property
    def _others(self) -> list[Any]:
        """Findings on guesses, tracers and households, which are not about statements."""
        return [each for each in (self.leakage, self.tracers, self.household, self.common) if each is not None]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TaskAudit(Shown):
    """The audit of a whole task.

    Args:
        task: the task.
        num_users: people who were played.
        columns: one for each private column.
        confidence: with which all limits, of all columns, hold together.
    """

    task: Task
    num_users: int
    columns: tuple[ColumnAudit, ...]
    confidence: float

    @property
    def refuted(self) -> bool:
        """Whether any claim is refuted."""
        return self.verdicts[Verdict.REFUTED] > 0

    @property
    def audited(self) -> bool:
        """Whether the audit is conclusive: a claim was refuted, or enough trials failed to refute a claim."""
        return self.refuted or self.verdicts[Verdict.CONSISTENT] > self.weak

    @property
    def verdicts(self) -> dict[Verdict, int]:
        """Number of claims for each verdict, including claims about all columns or several releases."""
        counts = {verdict: sum(column.verdicts[verdict] for column in self.columns) for verdict in Verdict}
        counts[Verdict.NOT_AUDITED] += len(self.not_audited)
        return counts

    @property
    def weak(self) -> int:
        """Number of claims called consistent after too few trials: even a much too small claim could pass."""
        return sum(column.weak for column in self.columns)

    @property
    def in_short(self) -> str:
        """One line: the task and the outcome of the audit."""
        return f"{self.task.name}: {self.outcome}"

    @property
    def outcome(self) -> str:
        """The verdicts in one sentence."""
        return outcome_of(self.verdicts, self.weak)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks about the batch that was played."""
        least, expected, found = self.task.release.minimum_batch, self.task.people.expected, []
        if self.num_users < least:
            found.append(
                f"{self.num_users:,} people are fewer than minimum_batch = {least:,}: of so few nothing would be "
                "released. What is claimed here is what would be stated of so few."
            )
        if self.task.shuffler.needs_strata:
            played = self.columns[0].report.model.num_users
            found.append(
                f"Only the smallest stratum was played, {count_of(played, 'honest person', 'honest people')}: others' "
                "reports tell nothing of theirs."
            )
        if self.task.people.unvouched:
            found.append(
                "Nobody vouches for people: all reports but one may be made up by whoever attacks, and hide nobody."
            )
        if fakes := self.task.people.fakes:
            found.append(
                f"Of these people {fakes:,} may be fake senders, who tell whoever attacks what they sent: they hide "
                "nobody, and are left out of the batch that is played, or play on the attacker's side."
            )
        if any(column.report.model.local.num_hosts > 1 for column in self.columns):
            found.append(
                "The attacks see what all hosts put out, and no more: what hosts who collude could tell of who sent "
                "what is not used."
            )
        if self.task.shuffler.is_drawn and expected not in (None, self.num_users):
            found.append(
                f"The graph that was played is drawn for {self.num_users:,} people, and is another one than that of "
                f"the {expected:,} people expected."
            )
        return tuple(found)

    @property
    def seeded(self) -> bool:
        """Whether the seed lets its owner repeat the runs."""
        return any(column.report.seeded for column in self.columns)

    @property
    def not_audited(self) -> tuple[str, ...]:
        """Sentences on what is stated about several columns or releases together, which no attack tests."""
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
                    **({} if column.tracers is None else {"tracers": column.tracers.to_dict()}),
                    **({} if column.household is None else {"household": column.household.to_dict()}),
                    **({} if column.common is None else {"common_answer": column.common.to_dict()}),
                }
                for column in self.columns
            ],
            "remarks": list(self.remarks),
            "not_audited": list(self.not_audited),
        }


def audit_task(
    task: Task,
    num_users: int | None = None,
    *,
    trials: int | None = None,
    confidence: float = 0.99,
    mode: str = "pipeline",
    leakage: bool = False,
    grouping: Surroundings | None = None,
    graphs: Around | None = None,
    source: RandomSource | None = None,
    progress: Callable[[str, int, int | None], None] | None = None,
) -> TaskAudit:
    """The audit of every statement about a task, by attacks on made-up answers; see `shuffledp.attacks.audit`.

    Several columns share the confidence. What is stated of all of them together, or of earlier releases too, is not
    audited. A batch below ``minimum_batch`` is played all the same, and said to be one.

    Args:
        task: the task; nothing needs to have been collected.
        num_users: people to play, 1 or more; None is what the task expects. Fewer are hidden less well.
        trials: held-out runs; None is ``shuffledp.attacks.DEFAULT_TRIALS``.
        confidence: strictly between 0 and 1.
        mode: "pipeline" or "statistics".
        leakage: also guess answers in real runs, and hold the share of right guesses against `shuffledp.leakage`.
        grouping: the groups or strata of the people, for a task with groups, ``by`` or ``weight``; of strata the
            smallest is played, about whose people nothing else tells anything.
        graphs: those that reports walk along, for a network shuffle; everybody is played then.
        source: randomness; None is the cryptographic source.
        progress: told for each column how many runs are done, and how many there are at most.

    Raises:
        InvalidParameterError: if an argument is out of range, or it is not known how many people there will be.
        BatchTooSmallError: if the noise of this number of people is too little for the protocol.
        UnsupportedModelError: if nothing is known about the privacy of the task, or no sufficient statistics are.
    """
    validate.open_probability(confidence=confidence)
    around = grouping if graphs is None else graphs
    num_users = planned_people(task, num_users, around)
    task = task.expecting(num_users)
    follow = _tracers_of(task)
    at_home = isinstance(task.people.household, int)
    audits = len(task.columns) * (1 + leakage + 2 * at_home) + (follow is not None)
    each = 1 - (1 - confidence) / audits
    if not each < 1:  # rounded to 1; the attacks' own error would show a number the user never gave
        raise validate.invalid(f"far enough below 1 to be shared by {audits} audits", confidence=confidence)
    columns: list[ColumnAudit] = []
    told = progress or (lambda _step, _done, _total: None)
    options: dict[str, Any] = {"num_users": num_users, "trials": trials, "confidence": each, "source": source}
    for column in task.columns:
        require_planned(column, num_users)
        pipeline = column.pipeline(column.shuffler.shuffler_for(column, around, num_users=num_users))
        model = pipeline.model(num_users)
        statements = account_all(model, delta=column.release.delta)  # the statements of a run
        if column.shuffler.needs_strata:
            pipeline, model = replace(pipeline, shuffler=UniformShuffler()), least_hidden(model)
        options["num_users"] = model.num_users  # the people who hide each other; others can be left out
        auditing, guessing = (partial(told, f"{verb} {column.value}") for verb in ("auditing", "guessing"))
        report = audit(pipeline, statements, mode=mode, progress=auditing, **options)
        guessed = audit_leakage(pipeline, model, progress=guessing, **options) if leakage else None
        tracers = None
        if follow is not None and not columns:  # all columns are shuffled alike
            tracing = {"trials": trials, "confidence": each, "source": source, "progress": partial(told, "tracing")}
            tracers = follow(pipeline.shuffler, **tracing)
        household = common = None
        if at_home:
            naming = {"trials": trials, "confidence": each, "source": source, "progress": partial(told, "naming")}
            household = column.shuffler.named_household(column, pipeline, model.num_users, **naming)
            common = column.shuffler.guessed_household(column, pipeline, model.num_users, **naming)
        columns.append(
            ColumnAudit(
                value=column.value,
                report=report,
                leakage=guessed,
                tracers=tracers,
                household=household,
                common=common,
            )
        )
    return TaskAudit(task=task, num_users=int(num_users), columns=tuple(columns), confidence=float(confidence))


def _tracers_of(task: Task) -> Callable[..., Any] | None:
    """Audit of the task's shuffle by tracers (reports that can be followed); None if no game has tracers."""
    family = family_of(task.shuffler.kind, task.shuffler)
    games = () if family is None else family.games()
    return next((game.follow for game in games if game.follows), None)


def audit_leakage(
    pipeline: Pipeline,
    model: ProtocolModel,
    *,
    num_users: int,
    trials: int | None,
    confidence: float,
    source: RandomSource | None,
    progress: Callable[[int, int | None], None] | None,
) -> LeakageFinding:
    """Audit of the stated chance of guessing one person's answer, by guesses with Bayes' rule.

    An exact one is refuted by too many right guesses, and by too few where no attack is right more often (after a
    uniform shuffle, and without any); an upper bound by too many. What is stated is that of the ``model``, and
    ``confidence`` is of both limits together; without ``trials`` there are ``DEFAULT_GUESSES``.
    """
    try:
        stated = guaranteed_vulnerability(model)
    except UnsupportedModelError as error:
        return LeakageFinding(verdict=Verdict.NOT_AUDITED, reason=f"Nothing is stated: {error}")
    if not stated.kind.promises:
        kind = "An estimate" if stated.kind is Kind.ESTIMATE else "A lower bound"
        return LeakageFinding(verdict=Verdict.NOT_AUDITED, reason=f"{kind} promises nothing.", vulnerability=stated)
    exact = stated.kind is Kind.EXACT
    try:
        found = guess_answers(
            pipeline,
            stated.value if exact else min(stated.upper, 1.0),
            num_users=num_users,
            exact=exact,
            trials=trials or DEFAULT_GUESSES,
            confidence=confidence,
            source=source,
            progress=progress,
        )
    except UnsupportedModelError as error:
        return LeakageFinding(verdict=Verdict.NOT_AUDITED, reason=f"No attack: {error}", vulnerability=stated)
    few = found.verdict is Verdict.NOT_AUDITED
    reason = f"No outcome of {found.trials:,} trials could refute {found.claimed:.6g}." if few else ""
    weak = found.verdict is Verdict.CONSISTENT and not _would_be_found(found, model)
    return LeakageFinding(verdict=found.verdict, reason=reason, vulnerability=stated, guessing=found, weak=weak)


def _would_be_found(found: Guessing, model: ProtocolModel) -> bool:
    """Whether this number of trials would refute a much too small claim with probability 90%."""
    broken = 2 * found.claimed - found.by_chance
    with suppress(UnsupportedModelError):
        unshuffled = replace(model, shuffle=IdentityShuffler().model(model.num_users))
        broken = max(broken, target_vulnerability(unshuffled).lower)
    wins = int(binom.ppf(1 - _POWER, found.trials, min(broken, 1.0)))
    if_broken = counted(wins, found.trials, claimed=found.claimed, confidence=found.confidence)
    return if_broken["verdict"] is Verdict.REFUTED
