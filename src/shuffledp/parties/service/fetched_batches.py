"""Batches that a collection's analyzer fetches: each request acknowledges one batch, and waits for the next.

An analyst behind a router can be reached by nobody, and asks. A batch is deleted when a later request names its
digest; then it is on the analyzer's disk.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

from starlette.responses import Response, StreamingResponse

from shuffledp.core.errors import RemoteProtocolError
from shuffledp.parties.http.http_messages import Problem, Refused
from shuffledp.parties.service.collection_at_shuffler import CollectionAtShuffler
from shuffledp.parties.service.forwarder import body_of
from shuffledp.parties.service.report_store import OutgoingBatch
from shuffledp.parties.wire.close_request import VALID
from shuffledp.parties.wire.fetch_request import LONGEST_WAIT, FetchRequest, batch_digest
from shuffledp.parties.wire.grammar import BATCH_TYPE
from shuffledp.parties.wire.keys import from_text

_AT_ONCE = 2  # requests of one collection that wait: one more is refused, so that waiting takes no server's connections
_MOST_NONCES = 10_000


class FetchedBatches:
    """Answers to the requests of a collection's analyzer for batches.

    Guarantees:
        1. Only requests signed by the analyzer's request key within five minutes get a batch, each at most once.
        2. A batch is deleted only when a request names its digest, never by a request that is repeated later.
        3. At most two requests of a collection wait at once.

    Args:
        at_shuffler: collection whose analyzer has no address.
    """

    def __init__(self, at_shuffler: CollectionAtShuffler) -> None:
        self._at_shuffler = at_shuffler
        key = at_shuffler.collection.analyzer.key.request_key or ""
        self._key = from_text(key, name="request_key")
        self._nonces: dict[bytes, datetime] = {}  # and when each came
        self._waiting = asyncio.Semaphore(_AT_ONCE)

    async def answer(self, body: bytes, *, known: Callable[[], object] = lambda: None) -> Response:
        """Response with the next batch, 204 if there is no batch yet, or 410 after the end.

        Args:
            body: encoded `FetchRequest`.
            known: called when the request is known to come from the analyzer.

        Raises:
            MalformedMessageError: if the body is no such request.
            Refused: if the signature, the time or the nonce is wrong, or two requests wait already.
            StorageError: if the disk did not take the acknowledgment.
        """
        request = FetchRequest.decode(body)
        self._check(request)
        known()
        if self._waiting.locked():
            raise Refused(Problem.UNAVAILABLE)
        async with self._waiting:
            if request.taken:
                await self._acknowledged(request.taken)
            outgoing = await self._next(min(request.wait, LONGEST_WAIT))
        if outgoing is None:
            return Response(status_code=204)
        return StreamingResponse(body_of(self._at_shuffler, outgoing), media_type=BATCH_TYPE)

    def _check(self, request: FetchRequest) -> None:
        now = datetime.now(UTC)
        try:
            request.verify(self._key, collection_id=self._at_shuffler.collection.id, now=now)
        except RemoteProtocolError:
            raise Refused(Problem.NOT_AUTHORIZED) from None
        for nonce in [each for each, since in self._nonces.items() if since < now - 2 * VALID]:
            del self._nonces[nonce]
        if request.nonce in self._nonces:
            raise Refused(Problem.NOT_AUTHORIZED)
        if len(self._nonces) >= _MOST_NONCES:
            raise Refused(Problem.UNAVAILABLE)
        self._nonces[request.nonce] = now

    async def _acknowledged(self, taken: bytes) -> None:
        """Delete the batch with this digest, if it is still there."""
        for outgoing in await self._at_shuffler.outgoing():
            if batch_digest(outgoing.manifest) == taken:
                await self._at_shuffler.delivered(outgoing)

    async def _next(self, seconds: float) -> OutgoingBatch | None:
        """Oldest batch on its way; None if no batch comes within ``seconds``.

        Raises:
            Refused: if the collection has ended.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while True:
            self._at_shuffler.batch_made.clear()
            if waiting := await self._at_shuffler.outgoing():
                return waiting[0]
            if self._at_shuffler.has_ended:
                raise Refused(Problem.COLLECTION_ENDED)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._at_shuffler.batch_made.wait(), until - loop.time())
                continue
            return None
