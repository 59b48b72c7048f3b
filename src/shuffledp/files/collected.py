"""The release of a collection, from the reports of separate devices that a service received.

A batch comes from the shuffler in the order that the shuffle gave it, and is opened by the analyst. From here on all is
as after `shuffledp shuffle`: the same view, the same estimates and pages; but the parties have names, and nobody
checked that each person answered once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shuffledp.core.flow import Reports, Shuffler, View
from shuffledp.core.statement_terms import Party, Trust
from shuffledp.core.table import Table
from shuffledp.files.file_facts import FileFacts
from shuffledp.files.reading import Watch
from shuffledp.files.shuffling import shuffler_for
from shuffledp.files.stages import composed_release, places_of, release_of_column
from shuffledp.people.strata import Strata
from shuffledp.shufflers import StratifiedShuffler
from shuffledp.survey import Collected, Column, DataFlow, Outcome, Task, read_earlier

_NOBODY = Watch()


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The decoded reports of one batch, in the order that the shuffler put them.

    Args:
        reports: those that opened, all messages of one person side by side.
        public: the public columns of each place, where the shuffle leaves reports near their senders; else None.
        made_up: how many of them stand in the places of reports that did not open.
    """

    reports: Reports
    public: Table | None = None
    made_up: int = 0


def release_collected(
    task: Task,
    batches: Mapping[str, Sequence[Batch]],
    collected: Mapping[str, Collected],
    folder: Path,
    *,
    parties: Sequence[Party],
    trust: Sequence[Trust] = (),
    demonstration: bool = False,
    earlier: Sequence[Path] = (),
    watch: Watch = _NOBODY,
) -> Outcome:
    """The release of a collection from its batches, as `shuffledp analyze` makes one from a view.

    Memory: all reports.

    Args:
        task: the task of the collection.
        batches: those of each private column, by its name.
        collected: what was refused of each column, with the collection's id.
        folder: an empty one, which is filled.
        parties: the shuffler and the analyst by name.
        trust: whom, or what, people must trust besides.
        demonstration: whether the answers may be made up, which the release then says.
        earlier: the ``statement.json`` of earlier releases about the same people that the task names.
        watch: told how far it is.

    Raises:
        InvalidParameterError: if ``earlier`` is not as the task says.
        BatchTooSmallError: if a batch has fewer reports than the task's smallest.
    """
    releases, done = read_earlier(task, earlier), {}
    for column, place in zip(task.columns, places_of(task, folder), strict=True):
        view, shuffler = _view(column, batches[column.value])
        refused, made_up = collected[column.value], sum(batch.made_up for batch in batches[column.value])
        people = len(view) // view.reports.model.num_messages
        flow = DataFlow(
            received=people - made_up + sum(refused.refused.values()),
            missing=0,
            released=len(view),
            expected=task.people.expected,
            detached=column.detached,
            collected=refused,
        )
        facts = FileFacts.of(
            column,
            "view",
            flow,
            seeded=False,
            shuffle=view.shuffle,
            trust=trust,
            parties=tuple(parties),
            demonstration=demonstration,
        )
        done[place] = release_of_column(column, iter([view]), facts, place, watch, beside=folder, shuffler=shuffler)
    return composed_release(task, done, releases, folder)


def _view(column: Column, batches: Sequence[Batch]) -> tuple[View, Shuffler]:
    """The view of a column and the shuffler of its batch; several batches become strata, each shuffled by itself.

    Whoever receives batches knows which one a report was in, and that is all that a report is hidden by.
    """
    for batch in batches:
        column.require_batch(len(batch.reports))
    if len(batches) > 1:
        numbers = np.repeat(np.arange(len(batches)), [len(batch.reports) for batch in batches])
        table = Table({"batch": np.arange(1, len(batches) + 1).astype(np.str_)})
        stratified = StratifiedShuffler(Strata(of_person=numbers, table=table, by="batch"))
        return stratified.shuffle(Reports.concat([batch.reports for batch in batches])), stratified
    (batch,) = batches
    people = batch.reports.num_users
    shuffler = shuffler_for(column, batch.public, people, Path())
    if batch.public is None:
        return View(reports=batch.reports, shuffle=shuffler.model(people)), shuffler
    labels = np.arange(people)
    return View(
        reports=batch.reports, labels=labels, label_table=batch.public, shuffle=shuffler.model(people)
    ), shuffler
