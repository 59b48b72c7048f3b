"""Hosts of a sum that agree and then keep their shares back, or answer with what is no message or never ends."""

import asyncio
from contextlib import closing, suppress
from datetime import UTC, datetime
from urllib.parse import urlsplit

import httpx
import pytest

from parties.agreement.summing import Sum, hosts_of
from parties.service.at_work import run
from shuffledp.core.errors import AgreementError, BatchTooSmallError, RemoteProtocolError
from shuffledp.parties.agreement import agreement_courier
from shuffledp.parties.agreement.agreement_courier import Courier, HostStanding
from shuffledp.parties.agreement.agreement_rules import Reason, Refusal
from shuffledp.parties.agreement.agreement_steps import Stage
from shuffledp.parties.service import fetched_release, fetcher
from shuffledp.parties.service.awaited import Awaited
from shuffledp.parties.service.collection_at_analyzer import LONGEST_MANIFEST
from shuffledp.parties.service.forwarder import party_client
from shuffledp.parties.wire.agreement_messages import LONGEST_STANDING, Handed, Kind, Standing
from shuffledp.parties.wire.organizer_requests import OrganizerRequest, RequestKind

WAGES = [10, 20, 30, 40, 50, 60, 70, 80, 90]


def keeping_back(app, status):
    """A host that answers every request for its batch with a status, and all else as it should."""

    async def answer(scope, receive, send):
        if not scope["path"].endswith("/fetch"):
            return await app(scope, receive, send)
        await send({"type": "http.response.start", "status": status, "headers": []})
        return await send({"type": "http.response.body", "body": b""})

    return answer


@pytest.mark.deep
@pytest.mark.parametrize("status", [204, 410, 503], ids=["not yet", "not any more", "away"])
@pytest.mark.parametrize("liar", [0, 2], ids=["first", "last"])
def test_a_host_that_agrees_and_keeps_its_shares_back_is_named_in_the_end(tmp_path, monkeypatch, liar, status):
    async def play():
        given = Sum.new()
        async with hosts_of(given, tmp_path) as hosts:
            await hosts.send(given.shares(WAGES)[0])
            await hosts.close_intake()
            assert await hosts.carry()
            hosts.apps[liar] = keeping_back(hosts.apps[liar], status)
            monkeypatch.setattr(fetched_release, "party_client", lambda *_, **__: hosts.client)
            monkeypatch.setattr(fetched_release, "instant", lambda **_: datetime.now(UTC))  # the time to fetch is over
            with pytest.raises(AgreementError, match=rf"on; https://host{liar}\.example has not"):
                await fetched_release.fetch_release(given.collection, [given.analyst], tmp_path / "office")
            assert not (tmp_path / "office" / "release").exists()

    run(play)


@pytest.mark.deep
def test_a_host_that_agrees_and_then_signs_that_it_has_nothing_is_named(tmp_path, monkeypatch):
    async def play():
        given = Sum.new()
        async with hosts_of(given, tmp_path) as hosts:
            await hosts.send(given.shares(WAGES)[0])
            await hosts.close_intake()
            monkeypatch.setattr(hosts.at[0]._store, "release", lambda *_: None)
            assert await hosts.carry()
            monkeypatch.setattr(fetched_release, "party_client", lambda *_, **__: hosts.client)
            with pytest.raises(AgreementError, match=r"^https://host0\.example must hand over"):
                await fetched_release.fetch_release(given.collection, [given.analyst], tmp_path / "office")

    run(play)


@pytest.mark.deep
def test_a_host_that_stalls_keeps_the_analyst_from_no_other_host(tmp_path, monkeypatch):
    async def play():
        given = Sum.new()
        async with hosts_of(given, tmp_path) as hosts:
            await hosts.send(given.shares(WAGES)[0])
            await hosts.close_intake()
            assert await hosts.carry()

            async def stalling(scope, receive, send):
                if scope["path"].endswith("/fetch"):
                    await asyncio.sleep(2.0)
                    for each in hosts.at.values():  # the time to fetch is over
                        await each.destroy()
                await keeping_back(others, 204)(scope, receive, send)

            others, hosts.apps[0] = hosts.apps[0], stalling
            monkeypatch.setattr(fetched_release, "party_client", lambda *_, **__: hosts.client)
            monkeypatch.setattr(fetched_release, "instant", lambda **_: datetime.now(UTC))
            with pytest.raises(AgreementError, match=r"on; https://host0\.example has not"):
                await fetched_release.fetch_release(given.collection, [given.analyst], tmp_path / "office")

    run(play)


