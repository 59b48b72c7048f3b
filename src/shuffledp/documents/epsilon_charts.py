"""Pictures of epsilon on logarithmic axes: theorems against n, epsilon0 or delta, and walks against rounds."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.text import count_of
from shuffledp.documents.curves import Axis, Curve, Curves, shown
from shuffledp.documents.document import Chart
from shuffledp.documents.drawing import LIGHT, NARROW, annotate, new_figure, new_figures, text_width
from shuffledp.documents.words import count, number, short_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from shuffledp.planning.network_plan import NetworkPlan


_LABEL = 11  # pixels
_TIE = 16  # pixels from a curve's end to its name
_HEADROOM = 1.6  # curves are drawn up to this multiple of the local loss
_ROOM = 1.5  # headroom of the chart of rounds; twice this factor below
_BAND = ("promised", "best possible")  # names of the upper and lower edge
_WITHDRAWN = "The run on this page is withdrawn: none of this holds for it."
_TITLES = {
    Axis.USERS: "Epsilon against the number of users",
    Axis.EPSILON0: "Epsilon against the local loss",
    Axis.DELTA: "Epsilon against delta",
}
_BELOW = {
    Axis.USERS: "number of users",
    Axis.EPSILON0: "epsilon0, the loss of one report by itself",
    Axis.DELTA: "delta, the remainder",
}
_HERE: dict[Axis, Callable[[float], str]] = {
    Axis.USERS: lambda value: f"{count(int(value))} users",
    Axis.EPSILON0: lambda value: f"epsilon0 = {number(value, 'exactly')}",
    Axis.DELTA: lambda value: f"delta = {value:g}",
}
_TICKS: dict[Axis, Callable[[float, Any], str]] = {
    Axis.USERS: lambda value, _: short_count(value),
    Axis.EPSILON0: lambda value, _: f"{value:.4g}",
    Axis.DELTA: lambda value, _: f"{value:g}",
}


def bounds_chart(curves: Curves, *, name: str, who: str, withdrawn: bool = False, releases: int = 1) -> Chart:
    """A thin curve per theorem, a thick curve for the statement, and the bracket of the best possible epsilon.

    ``who`` is what the dot is, such as "this task"; ``releases`` are what the promise beside the chart is about, which
    itself is about one.
    """
    caption = [f"Thick line: what would be stated; the dot is {who}."]
    if any(curve.is_lower for curve in curves.drawn):
        caption.append("Dashed: the best lower bound; the exact value lies in the shaded band.")
    if any(np.isfinite(_weaker(curves, curve)).any() for curve in curves.drawn if curve.is_lower):
        caption.append("Dotted: weaker lower bounds.")
    if withdrawn:
        caption.append(_WITHDRAWN)
    if releases > 1:
        caption.append(f"All of this is about one release; the promise above is about {releases}.")
    return Chart(
        name=name,
        title=_TITLES[curves.axis] + (", for one release" if releases > 1 else ""),
        description=(
            f"Both axes are logarithmic. Curves for {', '.join(curve.theorem.id for curve in curves.drawn)}; the "
            f"numbers at {_HERE[curves.axis](curves.here)} are in the table below."
        ),
        caption=" ".join(caption),
        draw=partial(_draw, (curves,), who, withdrawn),
    )


def band_chart(curves: Curves, *, name: str, who: str, withdrawn: bool = False) -> Chart:
    """The promise against the number of users, beside the best possible epsilon, without names of theorems."""
    caption = [f"Dot: {who}."]
    if withdrawn:
        caption.append(_WITHDRAWN)
    return Chart(
        name=name,
        title=_TITLES[curves.axis],
        description=f"Both axes are logarithmic. The dot is at {_HERE[curves.axis](curves.here)}.",
        caption=" ".join(caption),
        draw=partial(_draw, (curves,), who, withdrawn, by_theorem=False),
    )


def stacked_chart(panels: Sequence[Curves], *, name: str, title: str, who: str) -> Chart:
    """Several pictures of epsilon below each other, as one chart for a file."""
    return Chart(
        name=name,
        title=title,
        description=" ".join(_TITLES[curves.axis] for curves in panels),
        caption="",
        draw=partial(_draw, panels, who, False),
    )


def _draw(panels: Sequence[Curves], who: str, withdrawn: bool, width: int, *, by_theorem: bool = True) -> "Figure":
    """A pair of axes for each panel."""
    narrow = width <= NARROW
    names = {curve.theorem.id for curves in panels for curve in curves.drawn} if by_theorem else set(_BAND)
    lines = [line for name in names for line in _label(name, narrow).splitlines()]
    right = max(text_width(line, _LABEL) for line in lines) + _TIE + 4
    margins = {"left": 50, "right": right, "top": 30, "bottom": 48 if len(panels) == 1 else 64}
    figure, areas = new_figures(len(panels), width, 340 if narrow else 420, **margins)
    for axes, curves in zip(areas, panels, strict=True):
        _draw_panel(axes, curves, narrow=narrow, by_theorem=by_theorem)
        _mark_here(axes, curves, who, hollow=withdrawn)
    return figure


def _draw_panel(axes: "Axes", curves: Curves, *, narrow: bool, by_theorem: bool) -> None:
    """Thin curves for theorems if asked for, a thick curve for the statement, and labels at their ends."""
    _set_axes(axes, curves, narrow=narrow)
    places, stated = curves.corners
    low, high = (np.clip(edge, *axes.get_ylim()) for edge in (curves.unreachable[places], stated))
    axes.fill_between(curves.values[places], low, high, color=LIGHT["blue"], alpha=0.1, linewidth=0)
    for curve in curves.drawn if by_theorem else ():
        if curve.is_lower:
            axes.plot(curves.values, _weaker(curves, curve), color=LIGHT["vermilion"], linewidth=1.1, linestyle=":")
        else:
            axes.plot(curves.values, _within(curves, curve.epsilon), color=LIGHT["soft"], linewidth=1.3)
    best = _within(curves, curves.unreachable)
    axes.plot(curves.values, best, color=LIGHT["vermilion"], linewidth=1.5, linestyle=(0, (5, 3)), zorder=2.5)
    axes.plot(curves.values[places], shown(stated), color=LIGHT["blue"], linewidth=3, zorder=2.4)
    ends = _ends_of_theorems(axes, curves, narrow=narrow) if by_theorem else _ends_of_band(axes, curves, narrow=narrow)
    last = float(axes.transData.transform((curves.values[-1], 1))[0])
    _label_beside(axes, sorted((end for end in ends if end.x >= last), key=lambda end: end.y))
    _label_inside(axes, [end for end in ends if end.x < last])


def _within(curves: Curves, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The part of a curve that is not far above the local loss; bounds beyond it are useless."""
    return np.where(values <= curves.local * _HEADROOM, shown(values), math.nan)


