"""Kernels of a worker on its share, without any engine: randomize, scatter, permute, summarize, write.

Kernels take and give plain values, and call the same readers, randomizers, permutations and analyzers as one machine.
All words of a task come from the key of the job and the task's own labels (column, stage, number), so that a task that
runs twice makes the same bytes.

Reports travel in blocks: the reports of one share for one part, in Arrow's own format. Every report goes to a part
drawn uniformly and independently; each part, when all its blocks are there, is put in the order of their origin and
becomes a `View`, whose constructor permutes it. The parts follow one another. Of n reports in m parts, an order arises
with probability equal to the sum over all sizes n_1 + ... + n_m = n of m^-n / (n_1! ... n_m!), whichever order it is
(Rao 1961, Sandelius 1962): all orders are equally likely, exactly.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from shuffledp.core.errors import EngineError
from shuffledp.core.flow import Reports, Summary, View
from shuffledp.core.table import Integers, Table
from shuffledp.distributed.job_key import source_of
from shuffledp.distributed.shares import Share, read_share
from shuffledp.distributed.stage_input import StageReports
from shuffledp.files.file_facts import FileFacts
from shuffledp.files.parquet import PartFile
from shuffledp.files.randomizing import RandomizedReports
from shuffledp.files.reading import ProgressListener
from shuffledp.pipeline import Pipeline
from shuffledp.randomness.sources import RandomSource, uniform_integers
from shuffledp.survey import Column, DataFlow

if TYPE_CHECKING:
    from shuffledp.distributed.placements import Placement

_BYTES_OF_NAME = 16
_NAME = np.dtype([("high", np.uint64), ("low", np.uint64)])
_BYTES_HELD = 1 << 26  # reports held before they are scattered


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Description of a column's work that every task of a job gets; nothing in it is secret.

    Args:
        stage: work on a share: a name of `STAGES`.
        column: the column, as JSON can hold it.
        number: number of the column in its task; a label of all its keys.
        key: file of the master key.
        folder: folder of the view's parts; all workers see it.
        work: private folder beside it.
        shares: shares of the table.
        num_parts: number of parts over which reports, or names of people, are scattered.
        given: facts written by an earlier stage; None for raw answers.
        placement: row of each report; None sends reports to uniformly drawn parts.
    """

    stage: str
    column: dict[str, Any]
    number: int
    key: Path
    folder: Path
    work: Path
    shares: tuple[Share, ...]
    num_parts: int
    given: FileFacts | None = None
    placement: "Placement | None" = None

    def source(self, stage: str, number: int) -> RandomSource:
        """Random source of one task."""
        return source_of(self.key, self.number, stage, number)

    def reports(self, share: int, watch: ProgressListener) -> RandomizedReports | StageReports:
        """Reports of a share, read or made on iteration; their counts are complete after the last report."""
        column, pieces = Column.from_dict(self.column), self.shares[share]
        if self.given is not None:
            return StageReports(column, pieces, self.given)
        return RandomizedReports(column, pieces, self.source("randomize", share), watch, read=read_share)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Reports of one share on their way to a part, with their place among all blocks."""

    part: int
    origin: int
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareFacts:
    """Counts of one share: people, reports, clipped answers, decimal marks.

    Args:
        share: number of the share.
        flow: counts of people.
        num_reports: reports made.
        clipped: answers moved into the range; only for the operator.
        decimals: numbers with a decimal comma, and with a point, of each column where commas may be decimal.
    """

    share: int
    flow: DataFlow
    num_reports: int
    clipped: int
    decimals: dict[str, tuple[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class NameFacts:
    """Number of names of people sent to a part, and number of distinct names."""

    names: int
    distinct: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartFacts:
    """Facts about a part: number, file, number of reports, digest, and the summary of a view."""

    part: int
    name: str
    num_reports: int
    sha256: str
    summary: Summary | None = None


class _AnswerCounts(ProgressListener):
    """Watch that counts answers clipped to the range, and numbers with decimal commas and points."""

    def __init__(self) -> None:
        self.count = 0
        self.written: dict[str, tuple[int, int]] = {}

    def clipped(self, column: str, count: int, received: int, clipping: str) -> None:
        """Record the number of clipped answers of a column."""
        del column, received, clipping
        self.count = count

    def decimals(self, column: str, commas: int, points: int) -> None:
        """Record the numbers with decimal commas and points."""
        self.written[column] = (commas, points)


Made = Block | ShareFacts | PartFacts
Send = Callable[[Reports, int, int], Iterator[Block]]  # reports, number of parts, first number of blocks


def scatter(job: Job, share: int) -> Iterator[Made]:
    """Blocks of a share's reports, each report for a uniformly random part; then the share's counts.

    Raises:
        InputDataError: for input that does not fit the task; the message tells rows of the share, and no answer.
    """
    return sent(job, share, partial(scattered, source=job.source("scatter", share)))


def sent(job: Job, share: int, send: Send) -> Iterator[Made]:
    """Blocks of a share's reports, assigned to parts by ``send``, then the counts of the share."""
    watch = _AnswerCounts()
    made = job.reports(share, watch)
    held: list[Reports] = []
    size, origin = 0, share << 32
    for reports, _ in made:  # public columns are kept elsewhere, or not at all
        held.append(reports)
        size += sum(each.nbytes for each in reports.columns.values())
        if size > _BYTES_HELD:
            yield from send(Reports.concat(held), job.num_parts, origin)
            held, size, origin = [], 0, origin + job.num_parts
    if held:
        yield from send(Reports.concat(held), job.num_parts, origin)
    yield from _counted(job, share, made, watch)


