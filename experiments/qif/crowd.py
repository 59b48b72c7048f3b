"""Fig. 2: two values, and how often one of them is guessed, against the number of people."""

from typing import Any

from experiments.qif.responses import excess, limit_excess
from experiments.showing import COLORS, MARKERS, new_chart, progress, series

Row = dict[str, Any]
KEY = ("people", "truth")


def compute(settings: Row) -> list[Row]:
    """One row for each number of people and each chance of the truth, beside what the text of the paper prints."""
    printed = {(people, truth): value for people, truth, value in settings["printed"]}
    return [
        {
            "people": people,
            "truth": truth,
            "randomized only": truth,
            "shuffled only": 0.5 + excess(people, 2),
            "both": 0.5 + excess(people, 2, truth),
            "both minus 1/2": excess(people, 2, truth),
            "limit": limit_excess(people, 2, truth),
            "printed": printed.get((people, truth)),
        }
        for truth in settings["truths"]
        for people in progress(settings["people"], "fig-2")
    ]


def draw(rows: list[Row]) -> Any:
    """Vulnerability to the left; to the right its excess, which is a straight line of slope -1/2 on both logarithms."""
    figure, (left, right) = new_chart(2, width=4.6, height=4.0)
    for place, truth in enumerate(dict.fromkeys(row["truth"] for row in rows)):
        line = [row for row in rows if row["truth"] == truth]
        name = "shuffled only (p = 1)" if truth == 1 else f"both, p = {truth:g}"
        style = {"color": COLORS[place], "fmt": f"-{MARKERS[place]}", "label": name}
        series(left, line, "people", "both", **style)
        series(right, line, "people", "both minus 1/2", **style)
        series(right, line, "people", "limit", color=COLORS[place], fmt=":", linewidth=2.6, alpha=0.6)
        if truth < 1:
            left.axhline(truth, color=COLORS[place], linestyle="--", linewidth=1)
            place_of_text = (line[-1]["people"], truth)
            shift: Row = {"xytext": (0, 3), "textcoords": "offset points", "ha": "right", "fontsize": 8}
            left.annotate(f"randomized only, p = {truth:g}", place_of_text, **shift)
    left.set(xscale="log", xlabel="people", ylabel="chance of a right guess", title="two values, uniform prior")
    right.set(xscale="log", yscale="log", xlabel="people", title="chance minus 1/2; dotted: its limit")
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure
