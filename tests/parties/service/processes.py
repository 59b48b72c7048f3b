"""Services in processes of their own on loopback, which can be killed; and a connection that breaks or stalls.

A process is a copy of this one, so that it starts at once.
"""

import asyncio
import os
import random
import secrets
import select
import signal
import socket
import time
import traceback
from contextlib import contextmanager, suppress

from parties.service.given import Parties
from shuffledp.files.key_files import write_key
from shuffledp.parties.http.event_log import EventLog
from shuffledp.parties.service.config import AnalyzerConfig, IssuerConfig, ShufflerConfig
from shuffledp.parties.service.run_services import run_analyzer, run_issuer, run_shuffler

_SECONDS = 30.0
_UNTOUCHED = bytes(1 << 16)  # memory that is there, and in which nobody has written
_LONGEST_TRACE = 64
_PORTS = range(10_000, 30_000)  # below those that systems give to whoever asks for any
_GIVEN = set()


def free_port():
    """A port that nobody has at this moment, nor is given by the system to another program while a service is down.

    None is given twice: of a thousand services one would get the port of its own counts for its requests, too.
    """
    while True:
        port = random.choice(_PORTS)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            if port not in _GIVEN:
                _GIVEN.add(port)
                return port


def until(condition, seconds=_SECONDS):
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)
    return found


def kill_soon(process, milliseconds=30):
    """Kill a service's process within some milliseconds, by a child to wait for: until then it is not started anew."""
    child = os.fork()
    if not child:
        try:
            time.sleep(secrets.randbelow(milliseconds) / 1000)
            os.kill(process.pid, signal.SIGKILL)
        finally:
            os._exit(0)  # whatever happens: the child is a copy of the test run
    return child


