"""How far Algorithm 1 displaces reports at least, beside a uniform shuffle: Fig. 8 and footnote 4 cannot come from it.

No order is narrower than the largest group, g people wide, so that the printed concentration is at most alpha over
g (g - 1) / 2, and displacement falls with the concentration. The mean displacement at that concentration is exact, and
the least that the printed algorithm can have, whatever its order.
"""

import math
from typing import Any

import numpy as np

from experiments.d_sigma.data import people_of
from experiments.showing import COLORS, lettered, new_chart
from shuffledp.laws import kendall_mean_displacement

Row = dict[str, Any]
KEY = ("figure", "radius", "places", "alpha")


def cases(settings: Row) -> list[Row]:
    """Adult at several radii and at several alphas; people in equal places, as hospitals may be."""
    alpha, radius = settings["alpha"], settings["radius"]
    adult = {"figure": "fig-8", "data": settings["data"], "size": settings.get("size"), "places": None}
    found = [adult | {"radius": each, "alpha": alpha} for each in settings["radii"]]
    found += [adult | {"radius": radius, "alpha": each} for each in settings["alphas"] if each != alpha]
    hospitals = {"figure": "fig-4", "people": settings["people"], "radius": 0, "alpha": alpha}
    return found + [hospitals | {"places": places} for places in settings["places"]]


def compute(case: Row) -> list[Row]:
    """One row: the largest group, the largest concentration, and the displacement that goes with it."""
    if case["figure"] == "fig-8":
        groups = people_of(case["data"], case["size"]).groups(case["radius"])
        people, largest = groups.num_users, int(groups.sizes.max())
    else:
        people, largest = case["people"], math.ceil(case["people"] / case["places"])
    theta = case["alpha"] / math.comb(largest, 2)
    displaced, uniform = kendall_mean_displacement(people, theta), (people**2 - 1) / (3 * people)
    row = {name: case[name] for name in ("figure", "radius", "places", "alpha")}
    row |= {"people": people, "largest group": largest, "concentration": theta}
    return [row | {"displacement": float(displaced), "uniform": uniform, "share": float(displaced / uniform)}]


def draw(rows: list[Row]) -> Any:
    """Adult against the radius and against alpha; and people in equal places."""
    alpha = rows[0]["alpha"]
    adult = [row for row in rows if row["figure"] == "fig-8"]
    by_alpha = [row for row in adult if row["radius"] == _commonest(adult)]
    parts = (
        ([row for row in adult if row["alpha"] == alpha], "radius", "radius (years)", f"Adult, alpha = {alpha:g}"),
        (by_alpha, "alpha", "alpha", f"Adult, radius {by_alpha[0]['radius']}"),
        (
            [row for row in rows if row["figure"] == "fig-4"],
            "places",
            "equal places, groups by place",
            f"{rows[-1]['people']:,} people",
        ),
    )
    figure, panels = new_chart(3, width=3.2, height=3.0)
    for place, (axes, (part, column, label, title)) in enumerate(zip(panels, parts, strict=True)):
        line = sorted(part, key=lambda row: row[column])
        at = np.arange(len(line))
        axes.axhline(1, color=COLORS[4], linestyle=":", label="uniform shuffle")
        bars = axes.bar(at, [row["share"] for row in line], 0.6, color=COLORS[1], label="Algorithm 1, at least")
        axes.bar_label(bars, fmt="%.4f" if column == "radius" else "%.3f", fontsize=8)
        axes.set_xticks(at, [f"{row[column]:,g}" for row in line])
        axes.set(ylim=(0, 1.12), xlabel=label, ylabel="displacement, uniform = 1")
        lettered(axes, place, title)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return figure


def _commonest(rows: list[Row]) -> Any:
    values = [row["radius"] for row in rows]
    return max(dict.fromkeys(values), key=values.count)
