"""Whole reports follow the channel of their model, and a loss that is wrong by a twentieth is rejected."""

import numpy as np
import pytest
from thresholds import SAMPLES, assert_fits, assert_rejects

from contracts.hashing import small
from shuffledp.core.flow import Reports
from shuffledp.randomizers import (
    HadamardResponse,
    OptimizedLocalHashing,
    OptimizedUnaryEncoding,
    SubsetSelection,
    SymmetricUnaryEncoding,
)
from shuffledp.randomness.sources import resolve_source

WRONG = 1.05


def number_of_bits(reports: Reports) -> np.ndarray:
    bits = reports["bits"].astype(np.int64)
    return bits @ 256 ** np.arange(bits.shape[1])


def number_of_subset(reports: Reports) -> np.ndarray:
    size, chosen = reports.model.domain_size, reports.model.subset_size
    numbers = np.arange(2**size)
    places = np.cumsum(np.bitwise_count(numbers) == chosen) - 1
    return places[number_of_bits(reports)]


def number_of_hash(reports: Reports) -> np.ndarray:
    return reports["seed"].astype(np.int64) * reports.model.hash_range + reports["value"]


KINDS = {
    "SUE, k = 4": (lambda e: SymmetricUnaryEncoding(epsilon0=e, domain_size=4), number_of_bits),
    "OUE, k = 6": (lambda e: OptimizedUnaryEncoding(epsilon0=e, domain_size=6), number_of_bits),
    "OLH, k = 5, g = 4": (
        lambda e: OptimizedLocalHashing.from_model(small(epsilon0=e, domain_size=5, hash_range=4)),
        number_of_hash,
    ),
    "HR, k = 5": (lambda e: HadamardResponse(epsilon0=e, domain_size=5), lambda reports: reports["index"]),
    "SS, k = 7, d = 2": (lambda e: SubsetSelection(epsilon0=e, domain_size=7), number_of_subset),
    "SS, k = 10, d = 3": (lambda e: SubsetSelection(epsilon0=e, domain_size=10), number_of_subset),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [0, 3])
def test_reports_follow_the_channel_and_a_loss_wrong_by_a_twentieth_is_rejected(kind, value):
    make, number = KINDS[kind]
    randomizer, wrong = make(1.0), make(1.0 * WRONG)
    law, wrong_law = (each.model.channel().matrix[value] for each in (randomizer, wrong))
    counts = np.bincount(number(randomizer.randomize(np.full(SAMPLES, value))), minlength=len(law))
    assert_fits(counts, law)
    assert_rejects(counts, wrong_law)


SUPPORTS = {
    "SUE": SymmetricUnaryEncoding(epsilon0=1.0, domain_size=1000),
    "OUE": OptimizedUnaryEncoding(epsilon0=1.0, domain_size=100),
    "OLH": OptimizedLocalHashing(epsilon0=1.0, domain_size=20),
    "BLH": OptimizedLocalHashing(epsilon0=1.0, domain_size=20, hash_range=2),
    "HR": HadamardResponse(epsilon0=1.0, domain_size=1000),
    "SS": SubsetSelection(epsilon0=1.0, domain_size=100),
}


@pytest.mark.parametrize("kind", SUPPORTS)
def test_large_domains_are_supported_with_p_and_q_and_one_wrong_by_a_tenth_is_rejected(kind):
    randomizer, count = SUPPORTS[kind], SAMPLES // 10
    model, value = randomizer.model, 17
    counts = model.support_counts(randomizer.randomize(np.full(count, value)).columns)
    for held, chance in ((value, model.p), (3, model.q), (model.domain_size - 1, model.q)):
        found = [counts[held], count - counts[held]]
        assert_fits(found, [chance, 1 - chance])
        assert_rejects(found, [1.1 * chance, 1 - 1.1 * chance])


def test_hashed_values_of_any_two_values_are_uniform_pairs_and_functions_that_only_shift_are_rejected():
    model = OptimizedLocalHashing(epsilon0=1.0, domain_size=2**31 - 1).model  # g = 4
    seeds = resolve_source(None).words(SAMPLES) % np.uint64(model.num_seeds)
    shifts = seeds % np.uint64(model.modulus)
    for left, right in ((0, 1), (5, 2**31 - 2), (2**30, 2**30 + 1)):
        pair = [model.hashed(np.full(SAMPLES, each), seeds).astype(np.int64) for each in (left, right)]
        assert_fits(np.bincount(4 * pair[0] + pair[1], minlength=16), np.full(16, 1 / 16))
        pair = [model.hashed(np.full(SAMPLES, each), shifts).astype(np.int64) for each in (left, right)]
        assert_rejects(np.bincount(4 * pair[0] + pair[1], minlength=16), np.full(16, 1 / 16))


def test_neighboring_bits_and_neighboring_reports_are_independent_and_a_correlation_of_a_fiftieth_is_rejected():
    randomizer = OptimizedUnaryEncoding(epsilon0=1.0, domain_size=16)
    bits = randomizer.randomize(np.full(SAMPLES // 2, 15))["bits"]
    q = randomizer.model.q
    independent = np.outer([1 - q, q], [1 - q, q])
    sticky = 0.98 * independent + 0.02 * np.diag([1 - q, q])
    first, second = (bits[:, 0] >> place & 1 for place in (0, 1))
    for left, right in ((first, second), (first[:-1], first[1:])):
        counts = np.bincount(2 * left + right, minlength=4)
        assert_fits(counts, independent.ravel())
        assert_rejects(counts, sticky.ravel())
