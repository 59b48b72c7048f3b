import copy
import os
import pickle
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.core.errors import InvalidParameterError, LocalProtocolError
from shuffledp.randomness.keystream import BUFFER_WORDS, KeyErasingCipher
from shuffledp.randomness.sources import (
    RandomSource,
    SecureSource,
    _high_product_below,
    bernoulli,
    high_product,
    resolve_source,
    uniform_integers,
)
from shuffledp.testing import RecordedSource, SeededSource

KEY = bytes(range(32))
SECOND_BLOCK = 2 * BUFFER_WORDS  # more words than the first blocks of a source hold


def in_another_thread(function: Callable[[], object]) -> object:
    found: list[object] = []

    def run() -> None:
        try:
            found.append(function())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


def in_a_forked_child(function: Callable[[], np.ndarray]) -> list[int]:
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking where other threads run
        child = os.fork()
    if child == 0:
        try:
            os.write(writing, function().astype(np.uint64).tobytes())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        received = pipe.read()
    os.waitpid(child, 0)
    assert received, "the child failed"
    return np.frombuffer(received, dtype=np.uint64).tolist()


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


@numba.njit
def draw_doubles(generator, count):
    out = np.empty(count)
    for index in range(count):
        out[index] = generator.random()
    return out


# --- words ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pieces", [(1, 2, 3), (0, 508, 2044, 1), (7, SECOND_BLOCK, 5, BUFFER_WORDS), (507, 3)])
def test_words_do_not_depend_on_the_pieces_in_which_they_are_asked_for(pieces):
    source = SeededSource(1)
    joined = np.concatenate([source.words(piece) for piece in pieces])
    np.testing.assert_array_equal(joined, SeededSource(1).words(sum(pieces)))


def test_words_belong_to_the_caller():
    source = SeededSource(1)
    first = source.words(10)
    kept = first.copy()
    source.words(10)
    np.testing.assert_array_equal(first, kept)
    assert first.flags.owndata
    assert first.flags.writeable


def test_no_word_comes_twice():
    words = SecureSource().words(3 * BUFFER_WORDS)
    assert np.unique(words).size == words.size  # by chance: below 1e-8


def test_fill_writes_what_words_returns_and_refuses_other_arrays():
    out = np.zeros(700, dtype=np.uint64)
    SeededSource(4).fill(out)
    np.testing.assert_array_equal(out, SeededSource(4).words(700))
    for wrong in (np.zeros(3), np.zeros((2, 2), np.uint64), np.zeros(8, np.uint64)[::2], [1, 2]):
        with pytest.raises(InvalidParameterError, match="out must be a"):
            SeededSource(4).fill(wrong)


@pytest.mark.parametrize("count", [-1, 1.5, True])
def test_a_count_that_is_not_a_natural_number_is_refused(count):
    with pytest.raises(InvalidParameterError, match="count must be an integer"):
        SecureSource().words(count)


# --- two faces, one position ---------------------------------------------------------------------------------------


def test_arrays_generators_and_compiled_kernels_advance_one_position_and_use_no_word_twice():
    # Guarantee 2 of SecureSource, on the same code with a seed, where the words are known.
    source, known = SeededSource(3), SeededSource(3).words(2 * BUFFER_WORDS)
    generator = np.random.Generator(source.bit_generator)
    doubles = (known >> np.uint64(11)) * 2.0**-53
    position = 0

    def following(count):
        nonlocal position
        position += count
        return slice(position - count, position)

    np.testing.assert_array_equal(source.words(3), known[following(3)])
    np.testing.assert_array_equal(draw_doubles(generator, 600), doubles[following(600)])
    assert source.bit_generator.random_raw() == known[following(1)]
    np.testing.assert_array_equal(source.bit_generator.random_raw(5), known[following(5)])
    np.testing.assert_array_equal(generator.random(7), doubles[following(7)])
    np.testing.assert_array_equal(generator.integers(0, 2**64, 4, dtype=np.uint64), known[following(4)])
    np.testing.assert_array_equal(
        generator.integers(0, 2**32, 4, dtype=np.uint32), known[following(4)] >> np.uint64(32)
    )
    np.testing.assert_array_equal(source.words(BUFFER_WORDS), known[following(BUFFER_WORDS)])
    np.testing.assert_array_equal(draw_doubles(generator, 50_000), doubles[following(50_000)])
    np.testing.assert_array_equal(source.words(9), known[following(9)])


def test_the_bit_generator_keeps_its_words_alive_without_its_source():
    generator = np.random.Generator(SeededSource(3).bit_generator)
    expected = (SeededSource(3).words(5000) >> np.uint64(11)) * 2.0**-53
    np.testing.assert_array_equal(draw_doubles(generator, 5000), expected)


def test_importing_and_drawing_load_neither_numba_nor_before_the_first_word_openssl():
    program = (
        "import sys, shuffledp.randomness.sources, shuffledp.randomness.permutations, shuffledp.testing\n"
        "loaded = lambda: [name for name in ('numba', 'cryptography') if name in sys.modules]\n"
        "print(loaded())\n"
        "shuffledp.randomness.permutations.random_permutation(1000)\n"
        "print(loaded())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "['cryptography']"]


# --- what is left in memory ----------------------------------------------------------------------------------------


def test_words_that_were_handed_out_are_zeros_in_the_buffer():
    # Guarantee 3 of SecureSource, words.
    source = SecureSource()
    handed = source.words(100)
    generator = np.random.Generator(source.bit_generator)
    handed = np.append(handed, generator.integers(0, 2**64, 50, dtype=np.uint64))
    cells = source._buffer.cells
    position = int(cells[0])
    assert not cells[position - 150 : position].any()
    assert cells[position : int(cells[1])].all()
    assert not np.isin(handed, cells).any()


def test_a_representation_shows_no_key_and_pickling_and_copying_are_refused():
    # Guarantee 6 of SecureSource.
    assert repr(SecureSource(KEY)) == "SecureSource()"
    assert repr(SecureSource().bit_generator) == "KeystreamBitGenerator()"
    buffer = SecureSource()._buffer
    sources = SecureSource(), SeededSource(1), RecordedSource([1]), SecureSource().bit_generator
    for source in (*sources, buffer, buffer._producer):
        for spread in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(LocalProtocolError, match="cannot be pickled or copied"):
                spread(source)


# --- processes and threads -----------------------------------------------------------------------------------------


@needs_fork
@pytest.mark.parametrize("make", [SecureSource, lambda: SecureSource(KEY), lambda: resolve_source(None)])
def test_a_forked_child_hands_out_none_of_its_parents_words(make):
    # Guarantee 4 of SecureSource.
    source = make()
    generator = np.random.Generator(source.bit_generator)
    source.words(10)
    through_words = in_a_forked_child(lambda: source.words(2000))
    through_generator = in_a_forked_child(lambda: generator.integers(0, 2**64, 2000, dtype=np.uint64))
    own = source.words(2000).tolist()
    assert not set(own) & set(through_words)
    assert not set(own) & set(through_generator)
    assert not set(through_words) & set(through_generator)


@needs_fork
def test_substreams_of_a_given_key_are_the_same_in_a_forked_child_and_those_of_a_fresh_key_are_not():
    given, fresh = SecureSource(KEY), SecureSource()
    assert in_a_forked_child(lambda: given.substream(1).words(5)) == given.substream(1).words(5).tolist()
    assert in_a_forked_child(lambda: fresh.substream(1).words(5)) != fresh.substream(1).words(5).tolist()


def test_another_thread_is_refused_words_and_bit_generator_but_may_take_a_substream():
    # Guarantee 5 of SecureSource.
    source = SecureSource()
    for refused in (lambda: source.words(1), lambda: source.bit_generator):
        error = in_another_thread(refused)
        assert isinstance(error, LocalProtocolError)
        assert "must be used by the thread that made it" in str(error)
    assert len(in_another_thread(lambda: source.substream("worker", 1).words(4).tolist())) == 4
    keyed = SecureSource(KEY)
    elsewhere = in_another_thread(lambda: keyed.substream("worker", 1).words(4).tolist())
    assert elsewhere == keyed.substream("worker", 1).words(4).tolist()


def test_a_generator_taken_to_another_thread_raises_when_it_needs_the_next_block():
    source = SecureSource()
    generator = np.random.Generator(source.bit_generator)
    error = in_another_thread(lambda: generator.random(10))
    assert "must be used by the thread that made it" in str(error)
    with pytest.raises(LocalProtocolError, match="must be used by the thread that made it"):
        source.words(1)  # the stream is no longer one thread's, so it has ended


def test_each_thread_has_its_own_default_source_with_other_words():
    def draw() -> tuple[int, list[int]]:
        return id(resolve_source(None)), resolve_source(None).words(100).tolist()

    (here, words), (there, others) = draw(), in_another_thread(draw)
    assert resolve_source(None) is resolve_source(None)
    assert here != there
    assert not set(words) & set(others)


# --- keys and labels -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda: SecureSource(KEY), lambda: SeededSource(5)])
def test_substreams_follow_from_key_and_labels_alone(make):
    parent = make()
    parent.words(1000)
    np.testing.assert_array_equal(parent.substream("stage", 3).words(9), make().substream("stage", 3).words(9))
    assert type(parent.substream(1)) is type(parent)


def test_different_labels_give_streams_that_share_no_word():
    parent = SecureSource()
    labels = [(1,), ("1",), (1, 1), ("11",), (11,), ("a", "b"), ("ab",), ("", "ab"), (-1,), (0,), (10**30,), ("a",)]
    streams = [parent.substream(*each) for each in labels] + [parent.substream("a").substream("b"), parent]
    words = np.concatenate([stream.words(200) for stream in streams])
    assert np.unique(words).size == words.size


def test_substreams_of_two_fresh_sources_differ():
    assert SecureSource().substream(1).words(4).tolist() != SecureSource().substream(1).words(4).tolist()


@pytest.mark.parametrize("make", [SecureSource, lambda: resolve_source(None), lambda: SecureSource().substream("a")])
def test_a_source_without_a_key_gives_no_substream_twice(make):
    # Guarantee 2 of SecureSource. The source of a thread lives on, so a label comes again in the next release.
    source = make()
    assert not set(source.substream("column", 0).words(200)) & set(source.substream("column", 0).words(200))


@pytest.mark.parametrize("labels", [(), (1.0,), (True,), (b"a",), ("a", None), ("half \ud83d",)])
def test_labels_that_are_not_integers_or_strings_are_refused(labels):
    with pytest.raises(InvalidParameterError, match="labels must be"):
        SecureSource().substream(*labels)


@pytest.mark.parametrize("key", [b"short", "x" * 32, 7, bytes(33)])
def test_a_key_that_is_not_32_bytes_is_refused_and_not_shown(key):
    with pytest.raises(InvalidParameterError, match="key must be None or 32 bytes") as caught:
        SecureSource(key)
    assert repr(key) not in str(caught.value)


def test_a_source_with_a_key_given_as_a_bytearray_does_not_follow_its_later_changes():
    key = bytearray(KEY)
    source = SecureSource(key)
    key[:] = bytes(32)
    np.testing.assert_array_equal(source.words(3), SecureSource(KEY).words(3))


def test_secure_sources_do_not_count_as_reproducible_and_test_sources_do():
    assert not SecureSource.reproducible
    assert not SecureSource(KEY).reproducible
    assert SeededSource.reproducible
    assert RecordedSource.reproducible


def test_resolving_returns_the_source_given_and_refuses_anything_else_with_a_hint():
    source = SeededSource(1)
    assert resolve_source(source) is source
    assert isinstance(resolve_source(None), SecureSource)
    with pytest.raises(
        InvalidParameterError, match=r"source must be a RandomSource or None; got source of type str\.$"
    ):
        resolve_source("seed")
    for seedlike in (7, np.random.default_rng(7), np.random.PCG64(7)):
        with pytest.raises(InvalidParameterError, match=r"shuffledp\.testing\.SeededSource\(seed\)"):
            resolve_source(seedlike)


def test_the_interface_cannot_be_instantiated():
    with pytest.raises(TypeError, match="abstract"):
        RandomSource(KeyErasingCipher(KEY))


# --- derived draws -------------------------------------------------------------------------------------------------


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_the_high_product_is_the_upper_half_of_the_product(word, bound):
    assert int(high_product(np.array([word], dtype=np.uint64), np.uint64(bound))[0]) == word * bound >> 64


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**32))
def test_the_high_product_with_a_small_bound_is_the_same(word, bound):
    for each in (word, 2**64 - 1 - word, 2**64 - 1):
        words = np.array([each], dtype=np.uint64)
        assert int(_high_product_below(words, np.uint64(bound))[0]) == each * bound >> 64
        assert int(words[0]) == each


