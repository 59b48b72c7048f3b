"""What a user asks: how many messages for how much privacy."""

from typing import Any

from experiments.network.bounds import everybody, uniform
from experiments.network.fig_4 import followed
from experiments.network.graphs import graph_of
from experiments.showing import COLORS, new_chart, progress, series
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.laws.walk_loads import expected_messages

PARTS = "graphs"
STYLES = {
    "all, ours": ("-D", COLORS[0], "all, everybody"),
    "single, ours": ("-^", COLORS[2], "single, everybody"),
    "single, median person": ("--v", COLORS[3], "single, median person"),
    "single, worst person found": ("-.P", COLORS[5], "single, worst person found"),
}

Row = dict[str, Any]
KEY = ("graph", "rounds")


def compute(settings: Row) -> list[Row]:
    """One row for each graph and number of rounds."""
    return [row for name in settings["graphs"] for row in _on(name, graph_of(name), settings)]


def _on(name: str, graph: Graph, settings: Row) -> list[Row]:
    epsilon0, delta, rows = settings["epsilon0"], settings["delta"], []
    for rounds, median, worst in progress(followed(graph, settings), name):
        messages = expected_messages(graph, rounds)
        rows.append(
            {"graph": name, "rounds": rounds}
            | {"messages of each, mean": float(messages.mean()), "messages, busiest person": float(messages.max())}
            | everybody(graph, rounds, epsilon0, delta)
            | {"single, median person": median, "single, worst person found": worst}
            | {"uniform shuffle": uniform(epsilon0, graph.num_users, delta)}
        )
    return rows


def draw(rows: list[Row]) -> Any:
    """One panel for each graph."""
    names = list(dict.fromkeys(row["graph"] for row in rows))
    figure, panels = new_chart(len(names), width=3.9, height=4.4)
    for axes, name in zip(panels, names, strict=True):
        here = [row for row in rows if row["graph"] == name]
        for column, (form, color, label) in STYLES.items():
            series(axes, here, "messages of each, mean", column, fmt=form, color=color, label=label, markersize=4)
        limit = here[0]["uniform shuffle"]
        axes.axhline(limit, color="#56606b", linewidth=1, linestyle=(0, (1, 1)), label="uniform shuffle")
        busiest = here[-1]["messages, busiest person"] / here[-1]["rounds"]
        title = name if not name.startswith("regular") else "regular graph, degree {1}".format(*name.split())
        axes.set(xscale="log", yscale="log", xlabel="messages each person passes on (= rounds)", ylim=(0.02, 1.5))
        load = f"busiest person: {busiest:.3g} times as many" if busiest > 1.01 else "everybody as many"
        axes.set_title(f"{title}\n{load}", fontsize=10)
    panels[0].set_ylabel("epsilon")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure
