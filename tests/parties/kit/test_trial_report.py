"""A test report goes the whole way of people's reports, looks like one of them, and counts for nothing but a test."""

import json
from datetime import UTC, datetime

import numpy as np
import pytest

from cli.running import refused as refused_by
from cli.running import shuffledp
from parties.issuer.issuing import WithTokens
from parties.kit.test_doctor import relayed, wrong
from parties.service.at_work import collected, run, shuffler
from parties.service.given import Parties, task, task_near_an_order, task_of_two
from parties.service.processes import place, until
from parties.service.test_analyzer_app import statement, submissions_of
from parties.service.test_ticks_collected import ANSWERS, asked, ticks
from parties.service.test_ticks_collected import submissions_of as ticked
from parties.service.test_token_uploads import post, refused
from shuffledp.accounting import account
from shuffledp.core.errors import InvalidParameterError
from shuffledp.parties.issuer.invitations import new_invitations
from shuffledp.parties.kit import trial_report
from shuffledp.parties.kit.trial_report import examine_by_test, require_test, sealed_test
from shuffledp.parties.service.batch_release import statement_in
from shuffledp.parties.service.client import answer_to, new_client, upload
from shuffledp.parties.wire.close_request import CLOSE_TYPE, CloseRequest
from shuffledp.parties.wire.grammar import ReportError, UploadRequest

pytestmark = pytest.mark.usefixtures("without_a_page")


@pytest.fixture
def without_a_page(monkeypatch):
    monkeypatch.setattr("shuffledp.parties.service.batch_release.write_release", lambda *_, **_further: None)


def made_tests(parties, number):
    return [sealed_test(parties.collection, parties.analyzer_key.config) for _ in range(number)]


def flows(said):
    return [each["flow"] for each in said.get("columns", [said])]


def without_flow(said):
    """A statement without counts of what came, by which alone tests may be told, and digests of shuffled files."""
    if isinstance(said, dict):
        return {name: without_flow(each) for name, each in said.items() if name not in ("flow", "files")}
    return [without_flow(each) for each in said] if isinstance(said, list) else said


UNDER_A_BLANKET = {"kind": "k-rr", "epsilon0": 4.0, "categories": ["a", "b", "c"], "blanket": True}
KINDS = {
    "one column": (task(), submissions_of),
    "two columns": (task_of_two(), submissions_of),
    "ticks": (asked(ticks(), least=10), lambda parties: ticked(parties, ANSWERS)),
    "blanket": (
        task(randomizer=UNDER_A_BLANKET | {"blanket_messages": 2.5}),
        lambda parties: ticked(parties, b"smokes\n" + b"a\nb\n" * 30),
    ),
}


@pytest.mark.deep
@pytest.mark.parametrize("kind", KINDS)
def test_a_release_is_the_same_but_that_tests_are_counted_apart(tmp_path, kind):
    given, sent_by = KINDS[kind]
    parties = Parties(given)
    people, tests = sent_by(parties), made_tests(parties, 3)
    run(collected, tmp_path / "without", parties, people)
    run(collected, tmp_path / "with", parties, [tests[0], *people, *tests[1:], tests[0]])
    without, with_tests = statement(tmp_path / "without"), statement(tmp_path / "with")
    assert without_flow(with_tests) == without_flow(without)
    for before, after in zip(flows(without), flows(with_tests), strict=True):
        assert "tests" not in before["collected"]
        expected = before["collected"] | {"tests": 3, "duplicates": 1}
        assert after["collected"] == expected
        assert (after["received"], after["released"]) == (before["received"] + 4, before["released"])


@pytest.mark.parametrize("kind", KINDS)
def test_a_test_report_has_the_form_of_peoples_reports(kind):
    given, sent_by = KINDS[kind]
    parties = Parties(given)
    (test,) = made_tests(parties, 1)
    person, *_ = sent_by(parties)
    assert len(UploadRequest((test,)).encode()) == len(UploadRequest((person,)).encode())
    for ours, theirs in zip(test.reports, person.reports, strict=True):
        assert ours.ciphertext.config_id == theirs.ciphertext.config_id
        assert len(ours.ciphertext.enc) == len(theirs.ciphertext.enc)
        assert len(ours.ciphertext.payload) == len(theirs.ciphertext.payload)
        assert ours.public_extensions == theirs.public_extensions == ()


