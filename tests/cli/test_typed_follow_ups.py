"""Follow-up questions of one person who types: asked only after their answer, and never to be left out."""

import pytest

from parties.service.given import Parties
from shuffledp.cli import send_command
from shuffledp.cli.send_command import answers_typed
from shuffledp.core.errors import InputDataError
from shuffledp.files.devices import randomize_each
from survey.test_follow_up import AFTER, QUIT, SMOKES, TRAVELS, task

SURE = {"kind": "k-rr", "epsilon0": 25.0, "categories": ["never", "often"]}


@pytest.fixture
def collection():
    blocks = (SMOKES, QUIT | AFTER | {"randomizer": SURE}, TRAVELS)
    return Parties(task(*blocks)).collection


@pytest.mark.parametrize(
    ("smokes", "prompted", "value"), [("Yes", ["smokes", "quit", "travels"], 1), ("No", ["smokes", "travels"], 2)]
)
def test_a_person_is_asked_after_the_answer_alone(collection, monkeypatch, smokes, prompted, value):
    answers, heard = {"smokes": smokes, "quit": "often", "travels": "car"}, []

    def prompt(text):
        heard.append(text.partition(" ")[0])
        return answers[heard[-1]]

    monkeypatch.setattr(send_command.typer, "prompt", prompt)
    sent = randomize_each(collection.task, answers_typed(collection, [], [], ask=True))
    assert heard == prompted
    assert sent.reports[1].columns["value"].tolist() == [value]


@pytest.mark.parametrize("more", [[], ["quit=often"]])
def test_what_somebody_says_who_is_not_asked_does_not_count(collection, more):
    typed = answers_typed(collection, ["smokes=No", "travels=car", *more], [], ask=False)
    assert randomize_each(collection.task, typed).reports[1].columns["value"].tolist() == [2]


def test_somebody_who_is_asked_must_answer(collection):
    typed = answers_typed(collection, ["smokes=Yes", "travels=car"], [], ask=False)
    with pytest.raises(InputDataError, match="quit"):
        randomize_each(collection.task, typed)
