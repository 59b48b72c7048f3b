"""The commands about graphs of people: `graph inspect`."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["graph_app"]

_CANDIDATES = 3  # people of a large part whose reports may mix last

graph_app = typer.Typer(
    name="graph", help="Graphs of people, along which reports can walk.", no_args_is_help=True, rich_markup_mode=None
)


@graph_app.callback()
def _graph() -> None:
    """Graphs of people, along which reports can walk."""


@graph_app.command()
def inspect(
    edges: Annotated[Path, typer.Argument(metavar="EDGES", help="Edge list: CSV, text, Parquet or .npz; public.")],
    *,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> None:
    """Say what a graph is like for walks: its parts, how irregular it is, and how fast walks on it mix."""
    from shuffledp.cli import graph_screen
    from shuffledp.errors import InputDataError
    from shuffledp.graphs import describe_graph, largest_parts
    from shuffledp.laws.mixing_rounds import mixing_rounds
    from shuffledp.tables.graphs import read_graph

    if edges.name.startswith("random-regular:") and not edges.exists():
        raise InputDataError(
            f"{edges} is no file but a graph that is drawn for a task, for as many people as it has: in it everybody "
            "has equally many neighbors. `shuffledp plan TASK --users N` says how walks on it mix."
        )
    graph = read_graph(edges)
    mixing, parts = [], largest_parts(graph)
    for people, part in parts:
        found = mixing_rounds(part, candidates=_CANDIDATES)
        if found is not None:
            worst, late = (None if each is None else int(people[each]) for each in found[2:])
            found = found._replace(worst_start=worst, late_start=late)
        mixing.append(found)
    graph_screen.show_graph(
        describe_graph(graph, parts), mixing, edges, weighted=graph.weights is not None, as_json=json
    )
