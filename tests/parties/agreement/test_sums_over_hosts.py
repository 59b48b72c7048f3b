"""A sum over several hosts, in this process: exact over the people who are complete at all of them, or not at all."""

import asyncio
import shutil
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from parties.agreement.summing import Sum, hosts_of, sum_task
from parties.service.at_work import run
from parties.service.given import Parties
from shuffledp.core.errors import AgreementError, BatchTooSmallError, RemoteProtocolError
from shuffledp.core.instants import written
from shuffledp.parties.agreement.agreement_courier import Courier
from shuffledp.parties.http.event_log import EventLog
from shuffledp.parties.service.batch_release import statement_in
from shuffledp.parties.service.batch_store import BatchStore
from shuffledp.parties.service.batches import Phase
from shuffledp.parties.service.collection_at_analyzer import CollectionAtAnalyzer
from shuffledp.parties.service.collection_terms import terms_of
from shuffledp.parties.service.fetcher import run_fetching
from shuffledp.parties.service.intake import refusal
from shuffledp.parties.service.share_uploads import shares_of
from shuffledp.parties.wire.agreement_messages import Kind, Signer, complete_digest
from shuffledp.parties.wire.grammar import ReportError
from shuffledp.parties.wire.keys import AnalyzerKey, in_text
from shuffledp.survey import Service

WAGES = [10, 20, 30, 40, 50, 60, 70, 80, 90]
ALL = {0: [], 1: [], 2: []}


def total(given, sums, *left_out):
    """People and their sum modulo q, without those left out."""
    kept = [each for place, each in enumerate(sums) if place not in left_out]
    return len(kept), sum(kept) % given.model.modulus


def test_the_sum_is_exactly_that_of_the_people_of_whom_all_hosts_have_every_share(tmp_path):
    async def play():
        given = Sum.new()
        people, sums = given.shares(WAGES)
        async with hosts_of(given, tmp_path) as hosts:
            await hosts.send(people[:7])
            await hosts.send(people[7:8], to=[0, 2])  # a share is lost
            await hosts.send(people[8:], to=[1])
            await hosts.close_intake()
            assert hosts.phases == [Phase.AGREEING] * 3
            assert await hosts.carry()
            assert hosts.phases == [Phase.CLOSED] * 3
            assert await hosts.result() == total(given, sums, 7, 8)
            assert all("disagreed" not in dict(each.events) for each in hosts.logged.values())

    run(play)


@pytest.mark.deep
def test_a_share_that_comes_twice_counts_once_and_one_under_another_set_id_spoils_nobody(tmp_path):
    async def play():
        given = Sum.new()
        people, sums = given.shares(WAGES)
        async with hosts_of(given, tmp_path) as hosts:
            for _ in range(2):
                assert await hosts.send(people[1:]) == ALL  # again, as a device does without an answer
            taken_over = [people[1][0].reports[0].public_extensions, people[0][1]]
            other = replace(taken_over[1].reports[0], public_extensions=taken_over[0])
            foreign = type(taken_over[1])((other, *taken_over[1].reports[1:]))
            refused = await hosts.send([[None, foreign, None]], to=[1])
            assert refused == {1: [ReportError.REPORT_REPLAYED]}  # this set has its shares already
            await hosts.send(people[:1], to=[0])
            await hosts.close_intake()
            assert await hosts.carry()
            assert await hosts.result() == total(given, sums, 0)

    run(play)


def test_shares_sealed_to_a_key_that_expires_between_two_hosts_are_taken_by_both():
    given, successor = Sum.new(), AnalyzerKey.generate()
    over = written(datetime.now(UTC) - timedelta(hours=12))
    expired = replace(given.collection.analyzer.key, expires=over, successors=(in_text(successor.public),))
    collection = replace(given.collection, analyzer=Service(key=expired))
    sum_, alone = Sum(given.task, given.shufflers, given.analyst, collection), Parties().collection
    (shares,), _ = sum_.shares(WAGES[:1])
    (before,), _ = given.shares(WAGES[:1])  # before the key had expired
    for host, (now, earlier) in enumerate(zip(shares, before, strict=True)):
        terms = terms_of(collection, host)
        assert now.reports[0].ciphertext.config_id == successor.config.id
        assert [refusal(each, terms, phase=Phase.OPEN, now=time.time()) for each in (now, earlier)] == [None, None]
    expired = replace(alone.analyzer.key, expires=over, successors=(in_text(successor.public),))
    assert terms_of(replace(alone, analyzer=replace(alone.analyzer, key=expired))).outdated  # sealed anew


