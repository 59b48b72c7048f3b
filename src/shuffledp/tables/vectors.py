"""From a column of lists to vectors, counting what does not fit and never showing it."""

from abc import abstractmethod
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shuffledp.errors import InputDataError
from shuffledp.randomizers import NORM_TOLERANCE
from shuffledp.tables.places import Places, is_number, type_name
from shuffledp.tasks import Missing, SplitAndMixSection, Task

__all__ = ["BoundedListReader", "VectorReader"]

_TOLERANCE = 1e-9  # by which the sum of a list may exceed its limit, in units of it, unless it holds whole numbers


class ListReader:
    """Reads answers that are lists of numbers, as Parquet holds them; a subclass says which lists fit.

    Guarantees:
        1. No message holds an answer: only counts and row numbers.
        2. A list that does not fit is never made one that does: `finish` refuses the whole input.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self._dimension = len(task.randomizer.targets)
        self._ragged, self._unfit, self._missing = Places(), Places(), Places()
        self.received = 0
        self.clipped = 0

    @property
    @abstractmethod
    def _wanted(self) -> str:
        """What the column must hold, for errors."""

    @abstractmethod
    def _fit(self, vectors: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which vectors, all of the right length, fit; NaN stands for what is no number."""

    def read(self, column: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The vectors that are kept, shape (kept, dimension), and for each row of the batch whether it is kept."""
        missing = np.asarray(column.is_null())
        ragged = (self._lengths(column) != self._dimension) & ~missing
        kept = ~(missing | ragged)
        flat = column.filter(pa.array(kept)).flatten() if kept.any() else pa.array([], pa.float64())
        vectors = pc.cast(flat, pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
        vectors = vectors.reshape(-1, self._dimension)
        with np.errstate(over="ignore", invalid="ignore"):
            fit = self._fit(vectors)
        unfit = np.zeros(len(column), dtype=np.bool_)
        unfit[np.flatnonzero(kept)[~fit]] = True
        self._ragged.add(ragged, self.received)
        self._unfit.add(unfit, self.received)
        self._missing.add(missing, self.received)
        self.received += len(column)
        return vectors[fit], kept & ~unfit

    def finish(self) -> None:
        """Refuse the input if any row had a problem.

        Raises:
            InputDataError: for lists of another length, lists that do not fit or hold something else than finite
                numbers, and missing answers where the task refuses them.
        """
        name = self._task.value
        for places, wanted in ((self._ragged, f"lists of {self._dimension} numbers"), (self._unfit, self._wanted)):
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


class VectorReader(ListReader):
    """Reads unit vectors."""

    _wanted = f"finite numbers that make vectors of length 1 (within {NORM_TOLERANCE:g})"

    def _fit(self, vectors: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Vectors of length 1; not a number is of no length."""
        fit: NDArray[np.bool_] = np.abs(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)) - 1) <= NORM_TOLERANCE
        return fit


class BoundedListReader(ListReader):
    """Reads lists of numbers in a range, or of numbers of 0 or more with a bounded sum; counts those to be clipped."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._section = cast(SplitAndMixSection, task.randomizer)

    @property
    def _wanted(self) -> str:
        section = self._section
        numbers = "whole numbers" if section.integer else "finite numbers"
        if section.clips:
            return numbers
        hint = f'(or write out_of_range = "clip" in the task\'s {section.title})'
        if section.l1_bounded:
            return f"{numbers} of 0 or more that add up to {section.upper!r} at most {hint}"
        return f"{numbers} from {section.lower!r} to {section.upper!r} {hint}"

    def _fit(self, vectors: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Finite numbers, whole if they must be, and in the range unless the randomizer is to move them into it."""
        section = self._section
        fit = np.asarray(np.isfinite(vectors).all(axis=1))
        if section.integer:
            fit &= (vectors == np.rint(vectors)).all(axis=1)
        inside = np.asarray((vectors >= section.lower).all(axis=1))
        if section.l1_bounded:
            tolerated = section.upper if section.integer else section.upper * (1 + _TOLERANCE)
            inside &= vectors.sum(axis=1) <= tolerated
        else:
            inside &= (vectors <= section.upper).all(axis=1)
        if not section.clips:
            return fit & inside
        self.clipped += int(np.count_nonzero(fit & ~inside))
        return fit
