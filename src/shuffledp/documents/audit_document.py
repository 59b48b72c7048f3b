"""Result of an audit in words: each claim with its verdict, and pictures of the attacks."""

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from shuffledp.attacks import AuditReport, Finding, Mode, Verdict
from shuffledp.attacks.findings import outcome_of
from shuffledp.core.guarantees import DifferentialPrivacy, DSigmaPrivacy
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.text import count_of, in_digits, plural, said_of
from shuffledp.documents.blocks import (
    DETAIL,
    PAGE,
    TERMINAL,
    Block,
    Cell,
    Column,
    Medium,
    Pairs,
    Picture,
    Role,
    Table,
    Tag,
    Text,
    told,
)
from shuffledp.documents.charts.audit_charts import bars_of, claims_chart, loss_and_delta, roc_chart
from shuffledp.documents.document import Document, Promise, Section
from shuffledp.documents.provenance_document import parameters_of, task_section
from shuffledp.documents.words import NOTHING, count, listed, number
from shuffledp.survey.task_audit import ColumnAudit, LeakageFinding, TaskAudit

_WORDS = {Verdict.REFUTED: "refuted", Verdict.CONSISTENT: "consistent", Verdict.NOT_AUDITED: "not audited"}
_ROLES = {Verdict.REFUTED: Role.BAD, Verdict.CONSISTENT: Role.GOOD, Verdict.NOT_AUDITED: Role.OPEN}
_WIDTH = 80  # columns of a terminal
_NOT_AUDITED = "not audited"
_MARKS = (b"<!DOCTYPE html>", b'id="audit-0"')


def audit_document(audited: TaskAudit) -> Document:
    """Document of an audit: the overall result, then each column, then the task."""
    columns = [_column_section(audited, place) for place in range(len(audited.columns))]
    reasons = told(*(f"\nNOT-AUDITED: {each}" for each in audited.not_audited), on=TERMINAL, role=Role.OPEN)
    left_out = Section(anchor="not-audited", title="", blocks=reasons)
    return Document(
        title=audited.task.name,
        digest=audited.task.sha256,
        kicker=_kicker(audited),
        summary=f"{count_of(audited.num_users, 'invented person', 'invented people')}, about",
        values=tuple(column.value for column in audited.columns),
        promise=Promise(
            title="What was audited",
            facts=(
                _kicker(audited).removeprefix("Audit: "),
                count_of(audited.num_users, "invented person", "invented people"),
            ),
            headline=(*_outcome(audited), *_about(audited)),
        ),
        sections=(*columns, *((left_out,) if reasons else ()), task_section(audited.task)),
    )


def is_audit_page(file: Path) -> bool:
    """Whether a file is the page of an audit."""
    try:
        content = file.read_bytes() if file.is_file() else b""
    except OSError:
        return False
    return content.startswith(_MARKS[0]) and _MARKS[1] in content


def report_document(report: AuditReport) -> Document:
    """Result of an audit of a pipeline without a task."""
    blocks = (*told(report.opening), _claims(ColumnAudit(value="", report=report)))
    return Document(sections=(Section(anchor="claims", title="", blocks=blocks),))


def _kicker(audited: TaskAudit) -> str:
    refuted, stood, left = (audited.verdicts[verdict] for verdict in Verdict)
    if refuted:
        return f"Audit: {count_of(refuted, 'claim is', 'claims are')} refuted"
    if not stood:
        return "Audit: nothing was audited"
    if not audited.audited:
        return "Audit: nothing is known, with too few trials"
    hardly = f", {audited.weak} with too few trials" if audited.weak else ""
    unknown = f", {left} not audited" if left else ""
    return f"Audit: nothing found against {count_of(stood, 'claim')}{hardly}{unknown}"


def _outcome(audited: TaskAudit) -> Iterable[Block]:
    """Texts on all verdicts together, and on the joint confidence of all limits."""
    columns = audited.columns
    if len(columns) > 1 or columns[0].leakage is not None or audited.not_audited:  # otherwise the column says it
        worst = next((verdict for verdict in Verdict if audited.verdicts[verdict]), Verdict.NOT_AUDITED)
        limits = f"All limits hold together with confidence {audited.confidence:g}{_shared(len(columns))}."
        yield Text(f"{audited.outcome} {limits}", _ROLES[worst], on=DETAIL)
    yield Text(audited.outcome, bold=(audited.outcome,), on=PAGE)
    yield from told(*audited.remarks, on=TERMINAL)
    yield from told(*audited.remarks, on=PAGE, role=Role.NOTE)
    for reason in audited.not_audited:
        yield Text(reason, tags=(Tag(_NOT_AUDITED, "quiet"),), on=PAGE)


