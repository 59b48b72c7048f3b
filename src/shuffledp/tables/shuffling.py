"""From parts of reports to a view in parts: the uniform shuffle over buckets on disk, every other one in memory."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shuffledp.errors import BatchTooSmallError, InputDataError
from shuffledp.flow import Reports, Shuffler, View
from shuffledp.models import ShuffleModel
from shuffledp.table import Table
from shuffledp.tables.grouping import grouping_of
from shuffledp.tables.networks import read_graphs
from shuffledp.tables.parquet import ReportPart
from shuffledp.tables.spool import ReportSpool
from shuffledp.tasks import ROW, NetworkSection, Task, walking

if TYPE_CHECKING:
    from shuffledp.randomness import RandomSource

__all__ = ["ShuffledParts", "require_batch", "require_room", "shuffled", "shuffler_for"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShuffledParts:
    """A view in parts, of which nothing has been seen yet.

    Args:
        shuffle: the public description of the shuffle of all the reports.
        num_reports: reports in all parts.
        views: the parts, to be taken once.
        shuffler: what made it.
    """

    shuffle: ShuffleModel
    num_reports: int
    views: Iterator[View]
    shuffler: Shuffler


@contextmanager
def shuffled(
    task: Task, parts: Iterable[ReportPart], folder: Path, *, beside: Path, source: "RandomSource"
) -> Iterator[ShuffledParts]:
    """Take all reports in, then give the view back; what lies on disk in between is gone when the block ends.

    Args:
        task: says how to shuffle, and how many reports there must be.
        parts: all reports; they are taken before the block begins.
        folder: a private place on a disk with room for all reports.
        beside: the folder of the task file, which paths in the task are relative to.
        source: randomness.

    Raises:
        BatchTooSmallError: if there are fewer reports than the task's smallest batch; then nothing is shuffled.
        InputDataError: if reports say which round they are for, and are not those of one person after another.
    """
    parts = _in_their_rounds(task, parts)
    if not task.shuffler.is_uniform:
        yield _shuffled_in_memory(task, list(parts), beside, source)
        return
    with ReportSpool(folder, source=source) as spool:
        for reports, _ in parts:  # public columns are detached
            spool.add(reports)
        require_batch(task, spool.num_reports)
        shuffler = task.shuffler.shuffler()
        shuffle = shuffler.model(spool.num_users)
        views = spool.views(shuffle)
        yield ShuffledParts(shuffle=shuffle, num_reports=spool.num_reports, views=views, shuffler=shuffler)


def _in_their_rounds(task: Task, parts: Iterable[ReportPart]) -> Iterator[ReportPart]:
    """The same parts, if each person's messages are for all rounds in their order: else they would mix with others'."""
    first = 0
    for reports, public in parts:
        wrong = reports.misplaced(first=first)
        if wrong is not None:
            messages = reports.model.num_messages
            raise InputDataError(
                f"the reports of column {task.value!r} must be those of one person after another, each for rounds 0 to "
                f"{messages - 1} in this order; row {wrong} (counted from 0) is not for round {wrong % messages}."
            )
        first += len(reports)
        yield reports, public


def require_batch(task: Task, num_reports: int) -> None:
    """Refuse to release too few reports, or those of more people than were planned for where that matters."""
    messages = task.randomizer.randomizer().model.num_messages
    people, counted = num_reports // messages, "reports of" if messages == 1 else "people in"
    if people < task.release.minimum_batch:
        raise BatchTooSmallError(
            f"a release needs at least minimum_batch = {task.release.minimum_batch} {counted} column "
            f"{task.value!r}; got {people}. Nothing was released."
        )
    task.require_people(people)
    require_room(task, people)


def require_room(task: Task, num_users: int) -> None:
    """Refuse more people than were planned for.

    Raises:
        InputDataError: if they are more than the task's protocol has room for.
    """
    most = task.randomizer.most_people
    if most is not None and num_users > most:
        raise InputDataError(
            f"column {task.value!r} must hold the answers of at most expected = {most} people, which the task was "
            "planned for; there are more."
        )


def shuffler_for(task: Task, public: Table | None, num_users: int, beside: Path) -> Shuffler:
    """The shuffler that the task names, with the groups of these people, or the graph that their reports walk along.

    Raises:
        InputDataError: if groups cannot be made, the graph is of other people, or rows are numbered wrong.
        InvalidParameterError: if rounds are to be found, and none are enough.
    """
    if task.shuffler.num_rows is not None and public is not None:
        return task.shuffler.shuffler_of(_numbered_rows(public, task.shuffler.num_rows))
    if isinstance(task.shuffler, NetworkSection):
        graphs = read_graphs(task.shuffler, num_users, beside)
        return walking(task.shuffler, graphs, task.randomizer.randomizer(), task.release.delta)
    if task.groups is None:
        return task.shuffler.shuffler()
    return task.shuffler.shuffler(grouping_of(task.groups, public, num_users, beside))


def _numbered_rows(people: Table, num_rows: int) -> NDArray[np.int64]:
    """The rows of the input that people were in, in their order."""
    rows = people[ROW].astype(np.int64)
    if (np.diff(rows, prepend=-1, append=num_rows) < 1).any():
        raise InputDataError(f"the reports must be those of rows 0 to {num_rows - 1} of the input, in order.")
    return rows


def _shuffled_in_memory(task: Task, parts: list[ReportPart], beside: Path, source: "RandomSource") -> ShuffledParts:
    require_batch(task, sum(len(reports) for reports, _ in parts))
    reports = Reports.concat([part for part, _ in parts])
    attached = [columns for _, columns in parts if columns is not None]
    public = Table.from_arrow(pa.concat_tables(attached)[:: reports.model.num_messages]) if attached else None
    shuffler = shuffler_for(task, public, reports.num_users, beside)
    shuffler = task.shuffler.in_rounds(shuffler, reports.model.num_messages)
    view = shuffler.shuffle(reports, public=public, source=source)
    if not len(view):
        raise InputDataError(
            f"none of the {len(reports)} reports of column {task.value!r} was handed in: all were lost on their way, "
            "with the task's dropouts and rounds. Nothing was released."
        )
    return ShuffledParts(shuffle=view.shuffle, num_reports=len(view), views=iter([view]), shuffler=shuffler)
