"""Random sources whose words can be replayed: for tests and experiments, never for a release.

The seed or the record suffices to undo the randomization, so a run that uses one withdraws its privacy statement.
"""

import hashlib
from collections.abc import Sequence
from numbers import Integral
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.errors import InvalidParameterError, LocalProtocolError
from shuffledp.core.validate import invalid
from shuffledp.randomness.keystream import BUFFER_WORDS, Words
from shuffledp.randomness.sources import KeyedSource, RandomSource


class SeededSource(KeyedSource):
    """Seeded random source, for tests and experiments only.

    Equal seeds give equal words, on every machine and version.

    The keystream of `shuffledp.randomness.sources.SecureSource` under a key that is the SHA-256 of a label and the
    seed. A forked child repeats the words of its parent; give each its own `substream`.

    Guarantees:
        1. Neither a source nor its substreams show the seed when printed, since it undoes the randomization.

    Args:
        seed: an integer of 0 or more, of any size.

    Raises:
        InvalidParameterError: if ``seed`` is anything else.

    Example:
        >>> SeededSource(7).words(2).tolist() == SeededSource(7).words(2).tolist()
        True
    """

    reproducible = True

    def __init__(self, seed: int) -> None:
        given: Any = seed  # also numpy's integers; and unlike other integers, of any size
        if not isinstance(given, Integral) or isinstance(given, bool) or given < 0:
            raise invalid("an integer that is 0 or more", seed=seed)
        super().__init__(hashlib.sha256(b"shuffledp/1/SeededSource/%d" % seed).digest())

    def _with_key(self, key: bytes, labels: tuple[int | str, ...]) -> Self:
        del labels  # the key is made of them
        derived = type(self).__new__(type(self))
        KeyedSource.__init__(derived, key)
        return derived

    def __repr__(self) -> str:
        return f"{type(self).__name__}(seed hidden)"


class _Record:
    """Producer of a record's words in blocks."""

    __slots__ = ("_words", "used")

    def __init__(self, words: Words) -> None:
        self._words = words
        self.used = 0

    @property
    def left(self) -> int:
        return self._words.size - self.used

    @property
    def block_words(self) -> int:
        return min(self.left, BUFFER_WORDS)

    def write_block(self, out: Words) -> None:
        if out.size == 0:
            raise LocalProtocolError(f"RecordedSource has no words left: all {self._words.size} have been used.")
        start = self.used
        self.used = start + out.size
        out[:] = self._words[start : self.used]


class RecordedSource(RandomSource):
    """Recorded random source, for test vectors: it replays given words.

    It refuses to continue after the last word.

    Args:
        words: integers from 0 to 2^64 - 1, in one dimension; they are copied.

    Raises:
        InvalidParameterError: if ``words`` is anything else.
        LocalProtocolError: from the call that needs a word too many on; compiled code first runs to its end.

    Example:
        >>> source = RecordedSource([3, 1, 4])
        >>> source.words(2).tolist(), source.remaining
        ([3, 1], 1)
    """

    reproducible = True

    def __init__(self, words: Sequence[int] | NDArray[np.uint64]) -> None:
        self._record = _Record(_as_words(words))
        super().__init__(self._record)

    @property
    def remaining(self) -> int:
        """Number of recorded words that have not been read."""
        return self._record.left + self._buffer.unread

    def substream(self, *labels: int | str) -> NoReturn:
        """Refuse a substream, since a record has no key.

        Raises:
            LocalProtocolError: always.
        """
        del labels
        raise LocalProtocolError("RecordedSource has no substreams: make one RecordedSource for each place that draws.")


def _as_words(words: Sequence[int] | NDArray[np.uint64]) -> Words:
    if isinstance(words, np.ndarray) and words.dtype == np.uint64 and words.ndim == 1:
        return words.copy()
    values = np.asarray(words, dtype=object)
    if values.ndim != 1 or not all(isinstance(value, int | np.integer) and 0 <= value < 2**64 for value in values):
        raise InvalidParameterError("words must be integers from 0 to 2**64 - 1 in one dimension.")
    return values.astype(np.uint64)
