"""Forms of reports in files: what people and other programs read there, and the way back to what was made."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

Form = Callable[["pa.Table", tuple[str, ...]], "pa.Table"]


def to_file(reports: "pa.Table", *, form: str, targets: tuple[str, ...]) -> "pa.Table":
    """Reports as a file holds them.

    Args:
        reports: as the randomizer made them.
        form: "columns" as they are, a "category" by its name, or packed "bits" as binary strings.
        targets: the names of the categories.
    """
    return _FORMS[form][0](reports, targets) if form in _FORMS else reports


def from_file(reports: "pa.Table", *, form: str, targets: tuple[str, ...]) -> "pa.Table":
    """The inverse of `to_file`; a column that it cannot have written becomes, or stays, one that is no report."""
    return _FORMS[form][1](reports, targets) if form in _FORMS else reports


def _with_names(reports: "pa.Table", targets: tuple[str, ...]) -> "pa.Table":
    """The column ``value`` dictionary-encoded, with the categories as dictionary."""
    import pyarrow as pa

    codes = reports.column("value").combine_chunks().cast(pa.int32())
    named = pa.DictionaryArray.from_arrays(codes, pa.array(targets))
    return reports.set_column(reports.column_names.index("value"), "value", named)


def _with_numbers(reports: "pa.Table", targets: tuple[str, ...]) -> "pa.Table":
    """The numbers of the categories again; a name that is none of them becomes a number out of range."""
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pa.array(targets)
    names = reports.column("value").cast(known.type)
    codes = pc.index_in(names, known).fill_null(len(known))
    return reports.set_column(reports.column_names.index("value"), "value", codes)


def _with_binary_strings(reports: "pa.Table", targets: tuple[str, ...]) -> "pa.Table":
    """The column ``bits`` as binary strings of one width; category v is bit v % 8 of byte v // 8."""
    import pyarrow as pa

    del targets
    lists = reports.column("bits").combine_chunks()
    memory = pa.py_buffer(np.ascontiguousarray(lists.flatten()))
    binary = pa.FixedSizeBinaryArray.from_buffers(pa.binary(lists.type.list_size), len(lists), [None, memory])
    return reports.set_column(reports.column_names.index("bits"), "bits", binary)


def _with_lists(reports: "pa.Table", targets: tuple[str, ...]) -> "pa.Table":
    """Lists of bytes again; another column than of binary strings of one width stays as it is, and is no report."""
    import pyarrow as pa

    del targets
    binary = reports.column("bits").combine_chunks()
    if not pa.types.is_fixed_size_binary(binary.type) or binary.null_count:
        return reports
    width = binary.type.byte_width
    memory = np.frombuffer(binary.buffers()[1] or b"", dtype=np.uint8)
    flat = memory[binary.offset * width : (binary.offset + len(binary)) * width]
    lists = pa.FixedSizeListArray.from_arrays(pa.array(flat), width)
    return reports.set_column(reports.column_names.index("bits"), "bits", lists)


_FORMS: dict[str, tuple[Form, Form]] = {
    "category": (_with_names, _with_numbers),
    "bits": (_with_binary_strings, _with_lists),
}
