"""The shuffler over HTTP: what it takes, what it refuses and how, and that answers tell nothing by their length."""

import asyncio
import shutil
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from parties.service.at_work import Clock, looks_sealed, reports_of, run, sealed, shuffler
from parties.service.given import Parties, task, task_near_an_order, task_of_two
from parties.service.test_report_queue import Memory
from shuffledp.parties.service.batches import Phase
from shuffledp.parties.service.intake import Count
from shuffledp.parties.service.report_store import ReportStore
from shuffledp.parties.service.served_collections import MOST_SUBMISSIONS
from shuffledp.parties.service.shuffler_app import metrics_app
from shuffledp.parties.store.database import StorageError
from shuffledp.parties.wire.close_request import CLOSE_TYPE, CloseRequest
from shuffledp.parties.wire.grammar import Extension, Report, ReportError, SignedManifest, Submission, UploadRequest
from shuffledp.parties.wire.keys import AnalyzerKey, ShufflerKey


def one_test(tmp_path, *, parties=None, **given):
    """Decorator: run a coroutine with a shuffler at once."""

    def wrap(test):
        async def main():
            async with shuffler(tmp_path, parties, **given) as here:
                return await test(here)

        return run(main)

    return wrap


def altered(submission, **changed):
    """The first report of a submission with another part."""
    first, *others = submission.reports
    sealed_part = {key: changed.pop(key) for key in ("config_id", "enc", "payload") if key in changed}
    return Submission((Report.of(replace(first.ciphertext, **sealed_part), **changed), *others))


def test_the_same_report_a_hundred_times_at_once_is_stored_once(tmp_path):
    @one_test(tmp_path)
    async def result(here):
        submission = looks_sealed(here.parties.collection)
        answers = await asyncio.gather(*(here.send(submission) for _ in range(100)))
        return answers, await here.at_shuffler.counts()

    answers, counts = result
    assert answers == [{}] * 100
    assert counts == {Count.STORED: 1, Count.DUPLICATE: 99}


def test_each_kind_of_wrong_submission_has_its_own_code_and_the_others_of_the_request_are_stored(tmp_path):
    @one_test(tmp_path)
    async def result(here):
        good, *wrong = [looks_sealed(here.parties.collection) for _ in range(5)]
        sealed_to = next(iter(here.at_shuffler.terms.encapsulated))
        wrong = {
            altered(wrong[0], payload=b"x" * 99): ReportError.WRONG_LENGTH,
            altered(wrong[1], enc=b"x" * 31): ReportError.WRONG_LENGTH,
            altered(wrong[2], config_id=sealed_to ^ 1): ReportError.HPKE_UNKNOWN_CONFIG_ID,
            altered(wrong[3], public_extensions=(Extension(1, b"x"),)): ReportError.UNKNOWN_EXTENSION,
        }
        return (
            await here.send(*wrong, good),
            {each.id: error for each, error in wrong.items()},
            await here.at_shuffler.counts(),
        )

    found, expected, counts = result
    assert found == expected
    assert counts == {Count.STORED: 1, Count.MALFORMED: 3, Count.REFUSED: 1}


def test_what_is_late_or_early_is_said_to_be(tmp_path):
    parties = Parties()
    clock = Clock(parties)

    @one_test(tmp_path, parties=parties, clock=clock)
    async def result(here):
        submission = looks_sealed(parties.collection)
        clock.now -= 10 * 86400
        early = await here.send(submission)
        clock.now += 20 * 86400
        return early, await here.send(submission), await here.at_shuffler.counts(), submission.id

    early, late, counts, id_ = result
    assert early == {id_: ReportError.TASK_NOT_STARTED}
    assert late == {id_: ReportError.TASK_EXPIRED}
    assert counts == {Count.REFUSED: 1, Count.LATE: 1}


def test_a_clock_that_jumps_back_never_reopens_a_closed_collection(tmp_path):
    parties = Parties()
    clock = Clock(parties)

    async def test():
        async with shuffler(tmp_path, parties, clock=clock) as here:
            for _ in range(12):
                await here.send(looks_sealed(parties.collection))
            clock.now += 86400
            await here.at_shuffler.advance()
            clock.now -= 2 * 86400
            await here.at_shuffler.advance()
            first = await here.status(), await here.send(looks_sealed(parties.collection))
        async with shuffler(tmp_path, parties, clock=clock) as again:
            return *first, await again.status(), await again.send(looks_sealed(parties.collection))

    closed, refused, after, refused_again = run(test)
    assert closed == after == {"phase": "closed", "at_least_minimum": True}
    assert [*refused.values(), *refused_again.values()] == [ReportError.TASK_EXPIRED] * 2


