"""Reports that are one bit per value, packed eight to a byte: drawing, checking and counting them without unpacking."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp._validate import integer_at_least, invalid
from shuffledp.errors import InvalidParameterError
from shuffledp.randomness import RandomSource

__all__ = [
    "PackedCoins",
    "check_domain",
    "check_packed",
    "count_bits",
    "fill_with_coins",
    "packed_width",
    "put_bits",
    "row_sizes",
]

_LARGEST_DOMAIN = 2**20  # a report of 128 KiB
_BATCH_BYTES = 1 << 18  # drawn at a time: they stay in the processor's cache
_BATCH_ROWS = 1 << 15
_FOLDED_BYTES = 1 << 10  # rows are laid side by side up to this length, so that sums run over long rows
_BLOCK_BYTES = 1 << 21  # of reports that are unpacked at a time
_ALL_LANES = np.uint64(2**64 - 1)


def check_domain(domain_size: int) -> None:
    """Refuse a domain that reports of a bit per value cannot carry.

    Raises:
        InvalidParameterError: unless it is an integer from 2 to 2^20.
    """
    integer_at_least(2, domain_size=domain_size)
    if domain_size > _LARGEST_DOMAIN:
        condition = f"at most {_LARGEST_DOMAIN}, since a report holds a bit per value (hashing takes larger domains)"
        raise invalid(condition, domain_size=domain_size)


def packed_width(domain_size: int) -> int:
    """Bytes that hold a bit per value."""
    return -(-domain_size // 8)


def check_packed(columns: Mapping[str, NDArray[Any]], domain_size: int) -> None:
    """Refuse anything but one column ``bits`` of uint8, shape (n, ceil(domain_size / 8)), without a bit beyond.

    Raises:
        InvalidParameterError: naming places, never a report.
    """
    shape = (packed_width(domain_size),)
    if list(columns) != ["bits"] or columns["bits"].dtype != np.uint8 or columns["bits"].shape[1:] != shape:
        found = ", ".join(f"{name} ({array.dtype}, shape {array.shape})" for name, array in columns.items())
        raise InvalidParameterError(f"columns must be one uint8 column 'bits' of shape (n, {shape[0]}); got {found}.")
    if domain_size % 8:
        beyond = np.flatnonzero(columns["bits"][:, -1] >> (domain_size % 8))
        if beyond.size:
            raise InvalidParameterError(
                f"reports must have {domain_size} bits; {beyond.size} have more, first reports[{beyond[0]}]."
            )


class PackedCoins:
    """Batches of reports whose bits are independent coins, and the memory to draw them in.

    Args:
        num_reports: how many reports there will be.
        domain_size: bits of a report.

    Attributes:
        rows: how many reports to draw at a time.
    """

    def __init__(self, num_reports: int, domain_size: int) -> None:
        self._width, self._left = packed_width(domain_size), domain_size % 8
        self.rows = max(1, min(_BATCH_BYTES // self._width, _BATCH_ROWS, num_reports))
        self._lanes = np.empty(-(-self.rows * self._width // 8), dtype=np.uint64)
        self._words = np.empty(max(len(self._lanes), self.rows), dtype=np.uint64)

    def fill(self, bits: NDArray[np.uint8], threshold: int, source: RandomSource) -> None:
        """Set every bit of these reports with probability threshold / 2^64, exactly; padding is clear.

        Args:
            bits: shape (n, width), n at most ``rows``; overwritten.
            threshold: from 0 to 2^64 - 1.
            source: where the words come from, for all bits of the batch together (see `fill_with_coins`).
        """
        lanes = self._lanes[: -(-bits.size // 8)]
        fill_with_coins(lanes, threshold, source, self._words)
        bits[:] = lanes.astype("<u8", copy=False).view(np.uint8)[: bits.size].reshape(bits.shape)
        if self._left:
            bits[:, -1] &= (1 << self._left) - 1

    def toss(self, count: int, threshold: int, source: RandomSource) -> NDArray[np.bool_]:
        """One more coin for each of ``count`` reports, True with probability threshold / 2^64, by one word each."""
        words = self._words[:count]
        source.fill(words)
        return words < np.uint64(threshold)

    def wipe(self) -> None:
        """Forget the words: with them a report could be undone."""
        self._lanes.fill(0)
        self._words.fill(0)


def fill_with_coins(
    lanes: NDArray[np.uint64], threshold: int, source: RandomSource, scratch: NDArray[np.uint64]
) -> None:
    """Make every bit an independent coin that is set with probability threshold / 2^64, exactly.

    A coin is a number of 64 random binary places, set if it is below the threshold; only the places that decide it are
    drawn. They are compared in 64 coins at a time, the most significant place first: a word of the source is that
    place of the 64 coins of one lane word, and lane words without an undecided coin take none. So about 7.3 words do
    for 64 coins, instead of 64.

    Args:
        lanes: overwritten.
        threshold: from 0 to 2^64 - 1.
        source: where the words come from: for each place, a word for each lane word that is not decided, in order.
        scratch: at least as long as ``lanes``; holds words, which the caller wipes.
    """
    lanes.fill(0)
    undecided = np.full(lanes.size, _ALL_LANES)
    places: Any = slice(None)
    for place in range(63, -1, -1):
        if threshold % (2 << place) == 0:  # what agrees so far is not below
            return
        words = scratch[: undecided.size]
        source.fill(words)
        if threshold >> place & 1:
            lanes[places] |= undecided & ~words
            undecided &= words
        else:
            undecided &= ~words
        left = np.flatnonzero(undecided)
        if left.size == 0:
            return
        if left.size < undecided.size:
            undecided = undecided[left]
            places = left if isinstance(places, slice) else places[left]


def put_bits(bits: NDArray[np.uint8], positions: NDArray[Any], coins: NDArray[np.bool_]) -> None:
    """Make the bit of each row at its position what its coin says."""
    rows, columns = np.arange(len(bits)), (positions >> 3).astype(np.intp)
    places = (positions & 7).astype(np.uint8)
    mask = np.left_shift(np.uint8(1), places)
    bits[rows, columns] = (bits[rows, columns] & ~mask) | np.left_shift(coins.view(np.uint8), places)


def count_bits(bits: NDArray[np.uint8], domain_size: int) -> NDArray[np.int64]:
    """How many rows have each bit.

    Rows are unpacked a few hundred at a time and added in bytes, which 255 rows cannot overflow.

    Args:
        bits: shape (n, ceil(domain_size / 8)).
        domain_size: number of bits.

    Returns:
        Shape (domain_size,).
    """
    width = bits.shape[1]
    fold = max(1, min(_FOLDED_BYTES // width, 255))
    depth = max(1, min(_BLOCK_BYTES // (fold * width), 255))
    totals = np.zeros(8 * width, dtype=np.int64)
    for start in range(0, len(bits), fold * depth):
        block = bits[start : start + fold * depth]
        whole = len(block) // fold * fold
        for part, side in ((block[:whole], fold), (block[whole:], 1)):
            unpacked = np.unpackbits(part.reshape(-1), bitorder="little").reshape(-1, side, 8 * width)
            totals += unpacked.sum(axis=0, dtype=np.uint8).sum(axis=0, dtype=np.int64)
    return totals[:domain_size]


def row_sizes(bits: NDArray[np.uint8]) -> NDArray[np.int64]:
    """How many bits each row has; shape (n,)."""
    sizes = np.empty(len(bits), dtype=np.int64)
    rows = max(1, _BLOCK_BYTES // bits.shape[1])
    for start in range(0, len(bits), rows):
        np.bitwise_count(bits[start : start + rows]).sum(axis=1, dtype=np.int64, out=sizes[start : start + rows])
    return sizes
