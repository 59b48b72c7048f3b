"""Beside the paper: how often one of many values is guessed after shuffling only, against their number."""

from typing import Any

from experiments.qif.responses import excess, limit_excess
from experiments.showing import COLORS, MARKERS, new_chart, progress, series

Row = dict[str, Any]
KEY = ("people", "values")


def compute(settings: Row) -> list[Row]:
    """One row for each number of people and of values, beside the limit."""
    return [
        {
            "people": people,
            "values": size,
            "prior": 1 / size,
            "shuffled only": 1 / size + excess(people, size),
            "limit": 1 / size + limit_excess(people, size),
        }
        for people in progress(settings["people"], "values")
        for size in settings["values"]
    ]


def draw(rows: list[Row]) -> Any:
    """One line for each number of people, above the line of those who see nothing."""
    figure, (axes,) = new_chart(1, width=5.6, height=4.2)
    crowds = list(dict.fromkeys(row["people"] for row in rows))
    for place, people in enumerate(crowds):
        line = [row for row in rows if row["people"] == people]
        style = {"color": COLORS[place], "fmt": f"-{MARKERS[place]}", "label": f"{people:,} people, shuffled only"}
        series(axes, line, "values", "shuffled only", **style)
    nothing = [row for row in rows if row["people"] == crowds[0]]
    series(axes, nothing, "values", "prior", color=COLORS[-1], fmt="--", label="beforehand: 1 / values", linewidth=1.2)
    axes.set(xscale="log", yscale="log", xlabel="values", ylabel="chance of a right guess", title="uniform prior")
    axes.legend(frameon=False)
    return figure
