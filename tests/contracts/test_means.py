"""Randomizers of numbers and vectors keep the contracts, and so does the analyzer of means with each of them."""

import numpy as np
import pytest

from contracts.analyzer import AnalyzerContract, bias_in_standard_errors, coverage
from contracts.numbers import NumberRandomizerContract, VectorRandomizerContract, WithoutFiniteChannel
from contracts.siblings import SlotShuffler, SubmitterShuffleModel, SubmitterShuffler
from shuffledp.analyzers import MeanAnalyzer
from shuffledp.core.flow import Reports, View
from shuffledp.core.shuffle_models import DummyReports
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.randomizers import DiscreteLaplaceMean, OneBitMean, PrivUnit, RoundedMean
from shuffledp.randomness.sources import bernoulli, resolve_source, uniform_integers
from shuffledp.shufflers import IdentityShuffler, UniformShuffler
from shuffledp.testing import SeededSource

NUMBERS = tuple(np.linspace(-1, 1, 301).tolist())


def unit_vectors(count: int, dimension: int, seed: int = 0) -> np.ndarray:
    """Vectors around the first axis."""
    vectors = np.random.default_rng(seed).normal(size=(count, dimension)) + 2 * np.eye(dimension)[0]
    return vectors / np.linalg.norm(vectors, axis=1)[:, None]


# ---- randomizers ----------------------------------------------------------------------------------------------------


class TestDiscreteLaplaceMean(WithoutFiniteChannel, NumberRandomizerContract):
    randomizer = DiscreteLaplaceMean(epsilon0=1.5, lower=-1, upper=1)
    clipping = DiscreteLaplaceMean(epsilon0=1.5, lower=-1, upper=1, clip=True)
    values = NUMBERS


class TestOneBitMean(NumberRandomizerContract):
    randomizer = OneBitMean(epsilon0=1.0, lower=-1, upper=1)
    clipping = OneBitMean(epsilon0=1.0, lower=-1, upper=1, clip=True)
    values = NUMBERS


class TestRoundedMean(NumberRandomizerContract):
    randomizer = RoundedMean(epsilon0=3.0, lower=-1, upper=1, num_levels=5)
    clipping = RoundedMean(epsilon0=3.0, lower=-1, upper=1, num_levels=5, clip=True)
    values = NUMBERS


class TestPrivUnitInThePlane(WithoutFiniteChannel, VectorRandomizerContract):
    randomizer = PrivUnit(epsilon0=1.0, dimension=2)
    values = tuple(unit_vectors(300, 2).tolist())


class TestPrivUnitInTenDimensions(WithoutFiniteChannel, VectorRandomizerContract):
    randomizer = PrivUnit(epsilon0=4.0, dimension=10)
    values = tuple(unit_vectors(300, 10).tolist())


# ---- the analyzer ---------------------------------------------------------------------------------------------------


class Means(AnalyzerContract):
    """The mean of a batch that is given by its values."""

    analyzer = MeanAnalyzer()
    shuffler = UniformShuffler()

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if hasattr(cls, "values"):
            cls.truth = np.array(cls.values).mean(axis=0).reshape(-1)


class TestLaplaceThroughUniform(Means):
    randomizer = DiscreteLaplaceMean(epsilon0=1.0, lower=0, upper=50)
    values = tuple(np.linspace(3, 50, 200).tolist())


@pytest.mark.deep
class TestCoarseLaplaceThroughNone(Means):
    randomizer = DiscreteLaplaceMean(epsilon0=1.0, lower=-1, upper=1, num_steps=3)
    shuffler = IdentityShuffler()
    values = tuple(np.linspace(-1, 0.5, 200).tolist())


class TestOneBitThroughUniform(Means):
    """Of people with nearly equal values: otherwise the interval of one bit is too long, and is said to be."""

    randomizer = OneBitMean(epsilon0=1.0, lower=-1, upper=1)
    values = tuple(np.linspace(0.2, 0.4, 300).tolist())


class TestTwoLevelsThroughUniform(Means):
    randomizer = RoundedMean(epsilon0=2.0, lower=-1, upper=1, num_levels=2)
    values = tuple(np.concatenate([np.linspace(-0.7, -0.3, 150), np.linspace(0.3, 0.7, 150)]).tolist())


@pytest.mark.deep
class TestManyLevelsThroughSlots(Means):
    randomizer = RoundedMean(epsilon0=6.0, lower=10, upper=20)
    shuffler = SlotShuffler()
    values = tuple(np.linspace(10, 20, 300).tolist())


