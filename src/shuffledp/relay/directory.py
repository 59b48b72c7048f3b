"""The directory: who takes part, with which keys, in which order; fixed and signed before a collection begins.

Its digest is in the collection's id, so that nobody can be shown other keys, or another order, without being invited to
another collection. A member is a person of the walk by the place in it. Places follow from a digest of all identities:
nobody is asked who is to be near whom. Whoever knows all other keys can try keys until a place suits, and the operator,
besides, which members to admit: both may collude.

Members are taken off by another directory, which is of another collection: not after the start.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

from shuffledp.core.described import Described
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.validate import invalid
from shuffledp.relay.member_keys import Entry
from shuffledp.survey import Collection
from shuffledp.survey.bound_directory import BoundDirectory
from shuffledp.survey.section import read_whole
from shuffledp.wire.keys import ShufflerKey, fingerprint, from_text, in_text, is_signed_by

VERSION = 1
_CONTEXT = b"shuffledp-1 directory"
_ORDER = b"shuffledp-1 order of members"
_LARGEST = 1 << 26  # bytes of a file
_FEWEST = 2


@dataclass(frozen=True, kw_only=True)
class Directory(Described):
    """The members of a relay, in the order of the walk.

    Guarantees:
        1. Each entry is signed by its member, all of them by the operator.
        2. No name, and no key, is there twice.
        3. The order follows from the identities alone.

    Args:
        entries: the members, in the order of `in_order`.
        operator: the Ed25519 key of whoever signs the list, in base64url.
        signature: of the list by the operator, in base64url.
        version: of the protocol.

    Raises:
        InvalidParameterError: if a signature is another's, a member is doubled, or the order is another.
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
                "members must be in the order that follows from their identities; they are in another, which somebody "
                "has chosen."
            )
        signature = from_text(self.signature, name="signature")
        if not is_signed_by([self.operator_key], signature, _signed(self.entries, self.operator)):
            raise InvalidParameterError(
                "the directory must be signed by its operator; it is signed by somebody else, or was changed "
                "afterwards."
            )

    @classmethod
    def signed(cls, entries: Iterable[Entry], key: ShufflerKey) -> Self:
        """The directory of these members, signed by the operator's key; as the class."""
        members, operator = in_order(entries), in_text(key.public)
        signature = key.signature(_signed(members, operator))
        return cls(entries=members, operator=operator, signature=in_text(signature))

    @property
    def operator_key(self) -> bytes:
        """The 32 bytes of the key of whoever signed it."""
        return from_text(self.operator, name="operator")

    @cached_property
    def canonical(self) -> bytes:
        """The file: JSON without spaces, keys in order, ASCII."""
        return _canonical(self.to_dict())

    @cached_property
    def bound(self) -> BoundDirectory:
        """What a collection says of it: the digest of the file, and the number of members."""
        return BoundDirectory(sha256=hashlib.sha256(self.canonical).hexdigest(), people=len(self.entries))

    @property
    def fingerprint(self) -> str:
        """80 bits of a digest of all of it, for people to compare."""
        return fingerprint("directory", self.canonical)

    @cached_property
    def identities(self) -> tuple[bytes, ...]:
        """The key that each member signs with, worked out once: every vote is held against one."""
        return tuple(each.identity_key for each in self.entries)

    @cached_property
    def _places(self) -> Mapping[bytes, int]:
        return {identity: place for place, identity in enumerate(self.identities)}

    def place_of(self, identity: bytes) -> int:
        """Which person of the walk has this key.

        Raises:
            InvalidParameterError: if nobody has: it is of no member.
        """
        if (place := self._places.get(identity)) is None:
            raise InvalidParameterError("the key must be that of a member of the directory; it is of nobody in it.")
        return place

    def without(self, names: Iterable[str]) -> tuple[Entry, ...]:
        """The other entries, to be signed as another directory; refused if one of the names is nobody's."""
        gone = set(names)
        if unknown := gone - {each.name for each in self.entries}:
            raise InvalidParameterError(f"without must name members of it; got {', '.join(sorted(unknown))}.")
        return tuple(each for each in self.entries if each.name not in gone)

    def check_bound_by(self, collection: Collection) -> None:
        """Refuse a directory that is not the one that the collection names.

        Raises:
            InvalidParameterError: if it has another digest, or another operator than runs the collection's relay.
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
        """The directory in a file.

        Raises:
            InvalidParameterError: if it cannot be read, is no JSON, is not as a directory must be, or is not written
                as ``canonical``, so that its digest would be another.
        """
        try:
            content = read_whole(path, most=_LARGEST).strip()
        except OSError as error:
            raise InvalidParameterError(f"the directory must be readable; got {path}: {error.strerror}.") from None
        return cls.of(content, where=str(path))

    @classmethod
    def of(cls, content: bytes, *, where: str) -> Self:
        """The directory that these bytes are; ``where`` they come from is named in errors, which are as of `read`."""
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
    """Entries in the order of digests of their identities, each with a digest of all."""
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
    return _CONTEXT + _canonical(listed)


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()
