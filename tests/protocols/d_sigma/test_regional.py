"""Estimates by region: kernels, means, what the smoothed target is, and what is refused."""

import math

import numpy as np
import pytest

from shuffledp.core.errors import IncomparableError, InvalidParameterError, UnsupportedModelError
from shuffledp.people.graphs import Graph
from shuffledp.protocols.d_sigma.analyzers.regional import RegionalAnalyzer, _ReportOrigins
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.shufflers.mallows import MallowsShuffler
from shuffledp.protocols.d_sigma.shufflers.noisy_sort import NoisySortShuffler
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.randomizers import KaryRandomizedResponse, OneBitMean
from shuffledp.shufflers import IdentityShuffler, UniformShuffler
from shuffledp.testing import SeededSource

PLACES = np.linspace(0, 1, 400)
TRUTHFUL = KaryRandomizedResponse(epsilon0=30.0, domain_size=2)


def estimated(analyzer, reports, shuffler=None):
    view = (shuffler or IdentityShuffler()).shuffle(reports, source=SeededSource(2))
    return analyzer.estimate(analyzer.summarize(view))


def test_a_kernel_weighs_reports_by_distance_and_each_row_says_where():
    values = (PLACES > 0.5).astype(int)
    analyzer = RegionalAnalyzer.from_kernel(PLACES, [0.1, 0.5, 0.9], 0.1)
    rows = estimated(analyzer, TRUTHFUL.randomize(values, source=SeededSource(1))).rows()
    ones = {row["where"]["center"]: row["estimate"] for row in rows if row["target"] == "1"}
    weights = np.exp(-((PLACES - 0.1) ** 2) / 0.02)
    assert ones[0.1] == pytest.approx(float(weights @ values / weights.sum()), abs=1e-6)
    assert ones[0.1] < 0.01
    assert ones[0.5] == pytest.approx(0.5, abs=0.1)
    assert ones[0.9] > 0.99


def test_unequal_weights_count_as_fewer_reports():
    reports = KaryRandomizedResponse(epsilon0=1.0, domain_size=2).randomize([0] * 400, source=SeededSource(1))
    even = estimated(RegionalAnalyzer(weights=np.ones((1, 400))), reports)
    uneven = estimated(RegionalAnalyzer(weights=np.r_[np.ones(100), np.zeros(300)][None]), reports)
    assert uneven.standard_error[0] == pytest.approx(2 * even.standard_error[0], rel=0.2)


def test_intervals_of_kernels_cover_the_chances_of_the_place_with_both_errors():
    randomizer, source = KaryRandomizedResponse(epsilon0=1.5, domain_size=2), SeededSource(6)
    chances, draw = 0.2 + 0.6 * PLACES, np.random.default_rng(6)
    analyzer = RegionalAnalyzer.from_kernel(PLACES, [0.3, 0.7], 0.1)
    weights = np.exp(-((PLACES[None] - np.array([[0.3], [0.7]])) ** 2) / 0.02)
    truth = weights @ chances / weights.sum(axis=1)
    covered, narrow = np.zeros(2), np.zeros(2)
    for _ in range(1500):
        reports = randomizer.randomize((draw.uniform(size=400) < chances).astype(int), source=source)
        estimate = estimated(analyzer, reports)
        away = np.abs(estimate.estimate[1::2] - truth)
        covered += away < 1.96 * estimate.population_error[1::2]
        narrow += away < 0.75 * 1.96 * estimate.population_error[1::2]
    assert ((covered / 1500 > 0.93) & (covered / 1500 < 0.97)).all()
    assert (narrow / 1500 < 0.93).all()


def test_means_by_region():
    values = np.where(PLACES < 0.5, 2.0, 8.0)
    reports = OneBitMean(epsilon0=4.0, lower=0.0, upper=10.0).randomize(values, source=SeededSource(3))
    estimate = estimated(RegionalAnalyzer(regions=np.where(PLACES < 0.5, "low", "high")), reports)
    assert [where["region"] for where in estimate.where] == ["high", "low"]
    assert estimate.target == ("value", "value")
    assert np.abs(estimate.estimate - [8.0, 2.0]).max() < 4 * estimate.standard_error.max()
    assert estimate.possible == (0.0, 10.0)
    few = estimated(RegionalAnalyzer(regions=np.arange(len(values))), reports)
    assert few.lower.min() == 0
    assert few.upper.max() == 10


def test_a_shuffle_pulls_regions_towards_their_neighbors():
    values = (PLACES > 0.5).astype(int)
    groups = Groups.from_radius(np.arange(400), 30)
    shuffler = MallowsShuffler(groups=groups, alpha=4.0, order=range(400))
    regions = np.repeat(["a", "b"], 200)
    plain, told = RegionalAnalyzer(regions=regions), RegionalAnalyzer(regions=regions, shuffler=shuffler)
    reports = TRUTHFUL.randomize(values, source=SeededSource(1))
    assert 0.05 < estimated(plain, reports, shuffler).estimate[1] < 0.5
    without, with_shuffle = (estimated(each, reports, shuffler).standard_error[1] for each in (plain, told))
    assert with_shuffle > 100 * without  # almost all of the error is from who happened to lie there


