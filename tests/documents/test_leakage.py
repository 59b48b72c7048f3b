"""The section about what can be guessed about one person."""

import pytest

from documents.outcomes import make_outcome
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Kind
from shuffledp.documents.blocks import Bars, Text
from shuffledp.documents.document import Document
from shuffledp.documents.leakage_document import bars_of, leakage_section, worst_of
from shuffledp.leakage import compare_ways
from shuffledp.leakage.target_examination import worst_like
from shuffledp.planning.guaranteed_leakage import compare_guaranteed
from shuffledp.protocols.shares.shufflers.imperfect import CayleyShuffler, ImperfectShuffleModel
from shuffledp.testing import SeededSource

LEFT_OUT = "Not computed for this page"
THREE = ("red", "green", "blue")


def of(people, **task):
    return blocks_of(make_outcome([0] * people, **task))


def blocks_of(outcome):
    return list(Document(sections=(leakage_section(outcome),)).blocks())


def tables(blocks):
    return [each for each in blocks if isinstance(each, Bars)]


def shares(blocks):
    return [[bar.value for bar in table.bars] for table in tables(blocks)]


def said(blocks):
    return " ".join(each.text for each in blocks if isinstance(each, Text)).replace("\N{NO-BREAK SPACE}", " ")


def test_bars_are_what_the_library_says_for_both_adversaries():
    outcome = make_outcome([0] * 300, categories=THREE)
    assert leakage_section(outcome).title == "What can be guessed about one person"
    blocks, found = blocks_of(outcome), compare_guaranteed(outcome.model, delta=1e-6, sampling=False)
    for table, adversary in zip(tables(blocks), ("uninformed", "strong"), strict=True):
        lengths = [bar.before + bar.length for bar in table.bars]
        values = [found.prior, *(getattr(way, adversary).upper for way in found.ways)]
        assert lengths == pytest.approx([100 * value for value in values])
    assert [bar.name for bar in tables(blocks)[0].bars] == [
        "Before",
        "Randomizing only",
        "Shuffling only",
        "Randomizing and shuffling",
    ]
    assert shares(blocks)[1][2] == "100.0%"
    assert LEFT_OUT not in said(blocks)


def test_the_page_has_the_sentences(page):
    assert "After seeing the shuffled table, the best guess about one person is right 5" in page
    assert "such as households, leak more than this" in page
    assert "The promise at the top holds whatever anybody believes." in page
    assert '<div class="before" style="width: 50.00%"></div>' in page
    assert "Shuffling only would publish exact counts" in page


def test_a_run_with_a_seed_says_that_it_is_about_runs_without():
    assert "for a run without a seed" in said(blocks_of(make_outcome([0] * 50, source=SeededSource(1))))
    assert "seed" not in said(of(50))


@pytest.mark.parametrize("people", [300, 20_000])
def test_what_is_too_dear_is_bounded_far_below_what_one_report_tells(people):
    blocks = of(people, randomizer={"kind": "oue", "epsilon0": 2.0, "categories": list(THREE)})
    assert [len(each) for each in shares(blocks)] == [4, 4]
    for table in tables(blocks):
        assert table.bars[3].note == "at most"
        assert 0 < table.bars[3].length < 0.2 * table.bars[1].length
    assert "is right between" in said(blocks)


def test_many_people_are_bounded_for_the_strong_adversary_only():
    blocks = of(40_000, categories=THREE)
    assert [table.bars[3].note for table in tables(blocks)] == ["", "at most"]
    assert LEFT_OUT not in said(blocks)


def test_a_randomizer_without_a_table_and_too_many_answers_are_told():
    hashing = of(50, randomizer={"kind": "olh", "epsilon0": 2.0, "categories": list(THREE)})
    assert tables(hashing) == []
    assert "table" in said(hashing)
    assert "65 answers" in said(of(50, categories=tuple(map(str, range(65)))))


def test_numbers_have_no_such_section():
    outcome = make_outcome([0.5] * 50, randomizer={"kind": "one-bit-mean", "epsilon0": 2.0, "lower": 0, "upper": 1})
    assert leakage_section(outcome) is None


def test_the_command_on_the_page_says_how_many_people():
    many = of(50, categories=tuple(map(str, range(65))))
    assert "shuffledp leakage TASK.toml --users 50 tries for longer" in said(many)


def test_a_lower_bound_is_shown_with_its_upper_end_and_drawn_up_to_it():
    outcome = make_outcome([0] * 2000, categories=THREE)
    strong = compare_guaranteed(outcome.model, delta=1e-6, sampling=False, method="quick").way("both").strong
    bar = tables(blocks_of(outcome))[1].bars[3]
    assert strong.kind is Kind.LOWER_BOUND
    assert bar.note == "lower and upper bound"
    assert " to " in bar.value
    assert bar.before + bar.length == pytest.approx(100 * strong.upper)


def test_a_bound_is_rounded_up_beside_the_exact_number_that_it_is():
    outcome = make_outcome([0] * 30, epsilon0=1.0)
    shuffle = ImperfectShuffleModel(num_users=30, imperfection=40.0, construction="assumed")
    found = compare_ways(ProtocolModel(local=outcome.model.local, shuffle=shuffle), sampling=False)
    bars = bars_of(found, "strong")
    assert [(bar.note, bar.value) for bar in (bars[1], bars[3])] == [("", "73.1%"), ("at most", "73.2%")]


def test_an_imperfect_shuffler_of_a_known_law_says_the_worst_of_its_kind():
    outcome = make_outcome([0] * 60, epsilon0=1.0)
    cayley = CayleyShuffler(imperfection=2.0).model(60)
    model = ProtocolModel(local=outcome.model.local, shuffle=cayley)
    assert float(worst_of(model).removesuffix("%")) >= 100 * worst_like(model).value
    assert worst_of(outcome.model) == ""


def test_without_a_shuffle_nothing_is_said_of_one():
    blocks = of(50, shuffler="none")
    assert [bar.name for bar in tables(blocks)[0].bars] == ["Before", "Randomizing only"]
    assert "Shuffling only" not in said(blocks)
    assert "after seeing whose report is whose" in said(blocks).lower()