def _weaker(curves: Curves, curve: Curve) -> NDArray[np.float64]:
    """The part of a lower bound below the best one, up to the point where the two meet."""
    below = curve.epsilon < curves.unreachable
    near = below.copy()
    near[1:] |= below[:-1]
    near[:-1] |= below[1:]
    return np.where(near, _within(curves, curve.epsilon), math.nan)


def _set_axes(axes: "Axes", curves: Curves, *, narrow: bool) -> None:
    from matplotlib.ticker import LogLocator

    largest = curves.tallest
    least = min([largest / 20, *(float(np.nanmin(shown(curve.epsilon))) for curve in curves.drawn)])
    axes.set(xscale="log", yscale="log", xlim=(curves.values[0], curves.values[-1]))
    axes.set_ylim(least / 1.3, largest * _HEADROOM)
    _set_ticks(axes, _BELOW[curves.axis], _TICKS[curves.axis], few=math.log10(largest / least) < 2.5)
    subs = (1, 2, 5) if curves.axis is Axis.EPSILON0 else (1,)
    axes.xaxis.set_major_locator(LogLocator(subs=subs, numticks=6 if narrow else 12))


def _set_ticks(axes: "Axes", below: str, ticks: Callable[[float, Any], str], *, few: bool) -> None:
    """Scale the axis of epsilon; ticks at 1, 2 and 5 if there are few powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    axes.grid(which="major")
    axes.tick_params(which="both", length=0)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=12))
    axes.xaxis.set_major_formatter(FuncFormatter(ticks))
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,), numticks=20))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.4g}"))
    axes.minorticks_off()
    axes.set_xlabel(below, labelpad=6)
    annotate(axes, "epsilon", (0, 1), (-6, 12), xycoords="axes fraction", ha="right", color=LIGHT["soft"])


def _label(name: str, narrow: bool) -> str:
    """A theorem's name, on two lines where there is little room."""
    hyphens = [place for place, character in enumerate(name) if character == "-"]
    if not narrow or not hyphens:
        return name
    middle = min(hyphens, key=lambda place: abs(place - len(name) / 2)) + 1
    return f"{name[:middle]}\n{name[middle:]}"


