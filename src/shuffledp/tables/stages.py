"""The three stages of a task, from file to file, and all of them at once."""

import csv
import json
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shuffledp.errors import BatchTooSmallError
from shuffledp.flow import Reports, View
from shuffledp.pipeline import Release
from shuffledp.randomness import resolve_source
from shuffledp.statements import Trust
from shuffledp.table import Table
from shuffledp.tables.answers import PeopleCheck, reader_for
from shuffledp.tables.parquet import FileFacts, read_reports, read_view, write_reports, write_view
from shuffledp.tables.reading import Progress, guarded, read_batches
from shuffledp.tasks import DataFlow, Outcome, StageOutcome, Task

if TYPE_CHECKING:
    from shuffledp.randomness import RandomSource

__all__ = ["analyze_file", "randomize_file", "run_file", "shuffle_file"]

_ESTIMATE_COLUMNS = ("statistic", "target", "estimate", "standard_error", "lower", "upper", "level", "sampling_error")
_FORMULA = re.compile(r"[=@+-](?![0-9.]+$)")  # how a formula begins, and no number does


def randomize_file(
    task: Task, answers: Path, output: Path, *, source: "RandomSource | None" = None, progress: Progress | None = None
) -> StageOutcome:
    """The devices' stage: raw answers in, one file of reports out, in the order of the people.

    Raises:
        InputDataError: for answers that do not fit the task.
    """
    source = resolve_source(source)
    reports, public, flow = _randomize(task, answers, source, progress)
    facts = _facts(task, "reports", flow, reports, seeded=source.reproducible)
    names = write_reports(output, task, reports, public, facts)
    return _stage_outcome("randomize", task, reports, facts).with_files(output.parent, names)


def shuffle_file(task: Task, reports_file: Path, output: Path, *, source: "RandomSource | None" = None) -> StageOutcome:
    """The shuffler's stage: a file of reports in, the view out.

    Raises:
        InputDataError: if the file is damaged, belongs to another task or does not fit it.
        BatchTooSmallError: if there are fewer reports than the task's smallest batch.
    """
    source = resolve_source(source)
    reports, public, facts = read_reports(reports_file, task)
    view, flow = _shuffle(task, reports, public, facts.flow, source)
    facts = _facts(task, "view", flow, view.reports, seeded=facts.seeded or source.reproducible, view=view)
    names = write_view(output, task, view, facts)
    return _stage_outcome("shuffle", task, view.reports, facts).with_files(output.parent, names)


def analyze_file(task: Task, view_file: Path, folder: Path) -> Outcome:
    """The analyst's stage: a view in; the view again, estimates and statements out.

    Raises:
        InputDataError: if the file is damaged, belongs to another task or does not fit it.
        BatchTooSmallError: if there are fewer reports than the task's smallest batch.
    """
    view, facts = read_view(view_file, task)
    _require_batch(task, len(view))
    return _analyze(task, view, facts, folder)


def run_file(
    task: Task,
    answers: Path,
    folder: Path,
    *,
    source: "RandomSource | None" = None,
    progress: Progress | None = None,
) -> Outcome:
    """All stages in one place: whoever runs this sees the raw answers, and the statements say so.

    Memory: the randomized reports and one permutation of them (about 9 bytes a person for up to 256 categories), the
    names of the people if the task asks for them, and one batch of the input; the raw answers are never held together.

    Raises:
        InputDataError: for answers that do not fit the task.
        BatchTooSmallError: if there are fewer reports than the task's smallest batch.
    """
    source = resolve_source(source)
    reports, public, flow = _randomize(task, answers, source, progress)
    view, flow = _shuffle(task, reports, public, flow, source)
    facts = _facts(task, "view", flow, view.reports, seeded=source.reproducible, view=view, trust=(Trust.OPERATOR,))
    return _analyze(task, view, facts, folder)


