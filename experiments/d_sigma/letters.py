"""Displacement of a Mallows shuffle by the number of possible answers, if it is answers that are to be hidden.

Reports that are nothing but one of k letters can be told apart less than people can, so that a larger concentration
keeps the same alpha about answers. About people the loss is then the larger one that stands beside it.
"""

from typing import Any

import numpy as np

from experiments.showing import COLORS, lettered, new_chart, series
from shuffledp.laws import kendall_mean_displacement
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.people.sensitivity import order_sensitivity

Row = dict[str, Any]
KEY = ("group", "letters", "alpha")
PARTS = "groups"


def compute(settings: Row) -> list[Row]:
    """One row for each number of letters and alpha; 0 letters stand for reports that are all different."""
    people = settings["people"]
    rows = []
    for group in settings["groups"]:
        groups = Groups.from_radius(np.arange(people), group // 2)
        order, distinct = np.arange(people), order_sensitivity(groups, np.arange(people))
        for letters in settings["letters"]:
            sensitivity = order_sensitivity(groups, order, alphabet=letters) if letters else distinct
            for alpha in settings["alphas"]:
                theta = alpha / sensitivity
                row = {"group": int(groups.sizes.max()), "letters": letters, "alpha": alpha, "sensitivity": sensitivity}
                moved = float(kendall_mean_displacement(people, theta))
                rows.append(row | {"displacement": moved, "alpha of people": theta * distinct})
    return rows


def draw(rows: list[Row]) -> Any:
    """One panel for each size of group, a line for each number of letters."""
    sizes = list(dict.fromkeys(row["group"] for row in rows))
    figure, panels = new_chart(len(sizes), width=3.6, height=3.2)
    for place, (axes, size) in enumerate(zip(panels, sizes, strict=True)):
        here = [row for row in rows if row["group"] == size]
        for number, letters in enumerate(dict.fromkeys(row["letters"] for row in here)):
            line = [row for row in here if row["letters"] == letters]
            label = f"{letters} possible answers" if letters else "all different: people"
            series(axes, line, "alpha", "displacement", fmt="-o", color=COLORS[number], label=label)
        axes.set(xscale="log", yscale="log", xlabel="alpha about answers", ylabel="ranks moved")
        lettered(axes, place, f"groups of {size}")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return figure
