"""Placement of reports by workers, for views ordered near a reference order or inside strata.

Such an order is drawn as a whole, by the shuffler of one machine, from everybody's public columns (see `placing`).
Workers tell who takes part, with public columns (`read_people`); then each sends its reports to their rows of the
view (`send`), and each part, a window of rows, is filled (`fill`). So nothing of the law
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
from shuffledp.files.reading import NOBODY
from shuffledp.shufflers import IdentityShuffler
from shuffledp.survey import Column

_ROW = "(row)"  # the name of no report's column
_INTEGER = np.dtype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Placement:
    """Destination of each report: its row in the view, and the label of each row.

    Args:
        rows: file with the row of each report, 64-bit integers, in the order of the input; as secret as the key.
        labels: file with the label of each row, likewise; labels are public.
        firsts: number of the first report of each share, then the number of all reports.
        shuffle: public description of the shuffle.
        label_table: public data of each label, if analysis of a part needs it: for strata, not for people.
    """

    rows: Path
    labels: Path
    firsts: tuple[int, ...]
    shuffle: ShuffleModel
    label_table: Table | None

    def rows_of(self, share: int) -> Integers:
        """Rows of the reports of a share."""
        return _slice_of(self.rows, self.firsts[share], self.firsts[share + 1])

    def window(self, part: int, num_parts: int) -> tuple[int, int]:
        """First row of a part, and the row after its last row."""
        length = self.length(num_parts)
        return min(part * length, self.firsts[-1]), min((part + 1) * length, self.firsts[-1])

    def length(self, num_parts: int) -> int:
        """Number of rows in a full part; the last parts may have fewer rows."""
        return max(1, -(-self.firsts[-1] // num_parts))


def _slice_of(file: Path, first: int, last: int) -> Integers:
    return np.fromfile(file, _INTEGER, count=last - first, offset=first * _INTEGER.itemsize)


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleFacts:
    """Facts about a share's people: rows read, people who take part, and a file of public columns."""

    share: int
    received: int
    num_people: int
    public: Path | None


def read_people(job: Job, share: int) -> PeopleFacts:
    """Facts about the people of a share; their public columns are written to the private folder.

    Nothing is randomized.

    Raises:
        InputDataError: for answers, or public columns, that do not fit the task.
    """
    column = Column.from_dict(job.column)
    made = RandomizedReports(column, job.shares[share], job.source("people", share), NOBODY, read=read_share)
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
    """Blocks of a share's reports, each to the part with the report's row, and then the share's counts."""
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
    """Facts about a part, after its reports are put into their rows, written with labels and summed up.

    Raises:
        EngineError: if a row of the part has no report, or several.
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
