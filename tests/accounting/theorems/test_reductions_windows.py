"""The swap-cost theorem: hypotheses, limits, the worst person, and what stands beside a release."""

import math
from dataclasses import replace

import numpy as np
import pytest

from shuffledp.accounting import account, account_all, delta_at
from shuffledp.accounting.theorems.reductions import SwapCost
from shuffledp.core.guarantees import CentralDP, DSigmaPrivacy, LocalDP
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Kind, Status, Trust
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.shufflers.mallows import MallowsShuffler
from shuffledp.protocols.d_sigma.shufflers.noisy_sort import NoisySortShuffler
from shuffledp.protocols.shares.shufflers.imperfect import ImperfectShuffleModel
from shuffledp.randomizers import KaryRandomizedResponse, LdpModel
from shuffledp.shufflers import UniformShuffleModel

PEOPLE = 400
ALL = Groups.from_labels([0] * PEOPLE)
RESPONSE = KaryRandomizedResponse(epsilon0=2.0, domain_size=4).model
DELTA = 1e-4


def protocol(shuffler, local=RESPONSE):
    return ProtocolModel(local=local, shuffle=shuffler.model(PEOPLE))


def epsilon_of(shuffler, **options):
    return account(protocol(shuffler), delta=DELTA, **options).guarantee.epsilon


def test_without_concentration_it_is_the_uniform_bound_of_everybody():
    uniform = account(ProtocolModel(local=RESPONSE, shuffle=UniformShuffleModel(num_users=PEOPLE)), delta=DELTA)
    assert epsilon_of(MallowsShuffler(groups=ALL, alpha=0.0)) == pytest.approx(uniform.guarantee.epsilon, rel=1e-9)
    assert epsilon_of(NoisySortShuffler(groups=ALL, alpha=0.0)) == pytest.approx(uniform.guarantee.epsilon, rel=1e-9)


def test_it_grows_with_the_concentration_up_to_epsilon0():
    found = [epsilon_of(MallowsShuffler(groups=ALL, concentration=theta)) for theta in (0.0, 1e-4, 1e-3, 1e-2, 1.0)]
    assert found == sorted(found)
    assert found[0] < 0.5
    assert found[-1] == pytest.approx(2.0)
    assert epsilon_of(MallowsShuffler(groups=ALL, alpha=math.inf)) == pytest.approx(2.0)


def test_the_worst_person_decides_and_people_alone_are_counted():
    groups = Groups.from_labels([0] * (PEOPLE - 3) + [1, 2, 3])
    statement = account(protocol(MallowsShuffler(groups=groups, alpha=0.0)), delta=DELTA)
    assert statement.guarantee.epsilon == RESPONSE.epsilon0
    text = " ".join(statement.remarks)
    assert "3 of 400 people are alone: their reports are not shuffled at all. The others are mixed" in text
    assert "For those who are not alone, epsilon is at most 0." in text
    assert statement.basis.theorem == "local-dp"
    assert statement.trust == (Trust.OWN_DEVICE,)


def test_smaller_blocks_hide_less():
    halves, quarters = (Groups.from_labels(np.arange(PEOPLE) % parts) for parts in (2, 4))
    found = [epsilon_of(MallowsShuffler(groups=each, alpha=0.0)) for each in (ALL, halves, quarters)]
    assert found == sorted(found)
    assert len(set(found)) == 3


def test_colluding_people_hide_nobody_wherever_they_are():
    shuffler = MallowsShuffler(groups=ALL, alpha=0.0)
    fewer = account(ProtocolModel(local=RESPONSE, shuffle=UniformShuffleModel(num_users=300)), delta=DELTA)
    found = account(protocol(shuffler), delta=DELTA, honest_fraction=0.75)
    assert found.guarantee.epsilon == pytest.approx(fewer.guarantee.epsilon, rel=1e-9)
    assert "Of 400 people 300 are counted as honest" in " ".join(found.remarks)


def test_delta_and_epsilon_are_two_readings_of_one_bound():
    model = protocol(MallowsShuffler(groups=ALL, concentration=1e-3))
    epsilon = SwapCost().epsilon(model, delta=DELTA)
    assert DELTA / 2 < SwapCost().delta(model, epsilon=epsilon) <= DELTA  # another window may be the better one here
    least = SwapCost().delta(model, epsilon=1e-3)  # the cost of the largest window
    below = SwapCost().delta(model, epsilon=0.0005)  # it falls with a slope of -1 at most in exp(epsilon)
    assert least < below <= least + np.exp(1e-3) - np.exp(0.0005) + 1e-12
    assert delta_at(model, epsilon=epsilon).guarantee.delta <= DELTA


