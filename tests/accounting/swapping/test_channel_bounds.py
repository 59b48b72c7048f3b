"""The swap bound for explicit channels: never below the largest delta over all data sets, by enumeration."""

import math
from functools import partial

import numpy as np
import pytest

from accounting.swapping.independent import exact_delta
from shuffledp.accounting.swapping.channel_bounds import SwapChannel
from shuffledp.accounting.swapping.searches import Choices, least_delta
from shuffledp.randomizers import KaryRandomizedResponse, OptimizedUnaryEncoding, SymmetricUnaryEncoding

# Where code that dropped mass of theta was below the exact delta: rows, others, epsilon, pair, lam.
DROPPED_MASS = [
    {
        "rows": [
            [0.4245048828638084, 0.3242087871020079, 0.2512863300341837],
            [0.2684552938552188, 0.4606980368611711, 0.2708466692836101],
        ],
        "epsilon": 0.01590389073965216,
        "pair": (0, 1),
        "rate": 27.282392683273805,
        "log_exact": -4.2936515889825655,
        "log_dropped": -4.371754842396458,
    },
    {
        "rows": [
            [0.396278078320074, 0.2262348078263372, 0.37748711385358885],
            [0.1391051470011305, 0.38506114001235253, 0.47583371298651694],
        ],
        "epsilon": 0.04310585588476755,
        "pair": (1, 0),
        "rate": 13.74784218703492,
        "log_exact": -3.6983930905955633,
        "log_dropped": -3.7079809602566476,
    },
]


def channel(rows, others):
    matrix = np.array(rows, dtype=np.float64)
    return SwapChannel(matrix=matrix / matrix.sum(axis=1, keepdims=True), others=others)


@pytest.mark.parametrize("case", DROPPED_MASS)
def test_where_mass_was_dropped_it_is_above_the_exact_delta(case):
    users, epsilon, pair = channel(case["rows"], 49), case["epsilon"], case["pair"]
    found = users.delta_of(pair, epsilon, Choices(rate=case["rate"], donors=0.05, smoothing=0.15))
    assert case["log_dropped"] < case["log_exact"] <= math.log(found) < case["log_exact"] + 0.4
    assert exact_delta(users.matrix, pair, 49, epsilon) == pytest.approx(math.exp(case["log_exact"]), rel=1e-9)


def random_cases(count, seed, most):
    """Channels of 2 or 3 inputs and outputs, with random choices around the first ones."""
    random = np.random.default_rng(seed)
    while count:
        shape = [(2, 2), (2, 3), (3, 2)][int(random.integers(3))]
        matrix = random.dirichlet(np.ones(shape[1]) * float(random.choice([6, 20, 60])), size=shape[0])
        if matrix.min() < 0.02:
            continue
        users = channel(matrix, int(random.integers(15, most)))
        pair = users.pairs[int(random.integers(len(users.pairs)))]
        epsilon = float(random.uniform(0, 1)) * 3 * math.sqrt(users._telling(pair) / users.others)
        start, away = users._start(pair, epsilon), np.exp(random.uniform(-0.5, 0.5, 3))
        choices = Choices(
            rate=start.rate * away[0], donors=min(start.donors * away[1], 0.4), smoothing=start.smoothing * away[2]
        )
        found = users.delta_of(pair, epsilon, choices)
        if found is None or found >= 1:
            continue
        count -= 1
        yield found, exact_delta(users.matrix, pair, users.others, epsilon)


def test_no_data_set_exceeds_it():
    assert min(found / truth for found, truth in random_cases(6, seed=1, most=30) if truth > 1e-12) >= 1


@pytest.mark.deep
def test_no_data_set_of_hundreds_of_channels_exceeds_it():
    ratios = [found / truth for found, truth in random_cases(250, seed=2, most=120) if truth > 1e-12]
    assert min(ratios) >= 1
    assert min(ratios) < 1.4


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(4))
def test_at_choices_that_were_searched_it_is_a_few_per_cent_above(seed):
    random, closest = np.random.default_rng(seed), math.inf
    for _ in range(6):
        users = channel(
            random.dirichlet(np.ones(2) * 40, size=int(random.integers(2, 4))), int(random.integers(100, 300))
        )
        pair = users.pairs[0]
        epsilon = float(random.uniform(0.2, 2)) * math.sqrt(users._telling(pair) / users.others)
        found = least_delta(partial(users.delta_of, pair), epsilon, users._start(pair, epsilon), others=users.others)
        if found is not None:
            truth = exact_delta(users.matrix, pair, users.others, epsilon)
            assert found.delta >= truth
            closest = min(closest, found.delta / truth)
    assert closest < 1.25


