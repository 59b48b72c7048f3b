"""Mallows samplers: the arithmetic of single draws, both kernels, streams and extremes."""

import itertools
import math

import mpmath
import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.laws import (
    exact_draws,
    mallows_sampling,
    sample_mallows,
    sample_mallows_blocks,
)
from shuffledp.randomness.permutations import is_permutation
from shuffledp.testing import RecordedSource, SeededSource

CONCENTRATIONS = (1e-300, 1e-100, 1e-13, 1e-6, 1e-3, 0.1, 0.7, 2.5, 40.0, 900.0)
TOP = 2**64 - 1
WORDS = (0, 1, 2**40, 2**63 - 1, 2**63, 3 * 2**62 + 12345, TOP - 2**20, TOP - 1, TOP)


def code_of(u, remaining, theta):
    """The largest v with (1 - q^v) / (1 - q^m) <= u, in 700 digits."""
    with mpmath.workdps(700):
        theta = mpmath.mpf(theta)
        value = -mpmath.log1p(u * mpmath.expm1(-theta * remaining)) / theta
        return int(min(mpmath.floor(value), remaining - 1))


@pytest.mark.parametrize("draw", [exact_draws._draw, exact_draws._draw_compiled])
@pytest.mark.parametrize("theta", CONCENTRATIONS)
def test_every_draw_is_the_exact_quantile_of_its_word(draw, theta, monkeypatch):
    monkeypatch.setattr(exact_draws, "_draw_for", lambda _: draw)
    for remaining in (1, 2, 3, 1000, 10**7, 2**40):
        # A tiny concentration puts boundaries next to 2^63 / 2^64, which takes hundreds of bits to tell.
        for word in WORDS if theta > 1e-50 else WORDS[2:6:3]:
            code = np.empty(1, dtype=np.int64)
            # Where the word does not decide, words of zeros follow, which choose the lower end of its interval.
            exact_draws.draw_codes(theta, code, RecordedSource([word] + [0] * 40), remaining=remaining)
            with mpmath.workdps(700):
                assert code[0] == code_of(mpmath.mpf(word) / 2**64, remaining, theta)


@pytest.mark.parametrize("draw", [exact_draws._draw, exact_draws._draw_compiled])
@pytest.mark.parametrize("theta", [1e-6, 1e-3, 0.1, 0.7])
def test_words_next_to_a_boundary_fall_on_its_right_side_far_out_in_the_tail_too(draw, theta, monkeypatch):
    monkeypatch.setattr(exact_draws, "_draw_for", lambda _: draw)
    for tail in (0.01, 1, 8, 15, 20, 26):
        v = math.ceil(tail / theta)
        for remaining in (2 * v, 2**40):
            with mpmath.workdps(60):
                filled = -mpmath.expm1(-mpmath.mpf(theta) * remaining)
                boundary = int(mpmath.floor(-mpmath.expm1(-mpmath.mpf(theta) * v) / filled * 2**64))
            drawn = []
            for word in (boundary - 1, boundary, boundary + 1):
                code = np.empty(1, dtype=np.int64)
                exact_draws.draw_codes(theta, code, RecordedSource([word, 0, 0, 0]), remaining=remaining)
                drawn.append(int(code[0]) - v)
            assert drawn == [-1, -1, 0]


def test_a_word_that_contains_a_boundary_is_followed_by_another_and_others_are_not():
    with mpmath.workdps(60):
        boundary = mpmath.floor((1 - mpmath.exp(-0.5)) / (1 - mpmath.exp(-1.0)) * 2**64)
    drawn = []
    for word, following in ((int(boundary), 0), (int(boundary), TOP), (int(boundary) - 1, 0), (int(boundary) + 1, 0)):
        source = RecordedSource([word, following])
        code = np.empty(1, dtype=np.int64)
        exact_draws.draw_codes(0.5, code, source, remaining=2)
        drawn.append((int(code[0]), source.remaining))
    assert drawn == [(0, 0), (1, 0), (0, 1), (1, 1)]


