"""Every analyzer keeps the contract with every randomizer and shuffler. A new pair is one more class."""

import numpy as np

from contracts.analyzer import AnalyzerContract, bias_in_standard_errors, coverage
from contracts.siblings import SlotShuffler, SubmitterShuffler
from shuffledp.analyzers import FrequencyAnalyzer
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.shufflers import IdentityShuffler, UniformShuffler

BINARY = KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
TERNARY = KaryRandomizedResponse(epsilon0=1.5, domain_size=3)
SIXTEEN = KaryRandomizedResponse(epsilon0=2.0, domain_size=16)


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


class TestTernaryThroughSubmittersAndDummies(Frequencies):
    randomizer, shuffler, counts = TERNARY, SubmitterShuffler(TERNARY), (60, 140, 100)

    def test_an_estimator_that_ignores_the_dummies_is_found_out(self):
        class Blind(FrequencyAnalyzer):
            def summarize(self, view):
                object.__setattr__(view, "shuffle", UniformShuffler().model(view.shuffle.num_users))
                return super().summarize(view)

        results = [Blind().estimate(Blind().summarize(self.view())) for _ in range(200)]
        estimates = np.array([each.estimate for each in results])
        margins = np.array([each.margin for each in results])
        assert bias_in_standard_errors(estimates, self.truth).max() > 10
        assert coverage(estimates, margins, self.truth).min() < 0.5
