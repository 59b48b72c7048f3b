"""What a shuffler remembers of one collection: reports that wait, batches on their way, counts, and nothing else."""

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

_ROOM = 1 << 14  # bytes, as many as some reports have


class StorageError(ShuffleDPError, RuntimeError):
    """The disk did not take what had to be written; nothing of it was kept, and nothing may be acknowledged."""


def make_private(folder: Path) -> None:
    """Make a folder, and all above it that are not there, for their owner only; what is there stays as it is."""
    for each in (*reversed(folder.parents), folder):
        if not each.is_dir():
            each.mkdir(mode=0o700, exist_ok=True)


class Draw(Protocol):
    """Draws which reports leave, and in which order."""

    def __call__(
        self, column: int, count: int, size: int, extensions: Callable[[], list[bytes]]
    ) -> tuple[Integers, Integers]:
        """For each of ``size`` reports: whose extensions lie there, and whose ciphertext; of ``count`` that wait.

        ``extensions`` reads those of all that wait, where the order is about them.
        """


class Made(NamedTuple):
    """What a batch is, before it is signed: column, number from 0, reports, digest of its body, counts so far."""

    column: int
    number: int
    num_reports: int
    body_sha256: bytes
    counts: Mapping[Count, int]


Sign = Callable[[Made], bytes]  # the signed manifest of a batch, encoded


class Outgoing(NamedTuple):
    """A batch on its way to the analyzer."""

    number: int
    column: int
    manifest: bytes


class Store(Protocol):
    """What a shuffler remembers of one collection. Whatever a method has returned from is on the disk.

    Guarantees:
        1. A report whose submission `commit` calls stored is there until it is in a batch, once, or destroyed.
        2. `release` is whole or absent: no report is both waiting and in a batch, in two batches, or in none.
        3. Of a report there is its ciphertext, its extensions and a keyed digest of its id: no address, no time and no
           order. After `end` the key of the digests is gone; after `clean` there are only the phase and counts.
    """

    phase: Phase
    batches: int
    waiting: int

    def commit(self, submissions: Sequence[Sequence[Row]]) -> list[ReportError | Count]:
        """Store what is new, all of a submission or nothing of it; says what became of each."""

    def count(self, further: Mapping[Count, int]) -> None:
        """Count what was not stored; it is written with what is stored next."""

    def counts(self) -> Mapping[Count, int]:
        """All counts of reports."""

    def enter(self, phase: Phase) -> None:
        """Write down the phase."""

    def release(self, size: int, draw: Draw, sign: Sign) -> None:
        """Move this number of reports of each column, drawn by lot, from those that wait to those on their way."""

    def end(self, phase: Phase, sign: Sign) -> None:
        """Destroy what waits, put an empty batch of each column on its way, and forget what was seen."""

    def outgoing(self) -> list[Outgoing]:
        """The batches on their way, the oldest first."""

    def part(self, outgoing: Outgoing, number: int) -> bytes | None:
        """A part of the body of a batch, numbered from 0; None after the last."""

    def delivered(self, outgoing: Outgoing) -> None:
        """Destroy a batch that the analyzer has."""

    def clean(self, phase: Phase) -> None:
        """Leave nothing on the disk but the phase and counts."""

    def try_to_store(self) -> None:
        """Write something and take it away; it raises a `StorageError` if there is no room."""

    def tidy(self) -> None:
        """Take the log off the disk, which tells in which order things were written."""

    def close(self) -> None:
        """Let the disk go."""


def try_to_store(run: Callable[..., Any]) -> None:
    """Write into an SQLite file what has no room in it, and take it away; as `transaction`."""
    with transaction(run):
        for statement in (
            "CREATE TABLE room(bytes BLOB)",
            f"INSERT INTO room VALUES(zeroblob({_ROOM}))",
            "DROP TABLE room",
        ):
            run(statement)


@contextmanager
def transaction(run: Callable[..., Any]) -> Iterator[None]:
    """All of the block, on the disk when it ends; or nothing of it. ``run`` runs a statement in an SQLite file."""
    run("BEGIN IMMEDIATE")
    try:
        yield
        run("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error, StorageError):
            run("ROLLBACK")
        raise
