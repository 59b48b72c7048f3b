"""Renderer of charts: a matplotlib figure for a chart and a width, without any global state."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shuffledp.documents.charts.chart import (
    Axis,
    Band,
    Chart,
    Columns,
    Dots,
    Line,
    Mark,
    Name,
    Note,
    Panel,
    Rows,
    Spans,
)
from shuffledp.documents.charts.curve_names import lines_of, name_curves
from shuffledp.documents.charts.house_style import LABEL, LIGHT, NARROW, POINTS_PER_INCH, annotate, text_width
from shuffledp.documents.words import MINUS, short_count, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LEFT, _RIGHT, _TOP, _HEADED, _BOTTOM = 56, 16, 12, 32, 48  # pixels around the axes
_AROUND = 20  # pixels beside the names and values of rows, and the names of curves
_SCALE = (96, 70)  # pixels for a scale of colors
_ABOVE = 0.42  # rows by which a name lies above its marks on a narrow screen
_DASHES: dict[str, Any] = {"solid": "-", "dashed": (0, (5, 3)), "dotted": ":"}
_SHADES = "viridis_r"  # darker for more; told apart by color-blind people, and in gray
_FEW_DECADES = 2.8  # up to which there are ticks at 1, 2 and 5, and not at powers of ten alone


def figure_of(chart: Chart, width: int) -> "Figure":
    """The chart at this width in pixels, each panel below the one before."""
    from matplotlib.figure import Figure

    rooms = _aligned(chart.panels, [_PanelSize.of(panel, width) for panel in chart.panels])
    whole = below = sum(room.height for room in rooms)
    figure = Figure(figsize=(width / POINTS_PER_INCH, whole / POINTS_PER_INCH), dpi=POINTS_PER_INCH)
    for panel, room in zip(chart.panels, rooms, strict=True):
        below -= room.height
        start, size = (room.left / width, (below + room.bottom) / whole), (room.across / width, room.upward / whole)
        _draw(figure.add_axes((*start, *size)), panel, room)
    return figure


@dataclass(frozen=True, slots=True, kw_only=True)
class _PanelSize:
    """The size of a panel and its margins, in pixels."""

    width: int
    height: int
    left: float
    right: float
    top: float
    bottom: float = _BOTTOM

    @classmethod
    def of(cls, panel: Panel, width: int) -> "_PanelSize":
        """Size of a panel, with margins that fit all texts around the axes."""
        narrow, left = width <= NARROW, float(_LEFT)
        right = float(_SCALE[narrow] if panel.shades else _RIGHT)
        height, headed = panel.height[narrow], any(panel.title) or bool(panel.above[1] or panel.shades)
        if isinstance(rows := panel.y, Rows):
            height = rows.pitch[narrow] * len(rows.names) + _TOP + _BOTTOM
            left = _RIGHT if rows.values and narrow else min(max(map(text_width, rows.names)) + _AROUND, width / 2)
            if rows.values and not narrow:
                right = max(map(text_width, rows.values)) + _AROUND
        elif rows.label:
            headed = True
        named = [line for mark in panel.marks if isinstance(mark, Name) for line in lines_of(mark, narrow)]
        right = max([right, *(text_width(line, LABEL) + _AROUND for line in named)])
        right = max(right, width - height) if panel.is_square else right
        return cls(width=width, height=height, left=left, right=right, top=_HEADED if headed else _TOP)

    @property
    def is_narrow(self) -> bool:
        return self.width <= NARROW

    @property
    def across(self) -> float:
        return self.width - self.left - self.right

    @property
    def upward(self) -> float:
        return self.height - self.top - self.bottom


def _aligned(panels: Sequence[Panel], rooms: Sequence[_PanelSize]) -> list[_PanelSize]:
    """Sizes of panels, with equal right margins where curves have names, so that axes can be compared."""
    named = [any(isinstance(mark, Name) for mark in panel.marks) for panel in panels]
    right = max((room.right for room, has_names in zip(rooms, named, strict=True) if has_names), default=0.0)
    return [replace(room, right=right) if has_names else room for room, has_names in zip(rooms, named, strict=True)]


def _draw(axes: "Axes", panel: Panel, room: _PanelSize) -> None:
    """Draw a panel: axes first, then all marks in their order, then names and colors."""
    axes.tick_params(which="both", length=0, pad=5)
    axes.margins(0.06)
    axes.set_xlabel(panel.x.label, labelpad=6)
    _scale(axes, "x", panel.x, room)
    if isinstance(panel.y, Rows):
        _name_rows(axes, panel.y, room)
    else:
        _scale(axes, "y", panel.y, room)
    _head(axes, panel, room)
    for place, mark in enumerate(panel.marks):
        _paint(axes, mark, room, zorder=2 + place / 100)
        if isinstance(mark, Dots):
            axes.collections[-1].set_clip_on(isinstance(panel.y, Axis))  # one at the end of a row stays whole
    name_curves(axes, [mark for mark in panel.marks if isinstance(mark, Name)], narrow=room.is_narrow)
    if panel.shades:
        _add_shades(axes, panel.shades)


def _scale(axes: "Axes", which: Literal["x", "y"], axis: Axis, room: _PanelSize) -> None:
    """Set the ends, ticks and grid of one axis."""
    from matplotlib.ticker import LogLocator

    along, most = {"x": axes.xaxis, "y": axes.yaxis}[which], axis.ticks[room.is_narrow]
    axes.set(**({f"{which}scale": "log"} if axis.is_log else {}), **({f"{which}lim": axis.ends} if axis.ends else {}))
    if not most:
        along.set_ticks([])
        return
    axes.grid(visible=axis.has_grid, axis=which)
    if axis.is_log and axis.ends is not None:
        few = math.log10(axis.ends[1] / axis.ends[0]) < _FEW_DECADES
        along.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,), numticks=2 * most))
        axes.minorticks_off()
    else:
        axes.locator_params(axis=which, nbins=most)
    short = axis.is_short
    along.set_major_formatter(
        lambda value, _: short_count(value) if short else f"{value:,.6g}{axis.unit}".replace("-", MINUS)
    )


def _name_rows(axes: "Axes", rows: Rows, room: _PanelSize) -> None:
    """Write names of rows to the left of their marks, or above them on a narrow screen with values."""
    above = _ABOVE if rows.values and room.is_narrow else 0.0
    axes.set_ylim(len(rows.names) - 0.5 - above / 2, -0.5 - above / 2)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    offset, side = (-room.left, "left") if above else (-8, "right")
    across: dict[str, Any] = {"xycoords": axes.get_yaxis_transform()}
    for row, name in enumerate(rows.names):
        if above:
            axes.axhspan(row - 0.71, row - 0.21, color=LIGHT["paper"], linewidth=0, zorder=1.5)
        annotate(axes, name, (0, row - above), (offset, 0), ha=side, **across)
        for value in rows.values[row : row + 1]:
            annotate(axes, value, (1, row - above), (room.right - 2, 0), ha="right", **across)


def _head(axes: "Axes", panel: Panel, room: _PanelSize) -> None:
    """Write the title or the vertical axis's label above the axes, and a second horizontal axis."""
    corner: dict[str, Any] = {"xycoords": "axes fraction", "ha": "left"}
    (name, measure), (label, ticks) = panel.title, panel.above
    vertical = panel.y.label if isinstance(panel.y, Axis) else ""
    if name:
        name = shortened(name, int((room.width - 20) / text_width("a")) - len(measure) - 2)
        annotate(axes, f"{name}, {measure}", (0, 1), (6 - room.left, 18), fontweight="bold", **corner)
        axes.set_ylabel(vertical, labelpad=4)
    elif vertical:
        annotate(axes, vertical, (0, 1), (6 - room.left, 12), color=LIGHT["soft"], **corner)
    if ticks:
        top = axes.secondary_xaxis("top")
        top.set_xticks([at for at, _ in ticks], [text for _, text in ticks])
        top.minorticks_off()
        top.tick_params(which="both", length=0)
        top.set_xlabel(label, labelpad=-8)


