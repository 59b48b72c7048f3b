"""Store of the analyzer on disk: each batch of its collections once, until it is released."""

import os
import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from tempfile import mkstemp
from typing import IO, Self

from shuffledp.core.errors import RemoteProtocolError
from shuffledp.parties.service.seen_reports import SEEN_TABLE, SeenReports
from shuffledp.parties.store.database import Database, StorageError
from shuffledp.parties.store.private_files import make_private, sync_folder
from shuffledp.parties.wire.grammar import BatchManifest

Received = tuple[BatchManifest, Path]  # manifest of a batch, and the file of its body

_BODIES, _PARTIAL = "batches", ".partial"
_TRIED = 1 << 16  # bytes written to test the free space
_DIGITS = 12  # digits of a file name
_TABLE = (
    "CREATE TABLE IF NOT EXISTS batches(batch BLOB PRIMARY KEY, collection BLOB, number INTEGER, column INTEGER, "
    "manifest BLOB, done INTEGER DEFAULT 0, UNIQUE(collection, number, column)) WITHOUT ROWID"
)

_decoded = lru_cache(maxsize=1 << 12)(BatchManifest.decode)  # a sum of vectors has a batch for each of many pools


class BatchStore(Database):
    """Store that takes each batch exactly once, despite repeated or broken transfers.

    A body is a file; a batch is there when its row is committed, and not before. Only one thread may use it at a time.

    Args:
        folder: folder of the store, made if it is not there; for its owner only.

    Attributes:
        seen: digests of reports by batch, for collections that have not ended.
        name: name of the folder, which marks files made elsewhere for this store.

    Raises:
        LocalProtocolError: if another process has the store open.
        StorageError: if the disk cannot be written to.
    """

    file, owner = "batches.sqlite", "the analyzer"
    in_use = "batches must belong to one process; another one has them open."
    tables = (_TABLE, SEEN_TABLE)

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._bodies = folder / _BODIES
        try:
            make_private(self._bodies)
        except OSError:
            raise StorageError(f"the folder of {self.owner} must be writable; it is not.") from None
        self.name = sha256(os.fsencode(folder.resolve())).hexdigest()[:_DIGITS]
        self.seen = SeenReports(folder, self)
        known = {self._body(batch) for (batch,) in self.run("SELECT batch FROM batches WHERE NOT done")}
        for path in self._bodies.iterdir():  # of a process that ended before a batch was stored, or after it was done
            if path not in known:
                path.unlink()

    def incoming(self) -> "IncomingBody":
        """File for a body that is being received."""
        return IncomingBody(self._bodies)

    def has(self, manifest: BatchManifest) -> bool:
        """Whether the batch was stored before."""
        return self.finds("SELECT 1 FROM batches WHERE batch = ?", manifest.batch_id)

    def take(self, manifest: BatchManifest, incoming: "IncomingBody") -> bool:
        """Whether a complete batch is newly stored; False if it was stored before.

        Raises:
            RemoteProtocolError: if its body does not match its manifest, another batch has its number, or the batch
                comes after the last of its collection.
        """
        if incoming.sha256() != manifest.body_sha256:
            raise RemoteProtocolError("a batch must have the body that its manifest is about; it has another.")
        if self.has(manifest):
            return False
        self._check_precedes_last(manifest)
        incoming.publish(self._body(manifest.batch_id))
        row = manifest.batch_id, manifest.collection_id, manifest.number, manifest.column, manifest.encode()
        try:
            self.run("INSERT INTO batches(batch, collection, number, column, manifest) VALUES(?, ?, ?, ?, ?)", *row)
        except sqlite3.IntegrityError:
            self._body(manifest.batch_id).unlink()
            raise RemoteProtocolError("a batch must have a number of its own; another has it.") from None
        return True

    def complete(self, collection_id: bytes, num_columns: int) -> list[list[Received]]:
        """Batches of all columns for each number, in order, if all have come and none is done."""
        whole = "SELECT number FROM batches WHERE collection = ? AND NOT done GROUP BY number HAVING count(*) = ?"
        rows = self.run(
            f"SELECT number, batch, manifest FROM batches WHERE collection = ? AND NOT done AND number IN ({whole}) "  # noqa: S608  ours
            "ORDER BY number, column",
            collection_id,
            collection_id,
            num_columns,
        )
        found: dict[int, list[Received]] = {}
        for number, batch, manifest in rows:
            found.setdefault(number, []).append((_decoded(manifest), self._body(batch)))
        return [*found.values()]

    def count_before(self, collection_id: bytes, number: int) -> int:
        """Number of batches of a collection, over all columns, with numbers below ``number``."""
        return int(
            self.rows("SELECT count(*) FROM batches WHERE collection = ? AND number < ?", collection_id, number)[0][0]
        )

    def is_empty(self, collection_id: bytes) -> bool:
        """Whether the analyzer has received no batch of a collection, not even the empty last batch."""
        return not self.finds("SELECT 1 FROM batches WHERE collection = ?", collection_id)

    def has_ended(self, collection_id: bytes, num_columns: int) -> bool:
        """Whether the empty last batch of each column came, and all earlier batches are done."""
        undone = self.finds("SELECT 1 FROM batches WHERE collection = ? AND NOT done", collection_id)
        return not undone and len(self.ended(collection_id)) == num_columns

    def ended(self, collection_id: bytes) -> set[int]:
        """Columns of a collection with an empty last batch."""
        return {each.column for each in self._last(collection_id)}

    def done(self, batches: Iterable[Received]) -> None:
        """Remove the bodies of batches that need no further release; the batches stay known."""
        for manifest, path in batches:
            self.run("UPDATE batches SET done = 1 WHERE batch = ?", manifest.batch_id)
            path.unlink(missing_ok=True)

    def end(self, collection_id: bytes) -> None:
        """Remove all bodies of a collection that has ended, and forget the digests of its reports."""
        with self.transaction():
            self.run("UPDATE batches SET done = 1 WHERE collection = ?", collection_id)
            self.seen.forget(collection_id)
        for (batch,) in self.rows("SELECT batch FROM batches WHERE collection = ?", collection_id):
            self._body(batch).unlink(missing_ok=True)
        self.seen.destroy_unused_keys()

    def known(self) -> list[tuple[bytes, bool]]:
        """Sorted ids of the collections from which a batch came, each with True if all batches are done."""
        found = self.rows("SELECT collection, min(done) FROM batches GROUP BY collection ORDER BY collection")
        return [(collection, bool(done)) for collection, done in found]

    def drop(self, collection_id: bytes) -> None:
        """Remove all data about a collection; a repeated batch would then count as new."""
        self.end(collection_id)
        self.run("DELETE FROM batches WHERE collection = ?", collection_id)

    def try_to_store(self) -> None:
        """Test the disk: write beside the bodies and into the database, and delete both.

        Raises:
            StorageError: if the disk is full.
        """
        with self.incoming() as incoming:
            incoming.write(bytes(_TRIED))
            incoming.sync()
        super().try_to_store()

    def _check_precedes_last(self, manifest: BatchManifest) -> None:
        """Refuse a batch after its column's end, or with a number that contradicts another column's end.

        Reports must have a lower number than each end, and all ends have one number. Columns end one after the other,
        where several shufflers have them.
        """
        last = {each.column: each.number for each in self._last(manifest.collection_id)}
        ends_otherwise = not manifest.num_reports and bool(last) and manifest.number not in last.values()
        is_beyond = manifest.num_reports > 0 and manifest.number >= min(last.values(), default=manifest.number + 1)
        if manifest.column in last or ends_otherwise or is_beyond:
            raise RemoteProtocolError(
                "a batch must come before the last of its collection, without reports; it is late."
            )

    def _last(self, collection_id: bytes) -> list[BatchManifest]:
        """Manifests of the empty last batches received so far for a collection's columns."""
        rows = self.rows("SELECT manifest FROM batches WHERE collection = ?", collection_id)
        return [each for each in (_decoded(row) for (row,) in rows) if not each.num_reports]

    def _body(self, batch: bytes) -> Path:
        return self._bodies / batch.hex()


class IncomingBody:
    """Body on its way to the disk under a temporary name; the context removes the file at its end."""

    def __init__(self, folder: Path) -> None:
        try:
            handle, name = mkstemp(suffix=_PARTIAL, dir=folder)
        except OSError:
            raise StorageError("the disk did not take a batch.") from None
        self._path, self._digest = Path(name), sha256()
        self._file: IO[bytes] = os.fdopen(handle, "wb")
        self.size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._file.close()
        self._path.unlink(missing_ok=True)

    def write(self, part: bytes) -> None:
        """Append a part to the body."""
        try:
            self._file.write(part)
        except OSError:
            raise StorageError("the disk did not take a batch.") from None
        self._digest.update(part)
        self.size += len(part)

    def sha256(self) -> bytes:
        """Digest of the bytes written so far."""
        return self._digest.digest()

    def sync(self) -> None:
        """Flush the file to the disk."""
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError:
            raise StorageError("the disk did not take a batch.") from None

    def publish(self, path: Path) -> None:
        """Flush the file to the disk and give it its final name."""
        self.sync()
        try:
            self._path.replace(path)
            sync_folder(path.parent)
        except OSError:
            raise StorageError("the disk did not take a batch.") from None