def keep(job: Job, share: int) -> Iterator[Made]:
    """Write a share's reports as one part, in the people's order; yield the part's facts, then counts.

    Raises:
        InputDataError: as in `scatter`.
    """
    watch = _AnswerCounts()
    made = job.reports(share, watch)
    parts = (reports for reports, _ in made)
    first = next(parts, None)
    if first is not None:  # a share may have no rows
        name = name_of(share)
        sha256 = write_part(Column.from_dict(job.column), chain([first], parts), job.folder / name, job.work)
        yield PartFacts(part=share, name=name, num_reports=made.num_reports, sha256=sha256)
    yield from _counted(job, share, made, watch)


def sum_up(job: Job, share: int) -> Iterator[Made]:
    """Write a share's reports as one part, in fresh random order; yield the part's facts, then counts.

    Raises:
        InputDataError: as in `scatter`.
    """
    watch = _AnswerCounts()
    made = job.reports(share, watch)
    parts = [reports for reports, _ in made]
    if parts:
        column, source = Column.from_dict(job.column), job.source("permute", share)
        yield _written(job, share, _view_of(column.pipeline(), Reports.concat(parts), source))
    yield from _counted(job, share, made, watch)


STAGES = {"run": scatter, "randomize": keep, "shuffle": scatter, "analyze": sum_up}


def _counted(job: Job, share: int, made: RandomizedReports | StageReports, watch: "_AnswerCounts") -> Iterator[Made]:
    """Digests and counts of the people in a share, after all of the share's reports have been taken."""
    if made.names:
        yield from _named(job, share, made.names)
    yield ShareFacts(
        share=share, flow=made.flow, num_reports=made.num_reports, clipped=watch.count, decimals=watch.written
    )


def _named(job: Job, share: int, names: Sequence[pa.Array]) -> Iterator[Block]:
    """Blocks of sorted, keyed digests of people's names.

    Their parts have numbers after the parts of reports and of facts.

    Equal names have equal digests and come to one part. Others collide with a chance below 1e-18 among 10^10 people,
    and then the input is refused.
    """
    key = job.source("names", 0).words(4).tobytes()  # one for all shares
    hashed = (
        blake2b(str(name).encode(), digest_size=_BYTES_OF_NAME, key=key) for each in names for name in each.to_pylist()
    )
    digests = np.sort(np.frombuffer(b"".join(each.digest() for each in hashed), dtype=_NAME), order=("high", "low"))
    chosen = (digests["high"] % np.uint64(job.num_parts)).astype(np.int64)
    for part in np.unique(chosen).tolist():
        yield Block(part=job.num_parts + 1 + part, origin=share, content=digests[chosen == part].tobytes())


def count_names(blocks: Sequence[Block]) -> NameFacts:
    """Number of names in a part, and number of distinct names."""
    digests = np.frombuffer(b"".join(block.content for block in blocks), dtype=_NAME)
    return NameFacts(names=digests.size, distinct=np.unique(digests).size)


