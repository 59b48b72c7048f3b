"""Bounds of what cannot be evaluated exactly: against the exact value where it can be, and an estimate where not."""

import math

import numpy as np
import pytest

from leakage.brute import response
from shuffledp.core.channels import Channel
from shuffledp.core.statement_terms import Kind
from shuffledp.leakage import binary_vulnerability, shuffled_vulnerability
from shuffledp.leakage import uniform_shuffle as iid
from shuffledp.leakage.expected_maximum import by_convolution, expected_excess
from shuffledp.leakage.guess_scores import Scores, scores
from shuffledp.leakage.max_load import BinClass, expected_highest
from shuffledp.leakage.maximum_bounds import by_fullest_bin, by_pairs, without_losers
from shuffledp.testing import SeededSource

NEAR = [0.3, 0.34, 0.36]
FOUR = [0.22, 0.28, 0.26, 0.24]


def found(matrix, prior, gain=None):
    return scores(matrix, np.array(prior), np.eye(len(prior)) if gain is None else np.array(gain)).reduced()


def random_scores(seed):
    generator = np.random.default_rng(seed)
    matrix, prior = generator.dirichlet(np.ones(4), size=3), generator.dirichlet(np.full(3, 9.0))
    return found(matrix, prior, generator.uniform(0, 1, (4, 3)) + 0.6)


CASES = [found(response(3, 0.6), NEAR), found(response(4, 0.5), FOUR), *map(random_scores, (0, 1, 3, 4, 5))]
SLOTS = [((1 / 12, 12),), ((0.2, 2), (0.1, 6))]


@pytest.mark.parametrize("slots", SLOTS)
@pytest.mark.parametrize("small", CASES)
def test_pairs_of_guesses_hold_the_truth_between_them(small, slots):
    exact, _ = expected_excess(small.chances, small.values, slots)
    for quick in (False, True):
        bound = by_pairs(small, slots, quick=quick)
        assert 0 <= bound.lower <= exact * (1 + 1e-9)
        assert exact <= bound.upper * (1 + 1e-9) + 1e-15


def test_of_two_guesses_a_pair_tells_all():
    small = found(response(2, 0.8), [0.48, 0.52])
    exact, _ = expected_excess(small.chances, small.values, ((1 / 60, 60),))
    bound = by_pairs(small, ((1 / 60, 60),))
    assert bound.upper == pytest.approx(exact, rel=1e-4)
    assert bound.lower <= exact <= bound.upper


@pytest.mark.parametrize(("truth", "prior"), [(0.6, NEAR), (0.9, NEAR), (0.5, FOUR), (0.8, [0.1, 0.2, 0.3, 0.4])])
@pytest.mark.parametrize("people", [1, 2, 9, 25])
def test_shifted_bins_hold_the_truth_between_them(truth, prior, people):
    small = found(response(len(prior), truth), prior)
    exact, _ = expected_excess(small.chances, small.values, ((1 / people, people),))
    bound = by_fullest_bin(small, people)
    assert bound.lower - 1e-12 <= exact <= bound.upper + 1e-12
    assert bound.upper < exact + 0.03


def test_shifted_bins_are_exact_if_scores_are_those_of_bins():
    chances, weights, shifts = np.array([0.2, 0.3, 0.4, 0.1]), np.array([1.0, 0.8, 0.7]), np.array([0.03, 0.0, 0.05])
    values = np.hstack([np.diag(weights), np.zeros((3, 1))]) + shifts[:, None] + np.array([0.1, 0.0, 0.3, 0.2])
    values = values[np.argsort(-(values @ chances))]
    exact, _ = expected_excess(chances, values, ((1 / 30, 30),))
    bound = by_fullest_bin(Scores(chances, values), 30)
    assert bound.upper - bound.lower < 1e-11
    assert (bound.lower + bound.upper) / 2 == pytest.approx(exact, abs=1e-12)


def test_bins_are_for_guesses_that_are_favored_by_one_report_each():
    rows = np.array([[2.0, 1.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 2.0]])
    assert by_fullest_bin(Scores(np.array([0.4, 0.3, 0.3]), rows), 9) is None
    assert by_fullest_bin(found(response(3, 0.1), NEAR), 9) is None  # each report speaks against its own value


@pytest.mark.parametrize("offsets", [(0.0, 0.0, 0.0), (1.5, 0.0, -2.0), (-7.0, -6.0, -6.5)])
@pytest.mark.parametrize("rest", [0.0, 0.25])
def test_the_highest_bin_with_a_head_start(offsets, rest):
    balls, shares = 7, (1 - rest) * np.array([0.5, 0.3, 0.2])
    weights = (1.0, 1.3, 2.0)
    cells = tuple(BinClass(*each) for each in zip(shares.tolist(), (1, 1, 1), weights, offsets, strict=True))
    expected = 0.0
    for first in range(balls + 1):
        for second in range(balls + 1 - first):
            lows = range(balls + 1 - first - second) if rest else [balls - first - second]
            for third in lows:
                loads = (first, second, third, balls - first - second - third)
                ways = math.factorial(balls) / math.prod(map(math.factorial, loads))
                chance = ways * math.prod(p**load for p, load in zip((*shares, rest), loads, strict=True))
                expected += chance * max(b + a * load for a, b, load in zip(weights, offsets, loads, strict=False))
    assert expected_highest(balls, cells) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("slots", SLOTS)