def test_people_who_are_too_few_are_not_made_enough_by_tests(tmp_path):
    parties = Parties()
    _, log = run(collected, tmp_path, parties, [*submissions_of(parties, [1] * 9), *made_tests(parties, 2)])
    assert "seen-not-released" in dict(log.events)
    said = statement(tmp_path)
    assert (said["num_reports"], said["estimates"]) == (9, [])
    assert said["flow"]["collected"]["tests"] == 2
    loss = account(parties.collection.task.column.model(9), delta=1e-6).guarantee.epsilon
    assert said["statements"][0]["guarantee"]["epsilon"] == loss


def test_whoever_marks_an_own_report_as_a_test_stays_away_and_has_spent_the_token(tmp_path):
    parties = WithTokens()
    token, (test,) = parties.token(), made_tests(parties, 1)
    (answer,) = submissions_of(parties, [1])

    async def sent():
        async with shuffler(tmp_path, parties) as here:
            return [refused(await post(here, each, token)) for each in (test, answer)]

    assert run(sent) == [[], [ReportError.TOKEN_SPENT]]


# ---- where none is sent ---------------------------------------------------------------------------------------------


def test_a_test_that_could_be_told_apart_or_has_no_token_is_refused_by_name():
    open_to_all, with_tokens = Parties().collection, WithTokens().collection
    require_test(open_to_all, is_invited=False)
    require_test(with_tokens, is_invited=True)
    with pytest.raises(InvalidParameterError, match="near an order: each report has its place"):
        require_test(Parties(task_near_an_order()).collection, is_invited=False)
    with pytest.raises(InvalidParameterError, match="--invitation must be left out"):
        require_test(open_to_all, is_invited=True)
    with pytest.raises(InvalidParameterError, match="--invitation must be given"):
        require_test(with_tokens, is_invited=False)


def said_by(where, **further):
    return list(examine_by_test(where.parties.collection, state=where.folder / "tests", **further))


def answered(where, people):
    """So many people answer."""
    with new_client(to=where.parties.collection) as client:
        for each in submissions_of(where.parties, np.arange(people) % 2):
            assert not upload(where.parties.collection, UploadRequest((each,)).encode(), client, patience=5).refused


@pytest.mark.parametrize("enough", [False, True])
def test_without_fakes_one_is_sent_only_when_enough_wait(tmp_path, monkeypatch, enough):
    monkeypatch.setattr(trial_report, "status_of", lambda *_, **__: {"at_least_minimum": enough})
    monkeypatch.setattr(trial_report, "send_test", lambda *_: None)
    assert len(wrong(examine_by_test(Parties().collection, state=tmp_path))) == (not enough)


@pytest.mark.deep
def test_none_takes_the_place_of_somebody_on_whom_the_promise_rests(tmp_path, monkeypatch):
    monkeypatch.setattr(trial_report, "_PATIENCE", 0.1)
    with place(tmp_path, task(release={"delta": 1e-6, "minimum_batch": 2})) as where:
        (away,) = wrong(said_by(where))
        assert "none was stored" in away
        where.start("shuffler")
        (early,) = wrong(said_by(where))
        assert "the shuffler counts one among the 2 reports that a batch needs" in early
        assert "fakes of the task" in early
        answered(where, 2)
        assert wrong(said_by(where)) == []


ROOM = [{"people": {"fakes": 1}}, {"people": {"unvouched": True}}]


@pytest.mark.parametrize("further", [*ROOM, {"demonstration": True}])
def test_one_is_sent_at_once_where_the_promise_has_room_for_it(tmp_path, monkeypatch, further):
    sent = []
    monkeypatch.setattr(trial_report, "send_test", lambda *_: sent.append("one"))
    shown = {"demonstration": True} if "demonstration" in further else {}
    parties = Parties(task(**{} if shown else further), **shown)
    assert wrong(examine_by_test(parties.collection, state=tmp_path)) == []
    assert sent == ["one"]


