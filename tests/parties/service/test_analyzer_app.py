"""The analyzer over HTTP, and the whole way to a release: which batches it takes, what it counts, what it writes."""

import asyncio
import hashlib
import json
from dataclasses import replace

import httpx
import numpy as np
import pytest

from files.whole import read_view
from parties.client.answering import ADDRESS, asking
from parties.client.test_respondents_page import data_of
from parties.service.at_work import analyzer, collected, reports_of, run, sealed, shuffler
from parties.service.given import Parties, task, task_near_an_order, task_of_two
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Reports
from shuffledp.core.statement_terms import Trust
from shuffledp.files import stages
from shuffledp.files.file_facts import FileFacts
from shuffledp.files.parquet import ReportsWriter
from shuffledp.parties.client.respondents_page import with_page
from shuffledp.parties.http.event_log import EventLog
from shuffledp.parties.service import collection_at_analyzer, forwarder
from shuffledp.parties.service.batch_release import is_released
from shuffledp.parties.service.forwarder import Forwarder
from shuffledp.parties.service.public_columns import extensions_of
from shuffledp.parties.wire.grammar import (
    BATCH_TYPE,
    BatchedReport,
    BatchManifest,
    HpkeConfigList,
    Report,
    SignedManifest,
    Submission,
)
from shuffledp.parties.wire.hpke import Sealer
from shuffledp.parties.wire.keys import AnalyzerKey, ShufflerKey
from shuffledp.survey import DataFlow, Provenance

VALUES = np.arange(40) % 2


def submissions_of(parties, values=VALUES, **further):
    collection = parties.collection
    config = parties.analyzer_key.config
    return sealed(collection, reports_of(collection.task, values), **{"config": config} | further)


def statement(folder):
    return json.loads((folder / "release" / "statement.json").read_text())


def view_of(folder, parties):
    return read_view(folder / "release" / "release.parquet", parties.collection.task)


async def batch_of(folder, parties, submissions):
    """The first batch of a collection, as it is sent."""
    async with shuffler(folder, parties) as here:
        await here.send(*submissions)
        await here.at_shuffler.stop_intake()
        await here.at_shuffler.advance()
        first, *_ = await here.at_shuffler.outgoing()
        return first.manifest, await here.at_shuffler.part(first, 0)


# ---- the whole way --------------------------------------------------------------------------------------------------


def test_a_collection_ends_in_a_release_that_names_both_parties(tmp_path):
    parties = Parties()
    shuffler_log, analyzer_log = run(collected, tmp_path, parties, submissions_of(parties))
    found = statement(tmp_path)
    assert shuffler_log.events == [("closing", 1), ("batch-made", 40), ("delivered", 1), ("delivered", 1)]
    assert analyzer_log.events == [("batch-received", 40), ("released", 40), ("batch-received", 0)]
    assert found["num_reports"] == 40
    trust = found["statements"][0]["trust"]
    assert "one-answer" in trust
    assert "operator" not in trust
    page = (tmp_path / "release" / "release.html").read_text()
    assert "shuffledp serve analyzer" in page
    assert "shuffledp analyze" not in page
    assert parties.collection.id.hex() in page
    assert parties.collection.shuffler.url in page
    assert parties.collection.analyzer.url in page


@pytest.mark.usefixtures("without_a_page")
def test_the_view_is_that_of_the_same_reports_in_files(tmp_path):
    parties = Parties()
    column, values = parties.collection.task.column, np.arange(57) % 3 % 2
    run(collected, tmp_path, parties, submissions_of(parties, values))
    reports = Reports({"value": values}, column.randomizer.randomizer().model)
    with ReportsWriter(tmp_path / "reports.parquet", column) as writer:
        writer.write(reports, None)
        flow = DataFlow(received=57, missing=0, released=0)
        writer.finish(FileFacts.of(column, "reports", flow, Provenance()))
    stages.shuffle(parties.collection.task, tmp_path / "reports.parquet", tmp_path / "view.parquet")
    from_files, _ = read_view(tmp_path / "view.parquet", parties.collection.task)
    from_service, facts = view_of(tmp_path, parties)
    assert from_service == from_files
    assert facts.task_sha256 == column.sha256


@pytest.mark.usefixtures("without_a_page")
def test_several_columns_become_one_release(tmp_path):
    parties = Parties(task_of_two())
    run(collected, tmp_path, parties, submissions_of(parties))
    assert [each["num_reports"] for each in statement(tmp_path)["columns"]] == [40, 40]


