"""Answers that are numbers in a range, or vectors: what is read, refused, clipped and rounded."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.core.errors import InvalidParameterError
from shuffledp.randomizers import DiscreteLaplaceMean, OneBitMean, RoundedMean, clip_to_range
from shuffledp.randomizers.inputs import as_numbers, as_simplex_vectors, as_vectors, check_range
from shuffledp.randomizers.sampling.coins import BATCH, grid_positions, round_to_grid, rounding_variance
from shuffledp.testing import RecordedSource, SeededSource

FINITE = st.floats(min_value=-1e300, max_value=1e300)


@st.composite
def numbers_in_ranges(draw):
    lower, upper = sorted(draw(st.tuples(FINITE, FINITE).filter(lambda pair: pair[0] != pair[1])))
    return draw(st.floats(min_value=lower, max_value=upper)), lower, upper


@given(numbers_in_ranges(), st.integers(min_value=1, max_value=2**31))
def test_a_number_lies_within_2_to_the_minus_51_of_its_place_on_the_grid(number_in_range, num_steps):
    number, lower, upper = number_in_range
    (index,), (rest,) = grid_positions(np.array([number]), lower=lower, upper=upper, num_steps=num_steps)
    assert 0 <= index <= num_steps
    found = (int(index) + Fraction(int(rest), 2**64)) / num_steps
    true = (Fraction(number) - Fraction(lower)) / (Fraction(upper) - Fraction(lower))
    assert abs(found - true) <= Fraction(1, 2**51)


@pytest.mark.parametrize("num_steps", [1, 3, 1000, 2**31])
def test_the_ends_of_the_range_and_the_points_of_a_binary_grid_are_exact(num_steps):
    ends = np.array([-0.3, 7.7])
    index, rest = grid_positions(ends, lower=-0.3, upper=7.7, num_steps=num_steps)
    assert index.tolist() == [0, num_steps]
    assert rest.tolist() == [0, 0]
    quarters, nothing = grid_positions(np.arange(5) / 4, lower=0.0, upper=1.0, num_steps=4)
    assert quarters.tolist() == [0, 1, 2, 3, 4]
    assert nothing.tolist() == [0] * 5


def test_a_word_below_the_rest_of_the_step_rounds_up_and_any_other_down():
    (index,), (rest,) = grid_positions(np.array([0.3]), lower=0.0, upper=1.0, num_steps=7)
    for word, rounded in ((int(rest) - 1, index + 1), (int(rest), index), (0, index + 1), (2**64 - 1, index)):
        points = round_to_grid(np.array([0.3]), lower=0.0, upper=1.0, num_steps=7, source=RecordedSource([word]))
        assert points.tolist() == [rounded]


def test_rounding_uses_one_word_a_number_and_works_in_batches():
    numbers = np.linspace(0, 1, BATCH + 3)
    words = SeededSource(1).words(len(numbers))
    source = RecordedSource(words)
    points = round_to_grid(numbers, lower=0.0, upper=1.0, num_steps=9, source=source)
    index, rest = grid_positions(numbers, lower=0.0, upper=1.0, num_steps=9)
    assert (points == index + (words < rest)).all()
    assert source.remaining == 0


@given(st.lists(st.floats(min_value=-2, max_value=3), min_size=1, max_size=20), st.integers(min_value=1, max_value=6))
def test_no_batch_rounds_with_a_larger_average_variance_than_the_bound_for_its_mean(values, num_steps):
    numbers = np.array(values)
    _, rest = grid_positions(numbers, lower=-2.0, upper=3.0, num_steps=num_steps)
    part = rest / 2**64
    average = (part * (1 - part)).mean() * (5 / num_steps) ** 2
    bound = rounding_variance(numbers.mean(keepdims=True), lower=-2.0, upper=3.0, num_steps=num_steps)
    assert average <= bound[0] * (1 + 1e-12) + 1e-12


def test_the_bound_on_rounding_is_reached_near_the_ends_and_halfway_between_grid_points():
    means = np.array([0.0, 0.02, 0.05, 0.35, 0.5, 1.0])
    bound = rounding_variance(means, lower=0.0, upper=1.0, num_steps=10)
    np.testing.assert_allclose(bound, np.array([0.0, 0.2 * 0.8, 0.25, 0.25, 0.25, 0.0]) / 100, atol=1e-15)


# ---- what is refused ------------------------------------------------------------------------------------------------

WRONG_RANGES = [
    (1.0, 1.0, "upper must be above lower; got lower=1.0, upper=1.0."),
    (2, 1, "upper must be above lower; got lower=2, upper=1."),
    (-1e308, 1e308, "lower must be a finite number from -1e\\+100 to 1e\\+100"),
    (0.0, 1e155, "upper must be a finite number from"),
    (0, 10**400, "upper must be a finite number from"),
    (-(10**400), 0, "lower must be a finite number from"),
    (0.0, 1e-320, "upper - lower must be 1e-100 or more; got lower=0.0, upper=1e-320."),
    (0, 1e-101, "upper - lower must be 1e-100 or more"),
    (0.0, np.inf, "upper must be a finite number"),
    (-np.inf, 0.0, "lower must be a finite number"),
    (np.nan, 1.0, "lower must be a finite number"),
    (0.0, "1", "upper must be a finite number"),
    (None, 1.0, "lower must be a finite number"),
    (False, 1.0, "lower must be a finite number"),
]


@pytest.mark.parametrize(("lower", "upper", "message"), WRONG_RANGES)
def test_what_is_no_range_is_refused(lower, upper, message):
    with pytest.raises(InvalidParameterError, match=message):
        check_range(lower, upper)
    with pytest.raises(InvalidParameterError, match=message):
        clip_to_range([0.5], lower=lower, upper=upper)


def test_clipping_counts_what_it_moves_and_moves_it_to_the_nearer_end():
    values = [0.0, -1.5, 2.0, 1.0, 0.5]
    clipped, count = clip_to_range(values, lower=-1, upper=1)
    assert clipped.tolist() == [0.0, -1.0, 1.0, 1.0, 0.5]
    assert count == 2
    assert values[1] == -1.5


def test_numbers_are_copied_so_that_nothing_of_the_callers_changes():
    values = np.array([0.0, 5.0])
    numbers = as_numbers(values, lower=0, upper=1, clip=True)
    numbers[0] = 9
    assert values.tolist() == [0.0, 5.0]


def test_a_range_of_the_smallest_width_has_two_values():
    tiny = np.nextafter(0, 1)
    index, rest = grid_positions(np.array([0.0, tiny]), lower=0.0, upper=tiny, num_steps=3)
    assert index.tolist() == [0, 3]
    assert rest.tolist() == [0, 0]


# ---- what the randomizers share -------------------------------------------------------------------------------------

SHARED = (
    DiscreteLaplaceMean(epsilon0=1.5, lower=-1, upper=1, num_steps=8, clip=True),
    OneBitMean(epsilon0=1.5, lower=-1, upper=1, clip=True),
    RoundedMean(epsilon0=1.5, lower=-1, upper=1, num_levels=4, clip=True),
)


@pytest.mark.parametrize("randomizer", SHARED)
def test_a_randomizer_made_from_its_model_is_the_same_and_refuses_the_model_of_another(randomizer):
    again = type(randomizer).from_model(randomizer.model, clip=True)
    assert repr(again) == repr(randomizer)
    assert again.randomize([0.5, 3.0], source=SeededSource(1)) == randomizer.randomize([0.5, 3], source=SeededSource(1))
    for other in SHARED:
        if other is not randomizer:
            with pytest.raises(InvalidParameterError, match=f"model must be a {type(randomizer).__name__}Model"):
                type(randomizer).from_model(other.model)


def test_every_randomizer_shows_how_to_make_it_again():
    assert [eval(repr(each)).model for each in SHARED] == [each.model for each in SHARED]  # noqa: S307


@pytest.mark.parametrize(
    ("values", "found"),
    [([None, 0.5], r"1 are something else, first values\[0\]"), ([0.5, "0.25", None], "values of type str_|2 are")],
)
def test_what_is_no_number_among_objects_is_counted_and_never_shown(values, found):
    with pytest.raises(InvalidParameterError, match=found) as caught:
        as_numbers(np.array(values, dtype=object), lower=0, upper=1)
    assert "object_" not in str(caught.value)
    assert "0.25" not in str(caught.value)


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
