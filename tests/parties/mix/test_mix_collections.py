"""A collection at a mix until its end: answers, invitations, the close, the result, and what is left."""

import asyncio
import json
import os
import time
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from parties.client.answering import asking
from parties.mix.mixing import UNVOUCHED, URL, Survey, mixing
from parties.mix.test_mix_registration import HOSTILE, Tags, kind
from parties.service.at_work import Logged, looks_sealed, reports_of, run, sealed
from shuffledp.files.devices import DeviceReports
from shuffledp.parties.http.event_log import EventLog
from shuffledp.parties.issuer import invitations
from shuffledp.parties.mix import mix_folder
from shuffledp.parties.service import client
from shuffledp.parties.service.batch_store import BatchStore
from shuffledp.parties.service.collection_at_analyzer import CollectionAtAnalyzer
from shuffledp.parties.service.fetcher import Fetcher, FetchOutcome, fetching_key
from shuffledp.parties.wire.close_request import CLOSE_TYPE, CloseRequest
from shuffledp.parties.wire.fetch_request import FETCH_TYPE, FetchRequest, batch_digest
from shuffledp.parties.wire.grammar import UPLOAD_TYPE, HpkeConfig, ReportError, SignedManifest, UploadRequest
from shuffledp.parties.wire.keys import AnalyzerKey, IssuerKey, ShufflerKey, from_text, in_text
from shuffledp.parties.wire.mix_terms import MixPolicy
from shuffledp.parties.wire.organizer_requests import RequestKind
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.parties.wire.published_result import MOST_RESULTS
from shuffledp.parties.wire.registrant_proofs import ISSUER_KEY_TYPE
from shuffledp.parties.wire.tokens import ISSUANCE_REQUEST, PendingToken, TokenResponse
from shuffledp.randomizers import TickColumns
from shuffledp.survey import Service

pytestmark = pytest.mark.usefixtures("at_once", "without_a_page")


async def registered(mix, **further):
    survey = Survey(mix.terms, **further)
    answer = await mix.register(survey.collection)
    assert answer.status_code == 201, answer.text
    return survey


def answers(collection, number=12):
    config = HpkeConfig.decode(collection.analyzer.key.public)
    return sealed(collection, reports_of(collection.task, np.arange(number) % 2), config=config)


async def close(mix, survey, key=None, *, now=None):
    request = CloseRequest.by(key or survey.key, survey.collection.id, now or datetime.now(UTC))
    return await mix.post(f"{survey.collection.path}/close", request.encode(), CLOSE_TYPE)


async def fetched(mix, survey):
    """How many reports each batch has, until the collection has ended."""
    found, taken = [], b""
    while True:
        request = FetchRequest.by(survey.key, survey.collection.id, datetime.now(UTC), wait=1, taken=taken)
        answer = await mix.post(f"{survey.collection.path}/fetch", request.encode(), FETCH_TYPE)
        if answer.status_code == 204:
            continue
        if answer.status_code != 200:
            assert kind(answer) == (410, "collectionEnded")
            return found
        manifest, _ = SignedManifest.read(answer.content, 0, len(answer.content))
        found.append(manifest.manifest.num_reports)
        taken = batch_digest(manifest.encode())


async def handed_over(mix, survey, number=12):
    """The numbers of reports of the batches of a collection with this many answers, closed by its analyst."""
    if number:
        await mix.send(survey.collection, *answers(survey.collection, number))
    assert (await close(mix, survey)).status_code == 200
    found = await fetched(mix, survey)
    await mix.host.look()
    return found


async def released(folder, mix, survey):
    """The statement of the release that an analyst makes of a closed collection."""
    store = BatchStore(folder / "batches")
    try:
        log = EventLog(Logged().write)
        at = CollectionAtAnalyzer(survey.collection, [survey.key], store, folder / "release", log=log)
        fetcher = Fetcher(at, fetching_key([survey.key], survey.collection), mix.client, log=log)
        while await fetcher.fetch(wait=1) is FetchOutcome.BATCH:
            pass
        await at.has_ended()
    finally:
        store.close()
    await mix.host.look()
    return json.loads((folder / "release" / "statement.json").read_bytes())


def like_a_statement(collection):
    """What a page shows of a ``statement.json``."""
    interval = {"lower": 0.25, "upper": 0.75, "level": 0.95}
    row = {"value": "smokes", "statistic": "frequency", "estimate": 0.5, "standard_error": 0.05} | interval
    flow = {"collected": {"collection": collection.id.hex()}}
    return {
        "estimates": [row | {"target": target} for target in ("No", "Yes")],
        "columns": [{"value": "smokes", "num_reports": 12, "flow": flow}],
    }


# ---- the whole way --------------------------------------------------------------------------------------------------


def test_answers_are_handed_over_and_then_only_the_file_and_the_page_remain(tmp_path):
    async def test():
        async with mixing(tmp_path) as mix:
            survey = await registered(mix)
            await mix.send(survey.collection, *answers(survey.collection))
            await close(mix, survey)
            statement = await released(tmp_path, mix, survey)
            folder = mix.at(survey.collection).registered.folder
            files = sorted(each.name for each in folder.rglob("*"))
            late = await mix.send(survey.collection, looks_sealed(survey.collection))
            tried = await mix.post(f"{survey.collection.path}/reports", b"", UPLOAD_TYPE)
            request = FetchRequest.by(survey.key, survey.collection.id, datetime.now(UTC), wait=0)
            gone = await mix.post(f"{survey.collection.path}/fetch", request.encode(), FETCH_TYPE)
            status = (await mix.client.get(survey.collection.path)).json()
        async with mixing(tmp_path) as again:
            after = (await again.client.get(survey.collection.path)).json()
            page = (await again.page(survey.collection)).content
            return statement, files, late, kind(tried), kind(gone), status, after, page == survey.html

    statement, files, late, tried, gone, status, after, is_page = run(test)
    assert statement["columns"][0]["num_reports"] == 12
    assert files == ["ended.json", "page.html", "registration.json", "survey.collection"]
    assert set(late.values()) == {ReportError.TASK_EXPIRED}
    assert (tried, gone) == ((403, "unauthorizedRequest"), (410, "collectionEnded"))
    assert status == after == {"phase": "released", "at_least_minimum": True}
    assert is_page


def test_a_mix_stores_and_shuffles_every_message_of_a_person(tmp_path):
    options = {"kind": "multi-select", "options": ["car", "bus", "bicycle"], "at_most": 2}
    block = {"column": "transport", **options, "randomizer": {"kind": "columns", "epsilon0": 6.0}}

    async def test():
        async with mixing(tmp_path) as mix:
            survey = Survey(mix.terms, asked=asking(block))
            assert (await mix.register(survey.collection)).status_code == 201
            reports = TickColumns(epsilon0=6.0, num_options=3, at_most=2).randomize(np.zeros((12, 3), dtype=bool))
            config = HpkeConfig.decode(survey.collection.analyzer.key.public)
            people = client.sealed(
                survey.collection, DeviceReports(reports=(reports,), public=None, left_out=0), config
            )
            assert await mix.send(survey.collection, *people) == {}
            return await handed_over(mix, survey, 0), await mix.send(survey.collection, people[0])

    sizes, late = run(test)
    assert sizes == [12] * 3 + [0] * 3
    assert set(late.values()) == {ReportError.TASK_EXPIRED}


def test_too_few_answers_are_destroyed_and_that_is_the_result(tmp_path):
    async def test():
        async with mixing(tmp_path) as mix:
            survey = await registered(mix)
            assert await handed_over(mix, survey, 9) == [0]
            assert (await mix.publish(survey.collection, survey.key, None)).status_code == 200
            return (await mix.page(survey.collection)).text

    assert "Nothing was released" in run(test)


def test_more_answers_than_the_policy_says_are_not_stored_and_those_before_still_count(tmp_path):
    async def test():
        policy = MixPolicy(people=10)
        async with mixing(tmp_path, policy=policy) as mix:
            survey = await registered(mix)
            good = answers(survey.collection, 12)
            assert await mix.send(survey.collection, *good[:8]) == {}
            refused = await mix.send(survey.collection, *good[8:])
        async with mixing(tmp_path, policy=policy) as again:
            refused |= await again.send(survey.collection, *good)
            return refused

    refused = run(test)
    assert list(refused.values()) == [ReportError.REPORT_DROPPED] * 2


