"""Response under a blanket: k-ary randomized response, hidden by messages with uniform answers.

Float-free.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.blanket_models import BlanketModel
from shuffledp.core.guarantees import LocalDP
from shuffledp.core.validate import invalid
from shuffledp.randomizers.families import CategoryRandomizer, Columns
from shuffledp.randomizers.inputs import check_categories, check_integer_columns
from shuffledp.randomizers.randomized_response import KaryRandomizedResponse, KaryRandomizedResponseModel
from shuffledp.randomizers.sampling.coins import WORDS
from shuffledp.randomness.sources import RandomSource, bernoulli, uniform_integers

MOST_MESSAGES = 1000.0  # of a person that hide others, on average
KIND = "k-rr-blanket"


@dataclass(frozen=True, slots=True, kw_only=True)
class BlanketedResponseModel(BlanketModel):
    """Public description of a response and of ``slots`` further messages of each person.

    Each of these is empty or has a uniform answer.

    Args:
        domain_size: number of answers k, from 2 to 2^31 - 1; a message with the number k is empty.
        share: of the 2^64 words, those that lead to each answer but the true one, as for ``"k-rr"``.
        slots: messages of a person beside the response, from 1 to 1000.
        full: words that fill a slot with a uniform answer, from 1 to 2^64; the others leave it empty.
    """

    kind: ClassVar[str] = KIND
    domain_size: int
    share: int
    slots: int
    full: int

    def __post_init__(self) -> None:
        validate.integer_at_least(1, slots=self.slots, full=self.full)
        if self.slots > MOST_MESSAGES:
            raise invalid(f"at most {MOST_MESSAGES:g}", slots=self.slots)
        if self.full > WORDS:
            raise invalid("at most 2**64", full=self.full)
        for name in ("slots", "full"):
            object.__setattr__(self, name, int(getattr(self, name)))
        object.__setattr__(self, "domain_size", self.response.domain_size)
        object.__setattr__(self, "share", self.response.share)  # which is refused where it is none

    @classmethod
    def from_epsilon0(cls, *, epsilon0: float, domain_size: int, blanket_messages: float) -> Self:
        """Model with the largest representable local loss of at most ``epsilon0``.

        A person sends ``blanket_messages`` on average beside the response, or hardly more, in the fewest slots.
        """
        validate.positive(blanket_messages=blanket_messages)
        if blanket_messages > MOST_MESSAGES:
            raise invalid(f"at most {MOST_MESSAGES:g}", blanket_messages=blanket_messages)
        share = KaryRandomizedResponseModel.from_epsilon0(epsilon0=epsilon0, domain_size=domain_size).share
        slots = math.ceil(blanket_messages)
        full = min(math.ceil(Fraction(float(blanket_messages)) * WORDS / slots), WORDS)
        return cls(domain_size=domain_size, share=share, slots=slots, full=full)

    @property
    def response(self) -> KaryRandomizedResponseModel:
        """Model of the response alone."""
        return KaryRandomizedResponseModel(domain_size=self.domain_size, share=self.share)

    @property
    def filled(self) -> float:
        """Probability that a slot is filled."""
        return self.full / WORDS

    @property
    def guarantee(self) -> LocalDP:
        """Local guarantee of the response; the other messages do not depend on the answer."""
        return self.response.guarantee

    @property
    def total_variation(self) -> float:
        """Total variation between the responses to two answers."""
        return self.response.total_variation

    @property
    def p(self) -> float:
        """Probability that the response is the true answer."""
        return self.response.p

    @property
    def q(self) -> float:
        """Probability that the response is a given other answer."""
        return self.response.q

    @property
    def report_bits(self) -> int:
        """Size of one message in bits: the bits of an answer's number, with one more number for empty."""
        return self.domain_size.bit_length()

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentence on the messages of a person, and on the messages that hide the response."""
        return (
            f"What is promised about everything released rests on the messages of other people that say nothing: each "
            f"person sends {self.num_messages}, of which {self.blanket_messages:.4g} on average have a uniform answer "
            "and hide others; whoever sends none of these hides nobody. No two messages of a person can be put "
            "together.",
        )

    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Check the one column ``value`` of integers in range(domain_size + 1)."""
        check_integer_columns(columns, "value")
        check_categories(columns["value"], self.domain_size + 1, "reports")

    def answer_counts(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
        """Number of messages with each answer; empty messages are not counted."""
        counts = np.bincount(columns["value"], minlength=self.domain_size + 1)[: self.domain_size]
        return counts.astype(np.int64, copy=False)


class BlanketedResponse(CategoryRandomizer):
    """k-ary randomized response under a blanket of messages with uniform answers, shuffled together.

    Reports have the column ``value``; a person's stand side by side: the response first, then the slots, of which the
    empty ones have the value k.

    Guarantees:
        1. All messages of a person together are (epsilon0, 0)-locally differentially private, exactly: all but the
           response have one law, whatever the answer is.
        2. Every person sends as many messages, of one form.
        3. Slots are filled independently of each other and of the answer, with uniform answers.

    Args:
        epsilon0: local privacy loss in nats, as for `KaryRandomizedResponse`.
        blanket_messages: expected number of a person's messages with a uniform answer, above 0 and at most 1000.
        domain_size: number of possible answers k, from 2; answers are the integers 0..k-1.
        categories: the k answers themselves, in place of their number.

    Raises:
        InvalidParameterError: for parameters outside these ranges.

    References:
        Balcer and Cheu 2020; Luo, Wang, Yi 2022, for messages that hide those of others; the account is own.

    Example:
        >>> randomizer = BlanketedResponse(epsilon0=8.0, domain_size=20, blanket_messages=0.09)
        >>> round(randomizer.model.epsilon0, 6), randomizer.model.num_messages
        (8.0, 2)
        >>> len(randomizer.randomize([3, 19]))
        4
    """

    model_type: ClassVar[type[Any]] = BlanketedResponseModel
    answers: ClassVar[str] = "blanketed"
    file_form: ClassVar[str] = "columns"
    shown: ClassVar[tuple[str, ...]] = ("epsilon0", "domain_size", "blanket_messages")
    best_for: ClassVar[str] = "one of many categories, where people may send several messages"
    model: Any

    def __init__(
        self,
        *,
        epsilon0: float,
        blanket_messages: float,
        domain_size: int | None = None,
        categories: Any = None,
    ) -> None:
        self._solve(domain_size, categories, epsilon0=epsilon0, blanket_messages=blanket_messages)

    def _randomized(self, answers: NDArray[Any], source: RandomSource) -> Columns:
        model = self.model
        found = np.empty((len(answers), model.num_messages), dtype=np.min_scalar_type(model.domain_size))
        responses = KaryRandomizedResponse.from_model(model.response).randomize(answers, source=source)
        found[:, 0] = responses.columns["value"]
        number = len(answers) * model.slots
        hiding = uniform_integers(model.domain_size, number, source=source)
        is_full = bernoulli(model.full, number, source=source)
        found[:, 1:] = np.where(is_full, hiding, model.domain_size).reshape(len(answers), model.slots)
        return {"value": found.ravel()}
