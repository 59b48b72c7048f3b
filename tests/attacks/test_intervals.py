"""Limits of probabilities err as rarely as they say, and what they show about epsilon follows from the definition."""

import math

import numpy as np
import pytest
from scipy import stats

from shuffledp.attacks.intervals import clopper_pearson, loss, most_shown, runs_needed, to_width

RUNS = 40
TAIL = 0.01
PROBABILITIES = np.concatenate([np.geomspace(1e-6, 0.5, 300), 1 - np.geomspace(1e-6, 0.5, 300)])


def chances_of_error(lower, upper):
    """For each probability the exact chance that it is below the lower limit, and that it is above the upper one."""
    law = stats.binom.pmf(np.arange(RUNS + 1)[:, None], RUNS, PROBABILITIES)
    return (law * (lower[:, None] > PROBABILITIES)).sum(axis=0), (law * (upper[:, None] < PROBABILITIES)).sum(axis=0)


def test_each_limit_errs_with_its_tail_at_most_for_every_probability():
    below, above = chances_of_error(*clopper_pearson(np.arange(RUNS + 1), RUNS, tail=TAIL))
    assert below.max() <= TAIL
    assert above.max() <= TAIL
    assert below.max() > 0.8 * TAIL  # and no rarer than need be


def test_limits_by_the_normal_approximation_would_not():
    rates = np.arange(RUNS + 1) / RUNS
    width = -stats.norm.ppf(TAIL) * np.sqrt(rates * (1 - rates) / RUNS)
    below, above = chances_of_error(rates - width, rates + width)
    assert min(below.max(), above.max()) > 10 * TAIL


@pytest.mark.parametrize("runs", [1, 2, 17, 100_000])
def test_limits_are_those_of_scipy(runs):
    for successes in {0, 1, runs // 3, runs - 1, runs}:
        lower, upper = clopper_pearson(successes, runs, tail=TAIL)
        expected = stats.binomtest(successes, runs).proportion_ci(1 - 2 * TAIL, method="exact")
        assert (float(lower), float(upper)) == pytest.approx((expected.low, expected.high), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize(
    ("detected", "mistaken", "delta", "shown"),
    [
        (0.5, 0.25, 0.0, math.log(2)),
        (0.5, 0.25, 0.25, 0.0),
        (0.5, 0.25, 0.4, math.log(0.4)),
        (0.5, 0.0, 0.1, math.inf),
        (0.1, 0.0, 0.1, -math.inf),
        (0.0, 0.0, 0.0, -math.inf),
    ],
)
def test_an_event_shows_the_least_epsilon_that_allows_its_probabilities(detected, mistaken, delta, shown):
    assert float(loss(detected, mistaken, delta=delta)) == pytest.approx(shown, abs=1e-12)


@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.1])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 8.0])
def test_the_runs_needed_show_the_claim_and_fewer_do_not(epsilon, delta):
    needed = runs_needed(epsilon, delta, tail=TAIL)
    enough, fewer = math.ceil(needed) + 1, math.floor(needed) - 1
    assert most_shown(enough, delta, tail=TAIL) > epsilon
    if fewer > 0:
        assert most_shown(fewer, delta, tail=TAIL) <= epsilon


def test_what_could_be_shown_at_most_is_what_an_attack_that_never_errs_shows():
    lower, upper = clopper_pearson([500, 0], 500, tail=TAIL)
    assert most_shown(500, 1e-3, tail=TAIL) == pytest.approx(float(loss(lower[0], upper[1], delta=1e-3)), rel=1e-9)


def test_measured_numbers_lose_the_digits_that_their_limits_leave_open():
    assert to_width(0.5123456, 0.48, 0.54) == "0.51"
    assert to_width(0.5123456, 0.5120, 0.5126, percent=True) == "51.23%"
    assert to_width(0.51, 0.1, 0.9, percent=True) == "51%"
    assert to_width(1.234, 0.5, math.inf) == "1.23"
    assert to_width(math.inf, 0.5, math.inf) == "inf"