@pytest.mark.deep
def test_a_registration_is_durable_while_answers_come_in_from_everywhere(tmp_path):
    async def test():
        async with mixing(tmp_path) as mix:
            one, *others = [await registered(mix) for _ in range(3)]
            for each in (one, *others):
                assert await mix.send(each.collection, *answers(each.collection, 10)) == {}
            await close(mix, one)
            assert (await mix.client.get(one.collection.path)).json()["phase"] != "open"
            return [(await mix.client.get(each.collection.path)).json() for each in others]

    assert run(test) == [{"phase": "open", "at_least_minimum": True}] * 2


def test_what_has_ended_is_forgotten_after_the_days_of_the_result(tmp_path):
    now = [time.time()]

    async def test():
        policy = MixPolicy(collections=1, result_days=5)
        async with mixing(tmp_path, policy=policy, clock=lambda: now[0]) as mix:
            survey = await registered(mix)
            assert kind(await mix.register(Survey(mix.terms).collection)) == (403, "tooManyCollections")
            await handed_over(mix, survey)
            assert (await mix.register(Survey(mix.terms).collection)).status_code == 201
            now[0] += timedelta(days=12.9).total_seconds()
            await mix.host.look()
            before = (await mix.page(survey.collection)).status_code
            now[0] += timedelta(days=0.2).total_seconds()
            await mix.host.look()
            asked = await mix.client.options(f"{survey.collection.path}/reports")
            gone = [asked, await mix.page(survey.collection), await mix.client.get(survey.collection.path)]
            return before, [each.status_code for each in gone], len(list(mix.host.folder.look()))

    assert run(test) == (200, [405, 404, 404], 1)


# ---- who may close, and end -----------------------------------------------------------------------------------------


def test_the_analyst_closes_its_collection_and_nobody_else_by_no_old_request(tmp_path):
    async def test():
        async with mixing(tmp_path) as mix:
            survey, other = await registered(mix), await registered(mix)
            now = datetime.now(UTC)
            refused = [
                await close(mix, survey, AnalyzerKey.generate()),
                await close(mix, survey, ShufflerKey.generate()),
                await close(mix, survey, other.key),
                await close(mix, survey, now=now - timedelta(minutes=6)),
                await close(mix, survey, now=now + timedelta(minutes=6)),
            ]
            phase = (await mix.client.get(survey.collection.path)).json()["phase"]
            good = await close(mix, survey)
            by_mix = await close(mix, other, mix.host._key)
            return list(map(kind, refused)), phase, good.status_code, by_mix.status_code

    assert run(test) == ([(403, "unauthorizedRequest")] * 5, "open", 200, 200)


def test_the_operator_ends_a_collection_and_nothing_of_it_is_left_to_release(tmp_path):
    async def test():
        async with mixing(tmp_path) as mix:
            survey, other = await registered(mix), await registered(mix)
            await mix.send(survey.collection, *answers(survey.collection))
            mix.host.folder.ask_to_end(survey.collection.id.hex())
            await mix.host.look()
            request = FetchRequest.by(survey.key, survey.collection.id, datetime.now(UTC), wait=0)
            told = [
                await mix.post(f"{survey.collection.path}/fetch", request.encode(), FETCH_TYPE),
                await mix.publish(survey.collection, survey.key, None),
            ]
            page = (await mix.page(survey.collection)).text
            files = sorted(each.name for each in mix.at(survey.collection).registered.folder.iterdir())
            alive = (await mix.client.get(other.collection.path)).json()["phase"]
        async with mixing(tmp_path) as again:
            again.host.folder.ask_to_end(other.collection.id.hex())  # while nobody served
            await again.host.look()
            both = [(await again.client.get(each.collection.path)).json()["phase"] for each in (survey, other)]
            return list(map(kind, told)), page, files, alive, both, again.host.folder.asked_to_end()

    told, page, files, alive, both, left = run(test)
    assert told == [(410, "collectionEnded"), (403, "unauthorizedRequest")]
    assert "has ended this survey" in page
    assert files == ["ended.json", "page.html", "registration.json", "survey.collection"]
    assert (alive, both, left) == ("open", ["destroyed", "destroyed"], [])


@pytest.mark.deep
def test_a_collection_that_waits_to_be_fetched_can_be_ended_too(tmp_path):
    async def test():
        async with mixing(tmp_path) as mix:
            survey = await registered(mix)
            await mix.send(survey.collection, *answers(survey.collection))
            await close(mix, survey)
            request = FetchRequest.by(survey.key, survey.collection.id, datetime.now(UTC), wait=5)
            batch = await mix.post(f"{survey.collection.path}/fetch", request.encode(), FETCH_TYPE)
            assert batch.status_code == 200
            mix.host.folder.ask_to_end(survey.collection.id.hex())
            await mix.host.look()
            return (await mix.client.get(survey.collection.path)).json()

    assert run(test) == {"phase": "destroyed", "at_least_minimum": True}


