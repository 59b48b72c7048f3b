"""Fig. 5: two to ten values and ten to a thousand people, shuffled only, exactly."""

from typing import Any

from experiments.qif.responses import excess
from experiments.showing import COLORS, MARKERS, new_chart, progress, series

Row = dict[str, Any]
KEY = ("values", "people")


def compute(settings: Row) -> list[Row]:
    """One row for each number of values and of people, beside what the text of the paper prints."""
    printed = {(people, size): value for people, size, value in settings["printed"]}
    return [
        {
            "values": size,
            "people": people,
            "shuffled only": 1 / size + excess(people, size),
            "exact minus 1/k": excess(people, size),
            "printed": printed.get((people, size)),
        }
        for size in progress(settings["values"], "fig-5")
        for people in settings["people"]
    ]


def draw(rows: list[Row]) -> Any:
    """One line for each number of values, with crosses where the text prints a number."""
    figure, (axes,) = new_chart(1, width=6.6, height=4.2)
    sizes = list(dict.fromkeys(row["values"] for row in rows))
    chosen = [size for size in sizes if size in (2, 3, 5, 10)] or sizes
    for size in sizes:
        line = [row for row in rows if row["values"] == size]
        place = chosen.index(size) if size in chosen else None
        gray: Row = {"color": "#8b949e", "fmt": "-", "linewidth": 0.8}
        named: Row = {"color": COLORS[place or 0], "fmt": f"-{MARKERS[place or 0]}", "label": f"{size} values"}
        series(axes, line, "people", "shuffled only", **(gray if place is None else named))
    crosses: Row = {"fmt": "x", "color": COLORS[-1], "markersize": 9, "zorder": 4, "label": "printed in the text"}
    series(axes, rows, "people", "printed", **crosses)
    axes.set(xscale="log", xlabel="people", ylabel="chance of a right guess", title="shuffled only; gray: between")
    figure.legend(loc="outside right upper", frameon=False)
    return figure
