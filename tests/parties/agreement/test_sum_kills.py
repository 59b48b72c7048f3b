"""Hosts of a sum in processes of their own: killed at every step, away while people answer, or away for ever."""

import asyncio
import json
import signal
from contextlib import contextmanager
from datetime import UTC, datetime

import httpx
import pytest

from cli.running import shuffledp
from parties.agreement.summing import Sum, sum_task
from parties.service.processes import Process, free_port, until
from shuffledp.cli import collect_command
from shuffledp.core.errors import LocalProtocolError, RemoteProtocolError
from shuffledp.files.devices import randomize_each
from shuffledp.files.key_files import write_key
from shuffledp.files.reading import CsvInMemory
from shuffledp.parties.agreement.agreement_courier import Courier
from shuffledp.parties.service.client import new_client, send, status_of
from shuffledp.parties.service.config import ShufflerConfig
from shuffledp.parties.service.device_memory import DeviceMemory, answer_hosts
from shuffledp.parties.service.fetched_release import fetch_release
from shuffledp.parties.service.run_services import run_shuffler
from shuffledp.parties.wire.close_request import CLOSE_TYPE, CloseRequest

WAGES = [10, 20, 30, 40, 50, 60, 70, 80, 90]


class Place:
    """Folder of the keys and configurations of all hosts, and their processes."""

    def __init__(self, folder, hosts=3, **further):
        ports = [free_port() for _ in range(hosts)]
        self.folder, urls = folder, [f"http://127.0.0.1:{port}" for port in ports]
        self.given = Sum.new(hosts, urls=urls, demonstration=True, **further)
        (folder / "sum.collection").write_bytes(self.given.collection.canonical)
        for host, (key, service, port) in enumerate(
            zip(self.given.shufflers, self.given.collection.hosts, ports, strict=True)
        ):
            write_key(folder / f"{host}.key", key, service.key)
            (folder / f"{host}.toml").write_text(
                f'listen = "127.0.0.1:{port}"\nstate = "state-{host}"\ncollections = ["sum.collection"]\n'
                f'key = "{host}.key"\n'
            )
        self.running = {}

    def start(self, *hosts):
        for host in hosts:
            log = self.folder / f"{host}.log"
            log.touch()
            config = ShufflerConfig.read(self.folder / f"{host}.toml")
            self.running[host] = Process(run_shuffler, config, log)

    def kill(self, host):
        self.running.pop(host).end(signal.SIGKILL)

    def again(self, host, times=2):
        """Kill a host and start it again, twice."""
        for _ in range(times):
            self.kill(host)
            self.start(host)

    def answers(self, values):
        table = CsvInMemory("\n".join(["wage", *map(str, values)]).encode() + b"\n")
        return randomize_each(self.given.task, table)

    def send(self, values):
        with new_client() as client:
            receipt = send(self.given.collection, self.answers(values), client)
        assert (receipt.stored, receipt.refused) == (len(values), {})

    def close(self, *hosts):
        collection = self.given.collection
        body = CloseRequest.by(self.given.analyst, collection.id, datetime.now(UTC)).encode()
        for host in hosts:
            url = f"{collection.hosts[host].url}{collection.path}/close"
            assert httpx.post(url, content=body, headers={"content-type": CLOSE_TYPE}).status_code == 200

    def round(self):
        """One round of the courier, as of a process of its own that ends."""

        async def carried():
            async with httpx.AsyncClient() as client:
                return await Courier(self.given.collection, self.given.analyst, client).round()

        return asyncio.run(carried())

    def fetch(self, **further):
        fetching = fetch_release(self.given.collection, [self.given.analyst], self.folder / "office", **further)
        return asyncio.run(asyncio.wait_for(fetching, 60.0))

    def status(self):
        with new_client() as client:
            return status_of(self.given.collection, client, patience=0.1)


@contextmanager
def place(folder, *given, **further):
    """A `Place` whose processes are ended, whatever happens."""
    made = Place(folder, *given, **further)
    try:
        made.start(*range(len(made.given.collection.hosts)))
        yield made
    finally:
        for process in made.running.values():
            process.end(signal.SIGKILL)


