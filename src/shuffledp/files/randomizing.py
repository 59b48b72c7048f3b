"""Randomized reports from a file of answers in batches, with public columns and people's names."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shuffledp.core.errors import InputDataError
from shuffledp.core.table import Table
from shuffledp.files.answer_reader import AnswerReader
from shuffledp.files.numerals import NumberColumn, may_have_commas
from shuffledp.files.parquet import ReportPart
from shuffledp.files.reading import ProgressListener, guarded
from shuffledp.files.row_problems import RowProblem, is_number, is_text, plain, stripped, type_name
from shuffledp.files.table_files import read_table
from shuffledp.randomness.sources import RandomSource
from shuffledp.survey import ROW, Column, DataFlow, Task

_BYTES_OF_REPORTS_AT_A_TIME = 1 << 23
_SHARES = 16  # names of people are compared in this number of shares


class RandomizedReports:
    """Reports of a private column, part after part; counts are complete after the last part.

    Public columns come along only where the shuffler will keep them. ``read`` reads the batches of ``answers``, as
    `read_table` does.
    """

    def __init__(
        self,
        column: Column,
        answers: Any,
        source: RandomSource,
        watch: ProgressListener,
        *,
        read: Callable[..., Iterator[pa.RecordBatch]] = read_table,
    ) -> None:
        self._column, self._answers, self._source, self._watch, self._read_table = column, answers, source, watch, read
        self._randomizer = column.randomizer.randomizer()
        self._reader, self._people = AnswerReader(column), PeopleCheck(column.people.id, strip=column.strip)
        self._public = PublicReader(column)
        self._num_kept = 0
        self.num_reports = 0

    @property
    def names(self) -> list[pa.Array]:
        """The names of people read so far, if the task has a column of names."""
        return self._people.seen

    @property
    def flow(self) -> DataFlow:
        """The counts of people and reports so far."""
        received = self._reader.received
        expected = self._column.people.expected
        return DataFlow(received=received, missing=received - self._num_kept, released=0, expected=expected)

    def __iter__(self) -> Iterator[ReportPart]:
        messages = self._randomizer.model.num_messages
        for values, public in self.people():
            for rows in self._slices(values):
                reports = self._randomizer.randomize(values[rows], source=self._source)
                self.num_reports += len(reports)
                beside = None if public is None else public[rows]
                if beside is not None and messages > 1:  # a row for each report, not for each person
                    beside = beside.take(np.repeat(np.arange(len(beside)), messages))
                yield reports, beside

    def people(self) -> Iterator[tuple[NDArray[Any], pa.Table | None]]:
        """Kept answers with their public columns, batch after batch, before the answers are randomized."""
        column, path = self._column, self._answers
        names = [*column.read_from, *self._public.names, *filter(None, [column.people.id])]
        progress = partial(self._watch.progress, step_of("randomizing", column))
        for batch in self._read_table(path, names, encoded=column.read_from, present=column.public, progress=progress):
            values, kept = guarded(path, partial(self._read, batch))
            self._num_kept += len(values)
            column.require_room(self._num_kept)
            yield values, guarded(path, partial(self._public.read, batch, kept))
        self._reader.finish()
        self._public.finish()
        guarded(path, self._people.finish)
        if self._reader.clipped:
            self._watch.clipped(column.value, self._reader.clipped, self._reader.received, column.randomizer.clipping)
        for name, numbers in self.numbers.items():
            self._watch.decimals(name, numbers.commas, numbers.points)

    @property
    def clipped(self) -> int:
        """Number of answers so far that were moved to an end of the range.

        It is unprotected, so not for publication.
        """
        return self._reader.clipped

    @property
    def numbers(self) -> dict[str, NumberColumn]:
        """Decimal marks in each column of numbers, by column."""
        own = {} if self._reader.numbers is None else {self._column.value: self._reader.numbers}
        return own | self._public.numbers

    def _read(self, batch: pa.RecordBatch) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        self._people.read(batch)
        return self._reader.read_batch(batch)

    def _slices(self, values: NDArray[Any]) -> Iterator[slice]:
        """Slices of answers, one or more, each of which gives a bounded number of reports."""
        columns = self._randomizer.randomize(values[:0], source=self._source).columns.values()
        width = sum(column.itemsize * math.prod(column.shape[1:]) for column in columns)
        rows = max(1, _BYTES_OF_REPORTS_AT_A_TIME // (width * self._randomizer.model.num_messages))
        for start in range(0, max(len(values), 1), rows):
            yield slice(start, start + rows)


def step_of(verb: str, column: Column) -> str:
    """Current step in words, with the column's name if the task has several columns."""
    return f"{verb} {column.label}" if column.part_of else verb


