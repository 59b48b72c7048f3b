"""An analyzer without an address fetches its batches: each once, only by its key, and deleted when it has them."""

import asyncio
import os
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import httpx
import numpy as np
import pytest

from parties.service.at_work import Clock, analyzer, run, shuffler
from parties.service.given import Parties, task_of_two
from parties.service.test_analyzer_app import statement, submissions_of
from shuffledp.core.errors import InvalidParameterError, MalformedMessageError, RemoteProtocolError
from shuffledp.parties.http.event_log import EventLog
from shuffledp.parties.service.fetcher import Fetcher, FetchOutcome, fetching_key
from shuffledp.parties.wire.fetch_request import FETCH_TYPE, FetchRequest, batch_digest
from shuffledp.parties.wire.keys import AnalyzerKey, ShufflerKey, in_text
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.survey import Collection, Service

BATCH, NOTHING, ENDED = FetchOutcome.BATCH, FetchOutcome.NOTHING, FetchOutcome.ENDED


@asynccontextmanager
async def fetching(folder, parties, here, *, key=None):
    """A fetcher whose requests reach this shuffler, with what it logs."""
    async with analyzer(folder, parties) as (_, at_analyzer, logged):
        log = EventLog(logged.write)
        yield Fetcher(at_analyzer, key or parties.analyzer_key, here.client, log=log), at_analyzer, logged


async def ended(here, submissions):
    for start in range(0, len(submissions), 200):
        await here.send(*submissions[start : start + 200])
    await here.at_shuffler.stop_intake()
    await here.at_shuffler.advance()


async def fetched(folder, parties, submissions):
    """The whole way: send, close, fetch until the end; what each request found, and both logs."""
    async with shuffler(folder, parties) as here, fetching(folder, parties, here) as (fetcher, at_analyzer, logged):
        await ended(here, submissions)
        found = [await fetcher.fetch()]
        while found[-1] is not ENDED:
            found.append(await fetcher.fetch())
        assert await at_analyzer.has_ended()
        return found, here.logged, logged


async def asked(here, key, **further):
    """Status of the answer to a request that this key signs, and its body."""
    request = FetchRequest.by(key, here.parties.collection.id, **{"now": datetime.now(UTC), "wait": 0} | further)
    answer = await posted(here, request)
    return answer.status_code, answer.content


async def posted(here, request):
    path = f"{here.parties.collection.path}/fetch"
    return await here.post(request.encode(), path=path, media_type=FETCH_TYPE)


# ---- the whole way --------------------------------------------------------------------------------------------------


def test_a_collection_whose_analyst_has_no_address_ends_in_the_same_release(tmp_path):
    parties = Parties.fetching()
    found, at_shuffler, at_analyzer = run(fetched, tmp_path, parties, submissions_of(parties))
    assert found == [BATCH, BATCH, ENDED]
    assert at_shuffler.events == [("closing", 1), ("batch-made", 40), ("delivered", 1), ("delivered", 1)]
    assert at_analyzer.events == [("batch-received", 40), ("released", 40), ("batch-received", 0)]
    told = statement(tmp_path)
    assert told["num_reports"] == 40
    assert any(f"key {parties.collection.analyzer.key.fingerprint}" in str(each) for each in told["statements"])


@pytest.mark.usefixtures("without_a_page")
def test_of_two_columns_both_are_fetched(tmp_path):
    parties = Parties.fetching(task_of_two())
    found, *_ = run(fetched, tmp_path, parties, submissions_of(parties))
    assert found == [BATCH, BATCH, BATCH, BATCH, ENDED]
    assert {each["num_reports"] for each in statement(tmp_path)["columns"]} == {40}


def test_of_too_few_answers_nothing_is_fetched_but_that(tmp_path):
    parties = Parties.fetching()
    found, _, at_analyzer = run(fetched, tmp_path, parties, submissions_of(parties, np.arange(9) % 2))
    assert found == [BATCH, ENDED]
    assert at_analyzer.events == [("batch-received", 0), ("not-released", 1)]