def _ends_of_theorems(axes: "Axes", curves: Curves, *, narrow: bool) -> "list[_End]":
    """Ends of all curves, named by their theorems."""
    ends = []
    for curve in curves.drawn:
        color = LIGHT["vermilion"] if curve.is_lower else LIGHT["ink"]
        ends += _end(axes, curves, curve.epsilon, _label(curve.theorem.id, narrow), color)
    return ends


def _ends_of_band(axes: "Axes", curves: Curves, *, narrow: bool) -> "list[_End]":
    """Ends of both edges of the band, with their names."""
    edges = zip((curves.stated, curves.unreachable), _BAND, (LIGHT["blue"], LIGHT["vermilion"]), strict=True)
    return [end for edge, name, color in edges for end in _end(axes, curves, edge, _label(name, narrow), color)]


def _end(axes: "Axes", curves: Curves, epsilon: NDArray[np.float64], name: str, color: str) -> "list[_End]":
    """The last drawn point of a curve, as an end; empty if no point is drawn."""
    drawn = np.flatnonzero(np.isfinite(_within(curves, epsilon)))
    if not drawn.size:
        return []
    last = int(drawn[-1])
    x, y = axes.transData.transform((curves.values[last], epsilon[last])).tolist()
    return [_End(x=x, y=y, name=name, color=color, falls=bool(epsilon[last] < epsilon[drawn[0]]))]


def _label_beside(axes: "Axes", ends: "list[_End]") -> None:
    """Write names to the right of the picture, each tied to the end of its curve."""
    low, high = (float(axes.transAxes.transform((0, height))[1]) for height in (0, 1))
    heights = _apart([end.y for end in ends], [end.height for end in ends], low, high)
    tie = {"arrowstyle": "-", "color": LIGHT["line"], "linewidth": 0.8, "shrinkA": 2, "shrinkB": 0}
    for end, height in zip(ends, heights, strict=True):
        offset = (_TIE, height - end.y)
        annotate(axes, end.name, end.place(axes), offset, arrowprops=tie | {"relpos": (0, 0.5)}, **end.style)


