"""Hadamard response: a report is the number of a column of a Hadamard matrix.

More often than not the column has +1 in the answer's row. Float-free: one random word decides the sign by integer
comparison, and another the column.
"""

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
from shuffledp.core.report_laws import TwoLevelLaw
from shuffledp.core.validate import invalid
from shuffledp.randomizers.families import CategoryRandomizer, Columns
from shuffledp.randomizers.inputs import check_categories, check_integer_columns
from shuffledp.randomizers.sampling.coins import (
    CHANNEL_LIMIT,
    WORDS,
    channel_of_support,
    log_rounded_up,
    smallest_share,
)
from shuffledp.randomness.sources import RandomSource, word_batches

_BATCH = 1 << 16  # values handled at a time: their words stay in the processor's cache
_LARGEST_DOMAIN = 2**26 - 1  # counting support holds a number for each column


@dataclass(frozen=True, slots=True, kw_only=True)
class HadamardResponseModel(FrequencyModel):
    """Public description of Hadamard response.

    The matrix is Sylvester's, with entry -1 in row r and column c if the binary numbers r and c share an odd number of
    ones, else +1. It has K columns, K being the least power of two above k; value v has row v + 1, since row 0 is all
    +1. A column supports the values whose rows have +1 there: half of them belong to each row, a quarter to each two.

    Args:
        domain_size: number of possible answers k, from 2 to 2^26 - 1.
        false_words: of the 2^64 values of a random word, how many lead to the columns that do not support the answer;
            1 or more and below 2^63.
    """

    kind: ClassVar[str] = "hadamard"
    domain_size: int
    false_words: int

    def __post_init__(self) -> None:
        validate.integer_at_least(2, domain_size=self.domain_size)
        validate.integer_at_least(1, false_words=self.false_words)
        if self.domain_size > _LARGEST_DOMAIN:
            raise invalid(f"at most {_LARGEST_DOMAIN}", domain_size=self.domain_size)
        if self.false_words >= WORDS // 2:
            raise invalid("below 2**63", false_words=self.false_words)
        # numpy's integers would overflow below.
        object.__setattr__(self, "domain_size", int(self.domain_size))
        object.__setattr__(self, "false_words", int(self.false_words))

    @classmethod
    def from_epsilon0(cls, *, epsilon0: float, domain_size: int) -> Self:
        """Model with the largest representable local loss of at most ``epsilon0``."""
        return cls(domain_size=domain_size, false_words=smallest_share(epsilon0))

    @property
    def report_bits(self) -> int:
        """Size of one report in bits: the bits of a column's number."""
        return self.domain_size.bit_length()

    @property
    def num_columns(self) -> int:
        """Number of columns K."""
        return 1 << self.report_bits

    @property
    def p(self) -> float:
        """Probability that a report supports its sender's answer."""
        return (WORDS - self.false_words) / WORDS

    @property
    def q(self) -> float:
        """Probability that a report supports a given other value: 1/2.

        Any two rows agree in half of the columns.
        """
        return 0.5

    @property
    def guarantee(self) -> LocalDP:
        """Local guarantee: epsilon is log(p / (1 - p)) for the integers used, rounded up to a float."""
        return LocalDP(epsilon=log_rounded_up(WORDS - self.false_words, self.false_words))

    @property
    def two_level(self) -> TwoLevelLaw:
        """Two-level law against the uniform law: the set of a value is half of the columns.

        Values 0, 1 and 2 have rows 1, 2 and 3; the third is the product of the two others, so that no column has -1 in
        all three.
        """
        if self.domain_size == 2:
            return TwoLevelLaw(share=1 / 2, overlap=1 / 4, union=3 / 4)
        return TwoLevelLaw(share=1 / 2, overlap=1 / 4, triple=1 / 4, union=1.0)

    def support_variance(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Variance of the total weight of the values that a report supports, for each true answer.

        From the first two moments over all columns. The weights of the values that a column supports add up to half of
        (all weights + their transform there); and the law of columns is 1/K times 1 + (2 p - 1) (the entry in the row
        of the true answer).
        """
        own, excess = slice(1, self.domain_size + 1), 2 * self.p - 1
        sums = np.zeros((*weights.shape[:-1], self.num_columns))
        sums[..., own] = weights / 2
        _transform(sums)
        squares = np.square(sums)
        _transform(squares)
        second = (squares[..., :1] + excess * squares[..., own]) / self.num_columns
        found: NDArray[np.float64] = second - (excess * weights / 2) ** 2
        return np.maximum(found, 0.0)

    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Check the one integer column ``index`` in range(K)."""
        check_integer_columns(columns, "index")
        check_categories(columns["index"], self.num_columns, "reports")

    @property
    def most_changed(self) -> int:
        """Largest number of values that exactly one column of a pair of columns supports.

        Of the first column, which has +1 in every row, and another one they are the values with -1 in their rows.
        """
        return _most_odd(self.domain_size + 1)

    def supports(self, columns: Mapping[str, NDArray[Any]], value: int) -> NDArray[np.bool_]:
        """Mask of the reports whose column has +1 in the value's row."""
        common = columns["index"].astype(np.uint64) & np.uint64(value + 1)
        even: NDArray[np.bool_] = np.bitwise_count(common) % 2 == 0
        return even

    def support_counts(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
        """Number of reports that support each value, with +1 in the value's row.

        The transform of the histogram gives, for each row, the reports with +1 less those with -1. Time n + K log K.
        """
        sums = np.bincount(columns["index"], minlength=self.num_columns).astype(np.int64, copy=False)
        _transform(sums)
        return (len(columns["index"]) + sums[1 : self.domain_size + 1]) // 2

    def channel(self, *, exact: bool = False) -> Channel | None:
        """Channel matrix, k x K, as fractions if ``exact``; None above 4095 values."""
        if self.num_columns > CHANNEL_LIMIT:
            return None
        rows, columns = np.arange(1, self.domain_size + 1)[:, None], np.arange(self.num_columns)[None, :]
        half = WORDS * self.num_columns // 2
        likely, unlikely = Fraction(WORDS - self.false_words, half), Fraction(self.false_words, half)
        return channel_of_support(np.bitwise_count(rows & columns) % 2 == 0, likely, unlikely, exact=exact)


def _transform(sums: NDArray[Any]) -> None:
    """Walsh-Hadamard transform in place, along the last axis; its length is a power of two."""
    half = 1
    while half < sums.shape[-1]:
        pairs = sums.reshape(*sums.shape[:-1], sums.shape[-1] // (2 * half), 2, half)
        lower, upper = pairs[..., 0, :].copy(), pairs[..., 1, :]
        pairs[..., 0, :] += upper
        np.subtract(lower, upper, out=upper)
        half *= 2


class HadamardResponse(CategoryRandomizer):
    """Hadamard response (HR): reports of log2(k) bits, counted in time n + k log k.

    A report is a column of the Hadamard matrix: with probability p one that supports the answer, else one that does
    not, uniform among these; p / (1 - p) = exp(epsilon0). For small epsilon0 the error is about that of optimized
    unary encoding; for epsilon0 above 1 or so it is larger, since q = 1/2 whatever epsilon0. Reports have the column
    ``index``, in the smallest unsigned dtype that holds the columns' numbers.

    Guarantees:
        1. Each report is (epsilon0, 0)-locally differentially private, exactly, for ``model.epsilon0``, which is at
           most the epsilon0 asked for and differs from it by less than 1e-6.
        2. Given whether the column supports the answer, it is exactly uniform; so the probabilities p and q of the
           model are exact.
        3. Reports of different people are independent, and the time taken does not depend on what is drawn for one.

    Args:
        epsilon0: local privacy loss in nats, from 1e-6 to 30.5.
        domain_size: number of possible answers k, from 2 to 2^26 - 1; answers are the integers 0..k-1.
        categories: the k answers themselves, in place of their number; public, and fixed before anybody answers. Two
            lists are those of two answers that are randomized jointly, and `Bins` those that numbers are put into.

    Raises:
        InvalidParameterError: for parameters outside these ranges.

    References:
        Acharya, Sun, Zhang 2019 (Hadamard response, the scheme for small epsilon0).

    Example:
        >>> randomizer = HadamardResponse(epsilon0=1.0, domain_size=1000)
        >>> randomizer.model.num_columns, round(randomizer.model.p, 4), randomizer.model.q
        (1024, 0.7311, 0.5)
        >>> len(randomizer.randomize([0, 999, 5]))
        3
    """

    model_type: ClassVar[type[Any]] = HadamardResponseModel
    best_for: ClassVar[str] = "many categories and people, small `epsilon0`"
    model: HadamardResponseModel

    def _randomized(self, answers: NDArray[Any], source: RandomSource) -> Columns:
        reports = np.empty(len(answers), dtype=np.min_scalar_type(self.model.num_columns - 1))
        for batch, words in word_batches(len(answers), source, batch=_BATCH, each=2):
            signs, columns = np.split(words, 2)
            reports[batch] = _respond(answers[batch], signs, columns, self.model)
        return {"index": reports}


def _respond(
    answers: NDArray[Any], signs: NDArray[np.uint64], columns: NDArray[np.uint64], model: HadamardResponseModel
) -> NDArray[np.uint64]:
    """Column reported for each answer, drawn from random words.

    Words of ``signs`` below ``false_words`` ask for -1; ``columns`` give a first choice. Where its sign is not the one
    asked for, the least bit that the row has is flipped, which changes the sign and pairs off the columns of one sign
    with those of the other. Every row takes the same steps whatever is drawn.
    """
    rows = answers.astype(np.uint64) + np.uint64(1)
    indices = columns >> np.uint64(64 - model.report_bits)
    wanted = signs < np.uint64(model.false_words)
    differs = (np.bitwise_count(rows & indices) & 1).astype(np.bool_) ^ wanted
    indices ^= (rows & (~rows + np.uint64(1))) * differs
    return indices


def _most_odd(numbers: int) -> int:
    """Largest count, over all masks, of numbers below ``numbers`` with odd overlap with the mask.

    The overlap is the number of ones that a number and the mask share. Of the first 2^b numbers a mask shares an odd
    number with half, unless it shares none; and a mask may turn the parity of the rest, which begins with the next
    binary digit.
    """
    head = 1 << (numbers.bit_length() - 1)
    rest = numbers - head
    return max(rest, head // 2 + _most_uneven(rest, head))


def _most_uneven(numbers: int, limit: int) -> int:
    """Largest count, over all masks, of numbers below ``numbers`` with overlaps of one parity.

    The overlap is the number of ones that a number and the mask share; the parity may be even or odd. For masks from 1
    to below ``limit``, a power of two.
    """
    if numbers == 0 or limit == 1:
        return 0
    if 2 * numbers <= limit:  # a mask beyond all of them shares nothing with any
        return numbers
    half = limit // 2
    return max(half, half // 2 + _most_uneven(numbers - half, half))
