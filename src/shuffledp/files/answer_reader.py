"""Reader of the private columns of a question, batch after batch; no error shows an answer."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shuffledp.core.errors import InputDataError
from shuffledp.core.text import names_of, plural
from shuffledp.files.numerals import NumberColumn, is_of_csv, may_have_commas
from shuffledp.files.row_problems import (
    ColumnPart,
    RowProblem,
    is_number,
    is_text,
    plain,
    searchable,
    stripped,
    type_name,
)
from shuffledp.files.tick_parts import TickColumn, TickLists
from shuffledp.randomizers.inputs import Category, listed
from shuffledp.survey import Column, Missing
from shuffledp.survey.questions.question import Read

_NAN = r"^\s*[+-]?(?i:nan)\s*$"  # a missing answer in a text, as NaN is among numbers


class AnswerReader:
    """Reader of the private columns of a question, batch after batch.

    The question says what it reads from each column.

    Guarantees:
        1. No message holds an answer: only counts and row numbers.
        2. An answer that does not fit is never read as one that does: `finish` refuses the whole input.

    Attributes:
        received: rows read so far.
        clipped: answers moved to an end of the range so far; unprotected, so not for publication.
    """

    def __init__(self, column: Column) -> None:
        self._column = column
        self._name = f"{plural(len(column.inputs), 'column')} {' and '.join(map(repr, column.inputs))}"
        self._missing = RowProblem("hold an answer in every row", "are missing", _remedy(column))
        self._batch: tuple[pa.Array, ...] = ()
        self._parts: dict[int, ColumnPart] = {}
        self._earlier = None if column.earlier is None else AnswerReader(column.earlier)
        self._may_have_commas = self._is_csv = False
        self.received = 0
        self.clipped = 0

    @property
    def numbers(self) -> NumberColumn | None:
        """Decimal marks found so far in a column of numbers; None for other answers."""
        return next((part.marks for part in self._parts.values() if isinstance(part, _Numbers)), None)

    def read_batch(self, batch: pa.RecordBatch) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Kept answers of a batch, and the mask of kept rows, as in `read`."""
        return self.read(*self._taken(batch), asked=self.asked(batch))

    def read(
        self, *columns: pa.Array, asked: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Kept answers of a batch, as the randomizer takes them, and the mask of kept rows.

        What stands in rows of people who were not ``asked`` is not looked at; None where everybody is asked.
        """
        question = self._column.randomizer
        self._batch = columns if asked is None else tuple(_only_of(each, asked) for each in columns)
        values, wrong, missing = question.read(self)
        if asked is not None:
            wrong, missing = wrong & asked, missing & asked
        self._missing.add(missing, self.received)
        self.received += len(missing)
        if self._column.missing is Missing.CATEGORY:
            values = question.in_place_of_missing(values, missing)
        else:
            wrong = wrong | missing
        if asked is not None:
            values = question.where_not_asked(values, asked)
        return values[~wrong], ~wrong

    def asked(self, batch: pa.RecordBatch) -> NDArray[np.bool_] | None:
        """Mask of people whose earlier answer meets the question's condition; None without a condition.

        Whoever left that one out, or answered it with what does not fit, is not asked.
        """
        after, earlier = self._column.after, self._earlier
        if after is None or earlier is None:
            return None
        earlier._batch = earlier._taken(batch)
        values, wrong, missing = earlier._column.randomizer.read(earlier)
        return after.is_met(values) & ~(wrong | missing)

    def _taken(self, batch: pa.RecordBatch) -> tuple[pa.Array, ...]:
        """Private columns of a batch, with blanks around texts removed if the task says so."""
        self._may_have_commas, self._is_csv = may_have_commas(batch), is_of_csv(batch)
        columns = (batch.column(name) for name in self._column.inputs)
        return tuple(stripped(each) if self._column.strip else each for each in columns)

    def finish(self) -> None:
        """Refuse the input if any answer does not fit, or is missing where the task refuses missing answers."""
        for part in self._parts.values():
            for problem in part.problems():
                problem.require_none(part.name, self.received)
        if self._column.missing is Missing.REFUSE:
            self._missing.require_none(self._name, self.received)
        if self.numbers is not None:
            self.numbers.finish()

    # ---- what a question reads

    def categories(self, place: int, categories: tuple[Category, ...]) -> Read:
        """Category number of each answer; -1 for an unknown category."""
        part: _Categories = self._part(_Categories, place, categories)
        return part.read(self._batch[place], self.received)

    def in_range(self, place: int, ends: tuple[float, float], *, clip: bool, whole: bool, title: str) -> Read:
        """Numbers in a range; numbers outside are moved to the nearer end if ``clip``."""
        part: _Numbers = self._part(_Numbers, place, ends, clip=clip, whole=whole, title=title)
        found = part.read(self._batch[place], self.received, commas=self._may_have_commas)
        self.clipped = part.outside.count if clip else 0
        return found

    def lists(self, place: int, length: int, wanted: str, fits: Callable[[NDArray[np.float64]], Any]) -> Read:
        """Lists of numbers, shape (rows, length), checked by ``fits``; ``wanted`` describes valid lists."""
        part: _Lists = self._part(_Lists, place, length, wanted)
        return part.read(self._batch[place], self.received, fits)

    def texts(self, place: int, spelled: Callable[[str], str]) -> Read:
        """Texts as ``spelled`` writes them; a text is missing if it becomes empty."""
        part: _Texts = self._part(_Texts, place)
        return part.read(self._batch[place], spelled)

    def tick_lists(self, place: int, options: tuple[str, ...], separator: str) -> Read:
        """Ticks, shape (rows, options), from lists of options or from texts that join them by the separator."""
        part: TickLists = self._part(TickLists, place, options, separator)
        return part.read(self._batch[place], self.received, is_csv=self._is_csv)

    def tick_column(self, place: int, option: str) -> Read:
        """Mask of people who ticked the option, from the option's own column."""
        part: TickColumn = self._part(TickColumn, place, option)
        return part.read(self._batch[place], self.received, is_csv=self._is_csv)

    def _part(self, kind: type[Any], place: int, *asked: Any, **named: Any) -> Any:
        if place not in self._parts:
            column = self._column
            self._parts[place] = kind(f"column {column.inputs[place]!r}", column.missing_values, *asked, **named)
        return self._parts[place]


def _remedy(column: Column) -> str:
    """Advice to set ``missing`` in the task, with all values that fit the column; "" if none fits."""
    ways = ['"drop"'] * (column.after is None) + ['"category"'] * column.randomizer.keeps_missing
    where = "the task" if column.part_of is None else "its [[value]] block, or in the task for all"
    return f" To go on without them, write missing = {' or '.join(ways)} in {where}." if ways else ""


def _only_of(column: pa.Array, asked: NDArray[np.bool_]) -> pa.Array:
    """Column with nulls in the rows of people who were not asked."""
    return column.take(pa.array(np.arange(len(asked)), mask=~asked))


class _Categories(ColumnPart):
    """Reader of answers that are one of several named categories."""

    def __init__(self, name: str, missing_values: tuple[str, ...], categories: tuple[Category, ...]) -> None:
        super().__init__(name, missing_values)
        self._categories = categories
        self._unknown = RowProblem(f"hold only the task's categories {listed(names_of(categories))}, exactly")
        self._padded = 0  # answers that would fit without the blanks around them
        self._arrays: dict[pa.DataType, pa.Array] = {}

    def read(self, column: pa.Array, received: int) -> Read:
        """Category numbers of all answers, the mask of unknown categories, and the mask of missing answers."""
        codes, missing = self._encode(column)
        unknown = (codes < 0) & ~missing
        self._unknown.add(unknown, received)
        if unknown.any():
            without_blanks, unanswered = self._encode(stripped(column.filter(pa.array(unknown))))
            self._padded += int(np.count_nonzero((without_blanks >= 0) | unanswered))
        return codes, unknown, missing

    def problems(self) -> tuple[RowProblem, ...]:
        """Unknown categories, with a hint about blanks around them."""
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
        """Categories converted to a column's type, cached by type."""
        if kind not in self._arrays:
            self._arrays[kind] = self._category_array(kind)
        return self._arrays[kind]

    def _category_array(self, kind: pa.DataType) -> pa.Array:
        """Categories in a column's type, null where the type cannot hold one; refused for a wrong type."""
        if pa.types.is_null(kind):
            return pa.nulls(0)
        if is_text(kind):
            return pa.array(names_of(self._categories), kind)
        wanted = type(self._categories[0])
        if (wanted is bool and pa.types.is_boolean(kind)) or (wanted is int and is_number(kind)):
            return pa.array([_as_scalar(category, kind) for category in self._categories], kind)
        name = {bool: "true/false", int: "whole numbers"}.get(wanted, "text")
        raise InputDataError(
            f"{self.name} must hold {name}, as the task's categories do; its type is {type_name(kind)}."
        )


def _as_scalar(value: Category, kind: pa.DataType) -> pa.Scalar:
    """Category as a scalar of a column's type; null if the type cannot hold the category.

    Null equals no answer.
    """
    try:
        return pa.scalar(value, kind)
    except (pa.ArrowInvalid, OverflowError):
        return pa.scalar(None, kind)


class _Numbers(ColumnPart):
    """Reader of numbers in a range; numbers outside move to the nearer end if the task says so."""

    def __init__(
        self,
        name: str,
        missing_values: tuple[str, ...],
        ends: tuple[float, float],
        *,
        clip: bool,
        whole: bool,
        title: str,
    ) -> None:
        super().__init__(name, missing_values)
        (self._lower, self._upper), self._clip, self._whole = ends, clip, whole
        self.marks = NumberColumn(name)
        self._unreadable = RowProblem("hold finite numbers")
        self._broken = RowProblem("hold whole numbers", "answers are others")
        self.outside = RowProblem(
            f"hold numbers from {self._lower!r} to {self._upper!r}",
            "are outside",
            f' To move them to the nearer end, write out_of_range = "clip" in the task\'s {title}.',
        )

    def read(self, column: pa.Array, received: int, *, commas: bool) -> Read:
        """Clipped numbers, the mask of numbers that do not fit, and the mask of missing answers."""
        numbers, missing = self._parse(column, commas=commas)
        unreadable = ~np.isfinite(numbers) & ~missing
        outside = ((numbers < self._lower) | (numbers > self._upper)) & ~unreadable & ~missing
        self._unreadable.add(unreadable, received)
        self.outside.add(outside, received)
        wrong = unreadable
        if self._whole:
            broken = ~(unreadable | missing) & (numbers != np.rint(numbers))
            self._broken.add(broken, received)
            wrong = wrong | broken
        return np.clip(numbers, self._lower, self._upper), wrong if self._clip else wrong | outside, missing

    def problems(self) -> tuple[RowProblem, ...]:
        """Problems: texts that are no numbers, broken numbers, and numbers out of range unless they are clipped."""
        self._unreadable.hint = self.marks.hint
        return (self._unreadable, self._broken, *(() if self._clip else (self.outside,)))

    def _parse(self, column: pa.Array, *, commas: bool) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Numbers, NaN for texts that are no number, and the mask of missing answers."""
        column = plain(column)
        missing = self._unanswered(column)
        if is_text(column.type):
            missing |= np.asarray(pc.match_substring_regex(column, _NAN).fill_null(False))
        return self.marks.read(column, commas=commas), missing


class _Texts(ColumnPart):
    """Reader of free texts; each different text is spelled once."""

    def read(self, column: pa.Array, spelled: Callable[[str], str]) -> Read:
        """Spelled texts, an empty mask of wrong texts, and the mask of texts that became empty."""
        missing = np.asarray(column.is_null(nan_is_null=True))
        encoded = column if pa.types.is_dictionary(column.type) else searchable(column).dictionary_encode()
        if not (is_text(encoded.dictionary.type) or pa.types.is_null(encoded.dictionary.type)):
            raise InputDataError(f"{self.name} must hold text; its type is {type_name(column.type)}.")
        given = encoded.dictionary.to_pylist()
        known = [None if text in self._missing_values else text for text in given]
        texts = np.array([*("" if text is None else spelled(text) for text in known), ""], dtype=object)
        codes = encoded.indices.fill_null(len(given)).to_numpy(zero_copy_only=False)
        found = texts[codes]
        missing |= found == ""
        return found, np.zeros(len(found), dtype=np.bool_), missing

    def problems(self) -> tuple[RowProblem, ...]:
        """Empty tuple of problems, as every text can be spelled."""
        return ()


class _Lists(ColumnPart):
    """Reader of lists of numbers of one length, from Parquet."""

    def __init__(self, name: str, missing_values: tuple[str, ...], length: int, wanted: str) -> None:
        super().__init__(name, missing_values)
        self._length = length
        self._ragged, self._unfit = RowProblem(f"hold lists of {length} numbers"), RowProblem(f"hold {wanted}")

    def read(self, column: pa.Array, received: int, fits: Callable[[NDArray[np.float64]], Any]) -> Read:
        """Lists as rows, the mask of lists that do not fit, and the mask of missing lists."""
        missing = np.asarray(column.is_null())
        ragged = (self._lengths(column) != self._length) & ~missing
        kept = ~(missing | ragged)
        flat = column.filter(pa.array(kept)).flatten() if kept.any() else pa.array([], pa.float64())
        vectors = pc.cast(flat, pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
        rows = vectors.reshape(-1, self._length)
        with np.errstate(over="ignore", invalid="ignore"):
            fit = fits(rows)
        unfit = np.zeros(len(column), dtype=np.bool_)
        unfit[np.flatnonzero(kept)[~fit]] = True
        self._ragged.add(ragged, received)
        self._unfit.add(unfit, received)
        if not kept.all():
            rows = rows[np.maximum(np.cumsum(kept) - 1, 0)] if kept.any() else np.zeros((len(kept), self._length))
        return rows, ragged | unfit, missing

    def problems(self) -> tuple[RowProblem, ...]:
        """Problems with rows: lists of a wrong length, and lists whose numbers do not fit."""
        return (self._ragged, self._unfit)

    def _lengths(self, column: pa.Array) -> NDArray[np.int64]:
        """Length of each list; 0 for a null."""
        kind = column.type
        if pa.types.is_null(kind):
            return np.zeros(len(column), dtype=np.int64)
        is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
        if not (is_list and is_number(kind.value_type)):
            raise InputDataError(
                f"{self.name} must hold lists of {self._length} numbers, in a Parquet file; its type is "
                f"{type_name(kind)}."
            )
        if pa.types.is_fixed_size_list(kind):
            return np.full(len(column), kind.list_size)
        lengths: NDArray[np.int64] = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
        return lengths