def test_a_host_that_has_destroyed_its_shares_takes_and_signs_nothing_more(tmp_path):
    async def play():
        given = Sum.new()
        async with hosts_of(given, tmp_path) as hosts:
            await hosts.send(given.shares(WAGES)[0])
            await hosts.close_intake()
            await hosts.at[0].destroy()
            other = hosts.at[1]._agreement._held.messages[Kind.COMMITMENT, 1]
            content, now = Handed.of(other, wanted=Kind.AGREEMENT).encode(), datetime.now(UTC)
            request = OrganizerRequest.by(given.analyst, RequestKind.AGREE, given.collection.id, now, content=content)
            assert not Standing.decode(await hosts.at[0].agree(request.encode())).message
            assert hosts.at[0]._store.rows("SELECT * FROM agreement") == []

    run(play)


FROZEN, AWAY = HostStanding(Stage.FROZEN, (2,)), HostStanding()
GONE = HostStanding(Stage.REFUSED, (), Refusal(Reason.NONE))
OVER = r"that time is over, and https://host2\.example did not come back"


@pytest.mark.parametrize(
    ("rounds", "is_over", "raised", "why"),
    [
        ([[FROZEN, FROZEN, AWAY], [GONE, GONE, AWAY]], True, AgreementError, OVER),
        ([[FROZEN, FROZEN, AWAY], [GONE, GONE, GONE]], True, AgreementError, OVER),  # it comes back too late
        ([[FROZEN, FROZEN, AWAY], [FROZEN, FROZEN, AWAY]], True, AgreementError, OVER),
        ([[GONE, GONE, AWAY]], False, BatchTooSmallError, "too few people answered there"),
        ([[GONE, GONE, GONE]], True, BatchTooSmallError, "too few people answered there"),
    ],
)
def test_hosts_that_destroy_what_they_had_since_one_did_not_come_back_have_had_no_too_few(
    monkeypatch, rounds, is_over, raised, why
):
    """Mutant: exit code 4 in the place of 8, and no host named, since hosts are asked after their own clock."""

    async def play():
        given, told = Sum.new(), iter(rounds)

        async def next_round(_):
            return next(told)

        clock = iter([False] * (len(rounds) - 1) * 2)
        monkeypatch.setattr(Courier, "round", next_round)
        monkeypatch.setattr(Courier, "_is_over", lambda _: next(clock, is_over))
        async with httpx.AsyncClient() as client:
            with pytest.raises(raised, match=why):
                await Courier(given.collection, given.analyst, client).carry()

    run(play)


class Dripping(httpx.AsyncBaseTransport):
    """Host whose answers at a path come by a byte now and then, after some bytes at once."""

    def __init__(self, app, path, *, at_once=0):
        self.inner, self.path, self.at_once = httpx.ASGITransport(app=app), path, at_once

    async def handle_async_request(self, request):
        answer = await self.inner.handle_async_request(request)
        if not request.url.path.endswith(self.path):
            return answer
        stream = Drops(await answer.aread(), self.at_once)
        return httpx.Response(answer.status_code, headers=answer.headers, stream=stream)


class Drops(httpx.AsyncByteStream):
    """Body of which some bytes come at once and the others one by one."""

    def __init__(self, content, at_once):
        self.content, self.at_once = content, at_once

    async def __aiter__(self):
        yield self.content[: self.at_once]
        for each in self.content[self.at_once :]:
            await asyncio.sleep(0.02)
            yield bytes([each])


def test_a_host_that_drips_its_answers_counts_as_away_and_the_others_go_on(monkeypatch):
    async def play():
        given, standing = Sum.new(), Standing(stage=0, reason=0, named=65535, waits_for=b"", message=b"").encode()

        def answer(request):
            at_once = 1 if request.url.host == "host0.example" else len(standing)
            return httpx.Response(200, stream=Drops(standing, at_once))

        monkeypatch.setattr(agreement_courier, "_SECONDS", 0.1)
        async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
            found = await Courier(given.collection, given.analyst, client).round()
        assert [each.stage for each in found] == [None, Stage.OPEN, Stage.OPEN]

    run(play, seconds=20)