def _about(audited: TaskAudit) -> Iterable[Block]:
    """Goal of the attacker, the batch that was played, and the number of runs."""
    reports = [column.report for column in audited.columns]
    stood, statistics = audited.verdicts[Verdict.CONSISTENT] > 0, reports[0].mode is Mode.STATISTICS
    tries = "Somebody who knows everybody else's answer tries to tell which of two answers one person gave."
    yield Text(tries, Role.LEAD, on=PAGE)
    proven = (
        "Consistent does not mean proven: it says that these attacks found nothing against the claim." if stood else ""
    )
    drawn = (
        "Views were drawn from the law that the models imply, by their sufficient statistics: the claims about what is "
        "released were put to the test, and the code was not."
        if statistics
        else ""
    )
    seeded = "The runs were drawn from a seed, and can be repeated by whoever knows it." if audited.seeded else ""
    yield from told(proven, drawn, seeded, on=PAGE)
    models = [report.model for report in reports]
    shufflers = sorted({model.shuffle.passage.removeprefix("through ") for model in models})
    # Games stop early if every claim is refuted.
    runs = {each.evidence.trials for report in reports for each in report.findings if each.evidence is not None}
    facts = {
        "Randomizer": listed(sorted({model.local.kind for model in models})) + _strength(models),
        "Shuffler": listed(shufflers) + _settings(audited),
        "People": count(audited.num_users),
        "Runs that count, with each of two data sets": ", ".join(map(count, sorted(runs))) or "none",
        "Confidence of all limits together": f"{audited.confidence:g}{_shared(len(audited.columns))}",
        "Seed": "given, and not shown" if audited.seeded else "none: fresh randomness",
        "Task": audited.task.sha256[:12],
    }
    yield Pairs(tuple(facts.items()), on=PAGE)


def _strength(models: Sequence[ProtocolModel]) -> str:
    """Largest local loss of a report, in words; "" if some report has no local guarantee."""
    losses = [model.local.epsilon0 for model in models]
    if not all(map(math.isfinite, losses)):
        return ""
    several = len(set(losses)) > 1
    return f", epsilon0 {'at most' if several else '='} {number(max(losses), 'at most' if several else 'exactly')}"


def _settings(audited: TaskAudit) -> str:
    """Keys of the task's shuffler besides its kind."""
    settings = {key: text for key, text in parameters_of(audited.task.shuffler.to_dict()) if text != NOTHING}
    return "".join(f", {key} = {text}" for key, text in settings.items() if key not in ("kind", "sha256"))


def _shared(columns: int) -> str:
    return f", shared among {columns} {plural(columns, 'column')}" if columns > 1 else ""


def _column_section(audited: TaskAudit, place: int) -> Section:
    """Section of one private column: its claims and their pictures."""
    column = audited.columns[place]
    outcome = outcome_of(column.verdicts, column.weak) if len(audited.columns) > 1 else ""
    blocks = (
        *_on_terminal(column, audited.confidence),
        *((Text(outcome, bold=(outcome,), on=PAGE),) if outcome else ()),
        _claims(column),
        *_pictures(column, place),
    )
    return Section(anchor=f"audit-{place}", title=column.value, blocks=blocks, titled=Medium.BOTH)


def _on_terminal(column: ColumnAudit, confidence: float) -> Iterable[Text]:
    """Texts for a terminal: for each claim a line with the attack's result, then the verdict."""
    yield Text(column.report.opening, on=DETAIL)
    for finding in column.report.findings:
        yield from _verdict(_short(finding, confidence), finding)
    if column.leakage is not None:
        yield from _verdict(_guessed(column.leakage, confidence), column.leakage)
    for words, found in _successes(column):
        yield from _verdict(_succeeded(words, found), found)


