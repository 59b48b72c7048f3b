"""Intake of a local collection: it seals randomized reports from pages that cannot encrypt.

Over plain http, as inside a local network without certificates, browsers have no encryption. From here on the
reports go the way of all others.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import accumulate, pairwise
from urllib.parse import urlsplit

from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from shuffledp.core.errors import MalformedMessageError, RemoteProtocolError
from shuffledp.parties.http.event_log import EventLog
from shuffledp.parties.http.http_messages import Refused, ok_response, problem_of, whole_body
from shuffledp.parties.service.collection_at_shuffler import CollectionAtShuffler
from shuffledp.parties.store.database import StorageError
from shuffledp.parties.wire.grammar import (
    ID_BYTES,
    UPLOAD_ERRORS_TYPE,
    Report,
    ReportError,
    Submission,
    UploadRequest,
    UploadResponse,
)
from shuffledp.parties.wire.hpke import Sealer
from shuffledp.parties.wire.report_bytes import ReportLayout

PLAIN_TYPE = "application/vnd.shuffledp.plain-upload"
_MOST_REMEMBERED = 10_000  # uploads of which the sealed form is kept, to count a repeated one as a copy


class LocalIntake:
    """Web application that also takes plain reports of local collections, at the address of the page.

    Guarantees:
        1. Two uploads that begin with the same 16 bytes count once, also after a restart.
        2. An upload that the answer does not name as refused is on the disk.

    Args:
        app: application for all other requests.
        served: collections; those that are not local, or have no page, keep their one way.
        log: log of failures of the disk.
    """

    def __init__(self, app: ASGIApp, served: Iterable[CollectionAtShuffler], *, log: EventLog) -> None:
        self._app, self._log = app, log
        pages = [(each, each.collection.page) for each in served if each.collection.local]
        self._entrances = {urlsplit(page.url).path: _Entrance(each) for each, page in pages if page is not None}
        links = [urlsplit(page.link) for _, page in pages if page is not None]
        self._front = f"{links[0].path}#{links[0].fragment}" if len(links) == 1 else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        path, method = scope.get("path", ""), scope.get("method", "")
        if path == "/" and method == "GET" and self._front is not None:  # short enough to be typed
            await RedirectResponse(self._front)(scope, receive, send)
        elif path in self._entrances and method == "POST":
            await (await self._answer(self._entrances[path], scope, receive))(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _answer(self, entrance: "_Entrance", scope: Scope, receive: Receive) -> Response:
        try:
            body = await whole_body(scope, receive, media_type=PLAIN_TYPE, most=entrance.length)
            return ok_response(await entrance.take(body), UPLOAD_ERRORS_TYPE)
        except (Refused, RemoteProtocolError, StorageError) as error:
            return problem_of(error, self._log).response()


class _Entrance:
    """Receiver of plain reports for one collection."""

    def __init__(self, at_shuffler: CollectionAtShuffler) -> None:
        self._at_shuffler, self._known = at_shuffler, dict[bytes, UploadRequest]()
        task = at_shuffler.collection.task
        lengths = [ReportLayout.of(pool.column.randomizer.randomizer().model).length for pool in task.pools]
        self._pools = [pool.number for pool in task.messages]
        self._ends = [*accumulate((lengths[pool] for pool in self._pools), initial=ID_BYTES)]

    @property
    def length(self) -> int:
        """Length of every upload in bytes."""
        return self._ends[-1]

    async def take(self, body: bytes) -> bytes:
        """Answer to an upload, which holds a name of 16 bytes and all messages of a person.

        Errors are as for encrypted uploads.
        """
        if len(body) != self.length:
            raise MalformedMessageError(f"an upload must have {self.length} bytes; it has another length.")
        name = body[:ID_BYTES]
        if name not in self._known:
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.pop(next(iter(self._known)))
            self._known[name] = self._sealed(body)
        request = self._known[name]
        answer = UploadResponse.decode(await self._at_shuffler.upload(request.encode(), name=name))
        refused = (each for each in answer.refused if each.error is not ReportError.TOKEN_SPENT)  # stored before
        return UploadResponse.padded(1, tuple(replace(each, id=name) for each in refused)).encode()

    def _sealed(self, body: bytes) -> UploadRequest:
        """Reports of one person, sealed to the analyst in place of the device."""
        collection = self._at_shuffler.collection
        config = collection.analyzer.key.configs_at(datetime.now(UTC))[0]
        to = [Sealer.to(config, collection_id=collection.id, column=pool.number) for pool in collection.task.pools]
        parts = [body[start:end] for start, end in pairwise(self._ends)]
        reports = tuple(Report.of(to[pool].seal(part)) for pool, part in zip(self._pools, parts, strict=True))
        return UploadRequest((Submission(reports),))
