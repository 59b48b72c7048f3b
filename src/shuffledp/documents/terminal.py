"""A document on a terminal: its blocks one after the other, each in a fixed way, and no words but theirs."""

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text as Line

from shuffledp.core.text import printable
from shuffledp.documents.document import TERMINAL, Block, Document, Pairs, Role, Table, Text

_STYLES = {
    Role.LEAD: "bold",
    Role.HEADING: "bold",
    Role.SUBHEADING: "bold",
    Role.NOTE: "dim",
    Role.DANGER: "bold red",
    Role.WITHDRAWN: "red",
    Role.GOOD: "green",
    Role.BAD: "bold red",
    Role.OPEN: "yellow",
}
_NAME = 22  # letters


def show(document: Document, console: Console) -> None:
    """The title, the promise, and what of each section belongs on a terminal."""
    if document.title:
        digest = f" (task {document.digest[:12]})" if document.digest else ""
        console.print(Line.assemble((printable(document.title), "bold"), digest))
    promise = document.promise
    if promise is not None:
        for part in (promise.headline, promise.meaning, promise.trust, promise.grounds):
            show_blocks(part, console)
    for section in document.sections:
        if TERMINAL in section.titled:
            console.print(Line(f"\n{printable(section.title)}", style="bold"))
        show_blocks(section.blocks, console)


def show_blocks(blocks: Iterable[Block], console: Console) -> None:
    """Those of the blocks that belong on a terminal."""
    for block in blocks:
        if TERMINAL not in block.on:
            continue
        if isinstance(block, Text):
            said = f"WARNING: {block.text}" if block.role is Role.DANGER else block.text
            line = Line(said, style=_STYLES.get(block.role, ""))
            line.highlight_words(block.bold, "bold")
            console.print(line, soft_wrap=block.role is Role.PATH)
        elif isinstance(block, Table):
            console.print(_grid(block))
        elif isinstance(block, Pairs):
            for name, value in block.pairs:
                console.print(Line(f"  {name:<{_NAME}}{value}"), soft_wrap=True)


def _grid(table: Table) -> Grid:
    """Narrow where it must be: words give way first, and a number that does not fit goes on in the next line."""
    grid = Grid(box=None, pad_edge=False, header_style="bold", show_header=table.headed)
    if table.titled:
        grid.title, grid.title_justify = table.caption, "left"
    for column in table.columns:
        grid.add_column(
            column.head if column.brief is None else column.brief,
            justify="left" if column.left else "right",
            no_wrap=not column.folds,
            overflow="fold",
            min_width=column.width,
        )
    for number, row in enumerate(table.cells):
        grid.add_row(*(Line(cell.plain) for cell in row), style="bold" if number in table.own else "")
    grid.caption = table.closing or None
    return grid
