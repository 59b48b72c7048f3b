"""Store of an issuer until the collection ends: digests of used invitations and of their requests.

An invitation is good for one request, which may be repeated if its answer is lost: its signature is the same. Each
invitation has a row of one size from the beginning, in the order of the digests, which is overwritten in place: so
the file holds who took part, and nothing of the order in which they did.
"""

from collections.abc import Collection, Iterable
from hashlib import sha256
from pathlib import Path

from shuffledp.parties.store.database import ZEROS, Database

_UNUSED, _CANCELLED = bytes(32), b"\xff" * 32  # in the place of a request's digest
_OF_BEFORE = "SELECT 1 FROM sqlite_master WHERE name = 'issued'"  # a table of used invitations in the order of use
_TAKEN_OVER = ("INSERT INTO invited SELECT * FROM issued ORDER BY collection, code", "DROP TABLE issued")


def row_of(code_digest: bytes, number: int) -> bytes:
    """Name of the store's row for one request of an invitation; requests are numbered from 0."""
    return sha256(code_digest + number.to_bytes(2, "big")).digest() if number else code_digest


class IssuerStore(Database):
    """Store of the invitations to all collections in one SQLite file, for use in its ``thread`` alone.

    Args:
        folder: folder of the file, made if absent; for its owner only. A file of an earlier version is converted.

    Raises:
        LocalProtocolError: if another process has the file open.
        StorageError: if the disk cannot be written to.
    """

    file, owner = "issued.sqlite", "an issuer"
    in_use = "an issuer's folder must belong to one process; another has it open."
    # The journal is truncated after each change: by default an exclusive process would keep old content in it.
    pragmas = ("locking_mode = EXCLUSIVE", "journal_mode = TRUNCATE", "synchronous = FULL", ZEROS)
    former = ("issued",)
    tables = (
        "CREATE TABLE IF NOT EXISTS invited(collection BLOB, code BLOB, request BLOB, PRIMARY KEY(collection, code)) "
        "WITHOUT ROWID",
        "CREATE TABLE IF NOT EXISTS closed(collection BLOB PRIMARY KEY) WITHOUT ROWID",
    )

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        if self.finds(_OF_BEFORE):
            with self.transaction():
                for statement in _TAKEN_OVER:
                    self.run(statement)
            self.run("VACUUM")

    def invite(self, collection_id: bytes, codes: Iterable[bytes], cancelled: Collection[bytes] = ()) -> int:
        """Add rows for invitations, by their codes' digests, and cancel some; no effect after the end.

        Returns:
            Number of cancelled invitations already used: each has a signed token.

        Raises:
            StorageError: if the disk did not take the rows.
        """
        if self.is_closed(collection_id):
            return 0
        late = 0
        with self.transaction():
            for code in sorted({*codes, *cancelled}):
                self.run("INSERT OR IGNORE INTO invited VALUES(?, ?, ?)", collection_id, code, _UNUSED)
            for code in sorted(cancelled):
                late += self._request(collection_id, code) not in (_UNUSED, _CANCELLED)
                self._write(collection_id, code, _CANCELLED)
        return late

    def use(self, collection_id: bytes, code_digest: bytes, request: bytes, *, requests: int = 1) -> bool:
        """Whether the invitation is valid for this request; an unused row is first marked as used.

        It is good again for a request that it was used for before.

        Args:
            collection_id: id of the collection.
            code_digest: digest of the invitation's code.
            request: request for a token.
            requests: number of requests that each invitation is good for.

        Raises:
            StorageError: if the disk did not take the mark.
        """
        asked, rows = sha256(request).digest(), [row_of(code_digest, number) for number in range(requests)]
        found = [self._request(collection_id, row) for row in rows]
        if asked in found:
            return True
        if _UNUSED in found:
            self._write(collection_id, rows[found.index(_UNUSED)], asked)
        return _UNUSED in found

    def _request(self, collection_id: bytes, code: bytes) -> bytes | None:
        found = self.rows("SELECT request FROM invited WHERE collection = ? AND code = ?", collection_id, code)
        return found[0][0] if found else None

    def _write(self, collection_id: bytes, code: bytes, request: bytes) -> None:
        """Overwrite a row with data of the same length, so that the row keeps its place."""
        self.run("UPDATE invited SET request = ? WHERE collection = ? AND code = ?", request, collection_id, code)

    def unused(self, collection_id: bytes) -> list[bytes]:
        """Sorted digests of the valid invitations without a signed token."""
        found = self.rows("SELECT code FROM invited WHERE collection = ? AND request = ?", collection_id, _UNUSED)
        return sorted(code for (code,) in found)

    def is_closed(self, collection_id: bytes) -> bool:
        """Whether a collection was closed at this issuer."""
        return self.finds("SELECT 1 FROM closed WHERE collection = ?", collection_id)

    def known(self) -> list[tuple[bytes, bool]]:
        """Sorted ids of the collections in the store, each with True if the collection was closed."""
        closed = {each for (each,) in self.rows("SELECT collection FROM closed")}
        invited = {each for (each,) in self.rows("SELECT DISTINCT collection FROM invited")}
        return [(each, each in closed) for each in sorted(closed | invited)]

    def drop(self, collection_id: bytes) -> None:
        """Remove all data about a collection, and the note that the collection was closed."""
        with self.transaction():
            for table in ("invited", "closed"):
                self.run(f"DELETE FROM {table} WHERE collection = ?", collection_id)  # noqa: S608  one of ours

    def close_collections(self, collection_ids: Iterable[bytes]) -> None:
        """Mark collections as ended, and delete their invitations."""
        for each in collection_ids:
            if not self.is_closed(each):
                with self.transaction():
                    self.run("INSERT INTO closed VALUES(?)", each)
                    self.run("DELETE FROM invited WHERE collection = ?", each)
