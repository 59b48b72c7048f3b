"""The laws of noise shares and of residues, under the cryptographic source."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from thresholds import SAMPLES, assert_fits, assert_rejects

from shuffledp.protocols.shares.randomizers import polya
from shuffledp.protocols.shares.randomizers.hosts import additive_shares
from shuffledp.protocols.shares.randomizers.polya import polya_noise
from shuffledp.protocols.shares.randomizers.split_and_mix import SplitAndMix, SplitAndMixModel
from shuffledp.randomness.sources import resolve_source


def share_law(rate, shape, reach):
    """Of the difference of two negative binomial numbers, with all that lies beyond +-reach in the two end cells."""
    one = stats.nbinom.pmf(np.arange(4000), shape, -math.expm1(-rate))
    law = np.convolve(one, one[::-1])
    middle = len(law) // 2
    kept = law[middle - reach : middle + reach + 1].copy()
    kept[0], kept[-1] = law[: middle - reach + 1].sum(), law[middle + reach :].sum()
    return kept / kept.sum()


def counts_within(noise, reach):
    return np.bincount(np.clip(noise, -reach, reach) + reach, minlength=2 * reach + 1)


@pytest.mark.parametrize(
    ("rate", "users", "reach"), [(Fraction(1, 5), 1, 15), (Fraction(1, 10), 4, 25), (Fraction(2), 3, 2)]
)
def test_a_share_has_the_polya_law_and_wrong_parameters_are_rejected(rate, users, reach):
    counts = counts_within(polya_noise(rate, users, SAMPLES // 2), reach)
    assert_fits(counts, share_law(float(rate), 1 / users, reach))
    assert_rejects(counts, share_law(1.08 * float(rate), 1 / users, reach))
    assert_rejects(counts, share_law(float(rate), 1.08 / users, reach))


def test_rare_shares_have_the_polya_law_and_a_wrong_number_of_users_is_rejected():
    rate, users, reach = Fraction(1, 100), 100, 30
    noise = np.concatenate([polya_noise(rate, users, SAMPLES) for _ in range(3)])
    counts = counts_within(noise, reach)
    assert_fits(counts, share_law(float(rate), 1 / users, reach))
    assert_rejects(counts, share_law(float(rate), 1.03 / users, reach))


def test_shares_of_all_add_up_to_discrete_laplace_noise_and_those_of_fewer_do_not():
    rate, users, reach = Fraction(1, 10), 20, 40
    noise = polya_noise(rate, users, SAMPLES // 2 * users // 4).reshape(-1, users)
    counts = counts_within(noise.sum(axis=1), reach)
    places = np.abs(np.arange(-reach, reach + 1))
    ratio = math.exp(-0.1)
    law = (1 - ratio) / (1 + ratio) * ratio**places
    law[[0, -1]] /= 1 - ratio
    assert_fits(counts, law)
    assert_rejects(counts_within(noise[:, 2:].sum(axis=1), reach), law)


def test_shares_of_two_people_are_independent_and_equal_ones_would_be_rejected():
    pairs = polya_noise(Fraction(1, 2), 2, SAMPLES // 5).reshape(-1, 2)
    signs = np.sign(pairs) + 1
    counts = np.bincount(signs[:, 0] * 3 + signs[:, 1], minlength=9)
    one = share_law(0.5, 0.5, 1)
    assert_fits(counts, np.outer(one, one).ravel())
    # Jumps that came in pairs, or were shared out evenly, would tie people to each other.
    same = np.bincount(signs[:, 0] * 4, minlength=9)
    assert_rejects(same, np.outer(one, one).ravel())


@pytest.mark.parametrize(("rate", "cells"), [(Fraction(1, 50), 60), (Fraction(1, 3), 10), (Fraction(4), 2)])
def test_sizes_of_jumps_are_a_log_series_and_a_rate_wrong_by_a_tenth_is_rejected(rate, cells):
    sizes = polya._jump_sizes(rate, SAMPLES // 5, resolve_source(None))
    counts = np.bincount(np.minimum(sizes, cells), minlength=cells + 1)[1:]

    def law(rate):
        places = np.arange(1, 5000)
        single = np.exp(-rate * (places - 1)) / places
        single /= single.sum()
        return np.append(single[: cells - 1], single[cells - 1 :].sum())

    assert_fits(counts, law(float(rate)))
    assert_rejects(counts, law(1.1 * float(rate)))


@pytest.mark.parametrize(("users", "count"), [(50, 40), (1, 5)])
def test_numbers_of_jumps_are_poisson_in_one_chunk_and_in_several(users, count):
    rate, source = Fraction(1, 1000), resolve_source(None)
    mean = -2 * count / users * math.log(-math.expm1(-1e-3))
    found = np.array([polya._num_jumps(rate, users, count, source) for _ in range(20_000)])
    low, high = int(stats.poisson.ppf(0.05, mean)), int(stats.poisson.ppf(0.95, mean))
    counts = np.bincount(np.clip(found, low, high) - low, minlength=high - low + 1)

    def law(mean):
        single = stats.poisson.pmf(np.arange(low, high + 1), mean)
        single[0], single[-1] = stats.poisson.cdf(low, mean), stats.poisson.sf(high - 1, mean)
        return single

    assert_fits(counts, law(mean))
    assert_rejects(counts, law(1.05 * mean))


# ---- shares ---------------------------------------------------------------------------------------------------------


def test_all_shares_of_a_number_but_any_one_are_uniform_and_they_add_up_to_it():
    model = SplitAndMixModel(
        num_users=2, epsilon=1.0, lower=0, upper=1, num_shares=3, precision=1, modulus=3, noise_users=2
    )
    secrets = np.resize([1, 5, -2], SAMPLES // 10)  # all are 1 modulo 3, or 2
    shares = additive_shares(secrets, model.modulus, model.num_shares, resolve_source(None)).reshape(-1, 3)
    assert (shares.sum(axis=1) % 3 == secrets % 3).all()
    for secret in (1, 2):
        mine = shares[secrets % 3 == secret]
        for pair in ((0, 1), (0, 2), (1, 2)):
            counts = np.bincount(mine[:, pair[0]] * 3 + mine[:, pair[1]], minlength=9)
            assert_fits(counts, np.full(9, 1 / 9))
    assert_rejects(np.bincount(shares.sum(axis=1) % 3, minlength=3), np.full(3, 1 / 3))


def test_values_are_rounded_up_by_their_share_of_a_step_and_a_wrong_share_is_rejected():
    people = SAMPLES // 5
    # The noise of 100 nats over one step is never seen: what is left is rounding.
    randomizer = SplitAndMix(
        num_users=people, epsilon=100.0, lower=0, upper=10, num_shares=2, precision=4, noise_users=people
    )
    reports = randomizer.randomize(np.full(people, 3.25))  # 1.3 steps
    steps = reports["residue"].reshape(-1, 2).astype(np.int64).sum(axis=1) % randomizer.modulus
    counts = np.bincount(steps, minlength=5)
    assert_fits(counts, [0, 0.7, 0.3, 0, 0])
    assert_rejects(counts, [0, 0.68, 0.32, 0, 0])


pytestmark = pytest.mark.deep
