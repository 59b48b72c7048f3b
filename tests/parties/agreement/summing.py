"""Hosts of a sum in this process, without sockets: a collection with several, devices, and an analyst."""

import shutil
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx

from parties.service.at_work import Logged
from shuffledp.core.instants import written
from shuffledp.files.devices import randomize_each
from shuffledp.files.reading import CsvInMemory
from shuffledp.parties.agreement.agreement_courier import Courier
from shuffledp.parties.http.event_log import EventLog
from shuffledp.parties.service.batch_opening import open_batch
from shuffledp.parties.service.batch_store import BatchStore
from shuffledp.parties.service.client import configs_of, sealed
from shuffledp.parties.service.collection_at_analyzer import CollectionAtAnalyzer
from shuffledp.parties.service.collection_at_shuffler import CollectionAtShuffler
from shuffledp.parties.service.collection_terms import store_of
from shuffledp.parties.service.fetcher import Fetcher, FetchOutcome
from shuffledp.parties.service.share_uploads import shares_of
from shuffledp.parties.service.shuffler_app import shuffler_app
from shuffledp.parties.wire.grammar import UploadRequest, UploadResponse
from shuffledp.parties.wire.keys import AnalyzerKey, ShufflerKey, in_text
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.survey import Collection, Service, Task


def sum_task(hosts=3, *, people=12, minimum=6, **protocol):
    """A task of a mean over several hosts."""
    keys = {"kind": "split-and-mix", "epsilon": 2.0, "lower": 0, "upper": 100, "dropout_fraction": 0.4}
    keys |= {"hosts": hosts, "buffers": "host"} if hosts > 1 else {}
    return Task.from_dict(
        {
            "name": "wages",
            "value": "wage",
            "people": {"expected": people},
            "protocol": keys | protocol,
            "release": {"delta": 1e-3, "minimum_batch": minimum},
        }
    )


@dataclass
class Sum:
    """Keys and collection of a sum over several hosts, and the shares of people."""

    task: Task
    shufflers: list
    analyst: AnalyzerKey
    collection: Collection

    @classmethod
    def new(cls, hosts=3, *, urls=None, task=None, **further):
        now, shufflers, analyst = (
            datetime.now(UTC),
            [ShufflerKey.generate() for _ in range(hosts)],
            AnalyzerKey.generate(),
        )
        since = written(now - timedelta(days=1))
        urls = urls or [f"https://host{number}.example" for number in range(hosts)]
        services = [
            Service(url=url, key=PublishedKey(role=key.role, key=in_text(key.public), active_from=since))
            for url, key in zip(urls, shufflers, strict=True)
        ]
        own = PublishedKey(
            role=analyst.role,
            key=in_text(analyst.public),
            active_from=since,
            request_key=in_text(analyst.request_key),
        )
        task = task or sum_task(hosts)
        given = {
            "shuffler": services[0],
            "further_shufflers": tuple(services[1:]),
            "analyzer": Service(key=own),
            "opens": since,
            "closes": written(now + timedelta(days=1)),
            "fetch_by": written(now + timedelta(days=8)),
        }
        return cls(task, shufflers, analyst, Collection.new(task, now=now, **given | further))

    @property
    def model(self):
        """Model of the shares."""
        return self.task.columns[0].randomizer.randomizer().model

    def shares(self, values):
        """Submissions of each person to each host, and what the shares of each add up to."""
        table = CsvInMemory("\n".join(["wage", *map(str, values)]).encode() + b"\n")
        config, sent = configs_of(self.collection, datetime.now(UTC))[0], randomize_each(self.task, table)
        people = [shares_of(self.collection, each) for each in sealed(self.collection, sent, config)]
        residues = sent.reports[0].columns["residue"].reshape(len(values), -1)
        return people, [sum(map(int, row)) % self.model.modulus for row in residues]


