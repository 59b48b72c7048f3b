"""A shuffler that puts reports out in one order, whichever it is, is found; one that shuffles is left alone."""

import numpy as np
import pytest

from attacks.twins import InOneOrder, LastIsPutBack, LastStays, exact_central_claim, pipeline
from shuffledp.accounting import account
from shuffledp.attacks import NeighboringInputs, audit
from shuffledp.attacks.place_games import RowGame, looks_even, place_counts
from shuffledp.protocols.shares.shufflers.imperfect import CayleyShuffler
from shuffledp.shufflers import UniformShuffler
from shuffledp.testing import SeededSource

ORDERS = {
    "reversed": lambda people: np.arange(people)[::-1],
    "rotated": lambda people: np.roll(np.arange(people), 3),
    "halves swapped": lambda people: np.roll(np.arange(people), people // 2),
    "pairs swapped": lambda people: np.arange(people) ^ 1,
    "one that was drawn once": lambda people: np.random.default_rng(3).permutation(people),
}


def audited(shuffler, num_users=100, **options):
    played = pipeline(shuffler=shuffler)
    claim = account(played.model(num_users), delta=1e-6)
    return audit(played, claim, num_users=num_users, **{"source": SeededSource(4)} | options)


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_an_order_that_is_always_the_same_is_refuted_at_the_default_trials(order):
    report = audited(InOneOrder(order))
    assert report.refuted
    assert report.findings[0].evidence.attack in ("likeliest-row", "rows")


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_a_few_hundred_runs_are_enough_in_a_larger_batch(order):
    assert audited(InOneOrder(order), num_users=2000, trials=300).refuted


def test_somebody_else_who_is_never_moved_is_looked_for():
    report = audited(LastStays(), trials=1000)
    assert report.refuted
    assert report.findings[0].evidence.inputs.person == 99
    assert not audited(LastStays(), num_users=1200, trials=200).refuted  # too many to be searched: the first one only


def test_a_person_who_is_named_is_played():
    named = NeighboringInputs(first=0, second=1, others=0, person=1199)
    assert audited(LastStays(), num_users=1200, trials=300, inputs=named).refuted


def test_a_real_shuffle_is_refuted_no_more_often_than_stated_by_the_exact_claim():
    honest = pipeline()
    claim = exact_central_claim(honest.randomizer.model, 6, 1e-9)
    options = {"num_users": 6, "trials": 300, "confidence": 0.8}
    reports = [audit(honest, claim, source=SeededSource(seed), **options) for seed in range(30)]
    assert sum(report.refuted for report in reports) <= 12  # at most 6 are to be expected; 13 come once in 300


def test_rows_of_a_real_shuffle_look_even_and_read_as_the_histogram():
    for seed, people in enumerate((2, 10, 100, 1500)):
        counts = place_counts(UniformShuffler(), people, [0], 200, SeededSource(seed), search=False)
        assert counts.sum() == 200
        assert looks_even(counts[0])
    game = RowGame(pipeline=pipeline(), num_users=30, source=SeededSource(2), progress=None)
    pairs = [NeighboringInputs(first=0, second=1, others=0)]
    assert game.different(pairs) == pairs
    scores = game.play(pairs[0], "first", 50)
    assert (scores[:, 2:] == scores[:, :1]).all()


def test_rows_that_are_uneven_do_not_look_even():
    assert not looks_even(np.array([300, 700]))
    assert not looks_even(np.array([0] * 40 + [100] + [0] * 59))


def test_by_labels_too_somebody_who_is_never_moved_is_looked_for():
    played = {}
    for shuffler in (CayleyShuffler(imperfection=0.01), LastIsPutBack(imperfection=0.01)):
        pipe = pipeline(shuffler=shuffler)
        claim = account(pipe.model(100), delta=1e-3)
        played[type(shuffler)] = audit(pipe, claim, num_users=100, trials=600, source=SeededSource(1))
    assert not played[CayleyShuffler].refuted
    assert played[CayleyShuffler].findings[0].evidence.inputs.person == 0
    assert played[LastIsPutBack].refuted
    assert played[LastIsPutBack].findings[0].evidence.inputs.person == 99
