"""Polya shares: they add up to discrete Laplace noise, and every decision of the sampler is exact."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from shuffledp.core.errors import InvalidParameterError
from shuffledp.protocols.shares.randomizers import polya
from shuffledp.protocols.shares.randomizers.polya import central_interval, noise_variance, polya_noise, tail_bound
from shuffledp.testing import RecordedSource, SeededSource

RATE = Fraction(3, 10)


def polya_law(ratio, shape, size):
    """Negative binomial probabilities of 0, ..., size - 1, in the numbers of ``ratio``."""
    law = [(1 - ratio) ** shape]
    for place in range(size - 1):
        law.append(law[-1] * ratio * (shape + place) / (place + 1))
    return law


def convolved(first, second):
    return [sum(first[i] * second[k - i] for i in range(k + 1)) for k in range(len(first))]


@pytest.mark.parametrize("users", [2, 3, 7])
def test_the_shares_of_all_add_up_to_a_geometric_number_and_their_differences_to_discrete_laplace(users):
    with mpmath.workdps(40):
        ratio = mpmath.exp(-mpmath.mpf(3) / 10)
        share = polya_law(ratio, mpmath.mpf(1) / users, 40)
        total = share
        for _ in range(users - 1):
            total = convolved(total, share)
        geometric = [(1 - ratio) * ratio**k for k in range(40)]
        assert max(abs(a - b) for a, b in zip(total, geometric, strict=True)) < 1e-30
        # Of X - Y = z: sum over y of (1 - a)^2 a^(z + 2y) = (1 - a) / (1 + a) a^z.
        for place in range(20):
            difference = mpmath.nsum(lambda y, z=place: (1 - ratio) ** 2 * ratio ** (z + 2 * y), [0, mpmath.inf])
            assert abs(difference - (1 - ratio) / (1 + ratio) * ratio**place) < 1e-25


@pytest.mark.parametrize("users", [1, 5])
def test_jumps_that_are_counted_by_the_table_and_sized_by_the_log_series_add_up_to_the_shares(users):
    """Panjer's recursion of the compound law: k p(k) = mean * sum over j of j s(j) p(k - j), for each direction."""
    with mpmath.workdps(40):
        ratio = mpmath.exp(-mpmath.mpf(3) / 10)
        mean = -mpmath.log(1 - ratio) / users
        sizes = [0] + [ratio**k / k / -mpmath.log(1 - ratio) for k in range(1, 30)]
        law = [mpmath.exp(-mean)]
        for k in range(1, 30):
            law.append(mean / k * sum(j * sizes[j] * law[k - j] for j in range(1, k + 1)))
        expected = polya_law(ratio, mpmath.mpf(1) / users, 30)
        assert max(abs(a - b) for a, b in zip(law, expected, strict=True)) < 1e-30


def poisson_distribution(shares, size):
    """Of the jumps of so many shares in both directions, to 200 digits."""
    with mpmath.workdps(200):
        mean = -2 * mpmath.log(1 - mpmath.exp(-mpmath.mpf(3) / 10)) * shares.numerator / shares.denominator
        terms = [mpmath.exp(-mean) * mean**k / mpmath.factorial(k) for k in range(size)]
        return [mpmath.fsum(terms[: k + 1]) for k in range(size)]


@pytest.mark.parametrize("shares", [Fraction(1, 10**6), Fraction(1, 3), Fraction(10)])
def test_the_table_holds_the_poisson_distribution_in_units_of_2_to_the_minus_64(shares):
    table = polya._table(RATE, shares)
    expected = poisson_distribution(shares, len(table))
    with mpmath.workdps(200):
        assert table.tolist() == [int(mpmath.floor(value * 2**64)) for value in expected]
    assert table[-1] == 2**64 - 1


