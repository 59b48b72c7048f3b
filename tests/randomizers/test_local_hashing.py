"""Local hashing: numbered guarantees, every seed of a small prime, and vectors of recorded words."""

import itertools
import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

from contracts.hashing import WORDS, by_hand, small
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Reports
from shuffledp.core.local_models import LocalModel
from shuffledp.randomizers import KaryRandomizedResponseModel, OptimizedLocalHashing, OptimizedLocalHashingModel
from shuffledp.randomizers.local_hashing import _BATCH
from shuffledp.testing import RecordedSource, SeededSource

PRIME = 2**31 - 1
SEEDS = [
    0,
    1,
    PRIME - 1,
    PRIME,
    PRIME + 1,
    PRIME**2 - PRIME,
    PRIME**2 - 1,
    2**30 * PRIME + 5,
    2**61 + 12345678901234567,
]
SMALL = [small(epsilon0=1.0, domain_size=size, hash_range=g) for size, g in ((2, 2), (5, 3), (7, 4), (6, 7))]

all_small = pytest.mark.parametrize("model", SMALL, ids=lambda model: f"k={model.domain_size} g={model.hash_range}")


def from_epsilon0(epsilon0, domain_size, hash_range=None) -> OptimizedLocalHashingModel:
    return OptimizedLocalHashingModel.from_epsilon0(epsilon0=epsilon0, domain_size=domain_size, hash_range=hash_range)


# ---- guarantee 1: private given any seed ----------------------------------------------------------------------------


@all_small
def test_guarantee_1_given_any_seed_no_report_is_likelier_by_more_than_the_loss(model):
    matrix = model.channel(exact=True).matrix
    largest = Fraction(model.response.truth_words, model.response.share)
    for seed in range(49):
        columns = matrix[:, seed * model.hash_range : (seed + 1) * model.hash_range]
        assert [sum(row) for row in columns.tolist()] == [Fraction(1, 49)] * model.domain_size
        for left, right in itertools.product(columns.tolist(), repeat=2):
            assert max(x / y for x, y in zip(left, right, strict=True)) <= largest
    assert model.epsilon0 == model.response.epsilon0


@pytest.mark.parametrize("seed", SEEDS)
def test_guarantee_1_given_a_seed_the_hashed_answer_goes_through_randomized_response(seed):
    # The word of a seed is in the middle of those that lead to it.
    model = from_epsilon0(1.0, 1000)
    seed_word, response = (seed * 2 + 1) * WORDS // (2 * PRIME**2), model.response
    for value in (0, 1, 999):
        hashed = by_hand(value, seed, PRIME, 4)
        for word, step in ((0, 0), (response.truth_words, 1), (WORDS - 1, 3)):
            source = RecordedSource([seed_word, word])
            reports = OptimizedLocalHashing.from_model(model).randomize([value], source=source)
            assert source.remaining == 0
            assert (reports["seed"].tolist(), reports["value"].tolist()) == ([seed], [(hashed + step) % 4])


@pytest.mark.parametrize("epsilon0", [1e-6, 0.1, 0.4, 1.0, 3.0, 10.0, 13.8])
def test_guarantee_1_the_loss_used_is_at_most_the_loss_asked_for_and_less_than_a_millionth_below(epsilon0):
    model = from_epsilon0(epsilon0, 100)
    assert 0 < model.epsilon0 <= epsilon0 < model.epsilon0 + 1e-6
    assert model.hash_range == round(math.exp(epsilon0)) + 1
    assert model.guarantee == model.response.guarantee


# ---- guarantee 2: seeds are uniform and independent of the answers --------------------------------------------------


@all_small
def test_guarantee_2_every_seed_is_as_likely_for_every_value(model):
    matrix = model.channel(exact=True).matrix.reshape(model.domain_size, 49, model.hash_range)
    assert set(matrix.sum(axis=2).reshape(-1).tolist()) == {Fraction(1, 49)}


def test_guarantee_2_seeds_do_not_depend_on_the_answers():
    randomizer = OptimizedLocalHashing(epsilon0=1.0, domain_size=100)
    reports = [
        randomizer.randomize(answers, source=SeededSource(1))
        for answers in (np.zeros(500, dtype=int), np.arange(500) % 100)
    ]
    assert np.array_equal(reports[0]["seed"], reports[1]["seed"])
    assert len(set(reports[0]["seed"].tolist())) == 500


