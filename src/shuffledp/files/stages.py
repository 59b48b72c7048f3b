"""Stages of a task from file to file, one by one or all at once, separately for each column.

Everything of the flow is in the four functions: what a stage reads, the one step that it takes with each column, and
what it writes. Columns draw one after the other from one source, which hands out no word twice: a substream by the
number of the column would give the next run, if it draws from the same source, the same words.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from shuffledp.core.statement_terms import Trust
from shuffledp.core.validate import invalid
from shuffledp.files.family_files import ShuffledParts
from shuffledp.files.file_facts import FileFacts
from shuffledp.files.parquet import ReportsWriter, ViewWriter, read_reports, read_view
from shuffledp.files.randomizing import RandomizedReports, require_inside, step_of
from shuffledp.files.reading import NOBODY, Input, ProgressListener, counted
from shuffledp.files.releases import composed_release, release_of_views, released_columns
from shuffledp.files.shuffling import shuffled
from shuffledp.randomness.sources import RandomSource, resolve_source
from shuffledp.survey import (
    Column,
    ColumnOutcome,
    ColumnStage,
    DataFlow,
    Outcome,
    Provenance,
    StageOutcome,
    Task,
    read_earlier,
)

_HERE = Path()


def randomize(
    task: Task, answers: Input, output: Path, *, source: RandomSource | None = None, watch: ProgressListener = NOBODY
) -> StageOutcome:
    """Stage 1, on the devices: reads answers, and writes a file of reports for each column.

    Reports are in the order of the people.

    The input is read once for each column. Memory: one batch of the input and its reports, and the names of the people
    if the task asks for them.

    Args:
        task: the task.
        answers: one row per person.
        output: file of the reports; or, of a task with blocks, a folder for ``COLUMN.parquet`` of each column.
        source: randomness; None is the cryptographic source.
        watch: told how far it is, and how many answers were clipped.

    Raises:
        InputDataError: for answers that do not fit the task.
    """
    source, done = resolve_source(source), []
    for column, file in zip(task.columns, task.stage_files(output), strict=True):
        randomized = RandomizedReports(column, answers, source, watch)
        with ReportsWriter(file, column) as writer:
            for reports, public in randomized:
                writer.write(reports, public)
            facts = FileFacts.of(column, "reports", randomized.flow, Provenance(seeded=source.reproducible))
            names = writer.finish(facts)
        secret = facts.local.guarantee.is_trivial
        done.append(stage_of(column, facts, randomized.num_reports, is_secret=secret).with_files(file.parent, names))
    return StageOutcome(stage="randomize", task=task, columns=dict(zip(task.folders, done, strict=True)))


def shuffle(
    task: Task,
    reports: Path,
    output: Path,
    *,
    source: RandomSource | None = None,
    watch: ProgressListener = NOBODY,
    beside: Path = _HERE,
) -> StageOutcome:
    """Stage 2, at the shuffler: reads the reports of each column, and writes its view, shuffled independently.

    Memory: for a uniform shuffle a few hundred MiB or three times a 256th of the reports, whichever is more (the others
    lie in buckets in a private folder beside the output); for any other, all reports and a permutation of them, and the
    public columns and groups of the people if it hides the order inside groups, or their regions and weights.

    Args:
        task: the task.
        reports: what `randomize` wrote.
        output: file of the view; or, of a task with blocks, a folder for the view of each column.
        source: randomness; None is the cryptographic source.
        watch: told how far it is.
        beside: the folder of the task file, which paths in the task are relative to.

    Raises:
        InvalidParameterError: if ``reports`` is no folder that holds a file for each column, of a task with blocks.
        InputDataError: if a file is damaged, belongs to another task or column, or does not fit it.
        BatchTooSmallError: if there are fewer reports than the task's smallest batch.
    """
    source, done = resolve_source(source), []
    for column, taken, file in zip(task.columns, given_files(task, reports), task.stage_files(output), strict=True):
        parts, facts = read_reports(taken, column)
        parts = counted(parts, watch, step_of("reading", column), size=lambda part: len(part[0]))
        with (
            shuffled(column, parts, file.parent, beside=beside, source=source) as result,
            ViewWriter(file, column) as writer,
        ):
            flow, seeded = _released(column, facts.flow, result), facts.seeded or source.reproducible
            facts = FileFacts.of(column, "view", flow, Provenance(seeded=seeded), shuffle=result.shuffle)
            for view in counted(result.views, watch, step_of("shuffling", column), result.num_reports):
                writer.write(view)
            names = writer.finish(facts)
        done.append(stage_of(column, facts, result.num_reports).with_files(file.parent, names))
    return StageOutcome(stage="shuffle", task=task, columns=dict(zip(task.folders, done, strict=True)))


def analyze(
    task: Task,
    views: Path,
    folder: Path,
    *,
    earlier: Sequence[Path] = (),
    watch: ProgressListener = NOBODY,
    beside: Path = _HERE,
) -> Outcome:
    """Stage 3, at the analyst: reads the view of each column; writes the view, estimates and statements.

    Memory: a part of the view after a uniform shuffle, the whole view after any other.

    The arguments are as of `shuffle`, ``views`` being what it wrote. In ``folder`` each column of a task with blocks
    gets one; ``earlier`` are the ``statement.json`` of earlier releases about the same people that the task names.

    Raises:
        InvalidParameterError: if ``earlier`` is not as the task says, or ``views`` is no folder that holds a file for
            each column, of a task with blocks.
        InputDataError: if a file is damaged, belongs to another task or column, or does not fit it.
        BatchTooSmallError: if there are fewer reports than the task's smallest batch.
    """
    releases, given = read_earlier(task, earlier), iter(given_files(task, views))

    def released(column: Column, place: Path) -> ColumnOutcome:
        parts, facts = read_view(next(given), column)
        people = facts.shuffle.num_users if facts.shuffle and column.shuffler.needs_graph else facts.flow.released
        column.require_batch(min(people, facts.flow.released))  # people may be fewer than reports
        return release_of_views(column, parts, facts, place, watch, beside=beside)

    return composed_release(task, released_columns(task, released, folder), releases, folder)


def run(
    task: Task,
    answers: Input,
    folder: Path,
    *,
    source: RandomSource | None = None,
    watch: ProgressListener = NOBODY,
    earlier: Sequence[Path] = (),
    beside: Path = _HERE,
    demonstration: bool = False,
) -> Outcome:
    """Run all stages in one place, whose operator sees the raw answers, as the statements say.

    The input is read once for each column. Memory: what `randomize` and `shuffle` take; the raw answers are never held
    together, and nothing is kept of one column for the next but its estimate.

    The arguments are as of the stages, and ``answers`` may be a table in memory; in ``folder`` each column of a task
    with blocks gets a folder of its own. Of a ``demonstration`` the release says that its answers may be made up.

    Raises:
        InvalidParameterError: if ``earlier`` is not as the task says.
        InputDataError: for answers that do not fit the task.
        BatchTooSmallError: if there are fewer reports than the task's smallest batch.
    """
    releases, source = read_earlier(task, earlier), resolve_source(source)
    provenance = Provenance(seeded=source.reproducible, trust=(Trust.OPERATOR,), demonstration=demonstration)

    def released(column: Column, place: Path) -> ColumnOutcome:
        randomized = RandomizedReports(column, answers, source, watch)
        with shuffled(column, randomized, place, beside=beside, source=source) as result:
            require_inside(column, randomized.clipped, randomized.flow)
            facts = FileFacts.of(
                column, "view", _released(column, randomized.flow, result), provenance, shuffle=result.shuffle
            )
            return release_of_views(column, result.views, facts, place, watch, beside=beside, shuffler=result.shuffler)

    return composed_release(task, released_columns(task, released, folder), releases, folder)


def given_files(task: Task, stage: Path) -> tuple[Path, ...]:
    """File of each column from the previous stage; in a task with blocks, all files must exist."""
    files = task.stage_files(stage)
    if task.in_blocks and not all(file.exists() for file in files):
        names = ", ".join(file.name for file in files)
        raise invalid(f"a folder that holds, from the stage before, {names}", input=str(stage))
    return files


def stage_of(column: Column, facts: FileFacts, num_reports: int, *, is_secret: bool = False) -> ColumnStage:
    """Result of a stage that wrote files with these facts."""
    return ColumnStage(
        column=column, flow=facts.flow, num_reports=num_reports, seeded=facts.seeded, is_secret=is_secret
    )


def _released(column: Column, flow: DataFlow, result: ShuffledParts) -> DataFlow:
    return replace(flow, released=result.num_reports, detached=column.detached)
