"""Follow-up questions on the page on which people answer: who sees them, and what is kept and sent whoever does."""

import pytest

from parties.client.answering import RANDOMIZE, SEND, SMOKES, Asked, asking, picture, randomize, says

PHONE = {"viewport": {"width": 400, "height": 800}}
AFTER = {"after": "smokes = Yes"}
SURE = 20.0
KEPT = "JSON.stringify(Object.entries(localStorage))"
QUIT = {
    "column": "quit",
    "question": "Have you tried to quit?",
    "randomizer": {"kind": "k-rr", "epsilon0": SURE, "categories": ["Never", "Once"]},
}
AGE = {
    "column": "age",
    "question": "How old were you when you began?",
    "randomizer": {"kind": "k-rr", "epsilon0": SURE, "lower": 0, "upper": 90, "bins": 3},
}
WHY = {
    "column": "why",
    "question": "Why do you smoke?",
    "kind": "multi-select",
    "options": ["for fun", "out of stress"],
    "at_most": 2,
    "randomizer": {"kind": "columns", "epsilon0": SURE},
}
BRAND = {
    "column": "brand",
    "question": "Which brand?",
    "kind": "open",
    "length": 4,
    "randomizer": {"kind": "masked-prefix", "epsilon0": SURE},
}
SMOKES = SMOKES | {"randomizer": SMOKES["randomizer"] | {"epsilon0": SURE}}


@pytest.fixture(scope="module")
def asked():
    return Asked(asking(SMOKES, QUIT | AFTER, AGE | AFTER, WHY | AFTER, BRAND | AFTER))


def shown(tab):
    return [tab.locator(f"#question-{place}").is_visible() for place in range(5)]


def fill(tab):
    tab.get_by_label("Once").check()
    tab.locator("#question-2 input").fill("17")
    tab.get_by_label("for fun").check()
    tab.locator("#question-4 input[type=text]").fill("red")


def test_a_question_appears_after_its_answer_alone_and_no_report_has_another_form(asked, browser):
    sizes = []
    for answer, wanted in (("Yes", [True] * 5), ("No", [True, *[False] * 4])):
        with asked.device(browser, **PHONE) as context, asked.opened(context) as tab:
            assert shown(tab) == [True, *[False] * 4]
            tab.get_by_label(answer, exact=True).check()
            assert shown(tab) == wanted
            if answer == "Yes":
                fill(tab)
                picture(tab, "follow-ups-on-a-phone")
            texts = randomize(tab)
            picture(tab, f"follow-ups-randomized-{answer}")
            assert len(texts) == 5  # what will be sent of every question
            none = ["not asked"] * 3
            assert texts[1:4] == (["Once", "0 to 30", "for fun"] if answer == "Yes" else none)
            sealed = tab.evaluate(KEPT)
            tab.get_by_role("button", name=SEND).click()
            says(tab, "Stored by the shuffler")
            kept = tab.evaluate(KEPT)
        reports = asked.reports()
        sizes.append((len(asked.uploads[-1]), [len(each) for each in reports], len(sealed), kept))
        assert reports[1] == (b"\1" if answer == "Yes" else b"\2")
        assert [tuple(each) for each in reports[3:6]] == (
            [(0, 1), (1, 0), (2, 0)] if answer == "Yes" else [(0, 0), (1, 0), (2, 1)]
        )
    assert sizes[0] == sizes[1]


def test_what_was_answered_and_is_hidden_again_is_not_sent(asked, browser):
    with asked.device(browser) as context, asked.opened(context) as tab:
        tab.get_by_label("Yes", exact=True).check()
        fill(tab)
        tab.get_by_label("No", exact=True).check()
        assert shown(tab) == [True, *[False] * 4]
        assert randomize(tab)[1:4] == ["not asked"] * 3


def test_somebody_who_is_asked_must_answer_and_others_need_not(asked, browser):
    with asked.device(browser) as context, asked.opened(context) as tab:
        tab.get_by_label("Yes", exact=True).check()
        tab.get_by_role("button", name=RANDOMIZE).click()
        assert "Please answer: Have you tried to quit?" in tab.locator("#wrong").inner_text()
        assert "Not everybody is asked this" in tab.locator("#reasons").text_content()


def test_it_comes_after_a_tick_and_beside_people_who_would_rather_not_say(browser):
    after = {"after": "why = out of stress"}
    asked = Asked(asking(WHY, QUIT | after, WHY | after | {"column": "more", "question": "More?"}, missing="category"))
    with asked.device(browser) as context, asked.opened(context) as tab:
        tab.get_by_label("for fun").first.check()
        assert not tab.locator("#question-1").is_visible()
        tab.get_by_label("out of stress").first.check()
        tab.locator("#question-1").get_by_label("I would rather not say").check()
        tab.locator("#question-2").get_by_label("I would rather not say").check()
        assert randomize(tab)[1:] == ["no answer", "no answer"]