def test_the_columns_of_a_submission_come_together_or_not_at_all(tmp_path):
    parties = Parties(task_of_two())

    @one_test(tmp_path, parties=parties)
    async def result(here):
        first, second = looks_sealed(parties.collection), looks_sealed(parties.collection)
        stored = await here.send(first)
        mixed = Submission((first.reports[0], second.reports[1]))
        half = await here.post(first.reports[0].encode())
        return stored, await here.send(mixed), half.status_code, mixed.id

    stored, mixed, half, id_ = result
    assert stored == {}
    assert mixed == {id_: ReportError.REPORT_REPLAYED}
    assert half == 400


def test_the_same_ciphertext_with_other_public_columns_is_refused(tmp_path):
    parties = Parties(task_near_an_order())

    @one_test(tmp_path, parties=parties)
    async def result(here):
        submission = looks_sealed(parties.collection)
        other = altered(submission, public_extensions=(Extension(1, b'["Bonn",1]'.ljust(256)),))
        nonsense = altered(looks_sealed(parties.collection), public_extensions=(Extension(1, bytes(256)),))
        return await here.send(submission), await here.send(other), await here.send(nonsense)

    assert [list(each.values()) for each in result] == [
        [],
        [ReportError.EXTENSIONS_CHANGED],
        [ReportError.INVALID_MESSAGE],
    ]


def test_reports_to_the_named_successor_of_a_key_are_taken_and_to_the_expired_one_no_more(tmp_path):
    parties = Parties.with_successor()
    clock = Clock(parties)

    @one_test(tmp_path, parties=parties, clock=clock)
    async def result(here):
        def to(key):
            (made,) = sealed(parties.collection, reports_of(parties.collection.task, [1]), config=key.config)
            return made

        both = await here.send(to(parties.analyzer_key), to(parties.successor))
        other = await here.send(to(AnalyzerKey.generate(other_than=list(here.at_shuffler.terms.encapsulated))))
        clock.now += 43200 + 3600  # the key expires half a day after the collection was made
        return both, other, await here.send(to(parties.successor)), await here.send(to(parties.analyzer_key))

    both, other, new, old = result
    assert both == new == {}
    assert list(other.values()) == [ReportError.HPKE_UNKNOWN_CONFIG_ID]
    assert list(old.values()) == [ReportError.OUTDATED_CONFIG]


# ---- what is no upload ----------------------------------------------------------------------------------------------


def problem(answer):
    assert answer.headers["content-type"] == "application/problem+json"
    assert len(answer.content) == 128
    return answer.status_code, answer.json()["type"].rpartition(":")[2]


def test_whatever_is_no_upload_is_refused_by_a_problem_of_one_length_that_quotes_nothing(tmp_path):
    @one_test(tmp_path)
    async def result(here):
        path, body = (
            f"{here.parties.collection.path}/reports",
            looks_sealed(here.parties.collection).reports[0].encode(),
        )
        too_long = body * (MOST_SUBMISSIONS + 1)
        return {
            "garbage": await here.post(b"SECRET" * 20),
            "cut off": await here.post(body[:-1]),
            "empty": await here.post(b""),
            "twice": await here.post(body + body[:5]),
            "long": await here.post(too_long),
            "type": await here.post(body, media_type="application/json"),
            "zipped": await here.post(body, **{"content-encoding": "gzip"}),
            "unknown": await here.post(body, path=path.replace("/collections/", "/collections/x")),
            "nowhere": await here.post(body, path="/"),
            "slash": await here.post(body, path=f"{path}/"),
            "get": await here.client.get(path),
            "metrics": await here.client.get("/metrics"),
            "alive": await here.client.get("/healthz"),
        }, await here.at_shuffler.counts()

    answers, counts = result
    assert answers.pop("alive").status_code == 200
    assert {name: problem(answer) for name, answer in answers.items()} == {
        "garbage": (400, "invalidMessage"),
        "cut off": (400, "invalidMessage"),
        "empty": (400, "invalidMessage"),
        "twice": (400, "invalidMessage"),
        "long": (413, "tooLarge"),
        "type": (415, "wrongType"),
        "zipped": (415, "wrongType"),
        "unknown": (404, "unrecognizedCollection"),
        "nowhere": (404, "unrecognizedCollection"),
        "slash": (404, "unrecognizedCollection"),
        "get": (405, "methodNotAllowed"),
        "metrics": (404, "unrecognizedCollection"),
    }
    assert not any("SECRET" in answer.text for answer in answers.values())
    assert counts == {Count.MALFORMED: 4}