@pytest.mark.usefixtures("without_a_page")
def test_a_request_waits_for_the_batch_and_gets_it_at_once(tmp_path):
    parties = Parties.fetching()

    async def test():
        async with shuffler(tmp_path, parties) as here, fetching(tmp_path, parties, here) as (fetcher, *_):
            await here.send(*submissions_of(parties))
            waiting = asyncio.create_task(fetcher.fetch())
            await asyncio.sleep(0.05)
            assert not waiting.done()
            await here.at_shuffler.stop_intake()
            await here.at_shuffler.advance()
            assert await waiting is BATCH

    run(test, seconds=20)


def test_without_a_batch_there_is_nothing_and_no_word_on_how_many_answered(tmp_path):
    async def test():
        parties = Parties.fetching()
        async with shuffler(tmp_path, parties) as here:
            before = await asked(here, parties.analyzer_key)
            await here.send(*submissions_of(parties))
            assert before == await asked(here, parties.analyzer_key) == (204, b"")

    run(test)


# ---- who may fetch, and what a request deletes ----------------------------------------------------------------------


def test_nobody_else_gets_a_batch_and_no_request_is_good_twice_or_late(tmp_path):
    async def test():
        parties, now = Parties.fetching(), datetime.now(UTC)
        async with shuffler(tmp_path, parties) as here:
            await ended(here, submissions_of(parties))
            key, collection_id = parties.analyzer_key, parties.collection.id
            good = FetchRequest.by(key, collection_id, now, wait=0)
            for bad in (
                FetchRequest.by(AnalyzerKey.generate(), collection_id, now),
                FetchRequest.by(key, os.urandom(32), now),
                FetchRequest.by(key, collection_id, now - timedelta(minutes=6)),
                FetchRequest.by(key, collection_id, now + timedelta(minutes=6)),
                replace(good, taken=bytes(32)),
                replace(good, time=good.time + 1),
                replace(good, nonce=bytes(16)),
                replace(good, wait=1),
            ):
                assert (await posted(here, bad)).status_code == 403
            assert (await posted(here, good)).status_code == 200
            assert (await posted(here, good)).status_code == 403
            assert len(await here.at_shuffler.outgoing()) == 2

    run(test)


def test_only_the_digest_of_a_batch_deletes_it_and_an_old_one_deletes_nothing(tmp_path):
    async def test():
        parties = Parties.fetching()
        async with shuffler(tmp_path, parties) as here:
            await ended(here, submissions_of(parties))
            first, last = await here.at_shuffler.outgoing()
            key, digest = parties.analyzer_key, batch_digest(first.manifest)
            status, body = await asked(here, key)
            assert (status, body[: len(first.manifest)]) == (200, first.manifest)
            assert (await asked(here, key, taken=os.urandom(32)))[1] == body
            status, body = await asked(here, key, taken=digest)
            assert (status, body) == (200, last.manifest)
            assert (await asked(here, key, taken=digest)) == (200, last.manifest)
            assert (await asked(here, key, taken=batch_digest(last.manifest)))[0] == 410
            assert (await here.status())["phase"] == "released"

    run(test)


@pytest.mark.usefixtures("without_a_page")
def test_two_who_fetch_at_once_release_once_each_and_a_third_is_refused(tmp_path):
    async def test():
        parties = Parties.fetching()
        async with shuffler(tmp_path, parties) as here:
            waiting = [asyncio.create_task(asked(here, parties.analyzer_key, wait=1)) for _ in range(3)]
            assert sorted([(await each)[0] for each in waiting]) == [204, 204, 503]
            await ended(here, submissions_of(parties))
            async with (
                fetching(tmp_path / "a", parties, here) as (first, *_, one),
                fetching(tmp_path / "b", parties, here) as (second, *_, other),
            ):
                assert await asyncio.gather(first.fetch(), second.fetch()) == [BATCH, BATCH]
                assert await first.fetch() is BATCH
                assert await second.fetch() is BATCH
                assert [await first.fetch(), await second.fetch()] == [ENDED, ENDED]
                assert one.events == other.events
                assert ("released", 40) in one.events

    run(test)


