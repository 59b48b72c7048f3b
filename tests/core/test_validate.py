import math
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError, ShuffleDPError

NOT_NUMBERS = [math.nan, np.float64("nan"), True, np.bool_(True), "1", None, 1j, [1], np.array([1.0]), Decimal(1)]

ACCEPTED = {
    validate.positive: [1, 0.5, 1e-300, 10**300, Fraction(1, 3), np.float64(2), np.float32(2), np.int64(2)],
    validate.nonnegative: [0, 0.0, 1, math.inf, Fraction(0), np.uint8(0)],
    validate.open_probability: [0.5, 1e-300, Fraction(1, 2), np.float64(0.1), math.nextafter(1, 0)],
    validate.probability: [0, 1, 0.5, Fraction(1, 2), np.float64(1), np.int64(0)],
}
REFUSED = {
    validate.positive: [0, 0.0, -1, math.inf, -math.inf, Fraction(-1, 3), np.float64(0)],
    validate.nonnegative: [-1, -1e-300, -math.inf, np.int64(-1)],
    validate.open_probability: [0, 1, -0.1, 1.1, math.inf, np.float64(0)],
    validate.probability: [-1e-300, 1.0000001, math.inf, -math.inf, np.int64(2)],
}


@pytest.mark.parametrize(("check", "value"), [(check, value) for check, values in ACCEPTED.items() for value in values])
def test_numbers_in_range_pass(check, value):
    assert check(parameter=value) is None


@pytest.mark.parametrize(
    ("check", "value"), [(check, value) for check, values in REFUSED.items() for value in [*values, *NOT_NUMBERS]]
)
def test_numbers_out_of_range_and_everything_else_are_refused_by_name(check, value):
    with pytest.raises(
        InvalidParameterError,
        match=r"^parameter must be a (finite )?number .*; got parameter(=| of shape | of type list with )",
    ):
        check(parameter=value)


@pytest.mark.parametrize("check", [*ACCEPTED, partial(validate.integer_at_least, 1)])
@pytest.mark.parametrize("value", [10**400, 10**9000], ids=["long", "longer"])
def test_integers_that_no_float_comes_near_are_refused_and_not_spelled_out(check, value):
    with pytest.raises(
        InvalidParameterError, match=r"^parameter must be .*; got parameter with about \d{3,4} digits\.$"
    ):
        check(parameter=value)


@pytest.mark.parametrize(
    "value",
    [np.ma.array([1, 2, 3, 4], mask=[0, 1, 0, 1]), np.ma.array(np.ones((4, 2)), mask=[[0, 0], [1, 1], [0, 0], [1, 0]])],
)
def test_masked_entries_are_refused_by_their_places(value):
    with pytest.raises(InvalidParameterError, match=r"^values must be complete; 2 masked, first values\[1\]\.$"):
        validate.unmasked(values=value)


@pytest.mark.parametrize("value", [[1, 2], None, np.zeros(2), np.ma.array([1, 2]), np.ma.array([1], mask=[False])])
def test_what_has_no_masked_entry_passes(value):
    assert validate.unmasked(values=value) is None


@pytest.mark.parametrize("value", [2, 3, 10**30, np.int64(2), np.uint8(200)])
def test_integers_from_the_least_on_pass(value):
    assert validate.integer_at_least(2, num_users=value) is None


@pytest.mark.parametrize("value", [1, 0, -5, 2.0, True, "2", None, math.nan, Fraction(2), np.float64(2), np.int64(1)])
def test_other_integers_and_everything_else_are_refused(value):
    with pytest.raises(InvalidParameterError, match=r"^num_users must be an integer that is 2 or more; got num_users="):
        validate.integer_at_least(2, num_users=value)


def test_the_first_of_several_that_fails_is_named():
    with pytest.raises(InvalidParameterError, match=r"^b must be a finite number above 0; got b=-1\.$"):
        validate.positive(a=1, b=-1, c=-2)


def test_numbers_of_numpy_are_shown_like_any_numbers():
    with pytest.raises(InvalidParameterError, match=r"got epsilon0=-0\.5\.$"):
        validate.positive(epsilon0=np.float64(-0.5))


def test_one_of_lists_the_choices():
    assert validate.one_of(("left", "right"), side="left") is None
    with pytest.raises(InvalidParameterError, match=r"^side must be one of 'left', 'right'; got side='up'\.$"):
        validate.one_of(("left", "right"), side="up")


def test_instances_are_accepted_and_the_message_shows_the_type_and_never_the_object():
    assert validate.instance_of((int, str), value="x") is None
    with pytest.raises(InvalidParameterError) as caught:
        validate.instance_of((int, str), value=["secret"])
    assert str(caught.value) == "value must be a int or str; got value of type list."


def test_a_class_is_not_taken_for_its_instance():
    with pytest.raises(InvalidParameterError, match="value must be a int; got value of type type"):
        validate.instance_of(int, value=int)


def test_an_invalid_parameter_is_a_value_error_and_an_error_of_the_library():
    assert issubclass(InvalidParameterError, ValueError)
    assert issubclass(InvalidParameterError, ShuffleDPError)


SECRET = 47114711


@pytest.mark.parametrize(
    "value",
    [
        np.array([SECRET, 1]),
        np.array([str(SECRET)]),
        [SECRET] * 3,
        (str(SECRET), 1),
        {str(SECRET): 1},
        {SECRET},
        [[SECRET], [1]],
    ],
)
@pytest.mark.parametrize("check", [*ACCEPTED, partial(validate.integer_at_least, 1)])
def test_of_collections_an_error_tells_the_size_and_no_entry(check, value):
    with pytest.raises(InvalidParameterError, match=r"parameter of (shape|type) ") as error:
        check(parameter=value)
    assert str(SECRET) not in str(error.value)
