"""Groups of people: made from the public columns of an input, or from the file of memberships or friends of a task."""

from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shuffledp.core.errors import InputDataError, InvalidParameterError
from shuffledp.core.table import Table
from shuffledp.files.graph_files import read_graph
from shuffledp.files.randomizing import PublicReader
from shuffledp.files.reading import Progress, guarded, is_number, is_text, numerals, plain, read_batches
from shuffledp.people.groups import Groups
from shuffledp.survey import Grouping, GroupsSection, Task

_COLUMNS = ("group", "person")
_LARGEST = 2**53  # integers up to here are exact in a column that is read as floats


def grouping_of(section: GroupsSection, public: Table | None, num_users: int, folder: Path) -> Grouping:
    """The groups of people whose public columns these are, one row each; paths are relative to the task's folder.

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


def read_grouping(task: Task, path: Path, folder: Path, progress: Progress | None = None) -> Grouping:
    """The groups of the people in an input, of which only the columns that they are made from are read.

    Refuses missing public values; and as `grouping_of` does.
    """
    section, reader = task.groups, PublicReader(task, needed_only=True)
    if section is None:
        raise InvalidParameterError("task must have a table [groups]; it has none.")
    counted = reader.names or [task.columns[0].value]
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
            return Groups.from_lists(list(read_named_lists(path).values()), num_users)
        graph = read_graph(path, num_users=num_users)
        return Groups.from_graph(graph, hops=section.hops, neighbors=section.neighbors)
    except InvalidParameterError as error:
        reason = str(error)
    raise InputDataError(f"{path} must fit the {num_users} people of the input: {reason}")


def read_named_lists(path: Path) -> dict[str, NDArray[np.int64]]:
    """The people of each group, by its name, in the order in which a file names groups first.

    A CSV or Parquet file with the columns ``group`` (an integer or a text) and ``person`` (the number of a row in the
    input; the first is 0). A row of the file may be there twice, which changes nothing.

    Raises:
        InputDataError: if it lacks a column, is empty, names no group somewhere, or a person by something else.
    """
    groups, people = [], []
    for batch in read_batches(path, _COLUMNS):
        groups.append(guarded(path, partial(_texts, path, batch.column("group"))))
        people.append(guarded(path, partial(_integers, path, batch.column("person"))))
    names = pa.chunked_array(groups).combine_chunks().dictionary_encode()
    codes = np.asarray(names.indices, dtype=np.int64)
    order = np.argsort(codes, kind="stable")
    members = np.concatenate(people)[order]
    parts = np.split(members, np.flatnonzero(np.diff(codes[order])) + 1)
    return dict(zip(names.dictionary.to_pylist(), parts, strict=True))


def _texts(path: Path, column: pa.Array) -> pa.Array:
    column = plain(column)
    if column.null_count:
        raise InputDataError(f"{path} must name a group in every row; {column.null_count} or more have none.")
    return column.cast(pa.large_string())


def _integers(path: Path, column: pa.Array) -> NDArray[np.int64]:
    numbers = numerals(column) if is_text(column.type) else column
    if not (is_text(column.type) or is_number(column.type)):
        raise InputDataError(f"{path} must have integers in its column 'person'.")
    found = numbers.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
    if not ((found == np.floor(found)) & (np.abs(found) <= _LARGEST)).all():
        raise InputDataError(f"{path} must have integers in its column 'person'.")
    integers: NDArray[np.int64] = found.astype(np.int64)
    return integers
