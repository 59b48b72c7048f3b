"""An analyst who fetches from a shuffler of its own process, while either is killed; and the command that does so."""

import asyncio
import json
import secrets
import shutil
import signal
import time
from datetime import UTC, datetime

import httpx
import numpy as np
import pytest

from cli.running import refused, shuffledp
from parties.service.given import Parties, task
from parties.service.processes import place, until
from parties.service.test_analyzer_app import submissions_of
from shuffledp.core.errors import BatchTooSmallError, InvalidParameterError, UnreachableError
from shuffledp.parties.service.client import answer_to, new_client
from shuffledp.parties.service.fetched_release import fetch_release
from shuffledp.parties.wire.close_request import CLOSE_TYPE, CloseRequest
from shuffledp.parties.wire.grammar import UPLOAD_TYPE, UploadRequest
from shuffledp.parties.wire.keys import AnalyzerKey


def send(where, submissions):
    url = f"{where.url}{where.parties.collection.path}/reports"
    for start in range(0, len(submissions), 200):
        body = UploadRequest(submissions[start : start + 200]).encode()
        answer = httpx.post(url, content=body, headers={"content-type": UPLOAD_TYPE})
        assert answer.status_code == 200


def close(where):
    collection = where.parties.collection
    body = CloseRequest.by(where.parties.shuffler_key, collection.id, datetime.now(UTC)).encode()
    with new_client() as client:
        answer_to(client, "POST", f"{where.url}{collection.path}/close", 10.0, body=body, media_type=CLOSE_TYPE)


def fetch(where, **further):
    folder, keys = where.folder / "office", [where.parties.analyzer_key]
    return asyncio.run(asyncio.wait_for(fetch_release(where.parties.collection, keys, folder, **further), 60.0))


@pytest.mark.usefixtures("without_a_page")
def test_what_is_there_is_taken_at_once_and_the_rest_when_it_is_there(tmp_path):
    with place(tmp_path, fetches=True) as where:
        where.start("shuffler")
        send(where, submissions_of(where.parties))
        early = fetch(where, once=True)
        assert (early.has_ended, early.releases) == (False, {})
        close(where)
        found = fetch(where)
        where.running["shuffler"].end()
        again = fetch(where)  # all is here: nobody is asked
    assert found == again
    assert [each["num_reports"] for each in found.releases.values()] == [40]


def test_a_collection_of_too_few_ends_by_an_error_that_says_so(tmp_path):
    with place(tmp_path, fetches=True) as where:
        where.start("shuffler")
        send(where, submissions_of(where.parties, np.arange(9) % 2))
        close(where)
        for _ in range(2):
            with pytest.raises(BatchTooSmallError, match="the reports of at least 10 people"):
                fetch(where)


def test_a_shuffler_that_is_away_is_waited_for_unless_the_command_asks_once(tmp_path):
    with place(tmp_path, fetches=True) as where:
        with pytest.raises(UnreachableError, match="got: no answer"):
            fetch(where, once=True)
        where.start("shuffler")
        close(where)
        where.running["shuffler"].end()
        said = []

        def waiting(awaited):
            said.append(awaited.silent)
            if awaited.silent:
                where.start("shuffler")

        with pytest.raises(BatchTooSmallError):
            fetch(where, waiting=waiting)
        assert said[:3] == [(), (where.parties.collection.shuffler.url,), ()]


def test_another_key_is_refused_before_anything_is_asked(tmp_path):
    collection, keys = Parties.fetching().collection, [AnalyzerKey.generate()]
    with pytest.raises(InvalidParameterError, match="it is another"):
        asyncio.run(fetch_release(collection, keys, tmp_path / "office"))


@pytest.mark.usefixtures("without_a_page")
@pytest.mark.parametrize("kills", [2, pytest.param(100, marks=pytest.mark.deep)])
def test_whatever_is_killed_what_was_acknowledged_is_released_once(tmp_path, kills):
    """Each batch of twenty has a release of its own, and all have one together: nothing lost, nothing twice."""
    count = 20 * (kills + 2)
    with place(tmp_path, task(), fetches=True, every=20) as where:
        for role in ("shuffler", "analyzer"):
            where.start(role)
        submissions = submissions_of(where.parties, np.arange(count) % 2)
        for number in range(kills):
            send(where, submissions[20 * number : 20 * (number + 1)])
            time.sleep(secrets.randbelow(100) / 1000)
            role = ("shuffler", "analyzer")[number % 2]
            where.running[role].end(signal.SIGKILL)
            where.start(role)
        send(where, submissions[20 * kills :])
        close(where)
        until((where.release / "together" / "statement.json").exists, 60.0 + kills)
    together = json.loads((where.release / "together" / "statement.json").read_text())
    assert together["num_reports"] == count
    assert together["flow"]["collected"]["duplicates"] == 0
    assert len(list(where.release.glob("batch-*"))) == kills + 2
    assert "batch-missing" not in where.log("analyzer").read_text()


# ---- the command ----------------------------------------------------------------------------------------------------


def test_the_command_fetches_and_shows_the_promise_and_refuses_what_it_cannot_fetch(tmp_path, monkeypatch):
    with place(tmp_path, fetches=True) as where:
        monkeypatch.chdir(tmp_path)
        where.start("shuffler")
        send(where, submissions_of(where.parties))
        given = ("collect", "fetch", "survey.collection", "--key", "analyzer.key", "--folder", "office")
        assert "run the same command again later" in shuffledp(*given, "--once").out
        close(where)
        done = shuffledp(*given)
        assert (done.code, "Waiting for the close." in done.err) == (0, True)
        assert "epsilon <= 0." in done.out
        assert "Page: office/release/release.html" in done.out
        assert (tmp_path / "office" / "release" / "release.html").exists()
        shutil.rmtree(tmp_path / "office")
        lost = shuffledp(*given)
        assert (lost.code, "They were fetched into another folder than office" in lost.err) == (3, True)
    assert "got a key that signs" in refused(2, *given[:4], "shuffler.key", *given[5:])
    (tmp_path / "other").mkdir()
    with place(tmp_path / "other"):
        monkeypatch.chdir(tmp_path / "other")
        assert "are sent to http://127.0.0.1" in refused(2, *given)
