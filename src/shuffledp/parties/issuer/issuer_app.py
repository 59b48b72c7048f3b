"""Issuer over HTTP: signs one token blindly for each invitation, without seeing the token.

``POST /collections/ID/token-request`` takes a request for a token (RFC 9578, section 6.1), with the invitation's code
as a bearer. ``POST /collections/ID/close`` closes the collection for the holder of its shuffler's key.
"""

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.instants import instant
from shuffledp.parties.http.event_log import EventLog, Happened
from shuffledp.parties.http.http_messages import (
    Problem,
    Refused,
    application,
    authorization,
    check_closing,
    of_collection,
    ok_response,
    whole_body,
)
from shuffledp.parties.issuer.invitations import CODE_BYTES, digest_of
from shuffledp.parties.issuer.invited_lists import Lists
from shuffledp.parties.issuer.issuer_store import IssuerStore, row_of
from shuffledp.parties.wire.blind_rsa import blind_sign
from shuffledp.parties.wire.close_request import CLOSE_TYPE
from shuffledp.parties.wire.keys import IssuerKey, from_text, in_text
from shuffledp.parties.wire.tokens import (
    BLIND_RSA,
    ISSUANCE_REQUEST,
    ISSUANCE_RESPONSE,
    TokenRequest,
    TokenResponse,
    key_id,
)
from shuffledp.survey import Collection as Survey

_BEARER = re.compile("Bearer ([A-Za-z0-9_-]{1,64})")
LONGEST_TOKEN_REQUEST = 1 << 10  # bytes


class CollectionAtIssuer:
    """Collection at the issuer: checks invitations and signs tokens.

    Args:
        collection: collection whose tokens are signed.
        key: issuer's private key, for this collection alone.
        store: store of all collections of this process.
        log: log of events.
        now: function for the current time.
    """

    def __init__(
        self,
        collection: Survey,
        key: IssuerKey,
        store: IssuerStore,
        *,
        log: EventLog,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.collection = collection
        self._key, self._store, self._log, self._now = key, store, log, now
        self._codes: frozenset[bytes] = frozenset()
        self._is_closed = store.is_closed(collection.id)
        self._key_id = key_id(key.public)[-1]

    @property
    def has_ended(self) -> bool:
        """Whether signing has ended."""
        return self._is_closed or self._now() >= instant(closes=self.collection.closes)

    async def take(self, lists: Lists) -> None:
        """Replace the known invitations of the collection by these lists, which also cancel invitations.

        Raises:
            StorageError: if the disk did not take the lists.
        """
        if self.has_ended:
            return
        good, signatures = lists.codes - lists.cancelled, range(len(self.collection.hosts))
        rows = [row_of(code, number) for code in good for number in signatures]
        late = await self._store.thread.do(self._store.invite, self.collection.id, rows, lists.cancelled)
        if len(signatures) > 1:
            further = [row_of(code, number) for code in lists.cancelled for number in signatures[1:]]
            await self._store.thread.do(self._store.invite, self.collection.id, (), further)
        self._codes = frozenset(good)
        if late:
            self._log(Happened.CANCELLED_TOO_LATE, late)

    async def absent(self) -> list[bytes]:
        """Digests of the invitations without a token so far; empty after the end, when uses are forgotten."""
        known = self._codes
        return [each for each in await self._store.thread.do(self._store.unused, self.collection.id) if each in known]

    async def try_to_store(self) -> None:
        """Test whether the disk takes data.

        Raises:
            StorageError: if the disk does not take data.
        """
        await self._store.thread.do(self._store.try_to_store)

    async def close(self) -> None:
        """End signing before the date, and forget who has taken part."""
        self._is_closed = True
        await self.forget()

    async def forget(self) -> None:
        """Destroy the stored invitations of the collection, if it has ended."""
        if self.has_ended:
            self._is_closed = True  # even if the clock goes back
            await self._store.thread.do(self._store.close_collections, [self.collection.id])
            self._codes = frozenset()

    async def sign(self, bearer: str, body: bytes) -> bytes:
        """Response to a token request; the invitation is marked as used, on the disk, before this returns.

        Raises:
            MalformedMessageError: if the body is no token request.
            Refused: for an unknown code, a code used for another request, a request after the close, or
                another key.
            StorageError: if the disk did not take the mark.
        """
        request = TokenRequest.decode(body)
        digest = digest_of(_code(bearer))
        if self.has_ended or digest not in self._codes:
            raise Refused(Problem.NOT_AUTHORIZED)
        if (request.token_type, request.truncated_token_key_id) != (BLIND_RSA, self._key_id):
            raise Refused(Problem.NOT_SIGNED)
        use = partial(self._store.use, self.collection.id, digest, body, requests=len(self.collection.hosts))
        if not await self._store.thread.do(use):
            raise Refused(Problem.NOT_AUTHORIZED if self.has_ended else Problem.INVITATION_USED)
        signature = await self._store.thread.do(blind_sign, self._key.private_key, request.blinded_msg)
        return TokenResponse(signature).encode()


def _code(bearer: str) -> bytes:
    """Invitation code in a bearer header; empty if the header has no code."""
    found = _BEARER.fullmatch(bearer)
    try:
        code = from_text(found[1], name="code") if found else b""
    except InvalidParameterError:
        code = b""
    return code if len(code) == CODE_BYTES else b""


def issuer_app(served: Iterable[CollectionAtIssuer], *, log: EventLog) -> Starlette:
    """Web application of an issuer for these collections.

    Guarantees:
        1. For each invitation one token is signed, however often it is requested, also after a crash; where there are
           several shufflers, as many as there are, of which nobody but the device knows which is for which.
        2. Signed messages are blinded: no value that the issuer has seen is in a token.
        3. After a good answer to a close request, only the fact of the close is stored for the collection.
    """
    known = {in_text(each.collection.id): each for each in served}

    async def sign(request: Request) -> Response:
        at_issuer = of_collection(request, known)
        body = await whole_body(request.scope, request.receive, media_type=ISSUANCE_REQUEST, most=LONGEST_TOKEN_REQUEST)
        return ok_response(await at_issuer.sign(authorization(request.scope), body), ISSUANCE_RESPONSE)

    async def close(request: Request) -> Response:
        at_issuer = of_collection(request, known)
        await check_closing(request, at_issuer.collection)
        await at_issuer.close()
        return ok_response(b"", CLOSE_TYPE)

    routes = [
        Route("/collections/{id}/token-request", sign, methods=["POST"]),
        Route("/collections/{id}/close", close, methods=["POST"]),
    ]
    return application(routes, log=log, tries=[each.try_to_store for each in known.values()][:1])  # they share a store
