"""The guarantee against the number of rounds of walks along a graph."""

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from shuffledp.core.text import count_of
from shuffledp.documents.document import Chart
from shuffledp.documents.drawing import LIGHT, NARROW, annotate, new_figure
from shuffledp.documents.words import number, short_count
from shuffledp.planning.network_plan import NetworkPlan

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_HEADROOM = 1.5
_LABEL = 11


def rounds_chart(plan: NetworkPlan, *, epsilon0: float, withdrawn: bool) -> Chart:
    """Epsilon after each number of rounds, between what a report loses by itself and what a uniform shuffle would.

    Args:
        plan: what to draw.
        epsilon0: of one report by itself.
        withdrawn: whether nothing of it holds for the run on the page.
    """
    caption = [
        "Both axes are logarithmic. Blue: what is guaranteed after so many rounds; dashed: a uniform shuffle of "
        "everybody; dotted: no shuffling."
    ]
    if plan.fewest_rounds is not None and plan.num_parts == 1:
        caption.append(f"Within 5% of a uniform shuffle from {count_of(plan.fewest_rounds, 'round')} on.")
    if withdrawn:
        caption.append("The run on this page is withdrawn: none of this holds for it.")
    least, most = plan.by_rounds[0], plan.by_rounds[-1]
    return Chart(
        name="rounds",
        title="Guarantee against rounds",
        description=(
            f"Epsilon is {number(least.epsilon, 'at most')} after {count_of(least.rounds, 'round')} and "
            f"{number(most.epsilon, 'at most')} after {most.rounds}; the numbers are in the table below."
        ),
        caption=" ".join(caption),
        draw=partial(_draw, plan, epsilon0, withdrawn),
    )


def _draw(plan: NetworkPlan, epsilon0: float, withdrawn: bool, width: int) -> "Figure":
    narrow = width <= NARROW
    figure, axes = new_figure(width, 300 if narrow else 360, left=56, right=16, top=30, bottom=48)
    drawn = [row for row in plan.by_rounds if row.rounds > 0]
    rounds, epsilons = np.array([row.rounds for row in drawn]), np.array([row.epsilon for row in drawn])
    lowest = min([plan.uniform, *epsilons.tolist()])
    axes.set(xscale="log", yscale="log", xlim=(rounds[0] * 0.9, rounds[-1] * 1.1))
    axes.set_ylim(lowest / _HEADROOM**2, max(epsilon0, lowest) * _HEADROOM)
    _set_ticks(axes, epsilon0 / max(lowest, 1e-300))
    axes.axhline(plan.uniform, color=LIGHT["green"], linewidth=1.5, linestyle=(0, (5, 3)))
    axes.axhline(epsilon0, color=LIGHT["vermilion"], linewidth=1.3, linestyle=":")
    edge = {"xycoords": ("axes fraction", "data"), "fontsize": _LABEL, "ha": "left"}
    annotate(
        axes,
        f"uniform shuffle: {number(plan.uniform, 'at most')}",
        (0, plan.uniform),
        (6, -9),
        color=LIGHT["green"],
        **edge,
    )
    _set_cost(axes, plan)
    annotate(axes, f"no shuffling: {number(epsilon0)}", (0, epsilon0), (6, 9), color=LIGHT["vermilion"], **edge)
    axes.plot(rounds, epsilons, color=LIGHT["blue"], linewidth=3, marker="o", markersize=4)
    if plan.rounds:
        _mark(axes, plan, hollow=withdrawn)
    return figure


def _set_ticks(axes: "Axes", ratio: float) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator

    axes.grid(which="major")
    axes.tick_params(which="both", length=0)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=12))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short_count(value)))
    few = math.log10(max(ratio, 1)) < 2.5
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,), numticks=20))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.4g}"))
    axes.minorticks_off()
    axes.set_xlabel("rounds", labelpad=6)
    annotate(axes, "epsilon", (0, 1), (-6, 12), xycoords="axes fraction", ha="right", color=LIGHT["soft"])


def _set_cost(axes: "Axes", plan: NetworkPlan) -> None:
    """What a person passes on, at the top: it grows with the rounds, and as they do but for losses."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    rows = [row for row in plan.by_rounds if row.rounds > 0 and row.messages > 0]
    shown = [rows[0], rows[-1]] if len(rows) > 1 else rows
    top = axes.secondary_xaxis("top")
    top.xaxis.set_major_locator(FixedLocator([row.rounds for row in shown]))
    top.xaxis.set_minor_locator(NullLocator())
    top.xaxis.set_major_formatter(FixedFormatter([short_count(round(row.messages)) for row in shown]))
    top.tick_params(which="both", length=0)
    top.set_xlabel("messages that each person passes on", labelpad=-8)


def _mark(axes: "Axes", plan: NetworkPlan, *, hollow: bool) -> None:
    """A dot for the task's rounds, and a line down to what it is."""
    own, bottom = plan.own, axes.get_ylim()[0]
    inner, border = (LIGHT["paper"], LIGHT["blue"]) if hollow else (LIGHT["blue"], LIGHT["paper"])
    axes.vlines(own.rounds, bottom, own.epsilon, color=LIGHT["blue"], linewidth=1)
    axes.plot([own.rounds], [own.epsilon], "o", markersize=10, mfc=inner, mec=border, mew=1.5, zorder=5)
    to_the_left = axes.transAxes.inverted().transform(axes.transData.transform((own.rounds, bottom)))[0] > 0.5
    annotate(
        axes,
        f"this task: {count_of(own.rounds, 'round')}, {_messages(own.messages)} each",
        (own.rounds, bottom),
        (-6 if to_the_left else 6, 9),
        ha="right" if to_the_left else "left",
        fontsize=_LABEL,
        fontweight="bold",
        color=LIGHT["blue"],
    )


def _messages(passed_on: float) -> str:
    return "1 message" if number(passed_on) == "1" else f"{number(passed_on)} messages"
