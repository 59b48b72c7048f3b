"""Subset selection: a report is a set that holds the true value more often than other values.

All sets have the same size. Float-free: one random word decides whether the true value is in, and all others are
exchangeable.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.caching import compiled, plain_until_worth_compiling
from shuffledp.core.channels import Channel
from shuffledp.core.errors import InvalidParameterError
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
    channel_of_support,
    check_domain,
    check_packed,
    count_bits,
    log_rounded_up,
    packed_width,
    put_bits,
    row_sizes,
    smallest_share,
)
from shuffledp.randomness.sources import RandomSource, high_product

_CHUNK_WORDS = 1 << 15  # random words that are drawn at a time
_WORTH_COMPILING = 500_000  # values added one by one in about half the time that it takes to load numba
_ONE = np.uint64(1)
_COIN_PLACES = 6  # digits of a threshold: one more costs a word for 64 coins, one less leaves more to single draws


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsetSelectionModel(FrequencyModel):
    """Public description of subset selection.

    Args:
        domain_size: number of possible answers k, from 2 to 2^20.
        subset_size: number of values d in a report, from 1 to k - 1.
        false_words: of the 2^64 values of a random word, how many leave the true answer out; 1 or more, and so few that
            the true answer is likelier to be in than another.
    """

    kind: ClassVar[str] = "subset"
    domain_size: int
    subset_size: int
    false_words: int

    def __post_init__(self) -> None:
        check_domain(self.domain_size)
        validate.integer_at_least(1, subset_size=self.subset_size, false_words=self.false_words)
        for name in ("domain_size", "subset_size", "false_words"):  # numpy's integers would overflow below
            object.__setattr__(self, name, int(getattr(self, name)))
        if self.subset_size >= self.domain_size:
            raise invalid("below domain_size", subset_size=self.subset_size)
        limit = WORDS * (self.domain_size - self.subset_size) / self.domain_size
        if self.false_words * self.domain_size >= WORDS * (self.domain_size - self.subset_size):
            raise invalid(f"below 2**64 (1 - subset_size / domain_size) = {limit:.6g}", false_words=self.false_words)

    @classmethod
    def from_epsilon0(cls, *, epsilon0: float, domain_size: int) -> Self:
        """Model with the largest representable local loss of at most ``epsilon0``.

        Of the two subset sizes beside k / (exp(epsilon0) + 1) it has the one with less squared error, added up over all
        values, where these are equally frequent.
        """
        validate.positive(epsilon0=epsilon0)
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
        """Probability that the report holds a given other value.

        There are d - p others on average, among k - 1.
        """
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
        """Size of one report in bits: one bit for each value.

        Log2 of the number of subsets would do.
        """
        return self.domain_size

    @property
    def guarantee(self) -> LocalDP:
        """Local guarantee: epsilon is log(p (k - d) / ((1 - p) d)) for the integers used, rounded up."""
        likely = (WORDS - self.false_words) * (self.domain_size - self.subset_size)
        return LocalDP(epsilon=log_rounded_up(likely, self.false_words * self.subset_size))

    @property
    def two_level(self) -> TwoLevelLaw:
        """Two-level law against the uniform law; a value's likely set is all subsets with the value."""
        size, chosen = self.domain_size, self.subset_size
        share, overlap = Fraction(chosen, size), Fraction(chosen * (chosen - 1), size * (size - 1))
        triple = float(overlap * (chosen - 2) / (size - 2)) if size >= 3 else None
        return TwoLevelLaw(share=float(share), overlap=float(overlap), triple=triple, union=1.0)

    @property
    def joint_support(self) -> JointSupport:
        """Joint support of two values by one report.

        Beside the true answer, or without it, all sets of the others are equally likely.
        """
        others, chosen = self.domain_size - 1, self.subset_size
        with_own = self.p * (chosen - 1) / others
        if others < 2:
            return JointSupport(with_own=with_own, of_others=0.0)
        pairs = self.p * (chosen - 1) * (chosen - 2) + (1 - self.p) * chosen * (chosen - 1)
        return JointSupport(with_own=with_own, of_others=pairs / (others * (others - 1)))

    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Check the one column ``bits``: d bits set in each row.

        It is uint8, shape (n, ceil(k / 8)).
        """
        check_packed(columns, self.domain_size)
        other = np.flatnonzero(row_sizes(columns["bits"]) != self.subset_size)
        if other.size:
            raise InvalidParameterError(
                f"reports must have {self.subset_size} bits set; {other.size} have not, first reports[{other[0]}]."
            )

    def most_supported(self, values: int) -> int:
        """Largest number of ``values`` given values that one report can hold."""
        return min(values, self.subset_size)

    @property
    def most_changed(self) -> int:
        """Largest number of values that exactly one of two reported sets holds.

        Of disjoint sets all, or all but the values that both must hold.
        """
        return 2 * min(self.subset_size, self.domain_size - self.subset_size)

    def supports(self, columns: Mapping[str, NDArray[Any]], value: int) -> NDArray[np.bool_]:
        """Mask of the reports that hold this value."""
        return bit_of(columns["bits"], value)

    def support_counts(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
        """Number of reports that hold each value."""
        return count_bits(columns["bits"], self.domain_size)

    def channel(self, *, exact: bool = False) -> Channel | None:
        """Channel matrix with a column for each subset; None above 4096 subsets.

        Subsets are ordered by their bits as numbers.
        """
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


class SubsetSelection(CategoryRandomizer):
    """Subset selection (d-subset mechanism): d values that include the true value with probability p.

    Given whether it does, all such sets are equally likely, and p (k - d) / ((1 - p) d) = exp(epsilon0). For d = 1 this
    is k-ary randomized response. Added up over equally frequent values, no randomizer here has less squared error.
    Reports have the column ``bits``: uint8, shape (n, ceil(domain_size / 8)); value v is in the set if bit v % 8 (the
    least significant is 0) of byte v // 8 is set.

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
        categories: the k answers themselves, in place of their number; public, and fixed before anybody answers. Two
            lists are those of two answers that are randomized jointly, and `Bins` those that numbers are put into.

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

    model_type: ClassVar[type[Any]] = SubsetSelectionModel
    file_form: ClassVar[str] = "bits"
    best_for: ClassVar[str] = "the least error"
    model: SubsetSelectionModel

    def _randomized(self, answers: NDArray[Any], source: RandomSource) -> Columns:
        model = self.model
        bits = np.empty((len(answers), packed_width(model.domain_size)), dtype=np.uint8)
        coins = PackedCoins(len(answers), model.domain_size)
        for start in range(0, len(answers), coins.rows):
            block = bits[start : start + coins.rows]
            held = answers[start : start + coins.rows].astype(np.int64)
            coins.fill(block, _threshold(model), source)
            included = coins.toss(len(block), WORDS - model.false_words, source)
            spare = _complete(block, held, model, source)
            put_bits(block, np.where(included, held, spare), np.ones(len(block), dtype=np.bool_))
        coins.wipe()
        return {"bits": bits}


