"""The command that says what to expect of a task before its collection: `plan`."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shuffledp.cli.options import (
    Earlier,
    Json,
    People,
    TaskFile,
    show_result,
)

if TYPE_CHECKING:
    from shuffledp.survey import Plan


def plan(
    task: TaskFile,
    *,
    users: Annotated[int | None, typer.Option(help="People who will take part, if the task does not say.")] = None,
    input: People = None,  # noqa: A002
    earlier: Earlier = None,
    table: Annotated[bool, typer.Option("--table", help="Of a network shuffle: list all rounds, and parts.")] = False,
    json: Json = False,
) -> None:
    """Say what to expect of a task before its collection.

    Prints the report size, the errors, the guarantees, and which other randomizer would do better.
    """
    from shuffledp.documents.plan_document import plan_document

    found = _planned(task, users=users, people=input, earlier=earlier or (), table=table)
    show_result(found, lambda: plan_document(found, table=table), as_json=json)


def _planned(
    task_file: Path, *, users: int | None, people: Path | None, earlier: Sequence[Path], table: bool
) -> "Plan":
    """What to expect; of the people only public columns are read."""
    from shuffledp.cli.progress_bars import watching
    from shuffledp.core.errors import InvalidParameterError
    from shuffledp.survey import NetworkSection, Task
    from shuffledp.survey import plan as plan_of

    task = Task.read(task_file)
    if table and not task.shuffler.needs_graph:
        raise InvalidParameterError(
            "--table must be left out but for a task with a 'network' shuffle, of which it lists rounds and parts. "
            "`shuffledp account TASK.toml --table` lists theorems."
        )
    if task.groups is None and people is not None:
        raise InvalidParameterError(
            f"--input must be left out for a task without [groups], whose plan needs no data; got {str(people)!r}."
        )
    if task.groups is not None:
        if people is None:
            raise InvalidParameterError(
                "--input FILE must be given for a task with [groups]: a table of the people with the public columns "
                "that groups are made from; got none."
            )
        from shuffledp.files import read_grouping

        with watching() as watch:
            grouping = read_grouping(task, people, task_file.parent, partial(watch.progress, "reading"))
        return plan_of(task, users, earlier=earlier, grouping=grouping)
    if isinstance(task.shuffler, NetworkSection):
        from shuffledp.files import read_graphs

        graphs = read_graphs(task.shuffler, users or task.people.expected, task_file.parent)
        with watching() as watch:
            progress = partial(watch.progress, "accounting for rounds")
            return plan_of(task, users, earlier=earlier, graphs=graphs, progress=progress)
    return plan_of(task, users, earlier=earlier)
