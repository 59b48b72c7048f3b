"""Ticks: what all messages of everybody lose is the product of the pairs that can differ, and no less is true."""

import json
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from shuffledp import ProtocolModel, UniformShuffler
from shuffledp.accounting import account, compose_releases, delta_at
from shuffledp.accounting.theorems.separate_messages import SeparateMessages
from shuffledp.randomizers import KaryRandomizedResponseModel, OneOptionModel, TickColumnsModel
from shuffledp.shufflers import IdentityShuffleModel

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "ticks.json").read_text(encoding="utf-8"))
THEOREM = SeparateMessages()


def columns(people, *, options, most, epsilon0):
    local = TickColumnsModel.from_epsilon0(epsilon0=epsilon0, num_options=options, at_most=most)
    return ProtocolModel(local=local, shuffle=UniformShuffler().model(people))


def law_of_counts(ones, people, q):
    """Law of the number of messages that say yes, of people so many of whom ticked the option."""
    law = {0: Fraction(1)}
    for person in range(people):
        chance = 1 - q if person < ones else q
        after = {}
        for count, mass in law.items():
            after[count] = after.get(count, 0) + mass * (1 - chance)
            after[count + 1] = after.get(count + 1, 0) + mass * chance
        law = after
    return law


def exact_delta(sets, people, q, ratio):
    """Largest delta of all pairs of sets and all data sets of the others: the view is a histogram for each option."""
    options, found = len(sets[0]), Fraction(0)
    others = {tuple(sum(each) for each in zip(*chosen, strict=True)) for chosen in product(sets, repeat=people - 1)}
    laws = {ones: law_of_counts(ones, people, q) for ones in range(people + 1)}
    for base in others:
        views = {own: [laws[count + tick] for count, tick in zip(base, own, strict=True)] for own in sets}
        for one, other in product(sets, repeat=2):
            if one == other:
                continue
            total = Fraction(0)
            for seen in product(range(people + 1), repeat=options):
                here = there = Fraction(1)
                for option, count in enumerate(seen):
                    here *= views[one][option][count]
                    there *= views[other][option][count]
                total += max(here - ratio * there, 0)
            found = max(found, total)
    return float(found)


@pytest.mark.parametrize(
    ("people", "options", "most", "odds", "epsilon"),
    [(2, 3, 1, 3, 0.3), (3, 3, 1, 3, 0.1), (2, 2, 2, 5, 0.4), (3, 2, 1, 2, 0.05)],
)
def test_no_data_set_of_all_loses_more_than_stated_and_one_message_less_would_be_false(
    people, options, most, odds, epsilon
):
    q, ratio = Fraction(1, odds + 1), Fraction(float(np.exp(epsilon)))
    sets = [each for each in product((0, 1), repeat=options) if sum(each) <= most]
    truth = exact_delta(sets, people, q, ratio)
    model = columns(people, options=options, most=most, epsilon0=float(np.log(odds)))
    charged = model.local.most_differing
    assert charged == min(2 * most, options)
    stated = THEOREM.delta(model, epsilon=epsilon)
    assert truth <= stated * (1 + 1e-6)
    assert stated <= 1.1 * truth
    fewer = exact_delta(list(product((0, 1), repeat=charged - 1)), people, q, ratio)
    assert fewer < truth  # as much as sets of ticks can differ is charged, and no less


def stated_for(row):
    model = columns(row["n"], options=row["d"], most=row["d"], epsilon0=row["epsilon0"])
    return account(model, delta=row["delta"]).guarantee.epsilon


def test_the_variance_of_columns_is_as_computed_independently_and_near_a_curators():
    for row in GOLDEN["columns_epsilon0"]:
        local = columns(row["n"], options=row["d"], most=row["d"], epsilon0=row["epsilon0"]).local
        assert local.noise_variance(0.1) / row["n"] == pytest.approx(row["variance"], rel=3e-3)
        assert row["curator"] <= row["variance"] <= row["curator"] * 2


def test_the_loss_of_many_columns_is_as_computed_independently():
    (row,) = (each for each in GOLDEN["columns_epsilon0"] if (each["n"], each["d"]) == (1000, 52))
    assert row["epsilon"] * 0.975 <= stated_for(row) <= row["epsilon"] * 1.001


