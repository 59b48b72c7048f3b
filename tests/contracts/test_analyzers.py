"""Every analyzer keeps the contract with every randomizer and shuffler. A new pair is one more class."""

import functools

import numpy as np
import pytest

from contracts.analyzer import AnalyzerContract, bias_in_standard_errors, coverage
from contracts.siblings import SlotShuffler, SubmitterShuffler
from shuffledp.analyzers import FrequencyAnalyzer, HistogramAnalyzer, MeanAnalyzer
from shuffledp.people.graphs import Graph
from shuffledp.protocols.d_sigma.analyzers.regional import RegionalAnalyzer
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.shufflers.mallows import MallowsShuffler
from shuffledp.protocols.d_sigma.shufflers.noisy_sort import NoisySortShuffler
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.protocols.strata.analyzers.post_stratification import StratifiedAnalyzer
from shuffledp.protocols.strata.people.strata import Strata
from shuffledp.protocols.strata.shufflers.stratified import StratifiedShuffler
from shuffledp.randomizers import KaryRandomizedResponse, OptimizedUnaryEncoding, RoundedMean
from shuffledp.shufflers import IdentityShuffler, UniformShuffler
from shuffledp.testing import SeededSource

BINARY = KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
TERNARY = KaryRandomizedResponse(epsilon0=1.5, domain_size=3)
SIXTEEN = KaryRandomizedResponse(epsilon0=2.0, domain_size=16)


class Blind(FrequencyAnalyzer):
    """Takes every view for one of a uniform shuffle, which neither loses reports nor adds any."""

    def summarize(self, view):
        object.__setattr__(view, "shuffle", UniformShuffler().model(view.shuffle.num_users))
        return super().summarize(view)


class Frequencies(AnalyzerContract):
    """Relative frequencies, of a batch that is given by its counts."""

    analyzer = FrequencyAnalyzer()
    counts: tuple[int, ...]

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        cls.values = np.repeat(np.arange(len(cls.counts)), cls.counts)
        cls.truth = np.array(cls.counts) / sum(cls.counts)


class TestBinaryThroughUniform(Frequencies):
    randomizer, shuffler, counts = BINARY, UniformShuffler(), (230, 70)


class TestTernaryThroughUniform(Frequencies):
    randomizer, shuffler, counts = TERNARY, UniformShuffler(), (150, 0, 150)


class TestSixteenThroughUniform(Frequencies):
    randomizer, shuffler, counts = SIXTEEN, UniformShuffler(), (120, 60, 30, 20, *[10] * 7, 0, 0, 0, 0, 0)


class TestTernaryThroughNone(Frequencies):
    randomizer, shuffler, counts = TERNARY, IdentityShuffler(), (150, 90, 60)


class TestTernaryThroughSlots(Frequencies):
    randomizer, shuffler, counts = TERNARY, SlotShuffler(), (100, 140, 60)


NEAR = Groups.from_radius(range(300), 20)


class TestTernaryThroughMallows(Frequencies):
    randomizer, shuffler, counts = TERNARY, MallowsShuffler(groups=NEAR, alpha=1.0), (100, 140, 60)


class TestTernaryThroughLaplaceSort(Frequencies):
    randomizer, shuffler, counts = TERNARY, NoisySortShuffler(groups=NEAR, alpha=1.0), (150, 80, 70)


class ByRegion(AnalyzerContract):
    """Three regions of a line, of a binary answer that is common in the west and rare in the east."""

    randomizer = BINARY
    regions = np.repeat(["east", "middle", "west"], (120, 100, 80))
    values = (np.arange(300) % 10 < np.repeat([1, 4, 8], (120, 100, 80))).astype(int)


class TestRegionsThroughNone(ByRegion):
    shuffler = IdentityShuffler()
    analyzer = RegionalAnalyzer(regions=ByRegion.regions)
    truth = np.array([0.9, 0.1, 0.6, 0.4, 0.2, 0.8])


