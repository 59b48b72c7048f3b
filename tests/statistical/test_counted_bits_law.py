"""Law of counted bits, under the cryptographic source: how many ones one person sends, and how many all send."""

import numpy as np
from scipy import stats
from thresholds import SAMPLES, assert_fits, assert_rejects

from shuffledp.protocols.shares.randomizers.counted_bits import CountedBits


def ones_of_a_person(value_bits, coins, place):
    """Law of the number of ones of a person whose answer lies at ``place`` steps: a rounding and fair coins."""
    law = np.zeros(value_bits + 2)
    law[int(place)], law[int(place) + 1] = 1 - place % 1, place % 1
    return np.convolve(law, stats.binom.pmf(np.arange(coins + 1), coins, 0.5))[: value_bits + coins + 1]


def clipped(law):
    """Law from 21 to 39, with all that lies beyond in the two end cells."""
    return np.array([law[:22].sum(), *law[22:39], law[39:].sum()])


def test_one_person_sends_a_rounded_answer_and_fair_coins_and_other_chances_are_rejected():
    randomizer = CountedBits(num_users=SAMPLES, lower=0, upper=1, value_bits=5, coins=3)
    bits = randomizer.randomize(np.full(SAMPLES, 0.45))["bit"].reshape(SAMPLES, 8)
    counts = np.bincount(bits.sum(axis=1), minlength=9)
    assert_fits(counts, ones_of_a_person(5, 3, 2.25))
    assert_rejects(counts, ones_of_a_person(5, 3, 2.28))
    patterns = np.bincount(bits[:, 5:] @ [1, 2, 4], minlength=8)  # the coins of one person are independent
    assert_fits(patterns, np.full(8, 1 / 8))
    assert_rejects(patterns, np.array([0.515**3 if each == 7 else (1 - 0.515**3) / 7 for each in range(8)]))


def test_the_number_of_ones_of_all_is_a_shifted_binomial_and_another_number_of_coins_is_rejected():
    people, runs = 20, SAMPLES // 40
    randomizer = CountedBits(num_users=people * runs, lower=0, upper=1, value_bits=2, coins=3)
    bits = randomizer.randomize(np.tile([1.0, 0.5, 0.0, 0.0], people * runs // 4))["bit"]
    ones = bits.reshape(runs, -1).sum(axis=1) - 3 * people // 4
    counts = np.bincount(np.clip(ones, 21, 39) - 21, minlength=19)
    assert_fits(counts, clipped(stats.binom.pmf(np.arange(61), 3 * people, 0.5)))
    assert_rejects(counts, clipped(stats.binom.pmf(np.arange(61), 3 * people - 2, 0.5)))
