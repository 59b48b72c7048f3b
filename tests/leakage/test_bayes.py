from fractions import Fraction

import numpy as np
import pytest

from leakage.small import FLIP, HALF, ONE, QUARTER, THREE, ZERO, as_floats, best_over_strategies, random_fractions
from shuffledp.core.channels import Channel
from shuffledp.core.errors import InvalidParameterError
from shuffledp.leakage import bayes

BELIEF = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
REVEALING = Channel(np.array([[ONE, ZERO], [ZERO, ONE]]))
SILENT = Channel(np.array([[HALF, HALF], [HALF, HALF]]))


def test_the_prior_vulnerability_is_the_chance_of_the_likeliest_secret():
    assert bayes.prior(BELIEF) == HALF
    assert bayes.prior([0.2, 0.5, 0.3]) == 0.5
    assert isinstance(bayes.prior([0.2, 0.8]), float)


def test_the_posterior_vulnerability_is_that_of_the_best_of_all_strategies():
    identity = np.eye(3, dtype=int).tolist()
    rng = np.random.default_rng(2)
    for belief in (BELIEF, *random_fractions(rng, 10, 3, total=1)):
        assert bayes.posterior(belief, THREE) == best_over_strategies(belief, THREE, identity)


def test_the_posterior_vulnerability_is_the_average_over_the_hyper():
    hyper = THREE.hyper(BELIEF)
    assert bayes.posterior(BELIEF, THREE) == (hyper.inners.max(axis=0) * hyper.outer).sum()


def test_answers_are_fractions_where_all_is_and_floats_else():
    verbs = (bayes.posterior, bayes.additive_leakage, bayes.multiplicative_leakage)
    for verb in verbs:
        assert isinstance(verb(None, THREE), Fraction)
        for answer in (verb(None, as_floats(THREE)), verb([0.5, 0.25, 0.25], THREE)):
            assert type(answer) is float
        assert verb(None, as_floats(THREE)) == pytest.approx(float(verb(None, THREE)))
    assert type(bayes.capacity(as_floats(THREE))) is float


def test_leakage_compares_after_with_before():
    prior, after = bayes.prior(BELIEF), bayes.posterior(BELIEF, THREE)
    assert after > prior
    assert bayes.additive_leakage(BELIEF, THREE) == after - prior
    assert bayes.multiplicative_leakage(BELIEF, THREE) == after / prior


def test_a_channel_that_shows_all_and_one_that_shows_nothing():
    belief = [Fraction(7, 10), Fraction(3, 10)]
    assert bayes.posterior(belief, REVEALING) == 1
    assert bayes.multiplicative_leakage(belief, REVEALING) == Fraction(10, 7)
    assert (bayes.additive_leakage(belief, SILENT), bayes.multiplicative_leakage(belief, SILENT)) == (0, 1)


def test_leakage_of_floats_is_never_below_nothing():
    rng = np.random.default_rng(3)
    for _ in range(50):
        belief, row = rng.dirichlet(np.ones(5)), rng.dirichlet(np.ones(7))
        silent = Channel(np.tile(row, (5, 1)))
        assert bayes.additive_leakage(belief, silent) >= 0
        assert bayes.multiplicative_leakage(belief, silent) >= 1


def test_no_prior_leaks_more_than_the_capacity_and_the_uniform_one_leaks_as_much():
    assert bayes.multiplicative_leakage(None, THREE) == bayes.capacity(THREE) == HALF + Fraction(3, 5) + HALF
    rng = np.random.default_rng(4)
    leakages = [bayes.multiplicative_leakage(belief, THREE) for belief in random_fractions(rng, 100, 3, total=1)]
    assert 1 <= min(leakages) < max(leakages) <= bayes.capacity(THREE)


def test_the_strategy_names_the_likeliest_secret_for_each_output_that_can_come():
    flip = Channel(FLIP.matrix, ("no", "yes"), ("says no", "says yes"))
    assert bayes.strategy(None, flip) == {"says no": "no", "says yes": "yes"}
    assert bayes.strategy([Fraction(9, 10), Fraction(1, 10)], flip) == {"says no": "no", "says yes": "no"}
    assert bayes.strategy([1, 0], REVEALING) == {0: 0}
    assert bayes.strategy(None, SILENT) == {0: 0, 1: 0}


def test_following_the_strategy_gains_the_posterior_vulnerability():
    rng = np.random.default_rng(5)
    for belief in random_fractions(rng, 10, 3, total=1):
        guesses, joint = bayes.strategy(belief, THREE), THREE.joint(belief)
        assert sum(joint[guess, output] for output, guess in guesses.items()) == bayes.posterior(belief, THREE)


@pytest.mark.parametrize(
    "verb", [bayes.posterior, bayes.additive_leakage, bayes.multiplicative_leakage, bayes.strategy]
)
@pytest.mark.parametrize("prior", [[HALF, QUARTER], [1.5, -0.5], [1.0], [np.nan, 1.0]])
def test_what_is_no_prior_is_refused(verb, prior):
    with pytest.raises(InvalidParameterError, match="prior must"):
        verb(prior, FLIP)


@pytest.mark.parametrize("prior", [None, [], [0.5], [[1.0]], [2, -1], "half"])
def test_a_vulnerability_needs_a_prior(prior):
    with pytest.raises(InvalidParameterError, match="prior must"):
        bayes.prior(prior)


def test_arguments_in_the_wrong_order_are_named():
    for verb in (bayes.posterior, bayes.additive_leakage, bayes.multiplicative_leakage, bayes.strategy):
        with pytest.raises(InvalidParameterError, match="channel must be a Channel; got channel of type list"):
            verb(FLIP, [HALF, HALF])
    with pytest.raises(InvalidParameterError, match="channel must be a Channel"):
        bayes.capacity(FLIP.matrix)


def test_no_prior_at_all_says_what_is_missing():
    with pytest.raises(InvalidParameterError, match="prior=None, which does not say of how many inputs"):
        bayes.prior(None)
