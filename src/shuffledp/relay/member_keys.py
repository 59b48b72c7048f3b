"""A member's keys: one that shows who somebody is, and one to seal to; and the entry that says so in a directory.

The entry is signed by the first key, so that nobody can enrol another key to seal to under a member's name. Whoever
compares a member's fingerprint knows both keys.
"""

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from shuffledp.core.described import Described
from shuffledp.core.errors import InputDataError, InvalidParameterError
from shuffledp.files.key_files import public_file, read_private, write_pair
from shuffledp.survey.section import read_whole
from shuffledp.wire.grammar import SIGNATURE_BYTES
from shuffledp.wire.kems import KEMS
from shuffledp.wire.keys import fingerprint, from_text, in_text, is_signed_by

KEY_BYTES = 32  # of each of the two, public or private
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_CONTEXT = b"shuffledp-1 member"
_END = "-----END PRIVATE KEY-----\n"
_MOST = 1 << 12  # bytes of an entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Described):
    """A member as the directory has it.

    Args:
        name: by which people know the member: a pseudonym of up to 64 letters, digits, dots, hyphens and underscores.
        identity: the Ed25519 key that the member signs with, 32 bytes in base64url.
        opening: the X25519 key that is sealed to, 32 bytes in base64url.
        signature: of all this by the identity, 64 bytes in base64url.

    Raises:
        InvalidParameterError: if a field is not as it must be, or the signature is another's.
    """

    title: ClassVar[str] = "an entry of a directory"
    name: str
    identity: str
    opening: str
    signature: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise InvalidParameterError(
                "name must be 1 to 64 letters, digits, dots, hyphens and underscores, a letter or digit first; got "
                "another text."
            )
        for name, length in {"identity": KEY_BYTES, "opening": KEY_BYTES, "signature": SIGNATURE_BYTES}.items():
            if len(from_text(getattr(self, name), name=name)) != length:
                raise InvalidParameterError(f"{name} of member {self.name} must be {length} bytes in base64url.")
        KEMS["x25519"].public_key(self.opening_key)
        try:
            Ed25519PublicKey.from_public_bytes(self.identity_key)
        except ValueError:
            raise InvalidParameterError(f"identity of member {self.name} must be an Ed25519 key.") from None
        signed = _signed(self.name, self.identity_key, self.opening_key)
        if not is_signed_by([self.identity_key], from_text(self.signature, name="signature"), signed):
            raise InvalidParameterError(
                f"signature of member {self.name} must be made by the member's own key; it is another's, or of another "
                "entry."
            )

    @property
    def identity_key(self) -> bytes:
        """The 32 bytes of the key that the member signs with."""
        return from_text(self.identity, name="identity")

    @property
    def opening_key(self) -> bytes:
        """The 32 bytes of the key that is sealed to."""
        return from_text(self.opening, name="opening")

    @property
    def fingerprint(self) -> str:
        """For people to compare: 80 bits of a digest of both keys."""
        return fingerprint("member", self.identity_key + self.opening_key)

    @classmethod
    def read(cls, path: Path) -> Self:
        """The entry in a file that `MemberKey.write` wrote, whichever of the two files is named.

        Raises:
            InvalidParameterError: if it cannot be read, or is not as an entry must be.
            InputDataError: if it holds something else.
        """
        file = public_file(path)
        try:
            return cls.from_dict(json.loads(read_whole(file, most=_MOST)))
        except OSError as error:
            raise InvalidParameterError(f"an entry must be readable; got {file}: {error.strerror}.") from None
        except (ValueError, RecursionError) as error:
            if isinstance(error, InvalidParameterError):
                raise InvalidParameterError(f"{file}: {error}") from None
        raise InputDataError(f"{file} must be an entry, as `shuffledp relay join` writes it; it is something else.")


class MemberKey:
    """The private keys of a member; ``repr`` shows the fingerprint of what is public alone."""

    __slots__ = ("_identity", "opening")

    def __init__(self, identity: Ed25519PrivateKey, opening: X25519PrivateKey) -> None:
        self._identity, self.opening = identity, opening

    @classmethod
    def generate(cls) -> Self:
        """New keys, by the system's randomness."""
        return cls(Ed25519PrivateKey.generate(), X25519PrivateKey.generate())

    @property
    def identity(self) -> bytes:
        """The public part of the key that signs, 32 bytes."""
        return self._identity.public_key().public_bytes_raw()

    def entry(self, name: str) -> Entry:
        """What the directory is to have of this member."""
        opening = self.opening.public_key().public_bytes_raw()
        signature = self.signature(_signed(name, self.identity, opening))
        return Entry(name=name, identity=in_text(self.identity), opening=in_text(opening), signature=in_text(signature))

    def signature(self, message: bytes) -> bytes:
        """The signature of a message, which begins with a context of its own."""
        return self._identity.sign(message)

    def to_pem(self) -> str:
        """Both keys as PKCS#8 in PEM, not encrypted: whoever reads it has the keys."""
        encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        keys: tuple[Any, ...] = (self._identity, self.opening)
        return "".join(str(key.private_bytes(encoding, form, serialization.NoEncryption()), "ascii") for key in keys)

    def write(self, path: Path, name: str) -> Entry:
        """Write the keys to a file for its owner alone, and the entry beside it, ``.pub``; as `write_pair`."""
        entry = self.entry(name)
        write_pair(path, self.to_pem(), json.dumps(entry.to_dict(), indent=2) + "\n")
        return entry

    @classmethod
    def read(cls, path: Path) -> Self:
        """The keys in a file that `write` wrote.

        Raises:
            InvalidParameterError: if it cannot be read, is not for its owner alone, or holds something else.
        """
        return cls.from_pem(read_private(path))

    @classmethod
    def from_pem(cls, text: str) -> Self:
        """The keys that `to_pem` wrote; anything else is refused, and not shown."""
        blocks = [block + _END for block in text.replace("\r\n", "\n").split(_END)[:-1]]
        with suppress(ValueError, TypeError, UnsupportedAlgorithm):
            identity, opening = (serialization.load_pem_private_key(each.encode(), password=None) for each in blocks)
            if isinstance(identity, Ed25519PrivateKey) and isinstance(opening, X25519PrivateKey):
                return cls(identity, opening)
        raise InvalidParameterError(
            "a member's key file must be as `shuffledp relay join` wrote it; it is something else."
        )

    def __repr__(self) -> str:
        return f"<MemberKey {self.entry('member').fingerprint}>"

    def __reduce__(self) -> Any:
        raise TypeError("a MemberKey must be written by to_pem, and nothing else.")


def _signed(name: str, identity: bytes, opening: bytes) -> bytes:
    return _CONTEXT + identity + opening + name.encode()
