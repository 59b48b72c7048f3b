"""Graphs of people from files: public information, such as who follows whom."""

import gzip
import io
import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import InputDataError
from shuffledp.graphs import Graph
from shuffledp.tables.reading import guarded, open_parquet

__all__ = ["read_graph"]

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
        InputDataError: if there is no such file, or it is no edge list.
        InvalidParameterError: as `shuffledp.graphs.Graph.from_edges`.
    """
    if not path.is_file():
        raise InputDataError(f"{path} cannot be read: there is no such file.")
    read = _from_text
    if path.suffix == ".npz" or zipfile.is_zipfile(path):
        read = _from_npz
    elif path.suffix in (".parquet", ".pq"):
        read = _from_parquet
    edges, weights = guarded(path, lambda: read(path))
    return Graph.from_edges(edges, weights=weights, num_users=num_users)


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
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    first = next(lines, None)
    if first is None:
        raise InputDataError(f"{path} has no edges.")
    delimiter = "," if "," in first else None
    rest = text if any(_is_number(field) for field in first.split(delimiter)) else "\n".join(lines)
    if not rest.strip():
        raise InputDataError(
            f"{path} has no edges: its only line is no two numbers separated by a comma, a tab or blanks."
        )
    rows = np.loadtxt(io.StringIO(rest), delimiter=delimiter, comments="#", ndmin=2)
    if rows.shape[1] not in (2, 3):
        raise InputDataError(f"{path} must have two columns, or three with weights; it has {rows.shape[1]}.")
    nodes = rows[:, :2]
    if (nodes != np.floor(nodes)).any() or (np.abs(nodes) > _LARGEST).any():
        raise InputDataError(f"{path} must have integers in its first two columns.")
    return nodes.astype(np.int64), rows[:, 2] if rows.shape[1] == 3 else None


def _is_number(field: str) -> bool:
    try:
        return not math.isnan(float(field))
    except ValueError:
        return False