def _label_inside(axes: "Axes", ends: "list[_End]") -> None:
    """Write names above the ends of rising curves, stacked where they would overlap; other names to the right."""
    placed: list[_End] = []
    for end in sorted(ends, key=lambda end: (end.y, end.x)):
        if end.falls:
            annotate(axes, end.name, end.place(axes), (6, 0), **end.style)
            continue
        near = [other for other in placed if abs(other.x - end.x) < max(other.width, end.width)]
        y = max([end.y, *(other.y + other.height for other in near if other.y + other.height > end.y)])
        placed.append(replace(end, y=y))
        annotate(axes, end.name, placed[-1].place(axes), (0, 5), **end.style | {"ha": "center", "va": "bottom"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    """The end of a curve: its position in pixels, its name, and whether the curve falls."""

    x: float
    y: float
    name: str
    color: str
    falls: bool

    def place(self, axes: "Axes") -> tuple[float, float]:
        """The end's position in units of the axes."""
        x, y = axes.transData.inverted().transform((self.x, self.y)).tolist()
        return x, y

    @property
    def height(self) -> float:
        return 1.2 * _LABEL * len(self.name.splitlines()) + 3

    @property
    def width(self) -> float:
        return max(text_width(line, _LABEL) for line in self.name.splitlines())

    @property
    def style(self) -> dict[str, Any]:
        return {"fontsize": _LABEL, "linespacing": 1.1, "color": self.color}


def _apart(wanted: list[float], heights: list[float], low: float, high: float) -> list[float]:
    """Middles of labels near the wanted ones, in ascending order, without overlap, all between the two ends."""
    middles, top = [], low
    for middle, height in zip(wanted, heights, strict=True):
        middles.append(max(middle, top + height / 2))
        top = middles[-1] + height / 2
    bottom = max(high, low + sum(heights))
    for place in range(len(middles) - 1, -1, -1):
        middles[place] = min(middles[place], bottom - heights[place] / 2)
        bottom = middles[place] - heights[place] / 2
    return middles


def _mark_here(axes: "Axes", curves: Curves, who: str, *, hollow: bool) -> None:
    here = max(float(curves.stated[curves.values == curves.here][0]), axes.get_ylim()[0])
    text = f"{who}:\n{_HERE[curves.axis](curves.here)}"
    _mark(axes, (curves.here, here), text, 8, hollow=hollow, va="bottom", linespacing=1.35)


def _mark(axes: "Axes", at: tuple[float, float], text: str, above: float, *, hollow: bool, **style: Any) -> None:
    """Draw a dot, a line down to the axis, and the label in the emptier lower corner."""
    x, bottom = at[0], axes.get_ylim()[0]
    inner, edge = (LIGHT["paper"], LIGHT["blue"]) if hollow else (LIGHT["blue"], LIGHT["paper"])
    axes.vlines(x, bottom, at[1], color=LIGHT["blue"], linewidth=1)
    axes.plot([x], [at[1]], "o", markersize=10, mfc=inner, mec=edge, mew=1.5, zorder=5)
    to_the_left = axes.transAxes.inverted().transform(axes.transData.transform((x, bottom)))[0] > 0.5
    style |= {
        "fontsize": _LABEL,
        "fontweight": "bold",
        "color": LIGHT["blue"],
        "ha": "right" if to_the_left else "left",
    }
    annotate(axes, text, (x, bottom), (-6 if to_the_left else 6, above), **style)


# ---- rounds of walks along a graph ----------------------------------------------------------------------------------


def rounds_chart(plan: "NetworkPlan", *, epsilon0: float, withdrawn: bool) -> Chart:
    """Epsilon after each number of rounds, between the local loss and the epsilon of a uniform shuffle."""
    caption = [
        "Both axes are logarithmic. Dots: what is guaranteed after this number of rounds; other numbers were not "
        "computed. Dashed: a uniform shuffle of everybody. Dotted: no shuffling."
    ]
    if withdrawn:
        caption.append(_WITHDRAWN)
    least, most = plan.by_rounds[0], plan.by_rounds[-1]
    return Chart(
        name="rounds",
        title="Guarantee against rounds",
        description=(
            f"Epsilon is {number(least.epsilon, 'at most')} after {count_of(least.rounds, 'round')} and "
            f"{number(most.epsilon, 'at most')} after {most.rounds}; the numbers are in the table below."
        ),
        caption=" ".join(caption),
        draw=partial(_draw_rounds, plan, epsilon0, withdrawn),
    )


def _draw_rounds(plan: "NetworkPlan", epsilon0: float, withdrawn: bool, width: int) -> "Figure":
    narrow = width <= NARROW
    figure, axes = new_figure(width, 300 if narrow else 360, left=56, right=16, top=30, bottom=48)
    drawn = [row for row in plan.by_rounds if row.rounds > 0]
    rounds, epsilons = np.array([row.rounds for row in drawn]), np.array([row.epsilon for row in drawn])
    lowest = min([plan.uniform, *epsilons.tolist()])
    axes.set(xscale="log", yscale="log", xlim=(rounds[0] * 0.9, rounds[-1] * 1.1))
    axes.set_ylim(lowest / _ROOM**2, max(epsilon0, lowest) * _ROOM)
    few = math.log10(max(epsilon0 / max(lowest, 1e-300), 1)) < 2.5
    _set_ticks(axes, "rounds", lambda value, _: short_count(value), few=few)
    axes.axhline(plan.uniform, color=LIGHT["green"], linewidth=1.5, linestyle=(0, (5, 3)))
    axes.axhline(epsilon0, color=LIGHT["vermilion"], linewidth=1.3, linestyle=":")
    edge = {"xycoords": ("axes fraction", "data"), "fontsize": _LABEL, "ha": "left"}
    uniform = f"uniform shuffle: {number(plan.uniform, 'at most')}"
    annotate(axes, uniform, (0, plan.uniform), (6, -9), color=LIGHT["green"], **edge)
    _set_cost(axes, plan)
    annotate(axes, f"no shuffling: {number(epsilon0)}", (0, epsilon0), (6, 9), color=LIGHT["vermilion"], **edge)
    axes.plot(rounds, epsilons, "o", color=LIGHT["blue"], markersize=7, markeredgecolor=LIGHT["paper"])
    if plan.rounds:
        own = plan.own
        _mark(axes, (own.rounds, own.epsilon), f"this task: {count_of(own.rounds, 'round')}", 9, hollow=withdrawn)
    return figure


def _set_cost(axes: "Axes", plan: "NetworkPlan") -> None:
    """Add an axis on top for the reports a person passes on, which grow with the rounds, less any losses."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    rows = [row for row in plan.by_rounds if row.rounds > 0 and row.messages > 0]
    shown = [rows[0], rows[-1]] if len(rows) > 1 else rows
    top = axes.secondary_xaxis("top")
    top.xaxis.set_major_locator(FixedLocator([row.rounds for row in shown]))
    top.xaxis.set_minor_locator(NullLocator())
    top.xaxis.set_major_formatter(FixedFormatter([short_count(round(row.messages)) for row in shown]))
    top.tick_params(which="both", length=0)
    top.set_xlabel("messages that each person passes on", labelpad=-8)
