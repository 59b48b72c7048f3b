"""Private keys of the parties: open reports, sign batches, open relayed requests, or sign tokens.

A private key is written as PKCS#8 in PEM, and nothing else shows it. Its public part is bytes here; with the times of
its use, the public part is a `published_keys.PublishedKey`.
"""

import hashlib
from abc import ABC, abstractmethod
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection, Iterable
from contextlib import suppress
from enum import StrEnum
from typing import Any, ClassVar, Self

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey, generate_private_key
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from shuffledp.core.errors import InvalidParameterError, MalformedMessageError, RemoteProtocolError
from shuffledp.core.validate import invalid, one_of
from shuffledp.parties.wire.grammar import BatchManifest, HpkeConfig, SignedManifest
from shuffledp.parties.wire.kems import AEAD_ID, KDF_ID, KEMS, X25519, Kem, Parts, kem_of

_FINGERPRINT_BYTES = 10
_BATCH_CONTEXT = b"shuffledp-1 batch"
_REQUEST_CONTEXT = b"shuffledp-1 request key"
_END = "-----END PRIVATE KEY-----\n"
# DER prefix of a 2048-bit RSA key that is for RSASSA-PSS with SHA-384 throughout and a salt of 48 bytes.
_PSS_PREFIX = bytes.fromhex(
    "30820152303d06092a864886f70d01010a3030a00d300b0609608648016503040202a11a301806092a864886f70d010108300b06096086480165"
    "03040202a2030201300382010f00"
)


class Role(StrEnum):
    """Role of the key: the party that holds it, or the shuffler's gateway."""

    ANALYZER = "analyzer"
    SHUFFLER = "shuffler"
    GATEWAY = "gateway"
    ISSUER = "issuer"


class PrivateKey(ABC):
    """Base of all private keys; ``repr`` shows only the fingerprint of the public part."""

    __slots__ = ()
    role: ClassVar[Role]

    @property
    @abstractmethod
    def public(self) -> bytes:
        """Public part of the key, as `PublishedKey` holds it."""

    @abstractmethod
    def to_pem(self) -> str:
        """Private key as unencrypted PKCS#8 in PEM: readers of the text have the key."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {fingerprint(self.role, self.public)}>"

    def __reduce__(self) -> Any:
        raise TypeError(f"a {type(self).__name__} must be written by to_pem, and nothing else.")


class HpkeKey(PrivateKey):
    """Base of private keys that open sealed messages.

    The config id is a digest of the public key, so that no file has to keep the id.
    """

    __slots__ = ("_parts", "config", "kem", "private_key")

    def __init__(self, kem: Kem, parts: Parts) -> None:
        self.kem, self._parts, self.private_key = kem, parts, kem.private_key(parts)
        public = b"".join([part.public_key().public_bytes_raw() for part in parts])
        self.config = HpkeConfig(hashlib.sha256(public).digest()[0], kem.id, KDF_ID, AEAD_ID, public)

    @classmethod
    def generate(cls, kem: str = "x25519", *, other_than: Collection[int] = ()) -> Self:
        """New key from the system's randomness, with a config id not in ``other_than``.

        Raises:
            InvalidParameterError: for a ``kem`` that is unknown or missing in the installed ``cryptography``.
        """
        one_of(KEMS, kem=kem)
        while (key := cls(KEMS[kem], KEMS[kem].generate())).config.id in other_than:
            pass
        return key

    @property
    def public(self) -> bytes:
        """Encoded `HpkeConfig` of the public key."""
        return self.config.encode()

    def to_pem(self) -> str:
        """Private key as PEM; a hybrid key has one block per part."""
        return "".join(map(_pem, self._parts))


class AnalyzerKey(HpkeKey):
    """Private key of the analyzer: it opens reports; a key derived from it signs requests for batches.

    The signing key is Ed25519, its seed HKDF-SHA256 (RFC 5869) of the private key, so that one file holds both.
    """

    __slots__ = ("_signing",)
    role = Role.ANALYZER

    def __init__(self, kem: Kem, parts: Parts) -> None:
        super().__init__(kem, parts)
        secret = b"".join([part.private_bytes_raw() for part in parts])
        seed = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=_REQUEST_CONTEXT).derive(secret)
        self._signing = Ed25519PrivateKey.from_private_bytes(seed)

    @property
    def request_key(self) -> bytes:
        """Public Ed25519 key, 32 bytes, that verifies ``signature``."""
        return self._signing.public_key().public_bytes_raw()

    def signature(self, message: bytes) -> bytes:
        """Signature of a message; the message must begin with a context of its own."""
        return self._signing.sign(message)


class GatewayKey(HpkeKey):
    """Private key of the shuffler that opens relayed requests (RFC 9458)."""

    __slots__ = ()
    role = Role.GATEWAY

    def __init__(self, kem: Kem, parts: Parts) -> None:
        super().__init__(kem, parts)
        check_public(self.role, self.public, name="key")


class ShufflerKey(PrivateKey):
    """Ed25519 private key (RFC 8032) that signs batches."""

    __slots__ = ("_private",)
    role = Role.SHUFFLER

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private

    @classmethod
    def generate(cls) -> Self:
        """New Ed25519 key from the system's randomness."""
        return cls(Ed25519PrivateKey.generate())

    @property
    def public(self) -> bytes:
        """Public key in 32 bytes."""
        return self._private.public_key().public_bytes_raw()

    def to_pem(self) -> str:
        """Private key as one PEM block."""
        return _pem(self._private)

    def sign(self, manifest: BatchManifest) -> SignedManifest:
        """Manifest with this key's signature."""
        return SignedManifest(manifest, self.signature(_BATCH_CONTEXT + manifest.encode()))

    def signature(self, message: bytes) -> bytes:
        """Signature of a message; the message must begin with a context of its own."""
        return self._private.sign(message)


