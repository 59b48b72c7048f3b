"""k-ary randomized response: the truth with probability p, else any other answer, each equally likely.

Float-free: one 64-bit word decides each report by integer comparison, and the loss is computed from the integers used.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext
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
from shuffledp.randomizers.families import CategoryRandomizer, Columns, RangeModel
from shuffledp.randomizers.inputs import check_categories, check_integer_columns
from shuffledp.randomizers.sampling.coins import CHANNEL_LIMIT, RESOLUTION, WORDS, channel_of_support, log_rounded_up
from shuffledp.randomness.sources import RandomSource, word_batches

_BATCH = 1 << 17  # values handled at a time: their words stay in the processor's cache
_LARGEST_DOMAIN = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class KaryRandomizedResponseModel(FrequencyModel):
    """Public description of k-ary randomized response.

    Of the 2^64 values of a random word, ``share`` lead to each of the other answers and the rest to the true one.

    Args:
        domain_size: number of possible answers k, from 2 to 2^31.
        share: words per other answer, 1 or more and below 2^64 / k, so that the truth is the likeliest report.
    """

    kind: ClassVar[str] = "k-rr"
    domain_size: int
    share: int

    def __post_init__(self) -> None:
        validate.integer_at_least(2, domain_size=self.domain_size)
        validate.integer_at_least(1, share=self.share)
        if self.domain_size > _LARGEST_DOMAIN:
            raise invalid(f"at most {_LARGEST_DOMAIN}", domain_size=self.domain_size)
        # numpy's integers would overflow below.
        object.__setattr__(self, "domain_size", int(self.domain_size))
        object.__setattr__(self, "share", int(self.share))
        if self.share * self.domain_size >= WORDS:
            raise invalid(f"below 2**64 / domain_size = {WORDS / self.domain_size:.6g}", share=self.share)

    @classmethod
    def from_epsilon0(cls, *, epsilon0: float, domain_size: int) -> Self:
        """Model with the largest representable local loss of at most ``epsilon0``.

        64-bit words cannot represent it to within 1e-6 above 30.5, and near 0 for domains of millions.
        """
        validate.positive(epsilon0=epsilon0)
        validate.integer_at_least(2, domain_size=domain_size)
        least, largest = _representable(min(int(domain_size), _LARGEST_DOMAIN))
        if not least <= epsilon0 <= largest:
            limits = f"from {least:.3g} to {largest:.4g} for domain_size={domain_size}"
            raise invalid(f"{limits}, beyond which 64-bit randomness saturates", epsilon0=epsilon0)
        with localcontext() as context:
            context.prec = 60
            wanted = WORDS / (Decimal(float(epsilon0)).exp() + (int(domain_size) - 1))
            share = int(wanted.to_integral_value(ROUND_CEILING))
        return cls(domain_size=domain_size, share=share)

    @property
    def truth_words(self) -> int:
        """Number of the 2^64 words that give the true answer."""
        return WORDS - self.share * (self.domain_size - 1)

    @property
    def p(self) -> float:
        """Probability of the true answer."""
        return self.truth_words / WORDS

    @property
    def q(self) -> float:
        """Probability of a given answer other than the true answer."""
        return self.share / WORDS

    @property
    def report_bits(self) -> int:
        """Size of one report in bits: the bits of an answer's number."""
        return (self.domain_size - 1).bit_length()

    @property
    def guarantee(self) -> LocalDP:
        """Local guarantee: epsilon is log(p / q) for the integers used, rounded up to a float."""
        return LocalDP(epsilon=log_rounded_up(self.truth_words, self.share))

    @property
    def total_variation(self) -> float:
        """Total variation between two inputs: p - q, rounded up.

        Just two reports differ in probability.
        """
        return math.nextafter((self.truth_words - self.share) / WORDS, 1.0)

    @property
    def two_level(self) -> TwoLevelLaw:
        """Two-level law against the uniform law: a value's likely set holds just the value itself."""
        triple = 0.0 if self.domain_size >= 3 else None
        return TwoLevelLaw(share=1 / self.domain_size, overlap=0.0, triple=triple, union=1.0)

    @property
    def joint_support(self) -> JointSupport:
        """Joint support, 0: no report supports two values."""
        return JointSupport(with_own=0.0, of_others=0.0)

    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Check the one column ``value`` of integers in range(domain_size)."""
        check_integer_columns(columns, "value")
        check_categories(columns["value"], self.domain_size, "reports")

    def most_supported(self, values: int) -> int:
        """Largest number of the given values that one report supports: one.

        It is the value that the report holds.
        """
        return min(values, 1)

    @property
    def most_changed(self) -> int:
        """Largest number of values that exactly one of two reports supports: two.

        They are the values that the reports hold.
        """
        return 2

    def supports(self, columns: Mapping[str, NDArray[Any]], value: int) -> NDArray[np.bool_]:
        """Mask of the reports that hold this value."""
        held: NDArray[np.bool_] = columns["value"] == value
        return held

    def support_counts(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
        """Number of reports that hold each value."""
        return np.bincount(columns["value"], minlength=self.domain_size).astype(np.int64, copy=False)

    def channel(self, *, exact: bool = False) -> Channel | None:
        """Channel matrix, k x k, as fractions if ``exact``; None above 4096 values."""
        if self.domain_size > CHANNEL_LIMIT:
            return None
        truth, other = Fraction(self.truth_words, WORDS), Fraction(self.share, WORDS)
        return channel_of_support(np.eye(self.domain_size, dtype=bool), truth, other, exact=exact)


def _representable(domain_size: int) -> tuple[float, float]:
    """Smallest and largest local loss that 64-bit words can express within `RESOLUTION`.

    With E = exp(epsilon0) and k - 1 = a, a share is 2^64 / (E + a), and one word more takes (E + a)^2 / (E 2^64) from
    the loss: between the roots of a quadratic in E, that is little enough. No loss below the resolution is told from 0.
    """
    others, words = domain_size - 1, WORDS * RESOLUTION
    middle = words / 2 - others
    largest = middle + math.sqrt(middle**2 - others**2)
    return max(RESOLUTION, math.log(others**2 / largest)), math.log(largest)


@dataclass(frozen=True, slots=True, kw_only=True)
class RespondedRangeModel(RangeModel):
    """Base of models of numbers in a range, reported by randomized response over a few numbers.

    Args:
        lower: least value, a finite number.
        upper: largest value, above ``lower``.
        response: randomized response over those numbers.
    """

    response: KaryRandomizedResponseModel

    def __post_init__(self) -> None:
        super(RespondedRangeModel, self).__post_init__()
        validate.instance_of(KaryRandomizedResponseModel, response=self.response)

    @property
    def guarantee(self) -> LocalDP:
        """Local guarantee of the response, which holds for every number in the range.

        A number's law is a mixture of the response's laws.
        """
        return self.response.guarantee

    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Check the one column ``value``, the index of the reported number."""
        self.response.check(columns)

    @property
    def swing(self) -> float:
        """Largest change of the sum by one report: the width of the range, divided by p - q."""
        return (self.upper - self.lower) / (self.response.p - self.response.q)

    @property
    def stray(self) -> float:
        """Largest distance of a contribution from a number at an end of the range: (width + swing) / 2."""
        return (self.upper - self.lower + self.swing) / 2

    @property
    def two_level(self) -> TwoLevelLaw:
        """Two-level law of the response to its own numbers.

        Any other number has a mixture of the laws of these numbers.
        """
        return self.response.two_level


