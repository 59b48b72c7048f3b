"""What an audit found, on the terminal."""

from pathlib import Path

from rich.console import Console
from rich.text import Text

from shuffledp._numerals import in_digits
from shuffledp.attacks import Finding, Verdict
from shuffledp.cli.screen import print_json
from shuffledp.guarantees import DifferentialPrivacy, DSigmaPrivacy
from shuffledp.tasks import TaskAudit
from shuffledp.tasks.leakage_auditing import LeakageFinding

__all__ = ["show_audit"]

_WIDTH = 80  # columns of a terminal
_STYLES = {Verdict.REFUTED: "bold red", Verdict.CONSISTENT: "green", Verdict.NOT_AUDITED: "yellow"}


def show_audit(audited: TaskAudit, page: Path | None, *, as_json: bool) -> None:
    """For each claim a line with the claim beside what the strongest attack shows, and a paragraph with the verdict."""
    if as_json:
        print_json(audited.to_dict())
        return
    console = Console(highlight=False)
    console.print(Text(audited.task.name, style="bold"), f"(task {audited.task.sha256[:12]})")
    if len(audited.columns) > 1 or audited.columns[0].leakage is not None or audited.not_audited:  # else said below
        worst = next((verdict for verdict in Verdict if audited.verdicts[verdict]), Verdict.NOT_AUDITED)
        shared = f", shared among {len(audited.columns)} columns" if len(audited.columns) > 1 else ""
        limits = f"All limits hold together with confidence {audited.confidence:g}{shared}."
        console.print(Text(audited.outcome, style=_STYLES[worst]), limits)
    for remark in audited.remarks:
        console.print(Text(remark))
    for column in audited.columns:
        console.print(Text(f"\n{column.value if column.value.isprintable() else repr(column.value)}", style="bold"))
        console.print(Text(column.report.opening))
        for finding in column.report.findings:
            style = _STYLES[Verdict.NOT_AUDITED if finding.weak else finding.verdict]
            _show(console, _short(finding, audited.confidence), str(finding), style)
        if column.leakage is not None:
            style = _STYLES[Verdict.NOT_AUDITED if column.leakage.weak else column.leakage.verdict]
            _show(console, _guessed(column.leakage, audited.confidence), str(column.leakage), style)
    for reason in audited.not_audited:
        console.print(Text(f"\nNOT-AUDITED: {reason}", style=_STYLES[Verdict.NOT_AUDITED]))
    if page is not None:
        console.print(Text(f"\nPage: {page}"), soft_wrap=True)


def _show(console: Console, short: tuple[str, str], told: str, style: str) -> None:
    """A line that says it in short, or two if it is wider than a terminal, and the paragraph."""
    line = "; ".join(short)
    console.print(Text("\n" + (line if len(line) <= _WIDTH else ";\n  ".join(short)), style="bold"), soft_wrap=True)
    console.print(Text(told, style=style))


def _short(finding: Finding, confidence: float) -> tuple[str, str]:
    """What is claimed, and what is shown."""
    claim, relation = finding.statement.guarantee, finding.statement.kind.relation
    if claim.is_trivial or not isinstance(claim, DSigmaPrivacy | DifferentialPrivacy):
        return f"claimed {claim.type}: no bound" if claim.is_trivial else f"claimed {claim.type}", "not audited"
    loss = claim.alpha if isinstance(claim, DSigmaPrivacy) else claim.epsilon
    claimed = (
        f"claimed {finding.symbol} {_sign(relation)} {in_digits(loss, relation, digits=3)} at delta = {claim.delta:g}"
    )
    if finding.evidence is None:
        return claimed, "not audited"
    shown = in_digits(finding.evidence.epsilon_lower, "at least", digits=3)
    return claimed, f"strongest attack shows >= {shown} ({_percent(confidence)})"


def _guessed(finding: LeakageFinding, confidence: float) -> tuple[str, str]:
    """Which chance of a right guess is claimed, and between which limits the attack's lies."""
    guessing = finding.guessing
    if guessing is None:
        return "claimed chance of a right guess", "not audited"
    relation = "exactly" if guessing.exact else "at most"
    claimed = f"claimed chance of a right guess {_sign(relation)} {in_digits(guessing.claimed, relation, digits=3)}"
    if finding.verdict is Verdict.NOT_AUDITED:
        return claimed, "not audited"
    least, most = guessing.success_limits
    lower, upper = in_digits(least, "at least", digits=3), in_digits(most, "at most", digits=3)
    below = ", less than claimed" if guessing.refuted_from_below else ""
    return claimed, f"attack: {lower} to {upper}{below} ({_percent(confidence)})"


def _sign(relation: str) -> str:
    return {"at most": "<=", "at least": ">=", "exactly": "="}.get(relation, "~")


def _percent(confidence: float) -> str:
    return f"{100 * confidence:.10g} %"
