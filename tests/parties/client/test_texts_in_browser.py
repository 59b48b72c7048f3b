"""Open answers on the page: what is sent of a text is shown before it is randomized, and nothing else of it is kept."""

import pytest

from parties.client.answering import RANDOMIZE, SEND, Asked, asking, picture, randomize, says
from parties.service.given import Parties
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.text_codes import chunked
from shuffledp.parties.wire.report_bytes import ReportLayout

JOB = {
    "column": "job",
    "kind": "open",
    "length": 10,
    "known": ["nurse", "teacher"],
    "question": "What is your job?",
    "randomizer": {"kind": "masked-prefix", "epsilon0": 12.0, "prefix_bits": 10},
}


@pytest.fixture(scope="module")
def asked():
    return Asked(asking(JOB))


@pytest.fixture
def device(asked, browser):
    asked.uploads.clear()
    with asked.device(browser) as context:
        yield context


def supports(asked, word):
    """Whether the report that was sent supports this word, as it almost always does at so large a loss."""
    question = asked.collection.task.columns[0].randomizer
    (blob,) = asked.reports()
    reports, malformed = ReportLayout.of(question.model).decode([blob])
    assert not len(malformed)
    (row,) = chunked([question.text_code.bits_of(word)], question.model.num_bits, question.model.prefix_bits)
    return bool(question.model.supports(reports.columns, row)[0])


def test_a_text_is_shown_as_it_is_sent_before_it_is_randomized(asked, device):
    with asked.opened(device) as tab:
        text = tab.get_by_role("textbox")
        text.fill("  Ärztin, im Krankenhaus ")
        status = tab.locator("#answer-0-0-sent")
        assert status.inner_text() == "This is what is randomized: arztin im Not all that you typed is in it."
        assert tab.get_by_label("something else").is_checked()
        assert "No names, and nothing that only you would write." in tab.locator("#question-0").inner_text()
        picture(tab, "open-answer")
        (shown,) = randomize(tab)
        assert shown.startswith("about part ")
        assert "rztin" not in tab.evaluate("JSON.stringify(localStorage)").lower()
        assert "rztin" not in tab.locator("body").inner_text()
        tab.get_by_role("button", name=SEND, exact=True).click()
        says(tab, "Stored by the shuffler")
    assert supports(asked, "arztin im")
    assert not supports(asked, "nurse")


def test_a_known_word_is_chosen_and_sent_like_any_text(asked, device):
    with asked.opened(device) as tab:
        tab.get_by_label("teacher").check()
        randomize(tab)
        tab.get_by_role("button", name=SEND, exact=True).click()
        says(tab, "Stored by the shuffler")
    assert supports(asked, "teacher")


def test_who_leaves_the_text_empty_sends_that_there_is_no_answer(browser):
    """Mutant: the empty text, which is that of people who were not asked."""
    own = Asked(asking(JOB | {"missing": "category"}))
    with own.device(browser) as context, own.opened(context) as tab:
        assert "leave it empty if you would rather not say" in tab.locator("#question-0").inner_text()
        randomize(tab)
        tab.get_by_role("button", name=SEND, exact=True).click()
        says(tab, "Stored by the shuffler")
    question = own.collection.task.columns[0].randomizer
    reports, _ = ReportLayout.of(question.model).decode(own.reports())
    for code, supported in ((question.text_code.no_answer, True), (0, False)):
        (row,) = chunked([code], question.model.num_bits, question.model.prefix_bits)
        assert bool(question.model.supports(reports.columns, row)[0]) is supported


@pytest.mark.parametrize("typed", ["", "!!", "\u202e 123"])
def test_a_text_of_which_nothing_is_left_is_asked_for_again(asked, device, typed):
    with asked.opened(device) as tab:
        tab.get_by_role("textbox").fill(typed)
        tab.get_by_role("button", name=RANDOMIZE).click()
        assert "Please answer: What is your job?" in tab.locator("#wrong").inner_text()
        if typed:
            assert tab.locator("#answer-0-0-sent").inner_text() == "Nothing of this can be sent."
    assert not asked.uploads


def test_the_browser_is_asked_not_to_keep_or_check_what_is_typed(asked, device):
    with asked.opened(device) as tab:
        text = tab.get_by_role("textbox")
        assert (text.get_attribute("autocomplete"), text.get_attribute("spellcheck")) == ("off", "false")


def test_where_one_operator_does_everything_open_questions_are_refused():
    with pytest.raises(InvalidParameterError, match="local must be left out for 'masked-prefix' reports"):
        Parties.fetching(asking(JOB), shuffler="http://192.168.1.20:8080", local=True)
