"""Reports from the devices of people who answer together, such as a simulated crowd.

Each device sends one report for each column.

In a file of reports columns stand apart, and whoever left one question out is missing in that one alone. A device sends
everything at once, or nothing: whoever left any question out takes no part.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shuffledp.core.flow import Reports
from shuffledp.core.table import Table
from shuffledp.files.answer_reader import AnswerReader
from shuffledp.files.numerals import NumberColumn
from shuffledp.files.randomizing import PeopleCheck, PublicReader
from shuffledp.files.reading import NOBODY, OneInput, ProgressListener, guarded, read_batches
from shuffledp.randomness.sources import RandomSource, resolve_source
from shuffledp.survey import Column, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceReports:
    """Reports that devices send, in the order of the people.

    They are to be sealed, and never to be kept.

    Args:
        reports: of each private column, with all messages of a person side by side.
        public: a row of public columns for each person, where the shuffler works by them; else None.
        left_out: people who did not answer all questions.
    """

    reports: tuple[Reports, ...]
    public: Table | None
    left_out: int

    @property
    def num_users(self) -> int:
        """Number of people who send reports."""
        return self.reports[0].num_users

    def take(self, people: slice | list[int]) -> "DeviceReports":
        """Reports of the chosen people only, by index."""
        public = None if self.public is None else self.public.take(people)
        return DeviceReports(reports=tuple(_theirs(each, people) for each in self.reports), public=public, left_out=0)


def _theirs(reports: Reports, people: slice | list[int]) -> Reports:
    """All messages of the chosen people."""
    messages = reports.model.num_messages
    if messages == 1:
        return reports.take(people)
    rows = np.arange(len(reports)).reshape(-1, messages)[people]
    return reports.take(rows.ravel())


def randomize_each(
    task: Task, answers: OneInput, *, source: RandomSource | None = None, watch: ProgressListener = NOBODY
) -> DeviceReports:
    """Randomized answers of each person in every private column of a task.

    The whole input is held in memory.

    Args:
        task: the task.
        answers: one row per person.
        source: randomness; None is the cryptographic source.
        watch: told in which columns numbers have decimal commas.

    Raises:
        InputDataError: for answers that do not fit the task, or of more people than a sum was planned for.
    """
    source, columns = resolve_source(source), task.columns
    public, read = PublicReader(task), [_Answers(column) for column in columns]
    people = PeopleCheck(task.people.id, strip=task.strip)
    names = [*(name for column in columns for name in column.read_from), *public.names, *filter(None, [task.people.id])]
    beside = []
    for batch in read_batches(answers, list(dict.fromkeys(names)), present=task.public):
        guarded(answers, partial(people.read, batch))
        kept = np.logical_and.reduce([guarded(answers, partial(each.read, batch)) for each in read])
        beside.append(guarded(answers, partial(public.read, batch, kept)))
    for finish in (*(each.finish for each in read), public.finish):
        finish()
    guarded(answers, people.finish)
    own = {each.column.value: each.numbers for each in read if each.numbers is not None}
    for name, numbers in (own | public.numbers).items():
        watch.decimals(name, numbers.commas, numbers.points)
    together = np.logical_and.reduce([each.kept for each in read])
    for each in read:
        each.column.require_room(int(np.count_nonzero(together)))
    tables = [part for part in beside if part is not None]
    return DeviceReports(
        reports=tuple(each.column.randomizer.randomizer().randomize(each.of(together), source=source) for each in read),
        public=Table.from_arrow(pa.concat_tables(tables)) if tables else None,
        left_out=int(np.count_nonzero(~together)),
    )


def is_asked(column: Column, answers: OneInput) -> bool:
    """Whether a column's question has no condition, or a person's earlier answer meets the condition.

    The answers are a table of one row.
    """
    reader, earlier = AnswerReader(column), column.earlier
    if earlier is None:
        return True
    masks = [reader.asked(batch) for batch in read_batches(answers, list(earlier.inputs), present=())]
    return any(mask is not None and mask.any() for mask in masks)


class _Answers:
    """Answers in a private column, batch after batch, and the mask of people who answered."""

    def __init__(self, column: Column) -> None:
        self.column = column
        self._reader = AnswerReader(column)
        self._values: list[NDArray[np.generic]] = []
        self._kept: list[NDArray[np.bool_]] = []
        self.finish = self._reader.finish

    @property
    def numbers(self) -> NumberColumn | None:
        """Decimal marks found in a column of numbers; None for other answers."""
        return self._reader.numbers

    def read(self, batch: pa.RecordBatch) -> NDArray[np.bool_]:
        """Take a batch, and return the mask of people who answered."""
        values, kept = self._reader.read_batch(batch)
        self._values.append(values)
        self._kept.append(kept)
        return kept

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Mask of people who answered, over all batches."""
        return np.concatenate(self._kept)

    def of(self, people: NDArray[np.bool_]) -> NDArray[np.generic]:
        """Answers of the chosen people, who must all have answered."""
        answers: NDArray[np.generic] = np.concatenate(self._values)[people[self.kept]]
        return answers
