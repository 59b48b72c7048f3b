"""Leakage and attacks agree: the best guess is right as often as is stated, no more and no less."""

from dataclasses import replace

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp import randomizers
from shuffledp.attacks import Verdict
from shuffledp.attacks.guessing_game import guess_answers
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.statement_terms import Kind
from shuffledp.leakage import target_vulnerability
from shuffledp.testing import SeededSource
from statistical.thresholds import SIGNIFICANCE

CERTAIN = 1 - SIGNIFICANCE
CATEGORIES = {"epsilon0": 1.5, "domain_size": 3}
SKEWED = [0.5, 0.3, 0.2]
PEOPLE = 5
GROUPS = sdp.Groups.from_lists([list(range(PEOPLE))] * PEOPLE)


def pipeline(shuffler=None, randomizer=None):
    return sdp.Pipeline(
        randomizer=randomizer or sdp.KaryRandomizedResponse(**CATEGORIES),
        shuffler=shuffler or sdp.UniformShuffler(),
        analyzer=sdp.FrequencyAnalyzer(),
    )


def guessed(played, claimed, **options):
    options = {"num_users": PEOPLE, "trials": 4000, "confidence": CERTAIN, "source": SeededSource(5)} | options
    return guess_answers(played, claimed, **options)


def exact_value(played, **options):
    found = target_vulnerability(played.model(PEOPLE), **options)
    assert found.kind is Kind.EXACT
    return found.value


@pytest.mark.parametrize(
    "shuffler",
    [sdp.UniformShuffler(), pytest.param(sdp.IdentityShuffler(), marks=pytest.mark.deep)],
    ids=["uniform", "none"],
)
@pytest.mark.parametrize("prior", [pytest.param(None, marks=pytest.mark.deep), SKEWED], ids=["uniform", "skewed"])
def test_the_best_guess_is_right_as_often_as_is_stated(shuffler, prior):
    played = pipeline(shuffler)
    claimed = exact_value(played, prior=prior)
    found = guessed(played, claimed, prior=prior, exact=True)
    assert found.optimal
    assert found.verdict is Verdict.CONSISTENT
    assert found.success_limits[0] <= claimed <= found.success_limits[1]
    # and a claim that is off by a fifth falls on either side
    for factor in (0.8, 1.2):
        assert guessed(played, factor * claimed, prior=prior, exact=True).verdict is Verdict.REFUTED


@pytest.mark.deep
@pytest.mark.parametrize(
    "name", ["OptimizedUnaryEncoding", "SymmetricUnaryEncoding", "HadamardResponse", "SubsetSelection"]
)
@pytest.mark.parametrize("shuffler", [sdp.UniformShuffler(), sdp.IdentityShuffler()], ids=["uniform", "none"])
def test_of_every_randomizer_the_best_guess_is_right_as_often_as_is_stated(name, shuffler):
    played = pipeline(shuffler, getattr(randomizers, name)(**CATEGORIES))
    claimed = exact_value(played, prior=SKEWED)
    assert guessed(played, claimed, prior=SKEWED, exact=True, trials=20_000).verdict is Verdict.CONSISTENT


@pytest.mark.deep
@pytest.mark.parametrize("other", [0, pytest.param(2, marks=pytest.mark.deep)])
def test_whoever_knows_the_others_is_right_as_often_as_is_stated(other):
    """The strong adversary, where all others agree."""
    played = pipeline()
    claimed = exact_value(played, prior=SKEWED, adversary="strong", others=np.eye(3, dtype=int)[other] * (PEOPLE - 1))
    assert guessed(played, claimed, prior=SKEWED, others=other, exact=True).verdict is Verdict.CONSISTENT
    assert (
        guessed(played, exact_value(played, prior=SKEWED) * 0.8, prior=SKEWED, others=other).verdict is Verdict.REFUTED
    )


@pytest.mark.deep
@pytest.mark.parametrize(
    "shuffler",
    [
        sdp.MallowsShuffler(groups=GROUPS, alpha=4.0, order=range(PEOPLE)),
        sdp.NoisySortShuffler(groups=GROUPS, alpha=4.0, order=range(PEOPLE)),
        sdp.imperfect_shuffler(imperfection=2.0),
    ],
    ids=["Mallows", "noisy sort", "imperfect"],
)
def test_where_part_of_the_order_is_kept_nobody_is_guessed_more_often_than_is_stated(shuffler):
    played = pipeline(shuffler)
    claimed = target_vulnerability(played.model(PEOPLE), prior=SKEWED)
    found = guessed(played, claimed.upper, prior=SKEWED, person=PEOPLE // 2, trials=300)
    assert found.verdict is Verdict.CONSISTENT
    assert not found.optimal
    assert found.by_chance == 0.5


@pytest.mark.deep
def test_exact_claims_about_mallows_shuffles_are_reached_by_those_at_an_end():
    played = pipeline(sdp.MallowsShuffler(groups=GROUPS, alpha=8.0, order=range(PEOPLE)))
    claimed = exact_value(played)
    found = guessed(played, claimed, exact=True, trials=4000)
    assert found.success_limits[0] <= claimed <= found.success_limits[1]
    assert found.success_limits[0] > exact_value(pipeline())


def test_a_pipeline_that_does_not_shuffle_is_refuted_by_what_is_stated_of_a_uniform_one():
    claimed = exact_value(pipeline())
    assert guessed(pipeline(sdp.IdentityShuffler()), claimed).verdict is Verdict.REFUTED


def test_a_randomizer_without_a_table_is_refused():
    with pytest.raises(UnsupportedModelError, match="table"):
        exact_value(pipeline(randomizer=randomizers.OptimizedLocalHashing(**CATEGORIES)))


def test_what_no_outcome_could_refute_is_not_audited():
    assert guessed(pipeline(), 1.0, trials=10).verdict is Verdict.NOT_AUDITED
    assert guessed(pipeline(), 0.9, trials=10).verdict is Verdict.NOT_AUDITED


def test_the_result_is_said_in_words_and_survives_a_dictionary():
    found = guessed(pipeline(), 0.34, trials=2000)
    assert str(found).startswith("REFUTED: the best guess about one person is right with a probability of at most 0.34")
    assert type(found).from_dict(found.to_dict()) == found
    assert found.seeded
    assert replace(found, exact=True).exact


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"person": PEOPLE}, "person must be"),
        ({"others": 3}, "others must be"),
        ({"prior": [0.5, 0.5]}, "prior must be"),
        ({"prior": [0.7, 0.5, -0.2]}, "prior must be"),
        ({"trials": 1}, "trials must be"),
        ({"confidence": 1.0}, "confidence must be"),
        ({"num_users": 0}, "num_users must be"),
    ],
)
def test_wrong_arguments_are_refused(changes, message):
    with pytest.raises(InvalidParameterError, match=message):
        guessed(pipeline(), 0.5, **changes)


def test_walks_and_numbers_are_not_guessed():
    ring = sdp.Graph.from_edges([(one, (one + 1) % PEOPLE) for one in range(PEOPLE)])
    with pytest.raises(UnsupportedModelError, match="label of its own"):
        guessed(pipeline(sdp.RandomWalkShuffler(graph=ring, num_rounds=2, protocol="all")), 0.5)
    numbers = randomizers.OneBitMean(epsilon0=1.0, lower=0.0, upper=1.0)
    with pytest.raises(UnsupportedModelError, match="categories"):
        guessed(pipeline(randomizer=numbers), 0.5)