def serving(answer, *, at_once, pause):
    """A server that sends an answer to everybody, some bytes at once and the others one by one."""

    async def serve(reader, writer):
        with suppress(ConnectionError), closing(writer):
            await reader.readuntil(b"\r\n\r\n")
            for part in (answer[:at_once], *(bytes([each]) for each in answer[at_once:])):
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(pause)

    return asyncio.start_server(serve, "127.0.0.1", 0)


@pytest.mark.deep
@pytest.mark.parametrize("begins", ["head", "body"])
def test_a_host_that_drips_over_a_socket_counts_as_away_and_keeps_nobody_waiting(monkeypatch, begins):
    async def play():
        standing = Standing(stage=0, reason=0, named=65535, waits_for=b"", message=b"").encode()
        head = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(standing)
        at_once = 1 if begins == "head" else len(head)
        dripping = await serving(head + standing, at_once=at_once, pause=0.3)
        others = [await serving(head + standing, at_once=1 << 10, pause=0) for _ in range(2)]
        servers = [dripping, *others]
        given = Sum.new(urls=[f"http://127.0.0.1:{each.sockets[0].getsockname()[1]}" for each in servers])
        monkeypatch.setattr(agreement_courier, "_SECONDS", 1.0)
        async with party_client(None, name="ca") as client:
            found = await Courier(given.collection, given.analyst, client).round()
        for each in servers:
            each.close()
        await asyncio.sleep(1)  # until who drips has heard that nobody listens any more
        assert [each.stage for each in found] == [None, Stage.OPEN, Stage.OPEN]
        urls = [each.url for each in given.collection.hosts]
        assert Awaited.between(urls, found).silent == (urls[0],)

    run(play, seconds=10)


@pytest.mark.deep
@pytest.mark.parametrize("at_once", [0, LONGEST_MANIFEST], ids=["manifest", "shares"])
def test_a_host_that_drips_its_batch_is_away_in_the_end_and_the_others_are_fetched(tmp_path, monkeypatch, at_once):
    async def play():
        given = Sum.new()
        async with hosts_of(given, tmp_path) as hosts:
            await hosts.send(given.shares(WAGES)[0])
            await hosts.close_intake()
            assert await hosts.carry()
            client = hosts.client
            hosts.mount(client, 0, Dripping(hosts.apps[0], "/fetch", at_once=at_once))
            monkeypatch.setattr(fetcher, "_SECONDS", 0.5)
            monkeypatch.setattr(fetched_release, "party_client", lambda *_, **__: client)
            monkeypatch.setattr(fetched_release, "instant", lambda **_: datetime.now(UTC))  # the time to fetch is over
            with pytest.raises(AgreementError, match=r"on; https://host0\.example has not"):
                await fetched_release.fetch_release(given.collection, [given.analyst], tmp_path / "office")

    run(play, seconds=20)


class Endless(httpx.AsyncByteStream):
    """Body without an end, that counts its bytes."""

    def __init__(self):
        self.sent = 0

    async def __aiter__(self):
        while self.sent < 4 * LONGEST_STANDING:
            self.sent += 1 << 20
            yield bytes(1 << 20)


def test_an_answer_without_end_is_not_read_to_its_end():
    async def play():
        given, bodies = Sum.new(), [Endless() for _ in range(3)]
        of_host = dict(zip((urlsplit(each.url).netloc for each in given.collection.hosts), bodies, strict=True))
        transport = httpx.MockTransport(lambda asked: httpx.Response(200, stream=of_host[asked.url.host]))
        async with httpx.AsyncClient(transport=transport) as client:
            with pytest.raises(RemoteProtocolError, match=r"host0\.example must answer as a host"):
                await Courier(given.collection, given.analyst, client).round()
        assert 0 < max(body.sent for body in bodies) < 2 * LONGEST_STANDING

    run(play)


def test_a_host_that_shows_what_is_no_message_is_named():
    async def play():
        given = Sum.new()

        def answer(request):
            wanted = Handed.decode(OrganizerRequest.decode(request.content).content).wanted
            message = b"what is no message" if wanted is Kind.COMMITMENT else b""
            standing = Standing(stage=1, reason=0, named=65535, waits_for=bytes(2), message=message)
            return httpx.Response(200, content=standing.encode())

        async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
            with pytest.raises(RemoteProtocolError, match=r"^https://host0\.example must show a message"):
                await Courier(given.collection, given.analyst, client).round()

    run(play)
