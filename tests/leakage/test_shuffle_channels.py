"""Propositions 9, 11, 12, 25, 26 and 28 and Tables I to V of Jurado et al. 2023, by enumeration in fractions."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from leakage.small import FLIP, HALF, THREE, as_floats, random_channel, random_fractions
from shuffledp.core.channels import Channel
from shuffledp.core.errors import InvalidParameterError
from shuffledp.leakage import bayes, gain, joint_prior, record_channel, record_prior
from shuffledp.leakage.gain import equivalent, refines
from shuffledp.leakage.shuffle_channels import (
    cascade,
    histograms,
    independent_channel,
    randomized_response_channel,
    reduced_independent_channel,
    reduced_randomized_response_channel,
    reduced_shuffle_channel,
    shuffle_channel,
)

SIZES = [(1, 2), (2, 2), (3, 2), (4, 2), (1, 3), (2, 3), (3, 3), (2, 4)]
TRUTHS = [Fraction(3, 5), Fraction(3, 4), Fraction(9, 10), Fraction(1)]


def cases():
    return [(n, k, p) for n, k in SIZES for p in (Fraction(1, k), *TRUTHS)]


def channels(num_users, domain_size, truth):
    """N, S, S^r and N^r."""
    return (
        randomized_response_channel(num_users, domain_size, truth),
        shuffle_channel(num_users, domain_size),
        reduced_shuffle_channel(num_users, domain_size),
        reduced_randomized_response_channel(num_users, domain_size, truth),
    )


def counts(values, domain_size):
    found = Counter(values)
    return tuple(found[value] for value in range(domain_size))


# ---- what the channels are ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "k", "p"), cases())
def test_every_person_randomizes_on_their_own(n, k, p):
    channel = randomized_response_channel(n, k, p)
    assert channel.is_exact
    for x, values in enumerate(channel.inputs):
        for y, reports in enumerate(channel.outputs):
            true = sum(a == b for a, b in zip(values, reports, strict=True))
            assert channel.matrix[x, y] == p**true * ((1 - p) / (k - 1)) ** (n - true)


@pytest.mark.parametrize(("n", "k"), SIZES)
def test_a_shuffle_is_the_average_over_all_permutations(n, k):
    """Repeats make some orders more likely than 1/n!."""
    channel = shuffle_channel(n, k)
    for row, values in zip(channel.matrix, channel.inputs, strict=True):
        orders = Counter(itertools.permutations(values))
        assert row.tolist() == [Fraction(orders[reports], math.factorial(n)) for reports in channel.outputs]


@pytest.mark.parametrize(("n", "k"), SIZES)
def test_a_reduced_shuffle_tells_the_histogram_and_nothing_else(n, k):
    channel = reduced_shuffle_channel(n, k)
    assert channel.outputs == tuple(sorted(set(channel.outputs), reverse=True))
    assert len(channel.outputs) == math.comb(n + k - 1, k - 1)
    for row, values in zip(channel.matrix, channel.inputs, strict=True):
        assert dict(zip(channel.outputs, row, strict=True))[counts(values, k)] == 1


@pytest.mark.parametrize(("n", "k", "p"), cases())
def test_a_reduced_randomizer_is_the_law_of_the_histogram_whoever_has_which_value(n, k, p):
    full, reduced = randomized_response_channel(n, k, p), reduced_randomized_response_channel(n, k, p)
    for row, values in zip(full.matrix, full.inputs, strict=True):
        law = dict.fromkeys(reduced.outputs, Fraction(0))
        for reports, probability in zip(full.outputs, row, strict=True):
            law[counts(reports, k)] += probability
        assert reduced.matrix[reduced.inputs.index(counts(values, k))].tolist() == list(law.values())


def test_histograms_of_sixty_people_are_those_of_two_binomials():
    channel = reduced_randomized_response_channel(60, 2, Fraction(3, 4))
    row = channel.matrix[channel.inputs.index((40, 20))].astype(float)
    law = np.convolve(binom.pmf(range(41), 40, 0.75), binom.pmf(range(21), 20, 0.25))
    np.testing.assert_allclose(row[::-1], law, rtol=1e-10)


def test_a_float_chance_of_truth_makes_channels_of_floats():
    for exact, floats in zip(channels(3, 3, Fraction(3, 5)), channels(3, 3, 0.6), strict=True):
        np.testing.assert_allclose(floats.matrix.astype(float), exact.matrix.astype(float), rtol=1e-13)
    assert not randomized_response_channel(3, 3, 0.6).is_exact
    assert not reduced_randomized_response_channel(3, 3, 0.6).is_exact
    assert randomized_response_channel(3, 3, 1).is_exact


# ---- propositions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "k", "p"), cases())
def test_proposition_9_randomizing_and_shuffling_commute(n, k, p):
    randomize, shuffle, _, _ = channels(n, k, p)
    assert cascade(randomize, shuffle) == cascade(shuffle, randomize)


def test_randomizing_and_shuffling_commute_for_any_randomizer_that_all_share():
    for local in (THREE, random_channel(np.random.default_rng(1), 2, 2)):
        size = len(local.inputs)
        assert cascade(independent_channel([local] * 2), shuffle_channel(2, size)) == cascade(
            shuffle_channel(2, size), independent_channel([local] * 2)
        )


def test_randomizing_and_shuffling_do_not_commute_for_people_with_randomizers_of_their_own():
    weak = Channel([[Fraction(3, 5), Fraction(2, 5)], [Fraction(2, 5), Fraction(3, 5)]])
    randomize, shuffle = independent_channel([FLIP, weak]), shuffle_channel(2, 2)
    assert cascade(randomize, shuffle) != cascade(shuffle, randomize)
    assert not equivalent(cascade(randomize, shuffle), cascade(shuffle, randomize))


@pytest.mark.parametrize(("n", "k"), SIZES)
def test_proposition_11_a_shuffle_says_what_its_histogram_says(n, k):
    shuffle, reduced = shuffle_channel(n, k), reduced_shuffle_channel(n, k)
    assert equivalent(shuffle, reduced)
    assert shuffle.reduced().matrix.tolist() == reduced.matrix.tolist()


@pytest.mark.parametrize(("n", "k", "p"), cases())
def test_proposition_12_the_shuffled_reports_say_what_their_histogram_says(n, k, p):
    randomize, shuffle, reduced, _ = channels(n, k, p)
    assert equivalent(cascade(randomize, shuffle), cascade(randomize, reduced))


@pytest.mark.parametrize(("n", "k", "p"), cases())
def test_propositions_25_to_28_counting_and_randomizing_commute_in_reduced_form(n, k, p):
    randomize, shuffle, count, randomize_counts = channels(n, k, p)
    assert cascade(count, randomize_counts) == cascade(randomize, count)
    assert equivalent(cascade(count, randomize_counts), cascade(shuffle, randomize))


def test_counting_and_randomizing_commute_for_any_randomizer():
    for local in (
        THREE,
        random_channel(np.random.default_rng(2), 2, 3),
        random_channel(np.random.default_rng(3), 3, 2),
    ):
        before = cascade(reduced_shuffle_channel(3, len(local.inputs)), reduced_independent_channel(local, 3))
        after = cascade(independent_channel([local] * 3), reduced_shuffle_channel(3, len(local.outputs)))
        assert before == after
        floats = cascade(
            reduced_shuffle_channel(3, len(local.inputs)), reduced_independent_channel(as_floats(local), 3)
        )
        np.testing.assert_allclose(floats.matrix, after.matrix.astype(float), rtol=1e-12)


@pytest.mark.deep
@pytest.mark.parametrize(("n", "k"), [(5, 2), (6, 2), (4, 3), (5, 3), (3, 4), (4, 4), (2, 6)])
def test_the_propositions_hold_for_more_people(n, k):
    for p in (Fraction(1, k), Fraction(3, 5), Fraction(9, 10)):
        randomize, shuffle, count, randomize_counts = channels(n, k, p)
        assert cascade(randomize, shuffle) == cascade(shuffle, randomize)
        assert cascade(count, randomize_counts) == cascade(randomize, count)
        assert equivalent(cascade(randomize, shuffle), cascade(randomize, count))


def test_equivalent_forms_leak_the_same_under_any_prior_and_gain():
    rng = np.random.default_rng(4)
    randomize, shuffle, count, randomize_counts = channels(3, 2, Fraction(3, 4))
    forms = (
        cascade(randomize, shuffle),
        cascade(shuffle, randomize),
        cascade(randomize, count),
        cascade(count, randomize_counts),
    )
    for _ in range(5):
        prior, table = random_fractions(rng, 8, total=1), random_fractions(rng, 4, 8)
        assert len({gain.posterior(prior, form, table) for form in forms}) == 1
        assert gain.posterior(prior, randomize, table) > gain.posterior(prior, forms[0], table)


@pytest.mark.parametrize(("n", "k"), [(2, 2), (3, 2), (2, 3)])
def test_both_together_are_refined_from_either_alone_and_not_the_other_way_round(n, k):
    randomize, shuffle, count, _ = channels(n, k, Fraction(3, 4))
    both = cascade(randomize, count)
    assert refines(randomize, both)
    assert refines(shuffle, both)
    assert refines(count, both)
    assert not refines(both, shuffle)
    assert not refines(both, randomize)
    assert not refines(shuffle, randomize)
    assert not refines(randomize, shuffle)


def test_refinement_is_found_where_entries_are_of_very_different_size():
    randomize, _, count, _ = channels(5, 2, Fraction(999, 1000))
    both = cascade(randomize, count)
    assert refines(randomize, both)
    assert refines(count, both)
    assert not refines(both, count)


# ---- tables of the paper: three people, two values a and b, chance p of the truth, pb = 1 - p ------------------------

SHUFFLED = [  # by the number of b: the four columns are the histograms a:3, a:2, a:1 and a:0
    lambda p, pb: [p**3, 3 * p**2 * pb, 3 * p * pb**2, pb**3],
    lambda p, pb: [p**2 * pb, p**3 + 2 * p * pb**2, 2 * p**2 * pb + pb**3, p * pb**2],
    lambda p, pb: [p * pb**2, 2 * p**2 * pb + pb**3, p**3 + 2 * p * pb**2, p**2 * pb],
    lambda p, pb: [pb**3, 3 * p * pb**2, 3 * p**2 * pb, p**3],
]
THIRD = Fraction(1, 3)
PRINTED_IN_TABLE_3 = {3: lambda p, pb: [pb**3, 3 * p**2 * pb, 3 * p * pb**2, p**3]}
PRINTED_IN_TABLE_4 = {
    1: lambda p, pb: [p**2 * pb, THIRD * (p**3 + 2 * p * pb**2), THIRD * (2 * p**2 * pb + pb**3), p * pb**2],
    2: lambda p, pb: [p * pb**2, THIRD * (2 * p**2 * pb + pb**3), THIRD * (p**3 + 2 * p * pb**2), p**2 * pb],
}


@pytest.mark.parametrize("p", [HALF, *TRUTHS])
def test_table_1_randomizer_shuffle_and_reduced_shuffle(p):
    randomize, shuffle, count, _ = channels(3, 2, p)
    pb = 1 - p
    assert randomize.inputs[:4] == ((0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1))
    weights = [bin(number).count("1") for number in range(8)]
    assert randomize.matrix[0].tolist() == [p ** (3 - flips) * pb**flips for flips in weights]
    third, zero, one = Fraction(1, 3), Fraction(0), Fraction(1)
    assert shuffle.matrix[1].tolist() == [zero, third, third, zero, third, zero, zero, zero]
    assert shuffle.matrix[3].tolist() == [zero, zero, zero, third, zero, third, third, zero]
    assert shuffle.matrix[0, 0] == shuffle.matrix[7, 7] == one
    assert count.outputs == ((3, 0), (2, 1), (1, 2), (0, 3))
    assert count.matrix.argmax(axis=1).tolist() == weights


@pytest.mark.parametrize("p", [HALF, *TRUTHS])
def test_table_2_both_orders_of_randomizing_and_shuffling(p):
    """A list of reports has its histogram's probability, shared equally by all its orders."""
    randomize, shuffle, _, _ = channels(3, 2, p)
    for both in (cascade(randomize, shuffle), cascade(shuffle, randomize)):
        for row, values in zip(both.matrix, both.inputs, strict=True):
            law = SHUFFLED[sum(values)](p, 1 - p)
            assert row.tolist() == [law[sum(reports)] / math.comb(3, sum(reports)) for reports in both.outputs]


@pytest.mark.parametrize("p", [HALF, *TRUTHS])
def test_tables_3_and_5_randomizing_and_counting_in_either_order(p):
    randomize, _, count, randomize_counts = channels(3, 2, p)
    for both in (cascade(randomize, count), cascade(count, randomize_counts)):
        for row, values in zip(both.matrix, both.inputs, strict=True):
            assert row.tolist() == SHUFFLED[sum(values)](p, 1 - p)


@pytest.mark.parametrize("p", [HALF, *TRUTHS])
def test_table_4_randomizing_a_histogram(p):
    reduced = reduced_randomized_response_channel(3, 2, p)
    assert reduced.inputs == reduced.outputs == ((3, 0), (2, 1), (1, 2), (0, 3))
    assert reduced.matrix.tolist() == [row(p, 1 - p) for row in SHUFFLED]


def test_table_3_is_printed_with_two_entries_of_its_last_row_exchanged():
    """The printed row adds up to 1, but is not the first one with the names of the values exchanged."""
    for p in TRUTHS[:-1]:
        printed, true = PRINTED_IN_TABLE_3[3](p, 1 - p), SHUFFLED[3](p, 1 - p)
        assert sum(printed) == 1
        assert printed != true == SHUFFLED[0](p, 1 - p)[::-1]


def test_table_4_is_printed_with_rows_that_do_not_add_up_to_1():
    p = Fraction(3, 4)
    for place, row in PRINTED_IN_TABLE_4.items():
        assert sum(row(p, 1 - p)) == Fraction(11, 24)
        assert sum(SHUFFLED[place](p, 1 - p)) == 1


# ---- known vulnerabilities ------------------------------------------------------------------------------------------

KNOWN = [  # people, values, chance of truth, one person's vulnerability after shuffling only, and after both
    (1, 2, "3/4", "1", "3/4"),
    (2, 2, "9/10", "3/4", "7/10"),
    (3, 2, "3/4", "3/4", "5/8"),
    (3, 2, "1/2", "3/4", "1/2"),
    (4, 2, "9/10", "11/16", "13/20"),
    (5, 2, "3/5", "11/16", "43/80"),
    (1, 3, "9/10", "1", "9/10"),
    (2, 3, "3/4", "2/3", "13/24"),
    (3, 3, "9/10", "17/27", "79/135"),
    (4, 3, "3/4", "16/27", "107/216"),
    (2, 4, "3/5", "5/8", "17/40"),
    (3, 4, "9/10", "9/16", "25/48"),
]


@pytest.mark.parametrize(("n", "k", "p", "shuffled", "both"), KNOWN)
def test_one_person_among_few_is_guessed_as_often_as_is_known(n, k, p, shuffled, both):
    count = reduced_shuffle_channel(n, k)
    after = cascade(count, reduced_randomized_response_channel(n, k, Fraction(p)))
    for channel, known in ((count, shuffled), (after, both)):
        assert bayes.posterior(record_prior(None, channel, 0), record_channel(None, channel, 0)) == Fraction(known)


