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
from shuffledp.core.table import Table
from shuffledp.files.reading import NOBODY
from shuffledp.files.releases import ReceivedView, release_received
from shuffledp.files.shuffling import shuffler_for
from shuffledp.protocols.family import families
from shuffledp.survey import Collected, Column, Outcome, Provenance, Task, read_earlier


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedBatch:
    """Decoded reports of one batch, in the order given by the shuffler.

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
    batches: Mapping[str, Sequence[DecodedBatch]],
    collected: Mapping[str, Collected],
    folder: Path,
    provenance: Provenance,
    *,
    earlier: Sequence[Path] = (),
) -> Outcome:
    """Release of a collection from its batches, as `shuffledp analyze` makes a release from a view.

    Memory: all reports.

    Args:
        task: the task of the collection.
        batches: those of each private column, by its name.
        collected: what was refused of each column, with the collection's id.
        folder: an empty one, which is filled.
        provenance: the shuffler and the analyst by name, and whom else people must trust.
        earlier: the ``statement.json`` of earlier releases about the same people that the task names.

    Raises:
        InvalidParameterError: if ``earlier`` is not as the task says.
        BatchTooSmallError: if a batch has fewer reports than the task's smallest.
    """

    def received(column: Column) -> ReceivedView:
        view, shuffler = _view(column, batches[column.value])
        made_up = sum(batch.made_up for batch in batches[column.value])
        return ReceivedView(view=view, shuffler=shuffler, collected=collected[column.value], made_up=made_up)

    releases = read_earlier(task, earlier)
    return release_received(task, received, folder, provenance, earlier=releases, beside=folder, watch=NOBODY)


def _view(column: Column, batches: Sequence[DecodedBatch]) -> tuple[View, Shuffler]:
    """View of a column, and the shuffler of its batch.

    Several batches become strata, each shuffled by itself.

    Whoever receives batches knows which one a report was in, and that is all that a report is hidden by.
    """
    for batch in batches:
        column.require_batch(len(batch.reports))
    if len(batches) > 1:
        (each_by_itself,) = (each.task.batches for each in families() if each.task.batches is not None)
        batched = each_by_itself([batch.reports.num_users for batch in batches])
        return batched.shuffle(Reports.concat([batch.reports for batch in batches])), batched
    (batch,) = batches
    people = batch.reports.num_users
    shuffler = shuffler_for(column, batch.public, people, Path())
    if column.shuffler.gamma and batch.public is None:  # it promises less than the shuffle was, which is uniform
        shuffler = column.shuffler.in_rounds(shuffler, batch.reports.model)
        return shuffler.shuffle(batch.reports), shuffler
    if batch.public is None:
        return View(reports=batch.reports, shuffle=shuffler.model(people)), shuffler
    labels = np.arange(people)
    return View(
        reports=batch.reports, labels=labels, label_table=batch.public, shuffle=shuffler.model(people)
    ), shuffler