class TestPrivUnitThroughUniform(Means):
    randomizer = PrivUnit(epsilon0=2.0, dimension=4)
    values = tuple(unit_vectors(200, 4).tolist())


@pytest.mark.deep
class TestLopsidedPrivUnitThroughUniform(Means):
    """With noise that is larger along a person's vector than across, as the cap has nearly all of the loss."""

    randomizer = PrivUnit(epsilon0=4.0, dimension=3, budget_split=0.1)
    values = tuple(unit_vectors(300, 3).tolist())


FRIENDS = Graph.random_regular(8, 300, SeededSource(1))


@pytest.mark.deep
class TestPrivUnitThroughSinglesAndDummies(Means):
    randomizer = PrivUnit(epsilon0=4.0, dimension=4)
    shuffler = RandomWalkShuffler(graph=FRIENDS, num_rounds=12, protocol="single")
    values = tuple(unit_vectors(300, 4).tolist())


class TestLaplaceThroughSinglesAndDummies(Means):
    randomizer = DiscreteLaplaceMean(epsilon0=4.0, lower=-1, upper=1)
    shuffler = RandomWalkShuffler(graph=FRIENDS, num_rounds=12, protocol="single", dummies=randomizer, dummy_value=1)
    values = tuple(np.linspace(-1, 0.5, 300).tolist())


class TestDummiesOfAPositiveRange(Means):
    """Made of the least whole number that it takes, 3."""

    randomizer = OneBitMean(epsilon0=4.0, lower=2.5, upper=5)
    shuffler = RandomWalkShuffler(graph=FRIENDS, num_rounds=12, protocol="single")
    values = tuple(np.linspace(2.5, 4, 300).tolist())


class TestLaplaceThroughLosses(Means):
    randomizer = DiscreteLaplaceMean(epsilon0=5.0, lower=-1, upper=1)
    shuffler = RandomWalkShuffler(graph=FRIENDS, num_rounds=12, dropout=0.02)
    values = tuple(np.linspace(-1, 1, 300).tolist())


@pytest.mark.deep
class TestLaplaceThroughSubmittersAndDummies(Means):
    randomizer = DiscreteLaplaceMean(epsilon0=2.0, lower=-1, upper=1)
    shuffler = SubmitterShuffler(randomizer)
    values = tuple(np.linspace(-0.5, 1, 200).tolist())

    def test_an_estimator_that_ignores_the_dummies_is_found_out(self):
        class Blind(MeanAnalyzer):
            def summarize(self, view):
                object.__setattr__(view, "shuffle", UniformShuffler().model(view.shuffle.num_users))
                return super().summarize(view)

        results = [Blind().estimate(Blind().summarize(self.view())) for _ in range(200)]
        estimates = np.array([each.estimate for each in results])
        margins = np.array([each.margin for each in results])
        assert bias_in_standard_errors(estimates, self.truth).max() > 5
        assert coverage(estimates, margins, self.truth).min() < 0.9


class RandomDirectionShuffler:
    """As in network shuffling: each user adds, by a fair coin, a report of a random direction."""

    def __init__(self, randomizer):
        self._randomizer = randomizer

    def model(self, num_users):
        counted = SubmitterShuffler(self._randomizer).model(num_users).added
        dummies = DummyReports(fraction=counted.fraction, standard_error=counted.standard_error)
        return SubmitterShuffleModel(num_users=num_users, added=dummies)

    def shuffle(self, reports, *, public=None, source=None):
        source, count = resolve_source(source), len(reports)
        adders = np.flatnonzero(bernoulli(2**63, count, source=source))
        normals = np.random.Generator(source.bit_generator).normal(size=(len(adders), reports.model.dimension))
        directions = normals / np.linalg.norm(normals, axis=1)[:, None]
        submitters = np.concatenate([uniform_integers(count, count, source=source), adders])
        everything = Reports.concat([reports, Reports({"vector": directions}, reports.model)])
        return View(reports=everything, labels=submitters, label_table=public, shuffle=self.model(count), source=source)


@pytest.mark.deep
class TestPrivUnitThroughSubmittersAndRandomDirections(Means):
    randomizer = PrivUnit(epsilon0=2.0, dimension=6)
    shuffler = RandomDirectionShuffler(randomizer)
    values = tuple(unit_vectors(200, 6).tolist())