def test_a_word_that_leaves_the_number_of_jumps_open_is_settled_by_the_next_one():
    shares = Fraction(2)
    table = polya._table(RATE, shares)
    for place in (0, 3, 7):
        entry = int(table[place])
        fraction = poisson_distribution(shares, place + 1)[place]
        with mpmath.workdps(200):
            next_digit = int(mpmath.floor(fraction * mpmath.mpf(2) ** 128)) % 2**64
        for word, jumps in ((next_digit - 1, place), (next_digit + 1, place + 1)):
            source = RecordedSource([entry, word])
            assert polya._poisson(RATE, shares, 1, source).tolist() == [jumps]
            assert source.remaining == 0
        third = RecordedSource([entry, next_digit, 0])
        assert polya._poisson(RATE, shares, 1, third).tolist() == [place]
        assert polya._poisson(RATE, shares, 2, RecordedSource([entry - 1, entry + 1])).tolist() == [place, place + 1]


def test_words_beyond_the_table_are_settled_too():
    shares = Fraction(1, 2)
    top = len(polya._table(RATE, shares)) - 1
    assert polya._poisson(RATE, shares, 1, RecordedSource([2**64 - 1, 0])).tolist()[0] >= top
    assert polya._poisson(RATE, shares, 1, RecordedSource([2**64 - 1, 2**64 - 1, 0])).tolist()[0] > top


def test_a_jump_that_stays_below_the_reach_is_all_that_is_left_out():
    with mpmath.workprec(200):
        for rate in (polya.LEAST_RATE, Fraction(1, 1000), Fraction(1), Fraction(1000)):
            blocks = max(1, math.ceil(2**20 / rate).bit_length())
            assert 2**blocks * rate >= 2**20
            assert 2**blocks * rate.numerator < 2**62
            exponent = mpmath.mpf(-(2**blocks) * rate.numerator) / rate.denominator
            # The jumps of a person from there on have this mean at most; the bound is far below the float stated.
            mean = 2 * mpmath.exp(exponent) / (1 - mpmath.exp(-mpmath.mpf(rate.numerator) / rate.denominator))
            assert mean < mpmath.mpf(polya.SAMPLER_ERROR) < 1e-300


def test_coins_of_blocks_compare_integers_below_twice_the_block():
    # Block 2 holds 4, 5, 6, 7: three bits are drawn; below 4 is heads, below the size tails, else they are drawn again.
    size = np.array([5])
    for words, heads in (([3], True), ([4], False), ([5, 0], True), ([7, 6, 4], False)):
        source = RecordedSource(words)
        assert polya._block_coins(np.array([2]), size, source).tolist() == [heads]
        assert source.remaining == 0


def test_nearly_nobody_moves_and_everybody_is_handed_jumps_alike():
    noise = polya_noise(Fraction(1, 1000), 10**6, 10**6, source=SeededSource(1))
    assert noise.dtype == np.int64
    assert 0 < np.count_nonzero(noise) < 60
    assert polya_noise(RATE, 1, 0).shape == (0,)


def test_people_beyond_one_chunk_have_noise_too():
    noise = polya_noise(Fraction(1, 10**6), 1, 500, source=SeededSource(1))
    assert (noise != 0).all()
    assert np.abs(noise[-20:]).mean() > 10**5


WRONG = [
    ({"rate": Fraction(0)}, "rate must be a fraction from 2"),
    ({"rate": Fraction(1, 2**31)}, "rate must be a fraction from 2"),
    ({"rate": Fraction(1001)}, "rate must be a fraction from 2"),
    ({"rate": Fraction(2**39 + 1, 2**41)}, "denominator of at most 2"),
    ({"rate": 0.5}, "rate must be a Fraction"),
    ({"noise_users": 0}, "noise_users must be an integer that is 1 or more"),
    ({"count": -1}, "count must be an integer that is 0 or more"),
    ({"source": 7}, "source must be a RandomSource or None"),
]


@pytest.mark.parametrize(("changes", "message"), WRONG)
def test_wrong_arguments_are_refused(changes, message):
    given = {"rate": Fraction(1), "noise_users": 3, "count": 3, "source": None} | changes
    with pytest.raises(InvalidParameterError, match=message):
        polya_noise(given["rate"], given["noise_users"], given["count"], source=given["source"])


SHAPES = [0.2, 0.75, 1.0, 1.3, 4.0]