def test_batches_that_nobody_fetches_in_time_are_destroyed_and_nothing_of_them_is_left(tmp_path):
    async def test():
        parties, sent = Parties.fetching(), None
        clock = Clock(parties)
        async with shuffler(tmp_path, parties, clock=clock) as here:
            sent = submissions_of(parties)
            await ended(here, sent)
            clock.now += 7 * 86400.0
            await here.at_shuffler.advance()
            assert len(await here.at_shuffler.outgoing()) == 2
            clock.now += 2 * 86400.0
            await here.at_shuffler.advance()
            assert await here.at_shuffler.outgoing() == []
            assert (await here.status())["phase"] == "destroyed"
            assert here.logged.events[-1] == ("not-fetched", 1)
            assert (await asked(here, parties.analyzer_key))[0] == 410
            await here.at_shuffler.advance()
            assert here.logged.events.count(("not-fetched", 1)) == 1
        left = b"".join(path.read_bytes() for path in (tmp_path / "store").iterdir())
        assert not any(each.reports[0].ciphertext.payload in left for each in sent)

    run(test)


def test_an_analyst_with_an_address_fetches_nothing(tmp_path):
    async def test():
        parties = Parties()
        async with shuffler(tmp_path, parties) as here:
            assert (await asked(here, parties.analyzer_key))[0] == 404

    run(test)


# ---- what goes wrong on the way -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("without_a_page")
def test_a_batch_that_is_cut_off_comes_again_and_is_released_once(tmp_path):
    async def test():
        parties = Parties.fetching()
        async with shuffler(tmp_path, parties) as here, fetching(tmp_path, parties, here) as (fetcher, _, logged):
            await ended(here, submissions_of(parties))
            part = here.at_shuffler.part

            async def cut(outgoing, number):
                return None if number else (await part(outgoing, number))[:-1]

            here.at_shuffler.part = cut
            with pytest.raises(RemoteProtocolError, match="the body that its manifest is about"):
                await fetcher.fetch()
            here.at_shuffler.part = part
            assert [await fetcher.fetch() for _ in range(3)] == [BATCH, BATCH, ENDED]
            assert logged.events.count(("released", 40)) == 1

    run(test)


@pytest.mark.usefixtures("without_a_page")
def test_a_batch_that_the_shuffler_hands_over_twice_is_released_once(tmp_path):
    async def test():
        parties = Parties.fetching()
        async with shuffler(tmp_path, parties) as here, fetching(tmp_path, parties, here) as (fetcher, _, logged):
            await ended(here, submissions_of(parties))
            delivered = here.at_shuffler.delivered
            here.at_shuffler.delivered = lambda _: asyncio.sleep(0)
            assert [await fetcher.fetch(), await fetcher.fetch()] == [BATCH, BATCH]
            here.at_shuffler.delivered = delivered
            assert [await fetcher.fetch(), await fetcher.fetch()] == [BATCH, ENDED]
            assert logged.events == [("batch-received", 40), ("released", 40), ("batch-received", 0)]

    run(test)


@pytest.mark.usefixtures("without_a_page")
def test_a_batch_that_the_shuffler_leaves_out_is_noticed(tmp_path):
    async def test():
        parties = Parties.fetching(every=20)
        async with shuffler(tmp_path, parties) as here, fetching(tmp_path, parties, here) as (fetcher, _, logged):
            await here.send(*submissions_of(parties))
            await here.at_shuffler.advance()
            left_out, *_ = await here.at_shuffler.outgoing()
            await here.at_shuffler.delivered(left_out)
            await here.at_shuffler.stop_intake()
            await here.at_shuffler.advance()
            while await fetcher.fetch() is not ENDED:
                pass
            assert ("batch-missing", 1) in logged.events
            assert ("released", 20) in logged.events

    run(test)


