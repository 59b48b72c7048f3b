"""What an audit found, on the terminal."""

from pathlib import Path

from rich.console import Console
from rich.text import Text

from shuffledp.attacks import Verdict
from shuffledp.cli.screen import print_json
from shuffledp.tasks import TaskAudit

__all__ = ["show_audit"]

_STYLES = {Verdict.REFUTED: "bold red", Verdict.CONSISTENT: "green", Verdict.NOT_AUDITED: "yellow"}


def show_audit(audited: TaskAudit, page: Path | None, *, as_json: bool) -> None:
    """A paragraph for each claim: the verdict first, then the claim beside what the strongest attack shows."""
    if as_json:
        print_json(audited.to_dict())
        return
    console = Console(highlight=False)
    console.print(Text(audited.task.name, style="bold"), f"(task {audited.task.sha256[:12]})")
    if len(audited.columns) > 1 or audited.columns[0].leakage is not None:  # else the column's opening says it
        worst = next((verdict for verdict in Verdict if audited.verdicts[verdict]), Verdict.NOT_AUDITED)
        console.print(
            Text(audited.outcome, style=_STYLES[worst]), f"All limits hold with confidence {audited.confidence:g}."
        )
    for remark in audited.remarks:
        console.print(Text(remark))
    for column in audited.columns:
        console.print(Text(f"\n{column.value if column.value.isprintable() else repr(column.value)}", style="bold"))
        console.print(Text(column.report.opening))
        for finding in column.report.findings:
            console.print(Text("\n" + str(finding), style=_STYLES[finding.verdict]))
        if column.leakage is not None:
            console.print(Text(f"\n{column.leakage}", style=_STYLES[column.leakage.verdict]))
    for reason in audited.not_audited:
        console.print(Text(f"\nNOT-AUDITED: {reason}", style=_STYLES[Verdict.NOT_AUDITED]))
    if page is not None:
        console.print(Text(f"\nPage: {page}"), soft_wrap=True)
