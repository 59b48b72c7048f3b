"""What a uniform shuffle tells if values are independent: all methods against the definition and each other."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest

from leakage.brute import bayes, response, shuffled_views, vulnerability
from shuffledp.core.channels import Channel
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.statement_terms import Kind
from shuffledp.leakage import binary_vulnerability, expected_max_load, shuffled_fraction, shuffled_vulnerability
from shuffledp.leakage import uniform_shuffle as iid
from shuffledp.testing import SeededSource

UNEVEN = np.array([[Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)], [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]])
TWIN = np.array(
    [
        [Fraction(3, 5), Fraction(1, 5), Fraction(1, 10), Fraction(1, 10)],
        [Fraction(1, 4), Fraction(1, 2), Fraction(1, 8), Fraction(1, 8)],
    ]
)
CASES = [
    (response(2, Fraction(3, 4)), [Fraction(1, 2), Fraction(1, 2)], bayes(2)),
    (response(2, Fraction(1, 5)), [Fraction(1, 2), Fraction(1, 2)], bayes(2)),
    (response(3, Fraction(2, 3)), [Fraction(1, 3)] * 3, bayes(3)),
    (response(3, Fraction(1)), [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)], bayes(3)),
    (response(3, Fraction(1, 6)), [Fraction(1, 3)] * 3, bayes(3)),
    (UNEVEN, [Fraction(1, 3), Fraction(2, 3)], [[1, 0], [0, 1], [Fraction(1, 2), Fraction(3, 4)]]),
    (UNEVEN, [Fraction(0), Fraction(1)], bayes(2)),
    (TWIN, [Fraction(2, 5), Fraction(3, 5)], [[2, 0], [Fraction(1, 2), 1]]),
]


def near(value, rel=1e-12):
    return pytest.approx(float(value), rel=rel, abs=0)


@pytest.mark.parametrize("users", [1, 2, 3])
@pytest.mark.parametrize("case", CASES)
def test_it_is_what_the_definition_says(case, users):
    matrix, prior, gain = case
    expected = vulnerability(shuffled_views(matrix, np.array(prior), users), prior, gain)
    exact = shuffled_fraction(prior, Channel(matrix), np.array(gain, dtype=object), num_users=users)
    assert exact == expected
    found = shuffled_vulnerability(prior, Channel(matrix.astype(float)), gain, num_users=users)
    assert found.value == near(expected)
    assert found.kind is Kind.EXACT


@pytest.mark.parametrize("users", [4, 9, 30])
def test_methods_agree(users):
    channel, prior = Channel(response(3, 0.6)), [1 / 3] * 3
    found = [
        shuffled_vulnerability(prior, channel, num_users=users, method=method).value
        for method in ("enumeration", "max-load", "auto")
    ]
    lie, expected = 0.2, expected_max_load(users, 3) / users
    assert found == [near(lie + 0.4 * expected)] * 3
    exact = (
        shuffled_fraction([Fraction(1, 3)] * 3, Channel(response(3, Fraction(3, 5))), num_users=users)
        if users < 30
        else found[0]
    )
    assert found[0] == near(exact)


def test_without_randomizing_any_prior_is_a_matter_of_the_fullest_bin():
    prior = [0.4, 0.35, 0.15, 0.1]
    for users in (3, 60):
        found = [
            shuffled_vulnerability(prior, Channel(np.eye(4)), num_users=users, method=method).value
            for method in ("enumeration", "max-load")
        ]
        assert found == [near(expected_max_load(users, prior) / users)] * 2


@pytest.mark.parametrize(
    ("users", "prior"),
    [
        (5, [0.5, 0.5]),
        (150, [0.4, 0.6]),
        pytest.param(5, [0.4, 0.6], marks=pytest.mark.deep),
        pytest.param(150, [0.5, 0.5], marks=pytest.mark.deep),
    ],
)
def test_two_guesses_lie_between_the_bounds_of_a_convolution(users, prior):
    exact = shuffled_vulnerability(prior, Channel(UNEVEN.astype(float)), num_users=users, method="enumeration")
    bound = shuffled_vulnerability(prior, Channel(UNEVEN.astype(float)), num_users=users, method="convolution")
    assert bound.kind is Kind.UPPER_BOUND
    assert bound.lower - 1e-14 <= exact.value <= bound.upper + 1e-14
    assert bound.upper - exact.value < 1e-7
    assert bound.upper - bound.lower < 1e-5


def test_for_many_people_a_channel_of_many_reports_is_bounded():
    generator = np.random.default_rng(5)
    matrix = generator.dirichlet(np.ones(15), size=2)
    found = shuffled_vulnerability(None, Channel(matrix), num_users=10_000)
    normal = shuffled_vulnerability(None, Channel(matrix), num_users=10_000, method="gaussian")
    assert (found.method, found.kind, normal.kind) == ("convolution", Kind.UPPER_BOUND, Kind.ESTIMATE)
    assert found.lower <= normal.value <= found.upper * (1 + 1e-4)


def test_an_estimate_is_labelled_and_holds_the_truth():
    channel = Channel(response(3, 0.6))
    truth = shuffled_vulnerability(None, channel, num_users=50).value
    wrong = shuffled_vulnerability(None, Channel(response(3, 0.62)), num_users=50).value
    found = shuffled_vulnerability(None, channel, num_users=50, method="monte-carlo", source=SeededSource(7))
    assert found.kind is Kind.ESTIMATE
    assert found.lower <= truth <= found.upper < wrong
    assert any("probability 0.001" in each for each in found.hypotheses)


@pytest.mark.parametrize(
    ("matrix", "prior", "expected"),
    [
        (response(2, 0.9), [0.5, 0.5], "inverse-square-root"),
        (response(2, 0.9), [0.45, 0.55], "exponential"),
        (response(2, 0.9), [0.1, 0.9], "zero"),
        (response(2, 0.5), [0.5, 0.5], "zero"),
        (response(4, 0.7), [0.25] * 4, "inverse-square-root"),
        (response(3, 0.7), [0.4, 0.4, 0.2], "inverse-square-root"),
        (response(3, 0.7), [0.4, 0.35, 0.25], "exponential"),
    ],
)
def test_how_it_falls_is_how_it_falls(matrix, prior, expected):
    few, many = (shuffled_vulnerability(prior, Channel(matrix), num_users=users) for users in (100, 400))
    assert few.decay == many.decay == expected
    if expected == "zero":
        assert few.additive_leakage == many.additive_leakage == 0.0
    if expected == "inverse-square-root":
        assert few.additive_leakage / many.additive_leakage == pytest.approx(2, rel=0.1)
    if expected == "exponential":
        values = matrix * np.array(prior)[:, None] / (np.array(prior) @ matrix)
        best = int(np.argmax(prior))
        steps = np.linspace(0, 3, 301)
        moments = [
            min(float((prior @ matrix) @ np.exp(s * (row - values[best]))) for s in steps)
            for w, row in enumerate(values)
            if w != best
        ]
        bound = sum(each**400 for each in moments)
        assert 0 < many.additive_leakage <= bound
        assert many.additive_leakage < few.additive_leakage / 4


def test_tiny_leakage_keeps_its_digits():
    leak = [shuffled_vulnerability([p, 1 - p], Channel(response(2, 0.9)), num_users=1000) for p in (0.45, 0.3, 0.1)]
    assert [each.additive_leakage for each in leak] == [
        pytest.approx(2.04328e-7, rel=1e-5),
        pytest.approx(1.29e-69, rel=1e-2),
        0.0,
    ]


def test_more_people_never_hurt_and_one_is_the_channel_alone():
    channel = Channel(UNEVEN.astype(float))
    values = [shuffled_vulnerability([0.4, 0.6], channel, num_users=users).value for users in range(1, 30)]
    assert values == sorted(values, reverse=True)
    assert values[0] == near(sum(max(0.4 * a, 0.6 * b) for a, b in UNEVEN.T))


def test_it_is_linear_in_how_often_people_tell_the_truth():
    for truth in (0.5, 0.75, 1.0):
        found = shuffled_vulnerability(None, Channel(response(2, truth)), num_users=101)
        assert found.value == near(binary_vulnerability(101, truth))
    pure = shuffled_vulnerability(None, Channel(np.eye(4)), num_users=20).value
    noisy = shuffled_vulnerability(None, Channel(response(4, 0.55)), num_users=20).value
    assert noisy == near(pure * (4 * 0.55 - 1) / 3 + 0.45 / 3)


FLIP = Channel(response(2, 0.75))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: shuffled_vulnerability(None, FLIP, num_users=0), "num_users must be an integer that is 1 or more"),
        (lambda: shuffled_vulnerability([0.5, 0.6], FLIP, num_users=2), "prior must sum to 1; got another sum"),
        (lambda: shuffled_vulnerability([1.5, -0.5], FLIP, num_users=2), "prior must be probabilities of 0 or more"),
        (lambda: shuffled_vulnerability([1.0], FLIP, num_users=2), "prior must be 2 probabilities"),
        (lambda: shuffled_vulnerability([math.nan, 1], FLIP, num_users=2), "prior must be"),
        (lambda: shuffled_vulnerability("ab", FLIP, num_users=2), "prior must be numbers"),
        (lambda: shuffled_vulnerability(["0.5", "0.5"], FLIP, num_users=2), "prior must be numbers"),
        (lambda: shuffled_vulnerability([0.5, None], FLIP, num_users=2), "prior must be numbers"),
        (lambda: shuffled_vulnerability([0.5 + 0j, 0.5], FLIP, num_users=2), "prior must be numbers"),
        (lambda: shuffled_vulnerability([Fraction(1, 2), "x"], FLIP, num_users=2), "prior must be numbers"),
        (
            lambda: shuffled_vulnerability(np.ma.array([0.5, 0.5], mask=[True, False]), FLIP, num_users=2),
            r"prior must be complete; 1 masked, first prior\[0\]",
        ),
        (lambda: shuffled_vulnerability(None, FLIP, [[10**400, 0], [0, 1]], num_users=2), "gain must be numbers"),
        (lambda: shuffled_vulnerability(None, FLIP, [[1, 2, 3]], num_users=2), "gain must be a table .* 2 columns"),
        (lambda: shuffled_vulnerability(None, FLIP, [1, 2], num_users=2), "gain must be a table"),
        (lambda: shuffled_vulnerability(None, FLIP, [[math.inf, 0]], num_users=2), "gain must have finite entries"),
        (
            lambda: shuffled_vulnerability(None, FLIP, [[-1, 0], [0, -1]], num_users=2),
            "gain must have a guess worth 0 or more for every view",
        ),
        (lambda: shuffled_vulnerability(None, FLIP, num_users=2, method="magic"), "method must be one of"),
        (lambda: shuffled_vulnerability(None, FLIP, num_users=2, method="max-load"), "method='max-load' needs"),
        (lambda: shuffled_vulnerability(None, response(2, 0.7), num_users=2), "channel must be a Channel"),
        (lambda: shuffled_fraction([0.5, 0.5], FLIP, num_users=2), "must all be of fractions"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(InvalidParameterError, match=message):
        call()


def test_what_is_too_large_is_bounded_and_names_the_estimate(monkeypatch):
    monkeypatch.setattr(iid, "_FEW_STATES", 1e4)
    monkeypatch.setattr(iid, "_MOST_STATES", 1e5)
    generator = np.random.default_rng(3)
    channel = Channel(generator.dirichlet(np.ones(9), size=3))
    found = shuffled_vulnerability(None, channel, num_users=10_000)
    sampled = shuffled_vulnerability(None, channel, num_users=10_000, method="monte-carlo", source=SeededSource(1))
    assert (found.kind, found.method) == (Kind.UPPER_BOUND, "pairs")
    assert found.lower <= sampled.upper
    assert sampled.lower <= found.upper < found.prior + 1.1 * sampled.additive_leakage
    people = int(re.search(r"feasible for up to (\d+) people.*'monte-carlo' estimates it", found.note)[1])
    kinds = [
        shuffled_vulnerability(None, channel, num_users=number, method="enumeration").kind for number in (4, people)
    ]
    assert kinds == [Kind.EXACT] * 2
    with pytest.raises(InvalidParameterError, match=rf"up to {people} people are feasible"):
        shuffled_vulnerability(None, channel, num_users=people + 1, method="enumeration")
    exact = Channel(response(5, Fraction(1, 2)))
    with pytest.raises(UnsupportedModelError, match="at most 200000 histograms"):
        shuffled_fraction([Fraction(1, 5)] * 5, exact, num_users=1000)


def test_an_interval_covers_what_is_so_rare_that_no_draw_shows_it():
    channel, prior = Channel(response(2, 0.9)), [0.55, 0.45]
    truth = shuffled_vulnerability(prior, channel, num_users=1500).additive_leakage
    assert 0 < truth < 1e-8
    found = shuffled_vulnerability(prior, channel, num_users=1500, method="monte-carlo", source=SeededSource(1))
    assert found.additive_leakage < truth  # nothing of it was drawn, or hardly anything
    assert found.lower < found.prior + truth < found.upper < found.prior + 1e-4
