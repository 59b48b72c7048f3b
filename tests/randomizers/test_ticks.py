"""Randomizers of ticks: what they send, the rule that keeps few ticks, and their exact laws."""

from itertools import combinations
from math import comb

import numpy as np
import pytest

from shuffledp import AllSets, OneOption, TickColumns
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import LocalModel
from shuffledp.core.tick_models import loss_in_parts
from shuffledp.randomizers.tick_lists import kept_ticks
from shuffledp.testing import RecordedSource, SeededSource
from statistical.thresholds import assert_fits, assert_rejects

KINDS = [TickColumns, OneOption, AllSets]
LAST = 2**64 - 1


@pytest.fixture(params=KINDS, ids=lambda each: each.__name__)
def kind(request):
    return request.param


def test_models_are_written_and_read_back(kind):
    model = kind(epsilon0=2.0, num_options=5, at_most=2).model
    assert LocalModel.from_dict(model.to_dict()) == model
    assert model.randomizer().randomize([[0] * 5]).model == model


def test_names_of_options_and_truth_values_are_the_same_ticks(kind):
    named = kind(epsilon0=2.0, options=["a", "b", "c"], at_most=3)
    plain = kind(epsilon0=2.0, num_options=3, at_most=3)
    rows = [["a", "c"], [], ["b"]]
    ticks = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0]])
    assert named.randomize(rows, source=SeededSource(1)) == plain.randomize(ticks, source=SeededSource(1))
    assert named.in_numbers.randomize(ticks, source=SeededSource(1)) == plain.randomize(ticks, source=SeededSource(1))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1, 0]], r"shape \(n, 3\); got shape \(1, 2\)"),
        ([[1, 2, 0]], "0 or 1, for each option"),
        ([[0.5, 0, 1]], "0 or 1, for each option"),
        ([[1, 0, 1], [1]], "truth values for 3 options"),
        ([1, 0, 1], r"got shape \(3,\)"),
    ],
)
def test_other_values_are_refused_without_showing_them(kind, values, message):
    with pytest.raises(InvalidParameterError, match=message):
        kind(epsilon0=1.0, num_options=3, at_most=1).randomize(values)


def test_an_unknown_option_is_refused_by_its_place(kind):
    randomizer = kind(epsilon0=1.0, options=["a", "b"], at_most=1)
    with pytest.raises(InvalidParameterError, match=r"values\[1\] holds something else") as refused:
        randomizer.randomize([["a"], ["secret"]])
    assert "secret" not in str(refused.value)
    with pytest.raises(InvalidParameterError, match=r"values\[0\] is none"):
        randomizer.randomize(["a"])


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"num_options": 3, "at_most": 0}, "at_most must be"),
        ({"num_options": 3, "at_most": 4}, "at_most must be at most num_options=3"),
        ({"num_options": 5000, "at_most": 1}, "num_options must be at most 4096"),
        ({"at_most": 1}, "got neither"),
        ({"num_options": 2, "options": ["a", "b"], "at_most": 1}, "got both"),
        ({"options": ["a", "a"], "at_most": 1}, "all different"),
        ({"options": ["a b", "a\u00a0b"], "at_most": 1}, "look different"),
        ({"options": ["a", " b"], "at_most": 1}, "without blanks around"),
        ({"options": ["a", ""], "at_most": 1}, "options must be"),
    ],
)
def test_what_makes_no_list_is_refused(kind, keys, message):
    with pytest.raises(InvalidParameterError, match=message):
        kind(epsilon0=1.0, **keys)


def test_too_many_sets_are_refused():
    with pytest.raises(InvalidParameterError, match="at most 4,096 sets"):
        AllSets(epsilon0=1.0, num_options=20, at_most=10)


# ---- the ticks that are kept


def test_of_more_ticks_every_choice_of_so_many_is_equally_likely():
    rows = np.tile([True, False, True, True, True], (60_000, 1))
    kept = kept_ticks(rows, 2, SeededSource(3))
    assert (kept.sum(axis=1) == 2).all()
    assert not kept[:, 1].any()
    chosen = list(combinations((0, 2, 3, 4), 2))
    counts = [int((kept[:, first] & kept[:, second]).sum()) for first, second in chosen]
    assert_fits(counts, np.full(6, 1 / 6))
    assert_rejects(counts, np.array([0.19, *[0.81 / 5] * 5]))


def test_few_ticks_are_all_kept_and_draw_nothing():
    rows = np.array([[True, True, False], [False, False, False]])
    assert (kept_ticks(rows, 2, RecordedSource([])) == rows).all()


def test_words_at_their_end_never_tick_what_was_not():
    kept = kept_ticks(np.array([[False, True, True]]), 1, RecordedSource([0, LAST, LAST]))
    assert kept.tolist() == [[False, True, False]]


# ---- laws


