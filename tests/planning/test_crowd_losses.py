"""Local losses that crowds allow: the accountant keeps them, they grow with people, and false reports shrink."""

import pytest

import shuffledp as sdp
from shuffledp.accounting import account
from shuffledp.core.errors import InvalidParameterError
from shuffledp.planning.crowd_losses import crowds_around, epsilon0_of_crowd, robustness


def response(epsilon0):
    return sdp.KaryRandomizedResponse(epsilon0=epsilon0, domain_size=10).model


@pytest.mark.parametrize("people", [200, 10_000])
def test_the_accountant_promises_the_central_loss(people):
    found = epsilon0_of_crowd(people, epsilon=1.0, delta=1e-6)
    assert account(epsilon0=found, num_users=people, delta=1e-6).guarantee.epsilon <= 1.0
    assert account(epsilon0=found * 1.2, num_users=people, delta=1e-6).guarantee.epsilon > 1.0


def test_more_people_allow_more_and_a_few_allow_what_needs_no_shuffle():
    found = [epsilon0_of_crowd(people, epsilon=0.5, delta=1e-6) for people in (1, 10, 1000, 10**6)]
    assert found[0] == 0.5
    assert found == sorted(found)
    assert found[-1] > 8


def test_shuffled_reports_are_worth_less_when_they_are_false():
    found = robustness(response, [100, 10_000], epsilon=1.0, delta=1e-6)
    assert found.alone == response(1.0).swing == pytest.approx(6.82, abs=0.01)
    assert found.alone > found.shuffled[0] > found.shuffled[1] == pytest.approx(1.041, abs=0.02)


def test_reports_without_a_limit_and_losses_that_a_randomizer_cannot_have():
    shares = sdp.SplitAndMix(num_users=1000, epsilon=1.0, lower=0, upper=1, num_shares=9).model
    assert robustness(lambda _: shares, [100], epsilon=1.0, delta=1e-6) is None

    def small(epsilon0):
        if epsilon0 > 2:
            raise InvalidParameterError("epsilon0 must be at most 2.")
        return response(epsilon0)

    (swing,) = robustness(small, [10**6], epsilon=1.0, delta=1e-6).shuffled
    assert response(2.0).swing <= swing < response(1.7).swing


def test_crowds_are_drawn_around_the_planned_one():
    assert crowds_around(10_000)[0] == 100
    assert crowds_around(10_000)[-1] == 10**6
    assert 10_000 in crowds_around(10_000)
    assert list(crowds_around(5)) == sorted(set(crowds_around(5)))
