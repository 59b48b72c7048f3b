"""Blocks that a terminal or a page can show: texts, tables, bars, pictures, and their containers.

A block says on which media it belongs: a terminal has room for few of them.
"""

from dataclasses import dataclass, field
from enum import Flag, StrEnum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shuffledp.documents.charts.chart import Chart


class Medium(Flag):
    """Media on which a block is shown; DETAIL is a terminal with --verbose."""

    TERMINAL = auto()
    DETAIL = auto()
    PAGE = auto()
    BOTH = TERMINAL | PAGE


TERMINAL, DETAIL, PAGE = Medium.TERMINAL, Medium.DETAIL, Medium.PAGE


class Role(StrEnum):
    """Role of a text in a document, such as a note or a warning."""

    PLAIN = "plain"
    LEAD = "lead"
    QUOTE = "quote"
    NOTE = "note"
    DANGER = "danger"
    HEADING = "heading"
    SUBHEADING = "subheading"
    NUMBERS = "small-numbers"
    WITHDRAWN = "withdrawn"
    GOOD = "good"
    BAD = "bad"
    OPEN = "open"
    PATH = "path"  # in one piece, so that it can be copied


MUST_KNOW = (Role.WITHDRAWN, Role.DANGER)


@dataclass(frozen=True, slots=True)
class Block:
    """One part of a document."""

    on: Medium = field(default=Medium.BOTH, kw_only=True)

    @property
    def kind(self) -> str:
        """The kind of block, by which a page chooses how to show it."""
        return type(self).__name__.lower()

    @property
    def inside(self) -> "tuple[Block, ...]":
        """Blocks inside this one."""
        return ()


@dataclass(frozen=True, slots=True)
class Tag:
    """A framed word or two before a text; ``look`` is "promise", "quiet", or "" for a remarkable one."""

    text: str
    look: str = ""


@dataclass(frozen=True, slots=True)
class Text(Block):
    """A paragraph or a heading; pieces in ``bold`` stand out, pieces in ``code`` are to be typed."""

    text: str
    role: Role = Role.PLAIN
    bold: tuple[str, ...] = field(default=(), kw_only=True)
    code: tuple[str, ...] = field(default=(), kw_only=True)
    tags: tuple[Tag, ...] = field(default=(), kw_only=True)


@dataclass(frozen=True, slots=True)
class Listing(Block):
    """Items in a list, some of them ``bold``; ``look`` is "trust" or "remarks"."""

    items: tuple[str, ...]
    look: str = "remarks"
    bold: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Args:
        head: its heading.
        brief: the heading on a terminal, if that is another; may hold line ends.
        left: whether words stand in it, and not numbers.
        folds: whether its words may go on in the next line; numbers never do as long as there is any room.
        width: the least it needs, in letters.
        detail: whether a terminal shows it only to readers who ask for all there is.
    """

    head: str
    brief: str | None = None
    left: bool = False
    folds: bool = False
    width: int | None = None
    detail: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Content of a table's cell: tags, words before the value, the value, and a note on the value."""

    text: str
    note: str = ""
    before: str = ""
    bold: bool = False
    code: bool = False
    tags: tuple[Tag, ...] = ()

    @classmethod
    def of(cls, content: "str | Cell") -> "Cell":
        """A cell made from a text; a cell stays as it is."""
        return content if isinstance(content, Cell) else cls(text=content)

    @property
    def plain(self) -> str:
        """The cell in one line, without its note."""
        return f"{self.before} {self.text}".strip()


@dataclass(frozen=True, slots=True)
class Table(Block):
    """Table of rows of cells; the first cell of each row is its heading.

    Args:
        caption: what it shows; a terminal shows it only if ``titled``.
        columns: from left to right.
        rows: below each other.
        own: the numbers of the rows that are about the task itself, and stand out.
        look: "numeric", "theorems", ...: the name of its style on a page.
        label: what it is, for people who do not see it.
        titled: whether a terminal shows the caption.
        closing: a line below it on a terminal.
        headed: whether a terminal shows the heads.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str | Cell, ...], ...]
    own: frozenset[int] = field(default=frozenset(), kw_only=True)
    look: str = field(default="numeric", kw_only=True)
    label: str = field(default="", kw_only=True)
    titled: bool = field(default=False, kw_only=True)
    closing: str = field(default="", kw_only=True)
    headed: bool = field(default=True, kw_only=True)

    @property
    def cells(self) -> tuple[tuple[Cell, ...], ...]:
        """The rows, with every entry as a cell."""
        return tuple(tuple(map(Cell.of, row)) for row in self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A number with its name, drawn as a bar; ``before`` and ``length`` are percentages of the full width."""

    name: str
    value: str
    length: float
    note: str = ""
    before: float | None = None
    style: str = "randomizing"


@dataclass(frozen=True, slots=True)
class Bars(Block):
    """Bars below each other; ``heads`` name the columns for screen readers."""

    caption: str
    heads: tuple[str, str, str]
    bars: tuple[Bar, ...]
    look: str = ""


@dataclass(frozen=True, slots=True)
class Picture(Block):
    """A chart in its place on a page; ``has_files`` is whether it is also written as a file."""

    chart: "Chart"
    has_files: bool = True


@dataclass(frozen=True, slots=True)
class Fold(Block):
    """Blocks that a page shows on request."""

    summary: str
    blocks: tuple[Block, ...]
    is_open: bool = False

    @property
    def inside(self) -> tuple[Block, ...]:
        """The folded blocks."""
        return self.blocks


@dataclass(frozen=True, slots=True)
class Panels(Block):
    """Groups of blocks, side by side if there is room; ``look`` is "columns", "columns apart" or "opening"."""

    groups: tuple[tuple[Block, ...], ...]
    look: str = "columns"

    @property
    def inside(self) -> tuple[Block, ...]:
        """The blocks of all groups."""
        return tuple(block for group in self.groups for block in group)


@dataclass(frozen=True, slots=True)
class Pairs(Block):
    """Names with their values; ``look`` is "pairs" or "files"."""

    pairs: tuple[tuple[str, str], ...]
    look: str = "pairs"


@dataclass(frozen=True, slots=True)
class Code(Block):
    """A command to type, in pieces that stay on one line."""

    pieces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Link(Block):
    """A link to another page, with a word about its content."""

    target: str
    text: str
    rest: str


@dataclass(frozen=True, slots=True)
class Headline(Block):
    """Large numbers of a promise, the main number first, with its sentence and a note on weakness."""

    numbers: tuple[tuple[str, str], ...]
    sentence: str
    weakness: str = ""


@dataclass(frozen=True, slots=True)
class Meter(Block):
    """A chance drawn between a coin toss and certainty; ``text`` is the chance in percent."""

    share: float
    text: str

    @property
    def length(self) -> str:
        """Length of the drawn part, in percent."""
        return f"{200 * self.share - 100:.1f}"


def told(*texts: str, on: Medium = Medium.BOTH, role: Role = Role.PLAIN) -> tuple[Text, ...]:
    """One paragraph for each text that is not empty."""
    return tuple(Text(text, role, on=on) for text in texts if text)
