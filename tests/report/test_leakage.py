"""The section about what can be guessed about one person."""

import pytest

from report.outcomes import make_outcome
from shuffledp.leakage import compare_ways
from shuffledp.report.sections.leakage import leakage_section
from shuffledp.testing import SeededSource

THREE = ("red", "green", "blue")


def of(people, **task):
    return leakage_section(make_outcome([0] * people, **task))


def shares(section):
    return [[bar.share for bar in table["bars"]] for table in section.context["tables"]]


def test_bars_are_what_the_library_says_for_both_adversaries():
    outcome = make_outcome([0] * 300, categories=THREE)
    section = leakage_section(outcome)
    found = compare_ways(outcome.model, sampling=False)
    assert section.title == "What can be guessed about one person"
    for table, adversary in zip(section.context["tables"], ("uninformed", "strong"), strict=True):
        lengths = [float(bar.before) + float(bar.more or 0) for bar in table["bars"]]
        values = [found.prior, *(getattr(way, adversary).value for way in found.ways)]
        assert lengths == pytest.approx([100 * value for value in values], abs=0.011)
    assert [bar.name for bar in section.context["tables"][0]["bars"]] == [
        "Before",
        "Randomizing only",
        "Shuffling only",
        "Randomizing and shuffling",
    ]
    assert shares(section)[1][2] == "100.0%"
    assert section.context["left_out"] == []


def test_the_page_has_the_sentences(page):
    assert "After seeing the shuffled table, the best guess about one person is right 5" in page
    assert "such as households, leak more than this" in page
    assert "no promise" in page
    assert '<div class="before" style="width: 50.00%"></div>' in page
    assert "These ways do not err alike" in page


def test_a_run_with_a_seed_says_that_it_is_about_runs_without():
    assert leakage_section(make_outcome([0] * 50, source=SeededSource(1))).context["withdrawn"]
    assert not of(50).context["withdrawn"]


@pytest.mark.parametrize("people", [300, 20_000])
def test_what_is_too_dear_is_bounded_far_below_what_one_report_tells(people):
    section = of(people, randomizer={"kind": "oue", "epsilon0": 2.0, "categories": list(THREE)})
    assert [len(each) for each in shares(section)] == [4, 4]
    for table in section.context["tables"]:
        assert table["bars"][3].note == "at most"
        assert 0 < float(table["bars"][3].more) < 0.2 * float(table["bars"][1].more)
    assert "is right at most" in section.context["sentence"]


def test_many_people_are_bounded_for_the_strong_adversary_only():
    section = of(40_000, categories=THREE)
    notes = [table["bars"][3].note for table in section.context["tables"]]
    assert notes == ["exact", "at most"]
    assert section.context["left_out"] == []


def test_a_randomizer_without_a_table_and_too_many_answers_are_told():
    hashing = of(50, randomizer={"kind": "olh", "epsilon0": 2.0, "categories": list(THREE)})
    assert hashing.context["tables"] == []
    assert "table" in hashing.context["left_out"][0]
    wide = of(50, categories=tuple(map(str, range(65))))
    assert "65 answers" in wide.context["left_out"][0]


def test_means_have_no_such_section():
    outcome = make_outcome([0.5] * 50, randomizer={"kind": "one-bit-mean", "epsilon0": 2.0, "lower": 0, "upper": 1})
    assert leakage_section(outcome) is None


def test_without_a_shuffle_nothing_is_said_of_one():
    section = of(50, shuffler="none")
    assert [bar.name for bar in section.context["tables"][0]["bars"]] == ["Before", "Randomizing only"]
    assert not section.context["shuffled"]
    assert "after seeing whose report is whose" in section.context["sentence"].lower()
