"""The private column of an input, or two, read batch after batch: categories, numbers, lists; no answer is shown."""

import math
from abc import ABC, abstractmethod
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shuffledp.core.errors import InputDataError
from shuffledp.core.text import names_of, plural
from shuffledp.files.reading import RowProblem, as_floats, is_number, is_text, plain, searchable, type_name
from shuffledp.randomizers import NORM_TOLERANCE
from shuffledp.randomizers.inputs import Category, listed
from shuffledp.survey import BinnedSection, Column, Missing, NumberSection, SplitAndMixSection

_NAN = r"^\s*[+-]?(?i:nan)\s*$"  # a missing answer in a text, as NaN is among numbers
_REMEDY_OF_CATEGORIES = ' To go on without them, write missing = "drop" in the task (or "category").'
_TOLERANCE = 1e-9  # by which the sum of a list may exceed its limit, in units of it, unless it holds whole numbers


class AnswerReader(ABC):
    """Reader of a private column, batch after batch; a subclass says which answers fit.

    Guarantees:
        1. No message holds an answer: only counts and row numbers.
        2. An answer that does not fit is never read as one that does: `finish` refuses the whole input.
    """

    remedy = ' To go on without them, write missing = "drop" in the task.'

    def __init__(self, column: Column) -> None:
        self._column = column
        self._name = f"{plural(len(column.inputs), 'column')} {' and '.join(map(repr, column.inputs))}"
        self._missing = RowProblem("hold an answer in every row", "are missing", self.remedy)
        self.received = 0

    @property
    def clipped(self) -> int:
        """How many answers have been moved to an end of the range so far; unprotected, so not for publication."""
        return 0

    def read_batch(self, batch: pa.RecordBatch) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """What `read` says of the private column of a batch; two columns are the fields of one."""
        columns = [batch.column(name) for name in self._column.inputs]
        return self.read(columns[0] if len(columns) == 1 else pa.StructArray.from_arrays(columns, names=["", ""]))

    @abstractmethod
    def read(self, column: pa.Array) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """The answers that are kept, as the randomizer takes them, and for each row of the batch whether it is kept."""

    @abstractmethod
    def _problems(self) -> tuple[RowProblem, ...]:
        """Problems that no task allows, the worst first."""

    def finish(self) -> None:
        """Refuse the input if any answer does not fit, or is missing where the task refuses that."""
        refused = (self._missing,) if self._column.missing is Missing.REFUSE else ()
        for problem in (*self._problems(), *refused):
            problem.require_none(self._name, self.received)

    def _coded(
        self, codes: NDArray[np.int64], wrong: NDArray[np.bool_], missing: NDArray[np.bool_], size: int
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Numbers of answers that are kept, and the mask of these; a missing one has the next if the task says so."""
        if self._column.missing is not Missing.CATEGORY:
            wrong = wrong | missing
        return np.where(missing, size, codes)[~wrong], ~wrong

    def _count(self, missing: NDArray[np.bool_]) -> None:
        self._missing.add(missing, self.received)
        self.received += len(missing)

    def _unanswered(self, column: pa.Array) -> NDArray[np.bool_]:
        """Nulls, and texts that mean that somebody did not answer."""
        missing = np.asarray(column.is_null(nan_is_null=True))
        if is_text(column.type):
            missing |= np.asarray(pc.is_in(column, pa.array(self._column.missing_values, column.type)))
        return missing


class CategoryReader(AnswerReader):
    """Reader of answers that are categories: the numbers of these."""

    remedy = _REMEDY_OF_CATEGORIES

    def __init__(self, column: Column, place: int = 0) -> None:
        super().__init__(column)
        self._name = f"column {column.inputs[place]!r}"
        self._categories = column.randomizer.categories_of_answers[place]
        self._unknown = RowProblem(f"hold only the task's categories {listed(names_of(self._categories))}, exactly")
        self._arrays: dict[pa.DataType, pa.Array] = {}

    def read(self, column: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Numbers of the answers that are kept, and for each row of the batch whether it is kept."""
        return self._coded(*self.encoded(column), len(self._categories))

    def encoded(self, column: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
        """Numbers of the answers, and the masks of those that are no category, and of missing ones."""
        codes, missing = self._encode(column)
        unknown = (codes < 0) & ~missing
        self._unknown.add(unknown, self.received)
        self._count(missing)
        return codes, unknown, missing

    def require_categories(self) -> None:
        """Refuse the input if an answer is no category, whatever the task says of missing ones."""
        self._unknown.require_none(self._name, self.received)

    def _problems(self) -> tuple[RowProblem, ...]:
        return (self._unknown,)

    def _encode(self, column: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Category numbers (-1: none of them) and the mask of missing answers."""
        if pa.types.is_dictionary(column.type):
            codes, absent = self._encode(column.dictionary)
            if len(codes) == 0:  # then every row is null
                return np.full(len(column), -1), np.ones(len(column), dtype=bool)
            index = column.indices.fill_null(0).to_numpy(zero_copy_only=False)
            null = np.asarray(column.indices.is_null())
            return np.where(null, -1, codes[index]), null | absent[index]
        column = searchable(column)
        missing = self._unanswered(column)
        found = pc.index_in(self._comparable(column), self._searched(column.type))
        return found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64), missing

    def _comparable(self, column: pa.Array) -> pa.Array:
        """Texts as the categories would be written: true in any case, whole numbers also as 1.0 (so writes pandas)."""
        if is_text(column.type) and isinstance(self._categories[0], bool):
            return pc.utf8_lower(column)
        if is_text(column.type) and isinstance(self._categories[0], int):
            return pc.replace_substring_regex(column, r"^(-?[0-9]+)\.0+$", r"\1")
        return column

    def _searched(self, kind: pa.DataType) -> pa.Array:
        """The categories in the column's own type, made once."""
        if kind not in self._arrays:
            self._arrays[kind] = self._category_array(kind)
        return self._arrays[kind]

    def _category_array(self, kind: pa.DataType) -> pa.Array:
        """The categories in this type, null where it cannot hold one; refuses a type that is not the categories'."""
        if pa.types.is_null(kind):
            return pa.nulls(0)
        if is_text(kind):
            return pa.array(names_of(self._categories), kind)
        wanted = type(self._categories[0])
        if (wanted is bool and pa.types.is_boolean(kind)) or (wanted is int and is_number(kind)):
            return pa.array([_as_scalar(category, kind) for category in self._categories], kind)
        name = {bool: "true/false", int: "whole numbers"}.get(wanted, "text")
        raise InputDataError(
            f"{self._name} must hold {name}, as the task's categories do; its type is {type_name(kind)}."
        )


def _as_scalar(value: Category, kind: pa.DataType) -> pa.Scalar:
    """The value in a type; null if the type cannot hold it, so that no answer equals it."""
    try:
        return pa.scalar(value, kind)
    except (pa.ArrowInvalid, OverflowError):
        return pa.scalar(None, kind)


class PairReader(AnswerReader):
    """Reader of two columns whose answers are randomized jointly: the numbers of pairs; who left one out left both."""

    remedy = _REMEDY_OF_CATEGORIES

    def __init__(self, column: Column) -> None:
        super().__init__(column)
        self._readers = [CategoryReader(column, place) for place in range(2)]
        self._sizes = [len(each) for each in column.randomizer.categories_of_answers]

    def read(self, column: pa.StructArray) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Numbers of the pairs that are kept, and for each row of the batch whether it is kept."""
        read = zip(self._readers, column.flatten(), strict=True)
        (first, *wrong_first), (second, *wrong_second) = (reader.encoded(field) for reader, field in read)
        unknown, missing = (one | other for one, other in zip(wrong_first, wrong_second, strict=True))
        self._count(missing)
        return self._coded(first * self._sizes[1] + second, unknown, missing, math.prod(self._sizes))

    def _problems(self) -> tuple[RowProblem, ...]:
        return ()

    def finish(self) -> None:
        """Refuse the input if any answer does not fit, or is missing where the task refuses that."""
        for reader in self._readers:
            reader.require_categories()
        super().finish()


class NumberReader(AnswerReader):
    """Reader of answers that are numbers in a range; those outside are moved to its nearer end if the task says so."""

    def __init__(self, column: Column) -> None:
        super().__init__(column)
        self._section = section = cast("NumberSection | SplitAndMixSection | BinnedSection", column.randomizer)
        self._lower, self._upper = section.ends
        self._unreadable = RowProblem("hold finite numbers")
        self._broken = RowProblem("hold whole numbers", "answers are others")
        self._outside = RowProblem(
            f"hold numbers from {self._lower!r} to {self._upper!r}",
            "are outside",
            f' To move them to the nearer end, write out_of_range = "clip" in the task\'s {section.title}.',
        )

    @property
    def clipped(self) -> int:
        """How many answers have been moved to an end of the range so far; unprotected, so not for publication."""
        return self._outside.count if self._section.clips else 0

    def read(self, column: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The numbers that are kept, clipped if the task says so, and for each row of the batch whether it is kept."""
        numbers, wrong, missing = self._clipped(column)
        kept = ~(wrong | missing)
        return numbers[kept], kept

    def _clipped(self, column: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
        """Numbers, clipped if the task says so, and the masks of those that do not fit, and of missing ones."""
        numbers, missing = self._parse(column)
        unreadable = ~np.isfinite(numbers) & ~missing
        outside = ((numbers < self._lower) | (numbers > self._upper)) & ~unreadable & ~missing
        self._unreadable.add(unreadable, self.received)
        self._outside.add(outside, self.received)
        wrong = unreadable
        if self._section.integer:
            broken = ~(unreadable | missing) & (numbers != np.rint(numbers))
            self._broken.add(broken, self.received)
            wrong = wrong | broken
        self._count(missing)
        if not self._section.clips:
            wrong = wrong | outside
        return np.clip(numbers, self._lower, self._upper), wrong, missing

    def _problems(self) -> tuple[RowProblem, ...]:
        return (self._unreadable, self._broken, *(() if self._section.clips else (self._outside,)))

    def _parse(self, column: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Numbers (NaN where there is none) and the mask of missing answers."""
        column = plain(column)
        missing = self._unanswered(column)
        if is_text(column.type):
            missing |= np.asarray(pc.match_substring_regex(column, _NAN).fill_null(False))
        return as_floats(column, f"column {self._column.value!r}"), missing


class BinReader(NumberReader):
    """Reader of numbers that are put into bins: the numbers of these."""

    remedy = _REMEDY_OF_CATEGORIES

    def __init__(self, column: Column) -> None:
        super().__init__(column)
        self._bins = cast(BinnedSection, column.randomizer).divided()

    def read(self, column: pa.Array) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Numbers of the bins that are kept, and for each row of the batch whether it is kept."""
        numbers, wrong, missing = self._clipped(column)
        codes = self._bins.of(np.where(wrong | missing, self._lower, numbers))
        return self._coded(codes, wrong, missing, len(self._bins))


class ListReader(AnswerReader):
    """Reader of answers that are lists of numbers, as Parquet holds them; a subclass says which lists fit."""

    def __init__(self, column: Column) -> None:
        super().__init__(column)
        self._dimension = len(column.randomizer.targets)
        self._ragged = RowProblem(f"hold lists of {self._dimension} numbers")
        self._unfit = RowProblem(f"hold {self._wanted}")

    @property
    @abstractmethod
    def _wanted(self) -> str:
        """What the column must hold, for errors."""

    @abstractmethod
    def _fit(self, vectors: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which vectors, all of the right length, fit; NaN stands for what is no number."""

    def _problems(self) -> tuple[RowProblem, ...]:
        return (self._ragged, self._unfit)

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
        self._count(missing)
        return vectors[fit], kept & ~unfit

    def _lengths(self, column: pa.Array) -> NDArray[np.int64]:
        """How long each list is; 0 for a null."""
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
        """Vectors of length 1; not a number is of no length."""
        fit: NDArray[np.bool_] = np.abs(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)) - 1) <= NORM_TOLERANCE
        return fit


class BoundedListReader(ListReader):
    """Reader of lists of numbers in a range, or of numbers of 0 or more with a bounded sum."""

    def __init__(self, column: Column) -> None:
        self._section = cast(SplitAndMixSection, column.randomizer)
        self._clipped = 0
        super().__init__(column)

    @property
    def clipped(self) -> int:
        """How many lists have been or will be moved into the range; unprotected, so not for publication."""
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
        self._clipped += int(np.count_nonzero(fit & ~inside))
        return fit


_READERS: dict[str, type[AnswerReader]] = {
    "category": CategoryReader,
    "pair": PairReader,
    "bin": BinReader,
    "number": NumberReader,
    "vector": VectorReader,
    "list": BoundedListReader,
}


def reader_for(column: Column) -> AnswerReader:
    """A fresh reader of the kind of answers that the column's randomizer takes."""
    return _READERS[column.randomizer.reads](column)
