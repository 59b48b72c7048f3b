"""A report that comes in a second batch of its collection counts once, wherever the analyzer is killed."""

import asyncio
import hashlib
import json
import os
import resource
import shutil
import signal
import sqlite3
from contextlib import closing, contextmanager

import numpy as np
import pytest

from parties.service.at_work import Logged, analyzer, reports_of, run, sealed
from parties.service.given import Parties, task, task_of_two
from parties.service.test_analyzer_app import posted
from parties.service.test_report_store import killed
from shuffledp.core.errors import LocalProtocolError
from shuffledp.parties.http.event_log import EventLog
from shuffledp.parties.service.batch_store import BatchStore
from shuffledp.parties.service.collection_at_analyzer import CollectionAtAnalyzer
from shuffledp.parties.store.database import StorageError
from shuffledp.parties.store.digest_keys import keyed
from shuffledp.parties.wire.grammar import BatchedReport, BatchManifest

pytestmark = pytest.mark.usefixtures("without_a_page")


def submissions(parties, count):
    config = parties.analyzer_key.config
    return sealed(parties.collection, reports_of(parties.collection.task, np.arange(count) % 2), config=config)


def signed(parties, sent, number, *, column=0, num_reports=None):
    """A batch of a column of what was sent, as the shuffler signs it."""
    inside = [BatchedReport((), each.reports[column].ciphertext).encode() for each in sent]
    body = b"".join(inside)
    count = len(sent) if num_reports is None else num_reports
    told = 0, 0, 0, hashlib.sha256(body).digest(), b"uniform", b"1"
    made = BatchManifest(parties.collection.id, column, os.urandom(16), number, count, *told)
    return parties.shuffler_key.sign(made).encode() + body


async def answers(folder, parties, batches):
    async with analyzer(folder, parties) as (client, at_analyzer, logged):
        codes = [(await posted(client, parties, each)).status_code for each in batches]
        at_analyzer._log.flush()
        return codes, logged.events


def counted(folder):
    """Reports and duplicates of each release."""
    found = {}
    for path in (folder / "release").glob("*/statement.json"):
        said = json.loads(path.read_text())
        several = said.get("columns", [said])
        if said["estimates"]:
            found[path.parent.name] = [
                (each["num_reports"], each["flow"]["collected"]["duplicates"]) for each in several
            ]
    return found


def left_over(folder):
    """Digests, keys and bodies that are still there."""
    with closing(sqlite3.connect(folder / "batches" / "batches.sqlite")) as database:
        ((digests,),) = database.execute("SELECT count(*) FROM seen").fetchall()
    return digests, list((folder / "batches").glob("*.key")), list((folder / "batches" / "batches").iterdir())


def test_the_same_reports_in_a_second_batch_are_no_other_people(tmp_path):
    parties = Parties(every=60)
    sent = submissions(parties, 60)
    batches = [signed(parties, sent, 0), signed(parties, sent[::-1], 1), signed(parties, [], 2)]
    codes, events = run(answers, tmp_path, parties, batches)
    assert codes == [200] * 3
    assert counted(tmp_path) == {"batch-1": [(60, 0)]}
    assert [each for each, _ in events].count("released") == 1
    assert left_over(tmp_path) == (0, [], [])


def test_what_came_before_is_a_duplicate_in_its_batch_and_in_all_of_them_together(tmp_path):
    parties = Parties(task_of_two(), every=20)
    sent = submissions(parties, 50)
    columns = range(2)
    batches = [signed(parties, sent[:20], 0, column=each) for each in columns]
    batches += [signed(parties, sent[5:50], 1, column=each) for each in columns]
    batches += [signed(parties, [], 2, column=each) for each in columns]
    run(answers, tmp_path, parties, batches)
    assert counted(tmp_path) == {
        "batch-1": [(20, 0), (20, 0)],
        "batch-2": [(30, 15), (30, 15)],
        "together": [(50, 15), (50, 15)],
    }


