"""The stages of a task of several private columns, each column by itself, and what that means for one person."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shuffledp._validate import invalid
from shuffledp.tables.stages import (
    analyze_unwritten,
    randomize_file,
    run_unwritten,
    shuffle_file,
    write_outcome,
    write_statement,
)
from shuffledp.tables.watching import Watch
from shuffledp.tasks import (
    EarlierRelease,
    JointOutcome,
    JointStageOutcome,
    JointTask,
    Outcome,
    Task,
    composed_columns,
    composed_with,
    read_earlier,
)

if TYPE_CHECKING:
    from shuffledp.randomness import RandomSource

__all__ = ["analyze_joint_files", "randomize_joint_file", "run_joint_file", "shuffle_joint_files"]

_NOBODY = Watch()
_HERE = Path()


def randomize_joint_file(
    task: JointTask,
    answers: Path,
    folder: Path,
    *,
    source: "RandomSource | None" = None,
    watch: Watch = _NOBODY,
) -> JointStageOutcome:
    """The devices' stage: raw answers in, a file of reports for each column out, all in the order of the people.

    The input is read once for each column. Memory: as `randomize_file`.

    Args:
        task: the task.
        answers: one row per person.
        folder: where to write ``COLUMN.parquet`` for each column, by the name of its folder in a release.
        source: randomness; None is the cryptographic source.
        watch: told how far it is, and how many answers were clipped.

    Raises:
        InputDataError: for answers that do not fit the task.
    """
    columns = {
        name: randomize_file(part, answers, _file_of(name, folder), source=source, watch=watch)
        for name, part in _columns(task)
    }
    return JointStageOutcome(stage="randomize", task=task, columns=columns)


def shuffle_joint_files(
    task: JointTask,
    reports: Path,
    folder: Path,
    *,
    source: "RandomSource | None" = None,
    watch: Watch = _NOBODY,
    beside: Path = _HERE,
) -> JointStageOutcome:
    """The shuffler's stage: a folder of reports in, the view of each column out, each shuffled independently.

    Memory and arguments: as `shuffle_file`.

    Raises:
        InvalidParameterError: if ``reports`` is no folder that holds a file for each column.
        InputDataError: if a file is damaged, belongs to another task or column, or does not fit it.
        BatchTooSmallError: if a column has fewer reports than the task's smallest batch.
    """
    _require_files(task, reports)
    columns = {
        name: shuffle_file(
            part, _file_of(name, reports), _file_of(name, folder), source=source, watch=watch, beside=beside
        )
        for name, part in _columns(task)
    }
    return JointStageOutcome(stage="shuffle", task=task, columns=columns)


def analyze_joint_files(
    task: JointTask,
    views: Path,
    folder: Path,
    *,
    earlier: Sequence[Path] = (),
    watch: Watch = _NOBODY,
    beside: Path = _HERE,
) -> JointOutcome:
    """The analyst's stage: a folder of views in; what `run_joint_file` writes out.

    Memory: as `analyze_file`.

    Args:
        task: the task.
        views: as `shuffle_joint_files` wrote it.
        folder: where to write.
        earlier: the ``statement.json`` of each earlier release about the same people that the task names.
        watch: told how far it is.
        beside: the folder of the task file, which paths in the task are relative to.

    Raises:
        InvalidParameterError: if ``earlier`` is not as the task says, or ``views`` is no folder that holds a file for
            each column.
        InputDataError: if a file is damaged, belongs to another task or column, or does not fit it.
        BatchTooSmallError: if a column has fewer reports than the task's smallest batch.
    """
    releases = read_earlier(task, earlier)
    _require_files(task, views)
    outcomes = {}
    for name, part in _columns(task):
        (folder / name).mkdir()
        outcomes[name] = analyze_unwritten(part, _file_of(name, views), folder / name, watch=watch, beside=beside)
    return _finish(task, outcomes, releases, folder)


def run_joint_file(
    task: JointTask,
    answers: Path,
    folder: Path,
    *,
    source: "RandomSource | None" = None,
    watch: Watch = _NOBODY,
    earlier: Sequence[Path] = (),
    beside: Path = _HERE,
) -> JointOutcome:
    """All stages in one place, for one column after the other; the input is read once for each.

    Every column gets a folder with what `run_file` writes; its statements are those about one person over all columns,
    which are in ``statement.json`` beside the folders too. What a column takes is a part of them.

    Memory: as `run_file`; nothing is kept of one column for the next but its estimate.

    Args:
        task: the task.
        answers: one row per person.
        folder: where to write.
        source: randomness; None is the cryptographic source.
        watch: told how far it is, and how many answers were clipped.
        earlier: the ``statement.json`` of each earlier release about the same people that the task names.
        beside: as for `analyze_joint_files`.

    Raises:
        InvalidParameterError: if ``earlier`` is not as the task says.
        InputDataError: for answers that do not fit the task.
        BatchTooSmallError: if a column has fewer reports than the task's smallest batch.
    """
    releases, outcomes = read_earlier(task, earlier), {}
    for name, part in _columns(task):
        (folder / name).mkdir()
        outcomes[name] = run_unwritten(part, answers, folder / name, source=source, watch=watch, beside=beside)
    return _finish(task, outcomes, releases, folder)


def _columns(task: JointTask) -> Iterator[tuple[str, Task]]:
    """For each column its name in the output and its own task.

    The columns draw one after the other from one source, which hands out no word twice: a substream by the number of
    the column would give the next run, if it draws from the same source, the same words.
    """
    return zip(task.folders(), task.parts(), strict=True)


def _file_of(name: str, folder: Path) -> Path:
    """The reports or the view of a column, between the stages."""
    return folder / f"{name}.parquet"


def _require_files(task: JointTask, folder: Path) -> None:
    """Refuse at once what is no folder of reports or views, before any column is worked on."""
    if not all(_file_of(name, folder).is_file() for name in task.folders()):
        names = ", ".join(_file_of(name, folder).name for name in task.folders())
        raise invalid(f"a folder that holds, from the stage before, {names}", input=str(folder))


def _finish(
    task: JointTask, outcomes: dict[str, Outcome], earlier: Sequence[EarlierRelease], folder: Path
) -> JointOutcome:
    """Compose over the columns and with earlier releases, and write."""
    parts = task.parts()
    largest = max(outcome.model.shuffle.largest_group for outcome in outcomes.values())
    columns = composed_columns(
        parts,
        [outcome.release.statements for outcome in outcomes.values()],
        largest_group=largest,
        same_people=not any(outcome.flow.missing for outcome in outcomes.values()),
    )
    statements = composed_with(task, earlier, columns, largest_group=largest)
    written = {
        name: write_outcome(replace(outcome, composed=statements, earlier=tuple(earlier)), folder / name)
        for name, outcome in outcomes.items()
    }
    joint = JointOutcome(task=task, columns=written, statements=statements, earlier=tuple(earlier))
    write_statement(joint.to_dict(), folder)
    return joint.with_files(folder, ["statement.json"])
