"""Questions of the planner's page about a task, with limits for the numbers in a question."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from shuffledp.core import validate
from shuffledp.core.described import Described
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Shuffler
from shuffledp.core.validate import invalid
from shuffledp.planning.family_plan import Around
from shuffledp.shufflers.shuffler_kinds import KINDS
from shuffledp.survey import Column, ShufflerSection, Task
from shuffledp.survey import Question as SurveyQuestion
from shuffledp.survey.questions.question_kinds import QUESTIONS, TABLES, as_written, question_type

SUBJECTS = ("choices", "promise", "guesses", "bracket", "ways", "page")

# Least and largest value of each number, on the page and in answers.
LIMITS: dict[str, tuple[float, float]] = {
    "people": (1, 10**9),
    "epsilon0": (0.01, 20.0),
    "delta": (1e-15, 0.1),
    **{name: ends for each in QUESTIONS for name, ends in question_type(each).controls.items()},
    "hosts": (1, 1024),
    "colluding_hosts": (0, 1023),
    "imperfection": (0.0, 5.0),
    "alpha": (0.01, 20.0),
    "group_size": (2, 10**6),
    "contacts": (1, 10**6),
    "colluders": (0, 10**9),
    "repetitions": (1, 1000),
}
# Groups and overlays are made person by person, so fewer people are allowed.
MOST_OF = {"groups": 10**6, "graph": 10**6, "": 10**9}
BUFFERS = ("message", "host")
PEOPLE_FILE = "people.csv"
_USUAL_BATCH = 100
_GROUP = "group"  # public column of the groups


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Described):
    """Question about one shuffler; keys that its randomizer or shuffler lacks are ignored.

    Args:
        about: "choices" (values to choose), "promise" (statements and costs), "guesses" (chances of guesses about
            one person), "bracket" (bounds on epsilon alone), "ways" (the error of all ways to a mean or a sum) or
            "page" (the output of `shuffledp plan --output`).
        people: number of people who take part.
        epsilon0: local loss of one report, in nats; with "split-and-mix" the loss of the noisy sum.
        delta: the remainder of the central guarantee.
        question: its type, by the name in the registry; the usual one for the randomizer if left out.
        randomizer: a kind of the table ``[randomizer]`` or ``[protocol]``.
        categories: number of answers, for randomizers of categories.
        lower: the least answer, for randomizers of numbers.
        upper: the largest answer.
        dimension: dimension of vectors.
        length: letters of open answers.
        ticks: most options that a device keeps, of as many as there are categories, for randomizers of ticks.
        hosts: of the shuffles of shares, each of which gets as many messages.
        colluding_hosts: of them, who may tell the analyst who sent what.
        buffers: "message" or "host", as in the table ``[protocol]``.
        shuffler: a kind of the table ``[shuffler]``.
        imperfection: gamma of "imperfect".
        alpha: loss of the order inside groups, of "mallows" and "noisy-sort".
        group_size: most people of a group: the fewest, nearly equal groups of neighboring numbers are made.
        contacts: most contacts of a person on the overlay of "network".
        colluders: people who may collude with the analyst, or send anything, and hide nobody.
        repetitions: number of releases about the same people.
    """

    title: ClassVar[str] = "the question"
    about: str = "promise"
    people: int = 10_000
    epsilon0: float = 1.0
    delta: float = 1e-6
    question: str = ""
    randomizer: str = "k-rr"
    categories: int = 4
    lower: float = 0.0
    upper: float = 100.0
    dimension: int = 10
    length: int = 16
    ticks: int = 3
    hosts: int = 1
    colluding_hosts: int = 0
    buffers: str = "message"
    shuffler: str = "uniform"
    imperfection: float = 0.1
    alpha: float = 1.0
    group_size: int = 100
    contacts: int = 100
    colluders: int = 0
    repetitions: int = 1

    def __post_init__(self) -> None:
        validate.one_of(SUBJECTS, about=self.about)
        validate.one_of(randomizers(), randomizer=self.randomizer)
        validate.one_of(KINDS, shuffler=self.shuffler)
        validate.one_of(BUFFERS, buffers=self.buffers)
        for name, (least, most) in LIMITS.items():
            if not least <= getattr(self, name) <= most:
                raise invalid(f"from {least:g} to {most:g}", **{name: getattr(self, name)})
        if self.lower >= self.upper:
            raise invalid(f"below upper={self.upper:g}", lower=self.lower)
        if self.colluders >= self.people:
            raise invalid(f"below people={self.people}, so that somebody is honest", colluders=self.colluders)
        most_people = MOST_OF[KINDS[self.shuffler].about]
        if self.people > most_people:
            raise invalid(f"at most {most_people} here for a {self.shuffler!r} shuffle", people=self.people)

    def task(self) -> dict[str, Any]:
        """Tables of the task file, without keys at their defaults."""
        section, grouped = self._section(), KINDS[self.shuffler].about == "groups"
        keys = section.planned(self.epsilon0, {name: getattr(self, name) for name in (*LIMITS, "buffers")})
        fakes = {"fakes": self.colluders} if self.colluders else {}
        least = min(self.people, max(_USUAL_BATCH, self.colluders + 1))
        return {
            "name": "a plan",
            "value": "answer",
            **({"public": [_GROUP]} if grouped else {}),
            "people": {"expected": self.people, **fakes},
            **as_written({SurveyQuestion.key: {"kind": self.randomizer, **keys}}, section),
            "shuffler": {"kind": self.shuffler, **self._shuffler()},
            **({"groups": {"column": _GROUP}} if grouped else {}),
            "release": {"delta": self.delta, "minimum_batch": least},
        }

    def _section(self) -> type[SurveyQuestion]:
        """Section class of the randomizer, for the chosen question or the randomizer's usual question."""
        if not self.question:
            return randomizers()[self.randomizer]
        validate.one_of(QUESTIONS, question=self.question)
        fit = question_type(self.question).members()
        validate.one_of(fit, randomizer=self.randomizer)
        return fit[self.randomizer]

    def _shuffler(self) -> dict[str, Any]:
        """Keys of the shuffler in the task file."""
        if KINDS[self.shuffler].about == "graph":
            return {"overlay": {"contacts": self.contacts}}
        known = _keys_of(ShufflerSection.members()[self.shuffler])
        return {name: getattr(self, name) for name in ("imperfection", "alpha") if name in known}

    def column(self) -> Column:
        """Private column of the task.

        Raises:
            InvalidParameterError: if the task is not valid.
        """
        return Task.from_dict(self.task()).column

    def shuffle(self, column: Column) -> Shuffler:
        """Shuffler of a run, with the groups or the overlay of these people."""
        return column.shuffler.shuffler_for(column, self.around(column))

    def around(self, column: Column) -> Around | None:
        """Groups or the overlay of these people; None if the shuffle needs neither."""
        return column.shuffler.imagined(self.people, self.group_size)

    @property
    def commands(self) -> tuple[str, ...]:
        """Commands that print the same facts about the task or more, after commands that create its people."""
        found, people = [], ""
        if KINDS[self.shuffler].about == "groups":
            people = f" --input {PEOPLE_FILE}"
            groups = -(-self.people // self.group_size)
            rows = f"[print(i * {groups} // {self.people}) for i in range({self.people})]"
            found.append(f"python -c \"print('{_GROUP}'); {rows}\" > {PEOPLE_FILE}")
        found.append(f"shuffledp plan task.toml{people}")
        if self.repetitions > 1 and not KINDS[self.shuffler].about:
            found.append(f"shuffledp account task.toml --releases {self.repetitions}")
        return (*found, f"shuffledp leakage task.toml{people} --compare --method quick")


def randomizers() -> Mapping[str, type[SurveyQuestion]]:
    """Randomizer sections of all kinds, by kind."""
    sections: tuple[Any, ...] = (SurveyQuestion, *(find() for find in TABLES.values()))
    return {kind: member for each in sections for kind, member in each.members().items()}


def _keys_of(section: type) -> set[str]:
    return {each.name for each in fields(section)}


def as_toml(task: Mapping[str, Any]) -> str:
    """TOML text of a task; JSON of text, numbers and lists of them is TOML too."""
    lines = [f"{key} = {_toml(value)}" for key, value in task.items() if not isinstance(value, Mapping)]
    for name, table in task.items():
        if isinstance(table, Mapping):
            lines += ["", f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + "}"
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidParameterError(f"a number of a task file must be finite; got {value!r}.")
    return json.dumps(value, ensure_ascii=False)
