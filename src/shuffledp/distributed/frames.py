"""Tasks on a Spark data frame, or on files, from Python: the whole release in one call."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from shuffledp.core.validate import instance_of, invalid
from shuffledp.distributed.engine import named_in, require_supported, run_on
from shuffledp.distributed.private_folder import private_folder
from shuffledp.distributed.session import explained, session_at
from shuffledp.documents.release_document import write_release
from shuffledp.files.named_columns import check_columns
from shuffledp.files.table_files import table_files
from shuffledp.files.writing import new_folder
from shuffledp.survey import Outcome, Task


def run(
    task: Task,
    answers: Any,
    output: str | Path,
    *,
    session: Any = None,
    seed: int | None = None,
    earlier: Sequence[str | Path] = (),
    force: bool = False,
) -> Outcome:
    """Run all stages of a task on PySpark, as the command ``run`` with ``--engine spark`` does.

    A data frame is first written to files, in a temporary private folder beside the output: a
    frame may give other rows the second time, and a task that Spark runs twice must read the same. The caller sees
    the raw answers, and the statements say so.

    Guarantees:
        1. Given the reports, the order of the view over all parts has exactly the law of the task's shuffler: for
           a uniform shuffle, all orders are equally likely.
        2. Each report is in the view once, even if Spark runs tasks twice; or nothing is released.
        3. Data that Spark may write down holds neither the key of the job nor an answer.

    Args:
        task: the task, whose shuffle is uniform, inside strata, or near an order of public columns.
        answers: one row per person: a data frame of Spark; or a file, a folder of files, or several files, CSV or
            Parquet, which the workers see under the same names.
        output: folder to make, which the workers see under the same name.
        session: Spark session; None takes the frame's session, the active one, or a new one on this machine.
        seed: for experiments only: makes the run repeatable, and withdraws its statements.
        earlier: the ``statement.json`` of earlier releases about the same people that the task names.
        force: whether an earlier release of this name is replaced.

    Raises:
        UnsupportedModelError: for a task that the engine does not support.
        InvalidParameterError: if ``output`` exists, ``answers`` are of another type, or ``earlier`` does not fit the
            task.
        InputDataError: for answers that do not fit the task; the message tells rows, and no answer.
        BatchTooSmallError: if there are fewer reports than the task's smallest batch.
        EngineError: if there is no Spark or no Java, or Spark fails.
    """
    instance_of(Task, task=task)
    for column in task.columns:
        require_supported(column, whole=True)
    is_frame = hasattr(answers, "mapInArrow")
    # A pandas table is not meant: iteration over it would give column names.
    are_several = isinstance(answers, Sequence | Iterator) and not isinstance(answers, str)
    paths = list(answers) if are_several else [answers]
    if not (is_frame or all(isinstance(each, str | Path) for each in paths)):
        raise invalid(
            "a data frame of Spark, or the path of a file or folder, or several", answers=type(answers).__name__
        )
    if session is None and is_frame:
        session = answers.sparkSession
    with new_folder(Path(output), force=force) as folder, private_folder(folder.parent) as private:
        with session_at(folder.parent) if session is None else nullcontext(session) as found:
            files = [_written(task, answers, private / "answers")] if is_frame else [Path(each) for each in paths]
            releases = [Path(each) for each in earlier]
            outcome = run_on(found, task, table_files(files), folder, seed=seed, earlier=releases)
        outcome, _ = write_release(outcome, folder)
    return outcome


def _written(task: Task, frame: Any, folder: Path) -> Path:
    """Folder of Parquet files with the data frame's columns that the task names."""
    names = named_in(task)
    check_columns("the data frame", frame.columns, names)
    kept = frame.select([f"`{name.replace('`', '``')}`" for name in names])
    explained(lambda: kept.write.parquet(folder.absolute().as_uri()))
    return folder