def test_every_person_sends_a_message_about_each_option_whatever_is_ticked():
    reports = TickColumns(epsilon0=1.0, num_options=4, at_most=4).randomize([[0] * 4, [1] * 4, [1, 0, 1, 0]])
    assert reports["option"].tolist() == [0, 1, 2, 3] * 3
    assert reports.num_users == 3
    assert reports.misplaced() is None


def test_columns_lie_independently_with_their_chance():
    randomizer = TickColumns(epsilon0=1.0, num_options=2, at_most=2)
    told = randomizer.randomize(np.tile([1, 0], (50_000, 1)), source=SeededSource(4))["ticked"].reshape(-1, 2)
    p, q = randomizer.model.p, randomizer.model.q
    counts = np.bincount(2 * told[:, 0] + told[:, 1], minlength=4)
    assert_fits(counts, np.array([q * p, q * q, p * p, p * q]))
    assert_rejects(counts, np.array([q * p, q * q, p * p, p * q])[[1, 0, 3, 2]])
    assert np.log(p / q) == pytest.approx(1.0, abs=1e-6)


def test_one_option_is_uniform_and_independent_of_the_ticks():
    randomizer = OneOption(epsilon0=1.5, num_options=3, at_most=2)
    reports = randomizer.randomize(np.tile([1, 0, 1], (50_000, 1)), source=SeededSource(5))
    p, q = randomizer.model.p, randomizer.model.q
    law = np.array([q, p, p, q, q, p]) / 3
    counts = np.bincount(2 * reports["option"] + reports["ticked"], minlength=6)
    assert_fits(counts, law)
    assert_rejects(counts, law[[1, 0, 2, 3, 4, 5]])


def test_all_sets_are_numbered_by_size_and_reported_by_their_law():
    randomizer = AllSets(epsilon0=2.0, num_options=3, at_most=2)
    sets = [tuple(np.flatnonzero(row)) for row in randomizer.model.sets()]
    assert sets == [(), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]
    counts = np.bincount(
        randomizer.randomize(np.tile([0, 1, 1], (50_000, 1)), source=SeededSource(6))["value"], minlength=7
    )
    p, q = randomizer.model.response.p, randomizer.model.response.q
    assert_fits(counts, np.array([q] * 6 + [p]))
    assert_rejects(counts, np.array([q] * 5 + [p, q]))


@pytest.mark.parametrize(("options", "most"), [(5, 2), (6, 1), (4, 4)])
def test_the_chances_that_a_set_holds_an_option_or_a_pair_are_those_of_its_law(options, most):
    model = AllSets(epsilon0=1.3, num_options=options, at_most=most).model
    sets, p, q = model.sets(), model.response.p, model.response.q
    assert len(sets) == sum(comb(options, size) for size in range(most + 1))
    for held in (1, 2) if most > 1 else (1,):
        holds = sets[:, :held].all(axis=1)
        for own, expected in ((holds, model.supporting(held).p), (~holds, model.supporting(held).q)):
            true = np.flatnonzero(own)[0]
            chances = np.where(np.arange(len(sets)) == true, p, q)
            assert chances[holds].sum() == pytest.approx(expected, rel=1e-12)


def test_the_loss_of_all_messages_is_that_of_as_many_as_can_differ():
    for options, most, charged in ((20, 3, 6), (20, 20, 20), (5, 3, 5), (1, 1, 1)):
        model = TickColumns(epsilon0=1.0, num_options=options, at_most=most).model
        assert model.most_differing == charged
        assert model.epsilon0 == pytest.approx(charged, rel=1e-6)
        assert OneOption(epsilon0=1.0, num_options=options, at_most=most).model.epsilon0 == pytest.approx(1.0, rel=1e-6)


def test_the_distance_of_two_people_is_that_of_all_their_messages():
    model = TickColumns(epsilon0=1.0, num_options=4, at_most=2).model
    p, q = model.p, model.q
    by_lies = [comb(4, lies) * p ** (4 - lies) * q**lies for lies in range(5)]
    total = sum(max(one - other, 0) for one, other in zip(by_lies, by_lies[::-1], strict=True))
    assert model.total_variation == pytest.approx(total, rel=1e-9)
    assert "all that one person sends" in TickColumns(epsilon0=3.0, num_options=4, at_most=2).model.warnings[0]


def test_reports_of_another_form_are_refused():
    model = TickColumns(epsilon0=1.0, num_options=4, at_most=2).model
    for columns in (
        {"option": np.array([4]), "ticked": np.array([0])},
        {"option": np.array([1]), "ticked": np.array([2])},
        {"ticked": np.array([1]), "option": np.array([1])},
    ):
        with pytest.raises(InvalidParameterError):
            model.check(columns)


def test_the_loss_of_one_message_and_of_all_are_told_apart_in_words():
    ticks = TickColumns(epsilon0=0.5, num_options=5, at_most=2)
    assert loss_in_parts(ticks.model) == "epsilon0 = 0.5 of one message, 2 of all"
    assert loss_in_parts(OneOption(epsilon0=0.5, num_options=5, at_most=2).model) == "epsilon0 = 0.5"
