"""Pictures of epsilon on logarithmic axes: theorems against the number of users, the local loss or delta."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from shuffledp.documents.chart import Axis, Band, Chart, Dots, Line, Mark, Name, Note, Panel, Spans
from shuffledp.documents.curves import Along, Curve, Curves, shown
from shuffledp.documents.words import count, number

_HEADROOM = 1.6  # curves are drawn up to this multiple of the local loss
_LEAST = 20  # the least epsilon on the axis is the largest divided by this, or less
WITHDRAWN = "The run on this page is withdrawn: none of this holds for it."
_TITLES = {
    Along.USERS: "Epsilon against the number of users",
    Along.EPSILON0: "Epsilon against the local loss",
    Along.DELTA: "Epsilon against delta",
}
_BELOW = {
    Along.USERS: "number of users",
    Along.EPSILON0: "epsilon0, the loss of one report by itself",
    Along.DELTA: "delta, the remainder",
}
_HERE: dict[Along, Callable[[float], str]] = {
    Along.USERS: lambda value: f"{count(int(value))} users",
    Along.EPSILON0: lambda value: f"epsilon0 = {number(value, 'exactly')}",
    Along.DELTA: lambda value: f"delta = {value:g}",
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
        caption.append(WITHDRAWN)
    if releases > 1:
        caption.append(f"All of this is about one release; the promise above is about {releases}.")
    return Chart(
        name=name,
        title=_TITLES[curves.along] + (", for one release" if releases > 1 else ""),
        description=(
            f"Both axes are logarithmic. Curves for {', '.join(curve.theorem.id for curve in curves.drawn)}; the "
            f"numbers at {_HERE[curves.along](curves.here)} are in the table below."
        ),
        caption=" ".join(caption),
        panels=(_panel(curves, who, withdrawn=withdrawn),),
    )


def band_chart(curves: Curves, *, name: str, who: str, withdrawn: bool = False) -> Chart:
    """The promise against the number of users, beside the best possible epsilon, without names of theorems."""
    caption = [f"Dot: {who}."]
    if withdrawn:
        caption.append(WITHDRAWN)
    return Chart(
        name=name,
        title=_TITLES[curves.along],
        description=f"Both axes are logarithmic. The dot is at {_HERE[curves.along](curves.here)}.",
        caption=" ".join(caption),
        panels=(_panel(curves, who, withdrawn=withdrawn, by_theorem=False),),
    )


def stacked_chart(panels: Sequence[Curves], *, name: str, title: str, who: str) -> Chart:
    """Several pictures of epsilon below each other, as one chart for a file."""
    return Chart(
        name=name,
        title=title,
        description=" ".join(_TITLES[curves.along] for curves in panels),
        caption="",
        panels=tuple(_panel(curves, who) for curves in panels),
    )


def here(x: Axis, y: Axis, at: tuple[float, float], text: str, *, withdrawn: bool) -> tuple[Mark, ...]:
    """A dot with a line down to the axis, and a text in the emptier lower corner; hollow for a withdrawn run."""
    (first, last), (bottom, _) = x.ends or (1.0, 1.0), y.ends or (1.0, 1.0)
    is_right = math.log(at[0] / first) > math.log(last / first) / 2
    inner, edge = ("paper", "blue") if withdrawn else ("blue", "paper")
    offset, align = (-6, "right") if is_right else (6, "left")
    return (
        Spans(at=[at[0]], low=[bottom], high=[at[1]], width=1, upright=True),
        Dots(x=[at[0]], y=[at[1]], color=inner, edge=edge, size=10),
        Note(text, (at[0], bottom), (offset, 9 + 14 * text.count("\n")), align=align, color="blue", is_bold=True),
    )


def _panel(curves: Curves, who: str, *, withdrawn: bool = False, by_theorem: bool = True) -> Panel:
    """Thin curves for theorems if asked for, a thick one for the statement, and their names at their ends."""
    values, largest = curves.values, curves.tallest
    least = min([largest / _LEAST, *(float(np.nanmin(shown(curve.epsilon))) for curve in curves.drawn)])
    ends = (least / 1.3, largest * _HEADROOM)
    x = Axis(
        label=_BELOW[curves.along],
        ends=(values[0], values[-1]),
        is_log=True,
        is_short=curves.along is Along.USERS,
        ticks=(6, 3),
    )
    y = Axis(label="epsilon", ends=ends, is_log=True, ticks=(10, 10))
    places, stated = curves.corners
    low, high = (np.clip(edge, *ends) for edge in (curves.unreachable[places], stated))
    own = max(float(curves.stated[values == curves.here][0]), ends[0])
    return Panel(
        x=x,
        y=y,
        marks=(
            Band(x=values[places], low=low, high=high),
            *(_by(curves, curve) for curve in curves.drawn if by_theorem),
            Line(x=values[places], y=shown(stated), width=3),
            Line(x=values, y=_within(curves, curves.unreachable), color="vermilion", dash="dashed"),
            *_names(curves, by_theorem=by_theorem),
            *here(x, y, (curves.here, own), f"{who}:\n{_HERE[curves.along](curves.here)}", withdrawn=withdrawn),
        ),
        height=(420, 340),
    )


def _by(curves: Curves, curve: Curve) -> Line:
    """What one theorem gives: dotted for a lower bound."""
    if curve.is_lower:
        return Line(x=curves.values, y=_weaker(curves, curve), color="vermilion", width=1.1, dash="dotted")
    return Line(x=curves.values, y=_within(curves, curve.epsilon), color="soft", width=1.3)


def _names(curves: Curves, *, by_theorem: bool) -> tuple[Name, ...]:
    """Names at the last drawn points: of all theorems, or of both edges of the band."""
    named = [("promised", "blue", curves.stated), ("best possible", "vermilion", curves.unreachable)]
    if by_theorem:
        named = [(each.theorem.id, "vermilion" if each.is_lower else "ink", each.epsilon) for each in curves.drawn]
    found = []
    for text, color, epsilon in named:
        drawn = np.flatnonzero(np.isfinite(_within(curves, epsilon)))
        if drawn.size:
            first, last = epsilon[drawn[[0, -1]]].tolist()
            found.append(Name(text, (curves.values[drawn[-1]], last), color, falls=last < first))
    return tuple(found)


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
