"""The page in several languages: nothing is left out of a table, and each text says which language it is in."""

import re

import pytest

from parties.client.answering import ADDRESS, SMOKES, Asked, asking, randomize, says
from parties.issuer.issuing import WithTokens
from parties.service.given import Parties
from shuffledp.parties.client.browser_randomizers import KINDS
from shuffledp.parties.client.bundle import source_of
from shuffledp.parties.client.page_words import LANGUAGES, PageWords
from shuffledp.parties.client.respondents_page import with_page

TEXTS = """() => {
  const found = {};
  const walker = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { parentElement: part, data } = walker.currentNode;
    if (data.trim() && !part.closest("script, style, noscript")) {
      (found[part.closest("[lang]").lang] ??= []).push(data.trim());
    }
  }
  return found;
}"""


def leaves(table, path=()):
    """Each text of a table by where it stands."""
    for key, value in table.items():
        yield from leaves(value, (*path, key)) if isinstance(value, dict) else [((*path, key), value)]


def parts_of(text):
    return sorted(re.findall(r"\{\w+\}", text))


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_every_language_says_all_that_english_says_with_the_same_parts(language):
    english, other = (dict(leaves(PageWords.of(each).table)) for each in ("en", language))
    assert other.keys() == english.keys()
    assert [where for where, text in english.items() if parts_of(text) != parts_of(other[where])] == []
    assert all(text.strip() == text != "" for where, text in other.items() if where[0] != "numbers")
    assert set(PageWords.of(language).table["why"]) == set(KINDS)
    same = {where for where, text in english.items() if other[where] == text}
    assert same <= {("told", "bin")}  # which may be written alike


def test_the_page_says_nothing_that_is_in_no_table():
    said = PageWords.of("en").table["script"]
    page, questions = source_of("page.js"), source_of("questions.js")
    outcomes = set(re.findall(r'say\("(\w+)"', page)) | set(re.findall(r'"(\w+)" : "(?:\w+)"', page))
    assert outcomes <= set(said["said"])
    assert set(re.findall(r"(?:WORDS|words)\.(\w+)", page + questions)) == set(said)
    template = re.sub(r"<style>.*|<script.*|\{\w+\}|<[^>]*>", "", source_of("page.html"))
    assert template.split() == []


@pytest.mark.parametrize(
    ("language", "own"), [("de", "de"), ("fr-CA", "fr"), ("ES", "es"), ("en-GB", "en"), ("it", "en"), (None, "en")]
)
def test_the_words_are_those_of_the_language_or_english(language, own):
    words = PageWords.of(language or "en")
    assert words.language == own
    further = {} if language is None else {"language": language}
    task = asking(**further) if further else asking(language="en")
    _, page = with_page(Parties(task).collection, ADDRESS)
    assert f'<html lang="{own}">' in page.decode()
    assert words.table["page"]["kicker"] in page.decode()


