"""Store of the shuffler on a disk: one SQLite file and one key, in a folder for each collection.

A file for each, so that a large batch of one collection keeps no other waiting. Rows lie in the order of a keyed digest
of their ids: it is not that of arrival, and once the key is destroyed nobody can find a report by its id.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from shuffledp.core.errors import LocalProtocolError
from shuffledp.core.table import Integers
from shuffledp.service.batches import Phase
from shuffledp.service.digest_keys import destroy_key, keyed, read_key, write_key
from shuffledp.service.intake import Count, Kept, Row, admission, counted_as
from shuffledp.service.store import Draw, Made, Outgoing, Sign, StorageError, make_private, transaction, try_to_store
from shuffledp.wire.grammar import ID_BYTES, ReportError

_BYTES_OF_PART = 1 << 22  # of a batch's body per row, so that a large batch is never in memory as a whole
_MOST_BYTES_OF_LOG = 1 << 22  # that the log keeps on the disk after it has been copied into the file
_MOST_WRITTEN_ANEW = 50_000  # reports, rewritten in about 0.1 s; among more, the last of each page can be told
_PAGE_SIZES = tuple(4096 << power for power in range(5))  # bytes, the sizes that SQLite has
_BYTES_BESIDE = 32  # besides a row's content: digest, column and lengths
_DATABASE, _KEY = "reports.sqlite", "seen.key"
_SPENT = "CREATE TABLE IF NOT EXISTS spent(token BLOB PRIMARY KEY) WITHOUT ROWID"
_TABLES = (
    "CREATE TABLE reports(column INTEGER, digest BLOB, extensions BLOB, ciphertext BLOB, PRIMARY KEY(column, digest)) "
    "WITHOUT ROWID",
    "CREATE TABLE seen(column INTEGER, digest BLOB, PRIMARY KEY(column, digest)) WITHOUT ROWID",
    "CREATE TABLE outbox(number INTEGER, column INTEGER, manifest BLOB, PRIMARY KEY(number, column)) WITHOUT ROWID",
    "CREATE TABLE parts(number INTEGER, column INTEGER, part INTEGER, body BLOB, PRIMARY KEY(number, column, part))",
    "CREATE TABLE counts(name TEXT PRIMARY KEY, count INTEGER) WITHOUT ROWID",
    "CREATE TABLE state(phase TEXT, batches INTEGER)",
)


class SqliteStore:
    """`Store` in one SQLite file: its log reaches the disk before an acknowledgment, and deleted data become zeros.

    Only one thread may use it at a time.

    Args:
        folder: folder of the file, made if it is not there; for its owner only.
        num_columns: private columns of the collection.
        remembers: whether to recognize reports that left earlier, because further batches follow.
        longest: most bytes of a report, which sets the page size of a new file: a row larger than a page (above 16 kB)
            shows its order of arrival until the file is rewritten.

    Raises:
        LocalProtocolError: if another process has the file open, or its key is missing or cut off.
        StorageError: if the disk cannot be written to.
    """

    def __init__(self, folder: Path, *, num_columns: int, remembers: bool, longest: int = 0) -> None:
        self._folder, self._columns, self._remembers = folder, num_columns, remembers
        self._unwritten: Counter[Count] = Counter()
        self._database = self._open()
        self._prepare(_page_size(longest + _BYTES_BESIDE))
        if not self._rows("SELECT 1 FROM sqlite_master"):
            self._create()
        self._run(_SPENT)  # a table that older folders without tokens lack
        phase, self.batches = self._rows("SELECT phase, batches FROM state")[0]
        self.phase = Phase(phase)
        self.waiting = self._rows("SELECT count(*) FROM reports WHERE column = 0")[0][0]
        self._key = self._read_key()
        self._is_tidy = not self.waiting
        self.tidy()  # if an earlier process did not get to it

    # ---- taking reports in ------------------------------------------------------------------------------------------

    def commit(self, submissions: Sequence[Sequence[Row]]) -> list[ReportError | Count]:
        """Commit writes, see `Store.commit`; writes committed together are one write to the disk."""
        if self._key is None:
            raise LocalProtocolError("reports must be stored while a collection is open; it is closed.")
        digests = [[keyed(row.id, self._key) for row in rows] for rows in submissions]
        results: list[ReportError | Count] = [Count.NOT_STORED] * len(submissions)
        self._is_tidy = False
        with transaction(self._run):
            for number in sorted(range(len(submissions)), key=lambda each: digests[each][0]):  # not as they arrived
                results[number] = self._admit(submissions[number], digests[number])
            self._write_counts(Counter(each if isinstance(each, Count) else counted_as(each) for each in results))
        self._unwritten.clear()
        self.waiting += results.count(Count.STORED)
        return results

    def _admit(self, rows: Sequence[Row], digests: Sequence[bytes]) -> ReportError | Count:
        token = keyed(rows[0].token, self._key or b"") if rows[0].token else None
        spent = token is not None and bool(self._rows("SELECT 1 FROM spent WHERE token = ?", token))
        kept = [self._kept(column, digest) for column, digest in enumerate(digests)]
        result = admission(rows, kept, is_spent=spent)
        if result is Count.STORED:
            if token is not None:
                self._run("INSERT INTO spent VALUES(?)", token)
            for column, (row, digest) in enumerate(zip(rows, digests, strict=True)):
                self._run("INSERT INTO reports VALUES(?, ?, ?, ?)", column, digest, row.extensions, row.ciphertext)
        return result

    def _kept(self, column: int, digest: bytes) -> Kept:
        found = self._run("SELECT extensions FROM reports WHERE column = ? AND digest = ?", column, digest).fetchone()
        if found is not None:
            return bytes(found[0])
        return self._remembers and bool(
            self._rows("SELECT 1 FROM seen WHERE column = ? AND digest = ?", column, digest)
        )

    def count(self, further: Mapping[Count, int]) -> None:
        """Count reports that were not stored, see `Store.count`."""
        self._unwritten.update(further)

    def counts(self) -> Mapping[Count, int]:
        """All counts, see `Store.counts`."""
        written = Counter({Count(name): count for name, count in self._rows("SELECT name, count FROM counts")})
        return written + self._unwritten

    def _write_counts(self, further: Counter[Count]) -> None:
        for name, count in (self._unwritten + further).items():
            self._run(
                "INSERT INTO counts VALUES(?, ?) ON CONFLICT(name) DO UPDATE SET count = count + excluded.count",
                name.value,
                count,
            )

    # ---- letting them go --------------------------------------------------------------------------------------------

    def enter(self, phase: Phase) -> None:
        """Write down the phase, see `Store.enter`."""
        with transaction(self._run):
            self._run("UPDATE state SET phase = ?", phase.value)
        self.phase = phase

    def release(self, size: int, draw: Draw, sign: Sign) -> None:
        """Move reports to batches, see `Store.release`: drawing, permuting, sending and deleting in one transaction."""
        with transaction(self._run):
            for column in range(self._columns):
                self._move(column, size, draw, sign)
            self._run("UPDATE state SET batches = batches + 1")
        self.batches += 1
        self.waiting -= size
        self.tidy()

    def _move(self, column: int, size: int, draw: Draw, sign: Sign) -> None:
        found = self._run("SELECT digest FROM reports WHERE column = ? ORDER BY digest", column)
        digests = b"".join([digest for (digest,) in found])
        count = len(digests) // ID_BYTES
        places, origins = draw(column, count, size, lambda: self._extensions(column))
        body, number = sha256(), 0
        for number, part in enumerate(self._parts_of(column, digests, places, origins)):
            body.update(part)
            self._run("INSERT INTO parts VALUES(?, ?, ?, ?)", self.batches, column, number, part)
        self._send(Made(column, self.batches, size, body.digest(), self.counts()), sign)
        if size == count:
            self._forget("column = ?", [(column,)])
        else:
            self._forget("column = ? AND digest = ?", [(column, _digest(digests, each)) for each in origins.tolist()])

    def _forget(self, which: str, values: Sequence[tuple[Any, ...]]) -> None:
        """Delete reports; if batches follow, keep their digests."""
        for each in values:
            if self._remembers:
                self._run(f"INSERT INTO seen SELECT column, digest FROM reports WHERE {which}", *each)  # noqa: S608
            self._run(f"DELETE FROM reports WHERE {which}", *each)  # noqa: S608  ours, as above

    def _parts_of(self, column: int, digests: bytes, places: Integers, origins: Integers) -> Iterator[bytes]:
        """Body of a batch in parts: extensions stay at their places, and ciphertexts come from their origins."""
        part, size = [], 0
        for place, origin in zip(places.tolist(), origins.tolist(), strict=True):
            extensions, ciphertext = self._report(column, _digest(digests, origin))
            if place != origin:
                extensions, _ = self._report(column, _digest(digests, place))
            part += [extensions, ciphertext]
            size += len(extensions) + len(ciphertext)
            if size >= _BYTES_OF_PART:
                yield b"".join(part)
                part, size = [], 0
        yield b"".join(part)

    def _report(self, column: int, digest: bytes) -> tuple[bytes, bytes]:
        found = self._run("SELECT extensions, ciphertext FROM reports WHERE column = ? AND digest = ?", column, digest)
        extensions, ciphertext = found.fetchone()
        return extensions, ciphertext

    def _extensions(self, column: int) -> list[bytes]:
        found = self._run("SELECT extensions FROM reports WHERE column = ? ORDER BY digest", column)
        return [extensions for (extensions,) in found]

    def _send(self, made: Made, sign: Sign) -> None:
        self._run("INSERT INTO outbox VALUES(?, ?, ?)", made.number, made.column, sign(made))

    def end(self, phase: Phase, sign: Sign) -> None:
        """Destroy waiting reports and end the collection, see `Store.end`."""
        with transaction(self._run):
            self._run("DELETE FROM reports")
            self._run("DELETE FROM seen")
            self._run("DELETE FROM spent")
            for column in range(self._columns):
                told = self.counts() if self.batches else {}  # else they would hint at the number of people
                self._send(Made(column, self.batches, 0, sha256().digest(), told), sign)
            self._run("UPDATE state SET phase = ?", phase.value)
        self.phase, self.waiting = phase, 0
        self._key = self._read_key()
        self.tidy()

    def outgoing(self) -> list[Outgoing]:
        """Batches on their way, see `Store.outgoing`."""
        return [Outgoing(*row) for row in self._rows("SELECT number, column, manifest FROM outbox")]

    def part(self, outgoing: Outgoing, number: int) -> bytes | None:
        """Part of a batch, see `Store.part`."""
        of = "SELECT body FROM parts WHERE number = ? AND column = ? AND part = ?"
        found = self._rows(of, outgoing.number, outgoing.column, number)
        return found[0][0] if found else None

    def delivered(self, outgoing: Outgoing) -> None:
        """Destroy a delivered batch, see `Store.delivered`."""
        with transaction(self._run):
            for table in ("parts", "outbox"):
                of = f"DELETE FROM {table} WHERE number = ? AND column = ?"  # noqa: S608  one of ours
                self._run(of, outgoing.number, outgoing.column)
        self.tidy()

    def clean(self, phase: Phase) -> None:
        """Leave only the phase and counts on the disk, see `Store.clean`."""
        self.enter(phase)
        self._run("VACUUM")
        self.tidy()

    def try_to_store(self) -> None:
        """Test whether the disk takes a write, see `Store.try_to_store`."""
        try_to_store(self._run)

    def tidy(self) -> None:
        """Take the log off the disk, see `Store.tidy`; a full rewrite also hides the order of rows inside a page."""
        if not self._is_tidy and self.waiting <= _MOST_WRITTEN_ANEW:
            self._run("VACUUM")
            self._is_tidy = True
        self._run("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close the store, see `Store.close`."""
        with suppress(StorageError):
            self.tidy()
        self._database.close()

    # ---- the file ---------------------------------------------------------------------------------------------------

    def _open(self) -> sqlite3.Connection:
        path = self._folder / _DATABASE
        try:
            make_private(self._folder)
            path.touch(mode=0o600)
            return sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0)
        except (OSError, sqlite3.OperationalError):
            raise StorageError("the folder of a collection must be writable; it is not.") from None

    def _prepare(self, page_size: int) -> None:
        """Lock the file for this process, and set it to write to the disk before each commit returns."""
        self._run(f"PRAGMA page_size = {page_size}")  # only for a new file; an existing one keeps its size
        self._run("PRAGMA locking_mode = EXCLUSIVE")
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON", "temp_store = MEMORY"):
            self._run(f"PRAGMA {pragma}")
        self._run(f"PRAGMA journal_size_limit = {_MOST_BYTES_OF_LOG}")
        with transaction(self._run):  # this takes the lock
            pass

    def _create(self) -> None:
        write_key(self._folder / _KEY)
        with transaction(self._run):
            for table in _TABLES:
                self._run(table)
            self._run("INSERT INTO state VALUES(?, 0)", Phase.OPEN.value)

    def _read_key(self) -> bytes | None:
        """Key of the digests; None, with the file destroyed, once no more reports are stored."""
        path = self._folder / _KEY
        if self.phase in (Phase.OPEN, Phase.CLOSING):
            return read_key(path)
        if path.exists():
            destroy_key(path)
        return None

    def _run(self, statement: str, *values: Any) -> sqlite3.Cursor:
        try:
            return self._database.execute(statement, values)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                raise LocalProtocolError("reports must belong to one process; another one has them open.") from None
            raise StorageError(f"the disk did not take what was written ({error.sqlite_errorname}).") from None

    def _rows(self, statement: str, *values: Any) -> list[Any]:
        return self._run(statement, *values).fetchall()


def _page_size(row: int) -> int:
    """Size of the smallest page that holds a row of this length (SQLite file format, 1.6); or the largest size."""
    return next((size for size in _PAGE_SIZES if (size - 12) * 64 // 255 - 23 >= row), _PAGE_SIZES[-1])


def _digest(digests: bytes, number: int) -> bytes:
    return digests[number * ID_BYTES : (number + 1) * ID_BYTES]
