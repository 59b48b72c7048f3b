"""Store of a post office on disk: letters of each stage by recipient, and the attendance of each stage.

A row for each stage and link, written once. Letters stay until the collection ends, so that a member who was away
can read them later: the server cannot open them.
"""

import asyncio
import sqlite3
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from shuffledp.core.errors import LocalProtocolError
from shuffledp.relay.rounds import Letters
from shuffledp.service.store import StorageError, make_private, try_to_store

_FILE = "letters.sqlite"
_TABLES = (
    "CREATE TABLE IF NOT EXISTS letters(stage INTEGER, recipient INTEGER, sender INTEGER, body BLOB, "
    "PRIMARY KEY(stage, recipient, sender)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS posted(stage INTEGER, sender INTEGER, digest BLOB, PRIMARY KEY(stage, sender)) "
    "WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS records(stage INTEGER PRIMARY KEY, online BLOB)",
)


class Posted(NamedTuple):
    """Letters that one member sends in one stage."""

    stage: int
    sender: int
    letters: Letters

    @property
    def digest(self) -> bytes:
        """Digest of the letters, by which a repeated post is recognized."""
        return sha256(b"".join(self.letters.values())).digest()


class Mailboxes:
    """Letters of one relay on disk; each method returns after its change is stored.

    Concurrent posts share one write to the disk. All work runs in one thread.

    Args:
        folder: folder of the file, made if it is not there; for its owner only.

    Raises:
        LocalProtocolError: if another process has the file open.
        StorageError: if the disk cannot be written to.
    """

    def __init__(self, folder: Path) -> None:
        try:
            make_private(folder)
            (folder / _FILE).touch(mode=0o600)
            self._database = sqlite3.connect(folder / _FILE, isolation_level=None, check_same_thread=False, timeout=0)
            for pragma in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = FULL"):
                self._database.execute(f"PRAGMA {pragma}")
            for table in _TABLES:
                self._database.execute(table)
        except (OSError, sqlite3.OperationalError) as error:
            if isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                raise LocalProtocolError("letters must belong to one process; another one has them open.") from None
            raise StorageError("the folder of the post office must be writable; it is not.") from None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="letters")
        self._waiting: list[tuple[Posted, asyncio.Future[bool]]] = []
        self._writing: asyncio.Task[None] | None = None

    async def put(self, posted: Posted) -> bool:
        """Whether a member's letters of a stage are stored; False if other letters of the member are there already.

        Raises:
            StorageError: if the disk did not take the letters.
        """
        done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append((posted, done))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        return await done

    async def senders(self, stage: int) -> set[int]:
        """Members whose letters of a stage are stored."""
        rows = await self._do("SELECT sender FROM posted WHERE stage = ?", stage)
        return {sender for (sender,) in rows}

    async def mail(self, stage: int, recipient: int) -> list[tuple[int, bytes]]:
        """Letters to a recipient with their senders, ascending by sender."""
        of = "SELECT sender, body FROM letters WHERE stage = ? AND recipient = ? ORDER BY sender"
        return [(sender, bytes(body)) for sender, body in await self._do(of, stage, recipient)]

    async def end(self, stage: int, online: bytes) -> None:
        """Store the attendance of a stage, once."""
        await self._do("INSERT INTO records VALUES(?, ?)", stage, online)

    async def records(self) -> list[bytes]:
        """Attendance of each stage that has ended."""
        return [bytes(online) for (online,) in await self._do("SELECT online FROM records ORDER BY stage")]

    async def close(self) -> None:
        """Close the file after all accepted letters are stored."""
        while self._writing is not None:
            await asyncio.wait([self._writing])
        self._thread.shutdown()
        self._database.close()

    async def try_to_store(self) -> None:
        """Test the disk: write a row and delete it.

        Raises:
            StorageError: if the disk is full.
        """
        run = partial(try_to_store, lambda statement: self._rows(statement, ()))
        await asyncio.get_running_loop().run_in_executor(self._thread, run)

    async def _do(self, statement: str, *values: object) -> list[Any]:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._rows, statement, values)

    def _rows(self, statement: str, values: Sequence[object]) -> list[Any]:
        try:
            return self._database.execute(statement, values).fetchall()
        except sqlite3.OperationalError as error:
            raise StorageError(f"the disk did not take what was written ({error.sqlite_errorname}).") from None

    async def _write(self) -> None:
        """Write group after group of posts until none waits."""
        while self._waiting:
            group, self._waiting = self._waiting, []
            try:
                results = await asyncio.get_running_loop().run_in_executor(
                    self._thread, self._commit, [posted for posted, _ in group]
                )
            except Exception as error:
                for _, done in group:
                    if not done.done():
                        done.set_exception(error)
                continue
            for (_, done), result in zip(group, results, strict=True):
                if not done.done():  # otherwise the request was cancelled
                    done.set_result(result)
        self._writing = None

    def _commit(self, several: Sequence[Posted]) -> list[bool]:
        """Answers for all posts of a group, stored in one transaction or not at all."""
        self._rows("BEGIN IMMEDIATE", ())
        try:
            results = [self._admit(each) for each in several]
            self._rows("COMMIT", ())
        except BaseException:
            self._database.rollback()
            raise
        return results

    def _admit(self, posted: Posted) -> bool:
        found = self._rows("SELECT digest FROM posted WHERE stage = ? AND sender = ?", (posted.stage, posted.sender))
        if found:
            return found == [(posted.digest,)]
        self._rows("INSERT INTO posted VALUES(?, ?, ?)", (posted.stage, posted.sender, posted.digest))
        for recipient, letter in posted.letters.items():
            row = posted.stage, recipient, posted.sender, letter
            self._rows("INSERT INTO letters VALUES(?, ?, ?, ?)", row)
        return True


def letters_kept(folder: Path, stages: range) -> tuple[int, int]:
    """Number of letters in these stages and their total bytes; only after the post office has closed the folder."""
    with closing(sqlite3.connect(folder / _FILE)) as database:
        kept = "SELECT COUNT(*), TOTAL(LENGTH(body)) FROM letters WHERE stage BETWEEN ? AND ?"
        ((letters, size),) = database.execute(kept, (stages[0], stages[-1])).fetchall()
    return int(letters), int(size)
