"""Forwarder of batches from the shuffler to the analyzer: repeats until acknowledged, with growing pauses."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import httpx

from shuffledp.parties.http.certificates import trusted
from shuffledp.parties.http.event_log import EventLog, Happened
from shuffledp.parties.http.pauses import Pauses
from shuffledp.parties.service.collection_at_shuffler import CollectionAtShuffler
from shuffledp.parties.service.report_store import OutgoingBatch
from shuffledp.parties.wire.grammar import BATCH_TYPE

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 300.0  # seconds
_SECONDS = httpx.Timeout(60.0)  # for each part; an unreachable analyzer is detected much faster


class Forwarder:
    """Sender of a collection's batches in order, each at least once, to an analyzer that drops repeats.

    Args:
        at_shuffler: collection whose batches are sent.
        client: client made by `party_client`.
        log: log of failed attempts, without reasons, which may hold addresses.
    """

    def __init__(self, at_shuffler: CollectionAtShuffler, client: httpx.AsyncClient, *, log: EventLog) -> None:
        self._at_shuffler, self._client, self._log = at_shuffler, client, log
        self._url = f"{at_shuffler.collection.analyzer.url}{at_shuffler.collection.path}/batches"

    async def run(self) -> None:
        """Send batches as they come, until the task is cancelled."""
        pauses = Pauses(FIRST_PAUSE, LONGEST_PAUSE)
        while True:
            self._at_shuffler.batch_made.clear()
            if await self.send_all():
                pauses.begin_anew()
                await self._at_shuffler.batch_made.wait()
            else:
                self._log(Happened.DELIVERY_FAILED)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._at_shuffler.batch_made.wait(), pauses.next())

    async def send_all(self) -> bool:
        """Send batches in order up to the first failure; return whether all batches were acknowledged."""
        try:
            for outgoing in await self._at_shuffler.outgoing():
                if not await self._send(outgoing):
                    return False
                await self._at_shuffler.delivered(outgoing)
        except Exception:  # for any error, such as an unknown address, other collections go on
            return False
        return True

    async def _send(self, outgoing: OutgoingBatch) -> bool:
        headers = {"content-type": BATCH_TYPE}
        async with self._client.stream(
            "POST", self._url, content=body_of(self._at_shuffler, outgoing), headers=headers, timeout=_SECONDS
        ) as answer:  # the body is not read, since it could be endless
            return answer.status_code == httpx.codes.OK


async def body_of(at_shuffler: CollectionAtShuffler, outgoing: OutgoingBatch) -> AsyncIterator[bytes]:
    """Body, in parts, of the request that hands a batch over: its manifest, then its reports."""
    yield outgoing.manifest
    number = 0
    while (part := await at_shuffler.part(outgoing, number)) is not None:
        yield part
        number += 1


def party_client(certificates: str | Path | None = None, *, name: str = "analyzer_certificates") -> httpx.AsyncClient:
    """HTTP client for another party, without redirects or proxies; it trusts the file ``certificates``.

    Raises:
        InvalidParameterError: if the file, which ``name`` calls in the message, holds no certificates.
    """
    verify = trusted(None if certificates is None else Path(certificates), name=name)
    return httpx.AsyncClient(verify=verify, follow_redirects=False, trust_env=False)