def _randomize(
    task: Task, answers: Path, source: "RandomSource", progress: Progress | None
) -> tuple[Reports, Table | None, DataFlow]:
    """Stream the input through the randomizer; public columns come along only where the shuffler will keep them."""
    randomizer, reader, people = task.randomizer.randomizer(), reader_for(task), PeopleCheck(task)
    attach = task.public if task.shuffler.keeps_public else ()
    columns = [task.value, *attach, *([task.people.id] if task.people.id else [])]
    parts, attached, num_kept = [], [], 0

    def read(batch: pa.RecordBatch) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        people.read(batch)
        return reader.read(batch.column(task.value))

    for batch in read_batches(answers, columns, encoded=[task.value], present=task.public, progress=progress):
        values, kept = guarded(answers, partial(read, batch))
        parts.append(randomizer.randomize(values, source=source))
        num_kept += len(values)
        if attach:
            attached.append(_decoded(pa.Table.from_batches([batch.select(list(attach))]).filter(pa.array(kept))))
    reader.finish()
    guarded(answers, people.finish)
    public = guarded(answers, lambda: Table.from_arrow(pa.concat_tables(attached))) if attach else None
    flow = DataFlow(
        received=reader.received,
        missing=reader.received - num_kept,
        released=0,
        expected=task.people.expected,
    )
    return Reports.concat(parts), public, flow


def _decoded(table: pa.Table) -> pa.Table:
    """The same columns, none of them dictionary-encoded: numpy would be given wrong values for nulls of those."""
    kinds = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(kinds))


def _shuffle(
    task: Task, reports: Reports, public: Table | None, flow: DataFlow, source: "RandomSource"
) -> tuple[View, DataFlow]:
    _require_batch(task, len(reports))
    view = task.shuffler.shuffler().shuffle(reports, public=public, source=source)
    detached = () if task.shuffler.keeps_public else task.public
    return view, replace(flow, released=len(view), detached=detached)


def _analyze(task: Task, view: View, facts: FileFacts, folder: Path) -> Outcome:
    release = task.pipeline().analyze(view, delta=task.release.delta, seeded=facts.seeded, trust=facts.trust)
    release = replace(release, estimate=release.estimate.with_targets(task.randomizer.targets))
    outcome = Outcome(task=task, flow=facts.flow, release=_with_remarks(release, facts.flow))
    return _write_outcome(outcome, facts, folder)


def _require_batch(task: Task, num_reports: int) -> None:
    if num_reports < task.release.minimum_batch:
        raise BatchTooSmallError(
            f"a release needs at least minimum_batch = {task.release.minimum_batch} reports; got {num_reports}. "
            "Nothing was released."
        )


def _facts(
    task: Task,
    content: str,
    flow: DataFlow,
    reports: Reports,
    *,
    seeded: bool,
    view: View | None = None,
    trust: tuple[Trust, ...] = (),
) -> FileFacts:
    return FileFacts(
        content=content,
        task_sha256=task.sha256,
        seeded=seeded,
        flow=flow,
        local=reports.model,
        shuffle=None if view is None else view.shuffle,
        trust=trust,
    )


def _stage_outcome(stage: str, task: Task, reports: Reports, facts: FileFacts) -> StageOutcome:
    return StageOutcome(stage=stage, task=task, flow=facts.flow, num_reports=len(reports), seeded=facts.seeded)


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


def _write_outcome(outcome: Outcome, facts: FileFacts, folder: Path) -> Outcome:
    """Write view, estimates and statements; return the outcome with the digests of these files."""
    release = outcome.release
    names = list(write_view(folder / "release.parquet", outcome.task, release.view, facts))
    _write_estimates(folder / "estimates.csv", release)
    outcome = outcome.with_files(folder, [*names, "estimates.csv"])
    with (folder / "statement.json").open("w", encoding="utf-8") as file:
        json.dump(outcome.to_dict(), file, indent=2, ensure_ascii=False, allow_nan=False)
        file.write("\n")
    return outcome.with_files(folder, ["statement.json"])


def _write_estimates(path: Path, release: Release) -> None:
    """One row per target, all texts in quotation marks; the column ``seeded`` is there only where it is true.

    A name that a spreadsheet would take for a formula gets an apostrophe before it; ``statement.json`` has it as it is.
    """
    mark = {"seeded": "true"} if release.seeded else {}
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=(*_ESTIMATE_COLUMNS, *mark), quoting=csv.QUOTE_NONNUMERIC)
        writer.writeheader()
        for row in release.estimate.rows():
            text = f"'{row['target']}" if _FORMULA.match(row["target"]) else row["target"]
            writer.writerow(row | {"target": text} | mark)
