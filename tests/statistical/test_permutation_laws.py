"""The law of random permutations: every order is equally likely, and the well-known wrong shuffle is noticed."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from thresholds import SAMPLES_PER_CELL, assert_fits, assert_rejects

from shuffledp.randomness import permutations
from shuffledp.randomness.permutations import random_permutation
from shuffledp.randomness.sources import uniform_integers

LEAST_DRAWS = 30_000


def _orders(size: int) -> list[tuple[int, ...]]:
    return list(itertools.permutations(range(size)))


def _counts(size: int, draws: Iterator[tuple[int, ...]]) -> list[int]:
    found = Counter(draws)
    return [found[order] for order in _orders(size)]


def _swap_with_any(size: int, choices: tuple[int, ...]) -> tuple[int, ...]:
    """The well-known wrong shuffle: every place is exchanged with any place, not only with one not yet settled."""
    items = list(range(size))
    for place, chosen in enumerate(choices):
        items[place], items[chosen] = items[chosen], items[place]
    return tuple(items)


def _law_of_swap_with_any(size: int) -> list[float]:
    outcomes = (_swap_with_any(size, choices) for choices in itertools.product(range(size), repeat=size))
    return [count / size**size for count in _counts(size, outcomes)]


@pytest.fixture(params=["_exchange_plainly", "_exchange_compiled"])
def _each_kernel(request, monkeypatch):
    monkeypatch.setattr(permutations, "_exchange_for", lambda _: getattr(permutations, request.param))


@pytest.mark.usefixtures("_each_kernel")
@pytest.mark.parametrize("size", [3, 4, 5])
def test_all_orders_are_equally_likely_and_the_law_of_swapping_with_any_place_is_rejected(size):
    draws = max(LEAST_DRAWS, SAMPLES_PER_CELL * math.factorial(size))
    counts = _counts(size, (tuple(random_permutation(size).tolist()) for _ in range(draws)))
    assert_fits(counts, np.full(math.factorial(size), 1 / math.factorial(size)))
    assert_rejects(counts, _law_of_swap_with_any(size))


def test_two_items_change_places_half_of_the_time_and_a_chance_wrong_by_a_tenth_is_rejected():
    changed = sum(int(random_permutation(2)[0]) for _ in range(LEAST_DRAWS))
    assert_fits([changed, LEAST_DRAWS - changed], [0.5, 0.5])
    assert_rejects([changed, LEAST_DRAWS - changed], [0.55, 0.45])


def test_a_sample_of_the_wrong_shuffle_is_rejected():
    size = 4
    choices = uniform_integers(size, LEAST_DRAWS * size).reshape(LEAST_DRAWS, size)
    counts = _counts(size, (_swap_with_any(size, tuple(row)) for row in choices.tolist()))
    assert_fits(counts, _law_of_swap_with_any(size))
    assert_rejects(counts, np.full(math.factorial(size), 1 / math.factorial(size)))


def test_in_a_long_permutation_the_images_of_a_block_are_spread_evenly_and_a_tilt_of_a_tenth_is_rejected():
    # Drawn without replacement, the counts vary a little less than the chi-square law supposes: no alarm from that.
    size, cells = 1_000_000, 10
    counts = np.bincount(random_permutation(size)[: size // cells] // (size // cells), minlength=cells)
    assert_fits(counts, np.full(cells, 1 / cells))
    tilted = np.where(np.arange(cells) < cells // 2, 1.1, 0.9) / cells
    assert_rejects(counts, tilted)