def test_until_the_end_there_are_16_bytes_for_each_report_and_a_key_for_the_owner_alone(tmp_path):
    parties = Parties(every=20)
    sent = submissions(parties, 20)
    run(answers, tmp_path, parties, [signed(parties, sent, 0)])
    with closing(sqlite3.connect(tmp_path / "batches" / "batches.sqlite")) as database:
        digests = [digest for (digest,) in database.execute("SELECT digest FROM seen")]
    ids = {each.reports[0].ciphertext.report_id() for each in sent}
    assert {len(each) for each in digests} == {16}
    assert len(set(digests)) == 20
    assert not ids & set(digests)
    (key,) = (tmp_path / "batches").glob("*.key")
    assert (key.stat().st_mode & 0o777, key.stat().st_size) == (0o600, 32)


def test_digests_without_their_key_are_refused(tmp_path):
    store = BatchStore(tmp_path)
    made = BatchManifest(bytes(32), 0, bytes(16), 0, 2, 0, 0, 0, bytes(32), b"uniform", b"1")
    assert store.seen.in_other_batches(made, [b"a", b"b", b"a"]) == [False] * 3
    (key,) = tmp_path.glob("*.key")
    key.unlink()
    with pytest.raises(LocalProtocolError, match="it is gone"):
        store.seen.in_other_batches(made, [b"a"])
    store.close()


@contextmanager
def no_file_may_grow():
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_key_that_a_full_disk_did_not_take_is_made_again_and_no_digest_is_without_one(tmp_path):
    store = BatchStore(tmp_path)
    made = BatchManifest(bytes(32), 0, bytes(16), 0, 1, 0, 0, 0, bytes(32), b"uniform", b"1")
    with no_file_may_grow(), pytest.raises(StorageError, match="did not take the key"):
        store.seen.in_other_batches(made, [b"a" * 16])
    assert not list(tmp_path.glob("*.key*"))
    assert store.seen.in_other_batches(made, [b"a" * 16]) == [False]
    (key,) = tmp_path.glob("*.key")
    assert key.stat().st_size == 32
    ((digest,),) = store.run("SELECT digest FROM seen").fetchall()
    assert digest == keyed(b"a" * 16, key.read_bytes()) != keyed(b"a" * 16, b"")
    store.close()


def test_a_key_that_was_cut_off_is_made_again_before_its_first_digest_and_refused_after_it(tmp_path):
    store = BatchStore(tmp_path)
    made = BatchManifest(bytes(32), 0, bytes(16), 0, 1, 0, 0, 0, bytes(32), b"uniform", b"1")
    key = tmp_path / f"{made.collection_id.hex()}-seen.key"
    key.write_bytes(b"")
    store.seen.in_other_batches(made, [b"a"])
    assert key.stat().st_size == 32
    key.write_bytes(b"")
    with pytest.raises(LocalProtocolError, match="it is cut off"):
        store.seen.in_other_batches(made, [b"a"])
    store.close()


def test_digests_are_written_in_their_own_order_and_not_in_that_of_the_batch(tmp_path):
    store, written = BatchStore(tmp_path), []
    run_statement = store.run

    def recorded(statement, *values):
        if statement.startswith("INSERT"):
            written.append(values[2])
        return run_statement(statement, *values)

    store.run = recorded
    made = BatchManifest(bytes(32), 0, bytes(16), 0, 50, 0, 0, 0, bytes(32), b"uniform", b"1")
    store.seen.in_other_batches(made, [bytes([number]) for number in range(50)])
    store.close()
    assert len(written) == 50
    assert written == sorted(written)


def test_a_second_batch_where_there_is_one_and_one_after_the_last_are_refused(tmp_path):
    parties, several = Parties(), Parties(every=20)
    batches = [signed(parties, submissions(parties, 20), number) for number in range(2)]
    codes, events = run(answers, tmp_path / "one", parties, batches)
    assert codes == [200, 400]
    assert ("batch-refused", 1) in events
    sent = submissions(several, 20)
    batches = [signed(several, sent, 0), signed(several, [], 1), signed(several, sent, 2), signed(several, [], 3)]
    codes, _ = run(answers, tmp_path / "several", several, batches)
    assert codes == [200, 200, 400, 400]
    assert counted(tmp_path / "several") == {"batch-1": [(20, 0)]}


