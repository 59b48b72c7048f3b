"""Fetcher of batches for an analyzer without an address: asks the shuffler, stores, releases, and acknowledges."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from enum import Enum

import httpx

from shuffledp.core.errors import AgreementError, BatchTooSmallError, InvalidParameterError, RemoteProtocolError
from shuffledp.parties.agreement.agreement_courier import Courier
from shuffledp.parties.http.event_log import EventLog, Happened
from shuffledp.parties.http.http_messages import Refused
from shuffledp.parties.http.pauses import Pauses
from shuffledp.parties.service.analyzer_app import MOST_BYTES
from shuffledp.parties.service.collection_at_analyzer import LONGEST_MANIFEST, CollectionAtAnalyzer
from shuffledp.parties.service.forwarder import FIRST_PAUSE, LONGEST_PAUSE
from shuffledp.parties.wire.fetch_request import FETCH_TYPE, LONGEST_WAIT, FetchRequest, batch_digest
from shuffledp.parties.wire.grammar import BATCH_TYPE, SignedManifest
from shuffledp.parties.wire.keys import AnalyzerKey, in_text
from shuffledp.survey import Collection

_SECONDS = 60.0  # for an answer's head and manifest; longer than the shuffler waits for a batch
_A_SECOND = 1 << 14  # bytes per second of a batch, at least: a lying shuffler could send one a minute for ever


class FetchOutcome(Enum):
    """Outcome of one request for a batch."""

    BATCH = "a batch is on the disk"
    NOTHING = "there is no batch yet"
    ENDED = "the shuffler has no more batches"


class Fetcher:
    """Fetcher of one collection's batches; each batch is stored before it is acknowledged.

    Guarantees:
        1. The shuffler is asked to delete a batch only when it is on this disk.
        2. A batch that comes twice is released once.

    Args:
        at_analyzer: collection at the analyzer, whose store takes the batches.
        key: private key whose request key the collection names.
        client: client made by `shuffledp.parties.service.forwarder.party_client`.
        log: log of failed attempts, without reasons, which may hold addresses.
        host: number of the shuffler, from 0.
    """

    def __init__(
        self,
        at_analyzer: CollectionAtAnalyzer,
        key: AnalyzerKey,
        client: httpx.AsyncClient,
        *,
        log: EventLog,
        host: int = 0,
    ) -> None:
        self._at_analyzer, self._key, self._client, self._log = at_analyzer, key, client, log
        self.shuffler = at_analyzer.collection.hosts[host].url
        self._url = f"{self.shuffler}{at_analyzer.collection.path}/fetch"
        self._taken = b""

    async def run(self) -> None:
        """Fetch until the collection has ended; failures are repeated after growing pauses."""
        pauses = Pauses(FIRST_PAUSE, LONGEST_PAUSE)
        while True:
            try:
                if await self.fetch() is FetchOutcome.ENDED:
                    return
                pauses.begin_anew()
            except Exception:  # for any error, such as an unknown address, other collections go on
                self._log(Happened.FETCH_FAILED)
                await asyncio.sleep(pauses.next())

    async def fetch(self, *, wait: int = LONGEST_WAIT) -> FetchOutcome:
        """Ask once: acknowledge the previous batch, store the next batch, and write complete releases.

        Args:
            wait: seconds for which the shuffler waits for a batch.

        Returns:
            Whether a batch came, and whether more can come.

        Raises:
            RemoteProtocolError: if the shuffler refuses, or what comes is no batch of the collection.
            StorageError: if the disk did not take the batch.
            httpx.HTTPError: if the shuffler cannot be reached, or the answer ends early, or comes too slowly.
        """
        try:
            async with asyncio.timeout(_SECONDS) as limit:
                found = await self._ask(wait, limit)
        except (TimeoutError, Refused):
            raise httpx.ReadTimeout("the answer comes too slowly") from None
        if found is FetchOutcome.BATCH:
            await self._at_analyzer.release()
        return found

    async def _ask(self, wait: int, limit: asyncio.Timeout) -> FetchOutcome:
        """Outcome of one request, whose batch is stored; ``limit`` is extended while the batch arrives."""
        collection_id = self._at_analyzer.collection.id
        request = FetchRequest.by(self._key, collection_id, datetime.now(UTC), taken=self._taken, wait=wait)
        async with self._client.stream(
            "POST", self._url, content=request.encode(), headers={"content-type": FETCH_TYPE}, timeout=_SECONDS
        ) as answer:  # the body is read as a batch alone, since it could be endless
            if answer.status_code == httpx.codes.NO_CONTENT:
                return FetchOutcome.NOTHING
            if answer.status_code == httpx.codes.GONE:
                return FetchOutcome.ENDED
            if answer.is_server_error:  # also of a proxy before a shuffler that starts again
                answer.raise_for_status()
            if answer.status_code != httpx.codes.OK or answer.headers.get("content-type") != BATCH_TYPE:
                raise _refusal(self.shuffler, answer.status_code)
            head = bytearray()
            await self._at_analyzer.take(_kept(answer.aiter_raw(), head, limit))
        signed, _ = SignedManifest.read(bytes(head), 0, len(head))
        self._taken = batch_digest(signed.encode())
        return FetchOutcome.BATCH


async def run_fetching(
    at_analyzer: CollectionAtAnalyzer, key: AnalyzerKey, client: httpx.AsyncClient, *, log: EventLog
) -> None:
    """Fetch a collection until it has ended; several shufflers must agree first.

    Failures are repeated.

    Args:
        at_analyzer: collection at the analyzer.
        key: private key whose request key the collection names.
        client: client for the shufflers.
        log: log of events.
    """
    hosts, pauses = range(len(at_analyzer.collection.hosts)), Pauses(FIRST_PAUSE, LONGEST_PAUSE)
    while len(hosts) > 1:
        try:
            await Courier(at_analyzer.collection, key, client).carry()
            break
        except (AgreementError, BatchTooSmallError):
            log(Happened.DISAGREED)
            return
        except Exception:  # for any error, such as an unknown address, other collections go on
            log(Happened.FETCH_FAILED)
            await asyncio.sleep(pauses.next())
    await asyncio.gather(*(Fetcher(at_analyzer, key, client, log=log, host=host).run() for host in hosts))


def fetching_key(keys: Sequence[AnalyzerKey], collection: Collection) -> AnalyzerKey:
    """Private key, among several, that matches the request key in the collection.

    Raises:
        InvalidParameterError: if there is none.
    """
    for key in keys:
        if in_text(key.request_key) == collection.analyzer.key.request_key:
            return key
    raise InvalidParameterError("the analyzer's key must be the one that the collection names; it is another.")


def _refusal(url: str, status: int) -> RemoteProtocolError:
    if status == httpx.codes.FORBIDDEN:
        why = "it refuses the request. Is the clock of this machine right to five minutes?"
    elif status == httpx.codes.NOT_FOUND:
        why = "it does not know the collection."
    else:
        why = f"it answers with status {status}."
    return RemoteProtocolError(f"the shuffler at {url} must give batches to their analyzer; {why}")


async def _kept(parts: AsyncIterator[bytes], head: bytearray, limit: asyncio.Timeout) -> AsyncIterator[bytes]:
    """Parts of a body as they come; the first bytes, which hold the manifest, are added to ``head``.

    Raises:
        RemoteProtocolError: if the body is longer than any batch; a lying shuffler could fill the disk.
    """
    began, size = asyncio.get_running_loop().time(), 0
    async for part in parts:
        size += len(part)
        if size > MOST_BYTES:
            raise RemoteProtocolError(f"a batch must have at most {MOST_BYTES:,} bytes; it has more.")
        limit.reschedule(began + _SECONDS + size / _A_SECOND)
        if len(head) < LONGEST_MANIFEST:
            head += part
        yield part
    limit.reschedule(None)  # the rest is this machine's work
