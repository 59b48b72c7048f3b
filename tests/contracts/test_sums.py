"""Split and mix keeps the contract of randomizers, and the analyzer of sums that of analyzers, with each shuffler."""

import numpy as np
import pyarrow as pa
import pytest

import shuffledp as sdp
from contracts.analyzer import AnalyzerContract, bias_in_standard_errors, coverage
from contracts.numbers import NumberRandomizerContract, WithoutFiniteChannel
from contracts.randomizer import SECRET, RandomizerContract
from contracts.siblings import RoundShuffler
from shuffledp.protocols.shares.analyzers.bit_counts import BitSumAnalyzer
from shuffledp.protocols.shares.analyzers.sums import SumAnalyzer
from shuffledp.protocols.shares.randomizers.counted_bits import CountedBits
from shuffledp.protocols.shares.randomizers.split_and_mix import SplitAndMix
from shuffledp.protocols.shares.shufflers.parallel import ParallelShuffler
from shuffledp.shufflers import IdentityShuffler, UniformShuffler

PEOPLE = 301

# ---- randomizers ----------------------------------------------------------------------------------------------------


class WithoutContributions:
    """Mixed in where single reports stand for nothing: the tests of their contributions do not apply."""

    test_its_model_is_one_of_means = None
    test_contributions_are_floats_of_the_shape_of_the_values = None
    test_the_noise_variance_is_above_zero_even_for_estimates_outside_the_range = None

    def test_any_share_but_one_of_two_equal_people_differs(self):
        reports = self.randomize(self.values)
        shares = reports["residue"].reshape(len(self.values), -1)
        assert (shares[0] != shares[1]).any()
        assert sorted(set(reports["round"].tolist())) == list(range(self.randomizer.num_messages))


class TestSplitAndMix(WithoutContributions, WithoutFiniteChannel, NumberRandomizerContract):
    randomizer = SplitAndMix(num_users=1000, epsilon=1.0, lower=-1, upper=1, num_shares=5)
    clipping = SplitAndMix(num_users=1000, epsilon=1.0, lower=-1, upper=1, num_shares=5, clip=True)
    values = tuple(np.linspace(-1, 1, PEOPLE).tolist())


class TestSplitAndMixOfIntegers(WithoutContributions, WithoutFiniteChannel, RandomizerContract):
    randomizer = SplitAndMix(num_users=1000, epsilon=1.0, lower=0, upper=9, num_shares=3, integer=True)
    values = tuple((np.arange(PEOPLE) % 10).tolist())

    def test_what_is_no_integer_in_the_range_is_refused_without_being_shown(self):
        for values in ([0, SECRET], [0, -SECRET], [0, 0.5 + SECRET], [0.5, 1.0], [0, np.nan], ["0", f"{SECRET}"]):
            self.assert_refused(values)


class TestSplitAndMixOfVectors(WithoutContributions, WithoutFiniteChannel, RandomizerContract):
    randomizer = SplitAndMix(num_users=1000, epsilon=3.0, lower=0, upper=2, num_shares=4, dimension=3)
    values = tuple(np.random.default_rng(0).uniform(0, 2, (PEOPLE, 3)).tolist())

    def wrong(self):
        return {
            "outside": [[0, 1, 2], [0, 1, float(SECRET)]],
            "not a number": [[0, 1, 2], [0, 1, np.nan]],
            "infinite": [[0, 1, 2], [0, 1, np.inf]],
            "ragged": [[0, 1, 2], [0, float(SECRET)]],
            "too many coordinates": [[0, 1, 2, SECRET]],
            "numbers": [1.0, float(SECRET)],
            "nothing at all": None,
            "text": [["0", "1", f"{SECRET}"]],
            "missing": [[0, 1, 2], None],
            "missing inside": pa.array([[0.0, 1.0, 2.0], [None, 1.0, 2.0]]),
        }

    def test_wrong_vectors_are_refused_without_being_shown(self):
        for values in self.wrong().values():
            self.assert_refused(values)


class TestSplitAndMixOfShortVectors(TestSplitAndMixOfVectors):
    randomizer = SplitAndMix(num_users=1000, epsilon=3.0, lower=0, upper=3, num_shares=4, dimension=3, l1_bounded=True)
    values = tuple((3 * np.random.default_rng(0).dirichlet(np.ones(3), PEOPLE)).tolist())

    def wrong(self):
        return super().wrong() | {"too long": [[0, 1, 2], [1, 1, 1.1]], "negative": [[0, 1, 2], [0, 0, -0.5]]}


class TestCountedBits(WithoutContributions, WithoutFiniteChannel, NumberRandomizerContract):
    test_any_share_but_one_of_two_equal_people_differs = None
    randomizer = CountedBits(num_users=1000, lower=-1, upper=1, value_bits=5, coins=3)
    clipping = CountedBits(num_users=1000, lower=-1, upper=1, value_bits=5, coins=3, clip=True)
    values = tuple(np.linspace(-1, 1, PEOPLE).tolist())