def test_a_batch_whose_release_fails_keeps_the_collection_from_its_end(tmp_path, monkeypatch):
    parties = Parties(every=20)
    sent = submissions(parties, 40)
    batches = [signed(parties, sent[:20], 0), signed(parties, sent, 1), signed(parties, [], 2)]

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as now:
        now.setattr("shuffledp.parties.service.collection_at_analyzer.write_batch_release", full)
        run(answers, tmp_path, parties, batches)
    assert counted(tmp_path) == {}
    run(started, tmp_path, parties, BatchStore(tmp_path / "batches"))
    assert counted(tmp_path) == {"batch-1": [(20, 0)], "batch-2": [(20, 20)], "together": [(40, 20)]}


# ---- kills ----------------------------------------------------------------------------------------------------------


class Dying(BatchStore):
    """Is killed before one of its statements."""

    left = None

    def run(self, statement, *values):
        if self.left is not None:
            if not self.left:
                os.kill(os.getpid(), signal.SIGKILL)
            self.left -= 1
        return super().run(statement, *values)


async def started(folder, parties, store):
    """An analyzer that starts, and does what is left to be done."""
    try:
        log = EventLog(Logged().write)
        await CollectionAtAnalyzer(
            parties.collection, [parties.analyzer_key], store, folder / "release", log=log
        ).release()
    finally:
        store.close()


def takes_batches(folder, parties, batches, monkeypatch):
    """A folder in which all batches lie, and none is released."""

    async def nothing(_):
        pass

    with monkeypatch.context() as now:
        now.setattr(CollectionAtAnalyzer, "release", nothing)
        assert run(answers, folder, parties, batches)[0] == [200] * len(batches)


def kills(folder, parties, batches, monkeypatch, step):
    """After a kill before every so many statements, the same is released, and nothing is left over."""
    takes_batches(folder / "before", parties, batches, monkeypatch)
    number, is_killed = 0, True
    while is_killed:
        at = folder / str(number)
        shutil.copytree(folder / "before", at)

        def dies(number=number, at=at):
            store = Dying(at / "batches")
            store.left = number
            asyncio.run(started(at, parties, store))

        is_killed = killed(dies)
        run(started, at, parties, BatchStore(at / "batches"))
        assert counted(at) == {"batch-1": [(10, 0)], "batch-2": [(10, 5)], "together": [(20, 5)]}, number
        assert left_over(at) == (0, [], []), number
        shutil.rmtree(at)
        number += step
    return number


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.deep), 45])
def test_wherever_the_analyzer_is_killed_nothing_is_forgotten_and_nothing_is_its_own_duplicate(
    tmp_path, monkeypatch, step
):
    parties = Parties(task(), every=10)
    sent = submissions(parties, 20)
    batches = [signed(parties, sent[:10], 0), signed(parties, sent[5:], 1), signed(parties, [], 2)]
    assert kills(tmp_path, parties, batches, monkeypatch, step) > 60


def test_a_batch_that_was_released_is_not_forgotten_by_a_kill(tmp_path):
    made = BatchManifest(bytes(32), 0, bytes(16), 0, 2, 0, 0, 0, bytes(32), b"uniform", b"1")

    def dies():
        store = BatchStore(tmp_path)
        store.seen.in_other_batches(made, [b"a", b"b"])
        os.kill(os.getpid(), signal.SIGKILL)

    assert killed(dies)
    store = BatchStore(tmp_path)
    next_one = BatchManifest(bytes(32), 0, b"1" * 16, 1, 2, 0, 0, 0, bytes(32), b"uniform", b"1")
    assert store.seen.in_other_batches(made, [b"a", b"b"]) == [False, False]
    assert store.seen.in_other_batches(next_one, [b"b", b"c"]) == [True, False]
    store.close()