def _threshold(model: SubsetSelectionModel) -> int:
    """Threshold of the coins for other values: the number of the 2^64 words that set a bit.

    So low that coins seldom set more than d - 1. It is two standard deviations below the number that sets d - 1 on
    average, cut to a few binary places.
    """
    wanted, others = model.subset_size - 1, model.domain_size - 1
    deviation = math.isqrt(wanted * (others - wanted) // others) + 1
    return (max(0, wanted - 2 * deviation) << _COIN_PLACES) // others << (64 - _COIN_PLACES)


def _complete(
    bits: NDArray[np.uint8], answers: NDArray[np.int64], model: SubsetSelectionModel, source: RandomSource
) -> NDArray[np.int64]:
    """Complete rows of coins to sets of d - 1 values other than the answer.

    At first the rows are equal coins. A further value is returned for each row. Of the values other than the answer,
    those whose coins are set are, given their number, equally likely to be any. So are they still if rows with too many
    are emptied, and others are added that are drawn uniformly. Row after row, values other than the answer are drawn,
    and passed over if they are in already. The last one of a row is only returned: nothing here depends on whether the
    answer will be put in instead.
    """
    put_bits(bits, answers, np.zeros(len(bits), dtype=np.bool_))
    missing = model.subset_size - row_sizes(bits)
    bits[missing < 1] = 0
    missing[missing < 1] = model.subset_size
    spare, row = np.empty(len(bits), dtype=np.int64), 0
    wanted = int(missing.sum())
    add = _add_for(wanted)
    scratch = np.empty(min(wanted, _CHUNK_WORDS), dtype=np.uint64)
    while wanted:
        words = scratch[:wanted]  # every value takes at least one word, so none is fetched in vain
        source.fill(words)
        row = add((bits, answers, missing, spare), row, words, model.domain_size - 1)
        wanted = int(missing[row:].sum())
    scratch.fill(0)
    return spare


# Sets being completed: their bits, the answers that stay out, how many values each lacks, and the last of these.
_Sets = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


def _add_plainly(sets: _Sets, row: int, words: NDArray[np.uint64], others: int) -> int:
    """Plain form of `_add`, in Python's integers."""
    bits, answers, missing, spare = sets
    for word in words.tolist():
        product = word * others
        if product % WORDS < WORDS % others:
            continue
        value = product >> 64
        value += value >= answers[row]
        if bits[row, value >> 3] >> (value & 7) & 1:
            continue
        missing[row] -= 1
        if missing[row]:
            bits[row, value >> 3] |= 1 << (value & 7)
        else:
            spare[row] = value
            row += 1
    return row


def _add(sets: _Sets, row: int, words: NDArray[np.uint64], others: int) -> int:
    """Add to each set the new values that random words give; return the first incomplete row.

    In 64 bits. A word gives a uniform number below ``others``, or is rejected, as in `uniform_integers`.
    """
    bits, answers, missing, spare = sets
    bound = np.uint64(others)
    reject_below = (~bound + _ONE) % bound  # 2^64 mod bound
    for word in words:
        if word * bound < reject_below:
            continue
        value = np.int64(high_product(word, bound))
        value += value >= answers[row]
        place, mask = value >> 3, np.uint8(1 << (value & 7))
        if bits[row, place] & mask:
            continue
        missing[row] -= 1
        if missing[row]:
            bits[row, place] |= mask
        else:
            spare[row] = value
            row += 1
    return row


_add_compiled = compiled(_add, calls=(high_product,))
_add_for = plain_until_worth_compiling(_add_plainly, _add_compiled, items=_WORTH_COMPILING)
