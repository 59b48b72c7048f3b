"""Everybody who comes is served while somebody holds more connections than a service has places."""

import asyncio
import socket
import ssl
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import httpx
import pytest
import uvicorn
from uvicorn.server import ServerState

from parties.http.floods import certified, flooded
from parties.service.at_work import looks_sealed, run
from parties.service.processes import place, until
from shuffledp.parties.http.connections import Connections, Limits, _network
from shuffledp.parties.http.http_parsers import H11Connection, fastest_parser, limited, with_httptools
from shuffledp.parties.service.config import ShufflerConfig
from shuffledp.parties.wire.grammar import UPLOAD_TYPE, UploadRequest

FEW = "[limits]\nmost_connections = 100\n"
TALL = pytest.mark.deep
SIZES = [(130, FEW, 4), pytest.param(4400, "", 30, marks=TALL)]


def half_an_upload(where):
    path = f"{where.parties.collection.path}/reports"
    return f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: {UPLOAD_TYPE}\r\ncontent-length: 74\r\n\r\n".encode()


def uploads(where, count, *, scheme="http", verify=False):
    """How many of so many people who come one after the other are served, at the first attempt."""
    collection = where.parties.collection
    url = f"{scheme}://127.0.0.1:{where.ports['shuffler']}{collection.path}/reports"
    served, for_one = 0, httpx.Limits(max_keepalive_connections=0)
    with httpx.Client(timeout=20, limits=for_one, verify=verify, headers={"content-type": UPLOAD_TYPE}) as client:
        for _ in range(count):
            body = UploadRequest((looks_sealed(collection),)).encode()
            with suppress(httpx.TransportError):
                served += client.post(url, content=body).status_code == 200
    return served


@pytest.mark.parametrize(("held", "limits", "people"), SIZES)
def test_everybody_is_served_while_somebody_holds_all_places_by_bodies_that_do_not_come(tmp_path, held, limits, people):
    with place(tmp_path, limits=limits) as where:
        where.start("shuffler")
        with flooded(where.ports["shuffler"], held, sending=half_an_upload(where)) as floods:
            before = sum(each.opened for each in floods)
            assert uploads(where, people) == people
            assert before > held / 2
        assert uploads(where, 1) == 1


@pytest.mark.deep
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_everybody_is_served_while_somebody_holds_all_places_and_says_nothing(tmp_path, scheme):
    with place(tmp_path, limits=certified(tmp_path) if scheme == "https" else "") as where:
        where.start("shuffler")
        with flooded(where.ports["shuffler"], 10_000):
            verify = ssl.create_default_context(cafile=tmp_path / "tls.pem") if scheme == "https" else False
            assert uploads(where, 30, scheme=scheme, verify=verify) == 30


