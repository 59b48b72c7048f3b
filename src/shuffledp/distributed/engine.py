"""A task on an engine: the same words as on one machine, for tables that have outgrown it.

The uniform shuffle alone is done here; what is near an order, along a graph or inside strata stays on one machine.
"""

import math
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shuffledp.core.errors import InputDataError, UnsupportedModelError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Trust
from shuffledp.distributed.job_key import key_file
from shuffledp.distributed.jobs import digests_of, require_unchanged, view_of
from shuffledp.distributed.kernels import Job, PartFacts, ShareFacts
from shuffledp.distributed.shares import divide
from shuffledp.files.file_facts import FileFacts
from shuffledp.files.in_memory import TableFiles
from shuffledp.files.parts_folder import Part, PartsFolder
from shuffledp.files.randomizing import step_of
from shuffledp.files.reading import Watch
from shuffledp.files.stages import composed_release, outcome_of, places_of
from shuffledp.survey import Column, ColumnOutcome, DataFlow, Outcome, Task, read_earlier
from shuffledp.wire.report_bytes import ReportLayout

_BYTES_OF_PART = 1 << 26  # of reports and of a permutation of them; a task holds three times as much
_BYTES_OF_PLACE = 8
_VIEW = "release.parquet"  # a folder here, and a file on one machine
_NOBODY = Watch()


def run_on(
    session: Any,
    task: Task,
    answers: Path | TableFiles,
    folder: Path,
    *,
    seed: int | None = None,
    watch: Watch = _NOBODY,
    earlier: Sequence[Path] = (),
    parts: int | None = None,
) -> Outcome:
    """All stages of a task on a session of Spark: what `shuffledp.files.run` releases, with a view in parts.

    Args:
        session: the session; its workers see the files of ``answers`` and the ``folder`` under the same names.
        task: the task, whose shuffle is uniform.
        answers: the files of the table.
        folder: an empty one, which is filled; what is secret lies in a private folder beside it until the end.
        seed: for experiments only; None is a fresh key.
        watch: told how far it is.
        earlier: the ``statement.json`` of earlier releases about the same people that the task names.
        parts: in how many parts each view is; None is as many as keep one below 64 MiB.

    Raises:
        UnsupportedModelError: for a task that the engine does not do.
        InvalidParameterError: if ``earlier`` is not as the task says, or there is no such file.
        InputDataError: for answers that do not fit the task, or files that change while they are read.
        BatchTooSmallError: if there are fewer reports than the task's smallest batch.
        EngineError: if Spark fails.
    """
    for column in task.columns:
        require_supported(column)
    releases, done = read_earlier(task, earlier), {}
    files = answers.paths if isinstance(answers, TableFiles) else (answers,)
    named = [name for column in task.columns for name in named_by(column)]
    shares, rows = divide(answers, named)
    before = digests_of(session, files)
    with (
        tempfile.TemporaryDirectory(prefix=".shuffledp-", dir=folder.parent) as work,
        key_file(Path(work), seed) as key,
    ):
        for number, (column, place) in enumerate(zip(task.columns, places_of(task, folder), strict=True)):
            view = place / _VIEW
            view.mkdir()
            job = Job(
                column=column.to_dict(),
                number=number,
                key=key,
                folder=view,
                work=Path(work),
                shares=shares,
                num_parts=parts or parts_for(column, rows),
            )
            steps = [step_of(verb, column) for verb in ("randomizing", "shuffling")]
            found = view_of(session, job, watch, steps)
            done[place] = _released(column, *found, place, seeded=seed is not None, watch=watch)
    require_unchanged(before, digests_of(session, files))
    return composed_release(task, done, releases, folder)


def require_supported(column: Column) -> None:
    """Refuse what only one machine does, by its name."""
    if not column.shuffler.is_uniform:
        raise UnsupportedModelError(
            f"the engine spark does the shuffle of kind 'uniform' alone; got {column.shuffler.kind!r}. Leave --engine "
            "out: one machine does it."
        )


def named_by(column: Column) -> tuple[str, ...]:
    """The columns of the input that must be there."""
    return (*column.inputs, *column.public, *filter(None, [column.people.id]))


def parts_for(column: Column, rows: int) -> int:
    """In how many parts a view of this many people is, so that one is not much above 64 MiB in memory."""
    model = column.randomizer.randomizer().model
    width = ReportLayout.of(model).length + _BYTES_OF_PLACE
    return max(1, math.ceil(rows * model.num_messages * width / _BYTES_OF_PART))


def _released(
    column: Column, shares: list[ShareFacts], parts: list[PartFacts], place: Path, *, seeded: bool, watch: Watch
) -> ColumnOutcome:
    """The release of a column from what was counted in its shares and parts."""
    received = sum(each.flow.received or 0 for each in shares)
    if not received:
        raise InputDataError("the input is empty: it has no rows.")
    num_reports, pipeline = sum(each.num_reports for each in parts), column.pipeline()
    column.require_batch(num_reports)
    flow = DataFlow(
        received=received,
        missing=sum(each.flow.missing for each in shares),
        released=num_reports,
        expected=column.people.expected,
        detached=column.detached,
    )
    clipped = sum(each.clipped for each in shares)
    if clipped:
        watch.clipped(column.value, clipped, received, column.randomizer.clipping)
    local = pipeline.randomizer.model
    shuffle = pipeline.shuffler.model(local.num_users_of(num_reports))
    facts = FileFacts.of(column, "view", flow, seeded=seeded, shuffle=shuffle, trust=(Trust.OPERATOR,))
    made = tuple(Part(name=each.name, rows=each.num_reports, sha256=each.sha256) for each in parts)
    names = PartsFolder(facts=facts, parts=made).write(place / _VIEW)
    summary = parts[0].summary
    for each in parts[1:]:
        summary += each.summary
    model = ProtocolModel(local=local, shuffle=shuffle)
    release = pipeline.conclude(
        summary, model, num_reports, delta=column.release.delta, seeded=seeded, trust=facts.trust
    )
    release = replace(release, estimate=release.estimate.with_targets(column.targets))
    return outcome_of(column, release, facts, place, [f"{_VIEW}/{name}" for name in names])
