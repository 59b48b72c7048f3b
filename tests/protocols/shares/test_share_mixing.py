"""The bound on how well rounds mix: above the recursion everywhere, close to it, and fast in logarithms."""

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.protocols.shares.theorems import share_mixing as certificates
from shuffledp.protocols.shares.theorems.buffer_weights import BufferWeights
from shuffledp.protocols.shares.theorems.share_mixing import (
    MOST_USERS,
    log_mixing_bound,
    mixing_distance,
)
from soundness.exact_rounds import (
    Rounds,
    expected_power,
    extremal,
    kept_set_chance,
    mallows_cayley,
    promised,
    uniform,
    variation,
)


def mixing_bound(*given):
    """The bound itself, of few people."""
    return math.exp(log_mixing_bound(*given))


def sum_of_sets(one, other, closeness):
    """G(s, t), exactly."""
    return sum(math.comb(one, j) * math.comb(other, j) * closeness**j for j in range(min(one, other) + 1))


def recursion(users, messages, closeness, modulus):
    """The theorem's h, in fractions."""
    h = {1: Fraction(1)}
    for each in range(2, users + 1):
        h[each] = 1 + modulus * sum(
            math.comb(each - 1, s - 1) * h[each - s] / sum_of_sets(s, each - s, closeness) ** (messages - 1)
            for s in range(1, each)
        )
    return h[users]


@pytest.mark.parametrize(("users", "messages", "modulus"), [(1, 3, 5), (2, 2, 2), (5, 3, 7), (12, 4, 50), (25, 6, 250)])
@pytest.mark.parametrize("closeness", [Fraction(1), Fraction(3, 4), Fraction(1, 20)])
def test_it_is_the_recursion_rounded_up(users, messages, modulus, closeness):
    exact = float(recursion(users, messages, closeness, modulus) - 1)
    bound = mixing_bound(users, messages, -math.log(closeness), modulus)
    assert exact <= bound <= exact * (1 + 1e-8)


def cells_and_exact(users, rounds, gamma, modulus, first):
    closeness, log_modulus = math.exp(-gamma), math.log(modulus)
    exact = certificates._exact(users, rounds, closeness, log_modulus)
    cells = certificates._Cells(
        users, BufferWeights(((1, rounds),), closeness), log_modulus, np.logaddexp(0.0, exact[:first])
    )
    return cells.last(), cells, exact


@pytest.mark.parametrize("seed", range(40))
def test_cells_are_above_the_recursion_wherever_they_begin(seed):
    """Also where h rises to a peak far above 1, and falls from it."""
    draw = np.random.default_rng(seed)
    users, rounds, first = (int(draw.integers(*ends)) for ends in ((60, 900), (1, 12), (2, 40)))
    gamma, modulus = float(draw.choice([0, 0.1, 0.5, 1, 2, 3])), int(10 ** draw.uniform(0.3, 6))
    last, cells, exact = cells_and_exact(users, rounds, gamma, modulus, first)
    slack = 1e-9 * (1 + np.abs(exact))
    assert last >= exact[-1] - slack[-1]
    for bound, low, high in zip(cells.bounds[:-1], cells.first, cells.final, strict=False):
        inside = slice(int(low) - 1, int(high))
        assert (bound >= np.logaddexp(0.0, exact[inside]) - slack[inside]).all()


@pytest.mark.parametrize(("rounds", "gamma", "modulus"), [(1, 0.5, 10**6), (4, 2.0, 10**7), (5, 3.0, 10**8)])
def test_where_h_rises_the_largest_that_a_set_leads_to_counts_and_not_that_of_the_largest_set(rounds, gamma, modulus):
    """Sets of one cell lead from a cell of numbers to several earlier ones, of which the last have the largest h."""
    first = 40
    _, cells, exact = cells_and_exact(320, rounds, gamma, modulus, first)
    log_h = np.logaddexp(0.0, exact)
    several = 0
    for cell in range(first, cells.first.size):
        low, sums = int(cells.first[cell]), cells._sums(cell)
        for smallest, largest, since in zip(cells.first, sums.sizes, sums.since, strict=False):
            reached = log_h[low - int(largest) - 1 : low - 1]  # of N - s that lie before the cell, whatever N is
            assert since >= reached.max() - 1e-9 * (1 + abs(reached.max()))
            several += reached.max() > reached[0] + 1 and largest >= smallest
    assert several > 100


@pytest.mark.parametrize(
    ("users", "rounds", "gamma", "modulus"), [(900, 7, 0.0, 54_000), (700, 9, 1.0, 37_000), (990, 12, 3.0, 60_000)]
)
def test_cells_cost_next_to_nothing_where_something_is_certified(users, rounds, gamma, modulus):
    last, _, exact = cells_and_exact(users, rounds, gamma, modulus, 200)
    assert exact[-1] <= last <= exact[-1] + 1e-4


def test_the_bound_passes_smoothly_from_the_recursion_to_cells():
    inside, beyond = (log_mixing_bound(users, 8, 0.5, 63_000) for users in (1000, 1001))
    assert 0 < inside - beyond < 0.01


