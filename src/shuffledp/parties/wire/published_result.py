"""Result of a collection that its analyst publishes at a mix host: signed data, bound to the collection."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

from shuffledp.core.described import canonical_json
from shuffledp.core.errors import MalformedMessageError, RemoteProtocolError
from shuffledp.parties.wire.keys import AnalyzerKey
from shuffledp.parties.wire.organizer_requests import OrganizerRequest, RequestKind

MOST_RESULT_BYTES = 1 << 20
MOST_RESULTS = 10  # the first, and corrections of it
_LATEST = 1 << 36  # seconds since 1970, a time that dates can hold


@dataclass(frozen=True, slots=True)
class PublishedResult:
    """Result of a collection, with the signed request that publishes it.

    Args:
        statement: content of the release's ``statement.json``; None says that nothing was released.
        request: the signed request, whose content it is.
    """

    statement: Mapping[str, Any] | None
    request: OrganizerRequest

    @classmethod
    def by(cls, key: AnalyzerKey, collection_id: bytes, now: datetime, statement: Mapping[str, Any] | None) -> Self:
        """Result at the time ``now``, signed by the request key of ``key``."""
        content = canonical_json({"statement": statement})
        return cls(statement, OrganizerRequest.by(key, RequestKind.RESULT, collection_id, now, content))

    @classmethod
    def of(cls, request: OrganizerRequest, key: bytes, *, collection_id: bytes) -> Self:
        """Result in a request that the collection's analyst has signed, at any time.

        Args:
            request: the signed request.
            key: public request key of the analyst.
            collection_id: id of the collection that it must be the result of.

        Raises:
            RemoteProtocolError: if another has signed it, or it is of another collection.
            MalformedMessageError: if the content is no result, or not written in the one canonical way.
        """
        if not request.is_by(key, RequestKind.RESULT, collection_id=collection_id):
            raise RemoteProtocolError("a result must be signed by its collection's analyst; it is by another.")
        return cls(_statement_in(request.content), request)

    @property
    def day(self) -> str:
        """Day on which the result was signed, in UTC."""
        return datetime.fromtimestamp(min(self.request.time, _LATEST), UTC).date().isoformat()


def _statement_in(content: bytes) -> Mapping[str, Any] | None:
    try:
        found = json.loads(content, parse_constant=_refuse)
        if content == canonical_json(found) and set(found) == {"statement"}:
            statement = found["statement"]
            if statement is None or isinstance(statement, dict):
                return statement
    except (ValueError, TypeError, RecursionError):
        pass
    raise MalformedMessageError("a result must be a statement, or null, in canonical JSON; it is something else.")


def _refuse(name: str) -> Any:
    raise ValueError(name)
