"""Keys of the parties: they open reports, sign batches, open what comes through a relay, or sign tokens.

A private key is written as PKCS#8 in PEM, and shown by nothing else. What is public of it is bytes here; with since and
until when it is used, it is a `published_keys.PublishedKey`.
"""

import hashlib
from abc import ABC, abstractmethod
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection, Iterable
from contextlib import suppress
from enum import StrEnum
from typing import Any, ClassVar, Self

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey, generate_private_key

from shuffledp.core.errors import InvalidParameterError, MalformedMessageError, RemoteProtocolError
from shuffledp.core.validate import invalid, one_of
from shuffledp.wire.grammar import BatchManifest, HpkeConfig, SignedManifest
from shuffledp.wire.kems import AEAD_ID, KDF_ID, KEMS, X25519, Kem, Parts, kem_of

_FINGERPRINT_BYTES = 10
_BATCH_CONTEXT = b"shuffledp-1 batch"
_END = "-----END PRIVATE KEY-----\n"
# What stands before an RSA key of 2048 bits to say that it is for RSASSA-PSS, with SHA-384 for all and a salt of 48.
_PSS_PREFIX = bytes.fromhex(
    "30820152303d06092a864886f70d01010a3030a00d300b0609608648016503040202a11a301806092a864886f70d010108300b06096086480165"
    "03040202a2030201300382010f00"
)


class Role(StrEnum):
    """Whose key it is."""

    ANALYZER = "analyzer"
    SHUFFLER = "shuffler"
    GATEWAY = "gateway"
    ISSUER = "issuer"


class PrivateKey(ABC):
    """Base of all kinds of private keys; ``repr`` shows the fingerprint of the public part alone."""

    __slots__ = ()
    role: ClassVar[Role]

    @property
    @abstractmethod
    def public(self) -> bytes:
        """What is public of it, as `PublishedKey` holds it."""

    @abstractmethod
    def to_pem(self) -> str:
        """The key as PKCS#8 in PEM, not encrypted: whoever reads it has the key."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {fingerprint(self.role, self.public)}>"

    def __reduce__(self) -> Any:
        raise TypeError(f"a {type(self).__name__} must be written by to_pem, and nothing else.")


class HpkeKey(PrivateKey):
    """Base of keys that something is sealed to.

    Its config id is a digest of its public key, so that it need not be kept beside it.
    """

    __slots__ = ("_parts", "config", "kem", "private_key")

    def __init__(self, kem: Kem, parts: Parts) -> None:
        self.kem, self._parts, self.private_key = kem, parts, kem.private_key(parts)
        public = b"".join([part.public_key().public_bytes_raw() for part in parts])
        self.config = HpkeConfig(hashlib.sha256(public).digest()[0], kem.id, KDF_ID, AEAD_ID, public)

    @classmethod
    def generate(cls, kem: str = "x25519", *, other_than: Collection[int] = ()) -> Self:
        """A new key, by the system's randomness, with another config id than these.

        Raises:
            InvalidParameterError: for an unknown ``kem``, or one that the installed ``cryptography`` does not have.
        """
        one_of(KEMS, kem=kem)
        while (key := cls(KEMS[kem], KEMS[kem].generate())).config.id in other_than:
            pass
        return key

    @property
    def public(self) -> bytes:
        """The encoded `HpkeConfig`."""
        return self.config.encode()

    def to_pem(self) -> str:
        """One block, or of a hybrid key one for each part."""
        return "".join(map(_pem, self._parts))


class AnalyzerKey(HpkeKey):
    """A key that opens reports."""

    __slots__ = ()
    role = Role.ANALYZER


class GatewayKey(HpkeKey):
    """A key of the shuffler that opens requests which come through a relay (RFC 9458)."""

    __slots__ = ()
    role = Role.GATEWAY

    def __init__(self, kem: Kem, parts: Parts) -> None:
        super().__init__(kem, parts)
        check_public(self.role, self.public, name="key")


class ShufflerKey(PrivateKey):
    """An Ed25519 key (RFC 8032) that signs batches."""

    __slots__ = ("_private",)
    role = Role.SHUFFLER

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private

    @classmethod
    def generate(cls) -> Self:
        """A new key, by the system's randomness."""
        return cls(Ed25519PrivateKey.generate())

    @property
    def public(self) -> bytes:
        """The 32 bytes of the public key."""
        return self._private.public_key().public_bytes_raw()

    def to_pem(self) -> str:
        """PEM text of the private key."""
        return _pem(self._private)

    def sign(self, manifest: BatchManifest) -> SignedManifest:
        """The manifest with this key's signature."""
        return SignedManifest(manifest, self.signature(_BATCH_CONTEXT + manifest.encode()))

    def signature(self, message: bytes) -> bytes:
        """The signature of a message, which begins with a context of its own."""
        return self._private.sign(message)


class IssuerKey(PrivateKey):
    """An RSA key that signs tokens blindly (RFC 9578, section 6.5); of 2048 bits, for one collection."""

    __slots__ = ("private_key",)
    role = Role.ISSUER

    def __init__(self, private: RSAPrivateKey) -> None:
        self.private_key = private
        check_public(self.role, self.public, name="key")

    @classmethod
    def generate(cls) -> Self:
        """A new key, by the system's randomness."""
        return cls(generate_private_key(public_exponent=65537, key_size=2048))

    @property
    def public(self) -> bytes:
        """The public key in DER, as one of RSASSA-PSS with SHA-384 and a salt of 48 bytes."""
        encoding, form = serialization.Encoding.DER, serialization.PublicFormat.PKCS1
        return _PSS_PREFIX + self.private_key.public_key().public_bytes(encoding, form)

    def to_pem(self) -> str:
        """PEM text of the private key."""
        return _pem(self.private_key)


def issuer_public_key(public: bytes) -> RSAPublicKey:
    """The key of an issuer, as `PublishedKey` holds it.

    Raises:
        ValueError: if it is none of 2048 bits with the usual exponent, in the one form that it has.
    """
    key = serialization.load_der_public_key(public.removeprefix(_PSS_PREFIX))
    if isinstance(key, RSAPublicKey) and key.key_size == 2048 and key.public_numbers().e == 65537:
        encoding, form = serialization.Encoding.DER, serialization.PublicFormat.PKCS1
        if public == _PSS_PREFIX + key.public_bytes(encoding, form):
            return key
    raise ValueError


def verify(signed: SignedManifest, keys: Iterable[bytes]) -> BatchManifest:
    """The manifest, if one of these public keys has signed it.

    Raises:
        RemoteProtocolError: if none has.
    """
    if is_signed_by(keys, signed.signature, _BATCH_CONTEXT + signed.manifest.encode()):
        return signed.manifest
    raise RemoteProtocolError("a batch must be signed by the shuffler of its collection; it is signed by nobody known.")


def is_signed_by(keys: Iterable[bytes], signature: bytes, message: bytes) -> bool:
    """Whether one of these public Ed25519 keys has signed a message."""
    for key in keys:
        with suppress(InvalidSignature):
            Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
            return True
    return False


def new_key(role: Role, *, kem: str = "x25519", other_than: Collection[int] = ()) -> PrivateKey:
    """A new key of a role; ``kem`` and ``other_than`` are as of `HpkeKey.generate`, for those that are sealed to.

    Raises:
        InvalidParameterError: for a ``kem`` that keys of the role are not of.
    """
    if role is Role.ANALYZER:
        return AnalyzerKey.generate(kem, other_than=other_than)
    if kem != "x25519":
        raise invalid(f"left out for the {role.value}, whose keys are of one kind", kem=kem)
    if role is Role.GATEWAY:
        return GatewayKey.generate(other_than=other_than)
    return ShufflerKey.generate() if role is Role.SHUFFLER else IssuerKey.generate()


def from_pem(text: str, role: Role = Role.ANALYZER) -> PrivateKey:
    """The key that ``to_pem`` wrote. Its algorithm says whose it is; of one that is sealed to, ``role`` does.

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
    """80 bits of SHA-256 of what is public of a key, for people to compare: ``3f2a 9c01 77be 04d2 1a5c``."""
    digest = hashlib.sha256(f"shuffledp {role} key".encode() + public).digest()[:_FINGERPRINT_BYTES]
    return digest.hex(" ", 2)


def in_text(data: bytes) -> str:
    """Bytes as files hold them: base64url (RFC 4648, section 5) without padding."""
    return urlsafe_b64encode(data).decode().rstrip("=")


def from_text(text: str, *, name: str) -> bytes:
    """The bytes that ``in_text`` wrote; refused otherwise, and where there would be another text for them."""
    try:
        data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        if in_text(data) == text:
            return data
    except (ValueError, TypeError):
        pass
    raise InvalidParameterError(f"{name} must be in base64url without padding; got something else.")


def check_public(role: Role, data: bytes, *, name: str) -> None:
    """Raise `InvalidParameterError` for what is no public key of this role."""
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
