"""What a worker does where the order of a view is more than chance: near a reference order, or inside strata.

Such an order is drawn as a whole, by the shuffler of one machine, from what is public of everybody (see `placing`).
Workers tell who takes part and what is public of them, `read_people`; then each sends its reports to the rows of the
view that are theirs, `send`, and the window of rows that is a part is filled, `fill`. So nothing of the law
depends on how many parts there are, or where they end.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import feather

from shuffledp.core.errors import EngineError
from shuffledp.core.flow import Reports, View
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.core.table import Integers, Table
from shuffledp.distributed import kernels
from shuffledp.distributed.kernels import Block, Job, Made, PartFacts
from shuffledp.distributed.shares import read_share
from shuffledp.files.randomizing import RandomizedReports
from shuffledp.files.reading import Watch
from shuffledp.shufflers import IdentityShuffler
from shuffledp.survey import Column

_ROW = "(row)"  # the name of no report's column
_INTEGER = np.dtype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Placement:
    """Where each report goes: the row of the view that it is in, and the label of each row.

    Args:
        rows: file of the row of each report, 64-bit integers, in the order of the input. It is as secret as the key.
        labels: file of the label of each row, likewise; they are public.
        firsts: the number of the first report of each share, and of all reports.
        shuffle: the public description.
        label_table: what is public of each label, if analysts of a part need it: of strata, and not of people.
    """

    rows: Path
    labels: Path
    firsts: tuple[int, ...]
    shuffle: ShuffleModel
    label_table: Table | None

    def rows_of(self, share: int) -> Integers:
        """The rows of the reports of a share."""
        return _slice_of(self.rows, self.firsts[share], self.firsts[share + 1])

    def window(self, part: int, num_parts: int) -> tuple[int, int]:
        """The first row of a part, and the one after its last."""
        length = self.length(num_parts)
        return min(part * length, self.firsts[-1]), min((part + 1) * length, self.firsts[-1])

    def length(self, num_parts: int) -> int:
        """Rows of each part but the last ones."""
        return max(1, -(-self.firsts[-1] // num_parts))


def _slice_of(file: Path, first: int, last: int) -> Integers:
    return np.fromfile(file, _INTEGER, count=last - first, offset=first * _INTEGER.itemsize)


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleFacts:
    """What is told of the people of a share: how many rows were read, how many take part, and the file about them."""

    share: int
    received: int
    num_people: int
    public: Path | None


def read_people(job: Job, share: int) -> PeopleFacts:
    """Read a share, and write what is public of those who take part into the private folder; nothing is randomized.

    Raises:
        InputDataError: for answers, or public columns, that do not fit the task.
    """
    column = Column.from_dict(job.column)
    made = RandomizedReports(column, job.shares[share], job.source("people", share), Watch(), read=read_share)
    parts, num_people, path = [], 0, job.work / f"public-{job.number}-{share:05d}"
    for values, public in made.people():
        num_people += len(values)
        if public is not None:
            parts.append(public)
    if parts:
        with tempfile.TemporaryDirectory(prefix="public.", dir=job.work) as place:
            feather.write_feather(pa.concat_tables(parts), Path(place) / path.name, compression="uncompressed")
            os.replace(Path(place) / path.name, path)
    return PeopleFacts(
        share=share, received=made.flow.received or 0, num_people=num_people, public=path if parts else None
    )


def send(placement: Placement, job: Job, share: int) -> Iterator[Made]:
    """Scatter like `shuffledp.distributed.kernels.scatter`, but send each report to the part that holds its row."""
    rows, sent = placement.rows_of(share), 0

    def by_row(reports: Reports, num_parts: int, origin: int) -> Iterator[Block]:
        nonlocal sent
        here, sent = rows[sent : sent + len(reports)], sent + len(reports)
        if len(here) < len(reports):
            raise _not_once()
        order = np.argsort(here)  # blocks do not tell the order of the input
        table = reports.take(order).to_arrow().add_column(0, _ROW, pa.array(here[order]))
        counts = np.bincount(here // placement.length(num_parts), minlength=num_parts)
        return kernels.in_blocks(table, counts, origin)

    return kernels.sent(job, share, by_row)


def fill(placement: Placement, job: Job, part: int, blocks: Sequence[Block]) -> PartFacts:
    """Put each report of a part into its row, write them with their labels, and sum them up.

    Raises:
        EngineError: if there is not one report for each row of the part.
    """
    column, source = Column.from_dict(job.column), job.source("permute", part)
    table, (first, last) = kernels.rows_in(blocks), placement.window(part, job.num_parts)
    rows = table.column(_ROW).to_numpy()
    order = np.argsort(rows)
    if not np.array_equal(rows[order], np.arange(first, last)):
        raise _not_once()
    pipeline = column.pipeline(IdentityShuffler())
    content = Table.from_arrow(table.drop_columns([_ROW]))
    reports = Reports.from_table(content, pipeline.randomizer.model, seeded=source.reproducible).take(order)
    labels = _slice_of(placement.labels, first, last)
    name = kernels.name_of(part)
    sha256 = kernels.write_part(column, [reports], job.folder / name, job.work, labels)
    view = View(
        reports=reports, labels=labels, label_table=placement.label_table, shuffle=placement.shuffle, source=source
    )
    summary = pipeline.analyzer.summarize(view)
    return PartFacts(part=part, name=name, num_reports=len(view), sha256=sha256, summary=summary)


def _not_once() -> EngineError:
    return EngineError("Spark must hand on each report once; some were lost or came twice. Nothing was released.")
