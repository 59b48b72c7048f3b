"""SQLite file of one process: private to its owner, locked, and on the disk after each transaction.

A party's store derives from `Database`, and names its file, its tables and its queries.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

from shuffledp.core.errors import LocalProtocolError, ShuffleDPError
from shuffledp.parties.store.group_commit import StoreThread
from shuffledp.parties.store.private_files import make_private

_ROOM = 1 << 14  # bytes, the size of some reports
# In exclusive mode the first transaction takes the lock; FULL makes a commit wait for the disk.
WAL = ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = FULL")
_NAMES = "SELECT name FROM sqlite_master WHERE type = 'table'"
ZEROS = "secure_delete = ON"  # overwrites deleted data


class StorageError(ShuffleDPError, RuntimeError):
    """Error: the disk did not take data; none of the data was kept.

    Nothing of the data may be acknowledged.
    """


class Database:
    """SQLite file of one process; only one thread may use it at a time.

    Args:
        folder: folder of the file, made if it is not there; for its owner only.
        first: pragmas to run before all others.

    Attributes:
        thread: thread for work on the store.

    Raises:
        LocalProtocolError: if another process has the file open, or its tables are not this version's; nothing is
            changed then.
        StorageError: if the disk cannot be written to.
    """

    file: ClassVar[str]
    owner: ClassVar[str]  # of the folder, in an error
    in_use: ClassVar[str]  # error where another process has the file open
    pragmas: ClassVar[tuple[str, ...]] = (*WAL, ZEROS)
    tables: ClassVar[tuple[str, ...]] = ()  # statements that make the tables which are not there
    former: ClassVar[tuple[str, ...]] = ()  # names of tables of earlier versions, which are taken over

    def __init__(self, folder: Path, *, first: tuple[str, ...] = ()) -> None:
        path = folder / self.file
        try:
            make_private(folder)
            path.touch(mode=0o600)
            self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0)
        except (OSError, sqlite3.OperationalError):
            raise StorageError(f"the folder of {self.owner} must be writable; it is not.") from None
        self.thread = StoreThread(1, thread_name_prefix=path.stem)
        for pragma in (*first, *self.pragmas):
            self.run(f"PRAGMA {pragma}")
        with self.transaction():  # this takes the lock
            self.check_known(self.tables)
            for table in self.tables:
                self.run(table)
        self.check_tables(self.tables)

    def check_known(self, statements: Iterable[str]) -> None:
        """Refuse a database with tables that these SQL statements do not make, as in a later version's file.

        Raises:
            LocalProtocolError: if there is one; an earlier version would pass over what it holds.
        """
        with closing(sqlite3.connect(":memory:")) as fresh:
            for statement in statements:
                fresh.execute(statement)
            known = {name for (name,) in fresh.execute(_NAMES).fetchall()} | set(self.former)
        for (name,) in self.rows(_NAMES):
            if known and name not in known:
                Database.close(self)  # not that of a party, which may write
                raise LocalProtocolError(
                    f"{self.file} must be of this version of shuffledp; its table {name} is of another. Take the later "
                    "one again, or wait until what it serves has ended."
                )

    def check_tables(self, statements: Iterable[str]) -> None:
        """Refuse a database in which tables of these SQL statements are missing or have other columns.

        Raises:
            LocalProtocolError: if a table is missing or has other columns.
        """
        with closing(sqlite3.connect(":memory:")) as fresh:
            for statement in statements:
                fresh.execute(statement)
            for (name,) in fresh.execute(_NAMES).fetchall():
                columns = f"PRAGMA table_info({name})"
                if self.rows(columns) != fresh.execute(columns).fetchall():
                    Database.close(self)  # not that of a party, which may write
                    raise LocalProtocolError(
                        f"{self.file} must be of this version of shuffledp; its table {name} has other columns."
                    )

    def run(self, statement: str, *values: Any) -> sqlite3.Cursor:
        """Result of a statement; outside a transaction, changes are on the disk when this returns."""
        try:
            return self._database.execute(statement, values)
        except sqlite3.OperationalError as error:
            raise self._failure(error) from None

    def run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> int:
        """Run a statement for each row of values, inside a transaction; return the number of changed rows."""
        try:
            return self._database.executemany(statement, rows).rowcount
        except sqlite3.OperationalError as error:
            raise self._failure(error) from None

    def _failure(self, error: sqlite3.OperationalError) -> ShuffleDPError:
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            return LocalProtocolError(self.in_use)
        return StorageError(f"the disk did not take what was written ({error.sqlite_errorname}).")

    def rows(self, statement: str, *values: Any) -> list[Any]:
        """All rows that a statement returns."""
        return self.run(statement, *values).fetchall()

    def finds(self, statement: str, *values: Any) -> bool:
        """Whether a statement returns a row."""
        return self.run(statement, *values).fetchone() is not None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Context of a transaction: at its end, all changes of the block are on the disk, or none."""
        self.run("BEGIN IMMEDIATE")
        try:
            yield
            self.run("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error, StorageError):
                self.run("ROLLBACK")
            raise

    def try_to_store(self) -> None:
        """Test the disk: write more than the free space of the file, and undo it.

        Raises:
            StorageError: if the disk is full.
        """
        with self.transaction():
            self.run("CREATE TABLE room(bytes BLOB)")
            self.run(f"INSERT INTO room VALUES(zeroblob({_ROOM}))")
            self.run("DROP TABLE room")

    def close(self) -> None:
        """Close the file after all work of the thread is done."""
        self.thread.shutdown()
        with suppress(sqlite3.Error):
            self._database.close()
