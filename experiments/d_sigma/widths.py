"""Fig. 9 and 10: widths and exact sensitivities of orders, beside a planted optimum and on geometric graphs."""

from typing import Any

import numpy as np

from experiments.showing import COLORS, MARKERS, lettered, new_chart, series
from shuffledp.people.groups import Groups, order_sensitivity, order_width, reference_order

METHODS = {
    "bfs": "BFS (paper)",
    "rcm": "reverse Cuthill-McKee",
    "coordinate": "best coordinate",
    "auto": "ours: best of all, and search",
}
PALETTE = (COLORS[1], COLORS[2], COLORS[3], COLORS[0])

Row = dict[str, Any]
KEY = ("kind", "people", "x", "instance", "order")


def cases(settings: Row) -> list[Row]:
    """One for each size and number of instance."""
    return [
        {"kind": settings["kind"], "people": settings["people"], "x": x, "instance": instance}
        for x in settings["xs"]
        for instance in range(settings["instances"])
    ]


def planted(people: int, window: int, draw: np.random.Generator) -> Groups:
    """Groups inside windows of a hidden order, in the manner of Appendix A.16: the optimal width is window - 1.

    Everybody's group is a random half of a window that they are in; one group is a whole window.
    """
    hidden = draw.permutation(people)
    lists = []
    for rank in range(people):
        start = int(np.clip(rank - draw.integers(window), 0, people - window))
        members = start + draw.permutation(window)[: max(2, window // 2)]
        lists.append(hidden[np.union1d(members, [rank])])
    lists.append(hidden[:window])
    return Groups.from_lists(lists, num_users=people)


def compute(case: Row) -> list[Row]:
    """One row for each order."""
    draw = np.random.default_rng([case["instance"], round(case["x"] * 1000)])
    people, points = case["people"], None
    if case["kind"] == "planted":
        groups = planted(people, case["x"], draw)
    else:
        points = draw.random((people, 2))
        groups = Groups.from_radius(points, case["x"])
    rows = []
    for method in METHODS:
        if method == "coordinate" and points is None:
            continue
        order = reference_order(groups, coordinates=points, method=method)
        width, sensitivity = order_width(groups, order), order_sensitivity(groups, order)
        rows.append(case | {"order": method, "width": width, "sensitivity": sensitivity})
    return rows


def draw(rows: list[Row]) -> Any:
    """Widths to the left; to the right the sensitivity that sets the noise: the paper's from its width, ours exact."""
    figure, panels = new_chart(2, width=3.55, height=4.0)
    xs = sorted({row["x"] for row in rows})
    is_planted = rows[0]["kind"] == "planted"
    label = "width of the windows that were planted" if is_planted else "radius"
    for place, (method, name) in enumerate(METHODS.items()):
        line = [row for row in rows if row["order"] == method]
        # Beside each other and hollow, so that none covers another.
        line = [row | {"x": row["x"] * (0.95 + 0.033 * place)} for row in line]
        style = {"fmt": f"-{MARKERS[place]}", "color": PALETTE[place], "label": name, "mfc": "none"}
        for axes, column in zip(panels, ("width", "sensitivity"), strict=True):
            if line:
                series(axes, _means(line, column), "x", column, error="error", count="instances", **style)
    bfs = [row | {"from width": row["width"] * (row["width"] + 1) / 2} for row in rows if row["order"] == "bfs"]
    style = {"fmt": "--s", "color": COLORS[1], "mfc": "white", "label": "paper: w (w + 1) / 2 of BFS"}
    series(panels[1], _means(bfs, "from width"), "x", "from width", error="error", count="instances", **style)
    if is_planted:
        panels[0].plot(xs, [x - 1 for x in xs], "k:", label="planted: w - 1")
        panels[0].plot(xs, [2.5 * (x - 1) for x in xs], color="#8a8f95", linestyle=":", label="2.5 times that")
    titles = ("width of the order (ranks)", "sensitivity (inversions)")
    for place, (axes, title) in enumerate(zip(panels, titles, strict=True)):
        axes.set(xscale="log", yscale="log", xlabel=label, ylabel=title)
        lettered(axes, place, f"{rows[0]['people']:,} people, 95 % limits")
        axes.set_xticks(xs, [f"{x:g}" for x in xs])
        axes.set_xticks([], minor=True)
    found = {label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=2, frameon=False)
    return figure


def _means(rows: list[Row], column: str) -> list[Row]:
    """Means over instances with their standard errors."""
    found = []
    for x in sorted({row["x"] for row in rows}):
        values = np.array([row[column] for row in rows if row["x"] == x], dtype=float)
        error = float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else 0.0
        found.append({"x": x, column: float(values.mean()), "error": error, "instances": values.size})
    return found
