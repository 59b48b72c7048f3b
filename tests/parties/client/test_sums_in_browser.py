"""Sums and a blanket on the page on which people answer: what is asked, shown and sent of them."""

import numpy as np
import pytest

from parties.client.answering import RANDOMIZE, SEND, Asked, asking, picture, randomize, says
from shuffledp.parties.wire.report_bytes import ReportLayout

PHONE = {"viewport": {"width": 400, "height": 800}}
ENOUGH = {"column": "enough", "question": "Is it too much homework?"}
HALF = {"dropout_fraction": 0.5}
YES_OR_NO = {"kind": "split-and-mix", "epsilon": 1.0, "categories": ["No", "Yes"]} | HALF


def asked_by(protocol=None, **block):
    table = {"protocol": protocol} if protocol else {}
    people, release = {"expected": 40}, {"delta": 1e-4, "minimum_batch": 20, "contact": "the office"}
    return Asked(asking(ENOUGH | table | block, people=people, release=release))


def told(asked):
    """The reports of the last upload, decoded."""
    column = asked.collection.task.column
    reports, malformed = ReportLayout.of(column.randomizer.randomizer().model).decode(asked.reports())
    assert not malformed.size
    return reports


@pytest.mark.parametrize("answer", ["No", "Yes"])
def test_shares_of_yes_or_no_add_up_to_the_answer_and_some_noise(browser, answer):
    asked = asked_by(YES_OR_NO)
    with asked.device(browser, **PHONE) as context, asked.opened(context) as tab:
        tab.get_by_label(answer, exact=True).check()
        picture(tab, "sum-on-a-phone")
        dangers = tab.locator("#sentences .danger").all_inner_texts()
        assert any("together could read your answer" in each for each in dangers)
        assert "Nobody can be certain" not in tab.content().partition("<script")[0]
        assert tab.evaluate("document.documentElement.scrollWidth") <= 400
        (shown,) = randomize(tab)
        picture(tab, "sum-randomized")
        tab.get_by_role("button", name=SEND).click()
        says(tab, "Stored by the shuffler")
    reports = told(asked)
    model = reports.model
    assert shown.startswith(f"{model.num_messages} numbers, each of them random by itself")
    assert reports["round"].tolist() == list(range(model.num_messages))
    off = (int(reports["residue"].sum()) - (answer == "Yes")) % model.modulus
    assert min(off, model.modulus - off) < 60 / float(model.rate)  # a jump is longer with a chance of exp(-60)


def test_whole_numbers_are_asked_for_where_nothing_is_rounded(browser):
    asked = asked_by({"kind": "split-and-mix", "epsilon": 4.0, "lower": 0, "upper": 10, "integer": True} | HALF)
    with asked.device(browser) as context, asked.opened(context) as tab:
        assert "A whole number from 0 to 10" in tab.locator("#question-0").inner_text()
        tab.get_by_role("spinbutton").fill("2.5")
        tab.evaluate("document.getElementById('questions').noValidate = true")
        tab.get_by_role("button", name=RANDOMIZE).click()
        assert "Please answer" in tab.locator("#wrong").inner_text()
        tab.get_by_role("spinbutton").fill("7")
        randomize(tab)


def test_counted_bits_are_sealed_for_one_pool(browser):
    asked = asked_by({"kind": "counted-bits", "epsilon": 2.0, "lower": 0, "upper": 10} | HALF)
    with asked.device(browser) as context, asked.opened(context) as tab:
        tab.get_by_role("spinbutton").fill("10")
        (shown,) = randomize(tab)
        tab.get_by_role("button", name=SEND).click()
        says(tab, "Stored by the shuffler")
    reports = told(asked)
    model = reports.model
    assert {pool.number for pool in asked.collection.task.messages} == {0}
    assert reports["bit"][: model.value_bits].all()
    assert shown == f"{model.num_messages} bits, of which {int(reports['bit'].sum())} are ones"


def test_a_blanket_s_messages_are_shown_and_sealed_for_one_pool(browser):
    randomizer = {
        "kind": "k-rr",
        "blanket": True,
        "blanket_messages": 3.0,
        "epsilon0": 20.0,
        "categories": ["a", "b", "c"],
    }
    asked = asked_by(randomizer=randomizer)
    with asked.device(browser) as context, asked.opened(context) as tab:
        tab.get_by_label("b", exact=True).check()
        (shown,) = randomize(tab)
        tab.get_by_role("button", name=SEND).click()
        says(tab, "Stored by the shuffler")
    values = told(asked)["value"]
    assert values[0] == 1
    full = [value for value in values.tolist() if value < 3]
    assert shown.split("; and ")[0] == "; ".join("abc"[value] for value in full)
    assert np.count_nonzero(values == 3) == len(values) - len(full)
