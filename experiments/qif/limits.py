"""Fig. 6 and 7: the exact chance of a right guess, the paper's approximation of it with f = 1, and ours."""

from typing import Any

from experiments.qif.responses import excess, limit_excess, printed_excess
from experiments.showing import COLORS, MARKERS, new_chart, progress, series

Row = dict[str, Any]
KEY = ("values", "truth", "people")


def compute(settings: Row) -> list[Row]:
    """One row for each number of values with a chance of the truth, and for each number of people.

    The paper uses 1/k + (p - q) sqrt(ln k / (k n)), for n of at least k ln k, and ours has e_k for sqrt(ln k).
    """
    rows = []
    for size, truth in progress(settings["cases"], "limits"):
        for people in settings["people"]:
            exact, printed = excess(people, size, truth), printed_excess(people, size, truth)
            rows.append(
                {
                    "values": size,
                    "truth": truth,
                    "people": people,
                    "exact": 1 / size + exact,
                    "with f = 1": 1 / size + printed,
                    "with e_k": 1 / size + limit_excess(people, size, truth),
                    "excess off with f = 1": printed / exact - 1,
                    "excess off with e_k": limit_excess(people, size, truth) / exact - 1,
                }
            )
    return rows


def draw(rows: list[Row]) -> Any:
    """As the paper draws it to the left; to the right how much of what leaks beyond 1/k the approximations are off."""
    figure, (left, right) = new_chart(2, width=4.6, height=4.2)
    cases = list(dict.fromkeys((row["values"], row["truth"]) for row in rows))
    several = len({size for size, _ in cases}) > 1
    for place, (size, truth) in enumerate(cases):
        line = [row for row in rows if (row["values"], row["truth"]) == (size, truth)]
        line = [row | {name: 100 * row[name] for name in row if name.startswith("excess off")} for row in line]
        name = f"{size} values" if several else f"p = {truth:g}"
        color, mark = COLORS[place], MARKERS[place]
        series(left, line, "people", "exact", color=color, fmt=f"-{mark}", label=f"{name}, exact")
        series(left, line, "people", "with f = 1", color=color, fmt=":", label=f"{name}, f = 1")
        series(right, line, "people", "excess off with f = 1", color=color, fmt=f":{mark}", mfc="none")
        series(right, line, "people", "excess off with e_k", color=color, fmt=f"-{mark}")
    right.axhline(0, color="#8b949e", linewidth=0.8)
    left.set(xscale="log", xlabel="people", ylabel="chance of a right guess")
    left.set_title("shuffled only" if several else f"{cases[0][0]} values, randomized and shuffled", fontsize=10)
    right.set(xscale="log", xlabel="people")
    right.set_title("approximations off, % of the chance beyond 1/k\ndotted: f = 1; solid: with $e_k$", fontsize=10)
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure
