"""Odds of naming the right slots: shares, limits, and the hypotheses without which nothing is said."""

import json
import math

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.core.errors import HypothesisError, InvalidParameterError, UnsupportedModelError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Trust
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.shufflers.mallows import MallowsShuffler
from shuffledp.protocols.d_sigma.shufflers.noisy_sort import NoisySortShuffler
from shuffledp.protocols.d_sigma.theorems.meehan22 import ReidentificationBound, reidentification_bound
from shuffledp.randomizers import KaryRandomizedResponse, LdpModel
from shuffledp.shufflers import UniformShuffleModel

GROUPS = Groups.from_labels([0] * 10)
RESPONSE = KaryRandomizedResponse(epsilon0=0.2, domain_size=3).model


def protocol(shuffler, local=RESPONSE):
    return ProtocolModel(local=local, shuffle=shuffler.model(10))


def test_it_is_theorem_4_2_for_a_group():
    found = reidentification_bound(protocol(MallowsShuffler(groups=GROUPS, alpha=1.0)), num_targets=2, group_size=7)
    assert found.from_values == pytest.approx(4 * RESPONSE.epsilon0)
    assert found.from_order == pytest.approx(1.0)
    # Of 21 sets of two people 10 have one of the targets, and 10 none.
    half, whole = 10 * math.exp(found.from_values / 2), math.exp(found.from_values)
    assert found.odds == pytest.approx(math.exp(1.0) * whole / (half + 10))
    assert found.odds < math.exp(found.from_values + 1.0) / 2  # as printed: floor((7 - 2) / 2) disjoint sets
    assert found.success == pytest.approx(found.odds / (1 + found.odds))
    assert found.dominates == "order"


def test_without_values_to_tell_people_apart_the_odds_are_exp_alpha_over_the_others():
    local = KaryRandomizedResponse(epsilon0=1e-6, domain_size=2).model
    groups = Groups.from_labels([0] * 100)
    for alpha in (0.0, 1.0, 3.0):
        model = ProtocolModel(local=local, shuffle=MallowsShuffler(groups=groups, alpha=alpha).model(100))
        most = math.exp(alpha) / (99 + math.exp(alpha))
        assert reidentification_bound(model).success == pytest.approx(most, rel=1e-5)


def test_swap_costs_of_one_person_tell_more_than_the_group_and_values_can_dominate():
    shuffler = MallowsShuffler(groups=GROUPS, alpha=5.0)
    model = protocol(shuffler)
    whole = reidentification_bound(model)
    refined = [reidentification_bound(model, swap_costs=shuffler.swap_costs(person)) for person in range(10)]
    assert max(each.odds for each in refined) < whole.odds / 10
    assert refined[0].dominates == "values"
    sort = NoisySortShuffler(groups=GROUPS, alpha=5.0)
    assert reidentification_bound(protocol(sort), swap_costs=sort.swap_costs(0)).odds < whole.odds


def test_a_remainder_raises_the_probability_and_is_on_average_over_releases():
    shuffler = NoisySortShuffler(groups=GROUPS, alpha=1.0, noise="gaussian", delta=0.01)
    found = reidentification_bound(protocol(shuffler))
    share = found.odds / (1 + found.odds)
    assert found.success == pytest.approx(share + (1 - share) * 0.01)
    assert "on average over releases" in str(found)


def test_colluders_are_no_part_of_the_group_that_hides_somebody():
    shuffler = MallowsShuffler(groups=GROUPS, alpha=1.0)
    whole = shuffler.model(10)
    found = [
        reidentification_bound(ProtocolModel(local=RESPONSE, shuffle=whole.counting(honest)), num_targets=2)
        for honest in (10, 7, 4, 3, 2)
    ]
    values = math.exp(2 * RESPONSE.epsilon0)
    odds = [
        math.exp(1.0) * values**2 / (2 * (honest - 2) * values + (honest - 2) * (honest - 3) / 2)
        for honest in (10, 7, 4, 3)
    ]
    assert [each.odds for each in found] == [*map(pytest.approx, odds), math.inf]
    assert [each.num_colluding for each in found] == [0, 3, 6, 7, 8]
    assert "Whoever knows everything but the randomness and the reports of 3 other people names" in str(found[1])
    costs = [0.0, 1.0, 2.0, 0.5]
    shuffle = MallowsShuffler(groups=Groups.from_labels([0] * 4), alpha=1.0).model(4).counting(2)
    left = reidentification_bound(ProtocolModel(local=RESPONSE, shuffle=shuffle), swap_costs=costs)
    assert left.odds == pytest.approx(math.exp(2 * RESPONSE.epsilon0 + 2.0))
    assert left.from_order == 2.0


def test_more_than_half_of_a_household_is_found_far_less_often_than_printed():
    for people, most, printed in ((96, 0.408, 0.973), (300, 0.072, 0.917), (1000, 0.0071, 0.768)):
        shuffle = MallowsShuffler(groups=Groups.from_labels([0] * people), alpha=4.0).model(people)
        model = ProtocolModel(local=LdpModel(epsilon0=0.5), shuffle=shuffle)
        found = reidentification_bound(model, num_targets=3, at_least=2)
        assert found.success == pytest.approx(most, rel=0.01)
        odds = math.exp(3.0 + 4.0) / ((people - 3) // 3)
        assert odds / (1 + odds) == pytest.approx(printed, abs=0.001)
        assert "names at least 2 of the slots of the reports of 3 given people" in str(found)
        assert reidentification_bound(model, num_targets=3).success < found.success / 50


def test_several_people_are_refused_where_there_is_no_pure_loss_and_use_it_where_there_is():
    gaussian = NoisySortShuffler(groups=GROUPS, alpha=1.0, noise="gaussian", delta=0.01)
    with pytest.raises(UnsupportedModelError, match="several people are found together is not known"):
        reidentification_bound(protocol(gaussian), num_targets=2)
    for make in (MallowsShuffler, NoisySortShuffler):
        spent = make(groups=GROUPS, alpha=1.0, delta=0.01)
        found = reidentification_bound(protocol(spent), num_targets=2)
        assert (found.from_order, found.remainder) == (spent.model(10).pure_loss, 0.0)
        one = reidentification_bound(protocol(spent))
        pure = math.exp(2 * RESPONSE.epsilon0 + spent.model(10).pure_loss) / 9
        assert one.success <= pure / (1 + pure) * (1 + 1e-9)


def test_it_says_what_must_hold_in_the_world():
    found = reidentification_bound(protocol(MallowsShuffler(groups=GROUPS, alpha=1.0)))
    assert set(found.trust) == {Trust.OWN_DEVICE, Trust.SHUFFLER, Trust.NO_COLLUSION, Trust.HONEST_USERS}


def test_somebody_alone_is_always_found():
    shuffler = MallowsShuffler(groups=Groups.from_labels(range(10)), alpha=1.0)
    found = reidentification_bound(protocol(shuffler), swap_costs=shuffler.swap_costs(0))
    assert (found.odds, found.success) == (math.inf, 1.0)


def test_it_is_a_value_with_evaluated_hypotheses_and_a_sentence():
    found = sdp.reidentification_bound(protocol(MallowsShuffler(groups=GROUPS, alpha=1.0)))
    assert ReidentificationBound.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert {each.name for each in found.hypotheses} >= {"oblivious", "common-randomizer", "pure-local-dp"}
    assert "names the slots of one person's report correctly with a probability of at most" in str(found)
    assert "the order dominates" in str(found)


def test_without_its_hypotheses_nothing_is_said():
    class Own(LdpModel):
        is_common = False

    shuffler = MallowsShuffler(groups=GROUPS, alpha=1.0)
    with pytest.raises(HypothesisError, match="needs one randomizer for all users"):
        reidentification_bound(protocol(shuffler, Own(epsilon0=1.0)))
    with pytest.raises(UnsupportedModelError, match="nothing is known about groups"):
        reidentification_bound(ProtocolModel(local=RESPONSE, shuffle=UniformShuffleModel(num_users=10)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_targets": 0}, "num_targets must be an integer that is 1 or more"),
        ({"group_size": 11}, "group_size must be from num_targets=1 to the largest group, 10"),
        ({"group_size": 2, "num_targets": 3}, "group_size must be from num_targets=3"),
        ({"at_least": 2}, "at_least must be at most num_targets=1"),
        ({"at_least": 0}, "at_least must be an integer that is 1 or more"),
        ({"swap_costs": np.ones(10)}, "swap_costs must be numbers of 0 or more, one of them"),
        ({"swap_costs": [0.0, 1.0], "num_targets": 2}, "swap_costs must be given for one target"),
        ({"swap_costs": [0.0, -1.0]}, "swap_costs must be numbers of 0 or more"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(InvalidParameterError, match=message):
        reidentification_bound(protocol(MallowsShuffler(groups=GROUPS, alpha=1.0)), **options)
