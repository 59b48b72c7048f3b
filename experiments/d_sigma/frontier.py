"""What vulnerability buys what learning: rho against lambda, one curve for each mechanism and data set."""

from typing import Any

from experiments.d_sigma.mechanisms import STYLES
from experiments.d_sigma.rho_and_lambda import DRAWN, KEY
from experiments.showing import lettered, limits, new_chart

__all__ = ["DRAWN", "KEY", "OF", "draw"]

Row = dict[str, Any]
OF = ("fig-8", "fig-4-twitch", "fig-4-acs", "frontier-syn")  # whose rows these are
NAMES = {
    "adult": "Adult: income by age",
    "twitch": "Twitch: explicit language",
    "acs": "ACS: owned homes by place",
    "syn": "Syn: eight labels by position",
}
NARROW = 0.3  # what is said of an axis that shows less of lambda
APART = (0.12, 0.06)  # how far labels are from each other, as parts of what is shown of lambda and rho


def draw(rows: list[Row]) -> Any:
    """One panel for each data set; to the lower left is better. Lines lead along alpha at one scale only."""
    names = list(dict.fromkeys(row["data"] for row in rows))
    figure, panels = new_chart(len(names), width=3.55, height=3.6, columns=2)
    for place, (axes, data) in enumerate(zip(panels, names, strict=True)):
        here = [row for row in rows if row["data"] == data]
        moving = [row for row in here if row["alpha"] is not None]
        scales = [row["scale"] for row in moving]
        scale, least = max(dict.fromkeys(scales), key=scales.count), min(row["alpha"] for row in moving)
        labeled = [(row["lambda"], row["rho"]) for row in here if row["alpha"] is None]
        span = [max(axis) - min(axis) for axis in _places(here)]
        for name in STYLES:
            line = [row for row in here if row["mechanism"] == name]
            by_alpha = sorted(
                (row for row in line if row["scale"] == scale and row["alpha"]), key=lambda row: row["alpha"]
            )
            axes.plot(*_places(by_alpha), color=STYLES[name]["color"], linewidth=1.0, alpha=0.7)
            _points(axes, [row for row in line if row["alpha"] in (None, least)], name, hollow=False)
            _points(axes, [row for row in line if row["alpha"] not in (None, least)], name, hollow=True)
            _alphas(axes, by_alpha[1:], name, labeled, span)
        low, high = (f(row["lambda"] for row in here) for f in (min, max))
        part = f" ({low:.2f} to {high:.2f})" if high - low < NARROW else ""
        axes.set(xlabel=f"lambda: error of laws{part}", ylabel="rho (one permutation)", ylim=(-0.03, None))
        lettered(axes, place, NAMES[data])
    panels[0].errorbar([], [], fmt="o", color="#56606b", label="filled: alpha = 4, groups of any scale")
    panels[0].errorbar([], [], fmt="-o", color="#56606b", mfc="white", label="hollow: one scale, alpha as written")
    figure.suptitle("Lower left is better; bars: 95% by Student's t", fontsize=10)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    return figure


def _places(rows: list[Row]) -> list[list[float]]:
    return [[row[column] for row in rows] for column in ("lambda", "rho")]


def _alphas(axes: Any, rows: list[Row], name: str, labeled: list[tuple[float, float]], span: list[float]) -> None:
    """Alpha beside points that are not too near to one that has a label."""
    for row in rows:
        at = (row["lambda"], row["rho"])
        if all(max(abs(at[0] - x) / span[0] / APART[0], abs(at[1] - y) / span[1] / APART[1]) > 1 for x, y in labeled):
            labeled.append(at)
            color = STYLES[name]["color"]
            axes.annotate(f"{row['alpha']:,.0f}", at, (5, 4), textcoords="offset points", fontsize=7, color=color)


def _points(axes: Any, rows: list[Row], name: str, *, hollow: bool) -> None:
    style, single = STYLES[name], name in ("none", "uniform")
    if rows:
        axes.errorbar(
            *_places(rows),
            xerr=[limits(row, "lambda error", "learned") for row in rows],
            yerr=[limits(row, "rho error", "repetitions") for row in rows],
            fmt={"none": "X", "uniform": "*"}.get(name, style["fmt"][1:]),
            color=style["color"],
            mfc="white" if hollow else style["color"],
            label=None if hollow else style["label"],
            markersize=9 if single else 5.5,
            elinewidth=0.9,
            zorder=3 if single else 2,
        )
