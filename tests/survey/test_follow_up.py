"""Questions after an answer to an earlier one: what a task file may say, and that digests of others hold."""

import json

import pytest

from shuffledp.core.errors import InputDataError, InvalidParameterError
from shuffledp.core.estimates import NOT_ASKED
from shuffledp.survey import Column, Task, plan
from shuffledp.testing import SeededSource

SMOKES = {"column": "smokes", "randomizer": {"kind": "k-rr", "epsilon0": 2.0, "categories": ["No", "Yes"]}}
TRAVELS = {
    "column": "travels",
    "kind": "multi-select",
    "options": ["car", "bus"],
    "at_most": 2,
    "randomizer": {"kind": "columns", "epsilon0": 2.0},
}
AFTER = {"after": "smokes = Yes"}
QUIT = {"column": "quit", "randomizer": {"kind": "k-rr", "epsilon0": 2.0, "categories": ["never", "often"]}}
AGE = {"column": "age", "randomizer": {"kind": "oue", "epsilon0": 2.0, "lower": 0, "upper": 90, "bins": 3}}
WHY = TRAVELS | {"column": "why", "options": ["fun", "stress", "friends"]}
BRAND = {"column": "brand", "kind": "open", "length": 4, "randomizer": {"kind": "masked-prefix", "epsilon0": 6.0}}
MEAN = {"column": "years", "randomizer": {"kind": "one-bit-mean", "epsilon0": 1.0, "lower": 0, "upper": 60}}
BOTH = {
    "columns": ["a", "b"],
    "randomizer": {"kind": "k-rr", "epsilon0": 1.0, "categories": [["x", "y"], ["u", "v"]]},
}


def written(*blocks, **further):
    return {"name": "x", "value": list(blocks), "release": {"delta": 1e-6, "minimum_batch": 50}} | further


def task(*blocks, **further):
    return Task.from_dict(written(*blocks, **further))


@pytest.mark.parametrize(
    ("block", "targets"),
    [
        (QUIT, ("never", "often", NOT_ASKED)),
        (AGE, ("0 to 30", "30 to 60", "60 to 90", NOT_ASKED)),
        (WHY, ("fun", "stress", "friends", NOT_ASKED)),
        (BRAND, ()),
    ],
)
def test_not_asked_is_one_more_answer(block, targets):
    follow_up = task(SMOKES, block | AFTER).columns[1]
    assert follow_up.randomizer.targets == targets
    assert (follow_up.after.column, follow_up.after.answer) == ("smokes", "Yes")
    assert follow_up.read_from == (block["column"], "smokes")
    found = task(SMOKES, block | AFTER, missing="category").columns[1].randomizer
    assert found.targets == ((*targets[:-1], "(missing)", NOT_ASKED) if targets else ())
    assert found.missing_category


def test_a_missing_open_answer_of_somebody_who_was_asked_loses_nobody_and_another_question_may_refuse():
    """Mutants: no answer sent as "(not asked)"; the `missing` of the task for all blocks."""
    own = task(SMOKES, BRAND | AFTER | {"missing": "category"})
    assert [each.missing for each in own.columns] == ["refuse", "category"]
    assert Task.from_dict(json.loads(json.dumps(own.to_dict()))) == own
    answers = {"smokes": ["Yes"] * 600 + ["No"] * 600, "brand": ["camel"] * 300 + ["", "!!"] * 150 + [""] * 600}
    columns = own.run(answers, source=SeededSource(5)).columns
    found = next(each for each in columns.values() if each.column.value == "brand").release.estimate
    assert found.num_reports == 1200
    shares = dict(zip(found.target, found.estimate, strict=True))
    assert shares["(missing)"] == pytest.approx(0.25, abs=0.12)
    assert shares[NOT_ASKED] == pytest.approx(0.5, abs=0.12)
    with pytest.raises(InputDataError, match="block, or in the task for all"):
        task(SMOKES, BRAND | AFTER).run(answers)


def test_names_and_answers_may_hold_an_equals_sign():
    """Mutant: the text taken apart at the first sign."""
    odd = SMOKES | {"column": "a = b", "randomizer": SMOKES["randomizer"] | {"categories": ["x = y", "z"]}}
    for answer in ("x = y", "z"):
        after = task(odd, QUIT | {"after": f"a = b = {answer}"}).columns[1].after
        assert (after.column, after.answer) == ("a = b", answer)
    other = SMOKES | {"column": "a", "randomizer": SMOKES["randomizer"] | {"categories": ["b = z", "No"]}}
    with pytest.raises(InvalidParameterError, match="fits 'a' and 'a = b': rename a column"):
        task(odd, other, QUIT | {"after": "a = b = z"})


