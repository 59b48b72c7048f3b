"""Shuffled view in parts, made from reports in parts.

A uniform shuffle uses buckets on disk, any other shuffle works in memory.

More reports than memory holds are scattered to buckets on disk, each to one drawn uniformly and independently; each
bucket, read back, becomes a `View`, whose constructor permutes it; the buckets follow one another. Every order of all
reports is then equally likely, exactly.
"""

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shuffledp.core.errors import InputDataError, LocalProtocolError
from shuffledp.core.flow import Reports, Shuffler, View
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.core.table import Table, frozen
from shuffledp.files.family_files import ShuffledParts, files_of
from shuffledp.files.parquet import ReportPart
from shuffledp.randomness.sources import RandomSource, resolve_source
from shuffledp.survey import ROW, Column

_NUM_BUCKETS = 256  # one random byte chooses a bucket
_IN_MEMORY = 1 << 27  # bytes of reports and their permutation that stay off the disk
_BYTES_OF_PLACE = 8  # bytes of a permutation per report


@contextmanager
def shuffled(
    column: Column, parts: Iterable[ReportPart], folder: Path, *, beside: Path, source: RandomSource
) -> Iterator[ShuffledParts]:
    """Shuffled view of all reports; temporary data on disk are removed when the block ends.

    All ``parts`` are taken before the block begins; ``folder`` is a private place on a disk with room for all reports,
    and ``beside`` the folder of the task file.

    Raises:
        BatchTooSmallError: if there are fewer reports than the task's smallest batch; then nothing is shuffled.
        InputDataError: if reports say which round they are for, and are not those of one person after another.
    """
    parts = _in_their_rounds(column, parts)
    if not column.shuffler.is_uniform:
        yield _shuffled_in_memory(column, parts, beside, source)
        return
    with ReportSpool(folder, source=source) as spool:
        for reports, _ in parts:  # public columns are detached
            spool.add(reports)
        column.require_batch(spool.num_reports)
        shuffler = column.shuffler.shuffler()
        shuffle = shuffler.model(spool.num_users)
        views = spool.views(shuffle)
        yield ShuffledParts(shuffle=shuffle, num_reports=spool.num_reports, views=views, shuffler=shuffler)


def _in_their_rounds(column: Column, parts: Iterable[ReportPart]) -> Iterator[ReportPart]:
    """Parts of reports, passed on unchanged; refused if a person's messages are not in their rounds' order."""
    first = 0
    for reports, public in parts:
        wrong = reports.misplaced(first=first)
        if wrong is not None:
            messages, each = reports.model.num_messages, reports.model.messages_per_round
            raise InputDataError(
                f"the reports of column {column.value!r} must be those of one person after another, each for rounds 0 "
                f"to {messages // each - 1} in this order; row {wrong} (counted from 0) is not for round "
                f"{wrong % messages // each}."
            )
        first += len(reports)
        yield reports, public


def shuffler_for(column: Column, public: Table | None, num_users: int, beside: Path) -> Shuffler:
    """Shuffler of the task, with these people's groups or strata, or the graph of their walks.

    Raises:
        BatchTooSmallError: if a stratum has fewer people than the task's smallest batch.
    """
    if column.shuffler.num_rows is not None and public is not None:
        return column.shuffler.shuffler_of(_numbered_rows(public, column.shuffler.num_rows))
    return files_of(column.shuffler).shuffler(column, public, num_users, beside)


def _numbered_rows(people: Table, num_rows: int) -> NDArray[np.int64]:
    """Row number of each person in the input, in the order of people."""
    rows = people[ROW].astype(np.int64)
    if (np.diff(rows, prepend=-1, append=num_rows) < 1).any():
        raise InputDataError(f"the reports must be those of rows 0 to {num_rows - 1} of the input, in order.")
    return rows


def _shuffled_in_memory(
    column: Column, parts: Iterable[ReportPart], beside: Path, source: RandomSource
) -> ShuffledParts:
    reports, public = _together(column, parts)
    shuffler = shuffler_for(column, public, reports.num_users, beside)
    return files_of(column.shuffler).shuffled(column, shuffler, reports, public, source)


def _together(column: Column, parts: Iterable[ReportPart]) -> tuple[Reports, Table | None]:
    """All reports as one value, and the public columns of their people; the parts are not kept."""
    taken, attached = [], []
    for reports, columns in parts:
        taken.append(reports)
        attached += [] if columns is None else [columns]
    column.require_batch(sum(map(len, taken)))
    reports = Reports.concat(taken)
    if not attached:
        return reports, None
    public = Table.from_arrow(pa.concat_tables(attached)[:: reports.model.num_messages])
    attached.clear()
    pa.default_memory_pool().release_unused()  # frees as much memory as the columns took
    return reports, public


