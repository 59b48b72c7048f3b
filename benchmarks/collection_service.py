"""A collection service: intake beside the bare framework on the same storage, opening, and the release of a batch.

Processor seconds of the server are compared, since a client beside it takes the other core::

    python -m benchmarks.collection_service           # all of it
    python -m benchmarks.collection_service intake    # or one of intake, relayed, tokens, opening, release
"""

import asyncio
import hashlib
import multiprocessing
import os
import resource
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn
from starlette.types import Receive, Scope, Send

from shuffledp.core.flow import Reports
from shuffledp.core.instants import written
from shuffledp.parties.http.event_log import EventLog
from shuffledp.parties.http.serving import Endpoint, listen, run, serve_all
from shuffledp.parties.service.batch_opening import open_batch
from shuffledp.parties.service.batch_order import draw_for
from shuffledp.parties.service.collection_at_shuffler import CollectionAtShuffler, terms_of
from shuffledp.parties.service.intake import Row
from shuffledp.parties.service.report_store import ReportStore
from shuffledp.parties.service.shuffler_app import shuffler_app
from shuffledp.parties.store.database import Database
from shuffledp.parties.wire.binary_http import BinaryRequest
from shuffledp.parties.wire.blind_rsa import blind_sign
from shuffledp.parties.wire.grammar import UPLOAD_TYPE, BatchedReport, HpkeCiphertext, Report
from shuffledp.parties.wire.hpke import Sealer
from shuffledp.parties.wire.keys import AnalyzerKey, GatewayKey, IssuerKey, ShufflerKey, in_text
from shuffledp.parties.wire.oblivious_http import OHTTP_REQUEST, encapsulate
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.parties.wire.report_bytes import ReportLayout
from shuffledp.parties.wire.tokens import BLIND_RSA, PendingToken, Token, TokenChallenge, TokenCheck, TokenResponse
from shuffledp.survey import Collection, Service, Task

LARGE = 1_000_000
CONNECTIONS = 32
INTAKE = ((1, 6_000, 2.0), (1000, 60_000, 1.5))  # reports in a request, in all, and the most times the floor
KEY, SHUFFLER = AnalyzerKey.generate(), ShufflerKey.generate()
Serve = Callable[[Path, socket.socket], Coroutine[Any, Any, None]]


def collection(**further: Any) -> Collection:
    """A question with two answers."""
    now = datetime.now(UTC)
    randomizer = {"kind": "k-rr", "epsilon0": 1.0, "categories": ["No", "Yes"]}
    task = {"name": "t", "value": "v", "randomizer": randomizer, "release": {"delta": 1e-9, "minimum_batch": 100}}
    shuffler, analyzer = (
        Service(
            url="https://a.example", key=PublishedKey(role=key.role, key=in_text(key.public), active_from="2020-01-01")
        )
        for key in (SHUFFLER, KEY)
    )
    return Collection.new(
        Task.from_dict(task),
        shuffler=shuffler,
        analyzer=analyzer,
        closes=written(now + timedelta(days=9)),
        now=now,
        **further,
    )


ASKED = collection()
GATEWAY = GatewayKey.generate()
RELAYED = collection(
    transport="oblivious",
    relay="https://relay.example",
    gateway=PublishedKey(role=GATEWAY.role, key=in_text(GATEWAY.public), active_from="2020-01-01"),
)
PATH = f"{ASKED.path}/reports"


def reports(count: int) -> list[bytes]:
    """Reports as a shuffler sees them, of random bytes."""
    payload = terms_of(ASKED).columns[0].payload
    return [
        Report.of(HpkeCiphertext(KEY.config.id, os.urandom(32), os.urandom(payload))).encode() for _ in range(count)
    ]


# ---- intake ---------------------------------------------------------------------------------------------------------


async def ours(folder: Path, listening: socket.socket, *, asked: Collection = ASKED) -> None:
    """The shuffler."""
    store, log = ReportStore(folder, pools=[1], remembers=False), EventLog(lambda _: None)
    at_shuffler = CollectionAtShuffler(asked, store, SHUFFLER, beside=folder, log=log)
    app = shuffler_app([at_shuffler], log=log, gateway_keys=[GATEWAY])
    await serve_all([Endpoint(app=app, listening=listening)])


async def behind_a_relay(folder: Path, listening: socket.socket) -> None:
    """The shuffler of a collection whose uploads come sealed."""
    await ours(folder, listening, asked=RELAYED)


