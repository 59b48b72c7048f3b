"""Pictures of epsilon on logarithmic axes: theorems against the number of users, the local loss or delta."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting import Theorem
from shuffledp.core.statement_terms import Status
from shuffledp.core.text import in_digits
from shuffledp.documents.charts.chart import Axis, Band, Chart, Dots, Line, Mark, Name, Note, Panel, Rows, Spans
from shuffledp.documents.charts.curves import Curve, CurveAxis, Curves, shown
from shuffledp.documents.words import count, number

_AT_ONCE = "The line leaves out the bounds that take seconds; with them, the dot is at {}."
_TOO = ", bounds that take seconds too"
_HIGHEST_RATIO, _LEAST_RATIO = 6.0, 1.2  # the axis of ratios ends between these
_HEADROOM = 1.6  # curves are drawn up to this multiple of the local loss
_LEAST = 20  # the least epsilon on the axis is the largest divided by this, or less
WITHDRAWN = "The run on this page is withdrawn: none of this holds for it."
_RATIOS = "What is promised over the best possible, against the number of users"
_TITLES = {
    CurveAxis.USERS: "Epsilon against the number of users",
    CurveAxis.EPSILON0: "Epsilon against the local loss",
    CurveAxis.DELTA: "Epsilon against delta",
}
_BELOW = {
    CurveAxis.USERS: "number of users",
    CurveAxis.EPSILON0: "epsilon0, the loss of one report by itself",
    CurveAxis.DELTA: "delta, the remainder",
}
_HERE: dict[CurveAxis, Callable[[float], str]] = {
    CurveAxis.USERS: lambda value: f"{count(int(value))} users",
    CurveAxis.EPSILON0: lambda value: f"epsilon0 = {number(value, 'exactly')}",
    CurveAxis.DELTA: lambda value: f"delta = {value:g}",
}


def bounds_chart(curves: Curves, *, name: str, who: str, releases: int = 1) -> Chart:
    """Chart of the statement (thick curve), of theorems (thin curves), and of bounds on the best possible epsilon.

    ``who`` is what the dot is, such as "this task"; ``releases`` are what the promise beside the chart is about, which
    itself is about one.
    """
    caption = [f"Thick line: what would be stated; the dot is {who}.", *_at_once(curves)]
    if any(curve.is_lower for curve in curves.drawn):
        caption.append("Dashed: the best lower bound; the exact value lies in the shaded band.")
    if any(np.isfinite(_weaker(curves, curve)).any() for curve in curves.drawn if curve.is_lower):
        caption.append("Dotted: weaker lower bounds.")
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
        panels=(_panel(curves, who),),
    )


def band_chart(curves: Curves, *, name: str, who: str, withdrawn: bool = False) -> Chart:
    """Chart of the promise against the number of users, beside the best possible epsilon, without theorems' names."""
    caption = [f"Dot: {who}.", *_at_once(curves)]
    if withdrawn:
        caption.append(WITHDRAWN)
    return Chart(
        name=name,
        title=_TITLES[curves.along],
        description=f"Both axes are logarithmic. The dot is at {_HERE[curves.along](curves.here)}.",
        caption=" ".join(caption),
        panels=(_panel(curves, who, withdrawn=withdrawn, by_theorem=False),),
    )


def ratio_chart(curves: Curves, *, name: str) -> Chart:
    """Chart of ratios against users: each promised epsilon divided by the best lower bound."""
    caption = ["Thick line: what would be stated; 1 is the best lower bound, which no theorem can go below."]
    if any(curve.theorem.is_costly for curve in curves.drawn):
        caption.append("Dashed: what is stated at once, without bounds that take seconds.")
    return Chart(
        name=name,
        title=_RATIOS,
        description="Both axes are logarithmic. " + " ".join(f"{each.text}." for each in _ratio_names(curves)),
        caption=" ".join(caption),
        panels=(_ratio_panel(curves),),
    )


def stacked_chart(panels: Sequence[Curves], *, name: str, title: str, who: str) -> Chart:
    """Several pictures of epsilon below each other, as one chart for a file, with ratios last."""
    ratios = [curves for curves in panels if has_ratios(curves)]
    return Chart(
        name=name,
        title=title,
        description=" ".join([*(_TITLES[curves.along] for curves in panels), *(_RATIOS for _ in ratios)]),
        caption="",
        panels=(*(_explained(_panel(curves, who), curves) for curves in panels), *map(_ratio_panel, ratios)),
    )


def has_ratios(curves: Curves) -> bool:
    """Whether promises can be compared with a lower bound, for some number of users."""
    return curves.along is CurveAxis.USERS and bool(np.isfinite(_ratio(curves, curves.stated)).any())


def _at_once(curves: Curves) -> tuple[str, ...]:
    return (_AT_ONCE.format(_own(curves)),) if curves.is_at_once else ()


def _own(curves: Curves) -> str:
    return in_digits(curves.own, "at most")


def _explained(panel: Panel, curves: Curves) -> Panel:
    """Panel whose label explains a dot below the line; unchanged without such a dot."""
    if not curves.is_at_once or isinstance(panel.y, Rows):
        return panel
    label = f"{panel.y.label}, without the bounds that take seconds; with them, here: {_own(curves)}"
    return replace(panel, y=replace(panel.y, label=label))