class ReportSpool:
    """Spool that takes reports in parts of any size, and returns views in uniformly random order.

    A context manager: the buckets lie in a private folder, which is removed at the end whatever happens; only a process
    that is killed (``SIGKILL``, a power cut) leaves it, with the reports in it before they are shuffled.

    Guarantees:
        1. Given the multiset of reports, every order in which the views give them back is equally likely, exactly
           (Rao 1961 and Sandelius 1962: uniform buckets, then a uniform permutation within each).
        2. Memory: about twice ``in_memory`` bytes while reports come in or if they stay there, and three times one
           bucket (a 256th of all reports) while they go out.

    Args:
        folder: where buckets are made, on a disk with room for all reports.
        in_memory: bytes of reports and of a permutation of them up to which no bucket is made; None for the usual.
        source: randomness; None is the cryptographic source.
    """

    def __init__(self, folder: Path, *, in_memory: int | None = None, source: RandomSource | None = None) -> None:
        self._folder = folder
        self._in_memory = _IN_MEMORY if in_memory is None else in_memory
        self._source = resolve_source(source)
        self._parts: list[Reports] = []
        self._held = 0
        self._buckets: _Buckets | None = None
        self._empty: Reports | None = None
        self._seeded = False
        self.num_reports = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._parts.clear()
        if self._buckets is not None:
            self._buckets.remove()

    def add(self, reports: Reports) -> None:
        """Add reports; all reports in a spool are of one model."""
        self._empty = reports.take(slice(0, 0)) if self._empty is None else self._empty
        self.num_reports += len(reports)
        self._seeded |= reports.seeded
        self._parts.append(reports)
        self._held += sum(column.nbytes for column in reports.columns.values()) + _BYTES_OF_PLACE * len(reports)
        if self._held > self._in_memory:
            self._spill()

    @property
    def num_users(self) -> int:
        """Number of people who sent reports so far; refused if a person's messages are incomplete."""
        return 0 if self._empty is None else self._empty.model.num_users_of(self.num_reports)

    def views(self, shuffle: ShuffleModel) -> Iterator[View]:
        """Views of all reports, at most one bucket in each view; the spool is empty afterwards.

        It is refused if the spool is empty.
        """
        if self._empty is None:
            raise LocalProtocolError("a spool must be given reports before it gives back views; got none.")
        if self._buckets is None:
            reports = Reports.concat(self._parts)
            self._parts.clear()
            yield View(reports=reports, shuffle=shuffle, source=self._source)
            return
        self._spill()
        for columns in self._buckets.read():
            reports = Reports(columns, self._empty.model, seeded=self._seeded)
            yield View(reports=reports, shuffle=shuffle, source=self._source)

    def _spill(self) -> None:
        if self._buckets is None and self._empty is not None:
            self._buckets = _Buckets(self._folder, self._empty)
        for part in self._parts:
            chosen = self._source.words(-(-len(part) // 8)).view(np.uint8)[: len(part)]
            if self._buckets is not None:
                self._buckets.write(part, chosen)
        self._parts.clear()
        self._held = 0


class _Buckets:
    """Raw columns on disk, in one file for each bucket and column; only the owner can read them."""

    def __init__(self, folder: Path, like: Reports) -> None:
        self._path = Path(tempfile.mkdtemp(prefix=".buckets.", dir=folder))
        self._like = like
        self._files: dict[tuple[int, str], IO[bytes]] = {}

    def write(self, reports: Reports, chosen: NDArray[np.uint8]) -> None:
        """Append each report to its chosen bucket."""
        order = np.argsort(chosen, kind="stable")
        ends = np.cumsum(np.bincount(chosen, minlength=_NUM_BUCKETS))
        for name, column in reports.columns.items():
            scattered, start = column[order], 0
            for bucket, end in enumerate(ends):
                if end > start:
                    self._file(bucket, name).write(np.ascontiguousarray(scattered[start:end]).data)
                start = end

    def read(self) -> Iterator[dict[str, NDArray[Any]]]:
        """The columns of each nonempty bucket, which is deleted once read."""
        for file in self._files.values():
            file.close()
        for bucket in range(_NUM_BUCKETS):
            columns = {}
            for name, like in self._like.columns.items():
                path = self._path_of(bucket, name)
                if path.exists():
                    columns[name] = frozen(np.fromfile(path, dtype=like.dtype)).reshape(-1, *like.shape[1:])
                    path.unlink()
            if columns:
                yield columns

    def remove(self) -> None:
        """Close and delete all bucket files."""
        for file in self._files.values():
            file.close()
        shutil.rmtree(self._path, ignore_errors=True)

    def _file(self, bucket: int, name: str) -> IO[bytes]:
        if (bucket, name) not in self._files:
            path = self._path_of(bucket, name)
            path.touch(mode=0o600)
            self._files[bucket, name] = path.open("wb", buffering=0)
        return self._files[bucket, name]

    def _path_of(self, bucket: int, name: str) -> Path:
        return self._path / f"{bucket:03d}.{list(self._like.columns).index(name)}"
