"""Spark job for one column of a task: reads shares, writes parts and their summaries, each exactly once."""

import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shuffledp.core.errors import EngineError, InputDataError, ShuffleDPError
from shuffledp.distributed import tasks
from shuffledp.distributed.job_key import key_file
from shuffledp.distributed.kernels import Job, NameFacts, PartFacts, ShareFacts
from shuffledp.distributed.placements import PeopleFacts
from shuffledp.distributed.private_folder import private_folder
from shuffledp.distributed.session import explained
from shuffledp.distributed.stage_input import StageFiles
from shuffledp.files.reading import ProgressListener
from shuffledp.survey import Column

_SECONDS_BETWEEN_LOOKS = 0.5
_MOST_TASKS_OF_DIGESTS = 200


@contextmanager
def unchanged(
    session: Any, files: Sequence[Path], folder: Path, seed: int | None, listed: StageFiles | None = None
) -> Iterator[Callable[..., Job]]:
    """Context with a function that makes `Job` values; input files must not change in the meantime.

    At its end, files that have changed meanwhile are refused.

    It takes the stage, the column with its number, the folder of its parts, and the further arguments of `Job`.

    The key, and unfinished parts, lie in a private folder beside the ``folder`` of the output.

    Raises:
        InputDataError: if a file has changed, or differs from the ``listed`` one.
    """
    before = digests_of(session, files)
    if listed is not None:
        listed.require_listed(before)
    with private_folder(folder.absolute().parent) as work, key_file(work, seed) as key:

        def job(stage: str, column: Column, number: int, folder: Path, **further: Any) -> Job:
            place = folder.absolute()  # workers may have another current folder
            return Job(stage=stage, column=column.to_dict(), number=number, folder=place, key=key, work=work, **further)

        yield job
    require_unchanged(before, digests_of(session, files))


def done_by(
    session: Any, job: Job, watch: ProgressListener, steps: Sequence[str]
) -> tuple[list[ShareFacts], list[PartFacts]]:
    """Run a job; return the counts of each share, and facts about each nonempty part, in order.

    Raises:
        InputDataError: for answers that do not fit the task: the error of the first such share.
        EngineError: if a task failed, or reports were lost or came twice.
    """
    count = len(job.shares)
    people = job.column["people"]["id"]
    num_parts = job.num_parts + 1 + (job.num_parts if people is not None else 0)

    def run() -> list[Any]:
        blocks = session.range(0, count, 1, count).mapInArrow(tasks.of_shares(job), tasks.BLOCKS)
        parts = blocks.repartitionById(num_parts, "part").mapInArrow(tasks.of_parts(job), tasks.RESULTS)
        return _results(parts)

    results = _worked(session, job, watch, steps, run)
    _require_different(people, [each for each in results if isinstance(each, NameFacts)])
    facts = sorted((each for each in results if isinstance(each, ShareFacts)), key=lambda each: each.share)
    made = sorted((each for each in results if isinstance(each, PartFacts)), key=lambda each: each.part)
    whole = [each.share for each in facts] == list(range(count)) and len({each.part for each in made}) == len(made)
    if not whole or sum(each.num_reports for each in facts) != sum(each.num_reports for each in made):
        raise EngineError("Spark must hand on each report once; some were lost or came twice. Nothing was released.")
    return facts, made


def _worked(
    session: Any, job: Job, watch: ProgressListener, steps: Sequence[str], run: Callable[[], list[Any]]
) -> list[Any]:
    """Results of a job, whose progress is watched; raises the error of the first share that failed."""
    with _watched(session, watch, steps):
        results = explained(run)
    _raise_first(job, [each for each in results if isinstance(each, tuple)])
    return results


def people_of(session: Any, job: Job, watch: ProgressListener, steps: Sequence[str]) -> list[PeopleFacts]:
    """Facts about the people of each share, in order, read by the workers.

    Raises:
        InputDataError: for input that does not fit the task: the error of the first such share.
        EngineError: if a task failed.
    """
    count = len(job.shares)

    def run() -> list[Any]:
        return _results(session.range(0, count, 1, count).mapInArrow(tasks.of_people(job), tasks.RESULTS))

    results = _worked(session, job, watch, steps, run)
    facts = sorted((each for each in results if isinstance(each, PeopleFacts)), key=lambda each: each.share)
    if [each.share for each in facts] != list(range(count)):
        raise EngineError("Spark must hand on each share once; some were lost or came twice. Nothing was released.")
    return facts


def digests_of(session: Any, files: Sequence[Path]) -> dict[Path, str]:
    """SHA-256 of each file, computed by the workers; workers of another version than this process are refused."""
    task = tasks.of_files(tuple(file.absolute() for file in files))

    def run() -> list[Any]:
        numbers = session.range(0, len(files), 1, min(len(files), _MOST_TASKS_OF_DIGESTS))
        return _results(numbers.mapInArrow(task, tasks.RESULTS))

    results = explained(run)
    others = sorted({worker for _, _, worker in results} - {tasks.worker()})
    if others:
        raise EngineError(f"the workers must be as this process is, {tasks.worker()}; one has {others[0]}.")
    return {files[number]: sha256 for number, sha256, _ in results}


def require_unchanged(before: dict[Path, str], after: dict[Path, str]) -> None:
    """Refuse an input that changed during the job, since repeated tasks may have read different data."""
    for file, sha256 in before.items():
        if after[file] != sha256:
            raise InputDataError(f"{file} must stay as it is while it is read; it has changed. Nothing was released.")


def _results(frame: Any) -> list[Any]:
    """Unpickled results of Spark tasks, trusted because the tasks run the code of this process."""
    return [pickle.loads(content) for content in frame.toArrow().column(0).to_pylist()]  # noqa: S301


def _raise_first(job: Job, failed: Sequence[tuple[int, ShuffleDPError]]) -> None:
    for share, error in sorted(failed, key=lambda each: each[0]):
        raise type(error)(f"{str(error).removesuffix('.')} (in {job.shares[share]}).") from None


def _require_different(column: str | None, named: Sequence[NameFacts]) -> None:
    """Refuse an input that names a person twice; the error has counts, never a name."""
    received, distinct = sum(each.names for each in named), sum(each.distinct for each in named)
    if received != distinct:
        raise InputDataError(
            f"column {column!r} must name each person once; {received - distinct} of {received} rows repeat a person, "
            "and guarantees count one answer each."
        )


@contextmanager
def _watched(session: Any, watch: ProgressListener, steps: Sequence[str]) -> Iterator[None]:
    """Context in which ``watch`` receives the number of finished tasks in each Spark stage.

    Nothing is told about a remote session, which has no such numbers.
    """
    ended, seen = threading.Event(), dict[int, str]()
    remote = "connect" in type(session).__module__
    tracker = None if remote else session.sparkContext.statusTracker()

    def look() -> None:
        while tracker is not None and not ended.wait(_SECONDS_BETWEEN_LOOKS):
            for number in sorted(tracker.getActiveStageIds()):
                stage = tracker.getStageInfo(number)
                step = seen.setdefault(number, steps[min(len(seen), len(steps) - 1)])
                if stage is not None:
                    watch.progress(step, stage.numCompletedTasks, stage.numTasks)

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        yield
    finally:
        ended.set()
        looking.join()
