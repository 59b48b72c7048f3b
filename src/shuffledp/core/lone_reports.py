"""Chance of the best guess at a person's answer from one report alone, without the shuffle."""

import math
from dataclasses import dataclass
from typing import Any

from shuffledp.core.report_laws import TwoLevelLaw
from shuffledp.core.text import in_digits, percent

SAID_ABOVE, DANGER_ABOVE = 3.0, 5.0  # epsilon0 above which it is said, and said as a danger
_REPORT = "A report by itself is the true answer"
_GUESSED = "{} is guessed right from {}"
_SUBJECTS = ("Which of two answers was given", "Whether an answer was the least or the largest one")
_OF_VECTORS = "Whether a vector or its opposite was answered"
_RELATIONS = {True: "at most", False: "exactly"}
_LARGEST_LOSS = 700.0  # beyond, exp overflows, and a chance is 1 in every digit


@dataclass(frozen=True, slots=True, kw_only=True)
class LoneGuess:
    """Best guess at a known sender's answer from one report alone, with its chance to be right.

    Args:
        chance: that it is right, where all answers that are guessed among are equally likely.
        relation: "exactly", or "at most" where only a bound is known.
        epsilon0: local loss of the report, in nats.
        what: what is guessed right, in words.
        among: how many answers are equally likely.
    """

    chance: float
    relation: str
    epsilon0: float
    what: str
    among: int

    @property
    def sentence(self) -> str:
        """Chance of the best guess in words; a bound is rounded up."""
        often = " ".join([*["at most"] * (self.relation == "at most"), self.percent])
        answers = "both answers are" if self.among == 2 else f"all {self.among:,} answers are"
        return f"{self.what} {often} of the time, if {answers} equally likely."

    @property
    def percent(self) -> str:
        """Chance of the best guess in percent; a bound is rounded up."""
        return percent(self.chance, self.relation if self.relation == "at most" else "")

    @property
    def is_said(self) -> bool:
        """Whether the local loss is so large that every reader should see the chance."""
        return self.epsilon0 > SAID_ABOVE

    @property
    def warning(self) -> str:
        """Warning in words if the local loss is so large that a report hides almost nothing, else ""."""
        if self.epsilon0 <= DANGER_ABOVE:
            return ""
        return self.danger(in_digits(self.epsilon0, "exactly"))

    def danger(self, loss: str) -> str:
        """Warning about a large local loss in words; ``loss`` is epsilon0 in digits."""
        return f"epsilon0 = {loss} is large. {self.sentence} It matters when somebody learns who sent which report."


def lone_guess(local: Any) -> LoneGuess | None:
    """Best guess from one report; None for protocols whose single messages tell nothing.

    Categories and the inputs of a matrix are guessed among all, numbers between the ends of their range, and vectors
    between two opposite ones. It is exact but for local hashing of more than two answers, and for a class of
    randomizers of which the local loss alone is known: of these it is a bound.

    Args:
        local: description of the randomizer, a `shuffledp.core.local_models.LocalModel`.
    """
    if local.num_messages > 1 and local.total_variation is None:
        return None
    shape, size, dimension = local.two_level, getattr(local, "domain_size", 2), getattr(local, "dimension", 0)
    from_what = "a report by itself" if local.num_messages == 1 else "all that one person sends"
    what, bounded = _GUESSED.format(_OF_VECTORS if dimension > 1 else _SUBJECTS[dimension], from_what), False
    matrix = None if dimension else local.channel()
    if shape is not None and shape.union is not None and not dimension:
        bounded, chance = shape.is_union_bound, _among_all(shape, local.epsilon0, size)
        is_answer = not shape.overlap and math.isclose(shape.share * size, 1)
        what = _REPORT if is_answer else _GUESSED.format("The true answer", from_what)
    elif matrix is not None:
        size, what = len(matrix.inputs), _GUESSED.format("The true answer", from_what)
        chance = float(matrix.joint().max(axis=0).sum())
    else:
        size = 2
        bounded = shape.is_overlap_bound if shape is not None else local.laplace_steps is None
        bounded = bounded and local.num_messages == 1
        chance = _between_two(local)
    return LoneGuess(
        chance=min(chance, 1.0), relation=_RELATIONS[bounded], epsilon0=local.epsilon0, what=what, among=size
    )


def lone_warnings(local: Any) -> tuple[str, ...]:
    """Warning about the best guess from one report; empty if there is nothing to warn of."""
    found = lone_guess(local)
    return (found.warning,) if found is not None and found.warning else ()


def _among_all(shape: TwoLevelLaw, epsilon0: float, size: int) -> float:
    """Chance that the best guess among all answers is right.

    It is the largest density, on average over the base law, for each answer.

    It is the high density where some answer has it, and the low one elsewhere.
    """
    union = 1.0 if shape.union is None else shape.union
    odds = math.expm1(epsilon0)
    return (1 + union * odds) / (1 + shape.share * odds) / size


def _between_two(local: Any) -> float:
    """Chance that the best guess between the two most distinguishable answers is right.

    It is half of 1 plus their total variation.
    """
    shape: TwoLevelLaw | None = local.two_level
    distance: float | None = local.total_variation
    epsilon0, delta0 = float(local.epsilon0), float(local.guarantee.delta)
    if shape is not None:
        odds = math.expm1(epsilon0)
        return (1 + (shape.share - shape.overlap) * odds / (1 + shape.share * odds)) / 2
    if distance is not None:
        return (1 + distance) / 2
    inverse = math.exp(-min(epsilon0, _LARGEST_LOSS))
    return (1 + delta0 * inverse) / (1 + inverse)
