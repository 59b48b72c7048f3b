"""Public keys in files and collections: the key, the times of its use, and its successors."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, ClassVar, Self

from shuffledp.core.described import Described, without_none
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.instants import instant, written
from shuffledp.core.validate import invalid
from shuffledp.parties.wire.grammar import HpkeConfig
from shuffledp.parties.wire.kems import kem_of
from shuffledp.parties.wire.keys import AnalyzerKey, PrivateKey, Role, check_public, fingerprint, from_text, in_text

_SEALED_TO = (Role.ANALYZER, Role.GATEWAY)
_REQUEST_KEY_BYTES = 32


class KeyState(StrEnum):
    """State of a key at some time: not yet in use, in full use, or only for earlier messages."""

    PENDING = "pending"
    ACTIVE = "active"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedKey(Described):
    """Public part of a key: the file beside the private key, which is copied into collections.

    A key is used from ``active_from`` until ``expires``, both in UTC; afterwards it still opens what was sealed, or
    verifies what was signed, before.

    Args:
        role: party that holds the private key.
        key: the encoded `HpkeConfig` of an analyzer or a gateway, the Ed25519 key of a shuffler, or the RSA key of an
            issuer, in base64url.
        active_from: as `shuffledp.core.instants` writes it.
        expires: in the form of ``active_from``, and later; None if no successor is named.
        successors: public keys that may follow this one, in their order, in base64url.
        request_key: of an analyzer, the Ed25519 key in base64url that verifies its requests for batches; None in files
            from before there were such requests, and in collections whose shuffler sends batches.
    """

    title: ClassVar[str] = "a public key"
    role: Role
    key: str
    active_from: str
    expires: str | None = None
    successors: tuple[str, ...] = ()
    request_key: str | None = None

    def __post_init__(self) -> None:
        if self.request_key is not None:
            if self.role is not Role.ANALYZER:
                raise invalid(f"left out for the {self.role.value}, who fetches nothing", request_key=self.request_key)
            if len(from_text(self.request_key, name="request_key")) != _REQUEST_KEY_BYTES:
                raise InvalidParameterError(f"request_key must be {_REQUEST_KEY_BYTES} bytes; it is of another length.")
        for name, texts in {"key": (self.key,), "successors": self.successors}.items():
            for text in texts:
                check_public(self.role, from_text(text, name=name), name=name)
        told_apart = {data[0] if self.role in _SEALED_TO else data for data in self.several}  # by config id
        if len(told_apart) != 1 + len(self.successors):
            raise InvalidParameterError("successors must be other keys, with config ids of their own; one is not.")
        begins = instant(active_from=self.active_from)
        if self.expires is not None and instant(expires=self.expires) <= begins:
            raise invalid(f"after active_from={self.active_from}", expires=self.expires)

    @classmethod
    def of(cls, key: PrivateKey, **further: Any) -> Self:
        """Public part of a private key; ``further`` are fields of the class, ``active_from`` among them."""
        request_key = in_text(key.request_key) if isinstance(key, AnalyzerKey) else None
        return cls(role=key.role, key=in_text(key.public), request_key=request_key, **further)

    def to_dict(self) -> dict[str, Any]:
        """Fields of the key file; ``request_key`` is left out if there is none, as in earlier files."""
        return without_none(super(PublishedKey, self).to_dict(), "request_key")

    @property
    def public(self) -> bytes:
        """Public key in bytes."""
        return from_text(self.key, name="key")

    @property
    def several(self) -> tuple[bytes, ...]:
        """Public keys in bytes: the key, then its successors."""
        return tuple(from_text(text, name="key") for text in (self.key, *self.successors))

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the public key, as the function `fingerprint` writes it."""
        return fingerprint(self.role, self.public)

    @property
    def kem(self) -> str:
        """Name of the key encapsulation mechanism; "" for a key that only signs."""
        return kem_of(self.config).name if self.role in _SEALED_TO else ""

    @property
    def algorithm(self) -> str:
        """Name of the key's algorithm."""
        return self.kem or {Role.SHUFFLER: "ed25519", Role.ISSUER: "rsa-2048"}[self.role]

    @property
    def config(self) -> HpkeConfig:
        """HPKE config of the key; only for an analyzer or a gateway."""
        return HpkeConfig.decode(self.public)

    def configs_at(self, now: datetime) -> list[HpkeConfig]:
        """HPKE configs to seal to, key first, then successors; an expired key with successors is left out."""
        expired = self.state(now) is KeyState.EXPIRED and bool(self.successors)
        return [HpkeConfig.decode(each) for each in self.several[expired:]]

    def state(self, now: datetime) -> KeyState:
        """State of the key at this time, which has a time zone."""
        if now < instant(active_from=self.active_from):
            return KeyState.PENDING
        return KeyState.ACTIVE if self.expires is None or now < instant(expires=self.expires) else KeyState.EXPIRED

    def followed_by(self, successor: "PublishedKey", *, overlap: timedelta) -> Self:
        """Copy of this key that names its successor, and expires after both were active for ``overlap``.

        Raises:
            InvalidParameterError: if ``successor`` is no possible successor, or active before this key.
        """
        if successor.role is not self.role:
            raise invalid(f"a key of the {self.role.value}", successor=f"one of the {successor.role.value}")
        ends = instant(active_from=successor.active_from) + overlap
        named = (successor.key, *(key for key in self.successors if key != successor.key))
        return replace(self, expires=written(ends), successors=named)
