"""Slow clients, many connections, endless bodies, and links that break: others are served, and nothing is lost."""

import asyncio
import contextlib
import resource
import signal
import socket
import time
from datetime import UTC, datetime

import httpx
import pytest

from parties.service.at_work import looks_sealed, reports_of, sealed
from parties.service.processes import WeakLink, place, until
from shuffledp.parties.http import http_messages
from shuffledp.parties.service import forwarder, run_services
from shuffledp.parties.wire.close_request import CLOSE_TYPE, CloseRequest
from shuffledp.parties.wire.grammar import UPLOAD_TYPE, UploadRequest

FEW = "[limits]\nmost_connections = 50\nseconds_idle = 0.5\n"
HEAD = b"POST /collections/x/reports HTTP/1.1\r\nhost: x\r\ncontent-type: " + UPLOAD_TYPE.encode()


def connected(where, *, sending=b""):
    connection = socket.create_connection(("127.0.0.1", where.ports["shuffler"]), timeout=20)
    connection.sendall(sending)
    return connection


def answers(where, submissions=None):
    """Whether the shuffler stores a report of somebody who comes now."""
    collection = where.parties.collection
    body = UploadRequest(tuple(submissions or [looks_sealed(collection)])).encode()
    url = f"{where.url}{collection.path}/reports"
    return httpx.post(url, content=body, headers={"content-type": UPLOAD_TYPE}, timeout=20).status_code == 200


def is_closed(connection):
    """Whether the other side closes a connection, after an answer or without one."""
    with contextlib.suppress(ConnectionError):
        while connection.recv(1 << 16):
            pass
    return True


def test_whoever_brings_no_request_is_closed_and_so_is_whoever_brings_it_byte_by_byte(tmp_path):
    with place(tmp_path, limits=FEW) as where:
        where.start("shuffler")
        with connected(where) as silent, connected(where, sending=HEAD) as slow:
            began = time.monotonic()
            slow.settimeout(0.05)
            while time.monotonic() - began < 10:
                try:
                    slow.sendall(b"x")
                    if not slow.recv(1):
                        break
                except TimeoutError:
                    pass
                except ConnectionError:
                    break
            assert 0.4 < time.monotonic() - began < 5
            assert is_closed(silent)
        assert answers(where)


def test_whoever_reads_no_answer_is_closed(tmp_path, monkeypatch):
    listen = run_services.listen

    def with_little_room(address, **further):
        listening = listen(address, **further)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        return listening

    monkeypatch.setattr(run_services, "listen", with_little_room)
    with place(tmp_path, limits=FEW) as where:
        where.start("shuffler")
        with connected(where) as unread:
            unread.settimeout(0.05)
            asking, sent, end = b"GET /none HTTP/1.1\r\nhost: x\r\n\r\n" * 99, 0, time.monotonic() + 60
            with contextlib.suppress(ConnectionError):
                while time.monotonic() < end:
                    with contextlib.suppress(TimeoutError):
                        sent += unread.send(asking[sent % len(asking) :])
            assert time.monotonic() < end
        assert answers(where)


