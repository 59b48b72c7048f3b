"""The commands about graphs and overlays of people, along which reports walk: `graph inspect` and `graph design`."""

from pathlib import Path
from typing import Annotated

import typer

from shuffledp.cli.options import Json, print_json, show_document, show_result, whole
from shuffledp.core.errors import InputDataError, InvalidParameterError

_ENDINGS = (".svg",)

graph_app = typer.Typer(
    name="graph", help="Graphs of people, along which reports can walk.", no_args_is_help=True, rich_markup_mode=None
)


@graph_app.callback()
def _graph() -> None:
    """Graphs of people, along which reports can walk."""


def inspect(
    edges: Annotated[
        Path, typer.Argument(metavar="EDGES", readable=False, help="Edge list: CSV, text, Parquet or .npz; public.")
    ],
    *,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> None:
    """Say what a graph is like for walks along it.

    Its parts, how irregular it is, and how fast walks mix.
    """
    from shuffledp.files.people_files import read_graph
    from shuffledp.people.graphs import describe_graph, largest_parts
    from shuffledp.protocols.network.documents.network_document import graph_as_dict, graph_document
    from shuffledp.protocols.network.laws.walk_distributions import mixing_rounds

    if edges.name.startswith("random-regular:") and not edges.exists():
        raise InputDataError(
            f"{edges} is no file but a random graph, drawn for the people of a task: in it each person "
            "has the same number of neighbors. `shuffledp plan TASK --users N` says how walks on it mix."
        )
    graph = read_graph(edges)
    mixing, parts = [], largest_parts(graph)
    for people, part in parts:
        found = mixing_rounds(part)
        if found is not None:
            worst, late = (None if each is None else int(people[each]) for each in found[2:])
            found = found._replace(worst_start=worst, late_start=late)
        mixing.append(found)
    description = describe_graph(graph, parts)
    if json:
        print_json({"graph": str(edges), **graph_as_dict(description, mixing)})
        return
    show_document(lambda: graph_document(description, mixing, str(edges), weighted=graph.weights is not None))


def design(
    *,
    users: Annotated[int, whole("How many people take part.")],
    contacts: Annotated[
        int | None, whole("Other people whom anybody must reach, at most; 100, unless rounds are limited.")
    ] = None,
    rounds: Annotated[int | None, whole("Rounds, at most.")] = None,
    colluders: Annotated[float, typer.Option(metavar="SHARE", help="Share of the people who collude.")] = 0.01,
    epsilon0: Annotated[float, typer.Option(help="Local privacy loss of one report, in nats.")] = 1.0,
    delta: Annotated[float, typer.Option(help="The remainder.")] = 1e-6,
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw messages against epsilon: a new .svg file.")
    ] = None,
    json: Json = False,
) -> None:
    """Compare overlays: which contacts to give people, so that their reports are shuffled uniformly by walking."""
    from shuffledp.core.validate import one_of
    from shuffledp.documents.blocks import Role, told
    from shuffledp.documents.document import Section
    from shuffledp.protocols.network.documents.overlay_document import designs_document
    from shuffledp.protocols.network.planning.overlay_designs import design_overlays

    if figure is not None:
        one_of(_ENDINGS, figure=figure.suffix.lower())
        if figure.exists():
            raise InvalidParameterError(f"--figure must be a file that does not exist yet; got {str(figure)!r}.")
    found = design_overlays(
        users, contacts=contacts, rounds=rounds, colluders=colluders, epsilon0=epsilon0, delta=delta
    )
    if figure is not None:
        from shuffledp.files.writing import new_file
        from shuffledp.protocols.network.documents.walk_charts import designs_figure

        with new_file(figure) as file:
            file.write_bytes(designs_figure(found))
    drawn = () if figure is None else told(f"Figure: {figure}", role=Role.PATH)
    files = Section(anchor="files", title="Files", blocks=drawn)
    show_result(found, lambda: designs_document(found).followed_by(files), as_json=json)
