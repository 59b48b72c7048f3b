"""Everything in one call, and the capacity: against many beliefs about one person."""

import numpy as np
import pytest

from leakage.test_guessing import beliefs, protocol
from shuffledp.channels import Channel
from shuffledp.errors import UnsupportedModelError
from shuffledp.leakage import examine_target, target_capacity, target_vulnerability
from shuffledp.models import ProtocolModel
from shuffledp.randomizers import ChannelModel
from shuffledp.shufflers import UniformShuffleModel, imperfect_shuffler
from shuffledp.statements import Kind


@pytest.mark.parametrize("others", [None, (0.2, 0.3, 0.5), (0.0, 0.4, 0.6)])
def test_no_belief_about_the_person_gains_more_than_the_capacity_and_the_uniform_one_gains_that(others):
    model = protocol(3)
    prior = (1 / 3, 1 / 3, 1 / 3) if others is None else others
    found = target_capacity(model, prior=others)
    channel = np.array(list(beliefs(model, prior).values())).T
    possible = np.array(prior) > 0
    channel = channel[possible] / np.array(prior)[possible][:, None]
    factors = [
        (belief[:, None] * channel).max(axis=0).sum() / belief.max()
        for belief in np.random.default_rng(1).dirichlet(np.ones(possible.sum()), 200)
    ]
    assert max(factors) <= found.value + 1e-12
    assert channel.max(axis=0).sum() == pytest.approx(found.value, abs=1e-12)
    assert found.kind is Kind.EXACT


def test_a_capacity_counts_what_the_others_hardly_ever_hold():
    """Nobody else holds the second value but for a miracle, and reports tell the two values apart but for as much."""
    rare = 1e-310
    local = ChannelModel(matrix=Channel([[1 - rare, rare], [0.5, 0.5]]))
    model = ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=6))
    assert target_capacity(model, prior=(1 - rare, rare)).value == pytest.approx(1.5, abs=1e-12)


def test_a_capacity_without_a_known_law_of_places_is_of_the_uniform_prior_only():
    local = protocol(2).local
    shuffle = imperfect_shuffler(imperfection=1.0, construction="delay").model(30)
    model = ProtocolModel(local=local, shuffle=shuffle)
    assert target_capacity(model).kind is Kind.UPPER_BOUND
    with pytest.raises(UnsupportedModelError, match="law of places"):
        target_capacity(model, prior=(0.2, 0.3, 0.5))
    assert examine_target(model, prior=(0.2, 0.3, 0.5)).capacity is None


@pytest.mark.parametrize("adversary", ["uninformed", "strong"])
def test_an_examination_is_made_of_its_parts(adversary):
    model, prior = protocol(4), (0.2, 0.3, 0.5)
    found = examine_target(model, prior=prior, adversary=adversary, compare=True)
    assert found.found == target_vulnerability(model, prior=prior, adversary=adversary)
    assert found.capacity == target_capacity(model, prior=prior, adversary=adversary)
    assert (found.guesses is None) == (adversary == "strong")
    assert getattr(found.comparison.way("both"), adversary) == found.found
    assert examine_target(model).comparison is None
    assert found.capacity.value >= found.found.multiplicative_leakage


def test_a_capacity_for_a_gain_is_that_of_every_gain():
    gain = [[1, 0, 0], [0, 1, 1]]
    found = examine_target(protocol(4), gain=gain)
    assert found.capacity == target_capacity(protocol(4))
    assert 1 < found.found.multiplicative_leakage <= found.capacity.value
    assert found.to_dict()["counts_right"] is False
