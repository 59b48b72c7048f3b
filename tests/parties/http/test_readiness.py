"""Whether a service says that it can store something: as long as it is so, and not when the disk is full."""

import asyncio
import json
import resource
from contextlib import suppress

import httpx
import pytest

from parties.issuer.issuing import WithTokens
from parties.service.at_work import Logged, looks_sealed, run, shuffler
from parties.service.processes import place, until
from parties.service.test_report_store import small_disk
from shuffledp.parties.http import readiness
from shuffledp.parties.http.event_log import EventLog, Happened
from shuffledp.parties.http.readiness import Readiness
from shuffledp.parties.relay.mailboxes import Mailboxes
from shuffledp.parties.service.batch_store import BatchStore
from shuffledp.parties.store.database import StorageError
from shuffledp.parties.wire.grammar import UploadRequest


@pytest.fixture
def asked_each_time(monkeypatch):
    monkeypatch.setattr(readiness, "_SECONDS_BETWEEN", 0.0)


@pytest.mark.usefixtures("asked_each_time")
@pytest.mark.parametrize("role", ["shuffler", "analyzer", "issuer"])
def test_a_service_is_not_ready_while_its_disk_is_full_and_says_so_in_its_log_at_once(tmp_path, role):
    with place(tmp_path, kind=WithTokens) as where:
        (tmp_path / "invited.json").write_text('{"collection": "x", "codes": []}')
        process = where.start(role)
        url = f"http://127.0.0.1:{where.ports[role]}"

        def is_ready():
            return httpx.get(f"{url}/readyz").status_code == 200

        assert is_ready()
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))  # no file may grow
        refused = httpx.get(f"{url}/readyz")
        assert (refused.status_code, refused.json()["type"]) == (503, "urn:shuffledp:error:unavailable")
        assert httpx.get(f"{url}/healthz").text == "ok\n"
        assert not is_ready()
        events = [json.loads(line) for line in where.log(role).read_text().splitlines()]
        assert events == [{"event": "started", "count": 1}, {"event": "storage-failed", "count": 1}]
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        until(is_ready)


@pytest.mark.usefixtures("asked_each_time")
def test_while_nothing_can_be_stored_a_shuffler_says_so_and_afterwards_takes_the_same_report(tmp_path):
    async def test():
        async with shuffler(tmp_path) as here:
            database = here.at_shuffler._store._database
            report = looks_sealed(here.parties.collection)
            body = UploadRequest((report,)).encode()
            (pages,) = database.execute("PRAGMA page_count").fetchone()
            before = await here.client.get("/readyz")
            database.execute("VACUUM")
            for submission in (looks_sealed(here.parties.collection) for _ in range(99)):
                database.execute(f"PRAGMA max_page_count = {pages}")
                if (await here.post(UploadRequest((submission,)).encode())).status_code != 200:
                    break
            answers = [await here.client.get("/readyz"), await here.client.get("/healthz"), await here.post(body)]
            lines = list(here.logged.events)
            database.execute("PRAGMA max_page_count = 100000")
            after = [await here.client.get("/readyz"), await here.post(body)]
            return [each.status_code for each in (before, *answers, *after)], lines, await here.at_shuffler.counts()

    codes, lines, _ = run(test)
    assert codes == [200, 503, 200, 503, 200, 200]
    assert lines == [("storage-failed", 1)]


@pytest.mark.usefixtures("asked_each_time")
def test_on_a_disk_without_room_a_shuffler_is_not_ready(tmp_path):
    async def test(disk):
        async with shuffler(disk) as here:
            codes = [(await here.client.get("/readyz")).status_code]
            filler = disk / "filler"
            with suppress(OSError), filler.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
            for _ in range(9):  # what the log has of room is used up
                codes.append((await here.client.get("/readyz")).status_code)
            filler.unlink()
            return [*codes, (await here.client.get("/readyz")).status_code]

    with small_disk(tmp_path / "disk") as disk:
        codes = run(test, disk)
    assert (codes[0], codes[-2], codes[-1]) == (200, 503, 200)


def test_however_often_it_is_asked_it_tries_now_and_then_and_never_twice_at_once():
    tried, now = [], [0.0]

    async def trying():
        tried.append(now[0])
        await asyncio.sleep(0)
        if now[0] < 10:
            raise StorageError("full")

    async def test():
        logged = Logged()
        asked = Readiness([trying], EventLog(logged.write), clock=lambda: now[0])
        first = await asyncio.gather(*(asked.is_ready() for _ in range(50)))
        now[0] = 4.9
        second = await asked.is_ready()
        now[0] = 10.0
        return first, second, await asked.is_ready(), logged.events

    first, second, third, events = run(test)
    assert (set(first), second, third) == ({False}, False, True)
    assert tried == [0.0, 10.0]
    assert events == [("storage-failed", 1)]


def test_a_disk_that_does_not_answer_is_not_ready(monkeypatch):
    monkeypatch.setattr(readiness, "_LONGEST", 0.01)
    asked = Readiness([lambda: asyncio.sleep(9)], EventLog(Logged().write))
    assert run(asked.is_ready) is False


def test_what_begins_is_logged_at_once_and_what_goes_on_is_counted():
    logged = Logged()
    log = EventLog(logged.write)
    for number in (3, 2, 0, 1):
        for _ in range(number):
            log.at_first(Happened.STORAGE_FAILED)
        log.flush()
    assert logged.events == [("storage-failed", 1), ("storage-failed", 2), ("storage-failed", 2), ("storage-failed", 1)]


def test_trying_leaves_nothing(tmp_path):
    store = BatchStore(tmp_path / "analyzer")
    before = sorted(path.name for path in (tmp_path / "analyzer").rglob("*"))
    store.try_to_store()
    assert sorted(path.name for path in (tmp_path / "analyzer").rglob("*")) == before
    assert store.run("SELECT name FROM sqlite_master WHERE name = 'room'").fetchall() == []
    store.close()


def test_a_post_office_tries_too(tmp_path):
    async def test():
        boxes = Mailboxes(tmp_path)
        boxes._letters.run("PRAGMA max_page_count = 1")
        with pytest.raises(StorageError, match="did not take"):
            await boxes.try_to_store()
        boxes._letters.run("PRAGMA max_page_count = 1000")
        await boxes.try_to_store()
        await boxes.close()

    run(test)
