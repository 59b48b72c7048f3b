"""A mix in a process of its own, which is killed; its commands; and many collections on one host."""

import asyncio
import json
import os
import secrets
import signal
import time
from contextlib import contextmanager

import httpx
import pytest

from cli.running import refused, shuffledp
from parties.client.answering import asking
from parties.mix.mixing import UNVOUCHED, Survey
from parties.mix.test_mix_collections import answers
from parties.service import processes
from parties.service.processes import Process, free_port, kill_soon
from shuffledp.core.errors import BatchTooSmallError, RemoteProtocolError
from shuffledp.parties.mix.mix_config import MixConfig
from shuffledp.parties.mix.mix_folder import MixFolder
from shuffledp.parties.mix.run_mix import run_mix, terms_by
from shuffledp.parties.organizer.mix_client import MixClient
from shuffledp.parties.organizer.page_check import check_page
from shuffledp.parties.service.client import new_client
from shuffledp.parties.service.fetched_release import fetch_release
from shuffledp.parties.wire.grammar import UPLOAD_TYPE, UploadRequest, UploadResponse

MOST_MEMORY = 1 << 30  # bytes of a mix with a thousand open collections
pytestmark = pytest.mark.usefixtures("without_a_page")


class Place:
    """A folder with the configuration of a mix, and its process."""

    def __init__(self, folder, policy="people = 1000"):
        self.folder, self.port, self.metrics = folder, free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.file, self.log = folder / "mix.toml", folder / "mix.log"
        self.file.write_text(
            f'listen = "127.0.0.1:{self.port}"\nstate = "state"\nurl = "{self.url}"\n'
            f'metrics = "127.0.0.1:{self.metrics}"\n[policy]\n{policy}\n'
        )
        self.log.touch()
        self.code = MixFolder(folder / "state").new_code()
        self.process = None

    def start(self):
        self.process = Process(run_mix, MixConfig.read(self.file), self.log)

    def kill(self):
        self.process.end(signal.SIGKILL)

    def client(self, http):
        return MixClient(self.url, http, code=self.code)


@contextmanager
def place(folder, **further):
    """A `Place` whose process is ended, whatever happens, and a client."""
    made = Place(folder, **further)
    try:
        with new_client() as http:
            yield made, made.client(http), http
    finally:
        if made.process is not None:
            made.kill()


def send(http, collection, submissions):
    """Ids of the submissions that are acknowledged; none if the mix was killed meanwhile."""
    url, body = f"{collection.shuffler.url}{collection.path}/reports", UploadRequest(tuple(submissions)).encode()
    try:
        answer = http.post(url, content=body, headers={"content-type": UPLOAD_TYPE})
    except httpx.TransportError:
        return False
    assert answer.status_code == 200
    assert not UploadResponse.decode(answer.content).refused
    return True


# ---- kills ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kills", [1, pytest.param(100, marks=pytest.mark.deep)])
def test_whatever_moment_the_mix_is_killed_at_what_is_acknowledged_is_released_once(tmp_path, kills):
    """Answers go on while the mix is killed, and devices without an answer send the same again: nothing is doubled."""
    with place(tmp_path, policy=f"people = {10 * (kills + 1)}") as (where, mix, http):
        where.start()
        survey = Survey(mix.terms())
        mix.register(survey.collection)
        waiting = [answers(survey.collection, 10) for _ in range(kills + 1)]
        for some in waiting[:-1]:
            pid = kill_soon(where.process)
            acknowledged = send(http, survey.collection, some)
            os.waitpid(pid, 0)
            where.kill()
            where.start()
            if not acknowledged or secrets.randbelow(2):
                assert send(http, survey.collection, some)
        assert send(http, survey.collection, waiting[-1])
        mix.close(survey.collection, survey.key)
        where.kill()  # between the close and the batch, or after it
        where.start()
        found = asyncio.run(fetch_release(survey.collection, [survey.key], tmp_path / "office"))
        (told,) = found.releases.values()
        assert told["columns"][0]["num_reports"] == 10 * (kills + 1)
        assert told["columns"][0]["flow"]["collected"]["undecryptable"] == 0
        mix.publish(survey.collection, survey.key, told)
        where.kill()
        where.start()
        assert [each.statement for each in mix.results(survey.collection)] == [told]
        where.kill()


@pytest.mark.parametrize("kills", [1, pytest.param(100, marks=pytest.mark.deep)])
def test_whatever_moment_the_mix_is_killed_at_a_registration_is_whole_or_can_be_made_again(tmp_path, kills):
    with place(tmp_path, policy=f"collections = {2 * kills + 2}") as (where, mix, http):
        where.start()
        terms = mix.terms()
        for _ in range(kills):
            survey = Survey(terms)
            pid = kill_soon(where.process, milliseconds=400)
            again = MixClient(where.url, http, code=where.code, patience=0.01)
            try:
                again.register(survey.collection)
                is_known = True
            except RemoteProtocolError:
                is_known = False
            os.waitpid(pid, 0)
            where.kill()
            where.start()
            if is_known:  # acknowledged: it is there, with its page
                assert check_page(survey.collection.page, http) == survey.collection
            mix.register(survey.collection)
            assert check_page(survey.collection.page, http) == survey.collection


# ---- commands -------------------------------------------------------------------------------------------------------