def test_the_statement_names_the_theorem_its_hypotheses_and_whom_to_trust():
    statement = account(protocol(MallowsShuffler(groups=ALL, concentration=1e-3)), delta=DELTA)
    assert (statement.basis.theorem, statement.basis.status) == ("swap-cost", Status.OWN_PROOF)
    names = {each.name for each in statement.basis.hypotheses}
    assert {"known-swap-costs", "oblivious", "one-message-each", "common-randomizer", "blanket-bound"} <= names
    assert Trust.SHUFFLER in statement.trust
    assert (
        account(protocol(MallowsShuffler(groups=ALL, alpha=0.0)), delta=DELTA, published_only=True).guarantee.epsilon
        == 2
    )


def test_gaussian_noise_has_no_swap_costs_so_that_the_local_guarantee_remains():
    shuffler = NoisySortShuffler(groups=ALL, alpha=1.0, noise="gaussian", delta=1e-6)
    statement = account(protocol(shuffler), delta=DELTA)
    assert statement.basis.theorem == "local-dp"
    assert "swap-cost needs a shuffle with known costs" in " ".join(statement.remarks)


def imperfect(gamma, people=10_000, local=RESPONSE):
    shuffle = ImperfectShuffleModel(num_users=people, imperfection=gamma, construction="assumed")
    return ProtocolModel(local=local, shuffle=shuffle)


@pytest.mark.parametrize("gamma", [0.1, 0.5, 1.0])
def test_an_imperfect_shuffle_costs_its_gamma_on_top_of_the_uniform_one(gamma):
    uniform = account(ProtocolModel(local=RESPONSE, shuffle=UniformShuffleModel(num_users=10_000)), delta=DELTA)
    statement = account(imperfect(gamma), delta=DELTA)
    assert statement.basis.theorem == "swap-cost"
    assert statement.guarantee.epsilon == pytest.approx(uniform.guarantee.epsilon + gamma, rel=1e-9)
    text = " ".join(statement.remarks)
    assert f"gamma = {gamma:g} is a promise about the shuffler: nothing here measures it" in text
    assert "mixed with neighbors only" not in text


def test_an_imperfect_shuffle_never_states_more_than_epsilon0():
    statement = account(imperfect(5.0), delta=DELTA)
    assert (statement.basis.theorem, statement.guarantee.epsilon) == ("local-dp", RESPONSE.epsilon0)
    assert "promise about the shuffler" not in " ".join(statement.remarks)
    assert SwapCost().epsilon(imperfect(1.95), delta=DELTA) == RESPONSE.epsilon0


def test_without_imperfection_the_uniform_theorems_apply():
    uniform = account_all(ProtocolModel(local=RESPONSE, shuffle=UniformShuffleModel(num_users=10_000)), delta=DELTA)
    found = account_all(imperfect(0.0), delta=DELTA)
    assert [each.guarantee for each in found] == [each.guarantee for each in uniform]


def test_colluding_people_are_left_out_of_an_imperfect_shuffle():
    fewer = account(imperfect(0.5, people=7_000), delta=DELTA)
    found = account(imperfect(0.5), delta=DELTA, honest_fraction=0.7)
    assert found.guarantee.epsilon == pytest.approx(fewer.guarantee.epsilon, rel=1e-12)


def test_different_randomizers_are_not_covered():
    class Own(LdpModel):
        is_common = False

    assert not SwapCost().applies(protocol(MallowsShuffler(groups=ALL, alpha=0.0), Own(epsilon0=1.0)), delta=DELTA)


# ---- what stands beside a release -----------------------------------------------------------------------------------


def test_a_release_states_central_order_and_local_guarantees_in_this_order():
    found = account_all(protocol(MallowsShuffler(groups=ALL, alpha=1.0)), delta=DELTA)
    assert [type(each.guarantee) for each in found] == [CentralDP, DSigmaPrivacy, LocalDP]
    order = found[1]
    assert (order.basis.theorem, order.kind, order.guarantee.alpha) == ("d-sigma-mallows", Kind.UPPER_BOUND, 1.0)
    assert order.guarantee.groups_digest == ALL.digest
    assert "whatever somebody knew before" in str(order)


def test_a_gaussian_sort_states_its_remainder_and_never_a_pure_alpha():
    shuffler = NoisySortShuffler(groups=ALL, alpha=1.0, noise="gaussian", delta=1e-6)
    order = account_all(protocol(shuffler), delta=DELTA)[1]
    assert order.guarantee.delta == 1e-6
    assert "apart from a remainder of 1e-06" in str(order)
    assert "there is no bound on odds after every single outcome" in str(order)


def test_the_local_guarantee_alone_bounds_the_order_where_that_says_more():
    """Lemma 3.1 of the preprint: g reports change. Groups of one person have no order at all."""
    pairs = Groups.from_labels(np.arange(PEOPLE) // 2)
    order = account_all(protocol(MallowsShuffler(groups=pairs, alpha=50.0)), delta=DELTA)[1]
    assert (order.basis.theorem, order.trust) == ("d-sigma-local", (Trust.OWN_DEVICE,))
    assert "Theorem 4.1" not in str(order)
    assert order.guarantee.alpha == pytest.approx(2 * RESPONSE.epsilon0)
    assert "alpha = 4, and the shuffle's own alpha is 50." in str(order)
    assert "not private" not in str(order)
    least = account_all(protocol(MallowsShuffler(groups=pairs, alpha=3.0)), delta=DELTA)[1]
    assert "The shuffle adds nothing" not in str(least)
    alone = account_all(protocol(MallowsShuffler(groups=Groups.from_labels(range(PEOPLE)), alpha=50.0)), delta=DELTA)
    assert alone[1].guarantee.alpha == 0
    assert "The shuffle adds nothing" not in str(alone[1])


@pytest.mark.parametrize("shuffler", [MallowsShuffler, NoisySortShuffler])
def test_where_nothing_is_shuffled_the_statements_say_so_and_call_nobody_mixed(shuffler):
    headline, order, _ = account_all(protocol(shuffler(groups=ALL, alpha=math.inf)), delta=DELTA)
    assert headline.guarantee.epsilon == RESPONSE.epsilon0
    assert headline.remarks == ("Nothing is shuffled, so there is no amplification: only the local guarantee remains.",)
    assert order.guarantee.alpha == pytest.approx(2.0 * PEOPLE)
    assert "the shuffle's own alpha is infinite. By the shuffle itself this is not private." in str(order)
    assert "This is hardly a promise" in str(order)
    assert "hides who said what" not in str(order)


def test_why_nothing_is_amplified_is_one_sentence_for_all_theorems_about_uniform_shuffles():
    groups = Groups.from_labels([0] * (PEOPLE - 3) + [1, 2, 3])
    statement = account(protocol(MallowsShuffler(groups=groups, alpha=1.0)), delta=DELTA)
    remark, reason = (
        statement.remarks[-1],
        "theorems about uniform shuffles do not apply to a shuffle of kind 'mallows'",
    )
    assert remark.startswith(f"No amplification by shuffling is stated: {reason}")
    assert remark.count("uniform") == 1
    assert "swap-cost gives no less: 2" in remark


def test_people_alone_are_counted_where_no_theorem_is_about_the_others_too():
    groups = Groups.from_labels([0] * (PEOPLE - 3) + [1, 2, 3])
    shuffler = NoisySortShuffler(groups=groups, alpha=1.0, noise="gaussian", delta=1e-6)
    text = str(account(protocol(shuffler), delta=DELTA))
    assert "3 of 400 people are alone: their reports are not shuffled at all" in text
    assert "The others are mixed with neighbors only." in text
    some = account(protocol(NoisySortShuffler(groups=ALL, alpha=1.0, noise="gaussian", delta=1e-6)), delta=DELTA)
    assert "Everybody is mixed with neighbors only." in str(some)


def test_what_holds_for_people_who_are_not_alone_is_said_only_where_it_is_less():
    groups = Groups.from_labels([0] * (PEOPLE - 3) + [1, 2, 3])
    near, far = (str(account(protocol(MallowsShuffler(groups=groups, alpha=a)), delta=DELTA)) for a in (1e9, 0.0))
    assert "epsilon is at most" not in near
    assert "For those who are not alone, epsilon is at most 0." in far


def test_a_shuffle_without_groups_states_no_order():
    shuffler = NoisySortShuffler(positions=np.arange(PEOPLE) / 10)
    found = account_all(protocol(shuffler), delta=DELTA)
    assert [type(each.guarantee) for each in found] == [CentralDP, LocalDP]


def test_a_randomizer_of_ones_own_makes_permuting_answers_something_else_than_permuting_reports():
    class Own(LdpModel):
        is_common = False

    model = protocol(MallowsShuffler(groups=ALL, alpha=1.0), Own(epsilon0=1.0))
    found = account_all(model, delta=DELTA)
    order = next(each for each in found if isinstance(each.guarantee, DSigmaPrivacy))
    assert order.basis.theorem == "d-sigma-local"
    assert order.guarantee.alpha == pytest.approx(PEOPLE)
    assert replace(model) == model