def require_inside(column: Column, clipped: int, flow: DataFlow) -> None:
    """Refuse the input if all answers are outside the range.

    Estimates would then tell of the ends of the range alone.
    """
    answered = (flow.received or 0) - flow.missing
    if clipped and clipped >= answered:
        raise InputDataError(
            f"column {column.value!r} must hold an answer inside the task's range; all {answered:,} are outside, so "
            f"that each would count as an end of it. Set lower and upper in the task's {column.randomizer.title}."
        )


class PublicReader:
    """Reader of the public columns for the shuffler, or of row numbers if the shuffler needs these.

    Guarantees:
        1. Coordinates and weights come out as finite numbers, weights as ones above 0, and labels are never missing:
           `finish` refuses the whole input.
        2. No message holds what a row says.

    It is of a task, or a private column of it; with ``needed_only`` only what groups or strata are made from is read.
    """

    def __init__(self, task: Task | Column, *, needed_only: bool = False) -> None:
        self._num_rows, self._strip = task.shuffler.num_rows, task.strip
        self.names = [] if self._num_rows is not None else list(task.shuffler.attached(task.public))
        made = self._needed = task.shuffler.made_from
        self._wrong = {
            name: RowProblem(f"hold {kind} in every row, since {made.what} are made from it", "hold none")
            for kind, names in (
                ("a finite number", made.numbers),
                ("a label", made.labels),
                ("a finite number above 0", made.weights),
            )
            for name in names
        }
        self.numbers = {name: NumberColumn(f"public column {name!r}") for name in (*made.numbers, *made.weights)}
        self._received = 0
        if needed_only:
            self.names = list(self._wrong)

    def read(self, batch: pa.RecordBatch, kept: NDArray[np.bool_]) -> pa.Table | None:
        """Public columns of kept people, in types that a label table can hold; None if there are none."""
        if self._num_rows is not None:
            rows = self._received + np.flatnonzero(kept)
            self._received += batch.num_rows
            return pa.table({ROW: rows})
        if not self.names:
            return None
        commas = may_have_commas(batch)
        read = [self._column(name, batch.column(name), kept, commas=commas) for name in self.names]
        self._received += batch.num_rows
        table = pa.table(dict(zip(self.names, read, strict=True))).filter(pa.array(kept))
        Table.from_arrow(table)
        return table

    def finish(self) -> None:
        """Refuse the input if a row lacks a group or stratum value, or if the number of rows is wrong."""
        if self._num_rows not in (None, self._received):
            raise InputDataError(
                f"the input must have a row for each of the {self._num_rows} offsets in the task's [shuffler]; it has "
                f"{self._received}."
            )
        for name, numbers in self.numbers.items():
            self._wrong[name].hint = numbers.hint
        for name, problem in self._wrong.items():
            problem.require_none(f"public column {name!r}", self._received)
        for numbers in self.numbers.values():
            numbers.finish()

    def _column(self, name: str, column: pa.Array, kept: NDArray[np.bool_], *, commas: bool) -> pa.Array:
        column = plain(column)  # numpy would get wrong values for nulls of a dictionary
        column = stripped(column) if self._strip else column
        if name in self.numbers:
            numbers = self.numbers[name].read(column, commas=commas)
            wrong = ~np.isfinite(numbers) | ((numbers <= 0) if name in self._needed.weights else False)
            self._wrong[name].add(wrong & kept, self._received)
            return pa.array(numbers)
        if name in self._needed.labels:
            missing = np.asarray(column.is_null(nan_is_null=True))
            if is_text(column.type):
                missing |= np.asarray(pc.equal(pc.utf8_trim_whitespace(column), "").fill_null(True))
            self._wrong[name].add(missing & kept, self._received)
        return column


class PeopleCheck:
    """Check that no person answers twice, if the task has a column of names.

    Names are kept in memory.
    """

    def __init__(self, column: str | None, *, strip: bool = False) -> None:
        self._column, self._strip = column, strip
        self.seen: list[pa.Array] = []
        self._nameless = RowProblem("name a person in every row", "are empty")
        self._received = 0

    def read(self, batch: pa.RecordBatch) -> None:
        """Note the names in a batch."""
        if self._column is None:
            return
        column = plain(batch.column(self._column))
        column = stripped(column) if self._strip else column
        self._nameless.add(self._without_name(column), self._received)
        self._received += len(column)
        self.seen.append(column)

    def finish(self) -> None:
        """Refuse people who are named twice or not at all; the error has counts, and never a name."""
        if self._column is None or not self.seen:
            return
        self._nameless.require_none(f"column {self._column!r}", self._received)
        repeated = self._received - _count_distinct(self.seen)
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
    """Number of different names, all of them numbers or nonempty texts.

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
