"""Terms of a survey as its organizer knows them: questions, people, and how much an answer may tell."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.sum_models import ShareModel
from shuffledp.core.validate import invalid, one_line
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.survey.section import read_toml, tables_of
from shuffledp.survey.task import Task

LEVEL = 0.95  # of the intervals that a release has
COMPARED = (1.0, 2.0, 3.0)  # values of epsilon0 that an organizer is shown
_FEW_PEOPLE = 300  # below which shares would be too inexact at epsilon0 = 1
_OF_FEW, _OF_MANY = 2.0, 1.0
_LARGEST, _PEOPLE_FOR_MORE = 3.0, 100
_LEAST_BATCH, _DELTA_DIGITS = 2, 6
_MILLION = 1_000_000  # parts of a share that a task file says
_KEYS = {"text", "answers"}
_OTHER_KINDS = ("kind", "code", "length", "known", "options", "at_most", "edges", "bins", "lower", "upper", "after")
_UNVOUCHED = "unvouched = true  # all answers but one may be made up, so that epsilon0 alone is promised"


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """Question with the answers that people choose from.

    Args:
        text: what people read, one line.
        answers: two or more, all different.
    """

    text: str
    answers: tuple[str, ...]

    def __post_init__(self) -> None:
        one_line(question=self.text)
        if len(self.answers) < 2 or len(set(self.answers)) != len(self.answers) or not all(self.answers):
            raise invalid("two or more, all different and none empty", answers=", ".join(self.answers))

    @property
    def is_of_two(self) -> bool:
        """Whether the question has two answers, so that a sum can estimate the share of the second."""
        return len(self.answers) == 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """Accuracy of a survey at one value of epsilon0, and what one report tells.

    Args:
        epsilon0: loss of all answers of one person.
        half_width: how far the estimate of a share is off at most, with 95 % confidence, among those who answered.
        truth: chance that one report by itself is the true answer.
    """

    epsilon0: float
    half_width: float
    truth: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyTerms:
    """Terms of a survey before it has keys and addresses.

    Args:
        name: name of the survey.
        questions: one or more.
        people: how many are expected to answer, 2 or more.
        epsilon0: local loss of one person, over all questions together.
        minimum: fewest answers that are released.
        fakes: how many of the answers may be made up; None where nobody says, and then all but one are counted so.
        language: tag of the language of the questions; None is English.
        contact: who asks; None where nobody is named.
        sums: whether questions of two answers are asked as sums, whose noise is everybody's together: exactly so many
            as ``minimum`` says may stay away, and ``epsilon0`` is what the sum tells, with nothing left without it.
        hosts: how many shufflers share each answer to a sum, of whom any one may work with the analyst.

    Raises:
        InvalidParameterError: for numbers that cannot be; or for sums without a question of two answers, or of people
            of whom nobody says how many are real.
    """

    name: str
    questions: tuple[AskedQuestion, ...]
    people: int
    epsilon0: float
    minimum: int
    fakes: int | None = None
    language: str | None = None
    contact: str | None = None
    sums: bool = False
    hosts: int = 1

    def __post_init__(self) -> None:
        validate.integer_at_least(_LEAST_BATCH, people=self.people)
        validate.positive(epsilon0=self.epsilon0)
        validate.integer_at_least(_LEAST_BATCH, minimum=self.minimum)
        if self.minimum > self.people:
            raise invalid(f"at most people={self.people}", minimum=self.minimum)
        if self.fakes is not None:
            validate.integer_at_least(0, fakes=self.fakes)
            if self.fakes >= self.minimum:
                raise invalid(f"below minimum={self.minimum}, so that somebody is real", fakes=self.fakes)
        if self.sums and not any(each.is_of_two for each in self.questions):
            raise invalid("left out without a question of two answers", sum=self.sums)
        if self.hosts > 1 and not self.sums:
            raise invalid("1 but for sums, whose answers are shared among several", mix=self.hosts)
        if self.sums and self.fakes is None:
            raise invalid("given for a sum, or people invited by name: what is made up brings no noise", fakes=None)

    @property
    def sum_half_width(self) -> float:
        """Half-width of a share's interval, with 95 % confidence, where all people answer a sum.

        Raises:
            InvalidParameterError: if so few people make no sum.
        """
        task = Task.from_dict(tables_of(replace(self, sums=True).task_file()))
        models = [column.randomizer.randomizer().model for column in task.columns]
        return max(m.sum_margin(self.people, LEVEL) / self.people for m in models if isinstance(m, ShareModel))

    @property
    def better_sum(self) -> float | None:
        """Half-width of shares by a sum, where it is less than half the half-width by reports; else None."""
        if self.sums or self.fakes is None or not any(each.is_of_two for each in self.questions):
            return None
        try:
            found = self.sum_half_width
        except InvalidParameterError:
            return None
        count = len(self.questions)
        return found if 2 * found < _known(2, self.epsilon0, count, self.people).half_width else None

    def known(self, epsilon0: float) -> Knowledge:
        """Accuracy at another value of epsilon0, for the question with the least accurate shares."""
        return max(
            (_known(len(each.answers), epsilon0, len(self.questions), self.people) for each in self.questions),
            key=lambda found: found.half_width,
        )

    def task_file(self) -> str:
        """Task of the survey as TOML."""
        head = [
            f"name = {_toml(self.name)}",
            *([] if self.language is None else [f"language = {_toml(self.language)}"]),
        ]
        tail = [
            "",
            "[people]",
            f"expected = {self.people}",
            *([_UNVOUCHED] if self.fakes is None else []),
            *([f"fakes = {self.fakes}  # made-up answers that the promise allows for"] if self.fakes else []),
            "",
            "[release]",
            f"delta = 1e-{max(_DELTA_DIGITS, len(str(self.people)) + 1)}",
            f"minimum_batch = {self.minimum}  # with fewer answers nothing is released",
            *([] if self.contact is None else [f"contact = {_toml(self.contact)}"]),
        ]
        share = self.epsilon0 / len(self.questions)
        if len(self.questions) == 1:
            asked = self.questions[0]
            blocks = ['value = "answer"', f"question = {_toml(asked.text)}"]
            return "\n".join([*head, *blocks, *tail, "", *self._table(asked, share), ""])
        for number, asked in enumerate(self.questions, start=1):
            tail += ["", "[[value]]", f'column = "question {number}"', f"question = {_toml(asked.text)}"]
            tail += self._table(asked, share, within="value.")
        return "\n".join([*head, *tail, ""])

    def _table(self, asked: AskedQuestion, loss: float, *, within: str = "") -> list[str]:
        """Lines of the table that says how the answers of a question are sent."""
        named = f"categories = {_toml(asked.answers)}"
        if not (self.sums and asked.is_of_two):
            return [f"[{within}randomizer]", 'kind = "k-rr"', f"epsilon0 = {loss!r}", named]
        away = math.floor(_MILLION * (1 - (self.minimum - (self.fakes or 0)) / self.people)) / _MILLION
        dropout = f"dropout_fraction = {away!r}  # who may stay away, and what is made up: it brings no noise"
        shared = [f"hosts = {self.hosts}", "colluding_hosts = 1  # any one may work with you", 'buffers = "host"']
        several = shared if self.hosts > 1 else []
        return [f"[{within}protocol]", 'kind = "split-and-mix"', f"epsilon = {loss!r}", named, dropout, *several]


def questions_in(file: Path) -> tuple[AskedQuestion, ...]:
    """Questions of a TOML file of ``[[question]]`` tables, each with ``text`` and ``answers``.

    Raises:
        InvalidParameterError: if the file cannot be read, or holds something else.
    """
    table = read_toml(file, "the file of questions")
    found = table.get("question")
    if set(table) != {"question"} or not isinstance(found, list) or not found:
        raise InvalidParameterError(f"the file of questions must be [[question]] tables alone; got {file}.")
    for each in found:
        if isinstance(each, dict) and (other := next((key for key in _OTHER_KINDS if key in each), None)):
            raise InvalidParameterError(
                "each [[question]] must be a choice of one answer, with text and answers alone, since all questions of "
                f"such a survey share one loss; one in {file} has {other!r}. Open answers, ticks, numbers and "
                "questions after an answer are asked by a task: `shuffledp init` writes one, and `shuffledp collect "
                "new` opens it."
            )
        texts = [each.get("text"), *_listed(each.get("answers"))] if isinstance(each, dict) else [None]
        if set(each) != _KEYS or not all(isinstance(text, str) for text in texts):
            raise InvalidParameterError(
                f"each [[question]] must have text and answers, texts all of them, and nothing else; one in {file} has "
                "not."
            )
    return tuple(AskedQuestion(each["text"], tuple(each["answers"])) for each in found)


def epsilon0_for(people: int, given: float | None, *, alone: str = "") -> float:
    """Local loss of a survey: the given one, or 2 for few people and 1 for many.

    Args:
        people: how many are expected.
        given: what the organizer has named; None for nothing.
        alone: why the shuffle buys next to nothing whatever the number of people, or "".

    Raises:
        InvalidParameterError: for one above 3 that next to nothing but the chance on each device would protect.
    """
    if given is None:
        return _OF_FEW if people < _FEW_PEOPLE else _OF_MANY
    validate.positive(epsilon0=given)
    why = alone or (f"among {people} people" if people < _PEOPLE_FOR_MORE else "")
    if given > _LARGEST and why:
        raise InvalidParameterError(
            f"epsilon0 must be at most {_LARGEST:g} {why}: there the shuffle buys next to nothing, and a report by "
            f"itself would all but tell the answer; got epsilon0={given:g}."
        )
    return given


def minimum_for(people: int) -> int:
    """Fewest answers to release by default: half of the people, as often fewer answer than are asked."""
    return max(_LEAST_BATCH, math.ceil(people / 2))


def _known(num_answers: int, epsilon0: float, num_questions: int, people: int) -> Knowledge:
    model = KaryRandomizedResponse(epsilon0=epsilon0 / num_questions, domain_size=num_answers).model
    variance = max(model.noise_variance(share) for share in (0.0, 1.0))  # it is linear in the share
    half_width = NormalDist().inv_cdf((1 + LEVEL) / 2) * math.sqrt(variance / people)
    return Knowledge(epsilon0=epsilon0, half_width=half_width, truth=model.p)


def _listed(answers: object) -> Sequence[object]:
    return answers if isinstance(answers, list) else [None]


def _toml(value: str | Sequence[str]) -> str:
    """Text or list as TOML, which equals JSON for them but for one control character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
