"""Fast reading of uploads at fixed offsets.

Under one key, all submissions to a collection have one length and layout.

Whatever is not of such a layout is left to the grammar, which finds what is wrong.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from struct import Struct
from typing import Self

from shuffledp.parties.service.intake import Row, Shape, Terms
from shuffledp.parties.wire.grammar import ID_BYTES, Extension

_KEY_AND_LENGTH = Struct(">BH")  # before an encapsulated secret
_LENGTH = Struct(">L")  # before a payload
_SHORT = Struct(">H")  # length of all extensions
_TYPE_AND_LENGTH = Struct(">HH")  # before the data of an extension


@dataclass(frozen=True, slots=True)
class _ReportLayout:
    """Layout of a column's sealed reports under one key: fixed bytes, and the places of all other parts."""

    shape: Shape
    before: bytes  # id of the key and length of the encapsulated secret
    between: bytes  # length of the payload
    secret: slice
    second: slice  # place of ``between`` in a ciphertext
    payload: slice
    extensions: int  # bytes of all extensions with their length

    @classmethod
    def of(cls, shape: Shape, config_id: int, secret: int) -> Self:
        """Layout of a column's reports under one key, whose encapsulated secrets have ``secret`` bytes."""
        start = _KEY_AND_LENGTH.size
        middle = start + secret
        return cls(
            shape,
            _KEY_AND_LENGTH.pack(config_id, secret),
            _LENGTH.pack(shape.payload),
            slice(start, middle),
            slice(middle, middle + _LENGTH.size),
            slice(middle + _LENGTH.size, middle + _LENGTH.size + shape.payload),
            _SHORT.size + sum(_TYPE_AND_LENGTH.size + length for _, length in shape.extensions),
        )

    @property
    def parts(self) -> str:
        """Format of a report's id, extensions and ciphertext, in the notation of `struct`."""
        return f"{ID_BYTES}s{self.extensions}s{self.payload.stop}s"

    def check(self) -> Callable[[bytes, bytes, bytes], bool]:
        """Function that checks a report's parts, and its id against its ciphertext."""
        before, second, between, secret, payload = self.before, self.second, self.between, self.secret, self.payload

        def fits(name: bytes, extensions: bytes, ciphertext: bytes) -> bool:
            return (
                ciphertext.startswith(before)
                and ciphertext[second] == between
                and sha256(ciphertext[secret] + ciphertext[payload]).digest().startswith(name)
                and (extensions == b"\0\0" or self._are_sound(extensions))
            )

        return fits

    def _are_sound(self, extensions: bytes) -> bool:
        if extensions[: _SHORT.size] != _SHORT.pack(self.extensions - _SHORT.size):
            return False
        found, at = [], _SHORT.size
        for kind, length in self.shape.extensions:
            start = at + _TYPE_AND_LENGTH.size
            if extensions[at:start] != _TYPE_AND_LENGTH.pack(kind, length):
                return False
            found.append(Extension(kind, extensions[start : start + length]))
            at = start + length
        return self.shape.is_sound(found)


class UploadLayout:
    """Layout of submissions to a collection that are sealed under one of its keys.

    Args:
        terms: terms of the collection.
        config_id: id of the key.
    """

    def __init__(self, terms: Terms, config_id: int) -> None:
        columns = [_ReportLayout.of(each, config_id, terms.encapsulated[config_id]) for each in terms.columns]
        self._checks = [each.check() for each in columns]
        self._parts = Struct("".join(each.parts for each in columns))

    def rows(self, body: bytes) -> list[list[Row]] | None:
        """Rows of each submission; None for another layout, or for a report twice in one submission."""
        if not body or len(body) % self._parts.size:
            return None
        several = self._rows_of_one if len(self._checks) == 1 else self._rows_of_several
        return several(body)

    def _rows_of_one(self, body: bytes) -> list[list[Row]] | None:
        fits, found = self._checks[0], []
        for name, extensions, ciphertext in self._parts.iter_unpack(body):
            if not fits(name, extensions, ciphertext):
                return None
            found.append([Row(name, extensions, ciphertext)])
        return found

    def _rows_of_several(self, body: bytes) -> list[list[Row]] | None:
        found = []
        for parts in self._parts.iter_unpack(body):
            rows = [Row(*parts[at : at + 3]) for at in range(0, len(parts), 3)]
            fit = all(fits(*row[:3]) for fits, row in zip(self._checks, rows, strict=True))
            if not fit or len({row.id for row in rows}) < len(rows):
                return None
            found.append(rows)
        return found


class UploadLayouts:
    """Layouts of uploads to a collection, one for each key to which reports are sealed.

    Guarantees:
        1. Rows are those that the grammar would find, of submissions that `refusal` would not refuse.

    Args:
        terms: terms of the collection.
    """

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._layouts = {config_id: UploadLayout(terms, config_id) for config_id in terms.encapsulated}

    def rows(self, body: bytes, now: float) -> Sequence[list[Row]] | None:
        """Rows of each submission, in the layout of one key still in use; None if no layout fits."""
        for config_id, layout in self._layouts.items():
            ends = self._terms.outdated.get(config_id)
            if (ends is None or now < ends) and (found := layout.rows(body)) is not None:
                return found
        return None
