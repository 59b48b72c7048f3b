"""Random sources: one keystream of 64-bit words, and draws by comparing and rejecting integers.

Every function of the library that draws takes ``source=None``, and None is the cryptographic source. A source shows
its words in two ways, `RandomSource.words` for arrays and `RandomSource.bit_generator` for compiled kernels; both
advance one position. What is derived from the words (`uniform_integers`, `bernoulli`, permutations) is exact and runs
the same code for every source, so that a test with recorded words exercises what a release runs.
"""

import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator
from numbers import Integral
from typing import TYPE_CHECKING, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.errors import InvalidParameterError, LocalProtocolError
from shuffledp.core.validate import instance_of, integer_at_least, invalid
from shuffledp.randomness.keystream import (
    KEY_BYTES,
    KeyErasingCipher,
    WordBuffer,
    WordProducer,
    Words,
    derive_key,
    split_key,
)

if TYPE_CHECKING:
    from shuffledp.randomness.numpy_face import KeystreamBitGenerator


_WORD_VALUES = 2**64
_CHUNK_WORDS = 2**15  # 256 KiB: words and what is computed from them stay in the cache
_LOWER_HALF = np.uint64(2**32 - 1)
_HALF = np.uint64(32)


class RandomSource(ABC):
    """Stream of uniform, independent 64-bit words, each given once.

    A source belongs to the thread that made it; `substream` may be called anywhere and gives the calling thread a
    source. It cannot be pickled or copied, because the copy would repeat its words.

    Attributes:
        reproducible: True if a known seed or record replays the words. What was drawn from such a
            source is not private: a run that used one withdraws its privacy statement.
    """

    reproducible: ClassVar[bool]

    def __init__(self, producer: WordProducer) -> None:
        self._buffer = WordBuffer(producer)
        self._bit_generator: KeystreamBitGenerator | None = None

    def words(self, count: int) -> Words:
        """Next words in a fresh array.

        The caller owns it, and wipes it if the words must stay secret.

        ``words(a)`` then ``words(b)`` gives what ``words(a + b)`` would.

        Raises:
            InvalidParameterError: if ``count`` is not an integer of 0 or more.
            LocalProtocolError: outside the thread that made the source.
        """
        integer_at_least(0, count=count)
        out = np.empty(int(count), dtype=np.uint64)
        self._buffer.fill(out)
        return out

    def fill(self, out: Words) -> None:
        """Write the next words into an array that the caller reuses.

        Faster than `words` for long streams.

        Raises:
            InvalidParameterError: if ``out`` is not a contiguous, writeable uint64 array of one dimension.
            LocalProtocolError: outside the thread that made the source.
        """
        instance_of(np.ndarray, out=out)
        if out.dtype != np.uint64 or out.ndim != 1 or not (out.flags.c_contiguous and out.flags.writeable):
            raise InvalidParameterError(
                f"out must be a contiguous, writeable uint64 array of one dimension; got dtype {out.dtype}, "
                f"shape {out.shape}."
            )
        self._buffer.fill(out)

    @property
    def bit_generator(self) -> "KeystreamBitGenerator":
        """Bit generator of the stream, for numpy's ``Generator`` and for compiled kernels.

        As in ``numpy.random.Generator(source.bit_generator)``. Such a Generator's floats have the granularity of
        numpy's (2^-53), and its permutations and bounded integers are numpy's: use it for raw words, in experiments, or
        where the sampler's error is accounted. Draw only in the thread that made the source, and never in a parallel
        loop of a kernel: that is noticed at the next block only.

        Raises:
            LocalProtocolError: outside the thread that made the source; or without numba.
        """
        self._buffer.check()
        if self._bit_generator is None:
            try:
                from shuffledp.randomness.numpy_face import KeystreamBitGenerator
            except ImportError:
                raise LocalProtocolError("bit_generator needs numba, which is not installed.") from None

            self._bit_generator = KeystreamBitGenerator(self._buffer)
        return self._bit_generator

    @abstractmethod
    def substream(self, *labels: int | str) -> "RandomSource":
        """Independent random source for the calling thread, named by labels (integers or strings).

        It is independent of this source and of sources with other labels. Of a source made with a key or a seed, the
        same labels give the same substream, whatever the source has handed out: one key per job and a substream per
        (stage, partition) make a distributed job repeatable for whoever holds the key, and for nobody else. Use labels
        once in a job; 1 and "1" differ. Of a `SecureSource` made without a key, which is what ``source=None`` means,
        every call gives a substream that was never given before.

        Raises:
            InvalidParameterError: if there is no label, or one is neither or holds a lone surrogate.
        """

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __reduce__(self) -> NoReturn:
        raise LocalProtocolError(
            "a random source cannot be pickled or copied: the copy would repeat its words. "
            "Send a key or a seed, and use substream(label) where it arrives."
        )


