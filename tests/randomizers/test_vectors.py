"""Vectors of bounded length keep their bound exactly, not only in floats."""

from fractions import Fraction

import numpy as np
import pytest

from shuffledp.errors import InvalidParameterError
from shuffledp.randomizers.bounded import grid_positions
from shuffledp.randomizers.vectors import as_simplex_vectors, as_vectors


@pytest.mark.parametrize("dimension", [2, 3, 10, 1000])
@pytest.mark.parametrize("upper", [1.0, 0.1, 7.3])
def test_places_on_the_grid_add_up_to_no_more_than_all_of_it(dimension, upper):
    draw = np.random.default_rng(0)
    values = draw.dirichlet(np.ones(dimension), 50) * upper
    values[0] = upper / dimension
    vectors = as_simplex_vectors(values, dimension, upper=upper, clip=True)
    assert np.allclose(vectors, values, rtol=1e-9)
    steps = 16
    for row in vectors:
        points, rest = grid_positions(row.copy(), lower=0.0, upper=upper, num_steps=steps)
        places = sum(int(point) * 2**64 + int(part) for point, part in zip(points, rest, strict=True))
        assert Fraction(places, 2**64) <= steps


def test_without_shortening_some_would_add_up_to_more():
    values = np.array([[0.1] * 10])
    points, rest = grid_positions(values[0].copy(), lower=0.0, upper=1.0, num_steps=16)
    assert sum(int(point) * 2**64 + int(part) for point, part in zip(points, rest, strict=True)) > 16 * 2**64


def test_what_is_far_too_long_is_shortened_and_nothing_overflows():
    vectors = as_simplex_vectors([[1e308, 1e308, 0.0], [1.0, 2.0, 1.0]], 3, upper=2.0, clip=True)
    np.testing.assert_allclose(vectors, [[1.0, 1.0, 0.0], [0.5, 1.0, 0.5]])
    with pytest.raises(InvalidParameterError, match=r"add up to 2.0 at most; 2 are not"):
        as_simplex_vectors([[1e308, 1e308, 0.0], [1.0, 2.0, 1.0]], 3, upper=2.0)


def test_vectors_are_read_from_lists_and_copied():
    values = np.array([[0.0, 1.0], [2.0, 3.0]])
    vectors = as_vectors(values, 2, lower=0.0, upper=2.0, clip=True)
    assert vectors.tolist() == [[0.0, 1.0], [2.0, 2.0]]
    assert values[1, 1] == 3.0
    assert as_vectors([], 2, lower=0.0, upper=2.0).shape == (0, 2)
