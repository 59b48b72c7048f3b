"""Among whom a noisy sort mixes the people whom it mixes least."""

import numpy as np
from numpy.typing import NDArray

from shuffledp.models import SwapWindows
from shuffledp.shufflers.slots import window_sizes

__all__ = ["ROUND_UP", "worst_windows"]

Floats = NDArray[np.float64]

ROUND_UP = 1 + 1e-12
_PRICES = (0.3, 3.0, 30.0)  # of being among few: people are alike if they do alike at all of these
_CLASSES_PER_DOUBLING = 2


def worst_windows(at: Floats, starts: NDArray[np.int64]) -> tuple[SwapWindows, ...]:
    """Windows of consecutive ranks, cheapest for each size, of the people for whom they are dearest.

    People who are mixed about as well as each other form a class, and its windows cost what they cost the one of them
    for whom that is most. Classes that do better than another one at every size are left out: somebody worse off is in.

    Args:
        at: the position of each rank, nondecreasing in each block, in units of Laplace noise.
        starts: the first rank of each block, and the number of ranks last.
    """
    blocks = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    sizes = list(window_sizes(int(np.diff(starts).max())))
    scores = np.full((len(_PRICES), at.size), np.inf)
    for size in sizes:
        cost = _costs(at, blocks, size)
        for score, price in zip(scores, _PRICES, strict=True):
            np.minimum(score, price / np.sqrt(size) + cost, out=score)
    levels = np.floor(_CLASSES_PER_DOUBLING * np.log2(scores)).astype(np.int64)
    _, kinds, people = np.unique(levels, axis=1, return_inverse=True, return_counts=True)
    dearest = np.zeros((people.size, len(sizes)))
    for column, size in enumerate(sizes):
        np.maximum.at(dearest[:, column], kinds.ravel(), _costs(at, blocks, size))
    return tuple(_window(sizes, dearest[kind], int(people[kind])) for kind in _not_better(dearest))


def _costs(at: Floats, blocks: NDArray[np.int64], size: int) -> Floats:
    """For each rank the cost of the cheapest window of so many ranks of its block around it; infinite if none fits."""
    if size == 1:
        return np.zeros(at.size)
    first, last = slice(None, at.size - size + 1), slice(size - 1, None)
    costs = np.where(blocks[first] == blocks[last], 2 * (at[last] - at[first]) * ROUND_UP, np.inf)
    padded = np.concatenate([np.full(size - 1, np.inf), costs, np.full(size - 1, np.inf)])
    return _least_of_runs(padded, size)


def _least_of_runs(values: Floats, length: int) -> Floats:
    """The least of each run of so many values."""
    done, least = 1, values
    while done < length:
        step = min(done, length - done)
        least = np.minimum(least[:-step], least[step:])
        done += step
    return least


def _not_better(dearest: Floats) -> list[int]:
    """The classes that no other class exceeds at every size: whoever exceeds another one comes first here."""
    far = np.isinf(dearest)
    kept: list[int] = []
    for kind in np.lexsort((-np.where(far, 0.0, dearest).sum(axis=1), -far.sum(axis=1))).tolist():
        if not any((dearest[kind] <= dearest[other]).all() for other in kept):
            kept.append(kind)
    return kept


def _window(sizes: list[int], costs: Floats, people: int) -> SwapWindows:
    fits = np.isfinite(costs)
    return SwapWindows(
        sizes=tuple(size for size, fit in zip(sizes, fits, strict=True) if fit),
        costs=tuple(costs[fits].tolist()),
        people=people,
    )
