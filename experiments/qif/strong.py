"""Fig. 3: somebody who knows everybody else's value, beside somebody who knows nobody's."""

import math
from typing import Any

from experiments.qif.responses import excess, response
from experiments.showing import COLORS, MARKERS, new_chart, progress, series
from shuffledp.leakage import strong_vulnerability

Row = dict[str, Any]
KEY = ("truth", "percent")


def compute(settings: Row) -> list[Row]:
    """One row for each chance of the truth and share of others with the value a, beside what the text prints."""
    printed = {(truth, percent): value for truth, percent, value in settings["printed"]}
    people, rows = settings["people"], []
    for truth in progress(settings["truths"], "fig-3"):
        channel, spread = response(2, truth), 8 * math.pi * (people - 1) * truth * (1 - truth)
        for percent in settings["percents"]:
            first = round((people - 1) * percent / 100)
            found = strong_vulnerability(None, channel, others=[first, people - 1 - first])
            rows.append(
                {
                    "truth": truth,
                    "percent": percent,
                    "others with a": first,
                    "strong": found.value,
                    "normal limit": 0.5 + (2 * truth - 1) / math.sqrt(spread) if spread else None,
                    "uninformed": 0.5 + excess(people, 2, truth),
                    "randomized only": truth,
                    "printed": printed.get((truth, percent)),
                }
            )
    return rows


def draw(rows: list[Row]) -> Any:
    """All chances of the truth to the left; to the right one of them enlarged, where the text prints its numbers."""
    figure, (left, right) = new_chart(2, width=4.6, height=4.2)
    for place, truth in enumerate(dict.fromkeys(row["truth"] for row in rows)):
        line = [row for row in rows if row["truth"] == truth]
        name = "shuffled only (p = 1)" if truth == 1 else f"both, p = {truth:g}"
        series(left, line, "percent", "strong", color=COLORS[place], fmt=f"-{MARKERS[place]}", label=name)
        if truth == 0.8:
            series(right, line, "percent", "strong", color=COLORS[place], fmt=f"-{MARKERS[place]}")
            series(right, line, "percent", "normal limit", color=COLORS[-1], fmt="--", label="normal limit")
            crosses: Row = {"fmt": "x", "color": COLORS[-1], "markersize": 9, "zorder": 4}
            series(right, line, "percent", "printed", **crosses, label="printed in the text")
    left.set(xlabel="others who have a, %", ylabel="chance of a right guess", ylim=(0.49, 1.02))
    left.set_title("somebody who knows all others", fontsize=10)
    right.set(xlabel="others who have a, %")
    right.set_title("p = 0.8, enlarged", fontsize=10)
    right.yaxis.set_major_formatter("{x:.5f}")
    right.legend(frameon=False, fontsize=8)
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure
