"""Ticks on the page on which people answer: by mouse and keyboard, on a phone, and what is sent of them."""

import pytest

from parties.client.answering import RANDOMIZE, SEND, SMOKES, Asked, asking, picture, randomize, says

OPTIONS = ["by car", "by bus", "by bicycle", "on foot"]
PHONE = {"viewport": {"width": 400, "height": 800}}


def ticks(kind="columns", **further):
    return {
        "column": "transport",
        "question": "How do you get to work?",
        "kind": "multi-select",
        "options": OPTIONS,
        "at_most": 2,
        "randomizer": {"kind": kind, "epsilon0": 20.0},
    } | further


@pytest.fixture(scope="module")
def asked():
    return Asked(asking(ticks(), SMOKES, missing="category"))


def test_a_message_about_each_option_leaves_whatever_is_ticked(asked, browser):
    with asked.device(browser, **PHONE) as context, asked.opened(context) as tab:
        assert "Tick all that apply, at most 2." in tab.locator("#question-0").inner_text()
        tab.get_by_label("by bus").check()
        tab.get_by_label("on foot").check()
        tab.get_by_label("No", exact=True).check()
        picture(tab, "ticks-on-a-phone")
        assert tab.evaluate("document.documentElement.scrollWidth") <= 400
        shown, _ = randomize(tab)
        assert shown == "by bus; on foot"
        picture(tab, "ticks-randomized")
        tab.get_by_role("button", name=SEND).click()
        says(tab, "Stored by the shuffler")
    assert [tuple(each) for each in asked.reports()[:5]] == [(0, 0), (1, 1), (2, 0), (3, 1), (4, 0)]
    assert len({len(asked.uploads[-1])}) == 1


def test_of_more_ticks_so_many_count_as_the_page_says(asked, browser):
    with asked.device(browser) as context, asked.opened(context) as tab:
        for option in OPTIONS:
            tab.get_by_label(option).check()
        assert "Only 2 of your ticks will count" in tab.locator("#question-0").inner_text()
        tab.get_by_label("No", exact=True).check()
        shown, _ = randomize(tab)
        assert len(shown.split("; ")) == 2


def ticked(tab):
    return tab.locator("#question-0 input:checked").evaluate_all("all => all.map(each => each.value)")


def test_what_excludes_the_options_is_ticked_alone_by_keyboard_too(asked, browser):
    with asked.device(browser, **PHONE) as context, asked.opened(context) as tab:
        tab.get_by_role("button", name=RANDOMIZE).click()
        assert "Please answer: How do you get to work?" in tab.locator("#wrong").inner_text()
        focused = "document.activeElement.closest('label').innerText"
        assert tab.evaluate(focused) == "by car"  # the first box has the focus
        tab.keyboard.press("Space")
        for _ in range(4):
            tab.keyboard.press("Tab")
        assert tab.evaluate(focused) == "None of these"
        tab.keyboard.press("Space")
        assert ticked(tab) == ["nothing"]
        tab.get_by_label("I would rather not say").first.check()
        assert ticked(tab) == ["none"]
        tab.get_by_label("No", exact=True).check()
        shown, _ = randomize(tab)
        assert shown == "no answer"


@pytest.mark.parametrize(("kind", "messages"), [("one-option", 1), ("all-sets", 1)])
def test_the_other_ways_are_shown_as_what_is_sent(browser, kind, messages):
    asked = Asked(asking(ticks(kind), release={"delta": 1e-6, "minimum_batch": 100}))
    with asked.device(browser) as context, asked.opened(context) as tab:
        tab.get_by_label("None of these").check()
        (shown,) = randomize(tab)
        tab.get_by_role("button", name=SEND).click()
        says(tab, "Stored by the shuffler")
    assert len(asked.reports()) == messages
    assert shown in ([f"{option}: no" for option in OPTIONS] if kind == "one-option" else ["None of these"])


def test_uploads_have_one_length_whatever_is_ticked(asked, browser):
    lengths = set()
    for labels in (["None of these"], ["by car"], OPTIONS):
        with asked.device(browser) as context, asked.opened(context) as tab:
            for label in labels:
                tab.get_by_label(label).check()
            tab.get_by_label("No", exact=True).check()
            randomize(tab)
            tab.get_by_role("button", name=SEND).click()
            says(tab, "Stored by the shuffler")
        lengths.add(len(asked.uploads[-1]))
    assert len(lengths) == 1
