"""Beside the paper: how often one value is guessed against the chance of the truth: randomized, shuffled, both."""

from typing import Any

from experiments.qif.responses import excess, response
from experiments.showing import COLORS, MARKERS, new_chart, progress, series
from shuffledp.leakage import shuffled_vulnerability

Row = dict[str, Any]
KEY = ("values", "people", "truth")


def compute(settings: Row) -> list[Row]:
    """One row for each number of values and of people, and each chance from 1/k to 1.

    "both" is by the general theorem for any channel, "closed form" by the paper's theorem for this one.
    """
    rows = []
    for size, people in progress(settings["cases"], "chances"):
        for step in range(settings["steps"] + 1):
            truth = 1 / size + (1 - 1 / size) * step / settings["steps"]
            found = shuffled_vulnerability(None, response(size, truth), num_users=people)
            rows.append(
                {
                    "values": size,
                    "people": people,
                    "truth": truth,
                    "randomized only": truth,
                    "shuffled only": 1 / size + excess(people, size),
                    "both": found.value,
                    "closed form": 1 / size + excess(people, size, truth),
                }
            )
    return rows


def draw(rows: list[Row]) -> Any:
    """One panel for each number of values: straight lines, because V after both is affine in V after shuffling."""
    sizes = list(dict.fromkeys(row["values"] for row in rows))
    figure, panels = new_chart(len(sizes), width=4.6, height=4.0)
    for axes, size in zip(panels, sizes, strict=True):
        here = [row for row in rows if row["values"] == size]
        for place, people in enumerate(dict.fromkeys(row["people"] for row in here)):
            line = [row for row in here if row["people"] == people]
            style = {"color": COLORS[place], "fmt": f"-{MARKERS[place]}", "label": f"both, {people:,} people"}
            series(axes, line, "truth", "both", **style)
            series(axes, line, "truth", "shuffled only", color=COLORS[place], fmt=":", linewidth=1.4)
        series(axes, line, "truth", "randomized only", color=COLORS[-1], fmt="--", label="randomized only")
        axes.set(xlabel="chance of the truth", title=f"{size} values; dotted: shuffled only")
    panels[0].set_ylabel("chance of a right guess")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure
