"""Kernels as tasks of Spark: a worker reads Arrow batches and returns Arrow batches.

Our own errors come back as values, so that Spark neither repeats the task nor writes them down; of any
other error only the type is told, since its text may quote data.
"""

import os
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from shuffledp._version import __version__
from shuffledp.core.errors import EngineError, ShuffleDPError
from shuffledp.distributed import kernels, placements
from shuffledp.distributed.kernels import Block, Job, NameFacts, PartFacts

BLOCKS = "part int, origin long, content binary"
RESULTS = "content binary"
_BLOCKS = pa.schema([("part", pa.int32()), ("origin", pa.int64()), ("content", pa.binary())])
_RESULTS = pa.schema([("content", pa.binary())])

Batches = Iterable[pa.RecordBatch]
Task = Callable[[Batches], Iterator[pa.RecordBatch]]


def of_shares(job: Job) -> Task:
    """Spark task that runs the job's stage on shares given by number: first blocks, then other results.

    The other results are in one more part.
    """
    kernel = kernels.STAGES[job.stage] if job.placement is None else partial(placements.send, job.placement)

    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        for share in _numbers(batches):
            try:
                for made in _told(kernel(job, share)):
                    if isinstance(made, Block):
                        yield _row(_BLOCKS, made.part, made.origin, made.content)
                    else:
                        yield _row(_BLOCKS, job.num_parts, share, pickle.dumps(made))
            except ShuffleDPError as error:
                yield _row(_BLOCKS, job.num_parts, share, pickle.dumps((share, error)))

    return task


def of_parts(job: Job) -> Task:
    """Spark task that permutes, writes and sums up parts from their blocks; results of shares are passed on."""

    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        parts: dict[int, list[Block]] = {}
        for batch in batches:
            for row in batch.to_pylist():
                if row["part"] == job.num_parts:
                    yield _row(_RESULTS, row["content"])
                else:
                    parts.setdefault(row["part"], []).append(Block(**row))
        for part, blocks in parts.items():
            made = next(_told(_of_part(job, part, blocks) for _ in range(1)))
            yield _row(_RESULTS, pickle.dumps(made))

    return task


def _of_part(job: Job, part: int, blocks: list[Block]) -> PartFacts | NameFacts:
    """Facts of a part, computed from blocks of reports or blocks of names."""
    if part >= job.num_parts:
        return kernels.count_names(blocks)
    if job.placement is not None:
        return placements.fill(job.placement, job, part, blocks)
    return kernels.permute(job, part, blocks)


def of_people(job: Job) -> Task:
    """Spark task that returns facts about the people of shares given by number."""

    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        for share in _numbers(batches):
            made: Any
            try:
                made = next(_told(placements.read_people(job, share) for _ in range(1)))
            except ShuffleDPError as error:
                made = (share, error)
            yield _row(_RESULTS, pickle.dumps(made))

    return task


def of_files(files: tuple[Path, ...]) -> Task:
    """Spark task that returns the digest of input files given by number, and the worker's version."""

    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        for number in _numbers(batches):
            made = next(_told(kernels.digest(files[number]) for _ in range(1)))
            yield _row(_RESULTS, pickle.dumps((number, made, worker())))

    return task


def worker() -> str:
    """Versions of Python and of the library."""
    return f"Python {sys.version_info.major}.{sys.version_info.minor} with shuffledp {__version__}"


def _numbers(batches: Batches) -> Iterator[int]:
    for batch in batches:
        yield from batch.column(0).to_pylist()


def _row(schema: pa.Schema, *values: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array([value], kind) for value, kind in zip(values, schema.types, strict=True)], schema=schema
    )


def _told(made: Iterator[Any]) -> Iterator[Any]:
    """Results of a kernel; errors of other libraries are replaced by our own, without text and cause."""
    while True:
        try:
            each = next(made)
        except StopIteration:
            return
        except ShuffleDPError:
            raise
        except Exception as error:
            reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else type(error).__name__
        else:
            yield each
            continue
        raise EngineError(f"a worker failed: {reason}.")