class KaryRandomizedResponse(CategoryRandomizer):
    """k-ary randomized response (k-RR, GRR, direct encoding; for k = 2, Warner's response).

    GRR is generalized randomized response. Pr[y = x] = p and Pr[y = v] = q for each v != x, with p / q = exp(epsilon0)
    and p + (k - 1) q = 1. Reports have the column ``value``, in the smallest unsigned dtype that holds the domain.

    Guarantees:
        1. Each report is (epsilon0, 0)-locally differentially private, exactly, for ``model.epsilon0``, which is at
           most the epsilon0 asked for and differs from it by less than 1e-6.
        2. Given the true answer, all other answers are exactly equally likely.
        3. Reports of different people are independent, and the time taken does not depend on what is drawn for one.

    Args:
        epsilon0: local privacy loss in nats, from 1e-6 to 30.5; the least is larger for more than four million answers.
        domain_size: number of possible answers k, from 2 to 2^31; answers are the integers 0..k-1.
        categories: the k answers themselves, in place of their number; public, and fixed before anybody answers. Two
            lists are those of two answers that are randomized jointly, and `Bins` those that numbers are put into.

    Raises:
        InvalidParameterError: for parameters outside these ranges.

    References:
        Warner 1965 (k = 2); Kairouz, Bonawitz, Ramage 2016, Section 4.1 (k-RR).

    Example:
        >>> randomizer = KaryRandomizedResponse(epsilon0=2.0, domain_size=4)
        >>> round(randomizer.model.p, 4), round(randomizer.model.q, 4)
        (0.7112, 0.0963)
        >>> len(randomizer.randomize([0, 3, 1]))
        3
    """

    model_type: ClassVar[type[Any]] = KaryRandomizedResponseModel
    file_form: ClassVar[str] = "category"
    best_for: ClassVar[str] = "few categories"
    model: KaryRandomizedResponseModel

    def _randomized(self, answers: NDArray[Any], source: RandomSource) -> Columns:
        reports = np.empty(len(answers), dtype=np.min_scalar_type(self.model.domain_size - 1))
        for batch, words in word_batches(len(answers), source, batch=_BATCH):
            reports[batch] = _respond(answers[batch], words, self.model)
        return {"value": reports}


def _respond(
    answers: NDArray[Any], words: NDArray[np.uint64], model: KaryRandomizedResponseModel
) -> NDArray[np.uint64]:
    """Reports from random words: words below ``truth_words`` keep the answer.

    Each ``share`` more give the next other answer. Every row takes the same steps whatever is drawn.
    """
    truth = np.uint64(model.truth_words)
    size = np.uint64(model.domain_size)
    # The true answer is step 0. uint64 wraps below zero; the mask makes those steps 0.
    steps = (words - truth) // np.uint64(model.share) + np.uint64(1)
    steps *= words >= truth
    moved = answers.astype(np.uint64)
    moved += steps
    moved -= size * (moved >= size)
    return moved
