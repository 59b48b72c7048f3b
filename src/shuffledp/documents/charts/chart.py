"""Charts as values: axes, marks and names in units of the data, without any drawing.

Colors are names of the house style, sizes are pixels, and pairs are for wide and for narrow screens.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

Numbers = Sequence[float] | NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One axis with its label.

    Args:
        label: name of what is measured along it.
        ends: first and last number; None if the marks decide.
        is_log: whether equal ratios are equally far apart.
        unit: behind the number at each tick.
        is_short: whether these numbers are written as 10k or 1M.
        ticks: the largest number of ticks.
        has_grid: whether a line goes through the panel at each tick.
    """

    label: str = ""
    ends: tuple[float, float] | None = None
    is_log: bool = False
    unit: str = ""
    is_short: bool = False
    ticks: tuple[int, int] = (8, 4)
    has_grid: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows with names and optional values in place of a vertical axis; the first row is at height 0."""

    names: tuple[str, ...]
    values: tuple[str, ...] = ()
    pitch: tuple[int, int]


class Mark:
    """Base of the marks that a panel shows, such as lines, dots and texts."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Line(Mark):
    """A line through points, with gaps where ``y`` is NaN; ``dash`` is "solid", "dashed" or "dotted"."""

    x: Numbers
    y: Numbers
    color: str = "blue"
    width: float = 1.5
    dash: str = "solid"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Band(Mark):
    """The area between two curves, in a color of this ``strength`` from 0 to 1."""

    x: Numbers
    low: Numbers
    high: Numbers
    color: str = "blue"
    strength: float = 0.1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Columns(Mark):
    """Vertical bars of these ``heights``, each between two neighboring ``edges``."""

    edges: Numbers
    heights: Numbers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spans(Mark):
    """Straight lines from ``low`` to ``high`` at given places; horizontal, or vertical if ``upright``.

    Each fills at most a ``share`` of the room between neighbors.
    """

    at: Numbers
    low: Numbers
    high: Numbers
    color: str = "blue"
    width: float = 2.5
    strength: float = 1.0
    upright: bool = False
    share: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dots(Mark):
    """Dots or squares, each with a color, a diameter and a strength; one value may serve all.

    Where there are ``shades``, a positive number for each, these are the colors, on the scale of the panel. On narrow
    screens diameters are multiplied by ``narrowed``.
    """

    x: Numbers
    y: Numbers
    color: str | Sequence[str] = "blue"
    size: float | Numbers = 7.0
    strength: float | Numbers = 1.0
    edge: str = "paper"
    shades: Numbers | None = None
    is_square: bool = False
    narrowed: float = 1.0


@dataclass(frozen=True, slots=True)
class Note(Mark):
    """A text that lies this many pixels to the right of a point, and above it."""

    text: str
    at: tuple[float, float]
    offset: tuple[float, float]
    align: str = "left"
    color: str = "ink"
    is_bold: bool = False
    is_wide_only: bool = False


@dataclass(frozen=True, slots=True)
class Name(Mark):
    """The name of a curve that ends ``at`` a point, rising or falling; names never overlap."""

    text: str
    at: tuple[float, float]
    color: str
    falls: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A pair of axes with marks; later marks lie above earlier ones.

    Args:
        x: the horizontal axis.
        y: the vertical axis, or rows.
        marks: what is drawn.
        height: of the panel with its labels; rows have their own.
        title: what is shown, which may be cut, and its measure, which is not; two empty texts for no title.
        above: label of a second axis on top, and its ticks, each a number of the horizontal axis with a text.
        shades: meaning of the colors of dots; "" if they mean nothing.
        is_square: whether it is no wider than high.
    """

    x: Axis
    y: Axis | Rows
    marks: tuple[Mark, ...]
    height: tuple[int, int] = (320, 320)
    title: tuple[str, str] = ("", "")
    above: tuple[str, tuple[tuple[float, str], ...]] = ("", ())
    shades: str = ""
    is_square: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A picture that can be drawn at any width.

    Args:
        name: of its files, without the ending.
        title: what it shows, in a few words.
        description: what there is to see, for people who do not see it.
        caption: below it; what a reader needs in order to read it right.
        panels: below each other.
    """

    name: str
    title: str
    description: str
    caption: str
    panels: tuple[Panel, ...]
