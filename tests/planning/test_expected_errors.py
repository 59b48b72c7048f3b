"""Expected errors, sample sizes and the ranking of randomizers, for models alone."""

import math

import pytest

from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.people.graphs import Graph
from shuffledp.planning import best_randomizer, compare_randomizers, expected_error, sample_size
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.randomizers import KaryRandomizedResponse, LdpModel, OneBitMean, PrivUnit, model_of_kind
from shuffledp.shufflers import IdentityShuffler, UniformShuffler

KINDS = ("k-rr", "sue", "oue", "olh", "hadamard", "subset")
MODELS = [
    KaryRandomizedResponse(epsilon0=1.0, domain_size=5).model,
    OneBitMean(epsilon0=2.0, lower=-1, upper=3).model,
    PrivUnit(epsilon0=4.0, dimension=8).model,
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.kind)
@pytest.mark.parametrize("of_sample", [False, True])
def test_the_sample_size_is_enough_and_one_person_less_is_not(model, of_sample):
    people = sample_size(model, standard_error=0.02, of_sample=of_sample)
    reached, before = (expected_error(model, each) for each in (people, people - 1))
    errors = [math.hypot(each.standard_error, each.sampling_error * of_sample) for each in (reached, before)]
    assert errors[0] <= 0.02 < errors[1]


@pytest.mark.parametrize(("epsilon0", "domain_size", "best"), [(1.0, 100, "subset"), (4.0, 3, "k-rr")])
def test_the_best_randomizer_is_the_first_of_the_ranking(epsilon0, domain_size, best):
    models = [model_of_kind(kind, epsilon0=epsilon0, domain_size=domain_size) for kind in KINDS]
    shuffle = UniformShuffler().model(1000)
    ranking = compare_randomizers(models, shuffle, delta=1e-6)
    errors = [option.error.standard_error for option in ranking]
    assert errors == sorted(errors)
    assert sorted(option.kind for option in ranking) == sorted(KINDS)
    assert best_randomizer(models, shuffle).kind == ranking[0].kind == best
    assert {option.central.epsilon < epsilon0 for option in ranking} == {True}


def test_lost_reports_make_errors_larger():
    graph = Graph.from_edges([(one, other) for one in range(30) for other in range(one)])
    lossy = RandomWalkShuffler(graph=graph, num_rounds=2, protocol="single", dropout=0.2).model(30)
    plain, lost = (
        compare_randomizers(MODELS[:1], shuffle, delta=0.05)[0].error.standard_error
        for shuffle in (IdentityShuffler().model(30), lossy)
    )
    assert lost > 1.1 * plain


def test_of_a_randomizer_of_unknown_errors_nothing_is_expected():
    with pytest.raises(UnsupportedModelError, match="expected errors are known of randomizers of categories"):
        expected_error(LdpModel(epsilon0=1.0), 100)
    with pytest.raises(InvalidParameterError, match="models must be one or more"):
        best_randomizer([], UniformShuffler().model(10))
