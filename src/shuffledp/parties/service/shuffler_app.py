"""Shuffler over HTTP: takes reports in, and reveals nothing about their senders.

``POST /collections/ID/reports`` takes an upload; ``GET /collections/ID`` tells the collection's phase; ``POST
/collections/ID/close`` closes it for the holder of the shuffler's key; ``POST /collections/ID/fetch`` gives batches to
an analyzer without an address, and ``POST /collections/ID/agree`` takes what that one carries between the hosts of a
sum. Uploads of collections with a relay come sealed to ``POST /gateway``, and only there;
``GET /ohttp-keys`` shows the keys. Counts are on an address of their own.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from shuffledp.core.errors import RemoteProtocolError
from shuffledp.parties.http.connections import when_trusted
from shuffledp.parties.http.event_log import EventLog
from shuffledp.parties.http.http_messages import (
    Problem,
    Refused,
    application,
    authorization,
    check_closing,
    of_collection,
    ok_response,
    problem_of,
    whole_body,
)
from shuffledp.parties.http.readiness import Try
from shuffledp.parties.service.collection_at_shuffler import CollectionAtShuffler
from shuffledp.parties.service.gateway import ShufflerGateway, content_of, read_request, sealed
from shuffledp.parties.service.intake import Count
from shuffledp.parties.service.served_collections import ServedCollections
from shuffledp.parties.store.database import StorageError
from shuffledp.parties.wire.binary_http import field
from shuffledp.parties.wire.close_request import CLOSE_TYPE
from shuffledp.parties.wire.fetch_request import FETCH_TYPE
from shuffledp.parties.wire.grammar import UPLOAD_ERRORS_TYPE, UPLOAD_TYPE
from shuffledp.parties.wire.keys import GatewayKey
from shuffledp.parties.wire.oblivious_http import LONGER_BY, OHTTP_KEYS, OHTTP_REQUEST, OHTTP_RESPONSE, padded_length
from shuffledp.parties.wire.organizer_requests import ORGANIZER_TYPE

_LENGTH_OF_STATUS = 64
_LONGEST_FETCH = 1 << 10  # bytes of a request for a batch
_LONGEST_AGREEMENT = (1 << 24) + (1 << 10)  # bytes of a request that carries a message between hosts
_MOST_AROUND = 1024  # bytes of a sealed request besides its content
GATEWAY = "/gateway"
_FAILURES = (Refused, RemoteProtocolError, StorageError)


def shuffler_app(
    served: Iterable[CollectionAtShuffler],
    *,
    log: EventLog,
    gateway_keys: Sequence[GatewayKey] = (),
    tries: Sequence[Try] | None = None,
) -> ASGIApp:
    """Web application of a shuffler.

    Args:
        served: collections; of `ServedCollections`, those that are there at the time of a request.
        log: log of events.
        gateway_keys: private keys that open relayed requests.
        tries: tests of the disk for ``/readyz``; None is one for each collection that is there now.

    Guarantees:
        1. A submission that an answer does not name as refused is on the disk.
        2. All answers to uploads of one number of submissions have one length, and so have all refusals.
        3. No answer depends on the number of reports, except on whether they are enough.
        4. After a good answer to a close request, the closing phase is on the disk.
        5. Sealed requests get sealed answers, and are handled like direct ones; each collection has one way.
        6. Batches are fetched by the analyzer's key alone, and of collections whose analyzer has no address.
        7. Hosts of a sum hear of each other by the analyzer's requests alone.
    """
    here = served if isinstance(served, ServedCollections) else ServedCollections(served)

    async def status(request: Request) -> Response:
        return status_response(of_collection(request, here.known).told)

    async def close(request: Request) -> Response:
        at_shuffler = of_collection(request, here.known)
        await check_closing(request, at_shuffler.collection)
        await at_shuffler.stop_intake()
        return ok_response(b"", CLOSE_TYPE)

    async def fetch(request: Request) -> Response:
        batches = of_collection(request, here.fetched)
        body = await whole_body(request.scope, request.receive, media_type=FETCH_TYPE, most=_LONGEST_FETCH)
        return await batches.answer(body, known=when_trusted(request.scope))

    async def agree(request: Request) -> Response:
        at_shuffler = of_collection(request, here.known)
        body = await whole_body(request.scope, request.receive, media_type=ORGANIZER_TYPE, most=_LONGEST_AGREEMENT)
        return ok_response(await at_shuffler.agree(body), ORGANIZER_TYPE)

    async def keys(_: Request) -> Response:
        return ok_response(gateway.published(), OHTTP_KEYS)

    gateway = ShufflerGateway(gateway_keys, lambda: here.relayed)
    routes = [
        Route("/collections/{id}", status, methods=["GET"]),
        Route("/collections/{id}/close", close, methods=["POST"]),
        Route("/collections/{id}/fetch", fetch, methods=["POST"]),
        Route("/collections/{id}/agree", agree, methods=["POST"]),
        Route("/ohttp-keys", keys, methods=["GET"]),
    ]
    of_each = [each.try_to_store for each in here] if tries is None else tries
    return _Uploads(here, application(routes, log=log, tries=of_each), log, gateway)


def status_response(told: Mapping[str, object]) -> Response:
    """Status response of a collection, padded so that its length reveals less."""
    text = json.dumps(told)
    return ok_response(text.ljust(-(-len(text) // _LENGTH_OF_STATUS) * _LENGTH_OF_STATUS).encode(), "application/json")


class _Uploads:
    """Fast handling of uploads, without the web framework; all other requests go to ``rest``."""

    def __init__(self, served: ServedCollections, rest: ASGIApp, log: EventLog, gateway: ShufflerGateway) -> None:
        self._served, self._rest, self._log, self._gateway = served, rest, log, gateway

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        path = scope.get("path", "")
        at_shuffler, longest = self._served.at_path(path, relayed=False)
        if at_shuffler is None and path != GATEWAY:
            await self._rest(scope, receive, send)
            return
        try:
            if scope["method"] != "POST":
                raise Refused(Problem.NOT_ALLOWED)
            if at_shuffler is not None:
                body = await whole_body(scope, receive, media_type=UPLOAD_TYPE, most=longest)
                response = await _taken(at_shuffler, body, authorization(scope))
            else:
                most = LONGER_BY + padded_length(self._served.longest_relayed + _MOST_AROUND)
                body = await whole_body(scope, receive, media_type=OHTTP_REQUEST, most=most)
                response = ok_response(await self._through_gateway(body), OHTTP_RESPONSE)
        except _FAILURES as error:
            response = problem_of(error, self._log).response()
        await response(scope, receive, send)

    async def _through_gateway(self, body: bytes) -> bytes:
        """Sealed answer to a sealed request; errors of the inner request are sealed too."""
        inside, exchange, config = self._gateway.open(body)
        try:
            request = read_request(inside)
            at_shuffler, longest = self._served.at_path(request.path.decode("latin-1"), relayed=True)
            if at_shuffler is None:
                raise Refused(Problem.UNRECOGNIZED_COLLECTION)
            if not self._gateway.takes(config, at_shuffler.collection):
                raise Refused(Problem.OTHER_GATEWAY_KEY)
            content = content_of(request, media_type=UPLOAD_TYPE, most=longest)
            response = await _taken(
                at_shuffler, content, (field(request.fields, b"authorization") or b"").decode("latin-1")
            )
        except _FAILURES as error:
            response = problem_of(error, self._log).response()
        return sealed(response, exchange)


async def _taken(at_shuffler: CollectionAtShuffler, body: bytes, token: str) -> Response:
    """Response to an upload, sent directly or through a relay."""
    return ok_response(await at_shuffler.upload(body, token), UPLOAD_ERRORS_TYPE)


def metrics_app(served: Iterable[CollectionAtShuffler]) -> Starlette:
    """Web application for total counts, on this machine alone.

    The growth of the counts tells when people answer.
    """

    async def metrics(_: Request) -> Response:
        total: Counter[Count] = Counter()
        for at_shuffler in served:
            total.update(await at_shuffler.counts())
        return PlainTextResponse(in_metrics("submissions", {name.value: total[name] for name in Count}))

    return Starlette(routes=[Route("/metrics", metrics)])


def in_metrics(what: str, counts: Mapping[str, int], *, kind: str = "counter") -> str:
    """Counts by reason in the text format of Prometheus; a "gauge" may also fall."""
    name = f"shuffledp_{what}" + "_total" * (kind == "counter")
    lines = [f'{name}{{result="{result}"}} {count}' for result, count in counts.items()]
    return "\n".join([f"# TYPE {name} {kind}", *lines, ""])