def test_a_body_that_says_nothing_of_its_length_is_read_no_further_than_the_limit(tmp_path):
    taken = []

    async def endless():
        while True:
            taken.append(1)
            yield bytes(1 << 16)

    @one_test(tmp_path)
    async def answer(here):
        return await here.post(endless())

    assert problem(answer) == (413, "tooLarge")
    assert len(taken) < 10


def test_a_full_disk_is_an_answer_of_503_and_nothing_is_acknowledged(tmp_path):
    class Full(Memory):
        phase, batches = Phase.OPEN, 0

        def counts(self):
            return self.counted

    full = Full()
    full.fails = StorageError("full")

    @one_test(tmp_path, store=full)
    async def result(here):
        body = UploadRequest((looks_sealed(here.parties.collection),)).encode()
        refused = [await here.post(body) for _ in range(3)][-1]
        full.fails = None
        return refused, await here.post(body), here.logged.events

    refused, stored, lines = result
    assert problem(refused) == (503, "unavailable")
    assert stored.status_code == 200
    assert len(full.groups) == 1
    assert lines == [("storage-failed", 1)]  # at once, once: further ones would be times of people


def test_answers_to_uploads_of_one_size_have_one_length_whatever_became_of_them(tmp_path):
    @one_test(tmp_path)
    async def answers(here):
        first, second = looks_sealed(here.parties.collection), looks_sealed(here.parties.collection)
        wrong = altered(second, payload=b"x" * 18)
        bodies = [UploadRequest(each).encode() for each in ((first, second), (first, second), (first, wrong))]
        return [await here.post(body) for body in bodies]

    assert len({(len(each.content), tuple(each.headers.items())) for each in answers}) == 1


def test_all_submissions_of_a_collection_have_one_length():
    collection = Parties(task_near_an_order()).collection
    assert len({len(UploadRequest((looks_sealed(collection),)).encode()) for _ in range(5)}) == 1


def test_the_status_says_whether_there_are_enough_and_never_how_many(tmp_path):
    @one_test(tmp_path)
    async def answers(here):
        found = []
        for _ in range(12):
            found.append(await here.client.get(here.parties.collection.path))
            await here.send(looks_sealed(here.parties.collection))
        return found

    assert [each.json()["at_least_minimum"] for each in answers] == [False] * 10 + [True] * 2
    assert len({len(each.content) for each in answers}) == 1
    assert {frozenset(each.json()) for each in answers} == {frozenset({"phase", "at_least_minimum"})}


# ---- closing --------------------------------------------------------------------------------------------------------


def test_only_the_shufflers_key_closes_a_collection(tmp_path):
    @one_test(tmp_path)
    async def result(here):
        parties, found = here.parties, []
        collection, path = parties.collection, f"{parties.collection.path}/close"
        now = datetime.now(UTC)
        for request in (
            CloseRequest.by(ShufflerKey.generate(), collection.id, now),
            CloseRequest.by(parties.shuffler_key, Parties().collection.id, now),
            CloseRequest.by(parties.shuffler_key, collection.id, now - timedelta(hours=1)),
            CloseRequest.by(parties.shuffler_key, collection.id, now),
        ):
            found.append(await here.post(request.encode(), path=path, media_type=CLOSE_TYPE))
            await here.at_shuffler.advance()
            found.append(await here.status())
        return found

    assert [problem(each) for each in result[:6:2]] == [(403, "unauthorizedRequest")] * 3
    assert [each["phase"] for each in result[1::2]] == ["open", "open", "open", "destroyed"]


def test_a_close_is_answered_well_when_it_is_on_the_disk_and_refused_while_the_disk_is_full(tmp_path, monkeypatch):
    @one_test(tmp_path)
    async def result(here):
        request = CloseRequest.by(here.parties.shuffler_key, here.parties.collection.id, datetime.now(UTC)).encode()
        path, found = f"{here.parties.collection.path}/close", []

        async def ask():
            answer = await here.post(request, path=path, media_type=CLOSE_TYPE)
            found.append((answer.status_code, (await here.status())["phase"], stored_phase(tmp_path)))

        with monkeypatch.context() as full:

            def fails(*_):
                raise StorageError("full")

            full.setattr(ReportStore, "enter", fails)
            await ask()
        await ask()
        return found

    assert result == [(503, "open", Phase.OPEN), (200, "closing", Phase.CLOSING)]


