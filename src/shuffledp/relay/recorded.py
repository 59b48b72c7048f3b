"""What happened in a relay, as its post office says it: who was there in each stage; and a digest that all compare.

A server can say that somebody was away, and nobody can refute it. But it must say the same to everybody: each envelope
holds the digest of all stages before, and at the end everybody signs it.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.errors import RemoteProtocolError

_CONTEXT = b"shuffledp-1 schedule"
_VOTE = b"shuffledp-1 vote"


@dataclass(frozen=True)
class Recorded:
    """Who was there, in the set-up and the rounds so far.

    Args:
        collection_id: of the collection.
        num_users: members.
        records: of each stage a bit for each member, from the first on, as `record_of` writes them.
    """

    collection_id: bytes
    num_users: int
    records: tuple[bytes, ...] = ()

    def followed_by(self, record: bytes) -> Self:
        """With the record of the next stage.

        Raises:
            RemoteProtocolError: if it is none, or of somebody who was not there for the set-up.
        """
        found = type(self)(self.collection_id, self.num_users, (*self.records, record))
        if len(record) != -(-self.num_users // 8) or (np.packbits(found.online[-1]).tobytes() != record):
            raise RemoteProtocolError(f"a record must have a bit for each of {self.num_users} members; it has others.")
        if (found.online[-1] & ~found.online[0]).any():
            raise RemoteProtocolError(
                "whoever is absent from the set-up must be absent from all rounds; somebody is not."
            )
        return found

    @cached_property
    def online(self) -> NDArray[np.bool_]:
        """Who was there, shape (stages, people)."""
        rows = [
            np.unpackbits(np.frombuffer(each, dtype=np.uint8), count=self.num_users).astype(np.bool_)
            for each in self.records
        ]
        return np.array(rows, dtype=np.bool_).reshape(len(rows), self.num_users)

    @property
    def absent(self) -> frozenset[int]:
        """Who was not there in the last stage."""
        return frozenset(np.flatnonzero(~self.online[-1]).tolist())

    @property
    def num_away(self) -> int:
        """Members who were away in any stage."""
        return int(np.count_nonzero(~self.online.all(axis=0)))

    @cached_property
    def digest(self) -> bytes:
        """32 bytes: SHA-256 over the collection's id and all records, each after the digest of those before."""
        found = hashlib.sha256(_CONTEXT + self.collection_id).digest()
        for record in self.records:
            found = hashlib.sha256(found + record).digest()
        return found

    @property
    def vote(self) -> bytes:
        """What a member signs who saw this, and is ready to hand in."""
        return _VOTE + self.collection_id + self.digest


def is_in(record: bytes, person: int) -> bool:
    """Whether a record says that a member was there; without a look at all the others."""
    return bool(record[person >> 3] & (0x80 >> (person & 7)))


def record_of(online: Iterable[int], num_users: int) -> bytes:
    """A bit for each member, 1 for those who were there, the first member's in the highest bit of the first byte."""
    bits = np.zeros(num_users, dtype=np.bool_)
    bits[list(online)] = True
    return np.packbits(bits).tobytes()
