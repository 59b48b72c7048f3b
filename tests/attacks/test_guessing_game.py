"""Guesses of answers: which answers are played, and how many at a time. That they are as good as stated: soundness."""

import numpy as np
import pytest

import shuffledp as sdp
from attacks.twins import InArrivalOrder, InOneOrder, LastIsPutBack, LastStays, TooTruthful, UnderNames, pipeline
from shuffledp.attacks import Verdict
from shuffledp.attacks.guessing_game import guess_answers
from shuffledp.core.errors import InvalidParameterError
from shuffledp.leakage import target_vulnerability
from shuffledp.protocols.shares.shufflers.imperfect import CayleyShuffler
from shuffledp.testing import SeededSource


class Watched:
    """Binary randomized response that keeps what it is given."""

    def __init__(self):
        self.honest = sdp.KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
        self.model = self.honest.model
        self.given = []

    def randomize(self, values, *, source=None):
        self.given.append(np.array(values))
        return self.honest.randomize(values, source=source)


def played(num_users, *, runs, games=1, **options):
    randomizer, source = Watched(), SeededSource(1)
    for _ in range(games):
        guess_answers(pipeline(randomizer), 0.6, num_users=num_users, trials=runs, source=source, **options)
    return randomizer.given


def test_two_games_with_one_seeded_source_play_different_answers():
    first, second = played(20, runs=50, games=2)
    assert first.shape == second.shape == (1000,)
    assert (first != second).any()
    (again,) = played(20, runs=50)
    assert (first == again).all()


def test_so_many_views_are_held_together_as_fit_and_never_256_large_ones():
    assert [len(each) for each in played(10, runs=300)] == [2560, 440]
    assert [len(each) for each in played(40_000, runs=3)] == [40_000] * 3
    assert max(len(each) for each in played(3000, runs=50)) <= 1 << 16


def test_progress_is_told_to_the_end():
    told = []
    played(10, runs=300, progress=lambda *step: told.append(step))
    assert told == [(256, 300), (300, 300)]


# ---- shufflers that do not shuffle ----------------------------------------------------------------------------------

PEOPLE = 20
UNSHUFFLED = {
    "arrival": InArrivalOrder(),
    "names": UnderNames(),
    "reversed": InOneOrder(lambda people: np.arange(people)[::-1]),
    "drawn once": InOneOrder(lambda people: np.random.default_rng(3).permutation(people)),
}


def guessed(shuffler, seed=1, **options):
    played = pipeline(shuffler=shuffler, epsilon0=3.0, domain_size=3)
    claimed = target_vulnerability(played.model(PEOPLE)).value
    options = {"num_users": PEOPLE, "exact": True, "trials": 300, "source": SeededSource(seed)} | options
    return guess_answers(played, claimed, **options)


@pytest.mark.parametrize("shuffler", UNSHUFFLED.values(), ids=UNSHUFFLED)
def test_a_shuffler_that_does_not_shuffle_is_refuted_by_guesses_from_rows_or_labels(shuffler):
    found = guessed(shuffler)
    assert found.verdict is Verdict.REFUTED
    assert not found.optimal
    assert found.success > 0.85  # the truth is told in 0.91 of all reports


def test_somebody_who_is_never_moved_is_looked_for_and_else_the_one_named_is_guessed():
    found = guessed(LastStays())
    assert (found.verdict, found.person) == ("refuted", PEOPLE - 1)
    first = guessed(LastStays(), person=0)
    assert (first.verdict, first.person) == ("consistent", 0)


def test_a_uniform_shuffle_looks_even_and_is_refuted_no_more_often_than_stated():
    found = [guessed(sdp.UniformShuffler(), seed, confidence=0.8) for seed in range(60)]
    assert sum(not each.optimal for each in found) <= 1
    assert sum(each.verdict is Verdict.REFUTED for each in found) <= 20  # at most 12 expected; 21 come once in 200


def test_a_report_that_keeps_part_of_its_order_is_guessed_about_whoever_is_moved_least():
    assert guessed(CayleyShuffler(imperfection=0.5)).verdict is Verdict.CONSISTENT
    found = guessed(LastIsPutBack(imperfection=0.5))
    assert (found.verdict, found.person) == ("refuted", PEOPLE - 1)


class Sorted(sdp.UniformShuffler):
    """Says that it shuffles, and sorts reports by value."""

    def shuffle(self, reports, *, public=None, source=None):
        view = super().shuffle(reports, public=public, source=source)
        ordered = reports.take(np.argsort(reports["value"], kind="stable"))
        object.__setattr__(view, "reports", ordered)  # past the constructor, which would permute them
        return view


def test_rows_of_marked_reports_are_not_followed_where_reports_are_sorted():
    played = pipeline(TooTruthful(epsilon0=1.0, domain_size=2, excess=0.3), Sorted())
    claimed = target_vulnerability(played.model(4)).value
    found = guess_answers(played, claimed, num_users=4, exact=True, trials=6000, source=SeededSource(1), person=0)
    assert found.verdict is Verdict.REFUTED
    assert found.success > claimed


@pytest.mark.parametrize(
    ("prior", "told"), [(["a", "b"], "prior must be 2 probabilities"), ([0.5, 0.6], "add up to 1; got prior of shape")]
)
def test_a_prior_that_is_none_is_refused_by_its_name_and_never_quoted(prior, told):
    with pytest.raises(InvalidParameterError, match=told):
        guess_answers(pipeline(), 0.6, num_users=3, prior=prior)
