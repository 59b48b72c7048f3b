"""The device's part of a collection: the same bytes until they are stored, and one answer from one device."""

from dataclasses import replace
from datetime import timedelta

import httpx
import numpy as np
import pytest

from parties.service.devices import KEY, NEXT, TWO, Shuffler, collection_of, refusing
from parties.service.given import Parties, task_of_two
from shuffledp.core.errors import InvalidParameterError, LocalProtocolError, RemoteProtocolError
from shuffledp.core.instants import written
from shuffledp.files.devices import randomize_each
from shuffledp.files.reading import CsvInMemory
from shuffledp.parties.http.http_messages import Problem
from shuffledp.parties.service.client import Receipt, _parts, answer_to, reason_of, send
from shuffledp.parties.service.collection_terms import terms_of
from shuffledp.parties.service.device_memory import DeviceMemory, answer_once
from shuffledp.parties.service.public_columns import public_table
from shuffledp.parties.wire.grammar import ReportError, UploadRequest
from shuffledp.parties.wire.hpke import Opener
from shuffledp.parties.wire.report_bytes import ReportLayout
from shuffledp.survey import Collection, Task

ROWS = b"smokes,drinks\nYes,No\nNo,No\nNo,Yes\n"


@pytest.fixture(scope="module")
def collection() -> Collection:
    return collection_of()


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr("shuffledp.parties.service.client.FIRST_WAIT", 0.001)


def crowd(collection):
    return randomize_each(collection.task, CsvInMemory(ROWS))


def opened(collection, body, key=KEY):
    """What the analyzer reads in each column of a request."""
    upload = UploadRequest.decode(body, num_columns=2)
    columns = []
    for number, column in enumerate(collection.task.columns):
        opener = Opener.by([key], collection_id=collection.id, column=number)
        blobs = [opener.open(each.reports[number].ciphertext) for each in upload.submissions]
        reports, malformed = ReportLayout.of(column.randomizer.randomizer().model).decode(blobs)
        assert not len(malformed)
        columns.append(reports["value"].tolist())
    return columns


def test_the_analyzer_reads_what_devices_randomized(collection):
    shuffler = Shuffler()
    assert send(collection, crowd(collection), shuffler.client()) == Receipt(3)
    assert opened(collection, shuffler.bodies[0]) == [[1, 0, 0], [0, 0, 1]]
    assert str(shuffler.requests[0].url) == f"https://mixer.example{collection.path}/reports"


def test_no_answer_travels_outside_of_what_is_sealed(collection):
    shuffler = Shuffler()
    send(collection, crowd(collection), shuffler.client())
    assert b"Yes" not in shuffler.bodies[0]
    assert {"cookie", "referer", "authorization"}.isdisjoint(shuffler.requests[0].headers)


def test_the_same_bytes_are_sent_until_they_are_stored(collection):
    shuffler = Shuffler(httpx.ReadTimeout(""), httpx.Response(503), httpx.ConnectError(""))
    assert send(collection, crowd(collection), shuffler.client()).stored == 3
    assert len(set(shuffler.bodies)) == 1
    assert len(shuffler.bodies) == 4


def test_a_report_is_sealed_anew_only_to_the_successor_of_an_expired_key(collection):
    shuffler = Shuffler(refusing(ReportError.OUTDATED_CONFIG, places=[0, 2]))
    assert send(collection, crowd(collection), shuffler.client()) == Receipt(3)
    assert opened(collection, shuffler.bodies[1], NEXT) == [[1, 0], [0, 1]]


def test_an_upload_has_no_more_people_than_fit_into_it(collection, monkeypatch):
    one, found = sum(terms_of(collection).lengths), []
    for most in (one - 1, 2 * one, 3 * one - 1, 1 << 20):
        monkeypatch.setattr("shuffledp.parties.service.client._MOST_BYTES", most)
        found.append([part.num_users for part in _parts(collection, crowd(collection))])
    assert found == [[1, 1, 1], [2, 1], [2, 1], [3]]


def test_refusals_are_counted_by_reason(collection):
    shuffler = Shuffler(refusing(ReportError.TASK_EXPIRED, places=[1]))
    assert send(collection, crowd(collection), shuffler.client()) == Receipt(2, {ReportError.TASK_EXPIRED: 1})


def test_a_service_that_never_answers_is_given_up(collection):
    shuffler = Shuffler(*[httpx.ConnectError("")] * 100)
    with pytest.raises(
        RemoteProtocolError, match=r"mixer\.example must answer; got: no answer\. Run the same command again later"
    ):
        send(collection, crowd(collection), shuffler.client(), patience=0.01)


@pytest.mark.parametrize("content", [b"", b"\x00", b"<html>Yes</html>"])
def test_an_answer_that_is_none_of_the_protocol_is_refused(collection, content):
    shuffler = Shuffler(httpx.Response(200, content=content))
    with pytest.raises(RemoteProtocolError, match="as the protocol says"):
        send(collection, crowd(collection), shuffler.client())


def test_a_refusal_is_named_in_no_words_but_those_of_the_protocol():
    shuffler = Shuffler(httpx.Response(404, json={"type": "urn:x:error:unrecognizedCollection", "detail": "secret"}))
    with pytest.raises(RemoteProtocolError) as caught:
        answer_to(shuffler.client(), "GET", "https://mixer.example/collections/x", 1)
    assert "404 unrecognizedCollection" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_nobody_is_followed_to_another_place(collection):
    shuffler = Shuffler(httpx.Response(307, headers={"Location": "https://elsewhere.example"}))
    with pytest.raises(RemoteProtocolError, match="307"):
        send(collection, crowd(collection), shuffler.client())
    assert len(shuffler.requests) == 1


def test_public_columns_travel_beside_each_report_where_the_shuffle_is_about_them(collection, monkeypatch):
    monkeypatch.setattr("shuffledp.parties.service.client._AT_A_TIME", 2)
    near = {"shuffler": {"kind": "mallows", "concentration": 0.1}, "groups": {"columns": ["x"], "neighbors": 1}}
    task = Task.from_dict(TWO | near | {"public": ["x"]})
    made = Collection.from_dict(collection.to_dict() | {"task": task.to_dict()})
    sent = randomize_each(task, CsvInMemory(b"x,smokes,drinks\n1.5,Yes,No\n2.5,No,No\n-3,No,Yes\n"))
    shuffler = Shuffler()
    assert send(made, sent, shuffler.client()) == Receipt(3)
    uploads = [UploadRequest.decode(body, num_columns=2).submissions for body in shuffler.bodies]
    beside = [report.public_extensions for upload in uploads for one in upload for report in one.reports[:1]]
    assert public_table(task.columns[0], beside)["x"].tolist() == [1.5, 2.5, -3.0]


# ---- one person -----------------------------------------------------------------------------------------------------


def alone(collection):
    return randomize_each(collection.task, CsvInMemory(b"smokes,drinks\nYes,No\n"))


def test_a_device_that_was_cut_off_sends_the_same_report_and_randomizes_nothing_again(collection, tmp_path):
    memory, cut = DeviceMemory(collection.id, tmp_path), Shuffler(*[httpx.ConnectError("")] * 100)
    with pytest.raises(RemoteProtocolError):
        answer_once(collection, lambda: alone(collection), memory, cut.client(), patience=0.01)
    shuffler = Shuffler()

    def never():
        pytest.fail("the answer was randomized again")

    assert answer_once(collection, never, memory, shuffler.client(), patience=1) == Receipt(1)
    assert shuffler.bodies[0] == cut.bodies[0]


def test_a_device_answers_once(collection, tmp_path):
    memory = DeviceMemory(collection.id, tmp_path)
    answer_once(collection, lambda: alone(collection), memory, Shuffler().client(), patience=1)
    with pytest.raises(LocalProtocolError, match="has answered the collection already"):
        answer_once(collection, lambda: alone(collection), memory, Shuffler().client(), patience=1)


def test_what_is_remembered_after_it_is_stored_is_that_alone(collection, tmp_path):
    memory = DeviceMemory(collection.id, tmp_path)
    answer_once(collection, lambda: alone(collection), memory, Shuffler().client(), patience=1)
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [(f"{collection.id.hex()}.answered", b"")]


def test_a_report_that_could_not_be_stored_stays_to_be_sent(collection, tmp_path):
    memory, shuffler = DeviceMemory(collection.id, tmp_path), Shuffler(refusing(ReportError.REPORT_DROPPED))
    found = answer_once(collection, lambda: alone(collection), memory, shuffler.client(), patience=1)
    assert found.refused == {ReportError.REPORT_DROPPED: 1}
    assert memory.pending() == shuffler.bodies[0]


