"""Every shuffler keeps the contract, and so do siblings made here. A new one is one more class."""

from dataclasses import replace

import numpy as np
import pytest

from contracts.shuffler import PEOPLE, PUBLIC, RANDOMIZER, ShufflerContract
from contracts.siblings import ResidueRandomizer, RoundShuffler, SlotShuffler, SubmitterShuffler, SumAnalyzer
from shuffledp.core.shuffle_models import LabelMeaning
from shuffledp.people.graphs import Graph
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.shufflers.mallows import MallowsShuffler
from shuffledp.protocols.d_sigma.shufflers.noisy_sort import NoisySortShuffler
from shuffledp.protocols.network.laws.churn_schedules import Schedule
from shuffledp.protocols.network.people.overlays import Overlay
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.protocols.shares.shufflers.imperfect import ComposedShuffler, imperfect_shuffler
from shuffledp.protocols.shares.shufflers.parallel import ParallelShuffler
from shuffledp.protocols.strata.people.strata import Strata
from shuffledp.protocols.strata.shufflers.stratified import StratifiedShuffler
from shuffledp.randomness.permutations import random_permutation
from shuffledp.shufflers import IdentityShuffler, UniformShuffler
from shuffledp.testing import SeededSource


class TestUniformShuffler(ShufflerContract):
    shuffler = UniformShuffler()
    labels = LabelMeaning.NONE
    keeps_public = False


class TestStratifiedShuffler(ShufflerContract):
    shuffler = StratifiedShuffler(Strata.of({"region": np.arange(PEOPLE) % 4}, by="region"))
    labels = LabelMeaning.STRATUM
    keeps_public = False
    takes_many_messages = False
    is_for_these_people = True

    def test_public_columns_are_kept_beside_labels_or_not_at_all(self):
        table = self.view(public=PUBLIC).label_table  # a row for each stratum, and none for a person
        assert {name: column.tolist() for name, column in table.columns.items()} == {"region": ["0", "1", "2", "3"]}


class TestIdentityShuffler(ShufflerContract):
    shuffler = IdentityShuffler()
    labels = LabelMeaning.SUBMITTER
    keeps_public = True
    moves = False


class KeepingSlots(ShufflerContract):
    labels = LabelMeaning.SLOT
    keeps_public = True
    takes_many_messages = False
    is_for_these_people = True


NEAR = Groups.from_radius(range(PEOPLE), 6)


class TestMallowsShuffler(KeepingSlots):
    shuffler = MallowsShuffler(groups=NEAR, alpha=1.0)


class TestMallowsShufflerOfOneConcentration(KeepingSlots):
    shuffler = MallowsShuffler(groups=NEAR, concentration=0.1, distance="cayley", per_block=False)


class TestLaplaceSort(KeepingSlots):
    shuffler = NoisySortShuffler(groups=NEAR, alpha=1.0)


class TestGaussianSort(KeepingSlots):
    shuffler = NoisySortShuffler(groups=NEAR, alpha=1.0, noise="gaussian", delta=1e-6)


class TestSortByPositions(KeepingSlots):
    shuffler = NoisySortShuffler(positions=[person / 5 for person in range(PEOPLE)])


class ShowingPlaces(ShufflerContract):
    labels = LabelMeaning.POSITION
    keeps_public = False
    takes_many_messages = False


class TestCayleyShuffler(ShowingPlaces):
    shuffler = imperfect_shuffler(imperfection=0.5)


class TestDelayShuffler(ShowingPlaces):
    shuffler = imperfect_shuffler(imperfection=2.0, construction="delay")


class TestComposedShuffler(ShowingPlaces):
    shuffler = ComposedShuffler(
        first=imperfect_shuffler(imperfection=0.5),
        second=lambda count, source: random_permutation(count, source=source),
    )


class TestOneImperfectRound(ShowingPlaces):
    shuffler = ParallelShuffler(imperfect_shuffler(imperfection=0.5), 1)


class TestOneUniformRound(ShowingPlaces):
    labels = LabelMeaning.ROUND
    shuffler = ParallelShuffler(UniformShuffler(), 1)


class Walking(ShufflerContract):
    labels = LabelMeaning.SUBMITTER
    keeps_public = True
    takes_many_messages = False
    is_for_these_people = True


FRIENDS = Graph.random_regular(6, PEOPLE, SeededSource(1))


class TestWalkOfAll(Walking):
    shuffler = RandomWalkShuffler(graph=FRIENDS, num_rounds=4)


class TestWalkOfAllWithLosses(Walking):
    shuffler = RandomWalkShuffler(graph=FRIENDS, num_rounds=4, laziness=0.2, dropout=0.1)
    loses_reports = True

    def test_vectors_pass_like_any_reports(self):
        pytest.skip("some are lost")


class TestWalkOfAllWithPeopleOffline(Walking):
    """The view's model is that of before, with the record of who was online and what is known given it."""

    shuffler = RandomWalkShuffler(graph=FRIENDS, num_rounds=4, offline=0.2)

    def test_the_view_carries_the_model_for_its_number_of_people(self):
        before, after = self.shuffler.model(PEOPLE), self.view().shuffle
        assert (before.schedule, after.schedule.num_rounds) == (None, 4)
        known = {name: getattr(before, name) for name in ("schedule", "mean_overlap", "near_uniformity", "separation")}
        assert replace(after, **known) == before


class TestWalkWithARecordedSchedule(Walking):
    shuffler = RandomWalkShuffler(
        graph=FRIENDS, num_rounds=4, schedule=Schedule((np.arange(4 * PEOPLE) % 7 != 3).reshape(4, PEOPLE))
    )


class TestWalkOnAnOverlay(Walking):
    shuffler = RandomWalkShuffler(graph=Overlay.in_rounds(PEOPLE, 3), num_rounds=3)


class TestWalkOfSingles(Walking):
    shuffler = RandomWalkShuffler(graph=FRIENDS, num_rounds=4, protocol="single")
    adds_dummies = True
    loses_reports = True


class TestWalkOfPaddedBags(Walking):
    shuffler = RandomWalkShuffler(graph=FRIENDS, num_rounds=4, protocol="padded", submissions=2, dummies=RANDOMIZER)
    adds_dummies = True
    loses_reports = True


class TestSlotSibling(ShufflerContract):
    shuffler = SlotShuffler()
    labels = LabelMeaning.SLOT
    keeps_public = True
    takes_many_messages = False


class TestSubmitterSibling(ShufflerContract):
    shuffler = SubmitterShuffler(RANDOMIZER)
    labels = LabelMeaning.SUBMITTER
    keeps_public = True
    adds_dummies = True
    takes_many_messages = False


def test_a_shuffle_in_rounds_shows_one_message_of_everybody_in_each_round():
    reports = ResidueRandomizer(modulus=1009, num_messages=3).randomize([4, 8, 15, 16, 23, 42])
    view = RoundShuffler(num_rounds=3).shuffle(reports)
    assert view.labels.tolist() == np.repeat([0, 1, 2], 6).tolist()
    assert view.shuffle.num_users == 6
    for number in range(3):
        sent = reports["residue"][number::3].tolist()
        assert sorted(view.reports["residue"][view.labels == number].tolist()) == sorted(sent)
    analyzer = SumAnalyzer()
    assert analyzer.estimate(analyzer.summarize(view)).estimate == [4 + 8 + 15 + 16 + 23 + 42]
