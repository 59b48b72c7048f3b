"""Table 3: what people hold and pass on, measured: all reports of everybody walk, and the busiest person is noted."""

from typing import Any

import numpy as np

from experiments.network.graphs import graph_of
from experiments.showing import COLORS, MARKERS, new_chart, progress, series
from shuffledp.laws import sample_walks
from shuffledp.people.graphs import Graph
from shuffledp.testing import SeededSource

PARTS = "graphs"
SHOWN = {
    "held at once, most": "held at once, busiest person",
    "passed on a round, most": "passed on a round, busiest person",
    "passed on a round, mean": "passed on a round, mean",
}

Row = dict[str, Any]


def compute(settings: Row) -> list[Row]:
    """One row for each graph."""
    return [_measured(name, graph_of(name), settings["rounds"]) for name in progress(settings["graphs"], "table-3")]


def _measured(name: str, graph: Graph, rounds: int) -> Row:
    source = SeededSource(3)
    positions, passed = np.arange(graph.num_users, dtype=np.int32), np.zeros(graph.num_users, dtype=np.int64)
    most = 1
    for _ in range(rounds):
        positions, messages = sample_walks(graph, 1, starts=positions, source=source)
        passed += messages
        most = max(most, int(np.bincount(positions).max()))
    return {
        "graph": name,
        "people": graph.num_users,
        "rounds": rounds,
        "held at once, most": most,
        "passed on a round, mean": float(passed.mean()) / rounds,
        "passed on a round, most": float(passed.max()) / rounds,
        "largest degree over mean": float(graph.degrees.max() / graph.degrees.mean()),
        "people without a report at the end": graph.num_users - len(np.unique(positions)),
    }


def draw(rows: list[Row]) -> Any:
    """Regular graphs against people, real ones beside them."""
    figure, (left, right) = new_chart(2, width=4.4, height=3.9)
    regular = [row for row in rows if row["graph"].startswith("regular")]
    real = [row for row in rows if row not in regular]
    for place, (name, label) in enumerate(SHOWN.items()):
        style: Row = {"label": label, "color": COLORS[place], "fmt": f"-{MARKERS[place]}"}
        series(left, regular, "people", name, **style)
        style["fmt"] = MARKERS[place]
        right.plot([row["graph"] for row in real], [row[name] for row in real], style["fmt"], color=style["color"])
    left.set(xscale="log", ylim=(0, None), xlabel="people", ylabel="reports", title="regular graphs, degree 8")
    right.set(yscale="log", title="real graphs")
    right.margins(x=0.15)
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return figure
