"""The three stages of a task, from file to file, and all of them at once."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shuffledp.flow import Reports, Shuffler, View
from shuffledp.models import LabelMeaning, ShuffleModel
from shuffledp.pipeline import Pipeline, Release
from shuffledp.randomness import resolve_source
from shuffledp.shufflers import IdentityShuffler, SlotShuffler
from shuffledp.statements import Trust
from shuffledp.tables.answers import PeopleCheck, reader_for
from shuffledp.tables.estimates import write_estimates, write_places
from shuffledp.tables.networks import WalkedView
from shuffledp.tables.parquet import FileFacts, ReportPart, ReportsWriter, ViewWriter, read_reports, read_view
from shuffledp.tables.public import PublicReader
from shuffledp.tables.reading import guarded, read_batches
from shuffledp.tables.regions import regional_of
from shuffledp.tables.shuffling import ShuffledParts, require_batch, require_room, shuffled
from shuffledp.tables.watching import Watch, counted
from shuffledp.tasks import (
    DataFlow,
    EarlierRelease,
    Outcome,
    StageOutcome,
    Task,
    column_label,
    composed_with,
    read_earlier,
)

if TYPE_CHECKING:
    from shuffledp.randomness import RandomSource

__all__ = [
    "analyze_file",
    "analyze_unwritten",
    "randomize_file",
    "run_file",
    "run_unwritten",
    "shuffle_file",
    "write_outcome",
    "write_statement",
]

_BYTES_OF_REPORTS_AT_A_TIME = 1 << 23
_LABELS_OF_PEOPLE = {LabelMeaning.SLOT, LabelMeaning.SUBMITTER}  # then the public columns are released, one row each
_WHO_ANSWERED = {
    False: "Who answered at all is not protected: the number of reports is public.",
    True: (
        "Who answered at all is not protected: the public columns of exactly those who answered are released, and "
        "whoever is left out of them did not."
    ),
}
_NOBODY = Watch()
_HERE = Path()


def randomize_file(
    task: Task, answers: Path, output: Path, *, source: "RandomSource | None" = None, watch: Watch = _NOBODY
) -> StageOutcome:
    """The devices' stage: raw answers in, one file of reports out, in the order of the people.

    Memory: one batch of the input and its reports, and the names of the people if the task asks for them.

    Raises:
        InputDataError: for answers that do not fit the task.
    """
    source = resolve_source(source)
    randomized = _Randomized(task, answers, source, watch)
    with ReportsWriter(output, task) as writer:
        for reports, public in randomized:
            writer.write(reports, public)
        facts = _facts(task, "reports", randomized.flow, seeded=source.reproducible)
        names = writer.finish(facts)
    return _stage_outcome("randomize", task, randomized.num_reports, facts).with_files(output.parent, names)


def shuffle_file(
    task: Task,
    reports_file: Path,
    output: Path,
    *,
    source: "RandomSource | None" = None,
    watch: Watch = _NOBODY,
    beside: Path = _HERE,
) -> StageOutcome:
    """The shuffler's stage: a file of reports in, the view out.

    Memory: for a uniform shuffle a few hundred MiB or three times a 256th of the reports, whichever is more (the others
    lie in buckets in a private folder beside the output); for any other, all reports and a permutation of them, and the
    public columns and groups of the people if it hides the order inside groups.

    Args:
        task: the task.
        reports_file: as `randomize_file` wrote it.
        output: file of the view.
        source: randomness; None is the cryptographic source.
        watch: told how far it is.
        beside: the folder of the task file, which paths in the task are relative to.

    Raises:
        InputDataError: if the file is damaged, belongs to another task or does not fit it.
        BatchTooSmallError: if there are fewer reports than the task's smallest batch.
    """
    source = resolve_source(source)
    parts, facts = read_reports(reports_file, task)
    with (
        shuffled(task, _taken(task, parts, watch, "reading"), output.parent, beside=beside, source=source) as result,
        ViewWriter(output, task) as writer,
    ):
        flow = _released(task, facts.flow, result)
        facts = _facts(task, "view", flow, seeded=facts.seeded or source.reproducible, shuffle=result.shuffle)
        for view in counted(result.views, watch, _step("shuffling", task), result.num_reports):
            writer.write(view)
        names = writer.finish(facts)
    return _stage_outcome("shuffle", task, result.num_reports, facts).with_files(output.parent, names)


def analyze_file(
    task: Task,
    view_file: Path,
    folder: Path,
    *,
    earlier: Sequence[Path] = (),
    watch: Watch = _NOBODY,
    beside: Path = _HERE,
) -> Outcome:
    """The analyst's stage: a view in; the view again, estimates and statements out.

    Memory: a part of the view after a uniform shuffle, the whole view after any other.

    Args:
        task: the task.
        view_file: as `shuffle_file` wrote it.
        folder: where to write.
        earlier: the ``statement.json`` of each earlier release about the same people that the task names.
        watch: told how far it is.
        beside: as for `shuffle_file`.

    Raises:
        InvalidParameterError: if ``earlier`` is not as the task says.
        InputDataError: if the file is damaged, belongs to another task or does not fit it.
        BatchTooSmallError: if there are fewer reports than the task's smallest batch.
    """
    releases = read_earlier(task, earlier)
    return _finish(analyze_unwritten(task, view_file, folder, watch=watch, beside=beside), releases, folder)


def analyze_unwritten(task: Task, view_file: Path, folder: Path, *, watch: Watch, beside: Path) -> Outcome:
    """The same for `analyze_file` and for each column of several: no more is written than the view."""
    views, facts = read_view(view_file, task)
    people = facts.shuffle.num_users if facts.shuffle and task.shuffler.needs_graph else facts.flow.released
    require_batch(task, min(people, facts.flow.released))  # fewer people than reports, if each hands in several
    return _analyze(task, views, facts, folder, watch, beside=beside)


def run_file(
    task: Task,
    answers: Path,
    folder: Path,
    *,
    source: "RandomSource | None" = None,
    watch: Watch = _NOBODY,
    earlier: Sequence[Path] = (),
    beside: Path = _HERE,
) -> Outcome:
    """All stages in one place: whoever runs this sees the raw answers, and the statements say so.

    Memory: what `randomize_file` and `shuffle_file` take; the raw answers are never held together.

    Args:
        task: the task.
        answers: one row per person.
        folder: where to write.
        source: randomness; None is the cryptographic source.
        watch: told how far it is, and how many answers were clipped.
        earlier: the ``statement.json`` of each earlier release about the same people that the task names.
        beside: as for `shuffle_file`.

    Raises:
        InvalidParameterError: if ``earlier`` is not as the task says.
        InputDataError: for answers that do not fit the task.
        BatchTooSmallError: if there are fewer reports than the task's smallest batch.
    """
    releases = read_earlier(task, earlier)
    done = run_unwritten(task, answers, folder, source=source, watch=watch, beside=beside)
    return _finish(done, releases, folder)


def run_unwritten(
    task: Task,
    answers: Path,
    folder: Path,
    *,
    source: "RandomSource | None" = None,
    watch: Watch = _NOBODY,
    beside: Path = _HERE,
) -> Outcome:
    """The same for `run_file` and for each column of several: no more is written than the view."""
    source = resolve_source(source)
    randomized = _Randomized(task, answers, source, watch)
    with shuffled(task, randomized, folder, beside=beside, source=source) as result:
        flow, trust = _released(task, randomized.flow, result), (Trust.OPERATOR,)
        facts = _facts(task, "view", flow, seeded=source.reproducible, shuffle=result.shuffle, trust=trust)
        return _analyze(task, result.views, facts, folder, watch, beside=beside, shuffler=result.shuffler)


class _Randomized:
    """The reports of a file of answers, part after part; what is counted is complete after the last part.

    Public columns come along only where the shuffler will keep them.
    """

    def __init__(self, task: Task, answers: Path, source: "RandomSource", watch: Watch) -> None:
        self._task, self._answers, self._source, self._watch = task, answers, source, watch
        self._randomizer = task.randomizer.randomizer()
        self._reader, self._people = reader_for(task), PeopleCheck(task)
        self._public = PublicReader(task)
        self._num_kept = 0
        self.num_reports = 0

    @property
    def flow(self) -> DataFlow:
        """The counts of what has been taken."""
        received = self._reader.received
        expected = self._task.people.expected
        return DataFlow(received=received, missing=received - self._num_kept, released=0, expected=expected)

    def __iter__(self) -> Iterator[ReportPart]:
        task, path = self._task, self._answers
        columns = [task.value, *self._public.names, *([task.people.id] if task.people.id else [])]
        progress = partial(self._watch.progress, _step("randomizing", task))
        for batch in read_batches(path, columns, encoded=[task.value], present=task.public, progress=progress):
            values, kept = guarded(path, partial(self._read, batch))
            self._num_kept += len(values)
            require_room(task, self._num_kept)
            public = guarded(path, partial(self._public.read, batch, kept))
            for rows in self._slices(values):
                reports = self._randomizer.randomize(values[rows], source=self._source)
                self.num_reports += len(reports)
                yield reports, None if public is None else _beside_each(public[rows], reports)
        self._reader.finish()
        self._public.finish()
        guarded(path, self._people.finish)
        if self._reader.clipped:
            self._watch.clipped(task.value, self._reader.clipped, self._reader.received, task.randomizer.clipping)

    def _read(self, batch: pa.RecordBatch) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        self._people.read(batch)
        return self._reader.read(batch.column(self._task.value))

    def _slices(self, values: NDArray[Any]) -> Iterator[slice]:
        """As many answers at a time as make a bounded amount of reports; one slice at least."""
        columns = self._randomizer.randomize(values[:0], source=self._source).columns.values()
        width = sum(column.itemsize * math.prod(column.shape[1:]) for column in columns)
        rows = max(1, _BYTES_OF_REPORTS_AT_A_TIME // (width * self._randomizer.model.num_messages))
        for start in range(0, max(len(values), 1), rows):
            yield slice(start, start + rows)


def _beside_each(public: pa.Table, reports: Reports) -> pa.Table:
    """A row for each report in place of one for each person."""
    messages = reports.model.num_messages
    return public if messages == 1 else public.take(np.repeat(np.arange(len(public)), messages))


def _released(task: Task, flow: DataFlow, result: ShuffledParts) -> DataFlow:
    detached = () if task.shuffler.keeps_public else task.public
    return replace(flow, released=result.num_reports, detached=detached)


def _step(name: str, task: Task) -> str:
    """What is being done, and to which of several columns."""
    return f"{name} {column_label(task)}" if task.part_of else name


def _taken(task: Task, parts: Iterator[ReportPart], watch: Watch, name: str) -> Iterator[ReportPart]:
    """The same parts of reports, telling how many have been taken."""
    done = 0
    for reports, public in parts:
        yield reports, public
        done += len(reports)
        watch.progress(_step(name, task), done, None)


def _analyze(
    task: Task,
    views: Iterator[View],
    facts: FileFacts,
    folder: Path,
    watch: Watch,
    *,
    beside: Path,
    shuffler: Shuffler | None = None,
) -> Outcome:
    """The release from a view in parts; a view by place is one part, and ``shuffler`` what made it, if it is here."""
    regional = walks = None
    if task.shuffler.needs_graph:
        walks = WalkedView.of(task, next(views), shuffler, beside)
        views, facts = iter([walks.view]), replace(facts, shuffle=walks.view.shuffle)
    if task.groups is not None:
        whole = next(views)
        made_by = shuffler if isinstance(shuffler, SlotShuffler) else None
        regional = regional_of(task, whole, made_by, beside)
        views = iter([whole])
    views = counted(views, watch, _step("analyzing", task), facts.flow.released)
    with ViewWriter(folder / "release.parquet", task) as writer:
        release = _pipeline(task).analyze_parts(
            map(writer.write, views), delta=task.release.delta, seeded=facts.seeded, trust=facts.trust
        )
        names = writer.finish(facts)
    release = replace(release, estimate=release.estimate.with_targets(task.targets))
    release = _with_remarks(task, release, facts.flow)
    walked = None if walks is None else walks.walked(partial(watch.progress, _step("accounting", task)))
    outcome = Outcome(task=task, flow=facts.flow, release=release, regional=regional, walked=walked)
    return outcome.with_files(folder, [*names, *write_places(outcome, folder)])


def _pipeline(task: Task) -> Pipeline:
    """For its analyst's part: what shuffled is told by the view."""
    known = not (task.shuffler.needs_groups or task.shuffler.needs_graph)
    return task.pipeline(None if known else IdentityShuffler())


