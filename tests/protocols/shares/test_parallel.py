"""Parallel shuffling: a round for each message, independent of the others."""

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from contracts.siblings import ResidueRandomizer
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.flow import Reports, View
from shuffledp.core.shuffle_models import LabelMeaning, ShuffleModel
from shuffledp.laws import mallows_law
from shuffledp.protocols.shares.randomizers.split_and_mix import SplitAndMix
from shuffledp.protocols.shares.shufflers.imperfect import CayleyShuffler, DelayShuffler, ImperfectShuffler
from shuffledp.protocols.shares.shufflers.parallel import ParallelShuffleModel, ParallelShuffler
from shuffledp.shufflers import IdentityShuffler, UniformShuffleModel, UniformShuffler
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
    assert (imperfect.in_words, imperfect.passage) == ("an imperfect shuffle", "through imperfect")
    assert ParallelShuffler(UniformShuffler(), 2).model(10).in_words == "2 separate uniform shuffles"
    colluding = replace(imperfect, round=replace(imperfect.round, num_colluding=5))
    more, fewer = colluding.of_people(20), colluding.of_people(3)
    assert ((more.num_users, more.num_honest), (fewer.num_users, fewer.num_honest)) == ((20, 15), (3, 1))
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
    inner = [ParallelShuffleModel(round=UniformShuffleModel(num_users=4), num_rounds=number) for number in (1, 2)]
    for refused in (IdentityShuffler().model(4), *inner):
        with pytest.raises(InvalidParameterError, match="round must be one shuffle whose imperfection is known"):
            ParallelShuffleModel(round=refused, num_rounds=2)


# ---- reports that say which round they are for ----------------------------------------------------------------------

SHARES = SplitAndMix(num_users=50, epsilon=20.0, lower=0, upper=100, num_shares=6)
VICTIM = 20


def told_apart():
    """Shares of which the person before the victim sends one too many, and the one after the victim one too few."""
    messages = SHARES.num_messages
    honest = SHARES.randomize(np.linspace(0, 100, 50), source=SeededSource(3))
    after = VICTIM * messages
    sent = np.arange(len(honest))
    sent = np.insert(np.delete(sent, after + messages), after, after - messages)
    return honest, honest.take(sent)


def rounds_by_places(reports):
    """The rounds of a shuffler that goes by places only, such as its view would show them."""
    return [reports.take(slice(number, None, SHARES.num_messages)) for number in range(SHARES.num_messages)]


def test_by_places_alone_two_colluders_would_learn_the_value_of_the_person_between_them():
    honest, told = told_apart()
    assert np.bincount(told["round"]).tolist() == [50] * SHARES.num_messages
    modulus = SHARES.modulus
    own = slice(VICTIM * SHARES.num_messages, (VICTIM + 1) * SHARES.num_messages)
    value = int(honest["residue"][own].astype(np.int64).sum()) % modulus
    strangers = [each["residue"][each["round"] != number] for number, each in enumerate(rounds_by_places(told))]
    assert int(np.concatenate(strangers).astype(np.int64).sum()) % modulus == value


@pytest.mark.parametrize("shuffler", SHUFFLERS)
def test_messages_that_would_push_others_into_another_round_are_refused(shuffler):
    _, told = told_apart()
    first = VICTIM * SHARES.num_messages + 1  # the colluder's second message for round 0 has a place of round 0
    with pytest.raises(InvalidParameterError, match=rf"reports must be .* row {first} is the first for another round"):
        ParallelShuffler(shuffler, SHARES.num_messages).shuffle(told)


@pytest.mark.parametrize("shuffler", SHUFFLERS)
def test_messages_sorted_by_round_are_refused(shuffler):
    honest, _ = told_apart()
    sorted_by_round = honest.take(np.argsort(honest["round"], kind="stable"))
    with pytest.raises(InvalidParameterError, match="row 1 is the first for another round"):
        ParallelShuffler(shuffler, SHARES.num_messages).shuffle(sorted_by_round)
    view = ParallelShuffler(shuffler, SHARES.num_messages).shuffle(honest)
    assert np.array_equal(view.reports["round"], np.repeat(range(SHARES.num_messages), 50))


