"""What readers of a column share: rows that have a problem, by number only, and the types of Arrow columns."""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

__all__ = ["SEARCHABLE", "Places", "is_number", "is_text", "type_name"]

_ROWS_SHOWN = 5

# Types that pyarrow cannot search, and what they are read as.
SEARCHABLE = {pa.string_view(): pa.large_string(), pa.float16(): pa.float32()}


@dataclass(slots=True)
class Places:
    """How many rows have some problem, and the numbers of the first few."""

    count: int = 0
    first: list[int] = field(default_factory=list)

    def add(self, mask: NDArray[np.bool_], offset: int) -> None:
        """Note the rows of a batch where the mask is True; ``offset`` rows came before the batch."""
        found = np.flatnonzero(mask)
        self.count += len(found)
        room = _ROWS_SHOWN - len(self.first)
        self.first += [offset + int(index) + 1 for index in found[:room]]

    def __str__(self) -> str:
        rows = ", ".join(str(row) for row in self.first)
        more = ", ..." if self.count > len(self.first) else ""
        return f"row{'s' if self.count > 1 else ''} {rows}{more} (counted from 1, without the header)"


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_number(kind: pa.DataType) -> bool:
    """Whether a column of this type holds integers or floating-point numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def type_name(kind: pa.DataType) -> str:
    """A type in a word or two: nested ones would list the names of their parts."""
    return str(kind) if kind.num_fields == 0 else type(kind).__name__.removesuffix("Type").lower()
