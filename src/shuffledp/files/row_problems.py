"""Problems of rows by row number, without their content; and types of columns that readers distinguish."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shuffledp.core.errors import InputDataError
from shuffledp.core.text import plural

_ROWS_SHOWN = 5
# Types that pyarrow cannot search, and the types they are cast to.
_SEARCHABLE = {pa.string_view(): pa.large_string(), pa.float16(): pa.float32()}


@dataclass(slots=True)
class RowProblem:
    """Rows with one kind of problem: their count and the first few row numbers, without their content.

    Args:
        wanted: what the column must do, such as "hold finite numbers".
        found: what the rows do in its place.
        hint: a sentence about the way out, after a blank.
    """

    wanted: str
    found: str = "answers are something else"
    hint: str = ""
    count: int = field(default=0, init=False)
    first: list[int] = field(default_factory=list, init=False)

    def add(self, mask: NDArray[np.bool_], offset: int) -> None:
        """Note the rows of a batch where the mask is True; ``offset`` rows came before the batch."""
        found = np.flatnonzero(mask)
        self.count += len(found)
        room = _ROWS_SHOWN - len(self.first)
        self.first += [offset + int(index) + 1 for index in found[:room]]

    def require_none(self, column: str, received: int) -> None:
        """Refuse an input of ``received`` rows if any row has the problem; ``column`` is a name in words."""
        if self.count:
            raise InputDataError(
                f"{column} must {self.wanted}; {self.count} of {received} {self.found}: {self}.{self.hint}"
            )

    def __str__(self) -> str:
        rows = ", ".join(str(row) for row in self.first)
        more = ", ..." if self.count > len(self.first) else ""
        return f"{plural(self.count, 'row')} {rows}{more} (counted from 1, without the header)"


class ColumnPart(ABC):
    """Base class for readers of a private column's content, which count problems over all batches."""

    def __init__(self, name: str, missing_values: tuple[str, ...]) -> None:
        self.name, self._missing_values = name, missing_values

    @abstractmethod
    def problems(self) -> tuple[RowProblem, ...]:
        """Problems for which the input is always refused, whatever the task says; the worst comes first."""

    def _unanswered(self, column: pa.Array) -> NDArray[np.bool_]:
        """Mask of missing answers: nulls, and texts that the task lists as missing values."""
        missing = np.asarray(column.is_null(nan_is_null=True))
        if is_text(column.type):
            missing |= np.asarray(pc.is_in(column, pa.array(self._missing_values, column.type)))
        return missing


def plain(column: pa.Array) -> pa.Array:
    """Column without dictionary encoding, in a type that pyarrow can search."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return searchable(column)


def searchable(column: pa.Array) -> pa.Array:
    """Column in a type that pyarrow can search."""
    return column.cast(_SEARCHABLE.get(column.type, column.type))


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_number(kind: pa.DataType) -> bool:
    """Whether a column of this type holds integers or floating-point numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def type_name(kind: pa.DataType) -> str:
    """Name of a type in one or two words, without the names of nested fields."""
    return str(kind) if kind.num_fields == 0 else type(kind).__name__.removesuffix("Type").lower()


def stripped(column: pa.Array) -> pa.Array:
    """Column with blanks around texts removed; a dictionary may then contain a text twice."""
    if pa.types.is_dictionary(column.type):
        return pa.DictionaryArray.from_arrays(column.indices, stripped(column.dictionary))
    column = searchable(column)
    return pc.utf8_trim_whitespace(column) if is_text(column.type) else column