def test_numbers_are_written_as_in_the_language():
    written = {each: (PageWords.of(each).number(12345), PageWords.of(each).percent(0.7366)) for each in LANGUAGES}
    assert written == {
        "en": ("12,345", "73.7%"),
        "de": ("12.345", "73,7\u00a0%"),
        "es": ("12\u202f345", "73,7\u00a0%"),
        "fr": ("12\u202f345", "73,7\u202f%"),
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_longest_page_of_each_language_is_small_and_always_the_same(language):
    collection = WithTokens(asking(language=language), relay="https://relay.example").collection
    made = with_page(collection, ADDRESS)
    assert len(made[1]) < 158_000
    assert made == with_page(collection, ADDRESS)


def test_each_text_says_which_language_it_is_in_and_what_is_promised_stays_in_the_statement_s_words(browser):
    several = {"kind": "hadamard", "epsilon0": 1.0, "categories": [f"Stadt {each}" for each in range(60)]}
    block = {"column": "stadt", "question": "Wo wohnen Sie?", "randomizer": several}
    asked = Asked(asking(block, name="Umfrage", language="de-AT", missing="category"))
    statement = asked.collection.promised()[0]
    with asked.device(browser) as device, asked.opened(device) as tab:
        german = PageWords.of("de").table
        texts = tab.evaluate(TEXTS)
        assert set(texts) == {"de", "de-AT", "en"}
        assert {"Umfrage", "Wo wohnen Sie?", "Stadt 7"} <= set(texts["de-AT"])
        assert statement.sentence_of(statement.guarantee) in texts["en"]
        digest = f", SHA-256 {asked.collection.page.sha256}"  # which the page cannot hold
        assert {each.replace(digest, "") for each in statement.needs} <= set(texts["en"])
        assert set(german["page"].values()) - {german["page"]["noscript"]} <= set(texts["de"])
        assert not set(german["page"].values()) & {*texts["de-AT"], *texts["en"]}
        assert german["script"]["rather_not"] in texts["de"]
        tab.get_by_role("button", name=german["page"]["randomize"]).click()
        assert tab.locator("#wrong").inner_text() == "Bitte antworten Sie: Wo wohnen Sie?"
        tab.get_by_label("Wo wohnen Sie?").select_option("none")
        tab.get_by_role("button", name=german["page"]["randomize"]).click()
        tab.get_by_role("heading", name=german["page"]["review_title"]).wait_for()
        assert re.search(r"; und \d+ weitere$", tab.locator("#randomized dd").inner_text())
        tab.get_by_role("button", name=german["page"]["send"], exact=True).click()
        says(tab, german["script"]["said"]["stored"])


def test_a_pair_and_its_numbers_read_as_german_where_the_task_is(browser):
    pair = {"kind": "k-rr", "epsilon0": 1.0, "categories": [["Nie", "Oft"], ["Nein", "Ja"]]}
    bins = {"kind": "k-rr", "epsilon0": 30.0, "edges": [0, 0.5, 2]}
    asked = Asked(
        asking(
            {"columns": ["trinkt", "sport"], "randomizer": pair},
            {"column": "liter", "question": "Wie viel?", "randomizer": bins},
            {"column": "ende", "randomizer": {"kind": "one-bit-mean", "epsilon0": 30.0, "lower": 0, "upper": 99.5}},
            language="de",
        )
    )
    with asked.device(browser) as device, asked.opened(device) as tab:
        assert tab.locator("legend").all_inner_texts() == ["trinkt & sport", "Wie viel?", "ende"]
        ranges = tab.locator(".number span").all_inner_texts()
        assert ranges == ["Eine Zahl von 0 bis 2", "Eine Zahl von 0 bis 99,5"]
        tab.get_by_label("Nie").check()
        tab.get_by_label("Ja").check()
        for place, number in enumerate(["1.5", "99.5"]):
            tab.get_by_role("spinbutton").nth(place).fill(number)
        tab.get_by_role("button", name=PageWords.of("de").table["page"]["randomize"]).click()
        tab.locator("#randomized dd").first.wait_for()
        assert tab.locator("#randomized dd").all_inner_texts()[1:] == ["0,5 bis 2", "99,5"]


def test_without_words_for_a_language_the_page_is_english_and_the_questions_are_not(browser):
    certain = SMOKES["randomizer"] | {"epsilon0": 30.0}  # but for a chance of 1e-12
    block = SMOKES | {"question": "Lei fuma?", "randomizer": certain}
    asked = Asked(asking(block, language="it", missing="category", name="Sondaggio"))
    with asked.device(browser) as device, asked.opened(device) as tab:
        texts = tab.evaluate(TEXTS)
        assert set(texts) == {"en", "it"}
        assert {"Lei fuma?", "No", "Yes", "Sondaggio"} <= set(texts["it"])
        assert "I would rather not say" in texts["en"]
        tab.get_by_label("I would rather not say").check()
        assert randomize(tab) == ["no answer"]
        assert tab.locator("#randomized dd [lang]").get_attribute("lang") == "en"
