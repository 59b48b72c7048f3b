"""A survey of one operator, from its files to its release, with phones that have no encryption."""

import io
import json
import os
import signal
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cli.running import shuffledp
from parties.client.answering import RANDOMIZE, picture, says
from parties.client.loading import watched
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.instants import written
from shuffledp.files.devices import randomize_each
from shuffledp.parties.organizer.local_survey import at_work, finished, network_address, new_local_survey
from shuffledp.parties.service.client import new_client, send
from shuffledp.survey.asked_questions import AskedQuestion
from shuffledp.survey.survey_terms import SurveyTerms

TERMS = SurveyTerms(
    name="Homework",
    questions=(AskedQuestion("Have you copied homework this year?", ("No", "Yes")),),
    people=8,
    epsilon0=2.0,
    minimum=4,
)


def made(folder, *, address="127.0.0.1"):
    closes = written(datetime.now(UTC) + timedelta(hours=1))
    return new_local_survey(TERMS, folder / "homework", address=address, closes=closes)


def test_of_a_local_survey_that_is_released_nobody_is_asked(tmp_path):
    survey = made(tmp_path)
    survey.release.mkdir()
    done = shuffledp("survey", "status", survey.path)
    assert done.code == 0, done.err
    assert f"It is released: {survey.release / 'release.html'}" in done.out


def killed(survey):
    """Kill -9 the process that takes answers in: the one whose command line names this survey, and wait for its end."""
    (pid,) = (
        int(each.name)
        for each in Path("/proc").iterdir()
        if each.name.isdigit() and str(survey.path).encode() in (each / "cmdline").read_bytes()
    )
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


def in_network():
    """The address that phones would use; without a network, that of this machine alone."""
    with suppress(InvalidParameterError):
        return network_address()
    return "127.0.0.1"


def released_by(survey):
    """The release, from a thread of its own: a browser's driver keeps the loop of this one."""
    with ThreadPoolExecutor(1) as pool:
        (released,) = pool.submit(finished, survey).result().releases.values()
    return released


def answers(survey, *given):
    """People answer by the project's own client."""
    collection = survey.read()
    (table := survey.path / "crowd.csv").write_text("\n".join(["answer", *given, ""]))
    sent = randomize_each(collection.task, table)
    with new_client(to=collection) as client:
        assert send(collection, sent, client).stored == len(given)


def test_the_folder_and_its_keys_are_for_the_owner_alone_and_nothing_else_holds_them(tmp_path):
    survey = made(tmp_path)
    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in survey.path.iterdir()}
    assert stat.S_IMODE(survey.path.stat().st_mode) == 0o700
    assert {name: modes[name] for name in ("analyst.key", "operator.key")} == dict.fromkeys(
        ("analyst.key", "operator.key"), 0o600
    )
    secret = (survey.path / "analyst.key").read_text().splitlines()[1]
    others = [each.read_bytes() for each in survey.path.iterdir() if each.name != "analyst.key"]
    assert len(others) > 5
    assert not any(secret.encode() in each for each in others)


def test_page_and_poster_say_first_what_one_operator_and_the_network_can_do(tmp_path):
    survey = made(tmp_path)
    page = survey.page_file.read_text()
    assert page.index("Whoever is on this network sees") < page.index("<h1")
    assert "Whoever is on this network" in survey.poster_file.read_text()
    assert "encrypted so that nobody" not in page


@pytest.mark.parametrize("address", ["8.8.8.8", "laptop", ""])
def test_an_address_that_is_none_of_a_network_is_refused(tmp_path, address):
    with pytest.raises(InvalidParameterError, match="address"):
        made(tmp_path, address=address)
    assert os.listdir(tmp_path) == []


@pytest.mark.deep
def test_answers_outlive_the_process_that_took_them(tmp_path, monkeypatch):
    survey = made(tmp_path)
    with at_work(survey) as keep:
        answers(survey, "Yes", "No")
        killed(survey)
        keep()
        answers(survey, "No", "No")
    with at_work(survey):
        link = survey.read().page.link
        asked = shuffledp("survey", "check", link)
        assert (asked.code, "is the one that the link names." in asked.out) == (0, True)
        assert shuffledp("survey", "status", survey.path, "--json").json["at_least_minimum"] is True
        assert "People are served the page" in shuffledp("survey", "status", survey.path).out
        assert f"Next: shuffledp survey finish {survey.path}" in shuffledp("survey", "close", survey.path).out
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    done = shuffledp("survey", "finish", "--wait", survey.path)
    assert done.code == 0, done.err
    released = json.loads((survey.release / "statement.json").read_text())
    assert released["num_reports"] == 4
    assert released["statements"][0]["guarantee"]["epsilon"] == 2.0


@pytest.mark.deep
def test_phones_without_encryption_answer_and_the_release_says_who_could_see_them(browser, tmp_path):
    survey = made(tmp_path, address=in_network())
    with at_work(survey):
        answers(survey, "Yes", "No", "No")
        context = browser.new_context(viewport={"width": 400, "height": 800})
        tab = context.new_page()
        wrong = watched(tab)
        tab.goto(survey.read().shuffler.url)  # as somebody types it
        assert tab.evaluate("isSecureContext") is (in_network() == "127.0.0.1")
        assert "One operator." in tab.locator(".banner").inner_text()
        assert "not encrypted" in tab.locator("#sentences").inner_text()
        picture(tab, "local")
        tab.get_by_label("Yes").check()
        tab.get_by_role("button", name=RANDOMIZE).click()
        picture(tab, "local-review")
        tab.get_by_role("button", name="Send", exact=True).click()
        says(tab, "Stored by the operator's computer")
        tab.reload()
        says(tab, "This browser has answered already")
        assert all("Opener-Policy header has been ignored" in each for each in wrong)  # as over any plain http
        context.close()
        released = released_by(survey)
    assert released["num_reports"] == 4
    assert released["warnings"][0].startswith("One operator, in one local network without encryption")
    assert released["statements"][0]["trust"][:2] == ["local-network", "page"]
    assert "whoever is on this network sees" in (survey.release / "release.html").read_text()
    assert json.loads((survey.release / "statement.json").read_text()) == released
    assert {json.loads(line)["event"] for line in (survey.path / "operator.log").read_text().splitlines()} <= {
        "started",
        "closing",
        "batch-made",
        "delivered",
        "stopped",
    }
