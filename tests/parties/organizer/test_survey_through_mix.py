"""A survey from nothing to the published result: the organizer's commands, a mix in its own process, and phones."""

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from cli.running import shuffledp
from parties.client.answering import RANDOMIZE, SEND, picture, says
from parties.client.loading import watched
from parties.organizer.test_mix_survey import rows
from parties.service.relay import Relay
from shuffledp.parties.organizer.survey_folder import SurveyFolder
from shuffledp.parties.service.client import new_client
from shuffledp.parties.service.demonstration import end, free_ports, wait_for

QUESTION, PHONE = "Have you copied homework this year?", {"width": 400, "height": 800}
PEOPLE = 30


class MixAtWork:
    """A mix in a process of its own, in a folder of its own."""

    def __init__(self, folder, origin="http://127.0.0.1", further=""):
        (port,) = free_ports(1)
        self.folder, self.url, self.running = folder, f"{origin}:{port}", []
        (folder / "mix.toml").write_text(
            f'listen = "127.0.0.1:{port}"\nstate = "mix"\nurl = "{self.url}"\nregister = "anybody"\n{further}'
        )

    def start(self):
        run = [sys.executable, "-m", "shuffledp", "serve", "mix", "--config", str(self.folder / "mix.toml")]
        with (self.folder / "mix.log").open("ab") as log:
            self.running.append(subprocess.Popen(run, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log))
        wait_for(self.running[-1])

    def kill(self):
        os.kill(self.running[-1].pid, signal.SIGKILL)
        killed = self.running.pop()
        killed.wait()
        killed.stdout.close()

    @property
    def log(self):
        return (self.folder / "mix.log").read_text()


@contextmanager
def mix_at_work(folder, **further):
    mix = MixAtWork(folder, **further)
    mix.start()
    try:
        yield mix
    finally:
        end(mix.running)


