"""Demonstration of a collection on this machine: all parties as processes on loopback, with short-lived keys.

One operator plays every party and sees the answers, so that nobody is protected; the release says so.
"""

import json
import multiprocessing
import os
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from shuffledp.core.errors import BatchTooSmallError, RemoteProtocolError
from shuffledp.core.flow import Progress
from shuffledp.core.instants import written
from shuffledp.documents.release_document import RELEASE_PAGE
from shuffledp.files.devices import DeviceReports
from shuffledp.files.key_files import write_key
from shuffledp.parties.client.respondents_page import with_page
from shuffledp.parties.http.event_log import Happened
from shuffledp.parties.http.web_pages import PLACE
from shuffledp.parties.issuer.invitations import Invitation, new_invitations
from shuffledp.parties.service.client import Receipt, answer_to, new_client, send, status_of
from shuffledp.parties.service.device_token import DeviceToken
from shuffledp.parties.service.loopback_relay import run_relay
from shuffledp.parties.wire.close_request import CLOSE_TYPE, CloseRequest
from shuffledp.parties.wire.keys import AnalyzerKey, GatewayKey, IssuerKey, PrivateKey, ShufflerKey, in_text
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.survey import Collection, Service, Task, WebPage
from shuffledp.survey.parties import host_role

COLLECTION_FILE = "demo.collection"
LIFE = timedelta(days=1)
_SECONDS_TO_START = 60.0
_SECONDS_TO_RELEASE, _REPORTS_PER_SECOND = 120.0, 1000  # a lower bound for any machine
_PATIENCE = 10.0
NUM_INVITED = 3  # people invited at the page, if invitations are needed
_ENDS_BADLY = (
    Happened.NOT_RELEASED,
    Happened.SEEN_NOT_RELEASED,
    Happened.RELEASE_FAILED,
    Happened.FAILED_IN_LIBRARY,
)
_BAD_ENDS = {each.value for each in _ENDS_BADLY}


class Demonstration:
    """Collection of a demonstration with its services running.

    Args:
        collection: collection, open from now on for a day.
        key: shuffler's private key.
        folder: folder of all files of all parties.
        invitations: invitations for the crowd and for people at the page; empty if none are needed.
    """

    def __init__(
        self, collection: Collection, key: ShufflerKey, folder: Path, invitations: Sequence[Invitation] = ()
    ) -> None:
        self.collection = collection
        self._key, self._folder, self._num_sent, self._invitations = key, folder, 0, list(invitations)

    def links(self) -> list[str]:
        """Links to the page: one for all people, or one for each invitation left."""
        if self.collection.page is None:
            return []
        if self.collection.issuer is None:
            return [self.collection.page.link]
        return [each.link(self.collection.page) for each in self._invitations]

    def send(self, sent: DeviceReports, *, progress: Progress) -> None:
        """Send the reports of a crowd to the shuffler.

        Raises:
            RemoteProtocolError: if the shuffler refuses a report.
        """
        receipt = Receipt()
        with new_client() as issuing, new_client(to=self.collection) as client:
            if self.collection.issuer is None:
                receipt = send(self.collection, sent, client, progress=progress)
            else:
                hosts = range(len(self.collection.hosts))  # used for one person after the other
                own = [DeviceToken(self.collection, self._folder, host=host) for host in hosts]
                for place in range(sent.num_users):
                    invitation = self._invitations.pop()
                    tokens = [each.get(invitation, issuing, patience=_PATIENCE).shown() for each in own]
                    one = sent.take(slice(place, place + 1))
                    receipt += send(self.collection, one, client, token=tokens[0], tokens=tokens)
                    for each in own:
                        each.spent()
                    progress(place + 1, sent.num_users)
        if receipt.refused:
            raise RemoteProtocolError(f"the shuffler must store every report; it refused {receipt.refused}.")
        self._num_sent += sum(map(len, sent.reports))

    def release(self) -> Path:
        """Folder of the release, after the collection is closed.

        Raises:
            RemoteProtocolError: if a service fails.
            BatchTooSmallError: if there are fewer reports than the task's smallest batch.
        """
        request = CloseRequest.by(self._key, self.collection.id, datetime.now(UTC)).encode()
        with new_client() as client:
            if not status_of(self.collection, client, patience=_PATIENCE)["at_least_minimum"]:
                raise BatchTooSmallError(
                    f"a release needs at least minimum_batch = {self.collection.minimum} reports; there are fewer. "
                    "Nothing was released."
                )
            for each in self.collection.hosts:
                url = f"{each.url}{self.collection.path}/close"
                answer_to(client, "POST", url, _PATIENCE, body=request, media_type=CLOSE_TYPE)
        release = self._folder / "releases" / Path(COLLECTION_FILE).stem
        until = time.monotonic() + _SECONDS_TO_RELEASE + self._num_sent / _REPORTS_PER_SECOND
        while not (release / RELEASE_PAGE).exists():  # only a release has this page
            events = [json.loads(line)["event"] for line in (self._folder / "analyzer.log").read_text().splitlines()]
            if _BAD_ENDS & set(events) or time.monotonic() > until:
                raise RemoteProtocolError(f"the analyzer must write a release; its log says: {', '.join(events)}.")
            time.sleep(0.1)
        return release


