"""The three stages of a task, from file to file, and all of them at once."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from shuffledp.errors import BatchTooSmallError
from shuffledp.flow import Reports, View
from shuffledp.pipeline import Release
from shuffledp.randomness import resolve_source
from shuffledp.statements import Trust
from shuffledp.table import Table
from shuffledp.tables.answers import PeopleCheck, reader_for
from shuffledp.tables.parquet import FileFacts, read_reports, read_view, write_reports, write_view
from shuffledp.tables.reading import Progress, read_batches
from shuffledp.tasks import DataFlow, Outcome, Task

if TYPE_CHECKING:
    from shuffledp.randomness import RandomSource

__all__ = ["analyze_file", "randomize_file", "run_file", "shuffle_file"]

_ESTIMATE_COLUMNS = ("statistic", "target", "estimate", "standard_error", "lower", "upper", "level", "sampling_error")


def randomize_file(
    task: Task, answers: Path, output: Path, *, source: "RandomSource | None" = None, progress: Progress | None = None
) -> DataFlow:
    """The devices' stage: raw answers in, one file of reports out, in the order of the people.

    Raises:
        InputDataError: for answers that do not fit the task.
    """
    source = resolve_source(source)
    reports, public, flow = _randomize(task, answers, source, progress, attach=bool(task.public))
    facts = _facts(task, "reports", flow, reports, seeded=source.reproducible)
    write_reports(output, task, reports, public, facts)
    return flow


def shuffle_file(task: Task, reports_file: Path, output: Path, *, source: "RandomSource | None" = None) -> DataFlow:
    """The shuffler's stage: a file of reports in, the view out.

    Raises:
        InputDataError: if the file is damaged or belongs to another task.
        BatchTooSmallError: if there are fewer reports than the task's smallest batch.
    """
    source = resolve_source(source)
    reports, public, facts = read_reports(reports_file, task)
    view, flow = _shuffle(task, reports, public, facts.flow, source)
    seeded = facts.seeded or source.reproducible
    write_view(output, task, view, _facts(task, "view", flow, view.reports, seeded=seeded, view=view))
    return flow


def analyze_file(task: Task, view_file: Path, folder: Path) -> Outcome:
    """The analyst's stage: a view in; the view again, estimates and statements out.

    Raises:
        InputDataError: if the file is damaged or belongs to another task.
    """
    view, facts = read_view(view_file, task)
    _require_batch(task, len(view))
    release = task.pipeline().analyze(view, delta=task.release.delta, seeded=facts.seeded)
    named = replace(release, estimate=release.estimate.with_targets(task.randomizer.targets))
    return _write_outcome(Outcome(task=task, flow=facts.flow, release=_with_remarks(named, facts.flow)), folder)


def run_file(
    task: Task,
    answers: Path,
    folder: Path,
    *,
    source: "RandomSource | None" = None,
    progress: Progress | None = None,
) -> Outcome:
    """All stages in one place: whoever runs this sees the raw answers, and the statements say so.

    Memory: the randomized reports and one permutation of them (about 9 bytes a person for up to 256 categories), and
    one batch of the input; the raw answers are never held together.

    Raises:
        InputDataError: for answers that do not fit the task.
        BatchTooSmallError: if there are fewer reports than the task's smallest batch.
    """
    source = resolve_source(source)
    reports, public, flow = _randomize(task, answers, source, progress, attach=task.shuffler.keeps_public)
    view, flow = _shuffle(task, reports, public, flow, source)
    release = task.pipeline().analyze(
        view, delta=task.release.delta, seeded=source.reproducible, trust=(Trust.OPERATOR,)
    )
    named = replace(release, estimate=release.estimate.with_targets(task.randomizer.targets))
    return _write_outcome(Outcome(task=task, flow=flow, release=_with_remarks(named, flow)), folder)


def _randomize(
    task: Task, answers: Path, source: "RandomSource", progress: Progress | None, *, attach: bool
) -> tuple[Reports, Table | None, DataFlow]:
    """Stream the input through the randomizer; public columns come along only where the shuffler will keep them."""
    randomizer, reader, people = task.randomizer.randomizer(), reader_for(task), PeopleCheck(task)
    columns = [task.value, *task.public, *([task.people.id] if task.people.id else [])]
    parts, attached = [], []
    for batch in read_batches(answers, columns, progress=progress):
        people.read(batch)
        values, kept = reader.read(batch.column(task.value))
        parts.append(randomizer.randomize(values, source=source))
        if attach:
            attached.append(batch.select(list(task.public)).filter(pa.array(kept)))
    reader.finish()
    people.finish()
    flow = DataFlow(
        received=reader.received,
        missing=reader.received - sum(len(part) for part in parts),
        released=0,
        expected=task.people.expected,
    )
    public = Table.from_arrow(pa.Table.from_batches(attached)) if attach and task.public else None
    return Reports.concat(parts), public, flow


def _shuffle(
    task: Task, reports: Reports, public: Table | None, flow: DataFlow, source: "RandomSource"
) -> tuple[View, DataFlow]:
    _require_batch(task, len(reports))
    view = task.shuffler.shuffler().shuffle(reports, public=public, source=source)
    detached = () if task.shuffler.keeps_public else task.public
    return view, replace(flow, released=len(view), detached=detached)


def _require_batch(task: Task, num_reports: int) -> None:
    if num_reports < task.release.minimum_batch:
        raise BatchTooSmallError(
            f"a release needs at least minimum_batch = {task.release.minimum_batch} reports; got {num_reports}. "
            "Nothing was released."
        )


def _facts(
    task: Task, content: str, flow: DataFlow, reports: Reports, *, seeded: bool, view: View | None = None
) -> FileFacts:
    return FileFacts(
        content=content,
        task_sha256=task.sha256,
        seeded=seeded,
        flow=flow,
        local=reports.model,
        shuffle=None if view is None else view.shuffle,
    )


def _with_remarks(release: Release, flow: DataFlow) -> Release:
    """Say in the statements what the counts mean for them."""
    remarks = []
    if flow.missing:
        remarks.append("Who answered at all is not protected: the number of reports is public.")
    if flow.expected is not None and flow.released < flow.expected:
        remarks.append(
            f"Planned for {flow.expected} people; this is computed for the {flow.released} reports that came."
        )
    return replace(release, statements=tuple(statement.remarking(*remarks) for statement in release.statements))


def _write_outcome(outcome: Outcome, folder: Path) -> Outcome:
    """Write view, estimates and statements; return the outcome with the digests of these files."""
    release, task = outcome.release, outcome.task
    facts = _facts(task, "view", outcome.flow, release.view.reports, seeded=release.seeded, view=release.view)
    names = list(write_view(folder / "release.parquet", task, release.view, facts))
    with (folder / "estimates.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=_ESTIMATE_COLUMNS)
        writer.writeheader()
        writer.writerows(release.estimate.rows())
    outcome = outcome.with_files(folder, [*names, "estimates.csv"])
    with (folder / "statement.json").open("w", encoding="utf-8") as file:
        json.dump(outcome.to_dict(), file, indent=2, ensure_ascii=False)
        file.write("\n")
    return outcome.with_files(folder, ["statement.json"])
