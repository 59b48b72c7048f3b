"""Every analyzer keeps the contract with every randomizer and shuffler. A new pair is one more class."""

import functools

import numpy as np

from contracts.analyzer import AnalyzerContract, bias_in_standard_errors, coverage
from contracts.siblings import SlotShuffler, SubmitterShuffler
from shuffledp.analyzers import FrequencyAnalyzer, RegionalAnalyzer
from shuffledp.people.graphs import Graph
from shuffledp.people.groups import Groups
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.shufflers import (
    IdentityShuffler,
    MallowsShuffler,
    NoisySortShuffler,
    RandomWalkShuffler,
    UniformShuffler,
)
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
