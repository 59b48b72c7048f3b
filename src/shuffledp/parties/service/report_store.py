"""Store of the shuffler on a disk: for each collection, a folder with one SQLite file and one key.

A file for each, so that a large batch of one collection keeps no other waiting. Rows lie in the order of a keyed digest
of their ids: it is not that of arrival, and once the key is destroyed nobody can find a report by its id.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import accumulate, chain, pairwise, repeat
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

from shuffledp.core.errors import LocalProtocolError
from shuffledp.core.table import Integers
from shuffledp.parties.service.batches import Phase
from shuffledp.parties.service.intake import Count, Kept, Row, admission, counted_as
from shuffledp.parties.store.database import Database, StorageError
from shuffledp.parties.store.digest_keys import destroy_key, keyed_by, read_key, write_key
from shuffledp.parties.wire.grammar import ID_BYTES, ReportError

_BYTES_OF_PART = 1 << 22  # of a batch's body per row, so that a large batch is never in memory as a whole
_MOST_BYTES_OF_LOG = 1 << 22  # that the log keeps on the disk after it has been copied into the file
_MOST_WRITTEN_ANEW = 50_000  # reports, rewritten in about 0.1 s; among more, the last of each page can be told
_NAMES_AT_ONCE = 256  # looked up by one statement
_PAGE_SIZES = tuple(4096 << power for power in range(5))  # bytes, the sizes that SQLite has
_BYTES_BESIDE = 32  # besides a row's content: digest, column and lengths
_KEY = "seen.key"
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


class Draw(Protocol):
    """Function that draws which reports leave, and in which order."""

    def __call__(
        self, pool: int, count: int, size: int, extensions: Callable[[], list[bytes]]
    ) -> tuple[Integers, Integers]:
        """Indices of waiting reports: of those whose extensions leave, and of those whose ciphertexts leave.

        Both arrays have ``size`` indices below ``count``, in the order of leaving.

        ``extensions`` reads the extensions of all waiting reports, for an order that depends on them.
        """


class UnsignedBatch(NamedTuple):
    """Facts of an unsigned batch: pool, number from 0, number of reports, digest of its body, and counts."""

    column: int
    number: int
    num_reports: int
    body_sha256: bytes
    counts: Mapping[Count, int]


Sign = Callable[[UnsignedBatch], bytes]  # the signed manifest of a batch, encoded


class OutgoingBatch(NamedTuple):
    """Batch on its way to the analyzer."""

    number: int
    column: int
    manifest: bytes


_Given = tuple[Sequence[Row], Sequence[bytes], bytes | None]  # with keyed digests of the ids, and of the token


class _NotNew(Exception):  # noqa: N818  not an error: ends a transaction
    """Signal that some submission may be in the store already."""


class ReportStore(Database):
    """Store of one collection at a shuffler: waiting reports, batches on their way, and counts.

    Each method returns after its change is on the disk; deleted data become zeros.

    Guarantees:
        1. A report whose submission `commit` calls stored is kept until it is in a batch, once, or destroyed.
        2. `release` is whole or absent: no report is both waiting and in a batch, in two batches, or in none.
        3. A report is kept as its ciphertext, its extensions and a keyed digest of its id: no address, no time and no
           order. After `end` the key of the digests is gone; after `clean` only the phase and counts are left.

    Args:
        folder: folder of the file, made if it is not there; for its owner only.
        pools: number of a person's messages in each pool, in the order of a submission's rows.
        remembers: whether to recognize reports that left earlier, because further batches follow.
        longest: most bytes of a report, which sets the page size of a new file: a row larger than a page (above 16 kB)
            shows its order of arrival until the file is rewritten.
        most: most submissions that are ever stored.

    Raises:
        LocalProtocolError: if another process has the file open, or its key is missing or cut off.
        StorageError: if the disk cannot be written to.
    """

    file, owner = "reports.sqlite", "a collection"
    in_use = "reports must belong to one process; another one has them open."
    beside: ClassVar[tuple[str, ...]] = (_SPENT,)  # tables that older files may lack
    pragmas = (*Database.pragmas, "temp_store = MEMORY", f"journal_size_limit = {_MOST_BYTES_OF_LOG}")

    def __init__(
        self, folder: Path, *, pools: Sequence[int], remembers: bool, longest: int = 0, most: float = math.inf
    ) -> None:
        super().__init__(folder, first=(f"page_size = {_page_size(longest + _BYTES_BESIDE)}",))  # of a new file only
        self._folder, self._remembers, self._messages = folder, remembers, tuple(pools)
        self._pools = [slice(*ends) for ends in pairwise(accumulate(self._messages, initial=0))]  # places of rows
        self._unwritten = Counter[Count]()
        self.check_known((*_TABLES, *self.beside))
        if not self.finds("SELECT 1 FROM sqlite_master"):
            self._create()
        for table in self.beside:
            self.run(table)
        self.check_tables((*_TABLES, *self.beside))
        ((phase, self.batches),) = self.rows("SELECT phase, batches FROM state")
        self.phase = Phase(phase)
        self.waiting = self.rows("SELECT count(*) FROM reports WHERE column = 0")[0][0] // self._messages[0]
        self._key = self._read_key()
        self._left, self._is_tidy = most - self.counts().get(Count.STORED, 0), not self.waiting
        self.tidy()  # if an earlier process did not get to it

    def _create(self) -> None:
        write_key(self._folder / _KEY)
        with self.transaction():
            for table in _TABLES:
                self.run(table)
            self.run("INSERT INTO state VALUES(?, 0)", Phase.OPEN.value)

    def _read_key(self) -> bytes | None:
        """Key of the digests; once no more reports are stored, its file is destroyed, and None is returned."""
        if self.phase in (Phase.OPEN, Phase.CLOSING):
            return read_key(self._folder / _KEY)
        if (self._folder / _KEY).exists():
            destroy_key(self._folder / _KEY)
        return None

    # ---- taking reports in ------------------------------------------------------------------------------------------

    def commit(self, submissions: Sequence[Sequence[Row]]) -> list[ReportError | Count]:
        """Outcome of each submission; all reports of a new submission are stored, or none.

        Submissions committed together are one write to the disk.
        """
        if self._key is None:
            raise LocalProtocolError("reports must be stored while a collection is open; it is closed.")
        of = keyed_by(self._key)
        digests = [[of(row.id) for row in rows] for rows in submissions]
        tokens = [of(rows[0].token) if rows[0].token else None for rows in submissions]
        given = list(zip(submissions, digests, tokens, strict=True))
        self._is_tidy = False
        results: list[ReportError | Count] = [Count.STORED] * len(given)
        if self._remembers or len(given) > self._left or not self._store_new(given):
            results = self._store_some(given)
        self._unwritten.clear()
        self._left -= results.count(Count.STORED)
        self.waiting += results.count(Count.STORED)
        return results

    def _store_new(self, given: Sequence[_Given]) -> bool:
        """Store all submissions if all are new, otherwise none; return whether they are stored."""
        with suppress(_NotNew), self.transaction():
            if self._insert(given) < sum(len(rows) + (token is not None) for rows, _, token in given):
                raise _NotNew
            self._write_counts(Counter({Count.STORED: len(given)}))
            return True
        return False

    def _store_some(self, given: Sequence[_Given]) -> list[ReportError | Count]:
        """Outcome of each submission, after the new submissions are stored."""
        results: list[ReportError | Count] = [Count.STORED] * len(given)
        with self.transaction():
            left, several = self._left, range(len(given))
            doubtful = self._doubtful(given) if len(given) <= left else set(several)
            self._insert([given[number] for number in several if number not in doubtful])
            for number in sorted(doubtful, key=lambda each: (given[each][1][0], each)):  # not as they arrived
                results[number] = self._admit(*given[number], is_full=left <= 0)
                left -= results[number] is Count.STORED
            self._write_counts(Counter(each if isinstance(each, Count) else counted_as(each) for each in results))
        return results

    def _doubtful(self, given: Sequence[_Given]) -> set[int]:
        """Numbers of the submissions with a report or token that the store or another submission has."""
        digests, shown = [each for _, each, _ in given], [token for *_, token in given if token is not None]
        names = [*chain.from_iterable(digests), *shown]
        taken = {name for name, count in Counter(names).items() if count > 1} if len(set(names)) < len(names) else set()
        for column, places in enumerate(self._pools):
            theirs = [name for each in digests for name in each[places]]
            taken |= self._found("SELECT digest FROM reports WHERE column = ? AND digest", theirs, column)
            if self._remembers:
                taken |= self._found("SELECT digest FROM seen WHERE column = ? AND digest", theirs, column)
        taken |= self._found("SELECT token FROM spent WHERE token", shown)
        return {
            number
            for number, (_, of_reports, token) in enumerate(given)
            if token in taken or not taken.isdisjoint(of_reports)
        }

    def _found(self, select: str, names: Sequence[bytes], *first: int) -> set[bytes]:
        """Names, among those given, that an SQL statement finds in its table."""
        found: set[bytes] = set()
        for start in range(0, len(names), _NAMES_AT_ONCE):
            some = names[start : start + _NAMES_AT_ONCE]
            marks = 1 << (len(some) - 1).bit_length()  # few numbers, so that SQLite keeps the statements
            padded = (*some, *repeat(some[-1], marks - len(some)))
            found.update(name for (name,) in self.run(f"{select} IN ({', '.join('?' * marks)})", *first, *padded))
        return found

    def _insert(self, given: Sequence[_Given]) -> int:
        """Store the new rows, in the order of digests within each pool; returns the number of new rows."""
        inserted = 0
        for column, places in enumerate(self._pools):
            found = [
                (column, digest, row.extensions, row.ciphertext)
                for rows, digests, _ in given
                for row, digest in zip(rows[places], digests[places], strict=True)
            ]
            if found:
                inserted += self.run_many("INSERT OR IGNORE INTO reports VALUES(?, ?, ?, ?)", sorted(found))
        if spent := sorted((token,) for *_, token in given if token is not None):
            inserted += self.run_many("INSERT OR IGNORE INTO spent VALUES(?)", spent)
        return inserted

    def _admit(
        self, rows: Sequence[Row], digests: Sequence[bytes], token: bytes | None, *, is_full: bool
    ) -> ReportError | Count:
        """Outcome of one submission; a new submission is stored if there is room."""
        spent = token is not None and self.finds("SELECT 1 FROM spent WHERE token = ?", token)
        kept = [self._kept(column, each) for column, places in enumerate(self._pools) for each in digests[places]]
        result = admission(rows, kept, is_spent=spent)
        if result is Count.STORED and is_full:
            return ReportError.REPORT_DROPPED
        if result is Count.STORED:
            self._insert([(rows, digests, token)])
        return result

    def _kept(self, column: int, digest: bytes) -> Kept:
        found = self.run("SELECT extensions FROM reports WHERE column = ? AND digest = ?", column, digest).fetchone()
        if found is not None:
            return bytes(found[0])
        return self._remembers and self.finds("SELECT 1 FROM seen WHERE column = ? AND digest = ?", column, digest)

    def count(self, further: Mapping[Count, int]) -> None:
        """Count submissions that were not stored; the counts are written with the next commit."""
        self._unwritten.update(further)

    def counts(self) -> Mapping[Count, int]:
        """Counts of submissions by outcome."""
        written = Counter({Count(name): count for name, count in self.rows("SELECT name, count FROM counts")})
        return written + self._unwritten

    def _write_counts(self, further: Counter[Count]) -> None:
        add = "INSERT INTO counts VALUES(?, ?) ON CONFLICT(name) DO UPDATE SET count = count + excluded.count"
        for name, count in (self._unwritten + further).items():
            self.run(add, name.value, count)

    # ---- letting them go --------------------------------------------------------------------------------------------

    def enter(self, phase: Phase) -> None:
        """Write down the phase of the collection."""
        with self.transaction():
            self.run("UPDATE state SET phase = ?", phase.value)
        self.phase = phase

    def release(self, size: int, draw: Draw, sign: Sign) -> None:
        """Move the reports of ``size`` people, drawn by lot in each pool, to a batch, in one transaction."""
        with self.transaction():
            for column, messages in enumerate(self._messages):
                self._move(column, size * messages, draw, sign)
            self.run("UPDATE state SET batches = batches + 1")
        self.batches += 1
        self.waiting -= size
        self.tidy()

    def _move(self, column: int, size: int, draw: Draw, sign: Sign) -> None:
        found = self.run("SELECT digest FROM reports WHERE column = ? ORDER BY digest", column)
        digests = b"".join([digest for (digest,) in found])
        count = len(digests) // ID_BYTES
        places, origins = draw(column, count, size, lambda: self._extensions(column))
        body, number = sha256(), 0
        for number, part in enumerate(self._parts_of(column, digests, places, origins)):
            body.update(part)
            self.run("INSERT INTO parts VALUES(?, ?, ?, ?)", self.batches, column, number, part)
        self._send(UnsignedBatch(column, self.batches, size, body.digest(), self.counts()), sign)
        if size == count:
            self._forget("column = ?", [(column,)])
        else:
            self._forget("column = ? AND digest = ?", [(column, _digest(digests, each)) for each in origins.tolist()])

    def _forget(self, which: str, values: Sequence[tuple[Any, ...]]) -> None:
        """Delete reports; if batches follow, keep their digests."""
        for each in values:
            if self._remembers:
                self.run(f"INSERT INTO seen SELECT column, digest FROM reports WHERE {which}", *each)  # noqa: S608
            self.run(f"DELETE FROM reports WHERE {which}", *each)  # noqa: S608  ours, as above

    def _parts_of(self, column: int, digests: bytes, places: Integers, origins: Integers) -> Iterator[bytes]:
        """Parts of a batch's body: extensions of reports by ``places``, ciphertexts by ``origins``."""
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
        found = self.run("SELECT extensions, ciphertext FROM reports WHERE column = ? AND digest = ?", column, digest)
        extensions, ciphertext = found.fetchone()
        return extensions, ciphertext

    def _extensions(self, column: int) -> list[bytes]:
        found = self.run("SELECT extensions FROM reports WHERE column = ? ORDER BY digest", column)
        return [extensions for (extensions,) in found]

    def _send(self, made: UnsignedBatch, sign: Sign) -> None:
        self.run("INSERT INTO outbox VALUES(?, ?, ?)", made.number, made.column, sign(made))

    def end(self, phase: Phase, sign: Sign) -> None:
        """Destroy waiting reports, send an empty last batch of each column, and forget the digests."""
        with self.transaction():
            self.run("DELETE FROM reports")
            self.run("DELETE FROM seen")
            self.run("DELETE FROM spent")
            for column in range(len(self._pools)):
                told = self.counts() if self.batches else {}  # else they would hint at the number of people
                self._send(UnsignedBatch(column, self.batches, 0, sha256().digest(), told), sign)
            self.run("UPDATE state SET phase = ?", phase.value)
        self.phase, self.waiting = phase, 0
        self._key = self._read_key()
        self.tidy()

    def outgoing(self) -> list[OutgoingBatch]:
        """Batches on their way, oldest first."""
        return [OutgoingBatch(*row) for row in self.rows("SELECT number, column, manifest FROM outbox")]

    def part(self, outgoing: OutgoingBatch, number: int) -> bytes | None:
        """Part of a batch's body, numbered from 0; None after the last part."""
        of = "SELECT body FROM parts WHERE number = ? AND column = ? AND part = ?"
        found = self.rows(of, outgoing.number, outgoing.column, number)
        return found[0][0] if found else None

    def delivered(self, outgoing: OutgoingBatch) -> None:
        """Destroy a batch that the analyzer has acknowledged."""
        self._destroy("WHERE number = ? AND column = ?", outgoing.number, outgoing.column)

    def destroy_batches(self) -> None:
        """Destroy all batches on their way, which the analyzer has not fetched in time."""
        self._destroy("")

    def _destroy(self, which: str, *values: int) -> None:
        """Destroy the batches on their way that meet a condition."""
        with self.transaction():
            for table in ("parts", "outbox"):
                self.run(f"DELETE FROM {table} {which}", *values)  # noqa: S608  one of ours
        self.tidy()

    def clean(self, phase: Phase) -> None:
        """Delete everything except the phase and the counts."""
        self.enter(phase)
        self.run("VACUUM")
        self.tidy()

    def tidy(self) -> None:
        """Remove traces of the order in which reports were written: in the log and, by a rewrite, in pages."""
        if not self._is_tidy and self.waiting <= _MOST_WRITTEN_ANEW:
            self.run("VACUUM")
            self._is_tidy = True
        self.run("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Tidy and close the file after all work of the thread is done."""
        self.thread.shutdown()
        with suppress(StorageError):
            self.tidy()
        super().close()


def _page_size(row: int) -> int:
    """Size of the smallest SQLite page for a row of this length, or the largest page size."""
    return next((size for size in _PAGE_SIZES if (size - 12) * 64 // 255 - 23 >= row), _PAGE_SIZES[-1])


def _digest(digests: bytes, number: int) -> bytes:
    return digests[number * ID_BYTES : (number + 1) * ID_BYTES]
