"""Permutations near the identity in Hamming's and in Cayley's distance, drawn without error."""

from decimal import Decimal, getcontext, localcontext
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shuffledp._kernels import compiled, plain_until_worth_compiling
from shuffledp.laws._settled import RELATIVE_ERROR, Bits, precise, settled_floor
from shuffledp.permutations import random_permutation
from shuffledp.randomness import high_product

if TYPE_CHECKING:
    from shuffledp.randomness import RandomSource

__all__ = ["draw_cayley", "draw_hamming", "draw_num_kept"]

Integers = NDArray[np.int64]

_CHUNK = 2**16


def draw_hamming(num_items: int, concentration: float, source: "RandomSource") -> Integers:
    """A permutation of probability proportional to exp(concentration * fixed points).

    Since exp(theta f) is the sum of (exp(theta) - 1)^|S| over all subsets S of f fixed points, it suffices to draw S,
    whose size is a Poisson number given that it is at most n, and to permute everybody else uniformly.
    """
    num_kept = draw_num_kept(num_items, concentration, source)
    moved = np.sort(random_permutation(num_items, source=source)[num_kept:])
    items = np.arange(num_items, dtype=np.int64)
    items[moved] = moved[random_permutation(moved.size, source=source)]
    return items


def draw_num_kept(num_items: int, concentration: float, source: "RandomSource") -> int:
    """A number S of 0, ..., n with Pr[S = s] proportional to (exp(concentration) - 1)^s / s!."""
    bits = Bits(int(source.words(1)[0]))
    while True:
        bits.extend(source)
        with localcontext(precise(20 + bits.count // 3)):
            found = _count_between(bits.ends(), num_items, concentration)
        if found is not None:
            return found


def _count_between(ends: tuple[Decimal, Decimal], num_items: int, concentration: float) -> int | None:
    """The count at which the distribution function passes both ends, or None if they do not tell.

    All weights come from the largest by products of quotients. Every product errs by a few units of the last digit, so
    that a sum errs by less than ten units for each step; and weights are left out only where all of them together are
    less than one unit.
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
    """exp(x) - 1 for x from 0 to 1, without cancellation."""
    total, term, count = Decimal(0), Decimal(1), 0
    while total + term != total or not count:
        count += 1
        term = term * x / count
        total += term
    return total


def draw_cayley(num_items: int, concentration: float, source: "RandomSource") -> Integers:
    """A permutation of probability proportional to exp(-concentration * (n - cycles)).

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


def _swapping(places: Integers, concentration: float, source: "RandomSource") -> NDArray[np.bool_]:
    words = source.words(places.size)
    weights = places * np.exp(-concentration)
    chances = weights / (1 + weights)
    uniform = words * 2.0**-64
    swapping: NDArray[np.bool_] = uniform < chances
    for place in np.flatnonzero(np.abs(uniform - chances) <= RELATIVE_ERROR * chances + 2.0**-52).tolist():
        swapping[place] = _settled_coin(int(places[place]), concentration, int(words[place]), source)
    words.fill(0)
    return swapping


def _settled_coin(place: int, concentration: float, word: int, source: "RandomSource") -> bool:
    """Whether u < k q / (1 + k q), that is, u (1 + e^theta / k) < 1."""
    odds = 1 + Decimal(concentration).exp(precise(200)) / place

    def value(u: Decimal) -> Decimal:
        return u * odds

    return settled_floor(value, word, source, most=1) == 0


def _below(bounds: Integers, source: "RandomSource") -> Integers:
    """Integers that are uniform below each bound, as `shuffledp.randomness.uniform_integers` draws them."""
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
