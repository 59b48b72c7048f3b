"""What each command does: prepare the output, call the library once, draw the page."""

from pathlib import Path

from shuffledp.cli.screen import progress_bar
from shuffledp.demo import write_survey
from shuffledp.randomness import RandomSource
from shuffledp.report import write_page
from shuffledp.tables import analyze_file, new_file, new_folder, randomize_file, run_file, shuffle_file
from shuffledp.tasks import DataFlow, Outcome, Task
from shuffledp.testing import SeededSource

__all__ = ["analyze", "demo", "randomize", "run", "shuffle"]


def run(task_file: Path, answers: Path, output: Path, *, seed: int | None, force: bool) -> Outcome:
    """All stages at once."""
    task = Task.read(task_file)
    with new_folder(output, force=force) as folder:
        with progress_bar("randomizing") as progress:
            outcome = run_file(task, answers, folder, source=_source(seed), progress=progress)
        return outcome.with_files(folder, write_page(outcome, folder))


def randomize(task_file: Path, answers: Path, output: Path, *, seed: int | None, force: bool) -> DataFlow:
    """The devices' stage."""
    task = Task.read(task_file)
    with new_file(output, force=force) as file, progress_bar("randomizing") as progress:
        return randomize_file(task, answers, file, source=_source(seed), progress=progress)


def shuffle(task_file: Path, reports: Path, output: Path, *, seed: int | None, force: bool) -> DataFlow:
    """The shuffler's stage."""
    task = Task.read(task_file)
    with new_file(output, force=force) as file:
        return shuffle_file(task, reports, file, source=_source(seed))


def analyze(task_file: Path, view: Path, output: Path, *, force: bool) -> Outcome:
    """The analyst's stage."""
    task = Task.read(task_file)
    with new_folder(output, force=force) as folder:
        outcome = analyze_file(task, view, folder)
        return outcome.with_files(folder, write_page(outcome, folder))


def demo(output: Path, *, people: int, seed: int | None, force: bool) -> tuple[Outcome, Path]:
    """A survey of made-up people, and all stages on it; the release is in the folder ``release`` of the output."""
    with new_folder(output, force=force) as folder:
        task_file, survey = write_survey(folder, people=people)
        outcome = run(task_file, survey, folder / "release", seed=seed, force=False)
    return outcome, output / "release"


def _source(seed: int | None) -> RandomSource | None:
    return None if seed is None else SeededSource(seed)
