"""What a published result calls its row: a mean, a total, or the answer whose share or number it is."""

from types import SimpleNamespace

import pytest

from cli.running import task_with
from shuffledp.documents.collections.published_document import _OUTSIDE, _of_all, _question
from shuffledp.survey import Task

SUM = {"kind": "split-and-mix", "epsilon": 2.0}
NUMBERS, ANSWERS = SUM | {"lower": 0, "upper": 10}, SUM | {"categories": ["No", "Yes"]}


@pytest.mark.parametrize(
    ("protocol", "statistic", "name"),
    [
        (NUMBERS, "mean", "Mean"),
        (NUMBERS, "sum", "Total"),
        (ANSWERS, "mean", "Yes"),
        (ANSWERS, "sum", "Yes (number of people)"),
    ],
)
def test_a_row_about_all_people_is_called_by_what_it_is_and_not_by_a_column(protocol, statistic, name):
    asked = task_with(randomizer=None, people={"expected": 30}, protocol=protocol | {"statistic": statistic})
    assert _of_all(Task.from_dict({key: each for key, each in asked.items() if each}).column, statistic) == name


def test_shares_of_named_answers_keep_their_names():
    column = Task.from_dict(task_with()).column
    assert _of_all(column, "frequency") == ""


@pytest.mark.parametrize(("estimate", "is_outside"), [(-0.5, True), (0.4, False), (10.5, True)])
def test_a_published_mean_that_no_answers_have_is_explained(estimate, is_outside):
    asked = task_with(randomizer=None, people={"expected": 30}, protocol=NUMBERS)
    column = Task.from_dict({key: each for key, each in asked.items() if each}).column
    row = {"statistic": "mean", "target": column.value, "level": 0.95, "standard_error": 0.6}
    row |= {"estimate": estimate, "lower": max(0.0, estimate - 1), "upper": min(10.0, estimate + 1)}
    number = 20 * column.randomizer.randomizer().model.num_messages
    blocks = _question(SimpleNamespace(minimum=10), column, number, [row])
    assert (_OUTSIDE in [getattr(each, "text", "") for each in blocks]) == is_outside