@pytest.mark.parametrize("gamma", [0.0, 0.7, 3.0])
@pytest.mark.parametrize("users", [40, 3000, 10**6])
def test_more_messages_mix_better(users, gamma):
    bounds = [log_mixing_bound(users, messages, gamma, 2 * users) for messages in range(2, 14)]
    assert all(after <= before for before, after in pairwise(bounds))
    assert bounds[-1] < bounds[0] - 3


@pytest.mark.parametrize("users", [40, 3000, 10**6])
def test_a_worse_shuffle_never_mixes_better(users):
    bounds = [log_mixing_bound(users, 9, gamma, 2 * users) for gamma in (0.0, 0.1, 1.0, 3.0, 30.0, 1000.0)]
    assert all(before <= after + 1e-9 for before, after in pairwise(bounds))


def test_where_nothing_is_known_the_distance_is_one():
    assert mixing_distance(1000, 8, 50.0, 63_000) == 1.0
    assert log_mixing_bound(10**6, 8, 50.0, 10**9) > 709  # beyond the floats
    assert log_mixing_bound(10**9, 3, 50.0, 10**13) < math.inf


def test_one_user_alone_has_no_more_than_the_sum():
    assert mixing_bound(1, 4, 0.0, 100) == 0.0
    assert mixing_distance(1, 4, 0.0, 100) == 0.0


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("num_users", (0, 3, 0.0, 5)),
        ("num_users", (MOST_USERS + 1, 3, 0.0, 5)),
        ("num_messages", (5, 0, 0.0, 5)),
        ("imperfection", (5, 3, -0.1, 5)),
        ("imperfection", (5, 3, math.nan, 5)),
        ("modulus", (5, 3, 0.0, 0)),
    ],
)
def test_bad_arguments_are_named(name, arguments):
    with pytest.raises(InvalidParameterError, match=f"^{name} must be"):
        log_mixing_bound(*arguments)


# ---- against all permutations ---------------------------------------------------------------------------------------


def laws_of(users, gamma):
    laws = {"uniform": uniform(users), "mallows-cayley": mallows_cayley(users, gamma)}
    return laws | {f"extremal {kept}": extremal(users, gamma, kept) for kept in range(1, users)}


@pytest.mark.parametrize("gamma", [0.1, 1.0])
@pytest.mark.parametrize("users", [2, 3, 4])
def test_no_set_is_kept_more_often_than_the_lemma_says_and_one_shuffle_reaches_it(users, gamma):
    for size in range(1, users):
        bound = 1 / sum_of_sets(size, users - size, math.exp(-gamma))
        laws = laws_of(users, gamma)
        assert all(kept_set_chance(law, users, size) <= bound * (1 + 1e-12) for law in laws.values())
        assert kept_set_chance(laws[f"extremal {size}"], users, size) == pytest.approx(bound, rel=1e-12)


@pytest.mark.parametrize("gamma", [0.0, 0.1, 1.0])
@pytest.mark.parametrize(("users", "messages"), list(product((2, 3, 4), (2, 3, 4))))
def test_the_bound_is_above_the_expectation_of_all_shuffles(users, messages, gamma):
    for law in laws_of(users, gamma).values():
        assert promised(law, gamma)
        for modulus in (2, 3):
            exact = expected_power([law] * messages, modulus) - 1
            bound = mixing_bound(users, messages, gamma, modulus)
            assert exact <= bound * (1 + 1e-9)
            worse = [normal_identity(users), *[law] * (messages - 1)]
            assert expected_power(worse, modulus) - 1 <= bound * (1 + 1e-9)


def normal_identity(users):
    """A round that is not shuffled at all."""
    return {each: float(each == tuple(range(users))) for each in uniform(users)}


def test_with_two_broken_rounds_the_bound_does_not_hold():
    broken = [normal_identity(3)] * 2 + [uniform(3)]
    assert expected_power(broken, 3) - 1 > mixing_bound(3, 3, 0.0, 3)


def test_a_smaller_imperfection_than_the_true_one_would_be_exceeded():
    """The check has power: the extremal shuffle of gamma = 3 breaks the bound for gamma = 0."""
    exact = expected_power([extremal(3, 3.0, 1)] * 3, 3) - 1
    assert exact > mixing_bound(3, 3, 0.0, 3)
    assert exact <= mixing_bound(3, 3, 3.0, 3)


@pytest.mark.parametrize(
    ("users", "messages", "modulus"), [(2, 2, 2), (2, 4, 3), (3, 2, 3), (3, 3, 3), (3, 4, 2), (4, 2, 3), (4, 3, 2)]
)
@pytest.mark.parametrize("gamma", [0.0, 1.0])
def test_views_are_as_near_to_perfectly_mixed_as_promised(users, messages, modulus, gamma):
    bound = mixing_distance(users, messages, gamma, modulus)
    for law in laws_of(users, gamma).values():
        rounds = Rounds([law] * messages, modulus)
        inputs = [(0,) * users, (1, modulus - 1, *(0,) * (users - 2)), (1,) * users]
        views = {state: rounds.views(rounds.certain(state)) for state in inputs}
        for state, view in views.items():
            assert view.sum() == pytest.approx(1.0)
            assert variation(view, rounds.ideal(sum(state))) <= bound + 1e-12
        assert variation(views[inputs[0]], views[inputs[1]]) <= 2 * bound + 1e-12
