"""The command `explore`: settings of a shuffle near an order, tried on a pilot."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from shuffledp.cli.options import Force, Json, TaskFile, show_result


def explore(
    task: TaskFile,
    *,
    input: Annotated[  # noqa: A002
        Path,
        typer.Option(
            readable=False, help="A pilot: a table of people with public columns and, unless made up, answers."
        ),
    ],
    output: Annotated[Path | None, typer.Option(help="Folder to make, with explore.html and its picture.")] = None,
    alpha: Annotated[list[float] | None, typer.Option(help="Losses to try; once for each.")] = None,
    reach: Annotated[
        list[float] | None, typer.Option(help="Radii, or numbers of neighbors, to try; once for each.")
    ] = None,
    json: Json = False,
    force: Force = False,
) -> None:
    """Try mechanisms, alphas and groups on a pilot.

    What attacks find out against what can be learned: for a task with [groups]. A pilot is data: its people must not
    answer the collection, and what is printed about them carries no guarantee.
    """
    from shuffledp.cli.progress_bars import watching
    from shuffledp.documents.blocks import Role, told
    from shuffledp.documents.document import Section
    from shuffledp.documents.page import write_page
    from shuffledp.files import new_folder
    from shuffledp.protocols.d_sigma.documents.exploration_document import (
        EXPLORE_PAGE,
        exploration_document,
        is_exploration,
    )
    from shuffledp.protocols.d_sigma.files.pilots import read_pilot
    from shuffledp.protocols.d_sigma.survey.exploration import explore as explore_settings
    from shuffledp.protocols.d_sigma.survey.pilot import section_of
    from shuffledp.survey import Task

    asked = Task.read(task)
    with ExitStack() as stack:
        folder = (
            None if output is None else stack.enter_context(new_folder(output, force=force, is_ours=is_exploration))
        )
        watch = stack.enter_context(watching(""))
        pilot = read_pilot(asked, input, task.parent, partial(watch.progress, "reading"))
        found = explore_settings(
            asked.column,
            pilot,
            alphas=tuple(alpha or ()),
            reaches=tuple(reach or ()),
            progress=partial(watch.progress, "trying settings"),
        )
        document = exploration_document(
            found, name=asked.name, digest=asked.sha256, value=asked.column.value, groups=section_of(asked.column)[1]
        )
        if folder is not None:
            write_page(document, folder, EXPLORE_PAGE)
    where = () if output is None else told(f"Page: {output / EXPLORE_PAGE}", role=Role.PATH)
    files = Section(anchor="files", title="Files", blocks=where)
    show_result(found, lambda: document.followed_by(files), as_json=json)
