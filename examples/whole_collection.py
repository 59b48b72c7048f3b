"""A whole collection, played for all parties by one function without a network: whoever runs it protects nobody."""

import asyncio
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa  # from the extra `cli`; what seals and serves needs `service`

from shuffledp.core.instants import written
from shuffledp.files.devices import randomize_each
from shuffledp.files.reading import TableInMemory
from shuffledp.parties.http.event_log import EventLog
from shuffledp.parties.service.batch_store import BatchStore
from shuffledp.parties.service.client import sealed
from shuffledp.parties.service.collection_at_analyzer import CollectionAtAnalyzer
from shuffledp.parties.service.collection_at_shuffler import CollectionAtShuffler
from shuffledp.parties.service.forwarder import body_of
from shuffledp.parties.service.report_store import ReportStore
from shuffledp.parties.wire.grammar import UploadRequest
from shuffledp.parties.wire.keys import AnalyzerKey, ShufflerKey, in_text
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.survey import Collection, Service, Task

K_RR = {"kind": "k-rr", "epsilon0": 2.0, "categories": ["No", "Yes"]}
TASK = {"name": "survey", "value": "smokes", "randomizer": K_RR, "release": {"delta": 1e-6, "minimum_batch": 100}}


async def whole_collection(answers: list[str], folder: Path) -> None:
    """Write the release about these answers to ``folder / "release"``."""
    now, log = datetime.now(UTC), EventLog(sys.stdout.write)
    # Shuffler and analyzer: each makes a key and publishes its public part.
    shuffler_key, analyzer_key = keys = ShufflerKey.generate(), AnalyzerKey.generate()
    public = [PublishedKey(role=key.role, key=in_text(key.public), active_from=written(now)) for key in keys]
    mixer, office = (Service(url=f"https://{each.role}.example", key=each) for each in public)
    # Organizer: fixes task and parties in a file, whose digest binds every message.
    task, closes = Task.from_dict(TASK), written(now + timedelta(days=1))
    collection = Collection.new(task, shuffler=mixer, analyzer=office, closes=closes, now=now, demonstration=True)
    # Each person's device: randomizes the answer and seals the report to the analyzer.
    sent = [randomize_each(task, TableInMemory(pa.table({"smokes": [answer]}))) for answer in answers]
    uploads = [UploadRequest(tuple(sealed(collection, each, analyzer_key.config))).encode() for each in sent]
    # Shuffler: stores what it cannot read; at the close it draws the order of one batch by lot, and signs it.
    store = ReportStore(folder / "shuffler", pools=[1], remembers=False)
    mixing = CollectionAtShuffler(collection, store, shuffler_key, beside=folder, log=log)
    await asyncio.gather(*(mixing.upload(each) for each in uploads))
    await mixing.stop_intake()
    await mixing.advance()
    # Analyzer: takes each batch once, opens the reports, and writes estimates with what is guaranteed.
    held = BatchStore(folder / "analyzer")
    opening = CollectionAtAnalyzer(collection, [analyzer_key], held, folder / "release", log=log)
    for batch in await mixing.outgoing():
        await opening.take(body_of(mixing, batch))
        await mixing.delivered(batch)
    await opening.release()


with tempfile.TemporaryDirectory() as place:
    asyncio.run(whole_collection(["No"] * 150 + ["Yes"] * 50, Path(place)))
    print(Path(place, "release", "estimates.csv").read_text(), end="")