def apart(*command, code=0):
    """A command in a process of its own, since a browser's driver keeps the loop of this one; what it printed."""
    run = [sys.executable, "-m", "shuffledp", *command]
    done = subprocess.run(run, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout


def answer(browser, link, choice, name=""):
    """Somebody answers on a phone; what the page asked for, and of whom."""
    context = browser.new_context(viewport=PHONE)
    tab, requests = context.new_page(), []
    wrong = watched(tab)
    tab.on("request", lambda request: requests.append(request.url))
    tab.goto(link)
    tab.get_by_label(choice).check()
    if name:
        picture(tab, f"{name}-asked")
    tab.get_by_role("button", name=RANDOMIZE).click()
    tab.get_by_role("button", name=SEND).click()
    says(tab, "Stored by the shuffler")
    assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    context.close()
    assert wrong == []
    return requests


@pytest.mark.deep
def test_thirty_phones_answer_by_invitation_through_mix_tokens_and_relay_and_the_link_shows_the_result(
    browser, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    listed = "".join(f"Person {number},p{number}@example.org\n" for number in range(PEOPLE))
    (tmp_path / "people.csv").write_text(f"name,mail\n{listed}")
    with Relay().running() as relay, mix_at_work(tmp_path) as mix:
        relay.origin, relay.gateway = mix.url, f"{mix.url}/gateway"
        made = shuffledp(
            *("survey", "new", QUESTION, "--invite", "people.csv", "--reminders", "--output", "homework"),
            *("--mix", mix.url, "--relay", relay.url),
        )
        assert made.code == 0, made.err
        assert "takes the answers in and serves the page, too" in made.out
        survey = SurveyFolder(tmp_path / "homework")
        collection = survey.read()
        links = [row[-1] for row in rows(survey.invitations / "people.csv")[1:]]
        seen = [answer(browser, each, "No", name="invited" * (each is links[0])) for each in links[:-3]]
        reminded = shuffledp("survey", "remind", "homework")
        assert reminded.code == 0, reminded.err
        assert [row[0] for row in rows(survey.path / "reminder-1" / "people.csv")[1:]] == [
            f"Person {number}" for number in range(PEOPLE - 3, PEOPLE)
        ]
        seen += [answer(browser, each, "Yes") for each in links[-3:]]
        assert shuffledp("survey", "status", "homework", "--json").json["at_least_minimum"]
        assert f"The result is published: {collection.result}" in apart("survey", "finish", "homework", "--publish")
        tab = browser.new_context(viewport=PHONE).new_page()
        tab.goto(links[0])
        shown = tab.locator("body").inner_text()
        picture(tab, "published")
        tab.context.close()
    to = {url for requests in seen for url in requests}
    assert to == {collection.page.url, f"{mix.url}{collection.path}/token-request", relay.url}
    assert len({(len(body), len(reply)) for _, body, reply in relay.seen}) == 1
    released = json.loads((survey.release / "statement.json").read_text())
    assert released["num_reports"] == PEOPLE
    assert {"page-at-shuffler", "issuer", "issuer-at-shuffler", "relay-apart"} <= set(
        released["statements"][0]["trust"]
    )
    assert QUESTION in shown
    assert f"{PEOPLE} answers" in shown
    assert "127.0.0.1" not in mix.log.replace(mix.url, "")


@pytest.mark.deep
def test_what_the_organizer_is_told_before_the_release_is_no_more_than_stated(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("name\n" + "".join(f"P{number}\n" for number in range(6)))
    with mix_at_work(tmp_path) as mix:
        asked = ("survey", "new", QUESTION, "--invite", "people.csv", "--output", "homework", "--mix", mix.url)
        assert shuffledp(*asked, "--reminders", "--minimum", 2).code == 0
        told = []
        for number in range(1, 5):
            send(tmp_path, number, monkeypatch)
            told.append(shuffledp("survey", "status", "homework", "--json").json)
        assert [set(each) for each in told] == [{"collection", "phase", "at_least_minimum"}] * 4
        assert [each["at_least_minimum"] for each in told] == [False, True, True, True]
        codes = [shuffledp("survey", "remind", "homework").code for _ in range(4)]
        assert codes[:3] == [0, 0, 0]
        assert codes[3] != 0
        assert len(list((tmp_path / "homework").glob("reminder-*"))) == 3
        assert shuffledp("survey", "remind", "homework", "--everybody").code == 0
        mix.kill()
        assert shuffledp("survey", "status", "homework").code != 0
        mix.start()
        assert shuffledp("survey", "close", "homework").code == 0
        apart("survey", "finish", "homework")
        apart("survey", "finish", "homework", "--publish")  # by somebody who is not sure
        with new_client() as client:
            assert QUESTION in client.get(SurveyFolder(tmp_path / "homework").read().result).text


def send(folder, number, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / f"device {number}"))
    invitation = folder / "homework" / "invitations" / f"{number}.invitation"
    sent = shuffledp("send", folder / "homework" / "survey.collection", "--value", "No", "--invitation", invitation)
    assert sent.code == 0, sent.err


@pytest.mark.deep
@pytest.mark.parametrize("come", [16, 14])
def test_a_yes_or_no_as_a_sum_is_exact_to_its_noise_or_nothing_is_released(tmp_path, monkeypatch, come):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("name\n" + "".join(f"P{number}\n" for number in range(PEOPLE)))
    with mix_at_work(tmp_path) as mix:
        asked = ("survey", "new", QUESTION, "--invite", "people.csv", "--output", "homework", "--mix", mix.url)
        assert shuffledp(*asked, "--sum").code == 0
        for number in range(1, come + 1):
            send(tmp_path, f"{number:02}", monkeypatch)
        assert shuffledp("survey", "status", "homework", "--json").json["at_least_minimum"] is (come > 15)
        apart("survey", "finish", "homework", "--publish", code=0 if come > 15 else 4)
        collection = SurveyFolder(tmp_path / "homework").read()
        with new_client() as client:
            shown = client.get(collection.result).text
    if come < 15:
        assert not (tmp_path / "homework" / "release").exists()
        assert "Nothing was released" in shown
        return
    released = json.loads((tmp_path / "homework" / "release" / "statement.json").read_text())
    (row,) = released["estimates"]
    assert abs(row["estimate"]) < 0.5  # all said No
    assert re.search(r"Yes\W[^%]*[\d.]+%", re.sub("<[^>]*>", " ", shown))
    assert f"{come} answers, each of them split by the device" in shown
    assert "never work together" in shown
