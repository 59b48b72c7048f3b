"""Fig. 4: epsilon against rounds on Facebook, Deezer and Enron, and on Twitch."""

from typing import Any

import numpy as np

from experiments.network.bounds import corrected, everybody, printed, printed_squares, single, squares_bound, uniform
from experiments.network.graphs import graph_of, laws_after, remote_and_other_people
from experiments.showing import COLORS, new_chart, progress, series
from shuffledp.people.graphs import Graph

PARTS = "graphs"
STYLES: dict[str, tuple[str, str]] = {
    "5.3 printed": (":o", COLORS[1]),
    "5.3 corrected": ("-o", COLORS[1]),
    "5.5 printed": (":s", COLORS[4]),
    "5.5 corrected": ("-s", COLORS[4]),
    "all, ours": ("-D", COLORS[0]),
    "single, ours": ("-^", COLORS[2]),
    "single, median person": ("--v", COLORS[3]),
    "single, worst person found": ("-.P", COLORS[5]),
}

Row = dict[str, Any]
KEY = ("graph", "rounds")


def compute(settings: Row) -> list[Row]:
    """One row for each graph and number of rounds."""
    return [row for name in settings["graphs"] for row in _on(name, graph_of(name), settings)]


def _on(name: str, graph: Graph, settings: Row) -> list[Row]:
    epsilon0, delta, people = settings["epsilon0"], settings["delta"], graph.num_users
    gap, pi = graph.spectral_gap, graph.stationary
    rows = []
    for rounds, median, worst in followed(graph, settings):
        squares = printed_squares(num_users=people, irregularity=graph.irregularity, gap=gap, num_rounds=rounds)
        true = squares_bound(largest=float(pi.max()), start=float(pi.min()), gap=gap, num_rounds=rounds)
        rows.append(
            {"graph": name, "rounds": rounds}
            | printed(epsilon0, people, squares, delta)
            | corrected(epsilon0, people, min(true, 1.0), delta)
            | everybody(graph, rounds, epsilon0, delta)
            | {"single, median person": median, "single, worst person found": worst}
            | {"uniform shuffle": uniform(epsilon0, people, delta)}
        )
    return rows


def followed(graph: Graph, settings: Row) -> list[tuple[int, float, float]]:
    """Rounds, and epsilon of the person in the middle and of the last of some whose reports are followed exactly.

    Half of them are remote, so that the middle of the others is at a quarter.
    """
    starts = remote_and_other_people(graph, settings["followed"])
    found = []
    for rounds, laws in laws_after(graph, starts, progress(settings["rounds"], "rounds")):
        order = np.argsort((laws**2).sum(axis=0))
        chosen = (order[len(order) // 4], order[-1])
        middle, last = (single(laws[:, who], settings["epsilon0"], settings["delta"]) for who in chosen)
        found.append((rounds, middle, last))
    return found


def draw(rows: list[Row]) -> Any:
    """One panel for each graph."""
    names = list(dict.fromkeys(row["graph"] for row in rows))
    figure, panels = new_chart(len(names), width=3.9, height=4.4)
    for axes, name in zip(panels, names, strict=True):
        here = [row for row in rows if row["graph"] == name]
        for column, (form, color) in STYLES.items():
            series(axes, here, "rounds", column, fmt=form, color=color, label=column, markersize=3.5)
        axes.axhline(here[0]["uniform shuffle"], color="#56606b", linewidth=1, linestyle=(0, (1, 1)))
        axes.set(xscale="log", yscale="log", xlabel="rounds", title=name, ylim=(0.01, 300))
    panels[0].set_ylabel("epsilon")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure
