"""Ways to a mean: the errors of each, what one person sends, and what those who lie can do."""

import math
import re

import pytest

from documents.outcomes import make_outcome
from documents.reading import Page
from shuffledp.documents.page import page_of
from shuffledp.documents.plans.plan_page import plan_page
from shuffledp.documents.release_document import column_document
from shuffledp.planning import calibrate
from shuffledp.protocols.shares.planning.sum_comparison import PlannedMean, compared_sums
from shuffledp.survey import Task, plan

WANTED = PlannedMean(lower=0, upper=100, epsilon=1.0, delta=1e-6)


@pytest.fixture(scope="module")
def ways():
    return {each.name: each for each in compared_sums(WANTED, 10_000, (100, 10_000))}


def test_a_curator_errs_least_and_who_trusts_nobody_errs_most(ways):
    errors = [ways[name].error for name in ("curator", "split and mix", "counted bits", "one message", "local")]
    assert errors == sorted(errors)
    assert [round(each, 3) for each in errors] == pytest.approx([0.014, 0.015, 0.062, 0.11, 1.043], abs=2e-3)
    assert all(way.errors[1] == pytest.approx(way.error) for way in ways.values())
    assert all(way.errors[0] > way.errors[1] for way in ways.values())


def test_messages_and_liars_are_those_of_the_models(ways):
    split = calibrate.split_and_mix(num_users=10_000, epsilon=1.0, delta=1e-6, lower=0, upper=100).model
    assert (ways["split and mix"].messages, ways["split and mix"].size) == (7, math.ceil(7 * split.report_bits / 8))
    assert ways["split and mix"].moved == math.inf
    assert ways["local"].moved == pytest.approx((1 + 1 / math.tanh(0.5)) / 2)
    assert ways["curator"].moved < ways["one message"].moved < ways["counted bits"].moved < 1.1


def test_a_way_that_does_not_exist_has_no_error():
    few = {each.name: each for each in compared_sums(WANTED, 5, (5,))}
    assert math.isnan(few["split and mix"].errors[0])
    assert (few["split and mix"].messages, math.isnan(few["split and mix"].error)) == (0, True)
    assert few["local"].error == few["one message"].error


def task_of(**table):
    return Task.from_dict(
        {"name": "t", "value": "minutes", "release": {"delta": 1e-6}, "people": {"expected": 2000}, **table}
    )


MEAN = {"randomizer": {"kind": "one-bit-mean", "epsilon0": 3.0, "lower": 0, "upper": 100}}
SUM = {"protocol": {"kind": "split-and-mix", "epsilon": 1.0, "lower": 0, "upper": 100}}
OF_ALL = {"protocol": {**SUM["protocol"], "statistic": "sum"}}
SHARES = {"randomizer": {"kind": "k-rr", "epsilon0": 2.0, "categories": ["a", "b"]}}


@pytest.mark.parametrize(
    ("table", "ways", "false"),
    [(MEAN, True, True), (SUM, True, False), (SHARES, False, True)],
    ids=["mean", "sum", "shares"],
)
def test_the_page_of_a_plan_draws_what_there_is_to_choose(table, ways, false):
    text = " ".join(Page.read(plan_page(plan(task_of(**table))).decode()).words)
    assert ("Ways to this mean" in text) is ways
    assert ("What one false report can do" in text) is false
    if ways:
        assert "counted bits" in text
        assert "shuffler or hosts, not to read" in text
        assert "anything" in text


@pytest.fixture(scope="module")
def page_of_sum():
    return plan_page(plan(task_of(**OF_ALL))).decode()


def test_ways_to_a_sum_err_as_the_sum_does_and_not_as_the_mean(page_of_sum):
    text = " ".join(Page.read(page_of_sum).words)
    assert "Ways to this sum" in text
    assert "a single false share moves the sum to any number" in text
    (split,) = re.findall(r"shuffler or hosts, not to read\s+(\S+)\s+8\s", text)
    wanted = PlannedMean(lower=0, upper=100, epsilon=1.0, delta=1e-6)
    expected = {each.name: each.error for each in compared_sums(wanted, 2000, (2000,))}["split and mix"]
    assert float(split.replace(",", "")) == pytest.approx(2000 * expected, rel=5e-3)
    assert "<b>anything</b>" in page_of_sum


def test_a_false_share_is_said_in_bold(page_of_sum):
    assert "<b>Nothing limits what a false report does" in page_of_sum


@pytest.mark.parametrize(
    ("kind", "treated", "false"),
    [
        (
            "counted-bits",
            "every answer becomes bits",
            "False messages in place of those of one person move the sum by at most 1.",
        ),
        ("split-and-mix", "every answer is split into shares", "<b>Nothing limits what a false report does"),
    ],
)
def test_the_page_of_a_release_says_what_becomes_of_answers_and_what_a_false_one_does(kind, treated, false):
    table = {**OF_ALL["protocol"], "kind": kind, "upper": 1}
    outcome = make_outcome([0.5] * 1000, protocol=table, people={"expected": 1000})
    page = page_of(column_document(outcome)).decode()
    assert treated in page
    assert false in page