@functools.cache
def smoothed(shuffler, draws=4000):
    """The expected shares of the answers in the regions' slots, from draws of the shuffle."""
    source, regions, values = SeededSource(77), ByRegion.regions, ByRegion.values
    shares = np.zeros((3, 2))
    for _ in range(draws):
        lying = values[shuffler.draw(source=source)]
        shares += [[np.mean(lying[regions == each] == value) for value in (0, 1)] for each in np.unique(regions)]
    return shares.ravel() / draws


class TestRegionsThroughMallows(ByRegion):
    shuffler = MallowsShuffler(groups=NEAR, alpha=20.0, order=range(300))
    analyzer = RegionalAnalyzer(regions=ByRegion.regions, shuffler=shuffler)

    @property
    def truth(self):
        return smoothed(self.shuffler)

    def test_the_smoothed_target_is_not_that_of_the_region_itself(self):
        assert np.abs(self.truth - [0.9, 0.1, 0.6, 0.4, 0.2, 0.8]).max() > 0.1


class TestRegionsThroughLaplaceSort(ByRegion):
    shuffler = NoisySortShuffler(groups=NEAR, alpha=4.0, order=range(300))
    analyzer = RegionalAnalyzer(regions=ByRegion.regions, shuffler=shuffler)

    @property
    def truth(self):
        return smoothed(self.shuffler)


class OfRegions(StratifiedAnalyzer):
    """The regions alone, of which the estimate of everybody is the first."""

    def estimate(self, summary):
        return super().estimate(summary).regions


