"""Poisson and binomial probabilities keep their digits, and windows hold nearly everything."""

import math
from fractions import Fraction

import numpy as np
import pytest

from shuffledp.leakage.count_probabilities import binomial, poisson, window


def near(value, rel=1e-12):
    return pytest.approx(value, rel=rel, abs=0)


def test_binomial_probabilities_are_those_of_fractions():
    for trials, chance in ((1, 0.25), (7, 0.5), (40, 0.125), (300, 0.75)):
        share = Fraction(chance)
        for count in range(trials + 1):
            exact = math.comb(trials, count) * share**count * (1 - share) ** (trials - count)
            assert binomial(count, trials, chance) == near(float(exact))
    assert binomial([0, 1, 2], 2, 0.0).tolist() == [1, 0, 0]
    assert binomial([0, 1, 2], 2, 1.0).tolist() == [0, 0, 1]


@pytest.mark.parametrize("chance", [5e-324, 1e-310, 1e-302, 1e-290])
def test_chances_near_the_least_float_stay_chances(chance):
    for trials in (1, 5, 1000, 10**10):
        assert binomial([0, 1], trials, chance).tolist() == [1.0, near(trials * chance)]
    assert binomial(2, 1000, chance) == 0.0
    assert binomial(0, 0, 0.3) == 1.0


def test_poisson_probabilities_are_those_of_fractions():
    for mean in (0.001, 1.0, 20.0):
        for count in (0, 1, 2, 15, 16, 17, 60):
            assert poisson(count, mean) == near(
                float(Fraction(mean) ** count / math.factorial(count)) * math.exp(-mean)
            )


def test_a_billion_counts_add_up_to_one():
    first, last = window(1e9, 0.5)
    counts = np.arange(first, last + 1)
    assert math.fsum(poisson(counts, 5e8).tolist()) == near(1.0, 1e-13)
    assert math.fsum(binomial(counts, 10**9, 0.5).tolist()) == near(1.0, 1e-13)
    assert last - first < 5e5
    naive = math.exp(5e8 * math.log(5e8) - math.lgamma(5e8 + 1) - 5e8)
    assert naive != near(float(poisson(5e8, 5e8)), 1e-9)  # why not so


@pytest.mark.parametrize("chance", [0.001, 0.1, 0.5])
def test_beyond_a_window_lies_less_than_promised(chance):
    from scipy.special import bdtr, bdtrc, pdtr, pdtrc

    for nats in (5.0, 20.0):
        first, last = window(500, chance, nats=nats)
        most = math.exp(-nats) * (1 + 1e-9)
        assert bdtrc(last, 500, chance) <= most
        assert pdtrc(last, 500 * chance) <= most
        if first:
            assert max(bdtr(first - 1, 500, chance), pdtr(first - 1, 500 * chance)) <= most


def test_the_middle_of_a_fair_binomial():
    for half in (0, 1, 2, 7, 8, 9, 500):
        assert binomial(half, 2 * half, 0.5) == near(float(Fraction(math.comb(2 * half, half), 4**half)), 1e-15)
