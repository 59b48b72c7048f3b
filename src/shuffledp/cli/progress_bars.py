"""Progress of a command, on the error stream."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from shuffledp.cli.options import screen
from shuffledp.core.text import printable
from shuffledp.documents.terminal import COLORS
from shuffledp.files import ProgressListener


class _Bars(ProgressListener):
    """Progress bars for steps, and notices that are printed after them."""

    def __init__(self, bars: Progress | None) -> None:
        self._bars = bars
        self._steps: dict[str, TaskID] = {}
        self.notices: list[str] = []

    def progress(self, step: str, done: int, total: int | None) -> None:
        """Show the progress of a step in its own bar."""
        if self._bars is None:
            return
        if step not in self._steps:
            self._steps[step] = self._bars.add_task(printable(step), total=total)  # a step may name a column
        self._bars.update(self._steps[step], completed=done, total=total)

    def clipped(self, column: str, count: int, received: int, clipping: str) -> None:
        """Keep a notice about clipped answers until the end."""
        self.notices.append(
            f"shuffledp: {count:,} of {received:,} answers in column {column!r} were outside the range. {clipping} "
            "No file holds this number: it depends on answers, so do not publish it.\n"
        )

    def decimals(self, column: str, commas: int, points: int) -> None:
        """Keep a notice about decimal commas until the end."""
        del points
        if commas:
            self.notices.append(
                f"shuffledp: commas in the numbers of column {column!r} are read as decimal points: 1,5 is 1.5.\n"
            )


@contextmanager
def watching(unit: str = "rows") -> Iterator[ProgressListener]:
    """Progress bars on the error stream if it is a terminal; at the end, notices that files must not hold."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn(f"{{task.completed:,.0f}} {unit}"),
        TimeRemainingColumn(),
    )
    shown, colors = sys.stderr.isatty() and not screen().quiet, COLORS[screen().color]
    bars = Progress(*columns, console=Console(stderr=True, **colors), transient=True) if shown else None
    watch = _Bars(bars)
    with bars or nullcontext():
        yield watch
    sys.stderr.write("".join(watch.notices))
