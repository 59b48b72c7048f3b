"""Differentially oblivious shuffles: what is added to a uniform shuffle's bound, and when nothing is said."""

import math

import numpy as np
import pytest

from shuffledp.accounting import account, compose_releases
from shuffledp.accounting.theorems.reductions import ObliviousShuffle, SwapCost, raised
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Status, Trust
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.shufflers.mallows import MallowsShuffler
from shuffledp.protocols.shares.shufflers.imperfect import ImperfectShuffleModel, ObliviousShuffleModel
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.shufflers import UniformShuffleModel

RESPONSE = KaryRandomizedResponse(epsilon0=2.0, domain_size=4).model
PEOPLE, DELTA = 10_000, 1e-6


def protocol(epsilon, delta=0.0, **options):
    return ProtocolModel(
        local=RESPONSE, shuffle=ObliviousShuffleModel(num_users=PEOPLE, epsilon=epsilon, delta=delta, **options)
    )


def uniform_epsilon(delta, people=PEOPLE):
    model = ProtocolModel(local=RESPONSE, shuffle=UniformShuffleModel(num_users=people))
    return account(model, delta=delta).guarantee.epsilon


def test_epsilons_and_deltas_add_up():
    statement = account(protocol(0.3, 2e-7), delta=DELTA)
    assert (statement.basis.theorem, statement.basis.status) == ("oblivious-shuffle", Status.OWN_PROOF)
    assert statement.guarantee.epsilon == pytest.approx(uniform_epsilon(8e-7) + 0.3, rel=1e-9)
    assert Trust.SHUFFLER in statement.trust
    assert "is a promise about the shuffler: nothing here measures it" in " ".join(statement.remarks)


def test_its_curve_at_epsilon_is_delta_and_above_the_remainder_everywhere():
    model = protocol(0.3, 2e-7)
    epsilon = ObliviousShuffle().epsilon(model, delta=DELTA)
    assert ObliviousShuffle().delta(model, epsilon=epsilon) == pytest.approx(DELTA, rel=1e-3)
    epsilons = np.linspace(0, 1.9, 40)
    curve = ObliviousShuffle().curve(model, epsilons=epsilons)
    assert (np.diff(curve) <= 0).all()
    assert (curve >= 2e-7).all()
    assert ObliviousShuffle().curve(model, epsilons=np.array([2.0])) == [0.0]


def test_a_remainder_that_is_no_less_than_delta_leaves_the_local_guarantee():
    statement = account(protocol(0.3, 1e-6), delta=DELTA)
    assert (statement.basis.theorem, statement.guarantee.epsilon) == ("local-dp", 2.0)
    assert "apart from a remainder below 1e-06" in " ".join(statement.remarks)


@pytest.mark.parametrize("cost", [2.0, 3.0])
def test_a_shuffle_that_costs_as_much_as_one_report_tells_is_said_to_buy_nothing(cost):
    promised = account(protocol(cost), delta=DELTA).remarks[-1]
    assert promised.startswith(f"This shuffle buys nothing: its epsilon1 = {cost:g} is no less than epsilon0 = 2,")
    shuffle = ImperfectShuffleModel(num_users=PEOPLE, imperfection=cost, construction="cayley")
    imperfect = account(ProtocolModel(local=RESPONSE, shuffle=shuffle), delta=DELTA)
    assert imperfect.basis.theorem == "local-dp"
    assert imperfect.remarks[-1].startswith(f"This shuffle buys nothing: its gamma = {cost:g} is")
    assert "buys nothing" not in str(account(protocol(1.99), delta=DELTA))


def test_colluding_people_hide_nobody():
    found = account(protocol(0.3), delta=DELTA, honest_fraction=0.5)
    assert found.guarantee.epsilon == pytest.approx(uniform_epsilon(DELTA, PEOPLE // 2) + 0.3, rel=1e-9)


def test_an_imperfect_shuffle_is_oblivious_without_a_remainder():
    shuffle = ImperfectShuffleModel(num_users=PEOPLE, imperfection=0.3, construction="cayley")
    model = ProtocolModel(local=RESPONSE, shuffle=shuffle)
    assert ObliviousShuffle().epsilon(model, delta=DELTA) == SwapCost().epsilon(model, delta=DELTA)


def test_several_imperfect_releases_compose_by_their_whole_curve():
    shuffle = ImperfectShuffleModel(num_users=PEOPLE, imperfection=0.01, construction="cayley")
    model = ProtocolModel(local=RESPONSE, shuffle=shuffle)
    once = account(model, delta=DELTA / 5).guarantee.epsilon
    assert compose_releases(model, delta=DELTA, num_releases=5).guarantee.epsilon < 0.7 * 5 * once


def test_a_shuffle_that_promises_nothing_about_exchanges_is_not_covered():
    shuffler = MallowsShuffler(groups=Groups.from_labels([0] * 50), alpha=1.0)
    model = ProtocolModel(local=RESPONSE, shuffle=shuffler.model(50))
    assert not ObliviousShuffle().applies(model, delta=DELTA)
    assert ObliviousShuffle().curve(model, epsilons=np.array([0.5])) <= 1


def test_below_the_cost_a_curve_rises_by_the_slope_that_it_may_have():
    found = raised(lambda epsilons: 0.1 * np.exp(-epsilons), np.array([0.0, 0.5, 1.0, 2.0]), cost=1.0, remainder=0.01)
    expected = [1.0, 0.11 + math.e - math.exp(0.5), 0.11, 0.01 + 0.1 / math.e]
    assert found == pytest.approx(np.minimum(expected, 1.0))
    assert raised(np.ones_like, np.array([0.0, 800.0]), cost=750.0).tolist() == [1.0, 1.0]
