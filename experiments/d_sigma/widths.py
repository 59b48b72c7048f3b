"""Fig. 9 and 10: orders of people in compact windows and on an interval, where the best order is known.

In that order every group stands in a row, so that nothing is narrower or less sensitive: the width is that of the
largest group, and the sensitivity the number of its pairs.
"""

import math
from typing import Any

import numpy as np

from experiments.showing import COLORS, MARKERS, lettered, new_chart
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.people.orders import reference_order
from shuffledp.protocols.d_sigma.people.sensitivity import order_sensitivity, order_width

METHODS = {"bfs": "BFS (paper)", "random": "random order", "auto": "ours: best of several, and search"}
PALETTE = dict(zip(METHODS, (COLORS[0], COLORS[1], COLORS[3]), strict=True))
TITLES = {"width": "width (ranks)", "sensitivity": "sensitivity (inversions)"}

Row = dict[str, Any]
KEY = ("kind", "x", "people", "instance", "order")


def cases(settings: Row) -> list[Row]:
    """One for each window or radius, number of people and instance."""
    return [
        {"kind": settings["kind"], "x": x, "people": people, "instance": instance}
        for x in settings["xs"]
        for people in settings["people"]
        for instance in range(settings["instances"])
    ]


def planted(people: int, window: int, draw: np.random.Generator) -> Groups:
    """Appendix A.16: of a hidden order, everybody's group is the window of that many people around them."""
    hidden = draw.permutation(people)
    starts = np.clip(np.arange(people) - window // 2, 0, people - window)
    lists: list[Any] = [[]] * people
    for rank, start in enumerate(starts.tolist()):
        lists[hidden[rank]] = hidden[start : start + window]
    return Groups.from_lists(lists)


def compute(case: Row) -> list[Row]:
    """One row for each order; the best width and sensitivity beside it, and how large groups are."""
    draw = np.random.default_rng([case["instance"], round(case["x"] * 1000), case["people"]])
    people, points = case["people"], None
    if case["kind"] == "planted":
        groups = planted(people, case["x"], draw)
    else:
        points = draw.random((people, 1))
        groups = Groups.from_radius(points, case["x"])
    largest = int(groups.sizes.max())
    known: Row = {"best width": largest - 1, "best sensitivity": math.comb(largest, 2)}
    known["mean group"] = float(groups.sizes[groups.own].mean())
    orders = {method: reference_order(groups, coordinates=points, method=method) for method in ("bfs", "auto")}
    orders["random"] = draw.permutation(people)
    return [
        case
        | {
            "order": method,
            "width": order_width(groups, orders[method]),
            "sensitivity": order_sensitivity(groups, orders[method]),
        }
        | known
        for method in METHODS
    ]


def draw(rows: list[Row]) -> Any:
    """Widths above; below the sensitivity that sets the noise, of which the paper takes what follows from the width."""
    xs = list(dict.fromkeys(row["x"] for row in rows))
    planted_windows = rows[0]["kind"] == "planted"
    figure, panels = new_chart(2 * len(xs), width=3.2, height=2.9, columns=len(xs))
    parts = [(column, x) for column in TITLES for x in xs]
    for place, (axes, (column, x)) in enumerate(zip(panels, parts, strict=True)):
        here = [row for row in rows if row["x"] == x]
        for method, label in METHODS.items():
            line = [row for row in here if row["order"] == method]
            style = {"color": PALETTE[method], "label": label, "marker": MARKERS[list(METHODS).index(method)]}
            _band(axes, line, column, **style)
        best = {"color": COLORS[2], "linestyle": "--", "linewidth": 2.2, "zorder": 4}
        _band(axes, here, f"best {column}", **best, label="the best there is")
        if column == "sensitivity":
            printed = [
                row | {"printed": row["width"] * (row["width"] + 1) / 2} for row in here if row["order"] == "bfs"
            ]
            _band(axes, printed, "printed", color=COLORS[0], linestyle=":", label="w (w + 1) / 2 of BFS (paper)")
        elif not planted_windows:
            _band(axes, here, "mean group", color="#8a8f95", linestyle="-.", label="mean group size")
        if planted_windows and column == "width":
            people = sorted({row["people"] for row in here})
            axes.plot(people, [2.5 * (x - 1)] * len(people), color="#8a8f95", linestyle=":", label="2.5 times the best")
        people = sorted({row["people"] for row in here})
        axes.set(xscale="log", yscale="log", xlabel="people", ylabel=TITLES[column])
        axes.set_xticks(people, [f"{each:,}" for each in people])
        axes.set_xticks([], minor=True)
        lettered(axes, place, f"windows of {x}" if planted_windows else f"radius {x:g}")
    instances = len({row["instance"] for row in rows})
    figure.suptitle(f"Means of {instances} instances, and one standard deviation", fontsize=10)
    found = {label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=3, frameon=False)
    return figure


def _band(axes: Any, rows: list[Row], column: str, **style: Any) -> None:
    """The mean over instances, and one standard deviation to both sides, as the paper draws them."""
    people = sorted({row["people"] for row in rows})
    values = [np.array([row[column] for row in rows if row["people"] == each], dtype=float) for each in people]
    means, spreads = (np.array([getattr(each, of)() for each in values]) for of in ("mean", "std"))
    axes.plot(people, means, **{"linewidth": 1.4, "markersize": 4.5, "mfc": "none"} | style)
    axes.fill_between(people, means - spreads, means + spreads, color=style["color"], alpha=0.18, linewidth=0)
