"""The request to close a collection before its date, which only the holder of the shuffler's key can make."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Self

from shuffledp.core.errors import RemoteProtocolError
from shuffledp.wire.grammar import SIGNATURE_BYTES, CollectionId
from shuffledp.wire.keys import ShufflerKey, is_signed_by
from shuffledp.wire.presentation import Fixed, Integer, Message

CLOSE_TYPE = "application/vnd.shuffledp.close"
_CONTEXT = b"shuffledp-1 close"
_VALID = timedelta(minutes=5)  # before and after the time that it names


@dataclass(frozen=True, slots=True, repr=False)
class CloseRequest(Message):
    """Which collection to close, when that was asked in seconds since 1970, and the shuffler's signature of both."""

    collection_id: CollectionId
    time: Annotated[int, Integer(8)]
    signature: Annotated[bytes, Fixed(SIGNATURE_BYTES)]

    @classmethod
    def by(cls, key: ShufflerKey, collection_id: bytes, now: datetime) -> Self:
        """The request of whoever holds this key."""
        time = int(now.timestamp())
        return cls(collection_id, time, key.signature(_signed(collection_id, time)))

    def verify(self, keys: Iterable[bytes], *, collection_id: bytes, now: datetime) -> None:
        """Refuse a request that no shuffler of the collection has made just now.

        Raises:
            RemoteProtocolError: if it is about another collection, signed by nobody known, or older than five minutes.
        """
        asked = datetime.fromtimestamp(min(self.time, 1 << 36), UTC)
        if self.collection_id != collection_id or not is_signed_by(
            keys, self.signature, _signed(self.collection_id, self.time)
        ):
            raise RemoteProtocolError("a collection must be closed by its shuffler; somebody else has asked.")
        if abs(asked - now) > _VALID:
            raise RemoteProtocolError(
                "a request to close must be sent within five minutes; it was signed at another time."
            )


def _signed(collection_id: bytes, time: int) -> bytes:
    return _CONTEXT + collection_id + time.to_bytes(8, "big")
