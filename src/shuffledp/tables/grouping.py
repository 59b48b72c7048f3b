"""Groups at run time: made from the public columns of an input, or from the file that the task names."""

from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shuffledp.errors import InputDataError, InvalidParameterError
from shuffledp.groups import Groups
from shuffledp.table import Table
from shuffledp.tables.graphs import read_graph
from shuffledp.tables.lists import read_lists
from shuffledp.tables.public import PublicReader
from shuffledp.tables.reading import Progress, guarded, read_batches
from shuffledp.tasks import Grouping, GroupsSection, JointTask, Task

__all__ = ["grouping_of", "read_grouping"]


def grouping_of(section: GroupsSection, public: Table | None, num_users: int, folder: Path) -> Grouping:
    """The groups of these people.

    Args:
        section: says how groups are made.
        public: one row of public columns per person, complete.
        num_users: number of people.
        folder: that of the task file, which paths in it are relative to.

    Raises:
        InvalidParameterError: if the file that the task names is absent, or has another digest than the task says.
        InputDataError: if the file or the columns do not fit the people.
    """
    if section.file is not None:
        return Grouping(_from_file(section, num_users, folder))
    columns = {} if public is None else public.columns
    try:
        if section.column is not None:
            return Grouping(Groups.from_labels(columns[section.column]))
        points = np.column_stack([columns[name] for name in section.columns])
        return Grouping(_from_points(section, points), points)
    except InvalidParameterError as error:
        reason = str(error)
    raise InputDataError(f"groups cannot be made from {', '.join(section.public_columns)}: {reason}")


def read_grouping(task: Task | JointTask, path: Path, folder: Path, progress: Progress | None = None) -> Grouping:
    """The groups of the people in an input, of which only the public columns are read.

    Args:
        task: one with groups.
        path: the input: answers, or a table of the columns alone that groups are made from.
        folder: that of the task file.
        progress: told how many rows have been read.

    Raises:
        InputDataError: as `grouping_of`, and if a public value is missing.
    """
    section, reader = task.groups, PublicReader(task, needed_only=True)
    if section is None:
        raise InvalidParameterError("task must have a table [groups]; it has none.")
    counted = reader.names or [task.parts()[0].value]
    parts, num_users = [], 0
    for batch in read_batches(path, counted, progress=progress):
        everybody = np.ones(batch.num_rows, dtype=bool)
        parts.append(guarded(path, partial(reader.read, batch, everybody)))
        num_users += batch.num_rows
    reader.finish()
    public = Table.from_arrow(pa.concat_tables(parts)) if reader.names else None
    return grouping_of(section, public, num_users, folder)


def _from_points(section: GroupsSection, points: NDArray[np.float64]) -> Groups:
    metric = section.metric or "euclidean"
    if section.radius is not None:
        return Groups.from_radius(points, section.radius, metric)
    return Groups.from_neighbors(points, int(section.neighbors or 0), metric)


def _from_file(section: GroupsSection, num_users: int, folder: Path) -> Groups:
    """The file is the one whose digest the task has: else the groups would not be what the task fixes."""
    section.pinned(folder)
    path = folder / str(section.file)
    try:
        if section.lists is not None:
            return Groups.from_lists(read_lists(path), num_users)
        graph = read_graph(path, num_users=num_users)
        return Groups.from_graph(graph, hops=section.hops, neighbors=section.neighbors)
    except InvalidParameterError as error:
        reason = str(error)
    raise InputDataError(f"{path} must fit the {num_users} people of the input: {reason}")
