"""Solved parameters meet their targets, and are the best that do."""

import math

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.accounting import account
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.guarantees import LocalDP
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Status
from shuffledp.planning import calibrate
from shuffledp.randomizers import KaryRandomizedResponseModel, LdpModel
from shuffledp.shufflers import UniformShuffleModel

MOST_EVALUATIONS = 20


def stated(local, users, **options):
    model = ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=users))
    return account(model, delta=1e-6, **options).guarantee.epsilon


def krr(epsilon0):
    return KaryRandomizedResponseModel.from_epsilon0(epsilon0=epsilon0, domain_size=10)


# ---- the largest epsilon0 -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("users", [1, 2, 50, 10_000, 10**9])
@pytest.mark.parametrize("target", [1e-3, 0.5, 5.0])
def test_the_largest_local_loss_meets_the_target_and_a_larger_one_does_not(target, users):
    found = calibrate.epsilon0(target_epsilon=target, delta=1e-6, num_users=users)
    assert found.statement.guarantee.epsilon == stated(LdpModel(epsilon0=found.value), users) <= target
    assert stated(LdpModel(epsilon0=found.value * (1 + 3e-5)), users) > target
    assert found.value >= target
    assert found.num_evaluations <= MOST_EVALUATIONS
    assert (found.solved, found.model.num_users, found.target_epsilon) == ("epsilon0", users, target)


def test_one_person_gets_the_target_itself_as_nothing_hides_that_person():
    found = calibrate.epsilon0(target_epsilon=0.5, delta=1e-6, num_users=1)
    assert found.value == pytest.approx(0.5, rel=1e-4)


def test_a_kind_with_its_parameters_is_the_same_as_the_function_that_makes_it():
    options = {"target_epsilon": 0.1, "delta": 1e-6, "num_users": 5000}
    by_kind = calibrate.epsilon0(randomizer="k-rr", domain_size=10, **options)
    by_function = calibrate.epsilon0(randomizer=krr, **options)
    assert by_kind.value == by_function.value
    assert by_kind.model == by_function.model
    assert by_kind.model.local.kind == "k-rr"
    assert stated(by_kind.model.local, 5000) <= 0.1


def test_where_there_is_no_randomizer_of_a_larger_loss_the_largest_there_is_is_taken():
    def up_to_two(epsilon0):
        if epsilon0 > 2:
            raise InvalidParameterError("epsilon0 must be at most 2.")
        return LdpModel(epsilon0=epsilon0)

    found = calibrate.epsilon0(target_epsilon=1.0, delta=1e-6, num_users=10**6, randomizer=up_to_two)
    assert 2 * (1 - 2e-5) < found.value <= 2


def test_more_people_allow_a_larger_loss_and_colluding_ones_do_not_count():
    values = [
        calibrate.epsilon0(target_epsilon=0.2, delta=1e-6, num_users=users).value for users in (10**3, 10**4, 10**5)
    ]
    assert values == sorted(values)
    half = calibrate.epsilon0(target_epsilon=0.2, delta=1e-6, num_users=2 * 10**4, honest_fraction=0.5)
    assert half.value == pytest.approx(values[1], rel=1e-4)


def test_a_target_that_everything_meets_is_met_by_the_largest_loss_there_is():
    found = calibrate.epsilon0(target_epsilon=200.0, delta=1e-6, num_users=10)
    assert found.value == calibrate.LARGEST_EPSILON0


# ---- the fewest users -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "epsilon0"), [(0.5, 1.0), (0.9, 1.0), (0.01, 1.0), (0.5, 4.0), (1e-3, 2.0), (3.0, 8.0), (0.999, 1.0)]
)
def test_the_fewest_people_meet_the_target_and_one_less_do_not(target, epsilon0):
    found = calibrate.num_users(target_epsilon=target, delta=1e-6, epsilon0=epsilon0)
    local = LdpModel(epsilon0=epsilon0)
    assert isinstance(found.value, int)
    assert found.statement.guarantee.epsilon == stated(local, found.value) <= target
    assert stated(local, found.value - 1) > target
    assert found.num_evaluations <= MOST_EVALUATIONS
    assert found.model.num_users == found.value


def test_both_directions_agree():
    users = calibrate.num_users(target_epsilon=0.3, delta=1e-8, epsilon0=2.0).value
    assert calibrate.epsilon0(target_epsilon=0.3, delta=1e-8, num_users=users).value >= 2.0 * (1 - 3e-5)
    assert calibrate.epsilon0(target_epsilon=0.3, delta=1e-8, num_users=users - 2).value < 2.0 * (1 + 1e-5)


def test_of_the_people_only_the_honest_ones_hide_somebody():
    all_honest = calibrate.num_users(target_epsilon=0.3, delta=1e-6, epsilon0=2.0).value
    some = calibrate.num_users(target_epsilon=0.3, delta=1e-6, epsilon0=2.0, honest_fraction=0.3).value
    assert math.floor(some * 0.3) == all_honest


def test_a_bound_that_is_not_monotone_is_certified_at_the_answer(monkeypatch):
    """Every third number of people is 2% worse: the answer itself meets the target whatever happens beside it."""
    real = calibrate.account

    def bumpy(model, **options):
        found = real(model, **options)
        guarantee = found.guarantee
        return (
            found
            if model.num_users % 3
            else found.weaken(type(guarantee)(epsilon=guarantee.epsilon * 1.02, delta=guarantee.delta))
        )

    monkeypatch.setattr(calibrate, "account", bumpy)
    found = calibrate.num_users(target_epsilon=0.1, delta=1e-6, epsilon0=1.0)
    assert bumpy(found.model, delta=1e-6).guarantee.epsilon <= 0.1
    less = ProtocolModel(local=found.model.local, shuffle=UniformShuffleModel(num_users=found.value - 1))
    assert bumpy(less, delta=1e-6).guarantee.epsilon > 0.1


