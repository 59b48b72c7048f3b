"""What people see on the terminal: one screen per result, or one JSON object."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from shuffledp._numerals import in_digits
from shuffledp.guarantees import DSigmaPrivacy
from shuffledp.models import LabelMeaning, MeanModel, ProtocolModel, SumModel
from shuffledp.statements import Kind, PrivacyStatement
from shuffledp.tables import Watch
from shuffledp.tasks import DataFlow, JointOutcome, JointStageOutcome, Outcome, SplitAndMixSection, StageOutcome

__all__ = ["print_json", "show_outcome", "show_stage", "show_statements", "watching"]

_MOST_ROWS = 12
_LONGEST_NAME = 20


class _Screen(Watch):
    """Bars for steps, and what is said when they are gone."""

    def __init__(self, bars: Progress | None) -> None:
        self._bars = bars
        self._steps: dict[str, TaskID] = {}
        self.notices: list[str] = []

    def progress(self, step: str, done: int, total: int | None) -> None:
        """A bar for each step."""
        if self._bars is None:
            return
        if step not in self._steps:
            shown = step if step.isprintable() else repr(step)[1:-1]  # it may name a column
            self._steps[step] = self._bars.add_task(shown, total=total)
        self._bars.update(self._steps[step], completed=done, total=total)

    def clipped(self, column: str, count: int, received: int, clipping: str) -> None:
        """To be said in the end."""
        self.notices.append(
            f"shuffledp: {count:,} of {received:,} answers in column {column!r} were outside the range. {clipping} "
            "No file holds this number: it depends on answers, so do not publish it.\n"
        )


@contextmanager
def watching(unit: str = "rows") -> Iterator[Watch]:
    """Bars on the error stream while rows, or runs, go by, if that is a terminal; in the end what no file may hold."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn(f"{{task.completed:,.0f}} {unit}"),
        TimeRemainingColumn(),
    )
    bars = Progress(*columns, console=Console(stderr=True), transient=True) if sys.stderr.isatty() else None
    screen = _Screen(bars)
    with bars or nullcontext():
        yield screen
    sys.stderr.write("".join(screen.notices))


def show_outcome(outcome: Outcome | JointOutcome, folder: Path, *, as_json: bool) -> None:
    """A release: the statement first, then what went in and out, the estimates, and where everything is."""
    if as_json:
        print_json(outcome.to_dict())
        return
    console = Console(highlight=False)
    console.print(Text(outcome.task.name, style="bold"), f"(task {outcome.task.sha256[:12]})")
    show_statements(console, outcome.statements)
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
    console.print(Text(_flow_sentence(outcome.flow, outcome.model) + _attached(outcome)))
    console.print(_estimate_table(outcome))
    left_out = len(outcome.release.estimate.target) - _MOST_ROWS
    if left_out > 0:
        console.print(Text(f"... and {left_out} more in estimates.csv"))
    console.print(Text("Intervals and standard errors are for these people; sampling adds to them for a population."))
    for sentence in (*_unknown_sampling(outcome), *_clipping(outcome), *_by_place(outcome), *_warnings(outcome)):
        console.print(Text(sentence))
    # Never broken into lines, so that they can be copied.
    console.print(Text(f"Page:  {folder / 'release.html'}"), soft_wrap=True)
    console.print(Text(f"Files: {', '.join(outcome.files)}"), soft_wrap=True)


def show_stage(outcome: StageOutcome | JointStageOutcome, output: Path, *, as_json: bool) -> None:
    """What a single stage did, for one private column or for each of several; a file of secrets is warned of."""
    if isinstance(outcome, StageOutcome):
        columns = {output: outcome}
    else:
        columns = {output / next(iter(column.files)): column for column in outcome.columns.values()}
    if as_json:
        print_json(outcome.to_dict())
    for path, column in columns.items():
        if not as_json:
            _show_stage(column, path)
        if column.is_secret:
            sys.stderr.write(
                f"shuffledp: WARNING: {path} gives every answer away: whoever reads it adds up each person's messages. "
                "Nothing hides them before the shuffle: hand it to nobody but a shuffler whom people trust with their "
                "answers, and delete it after shuffling. Only its owner may read it. A shuffle that is killed may "
                "leave the messages in a folder .buckets.* beside its output: delete that too.\n"
            )