class Process:
    """A service in a process of its own, which answers when this is made."""

    def __init__(self, service, config, log):
        reading, writing = os.pipe()
        self._service, self._config, self._log = service, config, log
        self.pid = os.fork()
        if not self.pid:
            os.close(reading)
            self._run(writing)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            ready, _, _ = select.select([pipe], [], [], _SECONDS)
            assert ready
            assert pipe.read() == b"ready", log.read_text()

    def _run(self, writing):
        status = 1
        try:
            with self._log.open("a") as file:
                log = EventLog(lambda line: (file.write(line), file.flush()))
                log.instead_of_others()

                def ready(_):
                    os.write(writing, b"ready")
                    os.close(writing)

                asyncio.run(self._service(self._config, log=log, ready=ready))
                status = 0
        except BaseException:
            with self._log.open("a") as file:
                traceback.print_exc(file=file)
        finally:
            os._exit(status)

    def end(self, how=signal.SIGTERM):
        """End it, and wait until it has ended."""
        if self.pid:
            os.kill(self.pid, how)
            until(self.has_ended)

    def has_ended(self):
        """Whether it has ended."""
        if self.pid and os.waitpid(self.pid, os.WNOHANG)[0]:
            self.pid = 0
        return not self.pid

    def holds(self, *traces):
        """Which of some bytes are anywhere in its memory."""
        found = set()
        with open(f"/proc/{self.pid}/maps") as maps, open(f"/proc/{self.pid}/mem", "rb", 0) as memory:
            for line in maps:
                place, permissions, _, _, inode, *_ = line.split()
                start, stop = (int(each, 16) for each in place.split("-"))
                if not permissions.startswith("rw") or inode != "0":  # of a file
                    continue
                for at in range(start, stop, len(_UNTOUCHED)):
                    memory.seek(at)
                    with suppress(OSError):
                        part = memory.read(min(len(_UNTOUCHED) + _LONGEST_TRACE, stop - at))
                        if not part.startswith(_UNTOUCHED):
                            found |= {trace for trace in traces if trace in part}
        return found

    def memory(self):
        """Its resident memory in bytes."""
        with open(f"/proc/{self.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Place:
    """A folder with the keys, the collection and the configurations of both parties, and their processes."""

    def __init__(
        self, folder, asked=None, *, analyzer_port=None, fetches=False, limits="", kind=Parties, proxy="", **further
    ):
        self.folder = folder
        self.ports = {role: free_port() for role in ("shuffler", "analyzer", "issuer", "metrics")}
        self.url = proxy or f"http://127.0.0.1:{self.ports['shuffler']}"
        analyzer = "" if fetches else f"http://127.0.0.1:{analyzer_port or self.ports['analyzer']}"
        if kind is not Parties:
            further["issuer"] = f"http://127.0.0.1:{self.ports['issuer']}"
        self.parties = parties = kind(asked, shuffler=self.url, analyzer=analyzer, **further)
        for name, key in (
            ("shuffler", parties.shuffler_key),
            ("analyzer", parties.analyzer_key),
            *([("gateway", parties.gateway_key)] if parties.gateway_key else ()),
            *([("issuer", parties.issuer_key)] if kind is not Parties else ()),
        ):
            write_key(folder / f"{name}.key", key, self.parties.published(key))
        (folder / "survey.collection").write_bytes(self.parties.collection.canonical)
        common = 'listen = "127.0.0.1:{}"\nstate = "{}"\ncollections = ["survey.collection"]\n'
        (folder / "shuffler.toml").write_text(
            common.format(self.ports["shuffler"], "shuffler")
            + ('gateway_keys = ["gateway.key"]\n' if parties.gateway_key else "")
            + f'key = "shuffler.key"\nmetrics = "127.0.0.1:{self.ports["metrics"]}"\n{limits}'
        )
        (folder / "analyzer.toml").write_text(
            common.format(self.ports["analyzer"], "analyzer") + 'keys = ["analyzer.key"]\nreleases = "releases"\n'
        )
        (folder / "issuer.toml").write_text(
            common.format(self.ports["issuer"], "issuer") + 'keys = ["issuer.key"]\ninvited = ["invited.json"]\n'
        )
        self.running = {}

    def start(self, role):
        """Start a service, again if it was ended."""
        service, config = {
            "shuffler": (run_shuffler, ShufflerConfig),
            "analyzer": (run_analyzer, AnalyzerConfig),
            "issuer": (run_issuer, IssuerConfig),
        }[role]
        made = Process(service, config.read(self.folder / f"{role}.toml"), self.log(role))
        self.running[role] = made
        return made

    def log(self, role):
        """The file of a service's log."""
        path = self.folder / f"{role}.log"
        path.touch()
        return path

    @property
    def release(self):
        """The folder of the release."""
        return self.folder / "releases" / "survey"


@contextmanager
def place(folder, *given, **further):
    """A `Place` whose processes are ended, whatever happens."""
    made = Place(folder, *given, **further)
    try:
        yield made
    finally:
        for process in made.running.values():
            process.end(signal.SIGKILL)


class WeakLink:
    """A connection to an address that breaks off in the middle, stalls, or sends everything twice, as it is told.

    Args:
        port: where it leads to.
        moods: what it does with each connection: "break" after some bytes, "stall" for a while, "double", or "well".
    """

    def __init__(self, port, moods):
        self._port, self._moods, self.seen = port, iter(moods), []

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self._server.close()

    async def _serve(self, reader, writer):
        mood = next(self._moods, "well")
        self.seen.append(mood)
        with suppress(OSError, asyncio.IncompleteReadError):
            theirs, ours = await asyncio.open_connection("127.0.0.1", self._port)
            back = asyncio.create_task(self._copy(theirs, writer, "well"))
            await self._copy(reader, ours, mood)
            if mood == "break":
                back.cancel()
            else:
                await back
            ours.close()
        writer.close()

    async def _copy(self, reader, writer, mood):
        sent = b""
        while part := await reader.read(1 << 14):
            sent += part
            if mood == "break" and len(sent) > 1000:
                writer.write(part[:100])
                writer.transport.abort()
                return
            if mood == "stall":
                await asyncio.sleep(0.2)
            writer.write(part)
            await writer.drain()
        if mood == "double":  # the same request once more, by a connection of its own
            _, again = await asyncio.open_connection("127.0.0.1", self._port)
            again.write(sent)
            await again.drain()
            again.close()
        if writer.can_write_eof():
            writer.write_eof()