def difference_law(rate, shape, size=2048):
    """Of the difference of two negative binomial numbers, at -size + 1, ..., size - 1."""
    one = stats.nbinom.pmf(np.arange(size), shape, -math.expm1(-rate))
    return np.convolve(one, one[::-1])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rate", [0.1, 1.0, 3.0])
def test_the_variance_is_that_of_the_law(rate, shape):
    law = difference_law(rate, shape)
    places = np.arange(len(law)) - len(law) // 2
    assert noise_variance(rate, shape) == pytest.approx((law * places**2).sum(), rel=1e-9)
    assert noise_variance(800.0, shape) == 0


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rate", [0.1, 1.0, 3.0])
def test_the_tail_is_bounded_and_exact_for_one_discrete_laplace(rate, shape):
    law = difference_law(rate, shape)
    places = np.abs(np.arange(len(law)) - len(law) // 2)
    for limit in (0, 1, 5, int(10 / rate)):
        exact = law[places > limit].sum()
        bound = tail_bound(rate, shape, limit)
        assert exact <= bound <= 1
        if shape == 1:
            assert bound == pytest.approx(exact, rel=1e-7)
        elif rate * limit >= 9:
            assert bound < 200 * exact + 1e-3


def test_a_tail_beyond_all_floats_is_zero_and_none_is_above_one():
    assert tail_bound(1.0, 1.0, 10**6) == 0
    assert tail_bound(1.0, 3.0, 10**6) == 0
    assert tail_bound(1e-9, 3.0, 1) == 1


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rate", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_the_interval_is_the_least_that_reaches_the_level(rate, shape, level):
    law = difference_law(rate, shape)
    places = np.abs(np.arange(len(law)) - len(law) // 2)
    found = central_interval(rate, shape, 0.0, level)
    assert law[places <= found].sum() >= level - 1e-9
    if found > 0:
        assert law[places < found].sum() < level


@pytest.mark.parametrize("rate", [1e-3, 1e-6])
def test_fine_noise_has_the_interval_of_the_laplace_law_to_a_thousandth(rate):
    assert central_interval(rate, 1.0, 0.0, 0.95) * rate == pytest.approx(math.log(20), rel=1e-3)


@pytest.mark.parametrize("rate", [1e-5, 0.02])
def test_noise_of_many_is_nearly_normal_and_so_is_rounding(rate):
    quantile = stats.norm.ppf(0.975)
    assert central_interval(rate, 1e4, 0.0, 0.95) == pytest.approx(
        quantile * noise_variance(rate, 1e4) ** 0.5, rel=2e-3
    )
    spread = 1e4 / rate**2
    assert central_interval(rate, 1.0, spread, 0.95) == pytest.approx(quantile * spread**0.5, rel=2e-3)


def test_rounding_and_noise_of_one_size_have_the_interval_of_their_convolution():
    rate, spread = 0.2, 30.0
    law = difference_law(rate, 0.8)
    places = np.arange(len(law)) - len(law) // 2
    found = central_interval(rate, 0.8, spread, 0.9)
    inside = stats.norm.cdf((found - places) / spread**0.5) - stats.norm.cdf((-found - places) / spread**0.5)
    assert (law * inside).sum() == pytest.approx(0.9, abs=0.01)


@pytest.mark.parametrize(
    ("people", "rate"), [(3, 2.0), (4, 2.0), (5, 8 / 3), (8, 2 / 3), (12, 1.0), (20, 0.4), (30, 20 / 6)]
)
def test_values_of_few_people_between_two_steps_are_covered_at_the_level(people, rate):
    """Mutant: an interval of whole steps, which 4 values half a step from the grid leave in one of ten cases."""
    law = difference_law(rate, 1.0)
    places = np.arange(len(law)) - len(law) // 2
    most = central_interval(rate, 1.0, people / 4, 0.95)
    for part in np.linspace(0, 1, 41):
        errors = np.arange(people + 1)[:, None] - people * part + places
        chances = stats.binom.pmf(np.arange(people + 1), people, part)[:, None] * law
        assert chances[np.abs(errors) <= most + 1e-9].sum() >= 0.95 - 1e-6
