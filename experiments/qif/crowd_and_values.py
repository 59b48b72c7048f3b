"""Fig. 5: two to ten values and ten to a thousand people: exactly, where the paper had to be content with a limit."""

from typing import Any

from experiments.qif.responses import excess, limit_excess, printed_excess
from experiments.showing import COLORS, MARKERS, new_chart, progress, series

Row = dict[str, Any]
KEY = ("values", "people")


def compute(settings: Row) -> list[Row]:
    """One row for each number of values and of people; last come the limits, with our constant and with 1."""
    return [
        {
            "values": size,
            "people": people,
            "shuffled only": 1 / size + excess(people, size),
            "exact minus 1/k": excess(people, size),
            "limit minus 1/k": limit_excess(people, size),
            "printed limit minus 1/k": printed_excess(people, size),
        }
        for size in progress(settings["values"], "fig-5")
        for people in settings["people"]
    ]


def draw(rows: list[Row]) -> Any:
    """Vulnerability to the left; to the right the limits, as multiples of the exact excess."""
    figure, (left, right) = new_chart(2, width=4.8, height=4.2)
    sizes = list(dict.fromkeys(row["values"] for row in rows))
    chosen = [size for size in sizes if size in (2, 3, 5, 10)] or sizes
    for size in sizes:
        if size not in chosen:
            here = [row for row in rows if row["values"] == size]
            series(left, here, "people", "shuffled only", color="#8b949e", fmt="-", linewidth=0.8)
    for place, size in enumerate(chosen):
        line = [
            row
            | {
                "ours": row["limit minus 1/k"] / row["exact minus 1/k"],
                "theirs": row["printed limit minus 1/k"] / row["exact minus 1/k"],
            }
            for row in rows
            if row["values"] == size
        ]
        style: Row = {"color": COLORS[place], "fmt": f"-{MARKERS[place]}", "label": f"{size} values", "markersize": 3.5}
        series(left, line, "people", "shuffled only", **style)
        series(right, line, "people", "ours", **style)
        series(right, line, "people", "theirs", **style | {"fmt": f":{MARKERS[place]}", "markerfacecolor": "none"})
    left.set(xscale="log", xlabel="people", ylabel="chance of a right guess", title="shuffled only; gray: between")
    right.set(xscale="log", xlabel="people", title="limit / exact excess; dotted: with f = 1")
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure
