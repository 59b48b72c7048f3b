"""Links between members, with a fresh key for each direction and round, which seals one message.

Before the first round each member sends each contact a secret, sealed to the contact's key (HPKE, RFC 9180) and signed
with its own. Each direction of a link has such a secret, from which comes a key for each round: HMAC-SHA256 leads from
a round's key to the key of the next, and not back. A message for a round and link is sealed once: sent again, it is
the same bytes.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hmac import digest
from typing import Any, Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from shuffledp.core.errors import LocalProtocolError, RemoteProtocolError
from shuffledp.parties.relay.directory import Directory
from shuffledp.parties.relay.member_keys import KEY_BYTES, MemberKey
from shuffledp.parties.wire.grammar import SIGNATURE_BYTES
from shuffledp.parties.wire.kems import KEMS, TAG_BYTES
from shuffledp.parties.wire.keys import is_signed_by

_SET_UP, _ENVELOPE = b"shuffledp-1 link", b"shuffledp-1 envelope"
_NEXT, _USE = b"\x01", b"\x02"
_AES_KEY_BYTES, _NONCE = 16, bytes(12)  # each key seals one message
_KEM = KEMS["x25519"]
SET_UP_BYTES = _KEM.enc_length + KEY_BYTES + TAG_BYTES + SIGNATURE_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Link from one member to another, in one collection.

    Args:
        collection_id: id of the collection.
        sender: sender's place in the directory.
        recipient: recipient's place in the directory.
    """

    collection_id: bytes
    sender: int
    recipient: int

    @property
    def name(self) -> bytes:
        """Name of the link, to which all its messages are bound."""
        return self.collection_id + self.sender.to_bytes(4, "big") + self.recipient.to_bytes(4, "big")

    def set_up(self, secret: bytes, directory: Directory, key: MemberKey) -> bytes:
        """Set-up message: the secret, sealed to the recipient and signed with the sender's ``key``."""
        info = _SET_UP + self.name
        to = _KEM.public_key(directory.entries[self.recipient].opening_key)
        sealed: bytes = _KEM.suite().encrypt(secret, to, info=info)
        return sealed + key.signature(info + sealed)

    def secret_in(self, message: bytes, directory: Directory, key: MemberKey) -> bytes:
        """Secret in a set-up message, opened with the recipient's ``key``.

        Raises:
            RemoteProtocolError: if the sender's signature is missing, or the message was sealed for something else.
        """
        info = _SET_UP + self.name
        sealed, signature = message[:-SIGNATURE_BYTES], message[-SIGNATURE_BYTES:]
        if not is_signed_by([directory.identities[self.sender]], signature, info + sealed):
            raise RemoteProtocolError(
                f"the first message of {self._from(directory)} must be signed by them; it is not."
            )
        try:
            secret: bytes = _KEM.suite().decrypt(sealed, key.opening, info=info)
        except (InvalidTag, ValueError):
            secret = b""
        if len(secret) != KEY_BYTES:
            raise RemoteProtocolError(f"the first message of {self._from(directory)} must open here; it does not.")
        return secret

    def seal(self, key: bytes, number: int, plaintext: bytes) -> bytes:
        """Envelope of a round, sealed with the link's key of that round; call it once for each round."""
        return AESGCM(_used(key)).encrypt(_NONCE, plaintext, self._bound(number))

    def open(self, key: bytes, number: int, envelope: bytes) -> bytes:
        """Plaintext of an envelope of a round.

        Raises:
            RemoteProtocolError: if the envelope is of another round, link or collection, or was changed.
        """
        try:
            return AESGCM(_used(key)).decrypt(_NONCE, envelope, self._bound(number))
        except (InvalidTag, ValueError):
            raise RemoteProtocolError(
                f"an envelope must be sealed for its round, link and collection; one of round {number} is not."
            ) from None

    def _bound(self, number: int) -> bytes:
        return _ENVELOPE + self.name + number.to_bytes(4, "big")

    def _from(self, directory: Directory) -> str:
        return f"member {directory.entries[self.sender].name}"


@dataclass(frozen=True, slots=True, repr=False)
class LinkKeys:
    """Member's link keys of one round, in both directions, by contact.

    Keys of earlier rounds cannot be derived from them.

    Args:
        number: number of the round, from 1.
        outward: keys for letters to contacts.
        inward: keys for letters from contacts who were present at the set-up.
    """

    number: int
    outward: Mapping[int, bytes]
    inward: Mapping[int, bytes]

    @classmethod
    def drawn(cls, contacts: tuple[int, ...]) -> Self:
        """Keys of the first round with fresh outward keys to these contacts, from the system's randomness."""
        return cls(1, {each: secrets.token_bytes(KEY_BYTES) for each in contacts}, {})

    def hearing(self, inward: Mapping[int, bytes]) -> Self:
        """Keys of the first round, completed by the inward keys that contacts sent."""
        return replace(self, inward=dict(inward))

    def after(self, number: int) -> Self:
        """Keys of the next round; the keys of this round are forgotten."""
        if number != self.number:
            raise LocalProtocolError(
                f"keys of round {self.number} must be advanced after that round; got round {number}."
            )
        return replace(self, number=number + 1, outward=_followed(self.outward), inward=_followed(self.inward))

    def to_dict(self) -> dict[str, Any]:
        """Keys in the form that the journal stores; they are secret."""
        return {
            "number": self.number,
            "outward": {str(each): key.hex() for each, key in self.outward.items()},
            "inward": {str(each): key.hex() for each, key in self.inward.items()},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Keys read from the form that `to_dict` wrote."""
        both = ({int(each): bytes.fromhex(key) for each, key in data[way].items()} for way in ("outward", "inward"))
        return cls(int(data["number"]), *both)


def _followed(keys: Mapping[int, bytes]) -> dict[int, bytes]:
    return {each: digest(key, _NEXT, "sha256") for each, key in keys.items()}


def _used(key: bytes) -> bytes:
    return digest(key, _USE, "sha256")[:_AES_KEY_BYTES]
