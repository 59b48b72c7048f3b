"""Attempts on ticks and open answers: one person's words, and other options for the same people."""

import json

import pytest

from shuffledp.core.errors import BatchTooSmallError, InvalidParameterError
from shuffledp.survey import Task

WORDS = {
    "name": "jobs",
    "value": "job",
    "kind": "open",
    "length": 6,
    "randomizer": {"kind": "masked-prefix", "epsilon0": 6.0},
    "release": {"delta": 1e-6, "minimum_batch": 50},
}


def ticks(*options, **people):
    table = {"name": "ways", "value": "way", "kind": "multi-select", "options": list(options), "at_most": 2}
    table |= {"randomizer": {"kind": "columns", "epsilon0": 1.0}, "people": people}
    return Task.from_dict(table | {"release": {"delta": 1e-6, "minimum_batch": 50}})


@pytest.mark.parametrize("people", [1, 49])
def test_the_words_of_few_people_are_on_no_page(people):
    with pytest.raises(BatchTooSmallError) as caught:
        Task.from_dict(WORDS).run({"job": ["undertaker"] * people})
    assert "undert" not in str(caught.value)


@pytest.mark.deep
def test_the_same_people_asked_about_other_options_lose_both(tmp_path):
    """Mutant: a second collection about other options counted by itself."""
    first = ticks("car", "bus")
    answers = {"way": ["car", "", "car;bus"] * 200}
    alone = first.run(answers)
    (tmp_path / "statement.json").write_text(json.dumps(alone.to_dict()), encoding="utf-8")
    second = ticks("car", "bus", "bike", earlier=[first.sha256])
    with pytest.raises(InvalidParameterError, match="earlier"):
        second.run(answers)
    together = second.run(answers, earlier=[tmp_path / "statement.json"]).to_dict()
    fresh = ticks("car", "bus", "bike").run(answers).to_dict()["statements"][0]["guarantee"]["epsilon"]
    stated = [
        each["guarantee"]["epsilon"] for each in together["statements"] if each["guarantee"]["type"] == "central-dp"
    ]
    assert max(stated) > 1.3 * max(fresh, alone.to_dict()["statements"][0]["guarantee"]["epsilon"])
