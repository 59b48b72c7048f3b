"""Rounds in given groups that are found to shuffle exactly uniformly do so by their matrices, and hardly others do."""

from fractions import Fraction

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.protocols.network.people.group_rounds import uniform_parts
from shuffledp.protocols.network.people.overlays import Overlay


def laws_after(rounds):
    """Row j: where j's report is, in whole numbers out of one denominator, by one matrix after the other."""
    people = len(rounds[0])
    laws, denominator = np.eye(people, dtype=np.int64), 1
    for groups in rounds:
        same = np.equal.outer(groups, groups)
        sizes = same.sum(axis=1)
        common = int(np.lcm.reduce(sizes))
        laws, denominator = laws @ (same * (common // sizes)), denominator * common
    return laws, denominator


def uniform_by_matrices(rounds):
    """Whether every law is uniform on the people it reaches, and these are parts."""
    laws, denominator = laws_after(rounds)
    reached = laws > 0
    return bool((laws * reached.sum(axis=1, keepdims=True) == denominator * reached).all()) and bool(
        (reached @ reached.astype(int) == reached * reached.sum(axis=1)).all()
    )


def random_rounds(draw):
    """Grids that are sometimes disturbed, repeated or in parts, and groups at random."""
    people, number = int(draw.integers(2, 13)), int(draw.integers(1, 5))
    everybody, rounds = np.arange(people), []
    for _ in range(number):
        size = int(draw.integers(1, people + 1))
        kind = draw.integers(4)
        groups = everybody % size if kind == 0 else everybody // size if kind == 1 else draw.integers(0, size, people)
        rounds.append(np.zeros(people, dtype=int) if kind == 3 and draw.random() < 0.2 else groups)
    return rounds


def test_what_is_found_uniform_is_exactly_that_by_matrices_and_hardly_anything_else_is():
    draw, found, missed = np.random.default_rng(5), [], 0
    for _ in range(600):
        rounds = random_rounds(draw)
        parts = uniform_parts(rounds)
        missed += parts is None and uniform_by_matrices(rounds)
        if parts is not None:
            assert uniform_by_matrices(rounds)
            laws, denominator = laws_after(rounds)
            assert ((laws > 0) == np.equal.outer(parts, parts)).all()
            sizes = np.bincount(parts)[parts]
            assert Fraction(int(laws[0, 0]), denominator) == Fraction(1, int(sizes[0]))
        found.append(None if parts is None else int(parts.max()) + 1)
    counts = [found.count(None), found.count(1), sum(each not in (None, 1) for each in found)]
    assert min(counts) > 50  # of each kind there are many
    assert 0 < missed < 0.02 * 600


def test_the_rounds_of_an_overlay_whose_addresses_are_all_taken_once_are_recognized():
    overlay = Overlay(24, (2, 3, 4))
    cells = np.arange(24)
    rounds = [cells - cells // below % size * below for size, below in zip(overlay.sizes, (12, 4, 1), strict=True)]
    assert uniform_parts(rounds).tolist() == [0] * 24
    assert uniform_parts(rounds[1:]).tolist() == [0] * 12 + [1] * 12
    assert uniform_parts([*rounds, cells // 5]).tolist() == [0] * 24  # whatever comes after
    assert uniform_parts([cells // 5, *rounds]).tolist() == [0] * 24  # and before
    assert uniform_parts([cells // 5, *rounds[1:]]) is None  # but not where it leads from part to part


def test_labels_may_be_anything():
    assert uniform_parts([["a", "b", "a", "b"], [True, True, False, False]]).tolist() == [0] * 4


def test_many_people_take_no_matrix():
    people = np.arange(90_000)
    assert not uniform_parts([people % 300, people // 300]).any()


@pytest.mark.parametrize("rounds", [[], [[1, 2], [1, 2, 3]], [[[1, 2], [3, 4]]], [[]]])
def test_what_is_not_one_group_for_everybody_is_refused(rounds):
    with pytest.raises(InvalidParameterError, match="rounds must"):
        uniform_parts(rounds)
