"""Noisy sorts: float keys and their margins, the decimal arithmetic behind them, blocks and extremes."""

import math
from decimal import Decimal, localcontext

import mpmath
import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.laws import noisy_sort_sampling, sample_noisy_sort
from shuffledp.laws.exact_draws import precise
from shuffledp.randomness.permutations import is_permutation
from shuffledp.testing import RecordedSource, SeededSource

NOISES = noisy_sort_sampling.NOISES


def magnitude(u, noise):
    return -mpmath.log(u) if noise == "laplace" else mpmath.sqrt(2) * mpmath.erfinv(1 - u)


@pytest.mark.parametrize("noise", NOISES)
def test_float_keys_err_by_less_than_a_thousandth_of_their_margin_or_a_last_bit(noise):
    words = SeededSource(5).words(300)
    words[:4] = [2, 2**20, 2**64 - 2, 2**64 - 1]
    at = np.linspace(-50, 50, words.size)
    keys, margins = noisy_sort_sampling._keys(at, words, noise)
    with mpmath.workdps(60):
        for position, word, key, margin in zip(
            at.tolist(), words.tolist(), keys.tolist(), margins.tolist(), strict=True
        ):
            u = (mpmath.mpf(word >> 1) + 0.5) / 2**63
            exact = position + (-1 if word & 1 else 1) * magnitude(u, noise)
            assert abs(key - exact) <= margin / 4
            ends = [magnitude((mpmath.mpf(word >> 1) + end) / 2**63, noise) for end in (0, 1)]
            assert max(ends) - min(ends) <= margin / 2 or word < 4


@pytest.mark.parametrize("chance", ["0.4999999", "0.25", "1e-3", "1e-19", "1e-40"])
def test_normal_quantiles_in_decimal_arithmetic(chance):
    with localcontext(precise(250)):
        found = noisy_sort_sampling._normal_above(Decimal(chance))
        assert abs(
            noisy_sort_sampling._pi() - Decimal("3.14159265358979323846264338327950288419716939937510")
        ) < Decimal("1e-49")
    with mpmath.workdps(120):
        exact = mpmath.erfc(mpmath.mpf(str(found)) / mpmath.sqrt(2)) / 2
        assert abs(exact / mpmath.mpf(chance) - 1) < mpmath.mpf("1e-28")


@pytest.mark.parametrize("noise", NOISES)
def test_decimal_arithmetic_sorts_as_floats_do_where_these_suffice(noise, monkeypatch):
    at = np.repeat([0.0, 0.5, 3.0], 10)
    sorted_by_floats = sample_noisy_sort(at, noise=noise, source=SeededSource(2))
    monkeypatch.setattr(noisy_sort_sampling, "_undecided", lambda keys, *_: [(0, keys.size)])
    assert sample_noisy_sort(at, noise=noise, source=SeededSource(2)).tolist() == sorted_by_floats.tolist()


@pytest.mark.parametrize("noise", NOISES)
def test_keys_with_the_same_first_bits_are_told_apart_by_further_words(noise):
    # Equal words: the next word of each is its next 64 bits, and a larger u means a smaller magnitude.
    for sign, orders in ((0, ([1, 0], [0, 1])), (1, ([0, 1], [1, 0]))):
        word = 2**63 + sign
        for following, order in zip(([1, 2**63], [2**63, 1]), orders, strict=True):
            source = RecordedSource([word, word, *following])
            assert sample_noisy_sort([0.0, 0.0], noise=noise, source=source).tolist() == order
            assert source.remaining == 0
    source = RecordedSource([2**63, 2**63, 5, 5, 1, 2**63])
    assert sample_noisy_sort([0.0, 0.0], noise=noise, source=source).tolist() == [1, 0]


def test_a_word_of_zeros_leaves_its_key_open_upward():
    # The other key is 60 + 34 log 2 = 83.6; u = 2^-107 makes 74.2 of the first one, and u = 2^-127 makes 88.0.
    for following, order in ((2**20, [0, 1]), (1, [1, 0])):
        source = RecordedSource([0, 2**30, following, 0])
        assert sample_noisy_sort([0.0, 60.0], source=source).tolist() == order
        assert source.remaining == 0


@pytest.mark.parametrize("noise", NOISES)
def test_blocks_do_not_mix(noise):
    starts = [0, 1, 500, 1500]
    found = sample_noisy_sort(np.zeros(2000), noise=noise, block_starts=starts)
    assert is_permutation(found)
    for start, stop in zip(starts, [*starts[1:], 2000], strict=True):
        assert sorted(found[start:stop].tolist()) == list(range(start, stop))
    uniform = sample_noisy_sort(np.zeros(2000), noise=noise, scale=math.inf, block_starts=starts)
    assert sorted(uniform[500:1500].tolist()) == list(range(500, 1500))
    assert uniform[500:1500].tolist() != list(range(500, 1500))


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("size", [0, 1, 2, 1000])
@pytest.mark.parametrize("scale", [1e-300, 1e-3, 1, 1e9, 1e300, math.inf])
def test_every_scale_gives_a_permutation_and_small_ones_the_identity(noise, size, scale):
    found = sample_noisy_sort(np.arange(size), noise=noise, scale=scale)
    assert found.dtype == np.int64
    assert is_permutation(found)
    if scale < 1e-2:
        assert found.tolist() == list(range(size))


def test_keys_that_floats_cannot_hold_are_compared_too():
    assert sample_noisy_sort([0.0, 1e300, 1.1e300], scale=1e-300).tolist() == [0, 1, 2]
    assert is_permutation(sample_noisy_sort(np.zeros(50), scale=5e-324))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"positions": [0.0, math.nan]}, "positions must be finite"),
        ({"positions": [[0.0]]}, "positions must be finite numbers in one dimension"),
        ({"positions": ["a"]}, "positions must be an array of numbers"),
        ({"noise": "cauchy"}, "noise must be one of"),
        ({"scale": 0}, "scale must be a number above 0; got scale=0"),
        ({"scale": math.nan}, "scale must be"),
        ({"scale": True}, "scale must be"),
        ({"block_starts": [1]}, "block_starts must be ranks from 0 to 1, with 0 first"),
        ({"block_starts": [0, 2]}, "block_starts must be ranks"),
        ({"block_starts": [0, 0]}, "block_starts must be ascending"),
        ({"block_starts": [0.0]}, "block_starts must be ranks"),
        ({"source": 1}, "source must be"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(InvalidParameterError, match=message):
        sample_noisy_sort(**{"positions": [0.0, 1.0], **arguments})
