"""Unary encoding, hashing, Hadamard response and subset selection keep the contracts that randomized response keeps."""

import numpy as np
import pytest

from contracts.analyzer import AnalyzerContract
from contracts.hashing import small
from contracts.randomizer import CategoricalRandomizerContract
from shuffledp.analyzers import FrequencyAnalyzer
from shuffledp.randomizers import (
    HadamardResponse,
    KaryRandomizedResponse,
    OptimizedLocalHashing,
    OptimizedUnaryEncoding,
    SubsetSelection,
    SymmetricUnaryEncoding,
)
from shuffledp.shufflers import UniformShuffler

# ---- randomizers ----------------------------------------------------------------------------------------------------


class FrequencyOracleContract(CategoricalRandomizerContract):
    """Reports are no values of the domain; what type their columns have is tested with each randomizer."""

    test_reports_are_in_the_smallest_type_that_holds_the_domain = None


class TestSymmetricUnaryEncoding(FrequencyOracleContract):
    randomizer = SymmetricUnaryEncoding(epsilon0=1.0, domain_size=9)
    values = tuple(range(9)) * 40


class TestOptimizedUnaryEncoding(FrequencyOracleContract):
    randomizer = OptimizedUnaryEncoding(epsilon0=3.0, domain_size=11)
    values = (0, 10, 3, 3, 7) * 60


class TestOptimizedUnaryEncodingOfTwo(FrequencyOracleContract):
    randomizer = OptimizedUnaryEncoding(epsilon0=0.1, domain_size=2)
    values = (0, 1, 1) * 100


class TestLocalHashing(FrequencyOracleContract):
    randomizer = OptimizedLocalHashing(epsilon0=1.0, domain_size=16)
    values = tuple(range(16)) * 20

    # Its channel has 2^64 outputs; that of a smaller prime is below.
    test_the_guarantee_is_the_largest_likelihood_ratio_of_its_channel_rounded_up_to_a_float = None
    test_the_channel_in_floats_is_the_exact_one_rounded = None


class TestLocalHashingModuloSeven(FrequencyOracleContract):
    randomizer = OptimizedLocalHashing.from_model(small(epsilon0=1.0, domain_size=5, hash_range=4))
    values = tuple(range(5)) * 60


class TestHadamardResponse(FrequencyOracleContract):
    randomizer = HadamardResponse(epsilon0=1.0, domain_size=20)
    values = tuple(range(20)) * 15


class TestSubsetSelection(FrequencyOracleContract):
    randomizer = SubsetSelection(epsilon0=1.0, domain_size=12)
    values = tuple(range(12)) * 25


# ---- and frequencies from their reports -----------------------------------------------------------------------------


class FrequenciesContract(AnalyzerContract):
    """Relative frequencies through a uniform shuffle, of a batch that is given by its counts."""

    analyzer, shuffler = FrequencyAnalyzer(), UniformShuffler()
    counts: tuple[int, ...]

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        cls.values = np.repeat(np.arange(len(cls.counts)), cls.counts)
        cls.truth = np.array(cls.counts) / sum(cls.counts)


class TestFrequenciesFromSymmetricUnaryEncoding(FrequenciesContract):
    randomizer, counts = SymmetricUnaryEncoding(epsilon0=2.0, domain_size=5), (150, 90, 60, 0, 0)


class TestFrequenciesFromOptimizedUnaryEncoding(FrequenciesContract):
    randomizer, counts = OptimizedUnaryEncoding(epsilon0=2.0, domain_size=9), (120, 60, 50, 30, 20, 10, 10, 0, 0)


class TestFrequenciesFromLocalHashing(FrequenciesContract):
    randomizer, counts = OptimizedLocalHashing(epsilon0=2.0, domain_size=5), (150, 90, 60, 0, 0)


class TestFrequenciesFromLocalHashingModuloSeven(FrequenciesContract):
    # Here one in g is far from the chance of a collision: q must be the exact one.
    randomizer = OptimizedLocalHashing.from_model(small(epsilon0=2.0, domain_size=5, hash_range=5))
    counts = (150, 90, 60, 0, 0)


class TestFrequenciesFromHadamardResponse(FrequenciesContract):
    randomizer, counts = HadamardResponse(epsilon0=2.0, domain_size=6), (150, 70, 60, 20, 0, 0)


class TestFrequenciesFromSubsetSelection(FrequenciesContract):
    randomizer, counts = SubsetSelection(epsilon0=2.0, domain_size=9), (120, 60, 50, 30, 20, 10, 10, 0, 0)


# ---- side by side ---------------------------------------------------------------------------------------------------


def squared_error(model):
    """Of all frequencies together, per report, where they are equal."""
    own, others = model.p * (1 - model.p), (model.domain_size - 1) * model.q * (1 - model.q)
    return (own + others) / (model.p - model.q) ** 2


@pytest.mark.parametrize("epsilon0", [0.01, 0.5, 1.0, 2.0, 4.0, 8.0])
@pytest.mark.parametrize("domain_size", [2, 3, 5, 10, 100, 10_000])
def test_subset_selection_has_the_least_error_over_equally_frequent_values(epsilon0, domain_size):
    errors = {
        randomizer: squared_error(randomizer(epsilon0=epsilon0, domain_size=domain_size).model)
        for randomizer in (
            KaryRandomizedResponse,
            SymmetricUnaryEncoding,
            OptimizedUnaryEncoding,
            OptimizedLocalHashing,
            HadamardResponse,
            SubsetSelection,
        )
    }
    assert errors[SubsetSelection] <= min(errors.values()) * (1 + 1e-9)


@pytest.mark.parametrize("epsilon0", [0.1, 1.0, 3.0])
def test_for_rare_values_randomized_response_is_better_than_unary_encoding_up_to_three_e_plus_two_values(epsilon0):
    limit = int(3 * np.exp(epsilon0) + 2)
    for domain_size in (limit - 1, limit, limit + 1, limit + 2):
        ours, theirs = (
            randomizer(epsilon0=epsilon0, domain_size=domain_size).model.variance_per_report
            for randomizer in (KaryRandomizedResponse, OptimizedUnaryEncoding)
        )
        assert (ours < theirs) == (domain_size <= limit)
