"""Which reports of a collection came in which of its batches, so that one that comes in a second batch counts once.

Of each report there is a keyed digest of its ciphertext and the number of the batch that it came in first: no order,
and once the collection is over no key. It is written down before anything of the batch is released. So wherever the
process is killed, a batch that is worked at again finds its own reports, and a later one finds them taken.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from shuffledp.service.digest_keys import destroy_key, keyed, read_key, write_key
from shuffledp.service.store import transaction
from shuffledp.wire.grammar import BatchManifest

_KEY = "-seen.key"
_TABLE = (
    "CREATE TABLE IF NOT EXISTS seen(collection BLOB, column INTEGER, digest BLOB, number INTEGER, "
    "PRIMARY KEY(collection, column, digest)) WITHOUT ROWID"
)


class SeenReports:
    """Keyed digests in the database of an analyzer's batches, 16 bytes for each report, and a key for each collection.

    Args:
        folder: of the database; keys lie beside it, for their owner only.
        run: runs a statement in the database.
    """

    def __init__(self, folder: Path, run: Callable[..., Any]) -> None:
        self._folder, self._run = folder, run
        run(_TABLE)
        self.destroy_unused_keys()  # of a process that ended

    def in_other_batches(self, manifest: BatchManifest, ids: Sequence[bytes]) -> list[bool]:
        """Whether each of these reports came in another batch of the collection; if not, it is this one's from now on.

        Whatever this returns is on the disk. Asked again about the same batch, it says the same.

        Raises:
            LocalProtocolError: if the key of digests that are there is gone or cut off.
            StorageError: if the disk did not take what was written.
        """
        key = self._key(manifest.collection_id)
        digests = [keyed(each, key) for each in ids]
        others = set()
        of = "SELECT number FROM seen WHERE collection = ? AND column = ? AND digest = ?"
        with transaction(self._run):
            for digest in sorted(set(digests)):  # not in the order of the batch
                row = manifest.collection_id, manifest.column, digest
                if self._run("INSERT OR IGNORE INTO seen VALUES(?, ?, ?, ?)", *row, manifest.number).rowcount:
                    continue
                if self._run(of, *row).fetchone() != (manifest.number,):
                    others.add(digest)
        return [digest in others for digest in digests]

    def forget(self, collection_id: bytes) -> None:
        """Delete the digests of a collection that is over; inside a transaction."""
        self._run("DELETE FROM seen WHERE collection = ?", collection_id)

    def destroy_unused_keys(self) -> None:
        """Destroy the keys of collections of which there are no digests: not used yet, or forgotten."""
        for path in self._folder.glob(f"*{_KEY}"):
            if not self._any(bytes.fromhex(path.name.removesuffix(_KEY))):
                destroy_key(path)

    def _key(self, collection_id: bytes) -> bytes:
        path = self._path(collection_id)
        if not self._any(collection_id):
            write_key(path)
        return read_key(path)

    def _any(self, collection_id: bytes) -> bool:
        return bool(self._run("SELECT 1 FROM seen WHERE collection = ? LIMIT 1", collection_id).fetchall())

    def _path(self, collection_id: bytes) -> Path:
        return self._folder / f"{collection_id.hex()}{_KEY}"
