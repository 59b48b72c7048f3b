"""Codes of short texts, as bits of fixed length: letters of a small alphabet, or bytes of UTF-8.

A text is *normalized* first, on the device: what differs in case, accents or blanks alone is one text, and characters
that are later than Unicode 14 are unknown, as not every device knows them. Its code has as many bits for every text, so
that nothing depends on its length; what is longer is cut.
"""

import functools
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.assigned_characters import UNKNOWN
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.validate import integer_at_least, invalid, one_of

LETTERS = "abcdefghijklmnopqrstuvwxyz -'"  # numbered from 1; 0 ends a text
MOST_CHARACTERS = 64
_WHOLE_LETTERS = {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "ł": "l", "þ": "th", "ı": "i"}
_CAPITALS = {each.upper(): to for each, to in _WHOLE_LETTERS.items() if each not in "ßı"} | {"ẞ": "ss"}
_WHOLE = str.maketrans(_WHOLE_LETTERS | _CAPITALS)
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc\u00b4`", "'") | dict.fromkeys("\u2010\u2011\u2013", "-"))
_BLANKS = re.compile("[\t\n\v\f\r \x1c-\x1f\x85\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_REPLACED = "\ufffd"  # which is no letter
_CONTROLS = ("Cc", "Cf", "Cs", "Co")
Spelled = tuple[str, bool]  # a normalized text, and whether something of it was left out


def _folded(text: str) -> str:
    """Text without accents, in lower case."""
    whole = UNKNOWN.sub(_REPLACED, text).translate(_APOSTROPHES).translate(_WHOLE)
    plain = (each for each in unicodedata.normalize("NFKD", whole) if unicodedata.category(each)[0] != "M")
    return "".join(each.lower() if each.isascii() else each for each in plain)


def _as_letters(text: str, length: int) -> Spelled:
    """Text in letters of the alphabet, with blanks for all other characters, and whether it changed."""
    folded = _BLANKS.sub(" ", _folded(text)).strip()
    kept = re.sub(" +", " ", "".join(each if each in LETTERS else " " for each in folded)).strip()
    cut = kept[:length].strip()
    return cut, cut != folded


def _as_bytes(text: str, length: int) -> Spelled:
    """Text in lower case and composed form without controls, cut to ``length`` bytes of whole characters."""
    blanks = _BLANKS.sub(" ", text)
    known = "".join(each for each in UNKNOWN.sub("", blanks) if unicodedata.category(each) not in _CONTROLS)
    plain = re.sub(" +", " ", unicodedata.normalize("NFC", known.lower())).strip()
    cut = plain.encode()[:length].decode(errors="ignore").strip()
    return cut, cut != plain or known != blanks


def _letters_of(text: str) -> bytes:
    return bytes(LETTERS.index(each) + 1 for each in text)


def _from_letters(symbols: bytes) -> str | None:
    return (
        "".join(LETTERS[each - 1] for each in symbols) if all(1 <= each <= len(LETTERS) for each in symbols) else None
    )


def _from_bytes(symbols: bytes) -> str | None:
    try:
        return symbols.decode()
    except UnicodeDecodeError:
        return None


@dataclass(frozen=True, slots=True)
class _Kind:
    """Kind of code: bits of a symbol, and functions from texts to symbols and back."""

    bits: int
    normalize: Callable[[str, int], Spelled]
    symbols: Callable[[str], bytes]
    text: Callable[[bytes], str | None]


_KINDS = {
    "letters": _Kind(5, _as_letters, _letters_of, _from_letters),
    "bytes": _Kind(8, _as_bytes, str.encode, _from_bytes),
}


@dataclass(frozen=True, slots=True)
class TextCode:
    """Code of short texts: ``length`` symbols of 5 bits for "letters", or of 8 bits for "bytes"; 0 ends a text.

    Guarantees:
        1. Every text has a code of ``num_bits`` bits, however long it is.
        2. The text of a code, if there is one, is normalized, and its code is that code; that of ``no_answer`` is none.

    Args:
        kind: "letters": a to z, blank, hyphen and apostrophe, without accents; or "bytes": UTF-8 in lower case.
        length: symbols, from 1 to 64.

    Raises:
        InvalidParameterError: for another kind or length.

    Example:
        >>> code = TextCode("letters", 16)
        >>> code.num_bits, code.normalized("  Ärztin,  Köln "), code.text_of(code.bits_of("nurse"))
        (80, ('arztin koln', True), 'nurse')
    """

    kind: str
    length: int

    def __post_init__(self) -> None:
        one_of(_KINDS, code=self.kind)
        integer_at_least(1, length=self.length)
        if self.length > MOST_CHARACTERS:
            raise invalid(f"at most {MOST_CHARACTERS}", length=self.length)

    @property
    def symbol_bits(self) -> int:
        """Bits of one symbol."""
        return _KINDS[self.kind].bits

    @property
    def num_bits(self) -> int:
        """Bits of every code."""
        return self.symbol_bits * self.length

    @property
    def no_answer(self) -> int:
        """Code for people without an answer, which is the code of no text.

        Its first symbol is none of a text, all others are 0.
        """
        return (1 << self.num_bits) - (1 << self.num_bits - self.symbol_bits)

    def normalized(self, text: str) -> Spelled:
        """Text in its coded spelling, and whether more than case, accents and outer blanks is lost."""
        return _KINDS[self.kind].normalize(text, self.length)

    def bits_of(self, text: str) -> int:
        """Code of a normalized text: a number of ``num_bits`` bits, the first symbol in the highest bits."""
        symbols = _KINDS[self.kind].symbols(text)
        number = 0
        for symbol in symbols.ljust(self.length, b"\0"):
            number = number << self.symbol_bits | symbol
        return number

    def text_of(self, bits: int) -> str | None:
        """Text of a code; None if no normalized text has this code."""
        mask = (1 << self.symbol_bits) - 1
        symbols = bytes(bits >> self.symbol_bits * place & mask for place in reversed(range(self.length)))
        text = _KINDS[self.kind].text(symbols.rstrip(b"\0"))
        if not text or "\0" in text or self.normalized(text)[0] != text:
            return None
        return text

    def known(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Known texts, after a check that all are different and in their coded spelling.

        Raises:
            InvalidParameterError: for one that is not, or comes twice.
        """
        found = tuple(texts)
        for text in found:
            spelled = self.normalized(text)[0] if isinstance(text, str) else ""
            if spelled != text or not text:
                raise InvalidParameterError(
                    f"known must be texts as {self.kind!r} of length {self.length} spell them, such as {spelled!r}; "
                    f"got {text!r}."
                )
        if len(set(found)) < len(found):
            raise invalid("all different", known=list(found))
        return found


@functools.lru_cache(maxsize=1 << 16)
def chunks_of(bits: int, num_bits: int, chunk_bits: int) -> tuple[int, ...]:
    """Chunks of a code from its highest bits on; the last chunk is filled up with zeros."""
    number = -(-num_bits // chunk_bits)
    padded = bits << (number * chunk_bits - num_bits)
    mask = (1 << chunk_bits) - 1
    return tuple(padded >> chunk_bits * place & mask for place in reversed(range(number)))


def joined(chunks: Iterable[int], chunk_bits: int) -> int:
    """Integer made of the bits of the chunks, one chunk after the other."""
    number = 0
    for chunk in chunks:
        number = number << chunk_bits | int(chunk)
    return number


def chunked(codes: Iterable[int], num_bits: int, chunk_bits: int) -> NDArray[np.int64]:
    """Chunks of codes, shape (codes, chunks)."""
    rows = [chunks_of(code, num_bits, chunk_bits) for code in codes]
    return np.array(rows, dtype=np.int64).reshape(-1, -(-num_bits // chunk_bits))
