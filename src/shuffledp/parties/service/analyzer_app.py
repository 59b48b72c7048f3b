"""Analyzer over HTTP: takes batches, only from the shuffler of each collection.

``POST /collections/ID/batches`` takes a batch; ``GET /hpke_config`` shows the public keys that reports are sealed to,
which are those of the collection files.
"""

from collections.abc import Iterable, Sequence

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from shuffledp.parties.http.connections import when_trusted
from shuffledp.parties.http.event_log import EventLog
from shuffledp.parties.http.http_messages import application, body_parts, of_collection, ok_response
from shuffledp.parties.service.collection_at_analyzer import CollectionAtAnalyzer
from shuffledp.parties.wire.grammar import BATCH_TYPE, HPKE_CONFIGS_TYPE, HpkeConfigList
from shuffledp.parties.wire.keys import AnalyzerKey, in_text

MOST_BYTES = 1 << 36  # bytes of a batch


def analyzer_app(served: Iterable[CollectionAtAnalyzer], keys: Sequence[AnalyzerKey], *, log: EventLog) -> Starlette:
    """Web application of an analyzer for these collections.

    Guarantees:
        1. A batch with a good answer is on the disk, and is released once, however often it comes.
        2. No part of a body is kept before the signature of the collection's shuffler is verified.
    """
    known = {in_text(each.collection.id): each for each in served}

    async def batch(request: Request) -> Response:
        at_analyzer = of_collection(request, known)
        parts = body_parts(request.scope, request.receive, media_type=BATCH_TYPE, most=MOST_BYTES)
        await at_analyzer.take(parts, known=when_trusted(request.scope))
        response = ok_response(b"", BATCH_TYPE)
        response.background = BackgroundTask(at_analyzer.release)
        return response

    async def configs(_: Request) -> Response:
        return ok_response(HpkeConfigList(tuple(key.config for key in keys)).encode(), HPKE_CONFIGS_TYPE)

    routes = [
        Route("/collections/{id}/batches", batch, methods=["POST"]),
        Route("/hpke_config", configs, methods=["GET"]),
    ]
    return application(routes, log=log, tries=[each.try_to_store for each in known.values()][:1])  # they share a store
