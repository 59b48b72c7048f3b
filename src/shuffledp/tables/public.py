"""Public columns that go with the reports: coordinates and labels that groups are made from must be there."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shuffledp.errors import InputDataError
from shuffledp.table import Table
from shuffledp.tables.numbers import numerals
from shuffledp.tables.places import SEARCHABLE, Places, is_number, is_text, type_name
from shuffledp.tasks import ROW, JointTask, Task

__all__ = ["PublicReader"]


class PublicReader:
    """Reads the public columns that the shuffler keeps, or numbers the rows if it needs that, batch after batch.

    Guarantees:
        1. Coordinates come out as finite numbers, and labels are never missing: `finish` refuses the whole input.
        2. No message holds what a row says.

    Args:
        task: says which columns are kept, and which of them groups are made from.
        needed_only: whether to read only those that groups are made from.
    """

    def __init__(self, task: Task | JointTask, *, needed_only: bool = False) -> None:
        self.names = list(task.public) if task.shuffler.keeps_public else []
        self._num_rows = task.shuffler.num_rows
        self._coordinates = task.groups.columns if task.groups else ()
        self._label = task.groups.column if task.groups else None
        self._wrong = {name: Places() for name in (*self._coordinates, *([self._label] if self._label else []))}
        self._received = 0
        if needed_only:
            self.names = list(self._wrong)

    def read(self, batch: pa.RecordBatch, kept: NDArray[np.bool_]) -> pa.Table | None:
        """The columns of the people who are kept, as far as a label table can hold them; None if none are kept."""
        if self._num_rows is not None:
            rows = self._received + np.flatnonzero(kept)
            self._received += batch.num_rows
            return pa.table({ROW: rows})
        if not self.names:
            return None
        read = [self._column(name, batch.column(name), kept) for name in self.names]
        self._received += batch.num_rows
        table = pa.table(dict(zip(self.names, read, strict=True))).filter(pa.array(kept))
        Table.from_arrow(table)
        return table

    def finish(self) -> None:
        """Refuse the input if what groups are made from is missing in any row, or rows are not those of the task.

        Raises:
            InputDataError: with row numbers.
        """
        if self._num_rows not in (None, self._received):
            raise InputDataError(
                f"the input must have a row for each of the {self._num_rows} offsets in the task's [shuffler]; it has "
                f"{self._received}."
            )
        for name, wrong in self._wrong.items():
            if wrong.count:
                kind = "a finite number" if name in self._coordinates else "a label"
                raise InputDataError(
                    f"public column {name!r} must hold {kind} in every row, since groups are made from it; "
                    f"{wrong.count} of {self._received} hold none: {wrong}."
                )

    def _column(self, name: str, column: pa.Array, kept: NDArray[np.bool_]) -> pa.Array:
        if pa.types.is_dictionary(column.type):  # numpy would be given wrong values for nulls of those
            column = column.cast(column.type.value_type)
        column = column.cast(SEARCHABLE.get(column.type, column.type))
        if name in self._coordinates:
            numbers = _numbers(name, column)
            self._wrong[name].add(~np.isfinite(numbers) & kept, self._received)
            return pa.array(numbers)
        if name == self._label:
            missing = np.asarray(column.is_null(nan_is_null=True))
            if is_text(column.type):
                missing |= np.asarray(pc.equal(pc.utf8_trim_whitespace(column), "").fill_null(True))
            self._wrong[name].add(missing & kept, self._received)
        return column


def _numbers(name: str, column: pa.Array) -> NDArray[np.float64]:
    """Numbers, NaN where there is none."""
    if is_text(column.type):
        column = numerals(column)
    elif not (is_number(column.type) or pa.types.is_decimal(column.type) or pa.types.is_null(column.type)):
        raise InputDataError(f"public column {name!r} must hold numbers; its type is {type_name(column.type)}.")
    numbers = pc.cast(column, pa.float64(), safe=False).fill_null(np.nan)
    found: NDArray[np.float64] = numbers.to_numpy(zero_copy_only=False)
    return found
