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

from shuffledp._numerals import in_digits
from shuffledp.models import LabelMeaning
from shuffledp.statements import PrivacyStatement
from shuffledp.tasks import DataFlow, JointOutcome, JointStageOutcome, Outcome, StageOutcome

__all__ = ["in_short", "print_json", "progress_bar", "show_outcome", "show_stage"]

_MOST_ROWS = 12
_LONGEST_NAME = 20


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int | None], None]]:
    """A bar on the error stream, while rows go by; silent where that is not a terminal."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} rows"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        row_count = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(row_count, completed=done, total=total)


def show_outcome(outcome: Outcome | JointOutcome, folder: Path, *, as_json: bool) -> None:
    """A release: the statement first, then what went in and out, the estimates, and where everything is."""
    if as_json:
        print_json(outcome.to_dict())
        return
    console = Console(highlight=False)
    statements = outcome.statements if isinstance(outcome, JointOutcome) else outcome.release.statements
    console.print(Text(outcome.task.name, style="bold"), f"(task {outcome.task.sha256[:12]})")
    for statement in statements[:1]:
        console.print(Text(str(statement), style="red" if statement.withdrawn else ""))
    for statement in statements[1:]:
        console.print(Text(f"  {in_short(statement)}", style="dim"))
    if isinstance(outcome, Outcome):
        _show_column(console, outcome, folder)
        return
    for name, column in outcome.columns.items():
        value = column.task.value
        console.print(Text(f"\n{value if value.isprintable() else repr(value)}", style="bold"))
        _show_column(console, column, folder / name)
    console.print(Text(f"\nPage about all columns: {folder / 'release.html'}"), soft_wrap=True)
    console.print(Text(f"Statement about one person, over all columns: {folder / 'statement.json'}"), soft_wrap=True)


def _show_column(console: Console, outcome: Outcome, folder: Path) -> None:
    """What came of one private column."""
    console.print(Text(_flow_sentence(outcome.flow) + _attached(outcome)))
    console.print(_estimate_table(outcome))
    left_out = len(outcome.release.estimate.target) - _MOST_ROWS
    if left_out > 0:
        console.print(Text(f"... and {left_out} more in estimates.csv"))
    console.print(Text("Intervals and standard errors are for these people; sampling adds to them for a population."))
    # Never broken into lines, so that they can be copied.
    console.print(Text(f"Page:  {folder / 'release.html'}"), soft_wrap=True)
    console.print(Text(f"Files: {', '.join(outcome.files)}"), soft_wrap=True)


def show_stage(outcome: StageOutcome | JointStageOutcome, output: Path, *, as_json: bool) -> None:
    """What a single stage did, for one private column or for each of several."""
    if as_json:
        print_json(outcome.to_dict())
    elif isinstance(outcome, StageOutcome):
        _show_stage(outcome, output)
    else:
        for column in outcome.columns.values():
            _show_stage(column, output / next(iter(column.files)))


def _show_stage(outcome: StageOutcome, output: Path) -> None:
    done = {"randomize": "randomized", "shuffle": "shuffled"}[outcome.stage]
    note = " SEEDED: for experiments only; no privacy is promised." if outcome.seeded else ""
    flow = outcome.flow
    _write(f"{outcome.num_reports:,} reports {done}: {output}.{_dropped(flow)}{_detached(flow)}{note}\n")


def _flow_sentence(flow: DataFlow) -> str:
    received = f"{flow.received:,} rows received, " if flow.received is not None else ""
    missing = f"{flow.missing:,} without an answer dropped, " if flow.missing else ""
    return f"{received}{missing}{flow.released:,} reports released.{_detached(flow)}"


def _attached(outcome: Outcome) -> str:
    """What is released beside each report, where the shuffler leaves it there."""
    if outcome.model.shuffle.labels is LabelMeaning.NONE:
        return ""
    beside = ", ".join([f"the number of its {outcome.model.shuffle.labels}", *outcome.task.public])
    return f" Released beside each report: {beside}."


def _dropped(flow: DataFlow) -> str:
    return f" {flow.missing:,} people without an answer dropped." if flow.missing else ""


def _detached(flow: DataFlow) -> str:
    if not flow.detached:
        return ""
    names = (name if name.isprintable() else repr(name) for name in flow.detached)
    return f" Detached by the shuffle, not released: {', '.join(names)}."


def in_short(statement: PrivacyStatement) -> str:
    """A statement on one line."""
    claim: Any = statement.claimed or statement.guarantee
    state = "withdrawn; would have been " if statement.withdrawn else ""
    delta = f", delta = {claim.delta:g}" if claim.delta else ""
    epsilon = in_digits(claim.epsilon, statement.kind.relation)
    return f"{state}{claim.type} {statement.kind}: epsilon = {epsilon}{delta} ({statement.basis.theorem})"


def _estimate_table(outcome: Outcome) -> Table:
    """The first rows; names give way where the screen is narrow, numbers never do."""
    estimate = outcome.release.estimate
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in (estimate.statistic, "estimate", f"{estimate.level:.0%} interval", "standard error", "sampling alone"):
        table.add_column(name, justify="right", no_wrap=True)
    table.columns[0].justify, table.columns[0].overflow = "left", "ellipsis"
    for row in estimate.rows()[:_MOST_ROWS]:
        sampling = row["sampling_error"]
        table.add_row(
            Text(_shortened(row["target"])),
            f"{row['estimate']:.4f}",
            f"{row['lower']:.4f} to {row['upper']:.4f}",
            f"{row['standard_error']:.4f}",
            f"{sampling:.4f}" if sampling else "-",
        )
    return table


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 3]}..."


def print_json(content: dict[str, Any]) -> None:
    """One JSON object, and nothing else."""
    _write(json.dumps(content, indent=2, allow_nan=False) + "\n")


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()  # here, so that a reader who has left is noticed while somebody still listens to errors
