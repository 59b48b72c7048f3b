"""Shared handling of requests by all services: bodies within limits, and error answers of one length.

Whatever is refused is refused by a problem (RFC 9457) that names its kind; no text tells what was sent.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope

from shuffledp.core.errors import RemoteProtocolError
from shuffledp.service.event_log import EventLog, Happened
from shuffledp.service.readiness import Readiness, Try
from shuffledp.service.store import StorageError
from shuffledp.survey import Collection
from shuffledp.wire.closing import CLOSE_TYPE, CloseRequest
from shuffledp.wire.keys import from_text

SECONDS_OF_BODY = 5.0  # in which a body of usual length must be there, or the head of a large one
SECONDS_OF_PART = 30.0  # in which the next part of a large one must be there
_USUAL = 1 << 16  # bytes
_A_SECOND = 1 << 17  # bytes, of longer ones
_LENGTH_OF_PROBLEM = 128
_LONGEST_CLOSING = 1 << 10  # bytes of a request to close

Known = TypeVar("Known")


class Problem(Enum):
    """Kinds of refusals, each with its status; one that others know too (RFC 9457, section 4.2) by its whole name."""

    INVALID_MESSAGE = 400, "invalidMessage"
    OTHER_GATEWAY_KEY = 400, "https://iana.org/assignments/http-problem-types#ohttp-key"
    OTHER_TOKEN = 401, "unauthorizedToken"
    NOT_AUTHORIZED = 403, "unauthorizedRequest"
    INVITATION_USED = 403, "invitationUsed"
    UNRECOGNIZED_COLLECTION = 404, "unrecognizedCollection"
    NOT_ALLOWED = 405, "methodNotAllowed"
    CONFLICT = 409, "otherLetters"
    STAGE_ENDED = 410, "stageEnded"
    TOO_SLOW = 408, "tooSlow"
    TOO_LARGE = 413, "tooLarge"
    WRONG_TYPE = 415, "wrongType"
    NOT_SIGNED = 422, "unprocessableToken"
    UNAVAILABLE = 503, "unavailable"

    def response(self) -> Response:
        """The refusal, filled up with blanks to one length."""
        status, name = self.value
        kind = name if ":" in name else f"urn:shuffledp:error:{name}"
        text = json.dumps({"type": kind, "status": status}).ljust(_LENGTH_OF_PROBLEM)
        headers = {"connection": "close"} if self in (Problem.TOO_SLOW, Problem.TOO_LARGE) else {}
        if self is Problem.OTHER_TOKEN:
            headers["www-authenticate"] = "PrivateToken"  # whose challenge follows from the collection file
        return Response(text, status, headers, media_type="application/problem+json")


class Refused(Exception):  # noqa: N818  not an error of ours
    """A request that ends here."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.name)
        self.problem = problem


def of_collection(request: Request, known: Mapping[str, Known]) -> Known:
    """What is known of the collection that the path names; refused if there is none."""
    found = known.get(request.path_params["id"])
    if found is None:
        raise Refused(Problem.UNRECOGNIZED_COLLECTION)
    return found


def authorization(scope: Scope) -> str:
    """What a request says who, or what, allows it; empty for nothing."""
    found: bytes = dict(scope["headers"]).get(b"authorization", b"")
    return found.decode("latin-1")


async def whole_body(scope: Scope, receive: Receive, *, media_type: str, most: int) -> bytes:
    """The body of a request of this type, of at most this many bytes, if it is there in time.

    Raises:
        Refused: for another type, an encoded body, one that is too long, one that does not come in time, or if whoever
            sends it leaves.
    """
    announced, began = _check_head(scope, media_type, most), asyncio.get_running_loop().time()
    body, more = bytearray(), True
    try:
        async with asyncio.timeout(_seconds(announced)) as timeout:
            while more:
                part, more = await _part(receive)
                body += part
                if len(body) > most:
                    raise Refused(Problem.TOO_LARGE)
                if len(body) > announced:  # of one that comes in chunks, whose length nobody knows
                    timeout.reschedule(began + _seconds(len(body)))
    except TimeoutError:
        raise Refused(Problem.TOO_SLOW) from None
    return bytes(body)