@pytest.mark.parametrize("shuffler", SHUFFLERS)
def test_a_view_of_rounds_that_are_not_those_of_the_messages_is_refused(shuffler):
    _, told = told_apart()
    model = ParallelShuffler(shuffler, SHARES.num_messages).model(50)
    labels = np.repeat(range(6), 50) if isinstance(shuffler, UniformShuffler) else np.arange(300)
    with pytest.raises(InvalidParameterError, match=r"labels must be of the round .* some of round 0 are not"):
        View(reports=Reports.concat(rounds_by_places(told)), labels=labels, shuffle=model)


# ---- several messages of a person in one buffer ---------------------------------------------------------------------


class Turned(ImperfectShuffler):
    """Turns all reports around."""

    imperfection = 1.0
    construction = "assumed"

    def draw(self, num_reports, *, source=None):
        del source
        return np.arange(num_reports)[::-1]


@pytest.mark.parametrize("shuffler", SHUFFLERS)
def test_a_buffer_holds_as_many_messages_of_everybody(shuffler):
    reports = ResidueRandomizer(modulus=2**40, num_messages=6).randomize(range(PEOPLE))
    view = ParallelShuffler(shuffler, 2, messages_per_round=3).shuffle(reports)
    rounds = view.labels if isinstance(shuffler, UniformShuffler) else view.labels // (3 * PEOPLE)
    sent = reports["residue"].reshape(PEOPLE, 2, 3)
    for number in range(2):
        assert sorted(view.reports["residue"][rounds == number].tolist()) == sorted(sent[:, number].ravel().tolist())
    assert (view.shuffle.num_users, view.shuffle.num_rounds, view.shuffle.num_honest) == (PEOPLE, 2, PEOPLE)
    if isinstance(shuffler, CayleyShuffler):
        assert (view.shuffle.messages_per_round, view.shuffle.num_labels) == (3, 6 * PEOPLE)
        assert ShuffleModel.from_dict(view.shuffle.to_dict()) == view.shuffle


def test_the_order_is_that_of_all_messages_of_a_buffer_together():
    reports = ResidueRandomizer(modulus=2**40, num_messages=4).randomize(range(3))
    view = ParallelShuffler(Turned(), 2, messages_per_round=2).shuffle(reports)
    sent = reports["residue"].reshape(3, 2, 2)
    assert view.reports["residue"].tolist() == [
        *sent[:, 0].ravel()[::-1].tolist(),
        *sent[:, 1].ravel()[::-1].tolist(),
    ]


def test_messages_of_one_person_come_in_at_one_time():
    """The order of departure of hardly delayed messages is that of the times of arrival."""
    reports = ResidueRandomizer(modulus=2**40, num_messages=2).randomize(range(3))
    one = DelayShuffler(imperfection=1e9, offsets=[1.0, 0.0, 0.5])
    view = ParallelShuffler(one, 1, messages_per_round=2).shuffle(reports)
    came = reports["residue"].reshape(3, 2)[[1, 2, 0]]
    assert [set(pair) for pair in view.reports["residue"].reshape(3, 2).tolist()] == [
        set(pair) for pair in came.tolist()
    ]


def test_a_model_of_several_messages_in_a_buffer_says_nothing_about_reports_of_one_message():
    model = ParallelShuffler(CayleyShuffler(imperfection=0.5), 1, messages_per_round=3).model(10)
    assert (model.swap_windows(), model.position_laws(), model.exchange_privacy) == ((), (), None)
    assert model.round.to_dict()["messages_per_round"] == 3
    assert "messages_per_round" not in CayleyShuffler(imperfection=0.5).model(10).to_dict()
    assert (
        "messages of all people"
        in ParallelShuffler(DelayShuffler(imperfection=0.5), 1, messages_per_round=3).model(9).remarks[0]
    )