@contextmanager
def demonstration(
    task: Task, folder: Path, *, web: bool = False, transport: str = "direct", crowd: int = 0
) -> Iterator[Demonstration]:
    """Running demonstration with all parties, each in a process of its own, until the block ends.

    Args:
        task: task of the collection.
        folder: empty folder for keys, configurations, states and logs; remove it afterwards.
        web: whether the shuffler also serves a page on which people answer.
        transport: transport as in `Collection`: "token" with an issuer, "oblivious" with a relay.
        crowd: number of people, besides those at the page, who get invitations if needed.

    Raises:
        InvalidParameterError: for a task that services or the page do not support.
        RemoteProtocolError: if a service does not start.
    """
    now, key, hosts = datetime.now(UTC), ShufflerKey.generate(), task.num_hosts
    roles = (*map(host_role, range(hosts)), "analyzer", "issuer", "relay")
    ports = dict(zip(roles, free_ports(len(roles)), strict=True))
    analyst = AnalyzerKey.generate()
    mixer, office = (party(folder, each, ports[each.role], now) for each in (key, analyst))
    further: dict[str, Any] = {}
    if hosts > 1:
        others = [
            party(folder, ShufflerKey.generate(), ports[role], now, name=role)
            for role in map(host_role, range(1, hosts))
        ]
        office = Service(key=PublishedKey.of(analyst, active_from=written(now)))  # who carries their agreement
        further = {"further_shufflers": tuple(others), "fetch_by": written(now + 2 * LIFE)}
    if transport == "token":
        further |= {"issuer": party(folder, IssuerKey.generate(), ports["issuer"], now)}
    elif transport == "oblivious":
        gateway = party(folder, GatewayKey.generate(), ports["shuffler"], now).key
        further |= {"gateway": gateway, "relay": f"http://127.0.0.1:{ports['relay']}/relay"}
    closes = written(now + LIFE)
    collection = Collection.new(
        task,
        shuffler=mixer,
        analyzer=office,
        transport=transport,
        closes=closes,
        now=now,
        demonstration=True,
        **further,
    )
    if web:
        collection, page = with_page(collection, f"{mixer.url}{PLACE}demo")
        WebPage.beside(folder / COLLECTION_FILE).write_bytes(page)
    (folder / COLLECTION_FILE).write_bytes(collection.canonical)
    invitations: list[Invitation] = []
    if collection.issuer is not None:
        invitations, listed = new_invitations(collection, crowd + web * NUM_INVITED)
        (folder / "invited.json").write_text(listed.written(), encoding="utf-8")
    with _at_work(collection, folder, ports):
        yield Demonstration(collection, key, folder, invitations)


@contextmanager
def _at_work(collection: Collection, folder: Path, ports: Mapping[str, int]) -> Iterator[None]:
    """Context in which the processes of all parties run from their configurations."""
    names = [host_role(number) for number in range(len(collection.hosts))]
    further = {name: f'key = "{name}.key"\n' for name in names}
    further |= {"analyzer": 'keys = ["analyzer.key"]\nreleases = "releases"\n'}
    if collection.is_oblivious:
        further["shuffler"] += 'gateway_keys = ["gateway.key"]\n'
    if collection.issuer is not None:
        further["issuer"] = 'keys = ["issuer.key"]\ninvited = ["invited.json"]\n'
    with ExitStack() as stack:
        if collection.is_oblivious:
            stack.enter_context(_relay_at_work(collection, ports["relay"]))
        running: list[subprocess.Popen[bytes]] = []
        stack.callback(end, running)
        for role, own in further.items():
            command = ["serve", "shuffler" if role in names else role]
            running.append(started(command, folder / f"{role}.toml", ports[role], own))
        for process in running:
            wait_for(process)
        yield


@contextmanager
def _relay_at_work(collection: Collection, port: int) -> Iterator[None]:
    """Context in which a relay process passes requests on to the gateway; early clients repeat their requests."""
    mixer = collection.shuffler.url
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=run_relay, args=(port, f"{mixer}/gateway", mixer), daemon=True)
    process.start()
    try:
        yield
    finally:
        process.terminate()
        process.join()


def party(folder: Path, key: PrivateKey, port: int, now: datetime, *, name: str = "") -> Service:
    """Write a party's key files, named by its role or ``name``; return its address and public key."""
    published = PublishedKey(role=key.role, key=in_text(key.public), active_from=written(now))
    write_key(folder / f"{name or key.role}.key", key, published)
    return Service(url=f"http://127.0.0.1:{port}", key=published)


def started(command: Sequence[str], config: Path, port: int, own: str) -> "subprocess.Popen[bytes]":
    """Start a service of the demonstration's collection from a new configuration; return the process.

    The log is beside the configuration.

    Args:
        command: command of this library that runs the service.
        config: configuration to write; its name without the ending is that of the state and of the log.
        port: port to listen at.
        own: settings that only this service has, in TOML.
    """
    common = f'listen = "127.0.0.1:{port}"\nstate = "{config.stem}"\ncollections = ["{COLLECTION_FILE}"]\n'
    config.write_text(common + own, encoding="utf-8")
    run = [sys.executable, "-m", "shuffledp", *command, "--config", str(config)]
    with config.with_suffix(".log").open("wb") as log:
        return subprocess.Popen(run, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)  # noqa: S603


def wait_for(process: "subprocess.Popen[bytes]") -> None:
    """Wait until a service reports that it listens."""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout or sys.stdin, selectors.EVENT_READ)
        ready = selector.select(_SECONDS_TO_START)
    if not ready or not os.read(ready[0][0].fd, 1):
        raise RemoteProtocolError("all services must start on this machine; one did not.")


def end(processes: Sequence["subprocess.Popen[bytes]"]) -> None:
    """Terminate processes, by force if needed."""
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def free_ports(count: int) -> list[int]:
    """Ports that are free at this moment, all different."""
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in taken]
    for each in taken:
        each.close()
    return ports