# ---- results --------------------------------------------------------------------------------------------------------


def test_a_result_is_rendered_from_data_and_a_second_one_is_called_a_correction(tmp_path):
    async def test():
        async with mixing(tmp_path) as mix:
            survey = await registered(mix)
            await mix.send(survey.collection, *answers(survey.collection))
            early = kind(await mix.publish(survey.collection, survey.key, None))
            assert await handed_over(mix, survey, 0) == [12, 0]
            statement = like_a_statement(survey.collection)
            assert (await mix.page(survey.collection)).content == survey.html
            codes, pages = [], []
            changed = json.loads(json.dumps(statement))
            changed["estimates"][0]["estimate"] = 0.123
            for each in (statement, statement, changed):
                codes.append((await mix.publish(survey.collection, survey.key, each)).status_code)
                pages.append((await mix.page(survey.collection)).text)
            old = datetime.now(UTC) - timedelta(minutes=2)
            replayed = kind(await mix.publish(survey.collection, survey.key, statement, now=old))
            told = (await mix.client.get(f"{survey.collection.path}/result")).json()["results"]
        async with mixing(tmp_path) as again:
            pages.append((await again.page(survey.collection)).text)
            return early, codes, pages, replayed, len(told)

    early, codes, (first, same, corrected, later), replayed, number = run(test)
    assert early == (403, "notClosed")
    assert (codes, replayed, number) == ([200] * 3, (403, "unauthorizedRequest"), 2)
    assert "Do you smoke?" in first
    assert "12 answers" in first
    assert "12.3%" not in first == same
    assert "correction" not in first
    for text in ("This is a correction", "12.3%", "and corrected since", "This was promised"):
        assert text in corrected
    assert later == corrected


BAD = {
    "another collection": lambda data: data["columns"][0]["flow"]["collected"].update(collection="0" * 64),
    "no number": lambda data: data["estimates"][0].update(estimate="<b>"),
    "too few": lambda data: data["columns"][0].update(num_reports=9),
    "no share": lambda data: data["estimates"][0].update(estimate=1e7),
    "a share of nothing": lambda data: data["estimates"][0].update(lower=1.0, upper=0.0),
    "no estimates": lambda data: data.update(estimates=[]),
    "a list": lambda data: data["estimates"][0].update(target=["a"]),
    "no flow": lambda data: data["columns"][0].pop("flow"),
    "columns": lambda data: data.update(columns=[]),
    "true": lambda data: data["columns"][0].update(num_reports=True),
}


def test_what_is_no_result_of_the_collection_is_refused_and_script_is_text(tmp_path):
    async def test():
        async with mixing(tmp_path) as mix:
            survey = await registered(mix)
            await handed_over(mix, survey)
            statement = like_a_statement(survey.collection)
            refused = {}
            for name, spoil in BAD.items():
                data = json.loads(json.dumps(statement))
                spoil(data)
                refused[name] = kind(await mix.publish(survey.collection, survey.key, data))
            stranger = kind(await mix.publish(survey.collection, AnalyzerKey.generate(), statement))
            for number in range(MOST_RESULTS):
                data = json.loads(json.dumps(statement))
                data["estimates"][0].update(target=HOSTILE, note=number)
                assert (await mix.publish(survey.collection, survey.key, data)).status_code == 200
            many = kind(await mix.publish(survey.collection, survey.key, statement))
            return refused, stranger, many, await mix.page(survey.collection)

    refused, stranger, many, page = run(test)
    assert refused == dict.fromkeys(BAD, (400, "invalidMessage"))
    assert (stranger, many) == ((403, "unauthorizedRequest"), (403, "askedTooOften"))
    assert Tags.of(page.text) == []
    assert "&lt;script&gt;alert(1)" in page.text


# ---- by invitation --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def issuer_keys():
    return [IssuerKey.generate() for _ in range(2)]


@pytest.fixture
def ready_keys(issuer_keys, monkeypatch):
    """Keys of an issuer, which take long to make."""
    keys = iter(issuer_keys)
    monkeypatch.setattr(mix_folder.IssuerKey, "generate", lambda: next(keys))