def scattered(reports: Reports, num_parts: int, origin: int, source: RandomSource) -> Iterator[Block]:
    """Blocks of reports by part; each report's part is drawn uniformly and independently.

    The blocks are numbered from ``origin`` on, one number for each part.
    """
    chosen = uniform_integers(num_parts, len(reports), source=source)
    kind = np.uint16 if num_parts <= 1 << 16 else np.int64  # which numpy sorts by counting
    order = np.argsort(chosen.astype(kind), kind="stable")
    yield from in_blocks(reports.take(order).to_arrow(), np.bincount(chosen, minlength=num_parts), origin)


def in_blocks(table: pa.Table, counts: Integers, origin: int) -> Iterator[Block]:
    """Blocks of a table's rows: for each part in turn, one block of ``counts[part]`` rows."""
    rows, start = table.replace_schema_metadata(None), 0
    for part, count in enumerate(counts.tolist()):
        if count:
            yield Block(part=part, origin=origin + part, content=_encoded(rows.slice(start, count)))
        start += count


def permute(job: Job, part: int, blocks: Sequence[Block]) -> PartFacts:
    """Facts about a part, after its reports are put in uniformly random order, written and summed up."""
    pipeline = Column.from_dict(job.column).pipeline()
    return _written(job, part, gathered(pipeline, blocks, job.source("permute", part)))


def _written(job: Job, part: int, view: View) -> PartFacts:
    """Facts of a part of a view, after its file is written."""
    column, name = Column.from_dict(job.column), name_of(part)
    sha256 = write_part(column, [view.reports], job.folder / name, job.work)
    summary = column.pipeline().analyzer.summarize(view)
    return PartFacts(part=part, name=name, num_reports=len(view), sha256=sha256, summary=summary)


def name_of(part: int) -> str:
    """File name of a part; names sort in the order of the parts."""
    return f"part-{part:05d}.parquet"


def gathered(pipeline: Pipeline, blocks: Sequence[Block], source: RandomSource) -> View:
    """View of a part's reports in uniformly random order, whatever the order in which blocks arrive."""
    table = Table.from_arrow(rows_in(blocks))
    reports = Reports.from_table(table, pipeline.randomizer.model, seeded=source.reproducible)
    return _view_of(pipeline, reports, source)


def rows_in(blocks: Sequence[Block]) -> pa.Table:
    """Rows of all blocks as one table, in the order of the blocks' origin.

    Raises:
        EngineError: if a block came twice.
    """
    ordered = sorted(blocks, key=lambda block: block.origin)
    if len({block.origin for block in ordered}) != len(ordered):
        raise EngineError("Spark must hand on each report once; a block came twice. Nothing was released.")
    return pa.concat_tables([_decoded(block.content) for block in ordered])


def _view_of(pipeline: Pipeline, reports: Reports, source: RandomSource) -> View:
    """View of a part with these reports in fresh random order."""
    # The number of people is known only when all shares are read; a summary does not depend on it.
    return View(reports=reports, shuffle=pipeline.shuffler.model(max(1, len(reports))), source=source)


def write_part(column: Column, parts: Iterable[Reports], path: Path, work: Path, labels: Integers | None = None) -> str:
    """Write reports to a file, which replaces an earlier file at once; return the file's SHA-256.

    ``labels``, if given, are the labels of all reports, which are then one part.
    """
    local = column.randomizer.randomizer().model
    with tempfile.TemporaryDirectory(prefix="part.", dir=work) as place:
        file = PartFile(Path(place) / path.name, secret=local.guarantee.is_trivial)
        try:
            for reports in parts:
                table = column.randomizer.named(reports.to_arrow())
                file.write(table if labels is None else table.add_column(0, "label", pa.array(labels)))
            file.close(None)
            sha256 = file.sha256()
            file.publish()
        finally:
            file.discard()
        os.replace(Path(place) / path.name, path)
    return sha256


def digest(path: Path) -> str:
    """SHA-256 of an input file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _encoded(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _decoded(content: bytes) -> pa.Table:
    with pa.ipc.open_stream(pa.py_buffer(content)) as stream:
        return stream.read_all()