GAIN = [[1, 0], [0, 1], [HALF, Fraction(3, 4)]]
LOCAL = Channel(THREE.matrix[:2])
ANY_CHANNEL = [  # prior, gain, vulnerability by number of people
    ([Fraction(1, 3), Fraction(2, 3)], GAIN, {1: "13/18", 2: "227/324", 3: "8099/11664", 5: "649813/944784"}),
    ([HALF, HALF], [[1, 0], [0, 1]], {1: "2/3", 2: "11/18", 3: "2011/3456", 5: "275/486"}),
]


@pytest.mark.parametrize(("prior", "table", "known"), ANY_CHANNEL)
def test_one_person_with_any_randomizer_prior_and_gain_is_worth_as_much_as_is_known(prior, table, known):
    for num_users, value in known.items():
        shown = cascade(reduced_shuffle_channel(num_users, 2), reduced_independent_channel(LOCAL, num_users))
        joint = joint_prior(prior, num_users)
        assert gain.posterior(prior, record_channel(joint, shown, 0), table) == Fraction(value)


def test_the_capacity_of_a_shuffle_is_its_number_of_histograms():
    for n, k in SIZES:
        assert bayes.capacity(shuffle_channel(n, k)) == math.comb(n + k - 1, k - 1)
    both = cascade(randomized_response_channel(3, 2, Fraction(3, 4)), shuffle_channel(3, 2))
    assert bayes.capacity(both) == Fraction(15, 8)


