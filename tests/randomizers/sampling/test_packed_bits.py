"""Packed bits: coins that are drawn only as far as they must be, and counts that never unpack a whole column."""

import tracemalloc

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.randomizers.sampling.coins import (
    PackedCoins,
    check_domain,
    check_packed,
    count_bits,
    fill_with_coins,
    packed_width,
    put_bits,
    row_sizes,
)
from shuffledp.testing import RecordedSource, SeededSource

ALL = 2**64 - 1
THRESHOLDS = [0, 1, 2**63, 2**62, 3 * 2**61, 2**64 - 1, 2**63 - 1, 4960932886462331000, 123456789]


def coins_in_plain_python(size: int, threshold: int, words: list[int]) -> tuple[list[int], list[list[list[int]]], int]:
    """Lane words, for each coin the binary places that were drawn, and how many words that took."""
    lanes, drawn = [0] * size, [[[] for _ in range(64)] for _ in range(size)]
    undecided, used = [ALL] * size, 0
    for place in range(63, -1, -1):
        if threshold % 2 ** (place + 1) == 0:
            break
        for lane in [lane for lane in range(size) if undecided[lane]]:
            word, used = words[used], used + 1
            for coin in range(64):
                drawn[lane][coin].append(word >> coin & 1)
            if threshold >> place & 1:
                lanes[lane] |= undecided[lane] & ~word
                undecided[lane] &= word
            else:
                undecided[lane] &= ~word
    return lanes, drawn, used


def number(places: list[int], rest: int) -> int:
    """The number that begins with these binary places, all others being ``rest``."""
    return int("".join(map(str, places + [rest] * (64 - len(places)))), 2)


# ---- coins ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("size", [1, 2, 37])
def test_coins_are_those_of_plain_python_word_for_word(size, threshold):
    words = SeededSource(size).words(64 * size).tolist()
    expected, _, used = coins_in_plain_python(size, threshold, words)
    lanes, source = np.full(size, 7, dtype=np.uint64), RecordedSource(words)
    fill_with_coins(lanes, threshold, source, np.empty(size, dtype=np.uint64))
    assert lanes.tolist() == expected
    assert source.remaining == len(words) - used


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_a_coin_is_set_if_and_only_if_its_number_is_below_the_threshold_whatever_the_places_not_drawn(threshold):
    lanes, drawn, _ = coins_in_plain_python(4, threshold, SeededSource(3).words(256).tolist())
    for lane in range(4):
        for coin in range(64):
            places, is_set = drawn[lane][coin], bool(lanes[lane] >> coin & 1)
            assert (number(places, 0) < threshold) == (number(places, 1) < threshold) == is_set


def test_with_all_patterns_of_three_places_exactly_five_of_eight_coins_are_set():
    # Coin c of the lane has the binary places of c % 8: each pattern eight times.
    words = [sum((c % 8 >> place & 1) << c for c in range(64)) for place in (2, 1, 0)]
    lanes = np.empty(1, dtype=np.uint64)
    fill_with_coins(lanes, 5 * 2**61, RecordedSource(words), np.empty(1, dtype=np.uint64))
    assert [c for c in range(64) if int(lanes[0]) >> c & 1] == [c for c in range(64) if c % 8 < 5]


def test_sixty_four_coins_take_about_seven_words():
    size, source = 1000, RecordedSource(SeededSource(4).words(20_000))
    fill_with_coins(np.empty(size, dtype=np.uint64), 4960932886462331000, source, np.empty(size, dtype=np.uint64))
    assert 7 < (20_000 - source.remaining) / size < 8