def _show_stage(outcome: StageOutcome, output: Path) -> None:
    done = {"randomize": "randomized", "shuffle": "shuffled"}[outcome.stage]
    note = " SEEDED: for experiments only; no privacy is promised." if outcome.seeded else ""
    flow = outcome.flow
    _write(f"{_sent(outcome)} {done}: {output}.{_dropped(flow)}{_detached(flow)}{note}\n")


def _sent(outcome: StageOutcome) -> str:
    """How much, and from how many people if that is not the same."""
    each = outcome.task.randomizer.randomizer().model.num_messages
    if each == 1:
        return f"{outcome.num_reports:,} reports"
    return f"{outcome.num_reports:,} messages of {outcome.num_reports // each:,} people"


def _flow_sentence(flow: DataFlow, model: ProtocolModel) -> str:
    people, lost = f"{model.num_users:,} people", ""
    sent = "reports" if flow.released == model.num_users else f"messages of {people}"
    if model.shuffle.labels is LabelMeaning.SUBMITTER and flow.released != model.num_users:
        sent = f"reports handed in by {people}"
        if flow.released < model.num_users:
            sent, lost = f"of {model.num_users:,} reports", " The others got lost on their way."
    received = f"{flow.received:,} rows received, " if flow.received is not None else ""
    missing = f"{flow.missing:,} without an answer dropped, " if flow.missing else ""
    return f"{received}{missing}{flow.released:,} {sent} released.{lost}{_detached(flow)}"


def _attached(outcome: Outcome) -> str:
    """What is released beside each report, where the shuffler leaves it there."""
    if outcome.model.shuffle.labels is LabelMeaning.NONE:
        return ""
    if outcome.model.shuffle.labels is LabelMeaning.POSITION:
        return " They are released in the order in which the shuffler put them out."
    public = outcome.task.public if outcome.task.shuffler.keeps_public else ()
    names = (name if name.isprintable() else repr(name) for name in public)
    beside = ", ".join([f"the number of its {outcome.model.shuffle.labels}", *names])
    return f" Released beside each report: {beside}."


def _unknown_sampling(outcome: Outcome) -> list[str]:
    """Why a sampling error is not shown, if one is not."""
    sampling = outcome.release.estimate.sampling_error
    if isinstance(outcome.model.local, SumModel):
        return ["How much another sample of people would differ is not known: sums tell nothing of it."]
    if sampling is None:
        return ["-: reports like these cannot tell sampling from randomizing; the standard error covers both."]
    if (sampling > 0).all():
        return []
    if isinstance(outcome.model.local, MeanModel):
        return ["-: cannot be estimated, since the reports differ no more than randomizing makes them."]
    return ["-: cannot be estimated, since the estimate lies at or beyond an end of its range."]


def _clipping(outcome: Outcome) -> list[str]:
    """That the estimate is not of the raw answers."""
    return [sentence for sentence in [outcome.task.randomizer.clipping] if sentence]


def _by_place(outcome: Outcome) -> list[str]:
    """What there is by place, who is not shuffled, and a warning where places can hardly be told apart."""
    if outcome.regional is None:
        return []
    mixing, estimate = outcome.regional.mixing, outcome.regional.estimate
    found = [
        f"By place: {_places(len(outcome.regional.people))}, {len(estimate.target):,} further rows of estimates.csv. "
        f"Reports land {mixing.displacement:,.1f} ranks away on average; {mixing.kept:.1%} of a group's stay in it."
    ]
    if outcome.regional.of_slot is not None:
        found.append("places.csv says whose slot is in which place.")
    if outcome.regional.left_out:
        found.append(f"{outcome.regional.left_out:,} people far from all others are too few to show.")
    if mixing.num_alone:
        found.append(f"{mixing.num_alone:,} of {mixing.num_users:,} people are alone: not shuffled at all.")
    return found


