"""The one durable store: what it acknowledges outlives a killed process, and one process alone has it open."""

import asyncio
import os
import signal
import stat
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest

import shuffledp
from shuffledp.parties.issuer.issuer_store import IssuerStore
from shuffledp.parties.relay.mailboxes import Mailboxes
from shuffledp.parties.service.batch_store import BatchStore
from shuffledp.parties.service.report_store import ReportStore
from shuffledp.parties.store import group_commit
from shuffledp.parties.store.database import Database, StorageError
from shuffledp.parties.store.group_commit import GroupCommit


class Names(Database):
    """A store of names."""

    file, owner, in_use = "names.sqlite", "names", "names must belong to one process; another one has them open."
    tables = ("CREATE TABLE IF NOT EXISTS names(name TEXT PRIMARY KEY)",)

    def commit(self, names):
        with self.transaction():
            return [self.run("INSERT OR IGNORE INTO names VALUES(?)", name).rowcount for name in names]

    def all(self):
        return [name for (name,) in self.rows("SELECT name FROM names ORDER BY name")]


def killed(work):
    """Run work in a fork, which it ends by a signal that nothing can catch."""
    child = os.fork()
    if not child:
        try:
            work()
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def test_what_was_committed_is_there_after_the_process_was_killed(tmp_path):
    def work():
        store = Names(tmp_path)
        store.commit(["a", "b"])
        die()

    killed(work)
    with closing(Names(tmp_path)) as store:
        assert store.all() == ["a", "b"]


def test_a_transaction_in_which_the_process_was_killed_leaves_nothing(tmp_path):
    def work():
        store = Names(tmp_path)
        store.commit(["a"])
        with store.transaction():
            store.run("INSERT INTO names VALUES('b')")
            die()

    killed(work)
    with closing(Names(tmp_path)) as store:
        assert store.all() == ["a"]


def test_a_transaction_that_fails_leaves_nothing_and_the_next_one_is_stored(tmp_path):
    with closing(Names(tmp_path)) as store:
        with suppress(ZeroDivisionError), store.transaction():
            store.run("INSERT INTO names VALUES('a')")
            raise ZeroDivisionError
        store.commit(["b"])
        assert store.all() == ["b"]


def test_a_full_disk_is_an_error_of_storage_and_keeps_nothing(tmp_path):
    with closing(Names(tmp_path)) as store:
        (pages,) = store.run("PRAGMA page_count").fetchone()
        store.run(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StorageError, match=r"the disk did not take what was written \(SQLITE_FULL\)\."):
            store.try_to_store()
        store.run("PRAGMA max_page_count = 1000")
        store.try_to_store()
        assert not store.finds("SELECT 1 FROM sqlite_master WHERE name = 'room'")


STORES = {
    "reports": lambda folder: ReportStore(folder, pools=[1], remembers=False),
    "batches": BatchStore,
    "an issuer's folder": IssuerStore,
    "letters": Mailboxes,
}


@pytest.mark.parametrize("name", STORES)
def test_every_store_is_for_its_owner_alone_and_for_one_process(tmp_path, name):
    folder = tmp_path / "new" / "state"
    store = STORES[name](folder)
    assert {stat.S_IMODE(each.stat().st_mode) for each in (folder, folder.parent)} == {0o700}
    assert {stat.S_IMODE(each.stat().st_mode) & 0o077 for each in folder.rglob("*")} == {0}
    second = (
        "import sys; from pathlib import Path; from parties.store.test_database import STORES; "
        "STORES[sys.argv[1]](Path(sys.argv[2]))"
    )
    tried = subprocess.run(
        [sys.executable, "-c", second, name, str(folder)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert "LocalProtocolError" in tried.stderr
    assert f"{name} must belong to one process; another" in tried.stderr
    asyncio.run(store.close()) if name == "letters" else store.close()


@pytest.mark.parametrize(("owner", "name"), [("a collection", "reports"), ("the post office", "letters")])
def test_a_folder_that_cannot_be_made_is_named_by_its_owner(tmp_path, owner, name):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match=f"the folder of {owner} must be writable; it is not"):
        STORES[name](tmp_path / "file" / "state")


def test_nobody_else_opens_an_sqlite_file():
    folder = Path(shuffledp.__file__).parent
    opening = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*.py")
        if "sqlite3.connect(" in path.read_text(encoding="utf-8")
    }
    assert opening == {"parties/store/database.py"}


def test_items_that_wait_together_are_one_transaction_and_each_request_gets_its_own_outcomes(tmp_path):
    async def test(store):
        groups = []

        def commit(names):
            groups.append(len(names))
            return store.commit(names)

        queue = GroupCommit(store.thread, commit)
        found = await asyncio.gather(*(queue.store([name, "again"]) for name in "abc"))
        await queue.drain()
        return found, groups

    with closing(Names(tmp_path)) as store:
        found, groups = asyncio.run(test(store))
        assert (found, groups) == ([[1, 1], [1, 0], [1, 0]], [6])
        assert store.all() == ["a", "again", "b", "c"]


def test_a_group_that_fails_is_told_to_each_of_its_requests_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(group_commit, "_MOST_TOGETHER", 2)

    async def test(store):
        def commit(names):
            if "bad" in names:
                raise StorageError("full")
            return store.commit(names)

        queue = GroupCommit(store.thread, commit)
        requests = [queue.store([each]) for each in ("bad", "a", "b", "c", "d")]
        return await asyncio.gather(*requests, return_exceptions=True)

    with closing(Names(tmp_path)) as store:
        found = asyncio.run(test(store))
        assert [type(each) for each in found] == [StorageError, StorageError, list, list, list]
        assert store.all() == ["b", "c", "d"]
