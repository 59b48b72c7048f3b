"""Digests of reports in the batches of a collection, so that a report in two batches counts once.

A report leaves a keyed digest of its ciphertext and the number of its first batch: no order,
and once the collection is over no key. They are stored before the batch is released. So wherever the
process is killed, a repeated batch finds its own reports, and a later batch finds them taken.
"""

from collections.abc import Sequence
from pathlib import Path

from shuffledp.parties.store.database import Database
from shuffledp.parties.store.digest_keys import destroy_key, keyed, read_key, write_key
from shuffledp.parties.wire.grammar import BatchManifest

_KEY = "-seen.key"
SEEN_TABLE = (
    "CREATE TABLE IF NOT EXISTS seen(collection BLOB, column INTEGER, digest BLOB, number INTEGER, "
    "PRIMARY KEY(collection, column, digest)) WITHOUT ROWID"
)


class SeenReports:
    """Keyed digests in the analyzer's database, 16 bytes for each report, with a key for each collection.

    Args:
        folder: folder of the database; keys lie beside it, for their owner only.
        database: database with the `SEEN_TABLE`.
    """

    def __init__(self, folder: Path, database: Database) -> None:
        self._folder, self._database = folder, database
        self.destroy_unused_keys()  # left by a process that ended

    def in_other_batches(self, manifest: BatchManifest, ids: Sequence[bytes]) -> list[bool]:
        """Whether each report came in another batch of the collection; new reports are stored under this batch.

        The result is on the disk. A repeated call for the same batch returns the same.

        Raises:
            LocalProtocolError: if the key of existing digests is missing or too short.
            StorageError: if the disk did not take what was written.
        """
        key = self._key(manifest.collection_id)
        digests = [keyed(each, key) for each in ids]
        others = set()
        of = "SELECT number FROM seen WHERE collection = ? AND column = ? AND digest = ?"
        with self._database.transaction():
            for digest in sorted(set(digests)):  # not in the order of the batch
                row = manifest.collection_id, manifest.column, digest
                if self._database.run("INSERT OR IGNORE INTO seen VALUES(?, ?, ?, ?)", *row, manifest.number).rowcount:
                    continue
                if self._database.run(of, *row).fetchone() != (manifest.number,):
                    others.add(digest)
        return [digest in others for digest in digests]

    def forget(self, collection_id: bytes) -> None:
        """Delete the digests of a collection that has ended; inside a transaction."""
        self._database.run("DELETE FROM seen WHERE collection = ?", collection_id)

    def destroy_unused_keys(self) -> None:
        """Destroy the keys of collections without digests: not used yet, or forgotten."""
        for path in self._folder.glob(f"*{_KEY}"):
            if not self._any(bytes.fromhex(path.name.removesuffix(_KEY))):
                destroy_key(path)

    def _key(self, collection_id: bytes) -> bytes:
        path = self._path(collection_id)
        if not self._any(collection_id):
            write_key(path)
        return read_key(path)

    def _any(self, collection_id: bytes) -> bool:
        return self._database.finds("SELECT 1 FROM seen WHERE collection = ? LIMIT 1", collection_id)

    def _path(self, collection_id: bytes) -> Path:
        return self._folder / f"{collection_id.hex()}{_KEY}"