def _warnings(outcome: Outcome) -> list[str]:
    return [f"WARNING: {warning}" for warning in outcome.warnings]


def _places(number: int) -> str:
    return f"{number:,} place{'' if number == 1 else 's'}"


def _dropped(flow: DataFlow) -> str:
    return f" {flow.missing:,} people without an answer dropped." if flow.missing else ""


def _detached(flow: DataFlow) -> str:
    if not flow.detached:
        return ""
    names = (name if name.isprintable() else repr(name) for name in flow.detached)
    return f" Detached by the shuffle, not released: {', '.join(names)}."


def show_statements(console: Console, statements: Sequence[PrivacyStatement]) -> None:
    """The headline as a paragraph, its parts, and the others in short."""
    headline, *others = statements
    console.print(Text(str(headline), style="red" if headline.withdrawn else ""))
    for part in headline.parts:
        console.print(Text(f"  of which {part.label}: {in_short(part.statement)}", style="dim"))
    for statement in others:
        console.print(Text(f"  {in_short(statement)}", style="dim"))


def in_short(statement: PrivacyStatement) -> str:
    """A statement on one line; that it is a sum is said, so that it is not taken for a part."""
    claim: Any = statement.claimed or statement.guarantee
    state = "withdrawn; would have been " if statement.withdrawn else ""
    delta = f", delta = {in_digits(claim.delta, statement.kind.relation)}" if claim.delta else ""
    if claim.is_trivial and statement.kind is Kind.EXACT:
        return f"{state}{claim.type} {statement.kind}: no guarantee, epsilon is infinite ({statement.basis.theorem})"
    letter = "alpha" if isinstance(claim, DSigmaPrivacy) else "epsilon"
    loss = in_digits(getattr(claim, letter), statement.kind.relation)
    together = " of all together" if statement.parts else ""
    return f"{state}{claim.type} {statement.kind}{together}: {letter} = {loss}{delta} ({statement.basis.theorem})"


def _estimate_table(outcome: Outcome) -> Table:
    """The first rows; names give way where the screen is narrow, numbers never do."""
    estimate = outcome.release.estimate
    table = Table(box=None, pad_edge=False, header_style="bold")
    names = (estimate.statistic, "estimate", f"{estimate.level:.0%} interval", "standard error", "sampling alone")
    shown = len(names) - isinstance(outcome.model.local, SumModel)  # which tells nothing of sampling
    digits = 0 if _is_whole(outcome) else 4
    for name in names[:shown]:
        table.add_column(name, justify="right", no_wrap=True)
    table.columns[0].justify, table.columns[0].overflow = "left", "ellipsis"
    for row in estimate.rows()[:_MOST_ROWS]:
        sampling = row["sampling_error"]
        cells = (
            Text(_shortened(row["target"])),
            f"{row['estimate']:.{digits}f}",
            f"{row['lower']:.{digits}f} to {row['upper']:.{digits}f}",
            f"{row['standard_error']:.4f}",
            f"{sampling:.4f}" if sampling else "-",
        )
        table.add_row(*cells[:shown])
    return table


def _is_whole(outcome: Outcome) -> bool:
    """Whether it is a sum of whole numbers with whole noise, so that no whole number is the better for decimals."""
    estimate, section = outcome.release.estimate, outcome.task.randomizer
    whole = isinstance(section, SplitAndMixSection) and section.integer and estimate.statistic == "sum"
    return whole and bool((estimate.estimate == np.rint(estimate.estimate)).all())


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 3]}..."


def print_json(content: dict[str, Any]) -> None:
    """One JSON object, and nothing else."""
    _write(json.dumps(content, indent=2, allow_nan=False) + "\n")


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()  # here, so that a reader who has left is noticed while somebody still listens to errors
