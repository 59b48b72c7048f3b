"""Fig. 5: epsilon against rounds on regular graphs, with the law of every start worked out."""

import math
from typing import Any

import numpy as np

import shuffledp as sdp
from experiments.network.bounds import corrected, everybody, printed, printed_squares, uniform
from experiments.network.graphs import graph_of
from experiments.network.printed_formulas import printed_all
from experiments.network.swap_reveal import SwapReveal
from experiments.showing import COLORS, new_chart, progress, series
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.laws.walk_distributions import position_distribution
from shuffledp.testing import SeededSource

PARTS = "graphs"
STYLES = {
    "5.3 printed": (":o", COLORS[1]),
    "5.3 corrected": ("-o", COLORS[1]),
    "5.4 printed": (":P", COLORS[5]),
    "5.5 printed": (":s", COLORS[4]),
    "5.5 corrected": ("-s", COLORS[4]),
    "all, ours": ("-D", COLORS[0]),
    "single, ours": ("-^", COLORS[2]),
    "all, swap-reveal estimate": ("--v", COLORS[3]),
}

Row = dict[str, Any]
KEY = ("graph", "rounds")


def compute(settings: Row) -> list[Row]:
    """One row for each graph and number of rounds."""
    return [row for name in settings["graphs"] for row in _on(name, graph_of(name), settings)]


def _on(name: str, graph: Graph, settings: Row) -> list[Row]:
    return [_after(name, graph, rounds, settings) for rounds in progress(settings["rounds"], name)]


def _after(name: str, graph: Graph, rounds: int, settings: Row) -> Row:
    epsilon0, delta, people = settings["epsilon0"], settings["delta"], graph.num_users
    laws = position_distribution(graph, None, rounds)
    squares = float((laws**2).sum(axis=1).max())
    spread = float((laws.max(axis=1) / np.where(laws > 0, laws, np.inf).min(axis=1)).max())
    eq_7 = printed_squares(num_users=people, irregularity=1.0, gap=graph.spectral_gap, num_rounds=rounds)
    fourth = printed_all(
        epsilon0=epsilon0, num_users=people, squares=squares, delta=delta / 2, delta2=delta / 2, spread=spread
    )
    revealed = SwapReveal(
        local=sdp.KaryRandomizedResponse(epsilon0=epsilon0, domain_size=2).model,
        laws=laws,
        victim=0,
        samples=settings["samples"],
        source=SeededSource(rounds),
    )
    return (
        {"graph": name, "rounds": rounds, "n times S": people * squares}
        | printed(epsilon0, people, eq_7, delta)
        | {"5.4 printed": fourth.epsilon}
        | corrected(epsilon0, people, squares, delta)
        | everybody(graph, rounds, epsilon0, delta)
        | {"all, swap-reveal estimate": float(getattr(revealed.state(delta=delta).guarantee, "epsilon", math.inf))}
        | {"uniform shuffle": uniform(epsilon0, people, delta)}
    )


def draw(rows: list[Row]) -> Any:
    """One panel for each degree."""
    names = list(dict.fromkeys(row["graph"] for row in rows))
    figure, panels = new_chart(len(names), width=3.4, height=4.4)
    for axes, name in zip(panels, names, strict=True):
        here = [row for row in rows if row["graph"] == name]
        for column, (form, color) in STYLES.items():
            series(axes, here, "rounds", column, fmt=form, color=color, label=column, markersize=3.5)
        axes.axhline(here[0]["uniform shuffle"], color="#56606b", linewidth=1, linestyle=(0, (1, 1)))
        _, degree, people = name.split()
        axes.set(yscale="log", xlabel="rounds", ylim=(0.02, 1e8), title=f"degree {degree}, {int(people):,} people")
    panels[0].set_ylabel("epsilon")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure
