"""Explicit groups of people from files: public information, such as households or school classes."""

from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shuffledp.errors import InputDataError
from shuffledp.tables.numbers import numerals
from shuffledp.tables.places import is_number, is_text
from shuffledp.tables.reading import guarded, read_batches

__all__ = ["read_lists", "read_named_lists"]

_COLUMNS = ("group", "person")
_LARGEST = 2**53  # integers up to here are exact in a column that is read as floats


def read_lists(path: Path) -> list[NDArray[np.int64]]:
    """The groups in a table of memberships, as `read_named_lists` finds them, without their names."""
    return list(read_named_lists(path).values())


def read_named_lists(path: Path) -> dict[str, NDArray[np.int64]]:
    """The groups in a table of memberships: a CSV or Parquet file with the columns ``group`` and ``person``.

    Each row says that a person, by the number of their row in the input (the first is 0), is in a group, whose name is
    an integer or a text. A row of the file may be there twice, which changes nothing.

    Args:
        path: the file.

    Returns:
        The people of each group by its name, in the order in which the file names groups first.

    Raises:
        InvalidParameterError: if there is no such file.
        InputDataError: if it lacks a column, is empty, names no group somewhere, or has something else than integers
            for people.
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
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
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
