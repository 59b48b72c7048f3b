"""Sums of three and four atoms against plain sums, and the bounds that rest on them against enumerations."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from shuffledp.accounting.evaluators.clone_counts import ClonePair, LimitedVariation, count_cells, excess, four_atoms
from soundness.exact_deltas import (
    laws_of_others,
    random_extremal_channel,
    worst_delta,
)


def expected(users: int, each: float, third: float, a: float, b: float, c: float) -> float:  # noqa: PLR0917
    total = 0.0
    for second in range(users + 1):
        for other in range(users - second + 1):
            left = users - second - other
            counts = np.arange(left + 1)
            law = binom.pmf(counts, left, min(each / (1 - each - third), 1.0))
            weight = binom.pmf(second, users, each) * binom.pmf(other, users - second, third / (1 - each))
            total += weight * float(law @ np.maximum(a * counts - b * second - c * other, 0))
    return total


@pytest.mark.parametrize("chance", [0.05, 0.3, 0.5, 0.95])
def test_the_expected_excess_is_that_of_the_plain_sum(chance):
    for trials in (0, 1, 2, 7, 24):
        counts = np.arange(trials + 1.0)
        for level in (-1.0, 0.0, 0.3, 1.0, 2.5, trials * chance, trials * chance + 0.1, trials - 0.5, trials + 1.0):
            exact = float(binom.pmf(counts, trials, chance) @ np.maximum(counts - level, 0))
            above = excess(np.array([float(trials)]), chance, np.array([level]))[0]
            assert exact - 1e-13 <= above <= exact * (1 + 1e-10) + 1e-12


@pytest.mark.parametrize(
    ("users", "each", "third", "a", "b", "c"),
    [
        (20, 0.3, 0.2, 1, 1.05, 0.03),
        (20, 0.3, 0.4, 1, 1.5, 0.4),
        (60, 0.3, 0.3, 1, 1.05, 0.03),
        (40, 0.1, 0.0, 1, 2, 0),
    ],
)
def test_cells_cost_little_and_err_upward(users, each, third, a, b, c):  # noqa: PLR0917
    exact = expected(users, each, third, a, b, c)
    fine = four_atoms(users, each=each, third=third, outside=1e-14, num_cells=256, budget=256**2)
    coarse = four_atoms(users, each=each, third=third, outside=1e-14, num_cells=8, budget=100)
    assert exact * (1 - 1e-12) <= fine.above(a=a, b=b, c=c) <= exact * (1 + 1e-9)
    assert exact * (1 - 1e-12) <= coarse.above(a=a, b=b, c=c) <= exact * 3


@pytest.mark.parametrize("num_cells", [6, 512])
def test_chords_over_cells_are_above_the_plain_sum_and_close(num_cells):
    cells = count_cells(150, 0.3, outside=1e-14, num_cells=num_cells)
    found = cells.chords(excess(150 - cells.nodes, 0.2 / 0.7, 0.6 * cells.nodes + 4.0))
    counts = np.arange(151)
    exact = sum(
        binom.pmf(second, 150, 0.3)
        * float(binom.pmf(counts, 150 - second, 0.2 / 0.7) @ np.maximum(counts - 0.6 * second - 4, 0))
        for second in range(151)
    )
    assert exact * (1 - 1e-12) <= found <= exact * (2 if num_cells == 6 else 1 + 1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_no_random_extremal_channel_exceeds_the_bound_of_its_own_total_variation(seed):
    generator = np.random.default_rng(seed)
    epsilon0 = float(generator.uniform(0.2, 3.0))
    outputs, users = [(2, 25), (3, 20), (4, 8)][seed % 3]
    channel = random_extremal_channel(generator, epsilon0, inputs=2 + seed % 2, outputs=outputs)
    beta = max(float(np.maximum(one - other, 0).sum()) for one in channel for other in channel)
    beta = min(beta * (1 + 1e-12), math.tanh(epsilon0 / 2) * (1 - 1e-12))
    bound = LimitedVariation(epsilon0=epsilon0, beta=beta, users=users)
    epsilons = epsilon0 * np.array([0.02, 0.1, 0.3, 0.6, 0.95])
    worst = worst_delta(channel, laws_of_others(channel, users - 1), epsilons)
    found = np.array([bound.delta(float(epsilon)) for epsilon in epsilons])
    assert (worst <= found * (1 + 1e-11)).all()
    tighter = LimitedVariation(epsilon0=epsilon0, beta=beta / 3, users=users)
    assert any(tighter.delta(float(e)) < exact for e, exact in zip(epsilons, worst, strict=True) if exact > 0)


@pytest.mark.parametrize(("users", "epsilon0"), [(1000, 1.0), (1000, 4.0), (10**4, 2.0), (10**6, 4.0), (10**8, 1.0)])
def test_with_the_largest_total_variation_it_is_the_strong_pair(users, epsilon0):
    bound = LimitedVariation(epsilon0=epsilon0, beta=math.tanh(epsilon0 / 2), users=users).epsilon(1e-6)
    pair = ClonePair(epsilon0=epsilon0, chance=2 / (math.exp(epsilon0) + 1), users=users).epsilon(1e-6)
    assert pair * (1 - 1e-4) <= bound <= pair * 1.003


@pytest.mark.parametrize(
    ("users", "epsilon0", "epsilon"),
    [(10**3, 1, 0.13654), (10**3, 4, 1.76645), (10**4, 4, 0.387948), (10**5, 4, 0.11148)],
)
def test_the_total_variation_of_laplace_noise_gives_the_reference_table(users, epsilon0, epsilon):
    found = LimitedVariation(epsilon0=epsilon0, beta=-math.expm1(-epsilon0 / 2), users=users).epsilon(1e-6)
    assert epsilon - 1e-5 <= found <= epsilon * 1.003
