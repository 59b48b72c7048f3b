"""Request to close a collection early, signed by the shuffler's key or, at a mix, the analyst's key."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Self

from shuffledp.core.errors import RemoteProtocolError
from shuffledp.parties.wire.grammar import SIGNATURE_BYTES, CollectionId
from shuffledp.parties.wire.keys import AnalyzerKey, ShufflerKey, is_signed_by
from shuffledp.parties.wire.presentation import Fixed, Integer, Message

CLOSE_TYPE = "application/vnd.shuffledp.close"
_CONTEXT = b"shuffledp-1 close"
VALID = timedelta(minutes=5)  # before and after the time in the request


@dataclass(frozen=True, slots=True, repr=False)
class CloseRequest(Message):
    """Signed request to close a collection: its id, the time in seconds since 1970, and the signature."""

    collection_id: CollectionId
    time: Annotated[int, Integer(8)]
    signature: Annotated[bytes, Fixed(SIGNATURE_BYTES)]

    @classmethod
    def by(cls, key: ShufflerKey | AnalyzerKey, collection_id: bytes, now: datetime) -> Self:
        """Close request signed by this key, or an analyst's request key, at the time ``now``."""
        time = int(now.timestamp())
        return cls(collection_id, time, key.signature(_signed(collection_id, time)))

    def verify(self, keys: Iterable[bytes], *, collection_id: bytes, now: datetime) -> None:
        """Refuse a request that none of these keys has signed within the last five minutes.

        Raises:
            RemoteProtocolError: if the collection, the signature or the time (five minutes) does not fit.
        """
        if self.collection_id != collection_id or not is_signed_by(
            keys, self.signature, _signed(self.collection_id, self.time)
        ):
            raise RemoteProtocolError("a collection must be closed by its shuffler; somebody else has asked.")
        require_recent(self.time, now, "a request to close")


def require_recent(time: int, now: datetime, what: str) -> None:
    """Refuse a time more than five minutes before or after now.

    Args:
        time: seconds since 1970 in the request.
        now: time here, with a time zone.
        what: the request in words, with its article.

    Raises:
        RemoteProtocolError: if the times differ by more.
    """
    if abs(datetime.fromtimestamp(min(time, 1 << 36), UTC) - now) > VALID:
        raise RemoteProtocolError(f"{what} must be sent within five minutes; it was signed at another time.")


def _signed(collection_id: bytes, time: int) -> bytes:
    return _CONTEXT + collection_id + time.to_bytes(8, "big")