def _finish(outcome: Outcome, earlier: Sequence[EarlierRelease], folder: Path) -> Outcome:
    """Compose with earlier releases, and write."""
    if earlier:
        statements = composed_with(
            outcome.task, earlier, outcome.release.statements, largest_group=outcome.model.shuffle.largest_group
        )
        outcome = replace(outcome, composed=statements, earlier=tuple(earlier))
    return write_outcome(outcome, folder)


def _facts(
    task: Task,
    content: str,
    flow: DataFlow,
    *,
    seeded: bool,
    shuffle: ShuffleModel | None = None,
    trust: tuple[Trust, ...] = (),
) -> FileFacts:
    return FileFacts(
        content=content,
        task_sha256=task.sha256,
        seeded=seeded,
        flow=flow,
        local=task.randomizer.randomizer().model,
        shuffle=shuffle,
        trust=trust,
    )


def _stage_outcome(stage: str, task: Task, num_reports: int, facts: FileFacts) -> StageOutcome:
    return StageOutcome(stage=stage, task=task, flow=facts.flow, num_reports=num_reports, seeded=facts.seeded)


def _with_remarks(task: Task, release: Release, flow: DataFlow) -> Release:
    """Say in the statements what the counts mean for them."""
    remarks = []
    if flow.missing:
        named = bool(task.public) and release.model.shuffle.labels in _LABELS_OF_PEOPLE
        remarks.append(_WHO_ANSWERED[named])
    people = release.model.num_users
    if flow.expected is not None and people < flow.expected:
        came = f"{people} reports that came" if flow.released == people else f"{people} people who came"
        remarks.append(f"Planned for {flow.expected} people; this is computed for the {came}.")
    return replace(release, statements=tuple(statement.remarking(*remarks) for statement in release.statements))


def write_outcome(outcome: Outcome, folder: Path) -> Outcome:
    """Write estimates and statements beside the view; return the outcome with the digests of these files."""
    write_estimates(folder / "estimates.csv", outcome)
    outcome = outcome.with_files(folder, ["estimates.csv"])
    write_statement(outcome.to_dict(), folder)
    return outcome.with_files(folder, ["statement.json"])


def write_statement(content: dict[str, Any], folder: Path) -> None:
    """Write ``statement.json``, which makes a folder a release."""
    with (folder / "statement.json").open("w", encoding="utf-8") as file:
        json.dump(content, file, indent=2, ensure_ascii=False, allow_nan=False)
        file.write("\n")