@pytest.mark.usefixtures("without_a_page")
def test_near_an_order_every_place_has_its_persons_columns_and_a_report_of_the_same_group(tmp_path):
    parties = Parties(task_near_an_order())
    column = parties.collection.task.column
    public = [extensions_of(column, {"place": "AB"[value], "age": number}) for number, value in enumerate(VALUES)]
    run(collected, tmp_path, parties, submissions_of(parties, public=public))
    view, _ = view_of(tmp_path, parties)
    assert sorted(view.label_table["age"].tolist()) == list(range(40))
    assert all(
        "AB"[value] == place for value, place in zip(view.reports["value"], view.label_table["place"], strict=True)
    )
    assert view.label_table["age"].tolist() != list(range(40))  # nor does the order of the places tell who came when


@pytest.mark.usefixtures("without_a_page")
def test_what_does_not_open_is_counted_and_does_not_count(tmp_path):
    parties = Parties(task(people={"fakes": 3}))
    other = AnalyzerKey.generate()
    while other.config.id != parties.analyzer_key.config.id:
        other = AnalyzerKey.generate()
    wrong = [
        *submissions_of(parties, [0] * 4, config=other.config),
        *(
            replace(each, reports=(replace(each.reports[0], ciphertext=changed, id=changed.report_id()),))
            for each in submissions_of(parties, [0] * 2)
            for sealed_part in [each.reports[0].ciphertext]
            for changed in [
                replace(sealed_part, payload=sealed_part.payload[:-1] + bytes([sealed_part.payload[-1] ^ 1]))
            ]
        ),
        *sealed(
            Parties(task(people={"fakes": 3})).collection, reports_of(task(), [0]), config=parties.analyzer_key.config
        ),
    ]
    run(collected, tmp_path, parties, [*submissions_of(parties), *wrong, *submissions_of(parties)[:1]])
    found = statement(tmp_path)
    assert found["flow"]["collected"]["undecryptable"] == 7
    assert found["flow"]["received"] == 48
    assert found["num_reports"] == 41
    assert found["model"]["shuffle"]["num_users"] == 41 - 3


