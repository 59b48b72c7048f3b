"""What each command does: prepare the output, call the library once, draw the page."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from shuffledp.cli.screen import watching
from shuffledp.demo import is_survey, write_survey
from shuffledp.errors import InvalidParameterError
from shuffledp.randomness import RandomSource
from shuffledp.report import write_joint_page, write_page
from shuffledp.tables import (
    analyze_file,
    analyze_joint_files,
    is_release,
    is_stage,
    new_file,
    new_folder,
    randomize_file,
    randomize_joint_file,
    read_graphs,
    read_grouping,
    run_file,
    run_joint_file,
    shuffle_file,
    shuffle_joint_files,
)
from shuffledp.tasks import (
    JointOutcome,
    JointStageOutcome,
    NetworkSection,
    Outcome,
    Plan,
    StageOutcome,
    Task,
    read_task,
)
from shuffledp.tasks import plan as plan_of
from shuffledp.testing import SeededSource

__all__ = ["analyze", "demo", "plan", "randomize", "run", "shuffle"]

_RELEASE = "release"  # the folder of the demo's output that holds the release


def plan(
    task_file: Path,
    *,
    users: int | None,
    people: Path | None = None,
    earlier: Sequence[Path] = (),
    table: bool = False,
) -> Plan:
    """What to expect, before anything is collected; of the people only public columns are read."""
    task = read_task(task_file)
    if table and not task.shuffler.needs_graph:
        raise InvalidParameterError(
            "--table must be left out but for a task with a 'network' shuffle, of which it lists rounds and parts. "
            "`shuffledp account TASK.toml --table` lists theorems."
        )
    if task.groups is None:
        if people is not None:
            raise InvalidParameterError(
                f"--input must be left out for a task without [groups], whose plan needs no data; got {str(people)!r}."
            )
        if isinstance(task.shuffler, NetworkSection):
            graphs = read_graphs(task.shuffler, users or task.people.expected, task_file.parent)
            with watching() as watch:
                progress = partial(watch.progress, "accounting for rounds")
                return plan_of(task, users, earlier=earlier, graphs=graphs, progress=progress)
        return plan_of(task, users, earlier=earlier)
    if people is None:
        raise InvalidParameterError(
            "--input FILE must be given for a task with [groups]: a table of the people with the public columns that "
            "groups are made from; got none."
        )
    with watching() as watch:
        grouping = read_grouping(task, people, task_file.parent, partial(watch.progress, "reading"))
    return plan_of(task, users, earlier=earlier, grouping=grouping)


def run(
    task_file: Path,
    answers: Path,
    output: Path,
    *,
    earlier: Sequence[Path] = (),
    seed: int | None,
    force: bool,
) -> Outcome | JointOutcome:
    """All stages at once, for one private column or for several."""
    task, source = read_task(task_file), _source(seed)
    if isinstance(task, Task):
        return _run(task, answers, output, source, earlier=earlier, beside=task_file.parent, force=force)
    with new_folder(output, force=force) as folder:
        with watching() as watch:
            joint = run_joint_file(
                task, answers, folder, source=source, watch=watch, earlier=earlier, beside=task_file.parent
            )
        return _with_pages(joint, folder)


def _run(
    task: Task,
    answers: Path,
    output: Path,
    source: RandomSource | None,
    *,
    earlier: Sequence[Path] = (),
    beside: Path,
    force: bool,
) -> Outcome:
    with new_folder(output, force=force) as folder:
        with watching() as watch:
            outcome = run_file(task, answers, folder, source=source, watch=watch, earlier=earlier, beside=beside)
        return outcome.with_files(folder, write_page(outcome, folder))


def _with_pages(joint: JointOutcome, folder: Path) -> JointOutcome:
    """The outcome after the pages have been drawn: that of each column, and that of all."""
    drawn = {
        name: column.with_files(folder / name, write_page(column, folder / name))
        for name, column in joint.columns.items()
    }
    joint = replace(joint, columns=drawn)
    return joint.with_files(folder, write_joint_page(joint, folder))


def randomize(
    task_file: Path, answers: Path, output: Path, *, seed: int | None, force: bool
) -> StageOutcome | JointStageOutcome:
    """The devices' stage: one file, or for several private columns a folder of files."""
    task, source = read_task(task_file), _source(seed)
    _require_apart(answers, output)
    if isinstance(task, Task):
        with new_file(output, force=force) as file, watching() as watch:
            return randomize_file(task, answers, file, source=source, watch=watch)
    with new_folder(output, force=force, is_ours=is_stage) as folder, watching() as watch:
        return randomize_joint_file(task, answers, folder, source=source, watch=watch)


def shuffle(
    task_file: Path, reports: Path, output: Path, *, seed: int | None, force: bool
) -> StageOutcome | JointStageOutcome:
    """The shuffler's stage: one file, or for several private columns a folder of files."""
    task, source = read_task(task_file), _source(seed)
    _require_apart(reports, output)
    # A stage of its own: with the seed of `randomize`, the order must not repeat the words of the reports.
    source = source and source.substream("shuffle")
    if isinstance(task, Task):
        with new_file(output, force=force) as file, watching() as watch:
            return shuffle_file(task, reports, file, source=source, watch=watch, beside=task_file.parent)
    with new_folder(output, force=force, is_ours=is_stage) as folder, watching() as watch:
        return shuffle_joint_files(task, reports, folder, source=source, watch=watch, beside=task_file.parent)


def analyze(
    task_file: Path, view: Path, output: Path, *, earlier: Sequence[Path] = (), force: bool
) -> Outcome | JointOutcome:
    """The analyst's stage: the view of one private column, or a folder of the views of several."""
    task = read_task(task_file)
    with new_folder(output, force=force) as folder:
        if isinstance(task, Task):
            with watching() as watch:
                outcome = analyze_file(task, view, folder, earlier=earlier, watch=watch, beside=task_file.parent)
            return outcome.with_files(folder, write_page(outcome, folder))
        with watching() as watch:
            joint = analyze_joint_files(task, view, folder, earlier=earlier, watch=watch, beside=task_file.parent)
        return _with_pages(joint, folder)


def demo(output: Path, *, people: int, seed: int | None, force: bool) -> tuple[Outcome, Path]:
    """A survey of made-up people, and all stages on it; the release is in the folder ``release`` of the output."""
    with new_folder(output, force=force, is_ours=_is_demo) as folder:
        task_file, survey = write_survey(folder, people=people)
        outcome = _run(Task.read(task_file), survey, folder / _RELEASE, _source(seed), beside=folder, force=False)
    return outcome, output / _RELEASE


def _is_demo(folder: Path) -> bool:
    """Whether a folder holds what `demo` writes, and nothing else."""
    entries = {entry.name for entry in folder.iterdir()}
    return entries == {"survey.csv", "task.toml", _RELEASE} and is_release(folder / _RELEASE) and is_survey(folder)


def _require_apart(input_file: Path, output: Path) -> None:
    """Refuse to write the output in the place of the input, by whatever name."""
    try:
        same = output.exists() and output.samefile(input_file)
    except OSError:
        return  # whatever is wrong with one of them will be said where it is opened
    if same:
        raise InvalidParameterError(f"output must be another file than input; got output={str(output)!r}.")


def _source(seed: int | None) -> RandomSource | None:
    return None if seed is None else SeededSource(seed)
