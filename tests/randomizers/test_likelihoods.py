"""The log-likelihoods of reports, by which attacks decide, are those of the laws that the randomizers have."""

import math
from fractions import Fraction

import numpy as np
import pytest

from shuffledp.randomizers import (
    DiscreteLaplaceMean,
    HadamardResponse,
    KaryRandomizedResponse,
    OneBitMean,
    OptimizedLocalHashing,
    OptimizedUnaryEncoding,
    PrivUnit,
    RoundedMean,
    SubsetSelection,
    SymmetricUnaryEncoding,
)
from shuffledp.randomizers.priv_unit import cap_mass
from shuffledp.testing import SeededSource

FREQUENCIES = [
    KaryRandomizedResponse(epsilon0=1.0, domain_size=2),
    KaryRandomizedResponse(epsilon0=3.0, domain_size=40),
    OptimizedUnaryEncoding(epsilon0=2.0, domain_size=11),
    SymmetricUnaryEncoding(epsilon0=2.0, domain_size=3),
    OptimizedLocalHashing(epsilon0=1.5, domain_size=20),
    HadamardResponse(epsilon0=1.0, domain_size=6),
    SubsetSelection(epsilon0=1.0, domain_size=9),
]


def packed(numbers: np.ndarray, size: int) -> dict[str, np.ndarray]:
    bits = numbers[:, None] >> np.arange(size) & 1
    return {"bits": np.packbits(bits.astype(np.uint8), axis=1, bitorder="little")}


def all_outputs(model) -> dict[str, np.ndarray]:
    """A report for each column of the channel, in its order."""
    outputs = np.arange(model.channel().matrix.shape[1])
    if model.kind in ("oue", "sue"):
        return packed(outputs, model.domain_size)
    if model.kind == "subset":
        numbers = np.arange(2**model.domain_size)
        return packed(numbers[np.bitwise_count(numbers) == model.subset_size], model.domain_size)
    return {"index" if model.kind == "hadamard" else "value": outputs}


@pytest.mark.parametrize("randomizer", FREQUENCIES, ids=lambda randomizer: randomizer.model.kind)
def test_reports_that_support_a_value_are_those_that_are_counted_for_it(randomizer):
    model = randomizer.model
    reports = randomizer.randomize(np.arange(300) % model.domain_size, source=SeededSource(3))
    counts = [int(model.supports(reports.columns, value).sum()) for value in range(model.domain_size)]
    assert counts == model.support_counts(reports.columns).tolist()


@pytest.mark.parametrize(
    "randomizer",
    [
        *(each for each in FREQUENCIES if each.model.kind != "olh"),
        OneBitMean(epsilon0=1.0, lower=-1.0, upper=2.0),
        RoundedMean(epsilon0=2.0, lower=0.0, upper=1.0, num_levels=4),
    ],
    ids=lambda randomizer: randomizer.model.kind,
)
def test_differences_of_log_likelihoods_are_the_log_ratios_of_the_channel(randomizer):
    model, columns = randomizer.model, all_outputs(randomizer.model)
    model.check(columns)
    channel = model.channel()
    inputs = list(channel.inputs)
    if model.kind == "rounded-mean":
        inputs = [model.lower + (model.upper - model.lower) * point / model.num_levels for point in inputs]
    logs = np.array([model.log_likelihood(columns, value) for value in inputs])
    np.testing.assert_allclose(logs - logs[0], np.log(channel.matrix / channel.matrix[0]), atol=1e-9)


def test_of_a_hashed_report_it_is_that_of_the_response_to_the_hashed_value():
    randomizer = OptimizedLocalHashing(epsilon0=1.5, domain_size=20)
    model = randomizer.model
    columns = randomizer.randomize(np.arange(200) % 20, source=SeededSource(1)).columns
    response = model.response.channel().matrix
    seeds = columns["seed"].astype(np.uint64)
    for value in (0, 7, 19):
        hashed = model.hashed(np.full(200, value), seeds).astype(int)
        expected = np.log(response[hashed, columns["value"]] / model.response.q)
        np.testing.assert_allclose(model.log_likelihood(columns, value), expected, atol=1e-9)


@pytest.mark.parametrize("value", [-1.0, -0.4, 0.0, 1.25, 2.0])
def test_of_one_bit_it_is_the_log_of_a_chance_that_is_linear_in_the_value(value):
    model = OneBitMean(epsilon0=1.0, lower=-1.0, upper=2.0).model
    one = model.response.q + (model.response.p - model.response.q) * (value + 1) / 3
    logs = model.log_likelihood({"value": np.array([0, 1])}, value)
    np.testing.assert_allclose(logs, np.log([1 - one, one]), rtol=1e-12)


@pytest.mark.parametrize(("value", "left", "share"), [(0.0, 0, 0), (3.0, 1, Fraction(1, 2)), (10.0, 4, 1), (4.0, 2, 0)])
def test_of_numbers_on_a_grid_it_is_a_mixture_of_the_two_points_beside_the_value(value, left, share):
    laplace = DiscreteLaplaceMean(epsilon0=1.0, lower=0.0, upper=10.0, num_steps=5).model
    rounded = RoundedMean(epsilon0=2.0, lower=0.0, upper=10.0, num_levels=5).model
    reports = np.arange(6)
    decay = math.exp(-laplace.rate)
    noise = [(1 - share) * decay ** abs(y - left) + share * decay ** abs(y - left - 1) for y in range(6)]
    np.testing.assert_allclose(laplace.log_likelihood({"value": reports}, value), np.log(noise), rtol=1e-9)
    rows = rounded.response.channel().matrix
    mixture = (1 - float(share)) * rows[left] + float(share) * rows[min(left + 1, 5)]
    np.testing.assert_allclose(rounded.log_likelihood({"value": reports}, value), np.log(mixture), rtol=1e-9)


def test_of_a_vector_it_is_flat_in_the_cap_and_outside():
    randomizer = PrivUnit(epsilon0=3.0, dimension=4)
    model, north = randomizer.model, (1.0, 0.0, 0.0, 0.0)
    columns = randomizer.randomize([north] * 2000, source=SeededSource(1)).columns
    logs = model.log_likelihood(columns, north)
    inside = columns["vector"][:, 0] >= model.gamma
    share = cap_mass(model.depth, model.dimension)
    ratio = math.log(model.p / share * (1 - share) / (1 - model.p))
    np.testing.assert_allclose(logs[inside], ratio, atol=1e-8)
    assert (logs[~inside] == 0).all()
    assert abs(inside.mean() - model.p) < 6 * math.sqrt(model.p * (1 - model.p) / 2000)