# ---- guarantee 3: p and q are exact ---------------------------------------------------------------------------------


@all_small
def test_guarantee_3_two_values_collide_under_as_many_seeds_as_stated(model):
    for left, right in itertools.combinations(range(model.domain_size), 2):
        pairs = [
            (by_hand(left, seed, 7, model.hash_range), by_hand(right, seed, 7, model.hash_range)) for seed in range(49)
        ]
        assert Fraction(sum(x == y for x, y in pairs), 49) == model.collision


@all_small
def test_guarantee_3_two_residues_take_every_pair_of_values_under_one_seed_each(model):
    for left, right in itertools.combinations(range(model.domain_size), 2):
        pairs = {(by_hand(left, seed, 7, 7), by_hand(right, seed, 7, 7)) for seed in range(49)}
        assert len(pairs) == 49


@all_small
def test_guarantee_3_support_has_the_probabilities_of_the_model_for_every_pair_of_values(model):
    matrix, size = model.channel(exact=True).matrix, model.hash_range
    for true, value in itertools.product(range(model.domain_size), repeat=2):
        support = sum(
            matrix[true, seed * size + y]
            for seed in range(49)
            for y in range(size)
            if by_hand(value, seed, 7, size) == y
        )
        assert float(support) == (model.p if true == value else model.q)


def test_guarantee_3_the_collision_probability_has_the_stated_deviation_from_one_in_g():
    for hash_range in (2, 3, 4, 1000, 2**20):
        left = PRIME % hash_range
        stated = Fraction(left * (hash_range - left), hash_range * PRIME**2)
        assert from_epsilon0(1.0, 5, hash_range).collision - Fraction(1, hash_range) == stated


# ---- guarantee 4: reports are independent ---------------------------------------------------------------------------


def test_guarantee_4_a_report_depends_on_its_own_answer_only():
    randomizer, answers = OptimizedLocalHashing(epsilon0=1.0, domain_size=100), np.arange(60)
    before = randomizer.randomize(answers, source=SeededSource(2))["value"]
    for place in (0, 17, 59):
        changed = {
            int(i)
            for other in range(100)
            for i in np.flatnonzero(
                randomizer.randomize(np.where(answers == place, other, answers), source=SeededSource(2))["value"]
                != before
            )
        }
        assert changed == {place}


def test_long_columns_are_handled_in_batches_without_a_seam():
    randomizer, answers = OptimizedLocalHashing(epsilon0=1.0, domain_size=5), np.arange(2 * _BATCH + 3) % 5
    whole, source = randomizer.randomize(answers, source=SeededSource(3)), SeededSource(3)
    parts = [randomizer.randomize(answers[at : at + _BATCH], source=source) for at in range(0, len(answers), _BATCH)]
    assert whole == Reports.concat(parts)
    counts = [whole.model.support_counts(part.columns) for part in parts]
    assert np.array_equal(whole.model.support_counts(whole.columns), sum(counts))


# ---- guarantee 5: support is counted without a matrix of reports and values ------------------------------------------


@pytest.mark.parametrize("hash_range", [2, 3, 4, 7, 1000, 2**20])
@pytest.mark.parametrize("domain_size", [2, 50, 300])
def test_guarantee_5_support_counts_are_those_of_the_formula(hash_range, domain_size):
    model = from_epsilon0(5.0, domain_size, hash_range)
    reports = OptimizedLocalHashing.from_model(model).randomize(np.arange(200) % domain_size, source=SeededSource(4))
    drawn = list(zip(reports["seed"].tolist(), reports["value"].tolist(), strict=True))
    drawn += [(seed, y) for seed in SEEDS for y in (0, 1, hash_range - 1)]
    columns = {"seed": np.array([s for s, _ in drawn], dtype=np.uint64), "value": np.array([y for _, y in drawn])}
    expected = [sum(by_hand(value, seed, PRIME, hash_range) == y for seed, y in drawn) for value in range(domain_size)]
    assert model.support_counts(columns).tolist() == expected


def test_guarantee_5_the_hashed_values_are_those_of_the_formula_up_to_the_largest():
    model = from_epsilon0(1.0, PRIME)
    for value in (0, 1, 2**30, PRIME - 2, PRIME - 1):
        hashed = model.hashed(np.full(len(SEEDS), value), np.array(SEEDS, dtype=np.uint64))
        assert hashed.tolist() == [by_hand(value, seed, PRIME, 4) for seed in SEEDS]