def test_a_question_may_come_after_an_option_that_is_ticked_and_several_after_one_answer():
    found = task(TRAVELS, SMOKES, QUIT | {"after": "travels=bus"}, AGE | AFTER, WHY | AFTER)
    assert [None if each.after is None else each.after.answer for each in found.columns] == [
        *(None, None, "bus", "Yes", "Yes"),
    ]


@pytest.mark.parametrize("block", [QUIT, AGE, WHY, BRAND])
def test_tasks_and_columns_are_written_and_read_again(block):
    found = task(SMOKES, block | AFTER)
    again = Task.from_dict(json.loads(json.dumps(found.to_dict())))
    assert (again, again.sha256) == (found, found.sha256)
    assert found.to_dict()["value"][1]["after"] == "smokes = Yes"
    for column in found.columns:
        assert Column.from_dict(json.loads(json.dumps(column.to_dict()))) == column
    assert "follow_up" not in json.dumps(task(SMOKES, block).to_dict())
    assert "after" not in json.dumps(task(SMOKES, block).to_dict())
    assert task(SMOKES, block).sha256 != found.sha256


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ((SMOKES, QUIT | {"after": "smokes"}), r"after must be \"question = answer\""),
        ((SMOKES, QUIT | {"after": " = Yes"}), r"after must be \"question = answer\""),
        ((SMOKES, QUIT | {"after": "smokes = Perhaps"}), "one of the answers No, Yes to 'smokes'; got 'Perhaps'"),
        ((SMOKES, QUIT | {"after": "drinks = Yes"}), "which the task does not ask"),
        ((QUIT | AFTER, SMOKES), "which does not stand above it"),
        ((SMOKES, QUIT | {"after": "quit = often"}), "which does not stand above it"),
        ((SMOKES, QUIT | AFTER, AGE | {"after": "quit = often"}), "no second level"),
        ((QUIT | {"after": "smokes = Yes"}, SMOKES | {"after": "quit = often"}), "does not stand above it"),
        ((AGE, QUIT | {"after": "age = 0 to 30"}), "answers to choose or to tick"),
        ((BOTH, QUIT | {"after": "a and b = x, u"}), "answers to choose or to tick"),
        ((SMOKES, MEAN | AFTER), "got answers of kind 'number'"),
        ((SMOKES, BOTH | AFTER), "got answers of kind 'pair'"),
        ((SMOKES, QUIT | {"after": 3}), "after must be of type str"),
    ],
)
def test_other_conditions_are_refused_by_name(blocks, message):
    with pytest.raises(InvalidParameterError, match=message) as caught:
        task(*blocks)
    assert "[[value]] of column" in str(caught.value)


@pytest.mark.parametrize(
    ("further", "message"),
    [
        ({"missing": "drop"}, "whoever is left out of its reports shows that they were asked"),
        ({"shuffler": {"kind": "imperfect", "imperfection": 0.1}}, "must shuffle everybody uniformly"),
        ({"by": "region"}, "must shuffle everybody uniformly"),
    ],
)
def test_people_who_are_left_out_and_other_shuffles_are_refused(further, message):
    with pytest.raises(InvalidParameterError, match=message):
        task(SMOKES, QUIT | AFTER, **further)


def test_local_hashing_is_refused_whose_errors_go_together_in_an_unknown_way():
    hashed = {"kind": "olh", "epsilon0": 2.0, "categories": ["never", "often"]}
    with pytest.raises(InvalidParameterError, match="where shares are added up"):
        task(SMOKES, QUIT | AFTER | {"randomizer": hashed})


def test_a_task_of_one_question_has_no_earlier_one():
    table = {"name": "x", "value": "quit", "randomizer": QUIT["randomizer"], "release": {"delta": 1e-6}}
    for after in ("smokes = Yes", {"column": "smokes", "answer": "Yes", "randomizer": SMOKES["randomizer"]}):
        with pytest.raises(InvalidParameterError, match=r"after must stand in a \[\[value\]\] block"):
            Task.from_dict(table | {"after": after})
    with pytest.raises(InvalidParameterError, match="follow_up must be left out"):
        task(SMOKES, QUIT | {"randomizer": QUIT["randomizer"] | {"follow_up": True}})


def test_everybody_counts_every_question():
    """The loss of a follow-up question is that of a question with one more answer which everybody is asked."""
    found = plan(task(SMOKES, QUIT | AFTER), 1000)
    more = QUIT | {"randomizer": QUIT["randomizer"] | {"categories": ["never", "often", "not asked"]}}
    asked = plan(task(SMOKES, more), 1000)
    assert found.statements[0].guarantee == asked.statements[0].guarantee
    assert found.columns[1].model == asked.columns[1].model
