"""Local hashing with a prime so small that the whole channel can be written down."""

from fractions import Fraction
from typing import ClassVar

import numpy as np

from shuffledp.core.channels import Channel
from shuffledp.randomizers import KaryRandomizedResponseModel, OptimizedLocalHashingModel

WORDS = 2**64


class SmallHashingModel(OptimizedLocalHashingModel):
    """Residues modulo 7: 49 functions. Output seed * g + y is the report (seed, y)."""

    __slots__ = ()
    kind: ClassVar[str] = "test-olh-7"
    modulus: ClassVar[int] = 7

    def channel(self, *, exact: bool = False) -> Channel:
        response, size = self.response, self.hash_range
        truth, other = (Fraction(words, 49 * WORDS) for words in (response.truth_words, response.share))
        rows = [
            [truth if y == by_hand(value, seed, 7, size) else other for seed in range(49) for y in range(size)]
            for value in range(self.domain_size)
        ]
        return Channel(np.array(rows, dtype=object if exact else np.float64))


def by_hand(value: int, seed: int, modulus: int, hash_range: int) -> int:
    """The documented formula in integers without limit."""
    return (seed // modulus * value + seed % modulus) % modulus * hash_range // modulus


def small(*, epsilon0: float, domain_size: int, hash_range: int) -> SmallHashingModel:
    response = KaryRandomizedResponseModel.from_epsilon0(epsilon0=epsilon0, domain_size=hash_range)
    return SmallHashingModel(domain_size=domain_size, response=response)
