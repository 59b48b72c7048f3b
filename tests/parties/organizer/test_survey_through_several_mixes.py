"""A survey whose answers three mixes share: made by one command, closed, released and published by another."""

import json
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import count

import httpx
import pytest

from cli.running import shuffledp
from parties.organizer.mix_in_thread import mix_in_thread
from parties.service.relay import Relay
from shuffledp.core.errors import AgreementError, InvalidParameterError, RemoteProtocolError
from shuffledp.files.devices import randomize_each
from shuffledp.files.reading import CsvInMemory
from shuffledp.parties.organizer import mix_survey
from shuffledp.parties.organizer.survey_folder import SurveyFolder
from shuffledp.parties.service import client
from shuffledp.parties.service.client import new_client, send
from shuffledp.parties.service.share_uploads import shares_of
from shuffledp.survey.asked_questions import AskedQuestion
from shuffledp.survey.survey_terms import SurveyTerms


def made(folder, stack, monkeypatch, *, last=None):
    """The collection of a new survey at three mixes, which nine people have answered; the last one may end before."""
    urls = [
        each.enter_context(mix_in_thread(folder / f"mix{number}", monkeypatch))
        for number, each in enumerate((stack, stack, last or stack))
    ]
    mixes = [each for url in urls for each in ("--mix", url)]
    asked = ["survey", "new", "Do you smoke?", "--sum", *mixes, "--people", 12, "--minimum", 6, "--fakes", 0]
    done = shuffledp(*asked, "--output", folder / "survey")
    assert done.code == 0, done.err
    assert "WARNING: If more than one of the 3 mixes work together with whoever has analyst.key" in done.out
    assert "If the mix and whoever" not in done.out
    collection = SurveyFolder(folder / "survey").read()
    assert [each.url for each in collection.hosts] == urls
    answers = CsvInMemory(b"answer\n" + b"Yes\n" * 3 + b"No\n" * 6)
    with new_client() as sending:
        assert send(collection, randomize_each(collection.task, answers), sending).stored == 9
    return collection


@pytest.mark.deep
def test_a_survey_at_three_mixes_is_released_and_published_on_its_page(tmp_path, monkeypatch):
    with ExitStack() as stack:
        collection = made(tmp_path, stack, monkeypatch)
        assert "hosts agree" in shuffledp("survey", "close", tmp_path / "survey").out
        shuffledp("survey", "finish", tmp_path / "survey", "--publish")
        statement = json.loads((tmp_path / "survey/release/statement.json").read_text())
        assert statement["flow"]["received"] == 9
        page = httpx.get(collection.page.url).text
        assert "9 people" in page or "9 answers" in page


@pytest.mark.deep
def test_people_are_invited_to_a_sum_at_mixes_of_one_machine_by_its_ports(tmp_path, monkeypatch):
    (tmp_path / "people.csv").write_text("name\n" + "".join(f"P{person}\n" for person in range(12)))
    with ExitStack() as stack:
        urls = [stack.enter_context(mix_in_thread(tmp_path / f"mix{number}", monkeypatch)) for number in range(2)]
        mixes = [each for url in urls for each in ("--mix", url)]
        asked = ["survey", "new", "Do you smoke?", "--sum", *mixes, "--invite", tmp_path / "people.csv"]
        done = shuffledp(*asked, "--output", tmp_path / "survey")
        assert done.code == 0, done.err
        collection = SurveyFolder(tmp_path / "survey").read()
        assert (collection.issuer.url, len(collection.hosts)) == (urls[0], 2)


@pytest.mark.deep
def test_people_are_told_on_the_page_that_a_sum_is_spoilt_and_why(tmp_path, monkeypatch):
    people = count()

    def swapped(*given):
        first, second, *rest = shares_of(*given)
        wrong = replace(second.reports[0], public_extensions=first.reports[0].public_extensions)
        lies = replace(first, reports=(wrong, *first.reports[1:]))
        return [lies if next(people) == 0 else first, second, *rest]

    with ExitStack() as stack, monkeypatch.context() as lying:
        lying.setattr(client, "shares_of", swapped)  # a device sends a message to the wrong host
        collection = made(tmp_path, stack, monkeypatch)
        shuffledp("survey", "close", tmp_path / "survey")
        done = shuffledp("survey", "finish", tmp_path / "survey", "--publish")
        assert (done.code, "needs every message of everybody once" in done.err) == (3, True)
        assert "That nothing was released is published" in " ".join(done.out.split())
        page = httpx.get(collection.page.url).text
        assert "Nothing was released, although" in page
        assert "needs every message of everybody once" in page
        again = shuffledp("survey", "finish", tmp_path / "survey", "--publish")
        assert (again.code, httpx.get(collection.page.url).text) == (3, page)
        assert "That nothing was released is published" in shuffledp("survey", "status", tmp_path / "survey").out


