"""All stages of a task of several private columns, each column by itself, and what that means for one person."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shuffledp.randomness import resolve_source
from shuffledp.tables.reading import Progress
from shuffledp.tables.stages import run_unwritten, write_outcome, write_statement
from shuffledp.tasks import JointOutcome, JointTask, composed_columns, composed_with, in_front, read_earlier

if TYPE_CHECKING:
    from shuffledp.randomness import RandomSource

__all__ = ["run_joint_file"]


def run_joint_file(
    task: JointTask,
    answers: Path,
    folder: Path,
    *,
    source: "RandomSource | None" = None,
    progress: Progress | None = None,
    earlier: Sequence[Path] = (),
) -> JointOutcome:
    """All stages in one place, for one column after the other; the input is read once for each.

    Every column gets a folder with what `run_file` writes; its statements begin with those about one person over all
    columns, which are in ``statement.json`` beside the folders.

    Memory: as `run_file`; nothing is kept of one column for the next but its estimate.

    Args:
        task: the task.
        answers: one row per person.
        folder: where to write.
        source: randomness; None is the cryptographic source. Each column has a stream of its own.
        progress: told how many rows have been read.
        earlier: the ``statement.json`` of each earlier release about the same people that the task names.

    Raises:
        InvalidParameterError: if ``earlier`` is not as the task says.
        InputDataError: for answers that do not fit the task.
        BatchTooSmallError: if a column has fewer reports than the task's smallest batch.
    """
    source, releases = resolve_source(source), read_earlier(task, earlier)
    parts, outcomes = task.parts(), {}
    for number, (part, name) in enumerate(zip(parts, task.folders(), strict=True)):
        (folder / name).mkdir()
        own = source.substream("column", number)
        outcomes[name] = run_unwritten(part, answers, folder / name, source=own, progress=progress)
    columns = composed_columns(parts, [outcome.release.statements for outcome in outcomes.values()])
    statements = composed_with(task, releases, columns)
    for name, outcome in outcomes.items():
        own_statements = outcome.release.statements if len(parts) > 1 else ()
        release = replace(outcome.release, statements=in_front(statements, own_statements))
        outcomes[name] = write_outcome(replace(outcome, release=release), folder / name)
    joint = JointOutcome(task=task, columns=outcomes, statements=statements)
    write_statement(joint.to_dict(), folder)
    return joint.with_files(folder, ["statement.json"])
