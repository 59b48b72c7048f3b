"""Analyzer's request for the next batch of a collection; it acknowledges the previous batch."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from secrets import token_bytes
from typing import Annotated, Self

from shuffledp.core.errors import RemoteProtocolError
from shuffledp.core.validate import invalid
from shuffledp.parties.wire.close_request import require_recent
from shuffledp.parties.wire.grammar import ID_BYTES, SIGNATURE_BYTES, CollectionId, Id, UInt8
from shuffledp.parties.wire.keys import AnalyzerKey, is_signed_by
from shuffledp.parties.wire.presentation import Fixed, Integer, Message, Opaque

FETCH_TYPE = "application/vnd.shuffledp.fetch"
DIGEST_BYTES = 32
LONGEST_WAIT = 25  # seconds; shorter than proxies wait for an answer
_CONTEXT = b"shuffledp-1 fetch"


@dataclass(frozen=True, slots=True, repr=False)
class FetchRequest(Message):
    """Signed request for a batch, which also names the batch that is on the analyzer's disk.

    ``time`` is in seconds since 1970.

    ``taken`` is empty, or the digest of a batch by `batch_digest`. It names one batch of one collection, so that a
    repeated or old request never acknowledges another batch. ``wait`` is the longest wait for a batch, in seconds.
    """

    collection_id: CollectionId
    time: Annotated[int, Integer(8)]
    nonce: Id
    taken: Annotated[bytes, Opaque(1)]
    wait: UInt8
    signature: Annotated[bytes, Fixed(SIGNATURE_BYTES)]

    def check(self) -> None:
        """Refuse a digest of a wrong length."""
        if len(self.taken) not in (0, DIGEST_BYTES):
            raise invalid(f"0 or {DIGEST_BYTES} bytes", taken=f"{len(self.taken)} bytes")

    @classmethod
    def by(
        cls, key: AnalyzerKey, collection_id: bytes, now: datetime, *, taken: bytes = b"", wait: int = LONGEST_WAIT
    ) -> Self:
        """Fetch request at the time ``now``, signed by the request key of ``key``, with a fresh nonce."""
        time, nonce = int(now.timestamp()), token_bytes(ID_BYTES)
        signature = key.signature(_signed(collection_id, time, nonce, taken, wait))
        return cls(collection_id, time, nonce, taken, wait, signature)

    def verify(self, key: bytes, *, collection_id: bytes, now: datetime) -> None:
        """Refuse a request that the collection's analyzer did not sign within the last five minutes.

        Args:
            key: public request key of the analyzer.
            collection_id: id of the collection that is asked for.
            now: time at the shuffler.

        Raises:
            RemoteProtocolError: if the collection, the signature or the time (five minutes) does not fit.
        """
        message = _signed(self.collection_id, self.time, self.nonce, self.taken, self.wait)
        if self.collection_id != collection_id or not is_signed_by([key], self.signature, message):
            raise RemoteProtocolError("batches must be fetched by the collection's analyzer; somebody else has asked.")
        require_recent(self.time, now, "a request for a batch")


def batch_digest(manifest: bytes) -> bytes:
    """SHA-256 of an encoded `SignedManifest`, which names one batch.

    A manifest holds a random id and the digest of the body.

    Example:
        >>> batch_digest(b"").hex()[:8]
        'e3b0c442'
    """
    return hashlib.sha256(manifest).digest()


def _signed(collection_id: bytes, time: int, nonce: bytes, taken: bytes, wait: int) -> bytes:
    return _CONTEXT + collection_id + time.to_bytes(8, "big") + nonce + bytes([len(taken)]) + taken + bytes([wait])
