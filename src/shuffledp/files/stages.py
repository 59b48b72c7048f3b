"""The three stages of a task, from file to file and all at once; each private column by itself.

Everything of the flow is in the four functions: what a stage reads, the one step that it takes with each column, and
what it writes. Columns draw one after the other from one source, which hands out no word twice: a substream by the
number of the column would give the next run, if it draws from the same source, the same words.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from shuffledp.analyzers import StratifiedEstimate
from shuffledp.core.flow import Shuffler, View
from shuffledp.core.shuffle_models import LabelMeaning
from shuffledp.core.statement_terms import Trust
from shuffledp.core.validate import invalid
from shuffledp.files.file_facts import FileFacts
from shuffledp.files.in_memory import Input
from shuffledp.files.parquet import ReportsWriter, ViewWriter, read_reports, read_view
from shuffledp.files.randomizing import RandomizedReports, require_inside, step_of
from shuffledp.files.reading import Watch, counted
from shuffledp.files.shuffling import SLOTS_AT_A_TIME, ShuffledParts, shuffled
from shuffledp.files.writing import write_all
from shuffledp.pipeline import Release
from shuffledp.randomness.sources import RandomSource, resolve_source
from shuffledp.shufflers import IdentityShuffler
from shuffledp.survey import (
    Column,
    ColumnOutcome,
    ColumnStage,
    DataFlow,
    EarlierRelease,
    Outcome,
    StageOutcome,
    Stratified,
    StratifiedSection,
    Task,
    composed_columns,
    composed_with,
    read_earlier,
)

_LABELS_OF_PEOPLE = {
    LabelMeaning.SLOT,
    LabelMeaning.SUBMITTER,
}  # the label table has a row per person
_WHO_ANSWERED = {
    False: "Who answered at all is not protected: the number of reports is public.",
    True: (
        "Who answered at all is not protected: the public columns of exactly those who answered are released, and "
        "whoever is left out of them did not."
    ),
}
_WHO_IN_STRATA = (
    "Who answered at all is not protected: the number of reports in each stratum is public, and so is the mean of the "
    "weights of those who answered, if they have weights."
)
_NOBODY = Watch()
_HERE = Path()


def randomize(
    task: Task, answers: Input, output: Path, *, source: RandomSource | None = None, watch: Watch = _NOBODY
) -> StageOutcome:
    """Stage 1, on the devices: answers in, a file of reports for each column out, in the order of the people.

    The input is read once for each column. Memory: one batch of the input and its reports, and the names of the people
    if the task asks for them.

    Args:
        task: the task.
        answers: one row per person.
        output: file of the reports; or, of a task with blocks, a folder for ``COLUMN.parquet`` of each column.
        source: randomness; None is the cryptographic source.
        watch: told how far it is, and how many answers were clipped.

    Raises:
        InputDataError: for answers that do not fit the task.
    """
    source, done = resolve_source(source), []
    for column, file in zip(task.columns, task.stage_files(output), strict=True):
        randomized = RandomizedReports(column, answers, source, watch)
        with ReportsWriter(file, column) as writer:
            for reports, public in randomized:
                writer.write(reports, public)
            facts = FileFacts.of(column, "reports", randomized.flow, seeded=source.reproducible)
            names = writer.finish(facts)
        secret = facts.local.guarantee.is_trivial
        done.append(stage_of(column, facts, randomized.num_reports, is_secret=secret).with_files(file.parent, names))
    return StageOutcome(stage="randomize", task=task, columns=dict(zip(task.folders, done, strict=True)))


def shuffle(
    task: Task,
    reports: Path,
    output: Path,
    *,
    source: RandomSource | None = None,
    watch: Watch = _NOBODY,
    beside: Path = _HERE,
) -> StageOutcome:
    """Stage 2, at the shuffler: the reports of each column in, its view out; each column is shuffled independently.

    Memory: for a uniform shuffle a few hundred MiB or three times a 256th of the reports, whichever is more (the others
    lie in buckets in a private folder beside the output); for any other, all reports and a permutation of them, and the
    public columns and groups of the people if it hides the order inside groups, or their regions and weights.

    Args:
        task: the task.
        reports: what `randomize` wrote.
        output: file of the view; or, of a task with blocks, a folder for the view of each column.
        source: randomness; None is the cryptographic source.
        watch: told how far it is.
        beside: the folder of the task file, which paths in the task are relative to.

    Raises:
        InvalidParameterError: if ``reports`` is no folder that holds a file for each column, of a task with blocks.
        InputDataError: if a file is damaged, belongs to another task or column, or does not fit it.
        BatchTooSmallError: if there are fewer reports than the task's smallest batch.
    """
    source, done = resolve_source(source), []
    for column, taken, file in zip(task.columns, given_files(task, reports), task.stage_files(output), strict=True):
        parts, facts = read_reports(taken, column)
        parts = counted(parts, watch, step_of("reading", column), size=lambda part: len(part[0]))
        with (
            shuffled(column, parts, file.parent, beside=beside, source=source) as result,
            ViewWriter(file, column) as writer,
        ):
            flow, seeded = _released(column, facts.flow, result), facts.seeded or source.reproducible
            facts = FileFacts.of(column, "view", flow, seeded=seeded, shuffle=result.shuffle)
            for view in counted(result.views, watch, step_of("shuffling", column), result.num_reports):
                writer.write(view)
            names = writer.finish(facts)
        done.append(stage_of(column, facts, result.num_reports).with_files(file.parent, names))
    return StageOutcome(stage="shuffle", task=task, columns=dict(zip(task.folders, done, strict=True)))


def analyze(
    task: Task, views: Path, folder: Path, *, earlier: Sequence[Path] = (), watch: Watch = _NOBODY, beside: Path = _HERE
) -> Outcome:
    """Stage 3, at the analyst: the view of each column in; the view, estimates and statements out.

    Memory: a part of the view after a uniform shuffle, the whole view after any other.

    The arguments are as of `shuffle`, ``views`` being what it wrote. In ``folder`` each column of a task with blocks
    gets one; ``earlier`` are the ``statement.json`` of earlier releases about the same people that the task names.

    Raises:
        InvalidParameterError: if ``earlier`` is not as the task says, or ``views`` is no folder that holds a file for
            each column, of a task with blocks.
        InputDataError: if a file is damaged, belongs to another task or column, or does not fit it.
        BatchTooSmallError: if there are fewer reports than the task's smallest batch.
    """
    releases, done = read_earlier(task, earlier), {}
    for column, file, place in zip(task.columns, given_files(task, views), places_of(task, folder), strict=True):
        parts, facts = read_view(file, column)
        people = facts.shuffle.num_users if facts.shuffle and column.shuffler.needs_graph else facts.flow.released
        column.require_batch(min(people, facts.flow.released))  # people may be fewer than reports
        done[place] = release_of_column(column, parts, facts, place, watch, beside=beside)
    return composed_release(task, done, releases, folder)


def run(
    task: Task,
    answers: Input,
    folder: Path,
    *,
    source: RandomSource | None = None,
    watch: Watch = _NOBODY,
    earlier: Sequence[Path] = (),
    beside: Path = _HERE,
    demonstration: bool = False,
) -> Outcome:
    """All stages in one place, whose operator sees the raw answers; the statements say so.

    The input is read once for each column. Memory: what `randomize` and `shuffle` take; the raw answers are never held
    together, and nothing is kept of one column for the next but its estimate.

    The arguments are as of the stages, and ``answers`` may be a table in memory; in ``folder`` each column of a task
    with blocks gets a folder of its own. Of a ``demonstration`` the release says that its answers may be made up.

    Raises:
        InvalidParameterError: if ``earlier`` is not as the task says.
        InputDataError: for answers that do not fit the task.
        BatchTooSmallError: if there are fewer reports than the task's smallest batch.
    """
    releases, source, done = read_earlier(task, earlier), resolve_source(source), {}
    for column, place in zip(task.columns, places_of(task, folder), strict=True):
        randomized = RandomizedReports(column, answers, source, watch)
        with shuffled(column, randomized, place, beside=beside, source=source) as result:
            require_inside(column, randomized.clipped, randomized.flow)
            flow, trust = _released(column, randomized.flow, result), (Trust.OPERATOR,)
            made = {"seeded": source.reproducible, "trust": trust, "demonstration": demonstration}
            facts = FileFacts.of(column, "view", flow, shuffle=result.shuffle, **made)
            done[place] = release_of_column(
                column, result.views, facts, place, watch, beside=beside, shuffler=result.shuffler
            )
    return composed_release(task, done, releases, folder)


def release_of_column(
    column: Column,
    views: Iterator[View],
    facts: FileFacts,
    place: Path,
    watch: Watch,
    *,
    beside: Path,
    shuffler: Shuffler | None = None,
) -> ColumnOutcome:
    """The outcome of a column from its view in parts; ``shuffler`` made the view, None if unknown.

    After a shuffle along a graph or inside strata the view is one part. Those, and one by groups, say more than an
    estimate of everybody.
    """
    by_place = walks = stratified = inside = None
    if column.shuffler.needs_graph:
        from shuffledp.files.people_files import WalkedView

        walks = WalkedView.of(column, next(views), shuffler, beside)
        views, facts = iter([walks.view]), replace(facts, shuffle=walks.view.shuffle)
    elif column.shuffler.needs_groups:
        from shuffledp.files.regions import PlacesInParts

        parts = (part for view in views for part in view.parts(SLOTS_AT_A_TIME))
        first = next(parts)
        by_place = PlacesInParts(column, first, shuffler, beside)
        views = map(by_place.take, chain([first], parts))
    elif isinstance(column.shuffler, StratifiedSection):
        inside = next(views)
        column.shuffler.require_batch(inside.shuffle, inside.label_table, column)
        views = iter([inside])
    views = counted(views, watch, step_of("analyzing", column), facts.flow.released)
    # The view has the model of its shuffler; for groups, graphs and strata the task alone does not give it.
    pipeline = column.pipeline(IdentityShuffler() if by_place or walks or inside else None)
    with ViewWriter(place / "release.parquet", column) as writer:
        release = pipeline.analyze_parts(
            map(writer.write, views), delta=column.release.delta, seeded=facts.seeded, trust=facts.trust
        )
        names = writer.finish(facts)
    estimate = release.estimate.with_targets(column.targets)
    if inside is not None and isinstance(estimate, StratifiedEstimate):
        stratified, estimate = Stratified.of(column, inside, estimate.regions), estimate.everybody
    walked = None if walks is None else walks.walked(partial(watch.progress, step_of("accounting", column)))
    release = replace(release, estimate=estimate)
    regional = by_place and by_place.regional()
    further = {"regional": regional, "stratified": stratified, "walked": walked}
    return outcome_of(column, release, facts, place, names, **further)


def outcome_of(
    column: Column, release: Release, facts: FileFacts, place: Path, names: Sequence[str], **further: Any
) -> ColumnOutcome:
    """The outcome of a column from its release, with the files of its view and ``further`` results."""
    release = _with_remarks(column, release, facts)
    further["demonstration"] = facts.demonstration
    return ColumnOutcome(column=column, flow=facts.flow, release=release, **further).with_files(place, names)


def _with_remarks(column: Column, release: Release, facts: FileFacts) -> Release:
    """The release with the names of the parties, and remarks on its counts, in its statements."""
    remarks, flow = [], facts.flow
    if flow.missing:
        named = bool(column.public) and release.model.shuffle.labels in _LABELS_OF_PEOPLE
        remarks.append(_WHO_IN_STRATA if column.shuffler.needs_strata else _WHO_ANSWERED[named])
    people = release.model.num_senders
    if flow.expected is not None and people < flow.expected:
        came = f"{people} reports that came" if flow.released == people else f"{people} people who came"
        remarks.append(f"Planned for {flow.expected} people; this is computed for the {came}.")
    statements = (each.remarking(*remarks).naming(*facts.parties) for each in release.statements)
    return replace(release, statements=tuple(statements))


def composed_release(
    task: Task, done: dict[Path, ColumnOutcome], earlier: Sequence[EarlierRelease], folder: Path
) -> Outcome:
    """The outcome of the task, composed over columns and earlier releases, and written."""
    models = [outcome.model for outcome in done.values()]
    largest = max(model.shuffle.largest_group for model in models)
    columns = composed_columns(
        task.columns,
        [outcome.release.statements for outcome in done.values()],
        models,
        largest_group=largest,
        same_people=not any(outcome.flow.missing for outcome in done.values()),
    )
    statements = composed_with(task, earlier, columns, models, largest_group=largest)
    done_with = {
        name: replace(outcome, composed=statements, earlier=tuple(earlier))
        for name, outcome in zip(task.folders, done.values(), strict=True)
    }
    return write_all(Outcome(task=task, columns=done_with, statements=statements, earlier=tuple(earlier)), folder)


def places_of(task: Task, folder: Path) -> Iterator[Path]:
    """The folder of each column in a release, made when it is needed."""
    for name in task.folders:
        place = folder / name
        place.mkdir(exist_ok=True)
        yield place


def given_files(task: Task, stage: Path) -> tuple[Path, ...]:
    """The file of each column from the stage before; refused, before any work, if one is absent."""
    files = task.stage_files(stage)
    if task.in_blocks and not all(file.exists() for file in files):
        names = ", ".join(file.name for file in files)
        raise invalid(f"a folder that holds, from the stage before, {names}", input=str(stage))
    return files


def stage_of(column: Column, facts: FileFacts, num_reports: int, *, is_secret: bool = False) -> ColumnStage:
    """The result of a stage that wrote files with these facts."""
    return ColumnStage(
        column=column, flow=facts.flow, num_reports=num_reports, seeded=facts.seeded, is_secret=is_secret
    )


def _released(column: Column, flow: DataFlow, result: ShuffledParts) -> DataFlow:
    return replace(flow, released=result.num_reports, detached=column.detached)
