"""Requests of an organizer to a mix host, each signed by the request key of the collection's analyst."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Self

from shuffledp.core.errors import RemoteProtocolError
from shuffledp.parties.wire.close_request import require_recent
from shuffledp.parties.wire.grammar import SIGNATURE_BYTES, CollectionId
from shuffledp.parties.wire.keys import AnalyzerKey, is_signed_by
from shuffledp.parties.wire.presentation import Fixed, Integer, Message, Opaque

ORGANIZER_TYPE = "application/vnd.shuffledp.organizer"
COLLECTION_TYPE = "application/vnd.shuffledp.collection"
_CONTEXT = b"shuffledp-1 organizer "


class RequestKind(StrEnum):
    """Kind of an organizer's request; its name is the last part of the path, and is signed."""

    INVITED = "invited"
    ABSENT = "absent"
    RESULT = "result"
    AGREE = "agree"


@dataclass(frozen=True, slots=True, repr=False)
class OrganizerRequest(Message):
    """Signed request of an organizer: collection, time in seconds since 1970, content, and signature.

    The signature also covers the kind of the request (`RequestKind`).

    The content is a list of invitations (`Asked.INVITED`), nothing (`Asked.ABSENT`), the result (`Asked.RESULT`), or
    what the analyst carries between hosts (`Asked.AGREE`).
    """

    collection_id: CollectionId
    time: Annotated[int, Integer(8)]
    content: Annotated[bytes, Opaque(3)]
    signature: Annotated[bytes, Fixed(SIGNATURE_BYTES)]

    @classmethod
    def by(
        cls, key: AnalyzerKey, asked: RequestKind, collection_id: bytes, now: datetime, content: bytes = b""
    ) -> Self:
        """Request at the time ``now``, signed by the request key of ``key``."""
        time = int(now.timestamp())
        signature = key.signature(_signed(asked, collection_id, time, content))
        return cls(collection_id, time, content, signature)

    def is_by(self, key: bytes, asked: RequestKind, *, collection_id: bytes) -> bool:
        """Whether the analyst of this collection has signed the request for this purpose, at any time."""
        message = _signed(asked, self.collection_id, self.time, self.content)
        return self.collection_id == collection_id and is_signed_by([key], self.signature, message)

    def verify(self, key: bytes, asked: RequestKind, *, collection_id: bytes, now: datetime) -> None:
        """Refuse a request that the collection's analyst did not sign for this purpose within the last five minutes.

        Args:
            key: public request key of the analyst.
            asked: what the path asks for.
            collection_id: id of the collection in the path.
            now: time at the mix.

        Raises:
            RemoteProtocolError: if the collection, the signature, the purpose or the time (five minutes) does not fit.
        """
        if not self.is_by(key, asked, collection_id=collection_id):
            raise RemoteProtocolError(f"{asked.value} must be asked by the collection's analyst; it is by another.")
        require_recent(self.time, now, "an organizer's request")


def _signed(asked: RequestKind, collection_id: bytes, time: int, content: bytes) -> bytes:
    return _CONTEXT + asked.value.encode() + b"\0" + collection_id + time.to_bytes(8, "big") + content
