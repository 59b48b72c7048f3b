"""Split and mix with the fewest messages that are certified, and the certificate beside it."""

import math
from dataclasses import replace

import pytest

import shuffledp as sdp
from shuffledp.accounting import account
from shuffledp.core.errors import HypothesisError, InvalidParameterError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.planning import calibrate
from shuffledp.planning.calibrate import SplitAndMixCertificate
from shuffledp.protocols.shares.shufflers.imperfect import ImperfectShuffleModel
from shuffledp.protocols.shares.shufflers.parallel import ParallelShuffleModel
from shuffledp.protocols.shares.theorems.additive_shares import SplitAndMixRounds
from shuffledp.shufflers import IdentityShuffleModel, UniformShuffleModel

USUAL = {"num_users": 10_000, "epsilon": 1.0, "delta": 1e-6, "lower": 0, "upper": 100}


def rounds_of(model, *, gamma, users=10_000, colluding=0):
    one = ImperfectShuffleModel(num_users=users, imperfection=gamma, construction="assumed", num_colluding=colluding)
    return ParallelShuffleModel(round=one, num_rounds=model.num_messages)


def stated(model, **shuffle):
    return SplitAndMixRounds().delta(
        ProtocolModel(local=model, shuffle=rounds_of(model, **shuffle)), epsilon=model.epsilon
    )


@pytest.mark.parametrize("gamma", [0.0, 0.5, 3.0])
@pytest.mark.parametrize(
    "options", [{}, {"dimension": 20}, {"dimension": 20, "l1_bounded": True}, {"integer": True}], ids=str
)
def test_the_answer_meets_the_target_and_one_message_less_does_not(gamma, options):
    model = calibrate.split_and_mix(**USUAL | options, imperfection=gamma).model
    assert model.num_messages == model.num_shares * model.dimension
    assert stated(model, gamma=gamma) <= 1e-6
    assert stated(replace(model, num_shares=model.num_shares - 1), gamma=gamma) > 1e-6
    statement = account(ProtocolModel(local=model, shuffle=rounds_of(model, gamma=gamma)), delta=1e-6)
    assert statement.basis.theorem == "split-and-mix"
    assert statement.guarantee.epsilon <= 1.0


def test_its_parameters_are_those_of_the_protocol():
    found = sdp.calibrate.split_and_mix(**USUAL, imperfection=0.5)
    assert isinstance(found, sdp.SplitAndMix)
    assert (found.num_messages, found.precision, found.modulus) == (8, 100, 2 * 10_000 * 100)
    assert not found.clip
    assert calibrate.split_and_mix(**USUAL, clip=True).clip


def test_twice_the_precision_costs_one_bit_a_message_and_quarters_what_rounding_adds():
    coarse, fine = (calibrate.split_and_mix(**USUAL, precision=each).model for each in (100, 200))
    assert coarse == calibrate.split_and_mix(**USUAL).model
    assert (fine.precision, fine.modulus) == (200, 2 * coarse.modulus)
    assert fine.report_bits == coarse.report_bits + 1
    rounding = [each.sum_variance(10_000) - each.noise_of(10_000) for each in (coarse, fine)]
    assert rounding == pytest.approx([100**2 * 10_000 / (4 * each**2) for each in (100, 200)])
    with pytest.raises(InvalidParameterError, match="precision must be an integer that is 1 or more"):
        calibrate.split_and_mix(**USUAL, precision=0)


def test_people_who_stay_away_or_collude_are_made_up_for():
    model = calibrate.split_and_mix(**USUAL, imperfection=0.5, dropout_fraction=0.3).model
    assert model.noise_users == 7000
    for shuffle in ({}, {"users": 7000}, {"colluding": 3000}, {"users": 8000, "colluding": 1000}):
        assert stated(model, gamma=0.5, **shuffle) <= 1e-6
    assert stated(model, gamma=0.5, colluding=3001) == 1.0


