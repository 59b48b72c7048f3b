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
from shuffledp.parties.http.event_log import EventLog, Happened
from shuffledp.parties.http.readiness import Readiness, Try
from shuffledp.parties.store.database import StorageError
from shuffledp.parties.wire.close_request import CLOSE_TYPE, CloseRequest
from shuffledp.parties.wire.keys import from_text
from shuffledp.survey import Collection

SECONDS_OF_BODY = 5.0  # for a body of usual length, or the head of a large one
SECONDS_OF_PART = 30.0  # for the next part of a large body
_USUAL = 1 << 16  # bytes
_A_SECOND = 1 << 17  # bytes per second of longer bodies
_LENGTH_OF_PROBLEM = 128
_LONGEST_CLOSING = 1 << 10  # bytes of a request to close

Known = TypeVar("Known")


class Problem(Enum):
    """Kinds of refusals with their HTTP statuses.

    Kinds registered elsewhere (RFC 9457, section 4.2) have their full URI.
    """

    INVALID_MESSAGE = 400, "invalidMessage"
    OTHER_GATEWAY_KEY = 400, "https://iana.org/assignments/http-problem-types#ohttp-key"
    OTHER_TOKEN = 401, "unauthorizedToken"
    NOT_AUTHORIZED = 403, "unauthorizedRequest"
    INVITATION_USED = 403, "invitationUsed"
    UNRECOGNIZED_COLLECTION = 404, "unrecognizedCollection"
    NOT_ALLOWED = 405, "methodNotAllowed"
    CONFLICT = 409, "otherLetters"
    STAGE_ENDED = 410, "stageEnded"
    COLLECTION_ENDED = 410, "collectionEnded"
    TOO_SLOW = 408, "tooSlow"
    OUT_OF_PLACE = 409, "placeTaken"
    TOO_LARGE = 413, "tooLarge"
    WRONG_TYPE = 415, "wrongType"
    NOT_SIGNED = 422, "unprocessableToken"
    OTHER_MIX = 422, "otherMix"
    OTHER_PAGE = 422, "otherPage"
    TOO_MANY_PEOPLE = 422, "tooManyPeople"
    TOO_MANY_BYTES = 422, "tooManyBytes"
    TOO_MANY_DAYS = 422, "tooManyDays"
    TOO_MANY_COLLECTIONS = 403, "tooManyCollections"
    NOT_REGISTERED = 403, "notRegistered"
    ASKED_TOO_OFTEN = 403, "askedTooOften"
    NOT_CLOSED = 403, "notClosed"
    UNAVAILABLE = 503, "unavailable"

    def response(self) -> Response:
        """Response with the refusal, padded with blanks to one length."""
        status, name = self.value
        kind = name if ":" in name else f"urn:shuffledp:error:{name}"
        text = json.dumps({"type": kind, "status": status}).ljust(_LENGTH_OF_PROBLEM)
        headers = {"connection": "close"} if self in (Problem.TOO_SLOW, Problem.TOO_LARGE) else {}
        if self is Problem.OTHER_TOKEN:
            headers["www-authenticate"] = "PrivateToken"  # the challenge follows from the collection file
        return Response(text, status, headers, media_type="application/problem+json")


class Refused(Exception):  # noqa: N818  not an error of ours
    """Refusal that ends the handling of a request."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.name)
        self.problem = problem


def of_collection(request: Request, known: Mapping[str, Known]) -> Known:
    """Entry for the collection that the path names; the request is refused if there is none."""
    found = known.get(request.path_params["id"])
    if found is None:
        raise Refused(Problem.UNRECOGNIZED_COLLECTION)
    return found


def authorization(scope: Scope) -> str:
    """Authorization header of a request; empty if absent."""
    found: bytes = dict(scope["headers"]).get(b"authorization", b"")
    return found.decode("latin-1")


async def whole_body(scope: Scope, receive: Receive, *, media_type: str, most: int) -> bytes:
    """Body of a request; refused if it has a wrong type, is too long, or comes too slowly.

    Raises:
        Refused: for another type, an encoded body, a body that is too long or too slow, or if the
            client leaves.
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
                if len(body) > announced:  # a body in chunks, whose length is unknown
                    timeout.reschedule(began + _seconds(len(body)))
    except TimeoutError:
        raise Refused(Problem.TOO_SLOW) from None
    return bytes(body)


def _seconds(length: int) -> float:
    """Time limit in seconds for a body of this length."""
    return SECONDS_OF_BODY + max(0, length - _USUAL) / _A_SECOND


async def check_closing(request: Request, collection: Collection, *further: bytes) -> None:
    """Refuse a request to close that the collection's shuffler did not sign within the last five minutes.

    Of several shufflers each may close it, and the analyst who fetches: at one of them it would only lose people.

    Args:
        request: the request.
        collection: collection to close.
        further: public keys of others who may close it.

    Raises:
        RemoteProtocolError: if the body is no such request.
        Refused: if the signature or the time is wrong, or the media type is another.
    """
    body = await whole_body(request.scope, request.receive, media_type=CLOSE_TYPE, most=_LONGEST_CLOSING)
    asked, keys = CloseRequest.decode(body), [key for each in collection.hosts for key in each.key.several]
    if collection.further_shufflers and collection.analyzer.key.request_key is not None:
        keys.append(from_text(collection.analyzer.key.request_key, name="request_key"))
    try:
        asked.verify([*keys, *further], collection_id=collection.id, now=datetime.now(UTC))
    except RemoteProtocolError:
        raise Refused(Problem.NOT_AUTHORIZED) from None


async def body_parts(scope: Scope, receive: Receive, *, media_type: str, most: int) -> AsyncIterator[bytes]:
    """Parts of a large body as they come, each within `SECONDS_OF_PART`; refusals as in `whole_body`."""
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
    """Next part of a body, and whether more parts follow."""
    message = await receive()
    if message["type"] == "http.disconnect":
        raise Refused(Problem.INVALID_MESSAGE)  # nobody reads this answer
    return message.get("body", b""), message.get("more_body", False)


def _check_head(scope: Scope, media_type: str, most: int) -> int:
    """Announced length of a body in bytes; 0 if no length is announced."""
    headers = dict(scope["headers"])
    if headers.get(b"content-type") != media_type.encode() or b"content-encoding" in headers:
        raise Refused(Problem.WRONG_TYPE)
    announced = headers.get(b"content-length", b"0")
    if not announced.isdigit() or int(announced) > most:
        raise Refused(Problem.TOO_LARGE)
    return int(announced)


def ok_response(content: bytes, media_type: str) -> Response:
    """Response with status 200 and this content."""
    return Response(content, 200, media_type=media_type)


def application(routes: list[Route], *, log: EventLog, tries: Sequence[Try]) -> Starlette:
    """Web application that answers every error by a `Problem`.

    ``/healthz`` tells that it is alive, and ``/readyz`` whether data can be stored, by ``tries``.
    """
    readiness = Readiness(tries, log)

    async def ready(_: Request) -> Response:
        return _well() if await readiness.is_ready() else Problem.UNAVAILABLE.response()

    async def refused(_: Request, error: Exception) -> Response:
        return problem_of(error, log).response()

    kinds: tuple[Any, ...] = (Refused, RemoteProtocolError, StorageError, HTTPException)
    alive = [Route("/healthz", _alive), Route("/readyz", ready)]
    made = Starlette(routes=[*routes, *alive], exception_handlers=dict.fromkeys(kinds, refused))
    made.router.redirect_slashes = False  # a redirect would repeat the request
    return made


def problem_of(error: Exception, log: EventLog) -> Problem:
    """Problem with which to answer an error in a request."""
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