@contextmanager
def unread(port, count, length):
    """Clients that ask again and again for what is not there, and read no answer."""
    ended = threading.Event()

    def ask():
        while not ended.is_set():
            with socket.socket() as connection, suppress(OSError):
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
                connection.settimeout(0.5)
                connection.connect(("127.0.0.1", port))
                asking = memoryview(b"GET /none HTTP/1.1\r\nhost: x\r\n\r\n" * (length // 33))
                while asking and not ended.is_set():
                    with suppress(TimeoutError):
                        asking = asking[connection.send(asking[: 1 << 16]) :]
                ended.wait(60)

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(count)]
    try:
        for each in threads:
            each.start()
        yield
    finally:
        ended.set()
        for each in threads:
            each.join()


@pytest.mark.parametrize("people", [3, pytest.param(50, marks=TALL)])
def test_everybody_is_served_while_somebody_holds_all_places_by_answers_that_nobody_reads(tmp_path, people):
    with place(tmp_path, limits="[limits]\nmost_connections = 20\n") as where:
        process = where.start("shuffler")
        with unread(where.ports["shuffler"], 24, 3_000_000):
            if fastest_parser() is H11Connection:  # the other one closes them before that
                until(lambda: len(list(Path(f"/proc/{process.pid}/fd").iterdir())) > 30)
            time.sleep(0.3 if people < 10 else 5)
            assert uploads(where, people) == people


def test_a_service_that_speaks_tls_is_there_after_handshakes_that_do_not_come(tmp_path):
    with place(tmp_path, limits=f"{certified(tmp_path)}[limits]\nmost_connections = 10\n") as where:
        where.start("shuffler")
        with flooded(where.ports["shuffler"], 30, again=False):
            verify = ssl.create_default_context(cafile=tmp_path / "tls.pem")
            assert uploads(where, 3, scheme="https", verify=verify) == 3


def test_somebody_at_one_address_has_a_share_of_the_places(tmp_path):
    with place(tmp_path, limits="[limits]\nconnections_of_an_address = 3\n") as where:
        where.start("shuffler")
        with ExitStack() as stack:
            address = "127.0.0.1", where.ports["shuffler"]
            held = [stack.enter_context(socket.create_connection(address, timeout=9)) for _ in range(5)]
            assert [each.recv(1) for each in held[:2]] == [b"", b""]
            assert uploads(where, 1) == 1


# ---- who gives way --------------------------------------------------------------------------------------------------


class Held:
    """A connection, as far as the others are concerned."""

    def __init__(self, all_, now, address="a"):
        self.loop, self.address, self.has_head, self.is_closed = self, address, False, False
        self._all, self._now = all_, now
        all_.add(self)
        all_.has_address(self)

    def time(self):
        return self._now[0]

    def call_later(self, *_):
        """Nobody is swept away here."""

    def end(self):
        self.is_closed = True


def comers(limits, addresses="a"):
    """All connections, and the first ones that came, a second after each other."""
    all_, now = Connections(limits), [0.0]

    def come(address="a"):
        now[0] += 1
        return Held(all_, now, address)

    return SimpleNamespace(all=all_, come=come, first=[come(each) for each in addresses])


def test_whose_request_has_been_incomplete_for_longest_gives_way_with_a_head_or_without_one():
    here = comers(Limits(most_connections=3), "aaa")
    here.first[0].has_head = True  # and its body does not come
    here.all.is_served(here.first[1])
    assert not here.come().is_closed
    assert [each.is_closed for each in here.first] == [True, False, False]
    here.come()
    assert [each.is_closed for each in here.first] == [True, False, True]


def test_whoever_waits_for_the_next_request_waits_from_then_on():
    here = comers(Limits(most_connections=2), "aa")
    here.all.is_served(here.first[0])
    here.all.waits(here.first[0])
    here.come()
    assert [each.is_closed for each in here.first] == [False, True]


def test_where_every_request_is_being_answered_whoever_comes_gives_way():
    here = comers(Limits(most_connections=2), "aa")
    for each in here.first:
        here.all.is_served(each)
    assert here.come().is_closed


async def never(scope, receive, send):
    """An application that does not answer."""
    await asyncio.Event().wait()


def parser_of(name):
    """Connections with one parser of HTTP."""
    if name == "httptools":
        pytest.importorskip("httptools")
        return with_httptools()
    return H11Connection


def connected(parser, app=never):
    """A connection of a client."""
    kind = limited(Limits(most_connections=2), parser_of(parser))
    one = kind(config=uvicorn.Config(app, log_config=None), server_state=ServerState(), app_state={})
    transport = MagicMock()
    transport.is_closing.side_effect = lambda: transport.abort.called or transport.close.called
    one.connection_made(transport)
    return one


PARSERS = pytest.mark.parametrize("parser", ["h11", "httptools"])
HEAD = b"POST / HTTP/1.1\r\nhost: x\r\n"


@PARSERS
def test_a_connection_waits_while_its_answer_is_unread_and_is_served_again_when_it_is_read(parser):
    async def test():
        one = connected(parser)
        one.data_received(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        await asyncio.sleep(0)
        states = [(one in one.all._since, one.has_head)]
        for happens in (one.pause_writing, one.resume_writing):
            happens()
            states.append((one in one.all._since, one.has_head))
        return states

    assert run(test) == [(False, True), (True, False), (False, True)]


@PARSERS
def test_a_connection_waits_until_the_whole_request_is_there(parser):
    async def test():
        one, states = connected(parser), []
        for part in (HEAD, b"content-length: 2\r\n\r\n", b"a", b"b"):
            one.data_received(part)
            states.append((one in one.all._since, one.has_head))
        return states

    assert run(test) == [(True, False), (True, True), (True, True), (False, True)]


@PARSERS
def test_a_client_whose_next_request_began_before_its_answer_has_waited_since_before(parser):
    async def test():
        gate, asked = asyncio.Event(), []

        async def app(scope, receive, send):
            asked.append(scope["path"])
            await gate.wait()
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body", "body": b""})

        one = connected(parser, app)
        since = one.all._since[one]
        one.data_received(b"GET /a HTTP/1.1\r\nhost: x\r\n\r\nGET /b HTTP/1.1\r\nhost: x\r\n\r\nGET /c")
        is_waiting = one.all._since.get(one) == since
        gate.set()
        for _ in range(9):
            await asyncio.sleep(0)
        still = one.all._since.get(one) == since
        one.data_received(b" HTTP/1.1\r\nhost: x\r\n\r\n")
        for _ in range(9):
            await asyncio.sleep(0)
        one.connection_lost(None)
        return is_waiting, still, asked

    assert run(test) == (True, True, ["/a", "/b", "/c"])


@PARSERS
@pytest.mark.parametrize(
    "end", [b"a: " + b"x" * 70_000, b"".join(b"a%d: x\r\n" % number for number in range(9000))], ids=["line", "lines"]
)
def test_a_connection_whose_head_has_no_end_is_closed(parser, end):
    async def test():
        one = connected(parser)
        one.data_received(HEAD)
        for at in range(0, len(end), 10_000):
            if not one.transport.is_closing():
                one.data_received(end[at : at + 10_000])
        return one.transport.is_closing()

    assert run(test)


@PARSERS
@pytest.mark.parametrize("end", [b"0\r\n" + b"a: x\r\n" * 20_000, b"1;" + b"x" * 90_000])
def test_what_follows_a_body_or_describes_its_parts_has_a_largest_length(parser, end):
    async def test():
        one = connected(parser)
        one.data_received(HEAD + b"transfer-encoding: chunked\r\n\r\n")
        for at in range(0, len(end), 10_000):
            if not one.transport.is_closing():
                one.data_received(end[at : at + 10_000])
        return one.transport.is_closing(), one.scope["headers"][2:]

    assert run(test) == (True, [])


def test_a_client_that_sends_many_requests_ahead_is_closed_before_they_fill_the_memory():
    async def test():
        one = connected("httptools")
        one.data_received(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n" * 9000)
        return one.transport.is_closing(), len(one.pipeline)

    is_closed, ahead = run(test)
    assert is_closed
    assert ahead <= 8


def test_one_address_has_its_share_and_takes_no_place_of_others():
    here = comers(Limits(most_connections=100, connections_of_an_address=2), "abaab")
    assert [each.is_closed for each in here.first] == [True, False, False, False, False]
    assert not any(here.come(each).is_closed for each in "cdc")


def test_nothing_of_an_address_is_kept_when_its_last_connection_is_gone():
    here = comers(Limits(most_connections=2, connections_of_an_address=1), "ab")
    here.come("a")
    for each in list(here.all._all):
        here.all.remove(each)
    assert (here.all._all, here.all._since, dict(here.all._of_address)) == (set(), {}, {})


def test_all_addresses_of_a_network_of_ipv6_are_one():
    same = {_network((each, 1)) for each in ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9%eth0")}
    assert len(same) == 1
    assert _network(("2001:db8:1:3::1", 1)) not in same
    assert _network(("::ffff:192.0.2.1", 1)) == _network(("192.0.2.1", 1)) != _network(("192.0.2.2", 1))


@pytest.mark.parametrize(
    ("given", "found"), [("", 0), ("connections_of_an_address = 0\n", 0), ("connections_of_an_address = 7\n", 7)]
)
def test_a_share_of_one_address_is_for_a_service_without_a_proxy_unless_it_is_asked_for(tmp_path, given, found):
    with place(tmp_path, limits=f"{certified(tmp_path)}[limits]\n{given}") as where:
        config = ShufflerConfig.read(where.folder / "shuffler.toml")
        assert config.connections.connections_of_an_address == (found if given else 64)
        alone = replace(config, tls_certificate=None, tls_key=None)
        assert alone.connections.connections_of_an_address == found