def _add_shades(axes: "Axes", meaning: str) -> None:
    """Color the dots that have shades by one scale, which is drawn to the right with its meaning."""
    from matplotlib.colors import LogNorm
    from matplotlib.ticker import LogLocator, NullFormatter

    shaded = [each for each in axes.collections if each.get_array() is not None]
    seen = np.concatenate([each.get_array() for each in shaded])
    for each in shaded:
        each.set(cmap=_SHADES, norm=LogNorm(seen.min() / 1.2, seen.max() * 1.2))
    bar = axes.figure.colorbar(shaded[0], cax=axes.inset_axes((1.04, 0.0, 0.035, 1.0)))
    bar.ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=8))
    bar.ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g}%")
    bar.ax.yaxis.set_minor_formatter(NullFormatter())
    bar.ax.tick_params(which="both", length=0)
    bar.outline.set_visible(False)
    annotate(axes, meaning, (1.04, 1), (0, 12), xycoords="axes fraction", ha="left", color=LIGHT["soft"])


def _paint(axes: "Axes", mark: Mark, room: _PanelSize, *, zorder: float) -> None:
    """Draw one mark; names of curves wait until all ends are known."""
    color: dict[str, Any] = {"color": LIGHT[mark.color]} if isinstance(mark, Line | Band | Spans | Note) else {}
    if isinstance(mark, Line):
        axes.plot(mark.x, mark.y, linewidth=mark.width, linestyle=_DASHES[mark.dash], zorder=zorder, **color)
    elif isinstance(mark, Band):
        axes.fill_between(mark.x, mark.low, mark.high, alpha=mark.strength, linewidth=0, zorder=zorder - 1, **color)
    elif isinstance(mark, Columns):
        style: dict[str, Any] = {"align": "edge", "alpha": 0.45, "color": LIGHT["blue"], "edgecolor": LIGHT["paper"]}
        axes.bar(mark.edges[:-1], mark.heights, np.diff(mark.edges), zorder=zorder, **style)
    elif isinstance(mark, Spans):
        width = min(mark.width, mark.share * room.across / len(mark.at)) if mark.upright else mark.width
        lines = axes.vlines if mark.upright else axes.hlines
        lines(mark.at, mark.low, mark.high, linewidth=width, alpha=mark.strength, zorder=zorder, **color)
    elif isinstance(mark, Dots):
        _paint_dots(axes, mark, mark.narrowed if room.is_narrow else 1.0, zorder)
    elif isinstance(mark, Note) and not (mark.is_wide_only and room.is_narrow):
        style = {"ha": mark.align, "fontsize": LABEL, "fontweight": "bold" if mark.is_bold else "normal"}
        annotate(axes, mark.text, mark.at, mark.offset, **style, **color)


def _paint_dots(axes: "Axes", mark: Dots, scale: float, zorder: float) -> None:
    names = [mark.color] if isinstance(mark.color, str) else mark.color
    faces = [tuple(int(LIGHT[name][place : place + 2], 16) / 255 for place in (1, 3, 5)) for name in names]
    each = np.empty((len(mark.x), 4))
    each[:, :3], each[:, 3] = faces, mark.strength
    axes.scatter(
        mark.x,
        mark.y,
        s=np.square(scale * np.asarray(mark.size)),
        c=each if mark.shades is None else mark.shades,
        marker="s" if mark.is_square else "o",
        edgecolors=LIGHT[mark.edge] if mark.edge else "none",
        linewidths={"paper": 1.0, "soft": 0.5}.get(mark.edge, 1.5),
        zorder=zorder,
    )
