"""Types of arrays, and an immutable table: named numpy columns of equal length, with Arrow on both sides."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.validate import unmasked

if TYPE_CHECKING:
    import pyarrow as pa

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Table:
    """Columns of equal length; rows along the first axis.

    Args:
        columns: at least one name with its array of shape (rows,) or (rows, width). An array is copied if somebody
            could still write into it, and would go round whatever was checked.

    Raises:
        InvalidParameterError: if there is no column, the lengths differ, or an array has another shape or masked rows.

    Example:
        >>> table = Table({"place": ["Ulm", "Bonn"], "size": [3, 4]})
        >>> len(table), table.take([1])["place"].tolist()
        (2, ['Bonn'])
    """

    __slots__ = ("columns",)
    columns: Mapping[str, NDArray[Any]]

    def __init__(self, columns: Mapping[str, ArrayLike]) -> None:
        arrays = {name: _read_only(values) for name, values in columns.items()}
        lengths = {name: len(array) for name, array in arrays.items()}
        if len(set(lengths.values())) != 1:
            raise InvalidParameterError(f"columns must be one or more, of one length; got lengths {lengths}.")
        object.__setattr__(self, "columns", MappingProxyType(arrays))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; {name} cannot be set")

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.columns)}; {len(self)} rows)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table) or type(other) is not type(self):
            return NotImplemented
        same_names = list(self.columns) == list(other.columns)
        return same_names and all(np.array_equal(self[name], other[name]) for name in self.columns)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Rebuild copies and pickles by the constructor, which checks them."""
        return type(self), (dict(self.columns),)

    def take(self, index: ArrayLike | slice) -> Self:
        """Selected rows in the given order (integers, a boolean mask or a slice)."""
        chosen = index if isinstance(index, slice) else np.asarray(index)
        if isinstance(chosen, np.ndarray) and chosen.size == 0:
            chosen = chosen.astype(np.intp)  # numpy makes floats of an empty list
        return self._with({name: frozen(array[chosen]) for name, array in self.columns.items()})

    @classmethod
    def concat(cls, parts: Sequence[Self]) -> Self:
        """Rows of several tables with the same columns, one table after the other."""
        if not parts:
            raise InvalidParameterError(f"parts must be one table or more; got {len(parts)}.")
        return parts[0]._joined(parts)

    def to_dict(self) -> dict[str, Any]:
        """Dictionary for JSON of every column with its dtype."""
        return {
            "columns": {
                name: {
                    "dtype": "str" if array.dtype.kind == "U" else array.dtype.name,
                    "width": None if array.ndim == 1 else array.shape[1],
                    "values": array.tolist(),
                }
                for name, array in self.columns.items()
            }
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Table from the dictionary of ``to_dict``.

        Raises:
            InvalidParameterError: if it wrote something else.
        """
        return cls(_columns_from_dict(data))

    def to_arrow(self) -> "pa.Table":
        """Arrow table of the rows; a two-dimensional column becomes a list of fixed length per row.

        Raises:
            InvalidParameterError: if a text holds a lone surrogate, which neither Arrow nor a file can.
        """
        import pyarrow as pa

        try:
            return pa.table({name: _to_arrow(array) for name, array in self.columns.items()})
        except UnicodeError:
            pass
        raise InvalidParameterError("columns must have names and texts without lone surrogates, which no file holds.")

    @classmethod
    def from_arrow(cls, table: "pa.Table") -> Self:
        """Table from any Arrow source: a pyarrow, pandas (through Arrow), polars or duckdb table."""
        import pyarrow as pa

        table = table if isinstance(table, pa.Table) else pa.table(table)
        return cls({name: frozen(_from_arrow(table.column(name))) for name in table.column_names})

    def _with(self, columns: Mapping[str, ArrayLike]) -> Self:
        """Table of the same kind with other columns; subclasses pass on the fields that they add."""
        return type(self)(columns)

    def _joined(self, parts: Sequence["Table"]) -> Self:
        """Table of the same kind with the rows of all parts; subclasses also compare the fields that they add."""
        names = list(self.columns)
        for part in parts:
            if list(part.columns) != names:
                raise InvalidParameterError(f"parts must all have the columns {names}; got {list(part.columns)}.")
        return self._with({name: frozen(np.concatenate([part[name] for part in parts])) for name in names})


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Array made read-only in place, so that a table takes it without a copy.

    The caller must hold no other reference.
    """
    array.setflags(write=False)
    return array


def _read_only(values: ArrayLike) -> NDArray[Any]:
    unmasked(columns=values)
    array = np.asarray(values)
    if array.ndim not in (1, 2):
        raise InvalidParameterError(f"columns must have shape (rows,) or (rows, width); got {array.ndim} dimensions.")
    if not isinstance(values, list | tuple) and _is_writeable(array):
        array = array.copy()
    return frozen(array.view() if array is values else array)


def _is_writeable(array: NDArray[Any]) -> bool:
    """Whether the array, or the array behind this view of it, is writeable."""
    holder: Any = array
    while isinstance(holder, np.ndarray):
        if holder.flags.writeable:
            return True
        holder = holder.base
    return False


def _columns_from_dict(data: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    try:
        return {name: _column_from_dict(**column) for name, column in data["columns"].items()}
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise InvalidParameterError(
            "columns must be given as to_dict writes them, with values of the stated dtype and width."
        ) from None


def _column_from_dict(dtype: str, width: int | None, values: list[Any]) -> NDArray[Any]:
    array = np.array(values, dtype=dtype)
    if width is not None:
        array = array.reshape(len(values), width)
    if array.tolist() != values:
        raise ValueError  # not what was written: a fraction in a column of integers, say
    return array


def _to_arrow(array: NDArray[Any]) -> "pa.Array":
    import pyarrow as pa

    if array.ndim == 1:
        return pa.array(array)
    flat = pa.array(array.reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, array.shape[1])


def _from_arrow(column: "pa.ChunkedArray") -> NDArray[Any]:
    import pyarrow as pa

    if pa.types.is_fixed_size_list(column.type):
        flat = column.combine_chunks().flatten()
        return np.asarray(flat.to_numpy(zero_copy_only=False)).reshape(-1, column.type.list_size)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)  # pyarrow gives numpy wrong values for nulls of a dictionary
    values = np.asarray(column.to_numpy())
    is_text = str(column.type) in ("string", "large_string", "string_view")
    return values.astype(np.str_) if is_text and column.null_count == 0 else values
