"""A guarantee as displayed numbers, and as a game: the chance of a right guess about one person."""

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from shuffledp.core.guarantees import DifferentialPrivacy, Guarantee
from shuffledp.core.text import in_digits, percent, shown_relation
from shuffledp.documents.words import count

_LEAST_WRITTEN_OUT = 1e-9
_MOST_OF_ALL = 10**15


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """The guarantee as a game: to guess which of two equally likely answers a person gave.

    Args:
        share: the largest chance of being right, from 0.5 to 1.
    """

    share: float

    @classmethod
    def under(cls, guarantee: DifferentialPrivacy) -> "Guess":
        """The game with chance at most (exp(epsilon) + delta) / (exp(epsilon) + 1), for any other knowledge."""
        inverse = math.exp(-guarantee.epsilon)
        return cls(share=min((1 + guarantee.delta * inverse) / (1 + inverse), 1.0))

    @property
    def text(self) -> str:
        """The chance in percent, rounded up."""
        return percent(self.share, "at most")

    def sentence(self, *, several: bool = False) -> str:
        """The meaning in a sentence; ``several`` is for people who gave more than one answer."""
        return (
            f"Somebody who knows everybody else's answers, and holds two {'sets of ' if several else ''}answers of one "
            f"person for equally likely, guesses right at most {self.text} of the time after seeing everything that is "
            "released."
        )

    def plainly(self, *, several: bool = False) -> str:
        """The meaning for a person who answered, in words without terms of the field."""
        answers = "sets of answers" if several else "answers"
        return (
            f"Of two {answers} that a person might have given, a coin toss names the true one half of the time. "
            "Somebody who sees all that is released, and even knows what everybody else answered, names it at most "
            f"{self.text} of the time."
        )

    def in_short(self, *, several: bool = False) -> str:
        """The meaning on one line."""
        answers, sets = ("answers", "sets of answers ") if several else ("answer", "")
        return (
            f"Somebody who knows everybody else's {answers} guesses right between two {sets}at most {self.text} of the "
            "time."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """The numbers of a differential privacy guarantee, as displayed."""

    epsilon: str
    epsilon_relation: str
    delta: str
    allowance: str

    @classmethod
    def of(cls, guarantee: Guarantee, relation: str) -> "Loss | None":
        """The numbers of a guarantee; None if it promises nothing, or has no epsilon."""
        if not isinstance(guarantee, DifferentialPrivacy) or guarantee.is_trivial:
            return None
        epsilon, delta = in_digits(guarantee.epsilon, relation), in_digits(guarantee.delta, relation)
        return cls(
            epsilon=epsilon,
            epsilon_relation=shown_relation(guarantee.epsilon, epsilon, relation),
            delta=f"{Decimal(delta):f}" if guarantee.delta >= _LEAST_WRITTEN_OUT else delta,
            allowance=_one_in(guarantee.delta, relation),
        )


def _one_in(delta: float, relation: str) -> str:
    """A remainder as "one in ...", rounded as the relation says; a smaller denominator is a larger share."""
    if delta < 1 / _MOST_OF_ALL:
        return f"less than one in {count(_MOST_OF_ALL)}" if delta else ""
    every = 1 / Fraction(in_digits(delta, relation, digits=15).replace(",", ""))
    rounding = {"at most": math.floor, "at least": math.ceil}.get(relation, round)
    return f"one in {count(rounding(every))}"
