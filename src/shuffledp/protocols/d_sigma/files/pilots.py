"""Pilots from files: a few people's answers and public columns, or public columns with made-up answers."""

from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from shuffledp.core.errors import InvalidParameterError, MissingColumnError
from shuffledp.core.flow import Progress
from shuffledp.core.table import Integers, Table
from shuffledp.files.randomizing import PublicReader, RandomizedReports
from shuffledp.files.reading import ProgressListener, guarded, open_batches, read_batches
from shuffledp.protocols.d_sigma.files.group_files import GroupFiles
from shuffledp.protocols.d_sigma.survey.pilot import Pilot, made_up_answers, require_enough, section_of
from shuffledp.randomness.replayable import SeededSource
from shuffledp.survey import Column, Missing, Task


def read_pilot(task: Task, path: Path, folder: Path, progress: Progress | None = None) -> Pilot:
    """The pilot in a table of people.

    Without the task's private column answers are made up, and the pilot says so.

    Args:
        task: with groups, and one private column answered by k-ary randomized response.
        path: a CSV or Parquet file with the task's public columns, and perhaps its private one.
        folder: of the task file, for the file of its groups.
        progress: told how many rows are read.

    Raises:
        InvalidParameterError: for another task, or too few people.
        InputDataError: if the file does not fit the task.
    """
    if len(task.columns) > 1:
        raise InvalidParameterError("the task must have one private column to be explored; it has several.")
    column = task.column
    section, _ = section_of(column)
    answered = _has_answers(path, column)
    public, answers = _with_answers(path, column, progress) if answered else (_public(path, task, progress), None)
    people = public.num_rows
    require_enough(people)
    table = Table.from_arrow(public) if public.num_columns else Table(columns={})
    grouping = GroupFiles().around(section, table, people, folder)
    if grouping is None:
        raise InvalidParameterError("the task must have a table [groups].")
    values = len(column.targets) - (column.missing is Missing.CATEGORY)
    if answers is None:
        order = grouping.order(section.order)
        answers = made_up_answers(order, max(values, 2))
    return Pilot(answers=answers, grouping=grouping, public=table, made_up=not answered)


def _has_answers(path: Path, column: Column) -> bool:
    """Whether the file has the private column; the file must have all public columns.

    A file without a public column, or with a column twice, is refused.
    """
    _, batches = open_batches(path, column.public)
    next(batches, None)
    try:
        _, batches = open_batches(path, column.public, present=column.inputs)
        next(batches, None)
    except MissingColumnError:
        return False
    return True


class _ReadingProgress(ProgressListener):
    """Reporter of the number of rows read, without the name of the reading step."""

    def __init__(self, told: Progress | None) -> None:
        self._told = told

    def progress(self, step: str, done: int, total: int | None) -> None:
        """Report the number of rows read."""
        del step
        if self._told is not None:
            self._told(done, total or done)


def _with_answers(path: Path, column: Column, progress: Progress | None) -> tuple[pa.Table, Integers]:
    """Public columns and answers of the people who are kept.

    The task's own readers refuse what does not fit.
    """
    watch = _ReadingProgress(progress)
    parts = list(RandomizedReports(column, path, SeededSource(0), watch).people())
    tables = [public for _, public in parts if public is not None]
    answers = np.concatenate([np.asarray(values) for values, _ in parts]).astype(np.int64)
    public = pa.concat_tables(tables) if tables else pa.table({"row": np.arange(answers.size)}).select([])
    return public, answers


def _public(path: Path, task: Task, progress: Progress | None) -> pa.Table:
    """Public columns of all people in the file."""
    reader, parts = PublicReader(task), list[pa.Table]()
    for batch in read_batches(path, reader.names, progress=progress):
        everybody = np.ones(batch.num_rows, dtype=bool)
        found = guarded(path, partial(reader.read, batch, everybody))
        if found is not None:
            parts.append(found)
    reader.finish()
    return pa.concat_tables(parts)