class IssuerKey(PrivateKey):
    """RSA private key of 2048 bits that signs one collection's tokens blindly (RFC 9578, section 6.5)."""

    __slots__ = ("private_key",)
    role = Role.ISSUER

    def __init__(self, private: RSAPrivateKey) -> None:
        self.private_key = private
        check_public(self.role, self.public, name="key")

    @classmethod
    def generate(cls) -> Self:
        """New RSA key from the system's randomness."""
        return cls(generate_private_key(public_exponent=65537, key_size=2048))

    @property
    def public(self) -> bytes:
        """Public key in DER for RSASSA-PSS with SHA-384 and a salt of 48 bytes."""
        encoding, form = serialization.Encoding.DER, serialization.PublicFormat.PKCS1
        return _PSS_PREFIX + self.private_key.public_key().public_bytes(encoding, form)

    def to_pem(self) -> str:
        """Private key as one PEM block."""
        return _pem(self.private_key)


def issuer_public_key(public: bytes) -> RSAPublicKey:
    """RSA public key of an issuer, read from the bytes that `PublishedKey` holds.

    Raises:
        ValueError: if it is no 2048-bit key with exponent 65537 in the form that `IssuerKey.public` writes.
    """
    key = serialization.load_der_public_key(public.removeprefix(_PSS_PREFIX))
    if isinstance(key, RSAPublicKey) and key.key_size == 2048 and key.public_numbers().e == 65537:
        encoding, form = serialization.Encoding.DER, serialization.PublicFormat.PKCS1
        if public == _PSS_PREFIX + key.public_bytes(encoding, form):
            return key
    raise ValueError


def verify(signed: SignedManifest, keys: Iterable[bytes]) -> BatchManifest:
    """Manifest whose signature verifies under one of these public keys.

    Raises:
        RemoteProtocolError: if none of the keys has signed it.
    """
    if is_signed_by(keys, signed.signature, _BATCH_CONTEXT + signed.manifest.encode()):
        return signed.manifest
    raise RemoteProtocolError("a batch must be signed by the shuffler of its collection; it is signed by nobody known.")


