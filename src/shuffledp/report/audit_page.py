"""The page of an audit: each claim with what became of it, and pictures of what attacks show."""

import math
from pathlib import Path

from shuffledp.attacks import Finding, Guessing, Mode, Verdict
from shuffledp.attacks.findings import outcome_of, played
from shuffledp.report.audit_charts import bars_of, claims_chart, loss_and_delta, roc_chart
from shuffledp.report.parts import Section
from shuffledp.report.rendering import render_page
from shuffledp.report.sections.reproduction import NOTHING, canonical_text, parameters_of, versions
from shuffledp.report.words import count, count_of, listed, number
from shuffledp.tasks import TaskAudit
from shuffledp.tasks.leakage_auditing import LeakageFinding

__all__ = ["is_audit_page", "write_audit_page"]

_MARKS = (b"<!DOCTYPE html>", b'id="audit-0"')

_WORDS = {Verdict.REFUTED: "refuted", Verdict.CONSISTENT: "consistent", Verdict.NOT_AUDITED: "not audited"}


def write_audit_page(audited: TaskAudit, file: Path) -> None:
    """Write the page of an audit, which loads nothing from anywhere and needs no JavaScript.

    Args:
        audited: what came of the audit.
        file: to write; replaced if there is one.

    Guarantees:
        1. Text from the task is shown as text, whatever it contains.
        2. A claim that was not audited is called so, with the reason, and never consistent.
    """
    summary = f"{count_of(audited.num_users, 'invented person', 'invented people')}, about"
    page = render_page(
        [_about(audited), *(_section(audited, place) for place in range(len(audited.columns))), _task(audited)],
        name=audited.task.name,
        kicker=_kicker(audited),
        summary=summary,
        values=[column.value for column in audited.columns],
        has_files=False,
    )
    file.write_bytes(page)


def is_audit_page(file: Path) -> bool:
    """Whether a file is a page that `write_audit_page` wrote."""
    try:
        content = file.read_bytes()
    except OSError:
        return False
    return content.startswith(_MARKS[0]) and _MARKS[1] in content


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
    return f"Audit: nothing found against {count_of(stood, 'claim', 'claims')}{hardly}{unknown}"


def _about(audited: TaskAudit) -> Section:
    """What came of everything, and what it is about."""
    reports = [column.report for column in audited.columns]
    models = [report.model for report in reports]
    kinds = listed(sorted({model.local.kind for model in models}))
    context = {
        "outcome": audited.outcome,
        "remarks": audited.remarks,
        "not_audited": audited.not_audited,
        "stood": audited.verdicts[Verdict.CONSISTENT] > 0,
        "seeded": audited.seeded,
        "statistics": reports[0].mode is Mode.STATISTICS,
        "facts": {
            "Randomizer": kinds + _strength(audited),
            "Shuffler": listed(sorted({played(model.shuffle).removeprefix("through ") for model in models}))
            + _settings(audited),
            "People": count(audited.num_users),
            "Runs that count, with each of two data sets": _runs(audited),
            "Confidence of all limits together": f"{audited.confidence:g}" + _shared(len(audited.columns)),
            "Seed": "given, and not shown" if audited.seeded else "none: fresh randomness",
            "Task": audited.task.sha256[:12],
        },
    }
    return Section(name="audited", title="What was audited", context=context)


def _strength(audited: TaskAudit) -> str:
    """The local loss of a report, or the largest of them; "" where a report promises nothing by itself."""
    losses = [column.report.model.local.epsilon0 for column in audited.columns]
    if not all(map(math.isfinite, losses)):
        return ""
    return f", epsilon0 {'at most' if len(set(losses)) > 1 else '='} {number(max(losses))}"


def _settings(audited: TaskAudit) -> str:
    """What the task says of its shuffler besides the kind."""
    settings = {key: text for key, text in parameters_of(audited.task.shuffler.to_dict()) if text != NOTHING}
    return "".join(f", {key} = {text}" for key, text in settings.items() if key not in ("kind", "sha256"))