class Hosts:
    """Running hosts of a sum, each in a folder of its own."""

    def __init__(self, given, folder):
        self.given, self.folder = given, Path(folder)
        self.at, self.apps, self.logged = {}, {}, {}

    def start(self, host):
        """Start a host from what is on its disk."""
        given, logged = self.given, self.logged.setdefault(host, Logged())
        log = EventLog(logged.write)
        store = store_of(given.collection, host, self.folder / str(host))
        self.at[host] = CollectionAtShuffler(
            given.collection, store, given.shufflers[host], beside=self.folder, log=log
        )
        self.apps[host] = shuffler_app([self.at[host]], log=log)

    async def stop(self, host):
        """Stop a host in good order."""
        await self.at.pop(host).close()
        del self.apps[host]

    async def crash(self, host):
        """Restart a host from what its disk holds at this moment, as after a power cut."""
        folder, image = self.folder / str(host), self.folder / f"image-{host}"
        shutil.copytree(folder, image)
        await self.stop(host)
        shutil.rmtree(folder)
        image.rename(folder)
        self.start(host)

    async def send(self, people, *, to=None):
        """Errors of the submissions that hosts refused, by host."""
        refused = {}
        for host in self.at if to is None else to:
            request = UploadRequest(tuple(each[host] for each in people))
            answer = await self.at[host].upload(request.encode())
            refused[host] = [each.error for each in UploadResponse.decode(answer).refused]
        return refused

    async def close_intake(self, *hosts):
        """Close the collection at hosts."""
        for host in hosts or self.at:
            await self.at[host].stop_intake()
            await self.at[host].advance()

    async def result(self):
        """People in the batches of all hosts, and their sum modulo q, as the analyst opens them."""
        given, folder = self.given, self.folder / "analyst"
        found, store = [], BatchStore(folder)
        try:
            at = CollectionAtAnalyzer(given.collection, [given.analyst], store, folder, log=EventLog(str))
            at.release = _nothing
            async with self.client as client:
                for host in self.at:
                    fetcher = Fetcher(at, given.analyst, client, log=EventLog(str), host=host)
                    while await fetcher.fetch(wait=0) is FetchOutcome.BATCH:
                        pass
            ((*received,),) = store.complete(given.collection.id, len(given.task.pools))[:1]
            for manifest, body in received:
                opened = open_batch(
                    body,
                    manifest.num_reports,
                    given.model,
                    [given.analyst],
                    collection_id=given.collection.id,
                    column=manifest.column,
                )
                assert opened.undecryptable == opened.malformed == opened.duplicates == 0
                assert not any(opened.extensions)
                found.append((manifest.num_reports, int(opened.reports.columns["residue"].astype(object).sum())))
        finally:
            store.close()
        (people,) = {count // pool.messages for (count, _), pool in zip(found, given.task.pools, strict=True)}
        return people, sum(residues for _, residues in found) % given.model.modulus

    @property
    def phases(self):
        """Phase of each host."""
        return [self.at[host].status[0] for host in sorted(self.at)]

    @property
    def client(self):
        """Client that reaches the hosts that are there."""
        mounts = {
            self.given.collection.hosts[host].url: httpx.ASGITransport(app=app, raise_app_exceptions=False)
            for host, app in self.apps.items()
        }
        return httpx.AsyncClient(mounts=mounts, transport=httpx.MockTransport(_nobody))

    def mount(self, client, host, transport):
        """Let a client reach a host in another way."""
        (pattern,) = (each for each in client._mounts if each.pattern == self.given.collection.hosts[host].url)
        client._mounts[pattern] = transport

    async def carry(self):
        """Whether hosts have agreed, as far as those that are there can."""
        async with self.client as client:
            courier = Courier(self.given.collection, self.given.analyst, client)
            agreed = await courier.carry(once=True)
        for each in self.at.values():
            await each.advance()
        return agreed


async def _nothing():
    pass


def _nobody(request):
    raise httpx.ConnectError("nobody is there", request=request)


@asynccontextmanager
async def hosts_of(given, folder):
    """Hosts of a sum at work."""
    hosts = Hosts(given, folder)
    async with AsyncExitStack() as stack:
        for host in range(len(given.collection.hosts)):
            hosts.start(host)
        stack.push_async_callback(_stop_all, hosts)
        yield hosts


async def _stop_all(hosts):
    for host in list(hosts.at):
        await hosts.stop(host)
