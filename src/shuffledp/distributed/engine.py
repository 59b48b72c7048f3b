"""Whole tasks on an engine such as Spark, for tables too large for one machine.

Shuffles that are uniform, inside strata or near an order are done here; walks along a graph, imperfect shuffles and
tasks that name people by their rows stay on one machine.
"""

import math
import operator
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any, cast

from shuffledp.core.errors import InputDataError, UnsupportedModelError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.core.statement_terms import Trust
from shuffledp.distributed.jobs import done_by, people_of, unchanged
from shuffledp.distributed.kernels import PartFacts, ShareFacts
from shuffledp.distributed.shares import divide
from shuffledp.distributed.view_orders import PlacedView, placed
from shuffledp.files.file_facts import FileFacts
from shuffledp.files.numerals import require_one_mark
from shuffledp.files.parquet import write_labels
from shuffledp.files.parts_folder import Part, PartsFolder
from shuffledp.files.randomizing import require_inside, step_of
from shuffledp.files.reading import NOBODY, ProgressListener, TableFiles
from shuffledp.files.releases import composed_release, outcome_of, released_columns
from shuffledp.files.table_files import rows_of
from shuffledp.parties.wire.report_bytes import ReportLayout
from shuffledp.protocols.d_sigma.survey.grouped_section import groups_of
from shuffledp.shufflers import IdentityShuffler
from shuffledp.survey import Column, ColumnOutcome, DataFlow, Outcome, Provenance, Task, read_earlier

_BYTES_OF_PART = 1 << 26  # reports and their permutation; a task holds three times as much
_BYTES_OF_PLACE = 8
VIEW = "release.parquet"  # a folder here, a file on one machine


def run_on(
    session: Any,
    task: Task,
    answers: Path | TableFiles,
    folder: Path,
    *,
    seed: int | None = None,
    watch: ProgressListener = NOBODY,
    earlier: Sequence[Path] = (),
    parts: int | None = None,
) -> Outcome:
    """Outcome of all stages of a task on a Spark session.

    The release is as that of `shuffledp.files.run`; its view is in parts.

    Args:
        session: the session; its workers see the files of ``answers`` and the ``folder`` under the same names.
        task: the task, whose shuffle is uniform.
        answers: the files of the table.
        folder: empty folder for the output; secrets lie in a private folder beside it until the end.
        seed: for experiments only; None is a fresh key.
        watch: told about progress.
        earlier: the ``statement.json`` of earlier releases about the same people that the task names.
        parts: number of parts of each view; None takes enough to keep each below 64 MiB.

    Raises:
        UnsupportedModelError: for a task that the engine does not support.
        InvalidParameterError: if ``earlier`` does not fit the task, or a file is missing.
        InputDataError: for answers that do not fit the task, or files that change while they are read.
        BatchTooSmallError: if there are fewer reports than the task's smallest batch.
        EngineError: if Spark fails.
    """
    for column in task.columns:
        require_supported(column, whole=True)
    releases = read_earlier(task, earlier)
    files, named = files_of(answers), named_in(task)
    rows_of(files, named)  # refuses an unfit table before reading all of it for the digests
    with unchanged(session, files, folder, seed) as job:
        shares, rows = divide(answers, named)  # from the files whose digests were taken

        def released(column: Column, place: Path) -> ColumnOutcome:
            view = place / VIEW
            view.mkdir()
            steps = [step_of(verb, column) for verb in ("randomizing", "shuffling")]
            num_parts = parts or parts_for(column, rows)
            made = job("run", column, task.columns.index(column), view, shares=shares, num_parts=num_parts)
            if column.shuffler.is_uniform:
                found = done_by(session, made, watch, steps)
                return _released(column, *found, place, seeded=seed is not None, watch=watch)
            with placed(made, people_of(session, made, watch, [step_of("reading", column)])) as where:
                found = done_by(session, where.job, watch, steps)
                return _released(column, *found, place, where, seeded=seed is not None, watch=watch)

        done = released_columns(task, released, folder)
    return composed_release(task, done, releases, folder)


def require_supported(column: Column, *, whole: bool = False) -> None:
    """Refuse a column that the engine does not support, or supports only in a ``whole`` run."""
    section = column.shuffler
    if not (section.is_uniform or section.needs_groups or section.needs_strata):
        raise UnsupportedModelError(
            f"the engine spark does shuffles that are uniform, inside strata or near an order; got {section.kind!r}. "
            "Leave --engine out: one machine does it."
        )
    if not (section.is_uniform or whole):
        raise UnsupportedModelError(
            f"the engine spark does a shuffle of kind {section.kind!r} with public columns in a whole run alone. Leave "
            "--engine out: one machine does its stages."
        )
    if column.randomizer.on_one_machine:
        raise UnsupportedModelError(
            f"the engine spark does no estimates from {column.randomizer.kind!r} reports, which need all reports at "
            "one place. Leave --engine out: one machine does it."
        )
    groups = groups_of(section)
    if groups is not None and groups.file is not None:
        raise UnsupportedModelError(
            f"the engine spark does groups that are made from columns; got those of {groups.way} = "
            f"{groups.file!r}, which names people by their rows. Leave --engine out: one machine does it."
        )


