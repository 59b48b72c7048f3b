"""What devices send: all answers of a person, or none."""

import numpy as np
import pytest

from cli.running import task_with
from shuffledp.core.errors import InputDataError
from shuffledp.files.devices import randomize_each
from shuffledp.files.reading import CsvInMemory
from shuffledp.survey import Task

CERTAIN = {"kind": "k-rr", "epsilon0": 25.0, "categories": ["No", "Yes"]}  # a lie in 10^10 reports
TWO = {
    "name": "survey",
    "release": {"delta": 1e-6},
    "missing": "drop",
    "value": [{"column": name, "randomizer": CERTAIN} for name in ("smokes", "drinks")],
}
ROWS = b"smokes,drinks\nYes,No\n,Yes\nNo,Yes\nNo,\nYes,Yes\n"


def test_whoever_left_a_question_out_sends_nothing():
    sent = randomize_each(Task.from_dict(TWO), CsvInMemory(ROWS))
    assert [reports["value"].tolist() for reports in sent.reports] == [[1, 0, 1], [0, 1, 1]]
    assert (sent.num_users, sent.left_out) == (3, 2)


def test_where_every_question_must_be_answered_a_missing_answer_is_refused():
    with pytest.raises(InputDataError, match="hold an answer in every row"):
        randomize_each(Task.from_dict(TWO | {"missing": "refuse"}), CsvInMemory(ROWS))


def test_an_answer_that_is_no_category_is_refused_and_not_shown():
    with pytest.raises(InputDataError) as caught:
        randomize_each(Task.from_dict(TWO), CsvInMemory(b"smokes,drinks\nYes,perhaps\n"))
    assert "perhaps" not in str(caught.value)


def test_public_columns_come_along_only_where_the_shuffler_works_by_them():
    rows = b"x,cheated\n" + b"".join(b"%d,No\n" % place for place in range(30))
    groups = {"groups": {"columns": ["x"], "neighbors": 5}, "public": ["x"]}
    near = Task.from_dict(task_with(shuffler={"kind": "mallows", "concentration": 0.1}, **groups))
    sent = randomize_each(near, CsvInMemory(rows))
    assert np.array_equal(sent.public["x"], np.arange(30.0))
    assert randomize_each(Task.from_dict(task_with(public=["x"])), CsvInMemory(rows)).public is None


def test_more_people_than_a_sum_was_planned_for_are_refused_in_the_words_of_the_task():
    summed = {"kind": "split-and-mix", "epsilon": 2.0, "lower": 0, "upper": 10}
    planned = Task.from_dict(
        {"name": "x", "value": "x", "people": {"expected": 10}, "protocol": summed, "release": {"delta": 1e-6}}
    )
    with pytest.raises(InputDataError, match="of at most expected = 10 people, which the task was planned for"):
        randomize_each(planned, CsvInMemory(b"x\n" + b"5\n" * 11))