async def by_invitation(mix, people, **further):
    """A collection with tokens of the mix, and invitations to it, which the mix knows."""
    shown = {"authorization": f"Bearer {mix.code}"}
    made = await mix.post("/issuer-keys", os.urandom(16), ISSUER_KEY_TYPE, **shown)
    issuer = Service(url=URL, key=PublishedKey.from_dict(made.json()))
    survey = await registered(mix, issuer=issuer, transport="token", **further)
    several, listed = invitations.new_invitations(survey.collection, people)
    answer = await mix.ask(RequestKind.INVITED, survey.collection, survey.key, listed.written().encode())
    return survey, several, listed, answer


async def token(mix, collection, invitation):
    """A token for an invitation, as a device shows it; or why there is none."""
    public = collection.issuer.key.public
    pending = PendingToken.new(collection.challenge, public)
    shown = {"authorization": f"Bearer {invitation.code}"}
    path = f"{collection.path}/token-request"
    answer = await mix.post(path, pending.request.encode(), ISSUANCE_REQUEST, **shown)
    if answer.status_code != 200:
        return kind(answer)
    return pending.finalize(collection.challenge, public, TokenResponse.decode(answer.content)).shown()


@pytest.mark.usefixtures("ready_keys")
def test_the_mix_gives_tokens_and_tells_three_times_which_invitations_gave_none(tmp_path):
    async def test():
        async with mixing(tmp_path) as mix:
            survey, several, _, _ = await by_invitation(mix, 12, reminders=True)
            collection = survey.collection
            body = answers(collection, 12)
            for number in range(11):
                shown = await token(mix, collection, several[number])
                answer = await mix.post(
                    f"{collection.path}/reports",
                    UploadRequest((body[number],)).encode(),
                    UPLOAD_TYPE,
                    authorization=shown,
                )
                assert answer.status_code == 200
            absent = [await mix.ask(RequestKind.ABSENT, collection, survey.key)]
        async with mixing(tmp_path) as again:
            absent += [await again.ask(RequestKind.ABSENT, collection, survey.key) for _ in range(3)]
            used = await token(again, collection, several[0])
            last = await token(again, collection, several[11])
            assert (await close(again, survey)).status_code == 200
            late = [
                await again.ask(RequestKind.ABSENT, collection, survey.key),
                await token(again, collection, several[11]),
            ]
            batches = await fetched(again, survey)
            await again.host.look()
            files = sorted(each.name for each in again.at(collection).registered.folder.iterdir())
            rows = again.host.issued.rows("SELECT count(*) FROM invited")
            return absent, several, used, last, late, batches, files, rows

    absent, several, used, last, late, batches, files, rows = run(test)
    digest = in_text(invitations.digest_of(from_text(several[11].code, name="code")))
    assert [each.json().get("absent") for each in absent[:3]] == [[digest]] * 3
    assert kind(absent[3]) == (403, "askedTooOften")
    assert used == (403, "invitationUsed")
    assert last.startswith("PrivateToken")
    assert (kind(late[0]), late[1]) == ((403, "unauthorizedRequest"), (403, "unauthorizedRequest"))
    assert (batches, rows) == ([11, 0], [(0,)])
    assert files == ["ended.json", "page.html", "registration.json", "survey.collection"]


@pytest.mark.usefixtures("ready_keys")
def test_who_is_absent_is_told_only_where_the_collection_said_so_and_to_its_analyst(tmp_path):
    async def test():
        async with mixing(tmp_path) as mix:
            silent, _, _, _ = await by_invitation(mix, 3)
            told, _, _, _ = await by_invitation(mix, 3, reminders=True)
            refused = [
                await mix.ask(RequestKind.ABSENT, silent.collection, silent.key),
                await mix.ask(RequestKind.ABSENT, told.collection, silent.key),
                await mix.ask(RequestKind.ABSENT, told.collection, AnalyzerKey.generate()),
            ]
            good = await mix.ask(RequestKind.ABSENT, told.collection, told.key)
            return list(map(kind, refused)), len(good.json()["absent"])

    refused, number = run(test)
    assert refused == [(403, "askedTooOften"), *[(403, "unauthorizedRequest")] * 2]
    assert number == 3