def _verdict(short: tuple[str, str], finding: Any) -> Iterable[Text]:
    """Texts of a verdict for a terminal: one line (two if it is too wide), then a paragraph."""
    line = "; ".join(short)
    shown = line if len(line) <= _WIDTH else ";\n  ".join(short)
    verdict = Verdict.NOT_AUDITED if finding.weak else finding.verdict
    promises = not isinstance(finding, Finding) or finding.statement.kind.promises
    yield Text(shown, Role.HEADING, on=TERMINAL)
    brief = verdict is Verdict.CONSISTENT or not promises
    yield Text(str(finding), _ROLES[verdict], on=DETAIL if brief else TERMINAL)


def _short(finding: Finding, confidence: float) -> tuple[str, str]:
    """Short texts of a claim and of the attack's result."""
    claim, relation = finding.statement.guarantee, finding.statement.kind.relation
    if claim.is_trivial or not isinstance(claim, DSigmaPrivacy | DifferentialPrivacy):
        return f"claimed {claim.type}{': no bound' if claim.is_trivial else ''}", _NOT_AUDITED
    loss, delta = loss_and_delta(finding)
    claimed = f"claimed {finding.symbol} {_sign(relation)} {in_digits(loss, relation, digits=3)} at delta = {delta:g}"
    if finding.evidence is None:
        return claimed, _NOT_AUDITED
    shown = in_digits(finding.evidence.epsilon_lower, "at least", digits=3)
    return claimed, f"strongest attack shows >= {shown} ({_percent(confidence)})"


def _guessed(finding: LeakageFinding, confidence: float) -> tuple[str, str]:
    """Claimed chance of a right guess, and the limits of the attack's chance."""
    guessing = finding.guessing
    if guessing is None:
        return "claimed chance of a right guess", _NOT_AUDITED
    relation = "exactly" if guessing.exact else "at most"
    claimed = f"claimed chance of a right guess {_sign(relation)} {in_digits(guessing.claimed, relation, digits=3)}"
    if finding.verdict is Verdict.NOT_AUDITED:
        return claimed, _NOT_AUDITED
    least, most = guessing.success_limits
    lower, upper = in_digits(least, "at least", digits=3), in_digits(most, "at most", digits=3)
    below = ", less than claimed" if guessing.refuted_from_below else ""
    return claimed, f"attack: {lower} to {upper}{below} ({_percent(confidence)})"


def _sign(relation: str) -> str:
    return {"at most": "<=", "at least": ">=", "exactly": "="}.get(relation, "~")


def _percent(confidence: float) -> str:
    return f"{100 * confidence:.10g}%"


def _claims(column: ColumnAudit) -> Table:
    """Table of the claims, each beside the result of the strongest attack."""
    rows = (
        *map(_row, column.report.findings),
        *(() if column.leakage is None else (_leakage_row(column.leakage),)),
        *(_success_row(words, found) for words, found in _successes(column)),
    )
    heads = tuple(map(Column, ("Guarantee", "Claimed", "Shown")))
    caption = "What is claimed, and what the strongest attack shows"
    return Table(caption, heads, rows, look="theorems audits", label="Table of claims", on=PAGE)


def _row(finding: Finding) -> tuple[Cell, ...]:
    """Table row of one claim, with the attack's result."""
    claimed, delta = loss_and_delta(finding)
    relation, evidence = finding.statement.kind.relation, finding.evidence
    guarantee = Cell(text=finding.statement.guarantee.type, note=finding.statement.basis.theorem, code=True)
    claim = Cell(text="no bound")
    if math.isfinite(claimed):
        claim = Cell(text=f"{finding.symbol} {said_of(claimed, relation)}", note=f"delta {delta:g}")
    shown = f"{finding.symbol} at least {number(evidence.epsilon_lower, 'at least')}" if evidence else ""
    return guarantee, claim, _shown(finding, shown, evidence.told(finding.symbol) if evidence else "")


class _Words(NamedTuple):
    """Words on an attack whose chance of success a claim bounds.

    Args:
        success: what the attack succeeds in.
        attack: its name.
        guarantee: the claim's first cell in the table.
        note: what the claimed chance is about.
        shown: sentence on the successes that were seen.
    """

    success: str
    attack: str
    guarantee: Cell
    note: str
    shown: Callable[[Any], str]