async def bare(folder: Path, listening: socket.socket) -> None:
    """As little as is as durable: fixed lengths, digests, one write for whatever waits, and an empty answer."""
    store, length, key = Bare(folder), len(reports(1)[0]), os.urandom(32)
    waiting: list[tuple[list[tuple[bytes, bytes, bytes]], asyncio.Future[None]]] = []
    writing: list[asyncio.Task[None]] = []

    async def write() -> None:
        while waiting:
            group = waiting[:]
            waiting.clear()
            rows = [each for several, _ in group for each in several]
            await store.thread.do(store.commit, rows)
            for _, done in group:
                done.set_result(None)
        writing.clear()

    async def app(_: Scope, receive: Receive, send: Send) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        rows = []
        for at in range(0, len(body), length):
            one = body[at : at + length]
            if hashlib.sha256(one[21:53] + one[57:]).digest()[:16] != one[:16]:
                raise ValueError
            rows.append((hashlib.blake2b(one[:16], key=key, digest_size=16).digest(), one[16:18], one[18:]))
        done = asyncio.get_running_loop().create_future()
        waiting.append((rows, done))
        if not writing:
            writing.append(asyncio.create_task(write()))
        await done
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", ws="none")
    await uvicorn.Server(config).serve(sockets=[listening])


class Bare(Database):
    """One table, with the same writes to the disk as the shuffler's store."""

    file, owner, in_use = "bare.sqlite", "a benchmark", "a benchmark must be alone."
    tables = ("CREATE TABLE reports(digest BLOB PRIMARY KEY, extensions BLOB, ciphertext BLOB) WITHOUT ROWID",)

    def commit(self, rows: Sequence[tuple[bytes, bytes, bytes]]) -> None:
        """Store what is not there."""
        with self.transaction():
            self.run_many("INSERT OR IGNORE INTO reports VALUES(?, ?, ?)", sorted(rows))


def processor_seconds(
    serve: Serve, bodies: Sequence[bytes], *, path: str = PATH, media_type: str = UPLOAD_TYPE
) -> tuple[float, float]:
    """Of a server in a process of its own that takes these requests; and seconds on the clock."""
    listening = listen("127.0.0.1:0")
    with tempfile.TemporaryDirectory() as name:
        child = os.fork()
        if not child:
            with suppress(BaseException):
                run(serve(Path(name) / "store", listening))
            os._exit(0)
        port = listening.getsockname()[1]
        listening.close()
        start = time.perf_counter()
        asyncio.run(send_all(port, bodies, path, media_type))
        seconds = time.perf_counter() - start
        os.kill(child, signal.SIGTERM)
        used = os.wait4(child, 0)[2]
    return used.ru_utime + used.ru_stime, seconds


