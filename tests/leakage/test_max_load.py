"""The fullest bin: exact for few balls, to 1e-12 for many, for bins of any kinds and weights."""

import math
from fractions import Fraction

import numpy as np
import pytest

from leakage.brute import expected_largest as enumerated
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.leakage import binary_vulnerability, expected_max_load
from shuffledp.leakage import max_load as module
from shuffledp.leakage.count_probabilities import integer_quadrature
from shuffledp.leakage.max_load import BinClass, expected_largest


def near(value, rel=1e-12):
    return pytest.approx(value, rel=rel, abs=0)


def exactly(balls, bins):
    """In fractions, from the coefficients of the powers of a truncated exponential series."""
    total = Fraction(0)
    for most in range(balls):
        law = [Fraction(1)] + [Fraction(0)] * balls
        for _ in range(bins):
            law = [sum(law[i - j] / math.factorial(j) for j in range(min(i, most) + 1)) for i in range(balls + 1)]
        total += 1 - law[balls] * math.factorial(balls) / Fraction(bins) ** balls
    return total


@pytest.mark.parametrize(("balls", "bins"), [(1, 1), (1, 7), (2, 3), (5, 2), (6, 6), (9, 4), (12, 3), (3, 50)])
def test_few_balls_come_out_as_in_fractions(balls, bins):
    assert expected_max_load(balls, bins) == near(float(exactly(balls, bins)), 1e-14)


@pytest.mark.parametrize("bins", [3, 5, 40, 1000])
def test_one_ball_fills_one_bin_and_no_ball_none(bins):
    assert expected_max_load(1, bins) == near(1.0)
    assert expected_max_load(0, bins) == 0.0


@pytest.mark.parametrize(
    ("balls", "chances", "weights"),
    [
        (5, [0.5, 0.3, 0.2], [1, 1, 1]),
        (6, [0.6, 0.2, 0.2], [1, 3, 3]),
        (5, [0.25, 0.25, 0.4, 0.1], [1, 1, 1, 1]),
        (4, [0.25, 0.35, 0.4], [0.5, 0, 2.5]),
        (4, [0.7, 0.3], [1.0, 2.25]),
    ],
)
def test_bins_of_several_kinds_come_out_as_enumerated(balls, chances, weights):
    kinds = dict.fromkeys(zip(chances, weights, strict=True), 0)
    for each in zip(chances, weights, strict=True):
        kinds[each] += 1
    cells = tuple(BinClass(chance, count, weight) for (chance, weight), count in kinds.items())
    expected = enumerated(balls, chances, weights)
    assert expected_largest(balls, cells) == near(expected)
    if set(weights) == {1}:
        assert expected_max_load(balls, chances) == near(expected)


def test_two_bins_come_out_as_the_sum_over_their_binomial():
    from scipy.stats import binom

    for balls, chance in ((30, 0.3), (31, 0.5), (2000, 0.499)):
        counts = np.arange(balls + 1)
        expected = binom.pmf(counts, balls, chance) @ np.maximum(counts, balls - counts)
        assert expected_max_load(balls, [chance, 1 - chance]) == near(expected, 1e-11)
    assert expected_max_load(10**9, 2) / 1e9 == near(binary_vulnerability(10**9, 1.0), 1e-14)


def test_a_bin_that_is_always_fullest_holds_its_share():
    for balls, chances in ((3000, [0.2, 0.3, 0.5]), (4000, [0.2, 0.15, 0.15, 0.5])):
        assert expected_max_load(balls, chances) == near(balls * max(chances), 1e-14)


@pytest.mark.parametrize(
    "cases",
    [[(10**4, 3), (10**5, 100)], pytest.param([(10**5, 3), (10**6, 100), (2 * 10**4, 7)], marks=pytest.mark.deep)],
)
def test_nodes_give_what_all_integers_give(cases, monkeypatch):
    fast = [expected_max_load(*case) for case in cases]
    monkeypatch.setattr(module, "_BLOCK", 0.0)
    assert fast == [near(expected_max_load(*case), 1e-14) for case in cases]


def test_transforms_give_what_sums_over_frequencies_give(monkeypatch):
    cases = [(10**4, 3), (10**4, 9), (300, 5)]
    transformed = [expected_max_load(*case) for case in cases]
    monkeypatch.setattr(module, "_FEW_BINS", 0)
    assert transformed == [near(expected_max_load(*case), 1e-14) for case in cases]


def test_bins_given_one_by_one_are_bins():
    assert expected_max_load(50, [0.1] * 10) == near(expected_max_load(50, 10))
    assert expected_max_load(50, [0.1] * 10 + [0.0]) == near(expected_max_load(50, 10))


def test_the_excess_has_the_constant_of_the_largest_of_normal_numbers():
    for bins, constant in ((2, 0.5641895835), (3, 0.8462843753), (10, 1.5387527308)):
        balls = 10**7
        excess = expected_max_load(balls, bins) / balls - 1 / bins
        assert excess * math.sqrt(bins * balls) == pytest.approx(constant, rel=2e-3)


@pytest.mark.parametrize("length", [7, 40, 63, 400])
def test_a_quadrature_sums_polynomials_over_the_integers(length):
    places, weights = integer_quadrature(length, 45.0)
    for degree in range(16):
        exact = math.fsum(((np.arange(length) / length) ** degree).tolist())
        assert weights @ (places / length) ** degree == near(exact, 1e-11)
    assert places.size < length or length < 64


