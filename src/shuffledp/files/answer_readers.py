"""Readers of the private column or pair of columns, batch after batch; no error shows an answer."""

import math
from abc import ABC, abstractmethod
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shuffledp.core.errors import InputDataError
from shuffledp.core.text import names_of, plural
from shuffledp.files.numerals import NumberColumn, may_have_commas
from shuffledp.files.row_problems import RowProblem, is_number, is_text, plain, searchable, stripped, type_name
from shuffledp.randomizers.inputs import Category, listed
from shuffledp.survey import BinnedSection, Column, Missing, NumberSection, SplitAndMixSection

_NAN = r"^\s*[+-]?(?i:nan)\s*$"  # a missing answer in a text, as NaN is among numbers
_REMEDY_OF_CATEGORIES = ' To go on without them, write missing = "drop" in the task (or "category").'


class AnswerReader(ABC):
    """Reader of a private column, batch after batch; each subclass decides which answers fit.

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
        """Number of answers moved to an end of the range so far; unprotected, so not for publication."""
        return 0

    @property
    def numbers(self) -> NumberColumn | None:
        """Decimal marks found so far in a column of numbers; None for other answers."""
        return None

    def read_batch(self, batch: pa.RecordBatch) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Kept answers and mask of kept rows for the private column of a batch, as of `read`; a pair is one struct."""
        columns = [batch.column(name) for name in self._column.inputs]
        columns = [stripped(each) for each in columns] if self._column.strip else columns
        return self.read(columns[0] if len(columns) == 1 else pa.StructArray.from_arrays(columns, names=["", ""]))

    @abstractmethod
    def read(self, column: pa.Array) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Kept answers, in the form that the randomizer takes, and the mask of kept rows of the batch."""

    @abstractmethod
    def _problems(self) -> tuple[RowProblem, ...]:
        """Problems that are refused whatever the task says, the worst first."""

    def finish(self) -> None:
        """Refuse the input if any answer does not fit, or is missing where the task refuses missing answers."""
        refused = (self._missing,) if self._column.missing is Missing.REFUSE else ()
        for problem in (*self._problems(), *refused):
            problem.require_none(self._name, self.received)

    def _coded(
        self, codes: NDArray[np.int64], wrong: NDArray[np.bool_], missing: NDArray[np.bool_], size: int
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Codes of kept answers and the mask of kept rows; missing answers get code ``size`` if they are a category."""
        if self._column.missing is not Missing.CATEGORY:
            wrong = wrong | missing
        return np.where(missing, size, codes)[~wrong], ~wrong

    def _count(self, missing: NDArray[np.bool_]) -> None:
        self._missing.add(missing, self.received)
        self.received += len(missing)

    def _unanswered(self, column: pa.Array) -> NDArray[np.bool_]:
        """Mask of missing answers: nulls, and texts that the task lists as missing values."""
        missing = np.asarray(column.is_null(nan_is_null=True))
        if is_text(column.type):
            missing |= np.asarray(pc.is_in(column, pa.array(self._column.missing_values, column.type)))
        return missing


class CategoryReader(AnswerReader):
    """Reader of categorical answers; it returns category numbers."""

    remedy = _REMEDY_OF_CATEGORIES

    def __init__(self, column: Column, place: int = 0) -> None:
        super().__init__(column)
        self._name = f"column {column.inputs[place]!r}"
        self._categories = column.randomizer.categories_of_answers[place]
        self._unknown = RowProblem(f"hold only the task's categories {listed(names_of(self._categories))}, exactly")
        self._padded = 0  # answers that would fit without the blanks around them
        self._arrays: dict[pa.DataType, pa.Array] = {}

    def read(self, column: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Category numbers of kept answers, and the mask of kept rows of the batch."""
        return self._coded(*self.encoded(column), len(self._categories))

    def encoded(self, column: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
        """Category numbers of all answers, the mask of unknown categories, and the mask of missing answers."""
        codes, missing = self._encode(column)
        unknown = (codes < 0) & ~missing
        self._unknown.add(unknown, self.received)
        if unknown.any():
            without_blanks, unanswered = self._encode(stripped(column.filter(pa.array(unknown))))
            self._padded += int(np.count_nonzero((without_blanks >= 0) | unanswered))
        self._count(missing)
        return codes, unknown, missing

    def require_categories(self) -> None:
        """Refuse the input if an answer is no category, even where the task drops missing ones."""
        for problem in self._problems():
            problem.require_none(self._name, self.received)

    def _problems(self) -> tuple[RowProblem, ...]:
        if self._padded:
            which = "All" if self._padded == self._unknown.count else f"{self._padded}"
            way_out = "write strip = true in the task to take off the blanks around them"
            self._unknown.hint = f" {which} of these would fit without the blanks around them: {way_out}."
        return (self._unknown,)

    def _encode(self, column: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Category numbers, -1 for an unknown category, and the mask of missing answers."""
        if pa.types.is_dictionary(column.type):
            codes, absent = self._encode(column.dictionary)
            if len(codes) == 0:  # every row is null
                return np.full(len(column), -1), np.ones(len(column), dtype=bool)
            index = column.indices.fill_null(0).to_numpy(zero_copy_only=False)
            null = np.asarray(column.indices.is_null())
            return np.where(null, -1, codes[index]), null | absent[index]
        column = searchable(column)
        missing = self._unanswered(column)
        found = pc.index_in(self._comparable(column), self._searched(column.type))
        return found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64), missing

    def _comparable(self, column: pa.Array) -> pa.Array:
        """Texts in the spelling of the categories: booleans in lower case, whole numbers without the ".0" of pandas."""
        if is_text(column.type) and isinstance(self._categories[0], bool):
            return pc.utf8_lower(column)
        if is_text(column.type) and isinstance(self._categories[0], int):
            return pc.replace_substring_regex(column, r"^(-?[0-9]+)\.0+$", r"\1")
        return column

    def _searched(self, kind: pa.DataType) -> pa.Array:
        """The categories in the type of the column, cached by type."""
        if kind not in self._arrays:
            self._arrays[kind] = self._category_array(kind)
        return self._arrays[kind]

    def _category_array(self, kind: pa.DataType) -> pa.Array:
        """The categories in this type, null where the type cannot hold one; refuses a type that does not fit them."""
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
    """The value in a type; null, which equals no answer, if the type cannot hold it."""
    try:
        return pa.scalar(value, kind)
    except (pa.ArrowInvalid, OverflowError):
        return pa.scalar(None, kind)


