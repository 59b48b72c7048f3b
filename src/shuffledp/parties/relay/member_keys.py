"""Keys of a member (one signs, one opens sealed messages), and the member's entry in a directory.

The first key signs the entry, so that nobody can enrol another opening key under a member's name. People who
compare a member's fingerprint have compared both keys.
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
from shuffledp.parties.wire.grammar import SIGNATURE_BYTES
from shuffledp.parties.wire.kems import KEMS
from shuffledp.parties.wire.keys import fingerprint, from_text, in_text, is_signed_by
from shuffledp.survey.section import read_whole

KEY_BYTES = 32  # length of each key, public or private
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_CONTEXT = b"shuffledp-1 member"
_END = "-----END PRIVATE KEY-----\n"
_MOST = 1 << 12  # bytes of an entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Described):
    """Entry of a member in a directory.

    Args:
        name: pseudonym of the member: up to 64 letters, digits, dots, hyphens and underscores.
        identity: the Ed25519 key that the member signs with, 32 bytes in base64url.
        opening: the X25519 key to which messages are sealed, 32 bytes in base64url.
        signature: signature of the other fields by the identity key, 64 bytes in base64url.

    Raises:
        InvalidParameterError: if a field is invalid, or the signature does not verify.
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
        """Ed25519 public key that verifies the member's signatures, in 32 bytes."""
        return from_text(self.identity, name="identity")

    @property
    def opening_key(self) -> bytes:
        """X25519 public key to which messages for the member are sealed, in 32 bytes."""
        return from_text(self.opening, name="opening")

    @property
    def fingerprint(self) -> str:
        """Fingerprint for people to compare: 80 bits of a digest of both keys."""
        return fingerprint("member", self.identity_key + self.opening_key)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Entry in a file that `MemberKey.write` wrote; ``path`` may name either of the two files.

        Raises:
            InvalidParameterError: if the file is unreadable, or the entry is invalid.
            InputDataError: if the file holds something else.
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
    """Private keys of a member; ``repr`` shows only the fingerprint of the public keys."""

    __slots__ = ("_identity", "opening")

    def __init__(self, identity: Ed25519PrivateKey, opening: X25519PrivateKey) -> None:
        self._identity, self.opening = identity, opening

    @classmethod
    def generate(cls) -> Self:
        """New keys from the system's randomness."""
        return cls(Ed25519PrivateKey.generate(), X25519PrivateKey.generate())

    @property
    def identity(self) -> bytes:
        """Ed25519 public key of the member, in 32 bytes."""
        return self._identity.public_key().public_bytes_raw()

    def entry(self, name: str) -> Entry:
        """Signed entry of this member for the directory."""
        opening = self.opening.public_key().public_bytes_raw()
        signature = self.signature(_signed(name, self.identity, opening))
        return Entry(name=name, identity=in_text(self.identity), opening=in_text(opening), signature=in_text(signature))

    def signature(self, message: bytes) -> bytes:
        """Signature of a message; the message must begin with a context of its own."""
        return self._identity.sign(message)

    def to_pem(self) -> str:
        """Both private keys as unencrypted PKCS#8 in PEM: readers of the text have the keys."""
        encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        keys: tuple[Any, ...] = (self._identity, self.opening)
        return "".join(str(key.private_bytes(encoding, form, serialization.NoEncryption()), "ascii") for key in keys)

    def write(self, path: Path, name: str) -> Entry:
        """Write the private keys to a file, and the entry to a ``.pub`` file beside it; as `write_pair`.

        Only the owner can read the file of the keys.
        """
        entry = self.entry(name)
        write_pair(path, self.to_pem(), json.dumps(entry.to_dict(), indent=2) + "\n")
        return entry

    @classmethod
    def read(cls, path: Path) -> Self:
        """Keys in a file that `write` wrote.

        Raises:
            InvalidParameterError: if the file is unreadable, not for its owner alone, or holds something else.
        """
        return cls.from_pem(read_private(path))

    @classmethod
    def from_pem(cls, text: str) -> Self:
        """Keys read from the text of `to_pem`; other text is refused, and no error shows it."""
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
