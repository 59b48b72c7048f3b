"""A new type of question: a module and a line of the registry, and it goes through plan, run, page and planner."""

import json
import sys

import pytest

from cli.running import shuffledp
from parties.client.answering import ADDRESS
from parties.service.given import Parties
from shuffledp.core.errors import InvalidParameterError
from shuffledp.parties.client.respondents_page import with_page
from shuffledp.planner.answers import answer
from shuffledp.survey import Task
from shuffledp.survey.questions.question_kinds import QUESTIONS, QuestionKind

RATING = '''
"""Question for a rating from 1 to a number of stars."""

from dataclasses import dataclass
from typing import ClassVar

from shuffledp.analyzers import FrequencyAnalyzer
from shuffledp.survey.questions.question import CategoryQuestion
from shuffledp.survey.questions.single_choice import fields_of_choices


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating(CategoryQuestion):
    """Rating of 1 star or more, whose shares are estimated."""

    answers: ClassVar[str] = "rating"
    beside: ClassVar[tuple[str, ...]] = ("stars",)
    head: ClassVar[str] = 'kind = "rating"\\nstars = 5  # the best rating\\n'
    template: ClassVar[str] = 'kind = "k-rr"\\n$epsilon0'
    init_kind: ClassVar[str] = "rating"
    init_title: ClassVar[str] = "A rating"
    epsilon0: float
    stars: int
    missing_category: bool = False

    def read(self, answers):
        """Numbers of the ratings."""
        return answers.categories(0, self.categories_of_answers[0])

    def analyzer(self, *, level, columns):
        """The analyzer of the shares."""
        return FrequencyAnalyzer(level=level)

    @property
    def names(self):
        """Names of the ratings."""
        return tuple(f"{stars} of {self.stars}" for stars in range(1, self.stars + 1))

    @property
    def categories_of_answers(self):
        """The ratings as whole numbers."""
        return (tuple(range(1, self.stars + 1)),)

    def page_fields(self, columns):
        """One choice among the ratings."""
        return fields_of_choices(columns, self.categories_of_answers)

    @classmethod
    def planned(cls, epsilon0, numbers):
        """Keys for as many stars as there are categories."""
        return {"epsilon0": epsilon0, "stars": int(numbers["categories"])}
'''
TASK = """
name = "a rating"
value = "meal"
kind = "rating"
stars = 5
missing = "drop"

[randomizer]
kind = "k-rr"
epsilon0 = 3.0

[release]
delta = 1e-6
minimum_batch = 10
"""


@pytest.fixture(autouse=True)
def rating(tmp_path, monkeypatch):
    """A new question in two files: its module, and the registry with one line more."""
    (tmp_path / "rating.py").write_text(RATING)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(QUESTIONS, "rating", QuestionKind("rating.Rating"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "task.toml").write_text(TASK)
    yield
    sys.modules.pop("rating", None)


def test_a_task_names_it_and_is_written_as_it_was_read():
    task = Task.read("task.toml")
    written = json.loads(json.dumps(task.to_dict()))
    assert (written["kind"], written["stars"]) == ("rating", 5)
    assert "stars" not in written["randomizer"]
    assert Task.from_dict(written) == task
    assert task.column.targets[-1] == "5 of 5"
    blocks = {"name": "x", "release": {"delta": 1e-6}, "value": [{"column": "meal", "kind": "rating", "stars": 3}]}
    blocks["value"][0]["randomizer"] = {"kind": "oue", "epsilon0": 1.0}
    both = Task.from_dict(blocks)
    assert both.to_dict()["value"][0] | {"kind": "rating", "stars": 3} == both.to_dict()["value"][0]
    assert Task.from_dict(both.to_dict()).sha256 == both.sha256


def test_an_unknown_question_is_refused_by_name():
    with pytest.raises(InvalidParameterError, match=r"the task kind must be one of .*, 'rating'; got kind='quiz'"):
        Task.from_dict(Task.read("task.toml").to_dict() | {"kind": "quiz"})


@pytest.mark.parametrize("values", [(), ("--value", "meal"), ("--value", "meal", "--value", "room")])
def test_a_first_task_file_asks_it(values):
    made = shuffledp("init", "--kind", "rating", *values, "--output", "made.toml")
    assert (made.code, made.err) == (0, "")
    written = Task.read("made.toml")
    assert written.name.startswith("A rating: ")
    assert [column.randomizer.answers for column in written.columns] == ["rating"] * max(1, len(values) // 2)


def test_it_goes_through_plan_and_run(tmp_path):
    planned = shuffledp("plan", "task.toml", "--users", 500, "--json")
    assert planned.code == 0
    assert {"k-rr", "oue", "subset"} <= {option["kind"] for option in planned.json["columns"][0]["options"]}
    (tmp_path / "answers.csv").write_text("meal\n" + "5\n5\n4\n1\n\n" * 100)
    ran = shuffledp("run", "task.toml", "--input", "answers.csv", "--output", "out", "--no-figures")
    assert ran.code == 0
    assert "5 of 5" in ran.out
    (tmp_path / "answers.csv").write_text("meal\n6\n" + "5\n" * 100)
    refused = shuffledp("run", "task.toml", "--input", "answers.csv", "--output", "other")
    assert refused.code == 3
    assert "'meal' must hold only the task's categories '1', '2', '3', '4', '5', exactly; 1 of 101" in refused.err


def test_the_page_for_respondents_asks_it():
    _, page = with_page(Parties(Task.read("task.toml")).collection, ADDRESS)
    assert '"answers":["1","2","3","4","5"]' in page.decode()
    assert '"names":["1 of 5","2 of 5"' in page.decode()


def test_a_question_without_fields_is_refused_by_name_before_a_page_is_made(monkeypatch):
    parties = Parties(Task.read("task.toml"))
    monkeypatch.setattr(sys.modules["rating"].Rating, "page_fields", lambda *_: [])
    with pytest.raises(InvalidParameterError, match="ask questions that it can show; got a question of type 'rating'"):
        with_page(parties.collection, ADDRESS)


def test_the_planner_plans_it():
    found = answer({"about": "promise", "question": "rating", "categories": 7, "people": 2000})
    assert 'kind = "rating"\nstars = 7\n' in found["task"]
    assert found["statements"]
    refused = answer({"about": "promise", "question": "rating", "randomizer": "laplace-mean"})
    assert refused["refused"].startswith("randomizer must be one of 'hadamard', 'k-rr'")
