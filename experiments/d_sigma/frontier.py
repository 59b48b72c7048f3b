"""What vulnerability buys what learning: rho against lambda, one curve for each mechanism and data set."""

from typing import Any

from experiments.d_sigma.mechanisms import STYLES
from experiments.showing import new_chart

__all__ = ["draw"]

Row = dict[str, Any]
NAMES = {
    "adult": "Adult: income by age",
    "twitch": "Twitch: explicit language by friends",
    "acs": "ACS: owned homes by place",
}


def draw(rows: list[Row]) -> Any:
    """One panel for each data set; to the lower left is better."""
    names = list(dict.fromkeys(row["data"] for row in rows))
    figure, panels = new_chart(len(names), width=4.4, height=4.1)
    for axes, data in zip(panels, names, strict=True):
        here = [row for row in rows if row["data"] == data]
        for name, style in STYLES.items():
            line = sorted((row for row in here if row["mechanism"] == name), key=lambda row: row["lambda"])
            marker = {"none": "X", "uniform": "*"}.get(name, style["fmt"][1:])
            axes.errorbar(
                [row["lambda"] for row in line],
                [row["rho"] for row in line],
                xerr=[2 * row["lambda error"] for row in line],
                yerr=[2 * row["rho error"] for row in line],
                fmt=marker + ("-" if len(line) > 1 else ""),
                color=style["color"],
                label=style["label"],
                linewidth=1.0,
                markersize=10 if len(line) == 1 else 5,
                capsize=2,
                zorder=3 if len(line) == 1 else 2,
            )
        axes.set(xlabel="lambda: error of learned laws", title=NAMES[data], ylim=(-0.02, None))
    panels[0].set_ylabel("rho: share of vulnerable people")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    return figure
