"""Pairwise independent hashes of prefixes: the top bits of a x + b modulo 2^128.

a and b are expanded from a seed. Of two different keys x below 2^62 both hashes are uniform and independent over a and
b of 128 bits, for values of up to 64 bits (multiply-add-shift; Dietzfelbinger 1996: keys of w bits and values of v bits
take words of w + v - 1). Words of 64 bits would be too short: keys that differ in their high bits alone, as prefixes
do, then meet far too often.

Prefixes of up to 62 bits are keys themselves; of longer ones the key is a fingerprint of 62 bits of SHA-256. A seed of
64 bits is expanded by SHA-256, so that independence holds up to what tells SHA-256 from a random function.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.caching import compiled, plain_until_worth_compiling

KEY_BITS = 62
_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)
Words = NDArray[np.uint64]


def expanded(seeds: Words) -> Words:
    """Words (a high, a low, b high, b low) expanded from each seed, shape (n, 4).

    SHA-256 of its 8 bytes, the highest first.
    """
    sha256, data = hashlib.sha256, seeds.astype(">u8").tobytes()
    digests = b"".join([sha256(data[place : place + 8]).digest() for place in range(0, len(data), 8)])
    return np.frombuffer(digests, dtype=">u8").astype(np.uint64).reshape(-1, 4)


def key_of(prefix: int, num_bits: int) -> int:
    """Key of a prefix of ``num_bits`` bits.

    The prefix itself, or its fingerprint if it is longer than 62 bits.
    """
    if num_bits <= KEY_BITS:
        return prefix
    data = num_bits.to_bytes(2, "big") + prefix.to_bytes(-(-num_bits // 8), "big")
    return int.from_bytes(hashlib.sha256(data).digest()[:8], "big") >> (64 - KEY_BITS)


def keys_of(prefixes: Sequence[int], num_bits: int) -> Words:
    """Keys of prefixes that all have this number of bits."""
    return np.array([key_of(prefix, num_bits) for prefix in prefixes], dtype=np.uint64)


def top_bits(functions: Words, keys: Words, num_bits: int) -> Words:
    """Hash of ``num_bits`` bits (at most 32) of each key, by the function of the key's row."""
    high, low, add_high, add_low = functions.T
    product = low * keys
    carry = (product + add_low < product).astype(np.uint64)
    total = high * keys + _high_word(low, keys) + add_high + carry
    return np.asarray(total >> np.uint64(64 - num_bits))


def _high_word(first: Words, second: Words) -> Words:
    """Upper 64 bits of the products of 64-bit words."""
    one, other, third, fourth = first >> _HALF, first & _LOW, second >> _HALF, second & _LOW
    low = other * fourth
    middle = one * fourth + (low >> _HALF)
    upper = other * third + (middle & _LOW)
    return np.asarray(one * third + (middle >> _HALF) + (upper >> _HALF))


def extension_counts(functions: Words, values: Words, key: int, num_bits: int) -> NDArray[np.int64]:
    """Number of reports that support each extension of one prefix, shape (2^num_bits,).

    A report of value y supports the extension y - h(prefix) modulo 2^num_bits of a prefix.

    Args:
        functions: of each report, shape (n, 4), as `expanded`.
        values: of each report, below 2^num_bits.
        key: of the prefix.
        num_bits: bits of a value, at most 32.
    """
    count = _choose(len(values))
    return count(functions, values, np.uint64(key), num_bits)


def support_counts(functions: Words, values: Words, keys: Words, num_bits: int) -> NDArray[np.int64]:
    """Number of reports whose function hashes each key to the reported value; shape (keys,).

    The key is whole: no extension follows.
    """
    found = [extension_counts(functions, values, int(key), num_bits)[0] for key in keys]
    return np.array(found, dtype=np.int64)


def _by_arrays(functions: Words, values: Words, key: np.uint64, num_bits: int) -> NDArray[np.int64]:
    """Counts of `extension_counts`, by operations on whole arrays."""
    hashes = top_bits(functions, np.full(len(values), key), num_bits)
    extensions = (values - hashes) & np.uint64((1 << num_bits) - 1)
    return np.bincount(extensions.astype(np.int64), minlength=1 << num_bits)


def _by_loop(functions: Words, values: Words, key: np.uint64, num_bits: int) -> NDArray[np.int64]:
    """Counts of `extension_counts`, by a compiled loop, which takes a tenth of the time."""
    counts = np.zeros(1 << num_bits, dtype=np.int64)
    _count(functions, values, key, np.uint64(num_bits), counts)
    return counts


@compiled
def _count(functions: Any, values: Any, key: Any, num_bits: Any, counts: Any) -> None:
    """Add each report to ``counts``; all words are uint64, so that sums and products wrap."""
    shift, mask = np.uint64(64) - num_bits, (np.uint64(1) << num_bits) - np.uint64(1)
    half, low32 = np.uint64(32), np.uint64(2**32 - 1)
    zero, one = np.uint64(0), np.uint64(1)
    key_high, key_low = key >> half, key & low32
    for report in range(len(values)):
        high, low = functions[report, 0], functions[report, 1]
        low_high, low_low = low >> half, low & low32
        middle = low_high * key_low + ((low_low * key_low) >> half)
        upper = low_low * key_high + (middle & low32)
        product = low * key
        carry = one if product + functions[report, 3] < product else zero
        total = high * key + low_high * key_high + (middle >> half) + (upper >> half)
        total += functions[report, 2] + carry
        counts[(values[report] - (total >> shift)) & mask] += 1


_choose = plain_until_worth_compiling(_by_arrays, _by_loop, items=15_000_000)