def _runs(audited: TaskAudit) -> str:
    """Of all games, which stop early where all is refuted."""
    findings = [finding for column in audited.columns for finding in column.report.findings]
    runs = {finding.evidence.trials for finding in findings if finding.evidence is not None}
    return ", ".join(map(count, sorted(runs))) or "none"


def _shared(num_columns: int) -> str:
    return f", shared among {num_columns} columns" if num_columns > 1 else ""


def _task(audited: TaskAudit) -> Section:
    """All parameters, and what it takes to check that it is the same task."""
    task = audited.task.to_dict()
    context = {
        "parameters": parameters_of(task),
        "versions": versions(),
        "sha256": audited.task.sha256,
        "canonical": canonical_text(task),
    }
    return Section(name="audited_task", title="The task", context=context)


def _section(audited: TaskAudit, place: int) -> Section:
    column = audited.columns[place]
    findings = column.report.findings
    shown = [finding for finding in findings if finding.evidence is not None]
    bars = bars_of(findings, column.leakage)
    charts = [claims_chart(bars, name=f"claims-{place}")] if bars else []
    charts += [roc_chart(finding, name=f"roc-{place}-{which}") for which, finding in enumerate(shown)]
    context = {
        "rows": [*map(_row, findings), *([_leakage_row(column.leakage)] if column.leakage is not None else [])],
        "names": [chart.name for chart in charts],
        "titles": {chart.name: chart.title for chart in charts},
        "outcome": outcome_of(column.verdicts, column.weak) if len(audited.columns) > 1 else "",
    }
    return Section(name="audit", title=column.value, context=context, charts=tuple(charts), anchor=f"audit-{place}")


def _row(finding: Finding) -> dict[str, object]:
    """One claim, in words."""
    claimed, delta = loss_and_delta(finding)
    relation, evidence = finding.statement.kind.relation, finding.evidence
    return {
        "verdict": _WORDS[finding.verdict],
        "refuted": finding.verdict is Verdict.REFUTED,
        "type": finding.statement.guarantee.type,
        "theorem": finding.statement.basis.theorem,
        "claim": f"{finding.symbol} {relation} {number(claimed, relation)}" if math.isfinite(claimed) else "no bound",
        "delta": f"delta {delta:g}" if math.isfinite(claimed) else "",
        "shown": f"{finding.symbol} at least {number(evidence.epsilon_lower, 'at least')}" if evidence else "",
        "reason": finding.reason,
        "evidence": evidence.told(finding.symbol) if evidence else "",
        "power": finding.power,
        "weak": finding.weak,
    }


def _leakage_row(finding: LeakageFinding) -> dict[str, object]:
    """The stated success of guesses, in words."""
    stated, guessing = finding.vulnerability, finding.guessing
    shown = guessing if guessing is not None and not finding.reason else None
    relation = "" if stated is None else stated.kind.relation
    return {
        "verdict": _WORDS[finding.verdict],
        "refuted": finding.verdict is Verdict.REFUTED,
        "type": "guesses",
        "theorem": "one person's answer",
        "claim": "" if stated is None else f"chance {relation} {number(stated.value, relation)}",
        "delta": "" if stated is None else "of a right guess",
        "shown": "" if shown is None else _limit_that_decides(shown),
        "reason": finding.reason,
        "evidence": "" if shown is None else f"The likeliest answer was right in {shown.measured}.",
        "power": "" if shown is None else finding.power,
        "weak": finding.weak,
    }


def _limit_that_decides(guessing: Guessing) -> str:
    """The lower limit of the chance, or the upper one where the claim is refuted because that is below it."""
    least, most = guessing.success_limits
    if guessing.refuted_from_below:
        return f"chance at most {number(most, 'at most')}: less than claimed"
    return f"chance at least {number(least, 'at least')}"
