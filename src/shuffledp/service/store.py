"""Interface of a shuffler's store for one collection: waiting reports, batches on their way, and counts only."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from shuffledp.core.errors import ShuffleDPError
from shuffledp.core.table import Integers
from shuffledp.service.batches import Phase
from shuffledp.service.intake import Count, Row
from shuffledp.wire.grammar import ReportError

_ROOM = 1 << 14  # bytes, the size of some reports


class StorageError(ShuffleDPError, RuntimeError):
    """Error: the disk did not take data; none of it was kept, and nothing may be acknowledged."""


def make_private(folder: Path) -> None:
    """Make a folder and its missing parents, for their owner only; existing folders stay unchanged."""
    for each in (*reversed(folder.parents), folder):
        if not each.is_dir():
            each.mkdir(mode=0o700, exist_ok=True)


class Draw(Protocol):
    """Function that draws which reports leave, and in which order."""

    def __call__(
        self, column: int, count: int, size: int, extensions: Callable[[], list[bytes]]
    ) -> tuple[Integers, Integers]:
        """Origins of the extensions and of the ciphertext at each of ``size`` places, among ``count`` waiting reports.

        ``extensions`` reads the extensions of all waiting reports, for an order that depends on them.
        """


class Made(NamedTuple):
    """Facts of a batch before it is signed: column, number from 0, reports, digest of its body, counts so far."""

    column: int
    number: int
    num_reports: int
    body_sha256: bytes
    counts: Mapping[Count, int]


Sign = Callable[[Made], bytes]  # the signed manifest of a batch, encoded


class Outgoing(NamedTuple):
    """Batch on its way to the analyzer."""

    number: int
    column: int
    manifest: bytes


class Store(Protocol):
    """Store of one collection at a shuffler; each method returns after its change is on the disk.

    Guarantees:
        1. A report whose submission `commit` calls stored is kept until it is in a batch, once, or destroyed.
        2. `release` is whole or absent: no report is both waiting and in a batch, in two batches, or in none.
        3. A report is kept as its ciphertext, its extensions and a keyed digest of its id: no address, no time and no
           order. After `end` the key of the digests is gone; after `clean` only the phase and counts are left.
    """

    phase: Phase
    batches: int
    waiting: int

    def commit(self, submissions: Sequence[Sequence[Row]]) -> list[ReportError | Count]:
        """Outcome of each submission; new ones are stored, all reports of a submission or none."""

    def count(self, further: Mapping[Count, int]) -> None:
        """Count submissions that were not stored; the counts are written with the next commit."""

    def counts(self) -> Mapping[Count, int]:
        """Counts of submissions by outcome."""

    def enter(self, phase: Phase) -> None:
        """Write down the phase of the collection."""

    def release(self, size: int, draw: Draw, sign: Sign) -> None:
        """Move ``size`` reports of each column, drawn by lot, from the waiting ones to a batch on its way."""

    def end(self, phase: Phase, sign: Sign) -> None:
        """Destroy waiting reports, send an empty last batch of each column, and forget the digests."""

    def outgoing(self) -> list[Outgoing]:
        """Batches on their way, oldest first."""

    def part(self, outgoing: Outgoing, number: int) -> bytes | None:
        """Part of a batch's body, numbered from 0; None after the last part."""

    def delivered(self, outgoing: Outgoing) -> None:
        """Destroy a batch that the analyzer has acknowledged."""

    def clean(self, phase: Phase) -> None:
        """Delete everything except the phase and the counts."""

    def try_to_store(self) -> None:
        """Test the disk by a write and a deletion; raises `StorageError` if the disk is full."""

    def tidy(self) -> None:
        """Remove the log from the disk, since it tells the order of writes."""

    def close(self) -> None:
        """Close the store's file."""


def try_to_store(run: Callable[..., Any]) -> None:
    """Test the disk: write more into an SQLite file than its free space, and undo it; as `transaction`."""
    with transaction(run):
        for statement in (
            "CREATE TABLE room(bytes BLOB)",
            f"INSERT INTO room VALUES(zeroblob({_ROOM}))",
            "DROP TABLE room",
        ):
            run(statement)


@contextmanager
def transaction(run: Callable[..., Any]) -> Iterator[None]:
    """Context of a transaction: all of the block is on the disk at its end, or none; ``run`` runs a statement."""
    run("BEGIN IMMEDIATE")
    try:
        yield
        run("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error, StorageError):
            run("ROLLBACK")
        raise