def people_in(found):
    ((_, statement),) = found.releases.items()
    return statement["flow"]["received"]


STEPS = ("frozen", "revealed", "signed", "agreed")


@pytest.mark.deep
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("when", ["before", "after"])
def test_each_host_is_killed_twice_before_and_after_each_step_and_the_sum_is_released(tmp_path, step, when):
    with place(tmp_path) as where:
        where.send(WAGES)
        where.close(0, 1, 2)
        wanted = STEPS.index(step) - (when == "before")

        def least():
            told = [each.get("step") for each in where.status()["hosts"]]
            return min(STEPS.index(each) if each in STEPS else -1 for each in told)

        while least() < wanted:
            where.round()
        for host in range(3):
            where.again(host)
        found = where.fetch()
        assert found.has_ended
        assert people_in(found) == len(WAGES)
        assert {each["phase"] for each in where.status()["hosts"]} == {"released"}


@pytest.mark.deep
def test_a_host_killed_while_people_answer_loses_nobody_and_gets_its_share_later(tmp_path):
    with place(tmp_path) as where:
        where.send(WAGES)
        collection = where.given.collection
        memory = DeviceMemory(collection.id, tmp_path / "device")
        where.kill(1)
        calls = []

        def randomized():
            calls.append(1)
            return where.answers([55])

        with new_client() as client:
            with pytest.raises(RemoteProtocolError, match="kept for the next time; 2 of 3 answered"):
                answer_hosts(collection, randomized, memory, client, patience=0.1)
            left = memory.pending()
            with pytest.raises(RemoteProtocolError):
                answer_hosts(collection, randomized, memory, client, patience=0.1)
            assert memory.pending() == left  # the same shares, and not another set
            where.start(1)
            assert answer_hosts(collection, randomized, memory, client, patience=5.0).stored == 1
            with pytest.raises(LocalProtocolError, match="has answered the collection already"):
                answer_hosts(collection, randomized, memory, client, patience=5.0)
        assert calls == [1]
        assert [each.name for each in (tmp_path / "device").iterdir()] == [f"{collection.id.hex()}.answered"]
        where.close(0, 1, 2)
        found = where.fetch()
        assert people_in(found) == len(WAGES) + 1


@pytest.mark.deep
def test_without_one_host_nothing_is_fetched_and_it_is_said_who_waits_for_whom(tmp_path, monkeypatch):
    with place(tmp_path) as where:
        where.send(WAGES)
        where.kill(2)
        monkeypatch.setattr(collect_command, "_PATIENCE", 0.1)
        assert refused_with(where, "--key", tmp_path / "0.key")
        assert not where.fetch(once=True).releases
        told = where.status()
        assert (told["phase"], [each.get("step") for each in told["hosts"]]) == (
            "no answer",
            ["frozen", "frozen", None],
        )
        assert [each.get("waits_for") for each in told["hosts"]] == [[2], [2], None]
        where.start(2)
        assert shuffledp("collect", "close", tmp_path / "sum.collection", "--key", tmp_path / "0.key").code == 0
        assert people_in(where.fetch()) == len(WAGES)


def refused_with(where, *options):
    """Whether closing says that one host does not answer, after the others are told."""
    done = shuffledp("collect", "close", where.folder / "sum.collection", *options)
    return done.code == 9 and "must answer; got: no answer" in done.err and "1 of 4" in done.out


@pytest.mark.deep
def test_thirteen_hosts_on_loopback_release_one_sum(tmp_path):
    with place(tmp_path, 13, task=sum_task(13, people=20, minimum=6)) as where:
        where.send([*WAGES, *WAGES])
        where.close(*range(13))
        found = where.fetch()
        assert people_in(found) == 2 * len(WAGES)
        until(lambda: {each["phase"] for each in where.status()["hosts"]} == {"released"})
        events = [json.loads(line)["event"] for line in (tmp_path / "12.log").read_text().splitlines()]
        assert events.count("batch-made") == 1
