"""Messages of the agreement between the hosts of a sum on the people whose shares have all come.

Each host commits itself to the sets that it has, reveals them when all have committed, and signs which ones all have.
Hosts never connect to each other: the analyst carries these messages, and can forge none.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import Annotated, Self

from shuffledp.core.errors import InvalidParameterError, MalformedMessageError
from shuffledp.core.validate import invalid
from shuffledp.parties.wire.grammar import SIGNATURE_BYTES, CollectionId, Extension, UInt8, UInt16
from shuffledp.parties.wire.keys import ShufflerKey, is_signed_by
from shuffledp.parties.wire.presentation import Fixed, Integer, Message, Opaque
from shuffledp.parties.wire.presentation import Sequence as Several

SET_ID = 2  # type of the extension of an upload's first report that tells the person's set of shares
SET_ID_BYTES, DIGEST_BYTES, NONCE_BYTES = 16, 32, 32
NOBODY = (1 << 16) - 1  # in the place of a host that a refusal names
MOST_SETS = ((1 << 24) - 256) // DIGEST_BYTES  # whose digests fit into one message
LONGEST_STANDING = (1 << 24) + (1 << 16) + 16  # bytes
_SET, _COMPLETE = b"shuffledp-1 set", b"shuffledp-1 complete sets"
_CONTEXTS = (b"shuffledp-1 commitment", b"shuffledp-1 reveal", b"shuffledp-1 agreement")

Digest = Annotated[bytes, Fixed(DIGEST_BYTES)]
Signature = Annotated[bytes, Fixed(SIGNATURE_BYTES)]


class Kind(IntEnum):
    """Kind of an agreement message, in the order of sending."""

    NONE = 0
    COMMITMENT = 1
    REVEAL = 2
    AGREEMENT = 3


def set_extension(set_id: bytes) -> Extension:
    """Extension with a person's set id, the same at every host."""
    return Extension(SET_ID, set_id)


def set_digest(collection_id: bytes, set_id: bytes) -> bytes:
    """Digest that names a set to hosts and analyst; it does not reveal the set id.

    Example:
        >>> set_digest(bytes(32), bytes(16)).hex()[:8]
        'c7ab5980'
    """
    return hashlib.sha256(_SET + collection_id + set_id).digest()


def complete_digest(collection_id: bytes, digests: Iterable[bytes]) -> bytes:
    """Joint digest of the sets that all hosts have, from the sets' digests in any order."""
    return hashlib.sha256(_COMPLETE + collection_id + b"".join(sorted(digests))).digest()


@dataclass(frozen=True, slots=True, repr=False)
class Commitment(Message):
    """Signed commitment of a host to its sets: SHA-256(nonce || digests) of the reveal that follows."""

    collection_id: CollectionId
    host: UInt16
    revealed_sha256: Digest
    signature: Signature

    def is_by(self, keys: Iterable[bytes]) -> bool:
        """Whether one of these keys has signed the commitment."""
        return is_signed_by(keys, self.signature, _signed(Kind.COMMITMENT, self, self.revealed_sha256))


@dataclass(frozen=True, slots=True, repr=False)
class Reveal(Message):
    """Signed reveal of a host's sets: their digests, ascending, and the nonce of its commitment."""

    collection_id: CollectionId
    host: UInt16
    nonce: Annotated[bytes, Fixed(NONCE_BYTES)]
    digests: Annotated[bytes, Opaque(3)]
    signature: Signature

    def check(self) -> None:
        """Refuse digests of a wrong length, out of order, or repeated."""
        several = self.sets
        if len(self.digests) % DIGEST_BYTES or any(a >= b for a, b in pairwise(several)):
            raise invalid(f"of {DIGEST_BYTES} bytes each, ascending", digests=f"{len(self.digests)} bytes")

    @property
    def sets(self) -> list[bytes]:
        """Digests of the revealed sets, one by one."""
        return [self.digests[at : at + DIGEST_BYTES] for at in range(0, len(self.digests), DIGEST_BYTES)]

    @property
    def sha256(self) -> bytes:
        """SHA-256 of the nonce and the digests, which the host's commitment contains."""
        return hashlib.sha256(self.nonce + self.digests).digest()

    def is_by(self, keys: Iterable[bytes]) -> bool:
        """Whether one of these keys has signed the reveal."""
        return is_signed_by(keys, self.signature, _signed(Kind.REVEAL, self, self.sha256))


@dataclass(frozen=True, slots=True, repr=False)
class Agreement(Message):
    """Signed statement of a host on the sets that all hosts have, given all commitments; made only once."""

    collection_id: CollectionId
    host: UInt16
    commitments: Annotated[tuple[Commitment, ...], Several(3, Commitment, least=2)]
    complete: Digest
    signature: Signature

    def check(self) -> None:
        """Refuse commitments of another collection, or out of the order of the hosts."""
        if any(each.collection_id != self.collection_id for each in self.commitments):
            raise InvalidParameterError("commitments must be of the agreement's collection; one is of another.")
        if [each.host for each in self.commitments] != list(range(len(self.commitments))):
            raise InvalidParameterError("commitments must be one of each host, in their order; they are not.")

    def is_by(self, keys: Iterable[bytes]) -> bool:
        """Whether one of these keys has signed the agreement."""
        message = _signed(Kind.AGREEMENT, self, _joined(self.commitments) + self.complete)
        return is_signed_by(keys, self.signature, message)


Agreeing = Commitment | Reveal | Agreement
_KINDS: dict[Kind, type[Agreeing]] = {Kind.COMMITMENT: Commitment, Kind.REVEAL: Reveal, Kind.AGREEMENT: Agreement}


def kind_of(message: Agreeing) -> Kind:
    """Kind of an agreement message."""
    return next(kind for kind, each in _KINDS.items() if isinstance(message, each))


def decoded(kind: Kind, data: bytes) -> Agreeing:
    """Message of this kind, decoded from bytes.

    Raises:
        MalformedMessageError: for anything else.
    """
    if kind is Kind.NONE:
        raise MalformedMessageError("a message of an agreement must be of a kind; it is of none.")
    return _KINDS[kind].decode(data)


class Signer:
    """Signer of a host's own messages.

    Args:
        key: key of the host.
        collection_id: id of the collection.
        host: number of the host, from 0.
    """

    def __init__(self, key: ShufflerKey, collection_id: bytes, host: int) -> None:
        self._key, self._about = key, (collection_id, host)

    def reveal(self, nonce: bytes, digests: Iterable[bytes]) -> Reveal:
        """Reveal of these sets, to be kept secret until all hosts have committed themselves."""
        joined = b"".join(sorted(set(digests)))
        content = hashlib.sha256(nonce + joined).digest()
        return Reveal(*self._about, nonce, joined, self._signature(Kind.REVEAL, content))

    def commitment(self, reveal: Reveal) -> Commitment:
        """Commitment to a reveal."""
        return Commitment(*self._about, reveal.sha256, self._signature(Kind.COMMITMENT, reveal.sha256))

    def agreement(self, commitments: Sequence[Commitment], complete: bytes) -> Agreement:
        """Agreement on the complete sets, given their joint digest and all hosts' commitments."""
        content = _joined(commitments) + complete
        return Agreement(*self._about, tuple(commitments), complete, self._signature(Kind.AGREEMENT, content))

    def _signature(self, kind: Kind, content: bytes) -> bytes:
        return self._key.signature(_message(kind, *self._about, content))


@dataclass(frozen=True, slots=True, repr=False)
class Handed(Message):
    """Request to a host in an agreement: the kind of message wanted, and another host's message.

    ``kind`` is that of ``message``; both are empty where nothing is handed over.
    """

    wanted: Annotated[Kind, Integer(1, Kind)]
    kind: Annotated[Kind, Integer(1, Kind)]
    message: Annotated[bytes, Opaque(3)]

    @classmethod
    def of(cls, message: Agreeing | None = None, *, wanted: Kind = Kind.NONE) -> Self:
        """Request that contains a message, if one is given."""
        return cls(wanted, Kind.NONE, b"") if message is None else cls(wanted, kind_of(message), message.encode())


@dataclass(frozen=True, slots=True, repr=False)
class Standing(Message):
    """Answer of a host in an agreement: its stage, the hosts it waits for, and the wanted message.

    ``stage`` is the number of the host's stage, ``reason`` that of its refusal and ``named`` the host that it names, if
    any, else 65535; ``waits_for`` has the numbers of hosts, of two bytes each; ``message`` is empty if it is not there.
    """

    stage: UInt8
    reason: UInt8
    named: UInt16
    waits_for: Annotated[bytes, Opaque(2)]
    message: Annotated[bytes, Opaque(3)]

    def check(self) -> None:
        """Refuse ``waits_for`` with an odd number of bytes, since the number of each host takes two."""
        if len(self.waits_for) % 2:
            raise invalid("numbers of two bytes each", waits_for=f"{len(self.waits_for)} bytes")

    @property
    def hosts(self) -> list[int]:
        """Numbers of the hosts whose message the host waits for."""
        return [int.from_bytes(self.waits_for[at : at + 2], "big") for at in range(0, len(self.waits_for), 2)]


def _joined(commitments: Iterable[Commitment]) -> bytes:
    return b"".join([each.encode() for each in commitments])


def _signed(kind: Kind, message: Agreeing, content: bytes) -> bytes:
    return _message(kind, message.collection_id, message.host, content)


def _message(kind: Kind, collection_id: bytes, host: int, content: bytes) -> bytes:
    return _CONTEXTS[kind - 1] + collection_id + host.to_bytes(2, "big") + content
