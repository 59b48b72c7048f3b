"""Directory of a relay: members, keys and order, fixed and signed before a collection begins.

Its digest is in the collection's id, so that a member who is shown other keys, or another order, is in
another collection. The place in the directory numbers a member in the walk. Places follow from a digest of all
identities: nobody chooses neighbors. A member who knows all other keys can try keys until a place suits, and the
operator can also choose which members to admit: both may collude.

Removing a member takes another directory, and so another collection: it is impossible after the start.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Self

from shuffledp.core.described import Described, canonical_json
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.validate import invalid
from shuffledp.parties.relay.member_keys import Entry
from shuffledp.parties.wire.keys import ShufflerKey, fingerprint, from_text, in_text, is_signed_by
from shuffledp.survey import Collection
from shuffledp.survey.bound_directory import BoundDirectory
from shuffledp.survey.section import read_whole

VERSION = 1
_CONTEXT = b"shuffledp-1 directory"
_ORDER = b"shuffledp-1 order of members"
_LARGEST = 1 << 26  # bytes of a directory file
_FEWEST = 2


@dataclass(frozen=True, kw_only=True)
class Directory(Described):
    """Members of a relay, in the order of the walk.

    Guarantees:
        1. Each entry is signed by its member, and the list by the operator.
        2. No name and no key occurs twice.
        3. The order depends on the identities alone.

    Args:
        entries: the members, in the order of `in_order`.
        operator: the operator's Ed25519 public key, in base64url.
        signature: of the list by the operator, in base64url.
        version: version of the protocol.

    Raises:
        InvalidParameterError: if a signature does not verify, a member occurs twice, or the order is wrong.
    """

    title: ClassVar[str] = "the directory"
    entries: tuple[Entry, ...]
    operator: str
    signature: str
    version: int = VERSION

    def __post_init__(self) -> None:
        if self.version != VERSION:
            raise invalid(f"{VERSION}, the only one that this library speaks", version=self.version)
        if len(self.entries) < _FEWEST:
            raise InvalidParameterError(f"members must be {_FEWEST} or more; got {len(self.entries)}.")
        for what in ("name", "identity", "opening"):
            _refuse_doubled(what, self.entries)
        if self.entries != in_order(self.entries):
            raise InvalidParameterError(
                "members must be in the order that follows from their identities; they are in an order that was chosen."
            )
        signature = from_text(self.signature, name="signature")
        if not is_signed_by([self.operator_key], signature, _signed(self.entries, self.operator)):
            raise InvalidParameterError(
                "the directory must be signed by its operator; the signature does not verify, or the list was "
                "changed afterwards."
            )

    @classmethod
    def signed(cls, entries: Iterable[Entry], key: ShufflerKey) -> Self:
        """Directory of these members, signed with the operator's key; errors as in the class."""
        members, operator = in_order(entries), in_text(key.public)
        signature = key.signature(_signed(members, operator))
        return cls(entries=members, operator=operator, signature=in_text(signature))

    @property
    def operator_key(self) -> bytes:
        """Operator's Ed25519 public key, in 32 bytes."""
        return from_text(self.operator, name="operator")

    @cached_property
    def canonical(self) -> bytes:
        """Content of the directory file: JSON without spaces, keys in order, ASCII."""
        return canonical_json(self.to_dict())

    @cached_property
    def bound(self) -> BoundDirectory:
        """Reference to the directory in a collection: the digest of the file, and the number of members."""
        return BoundDirectory(sha256=hashlib.sha256(self.canonical).hexdigest(), people=len(self.entries))

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the whole directory for people to compare: 80 bits of a digest."""
        return fingerprint("directory", self.canonical)

    @cached_property
    def identities(self) -> tuple[bytes, ...]:
        """Public signing keys of all members, computed once, since each vote is verified against one."""
        return tuple(each.identity_key for each in self.entries)

    @cached_property
    def _places(self) -> Mapping[bytes, int]:
        return {identity: place for place, identity in enumerate(self.identities)}

    def place_of(self, identity: bytes) -> int:
        """Place of the member with this signing key.

        Raises:
            InvalidParameterError: if the key belongs to no member.
        """
        if (place := self._places.get(identity)) is None:
            raise InvalidParameterError("the key must belong to a member of the directory; no entry has it.")
        return place

    def without(self, names: Iterable[str]) -> tuple[Entry, ...]:
        """Entries without the named members, for a new directory; an unknown name is refused."""
        gone = set(names)
        if unknown := gone - {each.name for each in self.entries}:
            raise InvalidParameterError(
                f"without must name members of the directory; got {', '.join(sorted(unknown))}."
            )
        return tuple(each for each in self.entries if each.name not in gone)

    def check_bound_by(self, collection: Collection) -> None:
        """Refuse a directory that differs from the directory named in the collection.

        Raises:
            InvalidParameterError: if the digest or the operator differs from the collection's.
        """
        bound = collection.directory
        if bound is None:
            raise InvalidParameterError("the collection must be one of a relay, which names a directory; it is not.")
        if bound != self.bound:
            raise InvalidParameterError(
                f"the directory must be the one that the collection names, {bound.sha256[:12]}...; got another, "
                f"{self.bound.sha256[:12]}..."
            )
        if self.operator_key not in collection.shuffler.key.several:
            raise InvalidParameterError("the directory must be signed by the operator of the collection; it is not.")

    @classmethod
    def read(cls, path: Path) -> Self:
        """Directory in a file.

        Raises:
            InvalidParameterError: if the file is unreadable, no JSON, no valid directory, or not written
                as ``canonical``, so that its digest would differ.
        """
        try:
            content = read_whole(path, most=_LARGEST).strip()
        except OSError as error:
            raise InvalidParameterError(f"the directory must be readable; got {path}: {error.strerror}.") from None
        return cls.of(content, where=str(path))

    @classmethod
    def of(cls, content: bytes, *, where: str) -> Self:
        """Directory decoded from ``content``; errors are as in `read`, and name the origin ``where``."""
        try:
            found = cls.from_dict(json.loads(content))
        except (ValueError, RecursionError) as error:
            if isinstance(error, InvalidParameterError):
                raise
            raise InvalidParameterError(f"the directory must be JSON; got {where}, which is not.") from None
        if found.canonical != content:
            raise InvalidParameterError(
                f"the directory must be as `shuffledp relay directory` wrote it, to the byte; got {where}, which says "
                "the same in another way."
            )
        return found


def in_order(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Entries sorted by a digest of the entry's identity together with all identities."""
    several = sorted(entries, key=lambda each: each.identity_key)
    everybody = hashlib.sha256(_ORDER + b"".join(each.identity_key for each in several)).digest()
    return tuple(sorted(several, key=lambda each: hashlib.sha256(everybody + each.identity_key).digest()))


def _refuse_doubled(what: str, members: Iterable[Entry]) -> None:
    seen: dict[str, str] = {}
    for each in members:
        value = getattr(each, what)
        if value in seen:
            both = each.name if what == "name" else f"{seen[value]} and {each.name}"
            raise InvalidParameterError(f"members must all be different; two have the same {what}: {both}.")
        seen[value] = each.name


def _signed(members: tuple[Entry, ...], operator: str) -> bytes:
    listed = {"entries": [each.to_dict() for each in members], "operator": operator, "version": VERSION}
    return _CONTEXT + canonical_json(listed)
