"""Fig. 8: how epsilon depends on epsilon0, people, irregularity and protocol, after many rounds, by formulas alone."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from experiments.network.bounds import corrected, mixed_single, printed, uniform
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

KEY = ("people", "irregularity", "epsilon0")


def compute(settings: Row) -> list[Row]:
    """One row for each number of people, irregularity and epsilon0."""
    shapes = [(people, gamma) for people in settings["people"] for gamma in settings["irregularities"]]
    cases = [(*shape, epsilon0) for shape in shapes for epsilon0 in settings["epsilons"]]
    return [_case(*case, settings) for case in progress(cases, "fig-8")]


def _case(people: int, irregularity: float, epsilon0: float, settings: Row) -> Row:
    delta, squares = settings["delta"], irregularity / people
    law, everyone = law_of(people, irregularity), uniform(epsilon0, people, delta)
    return (
        {"people": people, "irregularity": irregularity, "epsilon0": epsilon0}
        | printed(epsilon0, people, squares, delta)
        | corrected(epsilon0, people, squares, delta)
        | {"all, ours": everyone, "single, ours": min(everyone, mixed_single(law, epsilon0, delta))}
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
    """One panel for each bound; a color for each number of people, and dashes for irregular graphs."""
    figure, panels = new_chart(len(PANELS), width=3.1, height=4.2)
    least = min(row["irregularity"] for row in rows)
    for axes, (column, title) in zip(panels, PANELS.items(), strict=True):
        for place, people in enumerate(sorted({row["people"] for row in rows})):
            for gamma in sorted({row["irregularity"] for row in rows}):
                here = [row for row in rows if (row["people"], row["irregularity"]) == (people, gamma)]
                form = f"{'-' if gamma == least else '--'}{MARKERS[place]}"
                style: Row = {"fmt": form, "color": COLORS[place], "markersize": 3.5}
                series(axes, here, "epsilon0", column, **style, label=f"{people:,} people, irregularity {gamma:g}")
        losses = sorted({row["epsilon0"] for row in rows})
        axes.plot(losses, losses, color="#1b1f24", linewidth=1, label="epsilon = epsilon0")
        axes.set(yscale="log", xlabel="epsilon0", ylim=(0.002, 3e4))
        axes.set_title(title, fontsize=10)
    panels[0].set_ylabel("epsilon")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure
