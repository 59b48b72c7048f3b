"""Moments, beside sums over all permutations."""

import itertools
import math

import numpy as np
import pytest

from laws.enumerated import MEASURES, footrule, inversions
from shuffledp import laws
from shuffledp.core.errors import InvalidParameterError

THETAS = (0.0, 1e-9, 0.3, 2.0, math.inf)


def mean(law, function):
    return sum(chance * function(each) for each, chance in law.items())


@pytest.mark.parametrize("theta", THETAS)
@pytest.mark.parametrize("distance", MEASURES)
def test_normalizing_constants(theta, distance):
    weights = [
        math.exp(-theta * MEASURES[distance](each)) if MEASURES[distance](each) else 1.0
        for each in itertools.permutations(range(5))
    ]
    assert laws.log_partition(5, theta, distance=distance) == pytest.approx(math.log(sum(weights)), rel=1e-9)
    assert laws.log_partition(0, theta, distance=distance) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("theta", THETAS)
def test_mean_and_variance_of_inversions(theta):
    law = laws.mallows_law(6, theta)
    average = mean(law, inversions)
    variance = mean(law, lambda each: (inversions(each) - average) ** 2)
    assert laws.kendall_inversions(6, theta) == pytest.approx((average, variance), rel=1e-8, abs=1e-12)


def test_inversions_do_not_jump_where_the_series_takes_over():
    below, above = (laws.kendall_inversions(1000, 1e-5 * factor)[0] for factor in (1 - 1e-9, 1 + 1e-9))
    assert above == pytest.approx(below, rel=1e-8)


@pytest.mark.parametrize("theta", THETAS)
def test_where_the_item_of_a_rank_lands_and_how_far(theta):
    law = laws.mallows_law(6, theta)
    for rank in range(6):
        found = laws.kendall_position_law(6, theta, rank)
        expected = [sum(chance for each, chance in law.items() if each[rank] == item) for item in range(6)]
        inverse = [sum(chance for each, chance in law.items() if each[item] == rank) for item in range(6)]
        assert found == pytest.approx(expected, abs=1e-13)
        assert found == pytest.approx(inverse, abs=1e-13)
    assert laws.kendall_mean_displacement(6, theta) == pytest.approx(mean(law, footrule) / 6, rel=1e-12, abs=1e-15)


def test_mean_displacement_in_the_bulk_is_twice_log_two_over_the_concentration():
    assert laws.kendall_mean_displacement(20_000, 0.02) == pytest.approx(2 * math.log(2) / 0.02, rel=0.01)
    position = laws.kendall_position_law(2000, 0.05, 1000)
    displacement = position @ np.abs(np.arange(2000) - 1000)
    assert displacement == pytest.approx(2 * math.log(2) / 0.05, rel=0.01)


def test_displacement_leaves_out_only_what_is_negligible():
    exact = (
        2 / 400 * sum(cut - laws.kendall_corner_law(400, 0.1, cut, cut) @ np.arange(cut + 1) for cut in range(1, 400))
    )
    assert laws.kendall_mean_displacement(400, 0.1) == pytest.approx(exact, rel=1e-11)


@pytest.mark.parametrize("theta", [0.0, 0.3, 2.0])
def test_corners_and_intervals(theta):
    law = laws.mallows_law(5, theta)
    for places, items in itertools.product(range(6), repeat=2):
        found = laws.kendall_corner_law(5, theta, places, items)
        for x, chance in enumerate(found):
            exact = sum(p for w, p in law.items() if sum(item < items for item in w[:places]) == x)
            assert chance == pytest.approx(exact, abs=1e-13)
    for start, stop in itertools.combinations(range(6), 2):
        exact = mean(law, lambda w, start=start, stop=stop: sum(start <= item < stop for item in w[start:stop]))
        assert laws.kendall_kept_in_interval(5, theta, start, stop) == pytest.approx(exact, rel=1e-12)


def test_displacement_of_draws():
    draws = iter([np.array([0, 1, 2]), np.array([2, 1, 0])])
    assert laws.sampled_displacement(lambda: next(draws), 2) == pytest.approx((2 / 3, 2 / 3))
    assert laws.sampled_displacement(lambda: np.empty(0, dtype=np.int64), 2) == (0, 0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: laws.log_partition(-1, 1.0), "num_items must be"),
        (lambda: laws.log_partition(1, math.nan), "concentration must be"),
        (lambda: laws.log_partition(1, 1.0, distance="x"), "distance must be"),
        (lambda: laws.kendall_inversions(2, -1.0), "concentration must be"),
        (lambda: laws.kendall_position_law(3, 1.0, 3), "rank must be below num_items=3; got rank=3"),
        (lambda: laws.kendall_corner_law(3, 1.0, 4, 0), "places must be at most num_items=3; got places=4"),
        (lambda: laws.kendall_corner_law(3, 1.0, 0, 4), "items must be at most"),
        (lambda: laws.kendall_corner_law(3, math.inf, 1, 1), "concentration must be finite"),
        (lambda: laws.kendall_kept_in_interval(3, 1.0, 2, 1), "stop must be at least start=2"),
        (lambda: laws.kendall_kept_in_interval(3, 1.0, 0, 4), "places must be at most"),
        (lambda: laws.kendall_mean_displacement(0, 1.0), "num_items must be"),
        (lambda: laws.sampled_displacement(lambda: np.array([0]), 1), "num_draws must be"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(InvalidParameterError, match=message):
        call()


@pytest.mark.parametrize("theta", [0.0, 1e-9, 0.3, 2.0, 30.0, math.inf])
@pytest.mark.parametrize("distance", ["hamming", "cayley"])
def test_how_likely_an_item_stays_and_that_other_places_are_alike(distance, theta):
    law = laws.mallows_law(5, theta, distance=distance)
    places = [float(mean(law, lambda each, place=place: each[2] == place)) for place in range(5)]
    stays = laws.stay_probability(5, theta, distance=distance)
    assert places[2] == pytest.approx(stays, rel=1e-9)
    assert places[:2] + places[3:] == pytest.approx([(1 - stays) / 4] * 4, abs=1e-12)


def test_staying_of_many_items_follows_the_limit():
    assert laws.stay_probability(10**6, 5.0, distance="hamming") == pytest.approx(math.exp(5) / 10**6)
    assert laws.stay_probability(1, 0.5, distance="cayley") == 1.0
    with pytest.raises(InvalidParameterError, match="distance must be one of 'hamming', 'cayley'"):
        laws.stay_probability(5, 1.0, distance="kendall")
