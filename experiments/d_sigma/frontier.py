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
    """One panel for each data set; to the lower left is better. Hollow points spend more than the least alpha."""
    names = list(dict.fromkeys(row["data"] for row in rows))
    figure, panels = new_chart(len(names), width=4.4, height=4.2)
    least = min(row["alpha"] for row in rows if row["alpha"] is not None)
    for axes, data in zip(panels, names, strict=True):
        for name, style in STYLES.items():
            here = [row for row in rows if row["data"] == data and row["mechanism"] == name]
            line = sorted(here, key=lambda row: row["lambda"])
            places = [[row[column] for row in line] for column in ("lambda", "rho")]
            axes.plot(*places, color=style["color"], linewidth=0.8, alpha=0.5)
            for hollow in (True, False):
                part = [row for row in line if hollow == ((row["alpha"] or 0) > least)]
                _points(axes, part, name, hollow, None if hollow and len(line) > 1 else style["label"])
        axes.set(xlabel="lambda: error of learned laws", title=NAMES[data], ylim=(-0.02, None))
    panels[0].set_ylabel("rho: share of vulnerable people")
    panels[0].errorbar([], [], fmt="o", color="#56606b", mfc="white", label=f"hollow: alpha above {least:g}")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure


def _points(axes: Any, rows: list[Row], name: str, hollow: bool, label: str | None) -> None:
    style, single = STYLES[name], name in ("none", "uniform")
    if rows:
        axes.errorbar(
            [row["lambda"] for row in rows],
            [row["rho"] for row in rows],
            xerr=[2 * row["lambda error"] for row in rows],
            yerr=[2 * row["rho error"] for row in rows],
            fmt={"none": "X", "uniform": "*"}.get(name, style["fmt"][1:]),
            color=style["color"],
            mfc="white" if hollow else style["color"],
            label=label,
            markersize=10 if single else 6,
            elinewidth=0.9,
            zorder=3 if single else 2,
        )