def files_of(answers: Path | TableFiles) -> tuple[Path, ...]:
    """Files of a table, one or more."""
    return answers.paths if isinstance(answers, TableFiles) else (answers,)


def named_in(task: Task) -> tuple[str, ...]:
    """Input columns that the task needs."""
    return tuple(dict.fromkeys(name for column in task.columns for name in _named_by(column)))


def _named_by(column: Column) -> tuple[str, ...]:
    return (*column.read_from, *column.public, *column.attached, *filter(None, [column.people.id]))


def parts_for(column: Column, rows: int) -> int:
    """Number of parts of a view of ``rows`` people, at little more than 64 MiB of memory for a part."""
    model = column.randomizer.randomizer().model
    width = ReportLayout.of(model).length + _BYTES_OF_PLACE
    return max(1, math.ceil(rows * model.num_messages * width / _BYTES_OF_PART))


def _released(
    column: Column,
    shares: list[ShareFacts],
    parts: list[PartFacts],
    place: Path,
    where: PlacedView | None = None,
    *,
    seeded: bool,
    watch: ProgressListener,
) -> ColumnOutcome:
    """Release of a column, from counts of shares and parts, and from the order of a placed view, if any."""
    flow, provenance = counted_flow(column, shares, watch), Provenance(seeded=seeded, trust=(Trust.OPERATOR,))
    facts, names = written_view(column, parts, flow, place / VIEW, provenance, where=where)
    return concluded(column, parts, facts, place, names, where=where)


def counted_flow(column: Column, shares: Sequence[ShareFacts], watch: ProgressListener) -> DataFlow:
    """Counts of people over all shares; ``watch`` gets counts of clipped answers and decimal marks."""
    received = sum(each.flow.received or 0 for each in shares)
    if not received:
        raise InputDataError("the input is empty: it has no rows.")
    clipped = sum(each.clipped for each in shares)
    if clipped:
        watch.clipped(column.value, clipped, received, column.randomizer.clipping)
    for name in {name: None for each in shares for name in each.decimals}:
        counts = [each.decimals[name] for each in shares if name in each.decimals]
        commas, points = (sum(found) for found in zip(*counts, strict=True))
        require_one_mark(f"column {name!r}", commas, points)
        watch.decimals(name, commas, points)
    missing = sum(each.flow.missing for each in shares)
    flow = DataFlow(received=received, missing=missing, released=0, expected=column.people.expected)
    require_inside(column, clipped, flow)
    return flow


def written_view(
    column: Column,
    parts: Sequence[PartFacts],
    flow: DataFlow,
    folder: Path,
    provenance: Provenance,
    *,
    where: PlacedView | None = None,
) -> tuple[FileFacts, tuple[str, ...]]:
    """Write the list of a view's parts, and any label table; return the view's facts and file names."""
    num_reports = sum(each.num_reports for each in parts)
    column.require_batch(num_reports)
    users = column.randomizer.randomizer().model.num_users_of(num_reports)
    shuffle = column.shuffler.shuffler().model(users) if where is None else where.view.shuffle
    flow = replace(flow, released=num_reports, detached=column.detached)
    facts = FileFacts.of(column, "view", flow, provenance, shuffle=shuffle)
    if where is None or where.view.label_table is None:
        return facts, listed(parts, facts, folder)
    beside, facts = write_labels(folder, where.view.label_table, facts)
    return facts, (beside, *listed(parts, facts, folder))


def listed(parts: Sequence[PartFacts], facts: FileFacts, folder: Path) -> tuple[str, ...]:
    """Write the list of a folder's parts; return the names of the parts and of the list."""
    made = tuple(Part(name=each.name, rows=each.num_reports, sha256=each.sha256) for each in parts)
    return tuple(f"{folder.name}/{name}" for name in PartsFolder(facts=facts, parts=made).write(folder))


def concluded(
    column: Column,
    parts: Sequence[PartFacts],
    facts: FileFacts,
    place: Path,
    names: Sequence[str],
    *,
    where: PlacedView | None = None,
) -> ColumnOutcome:
    """Release of a column from the summaries of the parts of its view."""
    pipeline = column.pipeline(None if where is None else IdentityShuffler())
    shuffle = cast(ShuffleModel, facts.shuffle)
    summary = reduce(operator.add, (each.summary for each in parts))
    model = ProtocolModel(local=pipeline.randomizer.model, shuffle=shuffle)
    release = pipeline.conclude(
        summary, model, facts.flow.released, delta=column.release.delta, seeded=facts.seeded, trust=facts.trust
    )
    if where is None:
        return outcome_of(column, release, facts, place, names)
    regional = where.regional(column, place / VIEW) if column.shuffler.needs_groups else None
    return outcome_of(column, release, facts, place, names, whole=where.view, shuffle_result=regional)