@given(st.integers(1, 2**63), st.data())
def test_every_value_has_the_same_number_of_words(bound, data):
    # Guarantee 1 of uniform_integers. The words of a value are an interval of which only the first can be rejected.
    value = data.draw(st.integers(0, bound - 1))
    first, end = -(-(value << 64) // bound), -(-((value + 1) << 64) // bound)
    accepted = [int(word) for word in (first, first + 1, end - 1) if word < end]
    source = RecordedSource([*accepted, 2**64 - 1])  # the greatest word is never rejected
    draws = uniform_integers(bound, 1, source=source)
    skipped_first = source.remaining < len(accepted)
    assert end - first - skipped_first == 2**64 // bound
    if first + 1 < end or not skipped_first:
        assert draws.tolist() == [value]


def test_uniform_integers_come_in_the_order_of_the_accepted_words():
    third = 2**64 // 3  # 2^64 = 3 third + 1, so the word 0 alone is rejected
    source = RecordedSource([0, 1, third, third + 1, 0, 2**64 - 1, 5])
    assert uniform_integers(3, 4, source=source).tolist() == [0, 0, 1, 2]
    assert source.remaining == 1


def test_many_uniform_integers_equal_those_that_are_drawn_word_by_word():
    bound, words = 3 * 2**61, SeededSource(8).words(200_000).tolist()
    expected = [word * bound >> 64 for word in words if word * bound % 2**64 >= 2**64 % bound]
    assert len(expected) < 0.8 * len(words)  # a quarter is rejected
    assert uniform_integers(bound, 100_000, source=SeededSource(8)).tolist() == expected[:100_000]


def test_uniform_integers_of_bound_one_are_zeros_and_the_greatest_bound_is_a_shift():
    assert uniform_integers(1, 3).tolist() == [0, 0, 0]
    draws = uniform_integers(2**63, 3, source=RecordedSource([2**64 - 1, 2, 3]))
    assert draws.tolist() == [2**63 - 1, 1, 1]
    assert draws.dtype == np.int64
    assert uniform_integers(6, 0).shape == (0,)


def test_a_coin_is_true_exactly_for_the_words_below_the_threshold():
    # Guarantee 1 of bernoulli.
    words = [0, 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1]
    for threshold in (0, 1, 2**63, 2**64 - 1, 2**64):
        source = RecordedSource(words)
        assert bernoulli(threshold, 6, source=source).tolist() == [word < threshold for word in words]
        assert source.remaining == 0


def test_many_coins_equal_the_comparison_of_all_words():
    np.testing.assert_array_equal(
        bernoulli(2**62, 100_000, source=SeededSource(2)), SeededSource(2).words(100_000) < np.uint64(2**62)
    )


def test_draws_out_of_range_are_refused():
    for bound in (0, -1, 2**63 + 1, 2.0):
        with pytest.raises(InvalidParameterError, match="bound must be"):
            uniform_integers(bound, 1)
    for threshold in (-1, 2**64 + 1, 0.5):
        with pytest.raises(InvalidParameterError, match="threshold must be"):
            bernoulli(threshold, 1)
    for draw in (uniform_integers, bernoulli):
        with pytest.raises(InvalidParameterError, match="count must be"):
            draw(2, -1)
        with pytest.raises(InvalidParameterError, match="source must be"):
            draw(2, 1, source=1)