def stored_phase(folder):
    """The phase that a process would find that starts now, after this one was killed."""
    copy = folder / "copy"
    shutil.copytree(folder / "store", copy)
    with closing(ReportStore(copy, pools=[1], remembers=False)) as store:
        found = store.phase
    shutil.rmtree(copy)
    return found


def test_below_the_minimum_everything_is_destroyed_and_no_count_is_logged(tmp_path):
    @one_test(tmp_path)
    async def result(here):
        sent = [looks_sealed(here.parties.collection) for _ in range(9)]
        await here.send(*sent)
        await here.send(*sent)
        await here.at_shuffler.stop_intake()
        await here.at_shuffler.advance()
        return await here.status(), here.logged.events, sent, await here.at_shuffler.outgoing()

    status, events, sent, outgoing = result
    assert status == {"phase": "destroyed", "at_least_minimum": False}
    assert events == [("closing", 1), ("not-released", 1)]
    assert len(outgoing) == 1
    told = SignedManifest.decode(outgoing[0].manifest).manifest
    assert (told.num_reports, told.duplicates, told.late, told.malformed) == (0, 0, 0, 0)
    left = b"".join(path.read_bytes() for path in (tmp_path / "store").iterdir())
    assert not any(each.reports[0].ciphertext.payload in left for each in sent)


@pytest.mark.parametrize("enough", [True, False])
def test_a_disk_that_is_full_just_after_the_end_was_written_ends_a_collection_once(tmp_path, enough, monkeypatch):
    @one_test(tmp_path)
    async def result(here):
        await here.send(*[looks_sealed(here.parties.collection) for _ in range(12 if enough else 2)])
        await here.at_shuffler.stop_intake()
        with monkeypatch.context() as full:

            def fails(_):
                raise StorageError("full")

            full.setattr(ReportStore, "tidy", fails)
            for _ in range(3):
                with suppress(StorageError):
                    await here.at_shuffler.advance()
        await here.at_shuffler.advance()
        return await here.status(), await here.at_shuffler.outgoing()

    status, outgoing = result
    assert status["phase"] == ("closed" if enough else "destroyed")
    assert len(outgoing) == (2 if enough else 1)


def test_batches_of_a_fixed_number_leave_while_the_collection_is_open(tmp_path):
    parties = Parties(task(), every=20)

    @one_test(tmp_path, parties=parties)
    async def result(here):
        await here.send(*(looks_sealed(parties.collection) for _ in range(19)))
        await here.at_shuffler.advance()
        before = len(await here.at_shuffler.outgoing())
        await here.send(*(looks_sealed(parties.collection) for _ in range(30)))
        await here.at_shuffler.advance()
        batches = await here.at_shuffler.outgoing()
        await here.at_shuffler.stop_intake()
        await here.at_shuffler.advance()
        return before, len(batches), here.logged.events

    before, batches, events = result
    assert (before, batches) == (0, 2)
    assert events == [("batch-made", 20), ("batch-made", 20), ("closing", 1)]


def test_counts_are_of_all_collections_together_and_only_at_their_own_address(tmp_path):
    @one_test(tmp_path)
    async def text(here):
        await here.send(looks_sealed(here.parties.collection))
        await here.post(b"no upload")
        transport = httpx.ASGITransport(app=metrics_app([here.at_shuffler]))
        async with httpx.AsyncClient(transport=transport) as client:
            return (await client.get("http://127.0.0.1/metrics")).text

    lines = text.splitlines()
    assert lines[0] == "# TYPE shuffledp_submissions_total counter"
    assert 'shuffledp_submissions_total{result="stored"} 1' in lines
    assert 'shuffledp_submissions_total{result="malformed"} 1' in lines
    assert "collection" not in text


def test_a_collection_goes_on_where_the_process_ended(tmp_path):
    parties = Parties()

    async def test():
        async with shuffler(tmp_path, parties) as here:
            await here.send(*(looks_sealed(parties.collection) for _ in range(11)))
            await here.at_shuffler._queue.do(here.at_shuffler._store.enter, Phase.CLOSING)
        async with shuffler(tmp_path, parties) as again:
            await again.at_shuffler.advance()
            return await again.status(), again.logged.events

    assert run(test) == ({"phase": "closed", "at_least_minimum": True}, [("batch-made", 11)])
