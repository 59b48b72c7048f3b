"""Public descriptions of randomizers whose reports are meaningful only as a sum over all people.

A `SumModel` says what every such sum has: a range, and how many people's noise suffices. Its messages are additive
shares modulo q (`ShareModel`), with discrete Laplace (`LaplaceShareModel`) or discrete Gaussian noise
(`GaussianShareModel`), or bits that are counted (`BitSumModel`).
"""

import math
from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.local_models import LocalModel
from shuffledp.core.statement_terms import Trust

LARGEST_WRAP_PROBABILITY = 0.05  # of a sum modulo q: above it, it may well be decoded as a quite different one


class SumModel(LocalModel):
    """Randomizer whose reports hide nothing until they are shuffled, and are meaningful only as a sum."""

    __slots__ = ()
    alone: ClassVar[str]  # what a person's messages tell before the shuffles, in words
    treated: str = "every answer is split into shares, which the shuffler mixes"
    price: str  # what the shuffles are trusted with, in words
    num_users: int  # planned; fewer may come
    lower: float
    upper: float
    dimension: int  # coordinates, 1 for numbers
    noise_users: int  # whose noise suffices

    @property
    def trust(self) -> tuple[Trust, ...]:
        """Trust that no party adds up the messages of one person, and thereby reads the answer."""
        return (Trust.ALL_SHARES,)

    @property
    def sensitivities(self) -> tuple[float, float]:
        """Largest change of the released sum by one answer, in sum norm and in Euclidean norm."""
        return self.upper - self.lower, self.upper - self.lower

    @abstractmethod
    def sum_variance(self, people: int) -> float:
        """Variance of each coordinate of a sum over ``people``, in squared units of the values.

        The variance of rounding enters as a bound.
        """


