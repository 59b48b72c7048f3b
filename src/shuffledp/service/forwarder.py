"""The way of batches from the shuffler to the analyzer: sent until they are acknowledged, with growing pauses."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import httpx

from shuffledp.service.certificates import trusted
from shuffledp.service.desk import Desk
from shuffledp.service.event_log import EventLog, Happened
from shuffledp.service.store import Outgoing
from shuffledp.wire.grammar import BATCH_TYPE

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 300.0  # seconds
_SECONDS = httpx.Timeout(60.0)  # for each part; an analyzer that is away is found out much faster


class Forwarder:
    """Sends the batches of a collection, in their order, at least once each; the analyzer takes each once.

    Args:
        desk: whose batches.
        client: made by `analyzer_client`.
        log: told of every failed attempt, and not why: the reason may hold an address.
    """

    def __init__(self, desk: Desk, client: httpx.AsyncClient, *, log: EventLog) -> None:
        self._desk, self._client, self._log = desk, client, log
        self._url = f"{desk.collection.analyzer.url}{desk.collection.path}/batches"

    async def run(self) -> None:
        """Send whatever there is, until the task is cancelled."""
        pause = _FIRST_PAUSE
        while True:
            self._desk.batch_made.clear()
            if await self.send_all():
                pause = _FIRST_PAUSE
                await self._desk.batch_made.wait()
            else:
                self._log(Happened.DELIVERY_FAILED)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._desk.batch_made.wait(), _with_jitter(pause))
                pause = min(2 * pause, _LONGEST_PAUSE)

    async def send_all(self) -> bool:
        """Send each batch once; False if one was not acknowledged, and is to be sent again."""
        try:
            for outgoing in await self._desk.outgoing():
                if not await self._send(outgoing):
                    return False
                await self._desk.delivered(outgoing)
        except Exception:  # whatever it is, such as an address that nothing has, other collections go on
            return False
        return True

    async def _send(self, outgoing: Outgoing) -> bool:
        headers = {"content-type": BATCH_TYPE}
        async with self._client.stream(
            "POST", self._url, content=self._body(outgoing), headers=headers, timeout=_SECONDS
        ) as answer:  # whose body is not read: it could be endless
            return answer.status_code == httpx.codes.OK

    async def _body(self, outgoing: Outgoing) -> AsyncIterator[bytes]:
        yield outgoing.manifest
        number = 0
        while (part := await self._desk.part(outgoing, number)) is not None:
            yield part
            number += 1


def analyzer_client(certificates: str | None = None) -> httpx.AsyncClient:
    """A client that goes to the analyzer's address and nowhere else; ``certificates`` is a file of trusted ones."""
    verify = trusted(None if certificates is None else Path(certificates), name="analyzer_certificates")
    return httpx.AsyncClient(verify=verify, follow_redirects=False, trust_env=False)


def _with_jitter(seconds: float) -> float:
    """Half as long to one and a half times as long, so that nobody can tell pauses from what caused them."""
    return seconds * (0.5 + secrets.randbelow(1000) / 1000)
