"""From a column of answers to the numbers of its categories, counting what does not fit and never showing it."""

from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shuffledp.errors import InputDataError
from shuffledp.tables.numbers import NumberReader
from shuffledp.tables.places import SEARCHABLE, Places, is_number, is_text, type_name
from shuffledp.tables.vectors import BoundedListReader, VectorReader
from shuffledp.tasks import Category, Missing, Task

__all__ = ["AnswerReader", "CategoryReader", "PeopleCheck", "reader_for"]

_SHARES = 16


class AnswerReader(Protocol):
    """Reads the private column of one input, batch after batch."""

    received: int

    @property
    def clipped(self) -> int:
        """How many answers have been moved to an end of a range so far; unprotected, so not for publication."""

    def __init__(self, task: Task) -> None: ...

    def read(self, column: pa.Array) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """The answers that are kept, as the randomizer takes them, and for each row whether it is kept."""

    def finish(self) -> None:
        """Refuse the whole input if any row had a problem."""


class CategoryReader:
    """Reads answers that are categories.

    Guarantees:
        1. No message holds an answer: only counts and row numbers.
        2. An answer outside the categories is never mapped to one: `finish` refuses the whole input.
    """

    clipped = 0

    def __init__(self, task: Task) -> None:
        self._task = task
        self._categories = task.randomizer.categories_of_answers
        self._unknown = Places()
        self._missing = Places()
        self._arrays: dict[pa.DataType, pa.Array] = {}
        self.received = 0

    def read(self, column: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Numbers of the answers that are kept, and for each row of the batch whether it is kept."""
        codes, missing = self._encode(column)
        unknown = (codes < 0) & ~missing
        self._unknown.add(unknown, self.received)
        self._missing.add(missing, self.received)
        self.received += len(column)
        if self._task.missing is Missing.CATEGORY:
            codes[missing] = len(self._categories)
            kept = ~unknown
        else:
            kept = ~(unknown | missing)
        return codes[kept], kept

    def finish(self) -> None:
        """Refuse the input if any row had a problem.

        Raises:
            InputDataError: for answers outside the categories, or missing ones where the task refuses them.
        """
        name = self._task.value
        if self._unknown.count:
            raise InputDataError(
                f"column {name!r} must hold only the task's categories; {self._unknown.count} of {self.received} "
                f"answers are something else: {self._unknown}."
            )
        if self._missing.count and self._task.missing is Missing.REFUSE:
            raise InputDataError(
                f"column {name!r} must hold an answer in every row; {self._missing.count} of {self.received} are "
                f'missing: {self._missing}. To go on without them, write missing = "drop" in the task (or "category").'
            )

    def _encode(self, column: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Category numbers (-1: none of them) and the mask of missing answers."""
        if pa.types.is_dictionary(column.type):
            codes, absent = self._encode(column.dictionary)
            if len(codes) == 0:  # then every row is null
                return np.full(len(column), -1), np.ones(len(column), dtype=bool)
            index = column.indices.fill_null(0).to_numpy(zero_copy_only=False)
            null = np.asarray(column.indices.is_null())
            return np.where(null, -1, codes[index]), null | absent[index]
        column = column.cast(SEARCHABLE.get(column.type, column.type))
        missing = np.asarray(column.is_null(nan_is_null=True))
        if is_text(column.type):
            missing |= np.asarray(pc.is_in(column, pa.array(self._task.missing_values, column.type)))
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
            return pa.array(self._task.randomizer.targets[: len(self._categories)], kind)
        wanted = type(self._categories[0])
        if (wanted is bool and pa.types.is_boolean(kind)) or (wanted is int and is_number(kind)):
            return pa.array([_as_scalar(category, kind) for category in self._categories], kind)
        name = {bool: "true/false", int: "whole numbers"}.get(wanted, "text")
        raise InputDataError(
            f"column {self._task.value!r} must hold {name}, as the task's categories do; its type is {type_name(kind)}."
        )


def _as_scalar(value: Category, kind: pa.DataType) -> pa.Scalar:
    """The value in a type; null if the type cannot hold it, so that no answer equals it."""
    try:
        return pa.scalar(value, kind)
    except (pa.ArrowInvalid, OverflowError):
        return pa.scalar(None, kind)


_READERS: dict[str, type[AnswerReader]] = {
    "category": CategoryReader,
    "number": NumberReader,
    "vector": VectorReader,
    "list": BoundedListReader,
}


def reader_for(task: Task) -> AnswerReader:
    """A fresh reader of the kind of answers that the task's randomizer takes."""
    return _READERS[task.randomizer.reads](task)


class PeopleCheck:
    """Sees to it that nobody answers twice, if the task names a column of people; keeps their names in memory."""

    def __init__(self, task: Task) -> None:
        self._column = task.people.id
        self._seen: list[pa.Array] = []
        self._nameless = Places()
        self._received = 0

    def read(self, batch: pa.RecordBatch) -> None:
        """Note the people of a batch."""
        if self._column is None:
            return
        column = batch.column(self._column)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        column = column.cast(SEARCHABLE.get(column.type, column.type))
        self._nameless.add(self._without_name(column), self._received)
        self._received += len(column)
        self._seen.append(column)

    def finish(self) -> None:
        """Refuse people who are named twice or not at all.

        Raises:
            InputDataError: with counts; never a name.
        """
        if self._column is None or not self._seen:
            return
        if self._nameless.count:
            raise InputDataError(
                f"column {self._column!r} must name a person in every row; {self._nameless.count} of {self._received} "
                f"are empty: {self._nameless}."
            )
        repeated = self._received - _count_distinct(self._seen)
        if repeated:
            raise InputDataError(
                f"column {self._column!r} must name each person once; {repeated} of {self._received} rows repeat a "
                "person, and guarantees count one answer each."
            )

    def _without_name(self, column: pa.Array) -> NDArray[np.bool_]:
        if not (is_text(column.type) or is_number(column.type) or pa.types.is_null(column.type)):
            raise InputDataError(
                f"column {self._column!r} must name people by text or numbers; its type is {type_name(column.type)}."
            )
        nameless = np.asarray(column.is_null(nan_is_null=True))
        if is_text(column.type):
            nameless |= np.asarray(pc.equal(column, "").fill_null(True))
        return nameless


def _count_distinct(parts: list[pa.Array]) -> int:
    """How many different names there are, all of them numbers or texts that are not empty.

    Exact, in little more memory than the names themselves: numbers are sorted; texts are compared with those that end
    in a like byte, one share after the other.
    """
    if is_number(parts[0].type):
        numbers = np.concatenate([part.to_numpy(zero_copy_only=False) for part in parts])
        numbers.sort()
        return int(np.count_nonzero(numbers[1:] != numbers[:-1])) + 1
    endings = [_last_bytes(part) % _SHARES for part in parts]
    distinct = 0
    for share in range(_SHARES):
        alike = [part.filter(pa.array(ending == share)) for part, ending in zip(parts, endings, strict=True)]
        distinct += pc.count_distinct(pa.chunked_array(alike)).as_py()
    return distinct


def _last_bytes(texts: pa.Array) -> NDArray[np.uint8]:
    _, offsets, content = texts.buffers()
    width = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    ends = np.frombuffer(offsets, width)[texts.offset + 1 : texts.offset + len(texts) + 1]
    last: NDArray[np.uint8] = np.frombuffer(content, np.uint8)[ends - 1]
    return last
