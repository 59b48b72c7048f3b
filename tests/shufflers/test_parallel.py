"""Parallel shuffling: a round for each message, independent of the others."""

import itertools
from collections import Counter

import numpy as np
import pytest

from contracts.siblings import ResidueRandomizer
from shuffledp.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.laws import mallows_law
from shuffledp.models import LabelMeaning, ShuffleModel
from shuffledp.shufflers import (
    CayleyShuffler,
    IdentityShuffler,
    ImperfectShuffler,
    ParallelShuffleModel,
    ParallelShuffler,
    UniformShuffleModel,
    UniformShuffler,
)
from shuffledp.testing import SeededSource
from statistical.thresholds import assert_fits, assert_rejects

ROUNDS, PEOPLE = 3, 50
REPORTS = ResidueRandomizer(modulus=2**40, num_messages=ROUNDS).randomize(range(PEOPLE))
SHUFFLERS = [UniformShuffler(), CayleyShuffler(imperfection=1.0)]


@pytest.mark.parametrize("shuffler", SHUFFLERS)
def test_a_round_holds_one_message_of_everybody(shuffler):
    view = ParallelShuffler(shuffler, ROUNDS).shuffle(REPORTS)
    rounds = view.labels if isinstance(shuffler, UniformShuffler) else view.labels // PEOPLE
    for number in range(ROUNDS):
        seen = view.reports["residue"][rounds == number]
        sent = REPORTS["residue"][number::ROUNDS]
        assert sorted(seen.tolist()) == sorted(sent.tolist())
        assert seen.tolist() != sent.tolist()
    assert len(view) == ROUNDS * PEOPLE


def test_uniform_rounds_are_labelled_by_round_and_others_by_place():
    uniform, imperfect = (ParallelShuffler(each, ROUNDS).shuffle(REPORTS) for each in SHUFFLERS)
    assert uniform.labels.tolist() == np.repeat(range(ROUNDS), PEOPLE).tolist()
    assert uniform.shuffle.labels is LabelMeaning.ROUND
    assert imperfect.labels.tolist() == list(range(ROUNDS * PEOPLE))
    assert imperfect.shuffle.labels is LabelMeaning.POSITION
    assert imperfect.label_table is None


class Echo(ImperfectShuffler):
    """Turns the first round around, and the others not, to see which order goes where."""

    def __init__(self):
        self.calls = 0

    def model(self, num_users):
        return CayleyShuffler(imperfection=1.0).model(num_users)

    def draw(self, num_users, *, source=None):
        del source
        self.calls += 1
        return np.arange(num_users)[:: -1 if self.calls == 1 else 1]


def test_each_round_has_a_draw_of_its_own_in_the_order_of_the_rounds():
    shuffler = Echo()
    view = ParallelShuffler(shuffler, ROUNDS).shuffle(REPORTS)
    assert shuffler.calls == ROUNDS
    sent = [REPORTS["residue"][number::ROUNDS].tolist() for number in range(ROUNDS)]
    assert view.reports["residue"].tolist() == [*sent[0][::-1], *sent[1], *sent[2]]


@pytest.mark.parametrize("shuffler", SHUFFLERS)
def test_orders_of_two_rounds_are_independent(shuffler):
    gamma = 0.0 if isinstance(shuffler, UniformShuffler) else 1.0
    reports = ResidueRandomizer(modulus=97, num_messages=2).randomize([0, 0])
    residues = reports["residue"]
    while len(set(residues.tolist())) < 4:
        reports = ResidueRandomizer(modulus=97, num_messages=2).randomize([0, 0])
        residues = reports["residue"]
    parallel, source, found = ParallelShuffler(shuffler, 2), SeededSource(5), Counter()
    for _ in range(4000):
        seen = parallel.shuffle(reports, source=source).reports["residue"]
        found[seen[0] == residues[0], seen[2] == residues[1]] += 1
    counts = [found[pair] for pair in itertools.product([True, False], repeat=2)]
    stay = mallows_law(2, gamma, distance="cayley")[0, 1]
    assert_fits(counts, [stay**2, stay * (1 - stay), (1 - stay) * stay, (1 - stay) ** 2])
    same = [stay**2 + 0.1, stay * (1 - stay) - 0.1, (1 - stay) * stay - 0.1, (1 - stay) ** 2 + 0.1]
    assert_rejects(counts, same)


def test_the_model_of_rounds_says_what_holds_for_each():
    model = ParallelShuffler(CayleyShuffler(imperfection=0.5), 4).model(10)
    assert (model.num_users, model.num_rounds, model.imperfection, model.num_labels) == (10, 4, 0.5, 40)
    assert (model.is_uniform, model.swap_windows(), model.exchange_privacy) == (False, (), None)
    assert model.counting(7).num_honest == 7
    assert model.counting(7).num_users == 10
    assert "independently of each other" in model.remarks[-1]
    uniform = ParallelShuffler(UniformShuffler(), 4).model(10)
    assert (uniform.num_labels, uniform.imperfection, uniform.is_uniform) == (4, 0.0, False)
    assert uniform.counting(7).num_honest == 7
    assert ShuffleModel.from_dict(model.to_dict()) == model


def test_a_single_round_is_the_shuffle_itself():
    uniform, imperfect = (ParallelShuffler(each, 1).model(10) for each in SHUFFLERS)
    assert uniform.is_uniform
    assert imperfect.swap_windows() == SHUFFLERS[1].model(10).swap_windows()
    assert imperfect.exchange_privacy == (1.0, 0.0)
    assert imperfect.remarks == SHUFFLERS[1].model(10).remarks


def test_messages_without_a_round_are_refused():
    with pytest.raises(UnsupportedModelError, match="sends num_messages=3, and there are num_rounds=2"):
        ParallelShuffler(UniformShuffler(), 2).shuffle(REPORTS)


def test_rounds_of_other_shuffles_are_refused():
    with pytest.raises(InvalidParameterError, match="shuffler must be a UniformShuffler or ImperfectShuffler"):
        ParallelShuffler(IdentityShuffler(), 2)
    with pytest.raises(InvalidParameterError, match="num_rounds must be an integer that is 1 or more"):
        ParallelShuffler(UniformShuffler(), 0)
    inner = ParallelShuffleModel(round=UniformShuffleModel(num_users=4), num_rounds=2)
    for refused in (IdentityShuffler().model(4), inner):
        with pytest.raises(InvalidParameterError, match="round must be one shuffle whose imperfection is known"):
            ParallelShuffleModel(round=refused, num_rounds=2)
