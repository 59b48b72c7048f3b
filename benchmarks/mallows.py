"""Mallows permutations and noisy sorts, beside repeated insertion, the previous algorithm, and prefsampling."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.timing import compare
from shuffledp.core.caching import compiled
from shuffledp.laws import sample_mallows, sample_noisy_sort

CONCENTRATIONS = (1e-8, 1e-5, 1e-3, 0.1, 1.0)


@compiled
def insert_repeatedly(num_items: int, theta: float, uniform: NDArray[np.float64]) -> NDArray[np.int64]:
    """Items are inserted one by one, each a truncated geometric number of places before the end: time O(inversions)."""
    items = np.empty(num_items, dtype=np.int64)
    for item in range(num_items):
        span = theta * (item + 1)
        back = min(int(-math.log1p(uniform[item] * math.expm1(-span)) / theta), item)
        place = item - back
        for shifted in range(item, place, -1):
            items[shifted] = items[shifted - 1]
        items[place] = item
    return items


def previous(num_items: int, theta: float) -> Callable[[], object]:
    """Repeated insertion with numpy's statistical generator, compiled."""
    draw = np.random.default_rng()
    return lambda: insert_repeatedly(num_items, theta, draw.random(num_items))


def peer(num_items: int, theta: float) -> dict[str, Callable[[], object]]:
    """The sampler of prefsampling, if it is installed: repeated insertion in Python, of time O(n^2)."""
    try:
        from prefsampling.ordinal import mallows
    except ImportError:
        return {}
    order = np.arange(num_items)
    return {"prefsampling": lambda: mallows(1, num_items, math.exp(-theta), central_vote=order)}


def by_numpy(at: NDArray[np.float64]) -> NDArray[np.int64]:
    """A noisy sort in numpy alone."""
    order: NDArray[np.int64] = np.argsort(at + np.random.default_rng().normal(0, 1000, at.size))
    return order


def main() -> None:
    """Permutations from a thousand to ten million items, over the whole range of concentrations."""
    for items in (1_000, 100_000, 1_000_000, 10_000_000):
        for theta in CONCENTRATIONS if items > 1_000 else (0.01,):
            print(f"\n{items:,} items, concentration {theta:g}\n")
            contestants: dict[str, Callable[[], object]] = {"shuffledp": partial(sample_mallows, items, theta)}
            if items <= 100_000 or (items == 1_000_000 and theta >= 1e-3):
                contestants["repeated insertion"] = previous(items, theta)
            if items == 1_000:
                contestants |= peer(items, theta)
            compare(contestants, floor="shuffledp", rounds=3 if items > 100_000 else 7)
    for items in (100_000, 1_000_000):
        print(f"\nother laws, {items:,} items\n")
        at = np.arange(items, dtype=np.float64)
        compare(
            {
                "kendall": partial(sample_mallows, items, 1e-3),
                "hamming": partial(sample_mallows, items, math.log(items), distance="hamming"),
                "cayley": partial(sample_mallows, items, math.log(items), distance="cayley"),
                "laplace sort": partial(sample_noisy_sort, at, scale=1000),
                "gaussian sort": partial(sample_noisy_sort, at, noise="gaussian", scale=1000),
                "numpy normal and argsort": partial(by_numpy, at),
            },
            floor="kendall",
            rounds=3,
        )


if __name__ == "__main__":
    main()