@pytest.mark.filterwarnings("ignore:With a probability of up to")  # of a sum that wraps around, which is not the point
@pytest.mark.parametrize(("users", "gamma"), [(50, 0.0), (100, 0.5), (300, 1.0), (1000, 0.5)])
def test_messages_suffice_for_those_who_are_left_and_not_only_for_all(users, gamma):
    usual = USUAL | {"num_users": users, "imperfection": gamma}
    model = calibrate.split_and_mix(**usual, dropout_fraction=0.5).model
    assert model.num_shares > calibrate.split_and_mix(**usual).model.num_shares
    for count in (users // 2, users // 2 + 1, users):
        assert stated(model, gamma=gamma, users=count) <= 1e-6
        assert stated(model, gamma=gamma, users=users, colluding=users - count) <= 1e-6
    fewer = replace(model, num_shares=model.num_shares - 1)
    assert stated(fewer, gamma=gamma, users=users // 2) > 1e-6 >= stated(fewer, gamma=gamma, users=users)


def test_a_share_is_meant_as_it_is_written():
    assert calibrate.split_and_mix(**USUAL | {"num_users": 100}, dropout_fraction=0.29).model.noise_users == 71


def test_messages_grow_with_the_imperfection_and_as_delta_falls():
    by_gamma = [calibrate.split_and_mix(**USUAL, imperfection=gamma).num_messages for gamma in (0, 0.5, 3, 6)]
    assert by_gamma == sorted(by_gamma)
    assert by_gamma[-1] > by_gamma[0]
    by_delta = [calibrate.split_and_mix(**USUAL | {"delta": 10.0**-power}).num_messages for power in (3, 6, 12, 100)]
    assert by_delta == sorted(set(by_delta))


def test_a_coordinate_more_costs_its_share_of_delta_only():
    one, many = (calibrate.split_and_mix(**USUAL, dimension=size).model.num_shares for size in (1, 100))
    assert one <= many <= one + 3


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("num_users", {"num_users": 1}),
        ("num_users", {"num_users": 10**9 + 1}),
        ("delta", {"delta": 0}),
        ("imperfection", {"imperfection": -1e-9}),
        ("imperfection", {"imperfection": math.inf}),
        ("imperfection", {"imperfection": math.nan}),
        ("imperfection must be smaller, since no number of messages up to 1024 is certified", {"imperfection": 15.0}),
        ("dropout_fraction", {"dropout_fraction": 1.0}),
        ("dropout_fraction", {"dropout_fraction": 0.9999}),
        ("epsilon", {"epsilon": 0}),
        (r"epsilon \* num_users", {"epsilon": 1e-4}),
        (r"epsilon \* num_users", {"epsilon": 5e-4}),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_by_name(name, change):
    with pytest.raises(InvalidParameterError, match=f"^{name}"):
        calibrate.split_and_mix(**USUAL | change)


def test_a_refusal_says_what_would_help():
    with pytest.raises(InvalidParameterError, match="Use a better shuffle, more people or a larger delta"):
        calibrate.split_and_mix(**USUAL, imperfection=15.0)


# ---- the certificate ------------------------------------------------------------------------------------------------


def test_the_certificate_says_what_the_theorem_says():
    model = calibrate.split_and_mix(**USUAL, imperfection=0.01).model
    shuffle = rounds_of(model, gamma=0.01)
    found = calibrate.split_and_mix_certificate(model, shuffle)
    assert (found.num_shares, found.num_messages, found.modulus, found.precision) == (7, 7, 2_000_000, 100)
    assert found.bits_per_user == 7 * 21
    assert found.delta == stated(model, gamma=0.01) <= 1e-6
    assert found.delta == pytest.approx((1 + math.e) * 2**-found.security_bits, rel=1e-6)
    assert SplitAndMixCertificate.from_dict(found.to_dict()) == found


def test_one_uniform_buffer_has_a_certificate_too():
    model = calibrate.split_and_mix(**USUAL).model
    buffer = calibrate.split_and_mix_certificate(model, UniformShuffleModel(num_users=10_000))
    assert buffer.delta == stated(model, gamma=0.0)


def test_what_is_not_certified_has_no_certificate():
    model = replace(calibrate.split_and_mix(**USUAL).model, num_shares=2)
    with pytest.raises(HypothesisError, match="not certified to mix"):
        calibrate.split_and_mix_certificate(model, rounds_of(model, gamma=0.0))
    with pytest.raises(HypothesisError, match="imperfection not known"):
        calibrate.split_and_mix_certificate(model, IdentityShuffleModel(num_users=10_000))
    with pytest.raises(InvalidParameterError, match=r"^model must be"):
        calibrate.split_and_mix_certificate(rounds_of(model, gamma=0.0), rounds_of(model, gamma=0.0))
    with pytest.raises(InvalidParameterError, match=r"^shuffle must be"):
        calibrate.split_and_mix_certificate(model, model)
