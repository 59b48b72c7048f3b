"""Questions of a survey as its organizer asks them: choices of answers, or numbers in a range."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.validate import invalid, one_line
from shuffledp.randomizers import KaryRandomizedResponse, RoundedMean
from shuffledp.survey.section import read_toml

LEVEL = 0.95  # of the intervals that a release has
_KEYS = ({"text", "answers"}, {"text", "lower", "upper"})
_FLAGS = {"total", "whole"}
_OTHER_KINDS = ("kind", "code", "length", "known", "options", "at_most", "edges", "bins", "after")
_PLACES = 101  # in a range, at which the noise of a mean is looked at; its bound is a parabola between them


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """Question with the answers that people choose from, or with a range of numbers.

    Args:
        text: what people read, one line.
        answers: two or more, all different; empty for numbers.
        ends: least and largest number that counts; None for a choice.
        total: whether the total of all answers is asked for, and not their mean: how many give the second one of two
            answers, or how much all numbers are together.
        whole: whether the numbers are whole ones.
    """

    text: str
    answers: tuple[str, ...] = ()
    ends: tuple[float, float] | None = None
    total: bool = False
    whole: bool = False

    def __post_init__(self) -> None:
        one_line(question=self.text)
        if self.ends is not None:
            lower, upper = self.ends
            if self.answers or not (math.isfinite(lower) and math.isfinite(upper) and lower < upper):
                raise invalid(
                    "a range of numbers, such as 0:10000, without answers to choose", number=f"{lower:g}:{upper:g}"
                )
        elif len(self.answers) < 2 or len(set(self.answers)) != len(self.answers) or not all(self.answers):
            raise invalid("two or more, all different and none empty", answers=", ".join(self.answers))
        if self.total and not self.fits_sum:
            raise invalid("left out of a question of more than two answers", total=True)
        if self.whole and not (self.ends is not None and all(end.is_integer() for end in self.ends)):
            raise invalid("left out but of a number, whose least and largest are whole", whole=True)

    @property
    def fits_sum(self) -> bool:
        """Whether a sum can estimate the question's mean of numbers, or share of the second of two answers."""
        return self.ends is not None or len(self.answers) == 2

    @property
    def width(self) -> float:
        """Length of the range of one answer: 1 for a choice."""
        return 1.0 if self.ends is None else self.ends[1] - self.ends[0]

    def known(self, epsilon0: float, people: int) -> "Knowledge":
        """Accuracy of the mean, or of the shares, by one report of loss ``epsilon0`` from each person."""
        if self.ends is None:
            chosen = KaryRandomizedResponse(epsilon0=epsilon0, domain_size=len(self.answers)).model
            variance = max(chosen.noise_variance(share) for share in (0.0, 1.0))  # it is linear in the share
            truth: float | None = chosen.p
        else:
            lower, upper = self.ends
            model = RoundedMean(epsilon0=epsilon0, lower=lower, upper=upper).model
            variance = max(
                float(model.noise_variance(np.array([place]))[0]) for place in np.linspace(lower, upper, _PLACES)
            )
            truth = None
        half_width = NormalDist().inv_cdf((1 + LEVEL) / 2) * math.sqrt(variance / people)
        return Knowledge(asked=self, epsilon0=epsilon0, half_width=half_width, truth=truth)


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """Accuracy of a question's estimate at one epsilon0, and the chance that a report is the true answer.

    Args:
        asked: the question.
        epsilon0: loss of all answers of one person.
        half_width: how far the estimate of a share or mean is off at most, with 95 % confidence, among those who
            answered.
        truth: chance that one report by itself is the true answer; None where there is no one such chance.
    """

    asked: AskedQuestion
    epsilon0: float
    half_width: float
    truth: float | None = None

    @property
    def relative(self) -> float:
        """Half-width of the interval, divided by the length of one answer's range, to compare questions."""
        return self.half_width / self.asked.width


def question_of(
    text: str, answers: str | None, number: str | None, *, total: bool, whole: bool = False
) -> AskedQuestion:
    """Question with answers as "No,Yes" (the default), or with a range of numbers as "0:10000".

    Raises:
        InvalidParameterError: for both of them, or what is none.
    """
    if number is None:
        return AskedQuestion(
            text, tuple(each.strip() for each in (answers or "No,Yes").split(",")), total=total, whole=whole
        )
    if answers is not None:
        raise InvalidParameterError("--answers must be left out with --number, which asks for a number.")
    lower, _, upper = number.partition(":")
    try:
        ends = float(lower), float(upper)
    except ValueError:
        raise invalid("the least and the largest number that counts, such as 0:10000", number=number) from None
    return AskedQuestion(text, ends=ends, total=total, whole=whole)


def questions_in(file: Path) -> tuple[AskedQuestion, ...]:
    """Questions of a TOML file of ``[[question]]`` tables: ``text`` with ``answers``, or with ``lower`` and ``upper``.

    Raises:
        InvalidParameterError: if the file cannot be read, or holds something else.
    """
    table = read_toml(file, "the file of questions")
    found = table.get("question")
    if set(table) != {"question"} or not isinstance(found, list) or not found:
        raise InvalidParameterError(f"the file of questions must be [[question]] tables alone; got {file}.")
    return tuple(_question(each, file) for each in found)


def _question(table: Any, file: Path) -> AskedQuestion:
    if isinstance(table, dict) and (other := next((key for key in _OTHER_KINDS if key in table), None)):
        raise InvalidParameterError(
            "each [[question]] must be a choice of one answer, with text and answers, or a number, with text, lower "
            f"and upper, since all questions of such a survey share one loss; one in {file} has {other!r}. Open "
            "answers, ticks, numbers in bins and questions after an answer are asked by a task: `shuffledp init` "
            "writes one, and `shuffledp collect new` opens it."
        )
    keys = set(table) - _FLAGS if isinstance(table, dict) else set()
    if keys not in _KEYS or not _is_well_typed(table):
        raise InvalidParameterError(
            "each [[question]] must have text and answers, texts all of them, or text and the numbers lower and "
            f"upper, perhaps total = true or whole = true, and nothing else; one in {file} has not."
        )
    ends = (float(table["lower"]), float(table["upper"])) if "lower" in table else None
    flags = {name: table.get(name, False) for name in _FLAGS}
    return AskedQuestion(table["text"], tuple(table.get("answers", ())), ends, **flags)


def _is_well_typed(table: dict[str, Any]) -> bool:
    answers = table.get("answers", [])
    texts: Sequence[Any] = [table["text"], *(answers if isinstance(answers, list) else [None])]
    numbers = [table[key] for key in ("lower", "upper") if key in table]
    return (
        all(isinstance(each, str) for each in texts)
        and all(isinstance(each, int | float) and not isinstance(each, bool) for each in numbers)
        and all(isinstance(table.get(name, False), bool) for name in _FLAGS)
    )
