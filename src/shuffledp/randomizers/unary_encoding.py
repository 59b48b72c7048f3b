"""Unary encoding: one bit for each value, set for the true value and randomized independently.

Float-free: bits are decided by comparing random words with integers, and the loss is computed from the integers used.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.channels import Channel
from shuffledp.core.guarantees import LocalDP
from shuffledp.core.local_models import FrequencyModel
from shuffledp.core.report_laws import JointSupport, TwoLevelLaw
from shuffledp.core.validate import invalid
from shuffledp.randomizers.families import CategoryRandomizer, Columns
from shuffledp.randomizers.sampling.coins import (
    CHANNEL_LIMIT,
    WORDS,
    PackedCoins,
    bit_of,
    check_domain,
    check_packed,
    count_bits,
    log_rounded_up,
    packed_width,
    put_bits,
    smallest_share,
)
from shuffledp.randomness.sources import RandomSource


@dataclass(frozen=True, slots=True, kw_only=True)
class UnaryEncodingModel(FrequencyModel):
    """Public description of a unary encoding.

    The two subclasses differ in the probability of the true bit. Of the 2^64 values of a random word, ``true_words``
    set the bit of the true answer and ``false_words`` that of any other value.

    Args:
        domain_size: number of possible answers k, from 2 to 2^20.
        false_words: 1 or more and below 2^63.
    """

    coins: ClassVar[int]  # number of bits whose losses add up, see `smallest_share`
    domain_size: int
    false_words: int

    def __post_init__(self) -> None:
        check_domain(self.domain_size)
        validate.integer_at_least(1, false_words=self.false_words)
        if self.false_words >= WORDS // 2:
            raise invalid("below 2**63", false_words=self.false_words)
        # numpy's integers would overflow below.
        object.__setattr__(self, "domain_size", int(self.domain_size))
        object.__setattr__(self, "false_words", int(self.false_words))

    @classmethod
    def from_epsilon0(cls, *, epsilon0: float, domain_size: int) -> Self:
        """Model with the largest representable local loss of at most ``epsilon0``."""
        return cls(domain_size=domain_size, false_words=smallest_share(epsilon0, coins=cls.coins))

    @property
    @abstractmethod
    def true_words(self) -> int:
        """Number of the 2^64 words that set the bit of the true answer."""

    @property
    def p(self) -> float:
        """Probability that the bit of the true answer is set."""
        return self.true_words / WORDS

    @property
    def q(self) -> float:
        """Probability that the bit of a given other value is set."""
        return self.false_words / WORDS

    @property
    def report_bits(self) -> int:
        """Size of one report in bits: one bit for each value."""
        return self.domain_size

    @property
    def guarantee(self) -> LocalDP:
        """Local guarantee: epsilon is log(p (1 - q) / ((1 - p) q)) for the integers used, rounded up."""
        likely = self.true_words * (WORDS - self.false_words)
        unlikely = (WORDS - self.true_words) * self.false_words
        return LocalDP(epsilon=log_rounded_up(likely, unlikely))

    @property
    def total_variation(self) -> float:
        """Total variation between two inputs, which differ in two bits: p - q, rounded up.

        That is, p (1 - q) - q (1 - p).
        """
        return math.nextafter((self.true_words - self.false_words) / WORDS, 1.0)

    @property
    def two_level(self) -> TwoLevelLaw:
        """Two-level law against independent bits of probability q.

        The set of a value holds the reports with its bit set.
        """
        triple, union = self.q**3 if self.domain_size >= 3 else None, 1 - (1 - self.q) ** self.domain_size
        return TwoLevelLaw(share=self.q, overlap=self.q**2, triple=triple, union=union)

    @property
    def joint_support(self) -> JointSupport:
        """Joint support of two values by one report: bits are independent."""
        return JointSupport(with_own=self.p * self.q, of_others=self.q**2)

    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Check the one column ``bits`` of uint8, shape (n, ceil(k / 8)).

        Value v is in bit v % 8 of byte v // 8.
        """
        check_packed(columns, self.domain_size)

    def supports(self, columns: Mapping[str, NDArray[Any]], value: int) -> NDArray[np.bool_]:
        """Mask of the reports with this value's bit set."""
        return bit_of(columns["bits"], value)

    def support_counts(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
        """Number of reports with each value's bit set."""
        return count_bits(columns["bits"], self.domain_size)

    def channel(self, *, exact: bool = False) -> Channel | None:
        """Channel matrix, k x 2^k; None above 12 values.

        Output y has the bits of the number y.
        """
        size = self.domain_size
        if 2**size > CHANNEL_LIMIT:
            return None
        true, false = Fraction(self.true_words, WORDS), Fraction(self.false_words, WORDS)
        others = [false**count * (1 - false) ** (size - 1 - count) for count in range(size)]
        law = np.array([[factor * rest for rest in others] for factor in (1 - true, true)])
        values, outputs = np.arange(size)[:, None], np.arange(2**size)[None, :]
        own = outputs >> values & 1
        return Channel((law if exact else law.astype(np.float64))[own, np.bitwise_count(outputs) - own])


class SymmetricUnaryEncodingModel(UnaryEncodingModel):
    """Symmetric unary encoding: every bit is kept with the same probability, p = 1 - q."""

    __slots__ = ()
    kind: ClassVar[str] = "sue"
    coins: ClassVar[int] = 2

    @property
    def true_words(self) -> int:
        """Number of words that set the true bit: all words except ``false_words``."""
        return WORDS - self.false_words


class OptimizedUnaryEncodingModel(UnaryEncodingModel):
    """Optimized unary encoding: the true bit is a fair coin, p = 1/2."""

    __slots__ = ()
    kind: ClassVar[str] = "oue"
    coins: ClassVar[int] = 1

    @property
    def true_words(self) -> int:
        """Number of words that set the true bit: half of the 2^64 words."""
        return WORDS // 2


class _UnaryEncoding(CategoryRandomizer):
    """Base of both unary encodings.

    Reports have the column ``bits``: uint8, shape (n, ceil(domain_size / 8)); the bit of value v is bit v % 8 (the
    least significant is 0) of byte v // 8, and the bits beyond the last value are 0.
    """

    file_form: ClassVar[str] = "bits"
    model: UnaryEncodingModel

    def _randomized(self, answers: NDArray[Any], source: RandomSource) -> Columns:
        bits = np.empty((len(answers), packed_width(self.model.domain_size)), dtype=np.uint8)
        coins = PackedCoins(len(answers), self.model.domain_size)
        for start in range(0, len(answers), coins.rows):
            block = bits[start : start + coins.rows]
            coins.fill(block, self.model.false_words, source)
            true_bits = coins.toss(len(block), self.model.true_words, source)
            put_bits(block, answers[start : start + coins.rows], true_bits)
        coins.wipe()
        return {"bits": bits}


class SymmetricUnaryEncoding(_UnaryEncoding):
    """Symmetric unary encoding (SUE, basic one-time RAPPOR): every bit is flipped with the same probability.

    The bit of the true answer is set with probability p, that of any other value with q = 1 - p, independently, and
    (p / q)^2 = exp(epsilon0). Reports have the packed column ``bits``; value v has bit v % 8 of byte v // 8.

    Guarantees:
        1. Each report is (epsilon0, 0)-locally differentially private, exactly, for ``model.epsilon0``, which is at
           most the epsilon0 asked for and differs from it by less than 1e-6.
        2. All bits of all reports are independent, and have exactly the probabilities p and q of the model.
        3. How many words are drawn does not depend on the answers.
        4. Beside the reports memory is bounded: there is never a byte per bit of more than a few thousand reports.

    Args:
        epsilon0: local privacy loss in nats, from 1e-6 to 59.7.
        domain_size: number of possible answers k, from 2 to 2^20; answers are the integers 0..k-1.
        categories: the k answers themselves, in place of their number; public, and fixed before anybody answers. Two
            lists are those of two answers that are randomized jointly, and `Bins` those that numbers are put into.

    Raises:
        InvalidParameterError: for parameters outside these ranges.

    References:
        Erlingsson, Pihur, Korolova 2014 (basic one-time RAPPOR); Wang, Blocki, Li, Jha 2017 (SUE, its loss and error).

    Example:
        >>> randomizer = SymmetricUnaryEncoding(epsilon0=2.0, domain_size=12)
        >>> round(randomizer.model.p, 4), round(randomizer.model.q, 4)
        (0.7311, 0.2689)
        >>> randomizer.randomize([0, 11, 5])["bits"].shape
        (3, 2)
    """

    model_type: ClassVar[type[Any]] = SymmetricUnaryEncodingModel
    best_for: ClassVar[str] = "to compare with RAPPOR"


class OptimizedUnaryEncoding(_UnaryEncoding):
    """Optimized unary encoding (OUE): the true bit becomes a fair coin, and other bits are rarely set.

    As rarely as the loss permits. The bit of the true answer is set with probability p = 1/2, that of any other value
    with q, independently, and (1 - q) / q = exp(epsilon0). Among unary encodings this has the least error for values
    that few people hold. Reports have the packed column ``bits``; value v has bit v % 8 of byte v // 8.

    Guarantees:
        1. Each report is (epsilon0, 0)-locally differentially private, exactly, for ``model.epsilon0``, which is at
           most the epsilon0 asked for and differs from it by less than 1e-6.
        2. All bits of all reports are independent, and have exactly the probabilities p and q of the model.
        3. How many words are drawn does not depend on the answers.
        4. Beside the reports memory is bounded: there is never a byte per bit of more than a few thousand reports.

    Args:
        epsilon0: local privacy loss in nats, from 1e-6 to 30.5.
        domain_size: number of possible answers k, from 2 to 2^20; answers are the integers 0..k-1.
        categories: the k answers themselves, in place of their number; public, and fixed before anybody answers. Two
            lists are those of two answers that are randomized jointly, and `Bins` those that numbers are put into.

    Raises:
        InvalidParameterError: for parameters outside these ranges.

    References:
        Wang, Blocki, Li, Jha 2017 (OUE, its loss and error).

    Example:
        >>> randomizer = OptimizedUnaryEncoding(epsilon0=2.0, domain_size=12)
        >>> randomizer.model.p, round(randomizer.model.q, 4)
        (0.5, 0.1192)
        >>> randomizer.randomize([0, 11, 5])["bits"].shape
        (3, 2)
    """

    model_type: ClassVar[type[Any]] = OptimizedUnaryEncodingModel
    best_for: ClassVar[str] = "up to a few thousand categories"
