"""Imperfect shufflers: their laws, what they show, and what they refuse."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from contracts.siblings import ResidueRandomizer
from shuffledp.accounting import account
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.shuffle_models import LabelMeaning
from shuffledp.core.table import Table
from shuffledp.laws import mallows_law, noisy_sort_law
from shuffledp.protocols.shares.shufflers.imperfect import (
    CayleyShuffler,
    ComposedShuffler,
    DelayShuffler,
    ImperfectShuffleModel,
    ObliviousShuffleModel,
    imperfect_shuffler,
)
from shuffledp.protocols.shares.shufflers.parallel import ParallelShuffleModel
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.randomness.permutations import is_permutation, random_permutation
from shuffledp.testing import SeededSource
from statistical.thresholds import assert_fits, assert_rejects

PEOPLE = 12
REPORTS = KaryRandomizedResponse(epsilon0=1.0, domain_size=PEOPLE).randomize(range(PEOPLE), source=SeededSource(1))
DRAWS = 20_000


def counts_of_draws(shuffler, num_items, draws=DRAWS):
    source = SeededSource(7)
    found = Counter(tuple(shuffler.draw(num_items, source=source).tolist()) for _ in range(draws))
    return [found[each] for each in itertools.permutations(range(num_items))]


def chances(law):
    total = sum(law.values())
    return [law[each] / total for each in itertools.permutations(range(len(next(iter(law)))))]


# ---- laws -----------------------------------------------------------------------------------------------------------


def test_a_cayley_shuffle_draws_from_its_mallows_law():
    counts = counts_of_draws(CayleyShuffler(imperfection=1.0), 3)
    assert_fits(counts, chances(mallows_law(3, 1.0, distance="cayley")))
    assert_rejects(counts, chances(mallows_law(3, 1.2, distance="cayley")))


@pytest.mark.parametrize("offsets", [[0.0, 0.0, 1.0], [1.0, 0.25, 0.0], None])
def test_a_delay_shuffle_sorts_by_arrival_plus_noise_of_scale_two_over_gamma(offsets):
    times = [0, 0.5, 1] if offsets is None else offsets
    counts = counts_of_draws(DelayShuffler(imperfection=2.0, offsets=offsets), 3)
    assert_fits(counts, chances(noisy_sort_law(times, scale=1.0)))
    assert_rejects(counts, chances(noisy_sort_law(times, scale=0.7)))


@pytest.mark.parametrize("construction", ["cayley", "delay"])
def test_without_imperfection_every_order_is_equally_likely(construction):
    shuffler = imperfect_shuffler(imperfection=0.0, construction=construction)
    counts = counts_of_draws(shuffler, 3)
    assert_fits(counts, [1 / 6] * 6)
    assert_rejects(counts, chances(mallows_law(3, 0.2, distance="cayley")))
    assert shuffler.model(3).is_uniform


def test_the_noise_is_never_rounded_to_less_than_the_imperfection_allows():
    for gamma in (0.1, 0.3, 1 / 3, 0.7, 3.0, 1e-300, 5e-324):
        assert is_permutation(DelayShuffler(imperfection=gamma).draw(5))
        assert 2 / math.nextafter(2 / gamma, math.inf) <= gamma


def test_a_second_order_is_applied_after_the_first():
    first, turned = CayleyShuffler(imperfection=40.0), np.arange(PEOPLE)[::-1]
    composed = ComposedShuffler(first=first, second=lambda count, _: turned[:count])
    assert composed.draw(PEOPLE).tolist() == turned.tolist()
    assert composed.model(PEOPLE).imperfection == 40.0
    assert composed.model(PEOPLE).reordered
    uniform = ComposedShuffler(first=first, second=lambda count, source: random_permutation(count, source=source))
    assert_fits(counts_of_draws(uniform, 3), [1 / 6] * 6)


@pytest.mark.parametrize("first", [CayleyShuffler(imperfection=0.5), DelayShuffler(imperfection=0.5)])
def test_what_is_assumed_of_the_first_shuffle_is_said_of_both(first):
    composed = ComposedShuffler(first=first, second=lambda count, _: np.arange(count))
    again = ComposedShuffler(first=composed, second=lambda count, _: np.arange(count))
    alone, remarks = first.model(PEOPLE).remarks, composed.model(PEOPLE).remarks
    assert again.model(PEOPLE) == composed.model(PEOPLE) != first.model(PEOPLE)
    assert set(alone) < set(remarks)
    (further,) = set(remarks) - set(alone)
    assert "assumed independent of it and of the answers" in further
    rounds = ParallelShuffleModel(round=composed.model(PEOPLE), num_rounds=3)
    protocol = ProtocolModel(local=REPORTS.model, shuffle=composed.model(PEOPLE))
    assert set(remarks) <= set(rounds.remarks) & set(account(protocol, delta=1e-3).remarks)


def test_a_second_order_that_is_none_is_refused():
    composed = ComposedShuffler(first=CayleyShuffler(imperfection=1.0), second=lambda count, _: np.zeros(count, int))
    with pytest.raises(InvalidParameterError, match="b must hold each of"):
        composed.draw(3)
    with pytest.raises(InvalidParameterError, match="first must be a ImperfectShuffler"):
        ComposedShuffler(first=random_permutation, second=random_permutation)


# ---- what is seen ---------------------------------------------------------------------------------------------------


def test_each_place_shows_the_report_that_was_drawn_for_it():
    shuffler = CayleyShuffler(imperfection=1.0)
    view = shuffler.shuffle(REPORTS, source=SeededSource(3))
    order = shuffler.draw(PEOPLE, source=SeededSource(3))
    assert view.labels.tolist() == list(range(PEOPLE))
    assert view.reports["value"].tolist() == REPORTS["value"][order].tolist()
    assert view.shuffle.labels is LabelMeaning.POSITION
    assert view.seeded


def test_a_huge_imperfection_hides_nothing_and_the_view_does_not_mend_that():
    view = CayleyShuffler(imperfection=60.0).shuffle(REPORTS)
    assert view.reports["value"].tolist() == REPORTS["value"].tolist()
    assert [part.reports["value"].tolist() for part in view.parts(5)] == [
        REPORTS["value"][start : start + 5].tolist() for start in (0, 5, 10)
    ]


def test_public_columns_are_detached():
    view = CayleyShuffler(imperfection=1.0).shuffle(REPORTS, public=Table({"age": np.arange(PEOPLE)}))
    assert view.label_table is None


def test_several_messages_in_one_buffer_are_refused_with_the_way_out():
    reports = ResidueRandomizer(modulus=97, num_messages=3).randomize([4, 8, 15, 16])
    with pytest.raises(UnsupportedModelError, match=r"one buffer for all of them"):
        CayleyShuffler(imperfection=1.0).shuffle(reports)


# ---- models ---------------------------------------------------------------------------------------------------------


def test_the_model_says_what_exchanges_cost_and_colluding_people_hide_nobody():
    model = CayleyShuffler(imperfection=0.5).model(100)
    (window,) = model.swap_windows()
    assert (window.sizes, window.costs, window.people) == ((100,), (0.5,), 100)
    assert model.exchange_privacy == (0.5, 0.0)
    fewer = model.counting(70)
    assert (fewer.num_honest, fewer.num_users, fewer.imperfection) == (70, 100, 0.5)
    assert fewer.swap_windows()[0].sizes == (70,)
    assert model.counting(0).swap_windows()[0].sizes == (1,)
    assert not ImperfectShuffleModel(num_users=9, imperfection=0.0, construction="cayley", num_colluding=2).is_uniform


def test_statements_say_that_gamma_is_assumed_and_what_delays_need():
    (promise,) = CayleyShuffler(imperfection=0.5).model(100).remarks
    assert "gamma = 0.5 is a promise about the shuffler: nothing here measures it" in promise
    assert "only what follows from that number holds" in promise
    delays, again = DelayShuffler(imperfection=0.5).model(100).remarks
    assert again == promise
    assert "never when" in delays


def test_a_shuffler_of_somebody_else_can_be_described():
    model = ImperfectShuffleModel(num_users=100, imperfection=0.5, construction="assumed")
    assert ImperfectShuffleModel.from_dict(model.to_dict()) == model
    promised = ObliviousShuffleModel(num_users=100, epsilon=0.5, delta=1e-9)
    assert promised.exchange_privacy == (0.5, 1e-9)
    assert promised.counting(60).num_honest == 60
    assert (promised.imperfection, promised.is_oblivious, promised.swap_windows()) == (None, False, ())


# ---- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [-0.1, math.nan, "1", None, True])
def test_an_imperfection_below_0_or_no_number_is_refused(gamma):
    for construction in ("cayley", "delay"):
        with pytest.raises(InvalidParameterError, match="imperfection must be a number that is 0 or more"):
            imperfect_shuffler(imperfection=gamma, construction=construction)
    with pytest.raises(InvalidParameterError, match="imperfection must be a number that is 0 or more"):
        ImperfectShuffleModel(num_users=3, imperfection=gamma, construction="cayley")


def test_an_infinite_imperfection_is_refused_since_it_promises_nothing():
    with pytest.raises(InvalidParameterError, match="imperfection must be finite"):
        imperfect_shuffler(imperfection=math.inf)
    with pytest.raises(InvalidParameterError, match="epsilon must be finite"):
        ObliviousShuffleModel(num_users=3, epsilon=math.inf)


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ([0.0, 1.5, 0.2], r"offsets\[1\] is not"),
        ([0.0, math.nan], r"offsets\[1\] is not"),
        ([[0.0, 1.0]], r"shape \(1, 2\)"),
        (["early", "late"], "numbers from 0 to 1"),
    ],
)
def test_offsets_outside_the_unit_are_refused(offsets, message):
    with pytest.raises(InvalidParameterError, match=message):
        DelayShuffler(imperfection=1.0, offsets=offsets)


def test_offsets_of_another_number_of_people_are_refused():
    shuffler = DelayShuffler(imperfection=1.0, offsets=[0.0, 1.0])
    assert shuffler.model(3) == DelayShuffler(imperfection=1.0).model(3), "offsets are no part of what is public"
    with pytest.raises(InvalidParameterError, match="offsets must be one for each of 3 reports; got 2"):
        shuffler.draw(3)
    reports = KaryRandomizedResponse(epsilon0=1.0, domain_size=2).randomize([0])
    with pytest.raises(InvalidParameterError, match="offsets must be one for each of 1 reports; got 2"):
        shuffler.shuffle(reports)


def test_what_the_factory_does_not_know_is_refused():
    with pytest.raises(InvalidParameterError, match="construction must be one of 'cayley', 'delay'"):
        imperfect_shuffler(imperfection=1.0, construction="kendall")
    with pytest.raises(InvalidParameterError, match="offsets must be None unless construction is 'delay'"):
        imperfect_shuffler(imperfection=1.0, offsets=[0.0])
    with pytest.raises(InvalidParameterError, match="num_colluding must be at most num_users=3"):
        ImperfectShuffleModel(num_users=3, imperfection=1.0, construction="cayley", num_colluding=4)


def test_offsets_are_kept_from_later_changes():
    offsets = np.array([0.0, 1.0])
    shuffler = DelayShuffler(imperfection=1.0, offsets=offsets)
    offsets[1] = 7.0
    assert shuffler.offsets.tolist() == [0.0, 1.0]


def test_what_is_printed_does_not_show_when_people_came():
    assert repr(DelayShuffler(imperfection=0.5, offsets=[0.25, 0.75])) == "DelayShuffler(imperfection=0.5)"
