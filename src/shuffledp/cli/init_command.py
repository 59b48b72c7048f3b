"""The command that writes a task file to begin with: `init`."""

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shuffledp.cli.options import Force, show_document, whole
from shuffledp.core.errors import InputDataError, InvalidParameterError, ShuffleDPError

if TYPE_CHECKING:
    from shuffledp.survey.task_templates import Category

_MOST_CATEGORIES = 100
_PEOPLE = 1000


class TaskKind(StrEnum):
    """What a task is about: a template each."""

    SURVEY = "survey"
    MEAN = "mean"
    PLACES = "places"
    WALK = "walk"
    SUM = "sum"

    @property
    def has_categories(self) -> bool:
        """Whether answers are of a list."""
        return self not in (TaskKind.MEAN, TaskKind.SUM)


def init(
    answers: Annotated[
        Path | None,
        typer.Argument(metavar="[answers.csv]", readable=False, help="A table of answers, to count its rows."),
    ] = None,
    *,
    output: Annotated[Path, typer.Option(help="The task file to write.")],
    kind: Annotated[
        TaskKind,
        typer.Option(
            help="survey: shares of answers. mean: of numbers. places: shares by place. walk: without a shuffler. sum: "
            "exact, but for a little noise."
        ),
    ] = TaskKind.SURVEY,
    value: Annotated[str | None, typer.Option(metavar="COLUMN", help="The private column; needed for a table.")] = None,
    categories: Annotated[
        str | None,
        typer.Option(metavar="No,Yes", help="All possible answers; without them those in the table are taken."),
    ] = None,
    users: Annotated[int | None, whole("How many people will take part; the rows of the table if left out.")] = None,
    force: Force = False,
) -> None:
    """Write a task file to begin with, a comment beside each line.

    Every task that is written can be planned at once: `shuffledp plan TASK.toml`.
    """
    from shuffledp.core.validate import integer_at_least
    from shuffledp.documents.flow_document import categories_were_read, written_task
    from shuffledp.files.writing import new_file
    from shuffledp.survey.task_templates import task_text

    if categories is not None and not kind.has_categories:
        raise InvalidParameterError(f"--categories must be left out for kind {kind.value!r}, which is about numbers.")
    if answers is not None and value is None:
        raise InvalidParameterError("--value COLUMN must be given beside a table of answers: the private column.")
    people, read = _PEOPLE, answers is not None and categories is None and kind.has_categories
    named: Sequence[Category] = [each.strip() for each in ("No,Yes" if categories is None else categories).split(",")]
    if answers is not None and value is not None:
        people, found = _looked_through(answers, value, with_answers=read)
        named = found if read else named
    people = people if users is None else users
    integer_at_least(1, users=people)
    text = task_text(kind, value=value or "answer", people=people, categories=named, read=read)
    with new_file(output, force=force, is_ours=_is_task) as file:
        file.write_text(text, encoding="utf-8")
        _check(file, value if read else None)
    show_document(lambda: written_task(str(output), needs_table=kind is TaskKind.PLACES))
    if read:
        sys.stderr.write(f"shuffledp: WARNING: {categories_were_read(str(output))}\n")


def _check(file: Path, read: str | None) -> None:
    """Refuse what is no task; an error about categories that were ``read`` from a column shows none of them."""
    from shuffledp.survey import Task

    try:
        Task.read(file)
    except InvalidParameterError:
        if read is None:
            raise
    else:
        return
    raise InputDataError(
        f"column {read!r} must hold answers that can be categories: texts without control characters, whole numbers, "
        "or true and false; name them by --categories."
    )


def _looked_through(answers: Path, value: str, *, with_answers: bool) -> "tuple[int, list[Category]]":
    """How many rows a table has, and which answers there are, in an order that tells nothing, if they are asked for."""
    import pyarrow.compute as pc

    from shuffledp.files.reading import read_batches
    from shuffledp.files.row_problems import is_text, plain

    rows, found = 0, set[Any]()
    for batch in read_batches(answers, [value], encoded=[value]):
        rows += batch.num_rows
        if with_answers:
            column = plain(batch.column(0))
            given = pc.unique(column.drop_null()).to_pylist()
            found |= {each for each in given if each != ""} if is_text(column.type) else set(given)
        if len(found) > _MOST_CATEGORIES:
            raise InputDataError(
                f"column {value!r} must hold at most {_MOST_CATEGORIES} different answers if no --categories are "
                "given; for numbers take --kind mean."
            )
    if with_answers and len(found) < 2:
        raise InputDataError(f"column {value!r} must hold at least two different answers if no --categories are given.")
    return rows, sorted(found)


def _is_task(file: Path) -> bool:
    """Whether a file is a task, which may be replaced by another."""
    from shuffledp.survey import Task

    try:
        Task.read(file)
    except ShuffleDPError:
        return False
    return True