def test_the_operator_hands_out_codes_lists_and_ends_beside_the_running_mix(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with place(tmp_path) as (where, _, http):
        where.start()
        given = ("serve", "mix", "--config", "mix.toml")
        assert "No collection is registered." in shuffledp(*given, "--list").out
        code = shuffledp(*given, "--new-code").out.strip()
        mix = MixClient(where.url, http, code=code)
        survey = Survey(mix.terms(), asked=asking(name="A class", people=UNVOUCHED))
        mix.register(survey.collection)
        text = survey.collection.id.hex()
        listed = shuffledp(*given, "--list").out
        for each in ("A class", "running", "collection, page, reports"):
            assert each in listed
        assert shuffledp(*given, "--end", text).code == 0
        until_ended(http, survey.collection)
        end = time.monotonic() + 20
        while "destroyed" not in listed or "reports" in listed:  # the disk is a little behind what is answered
            assert time.monotonic() < end
            listed = shuffledp(*given, "--list").out
        counts = httpx.get(f"http://127.0.0.1:{where.metrics}/metrics").text
        assert 'shuffledp_collections{result="ended"} 1' in counts
        assert [json.loads(line)["event"] for line in where.log.read_text().splitlines()] == [
            "started",
            "registered",
            "ended-by-operator",
        ]
        assert "must be the id of a collection" in refused(2, *given, "--end", "../x")
        where.file.write_text(where.file.read_text().replace("metrics", 'register = "anybody"\nmetrics'))
        assert "--new-code must be left out" in refused(2, *given, "--new-code")


def until_ended(http, collection):
    end = time.monotonic() + 20
    url = f"{collection.shuffler.url}{collection.path}"
    while http.get(url).json()["phase"] != "destroyed":
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('url = "https://mix.example.org/a"', "without a path"),
        ('url = "http://mix.example.org"', "https address"),
        ('register = "friends"', "register must be"),
        ('registrants = ["a.pub"]', "registrants must be given for"),
        ('register = "keys"', "registrants must be given for"),
        ('pages = "origin"', "pages must be path"),
        ('metrics = "0.0.0.0:9101"', "metrics must be an address of this machine"),
        ('contact = "a\\nb"', "contact must be"),
        ("collections = []", "only the keys"),
        ("[policy]\npeople = 0", "people must be"),
    ],
)
def test_a_configuration_that_makes_no_mix_is_refused_by_name(tmp_path, line, why):
    usual = {"listen": '"127.0.0.1:8446"', "state": '"state"', "url": '"http://127.0.0.1:8446"'}
    usual.pop(line.partition(" ")[0], None)
    file = tmp_path / "mix.toml"
    file.write_text("".join(f"{name} = {value}\n" for name, value in usual.items()) + line + "\n")
    assert why in refused(2, "serve", "mix", "--config", str(file))


# ---- neighbors ------------------------------------------------------------------------------------------------------


@pytest.mark.deep
def test_a_thousand_collections_on_one_host_are_served_while_a_neighbor_floods(tmp_path, monkeypatch):
    """A hundred people answer each of a thousand collections; a flood into one takes nothing from the others."""
    monkeypatch.setattr(processes, "_SECONDS", 240.0)  # to start, on a busy machine
    number, people, sample = 1000, 100, 25
    with place(tmp_path, policy=f"people = 200\ncollections = {number + 1}") as (where, mix, http):
        folder = MixFolder(tmp_path / "state")
        terms = terms_by(MixConfig.read(where.file), folder)
        surveys = [Survey(terms, page=None) for _ in range(number - 1)]
        for each in surveys:  # registered before the start, which takes less time
            folder.register(each.collection, "code", page=b"", promised=(), key=None)
        where.start()
        surveys.append(Survey(terms, page=None))
        mix.register(surveys[-1].collection)
        flooded, *others = surveys
        flood = [answers(flooded.collection, 1000) for _ in range(3)]
        url = f"{where.url}{flooded.collection.path}/reports"
        refused_, stored = 0, 0
        for place_, each in enumerate(others):
            assert send(http, each.collection, answers(each.collection, people))
            if place_ % 100 == 0:
                body = UploadRequest(tuple(flood[place_ // 100 % 3])).encode()
                answer = http.post(url, content=body, headers={"content-type": UPLOAD_TYPE})
                told = UploadResponse.decode(answer.content)
                refused_, stored = max(refused_, len(told.refused)), stored + 1
        assert refused_ >= 800
        memory = where.process.memory()
        for each in surveys[:sample]:
            mix.close(each.collection, each.key)
        for place_, each in enumerate(surveys[:sample]):
            found = asyncio.run(fetch_release(each.collection, [each.key], tmp_path / str(place_)))
            (told,) = found.releases.values()
            assert told["columns"][0]["num_reports"] == (200 if each is flooded else people)
        where.kill()
        where.start()
        assert http.get(f"{where.url}/readyz").text == "ok\n"
        assert memory < MOST_MEMORY, memory >> 20


@pytest.mark.deep
def test_fewer_than_the_minimum_are_not_released_by_a_mix_either(tmp_path):
    with place(tmp_path) as (where, mix, http):
        where.start()
        survey = Survey(mix.terms(), page=None)
        mix.register(survey.collection)
        assert send(http, survey.collection, answers(survey.collection, 9))
        mix.close(survey.collection, survey.key)
        with pytest.raises(BatchTooSmallError):
            asyncio.run(fetch_release(survey.collection, [survey.key], tmp_path / "office"))
        mix.publish(survey.collection, survey.key, None)
        assert [each.statement for each in mix.results(survey.collection)] == [None]