@pytest.mark.usefixtures("without_a_page")
def test_what_the_analyzer_finds_malformed_or_twice_is_counted_with_what_the_shuffler_refused(tmp_path):
    parties = Parties()
    good = submissions_of(parties)
    sealer = Sealer.to(parties.analyzer_key.config, collection_id=parties.collection.id, column=0)
    nonsense = [Submission((Report.of(sealer.seal(b"\x07")),)) for _ in range(3)]

    async def test():
        async with shuffler(tmp_path, parties) as here, analyzer(tmp_path, parties) as (client, _, _):
            await here.send(*good, *nonsense)
            await here.send(*good[:5])
            await here.at_shuffler.stop_intake()
            await here.at_shuffler.advance()
            first, *_ = await here.at_shuffler.outgoing()
            body = await here.at_shuffler.part(first, 0)
            told = SignedManifest.decode(first.manifest).manifest
            one = body[: len(body) // told.num_reports]
            again = replace(told, num_reports=45, body_sha256=hashlib.sha256(body + 2 * one).digest())
            assert (
                await posted(client, parties, parties.shuffler_key.sign(again).encode() + body + 2 * one)
            ).is_success

    run(test)
    assert statement(tmp_path)["flow"] == {
        "received": 50,
        "missing": 0,
        "released": 40,
        "expected": None,
        "detached": [],
        "collected": {
            "collection": parties.collection.id.hex(),
            "duplicates": 5 + 2,
            "late": 0,
            "malformed": 3,
            "undecryptable": 0,
        },
    }


def test_no_batch_follows_its_address_to_another_place():
    async def test():
        async with forwarder.party_client() as client:
            return client.follow_redirects, client.trust_env

    assert run(test) == (False, False)


def test_parties_on_one_machine_are_one_operator_and_several_batches_rest_on_time():
    local = {"shuffler": "http://127.0.0.1:1", "analyzer": "http://localhost:2"}
    always = (Trust.ONE_ANSWER,)
    assert Parties().collection.trust == always
    assert Parties(**local).collection.trust == (*always, Trust.OPERATOR)
    assert Parties(shuffler=local["shuffler"], every=15).collection.trust == (*always, Trust.TIME_OF_ANSWER)


ONE_HOST = {"shuffler": "https://vps.example.org", "analyzer": "https://VPS.example.org:8444"}


@pytest.mark.parametrize("given", [{}, ONE_HOST, {"demonstration": True}], ids=["apart", "one-host", "demonstration"])
def test_a_release_states_the_trust_that_its_answering_page_states(tmp_path, given):
    parties = Parties(asking(), **given)
    parties.collection, page = with_page(parties.collection, ADDRESS)
    run(collected, tmp_path, parties, submissions_of(parties))
    first, *_ = statement(tmp_path)["columns"] if "columns" in statement(tmp_path) else [statement(tmp_path)]
    stated = statement(tmp_path)["statements"][0]
    assert stated["trust"] == [each.value for each in parties.collection.promised()[0].trust]
    needed = [words for words, _ in data_of(page)["trust"]]
    assert len(needed) == len(stated["trust"])
    assert ("operator" in stated["trust"]) == (given == ONE_HOST)
    assert any(each.startswith("whoever ran the steps of several parties") for each in needed) == (given == ONE_HOST)
    assert first["num_reports"] == 40


def test_a_release_whose_parties_have_one_host_says_first_what_their_operator_could_and_what_is_left(tmp_path):
    parties = Parties(**ONE_HOST)
    run(collected, tmp_path, parties, submissions_of(parties))
    (warning,) = statement(tmp_path)["warnings"]
    assert warning.startswith("One operator runs several of the parties")
    assert "could see who sent which report" in warning
    assert "epsilon = 1" in warning or "at most 1 " in warning, warning
    page = (tmp_path / "release" / "release.html").read_text()
    assert page.index("One operator runs several of the parties") < page.index('class="promise"')


@pytest.mark.usefixtures("without_a_page")
@pytest.mark.parametrize("demonstration", [True, False])
def test_a_release_of_a_demonstration_warns_of_it_and_another_does_not(tmp_path, demonstration):
    parties = Parties(demonstration=demonstration)
    run(collected, tmp_path, parties, submissions_of(parties))
    assert any(each.startswith("Demonstration: ") for each in statement(tmp_path)["warnings"]) is demonstration


@pytest.mark.usefixtures("without_a_page")
def test_the_losses_of_earlier_releases_that_the_task_names_are_counted(tmp_path):
    before = Parties()
    run(collected, tmp_path / "first", before, submissions_of(before))
    first = tmp_path / "first" / "release" / "statement.json"
    again = Parties(task(name="again", people={"earlier": [before.collection.task.sha256]}))
    with pytest.raises(InvalidParameterError, match="earlier FILE must be given"):
        run(collected, tmp_path / "without", again, submissions_of(again))
    run(collected, tmp_path / "second", again, submissions_of(again), earlier=[first])
    alone, together = (json.loads(first.read_text()), statement(tmp_path / "second"))
    assert together["earlier"][0]["task_sha256"] == before.collection.task.sha256
    losses = [each["statements"][0]["guarantee"]["epsilon"] for each in (alone, together)]
    assert losses[0] < losses[1] < 2 * losses[0] + 1e-9


@pytest.mark.usefixtures("without_a_page")
def test_too_few_that_open_are_not_released(tmp_path):
    parties = Parties()
    strangers = submissions_of(parties, config=AnalyzerKey.generate().config)
    strangers = [
        replace(each, reports=(_relabelled(each.reports[0], parties.analyzer_key.config.id),)) for each in strangers
    ]
    _, log = run(collected, tmp_path, parties, [*strangers, *submissions_of(parties, [1] * 9)])
    assert ("seen-not-released", 1) in log.events
    assert not (tmp_path / "release" / "release.parquet").exists()


def _relabelled(report, config_id):
    return replace(report, ciphertext=replace(report.ciphertext, config_id=config_id))


@pytest.mark.parametrize("fakes", [1, 2])
@pytest.mark.usefixtures("without_a_page")
def test_near_an_order_a_made_up_report_stands_where_one_does_not_open_if_it_may_be_fake(tmp_path, fakes):
    asked = task_near_an_order()
    asked = type(asked).from_dict(asked.to_dict() | {"people": {"fakes": fakes}})
    parties = Parties(asked)
    column = asked.column
    public = [extensions_of(column, {"place": place, "age": 1}) for place in "AB"]
    good = submissions_of(parties, public=public)
    strangers = submissions_of(parties, [0, 1], config=AnalyzerKey.generate().config, public=public)
    strangers = [
        replace(each, reports=(_relabelled(each.reports[0], parties.analyzer_key.config.id),)) for each in strangers
    ]
    _, log = run(collected, tmp_path, parties, [*good, *strangers])
    if fakes < 2:
        assert ("seen-not-released", 1) in log.events
        return
    found = statement(tmp_path)
    assert found["num_reports"] == 42
    assert found["flow"]["collected"]["undecryptable"] == 2
    assert found["flow"]["received"] == 42


@pytest.mark.usefixtures("without_a_page")
def test_a_collection_that_ends_below_its_minimum_is_said_to_the_analyzer_without_a_count(tmp_path):
    parties = Parties()
    _, log = run(collected, tmp_path, parties, submissions_of(parties, [1] * 9))
    assert log.events == [("batch-received", 0), ("not-released", 1)]
    assert not (tmp_path / "release").exists()


@pytest.mark.parametrize("opens", [True, False])
@pytest.mark.usefixtures("without_a_page")
def test_of_several_batches_each_has_a_release_and_together_they_promise_what_the_smallest_does(tmp_path, opens):
    parties = Parties(task(people={"fakes": 2}), every=15)
    sent = submissions_of(parties, [0, 1] * 26)
    if not opens:  # of the second batch fewer than the minimum
        wrong = submissions_of(parties, [1] * 15, config=AnalyzerKey.generate().config)
        sent[15:30] = [
            replace(each, reports=(_relabelled(each.reports[0], parties.analyzer_key.config.id),)) for each in wrong
        ]

    async def test():
        async with shuffler(tmp_path, parties) as here, analyzer(tmp_path, parties) as (client, _, logged):
            sender = Forwarder(here.at_shuffler, client, log=EventLog(here.logged.write))
            for start in range(0, 52, 15):
                await here.send(*sent[start : start + 15])
                await here.at_shuffler.advance()
                assert await sender.send_all()
            await here.at_shuffler.stop_intake()
            await here.at_shuffler.advance()
            assert await sender.send_all()
            assert await sender.send_all()
            return logged.events

    events = run(test)
    found = {
        folder.name: json.loads((folder / "statement.json").read_text()) for folder in (tmp_path / "release").iterdir()
    }
    sizes = (
        {"batch-1": 15, "batch-2": 15, "batch-3": 15, "together": 45}
        if opens
        else {
            "batch-1": 15,
            "batch-3": 15,
            "together": 30,
        }
    )
    assert {name: each["num_reports"] for name, each in found.items()} == sizes
    assert events.count(("released", sizes["together"])) == 1
    together, alone = found["together"]["statements"][0], found["batch-1"]["statements"][0]
    assert together["guarantee"]["epsilon"] == alone["guarantee"]["epsilon"]
    assert found["together"]["model"]["shuffle"]["sizes"] == [15] * (len(sizes) - 1)
    assert {"time-of-answer", "one-answer"} <= set(together["trust"])
    assert list((tmp_path / "batches" / "batches").iterdir()) == []


# ---- each batch once ------------------------------------------------------------------------------------------------


async def posted(client, parties, content, *, path=None, media_type=BATCH_TYPE):
    url = f"{parties.collection.analyzer.url}{path or parties.collection.path}/batches"
    return await client.post(url, content=content, headers={"content-type": media_type})


@pytest.mark.usefixtures("without_a_page")
def test_a_batch_that_comes_again_is_answered_well_and_released_once(tmp_path):
    parties = Parties()

    async def test():
        manifest, body = await batch_of(tmp_path, parties, submissions_of(parties))
        async with analyzer(tmp_path, parties) as (client, _, logged):
            answers = await asyncio.gather(*(posted(client, parties, manifest + body) for _ in range(5)))
            answers.append(await posted(client, parties, manifest + body))
            return [each.status_code for each in answers], logged.events

    statuses, events = run(test)
    assert statuses == [200] * 6
    assert events == [("batch-received", 40), ("released", 40)]


@pytest.mark.usefixtures("without_a_page")
def test_a_batch_that_its_shuffler_did_not_sign_or_that_is_changed_is_refused_and_not_kept(tmp_path):
    parties = Parties()

    async def test():
        manifest, body = await batch_of(tmp_path, parties, submissions_of(parties))
        signed = SignedManifest.decode(manifest)
        stranger = ShufflerKey.generate().sign(signed.manifest).encode()
        other = parties.shuffler_key.sign(replace(signed.manifest, collection_id=bytes(32))).encode()
        beyond = parties.shuffler_key.sign(replace(signed.manifest, column=1)).encode()
        async with analyzer(tmp_path, parties) as (client, at_analyzer, logged):
            log = at_analyzer._log
            answers = {
                "stranger": await posted(client, parties, stranger + body),
                "other": await posted(client, parties, other + body),
                "beyond": await posted(client, parties, beyond + body),
                "cut off": await posted(client, parties, manifest + body[:-1]),
                "longer": await posted(client, parties, manifest + body + b"x"),
                "garbage": await posted(client, parties, b"x" * 999),
                "empty": await posted(client, parties, b""),
                "type": await posted(client, parties, manifest + body, media_type="text/plain"),
                "nowhere": await posted(client, parties, manifest + body, path="/collections/x"),
            }
            assert logged.events == []
            log.flush()
            return {name: each.status_code for name, each in answers.items()}, logged.events

    statuses, events = run(test)
    assert statuses == dict.fromkeys(("stranger", "other", "beyond", "cut off", "longer", "garbage", "empty"), 400) | {
        "type": 415,
        "nowhere": 404,
    }
    assert events == [("batch-refused", 7)]  # at some other time, in one line however many there are
    assert list((tmp_path / "batches" / "batches").iterdir()) == []


@pytest.mark.usefixtures("without_a_page")
def test_a_release_that_was_written_just_before_the_process_ended_is_not_written_again(tmp_path):
    parties = Parties()

    async def test():
        manifest, body = await batch_of(tmp_path, parties, submissions_of(parties))
        async with analyzer(tmp_path, parties) as (client, taking, _):
            undone, taking._store.done = taking._store.done, lambda _: None  # as if it were killed here
            await posted(client, parties, manifest + body)
            before = (tmp_path / "release" / "release.parquet").read_bytes()
            taking._store.done = undone
        async with analyzer(tmp_path, parties) as (client, taking, logged):
            await taking.release()
            await taking.release()
            return before == (tmp_path / "release" / "release.parquet").read_bytes(), logged.events

    assert run(test) == (True, [])
    assert list((tmp_path / "batches" / "batches").iterdir()) == []


@pytest.mark.usefixtures("without_a_page")
def test_batches_wait_for_an_analyzer_that_is_away_and_none_is_lost_or_doubled_by_lost_answers(tmp_path, monkeypatch):
    monkeypatch.setattr(forwarder, "FIRST_PAUSE", 0.001)
    parties = Parties()
    moods = iter(["away", "broken", "no answer", "no answer", "well", "no answer"])

    async def test():
        async with analyzer(tmp_path, parties) as (client, _, received), shuffler(tmp_path, parties) as here:
            inner = client._transport

            async def moody(request):
                mood = next(moods, "well")
                if mood == "away":
                    raise httpx.ConnectError("away")
                if mood == "broken":
                    await anext(aiter(request.stream))
                    raise httpx.WriteError("broken")
                answer = await inner.handle_async_request(request)
                if mood == "no answer":
                    raise httpx.ReadTimeout("no answer")
                return answer

            async with httpx.AsyncClient(transport=httpx.MockTransport(moody)) as weak:
                sender = Forwarder(here.at_shuffler, weak, log=EventLog(here.logged.write))
                await here.send(*submissions_of(parties))
                await here.at_shuffler.stop_intake()
                await here.at_shuffler.advance()
                running = asyncio.create_task(sender.run())
                while (await here.status())["phase"] != "released":
                    await asyncio.sleep(0.002)
                running.cancel()
            return here.logged.events, received.events

    sent, received = run(test)
    assert [event for event in sent if event[0] == "delivery-failed"] == [("delivery-failed", 1)] * 5
    assert received == [("batch-received", 40), ("released", 40), ("batch-received", 0)]
    assert statement(tmp_path)["num_reports"] == 40


@pytest.mark.parametrize("wrong", [httpx.InvalidURL("no port"), UnicodeError(), ExceptionGroup("all", [OSError()])])
def test_an_address_that_nothing_can_have_is_a_failed_delivery_and_stops_nobody(tmp_path, wrong):
    async def test():
        async with shuffler(tmp_path) as here:
            await here.at_shuffler.stop_intake()
            await here.at_shuffler.advance()

            def never(_):
                raise wrong

            async with httpx.AsyncClient(transport=httpx.MockTransport(never)) as client:
                return await Forwarder(here.at_shuffler, client, log=EventLog(here.logged.write)).send_all()

    assert run(test) is False


def test_a_long_answer_is_not_read_and_takes_no_memory_of_the_shuffler(tmp_path):
    read = []

    async def long():
        for _ in range(1000):
            read.append(1)
            yield bytes(1 << 16)

    async def test():
        async with shuffler(tmp_path) as here:
            await here.at_shuffler.stop_intake()
            await here.at_shuffler.advance()
            transport = httpx.MockTransport(lambda _: httpx.Response(200, content=long()))
            async with httpx.AsyncClient(transport=transport) as client:
                return await Forwarder(here.at_shuffler, client, log=EventLog(here.logged.write)).send_all()

    assert run(test, seconds=5)
    assert len(read) < 10


def test_the_keys_that_are_served_are_those_of_the_collection(tmp_path):
    parties = Parties()

    async def test():
        async with analyzer(tmp_path, parties) as (client, _, _):
            return await client.get("http://analyzer/hpke_config")

    (config,) = HpkeConfigList.decode(run(test).content).configs
    assert config == parties.analyzer_key.config


@pytest.mark.usefixtures("without_a_page")
def test_a_release_of_another_collection_in_its_place_is_neither_taken_for_its_own_nor_replaced(tmp_path):
    last_week, this_week = Parties(), Parties()
    run(collected, tmp_path, last_week, submissions_of(last_week))
    before = (tmp_path / "release" / "statement.json").read_bytes()
    again = tmp_path / "again"
    again.mkdir()
    (tmp_path / "release").rename(again / "release")
    _, logged = run(collected, again, this_week, submissions_of(this_week))
    assert ("release-failed", 1) in logged.events
    assert ("released", 40) not in logged.events
    assert (again / "release" / "statement.json").read_bytes() == before
    bodies = (again / "batches" / "batches").iterdir()
    assert sorted(each.stat().st_size > 0 for each in bodies) == [False, True]  # released when the other is moved away


@pytest.mark.usefixtures("without_a_page")
def test_the_releases_of_several_columns_are_known_again(tmp_path):
    parties = Parties(task_of_two())
    run(collected, tmp_path, parties, submissions_of(parties))
    assert is_released(tmp_path / "release", parties.collection)
    assert is_released(tmp_path / "release", Parties(task_of_two()).collection) is None


@pytest.mark.usefixtures("without_a_page")
@pytest.mark.parametrize("asked", [task(), task_near_an_order()], ids=["uniform", "near an order"])
def test_a_signed_batch_that_holds_nothing_of_what_it_says_is_given_up_and_stops_nobody(tmp_path, asked):
    parties = Parties(asked)
    bare = BatchedReport((), submissions_of(parties, VALUES[:1], public=[()])[0].reports[0].ciphertext).encode()

    async def test(body):
        made = BatchManifest(
            collection_id=parties.collection.id,
            column=0,
            batch_id=bytes(16),
            number=0,
            num_reports=20,
            duplicates=0,
            late=0,
            malformed=0,
            body_sha256=hashlib.sha256(body).digest(),
            shuffle=b"uniform",
            library_version=b"1",
        )
        async with analyzer(tmp_path / str(len(body)), parties) as (client, _, logged):
            await posted(client, parties, parties.shuffler_key.sign(made).encode() + body)
            return logged.events

    bodies = [b""] if asked.shuffler.is_uniform else [b"", bare * 20]
    for body in bodies:
        (tmp_path / str(len(body))).mkdir()
        given_up = "seen-not-released" if body else "not-released"
        assert run(test, body) == [("batch-received", 20), (given_up, 1)]


@pytest.mark.usefixtures("without_a_page")
def test_a_release_that_cannot_be_written_stops_nobody_and_its_batch_is_kept(tmp_path, monkeypatch):
    parties = Parties()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(collection_at_analyzer, "write_batch_release", full)
    _, logged = run(collected, tmp_path, parties, submissions_of(parties))
    assert logged.events[:2] == [("batch-received", 40), ("release-failed", 1)]
    bodies = (tmp_path / "batches" / "batches").iterdir()
    assert sorted(each.stat().st_size > 0 for each in bodies) == [False, True]  # that nothing follows is kept too