def _ratio_panel(curves: Curves) -> Panel:
    stated, at_once = (_ratio(curves, each) for each in (curves.stated, curves.stated_at_once))
    lines = [_ratio(curves, curve.epsilon) for curve in curves.drawn if curve.theorem.kind.promises]
    lines = [each for each in lines if np.isfinite(each).any()]
    highest = max([_LEAST_RATIO, *(float(np.nanmax(each)) for each in lines)])
    dashed = (Line(x=curves.values, y=at_once, width=1.5, dash="dashed"),) if (at_once > stated).any() else ()
    return Panel(
        x=Axis(
            label=_BELOW[CurveAxis.USERS],
            ends=(curves.values[0], curves.values[-1]),
            is_log=True,
            is_short=True,
            ticks=(6, 3),
        ),
        y=Axis(label="promise / best possible", ends=(1 / 1.02, highest * 1.25), is_log=True, ticks=(10, 10)),
        marks=(
            *(Line(x=curves.values, y=ratio, color="soft", width=1.3) for ratio in lines),
            *dashed,
            Line(x=curves.values, y=stated, width=3),
            *(_along(curves, at_once, "before (dashed): what is stated at once") if dashed else ()),
            *_along(
                curves, stated, f"{'after (thick)' if dashed else 'thick'}: what is stated{_TOO if dashed else ''}"
            ),
            *_ratio_names(curves),
        ),
        height=(420, 340),
    )


def _along(curves: Curves, ratio: NDArray[np.float64], text: str) -> tuple[Note, ...]:
    """Text above the start of a line; none for an empty line."""
    places = np.flatnonzero(np.isfinite(ratio))[:1]
    return tuple(Note(text, (curves.values[at], float(ratio[at])), (8, 9), color="blue") for at in places)


def _ratio_names(curves: Curves) -> tuple[Name, ...]:
    """Names of the drawn theorems, with author and year, or with "own"."""
    found = []
    for curve in curves.drawn:
        ratio = _ratio(curves, curve.epsilon)
        places = np.flatnonzero(np.isfinite(ratio))
        if curve.theorem.kind.promises and places.size:
            first, last = ratio[places[[0, -1]]].tolist()
            found.append(Name(_by_author(curve.theorem), (curves.values[places[-1]], last), "ink", falls=last < first))
    return tuple(found)


def _by_author(theorem: Theorem) -> str:
    is_own = theorem.status is Status.OWN_PROOF
    source = f"{'after ' * is_own}{theorem.authors}" if theorem.authors else "own"
    return f"{theorem.id} ({source})"


def _ratio(curves: Curves, epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ratio of an epsilon to the best lower bound; NaN where it is unknown or not drawn."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.asarray(epsilon / shown(curves.unreachable), dtype=np.float64)
    return np.where((found <= _HIGHEST_RATIO) & (epsilon < curves.local), np.maximum(found, 1.0), math.nan)


def here(x: Axis, y: Axis, at: tuple[float, float], text: str, *, withdrawn: bool) -> tuple[Mark, ...]:
    """Marks at the protocol's own value: a dot, hollow if ``withdrawn``, a line to the axis, and a text."""
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
    """Panel with a thick curve for the statement; with ``by_theorem`` thin curves and names of theorems."""
    values, largest = curves.values, curves.tallest
    least = min([largest / _LEAST, *(float(np.nanmin(shown(curve.epsilon))) for curve in curves.drawn)])
    ends = (least / 1.3, largest * _HEADROOM)
    x = Axis(
        label=_BELOW[curves.along],
        ends=(values[0], values[-1]),
        is_log=True,
        is_short=curves.along is CurveAxis.USERS,
        ticks=(6, 3),
    )
    y = Axis(label="epsilon", ends=ends, is_log=True, ticks=(10, 10))
    places, stated = curves.corners
    low, high = (np.clip(edge, *ends) for edge in (curves.unreachable[places], stated))
    own = max(curves.stated_here, ends[0])
    dot = f"{who}, with bounds that take seconds" if by_theorem and curves.is_at_once else who
    return Panel(
        x=x,
        y=y,
        marks=(
            Band(x=values[places], low=low, high=high),
            *(_by(curves, curve) for curve in curves.drawn if by_theorem),
            Line(x=values[places], y=shown(stated), width=3),
            Line(x=values, y=_within(curves, curves.unreachable), color="vermilion", dash="dashed"),
            *_names(curves, by_theorem=by_theorem),
            *here(x, y, (curves.here, own), f"{dot}:\n{_HERE[curves.along](curves.here)}", withdrawn=withdrawn),
        ),
        height=(420, 340),
    )


def _by(curves: Curves, curve: Curve) -> Line:
    """Line of one theorem: dotted for a lower bound."""
    if curve.is_lower:
        return Line(x=curves.values, y=_weaker(curves, curve), color="vermilion", width=1.1, dash="dotted")
    return Line(x=curves.values, y=_within(curves, curve.epsilon), color="soft", width=1.3)


def _names(curves: Curves, *, by_theorem: bool) -> tuple[Name, ...]:
    """Names of curves at their last drawn points: all theorems, or both edges of the band."""
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
    """Values of a curve, with NaN for useless values far above the local loss."""
    return np.where(values <= curves.local * _HEADROOM, shown(values), math.nan)


def _weaker(curves: Curves, curve: Curve) -> NDArray[np.float64]:
    """Part of a lower bound below the best lower bound, up to the point where the two meet."""
    below = curve.epsilon < curves.unreachable
    near = below.copy()
    near[1:] |= below[:-1]
    near[:-1] |= below[1:]
    return np.where(near, _within(curves, curve.epsilon), math.nan)
