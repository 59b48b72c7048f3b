"""Table 4: how irregular the graphs are, and how the printed numbers come about."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.network.graphs import PRINTED, graph_of, raw_edges
from experiments.showing import COLORS, new_chart, progress
from shuffledp.people.graphs import Graph, describe_graph

PARTS = "graphs"
SHOWN = ("printed", "each edge for its first end only", "irregularity")

Row = dict[str, Any]
KEY = ("graph",)


def compute(settings: Row) -> list[Row]:
    """One row for each graph; of Google only what is printed."""
    return [_case(name) for name in progress(settings["graphs"], "table-4")]


def _case(name: str) -> Row:
    known = PRINTED[name]
    row: Row = {"graph": name, "people": known.people, "printed": known.irregularity}
    if known.folder is None:
        rest = ("each edge for its first end only", "irregularity", "edges", "spectral gap", "log(n) / gap")
        return row | dict.fromkeys((*rest, "expected without a report", "below the mean degree"))
    graph = graph_of(name)
    found = describe_graph(graph).parts[0]
    return row | {
        "each edge for its first end only": first_ends_only(graph, raw_edges(name)[1]),
        "irregularity": found.irregularity,
        "edges": found.num_edges,
        "spectral gap": found.spectral_gap,
        "log(n) / gap": found.mixing_time,
        "expected without a report": found.expected_empty,
        "below the mean degree": int(np.count_nonzero(graph.degrees < graph.degrees.mean())),
    }


def first_ends_only(graph: Graph, loops: NDArray[np.int32]) -> float:
    """The irregularity if each edge counts for the smaller of its ends alone, and each edge to oneself once.

    Args:
        graph: of which loops were left out.
        loops: the people who have one.
    """
    nodes = np.repeat(np.arange(graph.num_users), graph.degrees)
    counts = np.bincount(np.concatenate([nodes[nodes < graph.neighbors], loops])).astype(np.float64)
    return float(graph.num_users * (counts @ counts) / counts.sum() ** 2)


def draw(rows: list[Row]) -> Any:
    """Bars beside each other."""
    figure, (axes,) = new_chart(1, width=7.0, height=3.6)
    for place, name in enumerate(SHOWN):
        known = [(number, row[name]) for number, row in enumerate(rows) if row[name] is not None]
        label = ("printed", "each edge counted for its first end only", "true irregularity")[place]
        bars = axes.bar(
            [number + 0.27 * (place - 1) for number, _ in known],
            [value for _, value in known],
            width=0.25,
            label=label,
            color=COLORS[place],
            hatch=("", "//", "..")[place],
            edgecolor="#ffffff",
        )
        axes.bar_label(bars, fmt="%.3g", fontsize=8, padding=1)
    axes.set_xticks(range(len(rows)), [f"{row['graph']}\n{row['people']:,} people" for row in rows])
    axes.set(ylabel="irregularity (Gamma)")
    axes.grid(False, axis="x")
    axes.legend(frameon=False, loc="upper left")
    return figure
