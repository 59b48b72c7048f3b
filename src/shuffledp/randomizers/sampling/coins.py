"""Exact coins with probabilities in multiples of 2^-64, unbiased rounding to a grid, and packed bits."""

import functools
import math
from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.channels import Channel
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.validate import integer_at_least, invalid
from shuffledp.randomness.sources import RandomSource, high_product, word_batches

WORDS = 2**64
RESOLUTION = 1e-6  # nats by which the loss used may fall short of the one asked for
CHANNEL_LIMIT = 4096  # most outputs: the matrix of a larger channel may take more than 128 MiB
_DIGITS = 60
BATCH = 1 << 17  # values handled at a time: their words stay in the processor's cache
_LARGEST_DOMAIN = 2**20  # values; a report then takes 128 KiB
_BATCH_BYTES = 1 << 18  # bytes drawn at a time, which stay in the processor's cache
_BATCH_ROWS = 1 << 15
_FOLDED_BYTES = 1 << 10  # rows are laid side by side up to this length, so that sums run over long rows
_BLOCK_BYTES = 1 << 21  # bytes of reports that are unpacked at a time
_ALL_LANES = np.uint64(2**64 - 1)


@functools.lru_cache(maxsize=256)
def log_rounded_up(numerator: int, denominator: int) -> float:
    """Logarithm of a positive fraction, rounded up to a float."""
    with localcontext() as context:
        context.prec = _DIGITS
        exact = (Decimal(numerator) / denominator).ln()
        rounded = float(exact)
        return math.nextafter(rounded, math.inf) if Decimal(rounded) < exact else rounded


def smallest_share(epsilon0: float, *, factor: Fraction = Fraction(1), coins: int = 1) -> int:
    """Least number of the 2^64 words for a coin's unlikely side, with a loss of at most ``epsilon0``.

    With s words for the unlikely side the loss is coins * log(factor * (2^64 - s) / s), where ``factor``
    multiplies the odds of each coin. It may be neither below 1e-6, nor so large that one word more would
    change it by more.
    """
    validate.positive(epsilon0=epsilon0)
    # With E = (2^64 - s) / s, one word more takes coins (E + 2 + 1/E) / 2^64 from the loss.
    largest = coins * math.log(float(factor) * (WORDS * RESOLUTION / coins - 3))
    if not RESOLUTION <= epsilon0 <= largest:
        limits = f"from {RESOLUTION:g} to {largest:.4g}"
        raise invalid(f"{limits}, beyond which 64-bit randomness saturates", epsilon0=epsilon0)
    with localcontext() as context:
        context.prec = _DIGITS
        odds = (Decimal(float(epsilon0)) / coins).exp() * factor.denominator / factor.numerator
        return int((WORDS / (odds + 1)).to_integral_value(ROUND_CEILING))


def channel_of_support(support: NDArray[np.bool_], likely: Fraction, unlikely: Fraction, *, exact: bool) -> Channel:
    """Channel with two probabilities: ``likely`` where ``support`` is true, ``unlikely`` elsewhere.

    ``support`` has the shape (inputs, outputs).
    """
    entries: NDArray[Any] = np.array([unlikely, likely], dtype=object if exact else np.float64)
    return Channel(entries[support.astype(np.intp)])


def largest_fraction_up_to(value: Fraction, *, largest_denominator: int) -> Fraction:
    """Largest fraction that is at most ``value`` and has at most this denominator.

    As `fractions.Fraction.limit_denominator`, which returns the nearer of the two neighbours that are found here.
    """
    if value.denominator <= largest_denominator:
        return value
    earlier, convergent = (0, 1), (1, 0)
    dividend, divisor = value.numerator, value.denominator
    while True:
        quotient, remainder = divmod(dividend, divisor)
        denominator = earlier[1] + quotient * convergent[1]
        if denominator > largest_denominator:
            break
        earlier, convergent = convergent, (earlier[0] + quotient * convergent[0], denominator)
        dividend, divisor = divisor, remainder
    times = (largest_denominator - earlier[1]) // convergent[1]
    other = Fraction(earlier[0] + times * convergent[0], earlier[1] + times * convergent[1])
    return min(other, Fraction(*convergent))


# ---- rounding to a grid


def grid_positions(
    numbers: NDArray[np.float64], *, lower: float, upper: float, num_steps: int
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Place of each number on a grid: the grid point below, and the distance above it.

    A random word below the second number rounds up: then the grid point is the position on average, exactly. The
    position is that of (x - lower) / (upper - lower) in float64, which is within 2^-51 of the true one, cut to a
    multiple of 2^-64; the ends of the range are exact. Results are the numbers of the grid points, from 0 to
    ``num_steps`` (at most 2^31), and 2^64 times the rest of a step, both of shape (n,).
    """
    share = (numbers - lower) / (upper - lower)
    at_top = share >= 1
    share[at_top] = 0
    fixed = np.ldexp(share, 64).astype(np.uint64)
    steps = np.uint64(num_steps)
    index = high_product(fixed, steps).astype(np.int64)
    index[at_top] = num_steps
    return index, fixed * steps  # modulo 2^64


def round_to_grid(
    numbers: NDArray[np.float64], *, lower: float, upper: float, num_steps: int, source: RandomSource
) -> NDArray[np.int64]:
    """Grid point next to each number, above or below, drawn without bias; shape (n,).

    One word for each number, whatever it is. Arguments as of `grid_positions`.
    """
    points = np.empty(len(numbers), dtype=np.int64)
    for batch, words in word_batches(len(numbers), source, batch=BATCH):
        index, rest = grid_positions(numbers[batch], lower=lower, upper=upper, num_steps=num_steps)
        np.add(index, words < rest, out=points[batch])
    return points


def grid_neighbors(value: float, *, lower: float, upper: float, num_steps: int) -> tuple[int, float]:
    """Number of the grid point at or below a value, and the chance to round up instead."""
    place = (value - lower) / (upper - lower) * num_steps
    left = min(math.floor(place), num_steps - 1)
    return left, min(place - left, 1.0)


def rounding_variance(mean: NDArray[np.float64], *, lower: float, upper: float, num_steps: int) -> NDArray[np.float64]:
    """Upper bound on the variance that rounding to the grid adds to a report.

    On average over people with this mean. A value that lies the share f of a step above a grid point gets f (1 - f)
    squared steps; the smallest concave function above that is f (1 - f) within half a step of the ends, and 1/4
    between.
    """
    step = (upper - lower) / num_steps
    place = (mean - lower) / step
    edge = np.clip(np.minimum(place, num_steps - place), 0.0, 0.5)
    variance: NDArray[np.float64] = edge * (1 - edge) * step**2
    return variance


# ---- packed bits


def check_domain(domain_size: int) -> None:
    """Refuse a domain size other than an integer from 2 to 2^20.

    The limit is that of reports with a bit per value.
    """
    integer_at_least(2, domain_size=domain_size)
    if domain_size > _LARGEST_DOMAIN:
        condition = f"at most {_LARGEST_DOMAIN}, since a report holds a bit per value (hashing takes larger domains)"
        raise invalid(condition, domain_size=domain_size)


def packed_width(domain_size: int) -> int:
    """Number of bytes that hold one bit per value."""
    return -(-domain_size // 8)


def bit_of(bits: NDArray[np.uint8], value: int) -> NDArray[np.bool_]:
    """Bit of one value in every row; shape (n,)."""
    return (bits[:, value // 8] >> (value % 8) & 1).astype(np.bool_)


def check_packed(columns: Mapping[str, NDArray[Any]], domain_size: int) -> None:
    """Refuse columns other than one column ``bits``, uint8, shape (n, ceil(domain_size / 8)).

    Padding must be clear.
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
    """Batches of reports of independent coins, packed as bits.

    With the memory to draw them in.
    """

    def __init__(self, num_reports: int, domain_size: int) -> None:
        self._width, self._left = packed_width(domain_size), domain_size % 8
        self.rows = max(1, min(_BATCH_BYTES // self._width, _BATCH_ROWS, num_reports))
        self._lanes = np.empty(-(-self.rows * self._width // 8), dtype=np.uint64)
        self._words = np.empty(max(len(self._lanes), self.rows), dtype=np.uint64)

    def fill(self, bits: NDArray[np.uint8], threshold: int, source: RandomSource) -> None:
        """Set each bit of the reports with probability threshold / 2^64, exactly.

        At most ``rows`` reports; padding is clear.
        """
        lanes = self._lanes[: -(-bits.size // 8)]
        fill_with_coins(lanes, threshold, source, self._words)
        bits[:] = lanes.astype("<u8", copy=False).view(np.uint8)[: bits.size].reshape(bits.shape)
        if self._left:
            bits[:, -1] &= (1 << self._left) - 1

    def toss(self, count: int, threshold: int, source: RandomSource) -> NDArray[np.bool_]:
        """Coins, one for each of ``count`` reports, True with probability threshold / 2^64.

        From one word each.
        """
        words = self._words[:count]
        source.fill(words)
        return words < np.uint64(threshold)

    def wipe(self) -> None:
        """Overwrite the random words, which could undo a report."""
        self._lanes.fill(0)
        self._words.fill(0)


def fill_with_coins(
    lanes: NDArray[np.uint64], threshold: int, source: RandomSource, scratch: NDArray[np.uint64]
) -> None:
    """Set each bit of ``lanes`` independently with probability threshold / 2^64, exactly.

    A coin is a number of 64 random binary places, set if it is below the threshold; only the places that decide it are
    drawn. They are compared in 64 coins at a time, the most significant place first: a word of the source is that
    place of the 64 coins of one lane word, and lane words without an undecided coin take none. So about 7.3 words do
    for 64 coins, instead of 64. ``scratch``, at least as long as ``lanes``, holds words, which the caller wipes.
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
    """Set or clear one bit in each row, at the row's position."""
    rows, columns = np.arange(len(bits)), (positions >> 3).astype(np.intp)
    places = (positions & 7).astype(np.uint8)
    mask = np.left_shift(np.uint8(1), places)
    bits[rows, columns] = (bits[rows, columns] & ~mask) | np.left_shift(coins.view(np.uint8), places)


def count_bits(bits: NDArray[np.uint8], domain_size: int) -> NDArray[np.int64]:
    """Number of rows with each bit set, shape (domain_size,).

    Rows are unpacked a few hundred at a time and added in bytes, which 255 rows cannot overflow.
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
    """Number of set bits in each row; shape (n,)."""
    sizes = np.empty(len(bits), dtype=np.int64)
    rows = max(1, _BLOCK_BYTES // bits.shape[1])
    for start in range(0, len(bits), rows):
        np.bitwise_count(bits[start : start + rows]).sum(axis=1, dtype=np.int64, out=sizes[start : start + rows])
    return sizes
