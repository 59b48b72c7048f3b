"""Store of a post office on disk: each stage's letters by recipient, and each stage's attendance.

A row for each stage and link, written once. Letters stay until the collection ends, so that a member who was away
can read them later: the server cannot open them.
"""

from collections.abc import Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from shuffledp.parties.relay.rounds import Letters
from shuffledp.parties.store.database import WAL, Database
from shuffledp.parties.store.group_commit import GroupCommit


class PostedLetters(NamedTuple):
    """Letters that one member sends in one stage."""

    stage: int
    sender: int
    letters: Letters

    @property
    def digest(self) -> bytes:
        """Digest of the letters, by which a repeated post is recognized."""
        return sha256(b"".join(self.letters.values())).digest()


class _Letters(Database):
    """SQLite file of the letters."""

    file, owner = "letters.sqlite", "the post office"
    in_use = "letters must belong to one process; another one has them open."
    pragmas = WAL
    tables = (
        "CREATE TABLE IF NOT EXISTS letters(stage INTEGER, recipient INTEGER, sender INTEGER, body BLOB, "
        "PRIMARY KEY(stage, recipient, sender)) WITHOUT ROWID",
        "CREATE TABLE IF NOT EXISTS posted(stage INTEGER, sender INTEGER, digest BLOB, PRIMARY KEY(stage, sender)) "
        "WITHOUT ROWID",
        "CREATE TABLE IF NOT EXISTS records(stage INTEGER PRIMARY KEY, online BLOB)",
    )

    def commit(self, several: Sequence[PostedLetters]) -> list[bool]:
        """Store a group's posts in one transaction, all or none; return the answer to each post."""
        with self.transaction():
            return [self._admit(each) for each in several]

    def _admit(self, posted: PostedLetters) -> bool:
        found = self.rows("SELECT digest FROM posted WHERE stage = ? AND sender = ?", posted.stage, posted.sender)
        if found:
            return found == [(posted.digest,)]
        self.run("INSERT INTO posted VALUES(?, ?, ?)", posted.stage, posted.sender, posted.digest)
        for recipient, letter in posted.letters.items():
            self.run("INSERT INTO letters VALUES(?, ?, ?, ?)", posted.stage, recipient, posted.sender, letter)
        return True


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
        self._letters = _Letters(folder)
        self._queue = GroupCommit(self._letters.thread, self._letters.commit)

    async def put(self, posted: PostedLetters) -> bool:
        """Whether a member's letters of a stage are stored; False if other letters were stored before.

        Raises:
            StorageError: if the disk did not take the letters.
        """
        return (await self._queue.store([posted]))[0]

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
        await self._queue.drain()
        self._letters.close()

    async def try_to_store(self) -> None:
        """Test whether the disk takes data, as `Database.try_to_store`."""
        await self._queue.do(self._letters.try_to_store)

    async def _do(self, statement: str, *values: object) -> list[Any]:
        return await self._queue.do(self._letters.rows, statement, *values)


def letters_kept(folder: Path, stages: range) -> tuple[int, int]:
    """Number and total bytes of letters in these stages, in the folder of a closed post office."""
    with closing(_Letters(folder)) as database:
        kept = "SELECT COUNT(*), TOTAL(LENGTH(body)) FROM letters WHERE stage BETWEEN ? AND ?"
        ((letters, size),) = database.rows(kept, stages[0], stages[-1])
    return int(letters), int(size)
