"""Permutations of 0, ..., n - 1 as int64 arrays: exact uniform sampling, inverse and product.

Convention: a permutation p is the array of its images, i -> p[i], and ``items[p]`` puts item p[i] into place i.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core.caching import compiled, plain_until_worth_compiling
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.validate import integer_at_least
from shuffledp.randomness.sources import RandomSource, high_product, resolve_source

_CHUNK_WORDS = 2**16
_AT_A_TIME = 2**20  # images that are inverted
_ONE = np.uint64(1)
_MANY_ROWS = 1 << 22  # from which on memory is what a shuffle takes time for


def random_permutation(num_items: int, *, source: RandomSource | None = None) -> NDArray[np.int64]:
    """Uniformly random permutation of ``num_items`` items, as an int64 array.

    Fisher and Yates's shuffle (Durstenfeld's form): for i = n - 1, ..., 1 the item in place i is exchanged with the one
    in a place that is uniform on 0, ..., i, drawn as in `shuffledp.randomness.sources.uniform_integers`. The first
    million items of a process are exchanged in plain Python, the others by a compiled kernel: the same for the same
    words.

    Guarantees:
        1. Every permutation has the same probability, exactly, if the words are uniform: integers are compared and
           rejected, and no float occurs.
        2. With ``source=None`` the words are those of `shuffledp.randomness.sources.SecureSource`.

    Raises:
        InvalidParameterError: if ``num_items`` is not an integer of 0 or more.

    References:
        R. Durstenfeld, "Algorithm 235: Random permutation", CACM 7(7), 1964.

    Example:
        >>> sorted(random_permutation(4).tolist())
        [0, 1, 2, 3]
    """
    integer_at_least(0, num_items=num_items)
    source = resolve_source(source)
    items: Any = np.arange(num_items, dtype=np.int64)
    exchange = _exchange_for(items.size)
    if exchange is _exchange_plainly:
        items = items.tolist()
    _exchange_all(items, exchange, source)
    return np.asarray(items, dtype=np.int64)


def shuffle_in_place(rows: NDArray[np.unsignedinteger], *, source: RandomSource | None = None) -> None:
    """Shuffle rows in place, in the order that `random_permutation` gives from the same words.

    Without the numbers, rows of few bytes stay near each other in memory, which is what many rows take time for.
    """
    exchange = _exchange_for(len(rows))
    items: Any = rows.tolist() if exchange is _exchange_plainly else rows
    _exchange_all(items, exchange, resolve_source(source))
    rows[:] = items


def shuffled_together(
    columns: Mapping[str, NDArray[Any]], *, source: RandomSource | None = None
) -> dict[str, NDArray[Any]]:
    """Columns shuffled together by `shuffle_in_place`; empty unless rows are very many and narrow.

    A row is narrow if it has 1, 2 or 4 bytes in all columns together.
    """
    arrays, width = list(columns.values()), sum(column.itemsize for column in columns.values())
    if width not in (1, 2, 4) or len(arrays[0]) < _MANY_ROWS or any(each.ndim > 1 for each in arrays):
        return {}
    rows = np.empty(len(arrays[0]), dtype=[(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        rows[name] = column
    shuffle_in_place(rows.view(f"u{width}"), source=source)
    return {name: np.ascontiguousarray(rows[name]) for name in columns}


def _exchange_all(items: Any, exchange: Callable[[Any, int, NDArray[np.uint64]], int], source: RandomSource) -> None:
    """Exchange each item with a random item, from the last place to the first."""
    position = len(items) - 1
    scratch = np.empty(min(max(position, 0), _CHUNK_WORDS), dtype=np.uint64)
    while position > 0:
        words = scratch[:position]  # every place takes at least one word, so none is fetched in vain
        source.fill(words)
        position = exchange(items, position, words)
    scratch.fill(0)


def _exchange_plainly(items: list[int], position: int, words: NDArray[np.uint64]) -> int:
    """Exchange items from ``position`` downward with items drawn by ``words``; return the next place.

    Words that would make the draw uneven are skipped. In Python's integers, which have no limit.
    """
    for word in words.tolist():
        product = word * (position + 1)
        if product % 2**64 < 2**64 % (position + 1):
            continue
        chosen = product >> 64
        items[position], items[chosen] = items[chosen], items[position]
        position -= 1
    return position


def _exchange(items: NDArray[np.int64], position: int, words: NDArray[np.uint64]) -> int:
    """Do the same as `_exchange_plainly`, but in 64-bit arithmetic, which can be compiled."""
    for word in words:
        bound = np.uint64(position) + _ONE
        lower = word * bound
        # 2^64 mod bound is below bound, so the division is rare.
        if lower < bound and lower < (~bound + _ONE) % bound:
            continue
        chosen = high_product(word, bound)
        items[position], items[chosen] = items[chosen], items[position]
        position -= 1
    return position


_exchange_compiled = compiled(_exchange, calls=(high_product,))
_exchange_for: Callable[[int], Callable[[Any, int, NDArray[np.uint64]], int]] = plain_until_worth_compiling(
    _exchange_plainly, _exchange_compiled, items=1_000_000
)


def is_permutation(candidate: ArrayLike) -> bool:
    """Whether a one-dimensional array of n integers holds each of 0, ..., n - 1 once."""
    array = np.asarray(candidate)
    if array.ndim != 1 or (array.size > 0 and not np.issubdtype(array.dtype, np.integer)):
        return False
    if array.size == 0:
        return True
    if array.min() < 0 or array.max() >= array.size:
        return False
    seen = np.zeros(array.size, dtype=np.bool_)
    seen[array] = True
    return bool(seen.all())


def invert(permutation: ArrayLike) -> NDArray[np.int64]:
    """Inverse q of a permutation p, as int64: q[p[i]] = i.

    Raises:
        InvalidParameterError: if the array is not a permutation of 0, ..., n - 1.
    """
    images = _checked(permutation=permutation)
    inverse = np.empty(images.size, dtype=np.int64)
    for start in range(0, images.size, _AT_A_TIME):
        part = images[start : start + _AT_A_TIME]
        inverse[part] = np.arange(start, start + part.size)
    return inverse


def compose(a: ArrayLike, b: ArrayLike) -> NDArray[np.int64]:
    """Product of two permutations, with b applied first: ``compose(a, b)[i] = a[b[i]]``.

    So ``items[compose(a, b)]`` is ``items[a][b]``, and ``compose(p, invert(p))`` is the identity.

    Raises:
        InvalidParameterError: if one is not a permutation, or the lengths differ.
    """
    outer, inner = _checked(a=a), _checked(b=b)
    if outer.size != inner.size:
        raise InvalidParameterError(f"a and b must have the same length; got {outer.size} and {inner.size}.")
    return outer[inner]


def _checked(**named: ArrayLike) -> NDArray[np.int64]:
    ((name, candidate),) = named.items()
    array = np.asarray(candidate)
    if not is_permutation(array):  # which one it is may be secret, so the message does not show it
        raise InvalidParameterError(
            f"{name} must hold each of 0, ..., n - 1 once; got an array of shape {array.shape}."
        )
    return array.astype(np.int64, copy=False)