@pytest.mark.deep
def test_people_are_told_on_the_page_that_hosts_who_never_agree_released_nothing(tmp_path, monkeypatch):
    def never(*_, **__):
        raise AgreementError("that time is over, and not all did. Nothing was released.")

    with ExitStack() as stack:
        collection = made(tmp_path, stack, monkeypatch)
        shuffledp("survey", "close", tmp_path / "survey")
        monkeypatch.setattr(mix_survey, "finished", never)
        done = shuffledp("survey", "finish", tmp_path / "survey", "--publish")
        assert (done.code, "that time is over" in done.err) == (8, True)
        assert "Nothing was released" in httpx.get(collection.page.url).text


@pytest.mark.deep
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_mix_that_is_away_is_named_and_keeps_no_other_open_and_two_signals_stop_the_wait(tmp_path, monkeypatch, how):
    command = [sys.executable, "-m", "shuffledp", "survey", "finish", tmp_path / "survey", "--publish"]
    with ExitStack() as stack:
        with ExitStack() as last:
            collection = made(tmp_path, stack, monkeypatch, last=last)
        *there, away = (each.url for each in collection.hosts)
        heard = partial(signal.signal, how, signal.SIG_DFL)  # a shell in the background lets tests ignore Ctrl-C
        running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=heard)  # noqa: PLW1509
        while "since step 1" not in (line := running.stderr.readline()):
            assert line.startswith("Waiting for the close"), line
        assert line.startswith(f"Waiting since step 1 of 4 for {away}, which does not answer.")
        for each in there:
            assert httpx.get(f"{each}{collection.path}").json()["phase"] == "agreeing"
        running.send_signal(how)
        time.sleep(0.002)
        running.send_signal(how)
        _, rest = running.communicate(timeout=60)
        assert (running.returncode, rest.splitlines()) == (
            128 + how,
            ["Stopped. Run the same command again, and it goes on where it was."],
        )
        port = int(away.rpartition(":")[2])
        stack.enter_context(mix_in_thread(tmp_path / "mix2", monkeypatch, port=port))  # which is open, and is closed
        done = shuffledp("survey", "finish", tmp_path / "survey", "--publish")
        assert done.code == 0, done.err
        assert json.loads((tmp_path / "survey/release/statement.json").read_text())["flow"]["received"] == 9


@pytest.mark.deep
def test_with_a_mix_away_nobody_is_told_that_the_survey_is_closed(tmp_path, monkeypatch):
    """Mutant: an unknown state is taken for a closed one, and a mix that was away stays open for all its days."""
    with ExitStack() as stack, monkeypatch.context() as away:
        collection = made(tmp_path, stack, monkeypatch)
        told, silent = client._status_at, collection.hosts[2].url

        def status_at(url, *rest):
            if url == silent:
                raise RemoteProtocolError(f"{url} must answer")
            return told(url, *rest)

        away.setattr(client, "_status_at", status_at)
        stands = shuffledp("survey", "status", tmp_path / "survey").out
        assert f"{silent} does not answer." in stands
        assert "ask again later" in stands
        assert "survey finish" not in stands
        reminded = shuffledp("survey", "remind", tmp_path / "survey")
        assert (reminded.code, "must answer" in reminded.err, "closed" in reminded.err) == (9, True, False)
        away.undo()
        assert shuffledp("survey", "finish", tmp_path / "survey").code == 0


def test_several_mixes_are_for_sums_alone():
    asked = (AskedQuestion("Do you smoke?", ("No", "Yes")),)
    given = {"name": "survey", "questions": asked, "people": 12, "minimum": 6, "fakes": 0, "epsilon0": 2.0}
    with pytest.raises(InvalidParameterError, match="mix must be 1 but for sums"):
        SurveyTerms(**given, hosts=3)
    which = AskedQuestion("Which?", ("a", "b", "c"))
    with pytest.raises(InvalidParameterError, match="mix must be 1 where a question of more than two answers"):
        SurveyTerms(**given | {"questions": (*asked, which)}, hosts=3, sums=True)
    lines = SurveyTerms(**given, hosts=3, sums=True).task_file().splitlines()
    assert {"hosts = 3", 'buffers = "host"'} <= set(lines)


@pytest.mark.deep
def test_a_sum_at_one_mix_through_a_relay_is_released_and_published(tmp_path, monkeypatch):
    with Relay().running() as relay, mix_in_thread(tmp_path / "mix", monkeypatch) as url:
        relay.gateway = f"{url}/gateway"
        asked = ["survey", "new", "Do you smoke?", "--sum", "--mix", url, "--relay", relay.url]
        asked += ["--people", 12, "--minimum", 6, "--fakes", 0, "--output", tmp_path / "survey"]
        done = shuffledp(*asked)
        assert done.code == 0, done.err
        collection = SurveyFolder(tmp_path / "survey").read()
        assert (collection.transport, collection.relay, len(collection.hosts)) == ("oblivious", relay.url, 1)
        answers = CsvInMemory(b"answer\n" + b"Yes\n" * 3 + b"No\n" * 6)
        with new_client(to=collection) as sending:
            assert send(collection, randomize_each(collection.task, answers), sending).stored == 9
        assert relay.seen
        done = shuffledp("survey", "finish", tmp_path / "survey", "--publish")
        assert done.code == 0, done.err
        assert json.loads((tmp_path / "survey/release/statement.json").read_text())["flow"]["received"] == 9
        assert "9 answers" in httpx.get(collection.result).text