async def send_all(port: int, bodies: Sequence[bytes], path: str, media_type: str) -> None:
    """Send requests over some connections, each waiting for the answer before."""
    left = iter(bodies)

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for body in left:
            head = (
                f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: {media_type}\r\ncontent-length: {len(body)}\r\n\r\n"
            )
            writer.write(head.encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            if not answer.startswith(b"HTTP/1.1 200"):
                raise SystemExit(answer.decode())
            length = next(line for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(int(length.partition(b":")[2]))
        writer.close()

    await asyncio.gather(*(client() for _ in range(CONNECTIONS)))


def intake() -> None:
    """Microseconds of the server for each report, in turns."""
    for each, total, most in INTAKE:
        found: dict[str, list[tuple[float, float]]] = {"ours": [], "bare": []}
        for _ in range(5):
            whole = reports(total)
            bodies = [b"".join(whole[at : at + each]) for at in range(0, total, each)]
            for name, serve in (("ours", ours), ("bare", bare)):
                found[name].append(processor_seconds(serve, bodies))
        times = {name: min(cpu for cpu, _ in several) / total * 1e6 for name, several in found.items()}
        rate = total / min(clock for _, clock in found["ours"])
        ratio = times["ours"] / times["bare"]
        wanted = f" (at most {most})" if most else ""
        print(
            f"{each} a request: {times['ours']:.0f} us of processor time a report, bare {times['bare']:.0f} us: "
            f"{ratio:.2f}{wanted}; {rate:,.0f} acknowledged a second"
        )


def encapsulated(report: bytes) -> bytes:
    """An upload of one report as a relay passes it on."""
    fields = ((b"content-type", UPLOAD_TYPE.encode()),)
    path = f"{RELAYED.path}/reports".encode()
    request = BinaryRequest(b"POST", b"https", b"a.example", path, fields, report)
    return encapsulate(GATEWAY.config, request.encode(length=1024))[0]


def relayed() -> None:
    """Microseconds of the server for a report that comes through a relay, and directly, in turns."""
    total, found = 3_000, dict[str, list[float]](direct=[], relayed=[])
    for _ in range(5):
        whole = reports(total)
        found["direct"].append(processor_seconds(ours, whole)[0])
        sealed = [encapsulated(each) for each in whole]
        used, _ = processor_seconds(behind_a_relay, sealed, path="/gateway", media_type=OHTTP_REQUEST)
        found["relayed"].append(used)
    direct, oblivious = (min(found[name]) / total * 1e6 for name in ("direct", "relayed"))
    print(
        f"through a relay: {oblivious:.0f} us of processor time a report, directly {direct:.0f} us: "
        f"{oblivious / direct:.2f} (at most 2.5)"
    )


def tokens() -> None:
    """Microseconds to check a token at the shuffler, and tokens that an issuer signs in a second."""
    key = IssuerKey.generate()
    challenge = TokenChallenge(BLIND_RSA, b"issuer.example", bytes(32), b"a.example")
    pending = PendingToken.new(challenge, key.public)
    blinded, signing = pending.request.blinded_msg, time.process_time()
    signed = [blind_sign(key.private_key, blinded) for _ in range(100)]
    rate = len(signed) / (time.process_time() - signing)
    shown = pending.finalize(challenge, key.public, TokenResponse(signed[0])).shown()
    check, found = TokenCheck(challenge, [key.public]), []
    for _ in range(5):
        start = time.process_time()
        for _ in range(2_000):
            check(Token.of_shown(shown))
        found.append((time.process_time() - start) / 2_000 * 1e6)
    print(f"a token: {min(found):.0f} us of processor time to read and check (at most 40); {rate:.0f} signed a second")


# ---- opening --------------------------------------------------------------------------------------------------------


def _sealed(count: int) -> bytes:
    sealer = Sealer.to(KEY.config, collection_id=ASKED.id, column=0)
    layout = ReportLayout.of(ASKED.task.column.randomizer.randomizer().model)
    blobs = layout.encode(Reports({"value": np.arange(count) % 2}, layout.model))
    return b"".join([BatchedReport((), sealer.seal(blob)).encode() for blob in blobs])


def opening() -> None:
    """A batch of a million, opened by as many processes as there are cores."""
    with multiprocessing.get_context("fork").Pool() as pool:
        body = b"".join(pool.map(_sealed, [LARGE // 20] * 20))
    with tempfile.NamedTemporaryFile() as file:
        file.write(body)
        file.flush()
        del body
        before, start = _used(), time.perf_counter()
        model = ASKED.task.column.randomizer.randomizer().model
        found = open_batch(Path(file.name), LARGE, model, [KEY], collection_id=ASKED.id, column=0)
        clock, used = time.perf_counter() - start, _used() - before
    if len(found.reports) != LARGE:
        raise SystemExit("reports were lost")
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) >> 10
    print(f"opening {LARGE:,}: {used:.0f} s of processor time (at most 60), {clock:.0f} s, peak {peak} MiB (below 500)")


def _used() -> float:
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in both)


# ---- the release of a batch -----------------------------------------------------------------------------------------


def release() -> None:
    """A million reports of one collection leave in a batch while another one takes reports in."""
    asyncio.run(_release())


async def _release() -> None:
    log = EventLog(lambda _: None)
    with tempfile.TemporaryDirectory() as name:
        large, small = (ReportStore(Path(name) / each, pools=[1], remembers=False) for each in ("large", "small"))
        ciphertext = os.urandom(71)
        for _ in range(0, LARGE, 1000):
            large.commit([[Row(os.urandom(16), b"\0\0", ciphertext)] for _ in range(1000)])
        at_shuffler = CollectionAtShuffler(ASKED, small, SHUFFLER, beside=Path(name), log=log)
        start, waits = time.perf_counter(), [0.0]
        draw = draw_for(ASKED.task, Path(name))
        moving = asyncio.create_task(asyncio.to_thread(large.release, LARGE, draw, lambda _: b""))
        while not moving.done():
            asked = time.perf_counter()
            await at_shuffler.upload(reports(1)[0])
            waits.append(time.perf_counter() - asked)
        seconds = time.perf_counter() - start
    print(
        f"a batch of {LARGE:,}: {seconds:.0f} s (at most 60); meanwhile {len(waits):,} reports of another collection "
        f"were acknowledged, the slowest after {max(waits):.2f} s (at most 1)"
    )


PARTS = {"intake": intake, "relayed": relayed, "tokens": tokens, "opening": opening, "release": release}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
