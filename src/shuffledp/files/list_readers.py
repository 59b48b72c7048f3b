"""Readers of a private column of lists of numbers from Parquet, batch after batch: vectors and bounded lists."""

from abc import abstractmethod
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shuffledp.core.errors import InputDataError
from shuffledp.files.answer_readers import AnswerReader
from shuffledp.files.row_problems import RowProblem, is_number, type_name
from shuffledp.randomizers import NORM_TOLERANCE
from shuffledp.survey import Column, SplitAndMixSection

_TOLERANCE = 1e-9  # relative excess of a list's sum over its limit that is accepted, unless numbers are whole


class ListReader(AnswerReader):
    """Reader of lists of numbers from Parquet; each subclass decides which lists fit."""

    def __init__(self, column: Column) -> None:
        super().__init__(column)
        self._dimension = len(column.randomizer.targets)
        self._ragged = RowProblem(f"hold lists of {self._dimension} numbers")
        self._unfit = RowProblem(f"hold {self._wanted}")

    @property
    @abstractmethod
    def _wanted(self) -> str:
        """Content that the column must hold, for error texts."""

    @abstractmethod
    def _fit(self, vectors: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Mask of vectors that fit, all of the right length; NaN stands for entries that are no number."""

    def _problems(self) -> tuple[RowProblem, ...]:
        return (self._ragged, self._unfit)

    def read(self, column: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Kept vectors, shape (kept, dimension), and the mask of kept rows of the batch."""
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
        self._count(missing)
        return vectors[fit], kept & ~unfit

    def _lengths(self, column: pa.Array) -> NDArray[np.int64]:
        """Length of each list; 0 for a null."""
        kind = column.type
        if pa.types.is_null(kind):
            return np.zeros(len(column), dtype=np.int64)
        is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
        if not (is_list and is_number(kind.value_type)):
            raise InputDataError(
                f"column {self._column.value!r} must hold lists of {self._dimension} numbers, in a Parquet file; its "
                f"type is {type_name(kind)}."
            )
        if pa.types.is_fixed_size_list(kind):
            return np.full(len(column), kind.list_size)
        lengths: NDArray[np.int64] = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
        return lengths


class VectorReader(ListReader):
    """Reader of unit vectors."""

    _wanted = f"finite numbers that make vectors of length 1 (within {NORM_TOLERANCE:g})"

    def _fit(self, vectors: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Mask of vectors of length 1; a vector with NaN does not fit."""
        fit: NDArray[np.bool_] = np.abs(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)) - 1) <= NORM_TOLERANCE
        return fit


class BoundedListReader(ListReader):
    """Reader of lists of numbers in a range, or of nonnegative numbers with a bounded sum."""

    def __init__(self, column: Column) -> None:
        self._section = cast(SplitAndMixSection, column.randomizer)
        self._clipped = 0
        super().__init__(column)

    @property
    def clipped(self) -> int:
        """Number of lists that are moved into the range; unprotected, so not for publication."""
        return self._clipped

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
        """Mask of lists that fit: finite, whole if required, and in the range unless the randomizer clips."""
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
        self._clipped += int(np.count_nonzero(fit & ~inside))
        return fit
