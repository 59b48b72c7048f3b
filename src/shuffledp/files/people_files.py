"""Public files about people: graphs, named groups, households, and columns for groups or strata."""

import gzip
import io
import math
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shuffledp.core.errors import InputDataError
from shuffledp.core.flow import Progress
from shuffledp.core.table import Table
from shuffledp.files.family_files import files_of
from shuffledp.files.numerals import numerals
from shuffledp.files.randomizing import PublicReader
from shuffledp.files.reading import guarded, open_parquet, read_batches
from shuffledp.files.row_problems import is_number, is_text, plain
from shuffledp.people.graphs import Graph
from shuffledp.planning.family_plan import Around
from shuffledp.survey import Task

_FEW = 1 << 20  # people: a graph of this number takes little memory even if none of them has a neighbor
_MOST_PER_NAMED = 16  # people per named one; in published edge lists most people have a neighbor
_LARGEST = 2**53  # integers up to here are exact in a column that is read as floats
_COLUMNS = ("group", "person")


def read_graph(path: Path, *, num_users: int | None = None) -> Graph:
    """The graph in a file of edges.

    A text file (also compressed: ``.gz``) has an edge a line: two node numbers from 0 and, if there is a third column,
    a weight, separated by commas, or by tabs and blanks. A first line without any number is a header; lines that begin
    with ``#`` are skipped. An ``.npz`` file of numpy has an array ``edges`` of shape (edges, 2) and, if there is one,
    an array ``weights``. A Parquet file has two columns of integers, and perhaps a third of weights, whatever their
    names.

    A text file without an edge is refused as damaged; a graph in which everybody is alone is an empty array ``edges``.

    Args:
        path: the file.
        num_users: number of people; None is one more than the largest number in the file.

    Raises:
        InputDataError: if there is no such file, it is no edge list, a number is negative, or far above how many
            people it names.
        InvalidParameterError: as `shuffledp.people.graphs.Graph.from_edges`.
    """
    if not path.is_file():
        problem = "it is not a file" if path.exists() else "there is no such file"
        raise InputDataError(f"{path} cannot be read: {problem}.")
    read = _from_text
    if path.suffix == ".npz" or zipfile.is_zipfile(path):
        read = _from_npz
    elif path.suffix in (".parquet", ".pq"):
        read = _from_parquet
    edges, weights = guarded(path, lambda: read(path))
    if np.issubdtype(edges.dtype, np.integer) and edges.size and (least := int(edges.min())) < 0:
        where = f"{_line_naming(path, least)} names" if read is _from_text else "one of its edges names"
        raise InputDataError(f"{path} must number people from 0 on; {where} {least}.")
    if num_users is None:
        _require_close_numbers(path, edges, is_text=read is _from_text)
    return Graph.from_edges(edges, weights=weights, num_users=num_users)


def _require_close_numbers(path: Path, edges: NDArray[Any], *, is_text: bool) -> None:
    """Refuse a node number far above the number of people, which would take too much memory."""
    if not np.issubdtype(edges.dtype, np.integer) or (largest := int(edges.max(initial=0))) < _FEW:
        return
    named = np.unique(edges).size
    if largest >= _MOST_PER_NAMED * named:
        which = f"{_line_naming(path, largest)} has" if is_text else "one of them has"
        raise InputDataError(
            f"{path} must number people from 0 on, without large gaps: it names {named} different people, and {which} "
            f"the number {largest}. Number them anew. (In Python, num_users may say how many there are.)"
        )


def _from_npz(path: Path) -> tuple[NDArray[Any], NDArray[Any] | None]:
    if not zipfile.is_zipfile(path):
        raise InputDataError(f"{path} is no .npz file of numpy, or only the beginning of one.")
    with np.load(path, allow_pickle=False) as arrays:
        if "edges" not in arrays:
            raise InputDataError(f"{path} must hold an array named edges.")
        return arrays["edges"], arrays.get("weights")


def _from_parquet(path: Path) -> tuple[NDArray[Any], NDArray[Any] | None]:
    table = open_parquet(path).read()
    if table.num_columns not in (2, 3):
        raise InputDataError(f"{path} must have two columns, or three with weights; it has {table.num_columns}.")
    if table.num_rows == 0:
        raise InputDataError(f"{path} has no edges.")
    for column in table.columns[:2]:
        if not pa.types.is_integer(column.type) or column.null_count:
            raise InputDataError(f"{path} must have integers in its first two columns, and none missing.")
    edges = np.column_stack([column.to_numpy() for column in table.columns[:2]])
    return edges, table.column(2).to_numpy() if table.num_columns == 3 else None