def _seconds(length: int) -> float:
    """Seconds in which a body of this length must be there."""
    return SECONDS_OF_BODY + max(0, length - _USUAL) / _A_SECOND


async def check_closing(request: Request, collection: Collection) -> None:
    """Refuse a request that no shuffler of the collection has signed just now.

    Raises:
        RemoteProtocolError: if it is no such request.
        Refused: if it is not to be believed, or not of its media type.
    """
    body = await whole_body(request.scope, request.receive, media_type=CLOSE_TYPE, most=_LONGEST_CLOSING)
    asked, party = CloseRequest.decode(body), collection.shuffler.key
    keys = [from_text(key, name="key") for key in (party.key, *party.successors)]
    try:
        asked.verify(keys, collection_id=collection.id, now=datetime.now(UTC))
    except RemoteProtocolError:
        raise Refused(Problem.NOT_AUTHORIZED) from None


async def body_parts(scope: Scope, receive: Receive, *, media_type: str, most: int) -> AsyncIterator[bytes]:
    """A large body as it comes, each part within `SECONDS_OF_PART`; else as `whole_body`."""
    _check_head(scope, media_type, most)
    size, more = 0, True
    while more:
        try:
            async with asyncio.timeout(SECONDS_OF_PART):
                part, more = await _part(receive)
        except TimeoutError:
            raise Refused(Problem.TOO_SLOW) from None
        size += len(part)
        if size > most:
            raise Refused(Problem.TOO_LARGE)
        yield part


async def _part(receive: Receive) -> tuple[bytes, bool]:
    """A part of a body, and whether more follow."""
    message = await receive()
    if message["type"] == "http.disconnect":
        raise Refused(Problem.INVALID_MESSAGE)  # which nobody reads
    return message.get("body", b""), message.get("more_body", False)


def _check_head(scope: Scope, media_type: str, most: int) -> int:
    """How many bytes are announced; 0 for nothing."""
    headers = dict(scope["headers"])
    if headers.get(b"content-type") != media_type.encode() or b"content-encoding" in headers:
        raise Refused(Problem.WRONG_TYPE)
    announced = headers.get(b"content-length", b"0")
    if not announced.isdigit() or int(announced) > most:
        raise Refused(Problem.TOO_LARGE)
    return int(announced)


def answered(content: bytes, media_type: str) -> Response:
    """A good answer."""
    return Response(content, 200, media_type=media_type)


def application(routes: list[Route], *, log: EventLog, tries: Sequence[Try]) -> Starlette:
    """An application that answers all that goes wrong by a `Problem`.

    It says at ``/healthz`` that it is alive, and at ``/readyz`` whether anything can be stored, by ``tries``.
    """
    readiness = Readiness(tries, log)

    async def ready(_: Request) -> Response:
        return _well() if await readiness.is_ready() else Problem.UNAVAILABLE.response()

    async def refused(_: Request, error: Exception) -> Response:
        return problem_of(error, log).response()

    kinds: tuple[Any, ...] = (Refused, RemoteProtocolError, StorageError, HTTPException)
    alive = [Route("/healthz", _alive), Route("/readyz", ready)]
    made = Starlette(routes=[*routes, *alive], exception_handlers=dict.fromkeys(kinds, refused))
    made.router.redirect_slashes = False  # which would repeat what was sent
    return made


def problem_of(error: Exception, log: EventLog) -> Problem:
    """What to say of an error that ends a request."""
    match error:
        case Refused():
            return error.problem
        case StorageError():
            log.at_first(Happened.STORAGE_FAILED)
            return Problem.UNAVAILABLE
        case HTTPException(status_code=405):
            return Problem.NOT_ALLOWED
        case HTTPException():
            return Problem.UNRECOGNIZED_COLLECTION
    return Problem.INVALID_MESSAGE


async def _alive(_: Request) -> Response:
    return _well()


def _well() -> Response:
    return PlainTextResponse("ok\n")
