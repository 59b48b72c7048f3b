"""Subset selection: report a set of values of a fixed size, which holds the true one more often than another.

Float-free: one random word decides whether the true value is in, and all others are exchangeable.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp import _validate
from shuffledp._validate import invalid
from shuffledp.channels import Channel
from shuffledp.errors import InvalidParameterError
from shuffledp.flow import Reports
from shuffledp.guarantees import LocalDP
from shuffledp.models import FrequencyModel, TwoLevelLaw
from shuffledp.randomizers._answers import as_answers
from shuffledp.randomizers._exact import CHANNEL_LIMIT, WORDS, channel_of_support, log_rounded_up, smallest_share
from shuffledp.randomizers._packed_bits import (
    PackedCoins,
    check_domain,
    check_packed,
    count_bits,
    packed_width,
    put_bits,
    row_sizes,
)
from shuffledp.randomness import resolve_source, uniform_integers

if TYPE_CHECKING:
    from shuffledp.randomness import RandomSource

__all__ = ["SubsetSelection", "SubsetSelectionModel"]

_BATCH_BYTES = 1 << 20  # of reports drawn at a time: many, since the last rounds of each batch are of few reports


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsetSelectionModel(FrequencyModel):
    """What is public about subset selection.

    Args:
        domain_size: number of possible answers k, from 2 to 2^20.
        subset_size: number of values d in a report, from 1 to k - 1.
        false_words: of the 2^64 values of a random word, how many leave the true answer out; 1 or more, and so few that
            the true answer is likelier to be in than another.

    Raises:
        InvalidParameterError: for parameters outside these ranges.
    """

    kind: ClassVar[str] = "subset"
    domain_size: int
    subset_size: int
    false_words: int

    def __post_init__(self) -> None:
        check_domain(self.domain_size)
        _validate.integer_at_least(1, subset_size=self.subset_size, false_words=self.false_words)
        for name in ("domain_size", "subset_size", "false_words"):  # numpy's integers would overflow below
            object.__setattr__(self, name, int(getattr(self, name)))
        if self.subset_size >= self.domain_size:
            raise invalid("below domain_size", subset_size=self.subset_size)
        limit = WORDS * (self.domain_size - self.subset_size) / self.domain_size
        if self.false_words * self.domain_size >= WORDS * (self.domain_size - self.subset_size):
            raise invalid(f"below 2**64 (1 - subset_size / domain_size) = {limit:.6g}", false_words=self.false_words)

    @classmethod
    def from_epsilon0(cls, *, epsilon0: float, domain_size: int) -> Self:
        """The model with the largest local loss that is representable and at most ``epsilon0``.

        Of the two subset sizes beside k / (exp(epsilon0) + 1) it has the one with less squared error, added up over all
        values, where these are equally frequent.

        Raises:
            InvalidParameterError: if ``epsilon0`` is not a finite number above 0, or 64-bit words cannot represent it
                to within 1e-6.
        """
        _validate.positive(epsilon0=epsilon0)
        check_domain(domain_size)
        least = int(domain_size / (math.exp(min(epsilon0, 100.0)) + 1))
        sizes = {max(least, 1), min(least + 1, domain_size - 1)}
        models = [cls._of_size(epsilon0, int(domain_size), size) for size in sorted(sizes)]
        return min(models, key=lambda model: model._total_error)

    @classmethod
    def _of_size(cls, epsilon0: float, domain_size: int, subset_size: int) -> Self:
        share = smallest_share(epsilon0, factor=Fraction(domain_size - subset_size, subset_size))
        return cls(domain_size=domain_size, subset_size=subset_size, false_words=share)

    @property
    def p(self) -> float:
        """Probability that the report holds the true answer."""
        return (WORDS - self.false_words) / WORDS

    @property
    def q(self) -> float:
        """Probability that the report holds a given other value: the d - p that are expected, among k - 1."""
        return float((self.subset_size - self._truth) / (self.domain_size - 1))

    @property
    def _total_error(self) -> float:
        own, others = self.p * (1 - self.p), self.q * (1 - self.q) * (self.domain_size - 1)
        return (own + others) / (self.p - self.q) ** 2

    @property
    def _truth(self) -> Fraction:
        return Fraction(WORDS - self.false_words, WORDS)

    @property
    def report_bits(self) -> int:
        """One for each value; log2 of the number of subsets would do."""
        return self.domain_size

    @property
    def guarantee(self) -> LocalDP:
        """Epsilon is log(p (k - d) / ((1 - p) d)) for the integers used, rounded up to a float."""
        likely = (WORDS - self.false_words) * (self.domain_size - self.subset_size)
        return LocalDP(epsilon=log_rounded_up(likely, self.false_words * self.subset_size))

    @property
    def two_level(self) -> TwoLevelLaw:
        """Against the uniform law, the set of a value is all subsets that hold it."""
        size, chosen = self.domain_size, self.subset_size
        share, overlap = Fraction(chosen, size), Fraction(chosen * (chosen - 1), size * (size - 1))
        triple = float(overlap * (chosen - 2) / (size - 2)) if size >= 3 else None
        return TwoLevelLaw(share=float(share), overlap=float(overlap), triple=triple)

    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Reports are one column ``bits`` of uint8, shape (n, ceil(k / 8)), with d bits set in each row."""
        check_packed(columns, self.domain_size)
        other = np.flatnonzero(row_sizes(columns["bits"]) != self.subset_size)
        if other.size:
            raise InvalidParameterError(
                f"reports must have {self.subset_size} bits set; {other.size} have not, first reports[{other[0]}]."
            )

    def support_counts(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
        """A report supports the values that it holds."""
        return count_bits(columns["bits"], self.domain_size)

    def channel(self, *, exact: bool = False) -> Channel | None:
        """The matrix with a column for each subset, in the order of their bits as numbers; None above 4096 subsets."""
        size, chosen = self.domain_size, self.subset_size
        if math.comb(size, chosen) > CHANNEL_LIMIT or size > 24:
            return None
        numbers = np.arange(2**size)
        subsets = numbers[np.bitwise_count(numbers) == chosen]
        support = (subsets >> np.arange(size)[:, None] & 1).astype(np.bool_)
        likely, unlikely = (
            self._truth / math.comb(size - 1, chosen - 1),
            (1 - self._truth) / math.comb(size - 1, chosen),
        )
        return channel_of_support(support, likely, unlikely, exact=exact)


class SubsetSelection:
    """Subset selection (the d-subset mechanism): a set of d values that holds the true one with probability p.

    Given whether it does, all such sets are equally likely, and p (k - d) / ((1 - p) d) = exp(epsilon0). For d = 1 this
    is k-ary randomized response. Added up over equally frequent values, no randomizer here has less squared error; but
    it is the slowest to draw.

    Guarantees:
        1. Each report is (epsilon0, 0)-locally differentially private, exactly, for ``model.epsilon0``, which is at
           most the epsilon0 asked for and differs from it by less than 1e-6.
        2. Given whether the set holds the true answer, all sets of d values are exactly equally likely; so the
           probabilities p and q of the model are exact.
        3. Reports of different people are independent. How many words are drawn does not depend on whether the true
           answer is in, and has one law for all answers.
        4. Beside the reports memory is bounded.

    Args:
        epsilon0: local privacy loss in nats, from 1e-6 to 30.5 or, for large domains, more.
        domain_size: number of possible answers k, from 2 to 2^20; answers are the integers 0..k-1.

    Raises:
        InvalidParameterError: for parameters outside these ranges.

    References:
        Ye, Barg 2018 (the mechanism and its d); Wang, Huang, Wang, Nie, Xu, Yang, Li, Qiao 2016 (the same).

    Example:
        >>> randomizer = SubsetSelection(epsilon0=1.0, domain_size=10)
        >>> randomizer.model.subset_size, round(randomizer.model.p, 4), round(randomizer.model.q, 4)
        (3, 0.5381, 0.2735)
        >>> randomizer.randomize([0, 9, 5])["bits"].shape
        (3, 2)
    """

    def __init__(self, *, epsilon0: float, domain_size: int) -> None:
        self.model = SubsetSelectionModel.from_epsilon0(epsilon0=epsilon0, domain_size=domain_size)

    @classmethod
    def from_model(cls, model: SubsetSelectionModel) -> Self:
        """The randomizer that a model describes.

        Raises:
            InvalidParameterError: for the model of another randomizer.
        """
        _validate.instance_of(SubsetSelectionModel, model=model)
        randomizer = cls.__new__(cls)
        randomizer.model = model
        return randomizer

    def __repr__(self) -> str:
        return f"SubsetSelection(epsilon0={self.model.epsilon0!r}, domain_size={self.model.domain_size})"

    def randomize(self, values: ArrayLike, *, source: "RandomSource | None" = None) -> Reports:
        """One report per value.

        Args:
            values: integers in range(domain_size), shape (n,): a list, numpy array, Arrow, pandas or polars column.
            source: randomness; None is the cryptographic source.

        Returns:
            Reports with the column ``bits``: uint8, shape (n, ceil(domain_size / 8)); value v is in the set if bit
            v % 8 (the least significant is 0) of byte v // 8 is set.

        Raises:
            InvalidParameterError: if a value is not an integer in range(domain_size); the message gives places only.
        """
        source, model = resolve_source(source), self.model
        answers = as_answers(values, model.domain_size)
        bits = np.empty((len(answers), packed_width(model.domain_size)), dtype=np.uint8)
        coins = PackedCoins(len(answers), model.domain_size, batch_bytes=_BATCH_BYTES)
        for start in range(0, len(answers), coins.rows):
            block = bits[start : start + coins.rows]
            held = answers[start : start + coins.rows].astype(np.int64)
            coins.fill(block, WORDS * _few(model) // (model.domain_size - 1), source)
            included = coins.toss(len(block), WORDS - model.false_words, source)
            spare = _complete(block, held, model, source)
            put_bits(block, np.where(included, held, spare), np.ones(len(block), dtype=np.bool_))
        coins.wipe()
        return Reports({"bits": bits}, model)


def _few(model: SubsetSelectionModel) -> int:
    """How many of the d - 1 other values coins may set on average, so that they seldom set more than all."""
    wanted, others = model.subset_size - 1, model.domain_size - 1
    deviation = math.isqrt(wanted * (others - wanted) // others) + 1
    return max(0, wanted - 2 * deviation)


def _complete(
    bits: NDArray[np.uint8], answers: NDArray[np.int64], model: SubsetSelectionModel, source: "RandomSource"
) -> NDArray[np.int64]:
    """From rows of equal coins make sets of d - 1 values other than the answer; return for each a value in neither.

    Of the values other than the answer, those whose coins are set are, given their number, equally likely to be any. So
    are they still if rows with too many are emptied, and others are added that are drawn uniformly. In each round a
    value other than the answer is drawn for every row that is not ready, and passed over if it is in already. The last
    one is only returned: nothing here depends on whether the answer will be put in instead.
    """
    put_bits(bits, answers, np.zeros(len(bits), dtype=np.bool_))
    missing = model.subset_size - row_sizes(bits)
    bits[missing < 1] = 0
    missing[missing < 1] = model.subset_size
    spare, rows = np.empty(len(bits), dtype=np.int64), np.arange(len(bits))
    while rows.size:
        drawn = uniform_integers(model.domain_size - 1, rows.size, source=source)
        drawn += drawn >= answers[rows]
        columns, masks = drawn >> 3, np.left_shift(np.uint8(1), (drawn & 7).astype(np.uint8))
        is_new, is_last = (bits[rows, columns] & masks) == 0, missing[rows] == 1
        last, added = is_new & is_last, is_new & ~is_last
        spare[rows[last]] = drawn[last]
        bits[rows[added], columns[added]] |= masks[added]
        missing[rows[added]] -= 1
        rows = rows[~last]
    return spare
