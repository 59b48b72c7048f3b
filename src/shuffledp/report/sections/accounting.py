"""Epsilon against the number of users, for this task: every theorem that applies, and what would be stated."""

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.report.curves import Curves
from shuffledp.report.drawing import LIGHT, NARROW, annotate, new_figure, text_width
from shuffledp.report.parts import Chart, Section
from shuffledp.report.words import count, number, short_count
from shuffledp.tasks import Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["accounting_section"]

_LABEL = 11  # pixels
_SHARE = "All of this is about this release of this column alone: a share of the sum that is promised above."


def accounting_section(outcome: Outcome) -> Section | None:
    """Chart and table of what each theorem says; None where even one report may say everything."""
    task, people = outcome.task, outcome.model.num_users
    if math.isinf(outcome.model.local.epsilon0):
        return None
    curves = Curves.of(task.model, people=people, delta=task.release.delta)
    withdrawn = any(statement.withdrawn for statement in outcome.release.statements)
    flat = bool(np.ptp(curves.stated) == 0)
    context = {
        "rows": curves.curves,
        "number": number,
        "people": count(people),
        "share": _SHARE if len(outcome.statements[0].parts) > 1 else "",
        "delta": f"{task.release.delta:g}",
        "epsilon0": number(curves.epsilon0),
        "flat": flat,
        "withdrawn": withdrawn,
    }
    title = "Only the local guarantee" if flat else "More people, more privacy"
    charts = (_chart(curves, withdrawn=withdrawn),)
    return Section(name="accounting", title=title, context=context, charts=charts)


def _chart(curves: Curves, *, withdrawn: bool) -> Chart:
    caption = ["Thick line: what would be stated; the dot is this task."]
    if any(curve.is_lower for curve in curves.drawn):
        caption.append("Dashed: a lower bound; the exact value lies in the shaded band.")
    if withdrawn:
        caption.append("The run on this page is withdrawn: none of this holds for it.")
    return Chart(
        name="accounting",
        title="Epsilon against the number of users",
        description=(
            f"Both axes are logarithmic. Curves for {', '.join(curve.theorem.id for curve in curves.drawn)}; the "
            f"numbers at {count(curves.people)} users are in the table below."
        ),
        caption=" ".join(caption),
        draw=partial(_draw, curves, withdrawn),
    )


def _draw(curves: Curves, withdrawn: bool, width: int) -> "Figure":
    """Thin curves for theorems, a thick one for what is stated, labels at their ends, a dot at this task."""
    narrow = width <= NARROW
    lines = [line for curve in curves.drawn for line in _label(curve.theorem.id, narrow).splitlines()]
    right = max(text_width(line, _LABEL) for line in lines) + 12
    figure, axes = new_figure(width, 340 if narrow else 420, left=50, right=right, top=30, bottom=48)
    _set_axes(axes, curves, narrow=narrow)
    axes.fill_between(curves.users, curves.unreachable, curves.stated, color=LIGHT["blue"], alpha=0.1, linewidth=0)
    for curve in curves.drawn:
        style: dict[str, Any] = {"color": LIGHT["soft"]}
        if curve.is_lower:
            style = {"color": LIGHT["vermilion"], "linestyle": (0, (5, 3))}
        axes.plot(curves.users, _within(axes, curve.epsilon), linewidth=1.3, **style)
    axes.plot(curves.users, curves.stated, color=LIGHT["blue"], linewidth=3)
    _label_ends(axes, curves, narrow=narrow)
    _mark_task(axes, curves, hollow=withdrawn)
    return figure


def _within(axes: "Axes", values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The part of a curve that is below the top: above the local loss a bound is of no use."""
    return np.where(values <= axes.get_ylim()[1], values, math.nan)


def _set_axes(axes: "Axes", curves: Curves, *, narrow: bool) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator

    least = min([curves.epsilon0 / 20, *(float(np.nanmin(curve.epsilon)) for curve in curves.drawn)])
    axes.set(xscale="log", yscale="log", xlim=(curves.users[0], curves.users[-1]))
    axes.set_ylim(least / 1.3, curves.epsilon0 * 1.6)
    axes.grid(which="major")
    axes.tick_params(which="both", length=0)
    axes.xaxis.set_major_locator(LogLocator(numticks=6 if narrow else 12))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short_count(value)))
    decades = math.log10(curves.epsilon0 / least)
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if decades < 2.5 else (1,), numticks=20))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.4g}"))
    axes.minorticks_off()
    axes.set_xlabel("number of users", labelpad=6)
    annotate(axes, "epsilon", (0, 1), (-6, 12), xycoords="axes fraction", ha="right", color=LIGHT["soft"])


def _label(name: str, narrow: bool) -> str:
    """A theorem's name, on two lines where there is little room."""
    hyphens = [place for place, character in enumerate(name) if character == "-"]
    if not narrow or not hyphens:
        return name
    middle = min(hyphens, key=lambda place: abs(place - len(name) / 2)) + 1
    return f"{name[:middle]}\n{name[middle:]}"


def _label_ends(axes: "Axes", curves: Curves, *, narrow: bool) -> None:
    """The theorems' names at the right ends of their curves, moved apart where they would overlap."""
    ends = []
    for curve in curves.drawn:
        shown = _within(axes, curve.epsilon)
        if np.isfinite(shown).any():
            last = shown[np.flatnonzero(np.isfinite(shown))[-1]]
            color = LIGHT["vermilion"] if curve.is_lower else LIGHT["ink"]
            height = float(axes.transData.transform((1, last))[1])
            ends.append((height, _label(curve.theorem.id, narrow), color))
    top = -math.inf
    for wanted, name, color in sorted(ends):
        half = (1.2 * _LABEL * len(name.splitlines()) + 3) / 2
        height = max(wanted, top + half)
        top = height + half
        place = (1, axes.transAxes.inverted().transform((0, height))[1])
        style = {"fontsize": _LABEL, "linespacing": 1.1, "color": color}
        annotate(axes, name, place, (6, 0), xycoords="axes fraction", **style)


def _mark_task(axes: "Axes", curves: Curves, *, hollow: bool) -> None:
    """A line down from the dot to the axis, and what it is, in the empty lower corner."""
    here, bottom = float(curves.stated[curves.users == curves.people][0]), axes.get_ylim()[0]
    inner, edge = (LIGHT["paper"], LIGHT["blue"]) if hollow else (LIGHT["blue"], LIGHT["paper"])
    axes.vlines(curves.people, bottom, here, color=LIGHT["blue"], linewidth=1)
    axes.plot([curves.people], [here], "o", markersize=10, mfc=inner, mec=edge, mew=1.5, zorder=5)
    style = {"va": "bottom", "fontsize": _LABEL, "fontweight": "bold", "linespacing": 1.35, "color": LIGHT["blue"]}
    annotate(axes, f"this task:\n{count(curves.people)} users", (curves.people, bottom), (6, 8), **style)
