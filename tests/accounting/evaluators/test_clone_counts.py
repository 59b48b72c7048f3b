"""The evaluator of the pair of clones against sums of fifty digits, and from one end of its range to the other.

Sums of three and four atoms against plain sums, and the bounds that rest on them against enumerations.
"""

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy.stats import binom

from shuffledp.accounting.evaluators.binomial import binomial_blocks, binomial_error, log_probability, tail_ratio
from shuffledp.accounting.evaluators.clone_counts import (
    ClonePair,
    LimitedVariation,
    count_cells,
    excess,
    multinomial_cells,
)
from shuffledp.accounting.numerics import SMALLEST, largest_below
from soundness.exact_deltas import (
    laws_of_others,
    random_extremal_channel,
    worst_delta,
)
from soundness.exact_deltas import pair_delta as summed_delta


def strong(epsilon0: float, users: int) -> ClonePair:
    return ClonePair(epsilon0=epsilon0, chance=2 / (math.exp(epsilon0) + 1), users=users)


def delta_below(pair: ClonePair, epsilon: float, outside: float) -> float:
    """The pair's delta from below: the delta at the high end of each block of the number of clones."""
    if epsilon >= min(pair.epsilon0, 700.0):
        return 0.0
    law = pair.blocks(outside=max(1e-8 * outside, SMALLEST), num_blocks=1024)
    probability, gain, loss = pair.given(law.highs, epsilon)
    error = binomial_error(int(law.highs[-1]))
    delta = float(law.least @ (probability * np.maximum(gain * (1 - error) - loss * (1 + error), 0.0))) * (1 - error)
    return delta if delta > 1e3 * SMALLEST else 0.0


def fifty_digits(epsilon0: float, epsilon: float, users: int, chance: mpmath.mpf) -> mpmath.mpf:
    """The delta of the pair by its definition: a sum over clones and over those that look like the first answer."""
    ratio, factor = mpmath.exp(epsilon0), mpmath.exp(epsilon)
    total = mpmath.mpf(0)
    for clones in range(users):
        weight = mpmath.binomial(users - 1, clones) * chance**clones * (1 - chance) ** (users - 1 - clones)
        half = [mpmath.binomial(clones, seen) / mpmath.mpf(2) ** clones for seen in range(clones + 1)]
        for seen in range(clones + 2):
            same = half[seen - 1] if seen else mpmath.mpf(0)
            other = half[seen] if seen <= clones else mpmath.mpf(0)
            first, second = (ratio * same + other) / (ratio + 1), (same + ratio * other) / (ratio + 1)
            total += weight * max(first - factor * second, 0)
    return total


@pytest.mark.parametrize(("epsilon0", "users"), [(1.0, 60), (4.0, 80), (0.1, 40), (0.5, 2), (8.0, 30)])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.4, 0.9, 0.999])
def test_both_sides_hold_fifty_digits_between_them(epsilon0, users, share):
    epsilon = epsilon0 * share
    with mpmath.workdps(50):
        exact = fifty_digits(epsilon0, epsilon, users, 2 / (mpmath.exp(epsilon0) + 1))
        pair = strong(epsilon0, users)
        low, high = delta_below(pair, epsilon, pair.delta(epsilon)), pair.delta(epsilon)
        assert low <= exact <= high
        assert high <= exact * (1 + 1e-7) + 1e-300
        assert low >= exact * (1 - 1e-7) - 1e-300
        assert pair.curve(np.array([epsilon])) >= exact


@pytest.mark.parametrize("users", [10**3, 10**5])
@pytest.mark.parametrize("epsilon0", [0.3, 2.0, 6.0])
def test_larger_sums_agree_with_a_plain_sum_over_clones(users, epsilon0):
    for share in (0.01, 0.05, 0.3):
        exact = summed_delta(epsilon0, epsilon0 * share, users)
        pair, epsilon = strong(epsilon0, users), epsilon0 * share
        if exact > 1e-250:
            assert delta_below(pair, epsilon, pair.delta(epsilon)) <= exact * (1 + 1e-9)
            assert exact * (1 - 1e-9) <= pair.delta(epsilon) <= exact * 1.01


