"""Keystream of `shuffledp.randomness.sources`: producers of words, and a buffer of words to read.

A `WordProducer` makes blocks of 64-bit words. A `WordBuffer` holds the block in use in ``cells``, one array of unsigned
64-bit integers whose first cells are the position, the limit and a few addresses, so that Python code and compiled code
advance the same position: no word can be read by both.
"""

import functools
import hmac
import os
import sys
import threading
from collections.abc import Callable
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.errors import LocalProtocolError

Words = NDArray[np.uint64]

KEY_BYTES = 32
_KEY_WORDS = KEY_BYTES // 8
_FIRST_BLOCK_BYTES = 2**12
_LAST_BLOCK_BYTES = 2**20
BUFFER_WORDS = _LAST_BLOCK_BYTES // 8 - _KEY_WORDS

# The layout of WordBuffer.cells. The header is one cache line, so that the words behind it stay aligned.
POSITION, LIMIT, REFILLER, RAISER, SUBSTITUTE = range(5)
_HEADER = 8
BUFFER_CELLS = _HEADER + BUFFER_WORDS

_ZEROS = memoryview(bytes(_LAST_BLOCK_BYTES))


def split_key(key: bytes) -> tuple[bytes, bytes]:
    """Two independent 32-byte keys from one key: for a source's words, and for its substreams."""
    both = hmac.digest(key, b"shuffledp/1/words and substreams", "sha512")
    return both[:KEY_BYTES], both[KEY_BYTES:]


def derive_key(root: bytes, labels: tuple[int | str, ...]) -> bytes:
    """Key of one substream, from a root key and labels.

    Different labels have different encodings: 1 and "1" give different keys.
    """
    message = [b"shuffledp/1/substream"]
    for label in labels:
        kind, content = (b"s", label.encode()) if isinstance(label, str) else (b"i", b"%d" % label)
        message += [kind, len(content).to_bytes(8, "big"), content]
    return hmac.digest(root, b"".join(message), "sha256")


@functools.cache
def _new_encryptor() -> Callable[[bytearray], Any]:
    # Loading OpenSSL takes a moment, so it happens at the first word and not when the package is imported.
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    return lambda key: Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()


class WordProducer(Protocol):
    """Producer of random words in blocks, each block produced once."""

    @property
    def block_words(self) -> int:
        """Number of words in the next block, at most `BUFFER_WORDS`."""
        ...

    def write_block(self, out: Words) -> None:
        """Write the next block into ``out``, an array of exactly ``block_words`` words."""
        ...


class KeyErasingCipher:
    """AES-256-CTR with fast key erasure.

    The first 32 bytes of a block become the next key, and never words. The block of key k, of 32 bytes, is the
    keystream AES-256-CTR(k) from counter 0. Blocks have 4 KiB, 16 KiB, 64 KiB, 256 KiB and then 1 MiB each: who asks
    for little makes little. Words are little-endian on every machine.
    """

    __slots__ = ("_block_bytes", "_key")

    def __init__(self, key: bytes) -> None:
        self._key = bytearray(key)
        self._block_bytes = _FIRST_BLOCK_BYTES

    @property
    def block_words(self) -> int:
        """Number of words in the next block."""
        return self._block_bytes // 8 - _KEY_WORDS

    def __reduce__(self) -> NoReturn:
        raise LocalProtocolError("a cipher cannot be pickled or copied: the copy would repeat its words.")

    def write_block(self, out: Words) -> None:
        """Write the next block into ``out``.

        The block's key is overwritten before its first word is made.
        """
        encryptor = _new_encryptor()(self._key)
        # In place, and first: an interrupt between these lines can lose a block but cannot make it appear twice.
        encryptor.update_into(_ZEROS[:KEY_BYTES], self._key)
        self._block_bytes = min(4 * self._block_bytes, _LAST_BLOCK_BYTES)
        encryptor.update_into(_ZEROS[: out.nbytes], out.data.cast("B"))
        if sys.byteorder == "big":
            out.byteswap(inplace=True)


class WordBuffer:
    """Buffer of a producer's words; each word is read once and then set to zero.

    Only the thread that made the buffer reads it. ``cells`` are header and words; the ``lock`` is held by a
    `numpy.random.Generator` while it draws.
    """

    __slots__ = ("__weakref__", "_failure", "_owner", "_producer", "cells", "lock")

    def __init__(self, producer: WordProducer) -> None:
        self.cells: Words = np.zeros(BUFFER_CELLS, dtype=np.uint64)  # pages that are not used are never made
        self.lock = threading.RLock()
        self._owner = threading.get_ident()
        self.restart(producer)

    def __reduce__(self) -> NoReturn:
        raise LocalProtocolError("a buffer of words cannot be pickled or copied: the copy would repeat its words.")

    def restart(self, producer: WordProducer) -> None:
        """Drop the buffered words, and continue with another producer."""
        self._producer = producer
        self._failure: str | None = None
        limit = int(self.cells[LIMIT])
        self.cells[LIMIT] = self.cells[POSITION] = _HEADER
        self.cells[RAISER] = 0
        self.cells[_HEADER:limit] = 0

    @property
    def unread(self) -> int:
        """Number of words in the buffer that have not been read."""
        return int(self.cells[LIMIT]) - int(self.cells[POSITION])

    def check(self) -> None:
        """Refuse calls from another thread, and a buffer whose producer has failed.

        The producer may have failed while compiled code drew from it.
        """
        if threading.get_ident() != self._owner:
            raise LocalProtocolError(
                "source must be used by the thread that made it, and this is another one. Give every thread its own: "
                "source.substream(label) called there, or source=None."
            )
        if self._failure is not None:
            raise LocalProtocolError(self._failure)

    def fill(self, out: Words) -> None:
        """Write the next words into ``out``.

        Whole blocks bypass the buffer.
        """
        with self.lock:
            self.check()
            done = self._take(out)
            while done < out.size and (block := self._producer.block_words) <= out.size - done:
                self._producer.write_block(out[done : done + block])
                done += block
            while done < out.size:
                self._refill()
                done += self._take(out[done:])
            self.check()  # another thread may have broken the rule, and the buffer, meanwhile

    def refill_for_compiled_code(self) -> None:
        """Make the next block when the buffer is empty; compiled code alone calls this."""
        self.check()
        self._refill()

    def fail(self, message: str, raiser: int) -> None:
        """Make all further reads fail with this message.

        Compiled code cannot be stopped halfway. It runs to its end on substitute words, and each of them calls the C
        function at the address ``raiser``, which sees to it that the caller gets an error and not a result.
        """
        self._failure = message
        self.cells[SUBSTITUTE] = int.from_bytes(os.urandom(8), "little")
        self.cells[RAISER] = raiser

    def _refill(self) -> None:
        self.cells[LIMIT] = _HEADER  # nothing at hand until the block is complete, whatever interrupts it
        block = self._producer.block_words
        self._producer.write_block(self.cells[_HEADER : _HEADER + block])
        self.cells[POSITION] = _HEADER
        self.cells[LIMIT] = _HEADER + block

    def _take(self, out: Words) -> int:
        start = int(self.cells[POSITION])
        count = min(out.size, int(self.cells[LIMIT]) - start)
        if count <= 0:
            return 0
        self.cells[POSITION] = start + count  # first, so that an interrupt loses words instead of repeating them
        taken = self.cells[start : start + count]
        out[:count] = taken
        taken[:] = 0
        return count
