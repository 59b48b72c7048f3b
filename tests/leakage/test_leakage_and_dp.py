"""The bridge between vulnerability and delta, in both directions; what it does not say is shown too."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from leakage.brute import known_views, response
from leakage.small import FLIP, HALF, QUARTER, THREE, random_fractions
from shuffledp.core.channels import Channel
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.statement_terms import Kind
from shuffledp.leakage import (
    bayes,
    bridge_prior,
    delta_from_vulnerability,
    delta_of_pair,
    inferential_loss,
    joint_prior,
    largest_delta,
    record_channel,
    record_prior,
    shuffled_vulnerability,
    strong_vulnerability,
    vulnerability_from_delta,
    worst_delta,
    worst_strong_vulnerability,
)
from shuffledp.leakage.shuffle_channels import (
    cascade,
    independent_channel,
    randomized_response_channel,
    reduced_shuffle_channel,
    shuffle_channel,
)

FLOAT_FLIP = Channel(response(2, 0.75))
UNEVEN = np.array([[0.5, 0.3, 0.2], [0.25, 0.25, 0.5], [0.1, 0.8, 0.1]])
EPSILONS = (0.0, 0.2, 0.7, 2.0)
TRUTH = Fraction(3, 4)  # a local loss of log 3
PAIR = randomized_response_channel(2, 2, TRUTH)
HOUSEHOLD = [HALF, 0, 0, HALF]  # two people who always have the same value


def near(value, rel=1e-11):
    return pytest.approx(value, rel=rel, abs=1e-15)


def hockey_stick(first, second, epsilon):
    views = {*first, *second}
    return sum(max(first.get(v, 0.0) - math.exp(epsilon) * second.get(v, 0.0), 0.0) for v in views)


@pytest.mark.parametrize("matrix", [response(2, 0.8), response(3, 0.5), UNEVEN], ids=["k=2", "k=3", "uneven"])
def test_the_delta_of_every_ordered_pair_is_its_hockey_stick_divergence(matrix):
    size, channel = len(matrix), Channel(matrix)
    for epsilon in EPSILONS:
        largest = 0.0
        for others in itertools.combinations_with_replacement(range(size), 3):
            views = known_views(matrix, others)
            counts = np.bincount(others, minlength=size)
            expected = {
                (x, z): hockey_stick(views[x], views[z], epsilon) for x, z in itertools.permutations(range(size), 2)
            }
            for (x, z), delta in expected.items():
                assert delta_of_pair(channel, x, z, epsilon, others=counts) == near(delta)
            assert worst_delta(channel, epsilon, others=counts) == near(max(expected.values()))
            largest = max(largest, *expected.values())
        assert largest_delta(channel, epsilon, num_users=4) == near(largest)


RARE = np.array([[0.8, 0.2 - 1e-14, 1e-14], [0.2, 0.7, 0.1]])
APART = np.exp(-((np.arange(15) - np.array([[5], [8]])) ** 2) / 0.98)


@pytest.mark.parametrize("matrix", [RARE, APART / APART.sum(axis=1, keepdims=True)], ids=["rare", "normal"])
def test_reports_that_the_others_hardly_ever_send_count_in_full(matrix):
    channel = Channel(matrix)
    for others in ((1, 0), (2, 0), (0, 2)):
        known = [value for value, count in enumerate(others) for _ in range(count)]
        views = known_views(matrix, known)
        for epsilon in (0.0, 0.5, 1.0):
            for x, z in ((0, 1), (1, 0)):
                expected = hockey_stick(views[x], views[z], epsilon)
                assert delta_of_pair(channel, x, z, epsilon, others=others) == pytest.approx(expected, rel=1e-11)
        found = strong_vulnerability(None, channel, others=others)
        assert found.value == near((1 + hockey_stick(views[0], views[1], 0.0)) / 2)


NEVER = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [1 / 3, 1 / 3, 1 / 3]])


@pytest.mark.parametrize("epsilon", [10.0, 30.0, 36.0, 40.0, 300.0, 700.0])
def test_large_epsilons_lose_no_digit(epsilon):
    channel, size = Channel(NEVER), 3
    for others in ((0, 2, 0), (0, 0, 2), (1, 1, 0)):
        known = [value for value, count in enumerate(others) for _ in range(count)]
        views = known_views(NEVER, known)
        for x, z in itertools.permutations(range(size), 2):
            expected = hockey_stick(views[x], views[z], epsilon)
            assert delta_of_pair(channel, x, z, epsilon, others=others) == near(expected)
    assert delta_of_pair(channel, 0, 1, epsilon, others=(0, 4, 0)) == near(0.5)
    assert largest_delta(channel, epsilon, num_users=2) == near(0.5)


def test_where_reports_are_of_many_kinds_delta_is_bounded_from_above():
    twist = 1e-9 * (np.arange(5) - 2)
    first = np.concatenate([0.8 / 5 + twist, np.full(5, 0.2 / 5)])
    matrix = np.array([first, np.roll(first, 5)])
    channel = Channel(matrix / matrix.sum(axis=1, keepdims=True))
    exact = delta_of_pair(Channel(response(2, 0.8)), 0, 1, 0.3, others=[200, 0])
    bound = delta_of_pair(channel, 0, 1, 0.3, others=[200, 0])
    assert exact - 1e-8 <= bound <= exact + 1e-5
    assert delta_of_pair(channel, 0, 1, 5.0, others=[200, 0]) == 0.0  # one report by itself loses less than 5


TINY = Channel([[1 - 1e-320, 1e-320], [0.5, 0.5]])


def test_what_the_others_send_once_in_more_than_1e300_times_counts_in_full():
    assert delta_of_pair(TINY, 1, 0, 0.0, others=[5, 0]) == near(0.5)
    assert delta_of_pair(TINY, 1, 0, 1.0, others=[5, 0]) == near(0.5)
    assert largest_delta(TINY, 0.0, num_users=6) == near(0.5)
    for rare in (4e-322, 1e-310, 1e-302, 1e-200, 1e-130):
        channel = Channel([[1 - rare, rare], [0.5, 0.5]])
        for epsilon in (0.0, 1.0, 200.0):
            assert delta_of_pair(channel, 1, 0, epsilon, others=[1000, 0]) == near(0.5)


def test_what_the_target_too_hardly_ever_sends_hides_nothing():
    channel = Channel([[1 - 1e-270, 1e-270], [0.5, 0.5]])
    assert delta_of_pair(channel, 1, 0, 650.0, others=[5, 0]) == 0.0  # below its own loss, which is log(5e269)


@pytest.mark.parametrize(("epsilon", "other"), [(40.0, 39.0), (25.0, 40.0), (0.3, 0.3001)])
def test_a_vulnerability_of_another_epsilon_is_refused(epsilon, other):
    found = strong_vulnerability(bridge_prior(other), FLOAT_FLIP, others=[2, 0])
    with pytest.raises(InvalidParameterError, match="the prior that bridge_prior gives"):
        delta_from_vulnerability(found, epsilon)


def test_a_vulnerability_from_which_no_sure_delta_follows_is_refused():
    halves = [[0.5, 0.5], [1.0, 0.0]]
    four = Channel(response(3, 0.6))
    quick = {"num_users": 40, "method": "quick"}
    cases = [
        (worst_strong_vulnerability(bridge_prior(0.0), FLOAT_FLIP, **quick), "exact or an upper bound"),
        (replace(strong_vulnerability(None, FLOAT_FLIP, others=[3, 0]), kind=Kind.ESTIMATE), "exact or an upper bound"),
        (shuffled_vulnerability(None, FLOAT_FLIP, num_users=5), "a result of strong_vulnerability"),
        (strong_vulnerability(None, FLOAT_FLIP, halves, others=[3, 0]), "gain 1 for a right guess"),
        (strong_vulnerability([0.5, 0.25, 0.25], four, others=[3, 0, 0]), "a guess between two values"),
    ]
    for found, message in cases:
        with pytest.raises(InvalidParameterError, match=message):
            delta_from_vulnerability(found, 0.0)


def test_the_delta_of_a_vulnerability_is_that_of_its_pair_and_of_a_bound_a_bound():
    matrix = Channel(UNEVEN)
    for epsilon in (0.0, 0.7, 30.0):
        there, back = bridge_prior(epsilon)
        for prior, pair in (((there, back, 0.0), (0, 1)), ((back, there, 0.0), (1, 0))):
            found = strong_vulnerability(prior, matrix, others=[1, 1, 1])
            expected = delta_of_pair(matrix, *pair, epsilon, others=[1, 1, 1])
            assert delta_from_vulnerability(found, epsilon) == pytest.approx(expected, abs=1e-12)
            loose = replace(found, kind=Kind.UPPER_BOUND, upper=found.value + 1e-3)
            assert delta_from_vulnerability(loose, epsilon) >= expected


def test_there_and_back():
    for epsilon in EPSILONS:
        for delta in (0.0, 1e-9, 0.3, 1.0):
            there = vulnerability_from_delta(delta, epsilon)
            assert delta_from_vulnerability(there, epsilon) == pytest.approx(delta, abs=1e-14)
    assert bridge_prior(700.0)[1] == 1.0
    assert delta_from_vulnerability(1.0, 50.0) == delta_from_vulnerability(1.0, 700.0) == 1.0  # whoever is always right


def test_one_direction_alone_understates_delta():
    channel = Channel(response(2, 0.8))
    there, back = (delta_of_pair(channel, *pair, 0.3, others=[200, 0]) for pair in ((0, 1), (1, 0)))
    assert there / back > 8  # the target agrees with the others under the first law
    assert worst_delta(channel, 0.3, others=[200, 0]) == there
    assert worst_delta(channel, 0.3, others=[0, 200]) == near(there)


def test_the_worst_others_depend_on_epsilon():
    channel = Channel(response(2, 0.8))
    deltas = {epsilon: [worst_delta(channel, epsilon, others=[k, 60 - k]) for k in range(61)] for epsilon in (0.0, 0.5)}
    assert int(np.argmax(deltas[0.0])) == 30
    assert int(np.argmax(deltas[0.5])) != 30


def test_a_uniform_prior_on_three_values_says_nothing_exact():
    matrix = response(3, 0.6)
    uniform = strong_vulnerability(None, Channel(matrix), others=[3, 0, 0]).value
    assert abs(2 * uniform - 1 - largest_delta(Channel(matrix), 0.0, num_users=4)) > 0.05
    two = strong_vulnerability(None, Channel(response(2, 0.6)), others=[3, 0]).value
    assert 2 * two - 1 == near(worst_delta(Channel(response(2, 0.6)), 0.0, others=[3, 0]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bridge_prior(-0.1), "epsilon must be a number that is 0 or more"),
        (lambda: bridge_prior(701.0), "epsilon must be at most 700"),
        (lambda: bridge_prior(math.nan), "epsilon must be"),
        (lambda: vulnerability_from_delta(1.5, 0.0), "delta must be a number from 0 to 1"),
        (lambda: delta_from_vulnerability(1.5, 0.0), "vulnerability must be a number from 0 to 1"),
        (lambda: delta_from_vulnerability(0.4, 0.0), "vulnerability must be at least what the prior gives, 0.5"),
        (
            lambda: delta_from_vulnerability(strong_vulnerability(None, FLOAT_FLIP, others=[1, 0]), 1.0),
            "must use the prior that bridge_prior gives",
        ),
        (lambda: delta_of_pair(FLOAT_FLIP, 0, 2, 0.0, others=[1, 0]), "second must be below the number of inputs, 2"),
        (lambda: delta_of_pair(FLOAT_FLIP, 1, 1, 0.0, others=[1, 0]), "second must be different from first=1"),
        (lambda: largest_delta(FLOAT_FLIP, 0.0, num_users=0), "num_users must be an integer that is 1 or more"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(InvalidParameterError, match=message):
        call()


def test_too_many_data_sets_are_refused_with_the_way_out():
    with pytest.raises(UnsupportedModelError, match=r"Use shuffledp\.account, or worst_delta"):
        largest_delta(Channel(response(4, 0.7)), 0.5, num_users=100)


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