@pytest.mark.parametrize("domain_size", [2, 7, 8, 9, 64, 100])
def test_coins_of_a_batch_fill_its_bytes_in_order_and_leave_the_padding_clear(domain_size):
    width, rows = packed_width(domain_size), 11
    bits, lanes = np.full((rows, width), 255, dtype=np.uint8), np.empty(-(-rows * width // 8), dtype=np.uint64)
    PackedCoins(rows, domain_size).fill(bits, 2**63 + 1, SeededSource(5))
    fill_with_coins(lanes, 2**63 + 1, SeededSource(5), np.empty_like(lanes))
    unpadded = [lane >> 8 * byte & 255 for lane in lanes.tolist() for byte in range(8)][: rows * width]
    expected = np.array(unpadded, dtype=np.uint8).reshape(rows, width)
    if domain_size % 8:
        expected[:, -1] &= 2 ** (domain_size % 8) - 1
    assert np.array_equal(bits, expected)


def test_words_are_wiped():
    coins = PackedCoins(5, 100)
    coins.fill(np.empty((5, 13), dtype=np.uint8), 2**62, SeededSource(6))
    coins.toss(5, 2**62, SeededSource(7))
    coins.wipe()
    assert not coins._lanes.any()
    assert not coins._words.any()


def test_a_bit_is_put_where_it_belongs():
    bits = np.array([[0, 0], [255, 255], [0, 0], [255, 255]], dtype=np.uint8)
    put_bits(bits, np.array([0, 9, 15, 7]), np.array([True, False, True, False]))
    assert bits.tolist() == [[1, 0], [255, 253], [0, 128], [127, 255]]


# ---- counts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("domain_size", [2, 8, 9, 100, 1000, 9000])
@pytest.mark.parametrize("rows", [0, 1, 3, 254, 255, 256, 1021])
def test_counts_are_those_of_unpacked_bits(domain_size, rows):
    width = packed_width(domain_size)
    bits = SeededSource(8).words(rows * width // 8 + 1).view(np.uint8)[: rows * width].reshape(rows, width)
    unpacked = np.unpackbits(bits, axis=1, count=domain_size, bitorder="little")
    counts = count_bits(bits, domain_size)
    assert counts.tolist() == unpacked.sum(axis=0, dtype=np.int64).tolist()
    assert counts.dtype == np.int64
    assert row_sizes(bits).tolist() == np.bitwise_count(bits).sum(axis=1).tolist()


def test_bytes_of_counters_do_not_overflow_when_every_bit_is_set():
    assert set(count_bits(np.full((200_001, 2), 255, dtype=np.uint8), 16).tolist()) == {200_001}


def test_counting_does_not_unpack_the_column():
    bits = np.ones((40_000, 125), dtype=np.uint8)  # five megabytes, forty if unpacked
    tracemalloc.start()
    count_bits(bits, 1000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5e6


def test_rows_that_do_not_lie_one_after_the_other_are_counted_too():
    bits = np.arange(600, dtype=np.uint8).reshape(200, 3)
    assert count_bits(bits[::2], 24).tolist() == count_bits(bits[::2].copy(), 24).tolist()


# ---- what is refused ------------------------------------------------------------------------------------------------

WRONG_COLUMNS = {
    "none": {},
    "another name": {"value": np.zeros((2, 2), dtype=np.uint8)},
    "one too many": {"bits": np.zeros((2, 2), dtype=np.uint8), "seed": np.zeros(2)},
    "one dimension": {"bits": np.zeros(2, dtype=np.uint8)},
    "too narrow": {"bits": np.zeros((2, 1), dtype=np.uint8)},
    "too wide": {"bits": np.zeros((2, 3), dtype=np.uint8)},
    "a byte per bit": {"bits": np.zeros((2, 12), dtype=np.uint8)},
    "signed": {"bits": np.zeros((2, 2), dtype=np.int8)},
    "truth values": {"bits": np.zeros((2, 2), dtype=np.bool_)},
    "objects": {"bits": np.array([b"ab", b"cd"], dtype=object)},
}


@pytest.mark.parametrize("kind", WRONG_COLUMNS)
def test_columns_that_are_no_packed_bits_are_refused(kind):
    with pytest.raises(InvalidParameterError, match=r"columns must be one uint8 column 'bits' of shape \(n, 2\)"):
        check_packed(WRONG_COLUMNS[kind], 12)


def test_a_bit_beyond_the_domain_is_refused_by_its_place():
    bits = np.array([[255, 15], [255, 16], [0, 0], [0, 128]], dtype=np.uint8)
    with pytest.raises(InvalidParameterError) as caught:
        check_packed({"bits": bits}, 12)
    assert str(caught.value) == "reports must have 12 bits; 2 have more, first reports[1]."
    check_packed({"bits": bits[[0, 2]]}, 12)
    check_packed({"bits": bits}, 16)


def test_a_domain_that_a_bit_per_value_cannot_carry_is_refused_with_the_way_out():
    check_domain(2**20)
    with pytest.raises(InvalidParameterError, match=r"domain_size must be at most 1048576.*hashing takes larger"):
        check_domain(2**20 + 1)
    with pytest.raises(InvalidParameterError, match="domain_size must be an integer that is 2 or more"):
        check_domain(1)
