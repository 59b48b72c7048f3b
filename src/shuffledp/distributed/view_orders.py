"""Draw of a view's order, near a reference order or inside strata, before the reports are made.

The shufflers of one machine use the number of reports and people's public columns, and no content of
the reports; they only move reports. So this process, from the public columns alone, has the shuffler itself move the
numbers of the reports, and the workers then put each report where its number is: the law of the order, the model, and
all statements are those of one machine, for every such shuffler. The numbers, 8 bytes a report, are the secret of
the job as its key is: they are in a file of the same private folder until the job ends.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import feather

from shuffledp.core.errors import InputDataError
from shuffledp.core.flow import Shuffler, View
from shuffledp.core.table import Table
from shuffledp.distributed.job_key import overwrite
from shuffledp.distributed.kernels import Job
from shuffledp.distributed.placements import PeopleFacts, Placement
from shuffledp.files.parquet import read_labeled_parts
from shuffledp.files.shuffling import shuffler_for
from shuffledp.pipeline import ORIGIN, TaggedReports
from shuffledp.protocols.d_sigma.files.regions import regional_of
from shuffledp.randomness.permutations import invert
from shuffledp.survey import Column, ShuffleResult

_NO_FOLDER = Path()  # folder of the task file: groups from a file beside it are refused


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlacedView:
    """Order of a view without reports: numbers in place of reports, with the shuffler and the job.

    Args:
        view: view with numbers in place of reports.
        shuffler: shuffler that moved the numbers.
        job: job that puts the reports there.
    """

    view: View
    shuffler: Shuffler
    job: Job

    def regional(self, column: Column, parts: Path) -> ShuffleResult:
        """Result of the shuffle, with results for each place; ``parts`` is the folder of the view."""
        return regional_of(column, self.view, self.shuffler, _NO_FOLDER, read_labeled_parts(parts, column))


@contextmanager
def placed(job: Job, found: Sequence[PeopleFacts]) -> Iterator[PlacedView]:
    """Context with the placement of a job's reports, drawn from facts about people.

    The files of the placement are removed at the end.

    Memory of this process: the public columns, the groups or strata of the people, and 40 bytes for each report.

    Raises:
        InputDataError: if there are no rows, or no groups can be made from the public columns.
        BatchTooSmallError: if there are fewer reports than the task's smallest batch, in all or in a stratum.
    """
    column = Column.from_dict(job.column)
    model = column.randomizer.randomizer().model
    if not any(each.received for each in found):
        raise InputDataError("the input is empty: it has no rows.")
    people = sum(each.num_people for each in found)
    column.require_batch(people * model.num_messages)
    shuffler, public = shuffler_of(column, found, people)
    numbers = TaggedReports({ORIGIN: np.arange(people * model.num_messages)}, model)
    view = shuffler.shuffle(numbers, public=public, source=job.source("shuffle", 0))
    rows, labels = (job.work / f"{name}-{job.number}" for name in ("rows", "labels"))
    rows.touch(mode=0o600)
    try:
        invert(view.reports[ORIGIN]).tofile(rows)
        np.asarray(view.labels).tofile(labels)
        shares = [each.num_people * model.num_messages for each in found]
        placement = Placement(
            rows=rows,
            labels=labels,
            firsts=tuple(np.cumsum([0, *shares]).tolist()),
            shuffle=view.shuffle,
            label_table=view.label_table if column.shuffler.needs_strata else None,
        )
        yield PlacedView(view=view, shuffler=shuffler, job=replace(job, placement=placement))
    finally:
        overwrite(rows)
        labels.unlink(missing_ok=True)


def shuffler_of(column: Column, found: Sequence[PeopleFacts], people: int) -> tuple[Shuffler, Table | None]:
    """Shuffler for these people, and their public columns if kept; the files of public columns are removed."""
    parts = []
    for each in found:
        if each.public is not None:
            parts.append(feather.read_table(each.public, memory_map=False))
            each.public.unlink()
    public = Table.from_arrow(pa.concat_tables(parts)) if parts else None
    shuffler = shuffler_for(column, public, people, _NO_FOLDER)
    return column.shuffler.in_rounds(shuffler, column.randomizer.randomizer().model), public
