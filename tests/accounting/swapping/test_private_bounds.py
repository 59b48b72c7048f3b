"""The swap bound for all randomizers of a loss: never below exact ones, and what the search for choices finds."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from shuffledp.accounting.swapping import private_bounds
from shuffledp.accounting.swapping.private_bounds import private_delta, start_choices
from shuffledp.accounting.swapping.searches import Choices, least_epsilon, nelder_mead


def exact(first, second, others, epsilon):
    """The largest delta of a binary channel over all data sets, in both directions."""
    worst, growth = 0.0, math.exp(epsilon)
    for ones in range(others + 1):
        law = np.convolve(
            binom.pmf(np.arange(ones + 1), ones, first), binom.pmf(np.arange(others - ones + 1), others - ones, second)
        )
        one, other = (np.convolve(law, [1 - chance, chance]) for chance in (first, second))
        worst = max(worst, np.maximum(one - growth * other, 0).sum(), np.maximum(other - growth * one, 0).sum())
    return worst


def binary_cases(count, seed, most):
    """Binary channels inside the class, and choices near what is best and far from it."""
    random = np.random.default_rng(seed)
    while count:
        others, epsilon0 = int(random.integers(60, most)), float(random.choice([0.1, 0.25, 0.5, 0.7, 1.0, 1.5]))
        epsilon = epsilon0 * float(random.uniform(0, 1)) * min(5 / math.sqrt(others), 0.9)
        start = start_choices(epsilon0=epsilon0, others=others, epsilon=epsilon)
        away = np.exp(random.uniform(-0.6, 0.6, 3))
        choices = Choices(
            rate=start.rate * away[0], donors=min(start.donors * away[1], 0.4), smoothing=start.smoothing * away[2]
        )
        found = private_delta(epsilon0=epsilon0, others=others, epsilon=epsilon, choices=choices)
        if found is None or found >= 1:
            continue
        count -= 1
        truth = 1 / (1 + math.exp(-epsilon0))
        share = random.choice([1.0, float(random.uniform(0.3, 1))])
        first = 0.5 + share * (truth - 0.5)
        pairs = [(first, 1 - first)]
        lopsided = float(random.uniform(0.01, 0.4))
        limit = min(lopsided * math.exp(epsilon0), 1 - (1 - lopsided) * math.exp(-epsilon0))
        for channel in (*pairs, (limit, lopsided)):
            truth = exact(*channel, others, epsilon)
            if truth > 1e-12:
                yield found, truth


def test_no_binary_channel_of_the_class_exceeds_it():
    assert min(bound / truth for bound, truth in binary_cases(3, seed=1, most=90)) >= 1


@pytest.mark.deep
def test_none_of_a_hundred_binary_channels_exceeds_it():
    ratios = [bound / truth for bound, truth in binary_cases(60, seed=2, most=400)]
    assert min(ratios) >= 1
    assert min(ratios) < 1.3


def test_all_sizes_of_the_reservoir_are_covered_not_only_the_likely_one():
    choices = start_choices(epsilon0=1.0, others=999, epsilon=0.13)
    whole, rough = (
        private_delta(epsilon0=1.0, others=999, epsilon=0.13, choices=choices, roughly=roughly)
        for roughly in (False, True)
    )
    assert rough < whole < 1.05 * rough
    seen = []

    def bound(start, end):
        seen.append((start, end))
        return -start if end > start else 0.1

    assert private_bounds._over_cells(bound, 2.0) >= 1.9
    covered = sorted(each for each in seen if each[1] > each[0])
    assert min(start for start, _ in covered) == -2.0
    assert max(end for _, end in covered) == 0.0


@pytest.mark.parametrize("epsilon0", [1e-6, 0.01, 1.0, 8.0, 30.0])
@pytest.mark.parametrize("others", [1, 2, 19, 10**4, 10**12 - 1])
def test_extreme_parameters_give_a_bound_or_none_and_never_anything_else(epsilon0, others):
    for part in (0.0, 1e-3, 0.5, 0.999999):
        epsilon = part * epsilon0
        start = start_choices(epsilon0=epsilon0, others=others, epsilon=epsilon)
        for choices in (
            start,
            Choices(rate=1.0, donors=0.3, smoothing=1.5),
            Choices(rate=1e9, donors=1e-9, smoothing=5e-3),
        ):
            found = private_delta(epsilon0=epsilon0, others=others, epsilon=epsilon, choices=choices)
            assert found is None or 0 <= found <= 1


def test_an_epsilon_is_returned_only_where_the_whole_bound_was_evaluated_and_is_low_enough():
    """Mutant: the rough bound, or an extrapolated epsilon."""
    seen = {}

    def bound(epsilon, choices, *, roughly=False):
        value = math.exp(-50 * epsilon - 2) * (1 + (math.log(choices.rate) - 3) ** 2) * (1 if roughly else 1.7)
        if not roughly:
            seen[epsilon, choices] = value
        return min(value, 1.0)

    start = Choices(rate=50.0, donors=0.05, smoothing=0.2)
    found = least_epsilon(bound, lambda _: start, others=1000, delta=1e-6, guess=0.2, limit=1.0)
    assert seen[found.epsilon, found.choices] == found.delta <= 1e-6
    assert found.epsilon == pytest.approx((math.log(1.7e6) - 2) / 50, rel=1e-3)
    assert least_epsilon(bound, lambda _: start, others=1000, delta=0.9, guess=0.2, limit=1.0).epsilon == 0.0
    assert least_epsilon(bound, lambda _: start, others=1000, delta=1e-6, guess=0.2, limit=0.1) is None


def test_the_simplex_finds_a_minimum():
    best, low = nelder_mead(lambda point: float(((point - [1, -2, 3]) ** 2).sum()), np.zeros(3), np.full(3, 0.5), 200)
    assert low < 1e-3
    assert best == pytest.approx([1, -2, 3], abs=0.05)
