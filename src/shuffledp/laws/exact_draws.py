"""Exact draws: random bits drawn on demand where floats cannot decide, and Lehmer codes of permutations.

**Lazy bits** are those of a uniform number that are drawn only when they matter. Samplers compute in floats first, with
a margin far above the error of a float function. What lies within the margin of a boundary, a few draws in a million,
is decided in decimal arithmetic and with as many bits as it takes. So the laws are exact, and the same words give the
same draws on every machine.

**The Lehmer code** of an item is the number of smaller items that remain when it is drawn.
"""

import math
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, getcontext, localcontext
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.caching import compiled, plain_until_worth_compiling
from shuffledp.core.table import Integers
from shuffledp.randomness.sources import RandomSource, word_batches

Words = NDArray[np.uint64]

RELATIVE_ERROR = 2.0**-46  # error granted to float functions: over 100 times that of log1p, expm1 and exp
_UNIT = 2.0**-64
_ARGUMENT_ERROR = 2.0**-49  # error granted to u (1 - q^m): 16 times that of rounding
_NEARLY_ONE = 2.0**-40
_NEARLY_UNIFORM = 1e-250  # below it products are subnormal, and u m differs by less than 1e-240 of itself


class Bits:
    """Uniform number known by its first ``count`` bits only; it lies in [low, low + 1) / 2^count.

    ``low`` is the integer of those bits, and ``count`` their number.
    """

    __slots__ = ("count", "low")

    def __init__(self, low: int, count: int = 64) -> None:
        self.low, self.count = low, count

    def extend(self, source: RandomSource) -> None:
        """Draw 64 further bits."""
        self.low = self.low << 64 | int(source.words(1)[0])
        self.count += 64

    def ends(self) -> tuple[Decimal, Decimal]:
        """Exact ends of the interval that contains the number."""
        scale = Decimal(2) ** self.count
        return Decimal(self.low) / scale, Decimal(self.low + 1) / scale


def precise(digits: int) -> Context:
    """Decimal context with this number of digits, in which nothing overflows."""
    return Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])


def lost() -> Decimal:
    """Error bound for a computation in the current decimal context: as if half of its digits were lost.

    Well above any true error.
    """
    return Decimal(10) ** -(getcontext().prec // 2)


def settled_floor(
    value: Callable[[Decimal], Decimal], word: int, source: RandomSource, *, most: int, digits: int = 0
) -> int:
    """Integer part of ``value(u)``, at most ``most``, for a uniform number u.

    The first 64 bits of u are drawn already. ``value`` is nondecreasing, computed in the precision of the decimal
    context, to within `lost`; it may need more ``digits`` than the usual ones.
    """
    bits = Bits(word)
    while True:
        with localcontext(precise(100 + bits.count + digits)):
            low, high = bits.ends()
            least = min(max(value(low) - lost(), Decimal(0)), Decimal(most))
            largest = min(max(value(high) + lost(), Decimal(0)), Decimal(most))
            if math.floor(least) == math.floor(largest):
                return math.floor(least)
        bits.extend(source)


# ---- Lehmer codes ----------------------------------------------------------------------------------------------------


def draw_codes(concentration: float, codes: Integers, source: RandomSource, *, remaining: int) -> None:
    """Fill ``codes`` with independent integers V of law Pr[V = v] proportional to exp(-concentration v).

    V is below ``remaining`` in place 0, below ``remaining - 1`` in place 1, and so on. The concentration is above 0 and
    finite.
    """
    draw = _draw_for(codes.size)
    for batch, words in word_batches(codes.size, source):
        part, left = codes[batch], remaining - batch.start
        draw(part, words, float(concentration), left)
        for place in np.flatnonzero(part < 0).tolist():
            part[place] = _settled_code(concentration, left - place, int(words[place]), source)


def _draw(codes: Integers, words: Words, theta: float, limit: int) -> None:
    """Fill ``codes`` with random codes by inversion in floats; -1 where float errors may change a code.

    With u uniform, v = floor(-log(1 - u (1 - q^m)) / theta) has Pr[v >= i] = (q^i - q^m) / (1 - q^m).
    """
    for place in range(codes.size):
        m = limit - place
        span = theta * m
        u = float(words[place]) * _UNIT
        if span < _NEARLY_UNIFORM:
            x, error = u * m, RELATIVE_ERROR * m
        else:
            filled = -math.expm1(-span)
            gap = 1.0 - u * filled
            if gap < _NEARLY_ONE:
                codes[place] = -1
                continue
            x = -math.log1p(-u * filled) / theta
            error = RELATIVE_ERROR * x + _ARGUMENT_ERROR * filled / (gap * theta)
        top = float(m - 1)
        least = min(max(np.floor(x - error), 0.0), top)
        codes[place] = int(least) if least == min(np.floor(x + error), top) else -1


_draw_compiled = compiled(_draw)
_draw_for: Callable[[int], Callable[[Integers, Words, float, int], None]] = plain_until_worth_compiling(
    _draw, _draw_compiled, items=20_000
)


def _settled_code(concentration: float, remaining: int, word: int, source: RandomSource) -> int:
    theta = Decimal(concentration)

    def value(u: Decimal) -> Decimal:
        left = 1 - u * (1 - (-theta * remaining).exp())
        return -left.ln() / theta if left > 0 else Decimal("Infinity")

    # A small concentration makes 1 - exp(...) lose digits, and its quotient errors grow.
    return settled_floor(value, word, source, most=remaining - 1, digits=3 * max(0, -theta.adjusted()))


class ItemsLeft(Protocol):
    """Items 0, 1, 2, ... not yet taken; each Lehmer code takes one item."""

    def take(self, codes: Integers) -> None:
        """Replace each code by the item that it takes, and remove the item.

        It is the remaining item with ``code`` others before it.
        """
        ...


def items_left(num_items: int) -> ItemsLeft:
    """Complete set of the items 0, ..., num_items - 1."""
    return _items_for(num_items)(num_items)


class _PlainItems:
    """Remaining items as a reversed list.

    Small codes are near its end, where removal is cheap.
    """

    def __init__(self, num_items: int) -> None:
        self._left = list(range(num_items))[::-1]

    def take(self, codes: Integers) -> None:
        codes[:] = [self._left.pop(-1 - code) for code in codes.tolist()]


class _CompiledItems:
    """Remaining items as bits of 64-bit words, with a binary tree of counts.

    About a quarter of a byte for each item.
    """

    def __init__(self, num_items: int) -> None:
        self._words, self._lefts = _plant_compiled(num_items)

    def take(self, codes: Integers) -> None:
        _take_compiled(codes, self._words, self._lefts)


def _plant(num_items: int) -> tuple[Words, NDArray[np.int32]]:
    """Bits of all items, and the tree of counts.

    Each tree node counts the remaining items in its lower half.
    """
    words = np.full((num_items + 63) // 64, ~np.uint64(0))
    leaves = 1
    while leaves < words.size:
        leaves *= 2
    lefts = np.zeros(leaves, dtype=np.int32)
    nodes, half = 1, 32 * leaves
    while nodes < leaves:
        for node in range(nodes):
            lefts[nodes + node] = min(max(num_items - 2 * half * node, 0), half)
        nodes, half = 2 * nodes, half // 2
    return words, lefts


def _take(codes: Integers, words: Words, lefts: NDArray[np.int32]) -> None:
    one, leaves = np.uint64(1), lefts.size
    for place in range(codes.size):
        code, node = int(codes[place]), 1
        while node < leaves:
            left = lefts[node]
            if code < left:
                lefts[node] = left - 1
                node = 2 * node
            else:
                code -= int(left)
                node = 2 * node + 1
        node -= leaves
        bit = _place_of_bit(words[node], code)
        words[node] ^= one << np.uint64(bit)
        codes[place] = 64 * node + bit


def _place_of_bit(word: Any, skipped: Any) -> int:
    """Place of the set bit in a word that has ``skipped`` set bits below it."""
    place, width = 0, 32
    while width:
        lower = word & ((np.uint64(1) << np.uint64(width)) - np.uint64(1))
        # Number of ones: sums of neighboring fields of 2, 4 and 8 bits, then all of them by one product.
        ones = lower - ((lower >> np.uint64(1)) & np.uint64(0x5555555555555555))
        ones = (ones & np.uint64(0x3333333333333333)) + ((ones >> np.uint64(2)) & np.uint64(0x3333333333333333))
        ones = (ones + (ones >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
        count = np.int64((ones * np.uint64(0x0101010101010101)) >> np.uint64(56))
        if skipped >= count:
            skipped -= count
            place += width
            word >>= np.uint64(width)
        width //= 2
    return place


_plant_compiled = compiled(_plant)
_take_compiled = compiled(_take, calls=(_place_of_bit,))
_items_for: Callable[[int], Callable[[int], ItemsLeft]] = plain_until_worth_compiling(
    _PlainItems, _CompiledItems, items=20_000
)
