"""Graphs of people from files: public information, such as who follows whom."""

import gzip
import io
import math
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import InputDataError
from shuffledp.graphs import Graph
from shuffledp.tables.reading import guarded, open_parquet

__all__ = ["read_graph"]

_FEW = 1 << 20  # people, so many that a graph takes little memory even if none of them has a neighbor
_MOST_PER_NAMED = 16  # people for each who is named; in edge lists as they are published, most people have a neighbor
_LARGEST = 2**53  # integers up to here are exact in a column that is read as floats


def read_graph(path: Path, *, num_users: int | None = None) -> Graph:
    """The graph of an edge list.

    A text file (also compressed: ``.gz``) has an edge a line: two node numbers from 0 and, if there is a third column,
    a weight, separated by commas, or by tabs and blanks. A first line without any number is a header; lines that begin
    with ``#`` are skipped. An ``.npz`` file of numpy has an array ``edges`` of shape (edges, 2) and, if there is one,
    an array ``weights``. A Parquet file has two columns of integers, and perhaps a third of weights, whatever their
    names.

    A text file without an edge is refused: it is rather damaged, or of another form, than a graph in which everybody
    is alone. Such a graph is an empty array of an ``.npz`` file.

    Args:
        path: the file.
        num_users: number of people; None is one more than the largest number in the file.

    Raises:
        InputDataError: if there is no such file, it is no edge list, a number is negative, or far above how many
            people it names.
        InvalidParameterError: as `shuffledp.graphs.Graph.from_edges`.
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
        raise InputDataError(f"{path} must number people from 0 on; one of its edges names {least}.")
    if num_users is None:
        _require_close_numbers(path, edges)
    return Graph.from_edges(edges, weights=weights, num_users=num_users)


def _require_close_numbers(path: Path, edges: NDArray[Any]) -> None:
    """Refuse a number far above how many people there are: everybody below it takes memory, with a neighbor or not."""
    if not np.issubdtype(edges.dtype, np.integer) or (largest := int(edges.max(initial=0))) < _FEW:
        return
    named = np.unique(edges).size
    if largest >= _MOST_PER_NAMED * named:
        raise InputDataError(
            f"{path} must number people from 0 on, without large gaps: it names {named} different people, and one of "
            f"them has the number {largest}. Number them anew. (In Python, num_users may say how many there are.)"
        )


def _from_npz(path: Path) -> tuple[NDArray[Any], NDArray[Any] | None]:
    if not zipfile.is_zipfile(path):
        raise InputDataError(f"{path} is no .npz file of numpy, or only the beginning of one.")
    with np.load(path, allow_pickle=False) as arrays:
        if "edges" not in arrays:
            raise InputDataError(f"{path} must hold an array named edges.")
        return arrays["edges"], arrays.get("weights")


def _from_parquet(path: Path) -> tuple[NDArray[Any], NDArray[Any] | None]:
    import pyarrow as pa

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
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8-sig")
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


def _lines(text: str, header: int = 0) -> Iterator[tuple[int, str]]:
    """The lines below the header that say something, with their numbers from 1."""
    for place, line in enumerate(io.StringIO(text, newline=None), start=1):
        if place > header and line.strip() and not line.startswith("#"):
            yield place, line


def _wrong(lines: Iterator[tuple[int, str]], delimiter: str | None) -> str:
    """Which line is the first that is no edge, and why; what is in it is not shown."""
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
            return f"line {place} must have integers in its first two columns"
    return "it is damaged, or not in the format that its name says"


def _are_nodes(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether numbers are whole, and exact."""
    whole: NDArray[np.bool_] = (numbers == np.floor(numbers)) & (np.abs(numbers) <= _LARGEST)
    return whole


def _is_number(field: str) -> bool:
    try:
        return not math.isnan(float(field))
    except ValueError:
        return False
