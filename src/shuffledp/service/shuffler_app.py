"""The shuffler over HTTP: reports in, and no word about who sent them.

``POST /collections/ID/reports`` takes an upload; ``GET /collections/ID`` says where the collection stands; ``POST
/collections/ID/close`` closes it for whoever holds the shuffler's key. Counts are on an address of their own.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from shuffledp.core.errors import RemoteProtocolError
from shuffledp.service.desk import Desk
from shuffledp.service.event_log import EventLog
from shuffledp.service.http_messages import Problem, Refused, answered, application, problem_of, whole_body
from shuffledp.service.intake import Count
from shuffledp.service.store import StorageError
from shuffledp.wire.closing import CLOSE_TYPE, CloseRequest
from shuffledp.wire.grammar import UPLOAD_ERRORS_TYPE, UPLOAD_TYPE
from shuffledp.wire.keys import from_text, in_text

MOST_SUBMISSIONS = 1000  # in one upload
MOST_BYTES = 16 << 20  # of one, unless a single submission is longer
_BYTES_OF_REPORT = 16 + 2 + 1 + 2 + 4  # of its id, and what stands before its parts
_LENGTH_OF_STATUS = 64


def shuffler_app(desks: Iterable[Desk], *, log: EventLog) -> ASGIApp:
    """The application of a shuffler of these collections.

    Guarantees:
        1. A submission that an answer does not name as refused is on the disk.
        2. All answers to uploads of one number of submissions have one length, and so have all refusals.
        3. Nothing that an answer holds depends on how many reports there are, but whether they are enough.
    """
    known = {in_text(desk.collection.id): desk for desk in desks}

    def desk_of(request: Request) -> Desk:
        found = known.get(request.path_params["id"])
        if found is None:
            raise Refused(Problem.UNRECOGNIZED_COLLECTION)
        return found

    async def status(request: Request) -> Response:
        phase, enough = desk_of(request).status
        text = json.dumps({"phase": phase.value, "at_least_minimum": enough})
        return answered(text.ljust(_LENGTH_OF_STATUS).encode(), "application/json")

    async def close(request: Request) -> Response:
        desk = desk_of(request)
        collection, receive = desk.collection, request.receive
        asked = CloseRequest.decode(await whole_body(request.scope, receive, media_type=CLOSE_TYPE, most=1 << 10))
        party = collection.shuffler.key
        keys = [from_text(key, name="key") for key in (party.key, *party.successors)]
        try:
            asked.verify(keys, collection_id=collection.id, now=datetime.now(UTC))
        except RemoteProtocolError:
            raise Refused(Problem.NOT_AUTHORIZED) from None
        desk.ask_to_close()
        return answered(b"", CLOSE_TYPE)

    routes = [
        Route("/collections/{id}", status, methods=["GET"]),
        Route("/collections/{id}/close", close, methods=["POST"]),
    ]
    return _Uploads(known.values(), application(routes, log=log), log)


class _Uploads:
    """The one route that everybody takes, without the framework around it; all others are those of ``rest``."""

    def __init__(self, desks: Iterable[Desk], rest: ASGIApp, log: EventLog) -> None:
        self._desks = {f"{desk.collection.path}/reports": (desk, _longest_upload(desk)) for desk in desks}
        self._rest, self._log = rest, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        desk, longest = self._desks.get(scope.get("path", ""), (None, 0))
        if desk is None:
            await self._rest(scope, receive, send)
            return
        try:
            if scope["method"] != "POST":
                raise Refused(Problem.NOT_ALLOWED)
            body = await whole_body(scope, receive, media_type=UPLOAD_TYPE, most=longest)
            response = answered(await desk.upload(body), UPLOAD_ERRORS_TYPE)
        except (Refused, RemoteProtocolError, StorageError) as error:
            response = problem_of(error, self._log).response()
        await response(scope, receive, send)


def metrics_app(desks: Iterable[Desk]) -> Starlette:
    """Counts of all collections together, for the machine itself: how they grow tells when people answer."""
    several = tuple(desks)

    async def metrics(_: Request) -> Response:
        total: Counter[Count] = Counter()
        for desk in several:
            total.update(await desk.counts())
        return PlainTextResponse(in_metrics("submissions", {name.value: total[name] for name in Count}))

    return Starlette(routes=[Route("/metrics", metrics)])


def in_metrics(what: str, counts: Mapping[str, int]) -> str:
    """Counts by reason in the text format of Prometheus."""
    name = f"shuffledp_{what}_total"
    lines = [f'{name}{{result="{result}"}} {count}' for result, count in counts.items()]
    return "\n".join([f"# TYPE {name} counter", *lines, ""])


def _longest_upload(desk: Desk) -> int:
    """Bytes of as many submissions as one upload may have, or of a single one."""
    terms = desk.terms
    one = sum(
        _BYTES_OF_REPORT
        + shape.payload
        + max(terms.encapsulated.values())
        + sum(4 + length for _, length in shape.extensions)
        for shape in terms.columns
    )
    return max(one, min(MOST_SUBMISSIONS * one, MOST_BYTES))