def test_fractions_stay_fractions_for_two_values():
    assert binary_vulnerability(3, Fraction(3, 4)) == Fraction(5, 8)
    assert binary_vulnerability(2, Fraction(1)) == Fraction(3, 4)
    for users in (1, 2, 15, 16, 17, 999, 1000):
        exact = binary_vulnerability(users, Fraction(9, 10))
        assert isinstance(exact, Fraction)
        assert binary_vulnerability(users, 0.9) == near(float(exact), 1e-15)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: expected_max_load(-1, 3), "balls must be an integer that is 0 or more"),
        (lambda: expected_max_load(10**11, 3), "balls must be at most"),
        (lambda: expected_max_load(5, 0), "bins must be an integer that is 1 or more"),
        (lambda: expected_max_load(5, [0.5, 0.4]), "bins must be probabilities that sum to 1; got another sum"),
        (lambda: expected_max_load(5, [1.5, -0.5]), "bins must be a number of bins, or probabilities of 0 or more"),
        (lambda: expected_max_load(5, []), "bins must be"),
        (lambda: expected_max_load(5, ["a"]), "bins must be"),
        (lambda: expected_max_load(5, ["0.5", "0.5"]), "bins must be numbers"),
        (lambda: expected_max_load(5, [0.5, None]), "bins must be numbers"),
        (lambda: expected_max_load(5, [math.nan, 1.0]), "bins must be"),
        (lambda: binary_vulnerability(0, 0.7), "num_users must be an integer that is 1 or more"),
        (lambda: binary_vulnerability(5, 0.4), "truth_probability must be from 1/2 to 1"),
        (lambda: binary_vulnerability(5, 1.1), "truth_probability must be a number from 0 to 1"),
        (lambda: binary_vulnerability(10**6, Fraction(1, 2)), "num_users must be at most 100000"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(InvalidParameterError, match=message):
        call()


def test_too_many_kinds_of_bins_are_refused_with_the_way_out(monkeypatch):
    monkeypatch.setattr(module, "_MOST_WORK", 10)
    with pytest.raises(UnsupportedModelError, match=r"steps; at most 1e\+01 are feasible\. Use fewer balls"):
        expected_max_load(10**4, [0.26, 0.25, 0.25, 0.24])


def test_bins_that_cannot_be_the_fullest_cost_nothing_and_change_nothing(monkeypatch):
    few = np.random.default_rng(1).dirichlet(np.ones(12))
    cases = [(400, few), (900, [0.35, 0.3, 0.2, 0.1, 0.05]), (900, [0.35, 0.35, 0.2, 0.1]), (50, [0.4, 0.3, 0.2, 0.1])]
    fast = [expected_max_load(*case) for case in cases]
    dropped = [module._contenders(balls, module._kinds(np.array(bins)))[1] for balls, bins in cases]
    assert [each > 0 for each in dropped] == [True, True, True, False]
    monkeypatch.setattr(module, "_contenders", lambda _, kinds: (kinds, 0.0))
    assert fast == [near(expected_max_load(*case), 1e-13) for case in cases]


@pytest.mark.parametrize("chances", [[0.45, 0.45, 0.1], [0.5, 0.49, 0.01], [0.4, 0.41, 0.19]])
def test_the_larger_of_two_bins_is_that_of_their_joint_law(chances, monkeypatch):
    from scipy.stats import binom

    balls = 3000
    held = np.arange(balls + 1)
    expected = 0.0
    for both in range(*(int(balls * (1 - chances[2]) + each) for each in (-150, 151))):
        first = held[: both + 1]
        larger = binom.pmf(first, both, chances[0] / (1 - chances[2])) @ np.maximum(first, both - first)
        expected += binom.pmf(both, balls, 1 - chances[2]) * larger
    assert module._larger_of_two(balls, *chances[:2]) == near(expected, 1e-11)
    assert expected_max_load(balls, chances) == near(expected, 1e-11)


def test_the_larger_of_two_keeps_its_digits_for_many_balls():
    """Tails that are multiplied by all balls lose a relative 8e-13 here; the reference multiplies by differences."""
    balls, top, second = 10**8, 0.4, 0.4 - 1e-5
    assert expected_max_load(balls, [top, second, 1 - top - second]) == near(40003090.504418075, 5e-14)


@pytest.mark.parametrize(
    ("balls", "chances", "expected"),
    [
        (10**9, [0.3, 0.3, 0.4], 4e8),
        (10**6, [1e-7, 1 - 1e-7], 999_999.9),
        (10**10, np.random.default_rng(1).dirichlet(np.ones(1000)), None),
    ],
)
def test_many_balls_in_uneven_bins_are_feasible(balls, chances, expected):
    assert expected_max_load(balls, chances) == near(balls * max(chances) if expected is None else expected)


def test_nearly_equal_bins_are_evaluated_by_nodes_too(monkeypatch):
    cases = [(10**4, [0.34, 0.33, 0.33]), (10**4, [0.31, 0.31, 0.3, 0.08])]
    fast = [expected_max_load(*case) for case in cases]
    monkeypatch.setattr(module, "_BLOCK", 0.0)
    assert fast == [near(expected_max_load(*case), 1e-13) for case in cases]
    monkeypatch.setattr(module, "_FEW_BINS", 0)
    assert fast == [near(expected_max_load(*case), 1e-13) for case in cases]


@pytest.mark.parametrize("shares", [(0.3, 0.33, 0.37), (0.5, 0.25, 0.25), (0.3333, 0.3333, 0.3334)])
@pytest.mark.parametrize("balls", [1, 2, 3, 4, 31])
def test_three_uneven_bins_come_out_as_the_sum_over_all_loads(shares, balls):
    expected = sum(
        math.comb(balls, first) * math.comb(balls - first, second)
        * shares[0] ** first * shares[1] ** second * shares[2] ** (balls - first - second)
        * max(first, second, balls - first - second)
        for first in range(balls + 1)
        for second in range(balls + 1 - first)
    )  # fmt: skip
    assert expected_max_load(balls, shares) == pytest.approx(expected, rel=1e-12)
