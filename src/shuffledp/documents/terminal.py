"""Rendering of a document on a terminal: dangers, numbers, then its blocks; it adds no words."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from io import StringIO
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text as Line

from shuffledp.core.text import printable
from shuffledp.documents.blocks import DETAIL, MUST_KNOW, TERMINAL, Block, Medium, Pairs, Role, Table, Text
from shuffledp.documents.document import Document

_STYLES = {
    Role.LEAD: "bold",
    Role.HEADING: "bold",
    Role.SUBHEADING: "bold",
    Role.NOTE: "dim",
    Role.DANGER: "bold red",
    Role.WITHDRAWN: "bold red",
    Role.GOOD: "green",
    Role.BAD: "bold red",
    Role.OPEN: "yellow",
}
# Arguments of a console for each choice of colors.
COLORS: dict[str, dict[str, Any]] = {
    "auto": {},
    "always": {"force_terminal": True, "color_system": "standard"},
    "never": {"color_system": None},
}
_NAME = 22  # letters
_APART = "   "
_ENDLESS = 1 << 20  # letters in a line
_BLANKS_AT_END = re.compile(r"[ ]+((?:\x1b\[[\d;]*m)*)$", re.MULTILINE)


def whole_lines(document: Document, *, detail: bool = False, color: str = "auto") -> str:
    """The document for pipes and files: each paragraph in one line, without trailing blanks."""
    lines = StringIO()
    show(document, Console(file=lines, width=_ENDLESS, highlight=False, **COLORS[color]), detail=detail)
    return _BLANKS_AT_END.sub(r"\1", lines.getvalue())


def show(document: Document, console: Console, *, detail: bool = False) -> None:
    """Print dangers, the title with the numbers, the promise, and the sections' blocks for terminals.

    With ``detail`` all that it says for a terminal.
    """
    media = TERMINAL | DETAIL if detail else TERMINAL
    for danger in document.dangers:
        said = danger.text if danger.role is Role.WITHDRAWN else f"WARNING: {danger.text}"
        console.print(Line(said, style=_STYLES[danger.role]))
    promise = document.promise
    opening = [document.title, *(promise.facts if promise is not None else ())]
    for line in _in_lines([printable(each) for each in opening if each], console.width):
        console.print(Line(line, style="bold"), soft_wrap=True)
    if detail and document.digest:
        console.print(Line(f"task {document.digest[:12]}", style="dim"))
    if promise is not None:
        for part in (promise.headline, promise.meaning, promise.trust, promise.grounds):
            show_blocks(part, console, media)
    for section in document.sections:
        blocks, title = [block for block in section.blocks if media & block.on], printable(section.title)
        if media & section.titled and blocks and isinstance(table := blocks[0], Table) and len(title) <= _NAME:
            blocks[0] = _under(title, table)
            console.print()
        elif media & section.titled:
            console.print(Line(f"\n{title}", style="bold"))
        show_blocks(blocks, console, media)


def _under(title: str, table: Table) -> Table:
    """Table whose head shows the section's title, to save a line."""
    first, *others = table.columns
    return replace(table, columns=(replace(first, brief=f"{title}: {first.head}"), *others))


def _in_lines(pieces: Iterable[str], width: int) -> Iterator[str]:
    """Lines of pieces side by side, filled to the width."""
    line = ""
    for piece in pieces:
        if line and cell_len(f"{line}{_APART}{piece}") > width:
            yield line
            line = ""
        line = f"{line}{_APART}{piece}" if line else piece
    if line:
        yield line


def show_blocks(blocks: Iterable[Block], console: Console, media: Medium = TERMINAL) -> None:
    """Print the blocks for these media, except what has been printed before."""
    for block in blocks:
        if not media & block.on:
            continue
        if isinstance(block, Text):
            if block.role not in MUST_KNOW:
                line = Line(block.text, style=_STYLES.get(block.role, ""))
                for piece in block.bold:
                    line.highlight_words([piece], "bold")
                console.print(line, soft_wrap=block.role is Role.PATH)
        elif isinstance(block, Table):
            console.print(_grid(block, detail=DETAIL in media))
        elif isinstance(block, Pairs):
            for name, value in block.pairs:
                console.print(Line(f"  {name:<{_NAME}}{value}"), soft_wrap=True)


def _grid(table: Table, *, detail: bool) -> Grid:
    """A table fitted to the width: words wrap first, and a number that does not fit wraps too."""
    grid = Grid(box=None, pad_edge=False, header_style="bold", show_header=table.headed)
    if table.titled:
        grid.title, grid.title_justify = table.caption, "left"
    shown = [place for place, column in enumerate(table.columns) if detail or not column.detail]
    for column in (table.columns[place] for place in shown):
        grid.add_column(
            column.head if column.brief is None else column.brief,
            justify="left" if column.left else "right",
            no_wrap=not column.folds,
            overflow="fold",
            min_width=column.width,
        )
    for number, row in enumerate(table.cells):
        grid.add_row(*(Line(row[place].plain) for place in shown), style="bold" if number in table.own else "")
    grid.caption = table.closing or None
    return grid
