"""What a set of people keeps, beside sums over all permutations."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from laws.enumerated import MEASURES
from shuffledp import laws
from shuffledp.core.errors import InvalidParameterError

THETAS = (0.0, 1e-9, 0.3, 2.0, math.inf)


def lost_by_enumeration(law, num_items, set_size):
    found = [0.0] * (set_size + 1)
    for each, chance in law.items():
        found[sum(item >= set_size for item in each[:set_size])] += chance
    return found


@pytest.mark.parametrize("theta", THETAS)
@pytest.mark.parametrize(
    ("distance", "lost_law"), [("hamming", laws.hamming_lost_law), ("cayley", laws.cayley_lost_law)]
)
@pytest.mark.parametrize("num_items", [1, 4, 6])
def test_how_many_values_a_set_loses(distance, lost_law, num_items, theta):
    law = laws.mallows_law(num_items, theta, distance=distance)
    for set_size in range(num_items + 1):
        expected = lost_by_enumeration(law, num_items, set_size)
        assert lost_law(num_items, theta, set_size) == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_counts_of_theorem_a4_are_those_of_its_corrected_terms():
    # c_h: permutations at Hamming distance h for which a set of l loses more than k of its values.
    for num_items, set_size, most in ((4, 2, 0), (5, 2, 1), (6, 3, 1)):
        counts = [0] * (num_items + 1)
        for each in itertools.permutations(range(num_items)):
            lost = sum(item >= set_size for item in each[:set_size])
            counts[MEASURES["hamming"](each)] += lost > most
        for theta in (0.3, 2.0):
            weight = sum(math.exp(-theta * h) * count for h, count in enumerate(counts))
            expected = weight / math.exp(laws.log_partition(num_items, theta, distance="hamming"))
            assert laws.hamming_lost_law(num_items, theta, set_size)[most + 1 :].sum() == pytest.approx(expected)


def test_how_many_may_be_lost_is_exact_where_floats_are_one_off():
    wrong = 0
    for percent, size in itertools.product(range(101), range(1, 200)):
        exact = size - math.ceil(Fraction(percent, 100) * size)
        assert laws.most_lost(size, percent / 100) == exact
        assert laws.most_lost(size, Fraction(percent, 100)) == exact
        wrong += math.floor((1 - percent / 100) * size) != exact
    assert wrong > 0


def test_delta_rounds_up_and_everybody_keeps_nothing():
    assert laws.preservation_delta([0.5, 0.25, 0.25], 0.5) > 0.25
    assert laws.preservation_delta([0.5, 0.25, 0.25], 0) == 0
    assert laws.preservation_delta([0.0, 0.0, 1.0], 1) == 1


def test_shares_of_draws():
    draws = iter([np.array([0, 1, 2]), np.array([2, 1, 0])])
    assert laws.preserved_shares(lambda: next(draws), [0, 1], 2).tolist() == [0.5, 1.0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: laws.hamming_lost_law(3, 1.0, 4), "set_size must be at most num_items=3"),
        (lambda: laws.cayley_lost_law(3, -1.0, 1), "concentration must be"),
        (lambda: laws.most_lost(3, 1.5), "eta must be a number from 0 to 1"),
        (lambda: laws.preservation_delta([], 0.5), "law must be probabilities"),
        (lambda: laws.preservation_delta([math.nan], 0.5), "law must be probabilities"),
        (lambda: laws.preserved_shares(lambda: np.array([0]), [1], 1), "members must be below 1; got members=1"),
        (lambda: laws.preserved_shares(lambda: np.array([0]), [], 1), "members must be items"),
        (lambda: laws.preserved_shares(lambda: np.array([0]), [0], 0), "num_draws must be"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(InvalidParameterError, match=message):
        call()
