"""Fig. 8: how epsilon depends on people, irregularity and protocol, after many rounds, by formulas alone."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from experiments.network.bounds import corrected, printed, single, uniform
from experiments.network.fig_7 import DRAWN, over_allocations
from experiments.showing import COLORS, MARKERS, new_chart, progress, series

PARTS = "people"
PANELS = {
    "5.3 printed": "all, Theorem 5.3 printed",
    "5.5 printed": "single, Theorem 5.5 printed",
    "all, ours": "all, ours",
    "single, allocations drawn": "single, allocations drawn",
}

Row = dict[str, Any]
__all__ = ["DRAWN", "KEY", "PARTS", "compute", "draw"]

KEY = ("people", "irregularity")


def compute(settings: Row) -> list[Row]:
    """One row for each number of people and irregularity."""
    cases = [(people, gamma) for people in settings["people"] for gamma in settings["irregularities"]]
    return [_case(*case, settings) for case in progress(cases, "fig-8")]


def _case(people: int, irregularity: float, settings: Row) -> Row:
    epsilon0, delta = settings["epsilon0"], settings["delta"]
    law, everyone = law_of(people, irregularity), uniform(epsilon0, people, delta)
    squares = irregularity / people
    return (
        {"people": people, "irregularity": irregularity}
        | printed(epsilon0, people, squares, delta)
        | corrected(epsilon0, people, squares, delta)
        | {"all, ours": everyone, "single, ours": min(everyone, single(law, epsilon0, delta))}
        | over_allocations(law, epsilon0, settings)
    )


def law_of(people: int, irregularity: float) -> NDArray[np.float64]:
    """A stationary law of this irregularity whose logarithms are those of evenly spaced normal quantiles."""
    quantiles = ndtri((np.arange(people) + 0.5) / people)
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        law = np.exp(middle * (quantiles - quantiles[-1]))
        law /= law.sum()
        low, high = (middle, high) if people * float(law @ law) < irregularity else (low, middle)
    return np.asarray(law if not math.isclose(irregularity, 1) else np.full(people, 1 / people))


def draw(rows: list[Row]) -> Any:
    """One panel for each bound; a line for each irregularity."""
    figure, panels = new_chart(len(PANELS), width=3.1, height=4.0)
    for axes, (column, title) in zip(panels, PANELS.items(), strict=True):
        for place, gamma in enumerate(sorted({row["irregularity"] for row in rows})):
            here = [row for row in rows if row["irregularity"] == gamma]
            style: Row = {"fmt": f"-{MARKERS[place]}", "color": COLORS[place], "label": f"irregularity {gamma:g}"}
            series(axes, here, "people", column, **style)
        axes.set(xscale="log", yscale="log", xlabel="people", ylim=(0.01, 30))
        axes.set_title(title, fontsize=10)
    panels[0].set_ylabel("epsilon")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure
