"""Exact Mallows sampling for Kendall's, Hamming's and Cayley's distance."""

import math
from collections.abc import Iterator
from decimal import Decimal, getcontext, localcontext
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core import validate
from shuffledp.core.caching import compiled, plain_until_worth_compiling
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.table import Floats, Integers
from shuffledp.core.validate import invalid
from shuffledp.laws.exact_draws import (
    RELATIVE_ERROR,
    Bits,
    draw_codes,
    items_left,
    precise,
    settled_floor,
)
from shuffledp.randomness.permutations import random_permutation
from shuffledp.randomness.sources import RandomSource, high_product, resolve_source

DISTANCES = ("kendall", "hamming", "cayley")

_CHUNK = 2**16
_AT_A_TIME = 2**20  # places of a permutation


def sample_mallows(
    num_items: int, concentration: float, *, distance: str = "kendall", source: RandomSource | None = None
) -> Integers:
    """Random permutation w with Pr[w] proportional to exp(-concentration * d(w, identity)).

    The concentration is "theta" or "gamma" in papers. Kendall's distance counts the pairs that are out of order,
    Hamming's the items that have moved, and Cayley's the exchanges that are needed, n minus the number of cycles. The
    Lehmer code of a Kendall-Mallows permutation has independent places, each a truncated geometric number; a tree of
    counts over bits finds the items, in time O(n log n) for every concentration, and with a quarter of a byte of memory
    for each item beside the result. Place k holds item w[k].

    Guarantees:
        1. The law is exact for the float ``concentration`` if the words of the source are uniform, and if the float
           functions of the machine err by less than 2^-46 of their values: what lies that close to a boundary is
           decided in decimal arithmetic, with further words where the first do not suffice.
        2. Concentration 0 is the uniform law, and infinity always gives the identity.
        3. With ``source=None`` the words are those of `shuffledp.randomness.sources.SecureSource`.

    Args:
        num_items: n, from 0 to 2^31 - 1.
        concentration: 0 or more, infinity included.
        distance: "kendall", "hamming" or "cayley".
        source: None is the cryptographic source.

    Raises:
        InvalidParameterError: if an argument is out of range.

    References:
        Meehan, Roy-Chowdhury, Chaudhuri, Jha, "Privacy Implications of Shuffling", ICLR 2022, Definition 4.4.
        Doignon, Pekec, Regenwetter, "The repeated insertion model for rankings", Psychometrika 69(1), 2004 (the
        previous algorithm, of time O(n + inversions)).

    Example:
        >>> sample_mallows(4, math.inf).tolist()
        [0, 1, 2, 3]
    """
    validate.integer_at_least(0, num_items=num_items)
    if num_items >= 2**31:
        raise invalid("below 2**31", num_items=num_items)
    validate.nonnegative(concentration=concentration)
    validate.one_of(DISTANCES, distance=distance)
    return _whole(_parts(int(num_items), float(concentration), distance, resolve_source(source)))


def _parts(num_items: int, concentration: float, distance: str, source: RandomSource) -> Iterator[Integers]:
    """Random permutation in parts, from place 0 on.

    For Kendall's distance just one part is in memory.
    """
    if concentration == 0:
        yield random_permutation(num_items, source=source)
    elif concentration == math.inf:
        yield np.arange(num_items, dtype=np.int64)
    elif distance != "kendall":
        yield {"hamming": draw_hamming, "cayley": draw_cayley}[distance](num_items, concentration, source)
    else:
        left = items_left(num_items)
        for start in range(0, num_items, _AT_A_TIME):
            codes = np.empty(min(_AT_A_TIME, num_items - start), dtype=np.int64)
            draw_codes(concentration, codes, source, remaining=num_items - start)
            left.take(codes)
            yield codes


def _whole(parts: Iterator[Integers]) -> Integers:
    """Whole permutation from its parts; a single part is not copied."""
    kept = list(parts)
    return kept[0] if len(kept) == 1 else np.concatenate([np.empty(0, dtype=np.int64), *kept])


def sample_mallows_blocks(
    block_sizes: ArrayLike, concentrations: ArrayLike, *, distance: str = "kendall", source: RandomSource | None = None
) -> Integers:
    """Random permutation of consecutive blocks, each permuted independently.

    Blocks do not mix. Sizes are 0 or more; the rest, one concentration for all or one for each, is as for
    `sample_mallows`, as errors are.

    Example:
        >>> sample_mallows_blocks([1, 1, 2], [0.0, 0.0, np.inf]).tolist()
        [0, 1, 2, 3]
    """
    sizes = np.asarray(block_sizes)
    sizes = sizes if sizes.size else sizes.astype(np.int64)
    if sizes.ndim != 1 or not np.issubdtype(sizes.dtype, np.integer) or (sizes < 0).any():
        raise InvalidParameterError("block_sizes must be integers of 0 or more in one dimension.")
    thetas = np.asarray(concentrations, dtype=np.float64)
    if thetas.shape not in ((), sizes.shape) or not (thetas >= 0).all():
        raise InvalidParameterError("concentrations must be numbers of 0 or more, one for each block.")
    return _whole(mallows_parts(sizes, np.broadcast_to(thetas, sizes.shape), distance, resolve_source(source)))


def mallows_parts(sizes: Integers, thetas: Floats, distance: str, source: RandomSource) -> Iterator[Integers]:
    """Result of `sample_mallows_blocks` in parts, from place 0 on.

    A part is one of a large block, or many small blocks. The same words give the same permutation.
    """
    stops, first = np.cumsum(sizes), 0
    while first < sizes.size:
        start = int(stops[first] - sizes[first])
        if sizes[first] > _AT_A_TIME:
            parts = _parts(int(sizes[first]), float(thetas[first]), distance, source)
            yield from (np.add(part, start, out=part) for part in parts)
            first += 1
            continue
        after = int(np.searchsorted(stops, start + _AT_A_TIME, side="right"))
        ranks = np.arange(start, int(stops[after - 1]), dtype=np.int64)
        for block in (first + np.flatnonzero(sizes[first:after] > 1)).tolist():
            low, high = int(stops[block] - sizes[block]), int(stops[block])
            drawn = sample_mallows(high - low, float(thetas[block]), distance=distance, source=source)
            ranks[low - start : high - start] = low + drawn
        yield ranks
        first = after


# ---- Hamming's and Cayley's distance, drawn without error ------------------------------------------------------------


def draw_hamming(num_items: int, concentration: float, source: RandomSource) -> Integers:
    """Random permutation with probability proportional to exp(concentration * fixed points).

    Since exp(theta f) is the sum of (exp(theta) - 1)^|S| over all subsets S of f fixed points, it suffices to draw S,
    whose size is a Poisson number given that it is at most n, and to permute everybody else uniformly.
    """
    num_kept = draw_num_kept(num_items, concentration, source)
    moved = np.sort(random_permutation(num_items, source=source)[num_kept:])
    items = np.arange(num_items, dtype=np.int64)
    items[moved] = moved[random_permutation(moved.size, source=source)]
    return items