def _from_text(path: Path) -> tuple[NDArray[Any], NDArray[Any] | None]:
    text = _text(path)
    first = next(_lines(text), None)
    if first is None:
        raise InputDataError(f"{path} has no edges.")
    delimiter = "," if "," in first[1] else None
    header = 0 if any(_is_number(field) for field in first[1].split(delimiter)) else first[0]
    if next(_lines(text, header), None) is None:
        raise InputDataError(
            f"{path} has no edges: its only line is no two numbers separated by a comma, a tab or blanks."
        )
    try:
        rows = np.loadtxt((line for _, line in _lines(text, header)), delimiter=delimiter, comments="#", ndmin=2)
    except ValueError:
        rows = None
    if rows is None or rows.shape[1] not in (2, 3) or not _are_nodes(rows[:, :2]).all():
        reason = _wrong(_lines(text, header), delimiter)
        raise InputDataError(f"{path} must have an edge a line, two node numbers from 0: {reason}.")
    return rows[:, :2].astype(np.int64), rows[:, 2] if rows.shape[1] == 3 else None


def _text(path: Path) -> str:
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8-sig")


def _line_naming(path: Path, number: int) -> str:
    """Words for the first line of a text file with this person's number, such as "line 3"."""
    for place, line in _lines(_text(path)):
        fields = line.split("#")[0].split("," if "," in line else None)[:2]
        if any(_is_number(field) and float(field) == number for field in fields):
            return f"line {place}"
    return "one of its lines"


def _lines(text: str, header: int = 0) -> Iterator[tuple[int, str]]:
    """The lines below the header that are not empty, with their line numbers from 1."""
    for place, line in enumerate(io.StringIO(text, newline=None), start=1):
        if place > header and line.strip() and not line.startswith("#"):
            yield place, line


def _wrong(lines: Iterator[tuple[int, str]], delimiter: str | None) -> str:
    """Description of the first line that is no edge, with the reason but without the line's content."""
    columns = None
    for place, line in lines:
        fields = line.split("#")[0].split(delimiter)
        columns = len(fields) if columns is None else columns
        if len(fields) not in (2, 3):
            return f"line {place} must have two columns, or three with weights; it has {len(fields)}"
        if len(fields) != columns:
            return f"line {place} has {len(fields)} columns, and the first one has {columns}"
        if not all(map(_is_number, fields)):
            return f"line {place} holds something else than numbers; people are numbered as the rows of the input are"
        if not _are_nodes(np.array([float(field) for field in fields[:2]])).all():
            return f"line {place} must have integers in its first two columns, of at most 2^53"
    return "it is damaged, or not in the format that its name says"


def _are_nodes(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mask of numbers that are whole, and small enough to be exact as floats."""
    whole: NDArray[np.bool_] = (numbers == np.floor(numbers)) & (np.abs(numbers) <= _LARGEST)
    return whole


def _is_number(field: str) -> bool:
    try:
        return not math.isnan(float(field))
    except ValueError:
        return False


def read_around(
    task: Task,
    folder: Path,
    *,
    people: Path | None = None,
    num_users: int | None = None,
    progress: Progress | None = None,
) -> Around | None:
    """Groups, strata or graphs of a task's people; None if its shuffles need none or the people are unknown.

    Args:
        task: the task.
        folder: folder of the task file.
        people: table of the people, of which only the needed columns are read.
        num_users: number of people without such a table.
        progress: told how many rows are read.

    Raises:
        InvalidParameterError: if a file that the task names is absent or has another digest, or there is no such graph.
        InputDataError: if a file or the columns do not fit the people, or public values are missing.
    """
    public = None
    if people is not None:
        public, num_users = _public_of(task, people, progress)
    files = files_of(task.shuffler)
    found = files.around(task.shuffler, public, num_users, folder)
    household = task.people.household
    if people is None or not isinstance(household, str):
        return found
    return files.with_households(found, read_households(people, household))


def read_households(path: Path, column: str) -> tuple[NDArray[np.int64], ...]:
    """Row numbers of each household: people with the same text in a column live together.

    A person without a text there lives alone.

    Raises:
        InputDataError: if there is no such column.
    """
    texts = [plain(batch.column(column)).cast(pa.large_string()) for batch in read_batches(path, [column])]
    found = pa.chunked_array(texts).combine_chunks().dictionary_encode()
    codes = found.indices.fill_null(-1).to_numpy().astype(np.int64)
    order = np.argsort(codes, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    return tuple(part for part in parts if part.size > 1 and codes[part[0]] >= 0)


def _public_of(task: Task, path: Path, progress: Progress | None) -> tuple[Table | None, int]:
    """The public columns that groups or strata are made from, and the number of people in an input."""
    reader = PublicReader(task, needed_only=True)
    counted = reader.names or [task.columns[0].value]
    parts, num_users = [], 0
    for batch in read_batches(path, counted, progress=progress):
        everybody = np.ones(batch.num_rows, dtype=bool)
        parts.append(guarded(path, partial(reader.read, batch, everybody)))
        num_users += batch.num_rows
    reader.finish()
    return (Table.from_arrow(pa.concat_tables(parts)) if reader.names else None), num_users


def read_named_lists(path: Path) -> dict[str, NDArray[np.int64]]:
    """People of each named group, in the order in which the file first names the groups.

    A CSV or Parquet file with the columns ``group`` (an integer or a text) and ``person`` (the number of a row in the
    input; the first is 0), in every row and nothing else. A row may be there twice, which changes nothing.
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
