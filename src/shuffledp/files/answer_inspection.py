"""Inspection of a table of answers, to write a first task file that fits the table.

Whoever looks holds the answers. What is found goes into a task file, and is said to be a release of its own.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shuffledp.core.errors import InputDataError
from shuffledp.core.table import Table
from shuffledp.files.numerals import NumberColumn, may_have_commas
from shuffledp.files.randomizing import RandomizedReports
from shuffledp.files.reading import NOBODY, read_batches
from shuffledp.files.row_problems import is_number, is_text, plain, stripped
from shuffledp.randomness.sources import resolve_source
from shuffledp.survey import Task
from shuffledp.survey.questions.multi_select import SEPARATOR

Category = str | int | bool
MOST_CATEGORIES = 100
_MORE_THAN_CATEGORIES = 12  # different numbers; a column with more is put into bins
# Texts for a missing answer, in lower case.
_NOT_ANSWERED = {"na", "n/a", "#n/a", "nan", "null", "k.a.", "k. a.", "keine angabe", "no answer", "?", "-", "--", "."}
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([T ].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnContent:
    """Content of one column of answers.

    Args:
        column: its name.
        rows: rows of the table.
        answers: the different answers in an order that tells nothing, blanks around texts taken off if any has some;
            None where they are more than ``MOST_CATEGORIES``.
        unanswered: texts among them that mean that somebody did not answer.
        padded: whether texts have blanks around them.
        is_number: whether all answers are numbers.
        is_whole: whether all are whole.
        is_date: whether all answers are dates.
        length: numbers in the first list of a column of lists; 0 for other columns.
        parts: the different texts in lists, or between separators, in order; None if more than ``MOST_CATEGORIES``.
        is_listed: whether some answer holds several of them.
    """

    column: str
    rows: int
    answers: tuple[Category, ...] | None
    unanswered: tuple[str, ...]
    padded: bool
    is_number: bool
    is_whole: bool
    is_date: bool
    length: int = 0
    parts: tuple[str, ...] | None = ()
    is_listed: bool = False

    @property
    def wants_bins(self) -> bool:
        """Whether answers are numbers with too many values for categories."""
        return self.is_number and (self.answers is None or len(self.answers) > _MORE_THAN_CATEGORIES)

    @property
    def alike(self) -> tuple[tuple[str, ...], ...]:
        """Groups of answers that differ only in letter case."""
        texts = [each for each in self.answers or () if isinstance(each, str)]
        times = Counter(text.casefold() for text in texts)
        several = (folded for folded, count in times.items() if count > 1)
        return tuple(tuple(text for text in texts if text.casefold() == folded) for folded in several)

    def categories(self) -> tuple[Category, ...]:
        """The answers as categories; refused if there are too few or too many, or if they are dates."""
        if self.is_date and (self.answers is None or len(self.answers) > _MORE_THAN_CATEGORIES):
            raise InputDataError(
                f"column {self.column!r} must hold answers that can be categories; it holds dates. Put the month or "
                "the year of each into a column of its own, or the number of days for --kind histogram, and name that."
            )
        if self.answers is None:
            raise InputDataError(
                f"column {self.column!r} must hold at most {MOST_CATEGORIES} different answers if no --categories are "
                "given; numbers are put into bins by --kind histogram, and averaged by --kind mean."
            )
        if len(self.answers) < 2:
            raise InputDataError(
                f"column {self.column!r} must hold at least two different answers if no --categories are given."
            )
        return self.answers

    def options(self) -> tuple[str, ...]:
        """Parts of answers as options to tick; refused if there are too few or too many parts."""
        if self.parts is None or len(self.parts) < 2:
            raise InputDataError(
                f"column {self.column!r} must hold lists, or texts with {SEPARATOR!r} between options, of 2 to "
                f"{MOST_CATEGORIES} different options if no --categories are given."
            )
        return self.parts


class _ColumnReader:
    """Content of a column, collected batch after batch."""

    def __init__(self, name: str) -> None:
        self._name, self._rows, self._padded = name, 0, False
        self._numbers, self._number, self._whole, self._date = NumberColumn(f"column {name!r}"), True, True, True
        self._found: set[Any] = set()
        self._unanswered: set[str] = set()
        self._length = 0
        self._parts: set[str] = set()
        self._listed = False

    def add(self, batch: pa.RecordBatch) -> None:
        """Add a batch of answers to the content of the column."""
        self._rows += batch.num_rows
        column = plain(batch.column(self._name)).drop_null()
        if pa.types.is_nested(column.type):
            self._number = self._whole = self._date = False
            self._length = self._length or (len(column[0]) if len(column) else 0)
            if is_text(getattr(column.type, "value_type", column.type)):
                self._take_apart(column)
            return
        if pa.types.is_floating(column.type):
            column = column.filter(pc.invert(pc.is_nan(column)))
        if is_text(column.type):
            whole, column = column, stripped(column)
            self._padded |= bool(pc.any(pc.not_equal(whole, column)).as_py())
            unanswered = pc.is_in(pc.utf8_lower(column), pa.array([*_NOT_ANSWERED, ""], column.type))
            self._unanswered |= {each for each in pc.unique(column.filter(unanswered)).to_pylist() if each}
            column = column.filter(pc.invert(unanswered))
            self._take_apart(pc.split_pattern(pc.unique(column), SEPARATOR))
        self._look(column, commas=may_have_commas(batch))

    def _take_apart(self, lists: pa.Array) -> None:
        """Add the parts of lists of texts, without blanks around them."""
        parts = stripped(pc.list_flatten(lists))
        self._listed |= len(parts) > len(lists)
        if len(self._parts) <= MOST_CATEGORIES:
            self._parts |= {each for each in pc.unique(parts).to_pylist() if each}

    def _look(self, column: pa.Array, *, commas: bool) -> None:
        different = pc.unique(column)
        if len(self._found) <= MOST_CATEGORIES:
            self._found |= set(different.to_pylist())
        readable = is_text(column.type) or is_number(column.type) or pa.types.is_decimal(column.type)
        numbers = self._numbers.read(different, commas=commas) if readable else np.array([np.nan])
        self._number &= bool(np.isfinite(numbers).all()) or not len(column)
        self._whole &= bool((numbers == np.rint(numbers)).all()) or not len(column)
        dates = pa.types.is_temporal(column.type) or (
            is_text(column.type) and all(_DATE.fullmatch(each) for each in different.to_pylist())
        )
        self._date &= bool(dates)

    def found(self) -> ColumnContent:
        """Content of the column, after the last batch."""
        few = len(self._found) <= MOST_CATEGORIES
        return ColumnContent(
            column=self._name,
            rows=self._rows,
            answers=tuple(sorted(self._found)) if few else None,
            unanswered=tuple(sorted(self._unanswered)),
            padded=self._padded,
            is_number=self._number and bool(self._found),
            is_whole=self._whole,
            is_date=self._date and bool(self._found),
            length=self._length,
            parts=tuple(sorted(self._parts)) if len(self._parts) <= MOST_CATEGORIES else None,
            is_listed=self._listed,
        )


def inspected_columns(
    answers: Path, columns: Sequence[str], *, beside: Sequence[str] = ()
) -> tuple[ColumnContent, ...]:
    """Content of columns of a table, in their order; ``beside`` are further columns that must exist.

    Raises:
        InputDataError: as `read_batches`.
    """
    kept = [_ColumnReader(name) for name in dict.fromkeys(columns)]
    for batch in read_batches(answers, list(dict.fromkeys(columns)), present=beside):
        for column in kept:
            column.add(batch)
    return tuple(each.found() for each in kept)


@dataclass(frozen=True, slots=True)
class FewestPeople:
    """Fewest people whose answers a task takes from a table: in any private column, and in any region."""

    people: int
    of_region: int


def fewest_people_in(task: Task, answers: Path) -> FewestPeople:
    """Fewest people whose answers a task takes from a table, read as in a run without randomizing.

    Raises:
        InputDataError: for answers or public columns that do not fit the task.
        InvalidParameterError: for places that are no degrees.
    """
    people, regions = [], []
    for column in task.columns:
        kept, beside = 0, []
        for values, public in RandomizedReports(column, answers, resolve_source(None), NOBODY).people():
            kept += len(values)
            beside += [] if public is None else [public]
        people.append(kept)
        if beside:
            found = task.shuffler.fewest_together(Table.from_arrow(pa.concat_tables(beside)).columns)
            regions += [] if found is None else [found]
    return FewestPeople(min(people), min([*regions, *people]))
