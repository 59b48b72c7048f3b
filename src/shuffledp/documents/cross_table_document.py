"""A cross table in words: rows by columns with margins, shares in each row, and their difference."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from shuffledp.analyzers import CrossTable
from shuffledp.core.estimates import Estimate
from shuffledp.documents.blocks import PAGE, TERMINAL, Block, Cell, Column, Role, Table, Text, told
from shuffledp.documents.words import NOTHING, Scale

_WIDTH = 80  # width of a table on a terminal, in letters
_MOST_ROWS = 10  # on a terminal
_APART = 2
_ALL = "all"


def cross_on_page(estimate: CrossTable, scale: Scale) -> Iterator[Block]:
    """Shares of all people with margins, shares in each row, and notes on both."""
    names, level = estimate.categories, f"with {estimate.level * 100:.4g}% intervals"
    rows, columns = len(names[0]), len(names[1])
    margins = _cells(estimate.margins, scale)
    cells = np.array(_cells(estimate, scale)[: rows * columns], dtype=object).reshape(rows, columns).tolist()
    body = [(name, *row, margin) for name, row, margin in zip(names[0], cells, margins[:rows], strict=True)]
    body.append((_ALL, *margins[rows:], NOTHING))
    yield _grid(estimate, f"Share of all people, {level}", body, (*names[1], _ALL))
    told_of_missing = _missing(estimate, scale.text)
    yield from told(told_of_missing, on=PAGE)
    yield Text("How the answers go together", Role.SUBHEADING, on=PAGE)
    shares = (
        np.array(_cells(estimate.row_shares, Scale.of(estimate.row_shares)), dtype=object)
        .reshape(rows, columns)
        .tolist()
    )
    body = [(name, *row) for name, row in zip(names[0], shares, strict=True)]
    yield _grid(estimate, f"Of the people in each row, the share of each column, {level}", body, names[1])
    yield Text(" ".join(filter(None, [_difference(estimate), _HOW_TO_READ])), on=PAGE)


_HOW_TO_READ = (
    "One report is about both answers of a person together, and so is its loss. Shares in a row have intervals that "
    "cover however few people are in it: from 0% to 100% where it may be nobody."
)


def cross_on_terminal(estimate: CrossTable, scale: Scale) -> Iterator[Block] | None:
    """The cross table, with intervals if there is room; None if it is too wide even without intervals."""
    coarser = replace(scale, decimals=max(scale.decimals - 1, 0))
    for shown, with_ends in ((scale, True), (coarser, True), (scale, False)):
        table = _on_terminal(estimate, shown, with_ends=with_ends)
        widths = [max(len(str(cell)) for cell in column) for column in zip(*table.rows, strict=True)]
        widths = [max(width, len(column.head)) for width, column in zip(widths, table.columns, strict=True)]
        if sum(widths) + _APART * (len(widths) - 1) <= _WIDTH and len(table.rows) <= _MOST_ROWS:
            where = "brackets" if with_ends else "estimates.csv"
            what = " by ".join(estimate.columns)
            caption = f"{what}, % of all people, {estimate.level:.0%} intervals in {where}"
            below = told(_missing(estimate, scale.plain), _difference(estimate, plain=True), on=TERMINAL)
            return iter([Text(caption, on=TERMINAL), table, *below])
    return None


def _on_terminal(estimate: CrossTable, scale: Scale, *, with_ends: bool) -> Table:
    """Table of the shares of all people with margins, and with intervals if ``with_ends``."""
    names = estimate.categories
    cells, margins = (_plain(each, scale, with_ends=with_ends) for each in (estimate, estimate.margins))
    rows = np.array(cells[: len(names[0]) * len(names[1])]).reshape(len(names[0]), -1).tolist()
    body = [(name, *row, margin) for name, row, margin in zip(names[0], rows, margins, strict=False)]
    columns = (Column("", left=True), *map(Column, (*names[1], _ALL)))
    return Table("", columns, (*body, (_ALL, *margins[len(names[0]) :], "")), on=TERMINAL)


def _grid(estimate: CrossTable, caption: str, body: list[tuple[str | Cell, ...]], heads: tuple[str, ...]) -> Table:
    first, second = estimate.columns
    named = f"{caption}: {first} (rows) by {second} (columns)"
    return Table(
        named,
        tuple(map(Column, (f"{first}, {second}", *heads))),
        tuple(body),
        look="numeric cross",
        label=named,
        on=PAGE,
    )


def _cells(estimate: Estimate, scale: Scale) -> list[Cell]:
    """Each estimate with its interval below it."""
    return [
        Cell(text=scale.text(middle), note=f"{scale.text(low, unit=False)} to {scale.text(high)}")
        for middle, low, high in zip(estimate.estimate, estimate.lower, estimate.upper, strict=True)
    ]


def _plain(estimate: Estimate, scale: Scale, *, with_ends: bool) -> list[str]:
    """Texts of the estimates, with intervals if ``with_ends``."""
    columns = zip(estimate.estimate, estimate.lower, estimate.upper, strict=True)
    numbers = [[scale.plain(each, unit=False) for each in row] for row in columns]
    return [f"{middle} ({low} to {high})" if with_ends else middle for middle, low, high in numbers]


def _missing(estimate: CrossTable, write: Callable[..., str]) -> str:
    """Sentence on the share of people who did not answer; "" if such people are not counted."""
    cells = len(estimate.categories[0]) * len(estimate.categories[1])
    if len(estimate.target) == cells:
        return ""
    middle, low, high = (write(each[cells]) for each in (estimate.estimate, estimate.lower, estimate.upper))
    return f"{estimate.target[cells]}: {middle} ({low} to {high})."


def _difference(estimate: CrossTable, *, plain: bool = False) -> str:
    """Sentence on the difference of the rows' shares in a two-by-two table; "" for any other table."""
    found = estimate.differences
    if len(found.target) > 1:
        return ""
    scale = Scale.of(found)
    write = scale.plain if plain else scale.text
    middle, low, high = (write(each[0], unit=False) for each in (found.estimate, found.lower, found.upper))
    first, rows = estimate.columns[0], estimate.categories[0]
    what = f"{estimate.columns[1]} {estimate.categories[1][1]}, {first} {rows[1]} less {first} {rows[0]}"
    return f"{what}: {middle} percentage points ({low} to {high})."
