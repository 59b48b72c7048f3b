"""The commands about graphs of people: `graph inspect`."""

from pathlib import Path
from typing import Annotated

import typer

from shuffledp.cli.options import print_json

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
    from rich.console import Console

    from shuffledp.core.errors import InputDataError
    from shuffledp.documents.graph_document import graph_as_dict, graph_document
    from shuffledp.documents.terminal import show
    from shuffledp.files.graph_files import read_graph
    from shuffledp.laws.walk_distributions import mixing_rounds
    from shuffledp.people.graphs import describe_graph, largest_parts

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
    description = describe_graph(graph, parts)
    if json:
        print_json({"graph": str(edges), **graph_as_dict(description, mixing)})
        return
    document = graph_document(description, mixing, str(edges), weighted=graph.weights is not None)
    show(document, Console(highlight=False))
