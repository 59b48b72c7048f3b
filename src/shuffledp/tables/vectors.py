"""From a column of lists to unit vectors, counting what does not fit and never showing it."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shuffledp.errors import InputDataError
from shuffledp.randomizers import NORM_TOLERANCE
from shuffledp.tables.places import Places, is_number, type_name
from shuffledp.tasks import Missing, Task

__all__ = ["VectorReader"]


class VectorReader:
    """Reads answers that are unit vectors: lists of numbers, as Parquet holds them.

    Guarantees:
        1. No message holds an answer: only counts and row numbers.
        2. A list that is no unit vector of the task's dimension is never made one: `finish` refuses the whole input.
    """

    clipped = 0

    def __init__(self, task: Task) -> None:
        self._task = task
        self._dimension = len(task.randomizer.targets)
        self._ragged, self._not_unit, self._missing = Places(), Places(), Places()
        self.received = 0

    def read(self, column: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The vectors that are kept, shape (kept, dimension), and for each row of the batch whether it is kept."""
        missing = np.asarray(column.is_null())
        ragged = (self._lengths(column) != self._dimension) & ~missing
        kept = ~(missing | ragged)
        flat = column.filter(pa.array(kept)).flatten() if kept.any() else pa.array([], pa.float64())
        vectors = pc.cast(flat, pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
        vectors = vectors.reshape(-1, self._dimension)
        with np.errstate(over="ignore", invalid="ignore"):
            unit = np.abs(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)) - 1) <= NORM_TOLERANCE
        not_unit = np.zeros(len(column), dtype=np.bool_)
        not_unit[np.flatnonzero(kept)[~unit]] = True
        self._ragged.add(ragged, self.received)
        self._not_unit.add(not_unit, self.received)
        self._missing.add(missing, self.received)
        self.received += len(column)
        return vectors[unit], kept & ~not_unit

    def finish(self) -> None:
        """Refuse the input if any row had a problem.

        Raises:
            InputDataError: for lists of another length, vectors that are not of length 1 or hold something else than
                finite numbers, and missing answers where the task refuses them.
        """
        name = self._task.value
        for places, wanted in (
            (self._ragged, f"lists of {self._dimension} numbers"),
            (self._not_unit, f"finite numbers that make vectors of length 1 (within {NORM_TOLERANCE:g})"),
        ):
            if places.count:
                raise InputDataError(
                    f"column {name!r} must hold {wanted}; {places.count} of {self.received} answers are something "
                    f"else: {places}."
                )
        if self._missing.count and self._task.missing is Missing.REFUSE:
            raise InputDataError(
                f"column {name!r} must hold an answer in every row; {self._missing.count} of {self.received} are "
                f'missing: {self._missing}. To go on without them, write missing = "drop" in the task.'
            )

    def _lengths(self, column: pa.Array) -> NDArray[np.int64]:
        """How long each list is; 0 for a null."""
        kind = column.type
        if pa.types.is_null(kind):
            return np.zeros(len(column), dtype=np.int64)
        is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
        if not (is_list and is_number(kind.value_type)):
            raise InputDataError(
                f"column {self._task.value!r} must hold lists of {self._dimension} numbers, in a Parquet file; its "
                f"type is {type_name(kind)}."
            )
        if pa.types.is_fixed_size_list(kind):
            return np.full(len(column), kind.list_size)
        lengths: NDArray[np.int64] = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
        return lengths
