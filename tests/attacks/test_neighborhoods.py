"""The Bayesian attack is right exactly as often as the best attack there is, where its model holds."""

import itertools

import numpy as np
import pytest

from attacks.seen import town, view_of
from shuffledp.attacks import (
    MajorityVote,
    NeighborhoodBayes,
    NeighborhoodPrior,
    SideInformation,
    evaluate,
    placement,
    similar_people,
)
from shuffledp.errors import InvalidParameterError
from shuffledp.groups import Groups
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.shufflers import MallowsShuffler
from shuffledp.testing import SeededSource

PRIORS = {
    "even": NeighborhoodPrior(np.array([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]]), np.array([0.3, 0.4, 0.3])),
    "lopsided": NeighborhoodPrior(np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([0.8, 0.2])),
    "three": NeighborhoodPrior(np.array([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]]), np.array([0.5, 0.5])),
}
OWN = {"unknown": None, "in place": (1.0, 0.0, 0.0), "spread": (0.4, 0.2, 0.1)}


def joint(prior, own, channel, said):
    """Pr[answer of person 0, reports], by summing over the law, the answers of all and where person 0's report is."""
    here = [*(own or (0, 0, 0))]
    chances = np.zeros(channel.shape[0])
    for law, weight in zip(prior.laws, prior.weights, strict=True):
        others = law @ channel
        for answer, place in itertools.product(range(len(law)), range(4)):
            share = weight * law[answer] * (here[place] if place < 3 else 1 - sum(here))
            factors = [channel[answer, y] if slot == place else others[y] for slot, y in enumerate(said)]
            chances[answer] += share * np.prod(factors)
    return chances


@pytest.mark.parametrize("epsilon0", [0.5, 2.5])
@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("name", PRIORS)
def test_the_posterior_is_the_enumerated_one_and_no_vote_is_right_more_often(name, own, epsilon0):
    prior, size = PRIORS[name], PRIORS[name].laws.shape[1]
    channel = np.asarray(KaryRandomizedResponse(epsilon0=epsilon0, domain_size=size).model.channel().matrix)
    near = np.array([[0, 1, 2], [1, -1, -1], [2, -1, -1]])
    at = None if OWN[own] is None else np.vstack([OWN[own], np.zeros((2, 3))])
    side, attack = SideInformation(neighbors=near, placement=at), NeighborhoodBayes(prior)
    right = {"bayes": 0.0, "vote": 0.0, "best": 0.0}
    for said in itertools.product(range(size), repeat=3):
        view, chances = view_of(said, epsilon0=epsilon0, domain_size=size), joint(prior, OWN[own], channel, said)
        assert attack.posterior(view, side)[0] == pytest.approx(chances / chances.sum(), rel=1e-9)
        right["bayes"] += chances[attack.infer(view, side)[0]]
        right["vote"] += chances[MajorityVote().infer(view, side)[0]]
        right["best"] += chances.max()
    assert right["bayes"] == pytest.approx(right["best"], rel=1e-12)
    assert right["vote"] <= right["best"] + 1e-12
    if name == "lopsided" and own == "spread" and epsilon0 == 0.5:
        assert right["vote"] < right["best"] - 0.05


def test_with_fitted_laws_it_is_no_worse_than_the_vote_on_people_nobody_made_up_a_prior_for():
    place, privileged, answers = town()
    answers = np.where(place < 30, answers, 0)  # more of one answer than of the other
    groups = Groups.from_radius(place, 0.0)
    near = similar_people(Groups.from_radius(place, 1.0), privileged=privileged)
    shuffler = MallowsShuffler(groups=groups, alpha=20.0)
    side = SideInformation(neighbors=near, placement=placement(shuffler, near, source=SeededSource(2)))
    found = {
        type(attack): evaluate(
            attack,
            randomizer=KaryRandomizedResponse(epsilon0=2.5, domain_size=2),
            shuffler=shuffler,
            answers=answers,
            side_information=side,
            num_runs=5,
            repetitions=2,
            source=SeededSource(4),
        ).success
        for attack in (MajorityVote(), NeighborhoodBayes())
    }
    assert found[NeighborhoodBayes] >= found[MajorityVote] - 0.005


@pytest.mark.parametrize(
    ("laws", "weights"),
    [([[0.5, 0.6]], [1.0]), ([[0.5, 0.5]], [0.9]), ([[1.5, -0.5]], [1.0]), ([[0.5, 0.5]], [0.5] * 2)],
)
def test_what_is_no_prior_is_refused(laws, weights):
    with pytest.raises(InvalidParameterError):
        NeighborhoodPrior(np.array(laws), np.array(weights))


def test_a_prior_of_other_values_is_refused():
    side = SideInformation(neighbors=np.array([[0], [1]]))
    with pytest.raises(InvalidParameterError, match="of 2 values"):
        NeighborhoodBayes(PRIORS["three"]).infer(view_of([0, 1]), side)
