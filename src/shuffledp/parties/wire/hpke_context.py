"""HPKE context in base mode (RFC 9180, sections 4 and 5), which also exports a secret for an answer.

HPKE in ``cryptography`` seals and opens single messages, and exports no secrets. So this is the key schedule
around its primitives, for the one suite in use: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM.
"""

import hmac
from dataclasses import dataclass
from typing import Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from shuffledp.core.errors import UndecryptableReportError
from shuffledp.parties.wire.kems import AEAD_ID, KDF_ID, X25519

KEY_BYTES, NONCE_BYTES = 16, 12  # of AES-128-GCM
_HASH_BYTES = 32
_KEM = b"KEM" + X25519.id.to_bytes(2, "big")
_SUITE = b"HPKE" + b"".join(number.to_bytes(2, "big") for number in (X25519.id, KDF_ID, AEAD_ID))
_BASE = b"\0"


def extract(salt: bytes, secret: bytes) -> bytes:
    """HKDF-Extract with SHA-256 (RFC 5869)."""
    return hmac.digest(salt or bytes(_HASH_BYTES), secret, "sha256")


def expand(key: bytes, info: bytes, length: int) -> bytes:
    """HKDF-Expand with SHA-256, limited to the 32 bytes of one hash."""
    return hmac.digest(key, info + b"\1", "sha256")[:length]


def _labeled_extract(suite: bytes, salt: bytes, label: bytes, secret: bytes) -> bytes:
    return extract(salt, b"HPKE-v1" + suite + label + secret)


def _labeled_expand(suite: bytes, key: bytes, label: bytes, info: bytes, length: int) -> bytes:
    return expand(key, length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info, length)


_NO_PSK = _labeled_extract(_SUITE, b"", b"psk_id_hash", b"")


def schedule_info(info: bytes) -> bytes:
    """Key-schedule input derived from ``info``; equal for all messages of one purpose to one key."""
    return _BASE + _NO_PSK + _labeled_extract(_SUITE, b"", b"info_hash", info)


@dataclass(frozen=True, slots=True, repr=False)
class HpkeContext:
    """State shared by the sender and recipient of one message: seals, opens, and exports secrets."""

    _key: bytes
    _nonce: bytes
    _exporter: bytes

    @classmethod
    def sender(
        cls, public_key: X25519PublicKey, schedule: bytes, *, ephemeral: X25519PrivateKey | None = None
    ) -> tuple[bytes, Self]:
        """Encapsulated secret and the sender's context; ``ephemeral`` is only for published examples.

        Raises:
            ValueError: for a point with which every secret is zero.
        """
        own = ephemeral or X25519PrivateKey.generate()
        enc = own.public_key().public_bytes_raw()
        return enc, cls._of(own.exchange(public_key), enc, public_key.public_bytes_raw(), schedule)

    @classmethod
    def recipient(cls, private_key: X25519PrivateKey, public_key: bytes, enc: bytes, schedule: bytes) -> Self:
        """Recipient's context; ``public_key`` belongs to ``private_key``.

        Raises:
            UndecryptableReportError: if ``enc`` is no valid point of the curve.
        """
        try:
            return cls._of(private_key.exchange(X25519PublicKey.from_public_bytes(enc)), enc, public_key, schedule)
        except ValueError:
            raise UndecryptableReportError("an encapsulated secret must be one of x25519; it is not.") from None

    @classmethod
    def _of(cls, point: bytes, enc: bytes, public_key: bytes, schedule: bytes) -> Self:
        first = _labeled_extract(_KEM, b"", b"eae_prk", point)
        shared = _labeled_expand(_KEM, first, b"shared_secret", enc + public_key, _HASH_BYTES)
        secret = _labeled_extract(_SUITE, shared, b"secret", b"")
        key, nonce, exporter = (
            _labeled_expand(_SUITE, secret, label, schedule, length)
            for label, length in ((b"key", KEY_BYTES), (b"base_nonce", NONCE_BYTES), (b"exp", _HASH_BYTES))
        )
        return cls(key, nonce, exporter)

    def seal(self, plaintext: bytes) -> bytes:
        """Ciphertext of the context's only message; call it once."""
        return AESGCM(self._key).encrypt(self._nonce, plaintext, b"")

    def open(self, ciphertext: bytes) -> bytes:
        """Plaintext of the context's only message.

        Raises:
            UndecryptableReportError: if the ciphertext was not sealed in this context.
        """
        try:
            return AESGCM(self._key).decrypt(self._nonce, ciphertext, b"")
        except (InvalidTag, ValueError):
            raise UndecryptableReportError("a message must be sealed to a key of the recipient; it is not.") from None

    def export(self, purpose: bytes, length: int) -> bytes:
        """Exported secret of at most 32 bytes for this purpose."""
        return _labeled_expand(_SUITE, self._exporter, b"sec", purpose, length)
