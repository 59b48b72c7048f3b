"""The error of a trusted curator: each noise by its own law, and never with more loss than is stated."""

import math

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.laws.gaussian_noise import gaussian_delta, gaussian_mu
from shuffledp.planning import calibrate
from shuffledp.planning.trusted_curator import trusted_curator
from shuffledp.randomizers import model_of_kind
from shuffledp.survey import Task, plan


def shares(size):
    return model_of_kind("k-rr", epsilon0=1.0, domain_size=size)


def numbers():
    return model_of_kind("laplace-mean", epsilon0=1.0, lower=-20, upper=80, num_steps=100)


def vectors(dimension):
    return model_of_kind("priv-unit", epsilon0=1.0, dimension=dimension)


@pytest.mark.parametrize(("size", "apart"), [(2, 1), (3, 2), (50, 2)])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 3.0])
def test_counts_have_discrete_laplace_noise_whose_loss_is_the_one_stated(size, apart, epsilon):
    found = trusted_curator(shares(size), epsilon=epsilon, delta=0.0, num_users=1)
    reach = int(60 * apart / epsilon)
    steps = np.arange(-reach, reach + 1)
    law = np.exp(-epsilon / apart * np.abs(steps))
    law /= law.sum()
    assert found.mechanism == "discrete Laplace noise"
    assert found.standard_error == pytest.approx(math.sqrt(float(law @ steps**2)), rel=1e-6)
    one_step = float(np.abs(np.log(law[:-1] / law[1:])).max())  # an answer that is replaced moves `apart` counts by one
    assert apart * one_step == pytest.approx(epsilon)


def test_the_noise_of_many_coordinates_is_gaussian_and_keeps_delta():
    found = trusted_curator(vectors(100), epsilon=0.5, delta=1e-6, num_users=1000)
    assert found.mechanism == "Gaussian noise"
    mu = 2 / (found.standard_error * 1000)
    assert gaussian_delta(mu, 0.5) <= 1e-6 < gaussian_delta(1.001 * mu, 0.5)
    assert found.standard_error < math.sqrt(2) * 2 * 10 / 0.5 / 1000
    without = trusted_curator(vectors(100), epsilon=0.5, delta=0.0, num_users=1000)
    assert (without.mechanism, without.standard_error) == (
        "Laplace noise",
        pytest.approx(math.sqrt(2) * 20 / 0.5 / 1000),
    )


def test_means_and_sums_of_numbers_have_laplace_noise_over_their_range():
    mean = trusted_curator(numbers(), epsilon=0.5, delta=1e-6, num_users=1000)
    assert (mean.mechanism, mean.standard_error) == ("Laplace noise", pytest.approx(math.sqrt(2) * 100 / 0.5 / 1000))
    split = {"epsilon": 0.5, "delta": 1e-6, "num_users": 1000, "lower": -20, "upper": 80}
    local = calibrate.split_and_mix(**split).model
    total = trusted_curator(local, epsilon=0.5, delta=1e-6, num_users=1000, unit=1000)
    assert total.standard_error == pytest.approx(1000 * mean.standard_error)


@pytest.mark.parametrize("bounded", [False, True])
def test_a_sum_of_vectors_moves_by_as_much_as_one_vector_can(bounded):
    local = calibrate.split_and_mix(
        epsilon=1.0, delta=1e-6, num_users=10_000, lower=0, upper=5, dimension=3, l1_bounded=bounded
    ).model
    found = trusted_curator(local, epsilon=1.0, delta=0.0, num_users=1)
    assert found.standard_error == pytest.approx(math.sqrt(2) * 5 * (2 if bounded else 3))


def task(randomizer, **more):
    return Task.from_dict({"name": "t", "value": "v", "randomizer": randomizer, "release": {"delta": 1e-6}, **more})


RANDOMIZERS = {
    "frequencies": {"kind": "k-rr", "epsilon0": 1.0, "categories": ["a", "b", "c"]},
    "histogram": {"kind": "k-rr", "epsilon0": 1.0, "lower": 0, "upper": 50, "bins": 5},
    "mean": {"kind": "laplace-mean", "epsilon0": 1.0, "lower": 0, "upper": 10},
    "vector": {"kind": "priv-unit", "epsilon0": 1.0, "dimension": 5},
}


@pytest.mark.parametrize("kind", RANDOMIZERS)
def test_the_curator_of_a_plan_has_what_is_stated_and_errs_less(kind):
    planned = plan(task(RANDOMIZERS[kind]), 1000, alone=True)
    (column,) = planned.columns
    guarantee = column.statements[0].guarantee
    assert (column.curator.epsilon, column.curator.delta) == (guarantee.epsilon, guarantee.delta)
    assert column.curator.standard_error < column.chosen.error.standard_error
    assert planned.to_dict()["columns"][0]["curator"] == column.curator.to_dict()


def test_the_curator_of_a_sum_is_one_number_everywhere():
    split = {"kind": "split-and-mix", "epsilon": 1.0, "lower": 0, "upper": 10, "statistic": "sum"}
    described = {"name": "t", "value": "v", "protocol": split, "people": {"expected": 500}, "release": {"delta": 1e-6}}
    (column,) = plan(Task.from_dict(described), alone=True).columns
    assert column.curator.standard_error == column.of_question.central_error
    assert column.curator.epsilon == 1.0


@pytest.mark.parametrize("releases", [1, 4])
def test_the_curator_beside_bits_and_vectors_has_what_is_stated_in_as_many_releases(releases):
    vectors = {"kind": "vector-sum", "epsilon": 1.0, "largest_norm": 1.0, "dimension": 9, "releases": releases}
    bits = {"kind": "counted-bits", "epsilon": 1.0, "lower": 0, "upper": 10}
    for protocol in (vectors, bits) if releases == 1 else (vectors,):
        described = {"name": "t", "value": "v", "protocol": {**protocol, "dropout_fraction": 0.2}}
        task = Task.from_dict({**described, "people": {"expected": 500}, "release": {"delta": 1e-6}})
        (column,) = plan(task, alone=True).columns
        guarantee = column.statements[0].guarantee
        assert guarantee.epsilon < 0.95
        assert (column.curator.epsilon, column.curator.delta) == (guarantee.epsilon, guarantee.delta)
        assert column.curator.standard_error == column.of_question.central_error
        assert column.curator.standard_error < column.chosen.error.standard_error
        if protocol is vectors:
            alone = 2 / gaussian_mu(guarantee.epsilon, 1e-6) / 500
            assert column.curator.standard_error == pytest.approx(alone * releases**0.5)


def test_a_curator_of_no_loss_or_an_infinite_one_is_not_known():
    weighted = plan(task(RANDOMIZERS["frequencies"], weight="w", public=["w"]), 1000, alone=True).columns
    assert weighted[0].curator is None
    with pytest.raises(InvalidParameterError, match="epsilon must be"):
        trusted_curator(shares(2), epsilon=0.0, delta=1e-6, num_users=10)