# ---- both -----------------------------------------------------------------------------------------------------------


def test_published_theorems_alone_need_more():
    ours = calibrate.num_users(target_epsilon=0.1, delta=1e-6, epsilon0=1.0)
    theirs = calibrate.num_users(target_epsilon=0.1, delta=1e-6, epsilon0=1.0, published_only=True)
    assert ours.statement.basis.status is Status.OWN_PROOF
    assert theirs.statement.basis.status is Status.PUBLISHED
    assert theirs.value > ours.value


def test_the_answer_is_one_object_of_the_schema_with_what_was_solved():
    found = calibrate.num_users(target_epsilon=0.1, delta=1e-6, epsilon0=1.0)
    written = found.to_dict()
    assert written["solved"] == "num_users"
    assert written["value"] == written["num_users"] == found.value
    assert written["epsilon_upper"] == found.statement.guarantee.epsilon <= written["target_epsilon"] == 0.1
    assert written["statements"][0] == found.statement.to_dict()


def test_the_module_is_a_public_name():
    assert sdp.calibrate is calibrate


# ---- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target_epsilon": 0.0}, "target_epsilon must be a finite number above 0"),
        ({"target_epsilon": math.nan}, "target_epsilon must be a finite number above 0"),
        ({"target_epsilon": math.inf}, "target_epsilon must be a finite number above 0"),
        ({"delta": 0.0}, "delta must be a number strictly between 0 and 1"),
        ({"delta": 1}, "delta must be a number strictly between 0 and 1"),
        ({"randomizer": "shouting"}, "randomizer must be one of"),
        ({"randomizer": 7}, "randomizer must be the name of a kind or a function"),
        ({"randomizer": "k-rr"}, "domain_size must be given for randomizer 'k-rr'"),
        ({"domain_size": 4}, "domain_size must be left out for randomizer 'ldp'"),
        ({"randomizer": krr, "domain_size": 4}, "given only with the name of a kind"),
        ({"honest_fraction": 0.0}, "honest_fraction must be a finite number above 0"),
        ({"honest_fraction": 1.5}, "honest_fraction must be at most 1"),
    ],
)
def test_bad_input_is_refused_with_its_name_and_value(options, message):
    usual = {"target_epsilon": 0.5, "delta": 1e-6} | options
    with pytest.raises(InvalidParameterError, match=message):
        calibrate.epsilon0(num_users=1000, **usual)
    with pytest.raises(InvalidParameterError, match=message):
        calibrate.num_users(epsilon0=1.0, **usual)


@pytest.mark.parametrize("users", [0, -1, 2.5, True])
def test_a_number_of_people_is_a_whole_number_from_1_on(users):
    with pytest.raises(InvalidParameterError, match="num_users must be an integer that is 1 or more"):
        calibrate.epsilon0(target_epsilon=0.5, delta=1e-6, num_users=users)


@pytest.mark.parametrize("epsilon0", [0.0, math.inf, math.nan, -1.0])
def test_a_local_loss_is_finite_and_above_0(epsilon0):
    with pytest.raises(InvalidParameterError, match="epsilon0 must be a finite number above 0"):
        calibrate.num_users(target_epsilon=0.5, delta=1e-6, epsilon0=epsilon0)


@pytest.mark.parametrize("target", [1.0, 1.5])
def test_a_target_that_needs_no_shuffling_is_refused_with_the_reason(target):
    with pytest.raises(InvalidParameterError, match=r"below the local loss of 1.*no shuffling is needed"):
        calibrate.num_users(target_epsilon=target, delta=1e-6, epsilon0=1.0)


def test_a_target_that_ten_billion_people_do_not_reach_is_refused_with_what_they_give():
    with pytest.raises(
        InvalidParameterError, match=r"at least [\d.e-]+, which is what 10,000,000,000 people are known"
    ):
        calibrate.num_users(target_epsilon=1e-7, delta=1e-6, epsilon0=1.0)


def test_a_randomizer_that_cannot_be_made_at_the_target_is_refused_by_its_own_error():
    with pytest.raises(InvalidParameterError, match="epsilon0"):
        calibrate.epsilon0(target_epsilon=40.0, delta=1e-6, num_users=100, randomizer="k-rr", domain_size=3)


def test_a_local_remainder_is_carried_along():
    found = calibrate.epsilon0(target_epsilon=0.5, delta=1e-6, num_users=10_000, delta0=1e-13)
    assert found.model.local.guarantee == LocalDP(epsilon=found.value, delta=1e-13)
    assert found.statement.guarantee.epsilon <= 0.5
    assert np.isfinite(found.value)


def test_a_target_beyond_all_people_is_refused_with_what_most_people_give():
    with pytest.raises(InvalidParameterError, match=r"target_epsilon must be at least 1\.\d+e-05, .* people are known"):
        calibrate.num_users(epsilon0=1.0, target_epsilon=1e-300, delta=1e-6)


def test_what_no_family_of_protocols_solves_is_no_calibration():
    with pytest.raises(AttributeError, match=r"'shuffledp.planning.calibrate' has no attribute 'num_pigeons'"):
        calibrate.num_pigeons  # noqa: B018