class PairReader(AnswerReader):
    """Reader of two jointly randomized columns; it returns pair numbers; a pair is missing if either part is."""

    remedy = _REMEDY_OF_CATEGORIES

    def __init__(self, column: Column) -> None:
        super().__init__(column)
        self._readers = [CategoryReader(column, place) for place in range(2)]
        self._sizes = [len(each) for each in column.randomizer.categories_of_answers]

    def read(self, column: pa.StructArray) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Pair numbers of kept answers, and the mask of kept rows of the batch."""
        read = zip(self._readers, column.flatten(), strict=True)
        (first, *wrong_first), (second, *wrong_second) = (reader.encoded(field) for reader, field in read)
        unknown, missing = (one | other for one, other in zip(wrong_first, wrong_second, strict=True))
        self._count(missing)
        return self._coded(first * self._sizes[1] + second, unknown, missing, math.prod(self._sizes))

    def _problems(self) -> tuple[RowProblem, ...]:
        return ()

    def finish(self) -> None:
        """Refuse the input if any answer does not fit, or is missing where the task refuses missing answers."""
        for reader in self._readers:
            reader.require_categories()
        super().finish()


class NumberReader(AnswerReader):
    """Reader of numbers in a range; numbers outside move to the nearer end if the task says so."""

    def __init__(self, column: Column) -> None:
        super().__init__(column)
        self._section = section = cast("NumberSection | SplitAndMixSection | BinnedSection", column.randomizer)
        self._lower, self._upper = section.ends
        self._numbers, self._may_have_commas = NumberColumn(self._name), False
        self._unreadable = RowProblem("hold finite numbers")
        self._broken = RowProblem("hold whole numbers", "answers are others")
        self._outside = RowProblem(
            f"hold numbers from {self._lower!r} to {self._upper!r}",
            "are outside",
            f' To move them to the nearer end, write out_of_range = "clip" in the task\'s {section.title}.',
        )

    @property
    def clipped(self) -> int:
        """Number of answers moved to an end of the range so far; unprotected, so not for publication."""
        return self._outside.count if self._section.clips else 0

    @property
    def numbers(self) -> NumberColumn:
        """Decimal marks found so far in the column."""
        return self._numbers

    def read_batch(self, batch: pa.RecordBatch) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Numbers and mask of kept rows, as `read` returns them; commas may be decimal if the batch says so."""
        self._may_have_commas = may_have_commas(batch)
        return super().read_batch(batch)

    def finish(self) -> None:
        """Refuse the input if any answer does not fit, or its commas have two possible meanings."""
        self._unreadable.hint = self._numbers.hint
        super().finish()
        self._numbers.finish()

    def read(self, column: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Kept numbers, clipped if the task says so, and the mask of kept rows of the batch."""
        numbers, wrong, missing = self._clipped(column)
        kept = ~(wrong | missing)
        return numbers[kept], kept

    def _clipped(self, column: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
        """Clipped numbers, the mask of numbers that do not fit, and the mask of missing answers."""
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
        """Numbers, NaN for texts that are no number, and the mask of missing answers."""
        column = plain(column)
        missing = self._unanswered(column)
        if is_text(column.type):
            missing |= np.asarray(pc.match_substring_regex(column, _NAN).fill_null(False))
        return self._numbers.read(column, commas=self._may_have_commas), missing


class BinReader(NumberReader):
    """Reader of numbers that fall into bins; it returns bin numbers."""

    remedy = _REMEDY_OF_CATEGORIES

    def __init__(self, column: Column) -> None:
        super().__init__(column)
        self._bins = cast(BinnedSection, column.randomizer).divided()

    def read(self, column: pa.Array) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Bin numbers of kept answers, and the mask of kept rows of the batch."""
        numbers, wrong, missing = self._clipped(column)
        codes = self._bins.of(np.where(wrong | missing, self._lower, numbers))
        return self._coded(codes, wrong, missing, len(self._bins))
