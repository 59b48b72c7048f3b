"""Terms of a survey as its organizer knows them: questions, people, and the privacy loss of answers."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.sum_models import ShareModel
from shuffledp.core.validate import invalid
from shuffledp.survey.asked_questions import LEVEL, AskedQuestion, Knowledge
from shuffledp.survey.section import tables_of
from shuffledp.survey.task import Task
from shuffledp.survey.task_templates import usual_sum

COMPARED = (1.0, 2.0, 3.0)  # values of epsilon0 that an organizer is shown
_FEW_PEOPLE = 300  # below which shares would be too inexact at epsilon0 = 1
_OF_FEW, _OF_MANY = 2.0, 1.0
_LARGEST, _PEOPLE_FOR_MORE = 3.0, 100
_LEAST_BATCH, _DELTA_DIGITS = 2, 6
_MILLION = 1_000_000  # parts of a share that a task file says
_UNVOUCHED = "unvouched = true  # all answers but one may be made up, so that epsilon0 alone is promised"


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
        sums: whether numbers and questions of two answers are asked as sums, whose noise is everybody's together:
            exactly so many as ``minimum`` says may stay away, and ``epsilon0`` is what the sum tells, with nothing left
            without it.
        hosts: how many shufflers share each answer to a sum, of whom any one may work with the analyst.

    Raises:
        InvalidParameterError: for numbers that cannot be; for totals without sums; or for sums without a question that
            fits, of people of whom nobody says how many are real, or of too few.
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
        if not self.sums and any(each.total for each in self.questions):
            raise invalid("left out without --sum: reports tell a mean or shares", total=True)
        if not self.sums and any(each.whole for each in self.questions):
            raise invalid("left out without --sum: reports round numbers to few levels", whole=True)
        if self.sums and not any(each.fits_sum for each in self.questions):
            raise invalid("left out without a number or a question of two answers", sum=self.sums)
        if self.hosts > 1 and not self.sums:
            raise invalid("1 but for sums, whose answers are shared among several", mix=self.hosts)
        if self.hosts > 1 and not all(each.fits_sum for each in self.questions):
            raise invalid("1 where a question of more than two answers stands beside sums", mix=self.hosts)
        if self.sums and self.fakes is None:
            raise invalid("given for a sum, or people invited by name: what is made up brings no noise", fakes=None)
        if not self.sums:
            return
        Task.from_dict(tables_of(self._written(sums=False, fakes=self.fakes)))  # what is wrong with its texts
        if self._as_sums() is None:
            raise InvalidParameterError(
                f"people must be more for a sum{self._shared_loss()}: of so few the result would be noise and little "
                "else. Ask more people, fewer questions at once, or let answers tell more, by a larger epsilon0; got "
                f"people={self.people}, of whom {self.minimum:,} are enough."
            )

    def _shared_loss(self) -> str:
        """Words for the part of the loss that each of several questions has."""
        count = len(self.questions)
        return f", as each of {count} questions has epsilon {self.epsilon0 / count:g}" if count > 1 else ""

    def _as_sums(self) -> Knowledge | None:
        """Accuracy of the least accurate sum if all people answer; None if there are too few people."""
        try:
            task = Task.from_dict(tables_of(self._written(sums=True, fakes=self.fakes or 0)))
            models = [column.randomizer.randomizer().model for column in task.columns]
        except InvalidParameterError:
            return None
        found = [
            Knowledge(
                asked=asked, epsilon0=self.epsilon0, half_width=model.sum_margin(self.people, LEVEL) / self.people
            )
            for asked, model in zip(self.questions, models, strict=True)
            if isinstance(model, ShareModel)
        ]
        return max(found, key=lambda each: each.relative)

    @property
    def sum_known(self) -> Knowledge:
        """Accuracy of the least accurate sum, with 95 % confidence, if all people answer.

        Raises:
            InvalidParameterError: if nothing is asked as a sum.
        """
        found = self._as_sums() if self.sums else None
        if found is None:
            raise invalid("true for the accuracy of sums", sums=self.sums)
        return found

    @property
    def better_sum(self) -> Knowledge | None:
        """Accuracy of sums if their error is below half of the error of reports; else None."""
        asked = [each for each in self.questions if each.fits_sum]
        if self.sums or not asked or (found := self._as_sums()) is None:
            return None
        share = self.epsilon0 / len(self.questions)
        by_reports = max(each.known(share, self.people).relative for each in asked)
        return found if 2 * found.relative < by_reports else None

    def known(self, epsilon0: float) -> Knowledge:
        """Accuracy of the least accurately known question, at a given epsilon0."""
        found = [each.known(epsilon0 / len(self.questions), self.people) for each in self.questions]
        return replace(max(found, key=lambda each: each.relative), epsilon0=epsilon0)

    def task_file(self) -> str:
        """Task of the survey as TOML."""
        return self._written(sums=self.sums, fakes=self.fakes)

    def _written(self, *, sums: bool, fakes: int | None) -> str:
        """Task of the survey as TOML, by sums or by reports; it allows for ``fakes`` made-up answers."""
        head = [
            f"name = {_toml(self.name)}",
            *([] if self.language is None else [f"language = {_toml(self.language)}"]),
        ]
        tail = [
            "",
            "[people]",
            f"expected = {self.people}",
            *([_UNVOUCHED] if fakes is None else []),
            *([f"fakes = {fakes}  # made-up answers that the promise allows for"] if fakes else []),
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
            return "\n".join([*head, *blocks, *tail, "", *self._table(asked, share, sums=sums), ""])
        for number, asked in enumerate(self.questions, start=1):
            tail += ["", "[[value]]", f'column = "question {number}"', f"question = {_toml(asked.text)}"]
            tail += self._table(asked, share, sums=sums, within="value.")
        return "\n".join([*head, *tail, ""])

    def _table(self, asked: AskedQuestion, loss: float, *, sums: bool, within: str = "") -> list[str]:
        """Lines of the task's table that defines how a question's answers are sent."""
        named = f"categories = {_toml(asked.answers)}"
        if asked.ends is not None:
            named = f'lower = {asked.ends[0]!r}\nupper = {asked.ends[1]!r}\nout_of_range = "clip"'
        if not (sums and asked.fits_sum):
            kind = "k-rr" if asked.ends is None else "rounded-mean"
            return [f"[{within}randomizer]", f'kind = "{kind}"', f"epsilon0 = {loss!r}", named]
        away = math.floor(_MILLION * (1 - (self.minimum - (self.fakes or 0)) / self.people)) / _MILLION
        dropout = f"dropout_fraction = {away!r}  # who may stay away, and what is made up: it brings no noise"
        whole = ["integer = true  # whole numbers, of which none is rounded"] if asked.whole else []
        total = ['statistic = "sum"  # of all who answer, and not the mean'] if asked.total else []
        shared = [f"hosts = {self.hosts}", "colluding_hosts = 1  # any one may work with you", 'buffers = "host"']
        several = shared if self.hosts > 1 else []
        head = [f"[{within}protocol]", f'kind = "{usual_sum()}"', f"epsilon = {loss!r}", named]
        return [*head, *whole, *total, dropout, *several]


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
    """Fewest answers to release by default: half of the people.

    Often fewer people answer than are asked.
    """
    return max(_LEAST_BATCH, math.ceil(people / 2))


def _toml(value: str | Sequence[str]) -> str:
    """Text or list as TOML: JSON in which the control character DEL is escaped, too."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
