"""Survey by one operator in one local network: this machine takes the answers in and releases the result."""

import asyncio
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from shuffledp.core.errors import InvalidParameterError, RemoteProtocolError
from shuffledp.core.instants import instant, written
from shuffledp.core.validate import invalid
from shuffledp.parties.http.web_pages import PLACE
from shuffledp.parties.organizer.survey_folder import Setting, SurveyFolder, new_survey
from shuffledp.parties.service.client import answer_to, new_client
from shuffledp.parties.service.demonstration import end, free_ports, wait_for
from shuffledp.parties.service.fetched_release import FetchedRelease, fetch_release
from shuffledp.parties.wire.close_request import CLOSE_TYPE, CloseRequest
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.survey import Collection, Service, Task
from shuffledp.survey.survey_terms import SurveyTerms

_STATE, _CONFIG, _LOG = "answers", "operator.toml", "operator.log"
_PATIENCE = 10.0
_TO_FETCH = timedelta(days=1)
_ELSEWHERE = ("192.0.2.1", 9)  # no machine's address (RFC 5737): nothing is sent, but the system picks a way there
_FRONT = "survey"


def network_address() -> str:
    """Address of this machine in its network, if the system knows the address.

    Raises:
        InvalidParameterError: if it has none but its own.
    """
    found = ""
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.connect(_ELSEWHERE)
        found = asking.getsockname()[0]
    if not found or ip_address(found).is_loopback:
        raise InvalidParameterError(
            "--address must be given: this machine does not tell its address in a network. Is it in one? Its settings "
            "show the address, such as 192.168.1.20."
        )
    return found


def new_local_survey(
    terms: SurveyTerms,
    output: Path,
    *,
    address: str,
    closes: str,
    reserve: Callable[[Collection], None] = lambda _: None,
) -> SurveyFolder:
    """Folder of a new survey of one operator, at an address of this machine and a free port.

    ``reserve`` reserves its release in a privacy ledger, before anybody can answer.

    Raises:
        InvalidParameterError: for an address that the internet reaches, or that is none.
    """
    try:
        in_url = f"[{ip_address(address)}]" if ip_address(address).version == 6 else str(ip_address(address))
    except ValueError:
        raise invalid("an IP address of this machine, such as 192.168.1.20", address=address) from None
    url = f"http://{in_url}:{free_ports(1)[0]}"
    fetch_by = written(instant(closes=closes) + _TO_FETCH)

    def collection(task: Task, analyst: PublishedKey, folder: SurveyFolder) -> Collection:
        return Collection.new(
            task,
            shuffler=Service(url=url, key=folder.new_operator_key()),
            analyzer=Service(key=analyst),
            closes=closes,
            fetch_by=fetch_by,
            local=True,
            now=datetime.now(UTC),
        )

    return new_survey(terms, output, Setting(collection, lambda _: f"{url}{PLACE}{_FRONT}", reserve=reserve))


@contextmanager
def at_work(survey: SurveyFolder) -> Iterator[Callable[[], None]]:
    """Context in which this machine takes answers in, continuing the work of an earlier process.

    Yields:
        Function that starts the process anew if it has ended; what was acknowledged is on the disk.

    Raises:
        RemoteProtocolError: if it cannot, as when the address is not this machine's any more.
    """
    collection = survey.read()
    (survey.path / _CONFIG).write_text(
        f'listen = "{urlsplit(collection.shuffler.url).netloc}"\nstate = "{_STATE}"\n'
        f'key = "{survey.operator_key_file.name}"\ncollections = ["{survey.collection_file.name}"]\n',
        encoding="utf-8",
    )
    running = [_started(survey)]

    def keep() -> None:
        if running[-1].poll() is not None:
            running.append(_started(survey))
            _wait_for(survey, running[-1])

    try:
        _wait_for(survey, running[-1])
        yield keep
    finally:
        end(running)


def _started(survey: SurveyFolder) -> "subprocess.Popen[bytes]":
    run = [sys.executable, "-m", "shuffledp", "serve", "shuffler", "--config", str(survey.path / _CONFIG)]
    with (survey.path / _LOG).open("ab") as log:
        return subprocess.Popen(run, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)  # noqa: S603


def _wait_for(survey: SurveyFolder, process: "subprocess.Popen[bytes]") -> None:
    """Wait until the process listens; the error of a failed start names a likely reason."""
    try:
        wait_for(process)
        return
    except RemoteProtocolError:
        address = urlsplit(survey.read().shuffler.url).netloc
    raise RemoteProtocolError(
        f"this machine must be able to listen at {address}; it is not. Is it still in the same network, and nothing "
        f"else at that port? {survey.path / _LOG} says more."
    )


def wait_for_end(collection: Collection, asked: threading.Event, keep: Callable[[], None]) -> None:
    """Wait until the collection closes or is asked to end; ``keep`` is called every second."""
    closes = instant(closes=collection.closes).timestamp()
    while (left := closes - time.time()) > 0:
        if asked.wait(min(left, 1.0)):  # the clock may be set meanwhile
            break
        keep()
    keep()


def close(survey: SurveyFolder) -> None:
    """Close a survey before its date.

    Raises:
        RemoteProtocolError: if the process that takes answers in does not answer.
    """
    collection = survey.read()
    request = CloseRequest.by(survey.operator_key(), collection.id, datetime.now(UTC)).encode()
    url = f"{collection.shuffler.url}{collection.path}/close"
    with new_client() as client:
        answer_to(client, "POST", url, _PATIENCE, body=request, media_type=CLOSE_TYPE)


def finished(survey: SurveyFolder) -> FetchedRelease:
    """Release of a local survey: the survey is closed, its reports fetched, and the release written.

    Raises:
        BatchTooSmallError: if fewer answered than are released.
        RemoteProtocolError: if the process that takes answers in does not answer.
    """
    close(survey)
    collection = survey.read()
    return asyncio.run(fetch_release(collection, [survey.analyst_key()], survey.path))