@pytest.mark.parametrize("error", ReportError)
def test_a_refused_report_is_sent_again_as_it_is_so_that_no_refusal_makes_a_second_one(collection, tmp_path, error):
    memory, shuffler, randomized = DeviceMemory(collection.id, tmp_path), Shuffler(*[refusing(error)] * 9), []
    for _ in range(3):
        found = answer_once(
            collection, lambda: randomized.append(1) or alone(collection), memory, shuffler.client(), patience=1
        )
        assert found.refused == {error: 1}
    assert len(randomized) == 1
    assert memory.pending() == shuffler.bodies[-1]


def test_a_report_to_a_key_that_has_expired_meanwhile_is_forgotten_and_the_next_goes_to_its_successor(tmp_path):
    parties = Parties.with_successor(task_of_two())
    collection, memory = parties.collection, DeviceMemory(parties.collection.id, tmp_path)
    with pytest.raises(RemoteProtocolError):
        answer_once(
            collection, lambda: alone(collection), memory, Shuffler(httpx.ConnectError("")).client(), patience=0
        )
    key = replace(collection.analyzer.key, expires=written(parties.now - timedelta(hours=1)))
    later = replace(collection, analyzer=replace(collection.analyzer, key=key))
    outdated, well = Shuffler(refusing(ReportError.OUTDATED_CONFIG)), Shuffler()
    assert answer_once(later, lambda: alone(later), memory, outdated.client(), patience=1).stored == 0
    assert answer_once(later, lambda: alone(later), memory, well.client(), patience=1).stored == 1
    sent = UploadRequest.decode(well.bodies[0], num_columns=2).submissions[0].reports[0]
    assert sent.ciphertext.config_id == parties.successor.config.id


def test_a_device_that_can_remember_nothing_sends_nothing(collection, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InvalidParameterError, match="state must be a folder"):
        DeviceMemory(collection.id, tmp_path / "file")


def test_all_submissions_have_one_length(collection):
    shuffler = Shuffler()
    send(collection, crowd(collection), shuffler.client())
    upload = UploadRequest.decode(shuffler.bodies[0], num_columns=2)
    assert len(np.unique([sum(len(each.encode()) for each in one.reports) for one in upload.submissions])) == 1


def test_a_refusal_is_named_and_a_used_invitation_told_in_words():
    def refusal(problem):
        said = problem.response()
        return httpx.Response(said.status_code, content=said.body)

    assert reason_of(refusal(Problem.INVITATION_USED)).startswith(
        "403 the invitation has been used on another device. Send the answer from there"
    )
    assert reason_of(refusal(Problem.TOO_LARGE)) == "413 tooLarge"
    assert reason_of(httpx.Response(502, content=b"<html>")) == "502"


def test_nothing_in_the_uploads_of_one_answer_links_two_weeks(tmp_path):
    towns = {"kind": "olh", "epsilon0": 2.0, "categories": ["Ulm", "Bonn", "Unna"]}
    weekly = TWO | {"value": [{"column": name, "randomizer": towns} for name in ("home", "work")]}
    bodies, seeds, parts = [], [], []
    for _ in range(2):
        week, shuffler = collection_of(weekly), Shuffler()
        row = CsvInMemory(b"home,work\nUlm,Ulm\n")
        memory, client = DeviceMemory(week.id, tmp_path), shuffler.client()
        answer_once(week, lambda week=week, row=row: randomize_each(week.task, row), memory, client, patience=1)
        (body,) = shuffler.bodies
        (submission,) = UploadRequest.decode(body, num_columns=2).submissions
        sealed = submission.reports[0].ciphertext
        blob = Opener.by([KEY], collection_id=week.id, column=0).open(sealed)
        reports, _ = ReportLayout.of(week.task.columns[0].randomizer.randomizer().model).decode([blob])
        bodies.append(body)
        seeds.append(int(reports["seed"][0]))
        parts.append((submission.id, sealed.enc, sealed.payload, str(shuffler.requests[0].url)))
    assert len(bodies[0]) == len(bodies[1])
    assert seeds[0] != seeds[1]
    assert all(first != second for first, second in zip(*parts, strict=True))