@pytest.mark.parametrize("users", [2, 10, 10**3, 10**6, 10**9])
@pytest.mark.parametrize("epsilon0", [1e-9, 0.1, 1.0, 4.0, 30.0, 700.0])
@pytest.mark.parametrize("delta", [0.999, 0.1, 1e-6, 1e-12, 1e-100, 1e-300])
def test_the_bracket_of_epsilon_is_narrow_and_inside_the_range(users, epsilon0, delta):
    pair = strong(epsilon0, users)
    high = pair.epsilon(delta)
    low = largest_below(lambda epsilon: delta_below(pair, epsilon, delta), level=delta, limit=epsilon0, guess=high)
    assert 0 <= low <= high <= epsilon0
    if 0 < high < epsilon0 * 0.99:
        assert high <= low * (1 + 3e-4) + 1e-12


def test_more_people_never_hurt_and_a_smaller_delta_never_helps():
    def epsilon(users: int, delta: float) -> float:
        return strong(2.0, users).epsilon(delta)

    by_users = [epsilon(users, 1e-6) for users in (2, 3, 5, 10, 30, 100, 300, 1000, 10**4, 10**5, 10**7, 10**9)]
    assert all(more <= fewer for fewer, more in itertools.pairwise(by_users))
    by_delta = [epsilon(1000, delta) for delta in (0.5, 0.1, 1e-2, 1e-4, 1e-8, 1e-16, 1e-64, 1e-256)]
    assert all(smaller >= larger for larger, smaller in itertools.pairwise(by_delta))


@pytest.mark.parametrize("odds", [1.0, 0.01, 3.0])
@pytest.mark.parametrize("trials", [1, 7, 100, 1000])
def test_probabilities_and_tails_have_thirteen_digits_or_as_many_as_are_claimed(odds, trials):
    with mpmath.workdps(50):
        chance = mpmath.mpf(odds) / (1 + mpmath.mpf(odds))
        deviation = math.sqrt(trials * float(chance * (1 - chance)))
        for away in (0.0, 0.3, 2.0, 6.0, 20.0):
            count = min(math.ceil(trials * float(chance) + away * deviation), trials - 1)
            if count < trials * chance:
                continue
            rest = trials - count
            exact = mpmath.loggamma(trials + 1) - mpmath.loggamma(count + 1) - mpmath.loggamma(rest + 1)
            exact += count * mpmath.log(chance) + rest * mpmath.log(1 - chance)
            ratio = rest * odds / (count + 1) * mpmath.hyp2f1(1 - rest, 1, count + 2, -odds)
            found = tail_ratio(np.array([float(count)]), float(trials), odds)[0]
            error = 1e-12 + 1e-14 * math.sqrt(trials)
            assert abs(found / ratio - 1) <= error
            assert abs(log_probability(np.array([float(count)]), float(trials), float(chance))[0] - exact) <= error


@pytest.mark.parametrize(("trials", "chance"), [(10, 0.3), (1000, 0.01), (10**5, 0.5), (10**8, 0.2), (10**6, 1e-7)])
@pytest.mark.parametrize("num_blocks", [8, 64, 1024])
def test_the_blocks_hold_all_but_what_may_be_left_out(trials, chance, num_blocks):
    law = binomial_blocks(trials, chance, outside=1e-10, num_blocks=num_blocks)
    assert (law.lows[1:] == law.highs[:-1] + 1).all()
    assert (law.least <= law.most).all()
    assert law.least.sum() <= 1 + 1e-12
    assert law.most.sum() >= 1 - law.outside
    assert law.most.sum() <= 1 + 1e-6


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
    fine = multinomial_cells(users, each=each, third=third, outside=1e-14, num_cells=256, budget=256**2)
    coarse = multinomial_cells(users, each=each, third=third, outside=1e-14, num_cells=8, budget=100)
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
