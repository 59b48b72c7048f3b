"""Against 50-digit sums, and against fractions where everything is rational."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from shuffledp.accounting.evaluators import binomial
from shuffledp.accounting.evaluators.binomial import binomial_error
from shuffledp.accounting.numerics import (
    SMALLEST,
    exp,
    expm1,
    gaussian_epsilon,
    largest_below,
    rounded_up,
    smallest_below,
)

DEVIATIONS = (0.3, 1.0, 3.0, 8.0, 25.0)  # from the mean, in standard deviations
CHANCES = (0.4999, 0.27, 0.018, 1e-4)


def binomial_probability(count: int, trials: int, chance: float) -> float:
    return float(np.exp(binomial.log_probability(np.array(float(count)), trials, chance)))


def tail_ratio(count: int, trials: int, odds: float) -> float:
    return float(binomial.tail_ratio(np.array(float(count)), trials, odds))


def exact_probability(count: int, trials: int, chance: float) -> mpmath.mpf:
    with mpmath.workdps(50):
        ways = mpmath.loggamma(trials + 1) - mpmath.loggamma(count + 1) - mpmath.loggamma(trials - count + 1)
        lies, truths = count * mpmath.log(chance), (trials - count) * mpmath.log1p(-mpmath.mpf(chance))
        return mpmath.exp(ways + lies + truths)


def exact_tail_ratio(count: int, trials: int, odds: float) -> mpmath.mpf:
    """The sum of the ratios of later terms to this one, until they are below 1e-25 of it."""
    with mpmath.workdps(30):
        term, total, exact_odds = mpmath.mpf(1), mpmath.mpf(0), mpmath.mpf(odds)
        while count <= trials and term > total * mpmath.mpf(10) ** -25:
            total += term
            term *= exact_odds * (trials - count) / (count + 1)
            count += 1
        return total - 1


def places_above_the_mean(trials: int) -> list[tuple[int, float]]:
    return [
        (count, chance)
        for chance in CHANCES
        for deviations in DEVIATIONS
        if (count := math.ceil(trials * chance + deviations * math.sqrt(trials * chance * (1 - chance)))) <= trials
    ]


@pytest.mark.parametrize("trials", [50, 1000, 100_000, pytest.param(10**9, marks=pytest.mark.deep)])
def test_probabilities_are_right_to_within_the_stated_error(trials):
    for count, chance in places_above_the_mean(trials):
        for place in (count, max(0, 2 * math.floor(trials * chance) - count)):
            exact = exact_probability(place, trials, chance)
            if exact > SMALLEST:
                assert abs(binomial_probability(place, trials, chance) / exact - 1) < binomial_error(trials) / 2


@pytest.mark.parametrize("trials", [50, 1000, 100_000, pytest.param(10**9, marks=pytest.mark.deep)])
def test_tails_are_right_to_within_the_stated_error(trials):
    # At 1e9 trials the sum of 50 digits is too long near the mean.
    for count, chance in places_above_the_mean(trials):
        if count - trials * chance < trials**0.5 and trials > 10**6:
            continue
        odds = chance / (1 - chance)
        exact = exact_tail_ratio(count, trials, odds)
        assert abs(tail_ratio(count, trials, odds) / exact - 1) < binomial_error(trials) / 2


@pytest.mark.parametrize("trials", [10**3, 10**6, 10**12])
def test_the_tail_of_a_law_that_hardly_leaves_zero_is_next_to_nothing(trials):
    # Even the square of the slope that Newton's method starts with underflows.
    assert tail_ratio(0, trials, 1e-305) == pytest.approx(trials * 1e-305, rel=1e-9, abs=0)


@pytest.mark.parametrize("odds", [Fraction(1), Fraction(1, 3), Fraction(5, 2)])
def test_small_binomial_laws_agree_with_fractions(odds):
    for trials in range(12):
        chance = odds / (1 + odds)
        law = [math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(trials + 1)]
        for count in range(trials + 1):
            assert binomial_probability(count, trials, float(chance)) == pytest.approx(float(law[count]), rel=1e-13)
            if count + 1 > trials * chance:
                ratio = tail_ratio(count, trials, float(odds))
                assert ratio == pytest.approx(float(sum(law[count + 1 :]) / law[count]), rel=1e-13)


@pytest.mark.parametrize("trials", [10**8, 10**12])
def test_very_near_the_mean_the_tail_is_right_too(trials):
    # The exact ratio there is below sqrt(pi n / 8) (a half of all, over the largest term), and above a tenth of it.
    ratio = tail_ratio(trials // 2 + 1, trials, 1.0)
    half = math.sqrt(math.pi * trials / 8)
    assert half * 0.999 < ratio < half


@pytest.mark.parametrize("guess", [None, 1e-3, 2.2, 2.3, 2.4, 4.9])
@pytest.mark.parametrize("level", [0.1, 0.9, 0.0068])
def test_epsilon_is_found_from_either_side_whatever_the_guess(guess, level):
    looks = []

    def curve(epsilon: float) -> float:
        looks.append(epsilon)
        return math.exp(-epsilon)

    below = largest_below(curve, level=level, limit=5.0, guess=guess, tolerance=1e-9)
    above = smallest_below(curve, level=level, limit=5.0, guess=guess, tolerance=1e-9)
    assert below < -math.log(level) * (1 + 1e-15)
    assert above > -math.log(level) * (1 - 1e-15)
    assert above - below <= 4e-9 * above
    assert math.exp(-below) > level >= math.exp(-above)
    assert len(looks) < 80


@pytest.mark.parametrize("guess", [None, 1e-9, 2.3])
def test_a_curve_that_stays_on_one_side_gives_an_end(guess):
    given = {"level": 0.1, "limit": 5.0, "guess": guess}
    assert largest_below(lambda _: 0.1, **given) == smallest_below(lambda _: 0.1, **given) == 0.0
    assert largest_below(lambda _: 0.0, **given) == smallest_below(lambda _: 0.0, **given) == 0.0
    assert largest_below(lambda _: 0.2, **given) == pytest.approx(5.0)
    assert smallest_below(lambda _: 0.2, **given) == 5.0
    assert largest_below(lambda _: 0.2, level=0.1, limit=0.0) == 0.0


def test_exponentials_end_in_infinity_and_not_in_an_error():
    assert exp(1.0) == math.e
    assert expm1(1e-20) == 1e-20
    assert exp(800.0) == expm1(800.0) == exp(math.inf) == expm1(math.inf) == math.inf


def test_rounding_up_is_upward_and_tiny():
    assert 1 < rounded_up(1.0) < 1 + 1e-10
    assert rounded_up(0.0) == 0.0


def test_the_gaussian_epsilon_solves_its_equation():
    for mu, delta in ((0.01, 1e-6), (1e-4, 1e-9)):
        point = gaussian_epsilon(mu, delta) / mu
        tail = math.erfc(point / math.sqrt(2)) / 2
        found = mu * (math.exp(-(point**2) / 2) / math.sqrt(2 * math.pi) - point * tail)
        assert found == pytest.approx(delta, rel=1e-6)
    assert gaussian_epsilon(math.inf, 0.1) == math.inf
