"""The keystream and what is drawn from it, beside numpy's statistical generator."""

import os
from functools import partial

import numpy as np

from benchmarks.timing import compare
from shuffledp.randomness.permutations import random_permutation
from shuffledp.randomness.sources import SecureSource, uniform_integers


def main() -> None:
    """Words, bounded integers, permutations."""
    source = SecureSource()
    draw = np.random.default_rng()
    count = 4_000_000
    print(f"{count:,} words of 64 bits\n")
    compare(
        {
            "numpy PCG64": lambda: draw.integers(0, 2**64 - 1, count, dtype=np.uint64, endpoint=True),
            "shuffledp": lambda: source.words(count),
            "os.urandom": lambda: np.frombuffer(os.urandom(8 * count), dtype=np.uint64),
        },
        floor="numpy PCG64",
    )
    print(f"\n{count:,} integers below 1000\n")
    compare(
        {
            "numpy": lambda: draw.integers(0, 1000, count),
            "shuffledp": lambda: uniform_integers(1000, count, source=source),
        },
        floor="numpy",
    )
    for items in (1_000_000, 10_000_000):
        print(f"\na permutation of {items:,}\n")
        compare(
            {
                "numpy": partial(draw.permutation, items),
                "shuffledp": partial(random_permutation, items, source=source),
            },
            floor="numpy",
            rounds=3,
        )


if __name__ == "__main__":
    main()