# By the part of an audit that holds the attack's result.
_SUCCESSES = {
    "tracers": _Words(
        success="telling an order",
        attack="tracers",
        guarantee=Cell(text="orders", note="the loss profile of one group", code=True),
        note="of telling two orders apart",
        shown=lambda found: f"Tracers told the order in {found.measured}.",
    ),
    "household": _Words(
        success="finding a household",
        attack="naming",
        guarantee=Cell(text="household", note="slots of people together", code=True),
        note="of naming more than half",
        shown=lambda found: f"The attack named {found.at_least} or more of {len(found.targets)} in {found.measured}.",
    ),
    "common": _Words(
        success="guessing a common answer",
        attack="guessing",
        guarantee=Cell(text="household", note="one answer in common", code=True),
        note="of guessing right between two",
        shown=lambda found: f"The attack guessed what {len(found.people)} had in common in {found.measured}.",
    ),
}


def _successes(column: ColumnAudit) -> Iterable[tuple[_Words, Any]]:
    """Words and result of each attack that was played and whose chance of success a claim bounds."""
    found = ((words, getattr(column, part)) for part, words in _SUCCESSES.items())
    return ((words, result) for words, result in found if result is not None)


def _succeeded(words: _Words, found: Any) -> tuple[str, str]:
    """Claimed chance of success, and the limits that the attack shows."""
    least, most = (f"{limit:.3f}" for limit in found.success_limits)
    weak = ", which could not refute it" * (found.verdict is Verdict.NOT_AUDITED)
    claimed = f"claimed chance of {words.success} <= {in_digits(found.claimed, 'at most', digits=3)}"
    return claimed, f"{words.attack}: {least} to {most}{weak}"


def _success_row(words: _Words, found: Any) -> tuple[Cell, ...]:
    """Table row of a claim about a chance of success, with the attack's result."""
    claim = Cell(text=f"chance at most {number(found.claimed, 'at most')}", note=words.note)
    shown = f"chance at least {number(found.success_limits[0], 'at least')}"
    return words.guarantee, claim, _shown(found, shown, words.shown(found))


def _leakage_row(finding: LeakageFinding) -> tuple[Cell, ...]:
    """Table row of the claim about the chance of a right guess, with the attack's result."""
    stated, guessing, claim = finding.vulnerability, finding.guessing, Cell(text="")
    if stated is not None:
        relation = stated.kind.relation
        claim = Cell(text=f"chance {relation} {number(stated.value, relation)}", note="of a right guess")
    guarantee = Cell(text="guesses", note="one person's answer", code=True)
    if guessing is None or finding.reason:
        return guarantee, claim, _shown(finding, "", "")
    least, most = guessing.success_limits
    shown = f"chance at least {number(least, 'at least')}"
    if guessing.refuted_from_below:
        shown = f"chance at most {number(most, 'at most')}: less than claimed"
    return guarantee, claim, _shown(finding, shown, f"The likeliest answer was right in {guessing.measured}.")


def _shown(finding: Any, shown: str, evidence: str) -> Cell:
    """Table cell with the verdict and the attack's result, or the reason why there was no attack."""
    look = "" if finding.verdict is Verdict.REFUTED else "quiet" if finding.reason else "promise"
    tags = (Tag(_WORDS[finding.verdict], look), *((Tag("too few trials"),) if finding.weak else ()))
    if finding.reason:
        return Cell(text="", note=finding.reason, tags=tags)
    return Cell(text=shown, note=" ".join(filter(None, [evidence, finding.power])), bold=True, tags=tags)


def _pictures(column: ColumnAudit, place: int) -> Iterable[Block]:
    """Pictures of claims beside attacks, and of the rates of each attack."""
    findings = column.report.findings
    shown = [finding for finding in findings if finding.evidence is not None]
    bars = bars_of(findings, column.leakage)
    charts = [claims_chart(bars, name=f"claims-{place}")] if bars else []
    charts += [roc_chart(finding, name=f"roc-{place}-{which}") for which, finding in enumerate(shown)]
    for chart in charts:
        yield Text(chart.title, Role.HEADING, on=PAGE)
        yield Picture(chart, has_files=False, on=PAGE)
