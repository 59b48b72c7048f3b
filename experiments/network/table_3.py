"""Table 3: what people hold and pass on, measured: reports of everybody walk, and the busiest person is noted."""

from typing import Any

import numpy as np

from experiments.checking import Drawn
from experiments.network.graphs import graph_of
from experiments.showing import COLORS, MARKERS, new_chart, progress, series
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.laws.walk_sampling import sample_walks
from shuffledp.testing import SeededSource

PARTS = "graphs"
SHOWN = {
    "held at once, most": "held at once, busiest person",
    "passed on a round, most": "passed on a round, busiest person",
    "passed on a round, mean": "passed on a round, mean",
}

Row = dict[str, Any]
KEY = ("graph",)
MEASURED = (
    "held at once, most",
    "passed on a round, mean",
    "passed on a round, most",
    "people without a report at the end",
)
DRAWN = {name: Drawn(f"{name}: error", "runs") for name in MEASURED}


def compute(settings: Row) -> list[Row]:
    """One row for each graph."""
    rounds, runs = settings["rounds"], settings["runs"]
    return [_measured(name, graph_of(name), rounds, runs) for name in progress(settings["graphs"], "table-3")]


def _measured(name: str, graph: Graph, rounds: int, runs: int) -> Row:
    found = np.array([_walked(graph, rounds, run) for run in range(runs)])
    row: Row = {"graph": name, "people": graph.num_users, "rounds": rounds, "runs": runs}
    row["largest degree over mean"] = float(graph.degrees.max() / graph.degrees.mean())
    for column, values in zip(MEASURED, found.T, strict=True):
        row[column] = float(values.mean())
        row[f"{column}: error"] = float(values.std(ddof=1) / np.sqrt(runs))
    return row


def _walked(graph: Graph, rounds: int, run: int) -> tuple[int, float, float, int]:
    """Of one walk of all reports, what is measured."""
    source = SeededSource(3).substream("walk", run)
    positions, passed = np.arange(graph.num_users, dtype=np.int32), np.zeros(graph.num_users, dtype=np.int64)
    most = 1
    for _ in range(rounds):
        walks = sample_walks(graph, 1, starts=positions, source=source)
        positions = walks.positions
        passed += walks.messages
        most = max(most, int(np.bincount(positions).max()))
    empty = graph.num_users - len(np.unique(positions))
    return most, float(passed.mean()) / rounds, float(passed.max()) / rounds, empty


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
