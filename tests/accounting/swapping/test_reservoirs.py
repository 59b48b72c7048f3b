"""Means over the reservoir, from above: against sums over all counts; and the weights of a linear programme."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom

from shuffledp.accounting.swapping.linear_programme import least_cost
from shuffledp.accounting.swapping.majorants import Majorant
from shuffledp.accounting.swapping.reservoirs import Reservoir

DENSITIES, MASSES = np.array([0.5, 1.0, 2.5]), np.array([0.45, 0.4, 0.15])


def reservoir(donors=40, chance=0.6):
    return Reservoir(donors=donors, chance=chance, densities=DENSITIES, masses=MASSES)


def a_majorant(*exponents):
    return Majorant(log_weights=np.full(len(exponents), -2.0), exponents=np.array(exponents))


def exact_mean(found, draws):
    """E m(theta), from the law of the counts of the three densities."""
    total = 0.0
    for first in range(draws + 1):
        for second in range(draws + 1 - first):
            third = draws - first - second
            chance = math.factorial(draws) / (math.factorial(first) * math.factorial(second) * math.factorial(third))
            chance *= MASSES[0] ** first * MASSES[1] ** second * MASSES[2] ** third
            theta = (DENSITIES @ [first, second, third]) / draws
            total += chance * np.exp(found.log_weights + found.exponents * theta).sum()
    return total


def test_moments_are_those_of_the_law_of_theta():
    found = a_majorant(-7.0, 0.0, 3.0, 40.0)
    counts = np.array([0.0, 3.0, 20.0])
    means = np.exp(found.log_mean(reservoir().log_moments(found.exponents, counts)))
    assert means == pytest.approx([exact_mean(found, int(count) + 1) for count in counts], rel=1e-10)


@pytest.mark.parametrize(("donors", "chance"), [(40, 0.6), (3, 0.9), (200, 0.02), (1000, 0.3)])
def test_totals_are_above_the_sum_over_all_numbers_of_draws(donors, chance):
    found, where = a_majorant(-7.0, 3.0, 5.0), reservoir(donors, chance)
    means = np.exp(found.log_mean(where.log_moments(found.exponents, np.arange(donors + 1.0))))
    chances = binom.pmf(np.arange(donors + 1), donors, chance)
    totals = where.totals([(found, where)])
    exact = [chances[:first].sum() + chances[first:] @ means[first:] for first in where.counts.astype(int)]
    assert (totals >= exact).all()
    assert totals[0] <= 1.1 * exact[0]
    assert (where.chances_below(where.counts) >= binom.cdf(where.counts - 1, donors, chance)).all()


def test_what_is_left_out_is_counted_once_and_after_the_worst_people():
    """Mutants: the chance of few draws dropped; the least over k_0 for each person before the worst person."""
    where = reservoir(60, 0.5)
    steep = Majorant(log_weights=np.array([-27.0]), exponents=np.array([20.0]))
    least = where.totals([(steep, where)]).min()
    flat = Majorant(log_weights=np.log([0.999 * least]), exponents=np.zeros(1))
    together = where.totals([(steep, where), (flat, where)])
    alone = [where.totals([(each, where)]) for each in (steep, flat)]
    assert (together >= np.maximum(*alone) * (1 - 1e-12)).all()
    assert together.min() > max(each.min() for each in alone)
    below = where.chances_below(where.counts)
    assert (together - below > 0).all()
    assert (below[-5:] > 0.5).all()


def test_a_reservoir_that_everybody_draws_from_needs_no_chance():
    where, found = reservoir(30, 1.0), a_majorant(2.0)
    assert where.totals([(found, where)]).min() == pytest.approx(exact_mean(found, 31), rel=1e-6)


def test_weights_of_least_cost_meet_all_rows():
    random = np.random.default_rng(1)
    for _ in range(60):
        rows = np.exp(-4 * (random.uniform(0, 4, (80, 1)) - np.linspace(0, 4, 12)) ** 2) * random.uniform(
            0.5, 1, (80, 12)
        )
        costs = np.exp(random.uniform(-9, 9, 12))
        found = least_cost(rows, costs)
        best = linprog(costs, A_ub=-rows, b_ub=-np.ones(80))
        assert (rows @ found >= 1 - 1e-6).all()
        assert costs @ found <= best.fun * (1 + 1e-6)


def test_of_rows_that_no_weight_meets_nothing_is_said():
    assert least_cost(np.array([[1.0, 2.0], [-1.0, 0.0]]), np.ones(2)) is None
