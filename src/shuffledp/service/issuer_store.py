"""Store of an issuer until the collection ends: digests of used invitations and of their requests.

An invitation is good for one request, which may be repeated if its answer is lost: its signature is the same. Each
invitation has a row of one size from the beginning, in the order of the digests, which is overwritten in place: so
the file holds who took part, and nothing of the order in which they did.
"""

import sqlite3
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from shuffledp.core.errors import LocalProtocolError
from shuffledp.service.store import StorageError, make_private, transaction, try_to_store

_DATABASE = "issued.sqlite"
# The journal is truncated after each change: by default an exclusive process would keep old content in it.
_PRAGMAS = ("locking_mode = EXCLUSIVE", "journal_mode = TRUNCATE", "synchronous = FULL", "secure_delete = ON")
_UNUSED, _CANCELLED = bytes(32), b"\xff" * 32  # in the place of a request's digest
_TABLES = (
    "CREATE TABLE IF NOT EXISTS invited(collection BLOB, code BLOB, request BLOB, PRIMARY KEY(collection, code)) "
    "WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS closed(collection BLOB PRIMARY KEY) WITHOUT ROWID",
)
_OF_BEFORE = "SELECT 1 FROM sqlite_master WHERE name = 'issued'"  # a table of used invitations in the order of use
_TAKEN_OVER = ("INSERT INTO invited SELECT * FROM issued ORDER BY collection, code", "DROP TABLE issued")


class IssuerStore:
    """Store of the invitations to all collections in one SQLite file, for use in its ``thread`` alone.

    Args:
        folder: folder of the file, made if absent; for its owner only. A file of an earlier version is converted.

    Raises:
        LocalProtocolError: if another process has the file open.
        StorageError: if the disk cannot be written to.
    """

    def __init__(self, folder: Path) -> None:
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="issuer")
        path = folder / _DATABASE
        try:
            make_private(folder)
            path.touch(mode=0o600)
            self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0)
        except (OSError, sqlite3.OperationalError):
            raise StorageError("the folder of an issuer must be writable; it is not.") from None
        for pragma in _PRAGMAS:
            self._run(f"PRAGMA {pragma}")
        with transaction(self._run):
            is_of_before = bool(self._run(_OF_BEFORE))
            for statement in (*_TABLES, *(_TAKEN_OVER if is_of_before else ())):
                self._run(statement)
        if is_of_before:
            self._run("VACUUM")

    def invite(self, collection_id: bytes, codes: Iterable[bytes], cancelled: Collection[bytes] = ()) -> int:
        """Give each invitation a row by the digest of its code, and cancel some; no effect on an ended collection.

        Returns:
            Number of cancelled invitations already used: each has a signed token.

        Raises:
            StorageError: if the disk did not take the rows.
        """
        if self.is_closed(collection_id):
            return 0
        late = 0
        with transaction(self._run):
            for code in sorted({*codes, *cancelled}):
                self._run("INSERT OR IGNORE INTO invited VALUES(?, ?, ?)", collection_id, code, _UNUSED)
            for code in sorted(cancelled):
                late += self._request(collection_id, code) not in (_UNUSED, _CANCELLED)
                self._write(collection_id, code, _CANCELLED)
        return late

    def use(self, collection_id: bytes, code_digest: bytes, request: bytes) -> bool:
        """Whether the invitation is used for this request; an unused one is first marked as used for it, on the disk.

        Raises:
            StorageError: if the disk did not take the mark.
        """
        asked = sha256(request).digest()
        found = self._request(collection_id, code_digest)
        if found == _UNUSED:
            self._write(collection_id, code_digest, asked)
        return found in (_UNUSED, asked)

    def _request(self, collection_id: bytes, code: bytes) -> bytes | None:
        found = self._run("SELECT request FROM invited WHERE collection = ? AND code = ?", collection_id, code)
        return found[0][0] if found else None

    def _write(self, collection_id: bytes, code: bytes, request: bytes) -> None:
        """Overwrite a row with data of the same length, so that the row keeps its place."""
        self._run("UPDATE invited SET request = ? WHERE collection = ? AND code = ?", request, collection_id, code)

    def is_closed(self, collection_id: bytes) -> bool:
        """Whether a collection was closed at this issuer."""
        return bool(self._run("SELECT 1 FROM closed WHERE collection = ?", collection_id))

    def close_collections(self, collection_ids: Iterable[bytes]) -> None:
        """Mark collections as ended, and delete their invitations."""
        for each in collection_ids:
            if not self.is_closed(each):
                with transaction(self._run):
                    self._run("INSERT INTO closed VALUES(?)", each)
                    self._run("DELETE FROM invited WHERE collection = ?", each)

    def try_to_store(self) -> None:
        """Test the disk: write a row and delete it.

        Raises:
            StorageError: if the disk is full.
        """
        try_to_store(self._run)

    def close(self) -> None:
        """Close the store and its thread."""
        self.thread.shutdown()
        with suppress(sqlite3.Error):
            self._database.close()

    def _run(self, statement: str, *values: bytes) -> list[tuple[bytes, ...]]:
        try:
            return self._database.execute(statement, values).fetchall()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                raise LocalProtocolError(
                    "an issuer's folder must belong to one process; another has it open."
                ) from None
            raise StorageError(f"the disk did not take what was written ({error.sqlite_errorname}).") from None
