"""Shuffles that are not uniform: the law of the place, the worst law that exchanges allow, and what bags tell."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from leakage.brute import bayes, response, shuffled_views, vulnerability
from shuffledp.core.channels import Channel
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.shuffle_models import PositionLaw
from shuffledp.core.statement_terms import Kind
from shuffledp.laws import kendall_position_law, mallows_law
from shuffledp.leakage import maximum_bounds as bounding
from shuffledp.leakage.guess_scores import scores
from shuffledp.leakage.nonuniform_shuffle import (
    _above_corners,
    _corner,
    _mixture_bound,
    _normal_bound,
    _searched,
    _uniform,
    best_at,
    slots_of,
    worst_within,
)
from shuffledp.leakage.uniform_shuffle import best_guess
from shuffledp.testing import SeededSource

UNEVEN = np.array([[0.5, 1 / 3, 1 / 6], [0.25, 0.25, 0.5]])


def found(matrix, prior=None):
    matrix = np.array(matrix, dtype=np.float64)
    prior = np.full(len(matrix), 1 / len(matrix)) if prior is None else np.array(prior)
    return scores(matrix, prior, np.eye(len(matrix)))


def near(value, rel=1e-11):
    return pytest.approx(float(value), rel=rel, abs=1e-15)


def random_law(people, seed):
    generator = np.random.default_rng(seed)
    orders = list(itertools.permutations(range(people)))
    return dict(zip(orders, generator.dirichlet(np.full(len(orders), 0.4)).tolist(), strict=True))


@pytest.mark.parametrize("matrix", [response(2, 0.8), UNEVEN, response(3, 0.6)], ids=["k=2", "uneven", "k=3"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_only_the_law_of_the_place_matters(matrix, seed):
    """Any law of permutations that does not look at the reports."""
    law, prior = random_law(3, seed), np.linspace(1.0, 1.2, len(matrix))
    prior /= prior.sum()
    places = np.zeros(3)
    for order, chance in law.items():
        places[order.index(0)] += chance
    expected = vulnerability(shuffled_views(np.array(matrix), prior, 3, law), prior, bayes(len(matrix)))
    each = found(matrix, prior)
    assert each.prior + best_at(each, slots_of(places)).excess == near(expected)
    if len(matrix) == 2:
        bound = best_guess(each, slots_of(places), method="convolution")
        assert bound.lower <= expected - each.prior + 1e-14
        assert expected - each.prior <= bound.upper + 1e-14


def test_more_concentrated_laws_tell_more():
    each = found(UNEVEN)
    for low, high in (([0.25] * 4, [0.4, 0.2, 0.2, 0.2]), ([0.4, 0.2, 0.2, 0.2], [0.4, 0.4, 0.1, 0.1])):
        assert best_at(each, slots_of(low)).excess < best_at(each, slots_of(high)).excess


@pytest.mark.parametrize("distance", ["kendall", "hamming", "cayley"])
def test_nobody_is_worse_off_than_the_person_whose_law_the_model_gives(distance):
    from shuffledp.protocols.d_sigma.shufflers.mallows import _position_law

    for people, theta in ((4, 0.7), (5, 0.3)):
        law, worst = mallows_law(people, theta, distance=distance), slots_of(_position_law(people, theta, distance))
        given = np.sort(np.concatenate([np.full(count, weight) for weight, count in worst]))[::-1]
        tightest = math.inf
        for person in range(people):
            places = np.zeros(people)
            for w, chance in law.items():
                places[w.index(person)] += float(chance)
            sums = np.cumsum(np.sort(places)[::-1])
            assert (sums <= np.cumsum(given) + 1e-12).all()
            tightest = min(tightest, float(np.abs(sums - np.cumsum(given)).max()))
        assert tightest < 1e-12


def test_the_end_of_a_long_block_is_the_worst_place_of_kendalls_law():
    people, theta = 30, 0.2
    end = np.cumsum(np.sort(kendall_position_law(people, theta, 0))[::-1])
    for rank in range(people):
        assert (np.cumsum(np.sort(kendall_position_law(people, theta, rank))[::-1]) <= end + 1e-12).all()


@pytest.mark.parametrize("matrix", [response(2, 0.8), UNEVEN, response(3, 0.7)], ids=["k=2", "uneven", "k=3"])
@pytest.mark.parametrize("cost", [0.0, 0.5, 2.0, 5.0])
def test_no_law_that_exchanges_allow_tells_more_than_the_worst(matrix, cost):
    each, generator = found(matrix), np.random.default_rng(8)
    for size in (1, 2, 4):
        worst = worst_within(each, size, cost)
        for _ in range(20):
            places = np.exp(cost * generator.random(size) ** generator.choice([0.1, 1, 10]))
            assert best_at(each, slots_of(places / places.sum())).excess <= worst + 1e-13
        corners = []
        for heavy in range(size):
            places = np.exp(cost * (np.arange(size) < heavy))
            corners.append(best_at(each, slots_of(places / places.sum())).excess)
        if len(matrix[0]) == 2:
            assert worst == near(max(corners))
        else:
            assert worst >= max(corners) - 1e-14


@pytest.mark.parametrize("cost", [1e-300, 1e-17, 1e-12])
@pytest.mark.parametrize("size", [100, 400])
def test_a_cost_that_floats_do_not_tell_from_none_tells_hardly_more_than_none(size, cost):
    small = found(response(2, 1.0))
    uniform = worst_within(small, size, 0.0)
    assert uniform <= worst_within(small, size, cost) <= uniform * 1.01


def test_bounds_of_many_people_hold_where_the_maximum_is_known():
    for prior in (None, [0.4, 0.6]):
        small = found(response(2, 0.9), prior).reduced()
        for cost in (0.3, 1.0, 3.0):
            exact = worst_within(small, 120, cost)
            assert exact <= _mixture_bound(_uniform(small), 120, cost) <= _uniform(small)(1) + 1e-12
            assert exact <= _normal_bound(small, 120, cost)
    small = found(response(2, 1.0)).reduced()
    uniform = worst_within(small, 50_000, 0.0)
    assert uniform < worst_within(small, 50_000, 1.0) < 1.3 * uniform
    assert worst_within(small, 50_000, math.inf) == near(0.5)


def test_many_weights_are_bounded_from_both_sides():
    weights = np.exp(-0.05 * np.arange(120))
    places = weights / weights.sum()
    each = found(response(2, 0.9))
    bound = best_at(each, slots_of(places))
    direct = best_guess(each, slots_of(places), method="convolution")
    assert bound.kind is Kind.UPPER_BOUND
    assert bound.lower <= direct.upper
    assert direct.lower <= bound.upper
    assert bound.upper - bound.lower < 0.02 * bound.upper
    sampled = best_guess(each, slots_of(places), method="monte-carlo")
    assert sampled.lower <= bound.upper
    assert bound.lower <= sampled.upper


def expected_absolute(weights):
    """E |sum of weights times independent signs|, from the characteristic function of the sum."""
    ends = 60 / math.sqrt(float(weights @ weights))
    places = np.linspace(1e-9, ends, 100_001)
    product = np.ones_like(places)
    for weight in weights:
        product *= np.cos(weight * places)
    inside = np.trapezoid((1 - product) / places**2, places)
    return 2 / math.pi * (float(inside) + 1 / ends)


def test_places_of_many_probabilities_are_estimated_from_their_own_law():
    places = np.random.default_rng(3).dirichlet(np.full(100, 0.1))
    each, slots = found(response(2, 0.9)), slots_of(places)
    truth = 0.4 * expected_absolute(places)
    sampled = best_at(each, slots, method="monte-carlo", source=SeededSource(1))
    assert sampled.lower <= truth <= sampled.upper < 1.05 * truth
    assert sampled == best_guess(each, slots, method="monte-carlo", source=SeededSource(1))
    normal = 0.4 * math.sqrt(2 / math.pi * float(places @ places))
    assert best_at(each, slots, method="gaussian").excess == near(normal)


def test_pairs_of_guesses_bound_what_cannot_be_enumerated():
    slots = ((0.02, 1), (0.98 / 499, 499))
    bound = best_at(found(response(5, 0.5)), slots)
    sampled = best_at(found(response(5, 0.5)), slots, method="monte-carlo")
    assert (bound.kind, bound.method, sampled.kind) == (Kind.UPPER_BOUND, "pairs", Kind.ESTIMATE)
    assert bound.lower <= sampled.upper
    assert sampled.lower <= bound.upper < 1.1 * sampled.excess


def test_what_is_seen_of_bags_must_be_conditioned_on():
    """Two people, two holders, the target's report at either one: the other one's place matters."""
    each = found(response(2, 0.75))
    alike, alone = (each.prior + best_at(each, slots_of(places)).excess for places in ([0.5, 0.5], [1.0]))
    opposite = alike  # both hold one report each; which one is the target's is not seen
    pinned = (alike + alone) / 2  # the other one's is always with the first holder: half the time the second has one
    assert (opposite, pinned) == (near(Fraction(5, 8)), near(Fraction(11, 16)))


@pytest.mark.parametrize("places", [[0.5, 0.6], [-0.5, 1.5], [], [[1.0]], ["a"], ["1"], [None], [1j], [math.nan, 1.0]])
def test_places_that_are_no_law_are_refused(places):
    with pytest.raises(InvalidParameterError, match="positions must"):
        slots_of(places)


def test_a_law_of_places_is_slots():
    assert slots_of(PositionLaw(weights=(0.5, 0.25), counts=(1, 2))) == ((0.5, 1), (0.25, 2))
    assert Channel(response(2, 0.75)).epsilon() == near(math.log(3))


def test_many_people_are_bounded_by_little_more_than_the_worst_corner():
    """The exact maximum is what 300 people have; bounds of more go on from there."""
    for prior in (None, [0.4, 0.6]):
        small = found(response(2, 0.9), prior).reduced()
        for cost in (0.3, 1.0, 3.0):
            exact = max(best_guess(small, _corner(150, heavy, cost)).upper for heavy in range(150))
            assert exact <= _searched(small, 150, cost) <= 1.002 * exact
    small = found(response(2, math.e / (1 + math.e))).reduced()
    few, more = (worst_within(small, people, 1.0) * math.sqrt(people) for people in (300, 301))
    assert 0.999 * few < more < 1.002 * few


def test_laws_above_corners_are_more_concentrated():
    for low, high in ((1, 1), (1, 9), (3, 5), (4, 8)):
        above = sorted(_above_corners(10, low, high, 1.5), reverse=True)
        sums = np.cumsum(np.concatenate([np.full(count, weight) for weight, count in above]))
        assert sums[-1] == pytest.approx(1, abs=1e-12)
        for heavy in range(low, high + 1):
            corner = sorted(_corner(10, heavy, 1.5), reverse=True)
            assert (np.cumsum(np.concatenate([np.full(n, weight) for weight, n in corner])) <= sums + 1e-12).all()


@pytest.mark.parametrize(
    "matrix", [response(3, 0.7), pytest.param(response(5, 0.5), marks=pytest.mark.deep)], ids=["k=3", "k=5"]
)
@pytest.mark.parametrize("theta", [0.1, 0.7])
def test_the_heaviest_slots_bound_from_both_sides(matrix, theta):
    """A law of which histograms can all be enumerated, and one of which they cannot."""
    each = found(matrix)
    few = slots_of(kendall_position_law(6, theta, 0))
    exact = best_guess(each, few, method="enumeration")
    for kept in range(1, 6):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bounding, "_MOST_STATES", 1.01 * len(matrix) ** (kept + 1))
            bound = bounding.by_heaviest(each.reduced(), few)
        assert bound.lower <= exact.upper + 1e-13
        assert exact.lower <= bound.upper + 1e-13
    assert bound.lower > 0.5 * exact.excess
    bound = best_at(each, slots_of(kendall_position_law(1000, theta, 0)))
    sampled = best_guess(each, slots_of(kendall_position_law(200, theta, 0)), method="monte-carlo")
    assert bound.lower <= sampled.upper
    assert sampled.lower <= bound.upper
    assert bound.upper - bound.lower < 0.2 * bound.upper
