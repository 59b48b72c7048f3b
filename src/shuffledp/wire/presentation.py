"""The presentation language of TLS (RFC 8446, section 3): how messages, and the fields in them, become bytes.

A message is a frozen dataclass whose annotations say how each field is written, such as ``Annotated[bytes,
Opaque(2)]``. It has one encoding, and decoding is total: bytes are that encoding, or `MalformedMessageError`.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar, get_args

from shuffledp.core.errors import InvalidParameterError, MalformedMessageError
from shuffledp.core.validate import invalid

_M = TypeVar("_M", bound="Message")


class Part(ABC):
    """How a field is written."""

    @abstractmethod
    def check(self, name: str, value: Any) -> None:
        """Raise `InvalidParameterError` for what has no bytes."""

    @abstractmethod
    def write(self, value: Any) -> bytes:
        """The bytes of a value."""

    @abstractmethod
    def read(self, data: bytes, at: int, end: int) -> tuple[Any, int]:
        """The value that begins at a place, and where it ends, which is not after ``end``."""


@dataclass(frozen=True, slots=True)
class Integer(Part):
    """``uint8`` to ``uint64``, by the number of its bytes; or an enumeration of such."""

    size: int
    kind: type[int] = int

    def check(self, name: str, value: Any) -> None:
        """Integers that fit."""
        if not isinstance(value, self.kind) or isinstance(value, bool) or not 0 <= value < 1 << 8 * self.size:
            raise invalid(f"of type {self.kind.__name__}, from 0 to {(1 << 8 * self.size) - 1}", **{name: value})

    def write(self, value: int) -> bytes:
        """The most significant byte first."""
        return value.to_bytes(self.size, "big")

    def read(self, data: bytes, at: int, end: int) -> tuple[int, int]:
        """Number from its fixed number of bytes."""
        stop = _stop(at, self.size, end)
        number = int.from_bytes(data[at:stop], "big")
        if self.kind is int:
            return number, stop
        try:
            return self.kind(number), stop
        except ValueError:
            raise MalformedMessageError(f"a {self.kind.__name__} must be one that is known; got another.") from None


@dataclass(frozen=True, slots=True)
class Fixed(Part):
    """Byte string ``opaque field[length]``."""

    length: int

    def check(self, name: str, value: Any) -> None:
        """Bytes of this length."""
        if not isinstance(value, bytes) or len(value) != self.length:
            raise _wrong_bytes(name, f"{self.length} bytes", value)

    def write(self, value: bytes) -> bytes:
        """The bytes unchanged."""
        return value

    def read(self, data: bytes, at: int, end: int) -> tuple[bytes, int]:
        """Bytes of the fixed length."""
        stop = _stop(at, self.length, end)
        return data[at:stop], stop


@dataclass(frozen=True, slots=True)
class Opaque(Part):
    """``opaque field<least..2^(8 prefix) - 1>``: bytes, after their number, which has ``prefix`` bytes."""

    prefix: int
    least: int = 0

    def check(self, name: str, value: Any) -> None:
        """Bytes, so many that their number fits."""
        if not isinstance(value, bytes) or not self.least <= len(value) < 1 << 8 * self.prefix:
            raise _wrong_bytes(name, f"{self.least} to {(1 << 8 * self.prefix) - 1} bytes", value)

    def write(self, value: bytes) -> bytes:
        """The number, and the bytes."""
        return len(value).to_bytes(self.prefix, "big") + value

    def read(self, data: bytes, at: int, end: int) -> tuple[bytes, int]:
        """Bytes whose number precedes them."""
        start = _stop(at, self.prefix, end)
        stop = _stop(start, int.from_bytes(data[at:start], "big"), end)
        if stop - start < self.least:
            raise MalformedMessageError(f"a field must have {self.least} bytes or more; got {stop - start}.")
        return data[start:stop], stop


@dataclass(frozen=True, slots=True)
class Sequence(Part):
    """``Message field<0..2^(8 prefix) - 1>``: messages of one type, ``least`` or more, after the number of bytes."""

    prefix: int
    kind: "type[Message]"
    least: int = 0

    def check(self, name: str, value: Any) -> None:
        """Messages, so many that the number of bytes fits."""
        if not isinstance(value, tuple) or not all(isinstance(each, self.kind) for each in value):
            raise InvalidParameterError(f"{name} must be a tuple of {self.kind.__name__}; got something else.")
        if len(value) < self.least or (value and len(_joined(value)) >= 1 << 8 * self.prefix):
            raise InvalidParameterError(
                f"{name} must be {self.least} or more {self.kind.__name__}, of fewer than 2^{8 * self.prefix} bytes in "
                f"all; got {len(value)}."
            )

    def write(self, value: "tuple[Message, ...]") -> bytes:
        """The number of bytes, and the messages."""
        return Opaque(self.prefix).write(_joined(value))

    def read(self, data: bytes, at: int, end: int) -> "tuple[tuple[Message, ...], int]":
        """Messages up to where the number says."""
        start = _stop(at, self.prefix, end)
        stop = _stop(start, int.from_bytes(data[at:start], "big"), end)
        several = tuple(messages(self.kind, data, start, stop)) if stop > start else ()
        if len(several) < self.least:
            raise MalformedMessageError(f"a field must have {self.least} messages or more; got {len(several)}.")
        return several, stop


@dataclass(frozen=True, slots=True)
class Nested(Part):
    """``Message field``: a message as part of another."""

    kind: "type[Message]"

    def check(self, name: str, value: Any) -> None:
        """A message of the type."""
        if not isinstance(value, self.kind):
            raise InvalidParameterError(f"{name} must be a {self.kind.__name__}; got something else.")

    def write(self, value: "Message") -> bytes:
        """Bytes of the message."""
        return value.encode()

    def read(self, data: bytes, at: int, end: int) -> "tuple[Message, int]":
        """The message, which knows where it ends."""
        return self.kind.read(data, at, end)


class Message:
    """Base of the messages: frozen dataclasses whose annotations are ``Annotated`` with a `Part`, or messages.

    Guarantees:
        1. ``decode(message.encode()) == message``.
        2. ``decode(data)`` raises `MalformedMessageError`, or ``decode(data).encode() == data``.
        3. No error shows what a message holds, and neither does ``repr``: both may end in a log.
    """

    __slots__ = ()
    _parts: ClassVar[tuple[tuple[str, Part], ...]] = ()

    def __init_subclass__(cls) -> None:
        annotations = inspect.get_annotations(cls).items()
        cls._parts = tuple((name, get_args(each)[1] if get_args(each) else Nested(each)) for name, each in annotations)

    def __post_init__(self) -> None:
        for name, part in self._parts:
            part.check(name, getattr(self, name))
        self.check()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.encode())} bytes>"

    def check(self) -> None:
        """Raise `InvalidParameterError` where the fields, each of which is right, do not fit each other."""

    def encode(self) -> bytes:
        """The bytes of the message."""
        return b"".join([part.write(getattr(self, name)) for name, part in self._parts])

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """The message that ``encode`` wrote.

        Raises:
            MalformedMessageError: for anything else, such as a message that is cut off, or followed by more.
        """
        message, stop = cls.read(bytes(data), 0, len(data))
        if stop != len(data):
            raise MalformedMessageError(f"a {cls.__name__} must be followed by nothing; got {len(data) - stop} bytes.")
        return message

    @classmethod
    def read(cls, data: bytes, at: int, end: int) -> tuple[Self, int]:
        """The message that begins at a place, and where it ends; as `decode`."""
        message = cls.__new__(cls)
        for name, part in cls._parts:
            value, at = part.read(data, at, end)
            object.__setattr__(message, name, value)
        try:
            message.check()
        except InvalidParameterError:
            raise MalformedMessageError(f"a {cls.__name__} must be as it is defined; its parts do not fit.") from None
        return message, at


def messages(kind: type[_M], data: bytes, at: int, end: int) -> Iterator[_M]:
    """The messages of one type between two places, one after the other; as `Message.decode`."""
    while at < end:
        message, at = kind.read(data, at, end)
        yield message


def _joined(several: tuple[Message, ...]) -> bytes:
    return b"".join([each.encode() for each in several])


def _stop(at: int, length: int, end: int) -> int:
    """Where so many bytes end; refused beyond ``end``."""
    if at + length > end:
        raise MalformedMessageError(f"a message must hold all of its parts; {at + length - end} bytes are missing.")
    return at + length


def _wrong_bytes(name: str, condition: str, value: Any) -> InvalidParameterError:
    got = f"{len(value)} bytes" if isinstance(value, bytes) else f"a {type(value).__name__}"
    return InvalidParameterError(f"{name} must be {condition}; got {got}.")
