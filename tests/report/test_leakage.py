"""The section about what can be guessed about one person."""

import pytest

from report.outcomes import make_outcome
from shuffledp.leakage import compare_ways
from shuffledp.models import ProtocolModel
from shuffledp.report.sections.leakage import _bars, _worst, leakage_section
from shuffledp.shufflers import CayleyShuffler, ImperfectShuffleModel
from shuffledp.statements import Kind
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
        values = [found.prior, *(getattr(way, adversary).upper for way in found.ways)]
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
    assert "is right between" in section.context["sentence"]


def test_many_people_are_bounded_for_the_strong_adversary_only():
    section = of(40_000, categories=THREE)
    notes = [table["bars"][3].note for table in section.context["tables"]]
    assert notes == ["exact", "at most"]
    assert section.context["left_out"] == []


def test_a_randomizer_without_a_table_and_too_many_answers_are_told():
    hashing = of(50, randomizer={"kind": "olh", "epsilon0": 2.0, "categories": list(THREE)})
    assert hashing.context["tables"] == []
    assert "table" in hashing.context["why"]
    wide = of(50, categories=tuple(map(str, range(65))))
    assert "65 answers" in wide.context["why"]


def test_numbers_have_one_sentence_on_why_there_is_none():
    outcome = make_outcome([0.5] * 50, randomizer={"kind": "one-bit-mean", "epsilon0": 2.0, "lower": 0, "upper": 1})
    context = leakage_section(outcome).context
    assert context["tables"] == []
    assert "how near is near enough" in context["why"]
    assert context["in_vain"]


def test_the_command_on_the_page_says_how_many_people():
    assert of(50).context["command"] == "shuffledp leakage TASK.toml --users 50"


def test_a_lower_bound_is_shown_with_its_upper_end_and_drawn_up_to_it():
    outcome = make_outcome([0] * 2000, categories=THREE)
    strong = compare_ways(outcome.model, sampling=False, method="quick").way("both").strong
    bar = leakage_section(outcome).context["tables"][1]["bars"][3]
    assert strong.kind is Kind.LOWER_BOUND
    assert bar.note == "lower and upper bound"
    assert " to " in bar.share
    assert float(bar.before) + float(bar.more) == pytest.approx(100 * strong.upper, abs=0.011)


def test_both_together_are_never_shown_as_worse_than_randomizing_alone():
    outcome = make_outcome([0] * 30, epsilon0=1.0)
    shuffle = ImperfectShuffleModel(num_users=30, imperfection=40.0, construction="assumed")
    found = compare_ways(ProtocolModel(local=outcome.model.local, shuffle=shuffle), sampling=False)
    bars = _bars(found, "strong")
    assert (bars[1].share, bars[3].share, bars[3].note) == ("73.1%", "73.1%", "at most")


def test_an_imperfect_shuffler_of_a_known_law_says_the_worst_of_its_kind():
    outcome = make_outcome([0] * 60, epsilon0=1.0)
    cayley = CayleyShuffler(imperfection=2.0).model(60)
    assert "%" in _worst(ProtocolModel(local=outcome.model.local, shuffle=cayley))
    assert _worst(outcome.model) == ""


def test_without_a_shuffle_nothing_is_said_of_one():
    section = of(50, shuffler="none")
    assert [bar.name for bar in section.context["tables"][0]["bars"]] == ["Before", "Randomizing only"]
    assert not section.context["shuffled"]
    assert "after seeing whose report is whose" in section.context["sentence"].lower()