def draw_num_kept(num_items: int, concentration: float, source: RandomSource) -> int:
    """Random number S of 0, ..., n with Pr[S = s] proportional to (exp(concentration) - 1)^s / s!."""
    bits = Bits(int(source.words(1)[0]))
    while True:
        bits.extend(source)
        with localcontext(precise(20 + bits.count // 3)):
            found = _count_between(bits.ends(), num_items, concentration)
        if found is not None:
            return found


def _count_between(ends: tuple[Decimal, Decimal], num_items: int, concentration: float) -> int | None:
    """Count at which the distribution function first exceeds the random number; None if undecided.

    The number lies between the two ``ends``; it is undecided if they disagree. All weights come from the largest by
    products of quotients. Every product errs by a few units of the last digit, so that a sum errs by less than ten
    units for each step; and weights are left out only where all of them together are less than one unit.
    """
    theta = Decimal(concentration)
    mean = theta.exp() - 1 if theta > 1 else _expm1(theta)
    unit = Decimal(10) ** (9 - getcontext().prec)
    mode = num_items if mean >= num_items else int(mean)
    below, above = [], []
    weight, count = Decimal(1), mode
    while count and weight * num_items > unit:
        weight = weight * count / mean
        count -= 1
        below.append(weight)
    weight, first, count = Decimal(1), count, mode
    while count < num_items and weight * num_items > unit:
        count += 1
        weight = weight * mean / count
        above.append(weight)
    weights = [*reversed(below), Decimal(1), *above]
    total, error = sum(weights), 10 * len(weights) * unit
    passed = Decimal(0)
    for place, weight in enumerate(weights):
        passed += weight
        if ends[0] * total < passed + error:
            kept = first + place
            above_last = kept == 0 or passed - weight + error < ends[0] * total
            below_next = kept == num_items or ends[1] * total < passed - error
            return kept if above_last and below_next else None
    return None


def _expm1(x: Decimal) -> Decimal:
    """Value exp(x) - 1 for x from 0 to 1, without cancellation."""
    total, term, count = Decimal(0), Decimal(1), 0
    while total + term != total or not count:
        count += 1
        term = term * x / count
        total += term
    return total


def draw_cayley(num_items: int, concentration: float, source: RandomSource) -> Integers:
    """Random permutation with probability proportional to exp(-concentration * (n - cycles)).

    Item k = 1, ..., n - 1 changes places with a uniform earlier one with probability k q / (1 + k q), and q is
    exp(-concentration): that adds k q weight to the one way of leaving it alone.
    """
    items = np.arange(num_items, dtype=np.int64)
    for start in range(1, num_items, _CHUNK):
        places = np.arange(start, min(start + _CHUNK, num_items), dtype=np.int64)
        places = places[_swapping(places, concentration, source)]
        partners = _below(places, source)
        _swap_for(places.size)(items, places, partners)
    return items


def _swapping(places: Integers, concentration: float, source: RandomSource) -> NDArray[np.bool_]:
    words = source.words(places.size)
    weights = places * np.exp(-concentration)
    chances = weights / (1 + weights)
    uniform = words * 2.0**-64
    swapping: NDArray[np.bool_] = uniform < chances
    for place in np.flatnonzero(np.abs(uniform - chances) <= RELATIVE_ERROR * chances + 2.0**-52).tolist():
        swapping[place] = _settled_coin(int(places[place]), concentration, int(words[place]), source)
    words.fill(0)
    return swapping


def _settled_coin(place: int, concentration: float, word: int, source: RandomSource) -> bool:
    """Exact decision of a coin that is True with probability k q / (1 + k q), with k = ``place`` and q = exp(-theta).

    That is, u (1 + e^theta / k) < 1.
    """
    odds = 1 + Decimal(concentration).exp(precise(200)) / place

    def value(u: Decimal) -> Decimal:
        return u * odds

    return settled_floor(value, word, source, most=1) == 0


def _below(bounds: Integers, source: RandomSource) -> Integers:
    """Independent integers, each uniform below its own bound.

    As in `shuffledp.randomness.sources.uniform_integers`.
    """
    out = np.empty(bounds.size, dtype=np.int64)
    pending = np.arange(bounds.size)
    while pending.size:
        words = source.words(pending.size)
        factors: Any = bounds[pending].astype(np.uint64)
        out[pending] = high_product(words, factors)
        kept = words * factors >= (~factors + np.uint64(1)) % factors
        pending = pending[~kept]
        words.fill(0)
    return out


def _swap(items: Integers, places: Integers, partners: Integers) -> None:
    for step in range(places.size):
        place, partner = places[step], partners[step]
        items[place], items[partner] = items[partner], items[place]


_swap_compiled = compiled(_swap)
_swap_for = plain_until_worth_compiling(_swap, _swap_compiled, items=200_000)