@pytest.mark.usefixtures("ready_keys")
def test_lists_of_invitations_add_up_and_are_of_the_analyst_and_not_too_long(tmp_path):
    async def test():
        async with mixing(tmp_path, policy=MixPolicy(people=12)) as mix:
            survey, several, _, first = await by_invitation(mix, 11)
            collection, key = survey.collection, survey.key
            made, replaced = invitations.replacements(collection, [several[0].code])

            async def invite(listed, key=key):
                return await mix.ask(RequestKind.INVITED, collection, key, listed.written().encode())

            assert (await invite(replaced)).status_code == first.status_code == 200
            gone, anew = await token(mix, collection, several[0]), await token(mix, collection, made[0])
            other = invitations.new_invitations(collection, 2)[1]
            refused = [
                await invite(other),
                await invite(other, AnalyzerKey.generate()),
                await mix.ask(RequestKind.INVITED, collection, key, b"{}"),
                await mix.ask(RequestKind.INVITED, collection, key, b"[]"),
                await mix.ask(
                    RequestKind.INVITED, collection, key, other.written().replace(other.collection, "AA").encode()
                ),
            ]
            plain = await registered(mix)
            refused.append(await mix.ask(RequestKind.INVITED, plain.collection, plain.key, listed_for(plain)))
        async with mixing(tmp_path, policy=MixPolicy(people=12)) as again:
            still = [await token(again, collection, each) for each in (several[0], several[1])]
            return gone, anew, list(map(kind, refused)), still

    gone, anew, refused, still = run(test)
    assert gone == still[0] == (403, "unauthorizedRequest")
    assert anew.startswith("PrivateToken")
    assert still[1].startswith("PrivateToken")
    assert refused == [
        (422, "tooManyPeople"),
        (403, "unauthorizedRequest"),
        *[(400, "invalidMessage")] * 3,
        (403, "unauthorizedRequest"),
    ]


def listed_for(survey):
    return invitations.Invited(collection=in_text(survey.collection.id), codes=()).written().encode()


# ---- the disk -------------------------------------------------------------------------------------------------------


def test_a_disk_that_takes_nothing_acknowledges_nothing(tmp_path, monkeypatch):
    async def test():
        async with mixing(tmp_path) as mix:
            survey = await registered(mix)
            await handed_over(mix, survey)

            def full(*_, **__):
                raise OSError(28, "full")

            with monkeypatch.context() as disk:
                disk.setattr(mix_folder, "write_private", full)
                refused = kind(await mix.publish(survey.collection, survey.key, None))
                shown = (await mix.page(survey.collection)).content == survey.html
            return refused, shown, (await mix.publish(survey.collection, survey.key, None)).status_code

    assert run(test) == ((503, "unavailable"), True, 200)


def test_an_end_that_the_disk_did_not_take_is_tried_again(tmp_path, monkeypatch):
    async def test():
        async with mixing(tmp_path) as mix:
            survey = await registered(mix)
            await mix.send(survey.collection, *answers(survey.collection))
            await close(mix, survey)
            await fetched(mix, survey)

            def full(*_, **__):
                raise OSError(28, "full")

            with monkeypatch.context() as disk:
                disk.setattr(mix_folder, "write_private", full)
                await mix.host.look()
                assert not mix.at(survey.collection).has_ended
            await asyncio.sleep(0)
            await mix.host.look()
            return mix.at(survey.collection).has_ended, mix.logged.events[-1]

    assert run(test) == (True, ("storage-failed", 1))


def test_unknown_collections_and_asking_of_no_form_are_refused(tmp_path):
    async def test():
        async with mixing(tmp_path) as mix:
            survey = await registered(mix, asked=asking(name="a", people=UNVOUCHED))
            path = survey.collection.path
            return [
                kind(await mix.client.get("/collections/AAAA/result")),
                kind(await mix.post("/collections/AAAA/close", b"", CLOSE_TYPE)),
                kind(await mix.post(f"{path}/absent", b"x", "application/vnd.shuffledp.organizer")),
                kind(await mix.post(f"{path}/absent", b"x", "text/plain")),
                kind(await mix.client.get(f"{path}/absent")),
                kind(await mix.client.get("/c/../mix/x")),
            ]

    assert run(test) == [
        (404, "unrecognizedCollection"),
        (404, "unrecognizedCollection"),
        (400, "invalidMessage"),
        (415, "wrongType"),
        (405, "methodNotAllowed"),
        (404, "unrecognizedCollection"),
    ]