def test_guarantee_5_memory_holds_a_batch_and_the_counts():
    model = from_epsilon0(1.0, 300)
    reports = OptimizedLocalHashing.from_model(model).randomize(np.zeros(50_000, dtype=int))
    tracemalloc.start()
    model.support_counts(reports.columns)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2e6  # a byte for each report and value would be 15 MB


# ---- parameters and reports -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon0", [0, -1.0, math.nan, math.inf, "1", None, True, 1e-7, 13.9, 40.0, 10**400])
def test_a_loss_out_of_range_is_refused(epsilon0):
    with pytest.raises(InvalidParameterError, match="epsilon0 must be "):
        OptimizedLocalHashing(epsilon0=epsilon0, domain_size=10)


@pytest.mark.parametrize("domain_size", [1, 0, -3, 2.0, "2", None, True, 2**31, 10**30])
def test_a_domain_that_functions_cannot_tell_apart_is_refused(domain_size):
    with pytest.raises(InvalidParameterError, match="domain_size must be "):
        OptimizedLocalHashing(epsilon0=1.0, domain_size=domain_size)


@pytest.mark.parametrize("hash_range", [1, 0, -1, 2.0, "2", True, 2**20 + 1])
def test_a_hash_range_of_one_or_out_of_range_is_refused(hash_range):
    with pytest.raises(InvalidParameterError, match="hash_range must be "):
        OptimizedLocalHashing(epsilon0=1.0, domain_size=10, hash_range=hash_range)


def test_the_model_of_another_randomizer_is_refused():
    response = KaryRandomizedResponseModel(domain_size=4, share=2**60)
    with pytest.raises(InvalidParameterError, match="model must be a OptimizedLocalHashingModel"):
        OptimizedLocalHashing.from_model(response)
    with pytest.raises(InvalidParameterError, match="response must be a KaryRandomizedResponseModel"):
        OptimizedLocalHashingModel(domain_size=4, response=OptimizedLocalHashingModel(domain_size=4, response=response))


def test_a_model_with_another_response_than_randomized_response_is_not_read():
    written = from_epsilon0(1.0, 10).to_dict()
    assert LocalModel.from_dict(written) == from_epsilon0(1.0, 10)
    with pytest.raises(InvalidParameterError):
        LocalModel.from_dict(written | {"response": {"kind": "oue", "domain_size": 4, "false_words": 1}})
    with pytest.raises(InvalidParameterError):
        LocalModel.from_dict(written | {"response": 3})


WRONG_COLUMNS = {
    "no seed": {"value": np.array([0])},
    "another order": {"value": np.array([0]), "seed": np.array([0])},
    "fractions": {"seed": np.array([0.0]), "value": np.array([0])},
    "two dimensions": {"seed": np.array([[0]]), "value": np.array([[0]])},
    "a seed too large": {"seed": np.array([PRIME**2], dtype=np.uint64), "value": np.array([0])},
    "a negative seed": {"seed": np.array([-1]), "value": np.array([0])},
    "a value too large": {"seed": np.array([0]), "value": np.array([4])},
    "a negative value": {"seed": np.array([0]), "value": np.array([-1])},
}


@pytest.mark.parametrize("kind", WRONG_COLUMNS)
def test_columns_that_are_no_reports_are_refused(kind):
    with pytest.raises(InvalidParameterError, match=r"^(columns|seeds|reports) must be "):
        Reports(WRONG_COLUMNS[kind], from_epsilon0(1.0, 10))


def test_binary_local_hashing_is_the_hash_range_of_two():
    model = OptimizedLocalHashing(epsilon0=1.0, domain_size=10, hash_range=2).model
    e = math.e
    assert model.variance_per_report == pytest.approx((e + 1) ** 2 / (e - 1) ** 2)
    assert model.report_bits == 63
    assert model.is_common
    assert repr(OptimizedLocalHashing.from_model(model)) == (
        f"OptimizedLocalHashing(epsilon0={model.epsilon0!r}, domain_size=10, hash_range=2)"
    )


@pytest.mark.parametrize("epsilon0", [math.log(2), math.log(3), math.log(19)])
def test_the_variance_is_that_of_the_paper_where_the_best_range_is_whole(epsilon0):
    e = math.exp(epsilon0)
    assert from_epsilon0(epsilon0, 100).variance_per_report == pytest.approx(4 * e / (e - 1) ** 2)