def test_hardly_any_draw_needs_decimal_arithmetic():
    codes, source = np.empty(200_000, dtype=np.int64), SeededSource(1)
    words = source.words(codes.size)
    for theta in (1e-9, 1e-4, 1.0):
        exact_draws._draw_compiled(codes, words, theta, 10**7)
        assert (codes < 0).sum() <= 5


@pytest.mark.parametrize("num_items", [0, 1, 2, 63, 64, 65, 129, 1000, 5000])
@pytest.mark.parametrize("spread", [1, 10, 10**9])
def test_both_kernels_take_the_items_that_are_left(num_items, spread):
    rng = np.random.default_rng(num_items)
    codes = np.array([rng.integers(0, min(spread, num_items - k)) for k in range(num_items)], dtype=np.int64)
    left = list(range(num_items))
    expected = [left.pop(code) for code in codes.tolist()]
    for kind in (exact_draws._PlainItems, exact_draws._CompiledItems):
        items, left = codes.copy(), kind(num_items)
        for part in np.array_split(items, 3):  # who takes in parts takes the same
            left.take(part)
        assert items.tolist() == expected


def test_all_codes_give_all_permutations_with_as_many_inversions_as_their_sum():
    found = {}
    for codes in itertools.product(*(range(5 - k) for k in range(5))):
        permutation = np.array(codes, dtype=np.int64)
        exact_draws.items_left(5).take(permutation)
        assert sum(a > b for a, b in itertools.combinations(permutation, 2)) == sum(codes)
        found[tuple(permutation)] = codes
    assert len(found) == math.factorial(5)


@pytest.mark.parametrize("distance", ["kendall", "hamming", "cayley"])
@pytest.mark.parametrize("num_items", [0, 1, 2, 70_001])
@pytest.mark.parametrize("theta", [0, 5e-324, 1e-300, 1e-5, 1, 900, 1e300, math.inf])
def test_every_concentration_gives_a_permutation_and_large_ones_the_identity(distance, num_items, theta):
    permutation = sample_mallows(num_items, theta, distance=distance)
    assert permutation.dtype == np.int64
    assert is_permutation(permutation)
    assert permutation.size == num_items
    if theta >= 900:
        assert permutation.tolist() == list(range(num_items))
    elif num_items > 2:
        assert (permutation != np.arange(num_items)).sum() > 1000


@pytest.mark.parametrize("distance", ["kendall", "hamming", "cayley"])
def test_the_same_words_give_the_same_permutation(distance):
    drawn = [sample_mallows(5000, 0.01, distance=distance, source=SeededSource(3)).tolist() for _ in range(2)]
    assert drawn[0] == drawn[1]


def test_plain_and_compiled_runs_agree(monkeypatch):
    drawn = []
    for kernels in (("_draw", "_PlainItems"), ("_draw_compiled", "_CompiledItems")):
        for target, kernel in zip(("_draw_for", "_items_for"), kernels, strict=True):
            monkeypatch.setattr(exact_draws, target, lambda _, kernel=kernel: getattr(exact_draws, kernel))
        drawn.append(sample_mallows(3000, 0.003, source=SeededSource(8)).tolist())
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize("distance", ["kendall", "hamming", "cayley"])
@pytest.mark.parametrize(
    ("sizes", "thetas"),
    [
        ([200_000], [1e-4]),
        ([3, 150_000, 0, 1, 70_000, 5], [1.0, 1e-3, 0.0, 2.0, 0.0, math.inf]),
        ([], []),
        ([0], [1.0]),
    ],
)
def test_a_permutation_in_parts_is_that_of_the_same_words_block_by_block(monkeypatch, distance, sizes, thetas):
    monkeypatch.setattr(mallows_sampling, "_AT_A_TIME", 2**16)
    drawn = mallows_sampling.mallows_parts(np.array(sizes, int), np.array(thetas), distance, SeededSource(4))
    parts, source, start, whole = list(drawn), SeededSource(4), 0, []
    monkeypatch.setattr(mallows_sampling, "_AT_A_TIME", 2**20)
    for size, theta in zip(sizes, thetas, strict=True):
        if size > 1:
            whole += (start + sample_mallows(size, theta, distance=distance, source=source)).tolist()
        else:
            whole += range(start, start + size)
        start += size
    assert np.concatenate([np.empty(0, int), *parts]).tolist() == whole
    assert distance != "kendall" or max(map(len, parts), default=0) <= max(2**16, 70_000 * (len(sizes) > 1))


