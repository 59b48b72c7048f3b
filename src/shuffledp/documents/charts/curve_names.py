"""Names of curves beside or above their ends, so that they never overlap."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shuffledp.documents.charts.chart import Name
from shuffledp.documents.charts.house_style import LABEL, LIGHT, annotate, text_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TIE = 16  # pixels from a curve's end to its name


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    """The end of a curve in pixels, and its name in lines."""

    x: float
    y: float
    lines: list[str]
    name: Name

    @property
    def height(self) -> float:
        return 1.2 * LABEL * len(self.lines) + 3

    @property
    def width(self) -> float:
        return max(text_width(line, LABEL) for line in self.lines)

    def write(self, axes: "Axes", offset: tuple[float, float], **style: Any) -> None:
        """Write the name at an offset from the end."""
        x, y = axes.transData.inverted().transform((self.x, self.y)).tolist()
        style = {"fontsize": LABEL, "linespacing": 1.1, "color": LIGHT[self.name.color]} | style
        annotate(axes, "\n".join(self.lines), (x, y), offset, **style)


def lines_of(name: Name, narrow: bool) -> list[str]:
    """Lines of a name: two where there is little room, split at a hyphen."""
    hyphens = [place for place, character in enumerate(name.text) if character == "-"]
    if not narrow or not hyphens:
        return [name.text]
    middle = min(hyphens, key=lambda place: abs(place - len(name.text) / 2)) + 1
    return [name.text[:middle], name.text[middle:]]


def name_curves(axes: "Axes", names: Sequence[Name], *, narrow: bool) -> None:
    """Write names of curves: to the right of the axes if a curve ends there, else above its end."""
    ends = []
    for name in names:
        x, y = axes.transData.transform(name.at).tolist()
        ends.append(_End(x=x, y=y, lines=lines_of(name, narrow), name=name))
    low, high = (axes.transAxes.transform((1, height)).tolist() for height in (0, 1))
    beside = sorted((end for end in ends if end.x > low[0] - 1), key=lambda end: end.y)
    heights = apart([end.y for end in beside], [end.height for end in beside], low[1], high[1])
    tie = {"arrowstyle": "-", "color": LIGHT["line"], "linewidth": 0.8, "shrinkA": 2, "shrinkB": 0, "relpos": (0, 0.5)}
    for end, height in zip(beside, heights, strict=True):
        end.write(axes, (_TIE, height - end.y), arrowprops=tie)
    _name_inside(axes, [end for end in ends if end not in beside])


def _name_inside(axes: "Axes", ends: Sequence[_End]) -> None:
    """Write names above the ends of rising curves, stacked where they would overlap.

    Other names are written to the right.
    """
    placed: list[_End] = []
    for end in sorted(ends, key=lambda end: (end.y, end.x)):
        if end.name.falls:
            end.write(axes, (6, 0))
            continue
        near = [other for other in placed if abs(other.x - end.x) < max(other.width, end.width)]
        y = max([end.y, *(other.y + other.height for other in near if other.y + other.height > end.y)])
        placed.append(replace(end, y=y))
        placed[-1].write(axes, (0, 5), ha="center", va="bottom")


def apart(wanted: list[float], heights: list[float], low: float, high: float) -> list[float]:
    """Middles of labels near the wanted middles: ascending, without overlap, between the two ends."""
    middles, top = [], low
    for middle, height in zip(wanted, heights, strict=True):
        middles.append(max(middle, top + height / 2))
        top = middles[-1] + height / 2
    bottom = max(high, low + sum(heights))
    for place in range(len(middles) - 1, -1, -1):
        middles[place] = min(middles[place], bottom - heights[place] / 2)
        bottom = middles[place] - heights[place] / 2
    return middles