class KeyedSource(RandomSource):
    """Random source whose words and substreams follow from one 32-byte key.

    Base of secure and of seeded sources. The key is split in two by HMAC-SHA512; one half starts the keystream
    (AES-256-CTR with fast key erasure, a new key every mebibyte), the other keys the substreams (HMAC-SHA256 of the
    encoded labels) and is kept.
    """

    def __init__(self, key: bytes) -> None:
        word_key, self._root = split_key(key)
        super().__init__(KeyErasingCipher(word_key))

    def substream(self, *labels: int | str) -> Self:
        """Substream named by these labels; see `RandomSource.substream`."""
        if not labels:
            raise InvalidParameterError("labels must be one or more integers or strings; got none.")
        for label in labels:
            if isinstance(label, bool) or not isinstance(label, Integral | str):
                raise InvalidParameterError(f"labels must be integers or strings; got one of {type(label).__name__}.")
        try:
            key = derive_key(self._root, labels)
        except UnicodeEncodeError:
            raise InvalidParameterError("labels must be without lone surrogates, which are no characters.") from None
        return self._with_key(key, labels)

    @abstractmethod
    def _with_key(self, key: bytes, labels: tuple[int | str, ...]) -> Self:
        """Source of the same kind, with the key derived for these labels or a fresh key."""


class SecureSource(KeyedSource):
    """Cryptographic random source: AES-256-CTR under a key from the operating system.

    The default for ``source=None``.

    Guarantees:
        1. Without the key the words cannot be told from uniform ones, if AES-256 is a pseudorandom permutation and
           HMAC-SHA2 a pseudorandom function; one key makes at most 1 MiB.
        2. No word is handed out twice, through whichever face. Made without ``key``, it gives no substream twice, under
           the same labels neither.
        3. Earlier words cannot be found from the memory of the source: keys are overwritten by their successors, and
           words by zeros as they are handed out. (Words and substreams of a source made with ``key`` can be made again
           by whoever holds that key or the source: destroy both when the job is done.)
        4. A forked child hands out none of its parent's words: it starts again with a key from the operating system.
           Substreams of a source made with ``key`` remain the same there, as they must for one key per job.
        5. Words and ``bit_generator`` are refused to every thread but the one that made the source.
        6. No key in ``repr``, and no pickling or copying.

    Args:
        key: None for a fresh key; or 32 secret bytes, the master key of one job, drawn with ``os.urandom`` and never
            used for two jobs. Only who holds the key can replay the words: the source does not count as reproducible.

    Raises:
        InvalidParameterError: if ``key`` is neither.

    References:
        D. J. Bernstein, "Fast-key-erasure random-number generators", 2017.

    Example:
        >>> source = SecureSource()
        >>> source.words(3).shape, source.reproducible
        ((3,), False)
    """

    reproducible = False

    def __init__(self, key: bytes | None = None) -> None:
        if key is not None and (not isinstance(key, bytes | bytearray) or len(key) != KEY_BYTES):
            raise InvalidParameterError(f"key must be None or {KEY_BYTES} bytes; got key of type {type(key).__name__}.")
        self._given = key is not None
        super().__init__(os.urandom(KEY_BYTES) if key is None else bytes(key))
        _SECURE_SOURCES.add(self)

    def _with_key(self, key: bytes, labels: tuple[int | str, ...]) -> Self:
        """Source with the derived key if a key was given, else with a fresh key.

        A derived key could repeat, since threads end and labels recur.
        """
        del labels
        return type(self)(key if self._given else None)


_SECURE_SOURCES: "weakref.WeakSet[SecureSource]" = weakref.WeakSet()
_OF_THREAD = threading.local()


def _start_anew_in_child() -> None:
    for source in list(_SECURE_SOURCES):
        word_key, _ = split_key(os.urandom(KEY_BYTES))
        source._buffer.restart(KeyErasingCipher(word_key))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew_in_child)


