"""Blind RSA signatures (RFC 9474) as tokens use them: RSABSSA-SHA384-PSS-Deterministic, 2048 bits.

A device blinds a message, the issuer signs the message unread, and the device removes the blinding. What
is left is an ordinary signature (RSASSA-PSS, RFC 8017), which ``cryptography`` verifies.

Signing is **not constant-time**: Python's integers are not, and ``cryptography`` has no RSA without a padding. So that
times tell the sender of a message nothing of the key, each message is multiplied by a random factor before it is raised
to the secret power, and every result is verified before it is given away. This does not help against somebody who
measures the processor itself: an issuer is to run on a machine that it shares with nobody.
"""

import hashlib
import math
import secrets

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA384

from shuffledp.core.errors import LocalProtocolError, MalformedMessageError, RemoteProtocolError

MODULUS_BYTES = 256  # Nk of token type 2
_HASH_BYTES = 48  # of SHA-384, and of the salt
_PSS = padding.PSS(padding.MGF1(SHA384()), _HASH_BYTES)


def blind(
    key: RSAPublicKey, message: bytes, *, salt: bytes | None = None, factor: int | None = None
) -> tuple[bytes, int]:
    """Blinded encoding of a message, and the inverse of its blinding factor (RFC 9474, section 4.2).

    Args:
        key: public key of the issuer.
        message: message to sign.
        salt: 48 bytes; drawn at random, except for published examples.
        factor: blinding factor below the modulus; drawn at random, except for published examples.

    Returns:
        The blinded message of 256 bytes, and the inverse of the factor.
    """
    numbers = key.public_numbers()
    encoded = int.from_bytes(_encoded(message, secrets.token_bytes(_HASH_BYTES) if salt is None else salt), "big")
    drawn = _unit(numbers.n) if factor is None else factor
    if math.gcd(encoded, numbers.n) != 1:  # whoever sees this has factored the modulus
        raise LocalProtocolError("a message must have nothing in common with the issuer's modulus; it has.")
    blinded = encoded * pow(drawn, numbers.e, numbers.n) % numbers.n
    return _written(blinded), pow(drawn, -1, numbers.n)


def blind_sign(key: RSAPrivateKey, blinded: bytes) -> bytes:
    """Blind signature of a blinded message (RFC 9474, section 4.3); equal messages get equal signatures.

    Raises:
        MalformedMessageError: if it is not of 256 bytes, or not below the modulus.
    """
    private = key.private_numbers()
    public = private.public_numbers
    number = int.from_bytes(blinded, "big")
    if len(blinded) != MODULUS_BYTES or number >= public.n:
        raise MalformedMessageError("a blinded message must be below the issuer's modulus; it is not.")
    mask = _unit(public.n)
    masked = number * pow(mask, public.e, public.n) % public.n
    modulo_p, modulo_q = pow(masked, private.dmp1, private.p), pow(masked, private.dmq1, private.q)
    signed = modulo_q + private.q * (private.iqmp * (modulo_p - modulo_q) % private.p)
    signature = signed * pow(mask, -1, public.n) % public.n
    if pow(signature, public.e, public.n) != number:  # a fault here would give the factors away
        raise LocalProtocolError("a signature must be one of what was to be signed; this machine computes wrongly.")
    return _written(signature)


def finalize(key: RSAPublicKey, message: bytes, blind_signature: bytes, inverse: int) -> bytes:
    """Signature of the message after the blinding is removed (RFC 9474, section 4.4).

    Raises:
        RemoteProtocolError: if the issuer has signed something else.
    """
    number = int.from_bytes(blind_signature, "big")
    signature = _written(number * inverse % key.public_numbers().n)
    if len(blind_signature) != MODULUS_BYTES or not verifies(key, message, signature):
        raise RemoteProtocolError("the issuer must sign what it was asked to sign; it has not.")
    return signature


def verifies(key: RSAPublicKey, message: bytes, signature: bytes) -> bool:
    """Whether the signature is the issuer's for this message."""
    try:
        key.verify(signature, message, _PSS, SHA384())
    except InvalidSignature:
        return False
    return True


def _unit(modulus: int) -> int:
    """Random invertible number below the modulus."""
    while math.gcd(drawn := 1 + secrets.randbelow(modulus - 1), modulus) != 1:
        pass
    return drawn


def _written(number: int) -> bytes:
    return number.to_bytes(MODULUS_BYTES, "big")


def _encoded(message: bytes, salt: bytes) -> bytes:
    """EMSA-PSS-ENCODE of a message (RFC 8017, section 9.1.1), one bit shorter than the modulus."""
    digest = hashlib.sha384(bytes(8) + hashlib.sha384(message).digest() + salt).digest()
    block = bytes(MODULUS_BYTES - len(salt) - _HASH_BYTES - 2) + b"\1" + salt
    masked = bytearray(a ^ b for a, b in zip(block, _mask(digest, len(block)), strict=True))
    masked[0] &= 0x7F
    return bytes(masked) + digest + b"\xbc"


def _mask(seed: bytes, length: int) -> bytes:
    """MGF1 mask with SHA-384 (RFC 8017, appendix B.2.1)."""
    parts = -(-length // _HASH_BYTES)
    return b"".join([hashlib.sha384(seed + part.to_bytes(4, "big")).digest() for part in range(parts)])[:length]
