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

from shuffledp.service.connections import TRUSTED
from shuffledp.service.event_log import EventLog
from shuffledp.service.http_messages import answered, application, body_parts, of_collection
from shuffledp.service.reception import Reception
from shuffledp.wire.grammar import BATCH_TYPE, HPKE_CONFIGS_TYPE, HpkeConfigList
from shuffledp.wire.keys import AnalyzerKey, in_text

MOST_BYTES = 1 << 36  # bytes of a batch


def analyzer_app(receptions: Iterable[Reception], keys: Sequence[AnalyzerKey], *, log: EventLog) -> Starlette:
    """Web application of an analyzer for these collections.

    Guarantees:
        1. A batch with a good answer is on the disk, and is released once, however often it comes.
        2. No part of a body is kept before the signature of the collection's shuffler is verified.
    """
    known = {in_text(reception.collection.id): reception for reception in receptions}

    async def batch(request: Request) -> Response:
        reception = of_collection(request, known)
        parts = body_parts(request.scope, request.receive, media_type=BATCH_TYPE, most=MOST_BYTES)
        trusted = request.scope.get("extensions", {}).get(TRUSTED, {})
        await reception.take(parts, **trusted)
        response = answered(b"", BATCH_TYPE)
        response.background = BackgroundTask(reception.release)
        return response

    async def configs(_: Request) -> Response:
        return answered(HpkeConfigList(tuple(key.config for key in keys)).encode(), HPKE_CONFIGS_TYPE)

    routes = [
        Route("/collections/{id}/batches", batch, methods=["POST"]),
        Route("/hpke_config", configs, methods=["GET"]),
    ]
    return application(routes, log=log, tries=[each.try_to_store for each in known.values()][:1])  # they share a store