class TestVectorSum(WithoutContributions, WithoutFiniteChannel, RandomizerContract):
    randomizer = sdp.calibrate.vector_sum(num_users=1000, epsilon=4.0, delta=1e-5, largest_norm=2.0, dimension=3)
    values = tuple((np.random.default_rng(0).uniform(-1, 1, (PEOPLE, 3))).tolist())

    def test_wrong_vectors_are_refused_without_being_shown(self):
        for values in TestSplitAndMixOfVectors.wrong(self).values():
            self.assert_refused(values)


# ---- the analyzer ---------------------------------------------------------------------------------------------------


class Sums(AnalyzerContract):
    """The sum over a batch that is given by its values."""

    analyzer = SumAnalyzer()
    shuffler = UniformShuffler()

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if hasattr(cls, "values"):
            values = np.array(cls.values)
            of = values.mean if cls.analyzer.statistic == "mean" else values.sum
            cls.truth = np.atleast_1d(of(axis=0))


class TestSumThroughUniform(Sums):
    randomizer = SplitAndMix(num_users=80, epsilon=1.0, lower=0, upper=50, num_shares=4)
    values = tuple(np.linspace(3, 50, 80).tolist())


class TestMeanThroughRounds(Sums):
    analyzer = SumAnalyzer(statistic="mean")
    randomizer = SplitAndMix(num_users=100, epsilon=0.5, lower=-1, upper=1, num_shares=3)
    shuffler = RoundShuffler(3)
    values = tuple(np.linspace(-1, 0.5, 100).tolist())


class TestMeanOfCountedBits(Sums):
    analyzer = BitSumAnalyzer(statistic="mean")
    randomizer = CountedBits(num_users=100, lower=-1, upper=1, value_bits=3, coins=8)
    values = tuple(np.linspace(-1, 0.5, 100).tolist())


@pytest.mark.deep
class TestMeanOfVectorsInBlocks(Sums):
    analyzer = SumAnalyzer(statistic="mean")
    randomizer = sdp.calibrate.vector_sum(
        num_users=70, epsilon=8.0, delta=1e-3, largest_norm=1.0, dimension=3, block=2, share_variance=64.0
    )
    values = tuple(np.random.default_rng(0).uniform(-0.5, 0.5, (70, 3)).tolist())


class TestSumOfThoseWhoCame(Sums):
    """Three quarters of the people: there is less noise, of another shape."""

    randomizer = SplitAndMix(num_users=120, epsilon=1.0, lower=-5, upper=5, num_shares=4)
    values = tuple(np.linspace(-4, 5, 90).tolist())
    seed = 2

    def test_an_estimator_that_counts_the_planned_people_is_found_out(self):
        estimates, margins = self.runs()
        missing = 30 * self.randomizer.model.lower  # what the others would have begun at
        assert bias_in_standard_errors(estimates + missing, self.truth).max() > 5
        assert coverage(estimates + missing, margins, self.truth).min() < 0.9


@pytest.mark.deep
class TestSumWithNoiseOfTwiceAsManyAsNeeded(Sums):
    randomizer = SplitAndMix(num_users=100, epsilon=0.5, lower=0, upper=1, num_shares=4, noise_users=50)
    values = tuple(np.linspace(0, 1, 100).tolist())


class TestSumOfIntegersThroughParallelRounds(Sums):
    randomizer = SplitAndMix(num_users=60, epsilon=0.8, lower=0, upper=40, num_shares=4, integer=True)
    shuffler = ParallelShuffler(UniformShuffler(), 4)
    values = tuple(range(60 // 2)) * 2


class TestMeansOfCoordinatesThroughImperfectRounds(Sums):
    analyzer = SumAnalyzer(statistic="mean")
    randomizer = SplitAndMix(num_users=70, epsilon=3.0, lower=0, upper=1, num_shares=3, dimension=3)
    shuffler = ParallelShuffler(sdp.imperfect_shuffler(imperfection=0.5), 9)
    values = tuple(np.random.default_rng(0).uniform(0, 1, (70, 3)).tolist())


@pytest.mark.deep
class TestSumOfShortVectorsThroughUniform(Sums):
    randomizer = SplitAndMix(
        num_users=70, epsilon=2.0, lower=0, upper=1, num_shares=3, dimension=4, l1_bounded=True, noise_users=60
    )
    values = tuple(np.random.default_rng(1).dirichlet(np.ones(4), 70).tolist())


def test_a_view_without_a_shuffle_is_summed_all_the_same():
    randomizer = SplitAndMix(num_users=100, epsilon=100.0, lower=0, upper=10, num_shares=3, integer=True, noise_users=1)
    view = IdentityShuffler().shuffle(randomizer.randomize([1, 2, 3]))
    analyzer = SumAnalyzer()
    assert analyzer.estimate(analyzer.summarize(view)).estimate == pytest.approx([6.0], abs=1.5)
