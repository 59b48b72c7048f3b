"""The commands that ask the shuffler about a collection: how it stands, and to close it."""

import json
from pathlib import Path

import httpx
import pytest

from cli.running import refused, shuffledp
from parties.issuer.issuing import issuer_key
from parties.service.devices import SHUFFLER_KEY, Shuffler, collection_of
from parties.service.given import Parties
from shuffledp.cli.collect_command import WaitingNotices
from shuffledp.parties.service import client
from shuffledp.parties.service.awaited import Awaited
from shuffledp.parties.wire.close_request import CloseRequest
from shuffledp.parties.wire.keys import AnalyzerKey
from shuffledp.survey import Collection, Service


def said(phase):
    """How a shuffler says where a collection stands."""
    return httpx.Response(200, content=json.dumps({"phase": phase, "at_least_minimum": False}).ljust(80).encode())


@pytest.fixture
def shuffler(tmp_path, monkeypatch):
    """One that says that a collection is open, with fewer reports than its minimum."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "survey.collection").write_bytes(collection_of().canonical)
    shuffler = Shuffler(*[said("open")] * 9)
    monkeypatch.setattr(client, "new_client", lambda **_: shuffler.client())
    return shuffler


def test_the_status_says_whether_enough_have_answered_and_not_how_many(shuffler):
    assert shuffledp("collect", "status", "survey.collection").out.splitlines()[:2] == [
        "survey: open.",
        "Fewer than 2 reports wait to be shuffled. It closes at "
        + collection_of().closes.replace("T", " ").replace("Z", " UTC."),
    ]
    assert str(shuffler.requests[0].url).startswith("https://mixer.example/collections/")
    found = json.loads(shuffledp("collect", "status", "survey.collection", "--json").out)
    assert (found["phase"], found["at_least_minimum"]) == ("open", False)


def written(name, key):
    """A file of a private key."""
    Path(name).touch(mode=0o600)
    Path(name).write_text(key.to_pem())


def test_only_the_shufflers_key_asks_to_close(shuffler):
    written("shuffler.key", SHUFFLER_KEY)
    written("analyzer.key", AnalyzerKey.generate())
    shuffler.answers[:2] = [httpx.Response(200), said("closing")]
    assert shuffledp("collect", "close", "survey.collection", "--key", "shuffler.key").code == 0
    asked = CloseRequest.decode(shuffler.bodies[0])
    assert asked.collection_id == Collection.read("survey.collection").id
    assert shuffler.requests[0].url.path.endswith("/close")
    found = refused(2, "collect", "close", "survey.collection", "--key", "analyzer.key")
    assert "--key must be the shuffler's" in found


def test_a_collection_that_is_open_after_its_close_is_no_success_and_its_issuer_is_not_told(shuffler):
    issuer = Service(url="https://issuer.example", key=Parties().published(issuer_key()))
    Path("survey.collection").write_bytes(collection_of(issuer=issuer, transport="token").canonical)
    written("shuffler.key", SHUFFLER_KEY)
    assert "must close the collection; it says that it is open" in (
        refused(2, "collect", "close", "survey.collection", "--key", "shuffler.key")
    )
    assert {request.url.host for request in shuffler.requests} == {"mixer.example"}


def test_an_answer_that_says_nothing_of_a_collection_is_refused(shuffler):
    shuffler.answers[:] = [httpx.Response(200, content=b"hello")]
    assert "must say how a collection stands" in refused(2, "collect", "status", "survey.collection")


def test_whoever_says_to_come_again_is_away_and_whoever_refuses_is_not(shuffler, monkeypatch):
    monkeypatch.setattr("shuffledp.parties.service.client.attempts", lambda _: [None])
    shuffler.answers[:] = [httpx.Response(503), httpx.Response(403)]
    assert "got: 503" in refused(9, "collect", "status", "survey.collection")
    assert "got: 403" in refused(2, "collect", "status", "survey.collection")


def test_nobody_there_to_hand_over_is_no_bug(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = Parties(shuffler="http://127.0.0.1:1", analyzer="")
    Path("survey.collection").write_bytes(given.collection.canonical)
    written("office.key", given.analyzer_key)
    asked = ("collect", "fetch", "survey.collection", "--key", "office.key", "--folder", "office", "--once")
    done = shuffledp(*asked)
    assert (done.code, "http://127.0.0.1:1 must answer; got: no answer" in done.err) == (9, True)


def test_where_nobody_answers_it_is_said(shuffler, monkeypatch):
    monkeypatch.setattr("shuffledp.cli.collect_command._PATIENCE", 0.01)
    shuffler.answers[:] = [httpx.ConnectError("")] * 50
    assert "https://mixer.example must answer; got: no answer" in refused(9, "collect", "status", "survey.collection")


def test_who_waits_from_the_start_for_somebody_who_is_away_is_told(capsys):
    """Mutant: only whoever ceases to answer is told of."""
    waiting, away = WaitingNotices(once=False), Awaited(silent=("https://mixer.example",))
    for each in (away, away, Awaited(), Awaited()):
        waiting(each)
    assert capsys.readouterr().err.splitlines() == [
        "Waiting for the close; and for https://mixer.example, which does not answer. Stop it at any time, and run the "
        "same command again.",
        "Waiting for the close.",
    ]
