"""Each closed form against the same formula in 50 digits, and in which direction the difference lies."""

import math

import mpmath
import pytest

from accounting.given import given
from shuffledp.accounting.numerics import SMALLEST
from shuffledp.accounting.theorems import THEOREMS

NAMED = {theorem.id: theorem for theorem in THEOREMS}
LARGEST_EXCESS = 1e-9  # relative


def efmrtt19(epsilon0, delta, users):
    return 12 * epsilon0 * mpmath.sqrt(mpmath.log(1 / delta) / users)


def fmt21(epsilon0, delta, users):
    ratio = mpmath.exp(epsilon0)
    clones = 8 * mpmath.sqrt(ratio * mpmath.log(4 / delta) / users) + 8 * ratio / users
    return mpmath.log(1 + (ratio - 1) / (ratio + 1) * clones)


def fmt23(epsilon0, delta, users):
    ratio = mpmath.exp(epsilon0)
    clones = 4 * mpmath.sqrt(2 * mpmath.log(4 / delta) / ((ratio + 1) * users)) + mpmath.mpf(4) / users
    return mpmath.log(1 + (ratio - 1) * clones)


FORMULAS = {"efmrtt19-closed": efmrtt19, "fmt21-closed": fmt21, "fmt23-closed": fmt23}
GRID = [
    (epsilon0, delta, users)
    for epsilon0 in (1e-15, 1e-6, 0.3, 0.5, 1.0, 4.0, 10.0)
    for delta in (0.3, 1e-6, 1e-100, 1e-305)
    for users in (1000, 10**6, 10**12)
]


@pytest.mark.parametrize("name", FORMULAS)
def test_the_stated_epsilon_is_the_formula_rounded_up(name):
    with mpmath.workdps(50):
        for epsilon0, delta, users in GRID:
            exact = FORMULAS[name](mpmath.mpf(epsilon0), mpmath.mpf(delta), users)
            found = NAMED[name].epsilon(given(epsilon0, users), delta=delta)
            assert 0 < found / exact - 1 < LARGEST_EXCESS


@pytest.mark.parametrize("name", FORMULAS)
def test_the_stated_delta_is_where_the_formula_gives_epsilon_rounded_up(name):
    tested = 0
    with mpmath.workdps(50):
        for epsilon0, _, users in GRID:
            model = given(epsilon0, users)
            for fraction in (0.003, 0.03, 0.3, 0.9):
                delta = NAMED[name].delta(model, epsilon=fraction * epsilon0)
                if SMALLEST < delta < 1:
                    # Epsilon falls as delta rises: at the stated delta the formula must give no more than epsilon.
                    assert FORMULAS[name](mpmath.mpf(epsilon0), mpmath.mpf(delta), users) <= fraction * epsilon0
                    tested += delta > SMALLEST * 1.1
    assert tested >= 5


@pytest.mark.parametrize("epsilon0", [0.1, 1.0, 6.0])
@pytest.mark.parametrize("delta", [0.5, 1e-6, 1e-12])
def test_the_two_clone_theorems_begin_to_apply_at_the_printed_number_of_users(epsilon0, delta):
    first21 = 16 * math.log(4 / delta) * math.exp(epsilon0)
    first23 = 8 * math.log(2 / delta) * (math.exp(epsilon0) + 1)
    for name, first in (("fmt21-closed", first21), ("fmt23-closed", first23)):
        for users, applies in ((math.floor(first), False), (math.ceil(first), True)):
            hypotheses = NAMED[name].hypotheses(given(epsilon0, users), delta=delta)
            assert all(hypothesis.holds for hypothesis in hypotheses) == applies


@pytest.mark.parametrize("epsilon0", [0.01, 0.3, 0.5])
@pytest.mark.parametrize("users", [1000, 10**6])
@pytest.mark.parametrize("delta", [0.009, 1e-6, 1e-12])
def test_the_later_theorem_is_the_tighter_one(epsilon0, users, delta):
    model = given(epsilon0, users)
    found = [NAMED[name].epsilon(model, delta=delta) for name in ("fmt23-closed", "fmt21-closed", "efmrtt19-closed")]
    assert found == sorted(found)


@pytest.mark.parametrize("name", FORMULAS)
def test_the_golden_numbers_of_the_papers_of_ten_thousand_users(name):
    expected = {"efmrtt19-closed": 0.44603, "fmt21-closed": 0.21403, "fmt23-closed": 0.18001}[name]
    assert round(NAMED[name].epsilon(given(1.0, 10_000), delta=1e-6), 5) == expected
