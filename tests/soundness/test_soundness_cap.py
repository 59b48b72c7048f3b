"""What is said about guessing never contradicts what is guaranteed, for any randomizer and any shuffler."""

import math

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.core.statement_terms import Kind
from shuffledp.leakage import compare_ways, target_vulnerability
from shuffledp.planning.guaranteed_leakage import compare_guaranteed, examine_guaranteed, guaranteed_vulnerability
from shuffledp.protocols.shares.shufflers.imperfect import CayleyShuffler, DelayShuffler
from shuffledp.testing import SeededSource

DELTA = 1e-6
PEOPLE = 200
LINE = sdp.Groups.from_labels([place // 20 for place in range(PEOPLE)])
FRIENDS = sdp.Graph.random_regular(8, PEOPLE, SeededSource(1))
RANDOMIZERS = {
    "binary": sdp.KaryRandomizedResponse(epsilon0=1.0, domain_size=2),
    "four": sdp.KaryRandomizedResponse(epsilon0=3.0, domain_size=4),
    "oue": sdp.OptimizedUnaryEncoding(epsilon0=2.0, domain_size=4),
    "subset": sdp.SubsetSelection(epsilon0=2.0, domain_size=5),
    "large": sdp.KaryRandomizedResponse(epsilon0=9.0, domain_size=3),
}
SHUFFLERS = {
    "none": sdp.IdentityShuffler(),
    "uniform": sdp.UniformShuffler(),
    "imperfect": CayleyShuffler(imperfection=0.25),
    "delay": DelayShuffler(imperfection=0.25),
    "mallows": sdp.MallowsShuffler(groups=LINE, alpha=4.0),
    "noisy-sort": sdp.NoisySortShuffler(groups=LINE, alpha=4.0),
    "walks": sdp.RandomWalkShuffler(graph=FRIENDS, num_rounds=30),
    "single": sdp.RandomWalkShuffler(graph=FRIENDS, num_rounds=30, protocol="single"),
    "few rounds": sdp.RandomWalkShuffler(graph=FRIENDS, num_rounds=1),
}


def model_of(randomizer, shuffler):
    return sdp.ProtocolModel(local=RANDOMIZERS[randomizer].model, shuffle=SHUFFLERS[shuffler].model(PEOPLE))


@pytest.mark.parametrize("shuffler", SHUFFLERS)
@pytest.mark.parametrize("randomizer", RANDOMIZERS)
def test_the_largest_guess_is_at_most_that_of_the_headline(randomizer, shuffler):
    model = model_of(randomizer, shuffler)
    headline = sdp.account(model, delta=DELTA).guarantee
    guess = (math.exp(headline.epsilon) + DELTA) / (math.exp(headline.epsilon) + 1)
    found = compare_guaranteed(model, sampling=False, method="quick", delta=DELTA)
    own = found.way("both") or found.way("randomizing")
    for vulnerability in (own.uninformed, own.strong):
        assert vulnerability is not None
        assert vulnerability.upper <= guess * (1 + 1e-9)


def test_without_the_guarantee_a_page_would_contradict_itself():
    model = model_of("binary", "walks")
    headline = sdp.account(model, delta=DELTA).guarantee
    guess = (math.exp(headline.epsilon) + DELTA) / (math.exp(headline.epsilon) + 1)
    alone = compare_ways(model, sampling=False, method="quick").way("both").strong
    assert alone is None or alone.upper > 1.1 * guess


@pytest.mark.parametrize("randomizer", ["binary", "four"])
def test_what_is_exact_lies_below_the_cap_and_stays(randomizer):
    model = model_of(randomizer, "uniform")
    found = guaranteed_vulnerability(model)
    assert found.kind is Kind.EXACT
    bound = guaranteed_vulnerability(model, adversary="strong")
    assert found.value <= bound.upper
    assert examine_guaranteed(model).found == found


def test_a_capped_bound_says_what_it_rests_on():
    found = guaranteed_vulnerability(model_of("binary", "walks"), adversary="strong")
    assert found.kind is Kind.UPPER_BOUND
    assert "guaranteed" in found.note


def test_a_given_law_of_places_is_not_capped_by_what_is_guaranteed_of_the_shuffle():
    model = sdp.ProtocolModel(
        local=sdp.KaryRandomizedResponse(epsilon0=2.0, domain_size=30).model, shuffle=sdp.UniformShuffler().model(300)
    )
    places = np.array([0.9, *[0.1 / 299] * 299])
    found = guaranteed_vulnerability(model, positions=places)
    assert found.upper > 0.18  # the report itself is almost seen
    assert found == target_vulnerability(model, positions=places)