class ShareModel(SumModel):
    """Randomizer whose reports are additive shares modulo q.

    Each person sends ``num_shares`` messages for each block of coordinates, k = ``messages_per_round`` of them in one
    round: share s of block c goes in round (c * num_shares + s) // k. All residues of a coordinate, added up modulo q,
    tell the noisy sum.
    """

    __slots__ = ()
    alone = (
        "All but one of a person\N{RIGHT SINGLE QUOTATION MARK}s messages for a number are uniform, whatever was "
        "answered, and tell nothing; all together they add up to the answer with a little noise. So nothing is "
        "hidden before the shuffles."
    )
    is_all_or_nothing = True  # the sum of all shares but one is uniform
    price: str = (
        "The price is trust in the shuffler: if it keeps a record of who sent what, nothing protects the answers, and "
        "if two rounds are worse than promised, nothing is certain any more."
    )
    num_shares: int
    modulus: int
    block: int = 1  # coordinates that are moved together; a field where it is a parameter
    told_rounds: int = 0  # of one coordinate, in which those who collude may tell who sent what
    may_fail: str = (  # how much of the shuffling may fail, in words
        "One round of each value may be worse than promised, or not shuffled at all, and all this still holds; with "
        "two, nothing is promised, and without any shuffle nothing is left."
    )

    @property
    def swing(self) -> float:
        """Largest change of the sum by one replaced share, which is unlimited.

        One false share moves the sum to any number that can be decoded.
        """
        return math.inf

    @property
    def stray(self) -> float:
        """Largest change of the sum by one false share, which is unlimited as in `swing`."""
        return math.inf

    @property
    def num_rounds(self) -> int:
        """Number of rounds for all coordinates."""
        return self.num_pools

    @property
    def num_blocks(self) -> int:
        """Number of blocks of coordinates, each shuffled by itself; the last block is filled up."""
        return -(-self.dimension // self.block)

    def rounds(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.integer]:
        """Round of each report, from its column ``round``."""
        return columns["round"]

    @property
    @abstractmethod
    def sampler_error(self) -> float:
        """Total variation between drawn and ideal noise, for one person and one coordinate."""

    @property
    @abstractmethod
    def wrap_probability(self) -> float:
        """Bound on the probability that a coordinate's sum is wrong because its noise wraps around the modulus."""

    @abstractmethod
    def decode(self, residues: tuple[int, ...], people: int) -> NDArray[np.float64]:
        """Sums of the participants' values, from each coordinate's sum of shares modulo q."""

    @abstractmethod
    def sum_margin(self, people: int, level: float) -> float:
        """Half-width of each coordinate's interval for a sum over ``people``, in units of the values.

        The coverage ``level`` is reached by the law of the noise, which need not be normal.
        """


class LaplaceShareModel(ShareModel):
    """Shares of numbers on a grid with Polya noise, which adds up to discrete Laplace noise."""

    __slots__ = ()
    epsilon: float  # loss of the noise of ``noise_users`` people, in all coordinates together
    l1_bounded: bool  # whether coordinates are 0 or more and have a bounded sum
    precision: int  # steps of the grid, the most by which a coordinate can change

    @property
    def sensitivities(self) -> tuple[float, float]:
        """Largest change of the released sum by one answer, in sum norm and in Euclidean norm.

        Answers are whole ranges in all coordinates, or vectors with a bounded sum.
        """
        width, moved = self.upper - self.lower, min(self.dimension, 2) if self.l1_bounded else self.dimension
        return width * moved, width * math.sqrt(moved)

    @property
    @abstractmethod
    def rate(self) -> Fraction:
        """Privacy loss of the noise for one grid step of one coordinate."""


class GaussianShareModel(ShareModel):
    """Shares of vectors on a grid with discrete Gaussian noise, whose sum is nearly discrete Gaussian.

    Vectors have a length of at most the root of ``largest_square`` in grid steps, whatever is answered.
    """

    __slots__ = ()
    largest_square: int
    share_variance: float  # parameter of one person's noise in one coordinate, in squared steps
    releases: int  # sums, each chosen after the last ones, that one guarantee is about


class BitSumModel(SumModel):
    """Randomizer that sends each person's number as bits; only the total of ones is meaningful.

    Of a person's messages ``coins`` are fair coins, and of ``value_bits`` others as many are ones as the answer says.
    """

    __slots__ = ()
    alone = (
        "Whoever sees all messages of one person counts the ones, and reads the answer up to a few coins. So nothing "
        "is hidden before the shuffle."
    )
    treated = "every answer becomes bits, which the shuffler mixes and of which only the ones are counted"
    price = (
        "The price is trust in the shuffler: if it keeps a record of who sent what, or all messages of a person "
        "together, nothing protects the answers."
    )
    value_bits: int
    coins: int

    @property
    def trust(self) -> tuple[Trust, ...]:
        """Trust that no party counts the bits of one person."""
        return (Trust.ALL_BITS,)

    @property
    def step(self) -> float:
        """Value of one bit, in units of the answers."""
        return (self.upper - self.lower) / self.value_bits

    @property
    def swing(self) -> float:
        """Largest change of the sum by one person's bits, from only zeros to only ones."""
        return (self.upper - self.lower) * (1 + self.coins / self.value_bits)

    @property
    def stray(self) -> float:
        """Largest change of the sum by one person's false bits, against a number at an end of the range."""
        return self.largest_shift

    @property
    def largest_shift(self) -> float:
        """Largest change of a sum by one person who sends any bits, against the mean of an honest person."""
        return (self.upper - self.lower) * (1 + self.coins / (2 * self.value_bits))

    def sum_of(self, ones: int, people: int) -> float:
        """Sum of the participants' values, from the number of ones among their bits; unbiased."""
        steps = Fraction(2 * ones - people * self.coins, 2 * self.value_bits)
        return float(people * Fraction(self.lower) + (Fraction(self.upper) - Fraction(self.lower)) * steps)

    def sum_variance(self, people: int) -> float:
        """Bound on the variance of a sum over ``people``, from their coins and from rounding to whole bits.

        Rounding adds at most a quarter of a squared bit for each person.
        """
        return self.step**2 * people * (1 + self.coins) / 4
