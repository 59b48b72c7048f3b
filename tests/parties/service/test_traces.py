"""What is left of people: after the release nothing on the disk and never anything in a log, and uploads that are none
leave no trace at all."""

import random
import re
import resource

import httpx
import pytest

from parties.service.at_work import looks_sealed, reports_of, run, sealed, shuffler
from parties.service.given import Parties, task_near_an_order
from parties.service.processes import place, until
from parties.service.test_weak_links import answers, closed, connected, phase
from shuffledp.parties.http.event_log import EventLog, Happened
from shuffledp.parties.wire.grammar import UPLOAD_TYPE, UploadRequest

LINE = re.compile(r'\{"event": "[a-z-]+", "count": \d+\}')


@pytest.mark.usefixtures("without_a_page")
def test_after_the_release_neither_log_nor_disk_holds_a_ciphertext_an_id_an_address_or_a_time(tmp_path):
    with place(tmp_path) as where:
        collection, config = where.parties.collection, where.parties.analyzer_key.config
        for role in ("shuffler", "analyzer"):
            where.start(role)
        sent = sealed(collection, reports_of(collection.task, [0, 1] * 10), config=config)
        for each in sent:
            assert answers(where, [each])
        httpx.post(f"{where.url}/collections/x/reports", content=b"garbage")
        httpx.post(f"{where.url}{collection.path}/reports", content=b"\xff" * 99, headers={"content-type": UPLOAD_TYPE})
        with connected(where, sending=b"\x16\x03\x01 no HTTP\r\n\r\n") as stranger:
            assert b" 400 " in stranger.recv(1000)
        metrics = httpx.get(f"http://127.0.0.1:{where.ports['metrics']}/metrics").text
        assert 'shuffledp_submissions_total{result="stored"} 20' in metrics
        assert closed(where)
        until(lambda: phase(where) == "released" and (where.release / "statement.json").exists())
        for process in where.running.values():
            process.end()
    logs = "".join(where.log(role).read_text() for role in ("shuffler", "analyzer"))
    assert all(LINE.fullmatch(line) for line in logs.splitlines())
    assert {Happened(word) for word in re.findall('"event": "([a-z-]+)"', logs)} >= {
        Happened.CLOSING,
        Happened.RELEASED,
    }
    left = logs.encode() + b"".join(
        path.read_bytes()
        for folder in ("shuffler", "analyzer")
        for path in (tmp_path / folder).rglob("*")
        if path.is_file()
    )
    for each in sent:
        report = each.reports[0]
        traces = report.id, report.ciphertext.enc, report.ciphertext.payload, report.id.hex().encode()
        assert not any(trace in left for trace in traces)
    assert b"127.0.0.1" not in left
    names = [path.name for path in (tmp_path / "shuffler").rglob("*") if path.is_file()]
    assert names == ["reports.sqlite"]
    assert list((tmp_path / "analyzer" / "batches").iterdir()) == []


def test_a_log_takes_events_of_its_list_and_numbers_and_nothing_else():
    lines = []
    log = EventLog(lines.append)
    log(Happened.BATCH_MADE, 5000)
    log.later(Happened.STORAGE_FAILED)
    log.later(Happened.STORAGE_FAILED, 2)
    assert lines == ['{"event": "batch-made", "count": 5000}\n']
    log.flush()
    log.flush()
    assert lines[1:] == ['{"event": "storage-failed", "count": 3}\n']
    with pytest.raises((AttributeError, ValueError)):
        log("203.0.113.7")
    with pytest.raises(ValueError, match="invalid literal"):
        log(Happened.STARTED, "203.0.113.7")


# ---- mutated uploads ------------------------------------------------------------------------------------------------


def mutated(body, chance):
    """An upload with a few bytes changed, cut out, put in or moved."""
    changed = bytearray(body)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(changed) + 1)
        match chance.randrange(4):
            case 0:
                changed[at : at + 1] = chance.randbytes(1)
            case 1:
                del changed[at : at + chance.randint(1, 40)]
            case 2:
                changed[at:at] = chance.randbytes(chance.randint(1, 40))
            case 3:
                changed[at:at] = changed[: chance.randrange(len(changed) + 1)]
    return bytes(changed)


@pytest.mark.parametrize("count", [1500, pytest.param(1_000_000, marks=pytest.mark.deep)])
def test_mutated_uploads_store_nothing_but_what_is_whole_in_them_and_show_nothing(tmp_path, count):
    parties = Parties(task_near_an_order())
    chance = random.Random(7)

    async def test():
        async with shuffler(tmp_path, parties) as here:
            whole = [looks_sealed(parties.collection) for _ in range(2)]
            assert await here.send(*whole) == {}
            body, found, before = UploadRequest(tuple(whole)).encode(), set(), 0
            for number in range(count):
                answer = await here.post(mutated(body, chance))
                kind = answer.headers["content-type"]
                found.add((answer.status_code, kind, len(answer.content) if "problem" in kind else 0))
                if number == count // 2:
                    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            return found, here.at_shuffler._store.waiting, here.logged.lines, grown

    found, waiting, lines, grown = run(test, seconds=3600)
    assert found <= {
        (200, "application/vnd.shuffledp.upload-errors", 0),  # whose submissions were there before, or are refused
        (400, "application/problem+json", 128),
        (413, "application/problem+json", 128),
    }
    assert (400, "application/problem+json", 128) in found
    assert waiting == 2
    assert lines == []
    assert grown < 50 << 10