def resolve_source(source: RandomSource | None) -> RandomSource:
    """Given source after a check of its type; for None the thread's cryptographic source."""
    if source is None:
        if not hasattr(_OF_THREAD, "source"):
            _OF_THREAD.source = SecureSource()
        default: SecureSource = _OF_THREAD.source
        return default
    if not isinstance(source, RandomSource):
        hint = ""
        if isinstance(source, Integral | np.random.Generator | np.random.BitGenerator | np.random.RandomState):
            hint = " For a repeatable test or experiment use shuffledp.testing.SeededSource(seed); for a release, None."
        raise InvalidParameterError(
            f"source must be a RandomSource or None; got source of type {type(source).__name__}.{hint}"
        )
    return source


def word_batches(
    count: int, source: RandomSource, *, batch: int = _CHUNK_WORDS, each: int = 1
) -> Iterator[tuple[slice, Words]]:
    """Batches of ``count`` items, each with ``each`` fresh words per item.

    Words are wiped after the last batch.
    """
    scratch = np.empty(each * min(count, batch), dtype=np.uint64)
    for start in range(0, count, batch):
        stop = min(start + batch, count)
        words = scratch[: each * (stop - start)]
        source.fill(words)
        yield slice(start, stop), words
    scratch.fill(0)


def high_product(words: Words, bound: np.uint64) -> Words:
    """Upper 64 bits of the 128-bit products ``words * bound``.

    The words are an array or, compiled, a single word.
    """
    upper, lower = words >> _HALF, words & _LOWER_HALF
    bound_upper, bound_lower = bound >> _HALF, bound & _LOWER_HALF
    middle = upper * bound_lower + ((lower * bound_lower) >> _HALF)
    rest = (middle & _LOWER_HALF) + lower * bound_upper
    product: Words = upper * bound_upper + (middle >> _HALF) + (rest >> _HALF)
    return product


def _high_product_below(words: Words, bound: np.uint64) -> Words:
    """Upper 64 bits of ``words * bound`` for bounds up to 2^32, in half the steps of `high_product`."""
    product = words & _LOWER_HALF
    product *= bound
    product >>= _HALF
    upper = words >> _HALF
    upper *= bound
    product += upper
    product >>= _HALF
    return product


def uniform_integers(bound: int, count: int, *, source: RandomSource | None = None) -> NDArray[np.int64]:
    """Independent integers, uniform on 0, ..., bound - 1; int64, shape (count,).

    The bound is at most 2^63. A word w gives the upper 64 bits of w * bound, and is rejected if the lower 64 bits are
    below 2^64 mod bound (Lemire's method); the words that are not rejected give the results in order.

    Guarantees:
        1. The law is exactly uniform if the words are: each value has floor(2^64 / bound) words.

    Raises:
        InvalidParameterError: if an argument is out of range.

    References:
        D. Lemire, "Fast random integer generation in an interval", ACM TOMACS 29(1), 2019.

    Example:
        >>> bool((uniform_integers(6, 1000) < 6).all())
        True
    """
    integer_at_least(1, bound=bound)
    if bound > 2**63:
        raise invalid("at most 2**63", bound=bound)
    integer_at_least(0, count=count)
    source = resolve_source(source)
    factor, reject_below = np.uint64(bound), np.uint64(_WORD_VALUES % int(bound))
    multiply = _high_product_below if bound <= 2**32 else high_product
    out = np.empty(int(count), dtype=np.int64)
    scratch = np.empty(min(out.size, _CHUNK_WORDS), dtype=np.uint64)
    done = 0
    while done < out.size:
        words = scratch[: out.size - done]
        source.fill(words)
        values = multiply(words, factor)
        words *= factor
        keep = words >= reject_below
        if not keep.all():
            values = values[keep]
        out[done : done + values.size] = values
        done += values.size
    scratch.fill(0)
    return out


def bernoulli(threshold: int, count: int, *, source: RandomSource | None = None) -> NDArray[np.bool_]:
    """Independent coins, each True with probability threshold / 2^64.

    One word per coin; True below the threshold.

    Guarantees:
        1. The probability is exactly threshold / 2^64 if the words are uniform; 0 and 2^64 give certainty.
        2. Exactly ``count`` words are used, whatever the threshold.

    Raises:
        InvalidParameterError: if an argument is out of range.

    Example:
        >>> bernoulli(2**64, 3).tolist()
        [True, True, True]
    """
    integer_at_least(0, threshold=threshold, count=count)
    if threshold > _WORD_VALUES:
        raise invalid("at most 2**64", threshold=threshold)
    source = resolve_source(source)
    out = np.ones(int(count), dtype=np.bool_)
    for batch, words in word_batches(out.size, source):
        if threshold < _WORD_VALUES:
            np.less(words, np.uint64(threshold), out=out[batch])
    return out