@pytest.mark.parametrize(("further", "most"), [(ROOM[0], 1), ({"people": {"fakes": 2}}, 2), (ROOM[1], 4)])
def test_fakes_cover_as_many_tests_and_no_more(tmp_path, monkeypatch, further, most):
    sent = []
    monkeypatch.setattr(trial_report, "send_test", lambda *_: sent.append("one"))
    monkeypatch.setattr(trial_report, "status_of", lambda *_, **__: {"at_least_minimum": False})
    collection = Parties(task(**further)).collection
    said = [len(wrong(examine_by_test(collection, state=tmp_path))) for _ in range(4)]
    assert said == [0] * most + [1] * (4 - most)
    assert len(sent) == most


@pytest.mark.parametrize("further", ROOM[:1])
def test_batches_that_leave_one_by_one_have_no_room_without_fakes(monkeypatch, further):
    monkeypatch.setattr(trial_report, "status_of", lambda *_, **__: {"at_least_minimum": True})
    monkeypatch.setattr(trial_report, "send_test", lambda *_: None)
    assert len(wrong(examine_by_test(Parties(every=10).collection))) == 1
    assert wrong(examine_by_test(Parties(task(**further), every=10).collection)) == []


def test_a_closed_collection_refuses_a_test_as_it_refuses_people(monkeypatch):
    monkeypatch.setattr(trial_report, "send_test", lambda *_: ReportError.TASK_EXPIRED)
    (said,) = wrong(examine_by_test(Parties(task(**ROOM[0])).collection))
    assert "refused, 1: the collection is closed" in said


# ---- the command ----------------------------------------------------------------------------------------------------


def test_the_command_sends_a_test_only_when_told(tmp_path, monkeypatch):
    monkeypatch.setattr("shuffledp.parties.kit.doctor.examine_parties", lambda *_, **__: [])
    monkeypatch.setattr(trial_report, "send_test", lambda *_: None)
    file = tmp_path / "survey.collection"
    file.write_bytes(Parties(task(**ROOM[0])).collection.canonical)
    assert shuffledp("doctor", file).out == ""
    assert "ok    test report: stored" in shuffledp("doctor", file, "--test").out


@pytest.mark.deep
def test_the_command_takes_a_collection_and_examines_its_parties(tmp_path):
    with place(tmp_path, task(**ROOM[0])) as where:
        file = tmp_path / "survey.collection"
        where.start("shuffler")
        plain, tested = shuffledp("doctor", file), shuffledp("doctor", file, "--test")
        assert "test report" not in plain.out
        assert "ok    test report: stored; the release counts it among `tests`" in tested.out
    assert "--test must be left out but for a kit" in refused_by(2, "doctor", "https://a.example", "--test")
    assert "--invitation must be left out without --test" in refused_by(2, "doctor", file, "--invitation", file)


@pytest.mark.deep
def test_a_test_goes_through_issuer_relay_shuffler_and_analyzer_and_is_counted_apart(tmp_path):
    with relayed(tmp_path, "gateway", task(people={"fakes": 3}), kind=WithTokens) as where:
        collection = where.parties.collection
        (invited, again), listed = new_invitations(collection, 2)
        files = [tmp_path / "test.invitation", tmp_path / "again.invitation"]
        for file, each in zip(files, (invited, again), strict=True):
            file.write_text(json.dumps(each.to_dict()))
        (tmp_path / "invited.json").write_text(json.dumps(listed.to_dict()))
        for role in ("issuer", "shuffler", "analyzer"):
            where.start(role)
        assert wrong(said_by(where, invitation=files[0])) == []
        (spent,) = wrong(said_by(where, invitation=files[0]))
        assert "used on another device" in spent
        assert wrong(said_by(where, invitation=files[1])) == []
        tokens = [where.parties.token() for _ in range(20)]
        with new_client(to=collection) as client:
            for each, token in zip(submissions_of(where.parties, np.arange(20) % 2), tokens, strict=True):
                body = UploadRequest((each,)).encode()
                assert not upload(collection, body, client, patience=5, token=token.shown()).refused
        close(where)
        said = until(lambda: statement_in(where.release, collection))
    assert said["num_reports"] == 20
    assert said["flow"]["collected"]["tests"] == 2


def close(where):
    collection = where.parties.collection
    body = CloseRequest.by(where.parties.shuffler_key, collection.id, datetime.now(UTC)).encode()
    with new_client() as client:
        answer_to(client, "POST", f"{where.url}{collection.path}/close", 5, body=body, media_type=CLOSE_TYPE)
