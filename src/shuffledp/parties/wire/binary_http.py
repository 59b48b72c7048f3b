"""Binary HTTP (RFC 9292): requests and responses as bytes, the plaintext inside an oblivious message.

What is written is of known length; both forms are read. Fields are pairs of bytes, in their order, and pseudo-fields
of extensions, of which there are none here, are refused. Decoding is total: a message, or `MalformedMessageError`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from shuffledp.core.errors import MalformedMessageError

Fields = tuple[tuple[bytes, bytes], ...]

_KNOWN_REQUEST, _KNOWN_RESPONSE, _ENDLESS_REQUEST, _ENDLESS_RESPONSE = range(4)
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, section 5.1
_VALUE = re.compile(rb"([^\0\r\n\t ]([^\0\r\n]*[^\0\r\n\t ])?)?")  # RFC 9113, section 8.2.1
_FIRST_FINAL, _LAST_FINAL, _FIRST_STATUS = 200, 599, 100


@dataclass(frozen=True, slots=True, repr=False)
class BinaryRequest:
    """An HTTP request; ``authority`` may be empty."""

    method: bytes
    scheme: bytes
    authority: bytes
    path: bytes
    fields: Fields = ()
    content: bytes = b""
    trailers: Fields = ()

    def encode(self, *, length: int = 0) -> bytes:
        """Bytes of the request in the form of known length, padded with zeros to at least ``length`` bytes."""
        control = b"".join(map(_opaque, (self.method, self.scheme, self.authority, self.path)))
        return (bytes((_KNOWN_REQUEST,)) + control + _rest(self)).ljust(length, b"\0")

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """The request that these bytes encode, in the form of known or unknown length.

        Raises:
            MalformedMessageError: if the bytes encode no request, or anything but zeros follows it.
        """
        reader = _Reader(data)
        is_known = _form(reader, _KNOWN_REQUEST, _ENDLESS_REQUEST)
        method, scheme, authority, path = (reader.opaque() for _ in range(4))
        if not (_NAME.fullmatch(method) and _NAME.fullmatch(scheme) and path and _VALUE.fullmatch(authority + path)):
            raise MalformedMessageError("a request must have a method, a scheme and a path; one is none.")
        return cls(method, scheme, authority, path, *_read_rest(reader, is_known))


@dataclass(frozen=True, slots=True, repr=False)
class BinaryResponse:
    """HTTP response; ``informational`` holds earlier responses with a status from 100 to 199."""

    status: int
    fields: Fields = ()
    content: bytes = b""
    trailers: Fields = ()
    informational: tuple[tuple[int, Fields], ...] = ()

    def encode(self, *, length: int = 0) -> bytes:
        """Bytes of the response in the form of known length, padded with zeros to at least ``length`` bytes."""
        before = b"".join([_integer(status) + _opaque(_lines(fields)) for status, fields in self.informational])
        return (bytes((_KNOWN_RESPONSE,)) + before + _integer(self.status) + _rest(self)).ljust(length, b"\0")

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """The response that these bytes encode; errors as in `BinaryRequest.decode`."""
        reader, before = _Reader(data), []
        is_known = _form(reader, _KNOWN_RESPONSE, _ENDLESS_RESPONSE)
        while (status := reader.integer()) < _FIRST_FINAL:
            if status < _FIRST_STATUS:
                break
            before.append((status, _read_fields(reader, is_known)))
        if not _FIRST_FINAL <= status <= _LAST_FINAL:
            raise MalformedMessageError("a response must have a status from 100 to 599; it has another.")
        return cls(status, *_read_rest(reader, is_known), tuple(before))


def field(fields: Fields, name: bytes) -> bytes | None:
    """Value of the only field with this lower-case name; None for no field or several fields."""
    found = [value for each, value in fields if each.lower() == name]
    return found[0] if len(found) == 1 else None


# ---- writing --------------------------------------------------------------------------------------------------------


def _integer(number: int) -> bytes:
    """Shortest variable-length encoding of an integer (RFC 9000, section 16)."""
    for log, size in enumerate((1, 2, 4, 8)):
        if number < 1 << 8 * size - 2:
            return (number | log << 8 * size - 2).to_bytes(size, "big")
    raise OverflowError(number)


def _opaque(data: bytes) -> bytes:
    return _integer(len(data)) + data


def _lines(fields: Fields) -> bytes:
    return b"".join([_opaque(name) + _opaque(value) for name, value in fields])


def _rest(message: BinaryRequest | BinaryResponse) -> bytes:
    """Fields, content and trailers of a message, encoded."""
    return _opaque(_lines(message.fields)) + _opaque(message.content) + _opaque(_lines(message.trailers))


# ---- reading --------------------------------------------------------------------------------------------------------


class _Reader:
    """Reader of bytes from a current position onwards."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = bytes(data), 0

    @property
    def is_at_end(self) -> bool:
        """Whether all bytes have been read."""
        return self._at == len(self._data)

    def take(self, length: int) -> bytes:
        """The next ``length`` bytes."""
        start, stop = self._at, self._at + length
        if stop > len(self._data):
            raise MalformedMessageError("a message must hold all of its parts; bytes are missing.")
        self._at = stop
        return self._data[start:stop]

    def integer(self) -> int:
        """The next integer of variable length."""
        first = self.take(1)[0]
        return int.from_bytes(bytes((first & 0x3F,)) + self.take((1 << (first >> 6)) - 1), "big")

    def opaque(self) -> bytes:
        """The next bytes, preceded by their length."""
        return self.take(self.integer())

    def end(self) -> None:
        """Refuse remaining bytes other than padding zeros."""
        if self._data[self._at :].strip(b"\0"):
            raise MalformedMessageError("a message must be followed by zeros alone; there is something else.")


def _form(reader: _Reader, known: int, endless: int) -> bool:
    """Whether the message is of known length."""
    form = reader.integer()
    if form not in (known, endless):
        raise MalformedMessageError("a binary message must be of the kind that is expected here; it is of another.")
    return form == known


def _read_rest(reader: _Reader, is_known: bool) -> tuple[Fields, bytes, Fields]:
    """Fields, content and trailers of a message; parts cut off at the end of the message are empty."""
    fields = _read_fields(reader, is_known)
    content = b"" if reader.is_at_end else reader.opaque() if is_known else b"".join(_chunks(reader))
    trailers = _read_fields(reader, is_known)
    reader.end()
    return fields, content, trailers


def _chunks(reader: _Reader) -> Iterator[bytes]:
    """Parts of a content of unknown length, up to the zero that ends it."""
    while length := reader.integer():
        yield reader.take(length)


def _read_fields(reader: _Reader, is_known: bool) -> Fields:
    """Fields of one section; empty if the message ends before the section."""
    if reader.is_at_end:
        return ()
    found = []
    section = _Reader(reader.opaque()) if is_known else reader
    while not (is_known and section.is_at_end):
        if not (length := section.integer()) and not is_known:
            break
        name, value = section.take(length), section.opaque()
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise MalformedMessageError("a field must have a name and a value as HTTP has them; one has not.")
        found.append((name, value))
    return tuple(found)