@pytest.mark.parametrize("alpha", [20.0, 500.0])
@pytest.mark.parametrize("answers", ["contrast", "mixed", "cluster"])
def test_intervals_of_places_of_few_slots_cover_the_smoothed_target(answers, alpha):
    """Where one to ten slots say all the same, their own spread would seem to be 0."""
    people, source = 300, SeededSource(99)
    regions = np.zeros(people, dtype=int)
    regions[0], regions[150], regions[151:153], regions[200:207] = 1, 2, 3, 4
    numbers = np.arange(people)
    values = {"contrast": np.isin(regions, [1, 2, 3]), "mixed": numbers % 2 == 1, "cluster": regions == 4}[answers]
    groups = Groups.from_radius(numbers, 12)
    shuffler = NoisySortShuffler(groups=groups, alpha=alpha, order=range(people))
    analyzer = RegionalAnalyzer(regions=regions, shuffler=shuffler)
    draws = np.array([shuffler.draw(source=source) for _ in range(400)])
    target = np.array([values[draws[:, regions == region]].mean() for region in range(5)])
    covered, margins = [], []
    reports = TRUTHFUL.randomize(values.astype(int), source=SeededSource(1))
    for _ in range(300):
        estimate = analyzer.estimate(analyzer.summarize(shuffler.shuffle(reports, source=source)))
        covered.append((estimate.lower[1::2] <= target) & (target <= estimate.upper[1::2]))
        margins.append(estimate.margin[1::2])
    assert (np.mean(covered, axis=0)[1:] > 0.93).all()
    assert np.array(margins).max() <= 0.99  # an interval that covered everything would cover too


@pytest.mark.parametrize("draws", [4, 8, 64])
def test_variances_from_few_draws_are_stretched_so_that_intervals_still_cover(draws):
    rng, regions = np.random.default_rng(draws), 40_000
    landing = _ReportOrigins(rng.normal(size=(draws, regions, 1)), np.zeros((regions, 1)))
    margins = 1.96 * np.sqrt(landing.variance(np.ones((1, 1)), np.zeros((1, 1)), 0.95))[:, 0]
    covered = (np.abs(rng.normal(size=regions)) <= margins).mean()
    assert 0.935 < covered < 0.96  # unstretched it is 0.86 for 4 draws, and 0.91 for 8


def test_where_nothing_moves_few_slots_are_as_certain_as_many():
    groups = Groups.from_radius(np.arange(40), 3)
    shuffler = MallowsShuffler(groups=groups, alpha=math.inf, order=range(40))
    analyzer = RegionalAnalyzer(regions=[0] * 39 + [1], shuffler=shuffler)
    estimate = estimated(analyzer, TRUTHFUL.randomize([0] * 39 + [1]), shuffler)
    assert estimate.estimate[1::2] == pytest.approx([0.0, 1.0], abs=1e-6)
    assert estimate.standard_error.max() < 1e-5


def test_regions_without_reports_are_left_out():
    analyzer = RegionalAnalyzer(weights=np.vstack([np.ones(400), np.zeros(400)]))
    estimate = estimated(analyzer, TRUTHFUL.randomize([0] * 400))
    assert [where["region"] for where in estimate.where] == [0, 0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "exactly one of regions and weights"),
        ({"regions": ["a"], "weights": [[1.0]]}, "exactly one of regions and weights"),
        ({"regions": []}, "regions must be one label per slot"),
        ({"weights": [[-1.0]]}, "weights must be finite numbers of 0 or more"),
        ({"weights": [[math.nan]]}, "weights must be finite numbers of 0 or more"),
        ({"regions": ["a"], "level": 1.0}, "level must be a number strictly between"),
        ({"regions": ["a"], "where": ({}, {})}, "where must be one for each of 1 regions"),
        ({"regions": ["a"], "num_draws": 1}, "num_draws must be an integer that is 2 or more"),
        ({"weights": [[1.0]], "shuffler": object()}, "shuffler must be given with regions"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    options = {("shape_of_regions" if key == "none" else key): value for key, value in options.items()}
    with pytest.raises(InvalidParameterError, match=message.replace("regions must", "(shape_of_)?regions must")):
        RegionalAnalyzer(**options)


def test_views_without_slots_of_other_sizes_and_of_other_regions_are_refused():
    reports = TRUTHFUL.randomize([0] * 400)
    analyzer = RegionalAnalyzer(regions=["a"] * 400)
    with pytest.raises(UnsupportedModelError, match="labels that are people's slots"):
        estimated(analyzer, reports, UniformShuffler())
    with pytest.raises(UnsupportedModelError, match="labels that are people's slots; got a 'network' shuffle"):
        estimated(analyzer, reports, RandomWalkShuffler(graph=Graph.random_regular(4, 400), num_rounds=3))
    with pytest.raises(InvalidParameterError, match="num_labels must be the slots of the regions"):
        estimated(RegionalAnalyzer(regions=["a"] * 3), reports)
    summary = analyzer.summarize(IdentityShuffler().shuffle(reports))
    two = RegionalAnalyzer(regions=["a", "b"] * 200)
    with pytest.raises(IncomparableError, match="the same regions"):
        summary + two.summarize(IdentityShuffler().shuffle(reports))
    with pytest.raises(InvalidParameterError, match="num_regions must be one for each of 2"):
        two.estimate(summary)
    with pytest.raises(InvalidParameterError, match="one row each"):
        RegionalAnalyzer.from_kernel([0.0, math.inf], [0.0], 1.0)
    with pytest.raises(InvalidParameterError, match="with 1 columns"):
        RegionalAnalyzer.from_kernel([0.0, 1.0], [[0.0, 0.0]], 1.0)
