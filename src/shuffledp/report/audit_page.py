"""The page of an audit: each claim with what became of it, and pictures of what attacks show."""

from pathlib import Path

from shuffledp.attacks import Finding, Mode, Verdict
from shuffledp.attacks.findings import outcome_of
from shuffledp.report.audit_charts import claims_chart, loss_and_delta, roc_chart
from shuffledp.report.parts import Section
from shuffledp.report.rendering import render_page
from shuffledp.report.words import count, count_of, number
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
    summary = f"{count(audited.num_users)} invented people, confidence {audited.confidence:g}, about"
    page = render_page(
        [_section(audited, place) for place in range(len(audited.columns))],
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
    return f"Audit: nothing found against {count_of(stood, 'claim', 'claims')}" + (
        f", {left} not audited" if left else ""
    )


def _section(audited: TaskAudit, place: int) -> Section:
    column = audited.columns[place]
    findings = column.report.findings
    shown = [finding for finding in findings if finding.evidence is not None]
    charts = [claims_chart(shown, name=f"claims-{place}")] if shown else []
    charts += [roc_chart(finding, name=f"roc-{place}-{which}") for which, finding in enumerate(shown)]
    context = {
        "rows": [_row(finding) for finding in findings],
        "names": [chart.name for chart in charts],
        "titles": {chart.name: chart.title for chart in charts},
        "statistics": column.report.mode is Mode.STATISTICS,
        "seeded": column.report.seeded,
        "not_audited": audited.not_audited,
        "outcome": outcome_of(column.verdicts),
        "stood": column.verdicts[Verdict.CONSISTENT] > 0,
        "remarks": audited.remarks,
        "leakage": None if column.leakage is None else _leakage_row(column.leakage),
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
        "claim": f"{relation} {number(claimed, relation)}",
        "delta": f"{delta:g}",
        "shown": number(evidence.epsilon_lower, "at least") if evidence else "",
        "attack": evidence.attack if evidence else "",
        "reason": finding.reason,
        "evidence": str(evidence or ""),
        "power": finding.power,
    }


def _leakage_row(finding: LeakageFinding) -> dict[str, object]:
    """The stated success of guesses, in words."""
    stated, guessing = finding.vulnerability, finding.guessing
    shown = guessing if guessing is not None and not finding.reason else None
    return {
        "verdict": _WORDS[finding.verdict],
        "refuted": finding.verdict is Verdict.REFUTED,
        "claim": "" if stated is None else f"{stated.kind.relation} {number(stated.value, stated.kind.relation)}",
        "reason": finding.reason,
        "evidence": "" if shown is None else f"The likeliest answer was right in {shown.measured}.",
    }