@pytest.mark.parametrize("count", [400, pytest.param(10_000, marks=pytest.mark.deep)])
def test_any_number_of_idle_connections_give_way_to_whoever_brings_a_report(tmp_path, count):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < count + 500:
        pytest.skip("so many connections cannot be opened here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count + 500), hard))
    with place(tmp_path, limits=FEW.replace("0.5", "30")) as where:
        where.start("shuffler")
        with contextlib.ExitStack() as stack:
            idle = [stack.enter_context(connected(where)) for _ in range(count)]
            assert answers(where)
            assert is_closed(idle[0])
            for _ in range(3):
                assert answers(where)


def test_a_body_of_a_gibibyte_is_refused_before_it_is_sent_and_takes_no_memory(tmp_path):
    with place(tmp_path) as where:
        process = where.start("shuffler")
        assert answers(where)
        before = process.memory()
        path = f"{where.parties.collection.path}/reports".encode()
        head = HEAD.replace(b"/collections/x/reports", path)
        with connected(where, sending=head + b"\r\ncontent-length: 1073741824\r\n\r\n") as large:
            assert b" 413 " in large.recv(1000)
        with connected(where, sending=head + b"\r\ntransfer-encoding: chunked\r\n\r\n") as endless:
            with contextlib.suppress(ConnectionError):
                for _ in range(2000):
                    endless.sendall(b"10000\r\n" + bytes(1 << 16) + b"\r\n")
            endless.close()
        assert answers(where)
        assert process.memory() - before < 30 << 20


def test_a_body_that_does_not_come_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(http_messages, "SECONDS_OF_BODY", 0.3)
    with place(tmp_path) as where:
        where.start("shuffler")
        path = f"{where.parties.collection.path}/reports".encode()
        sending = HEAD.replace(b"/collections/x/reports", path) + b"\r\ncontent-length: 100\r\n\r\nx"
        with connected(where, sending=sending) as slow:
            assert b" 408 " in slow.recv(1000)


# ---- between the services -------------------------------------------------------------------------------------------


def closed(where):
    """Whether the shuffler takes the request to close; afterwards nothing is taken."""
    parties = where.parties
    request = CloseRequest.by(parties.shuffler_key, parties.collection.id, datetime.now(UTC))
    url = f"{where.url}{parties.collection.path}/close"
    return httpx.post(url, content=request.encode(), headers={"content-type": CLOSE_TYPE}).status_code == 200


def phase(where):
    return httpx.get(f"{where.url}{where.parties.collection.path}").json()["phase"]


@pytest.mark.usefixtures("without_a_page")
def test_over_a_link_that_breaks_stalls_and_doubles_each_batch_arrives_once(tmp_path, monkeypatch):
    monkeypatch.setattr(forwarder, "FIRST_PAUSE", 0.05)
    monkeypatch.setattr(forwarder, "LONGEST_PAUSE", 0.5)  # else a slow start of the analyzer is waited for too long

    async def test():
        link = WeakLink(0, ["break", "stall", "break", "double"])
        async with link:
            with place(tmp_path, analyzer_port=link.port) as where:
                link._port = where.ports["analyzer"]
                collection = where.parties.collection
                config = where.parties.analyzer_key.config
                sent = sealed(collection, reports_of(collection.task, [0, 1] * 50), config=config)
                await asyncio.to_thread(where.start, "shuffler")
                assert await asyncio.to_thread(answers, where, sent)
                assert await asyncio.to_thread(closed, where)
                await asyncio.to_thread(until, lambda: "break" in link.seen)
                await asyncio.to_thread(where.start, "analyzer")
                await asyncio.to_thread(until, lambda: phase(where) == "released")
                await asyncio.to_thread(until, (where.release / "statement.json").exists)
                for process in where.running.values():
                    await asyncio.to_thread(process.end)
                return link.seen, where.log("analyzer").read_text()

    seen, log = asyncio.run(asyncio.wait_for(test(), 60))
    assert seen[:3] == ["break", "stall", "break"]
    assert log.count('"released"') == 1
    assert log.count('{"event": "batch-received", "count": 100}') == 1


@pytest.mark.usefixtures("without_a_page")
def test_an_analyzer_that_is_killed_between_any_two_moments_releases_once(tmp_path, monkeypatch):
    monkeypatch.setattr(forwarder, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(forwarder, "LONGEST_PAUSE", 0.1)
    with place(tmp_path) as where:
        collection, config = where.parties.collection, where.parties.analyzer_key.config
        where.start("shuffler")
        assert answers(where, sealed(collection, reports_of(collection.task, [0, 1] * 50), config=config))
        assert closed(where)
        for pause in (0.0, 0.05, 0.2, 0.5):
            where.start("analyzer")
            time.sleep(pause)
            where.running["analyzer"].end(signal.SIGKILL)
        where.start("analyzer")
        until(lambda: phase(where) == "released" and (where.release / "statement.json").exists())
        log = [line for line in where.log("analyzer").read_text().splitlines() if '"released"' in line]
        assert len(log) <= 2  # the second time it says so, it found the release written
