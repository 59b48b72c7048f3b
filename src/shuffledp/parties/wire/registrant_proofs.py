"""Proof of a registrant to a mix host: a code from the mix's operator, or a listed key's signature.

Both stand in the header field ``Authorization``, so that the body is the collection file alone.
"""

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Self

from shuffledp.core.errors import InvalidParameterError, MalformedMessageError, RemoteProtocolError
from shuffledp.parties.wire.close_request import require_recent
from shuffledp.parties.wire.grammar import SIGNATURE_BYTES
from shuffledp.parties.wire.keys import AnalyzerKey, from_text, in_text, is_signed_by
from shuffledp.parties.wire.presentation import Fixed, Integer, Message

ISSUER_KEY_TYPE = "application/vnd.shuffledp.issuer-key-request"
REGISTRANT_CODE_BYTES = 16
KEY_REQUEST_BYTES = 16  # a random name of the wanted key, so that a repeated request gets the same key
_CONTEXT = b"shuffledp-1 registrant"
_KEY_BYTES = 32
_SHOWN = re.compile("Registrant ([A-Za-z0-9_-]{1,256})")
_CODE = re.compile("Bearer ([A-Za-z0-9_-]{1,64})")


@dataclass(frozen=True, slots=True, repr=False)
class RegistrantProof(Message):
    """Signed proof: a registrant's Ed25519 public key, the time in seconds since 1970, and the signature.

    The signature covers the address, the body and the time.
    """

    key: Annotated[bytes, Fixed(_KEY_BYTES)]
    time: Annotated[int, Integer(8)]
    signature: Annotated[bytes, Fixed(SIGNATURE_BYTES)]

    @classmethod
    def by(cls, key: AnalyzerKey, url: str, body: bytes, now: datetime) -> Self:
        """Proof for one request to this address at the time ``now``, signed by the request key of ``key``."""
        time = int(now.timestamp())
        return cls(key.request_key, time, key.signature(_signed(url, body, time)))

    def verify(self, url: str, body: bytes, now: datetime) -> None:
        """Refuse a proof for another request, or with a time more than five minutes from now.

        Raises:
            RemoteProtocolError: if the signature or the time does not fit.
        """
        if not is_signed_by([self.key], self.signature, _signed(url, body, self.time)):
            raise RemoteProtocolError("a registration must be signed by the key that it names; it is not.")
        require_recent(self.time, now, "a registration")

    @property
    def shown(self) -> str:
        """Value of the header field ``Authorization``."""
        return f"Registrant {in_text(self.encode())}"

    @classmethod
    def of_shown(cls, authorization: str) -> Self | None:
        """Proof in a header field; None if the field has no proof."""
        found = _SHOWN.fullmatch(authorization)
        try:
            return None if found is None else cls.decode(from_text(found[1], name="proof"))
        except (InvalidParameterError, MalformedMessageError):
            return None


def code_of_shown(authorization: str) -> bytes | None:
    """Code of a registrant in a header field; None if the field has no code."""
    found = _CODE.fullmatch(authorization)
    try:
        code = from_text(found[1], name="code") if found else b""
    except InvalidParameterError:
        return None
    return code if len(code) == REGISTRANT_CODE_BYTES else None


def _signed(url: str, body: bytes, time: int) -> bytes:
    return _CONTEXT + hashlib.sha256(url.encode()).digest() + hashlib.sha256(body).digest() + time.to_bytes(8, "big")
