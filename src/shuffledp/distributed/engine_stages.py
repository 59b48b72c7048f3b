"""Separate stages of a task on an engine (randomize, shuffle, analyze), each from files to files.

A file of one machine is a folder of parts here; either reads the other's. A whole run, in `engine`, does
the same without the folders in between.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from shuffledp.core.errors import InputDataError
from shuffledp.distributed.engine import (
    VIEW,
    concluded,
    counted_flow,
    files_of,
    listed,
    named_in,
    parts_for,
    require_supported,
    written_view,
)
from shuffledp.distributed.jobs import done_by, unchanged
from shuffledp.distributed.kernels import PartFacts
from shuffledp.distributed.shares import divide
from shuffledp.distributed.stage_input import StageFiles
from shuffledp.files.file_facts import FileFacts
from shuffledp.files.parquet import read_reports, read_view
from shuffledp.files.randomizing import step_of
from shuffledp.files.reading import NOBODY, ProgressListener, TableFiles
from shuffledp.files.releases import composed_release, released_columns
from shuffledp.files.stages import given_files, stage_of
from shuffledp.files.table_files import rows_of
from shuffledp.survey import Column, ColumnOutcome, Outcome, Provenance, StageOutcome, Task, read_earlier


def randomize_on(
    session: Any,
    task: Task,
    answers: Path | TableFiles,
    output: Path,
    *,
    seed: int | None = None,
    watch: ProgressListener = NOBODY,
) -> StageOutcome:
    """Devices' stage: randomize raw answers into one folder of report files for each column.

    The reports are in the order of the people.

    Args:
        session: the session; its workers see the files of ``answers`` and the ``output`` under the same names.
        task: the task, whose shuffle is uniform.
        answers: the files of the table.
        output: empty folder for the output; for a task with blocks, it gets ``COLUMN.parquet`` for each column.
        seed: for experiments only; None is a fresh key.
        watch: told about progress.

    Raises:
        UnsupportedModelError: for a task that the engine does not support.
        InputDataError: for answers that do not fit the task, or files that change while they are read.
        EngineError: if Spark fails.
    """
    outputs, done = list(_outputs(task, output)), []
    files, named = files_of(answers), named_in(task)
    rows_of(files, named)  # refuses an unfit table before reading all of it for the digests
    with unchanged(session, files, output, seed) as job:
        shares, rows = divide(answers, named)  # from the files whose digests were taken
        for number, (column, folder) in enumerate(outputs):
            num_parts = parts_for(column, rows) if column.people.id is not None else 1  # parts for names
            made = job("randomize", column, number, folder, shares=shares, num_parts=num_parts)
            counts, parts = done_by(session, made, watch, [step_of("randomizing", column)] * 2)
            flow = counted_flow(column, counts, watch)
            facts = FileFacts.of(column, "reports", flow, Provenance(seeded=seed is not None))
            names = listed(parts, facts, folder)
            num_reports = sum(each.num_reports for each in parts)
            column.require_room(facts.local.num_users_of(num_reports))
            secret = facts.local.guarantee.is_trivial
            done.append(stage_of(column, facts, num_reports, is_secret=secret).with_files(folder.parent, names))
    return StageOutcome(stage="randomize", task=task, columns=dict(zip(task.folders, done, strict=True)))


def shuffle_on(
    session: Any,
    task: Task,
    reports: Path,
    output: Path,
    *,
    seed: int | None = None,
    watch: ProgressListener = NOBODY,
    parts: int | None = None,
) -> StageOutcome:
    """Shuffler's stage: shuffle the reports of each column into one view in parts.

    The reports are the output of `randomize_on`, or of the same stage on one machine.

    The other arguments are as in `randomize_on`; ``parts`` is the number of parts of each view; None takes enough to
    keep each below 64 MiB.

    Raises:
        UnsupportedModelError: for a task that the engine does not support.
        InvalidParameterError: if the task has blocks and ``reports`` is no folder with the reports of each column.
        InputDataError: if a file is damaged, belongs to another task or column, does not fit it, or changes.
        BatchTooSmallError: if there are fewer reports than the task's smallest batch.
        EngineError: if Spark fails.
    """
    done = []
    taken = given_files(task, reports)
    for number, ((column, folder), place) in enumerate(zip(_outputs(task, output), taken, strict=True)):
        files, (_, facts) = StageFiles(place), read_reports(place, column)
        shares, rows = divide(TableFiles(files.paths), ())
        column.require_batch(rows)
        with unchanged(session, files.paths, output, seed, files) as job:
            num_parts = parts or parts_for(column, facts.local.num_users_of(rows))
            made = job("shuffle", column, number, folder, shares=shares, num_parts=num_parts, given=facts)
            _, found = done_by(session, made, watch, [step_of(verb, column) for verb in ("reading", "shuffling")])
        _require_all(place, found, rows)
        provenance = Provenance(seeded=facts.seeded or seed is not None)
        facts, names = written_view(column, found, facts.flow, folder, provenance)
        done.append(stage_of(column, facts, facts.flow.released).with_files(folder.parent, names))
    return StageOutcome(stage="shuffle", task=task, columns=dict(zip(task.folders, done, strict=True)))


def analyze_on(
    session: Any,
    task: Task,
    views: Path,
    folder: Path,
    *,
    earlier: Sequence[Path] = (),
    watch: ProgressListener = NOBODY,
) -> Outcome:
    """Analyst's stage: estimates and statements from the view of each column; the view is written in parts.

    The arguments are as in `shuffle_on`; ``views`` is its output, or that of one machine; ``earlier`` are the
    ``statement.json`` of earlier releases about the same people that the task names. Errors are as there.
    """
    releases = read_earlier(task, earlier)
    for column in task.columns:
        require_supported(column)
    given = iter(given_files(task, views))

    def released(column: Column, out: Path) -> ColumnOutcome:
        place = next(given)
        files, (_, facts) = StageFiles(place), read_view(place, column)
        column.require_batch(facts.flow.released)
        shares, _ = divide(TableFiles(files.paths), ())
        view = out / VIEW
        view.mkdir()
        with unchanged(session, files.paths, folder, None, files) as job:
            number = task.columns.index(column)
            made = job("analyze", column, number, view, shares=shares, num_parts=1, given=facts)
            _, parts = done_by(session, made, watch, [step_of("analyzing", column)] * 2)
        _require_all(place, parts, facts.flow.released)
        return concluded(column, parts, facts, out, listed(parts, facts, view))

    return composed_release(task, released_columns(task, released, folder), releases, folder)


def _outputs(task: Task, output: Path) -> Iterator[tuple[Column, Path]]:
    """Columns with the folders of their parts; all columns are checked before a folder is made."""
    for column in task.columns:
        require_supported(column)
    for column, folder in zip(task.columns, task.stage_files(output), strict=True):
        folder.mkdir(exist_ok=True)
        yield column, folder


def _require_all(place: Path, parts: Sequence[PartFacts], rows: int) -> None:
    """Refuse a list of parts whose number of reports differs from the reports read."""
    if sum(each.num_reports for each in parts) != rows:
        raise InputDataError(f"{place} must hold the {rows} reports that it lists; it does not. Nothing was released.")