@pytest.mark.parametrize(
    ("status", "why"), [(403, "Is the clock of this machine right"), (404, "does not know"), (302, "status 302")]
)
def test_a_refusal_says_what_may_be_wrong(tmp_path, status, why):
    async def test():
        parties = Parties.fetching()
        transport = httpx.MockTransport(lambda _: httpx.Response(status))
        async with (
            analyzer(tmp_path, parties) as (_, at_analyzer, logged),
            httpx.AsyncClient(transport=transport) as to,
        ):
            fetcher = Fetcher(at_analyzer, parties.analyzer_key, to, log=EventLog(logged.write))
            with pytest.raises(RemoteProtocolError, match=why):
                await fetcher.fetch()

    run(test)


# ---- keys and collections -------------------------------------------------------------------------------------------


def test_the_request_key_is_derived_from_the_private_key_and_opens_nothing():
    key = AnalyzerKey.generate()
    again = type(key)(key.kem, key._parts)
    assert again.request_key == key.request_key != key.public[-32:]
    assert PublishedKey.of(key, active_from="2026-12-01T00:00:00Z").request_key == in_text(key.request_key)
    assert AnalyzerKey.generate("mlkem768-x25519").request_key != key.request_key
    assert fetching_key([AnalyzerKey.generate(), key], _of(key)) is key
    with pytest.raises(InvalidParameterError, match="must be the one that the collection names"):
        fetching_key([AnalyzerKey.generate()], _of(key))


def _of(key):
    parties = Parties.fetching()
    published = PublishedKey.of(key, active_from=parties.collection.opens)
    shuffler = parties.collection.shuffler
    further = {"now": parties.now, "closes": parties.collection.closes, "fetch_by": parties.collection.fetch_by}
    return Collection.new(parties.collection.task, shuffler=shuffler, analyzer=Service(key=published), **further)


def test_a_collection_says_until_when_batches_are_kept_only_if_they_are_fetched():
    parties = Parties.fetching()
    further = {"shuffler": parties.collection.shuffler, "now": parties.now, "closes": parties.collection.closes}
    with pytest.raises(
        InvalidParameterError, match="fetch_by must be given for an analyzer without an address, and for no other"
    ):
        Collection.new(parties.collection.task, analyzer=parties.collection.analyzer, **further)
    early = {"fetch_by": parties.collection.closes}
    with pytest.raises(InvalidParameterError, match="fetch_by must be after closes"):
        Collection.new(parties.collection.task, analyzer=parties.collection.analyzer, **further, **early)
    with pytest.raises(
        InvalidParameterError, match="fetch_by must be given for an analyzer without an address, and for no other"
    ):
        Parties(fetch_by=parties.collection.fetch_by)
    with pytest.raises(InvalidParameterError, match="must have a request_key"):
        Service(key=parties.published(parties.analyzer_key))
    with pytest.raises(InvalidParameterError, match="url must be an address"):
        Service(key=parties.published(ShufflerKey.generate()))
    again = Collection.from_dict(parties.collection.to_dict())
    assert again == parties.collection
    assert "url" not in parties.collection.to_dict()["analyzer"]


def test_files_with_an_address_are_what_they_were():
    written = Parties().collection.to_dict()
    assert "fetch_by" not in written
    assert "request_key" not in written["analyzer"]["key"]


def test_a_digest_of_another_length_is_no_request():
    encoded = FetchRequest.by(AnalyzerKey.generate(), bytes(32), datetime.now(UTC)).encode()
    assert encoded[-66:-65] == b"\0"
    with pytest.raises(MalformedMessageError):
        FetchRequest.decode(encoded[:-66] + b"\x01x" + encoded[-65:])