@pytest.mark.parametrize("small", CASES)
def test_what_losers_add_is_bounded_exponentially(small, slots):
    exact, _ = expected_excess(small.chances, small.values, slots)
    _, added, most = without_losers(small, slots)
    assert added <= 1e-17 * most
    assert exact <= most


def test_losers_are_left_out_and_nobody_else():
    small = found(response(5, 0.4), [0.2, 0.3, 0.1, 0.1, 0.3])
    few, _, _ = without_losers(small, ((1 / 20, 20),))
    many, added, _ = without_losers(small, ((1 / 1000, 1000),))
    assert (len(few.values), len(many.values), many.values.shape[1]) == (3, 2, 3)
    assert 0 < added < 1e-18
    alone, _, most = without_losers(found(response(3, 0.9), [0.3, 0.3, 0.4]), ((1e-4, 10**4),))
    assert len(alone.values) == 3  # all are about as unlikely, so that digits are kept
    assert most < 1e-30


@pytest.mark.parametrize("people", [300, 1000])
def test_an_uneven_prior_is_exact_where_two_guesses_win(people):
    """What the command is asked first: k-ary randomized response with answers that are not equally likely."""
    channel, prior = Channel(response(5, 0.4046)), [0.2, 0.3, 0.1, 0.1, 0.3]
    exact = shuffled_vulnerability(prior, channel, num_users=people)
    assert (exact.kind, exact.method) == (Kind.EXACT, "enumeration")
    sampled = shuffled_vulnerability(prior, channel, num_users=people, method="monte-carlo", source=SeededSource(1))
    assert sampled.lower <= exact.value <= sampled.upper


def test_leaving_losers_out_changes_nothing(monkeypatch):
    channel, prior = Channel(response(4, 0.7)), [0.1, 0.4, 0.4, 0.1]
    direct = shuffled_vulnerability(prior, channel, num_users=150)
    monkeypatch.setattr(iid, "_FEW_STATES", 1e5)
    monkeypatch.setattr(iid, "_MOST_STATES", 1e5)
    fewer = shuffled_vulnerability(prior, channel, num_users=150)
    assert direct.kind is fewer.kind is Kind.EXACT
    assert fewer.additive_leakage == pytest.approx(direct.additive_leakage, rel=1e-12)


@pytest.mark.parametrize("people", [40, 60])
def test_without_enumeration_bounds_hold_the_truth_and_are_near_it(people, monkeypatch):
    channel, prior = Channel(response(4, 0.5)), FOUR
    exact = shuffled_vulnerability(prior, channel, num_users=people, method="enumeration")
    monkeypatch.setattr(iid, "_FEW_STATES", 1)
    monkeypatch.setattr(iid, "_MOST_STATES", 1)
    bound = shuffled_vulnerability(prior, channel, num_users=people)
    assert (bound.kind, bound.method) == (Kind.UPPER_BOUND, "bins")
    assert bound.lower <= exact.value <= bound.upper
    assert bound.upper - bound.prior < 1.05 * exact.additive_leakage


def test_for_very_many_people_the_normal_law_is_closer_than_a_grid():
    small = found(response(2, 0.7), [0.5, 0.5])
    people = 10**9
    truth = binary_vulnerability(people, 0.7) - 0.5
    twins, values = small.chances[[0, 0, 1]] * [0.5, 0.5, 1], small.values[:, [0, 0, 1]]  # three kinds of reports
    lower, upper = by_convolution(twins, values, ((1 / people, people),), 2**14)
    assert lower <= truth <= upper
    assert upper < truth * 1.0001
    assert lower > truth * 0.9999


@pytest.mark.parametrize("slots", [((1e-9, 10**9),), ((4e-6, 125_000), (1e-6, 5 * 10**5))])
def test_two_kinds_of_reports_are_as_near_as_their_binomial_laws(slots):
    """A grid of reports one by one would be far off: many of its steps are wider than a report's share."""
    chances, values = np.array([0.5, 0.5]), np.array([[0.5, -0.5], [-0.5, 0.5]])
    lower, upper = by_convolution(chances, values, slots, 2**13)
    spread = math.sqrt(sum(count * weight**2 for weight, count in slots))
    truth = spread / math.sqrt(2 * math.pi)  # of the normal law, from which the sum is about a millionth away
    assert lower < truth * (1 + 2e-6)
    assert truth * (1 - 2e-6) < upper < truth * (1 + 1e-5)


def test_no_bound_is_above_what_one_report_tells():
    generator = np.random.default_rng(4)
    channel = Channel(generator.dirichlet(np.full(6, 0.1), size=6))
    alone = shuffled_vulnerability(None, channel, num_users=1)
    for people in (2, 3, 200):
        assert shuffled_vulnerability(None, channel, num_users=people).value <= alone.value