@pytest.mark.deep
def test_a_share_under_the_set_id_of_nobody_leaves_its_person_out(tmp_path):
    async def play():
        given = Sum.new()
        people, sums = given.shares(WAGES)
        joined = [report for each in people[0] for report in each.reports]
        order = [pool.host for pool in given.task.messages]
        in_order = [joined.pop(0) for _ in sorted(order)]
        lost = shares_of(given.collection, type(people[0][0])(tuple(_by_pool(given, in_order))))
        async with hosts_of(given, tmp_path) as hosts:
            await hosts.send(people[1:])
            await hosts.send(people[:1], to=[0, 1])
            await hosts.send([lost], to=[2])
            await hosts.close_intake()
            assert await hosts.carry()
            assert await hosts.result() == total(given, sums, 0)

    run(play)


def _by_pool(given, by_host):
    """Reports in the order of the task's messages, from those in the order of the hosts."""
    places = sorted(range(len(by_host)), key=lambda place: (given.task.messages[place].host, place))
    return [report for _, report in sorted(zip(places, by_host, strict=True), key=lambda pair: pair[0])]


@pytest.mark.parametrize("step", [pytest.param(each, marks=() if each == 3 else pytest.mark.deep) for each in range(5)])
def test_a_host_that_crashes_at_any_step_twice_goes_on_where_it_was(tmp_path, step):
    async def play():
        given = Sum.new()
        people, sums = given.shares(WAGES)
        async with hosts_of(given, tmp_path) as hosts:
            await hosts.send(people)
            for each in range(5):
                if each == step:
                    for host in (1, 1, 2):
                        await hosts.crash(host)
                        await hosts.at[host].advance()
                if each == 0:
                    await hosts.close_intake()
                else:
                    async with hosts.client as client:
                        await Courier(given.collection, given.analyst, client).round()
                    for at in hosts.at.values():
                        await at.advance()
            assert await hosts.carry()
            assert await hosts.result() == total(given, sums)

    run(play)


@pytest.mark.deep
def test_without_one_host_nothing_is_released_and_all_is_destroyed_in_the_end(tmp_path):
    async def play():
        given = Sum.new()
        people, _ = given.shares(WAGES)
        async with hosts_of(given, tmp_path) as hosts:
            await hosts.send(people)
            await hosts.close_intake()
            shutil.copytree(tmp_path / "1", tmp_path / "kept")
            await hosts.stop(1)
            assert not await hosts.carry()
            assert hosts.phases == [Phase.AGREEING] * 2
            hosts.at[0]._clock = lambda: datetime.now(UTC).timestamp() + 9 * 86400
            await hosts.at[0].advance()
            assert hosts.phases == [Phase.DESTROYED, Phase.AGREEING]
            hosts.start(1)
            with pytest.raises(BatchTooSmallError, match=r"host0\.example releases nothing"):
                await hosts.carry()

    run(play)