def is_signed_by(keys: Iterable[bytes], signature: bytes, message: bytes) -> bool:
    """Whether one of these Ed25519 public keys has signed the message."""
    for key in keys:
        with suppress(InvalidSignature):
            Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
            return True
    return False


def new_key(role: Role, *, kem: str = "x25519", other_than: Collection[int] = ()) -> PrivateKey:
    """New key of a role; ``kem`` and ``other_than`` as in `HpkeKey.generate`, for roles that open sealed messages.

    Raises:
        InvalidParameterError: for a ``kem`` that the role's keys do not use.
    """
    if role is Role.ANALYZER:
        return AnalyzerKey.generate(kem, other_than=other_than)
    if kem != "x25519":
        raise invalid(f"left out for the {role.value}, whose keys are of one kind", kem=kem)
    if role is Role.GATEWAY:
        return GatewayKey.generate(other_than=other_than)
    return ShufflerKey.generate() if role is Role.SHUFFLER else IssuerKey.generate()


def from_pem(text: str, role: Role = Role.ANALYZER) -> PrivateKey:
    """Private key read from the text of ``to_pem``; ``role`` distinguishes analyzer and gateway keys.

    Raises:
        InvalidParameterError: for anything else; the message shows none of it.
    """
    blocks = [block + _END for block in text.replace("\r\n", "\n").split(_END)[:-1]]
    with suppress(ValueError, TypeError, UnsupportedAlgorithm):
        parts = tuple(serialization.load_pem_private_key(block.encode(), password=None) for block in blocks)
        if len(parts) == 1 and isinstance(parts[0], Ed25519PrivateKey):
            return ShufflerKey(parts[0])
        if len(parts) == 1 and isinstance(parts[0], RSAPrivateKey):
            return IssuerKey(parts[0])
        kem = KEMS["x25519" if len(parts) == 1 else "mlkem768-x25519"]
        return GatewayKey(kem, parts) if role is Role.GATEWAY else AnalyzerKey(kem, parts)
    raise InvalidParameterError(
        "a key file must hold a private key in PEM (PKCS#8, not encrypted) as `shuffledp keys new` writes it; it holds "
        "something else."
    )


def _pem(key: Any) -> str:
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return str(key.private_bytes(encoding, form, serialization.NoEncryption()), "ascii")


def fingerprint(role: str, public: bytes) -> str:
    """Fingerprint for people to compare, 80 bits of SHA-256 of a public key: ``3f2a 9c01 77be 04d2 1a5c``."""
    digest = hashlib.sha256(f"shuffledp {role} key".encode() + public).digest()[:_FINGERPRINT_BYTES]
    return digest.hex(" ", 2)


def in_text(data: bytes) -> str:
    """Text of bytes in files: base64url (RFC 4648, section 5) without padding."""
    return urlsafe_b64encode(data).decode().rstrip("=")


def from_text(text: str, *, name: str) -> bytes:
    """Bytes that ``in_text`` wrote; any other text is refused, including a second spelling of the same bytes."""
    try:
        data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        if in_text(data) == text:
            return data
    except (ValueError, TypeError):
        pass
    raise InvalidParameterError(f"{name} must be in base64url without padding; got something else.")


def check_public(role: Role, data: bytes, *, name: str) -> None:
    """Refuse bytes that are no public key of this role, by `InvalidParameterError`."""
    try:
        if role is Role.SHUFFLER:
            Ed25519PublicKey.from_public_bytes(data)
            return
        if role is Role.ISSUER:
            issuer_public_key(data)
            return
        config = HpkeConfig.decode(data)
    except (ValueError, MalformedMessageError):
        raise InvalidParameterError(f"{name} must be a public key of the {role.value}; it is something else.") from None
    kem_of(config).public_key(config.public_key)
    if role is Role.GATEWAY and config.kem != X25519.id:
        raise invalid(f"of {X25519.name}, as keys of a gateway are here", **{name: kem_of(config).name})
