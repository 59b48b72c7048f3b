"""Records open collections as this version leaves them on disk, into ``tests/golden/released/VERSION/``.

``python tests/golden/record_released.py``, once for each release, before its tag. What a version leaves is written
once: every later version must read it. Keys in it are made for it alone, and protect nobody.
"""

import asyncio
import json
import os
import sys
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import pyarrow as pa

from golden.released_mix import record_mix
from parties.issuer.issuing import WithTokens
from parties.relay.members import Circle
from parties.relay.together import Together
from shuffledp import __version__
from shuffledp.core.instants import instant
from shuffledp.files.devices import randomize_each
from shuffledp.files.reading import TableInMemory
from shuffledp.parties.http.event_log import EventLog
from shuffledp.parties.issuer.invitations import digest_of, new_invitations
from shuffledp.parties.issuer.issuer_store import IssuerStore
from shuffledp.parties.relay.journal import Journal
from shuffledp.parties.relay.mailboxes import Mailboxes, PostedLetters
from shuffledp.parties.service.batch_store import BatchStore
from shuffledp.parties.service.client import sealed
from shuffledp.parties.service.collection_at_analyzer import CollectionAtAnalyzer
from shuffledp.parties.service.collection_at_shuffler import CollectionAtShuffler
from shuffledp.parties.service.device_memory import DeviceMemory
from shuffledp.parties.service.forwarder import body_of
from shuffledp.parties.service.report_store import ReportStore
from shuffledp.parties.wire.grammar import UploadRequest
from shuffledp.parties.wire.keys import from_text
from shuffledp.survey import Task

RELEASED = Path(__file__).parent / "released"
EVERY, LEFT = 8, 4  # reports of a batch; reports that wait at the shuffler while the state is recorded


def task() -> Task:
    """A task of two private columns, in batches of a few people."""
    value = [
        {"column": "smokes", "randomizer": {"kind": "k-rr", "epsilon0": 2.0, "categories": ["No", "Yes"]}},
        {"column": "drinks", "randomizer": {"kind": "k-rr", "epsilon0": 1.0, "categories": ["No", "Some", "Much"]}},
    ]
    return Task.from_dict({"name": "health", "value": value, "release": {"delta": 1e-6, "minimum_batch": 5}})


def upload(collection, config) -> bytes:
    """The sealed request of one person."""
    sent = randomize_each(collection.task, TableInMemory(pa.table({"smokes": ["Yes"], "drinks": ["Some"]})))
    return UploadRequest(tuple(sealed(collection, sent, config))).encode()


def opened(folder, collection, shuffler_key, analyzer_keys):
    """Shuffler and analyzer at work on the stores of a folder, at the time when the collection was open."""
    log, opens = EventLog(lambda _: None), instant(opens=collection.opens).timestamp()
    store = ReportStore(folder / "shuffler", pools=[1, 1], remembers=True)
    mixing = CollectionAtShuffler(
        collection, store, shuffler_key, beside=folder, log=log, clock=lambda: opens + timedelta(days=1).total_seconds()
    )
    held = BatchStore(folder / "analyzer")
    return mixing, held, CollectionAtAnalyzer(collection, analyzer_keys, held, folder / "release", log=log)


async def record_survey(folder: Path) -> None:
    """A collection with tokens: one batch released, one handed over by half, reports waiting, an answer unsent."""
    parties = WithTokens(task(), every=EVERY)
    collection, config = parties.collection, parties.analyzer_key.config
    (folder / "task.json").write_text(json.dumps(collection.task.to_dict(), indent=2) + "\n")
    (folder / "collection.json").write_bytes(collection.canonical)
    for name in ("shuffler", "analyzer", "issuer"):
        (folder / f"{name}.key").write_text(getattr(parties, f"{name}_key").to_pem())
    invited, listed = new_invitations(collection, 3)
    codes = [from_text(each.code, name="code") for each in invited]
    issuer = IssuerStore(folder / "issuer")
    issuer.invite(collection.id, [from_text(each, name="code") for each in listed.codes])
    issuer.use(collection.id, digest_of(codes[0]), b"request of the first")
    issuer.close()
    mixing, held, analyzing = opened(folder, collection, parties.shuffler_key, [parties.analyzer_key])
    body, token = upload(collection, config), parties.token().shown()
    await mixing.upload(body, authorization=token)
    for _ in range(2 * EVERY + LEFT - 1):
        await mixing.upload(upload(collection, config), authorization=parties.token().shown())
    await mixing.advance()
    for batch in (await mixing.outgoing())[:-1]:  # the last one, of the second column, is not handed over yet
        await analyzing.take(body_of(mixing, batch))
        await mixing.delivered(batch)
    await analyzing.release()
    await mixing.close()
    held.close()
    device = DeviceMemory(collection.id, folder / "device")
    device.about_to_send(upload(collection, config))
    said = {
        "task": collection.task.sha256,
        "collection": collection.id.hex(),
        "codes": [code.hex() for code in codes],
        "stored": {"body": body.hex(), "token": token},
        "token": parties.token().shown(),
    }
    (folder / "expected.json").write_text(json.dumps(said, indent=2) + "\n")


async def record_relay(folder: Path) -> None:
    """A relay in the middle of its walk: every member's journal, and the letters of the stages that have ended."""
    circle = Circle(people=4, overlay={"groups": [2, 2]})
    walk = Together(circle, [0, 1, 1, 1])
    (folder / "collection.json").write_bytes(circle.collection.canonical)
    (folder / "directory.json").write_bytes(circle.directory.canonical)
    (folder / "analyzer.key").write_text(circle.analyst.to_pem())
    office = Mailboxes(folder / "office")
    for stage in range(2):
        walk.send()
        for state in walk.states:
            await office.put(PostedLetters(stage, state.person, state.letters))
        walk.receive()
        await office.end(stage, walk.states[0].attendance.records[stage])
    walk.send()  # the letters of the third stage are written down, and not sent
    await office.close()
    for person, (state, key) in enumerate(zip(walk.states, walk.keys, strict=True)):
        journal = Journal(walk.terms, person, folder / "members")
        journal.write(state)
        journal.close()
        (folder / f"member-{person}.key").write_text(key.to_pem())


PARTS = {"survey": record_survey, "relay": record_relay, "mix": record_mix}


def main() -> None:
    """Record what is not recorded yet of this version."""
    missing = {name: work for name, work in PARTS.items() if not (RELEASED / __version__ / name).exists()}
    if not missing:
        sys.exit(f"{__version__} must not be recorded yet: a version is recorded once, and read by all later ones.")
    os.umask(0o077)
    for name, work in missing.items():
        folder = RELEASED / __version__ / name
        folder.mkdir(parents=True)
        asyncio.run(work(folder))
        for path in folder.rglob("*"):
            is_of_release = path.suffix in {".html", ".svg", ".png"} and path.name != "page.html"  # a mix serves that
            if path.is_file() and (not path.stat().st_size or is_of_release):
                path.unlink()  # locks, and pages for people: no later version reads them


if __name__ == "__main__":
    main()
