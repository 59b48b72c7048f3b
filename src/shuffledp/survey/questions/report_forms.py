"""Forms of reports in files, and their inverses: categories by name, packed bits as binary strings."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa


def with_names(reports: "pa.Table", targets: tuple[str, ...], *, column: str = "value") -> "pa.Table":
    """The column of numbers dictionary-encoded, with the categories as dictionary."""
    import pyarrow as pa

    codes = reports.column(column).combine_chunks().cast(pa.int32())
    named = pa.DictionaryArray.from_arrays(codes, pa.array(targets))
    return reports.set_column(reports.column_names.index(column), column, named)


def with_numbers(reports: "pa.Table", targets: tuple[str, ...], *, column: str = "value") -> "pa.Table":
    """The column as numbers of categories; an unknown name becomes a number out of range."""
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pa.array(targets)
    names = reports.column(column).cast(known.type)
    codes = pc.index_in(names, known).fill_null(len(known))
    return reports.set_column(reports.column_names.index(column), column, codes)


def _with_binary_strings(reports: "pa.Table", _: tuple[str, ...]) -> "pa.Table":
    """The column ``bits`` as binary strings of one width; category v is bit v % 8 of byte v // 8."""
    import pyarrow as pa

    lists = reports.column("bits").combine_chunks()
    memory = pa.py_buffer(np.ascontiguousarray(lists.flatten()))
    binary = pa.FixedSizeBinaryArray.from_buffers(pa.binary(lists.type.list_size), len(lists), [None, memory])
    return reports.set_column(reports.column_names.index("bits"), "bits", binary)


def _with_lists(reports: "pa.Table", _: tuple[str, ...]) -> "pa.Table":
    """The column ``bits`` as lists of bytes; a column of another type stays, and is no valid report."""
    import pyarrow as pa

    binary = reports.column("bits").combine_chunks()
    if not pa.types.is_fixed_size_binary(binary.type) or binary.null_count:
        return reports
    width = binary.type.byte_width
    memory = np.frombuffer(binary.buffers()[1] or b"", dtype=np.uint8)
    flat = memory[binary.offset * width : (binary.offset + len(binary)) * width]
    lists = pa.FixedSizeListArray.from_arrays(pa.array(flat), width)
    return reports.set_column(reports.column_names.index("bits"), "bits", lists)


FORMS: dict[str, tuple[Callable[["pa.Table", tuple[str, ...]], "pa.Table"], ...]] = {
    "columns": (lambda reports, _: reports,) * 2,
    "category": (with_names, with_numbers),
    "bits": (_with_binary_strings, _with_lists),
}