def test_an_adversary_who_knows_all_others_is_a_prior_on_two_data_sets():
    channel = cascade(reduced_shuffle_channel(4, 2), reduced_randomized_response_channel(4, 2, Fraction(4, 5)))
    prior = [HALF if values in {(0, 0, 0, 0), (1, 0, 0, 0)} else 0 for values in channel.inputs]
    assert bayes.posterior(prior, channel) == Fraction(817, 1250)


# ---- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [randomized_response_channel, reduced_randomized_response_channel])
@pytest.mark.parametrize(
    "truth", [Fraction(1, 3) - Fraction(1, 10**20), 0.33, Fraction(4, 3), 1.0000001, -1, 0, math.nan, "1/2", None, True]
)
def test_a_chance_of_truth_below_guessing_or_above_1_is_refused(make, truth):
    with pytest.raises(InvalidParameterError, match="truth_probability must be"):
        make(2, 3, truth)


@pytest.mark.parametrize("k", [2, 3, 7, 49])
def test_a_chance_of_truth_that_is_guessing_is_allowed_in_floats_too(k):
    channel = randomized_response_channel(1, k, 1 / k)
    assert channel.epsilon() == pytest.approx(0, abs=1e-14)


def small_channels(num_users, domain_size):
    return [
        lambda: randomized_response_channel(num_users, domain_size, Fraction(9, 10)),
        lambda: shuffle_channel(num_users, domain_size),
        lambda: reduced_shuffle_channel(num_users, domain_size),
        lambda: reduced_randomized_response_channel(num_users, domain_size, Fraction(9, 10)),
    ]


@pytest.mark.parametrize("num_users", [0, -1, 1.5, "3", True])
def test_channels_need_people(num_users):
    for make in small_channels(num_users, 2):
        with pytest.raises(InvalidParameterError, match="num_users must be an integer that is 1 or more"):
            make()


@pytest.mark.parametrize("domain_size", [1, 0, -2, 2.0, None])
def test_channels_need_two_values(domain_size):
    for make in small_channels(2, domain_size):
        with pytest.raises(InvalidParameterError, match="domain_size must be an integer that is 2 or more"):
            make()


@pytest.mark.parametrize(("num_users", "domain_size"), [(10**9, 2), (50, 3), (10**100, 10), (1, 10**50), (2, 10**4)])
def test_a_channel_too_large_to_be_written_out_is_refused_at_once_and_another_way_is_named(num_users, domain_size):
    for make in small_channels(num_users, domain_size):
        with pytest.raises(InvalidParameterError, match=r"num_users must be at most \d+ .*target_vulnerability"):
            make()


def test_the_refusal_says_what_is_feasible():
    with pytest.raises(InvalidParameterError, match=r"num_users must be at most 10 .* got num_users=11"):
        shuffle_channel(11, 2)
    with pytest.raises(InvalidParameterError, match=r"num_users must be at most 6 .* got num_users=7"):
        randomized_response_channel(7, 3, HALF)


def test_people_with_channels_of_their_own_are_checked():
    with pytest.raises(InvalidParameterError, match="channels must hold one channel for each person; got none"):
        independent_channel([])
    with pytest.raises(InvalidParameterError, match="channels must be a Channel"):
        independent_channel([FLIP, FLIP.matrix])
    with pytest.raises(InvalidParameterError, match="channels must make at most 1100000 entries"):
        independent_channel([FLIP] * 11)
    with pytest.raises(InvalidParameterError, match="local must be a Channel"):
        reduced_independent_channel(FLIP.matrix, 2)


