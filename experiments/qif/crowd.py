"""Fig. 2 and 4: how often one of two, and of five values is guessed, against the number of people."""

from typing import Any

from experiments.qif.responses import excess, limit_excess
from experiments.showing import COLORS, MARKERS, new_chart, progress, series

Row = dict[str, Any]
KEY = ("values", "people", "truth")
WORDS = {2: "two", 5: "five"}


def compute(settings: Row) -> list[Row]:
    """One row for each number of people and each chance of the truth, beside what the text of the paper prints."""
    printed = {(people, truth): value for people, truth, value in settings.get("printed", ())}
    size = settings["values"]
    return [
        {
            "values": size,
            "people": people,
            "truth": truth,
            "randomized only": truth,
            "shuffled only": 1 / size + excess(people, size),
            "both": 1 / size + excess(people, size, truth),
            "both minus 1/k": excess(people, size, truth),
            "limit": limit_excess(people, size, truth),
            "printed": printed.get((people, truth)),
        }
        for truth in settings["truths"]
        for people in progress(settings["people"], f"{size} values")
    ]


def draw(rows: list[Row]) -> Any:
    """As the paper draws it to the left; to the right the excess: a straight line of slope -1/2 on both logarithms."""
    figure, (left, right) = new_chart(2, width=4.6, height=4.2)
    size = rows[0]["values"]
    for place, truth in enumerate(dict.fromkeys(row["truth"] for row in rows)):
        line = [row for row in rows if row["truth"] == truth]
        style = {"color": COLORS[place], "fmt": f"-{MARKERS[place]}"}
        name = "shuffled only (p = 1)" if truth == 1 else f"both, p = {truth:g}"
        series(left, line, "people", "both", **style, label=name)
        dotted: Row = {"color": COLORS[place], "fmt": ":", "label": f"not shuffled, p = {truth:g}"}
        series(left, line, "people", "randomized only", **dotted)
        series(right, line, "people", "both minus 1/k", **style)
        series(right, line, "people", "limit", color=COLORS[place], fmt=":", linewidth=2.6, alpha=0.6)
    left.axhline(1 / size, color="#8b949e", linewidth=0.8)
    left.set(xscale="log", xlabel="people", ylabel="chance of a right guess", ylim=(1 / size - 0.05, 1.03))
    left.set_title(f"{WORDS[size]} values, uniform prior; gray: beforehand", fontsize=10)
    right.set(xscale="log", yscale="log", xlabel="people")
    right.set_title(f"chance minus 1/{size}; dotted: its limit", fontsize=10)
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure
