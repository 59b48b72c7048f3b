"""Fig. 7: handing in all against handing in one, on Twitch and (by its printed summary) Google, after many rounds."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.checking import Drawn
from experiments.network.bounds import mixed_single, on_graph, single
from experiments.showing import COLORS, new_chart, progress, series

PARTS = "graphs"
STYLES = {
    "5.3 printed": (":o", COLORS[1], "all, Theorem 5.3 printed"),
    "5.5 printed": (":s", COLORS[4], "single, Theorem 5.5 printed"),
    "all, ours": ("-D", COLORS[0], "all, ours"),
    "single, ours": ("-^", COLORS[2], "single, ours"),
    "single, allocations drawn": ("--v", COLORS[3], "single, allocations drawn (estimate)"),
}

Row = dict[str, Any]
KEY = ("graph", "epsilon0")
DRAWN = {"single, allocations drawn": Drawn("standard error", "allocations")}


def compute(settings: Row) -> list[Row]:
    """One row for each graph and epsilon0."""
    return [row for name in settings["graphs"] for row in _on(name, settings)]


def _on(name: str, settings: Row) -> list[Row]:
    delta, rows = settings["delta"], []
    for epsilon0 in progress(settings["epsilons"], name):
        graph, row = on_graph(name, epsilon0, delta)
        names = ("single, ours", "single, allocations drawn", "standard error", "allocations")
        row |= dict.fromkeys(names)
        if graph is not None:
            row["single, ours"] = min(mixed_single(graph.stationary, epsilon0, delta), row["all, ours"])
            row |= over_allocations(graph.stationary, epsilon0, settings)
        rows.append(row)
    return rows


def allocated(law: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """The chance to be handed in by each person, who holds as many of the others' reports as drawn here."""
    held = np.random.default_rng(seed).multinomial(len(law) - 1, law)
    chances: NDArray[np.float64] = law / (1 + held)
    return chances


def over_allocations(law: NDArray[np.float64], epsilon0: float, settings: Row) -> Row:
    """The mean epsilon of "single" over drawn numbers of reports held, with its standard error."""
    count = settings["draws"]
    drawn = np.array([single(allocated(law, seed), epsilon0, settings["delta"]) for seed in range(count)])
    error = float(drawn.std(ddof=1) / np.sqrt(count))
    return {"single, allocations drawn": float(drawn.mean()), "standard error": error, "allocations": count}


def draw(rows: list[Row]) -> Any:
    """One panel for each graph."""
    names = list(dict.fromkeys(row["graph"] for row in rows))
    figure, panels = new_chart(len(names), width=4.2, height=4.4)
    for axes, name in zip(panels, names, strict=True):
        here = [row for row in rows if row["graph"] == name]
        for column, (form, color, label) in STYLES.items():
            style: Row = {"fmt": form, "color": color, "label": label}
            if column == "single, ours":  # around the markers of "all", from which it may not differ
                style |= {"fmt": "^", "markersize": 10, "markerfacecolor": "none", "zorder": 3}
            series(axes, here, "epsilon0", column, **style)
        losses = [row["epsilon0"] for row in here]
        axes.plot(losses, losses, color="#56606b", linestyle="--", linewidth=1, label="no shuffle")
        axes.set(yscale="log", xlabel="epsilon0", title=name, ylim=(1e-4, 1e3))
    panels[0].set_ylabel("epsilon")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure
