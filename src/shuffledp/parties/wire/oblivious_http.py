"""Oblivious HTTP (RFC 9458): encapsulated requests and answers that the relay between them cannot read.

A request is sealed to a key of the gateway. The answer is sealed by a secret of the same context, so only the gateway
can make it, and it answers this request alone.
"""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from shuffledp.core.errors import MalformedMessageError, UndecryptableReportError
from shuffledp.core.validate import invalid
from shuffledp.parties.wire.grammar import HpkeConfig, UInt16
from shuffledp.parties.wire.hpke_context import KEY_BYTES, NONCE_BYTES, HpkeContext, expand, extract, schedule_info
from shuffledp.parties.wire.kems import TAG_BYTES, X25519
from shuffledp.parties.wire.keys import GatewayKey
from shuffledp.parties.wire.presentation import Message

OHTTP_KEYS = "application/ohttp-keys"
OHTTP_REQUEST = "message/ohttp-req"
OHTTP_RESPONSE = "message/ohttp-res"

_REQUEST, _ANSWER = b"message/bhttp request\0", b"message/bhttp response"
_ENC_BYTES, _HEADER_BYTES = X25519.enc_length, 7
_ANSWER_NONCE_BYTES = max(KEY_BYTES, NONCE_BYTES)
_SHORTEST = 1024  # bytes of a request, or an answer, before it is sealed
LONGER_BY = _HEADER_BYTES + _ENC_BYTES + TAG_BYTES  # a request, once it is sealed


def padded_length(length: int) -> int:
    """Padded length of a message in bytes: a power of two, which hides the collection from a relay."""
    return max(_SHORTEST, 1 << (length - 1).bit_length())


@dataclass(frozen=True, slots=True, repr=False)
class _Suite(Message):
    """Pair of algorithms in a key configuration."""

    kdf: UInt16
    aead: UInt16


def encode_keys(configs: Iterable[HpkeConfig]) -> bytes:
    """Key configurations as a gateway publishes them (RFC 9458, section 3)."""
    return b"".join([len(each).to_bytes(2, "big") + each for each in map(_key_config, configs)])


def _key_config(config: HpkeConfig) -> bytes:
    suite = _Suite(config.kdf, config.aead).encode()
    head = bytes((config.id,)) + config.kem.to_bytes(2, "big")
    return head + config.public_key + len(suite).to_bytes(2, "big") + suite


def _header(config: HpkeConfig) -> bytes:
    """Header of an encapsulated request: the key's id and the algorithms."""
    return bytes((config.id,)) + b"".join(each.to_bytes(2, "big") for each in (config.kem, config.kdf, config.aead))


@dataclass(frozen=True, slots=True, repr=False)
class Exchange:
    """State of one request and its answer, at the device or the gateway."""

    _enc: bytes
    _context: HpkeContext

    def seal(self, response: bytes, *, nonce: bytes | None = None) -> bytes:
        """Encapsulated answer; ``nonce`` is only for published examples."""
        drawn = secrets.token_bytes(_ANSWER_NONCE_BYTES) if nonce is None else nonce
        key, iv = self._key_and_nonce(drawn)
        return drawn + AESGCM(key).encrypt(iv, response, b"")

    def open(self, encapsulated: bytes) -> bytes:
        """Answer that the gateway encapsulated.

        Raises:
            UndecryptableReportError: if the gateway did not give it to this request.
        """
        key, iv = self._key_and_nonce(encapsulated[:_ANSWER_NONCE_BYTES])
        try:
            return AESGCM(key).decrypt(iv, encapsulated[_ANSWER_NONCE_BYTES:], b"")
        except (InvalidTag, ValueError):
            raise UndecryptableReportError("an answer must be the gateway's to this request; it is not.") from None

    def _key_and_nonce(self, nonce: bytes) -> tuple[bytes, bytes]:
        first = extract(self._enc + nonce, self._context.export(_ANSWER, _ANSWER_NONCE_BYTES))
        return expand(first, b"key", KEY_BYTES), expand(first, b"nonce", NONCE_BYTES)


def encapsulate(
    config: HpkeConfig, request: bytes, *, ephemeral: X25519PrivateKey | None = None
) -> tuple[bytes, Exchange]:
    """Binary request sealed to a gateway's key with a fresh secret, and the exchange that opens the answer.

    Args:
        config: public key of the gateway.
        request: as `BinaryRequest.encode` wrote it.
        ephemeral: private key of the fresh secret, only for published examples.
    """
    header, public_key = _header(config), X25519PublicKey.from_public_bytes(config.public_key)
    enc, context = HpkeContext.sender(public_key, schedule_info(_REQUEST + header), ephemeral=ephemeral)
    return header + enc + context.seal(request), Exchange(enc, context)


class UnknownKeyError(UndecryptableReportError):
    """Error: the request is sealed to a key that the gateway does not have, or no longer has."""


@dataclass(frozen=True, slots=True, repr=False)
class Gateway:
    """Gateway that opens requests sealed to any of several keys.

    Raises:
        InvalidParameterError: if two keys have one id.
    """

    _keys: dict[bytes, tuple[HpkeConfig, Any, bytes]]

    @classmethod
    def by(cls, keys: Iterable[GatewayKey]) -> Self:
        """Gateway that holds these keys."""
        several = list(keys)
        if len({key.config.id for key in several}) != len(several):
            raise invalid("of different config ids", gateway_keys=[key.config.id for key in several])
        held = {}
        for key in several:
            header = _header(key.config)
            held[header] = key.config, key.private_key, schedule_info(_REQUEST + header)
        return cls(held)

    def open(self, encapsulated: bytes) -> tuple[bytes, Exchange, HpkeConfig]:
        """Opened request, the exchange that seals its answer, and the public key in use.

        Raises:
            MalformedMessageError: if the bytes are too few for a request.
            UnknownKeyError: if it is sealed to none of the keys.
        """
        header, sealed = encapsulated[:_HEADER_BYTES], encapsulated[_HEADER_BYTES:]
        if len(sealed) < _ENC_BYTES + TAG_BYTES:
            raise MalformedMessageError("an encapsulated request must hold all of its parts; bytes are missing.")
        try:
            config, private_key, schedule = self._keys[header]
        except KeyError:
            raise UnknownKeyError("a request must be sealed to a key of the gateway; it is to another.") from None
        enc = sealed[:_ENC_BYTES]
        try:
            context = HpkeContext.recipient(private_key, config.public_key, enc, schedule)
            return context.open(sealed[_ENC_BYTES:]), Exchange(enc, context), config
        except UndecryptableReportError as error:
            raise UnknownKeyError(str(error)) from None