def test_histograms_come_with_most_people_at_the_first_values_first():
    assert list(histograms(2, 3)) == [(2, 0, 0), (1, 1, 0), (1, 0, 1), (0, 2, 0), (0, 1, 1), (0, 0, 2)]
    assert list(histograms(0, 2)) == [(0, 0)]


def test_a_refinement_that_is_only_nearly_one_is_worth_hardly_more():
    tiny = Fraction(1, 10**9)
    nothing, hardly = Channel([[Fraction(1)], [Fraction(1)]]), Channel([[1 - tiny, tiny], [Fraction(1), Fraction(0)]])
    assert refines(nothing, hardly)  # up to 1e-8 in every entry, as it says
    worth = bayes.posterior([Fraction(1, 2)] * 2, hardly) - bayes.posterior([Fraction(1, 2)] * 2, nothing)
    assert 0 < worth <= 2e-8
    assert not refines(nothing, Channel([[1 - 100 * tiny, 100 * tiny], [Fraction(1), Fraction(0)]]))


def test_channels_that_do_not_follow_each_other_are_refused():
    with pytest.raises(InvalidParameterError, match="after must have inputs"):
        cascade(reduced_shuffle_channel(2, 2), shuffle_channel(2, 2))


# ---- printed numbers ------------------------------------------------------------------------------------------------


def vulnerability_in_a_crowd(num_users, prior):
    """One person's, shuffled only: the mean share of the most frequent of values drawn from the prior."""
    return sum(
        math.factorial(num_users)
        * math.prod(Fraction(p) ** c / math.factorial(c) for p, c in zip(prior, histogram, strict=True))
        * Fraction(max(histogram), num_users)
        for histogram in histograms(num_users, len(prior))
    )


FAIR, SKEWED, FAIR_THREE = [HALF, HALF], [Fraction(7, 10), Fraction(3, 10)], [THIRD, THIRD, THIRD]


def excess(num_users, prior):
    return float(vulnerability_in_a_crowd(num_users, prior) - max(prior))


@pytest.mark.parametrize("prior", [FAIR, SKEWED, FAIR_THREE], ids=["fair", "skewed", "three"])
def test_after_a_shuffle_the_belief_about_one_person_is_the_histogram(prior):
    for num_users in (1, 2, 3, 4):
        channel = reduced_shuffle_channel(num_users, len(prior))
        shown = record_channel(joint_prior(prior, num_users), channel, 0)
        assert bayes.posterior(prior, shown) == vulnerability_in_a_crowd(num_users, prior)


def test_the_vulnerability_among_200_people_is_not_the_printed_one():
    value = float(vulnerability_in_a_crowd(200, FAIR))
    assert value == pytest.approx(0.5281742395046283, rel=1e-12)
    assert round(value, 4) == 0.5282  # printed: 0.5286


def test_leakage_under_the_uniform_prior_falls_with_the_square_root_of_the_crowd():
    assert excess(400, FAIR) / excess(100, FAIR) == pytest.approx(1 / 2, rel=5e-3)
    assert excess(120, FAIR_THREE) / excess(30, FAIR_THREE) == pytest.approx(1 / 2, rel=2e-2)


def test_leakage_under_a_prior_with_one_best_guess_falls_exponentially():
    rate = 2 * math.sqrt(0.7 * 0.3)
    for num_users in (50, 100, 200, 400):
        assert rate**num_users / num_users**2 < excess(num_users, SKEWED) < rate**num_users


def test_the_constant_of_the_limit_is_that_of_the_largest_normal_number():
    for num_users, prior, largest in (
        (1000, FAIR, 1 / math.sqrt(math.pi)),
        (150, FAIR_THREE, 1.5 / math.sqrt(math.pi)),
    ):
        values = len(prior)
        scaled = excess(num_users, prior) * math.sqrt(values * num_users)
        assert scaled == pytest.approx(largest, rel=3e-2)
        assert scaled < 0.85 * math.sqrt(math.log(values))  # the printed constant
