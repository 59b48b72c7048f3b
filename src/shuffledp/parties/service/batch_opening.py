"""Opening of a batch: each distinct ciphertext with the analyzer's keys, in several processes if many."""

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from shuffledp.core.errors import MalformedMessageError, UndecryptableReportError
from shuffledp.core.flow import Progress, Reports
from shuffledp.core.local_models import LocalModel
from shuffledp.core.table import Integers
from shuffledp.parties.wire.grammar import ID_BYTES, BatchedReport, Extension
from shuffledp.parties.wire.hpke import Opener
from shuffledp.parties.wire.keys import AnalyzerKey, from_pem
from shuffledp.parties.wire.presentation import messages
from shuffledp.parties.wire.report_bytes import ReportLayout

InOtherBatches = Callable[[Sequence[bytes]], Sequence[bool]]  # for each id, whether it came in another batch

_REPORTS_AT_A_TIME = 5000
_WORTH_PROCESSES = 20_000  # reports, below which starting processes takes longer than opening


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedBatch:
    """Content of an opened batch.

    Args:
        reports: valid reports, in the order of their places.
        places: place of each valid report in the batch, ascending.
        extensions: extensions at every place.
        undecryptable: number of reports that did not open.
        malformed: number of plaintexts that are no reports.
        duplicates: number of reports with a ciphertext seen at an earlier place or in another batch.
        tests: number of reports that were sealed as tests of the way, and are thrown away.
        lost: number of people, at most, some of whose several messages are left out.
    """

    reports: Reports
    places: Integers
    extensions: tuple[tuple[Extension, ...], ...]
    undecryptable: int
    malformed: int
    duplicates: int
    tests: int = 0
    lost: int = 0

    @property
    def num_reports(self) -> int:
        """Number of reports in the batch, including left-out reports, excluding tests."""
        return len(self.reports) + self.undecryptable + self.malformed + self.duplicates


class _Span(NamedTuple):
    """Opened stretch of a batch: id, extensions and plaintext of each report.

    The plaintext is None for a test, or for a report that did not open.
    """

    ids: list[bytes]
    extensions: list[tuple[Extension, ...]]
    plaintexts: list[bytes | None]
    are_tests: list[bool]

    @classmethod
    def empty(cls) -> Self:
        """Stretch without any report."""
        return cls([], [], [], [])


def open_batch(
    body: Path,
    num_reports: int,
    model: LocalModel,
    keys: Sequence[AnalyzerKey],
    *,
    collection_id: bytes,
    column: int,
    in_others: InOtherBatches | None = None,
    progress: Progress | None = None,
) -> OpenedBatch:
    """Content of a batch file, opened; only a few thousand reports are in memory at a time.

    Reports ``in_others`` batches of the collection count as duplicates; None is for a collection of one batch.

    Raises:
        MalformedMessageError: if the file does not hold exactly ``num_reports`` reports, one or more.
    """
    found = _Span.empty()
    if not body.stat().st_size:  # an empty file cannot be mapped
        raise MalformedMessageError(f"a batch must hold {num_reports} reports; it is empty.")
    with body.open("rb") as file, closing(mmap(file.fileno(), 0, access=ACCESS_READ)) as data:
        spans = _spans(data)
        if num_reports < _WORTH_PROCESSES:
            opener = Opener.by(keys, collection_id=collection_id, column=column)
            results: Iterator[_Span] = map(partial(_open, opener), spans)
        else:
            results = _in_processes(spans, [key.to_pem() for key in keys], collection_id, column)
        for span in results:
            found.ids.extend(span.ids)
            found.extensions.extend(span.extensions)
            found.plaintexts.extend(span.plaintexts)
            found.are_tests.extend(span.are_tests)
            if progress is not None:
                progress(len(found.ids), num_reports)
    if len(found.ids) != num_reports:
        raise MalformedMessageError(f"a batch must hold {num_reports} reports; got {len(found.ids)}.")
    return _told_apart(found, ReportLayout.of(model), in_others)


def _told_apart(found: _Span, layout: ReportLayout, in_others: InOtherBatches | None) -> OpenedBatch:
    """Opened content of a batch: valid reports, and counts of all other reports by kind."""
    _, first = np.unique(np.frombuffer(b"".join(found.ids), dtype=f"S{ID_BYTES}"), return_index=True)
    fresh = np.sort(first).tolist()
    if in_others is not None:
        repeated = in_others([found.ids[place] for place in fresh])
        fresh = [place for place, is_repeated in zip(fresh, repeated, strict=True) if not is_repeated]
    tests = sum(found.are_tests[place] for place in fresh)
    texts = [(place, text) for place in fresh if (text := found.plaintexts[place]) is not None]
    reports, malformed = layout.decode([text for _, text in texts])
    places = np.delete(np.array([place for place, _ in texts], dtype=np.int64), malformed)
    return OpenedBatch(
        reports=reports,
        places=places,
        extensions=tuple(found.extensions),
        undecryptable=len(fresh) - len(texts) - tests,
        malformed=len(malformed),
        duplicates=len(found.ids) - len(fresh),
        tests=tests,
    )


def _spans(data: Any) -> Iterator[bytes]:
    """Bytes of a batch in stretches of a few thousand whole reports."""
    start = at = count = 0
    while at < len(data):
        _, at = BatchedReport.read(data, at, len(data))
        count += 1
        if count == _REPORTS_AT_A_TIME:
            yield data[start:at]
            start, count = at, 0
    if start < at:
        yield data[start:at]


def _open(opener: Opener, span: bytes) -> _Span:
    found = _Span.empty()
    for report in messages(BatchedReport, span, 0, len(span)):
        found.ids.append(report.ciphertext.report_id())
        found.extensions.append(report.public_extensions)
        try:
            text, is_test = opener.open(report.ciphertext), False
        except UndecryptableReportError:
            text, is_test = None, opener.is_test(report.ciphertext)
        found.plaintexts.append(text)
        found.are_tests.append(is_test)
    return found


# ---- in processes ---------------------------------------------------------------------------------------------------

_held: list[Opener] = []  # opener of this worker process, so that keys are sent once


def _hold(pems: Sequence[str], collection_id: bytes, column: int) -> None:
    keys = [key for key in map(from_pem, pems) if isinstance(key, AnalyzerKey)]
    _held[:] = [Opener.by(keys, collection_id=collection_id, column=column)]


def _open_held(span: bytes) -> _Span:
    return _open(_held[0], span)


def _in_processes(spans: Iterator[bytes], pems: Sequence[str], collection_id: bytes, column: int) -> Iterator[_Span]:
    """Opened stretches from one process for each core; at most two per process are read in advance."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    given = pems, collection_id, column
    with ProcessPoolExecutor(
        cores, mp_context=multiprocessing.get_context("spawn"), initializer=_hold, initargs=given
    ) as pool:
        yield from _in_order(pool, _open_held, spans, waiting=2 * cores)


def _in_order(
    pool: Executor, work: Callable[[bytes], _Span], spans: Iterator[bytes], *, waiting: int
) -> Iterator[_Span]:
    """Results in the order of the stretches; a stretch is read only shortly before it is processed."""
    begun: deque[Future[_Span]] = deque()
    for span in spans:
        begun.append(pool.submit(work, span))
        if len(begun) > waiting:
            yield begun.popleft().result()
    while begun:
        yield begun.popleft().result()