class InStrata(AnalyzerContract):
    """Regions and weights that go with the answers: half the people are in one region, and the rare weigh most."""

    regions = np.repeat(["east", "middle", "west"], (1800, 1080, 720))
    weights = np.tile([1.0, 1.0, 2.0, 4.0, 9.0], 720)
    strata = Strata.of({"region": regions, "w": weights}, by="region", weight="w", weight_classes=3)
    below = np.repeat([0, 2, 3], (1800, 1080, 720))
    answers = ((np.arange(3600) % 5 > 2) | (np.arange(3600) // 5 % 4 < below)).astype(int)
    shuffler = StratifiedShuffler(strata)

    def averages(self, values, *places):
        weights = self.strata.table["w"][self.strata.of_person]
        here = [self.regions == place for place in places] or [np.ones(len(weights), dtype=bool)]
        return np.concatenate([np.average(values[each], weights=weights[each], axis=0) for each in here])

    def shuffle_of_nothing(self):
        return super().shuffle_of_nothing() | {"label_table": self.view().label_table}


class TestWeightedFrequencies(InStrata):
    randomizer, values = BINARY, InStrata.answers
    analyzer = StratifiedAnalyzer(analyzer=FrequencyAnalyzer(), weight="w")

    @property
    def truth(self):
        return self.averages(np.eye(2)[self.values])

    def test_estimates_that_ignore_the_weights_are_found_out(self):
        unweighted = StratifiedAnalyzer(analyzer=FrequencyAnalyzer())
        estimates = np.array([unweighted.estimate(unweighted.summarize(self.view())).estimate for _ in range(60)])
        assert bias_in_standard_errors(estimates, self.truth).min() > 5


class TestWeightedUnaryEncodingsByRegion(InStrata):
    randomizer, values = OptimizedUnaryEncoding(epsilon0=2.0, domain_size=2), InStrata.answers
    analyzer = OfRegions(analyzer=FrequencyAnalyzer(), by="region", weight="w")

    @property
    def truth(self):
        return self.averages(np.eye(2)[self.values], "east", "middle", "west")


class TestWeightedMeansByRegion(InStrata):
    randomizer = RoundedMean(epsilon0=1.5, lower=0, upper=10)
    values = 3.0 * InStrata.answers + np.arange(3600) % 7
    analyzer = OfRegions(analyzer=MeanAnalyzer(), by="region", weight="w")

    @property
    def truth(self):
        return self.averages(np.array(self.values)[:, None], "east", "middle", "west")


class TestFewWeightedReports(InStrata):
    """Of few reports with little noise, whose intervals are exact."""

    strata = Strata.of({"w": np.repeat([1.0, 5.0], (140, 70))}, weight="w", weight_classes=2)
    randomizer, values = KaryRandomizedResponse(epsilon0=3.0, domain_size=2), (np.arange(210) % 20 == 0).astype(int)
    shuffler = StratifiedShuffler(strata)
    analyzer = StratifiedAnalyzer(analyzer=FrequencyAnalyzer(), weight="w")

    @property
    def truth(self):
        return self.averages(np.eye(2)[self.values])

    def test_intervals_cover_the_truth_in_93_to_99_percent_of_many_runs(self):
        lower, upper = self.ends()
        covered = ((lower <= self.truth) & (self.truth <= upper)).mean(axis=0)
        assert 0.93 < covered.min() <= covered.max() < 0.99


FRIENDS = Graph.random_regular(8, 300, SeededSource(1))


class TestTernaryThroughWalksOfAll(Frequencies):
    randomizer, shuffler, counts = TERNARY, RandomWalkShuffler(graph=FRIENDS, num_rounds=12), (60, 140, 100)


class TestLossesOnTheWay(Frequencies):
    """With so little noise that most of the error is from who is lost."""

    randomizer, counts = KaryRandomizedResponse(epsilon0=5.0, domain_size=3), (60, 140, 100)
    shuffler = RandomWalkShuffler(graph=FRIENDS, num_rounds=12, dropout=0.02)

    def test_an_error_that_ignores_the_losses_is_found_out(self):
        results = [Blind().estimate(Blind().summarize(self.view())) for _ in range(200)]
        estimates = np.array([each.estimate for each in results])
        assert coverage(estimates, np.array([each.margin for each in results]), self.truth).max() < 0.9


class TestSinglesAndDummies(Frequencies):
    randomizer, counts = KaryRandomizedResponse(epsilon0=4.0, domain_size=3), (60, 140, 100)
    shuffler = RandomWalkShuffler(graph=FRIENDS, num_rounds=12, protocol="single", dummies=randomizer, dummy_value=1)

    def test_an_estimator_that_ignores_the_dummies_is_found_out(self):
        results = [Blind().estimate(Blind().summarize(self.view())) for _ in range(200)]
        estimates = np.array([each.estimate for each in results])
        assert bias_in_standard_errors(estimates, self.truth).max() > 10


@pytest.mark.deep
class TestBinsThroughSinglesAndDummies(TestSinglesAndDummies):
    """Sums of frequencies know of dummies what frequencies do."""

    analyzer = HistogramAnalyzer(edges=(0, 1, 2, 3), quantiles=())


@pytest.mark.deep
class TestBinsAndLossesOnTheWay(TestLossesOnTheWay):
    analyzer = HistogramAnalyzer(edges=(0, 1, 2, 3), quantiles=())


class TestPaddedBagsAndLosses(Frequencies):
    randomizer, counts = KaryRandomizedResponse(epsilon0=3.0, domain_size=3), (60, 140, 100)
    shuffler = RandomWalkShuffler(graph=FRIENDS, num_rounds=12, protocol="padded", submissions=2, dropout=0.02)


class TestTernaryThroughSubmittersAndDummies(Frequencies):
    randomizer, shuffler, counts = TERNARY, SubmitterShuffler(TERNARY), (60, 140, 100)

    def test_an_estimator_that_ignores_the_dummies_is_found_out(self):
        results = [Blind().estimate(Blind().summarize(self.view())) for _ in range(200)]
        estimates = np.array([each.estimate for each in results])
        margins = np.array([each.margin for each in results])
        assert bias_in_standard_errors(estimates, self.truth).max() > 10
        assert coverage(estimates, margins, self.truth).min() < 0.5
