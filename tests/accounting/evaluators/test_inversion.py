"""The mean positive part of a sum lies between the two bounds, against sums in fractions and in 50 digits."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from shuffledp.accounting.evaluators.inversion import mean_positive_part


def exactly(values: list[Fraction], masses: list[Fraction], users: int) -> Fraction:
    """E[(G_1 + ... + G_n)_+] / n by adding one copy at a time."""
    values, masses = [*values, Fraction(0)], [*masses, 1 - sum(masses)]
    law = {Fraction(0): Fraction(1)}
    for _ in range(users):
        longer: dict[Fraction, Fraction] = {}
        for total, chance in law.items():
            for value, mass in zip(values, masses, strict=True):
                longer[total + value] = longer.get(total + value, Fraction(0)) + chance * mass
        law = longer
    return sum((total * chance for total, chance in law.items() if total > 0), Fraction(0)) / users


def random_atoms(generator: np.random.Generator, count: int) -> tuple[list[Fraction], list[Fraction]]:
    """Values of both signs on a coarse lattice, and masses, which floats hold exactly."""
    values = [Fraction(int(value), 8) for value in generator.integers(-40, 20, size=count)]
    values[0] = Fraction(int(generator.integers(1, 40)), 8)
    return values, [Fraction(int(mass), 1024) for mass in generator.integers(1, 1024 // (count + 1), size=count)]


def response_atoms(epsilon0: float, size: int, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """The blanket of k-ary response."""
    ratio, factor = math.exp(epsilon0), math.exp(epsilon)
    lie = 1 / (ratio + size - 1)
    return np.array([ratio - factor, 1 - ratio * factor, 1 - factor]), lie * np.array([1.0, 1.0, size - 2])


def response_in_digits(epsilon0: float, size: int, epsilon: float, users: int) -> mpmath.mpf:
    """The same in 50 digits, over all three counts."""
    with mpmath.workdps(50):
        ratio, factor = mpmath.exp(epsilon0), mpmath.exp(epsilon)
        lie, total = 1 / (ratio + size - 1), mpmath.mpf(0)
        for both in range(users + 1):
            chance = mpmath.binomial(users, both) * (2 * lie) ** both * (1 - 2 * lie) ** (users - both)
            other = (size - 2) * lie / (1 - 2 * lie)
            for rest in range(users - both + 1):
                weight = mpmath.binomial(users - both, rest) * other**rest * (1 - other) ** (users - both - rest)
                for first in range(both + 1):
                    value = first * (ratio - factor) + (both - first) * (1 - ratio * factor) + rest * (1 - factor)
                    if value > 0:
                        total += chance * weight * mpmath.binomial(both, first) / mpmath.mpf(2) ** both * value
        return total / users


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("users", [1, 2, 7, 25])
def test_it_brackets_sums_in_fractions(seed, users):
    values, masses = random_atoms(np.random.default_rng(seed), 2 + seed % 2)
    lower, upper = mean_positive_part(np.array(values, dtype=float), np.array(masses, dtype=float), users)
    exact = exactly(values, masses, users)
    assert lower <= exact <= upper
    assert upper <= lower * (1 + 2e-3)  # where the sum may be 0 exactly, the normal variable costs more


@pytest.mark.parametrize(
    ("epsilon0", "size", "epsilon", "users"),
    [(1.0, 2, 0.3, 40), (1.0, 10, 0.5, 30), (4.0, 3, 3.0, 30), (0.5, 100, 0.2, 30), (2.0, 3, 0.0, 30)],
)
def test_it_brackets_sums_of_fifty_digits(epsilon0, size, epsilon, users):
    lower, upper = mean_positive_part(*response_atoms(epsilon0, size, epsilon), users)
    exact = response_in_digits(epsilon0, size, epsilon, users)
    assert lower <= exact <= upper <= lower * (1 + 1e-3)


@pytest.mark.parametrize("users", [10**3, 10**6, 10**9])
def test_deep_tails_and_many_users_are_within_a_ten_thousandth(users):
    for shift in (1.0, 5.0, 15.0, 30.0):
        lower, upper = mean_positive_part(*response_atoms(1.0, 10, shift * 0.5 / math.sqrt(users)), users)
        assert 0 < lower <= upper <= lower * (1 + 1e-4)


def test_for_many_users_it_is_the_gaussian_limit():
    users, epsilon = 10**10, 1e-5
    values, masses = response_atoms(1.0, 10, epsilon)
    mu = math.sqrt(2 * (math.e - 1) ** 2 / (math.e + 9) / users)
    point = epsilon / mu
    tail = math.erfc(point / math.sqrt(2)) / 2
    limit = mu * (math.exp(-(point**2) / 2) / math.sqrt(2 * math.pi) - point * tail)
    lower, upper = mean_positive_part(values, masses, users)
    assert lower == pytest.approx(limit, rel=1e-3)
    assert lower <= upper


def test_a_smaller_tolerance_is_met_and_nested():
    atoms = response_atoms(1.0, 10, 0.02)
    wide, narrow = (mean_positive_part(*atoms, 10_000, tolerance=tolerance) for tolerance in (1e-3, 1e-5))
    assert wide[0] <= narrow[0] <= narrow[1] <= wide[1]
    assert narrow[1] <= narrow[0] * (1 + 1e-5)
    assert wide[1] > narrow[1]


def test_errors_of_the_values_widen_the_bracket():
    values, masses = response_atoms(1.0, 10, 0.02)
    once = {"users": 10_000, "tolerance": math.inf}
    plain = mean_positive_part(values, masses, **once)
    unsure = mean_positive_part(values, masses, errors=1e-7 * np.abs(values), **once)
    moved = mean_positive_part(values + 1e-7 * np.abs(values), masses, **once)
    assert unsure[0] < plain[0]
    assert plain[1] < moved[1] <= unsure[1]


def test_nothing_above_zero_is_nothing():
    assert mean_positive_part(np.array([-1.0, 0.0]), np.array([0.5, 0.5]), 10) == (0.0, 0.0)
    assert mean_positive_part(np.array([-1.0, 3.0]), np.array([0.5, 0.0]), 10) == (0.0, 0.0)


def test_what_no_float_holds_is_bounded_by_the_least_one():
    values, masses = response_atoms(1.0, 10, 0.5)
    lower, upper = mean_positive_part(values, masses, 10**7)
    assert lower == 0
    assert 0 < upper < 1e-300
