"""Attendance of a relay's members, as the post office reports it, and a digest that members compare.

A server can claim that a member was away, and nobody can refute it. But all members must hear the same: each envelope
holds the digest of all earlier stages, and at the end every member signs it.
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
class Attendance:
    """Attendance at the set-up and the rounds so far.

    Args:
        collection_id: id of the collection.
        num_users: number of members.
        records: attendance of each stage as bits, one per member, as `record_of` writes them.
    """

    collection_id: bytes
    num_users: int
    records: tuple[bytes, ...] = ()

    def followed_by(self, record: bytes) -> Self:
        """Attendance extended by the record of the next stage.

        Raises:
            RemoteProtocolError: if the record is invalid, or has a member who was absent from the set-up.
        """
        found = type(self)(self.collection_id, self.num_users, (*self.records, record))
        if len(record) != -(-self.num_users // 8) or (np.packbits(found.online[-1]).tobytes() != record):
            raise RemoteProtocolError(f"a record must have a bit for each of {self.num_users} members; it has others.")
        if (found.online[-1] & ~found.online[0]).any():
            raise RemoteProtocolError("a member absent from the set-up must be absent from all rounds; one is not.")
        return found

    @cached_property
    def online(self) -> NDArray[np.bool_]:
        """Attendance: True where a member was present; shape (stages, people)."""
        rows = [
            np.unpackbits(np.frombuffer(each, dtype=np.uint8), count=self.num_users).astype(np.bool_)
            for each in self.records
        ]
        return np.array(rows, dtype=np.bool_).reshape(len(rows), self.num_users)

    @property
    def absent(self) -> frozenset[int]:
        """Members absent from the last stage."""
        return frozenset(np.flatnonzero(~self.online[-1]).tolist())

    @property
    def num_away(self) -> int:
        """Number of members who were away in any stage."""
        return int(np.count_nonzero(~self.online.all(axis=0)))

    @cached_property
    def digest(self) -> bytes:
        """Digest of the collection's id and all records, in 32 bytes: a SHA-256 chain, record after record."""
        found = hashlib.sha256(_CONTEXT + self.collection_id).digest()
        for record in self.records:
            found = hashlib.sha256(found + record).digest()
        return found

    @property
    def vote(self) -> bytes:
        """Vote for this attendance: message that a member signs when it is ready to hand in."""
        return _VOTE + self.collection_id + self.digest


def is_in(record: bytes, person: int) -> bool:
    """Whether the record has this member as present; only one bit is read."""
    return bool(record[person >> 3] & (0x80 >> (person & 7)))


def record_of(online: Iterable[int], num_users: int) -> bytes:
    """Record of a stage: one bit per member, 1 for present, beginning with the first byte's highest bit."""
    bits = np.zeros(num_users, dtype=np.bool_)
    bits[list(online)] = True
    return np.packbits(bits).tobytes()
