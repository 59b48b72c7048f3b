"""Beside the paper: how leakage falls with the number of people, and the constant of its limit."""

import math
from typing import Any

from experiments.qif.responses import excess, limit_constant, limit_excess, printed_excess
from experiments.showing import COLORS, MARKERS, new_chart, progress, series

Row = dict[str, Any]
KEY = ("values", "people")


def compute(settings: Row) -> list[Row]:
    """One row for each number of values and of people.

    f is the factor that makes the paper's sqrt(ln k / (k n)) right for n people, e_k / sqrt(ln k) its limit.
    """
    rows = []
    for size in progress(settings["values"], "constant"):
        constant = limit_constant(size)
        for people in settings["people"]:
            exact, printed = excess(people, size), printed_excess(people, size)
            rows.append(
                {
                    "values": size,
                    "people": people,
                    "exact minus 1/k": exact,
                    "limit minus 1/k": limit_excess(people, size),
                    "printed limit minus 1/k": printed,
                    "f": exact / printed,
                    "e_k": constant,
                    "e_k / sqrt(ln k)": constant / math.sqrt(math.log(size)),
                }
            )
    return rows


def draw(rows: list[Row]) -> Any:
    """Straight lines of slope -1/2 to the left, and the constant against the number of values to the right."""
    figure, (left, right) = new_chart(2, width=4.8, height=4.2)
    sizes = list(dict.fromkeys(row["values"] for row in rows))
    for place, size in enumerate(size for size in sizes if size in (2, 10, 100)):
        line = [row for row in rows if row["values"] == size]
        series(left, line, "people", "exact minus 1/k", color=COLORS[place], fmt=MARKERS[place], label=f"{size} values")
        series(left, line, "people", "limit minus 1/k", color=COLORS[place], fmt="-", linewidth=1.2)
        series(left, line, "people", "printed limit minus 1/k", color=COLORS[place], fmt=":", linewidth=1.4)
    left.set(xscale="log", yscale="log", xlabel="people", title="chance minus 1/k; lines: limits, dotted: f = 1")
    left.legend(frameon=False)
    most = max(row["people"] for row in rows)
    last = [row for row in rows if row["people"] == most]
    series(right, last, "values", "f", color=COLORS[0], fmt="o", label=f"exact, {most:,} people")
    series(right, last, "values", "e_k / sqrt(ln k)", color=COLORS[1], fmt="-", label="limit, $e_k / \\sqrt{\\ln k}$")
    right.axhline(1, color=COLORS[-1], linestyle=":", linewidth=1.4, label="printed, f = 1")
    right.axhline(math.sqrt(2), color="#8b949e", linestyle="--", linewidth=1, label="$\\sqrt{2}$, for ever more values")
    right.set(xscale="log", xlabel="values", title="the factor f", ylim=(0.6, 1.5))
    right.legend(frameon=False, loc="lower right")
    return figure
