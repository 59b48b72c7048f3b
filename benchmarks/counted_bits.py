"""Counted bits: a million people with 94 bits each, beside random bits that numpy draws and packs."""

from collections.abc import Callable

import numpy as np

import shuffledp as sdp
from benchmarks.timing import compare

PEOPLE, VALUE_BITS, COINS = 1_000_000, 64, 30


def packed_random_bits() -> object:
    """As many random bits with a statistical generator, packed into bytes."""
    draw = np.random.default_rng()
    return np.packbits(draw.integers(0, 2, (PEOPLE, VALUE_BITS + COINS), dtype=np.uint8), axis=1)


def randomized() -> Callable[[], object]:
    """Cryptographic coins, exact rounding, checked input: every bit a report of its own."""
    values = np.random.default_rng(1).uniform(0, 100, PEOPLE)
    randomizer = sdp.CountedBits(num_users=PEOPLE, lower=0, upper=100, value_bits=VALUE_BITS, coins=COINS)
    return lambda: randomizer.randomize(values)


if __name__ == "__main__":
    contestants = {"numpy: random bits, packed": packed_random_bits, "counted bits": randomized()}
    compare(contestants, floor="numpy: random bits, packed")
