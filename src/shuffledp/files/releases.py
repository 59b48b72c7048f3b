"""Last steps of every run of a task: from each column's view to estimates, statements and files.

One machine, an engine, a collection and a relay make views in different ways. From there on there is one way:
`release_of_views` (or an engine's own sum of summaries) makes the `Release` of a column, `outcome_of` adds results by
place and remarks, `released_columns` does this for each column, and `composed_release` composes all columns with
earlier releases and writes them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from shuffledp.core.flow import Shuffler, View
from shuffledp.core.shuffle_models import LabelMeaning
from shuffledp.files.family_files import files_of
from shuffledp.files.file_facts import FileFacts
from shuffledp.files.parquet import ViewWriter
from shuffledp.files.randomizing import step_of
from shuffledp.files.reading import NOBODY, ProgressListener, counted
from shuffledp.files.writing import write_all
from shuffledp.pipeline import Release
from shuffledp.shufflers import IdentityShuffler
from shuffledp.survey import (
    Collected,
    Column,
    ColumnOutcome,
    EarlierRelease,
    Outcome,
    Provenance,
    ShuffleResult,
    Task,
    composed_columns,
    composed_with,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedView:
    """View of reports that separate devices sent.

    Args:
        view: the view.
        shuffler: shuffler that made it.
        collected: counts of refused reports, with the collection's id.
        made_up: reports in it that take the places of reports that did not open.
    """

    view: View
    shuffler: Shuffler
    collected: Collected
    made_up: int = 0


def release_received(
    task: Task,
    received: Callable[[Column], ReceivedView],
    folder: Path,
    provenance: Provenance,
    *,
    earlier: Sequence[EarlierRelease],
    beside: Path,
    watch: ProgressListener = NOBODY,
) -> Outcome:
    """Release of a task from the views that ``received`` returns, one column at a time.

    The rest is in `release_of_views`.
    """

    def released(column: Column, place: Path) -> ColumnOutcome:
        given = received(column)
        people = len(given.view) // given.view.reports.model.num_messages
        flow = given.collected.flow(column, people - given.made_up, released=len(given.view))
        facts = FileFacts.of(column, "view", flow, provenance, shuffle=given.view.shuffle)
        return release_of_views(column, iter([given.view]), facts, place, watch, beside=beside, shuffler=given.shuffler)

    return composed_release(task, released_columns(task, released, folder), earlier, folder)


def release_of_views(
    column: Column,
    views: Iterator[View],
    facts: FileFacts,
    place: Path,
    watch: ProgressListener,
    *,
    beside: Path,
    shuffler: Shuffler | None = None,
) -> ColumnOutcome:
    """Outcome of a column from its view in parts.

    After a shuffle along a graph or inside strata the view is one part.

    Args:
        column: the column.
        views: the parts, each read once.
        facts: of the view's file.
        place: folder of the column in the release.
        watch: told how far it is.
        beside: folder of the task file.
        shuffler: shuffler that made the view; None if unknown.

    Raises:
        InputDataError: if the view is not one of the task.
        BatchTooSmallError: if a stratum has fewer people than the task's smallest batch.
    """
    parts = files_of(column.shuffler).checked(column, views, shuffler, beside)
    facts = facts if parts.shuffle is None else replace(facts, shuffle=parts.shuffle)
    views = counted(parts.views, watch, step_of("analyzing", column), facts.flow.released)
    pipeline = column.pipeline(IdentityShuffler())  # the view has the model of its shuffler
    with ViewWriter(place / "release.parquet", column) as writer:
        release = pipeline.analyze_parts(
            map(writer.write, views), delta=column.release.delta, seeded=facts.seeded, trust=facts.trust
        )
        names = writer.finish(facts)
    added = parts.added(partial(watch.progress, step_of("accounting", column)))
    return outcome_of(column, release, facts, place, names, whole=parts.whole, shuffle_result=added)


def outcome_of(
    column: Column,
    release: Release,
    facts: FileFacts,
    place: Path,
    names: Sequence[str],
    *,
    whole: View | None = None,
    shuffle_result: ShuffleResult | None = None,
) -> ColumnOutcome:
    """Outcome of a column from its release, with the files of its view.

    Args:
        column: the column.
        release: what the analyst estimated, in the numbers of the column's targets.
        facts: of the view's file.
        place: folder of the column in the release.
        names: files of the view.
        whole: the whole view, with its labels, for what the shuffle adds to each of its estimates.
        shuffle_result: what the shuffle adds otherwise.
    """
    estimate = column.randomizer.named_rows(release.estimate, column.label)
    if whole is not None:
        estimate, of_parts = column.shuffler.divided(column, whole, estimate)
        shuffle_result = of_parts or shuffle_result
    release = _with_remarks(column, replace(release, estimate=estimate), facts)
    if shuffle_result is not None and not release.seeded:
        release = replace(release, statements=shuffle_result.detailed(release.statements))
    return ColumnOutcome(
        column=column,
        flow=facts.flow,
        release=release,
        shuffle_result=shuffle_result,
        demonstration=facts.demonstration,
    ).with_files(place, names)


def _with_remarks(column: Column, release: Release, facts: FileFacts) -> Release:
    """Release whose statements also name the parties and have remarks on its counts."""
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


def released_columns(
    task: Task, released: Callable[[Column, Path], ColumnOutcome], folder: Path
) -> tuple[ColumnOutcome, ...]:
    """Outcomes of all columns; ``released`` makes each one and writes the view into the column's new folder."""
    done = []
    for column, name in zip(task.columns, task.folders, strict=True):
        place = folder / name
        place.mkdir(exist_ok=True)
        done.append(released(column, place))
    return tuple(done)


def composed_release(
    task: Task, done: Sequence[ColumnOutcome], earlier: Sequence[EarlierRelease], folder: Path
) -> Outcome:
    """Outcome of a task, written to files, from its columns composed with earlier releases.

    Columns are compared as the task says.
    """
    done = _compared(task, done)
    models = [outcome.model for outcome in done]
    largest = max(model.shuffle.largest_group for model in models)
    columns = composed_columns(
        task.columns,
        [outcome.release.statements for outcome in done],
        models,
        largest_group=largest,
        same_people=not any(outcome.flow.missing for outcome in done),
    )
    statements = composed_with(task, earlier, columns, models, largest_group=largest)
    done_with = {
        name: replace(outcome, composed=statements, earlier=tuple(earlier))
        for name, outcome in zip(task.folders, done, strict=True)
    }
    return write_all(Outcome(task=task, columns=done_with, statements=statements, earlier=tuple(earlier)), folder)


def _compared(task: Task, done: Sequence[ColumnOutcome]) -> Sequence[ColumnOutcome]:
    """Outcomes with the comparisons that the task asks for, made from the released rows."""
    if not task.release.compare:
        return done
    from shuffledp.survey.comparisons import inside
    from shuffledp.survey.released_numbers import ReleasedNumbers

    numbers = [ReleasedNumbers.of(each.column, each.model, each.rows(), each.release.num_reports) for each in done]
    found = inside(numbers, task.release.compare, level=task.release.level)
    return [replace(one, comparisons=own) for one, own in zip(done, found, strict=True)]
