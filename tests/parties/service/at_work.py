"""Both services in this process, without sockets; what they log; and what people send."""

import asyncio
import json
import os
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx
import numpy as np

from parties.service.given import Parties
from shuffledp.core.flow import Reports
from shuffledp.parties.http.event_log import EventLog
from shuffledp.parties.service.analyzer_app import analyzer_app
from shuffledp.parties.service.batch_store import BatchStore
from shuffledp.parties.service.collection_at_analyzer import CollectionAtAnalyzer
from shuffledp.parties.service.collection_at_shuffler import CollectionAtShuffler
from shuffledp.parties.service.collection_terms import terms_of
from shuffledp.parties.service.forwarder import Forwarder
from shuffledp.parties.service.report_store import ReportStore
from shuffledp.parties.service.shuffler_app import shuffler_app
from shuffledp.parties.wire.grammar import (
    UPLOAD_TYPE,
    Extension,
    HpkeCiphertext,
    Report,
    Submission,
    UploadRequest,
    UploadResponse,
)
from shuffledp.parties.wire.hpke import Sealer
from shuffledp.parties.wire.report_bytes import ReportLayout


class Clock:
    """A clock that can jump."""

    def __init__(self, parties):
        self.now = parties.now.timestamp()

    def __call__(self):
        return self.now


@dataclass
class Logged:
    """The lines of a log."""

    lines: list = field(default_factory=list)

    def write(self, line):
        self.lines.append(line)

    @property
    def events(self):
        return [(each["event"], each["count"]) for each in map(json.loads, self.lines)]


@dataclass
class Shuffler:
    """A shuffler, and how it is asked."""

    parties: Parties
    at_shuffler: CollectionAtShuffler
    client: httpx.AsyncClient
    logged: Logged

    async def post(self, content, *, path=None, media_type=UPLOAD_TYPE, **headers):
        path = f"{self.parties.collection.path}/reports" if path is None else path
        return await self.client.post(path, content=content, headers={"content-type": media_type, **headers})

    async def send(self, *submissions):
        """The errors by the ids of those that were refused."""
        answer = await self.post(UploadRequest(submissions).encode())
        assert answer.status_code == 200, answer.text
        return {each.id: each.error for each in UploadResponse.decode(answer.content).refused}

    async def status(self):
        return (await self.client.get(self.parties.collection.path)).json()


@asynccontextmanager
async def shuffler(folder, parties=None, *, clock=None, store=None, gateway_keys=None):
    """A shuffler on a store of its own, without its background work."""
    parties, logged = parties or Parties(), Logged()
    collection, log = parties.collection, EventLog(logged.write)
    pools = [pool.messages for pool in collection.task.pools]
    further = {"remembers": collection.every is not None, "most": collection.most}
    store = store or ReportStore(folder / "store", pools=pools, **further)
    at_shuffler = CollectionAtShuffler(
        collection, store, parties.shuffler_key, beside=folder, log=log, clock=clock or Clock(parties)
    )
    keys = gateway_keys or [each for each in (parties.gateway_key,) if each]
    app = shuffler_app([at_shuffler], log=log, gateway_keys=keys)
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://shuffler") as client:
            yield Shuffler(parties, at_shuffler, client, logged)
    finally:
        await at_shuffler.close()


@asynccontextmanager
async def analyzer(folder, parties, *, keys=None, earlier=()):
    """An analyzer as an HTTP client that reaches it, its collection and its log."""
    logged, store = Logged(), BatchStore(folder / "batches")
    log = EventLog(logged.write)
    keys = keys or [parties.analyzer_key]
    try:
        at_analyzer = CollectionAtAnalyzer(
            parties.collection, keys, store, folder / "release", log=log, earlier=earlier
        )
        app = analyzer_app([at_analyzer], keys, log=log)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app)) as client:
            yield client, at_analyzer, logged
    finally:
        store.close()


async def collected(folder, parties, submissions, **further):
    """The whole way: send, close, deliver, release; both logs."""
    async with shuffler(folder, parties) as here, analyzer(folder, parties, **further) as (client, _, logged):
        for start in range(0, len(submissions), 200):
            await here.send(*submissions[start : start + 200])
        await here.at_shuffler.stop_intake()
        await here.at_shuffler.advance()
        assert await Forwarder(here.at_shuffler, client, log=EventLog(here.logged.write)).send_all()
        return here.logged, logged


def run(test, *given, seconds=60, **further):
    """A test that is a coroutine."""
    return asyncio.run(asyncio.wait_for(test(*given, **further), seconds))


# ---- what people send -----------------------------------------------------------------------------------------------


def looks_sealed(collection):
    """A submission that a shuffler takes for a good one."""
    terms, config_id = terms_of(collection), next(iter(terms_of(collection).encapsulated))
    return Submission(
        tuple(
            Report.of(
                HpkeCiphertext(config_id, os.urandom(terms.encapsulated[config_id]), os.urandom(shape.payload)),
                tuple(Extension(kind, b'["Ulm",1]'.ljust(length)) for kind, length in shape.extensions),
            )
            for shape in terms.columns
        )
    )


def sealed(collection, reports, *, config, public=((),)):
    """Submissions of real reports, of each column those of all people."""
    columns = []
    for number, each in enumerate(reports):
        sealer = Sealer.to(config, collection_id=collection.id, column=number)
        blobs = ReportLayout.of(each.model).encode(each)
        beside = list(public) * (len(blobs) // len(public))
        columns.append([Report.of(sealer.seal(blob), ext) for blob, ext in zip(blobs, beside, strict=True)])
    return [Submission(each) for each in zip(*columns, strict=True)]


def reports_of(task, values):
    """The same reports in every column, not randomized."""
    return [Reports({"value": np.asarray(values)}, column.randomizer.randomizer().model) for column in task.columns]