def test_both_orders_of_all_inputs_and_the_reservoir_of_what_all_inputs_have_in_common_count():
    """Mutants: one orientation; donors who all draw from the reservoir."""
    users = channel([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.4, 0.4, 0.2]], 50)
    assert set(users.pairs) == {(one, other) for one in range(3) for other in range(3) if one != other}
    for place, (reports, reservoir) in enumerate(users._people((0, 1), 0.1, 7)):
        assert reservoir.chance == pytest.approx(0.2 + 0.3 + 0.2)
        drawn = np.array([0.2, 0.3, 0.2]) / 0.7
        for density, mass in zip(reservoir.densities, reservoir.masses, strict=True):
            assert mass == pytest.approx(drawn[np.isclose(users.matrix[place] / drawn, density)].sum())
        assert reservoir.masses.sum() == pytest.approx(1)
        positive = np.maximum(users.matrix[0] - math.exp(0.1) * users.matrix[1], 0).sum()
        assert reports.excess == pytest.approx(positive)
        assert reports.masses @ reports.values == pytest.approx([0], abs=1e-12)


def test_outputs_and_inputs_that_tell_the_same_are_worked_out_once_and_give_the_same_bound():
    """Bits of five categories: up to 7 kinds of 32 outputs, 3 of 5 inputs; noise of 1e-9 keeps them apart."""
    model = OptimizedUnaryEncoding(epsilon0=1.0, domain_size=5).model
    rows = model.sufficient_channel().matrix.astype(float)
    noise = 1 + 1e-9 * np.random.default_rng(1).uniform(-1, 1, rows.shape)
    bounds, sizes = [], []
    for matrix in (rows, rows * noise):
        users = SwapChannel(matrix=matrix / matrix.sum(axis=1, keepdims=True), others=3000)
        people = users._people((0, 1), 0.04, 100)
        sizes.append((len(people), max(len(reports.values) for reports, _ in people)))
        bounds.append(users.delta_of((0, 1), 0.04, users._start((0, 1), 0.04)))
    assert sizes == [(3, 7), (5, 32)]
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-5)


@pytest.mark.parametrize(
    "randomizer",
    [
        OptimizedUnaryEncoding(epsilon0=0.5, domain_size=2),
        SymmetricUnaryEncoding(epsilon0=0.4, domain_size=2),
        pytest.param(KaryRandomizedResponse(epsilon0=0.3, domain_size=3), marks=pytest.mark.deep),
    ],
    ids=["oue", "sue", "k-rr"],
)
def test_channels_whose_outputs_tell_the_same_are_bounded_above_all_data_sets_of_forty_people(randomizer):
    rows = randomizer.model.sufficient_channel().matrix.astype(float)
    users = SwapChannel(matrix=rows / rows.sum(axis=1, keepdims=True), others=40)
    (pair, *_), closest = users.pairs, math.inf
    for share in (0.3, 1.0):
        epsilon = share * math.sqrt(users._telling(pair) / users.others)
        found = least_delta(partial(users.delta_of, pair), epsilon, users._start(pair, epsilon), others=users.others)
        truth = exact_delta(users.matrix, pair, users.others, epsilon)
        assert found.delta >= truth
        closest = min(closest, found.delta / truth)
    assert closest < 1.6


@pytest.mark.deep
def test_the_worst_of_both_orders_of_two_inputs_counts():
    """Mutant: one orientation of an asymmetric channel."""
    users = channel([[0.5, 0.5], [0.32, 0.68]], 400)
    assert set(users.pairs) == {(0, 1), (1, 0)}
    epsilon = 0.12
    both = {
        pair: least_delta(partial(users.delta_of, pair), epsilon, users._start(pair, epsilon), others=400).delta
        for pair in users.pairs
    }
    exact = {pair: exact_delta(users.matrix, pair, 400, epsilon) for pair in users.pairs}
    assert min(both.values()) < max(exact.values()) <= max(both.values())
    assert users.delta(epsilon) == max(both.values())


@pytest.mark.deep
def test_the_epsilon_of_all_pairs_is_enough_for_each_of_them():
    users = channel([[0.45, 0.3, 0.25], [0.3, 0.42, 0.28]], 3000)
    epsilon = users.epsilon(1e-6, limit=0.5)
    for pair in users.pairs:
        found = least_delta(partial(users.delta_of, pair), epsilon, users._start(pair, epsilon), others=3000)
        assert found.delta <= 1.01e-6
    assert users.epsilon(1e-6, limit=0.5 * epsilon) is None


def test_rows_that_are_equal_lose_nothing_and_steps_that_are_too_large_give_none():
    users = channel([[0.4, 0.6], [0.4, 0.6]], 100)
    assert users.pairs == []
    assert users.epsilon(1e-6, limit=1.0) == users.delta(0.0) == 0.0
    few = channel([[0.9, 0.1], [0.1, 0.9]], 20)
    assert few.delta_of((0, 1), 0.1, Choices(rate=100.0, donors=0.2, smoothing=0.1)) is None
    assert few.delta_of((0, 1), 0.1, Choices(rate=1.0, donors=0.0, smoothing=0.1)) is None
