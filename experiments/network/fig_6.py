"""Fig. 6: epsilon against epsilon0 on five graphs, after many rounds."""

from typing import Any

from experiments.network.bounds import on_graph, single
from experiments.showing import COLORS, MARKERS, new_chart, progress, series

PARTS = "graphs"

Row = dict[str, Any]
KEY = ("graph", "epsilon0")


def compute(settings: Row) -> list[Row]:
    """One row for each graph and epsilon0."""
    return [row for name in settings["graphs"] for row in _on(name, settings)]


def _on(name: str, settings: Row) -> list[Row]:
    delta, rows = settings["delta"], []
    for epsilon0 in progress(settings["epsilons"], name):
        graph, row = on_graph(name, epsilon0, delta)
        row["single, ours"] = (
            None if graph is None else min(single(graph.stationary, epsilon0, delta), row["all, ours"])
        )
        rows.append(row)
    return rows


def draw(rows: list[Row]) -> Any:
    """The print on the left, what is true on the right."""
    figure, (left, right) = new_chart(2, width=4.2, height=4.2)
    for place, name in enumerate(dict.fromkeys(row["graph"] for row in rows)):
        here = [row for row in rows if row["graph"] == name]
        style: Row = {"label": name, "fmt": f"-{MARKERS[place]}", "color": COLORS[place]}
        series(left, here, "epsilon0", "5.3 printed", **style)
        series(right, here, "epsilon0", "all, ours", **style)
    for axes, title in ((left, "all, Theorem 5.3 as printed"), (right, "all, ours")):
        ends = sorted({row["epsilon0"] for row in rows})
        axes.plot(ends, ends, color="#56606b", linestyle="--", linewidth=1, label="no shuffle")
        axes.set(yscale="log", xlabel="epsilon0", title=title, ylim=(1e-4, 1e3))
    left.set_ylabel("epsilon")
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False, columnspacing=1.0)
    return figure
