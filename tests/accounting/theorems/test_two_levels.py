"""The lower bound against 50-digit sums over every count, without the formulas it uses."""

import math

import mpmath
import numpy as np
import pytest

from accounting.given import response
from shuffledp.accounting.evaluators.binomial import binomial_error
from shuffledp.accounting.numerics import SMALLEST
from shuffledp.accounting.theorems.two_levels import BinaryAllEqual, LdpWitness, all_equal_terms
from shuffledp.core.local_models import ProtocolModel
from shuffledp.randomizers import LdpModel
from shuffledp.shufflers import UniformShuffleModel
from soundness.exact_deltas import hockey_stick, with_another
from soundness.exact_deltas import response as response_matrix

THEOREM = BinaryAllEqual()
FRACTIONS = (0.0, 1e-4, 0.03, 0.1, 0.3, 0.7, 0.99)  # of epsilon0


def exact_deltas(epsilon0: float, epsilon: float, users: int) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Both directions: the sum of the positive parts of P - e Q over all counts, within 80 deviations of the mean."""
    with mpmath.workdps(50):
        ratio, factor = mpmath.exp(mpmath.mpf(epsilon0)), mpmath.exp(mpmath.mpf(epsilon))
        lie = 1 / (ratio + 1)
        spread = 80 * math.sqrt(users * float(lie)) + 80
        first = max(0, math.floor(users * float(lie) - spread))
        last = min(users - 1, math.ceil(users * float(lie) + spread))
        ways = mpmath.loggamma(users) - mpmath.loggamma(first + 1) - mpmath.loggamma(users - first)
        term = mpmath.exp(ways + first * mpmath.log(lie) + (users - 1 - first) * mpmath.log(1 - lie))
        before, towards, away = mpmath.mpf(0), mpmath.mpf(0), mpmath.mpf(0)
        for count in range(first, last + 2):
            other, same = before * (1 - lie) + term * lie, before * lie + term * (1 - lie)
            towards += max(other - factor * same, 0)
            away += max(same - factor * other, 0)
            before, term = term, term * (users - 1 - count) / ((count + 1) * ratio)
    return towards, away


@pytest.mark.parametrize("users", [1, 2, 3, 50, 1000, pytest.param(100_000, marks=pytest.mark.deep)])
@pytest.mark.parametrize("epsilon0", [1e-9, 0.01, 0.5, 2.0, 6.0, 30.0])
def test_both_directions_are_exact_to_12_digits_of_their_terms(users, epsilon0):
    for fraction in FRACTIONS:
        exact = exact_deltas(epsilon0, fraction * epsilon0, users)
        found = all_equal_terms(epsilon0=epsilon0, epsilon=fraction * epsilon0, users=users)
        for (gain, loss), truth in zip(found, exact, strict=True):
            assert abs(gain - loss - truth) <= binomial_error(users) / 2 * (gain + loss) + SMALLEST


@pytest.mark.parametrize("users", [1, 2, 3, 50, 1000, pytest.param(100_000, marks=pytest.mark.deep)])
@pytest.mark.parametrize("epsilon0", [0.01, 0.5, 2.0, 6.0, 30.0])
def test_the_stated_delta_never_exceeds_the_truth_and_is_close_to_it(users, epsilon0):
    model = response(2, epsilon0, users)
    for fraction in FRACTIONS:
        epsilon = fraction * model.local.epsilon0
        exact = max(exact_deltas(model.local.epsilon0, epsilon, users))
        found = THEOREM.delta(model, epsilon=epsilon)
        assert found <= exact
        assert found >= exact * (1 - 1e-8) - SMALLEST


@pytest.mark.parametrize("delta", [0.2, 1e-3, 1e-6, 1e-12, 1e-100])
@pytest.mark.parametrize(
    ("users", "epsilon0"),
    [(50, 0.5), (50, 4.0), (1000, 0.5), (1000, 4.0), pytest.param(100_000, 1.0, marks=pytest.mark.deep)],
)
def test_at_the_stated_epsilon_the_truth_is_still_above_delta(users, epsilon0, delta):
    model = response(2, epsilon0, users)
    epsilon = THEOREM.epsilon(model, delta=delta)
    if epsilon == 0:
        assert THEOREM.delta(model, epsilon=0.0) <= delta
        return
    assert max(exact_deltas(model.local.epsilon0, epsilon, users)) > delta
    assert max(exact_deltas(model.local.epsilon0, epsilon + 1e-8 * epsilon0, users)) < delta


@pytest.mark.parametrize("users", [10**6, 10**9, 10**12, 10**15])
def test_huge_batches_are_no_slower_and_shrink_like_the_root_of_n(users):
    small, large = (THEOREM.epsilon(response(2, 1.0, n), delta=1e-300) for n in (users, 100 * users))
    assert small / large == pytest.approx(10, rel=0.05)


def test_so_few_digits_are_left_at_absurd_sizes_that_nothing_is_said():
    assert THEOREM.epsilon(response(2, 1.0, 10**30), delta=1e-300) == 0.0


def any_randomizer(epsilon0: float, users: int) -> ProtocolModel:
    return ProtocolModel(local=LdpModel(epsilon0=epsilon0), shuffle=UniformShuffleModel(num_users=users))


def enumerated(size: int, others: int, epsilon0: float, epsilons: np.ndarray, users: int) -> np.ndarray:
    channel, law = response_matrix(size, epsilon0), np.ones((1,) * (size - 1))
    for _ in range(users - 1):
        law = with_another(law, channel[others])
    one, other = with_another(law, channel[0]), with_another(law, channel[1])
    return np.maximum(hockey_stick(one, other, epsilons), hockey_stick(other, one, epsilons))


@pytest.mark.parametrize(("users", "epsilon0"), [(3, 1.0), (8, 0.4), (14, 3.0)])
def test_the_witness_is_the_worse_one_of_two_data_sets(users, epsilon0):
    model, epsilons = any_randomizer(epsilon0, users), epsilon0 * np.array([0.0, 0.1, 0.5, 0.95])
    two, three = (enumerated(size, size - 1, epsilon0, epsilons, users) for size in (2, 3))
    for epsilon, exact in zip(epsilons, np.maximum(two, three), strict=True):
        assert exact * (1 - 2e-4) <= LdpWitness().delta(model, epsilon=epsilon) <= exact * (1 + 1e-11)
    for delta in (0.1, 1e-3):
        epsilon = LdpWitness().epsilon(model, delta=delta)
        exact = max(enumerated(size, size - 1, epsilon0, np.array([epsilon]), users)[0] for size in (2, 3))
        assert epsilon == 0 or exact > delta


@pytest.mark.parametrize(
    ("users", "epsilon0", "epsilon"),
    [
        (10**3, 4.0, 1.796883),
        (10**4, 2.0, 0.107663),
        (10**5, 2.0, 0.031230),
        (10**6, 4.0, 0.033952),
        (10**6, 0.5, 0.001266),
    ],
)
def test_the_witness_comes_out_as_in_the_reference_table(users, epsilon0, epsilon):
    found = LdpWitness().epsilon(any_randomizer(epsilon0, users), delta=1e-6)
    assert epsilon * (1 - 2e-4) <= found <= epsilon + 1e-6


def test_without_a_finite_and_positive_loss_the_witness_is_silent():
    for epsilon0 in (0.0, math.inf):
        assert LdpWitness().epsilon(any_randomizer(epsilon0, 100), delta=1e-6) == 0.0
        assert LdpWitness().delta(any_randomizer(epsilon0, 100), epsilon=0.1) == 0.0
