"""Local hashing: each person hashes the answer by a random function, and randomizes the hash.

The hash has a small range. Float-free: functions are drawn as integers, and the hashed answer goes through
`KaryRandomizedResponse`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.guarantees import LocalDP
from shuffledp.core.local_models import FrequencyModel
from shuffledp.core.report_laws import TwoLevelLaw
from shuffledp.core.validate import invalid
from shuffledp.randomizers.families import Categories, CategoryRandomizer, Columns
from shuffledp.randomizers.inputs import check_categories, check_integer_columns
from shuffledp.randomizers.randomized_response import KaryRandomizedResponse, KaryRandomizedResponseModel
from shuffledp.randomizers.sampling.coins import RESOLUTION, WORDS
from shuffledp.randomness.sources import RandomSource, uniform_integers

_BATCH = 1 << 14  # reports handled at a time: what is known of them stays in the processor's cache
_LARGEST_RANGE = 2**20  # up to here randomized response over it is representable at every loss


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizedLocalHashingModel(FrequencyModel):
    """Public description of optimized local hashing.

    A seed, uniform on 0, ..., P^2 - 1 with the prime P = ``modulus``, is a pair a, b = divmod(seed, P) and stands for
    the function h(v) = floor(((a v + b) mod P) g / P) to 0, ..., g - 1, with g = ``hash_range``. For two different
    values below P the pair of residues (a v + b) mod P is exactly uniform, so the functions are strongly universal but
    for the last step, in which t = P mod g of the hashed values get one residue more than the others. Two values
    collide with probability 1/g + t (g - t) / (g P^2), exactly, and so `q` is not quite 1/g; it is exact.

    Since the seed is drawn afresh for each report, and is part of it, all people apply one randomizer: answer in,
    (seed, value) out. Seeds handed out by the analyst would make it one that depends on the user.

    Args:
        domain_size: number of possible answers k, from 2 to P.
        response: the randomized response that the hashed answer goes through; its domain is the hash range.
    """

    kind: ClassVar[str] = "olh"
    modulus: ClassVar[int] = 2**31 - 1  # prime; residues, and sums of two, fit in 32 bits
    domain_size: int
    response: KaryRandomizedResponseModel

    def __post_init__(self) -> None:
        validate.integer_at_least(2, domain_size=self.domain_size)
        validate.instance_of(KaryRandomizedResponseModel, response=self.response)
        if self.domain_size > self.modulus:
            raise invalid(f"at most {self.modulus}, which hashing tells apart", domain_size=self.domain_size)
        _check_range_size(self.response.domain_size, min(self.modulus, _LARGEST_RANGE))
        object.__setattr__(self, "domain_size", int(self.domain_size))

    @classmethod
    def from_epsilon0(cls, *, epsilon0: float, domain_size: int, hash_range: int | None = None) -> Self:
        """Model with the largest representable local loss of at most ``epsilon0``."""
        validate.positive(epsilon0=epsilon0)
        largest = math.log(_LARGEST_RANGE - 1)
        if not RESOLUTION <= epsilon0 <= largest:
            raise invalid(
                f"from {RESOLUTION:g} to {largest:.4g}, beyond which hashing gains nothing", epsilon0=epsilon0
            )
        if hash_range is None:
            hash_range = round(math.exp(epsilon0)) + 1
        _check_range_size(hash_range, _LARGEST_RANGE)
        response = KaryRandomizedResponseModel.from_epsilon0(epsilon0=epsilon0, domain_size=hash_range)
        return cls(domain_size=domain_size, response=response)

    @property
    def hash_range(self) -> int:
        """Number g of possible hashes."""
        return self.response.domain_size

    @property
    def num_seeds(self) -> int:
        """Number of hash functions, P^2."""
        return self.modulus**2

    @property
    def collision(self) -> Fraction:
        """Exact probability that two given different values have the same hash, over random seeds."""
        share, larger = divmod(self.modulus, self.hash_range)
        pairs = larger * (share + 1) ** 2 + (self.hash_range - larger) * share**2
        return Fraction(pairs, self.num_seeds)

    @property
    def p(self) -> float:
        """Probability that a report supports its sender's answer.

        That is, that the response is the true hash.
        """
        return self.response.p

    @property
    def q(self) -> float:
        """Probability that a report supports a given other value.

        By a collision and a true response, or by neither.
        """
        truth, other = Fraction(self.response.truth_words, WORDS), Fraction(self.response.share, WORDS)
        return float(self.collision * truth + (1 - self.collision) * other)

    @property
    def report_bits(self) -> int:
        """Size of one report in bits: the bits of the seed and the hash."""
        return (self.num_seeds - 1).bit_length() + self.response.report_bits

    @property
    def guarantee(self) -> LocalDP:
        """Local guarantee of the response, for each seed.

        The seed does not depend on the answer.
        """
        return self.response.guarantee

    def hashed(self, values: NDArray[Any], seeds: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Hash of each value by the function of the value's seed; in range(hash_range).

        All arrays have the shape (n,).
        """
        modulus = np.uint64(self.modulus)
        factors, shifts = np.divmod(seeds, modulus)
        residues = (factors * values.astype(np.uint64) + shifts) % modulus
        return residues * np.uint64(self.hash_range) // modulus

    @property
    def two_level(self) -> TwoLevelLaw:
        """Two-level law against the uniform law of seed and hash.

        The set of a value has all pairs with its hash. Of k sets with overlap o the union is at most k share - (k - 1)
        o (Hunter 1976, with one set as the center).
        """
        share, overlap = Fraction(1, self.hash_range), self.collision / self.hash_range
        union = min(float(self.domain_size * share - (self.domain_size - 1) * overlap), 1.0)
        bounded = self.domain_size > 2
        return TwoLevelLaw(share=float(share), overlap=float(overlap), union=union, is_union_bound=bounded)

    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Check the integer columns ``seed`` in range(P^2) and ``value`` in range(g)."""
        check_integer_columns(columns, "seed", "value")
        check_categories(columns["seed"], self.num_seeds, "seeds")
        check_categories(columns["value"], self.hash_range, "reports")

    def supports(self, columns: Mapping[str, NDArray[Any]], value: int) -> NDArray[np.bool_]:
        """Mask of the reports whose function hashes this value to the reported hash."""
        seeds = columns["seed"].astype(np.uint64)
        same: NDArray[np.bool_] = self.hashed(np.full(len(seeds), value), seeds) == columns["value"].astype(np.uint64)
        return same

    def support_counts(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
        """Number of reports that support each value.

        A report supports about one value in g. Time n k, about a nanosecond each; memory for a batch of reports and for
        the counts.
        """
        counts = np.zeros(self.domain_size, dtype=np.int64)
        for start in range(0, len(columns["seed"]), _BATCH):
            batch = slice(start, start + _BATCH)
            self._add_support(counts, columns["seed"][batch].astype(np.uint64), columns["value"][batch])
        return counts

    def _add_support(self, counts: NDArray[np.int64], seeds: NDArray[np.uint64], reports: NDArray[Any]) -> None:
        """Add the support of a batch of reports to ``counts``, one value after another.

        From v to v + 1 each residue grows by its report's a, modulo P. h(v) = y means that the residue is in [ceil(y P
        / g), ceil((y + 1) P / g)). Differences below zero wrap, so that one comparison tests both ends, and the smaller
        of x and x - P is x mod P.
        """
        modulus, size = self.modulus, self.hash_range
        edges = -(-(reports.astype(np.int64)[:, None] + np.arange(2)) * modulus // size)
        first = edges[:, 0].astype(np.uint32)
        count = (edges[:, 1] - edges[:, 0]).astype(np.uint32)
        factors, residues = (part.astype(np.uint32) for part in np.divmod(seeds, np.uint64(modulus)))
        inside, scratch = np.empty(len(seeds), dtype=np.bool_), np.empty_like(residues)
        for value in range(self.domain_size):
            np.subtract(residues, first, out=scratch)
            np.less(scratch, count, out=inside)
            counts[value] += np.count_nonzero(inside)
            np.add(residues, factors, out=residues)
            np.subtract(residues, np.uint32(modulus), out=scratch)
            np.minimum(residues, scratch, out=residues)


def _check_range_size(hash_range: int, largest: int) -> None:
    validate.integer_at_least(2, hash_range=hash_range)
    if hash_range > largest:
        raise invalid(f"at most {largest}", hash_range=hash_range)


class OptimizedLocalHashing(CategoryRandomizer):
    """Optimized local hashing (OLH; with hash_range=2, binary local hashing BLH).

    Each report is a seed, drawn afresh, and the answer hashed by the function of that seed to g values and put through
    k-ary randomized response over these. g = round(exp(epsilon0)) + 1 makes the error about as small as that of
    optimized unary encoding, with reports of 62 + log2(g) bits for every domain: the columns ``seed``, uint64, and
    ``value``, in the smallest unsigned dtype that holds the hash range.

    Guarantees:
        1. Given any seed, and so altogether, each report is (epsilon0, 0)-locally differentially private, exactly, for
           ``model.epsilon0``, which is at most the epsilon0 asked for and differs from it by less than 1e-6.
        2. Seeds are exactly uniform, and independent of the answers.
        3. Reports support the true answer with probability ``model.p`` and any given other value with ``model.q``,
           exactly: what hash functions lack of being ideal is in q, and does not bias estimates.
        4. Reports of different people are independent.
        5. Counting support holds a batch of reports and one count per value, and never a matrix of both.

    Args:
        epsilon0: local privacy loss in nats, from 1e-6 to 13.8.
        domain_size: number of possible answers k, from 2 to 2^31 - 1; answers are the integers 0..k-1.
        categories: the k answers themselves, in place of their number; public, and fixed before anybody answers. Two
            lists are those of two answers that are randomized jointly, and `Bins` those that numbers are put into.
        hash_range: number of hashed values g, from 2 to 2^20; None for the best one.

    Raises:
        InvalidParameterError: for parameters outside these ranges.

    References:
        Wang, Blocki, Li, Jha 2017 (the protocol OLH and its g); Carter, Wegman 1979 (the functions, class H_1).

    Example:
        >>> randomizer = OptimizedLocalHashing(epsilon0=2.0, domain_size=1000)
        >>> randomizer.model.hash_range, round(randomizer.model.p, 4), round(randomizer.model.q, 4)
        (8, 0.5135, 0.125)
        >>> list(randomizer.randomize([0, 999, 5]))
        ['seed', 'value']
    """

    model_type: ClassVar[type[Any]] = OptimizedLocalHashingModel
    shown: ClassVar[tuple[str, ...]] = ("epsilon0", "domain_size", "hash_range")
    best_for: ClassVar[str] = "many categories, few people"
    model: OptimizedLocalHashingModel

    def __init__(
        self,
        *,
        epsilon0: float,
        domain_size: int | None = None,
        categories: Categories | None = None,
        hash_range: int | None = None,
    ) -> None:
        self._solve(domain_size, categories, epsilon0=epsilon0, hash_range=hash_range)

    def _randomized(self, answers: NDArray[Any], source: RandomSource) -> Columns:
        respond = KaryRandomizedResponse.from_model(self.model.response)
        seeds = np.empty(len(answers), dtype=np.uint64)
        reports = np.empty(len(answers), dtype=np.min_scalar_type(self.model.hash_range - 1))
        for start in range(0, len(answers), _BATCH):
            batch = slice(start, start + _BATCH)
            seeds[batch] = uniform_integers(self.model.num_seeds, len(answers[batch]), source=source)
            hashed = self.model.hashed(answers[batch], seeds[batch])
            reports[batch] = respond.randomize(hashed, source=source)["value"]
        return {"seed": seeds, "value": reports}
