"""What people see on the terminal: one screen per result, or one JSON object."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from shuffledp.statements import PrivacyStatement
from shuffledp.tasks import DataFlow, Outcome

__all__ = ["progress_bar", "show_flow", "show_outcome"]

_MOST_ROWS = 12


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int | None], None]]:
    """A bar on the error stream, while rows go by; silent where that is not a terminal."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} rows"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        row_count = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(row_count, completed=done, total=total)


def show_outcome(outcome: Outcome, folder: Path, *, as_json: bool) -> None:
    """A release: the statement first, then what went in and out, the estimates, and where everything is."""
    if as_json:
        _print_json(outcome.to_dict())
        return
    console = Console(highlight=False)
    release, flow = outcome.release, outcome.flow
    console.print(Text(outcome.task.name, style="bold"), f"(task {outcome.task.sha256[:12]})")
    for statement in release.statements[:1]:
        console.print(Text(str(statement), style="red" if statement.withdrawn else ""))
    for statement in release.statements[1:]:
        console.print(Text(f"  {_in_short(statement)}", style="dim"))
    console.print(Text(_flow_sentence(flow)))
    console.print(_estimate_table(outcome))
    console.print(Text(f"Page:  {folder / 'release.html'}"))
    console.print(Text(f"Files: {', '.join(outcome.files)}"))


def show_flow(flow: DataFlow, output: Path, *, stage: str, seeded: bool, as_json: bool) -> None:
    """What a single stage did."""
    if as_json:
        _print_json({"stage": stage, "flow": flow.to_dict(), "files": [str(output)], "seeded": seeded})
        return
    count = flow.released or (flow.received or 0) - flow.missing
    note = " SEEDED: for experiments only; no privacy is promised." if seeded else ""
    sys.stdout.write(f"{count:,} reports {stage}: {output}.{_detached(flow)}{note}\n")


def _flow_sentence(flow: DataFlow) -> str:
    received = f"{flow.received:,} rows received, " if flow.received is not None else ""
    missing = f"{flow.missing:,} without an answer dropped, " if flow.missing else ""
    return f"{received}{missing}{flow.released:,} reports released.{_detached(flow)}"


def _detached(flow: DataFlow) -> str:
    if not flow.detached:
        return ""
    return f" Detached by the shuffle, not released: {', '.join(flow.detached)}."


def _in_short(statement: PrivacyStatement) -> str:
    claim: Any = statement.claimed or statement.guarantee
    state = "withdrawn; would have been " if statement.withdrawn else ""
    delta = f", delta = {claim.delta:g}" if claim.delta else ""
    return f"{state}{claim.type} {statement.kind}: epsilon = {claim.epsilon:.4g}{delta} ({statement.basis.theorem})"


def _estimate_table(outcome: Outcome) -> Table:
    estimate = outcome.release.estimate
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in (estimate.statistic, "estimate", f"{estimate.level:.0%} interval", "standard error", "sampling alone"):
        table.add_column(name, justify="left" if name == estimate.statistic else "right")
    for row in estimate.rows()[:_MOST_ROWS]:
        sampling = row["sampling_error"]
        table.add_row(
            Text(row["target"]),
            f"{row['estimate']:.4f}",
            f"{row['lower']:.4f} to {row['upper']:.4f}",
            f"{row['standard_error']:.4f}",
            "" if sampling is None else f"{sampling:.4f}",
        )
    left_out = len(estimate.target) - _MOST_ROWS
    if left_out > 0:
        table.add_row(f"... and {left_out} more in estimates.csv")
    return table


def _print_json(content: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
