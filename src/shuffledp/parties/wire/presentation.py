"""Presentation language of TLS (RFC 8446, section 3): messages and their fields as bytes.

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
    """Encoding of one field of a message."""

    @abstractmethod
    def check(self, name: str, value: Any) -> None:
        """Raise `InvalidParameterError` for a value that has no encoding."""

    @abstractmethod
    def write(self, value: Any) -> bytes:
        """Bytes of the value."""

    @abstractmethod
    def read(self, data: bytes, at: int, end: int) -> tuple[Any, int]:
        """Value that begins at ``at``, and the position after the value, at most ``end``."""


@dataclass(frozen=True, slots=True)
class Integer(Part):
    """Unsigned integer of ``size`` bytes (``uint8`` to ``uint64``), or an enumeration of such integers."""

    size: int
    kind: type[int] = int

    def check(self, name: str, value: Any) -> None:
        """Refuse values that are no integers of ``size`` bytes."""
        if not isinstance(value, self.kind) or isinstance(value, bool) or not 0 <= value < 1 << 8 * self.size:
            raise invalid(f"of type {self.kind.__name__}, from 0 to {(1 << 8 * self.size) - 1}", **{name: value})

    def write(self, value: int) -> bytes:
        """Bytes of the integer, most significant first."""
        return value.to_bytes(self.size, "big")

    def read(self, data: bytes, at: int, end: int) -> tuple[int, int]:
        """Integer in the next ``size`` bytes."""
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
    """Bytes of a fixed length: ``opaque field[length]``."""

    length: int

    def check(self, name: str, value: Any) -> None:
        """Refuse values other than ``length`` bytes."""
        if not isinstance(value, bytes) or len(value) != self.length:
            raise _wrong_bytes(name, f"{self.length} bytes", value)

    def write(self, value: bytes) -> bytes:
        """The bytes unchanged."""
        return value

    def read(self, data: bytes, at: int, end: int) -> tuple[bytes, int]:
        """The next ``length`` bytes."""
        stop = _stop(at, self.length, end)
        return data[at:stop], stop


@dataclass(frozen=True, slots=True)
class Opaque(Part):
    """Bytes behind a length of ``prefix`` bytes: ``opaque field<least..2^(8 prefix) - 1>``."""

    prefix: int
    least: int = 0

    def check(self, name: str, value: Any) -> None:
        """Refuse bytes whose number does not fit the length prefix."""
        if not isinstance(value, bytes) or not self.least <= len(value) < 1 << 8 * self.prefix:
            raise _wrong_bytes(name, f"{self.least} to {(1 << 8 * self.prefix) - 1} bytes", value)

    def write(self, value: bytes) -> bytes:
        """Length prefix, then the bytes."""
        return len(value).to_bytes(self.prefix, "big") + value

    def read(self, data: bytes, at: int, end: int) -> tuple[bytes, int]:
        """The bytes that the length prefix announces."""
        start = _stop(at, self.prefix, end)
        stop = _stop(start, int.from_bytes(data[at:start], "big"), end)
        if stop - start < self.least:
            raise MalformedMessageError(f"a field must have {self.least} bytes or more; got {stop - start}.")
        return data[start:stop], stop


@dataclass(frozen=True, slots=True)
class Sequence(Part):
    """Messages of one type behind their total length: ``Message field<0..2^(8 prefix) - 1>``, ``least`` or more."""

    prefix: int
    kind: "type[Message]"
    least: int = 0

    def check(self, name: str, value: Any) -> None:
        """Refuse messages whose total length does not fit the length prefix."""
        if not isinstance(value, tuple) or not all(isinstance(each, self.kind) for each in value):
            raise InvalidParameterError(f"{name} must be a tuple of {self.kind.__name__}; got something else.")
        if len(value) < self.least or (value and len(_joined(value)) >= 1 << 8 * self.prefix):
            raise InvalidParameterError(
                f"{name} must be {self.least} or more {self.kind.__name__}, of fewer than 2^{8 * self.prefix} bytes in "
                f"all; got {len(value)}."
            )

    def write(self, value: "tuple[Message, ...]") -> bytes:
        """Length prefix, then the messages."""
        return Opaque(self.prefix).write(_joined(value))

    def read(self, data: bytes, at: int, end: int) -> "tuple[tuple[Message, ...], int]":
        """Messages within the length that the prefix announces."""
        start = _stop(at, self.prefix, end)
        stop = _stop(start, int.from_bytes(data[at:start], "big"), end)
        several = tuple(messages(self.kind, data, start, stop)) if stop > start else ()
        if len(several) < self.least:
            raise MalformedMessageError(f"a field must have {self.least} messages or more; got {len(several)}.")
        return several, stop


@dataclass(frozen=True, slots=True)
class Nested(Part):
    """Message as a field of another message: ``Message field``."""

    kind: "type[Message]"

    def check(self, name: str, value: Any) -> None:
        """Refuse a value that is no message of the type."""
        if not isinstance(value, self.kind):
            raise InvalidParameterError(f"{name} must be a {self.kind.__name__}; got something else.")

    def write(self, value: "Message") -> bytes:
        """Bytes of the message."""
        return value.encode()

    def read(self, data: bytes, at: int, end: int) -> "tuple[Message, int]":
        """Message that begins at ``at``, and the position after the message."""
        return self.kind.read(data, at, end)


class Message:
    """Base of the messages: frozen dataclasses; each annotation is a message, or ``Annotated`` with a `Part`.

    Guarantees:
        1. ``decode(message.encode()) == message``.
        2. ``decode(data)`` raises `MalformedMessageError`, or ``decode(data).encode() == data``.
        3. No error shows what a message holds, and neither does ``repr``: both may reach a log.
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
        """Raise `InvalidParameterError` if valid fields contradict each other."""

    def encode(self) -> bytes:
        """Bytes of the message."""
        return b"".join([part.write(getattr(self, name)) for name, part in self._parts])

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Message that ``encode`` wrote.

        Raises:
            MalformedMessageError: for anything else, such as a message that is cut off, or followed by more.
        """
        message, stop = cls.read(bytes(data), 0, len(data))
        if stop != len(data):
            raise MalformedMessageError(f"a {cls.__name__} must be followed by nothing; got {len(data) - stop} bytes.")
        return message

    @classmethod
    def read(cls, data: bytes, at: int, end: int) -> tuple[Self, int]:
        """Message that begins at ``at``, and the position after the message; errors as in `decode`."""
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
    """Messages of one type between two positions; errors as in `Message.decode`."""
    while at < end:
        message, at = kind.read(data, at, end)
        yield message


def _joined(several: tuple[Message, ...]) -> bytes:
    return b"".join([each.encode() for each in several])


def _stop(at: int, length: int, end: int) -> int:
    """Position after the next ``length`` bytes; refused beyond ``end``."""
    if at + length > end:
        raise MalformedMessageError(f"a message must hold all of its parts; {at + length - end} bytes are missing.")
    return at + length


def _wrong_bytes(name: str, condition: str, value: Any) -> InvalidParameterError:
    got = f"{len(value)} bytes" if isinstance(value, bytes) else f"a {type(value).__name__}"
    return InvalidParameterError(f"{name} must be {condition}; got {got}.")
