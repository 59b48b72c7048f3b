"""Privacy Pass tokens for "one person, one answer": type 2 of RFC 9578, shown as in RFC 9577.

A token is bound to one collection by the digest of its challenge, which follows from the collection file. The issuer
signs it blindly, and can tell a token that it sees later from no other.
"""

import hashlib
import re
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Self

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from shuffledp.core.errors import InvalidParameterError, RemoteProtocolError
from shuffledp.parties.wire.blind_rsa import MODULUS_BYTES, blind, finalize, verifies
from shuffledp.parties.wire.grammar import UInt8, UInt16
from shuffledp.parties.wire.keys import issuer_public_key
from shuffledp.parties.wire.presentation import Fixed, Message, Opaque

ISSUANCE_REQUEST = "application/private-token-request"
ISSUANCE_RESPONSE = "application/private-token-response"
BLIND_RSA = 0x0002  # the only token type here

_DIGEST_BYTES = 32
_SHOWN = re.compile(r'PrivateToken token=("?)([A-Za-z0-9_-]+={0,2})\1')


@dataclass(frozen=True, slots=True, repr=False)
class TokenChallenge(Message):
    """Purpose of a token: the issuer's name, the collection's id as context, and the shuffler's host."""

    token_type: UInt16
    issuer_name: Annotated[bytes, Opaque(2, least=1)]
    redemption_context: Annotated[bytes, Opaque(1)]
    origin_info: Annotated[bytes, Opaque(2)]

    def check(self) -> None:
        """Refuse an unknown token type, and a context whose length is not 0 or 32 bytes."""
        if self.token_type != BLIND_RSA or len(self.redemption_context) not in (0, _DIGEST_BYTES):
            raise InvalidParameterError("a challenge must be of token type 2, its context of 32 bytes or none.")

    @property
    def digest(self) -> bytes:
        """SHA-256 of the challenge, a part of the token."""
        return hashlib.sha256(self.encode()).digest()


@dataclass(frozen=True, slots=True, repr=False)
class Token(Message):
    """Token that allows one submission."""

    token_type: UInt16
    nonce: Annotated[bytes, Fixed(_DIGEST_BYTES)]
    challenge_digest: Annotated[bytes, Fixed(_DIGEST_BYTES)]
    token_key_id: Annotated[bytes, Fixed(_DIGEST_BYTES)]
    authenticator: Annotated[bytes, Fixed(MODULUS_BYTES)]

    @property
    def signed(self) -> bytes:
        """Signed part of the token: all bytes before the authenticator."""
        return self.encode()[:-MODULUS_BYTES]

    def shown(self) -> str:
        """Header field ``Authorization`` that spends the token (RFC 9577, section 2.2)."""
        return f'PrivateToken token="{urlsafe_b64encode(self.encode()).decode()}"'

    @classmethod
    def of_shown(cls, text: str) -> Self:
        """Token in a header field; errors as in `Message.decode`."""
        found = _SHOWN.fullmatch(text)
        try:
            data = urlsafe_b64decode(found[2] + "=" * (-len(found[2]) % 4)) if found else b""
        except Base64Error:
            data = b""
        return cls.decode(data)


@dataclass(frozen=True, slots=True, repr=False)
class TokenRequest(Message):
    """Request to the issuer to sign a blinded message, which the issuer cannot read."""

    token_type: UInt16
    truncated_token_key_id: UInt8
    blinded_msg: Annotated[bytes, Fixed(MODULUS_BYTES)]


@dataclass(frozen=True, slots=True, repr=False)
class TokenResponse(Message):
    """Blind signature of the issuer."""

    blind_sig: Annotated[bytes, Fixed(MODULUS_BYTES)]


@dataclass(frozen=True, slots=True, repr=False)
class PendingToken(Message):
    """Token that waits for the issuer's signature; the device keeps it secret."""

    request: TokenRequest
    nonce: Annotated[bytes, Fixed(_DIGEST_BYTES)]
    inverse: Annotated[bytes, Fixed(MODULUS_BYTES)]

    @classmethod
    def new(
        cls,
        challenge: TokenChallenge,
        public: bytes,
        *,
        nonce: bytes | None = None,
        salt: bytes | None = None,
        factor: int | None = None,
    ) -> Self:
        """New pending token (RFC 9578, section 6.1).

        Args:
            challenge: purpose of the token.
            public: the issuer's key, as `PublishedKey` holds it.
            nonce: 32 bytes; drawn at random, as ``salt`` and ``factor``, except for published examples.
            salt: as in `blind`.
            factor: as in `blind`.
        """
        drawn = secrets.token_bytes(_DIGEST_BYTES) if nonce is None else nonce
        signed = _signed(drawn, challenge, public)
        blinded, inverse = blind(issuer_public_key(public), signed, salt=salt, factor=factor)
        request = TokenRequest(BLIND_RSA, key_id(public)[-1], blinded)
        return cls(request, drawn, inverse.to_bytes(MODULUS_BYTES, "big"))

    def finalize(self, challenge: TokenChallenge, public: bytes, response: TokenResponse) -> Token:
        """Token with the issuer's signature.

        Raises:
            RemoteProtocolError: if the issuer has signed something else.
        """
        signed = _signed(self.nonce, challenge, public)
        inverse = int.from_bytes(self.inverse, "big")
        return Token.decode(signed + finalize(issuer_public_key(public), signed, response.blind_sig, inverse))


class TokenCheck:
    """Check that a token belongs to one collection.

    Args:
        challenge: purpose of the tokens.
        keys: public keys of the issuer, as `PublishedKey` holds them.
    """

    def __init__(self, challenge: TokenChallenge, keys: Iterable[bytes]) -> None:
        self._digest = challenge.digest
        self._keys: dict[bytes, RSAPublicKey] = {key_id(each): issuer_public_key(each) for each in keys}

    def __call__(self, token: Token) -> None:
        """Refuse a token of another collection, or without a valid signature of the issuer.

        Raises:
            RemoteProtocolError: if the token is refused.
        """
        key = self._keys.get(token.token_key_id)
        is_for_it = token.token_type == BLIND_RSA and token.challenge_digest == self._digest
        if key is None or not is_for_it or not verifies(key, token.signed, token.authenticator):
            raise RemoteProtocolError("a token must be the issuer's, for this collection; it is not.")


def key_id(public: bytes) -> bytes:
    """Id of an issuer's key: SHA-256 of its DER form."""
    return hashlib.sha256(public).digest()


def _signed(nonce: bytes, challenge: TokenChallenge, public: bytes) -> bytes:
    return BLIND_RSA.to_bytes(2, "big") + nonce + challenge.digest + key_id(public)
