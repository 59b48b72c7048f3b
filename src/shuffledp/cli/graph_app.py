"""The commands about graphs of people: `graph inspect`."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["graph_app"]

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
    from shuffledp.graphs import describe_graph
    from shuffledp.tables.graphs import read_graph

    graph_screen.show_graph(describe_graph(read_graph(edges)), edges, as_json=json)
