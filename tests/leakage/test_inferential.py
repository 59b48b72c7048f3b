import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from leakage.small import FLIP, HALF, QUARTER, THREE, random_fractions
from shuffledp.channels import Channel
from shuffledp.errors import InvalidParameterError
from shuffledp.leakage import bayes, inferential_loss, joint_prior, record_channel, record_prior
from shuffledp.leakage.shuffle_channels import (
    cascade,
    independent_channel,
    randomized_response_channel,
    reduced_shuffle_channel,
    shuffle_channel,
)

TRUTH = Fraction(3, 4)  # a local loss of log 3
PAIR = randomized_response_channel(2, 2, TRUTH)
HOUSEHOLD = [HALF, 0, 0, HALF]  # two people who always have the same value


def odds_moved(prior, channel):
    """The largest change of log-odds between two values of one person, from the joint distribution alone."""
    joint, most = channel.joint(prior).astype(float), 0.0
    for person in range(len(channel.inputs[0])):
        values = sorted({data_set[person] for data_set in channel.inputs})
        mass = {
            value: joint[[data_set[person] == value for data_set in channel.inputs]].sum(axis=0) for value in values
        }
        for a, b in itertools.permutations(values, 2):
            for y in range(joint.shape[1]):
                if mass[a].sum() and mass[b].sum() and mass[a][y]:
                    after = mass[a][y] / mass[b][y] if mass[b][y] else math.inf
                    most = max(most, math.log(after) - math.log(mass[a].sum() / mass[b].sum()))
    return most


def test_the_loss_is_the_largest_change_of_log_odds():
    rng = np.random.default_rng(1)
    channels = (PAIR, cascade(PAIR, shuffle_channel(2, 2)), independent_channel([THREE, FLIP]))
    for channel in channels:
        for prior in random_fractions(rng, 5, len(channel.inputs), total=1):
            assert inferential_loss(prior, channel) == pytest.approx(odds_moved(prior, channel), rel=1e-9)


def test_independent_people_lose_no_more_than_their_own_reports_do():
    rng = np.random.default_rng(2)
    for own in random_fractions(rng, 5, 2, total=1):
        assert inferential_loss(joint_prior(own, 2), PAIR) == pytest.approx(math.log(3))
    shuffled = cascade(PAIR, shuffle_channel(2, 2))
    assert inferential_loss(None, shuffled) == pytest.approx(math.log(3))  # where all reports agree


def test_people_who_always_agree_lose_twice_as_much_and_shuffling_hides_none_of_it():
    assert inferential_loss(HOUSEHOLD, PAIR) == pytest.approx(2 * math.log(3))
    assert inferential_loss(HOUSEHOLD, cascade(PAIR, shuffle_channel(2, 2))) == pytest.approx(2 * math.log(3))


def test_an_output_that_excludes_a_value_loses_everything():
    assert inferential_loss(None, reduced_shuffle_channel(2, 2)) == math.inf


def test_what_cannot_be_moved_loses_nothing():
    assert inferential_loss([1, 0, 0, 0], PAIR) == 0
    silent = randomized_response_channel(2, 2, HALF)
    assert inferential_loss(HOUSEHOLD, silent) == 0


def test_the_channel_of_a_record_averages_over_the_others():
    channel = record_channel(HOUSEHOLD, PAIR, 0)
    assert channel.inputs == (0, 1)
    assert channel.matrix[0].tolist() == PAIR.matrix[0].tolist()
    independent = record_channel(None, PAIR, 1)
    assert independent.matrix[0].tolist() == ((PAIR.matrix[0] + PAIR.matrix[2]) / 2).tolist()


def test_a_value_that_the_prior_excludes_is_no_input_of_the_channel_of_a_record():
    prior = joint_prior([HALF, HALF, 0], 2)
    channel = record_channel(prior, independent_channel([THREE, THREE]), 1)
    assert channel.inputs == (0, 1)
    assert record_prior(prior, independent_channel([THREE, THREE]), 1).tolist() == [HALF, HALF]


def test_the_prior_of_a_record_is_its_marginal():
    joint = [Fraction(1, 10), Fraction(2, 10), Fraction(3, 10), Fraction(4, 10)]
    assert record_prior(joint, PAIR, 0).tolist() == [Fraction(3, 10), Fraction(7, 10)]
    assert record_prior(joint, PAIR, 1).tolist() == [Fraction(4, 10), Fraction(6, 10)]


def test_a_household_is_guessed_more_often_than_people_on_their_own():
    shuffled = cascade(PAIR, shuffle_channel(2, 2))
    alone, together = (
        bayes.posterior(record_prior(prior, shuffled, 0), record_channel(prior, shuffled, 0))
        for prior in (None, HOUSEHOLD)
    )
    assert (alone, together) == (Fraction(5, 8), Fraction(3, 4))


def test_a_joint_prior_multiplies_and_the_last_person_varies_fastest():
    law = joint_prior([QUARTER, 3 * QUARTER], 3)
    for data_set, probability in zip(randomized_response_channel(3, 2, HALF).inputs, law, strict=True):
        assert probability == QUARTER ** data_set.count(0) * (3 * QUARTER) ** data_set.count(1)


@pytest.mark.parametrize("channel", [FLIP, Channel([[0.5, 0.5]] * 2, inputs=((0,), (0, 1))), Channel([[1.0]], ((),))])
def test_inputs_that_are_no_data_sets_are_refused(channel):
    with pytest.raises(InvalidParameterError, match="channel must have data sets as inputs"):
        inferential_loss(None, channel)


@pytest.mark.parametrize(
    ("person", "message"), [(2, "below the number of people, 2"), (-1, "integer"), (0.5, "integer")]
)
def test_somebody_who_is_not_in_the_data_is_refused(person, message):
    with pytest.raises(InvalidParameterError, match=f"person must be .*{message}"):
        record_channel(None, PAIR, person)


@pytest.mark.parametrize("prior", [[HALF, HALF], [HALF, HALF, HALF, -HALF], [0.5, 0.5, 0.5, 0.5]])
def test_what_is_no_prior_on_data_sets_is_refused(prior):
    with pytest.raises(InvalidParameterError, match="prior must"):
        inferential_loss(prior, PAIR)


@pytest.mark.parametrize(
    ("prior", "num_users", "message"),
    [
        ([HALF, QUARTER], 2, "prior must sum to 1"),
        ([HALF, HALF], 0, "num_users must be an integer that is 1 or more"),
        ([HALF, HALF], 30, "num_users must be smaller"),
        ([HALF, HALF], 10**100, "num_users must be smaller"),
    ],
)
def test_a_joint_prior_needs_a_prior_and_few_people(prior, num_users, message):
    with pytest.raises(InvalidParameterError, match=message):
        joint_prior(prior, num_users)


def test_arguments_in_the_wrong_order_are_named():
    with pytest.raises(InvalidParameterError, match="channel must be a Channel; got channel of type list"):
        inferential_loss(PAIR, HOUSEHOLD)
