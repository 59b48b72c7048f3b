import numba
import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError, LocalProtocolError
from shuffledp.randomness.sources import SecureSource
from shuffledp.testing import RecordedSource, SeededSource

# First words of each stream, and the word at place 200 000, which lies in the fifth block.
KNOWN = {
    "SeededSource(0)": (["a530c067e5ddadd4", "8d7fab72b4773a3a", "6810f72343f43166"], "4c4c56bf359be269"),
    "SeededSource(20250101)": (["ba0257ab7d15097d", "db6d41cb0a397871", "77bafa5942c42fe2"], "8dc7d25180ec6d2b"),
    "SeededSource(0).substream('stage', 3)": (
        ["fffc27b65a25ce1a", "097ef6a710328d47", "011975e6b1b57ad8"],
        "a2b246a82033d51a",
    ),
}


@numba.njit
def draw_doubles(generator, count):
    out = np.empty(count)
    for index in range(count):
        out[index] = generator.random()
    return out


def stream_of(shown: str) -> SeededSource:
    return eval(shown, {"SeededSource": SeededSource})  # noqa: S307


@pytest.mark.parametrize("shown", KNOWN)
def test_seeded_words_are_the_known_ones_on_every_machine_and_in_every_version(shown):
    words = stream_of(shown).words(200_001)
    assert ([f"{word:016x}" for word in words[:3].tolist()], f"{int(words[-1]):016x}") == KNOWN[shown]
    assert repr(stream_of(shown)) == str(stream_of(shown)) == "SeededSource(seed hidden)"


def test_seeds_give_streams_that_share_no_word():
    words = np.concatenate([SeededSource(seed).words(300) for seed in (0, 1, 2, 10, 2**70)])
    assert np.unique(words).size == words.size


def test_a_seeded_source_runs_the_code_of_the_secure_one():
    inherited = [name for name in vars(SeededSource) if callable(getattr(SeededSource, name))]
    assert set(inherited) == {"__init__", "__repr__", "_with_key"}
    assert SeededSource.__mro__[1] is SecureSource.__mro__[1]


@pytest.mark.parametrize("seed", [-1, 1.5, "7", None, True])
def test_a_seed_that_is_not_a_natural_number_is_refused(seed):
    with pytest.raises(InvalidParameterError, match="seed must be an integer"):
        SeededSource(seed)


def test_a_record_is_played_back_in_pieces_through_both_faces():
    record = [2**64 - 1, 0, 3 << 11, 1 << 63, 5, 6, 7]
    source = RecordedSource(record)
    generator = np.random.Generator(source.bit_generator)
    assert source.words(2).tolist() == record[:2]
    assert draw_doubles(generator, 2).tolist() == [3 * 2.0**-53, 0.5]
    assert source.remaining == 3
    assert source.bit_generator.random_raw() == 5
    assert generator.integers(0, 2**64, 2, dtype=np.uint64).tolist() == [6, 7]
    assert source.remaining == 0


def test_a_record_longer_than_the_buffer_is_played_back_whole():
    record = SeededSource(1).words(300_000)
    source = RecordedSource(record)
    record_before = record.copy()
    np.testing.assert_array_equal(np.concatenate([source.words(5), source.words(299_995)]), record)
    np.testing.assert_array_equal(record, record_before)


def test_a_record_that_is_used_up_raises_from_words():
    source = RecordedSource([1, 2, 3])
    source.words(3)
    assert source.words(0).size == 0
    with pytest.raises(LocalProtocolError, match="no words left: all 3 have been used"):
        source.words(1)
    with pytest.raises(LocalProtocolError, match="no words left: all 0 have been used"):
        RecordedSource([]).words(1)


@pytest.mark.parametrize("draw", [draw_doubles, lambda generator, count: generator.random(count)])
def test_a_record_that_is_used_up_raises_from_compiled_code_as_soon_as_it_returns(draw):
    source = RecordedSource(range(10))
    generator = np.random.Generator(source.bit_generator)
    for _ in range(2):
        with pytest.raises(LocalProtocolError, match="no words left: all 10 have been used"):
            draw(generator, 300_000)
    with pytest.raises(LocalProtocolError, match="no words left"):
        source.words(1)


def test_rejection_loops_in_compiled_code_end_when_a_record_is_used_up():
    generator = np.random.Generator(RecordedSource([0, 0, 0]).bit_generator)
    with pytest.raises(LocalProtocolError, match="no words left"):
        generator.integers(0, 3 * 2**61, 1000)


def test_a_record_has_no_substreams():
    with pytest.raises(LocalProtocolError, match="has no substreams"):
        RecordedSource([1]).substream(1)


@pytest.mark.parametrize("words", [[-1], [2**64], [1.5], [[1, 2]], ["1"], np.array([0.5])])
def test_a_record_of_anything_but_words_is_refused(words):
    with pytest.raises(InvalidParameterError, match=r"words must be integers from 0 to 2\*\*64 - 1"):
        RecordedSource(words)
