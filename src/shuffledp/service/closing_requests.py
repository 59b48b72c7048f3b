"""Requests to close a collection before its date, at whichever service they come to."""

from datetime import UTC, datetime

from starlette.requests import Request

from shuffledp.core.errors import RemoteProtocolError
from shuffledp.service.http_messages import Problem, Refused, whole_body
from shuffledp.survey import Collection
from shuffledp.wire.closing import CLOSE_TYPE, CloseRequest
from shuffledp.wire.keys import from_text

_MOST_BYTES = 1 << 10


async def check_closing(request: Request, collection: Collection) -> None:
    """Refuse a request that no shuffler of the collection has signed just now.

    Raises:
        RemoteProtocolError: if it is no such request.
        Refused: if it is not to be believed, or not of its media type.
    """
    body = await whole_body(request.scope, request.receive, media_type=CLOSE_TYPE, most=_MOST_BYTES)
    asked, party = CloseRequest.decode(body), collection.shuffler.key
    keys = [from_text(key, name="key") for key in (party.key, *party.successors)]
    try:
        asked.verify(keys, collection_id=collection.id, now=datetime.now(UTC))
    except RemoteProtocolError:
        raise Refused(Problem.NOT_AUTHORIZED) from None