@pytest.mark.parametrize("word", [0, 1, 2**63, TOP])
@pytest.mark.parametrize(("num_items", "theta"), [(3, 0.5), (50, 3.0), (50, 5.0), (4, 1e-300), (4, 800.0)])
def test_the_number_of_items_kept_is_the_exact_quantile(word, num_items, theta):
    with mpmath.workdps(500):
        mean = mpmath.expm1(theta)
        weights = [mean**s / mpmath.factorial(s) for s in range(num_items + 1)]
        u = (mpmath.mpf(word) * 2**64 + 1) / 2**128  # beyond the boundary at 0
        passed = [mpmath.fsum(weights[: s + 1]) / mpmath.fsum(weights) for s in range(num_items + 1)]
        expected = next(s for s in range(num_items + 1) if u < passed[s])
    assert mallows_sampling.draw_num_kept(num_items, theta, RecordedSource([word, 1, 0, 0, 0, 0, 0, 0, 0])) == expected


def test_an_exchange_of_cayley_is_decided_by_further_words_at_its_boundary():
    with mpmath.workdps(60):
        chance = 2 * mpmath.exp(-0.7) / (1 + 2 * mpmath.exp(-0.7))
        boundary = int(mpmath.floor(chance * 2**64))
    place = np.array([2])
    decided = [
        bool(mallows_sampling._swapping(place, 0.7, RecordedSource([word, following]))[0])
        for word, following in ((boundary, 0), (boundary, TOP), (boundary - 1, 0), (boundary + 1, 0))
    ]
    assert decided == [True, False, True, False]


def test_blocks_do_not_mix_and_have_their_own_concentrations():
    found = sample_mallows_blocks([3, 0, 1, 2000, 2000], [math.inf, 1, 1, 0, math.inf])
    assert found[:4].tolist() == [0, 1, 2, 3]
    assert sorted(found[4:2004].tolist()) == list(range(4, 2004))
    assert (found[4:2004] != np.arange(4, 2004)).any()
    assert found[2004:].tolist() == list(range(2004, 4004))
    assert sample_mallows_blocks([], []).size == 0
    assert is_permutation(sample_mallows_blocks([4, 4], 0.5, distance="cayley"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sample_mallows(-1, 1.0), "num_items must be an integer that is 0 or more; got num_items=-1"),
        (lambda: sample_mallows(2.0, 1.0), "num_items must be"),
        (lambda: sample_mallows(2**31, 1.0), "below 2\\*\\*31"),
        (lambda: sample_mallows(2, -0.1), "concentration must be a number that is 0 or more; got concentration=-0.1"),
        (lambda: sample_mallows(2, math.nan), "concentration must be"),
        (lambda: sample_mallows(2, "1"), "concentration must be"),
        (lambda: sample_mallows(2, 1.0, distance="footrule"), "distance must be one of"),
        (lambda: sample_mallows(2, 1.0, source=7), "source must be a RandomSource"),
        (lambda: sample_mallows_blocks([1.5], 1.0), "block_sizes must be integers"),
        (lambda: sample_mallows_blocks([-1], 1.0), "block_sizes must be integers"),
        (lambda: sample_mallows_blocks([2, 2], [1.0]), "one for each block"),
        (lambda: sample_mallows_blocks([2], [math.nan]), "concentrations must be"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(InvalidParameterError, match=message):
        call()