def test_a_host_that_ended_before_it_agreed_is_named_and_not_waited_for(tmp_path):
    async def play():
        given = Sum.new()
        people, _ = given.shares(WAGES)

        async def ended(_scope, _receive, send):
            await send({"type": "http.response.start", "status": 410, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        async with hosts_of(given, tmp_path) as hosts:
            await hosts.send(people)
            await hosts.close_intake()
            hosts.apps[1] = ended
            async with hosts.client as client:
                courier = Courier(given.collection, given.analyst, client)
                with pytest.raises(AgreementError, match=r"https://host1\.example has ended, perhaps by its operator"):
                    await courier.carry()

    run(play)


@pytest.mark.deep
def test_who_comes_back_too_late_finds_an_error_of_its_own(tmp_path):
    async def play():
        now = datetime.now(UTC)
        given = Sum.new(fetch_by=written(now + timedelta(days=1, seconds=1)))
        async with hosts_of(given, tmp_path) as hosts:
            await hosts.send(given.shares(WAGES)[0])
            await hosts.stop(2)
            gone = replace(given.collection, closes=written(now - timedelta(hours=2)), fetch_by=written(now))
            async with hosts.client as client:
                with pytest.raises(AgreementError, match="that time is over"):
                    await Courier(gone, given.analyst, _Silent(client)).carry()

    run(play)


class _Silent:
    """Client that nobody answers."""

    def __init__(self, client):
        self._client = client

    def stream(self, method, url, **_):
        return self._client.stream(method, url.replace("host", "nobody"))


@pytest.mark.parametrize(
    ("come", "words"),
    [(((0, 6),) * 3, "too few people answered there"), (((0, 9), (2, 9), (0, 8)), "they have of fewer")],
    ids=["at each host", "at all of them"],
)
def test_with_too_few_complete_people_nothing_is_released(tmp_path, come, words):
    async def play():
        given = Sum.new()
        people, _ = given.shares(WAGES)
        async with hosts_of(given, tmp_path) as hosts:
            for host, (first, last) in enumerate(come):
                await hosts.send(people[first:last], to=[host])
            await hosts.close_intake()
            with pytest.raises(BatchTooSmallError, match=words):
                await hosts.carry()
            for at in hosts.at.values():
                await at.advance()
            assert hosts.phases == [Phase.DESTROYED] * 3

    run(play)


def test_a_host_that_signs_two_intersections_is_named_by_all(tmp_path):
    async def play():
        given = Sum.new()
        async with hosts_of(given, tmp_path) as hosts:
            await hosts.send(given.shares(WAGES)[0])
            await hosts.close_intake()
            liar = hosts.at[2]._agreement
            async with hosts.client as client:
                courier = Courier(given.collection, given.analyst, client)
                while (Kind.AGREEMENT, 2) not in liar._held.messages:
                    await courier.round()
            seen = liar._held.commitments(liar._rules)
            false = Signer(given.shufflers[2], given.collection.id, 2).agreement(seen, complete_digest(bytes(32), []))
            liar._held = replace(liar._held, messages={**liar._held.messages, (Kind.AGREEMENT, 2): false})
            with pytest.raises(AgreementError, match=r"https://host2\.example has signed two things"):
                await hosts.carry()
            assert Phase.CLOSED not in hosts.phases

    run(play)


def test_hosts_of_different_collection_files_release_nothing(tmp_path):
    async def play():
        given = Sum.new()
        other = replace(given, collection=replace(given.collection, nonce="A" * 22))
        async with hosts_of(given, tmp_path) as hosts:
            await hosts.send(given.shares(WAGES)[0], to=[0, 1])
            await hosts.stop(2)
            hosts.given = other
            shutil.rmtree(tmp_path / "2")
            hosts.start(2)
            hosts.given = given
            await hosts.close_intake(0, 1)
            with pytest.raises(RemoteProtocolError, match=r"host2\.example must answer as a host of the collection"):
                await hosts.carry()
            assert hosts.phases[:2] == [Phase.AGREEING] * 2

    run(play)


@pytest.mark.deep
def test_a_share_of_another_round_spoils_the_sum_and_the_analyst_releases_nothing(tmp_path):
    async def play():
        given = Sum.new()
        people, _ = given.shares(WAGES)
        first = people[0][0].reports[0]
        other = people[0][1].reports[0]
        wrong = replace(other, public_extensions=first.public_extensions)
        people[0][0] = type(people[0][0])((wrong, *people[0][0].reports[1:]))
        async with hosts_of(given, tmp_path) as hosts:
            assert await hosts.send(people) == ALL  # nobody but the analyst can open it
            await hosts.close_intake()
            assert await hosts.carry()
            statement, log = await released(hosts, given, tmp_path)
            assert "needs every message of everybody once" in statement["not_released"]
            assert "seen-not-released" in log

    run(play)


def test_where_a_share_of_everybody_is_spoilt_what_was_opened_of_the_others_is_told_without_a_promise(tmp_path):
    async def play():
        given = Sum.new(2)
        people, _ = given.shares(WAGES)
        for each in people:
            own = each[0].reports[0].public_extensions
            wrong = replace(each[1].reports[0], public_extensions=own)
            each[0] = type(each[0])((wrong, *each[0].reports[1:]))
        async with hosts_of(given, tmp_path) as hosts:
            await hosts.send(people)
            await hosts.close_intake()
            assert await hosts.carry()
            statement, log = await released(hosts, given, tmp_path)
            assert "needs every message of everybody once" in statement["not_released"]
            guarantee = statement["statements"][0]["guarantee"]
            assert guarantee["epsilon"] == "inf", guarantee
            assert '"seen-not-released"' in log

    run(play)


async def released(hosts, given, folder):
    """Statement of the release, and the events at the analyst."""
    events, store = [], BatchStore(folder / "batches")
    try:
        log = EventLog(events.append)
        at = CollectionAtAnalyzer(given.collection, [given.analyst], store, folder / "release", log=log)
        async with hosts.client as client:
            for host in hosts.at.values():
                host.batch_made.set()
            await run_fetching(at, given.analyst, client, log=log)
    finally:
        store.close()
    return statement_in(folder / "release", given.collection), "".join(events)


def test_a_host_whose_batches_never_end_keeps_no_other_host_waiting(tmp_path, monkeypatch):
    given, store = Sum.new(2), BatchStore(tmp_path / "analyst")
    at = CollectionAtAnalyzer(given.collection, [given.analyst], store, tmp_path / "analyst", log=EventLog(str))
    columns = {pool.host: number for number, pool in enumerate(given.task.pools)}
    monkeypatch.setattr(store, "take", lambda *_: False)

    async def batch(host, parts):
        at._head = lambda _: asyncio.sleep(0, (SimpleNamespace(column=columns[host], num_reports=1), b""))
        task = asyncio.create_task(at.take(parts))
        await asyncio.sleep(0.01)
        return task

    async def never():
        await asyncio.Event().wait()
        yield b""

    async def at_once():
        yield b"all of it"

    async def play():
        endless = [await batch(0, never()) for _ in range(3)]
        assert await asyncio.wait_for(await batch(1, at_once()), 5) is False
        for each in endless:
            each.cancel()
        await asyncio.gather(*endless, return_exceptions=True)

    run(play)
    store.close()


@pytest.mark.deep
def test_the_release_names_all_hosts_and_no_disk_keeps_a_set_id(tmp_path):
    async def play():
        given = Sum.new()
        people, _ = given.shares(WAGES)
        async with hosts_of(given, tmp_path) as hosts:
            await hosts.send(people)
            await hosts.close_intake()
            assert await hosts.carry()
            statement, _ = await released(hosts, given, tmp_path)
            assert hosts.phases == [Phase.RELEASED] * 3
            ids = [each[0].reports[0].public_extensions[0].data for each in people]
            left = b"".join(
                path.read_bytes() for host in "012" for path in (tmp_path / host).rglob("*") if path.is_file()
            )
            assert not any(each in left for each in ids)
            text = str(statement["statements"])
            assert all(f"https://host{number}.example" in text for number in range(3))

    run(play)


@pytest.mark.deep
def test_thirteen_hosts_release_one_sum(tmp_path):
    async def play():
        given = Sum.new(13, task=sum_task(13, people=20, minimum=6))
        people, sums = given.shares(WAGES[:4] * 4)
        async with hosts_of(given, tmp_path) as hosts:
            await hosts.send(people)
            await hosts.close_intake()
            assert await hosts.carry()
            assert await hosts.result() == total(given, sums)

    run(play)
