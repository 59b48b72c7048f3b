"""What an issuer remembers: by digests, which invitations were used, and for which request; until the collection ends.

An invitation is good for one request, and for that one as often as its answer gets lost: the same is signed alike.
"""

import sqlite3
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from shuffledp.core.errors import LocalProtocolError
from shuffledp.service.store import StorageError, make_private

_DATABASE = "issued.sqlite"
# What was there before a change is cut off after it: by default the journal of an exclusive process keeps it.
_PRAGMAS = ("locking_mode = EXCLUSIVE", "journal_mode = TRUNCATE", "synchronous = FULL", "secure_delete = ON")


class IssuerStore:
    """Used invitations of all collections, in one SQLite file; to be used in its ``thread`` alone.

    Args:
        folder: where it is, or is made; for its owner only.

    Raises:
        LocalProtocolError: if another process has it open.
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
        self._run(
            "CREATE TABLE IF NOT EXISTS issued(collection BLOB, code BLOB, request BLOB, "
            "PRIMARY KEY(collection, code)) WITHOUT ROWID"
        )

    def use(self, collection_id: bytes, code_digest: bytes, request: bytes) -> bool:
        """Whether a request is the one that an invitation is used for; from now on, if none was. On the disk.

        Raises:
            StorageError: if the disk did not take it.
        """
        asked = sha256(request).digest()
        self._run("INSERT OR IGNORE INTO issued VALUES(?, ?, ?)", collection_id, code_digest, asked)
        of = "SELECT request FROM issued WHERE collection = ? AND code = ?"
        ((found,),) = self._run(of, collection_id, code_digest)
        return bool(found == asked)

    def forget(self, collection_ids: Iterable[bytes]) -> None:
        """Remember nothing more of collections that have ended."""
        for each in collection_ids:
            self._run("DELETE FROM issued WHERE collection = ?", each)

    def close(self) -> None:
        """Let the disk go."""
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