@pytest.mark.deep
@pytest.mark.parametrize("row", GOLDEN["columns_epsilon0"], ids=lambda row: f"{row['n']}-{row['d']}-{row['epsilon']}")
def test_the_loss_of_any_columns_is_as_computed_independently(row):
    assert row["epsilon"] * 0.975 <= stated_for(row) <= row["epsilon"] * 1.001


def test_it_is_the_composition_of_so_many_releases_and_further_options_cost_nothing():
    few, more = (columns(300, options=options, most=2, epsilon0=1.0) for options in (4, 40))
    one = ProtocolModel(local=few.local.separate, shuffle=few.shuffle)
    composed = compose_releases(one, delta=1e-6, num_releases=4).guarantee.epsilon
    assert account(few, delta=1e-6).guarantee.epsilon == composed == account(more, delta=1e-6).guarantee.epsilon
    assert account(columns(300, options=4, most=1, epsilon0=1.0), delta=1e-6).guarantee.epsilon < composed


def test_several_questions_compose_from_their_messages():
    model = columns(300, options=4, most=2, epsilon0=1.0)
    yes_no = ProtocolModel(
        local=KaryRandomizedResponseModel.from_epsilon0(epsilon0=1.0, domain_size=2), shuffle=model.shuffle
    )
    together = compose_releases([model, yes_no], delta=1e-6).guarantee.epsilon
    five = compose_releases(yes_no, delta=1e-6, num_releases=5).guarantee.epsilon
    assert together == pytest.approx(five, rel=1e-6)


def test_the_curve_is_a_bound_at_every_epsilon_and_meets_what_is_stated():
    model = columns(300, options=3, most=1, epsilon0=1.0)
    stated = account(model, delta=1e-6).guarantee
    assert stated.delta * 0.98 <= delta_at(model, epsilon=stated.epsilon).guarantee.delta <= stated.delta * 1.001
    deltas = THEOREM.curve(model, epsilons=np.linspace(0, 0.5, 30))
    assert (np.diff(deltas) <= 0).all()
    assert THEOREM.delta(model, epsilon=model.local.epsilon0) == 0


def test_fakes_hide_nobody():
    model = columns(300, options=3, most=1, epsilon0=1.0)
    fewer = columns(200, options=3, most=1, epsilon0=1.0)
    assert account(model.with_fakes(100), delta=1e-6).guarantee.epsilon == pytest.approx(
        account(fewer, delta=1e-6).guarantee.epsilon, rel=1e-9
    )


def test_without_a_shuffle_all_messages_that_differ_are_lost():
    model = columns(100, options=5, most=2, epsilon0=1.0)
    alone = ProtocolModel(local=model.local, shuffle=IdentityShuffleModel(num_users=100))
    assert not THEOREM.applies(alone, delta=1e-6)
    assert account(alone, delta=1e-6).guarantee.epsilon == pytest.approx(4.0, rel=1e-5)


@pytest.mark.parametrize("row", GOLDEN["one_option"])
def test_one_option_is_between_the_truth_and_the_blanket(row):
    """Of all data sets of a few people, by enumeration elsewhere; an index by round would leave n / m to hide among."""
    local = OneOptionModel.from_epsilon0(epsilon0=float(np.log(row["E"])), num_options=row["m"], at_most=row["m"])
    model = ProtocolModel(local=local, shuffle=UniformShuffler().model(row["n"]))
    found = delta_at(model, epsilon=row["epsilon"]).guarantee.delta
    assert row["truth"] * (1 - 1e-5) <= found <= row["bound"] * (1 + 2e-4)


def test_an_option_that_the_round_draws_hides_among_those_alone_who_share_it():
    """The mutant: with a public index the victim hides among n / m people, which loses more than is stated."""
    local = OneOptionModel.from_epsilon0(epsilon0=2.0, num_options=4, at_most=4)
    stated = account(ProtocolModel(local=local, shuffle=UniformShuffler().model(400)), delta=1e-4).guarantee.epsilon
    one = KaryRandomizedResponseModel.from_epsilon0(epsilon0=2.0, domain_size=2)
    alone = account(ProtocolModel(local=one, shuffle=UniformShuffler().model(100)), delta=1e-4)
    assert alone.kind.name == "EXACT"
    assert alone.guarantee.epsilon > 1.5 * stated
