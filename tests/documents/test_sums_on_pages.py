"""Pages of sums: what each way to sum is trusted with, what false messages do, and what a promise is about."""

import re
from dataclasses import replace

import numpy as np
import pytest

from shuffledp.accounting import account
from shuffledp.documents.blocks import PAGE
from shuffledp.documents.estimate_document import beside_section
from shuffledp.documents.plans.plan_document import column_document
from shuffledp.documents.provenance_document import provenance_section
from shuffledp.documents.result_document import quote_of
from shuffledp.documents.words import Scale, moved_by_one
from shuffledp.protocols.shares import Hosts
from shuffledp.survey import ColumnOutcome, DataFlow, Task, plan
from shuffledp.survey.released_numbers import ReleasedNumbers

PEOPLE = 400
SPLIT = {"kind": "split-and-mix", "epsilon": 2.0, "lower": 0, "upper": 10}
BITS = {"kind": "counted-bits", "epsilon": 2.0, "lower": 0, "upper": 10}
VECTORS = {"kind": "vector-sum", "epsilon": 2.0, "largest_norm": 1.0, "dimension": 3}


def outcome_of(protocol):
    described = {"name": "t", "value": "v", "people": {"expected": PEOPLE}, "release": {"delta": 1e-6}}
    column = Task.from_dict({**described, "protocol": protocol}).column
    value = [0.25] * 3 if protocol["kind"] == "vector-sum" else 2.5
    release = column.pipeline().run([value] * PEOPLE, delta=1e-6)
    flow = DataFlow(received=PEOPLE, missing=0, released=release.estimate.num_reports, expected=PEOPLE)
    return ColumnOutcome(column=column, flow=flow, release=release)


def text(section):
    return " ".join(str(block) for block in section.blocks)


@pytest.mark.parametrize(
    ("protocol", "words"),
    [
        (SPLIT, "if two rounds are worse than promised"),
        ({**SPLIT, "buffers": "host"}, "if its one buffer is worse than promised"),
        ({**SPLIT, "hosts": 9, "colluding_hosts": 2}, "if more than 2 of 9 tell it, or shuffle worse than promised"),
        ({**SPLIT, "hosts": 3, "buffers": "host"}, "if one of 3 tell it"),
        (VECTORS, "if two rounds are worse than promised"),
        ({**VECTORS, "hosts": 4, "colluding_hosts": 1, "buffers": "host"}, "if more than one of 4 tell it"),
        (BITS, "or all messages of a person together, nothing protects the answers."),
    ],
    ids=lambda each: each if isinstance(each, str) else each["kind"],
)
def test_a_page_says_what_the_shuffles_are_trusted_with_as_the_statement_does(protocol, words):
    outcome = outcome_of(protocol)
    said = text(beside_section(outcome))
    assert words in said
    may_fail = getattr(outcome.model.local, "may_fail", "")
    assert ("if two rounds are worse" in said) == ("One round of each value may be worse" in may_fail)
    assert ("split into shares, which hosts mix" in said) == ("hosts" in protocol)
    assert ("split into shares" in said) == (protocol is not BITS)


def test_one_of_as_many_hosts_as_messages_may_fail_without_being_counted_as_colluding():
    assert "if more than one of 9 tell it" in Hosts(number=9).price(9)
    assert "if one of 9 tell it" in Hosts(number=9).price(18)


@pytest.mark.parametrize("statistic", ["mean", "sum"])
def test_false_messages_move_the_statistic_that_is_released(statistic):
    bits, split = (outcome_of({**each, "statistic": statistic}) for each in (BITS, SPLIT))
    (moved,) = moved_by_one(bits.column, bits.model.local, PEOPLE, on=PAGE)
    number = bits.model.local.swing / (PEOPLE if statistic == "mean" else 1)
    assert f"in place of those of one person move the {statistic} by at most" in moved.text
    assert float(re.search(r"at most ([\d.,]+), whatever", moved.text)[1]) == pytest.approx(number, rel=0.005)
    (moved,) = moved_by_one(split.column, split.model.local, PEOPLE, on=PAGE)
    assert f"moves the {statistic} to any number" in moved.text


def test_a_promise_about_several_releases_is_not_said_to_be_about_one():
    alone, several = (outcome_of({**VECTORS, "releases": releases}) for releases in (1, 3))
    assert "covers this release alone" in text(provenance_section(alone))
    assert "covers 3 such releases together, of which this is one" in text(provenance_section(several))


@pytest.mark.parametrize("protocol", [BITS, VECTORS, SPLIT], ids=lambda each: each["kind"])
def test_a_plan_says_what_is_promised_of_the_fewest_people(protocol):
    described = {"name": "t", "value": "v", "people": {"expected": PEOPLE}, "release": {"delta": 1e-6}}
    task = Task.from_dict({**described, "protocol": {**protocol, "dropout_fraction": 0.25}})
    (column,) = plan(task).columns
    limits, all_there = column_document(column).limits(PEOPLE), column.statements[0].guarantee.epsilon
    of_fewest = account(task.column.model(300), delta=1e-6).guarantee.epsilon
    assert all_there <= of_fewest <= 2.0
    assert ("Of the fewest the promise is epsilon = 2 at most." in limits) == (all_there < 1.99)
    alone = plan(Task.from_dict({**described, "protocol": protocol}))
    assert "Of the fewest" not in column_document(alone.columns[0]).limits(PEOPLE)


# ---- intervals that end where answers do ----


def moved_to(outcome, value):
    """The outcome with another estimate."""
    estimate = replace(outcome.release.estimate, estimate=np.array([value]))
    return replace(outcome, release=replace(outcome.release, estimate=estimate))


@pytest.mark.parametrize("protocol", [SPLIT, BITS, {**SPLIT, "statistic": "sum"}, {**BITS, "statistic": "sum"}])
def test_intervals_end_where_answers_do_in_the_words_and_when_they_are_read_back(protocol):
    outcome = outcome_of(protocol)
    most = 10.0 * (PEOPLE if "statistic" in protocol else 1)
    for value, is_outside in ((0.4 * most, False), (-0.1 * most, True), (1.1 * most, True), (most, False)):
        found = moved_to(outcome, value)
        estimate = found.release.estimate
        assert 0 <= estimate.lower[0] < estimate.upper[0] <= most
        (row,) = rows = estimate.rows()
        read = ReleasedNumbers.of(found.column, found.model, rows, estimate.num_reports).estimate
        assert read.possible == (0, most)
        assert (read.lower[0], read.upper[0]) == (row["lower"], row["upper"])
        scale, note = Scale.of(estimate, found.model.local), f"may lie outside 0 to {most:,.0f}; intervals end there"
        assert (note in scale.beyond(estimate)) == is_outside
        quote = quote_of([("v", found.release)], found.release.statements[0], source="s")
        assert ("is quoted as the nearer end" in quote) == is_outside
        assert f" is {scale.text(min(max(value, 0.0), most))} (" in quote


def test_an_interval_of_an_earlier_version_that_left_the_range_is_read_as_one_that_ends_there():
    outcome = moved_to(outcome_of(BITS), -1.0)
    rows = [{**outcome.release.estimate.rows()[0], "lower": -1.6, "upper": -0.4}]
    read = ReleasedNumbers.of(outcome.column, outcome.model, rows, outcome.release.estimate.num_reports).estimate
    assert (read.estimate[0], read.lower[0], read.upper[0]) == (-1, 0, 0)
    assert all(reach[0] >= 0 for reach in read.reaches(0.95, population=False)[1:])
