import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.core.errors import InvalidParameterError, LocalProtocolError
from shuffledp.randomness import permutations
from shuffledp.randomness.permutations import compose, invert, is_permutation, random_permutation, shuffle_in_place
from shuffledp.randomness.sources import resolve_source
from shuffledp.testing import RecordedSource, SeededSource

KERNELS = ("_exchange_plainly", "_exchange_compiled")


def with_kernel(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(permutations, "_exchange_for", lambda _: getattr(permutations, name))


def reference(num_items: int, words: list[int]) -> tuple[list[int], int]:
    """Fisher and Yates word by word; the permutation and the number of words that it took."""
    items, used = list(range(num_items)), 0
    for place in range(num_items - 1, 0, -1):
        bound = place + 1
        while words[used] * bound % 2**64 < 2**64 % bound:
            used += 1
        chosen = words[used] * bound >> 64
        used += 1
        items[place], items[chosen] = items[chosen], items[place]
    return items, used


@pytest.mark.parametrize("num_items", [0, 1, 2, 3, 10, 1000, 70_000, 200_000])
def test_the_compiled_kernel_and_plain_python_give_the_same_permutation_and_use_the_same_words(num_items, monkeypatch):
    drawn = {}
    for kernel in KERNELS:
        with_kernel(monkeypatch, kernel)
        source = SeededSource(num_items)
        drawn[kernel] = (random_permutation(num_items, source=source).tolist(), source.words(3).tolist())
    assert drawn[KERNELS[0]] == drawn[KERNELS[1]]
    assert is_permutation(drawn[KERNELS[0]][0])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("words", [[0] * 6 + [1] * 9, [2**64 - 1] * 15, [0, 1, 2, 3] * 4, [2**63, 0, 2**62, 0, 1] * 3])
def test_both_kernels_reject_the_words_that_would_favor_a_place(kernel, words, monkeypatch):
    # Guarantee 1: for a bound that is no power of two the word 0 is rejected, because 2^64 mod bound is above 0.
    with_kernel(monkeypatch, kernel)
    expected, used = reference(7, words)
    source = RecordedSource(words)
    assert random_permutation(7, source=source).tolist() == expected
    assert source.remaining == len(words) - used


def test_without_rejection_a_permutation_takes_one_word_for_each_item_but_one():
    source = RecordedSource([2**64 - 1] * 9)
    assert random_permutation(10, source=source).tolist() == list(range(10))
    assert source.remaining == 0
    with pytest.raises(LocalProtocolError, match="no words left"):
        random_permutation(10, source=RecordedSource([2**64 - 1] * 8))


def test_none_is_the_cryptographic_source_of_the_thread(monkeypatch):
    # Guarantee 2.
    asked = []

    def spy(source):
        asked.append(source)
        return resolve_source(source)

    monkeypatch.setattr(permutations, "resolve_source", spy)
    first, second = random_permutation(30), random_permutation(30)
    assert asked == [None, None]
    assert first.tolist() != second.tolist()  # by chance equal: below 1e-32


def test_the_result_is_an_int64_array_and_a_wrong_argument_is_refused():
    assert random_permutation(0).tolist() == []
    assert random_permutation(np.int32(5)).dtype == np.int64
    for wrong in (-1, 2.0, True, None):
        with pytest.raises(InvalidParameterError, match="num_items must be an integer that is 0 or more"):
            random_permutation(wrong)
    with pytest.raises(InvalidParameterError, match="source must be"):
        random_permutation(3, source=np.random.default_rng(0))


orders = st.integers(0, 30).flatmap(lambda size: st.permutations(range(size)))


@given(orders)
def test_the_inverse_undoes_a_permutation_on_either_side(order):
    identity = list(range(len(order)))
    assert compose(order, invert(order)).tolist() == identity
    assert compose(invert(order), order).tolist() == identity
    assert invert(invert(order)).tolist() == order


@given(st.integers(0, 12).flatmap(lambda size: st.tuples(*[st.permutations(range(size))] * 3)))
def test_composing_is_associative_and_takes_the_images_of_the_second_first(three):
    a, b, c = three
    assert compose(a, b).tolist() == [a[image] for image in b]
    assert compose(compose(a, b), c).tolist() == compose(a, compose(b, c)).tolist()
    items = np.arange(len(a)) + 100
    np.testing.assert_array_equal(items[compose(a, b)], items[np.array(a, dtype=int)][np.array(b, dtype=int)])


@pytest.mark.parametrize(
    ("candidate", "expected"),
    [
        ([], True),
        ([0], True),
        ([2, 0, 1], True),
        (np.array([1, 0], dtype=np.uint8), True),
        (np.array([1, 0], dtype=np.uint64), True),
        ([0, 0, 1], False),
        ([1, 2, 3], False),
        ([-1, 0], False),
        ([0.0, 1.0], False),
        ([[0, 1]], False),
        ([True, False], False),
        (5, False),
        ([0, 2**63], False),
    ],
)
def test_a_permutation_holds_each_index_once(candidate, expected):
    assert is_permutation(candidate) is expected


def test_what_is_no_permutation_is_refused_by_name_and_not_shown():
    with pytest.raises(InvalidParameterError, match="permutation must hold each of 0") as caught:
        invert([7, 7, 7])
    assert "7" not in str(caught.value)
    with pytest.raises(InvalidParameterError, match="b must hold each of 0"):
        compose([0, 1], [1, 1])
    with pytest.raises(InvalidParameterError, match="a and b must have the same length; got 2 and 3"):
        compose([0, 1], [1, 2, 0])


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_rows_that_are_exchanged_themselves_have_the_order_of_the_permutation_of_the_same_words(dtype):
    """Mutant: one place too few exchanged."""
    rows = (np.arange(300) % 251).astype(dtype)
    order = random_permutation(300, source=SeededSource(3))
    shuffled = rows.copy()
    shuffle_in_place(shuffled, source=SeededSource(3))
    assert shuffled.tolist() == rows[order].tolist()
