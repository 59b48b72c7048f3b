import json
import math
from fractions import Fraction

import numpy as np
import pytest

from shuffledp.channels import Channel
from shuffledp.errors import InvalidParameterError

QUARTER, THREE_QUARTERS, HALF, ONE, ZERO = Fraction(1, 4), Fraction(3, 4), Fraction(1, 2), Fraction(1), Fraction(0)
FLIP = Channel([[THREE_QUARTERS, QUARTER], [QUARTER, THREE_QUARTERS]], ("no", "yes"), ("no", "yes"))
# Erasure: the answer, or with probability 1/2 nothing.
ERASURE = Channel([[HALF, ZERO, HALF], [ZERO, HALF, HALF]], ("no", "yes"), ("no", "yes", "nothing"))
SKEWED = Channel([[0.5, 0.25, 0.25], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6]])


def test_a_matrix_with_fractions_is_exact_and_one_of_floats_is_not():
    assert FLIP.is_exact
    assert Channel([[ONE, 0], [0, ONE]]).is_exact
    assert not SKEWED.is_exact
    assert not Channel([[1, 0], [0, 1]]).is_exact
    assert not Channel([[HALF, 0.5]]).is_exact


def test_labels_are_numbers_unless_they_are_given():
    assert (SKEWED.inputs, SKEWED.outputs) == ((0, 1, 2), (0, 1, 2))
    assert ERASURE.outputs == ("no", "yes", "nothing")


def test_a_cascade_multiplies_matrices_exactly():
    twice = FLIP.cascade(FLIP)
    assert twice.matrix.tolist() == [[Fraction(5, 8), Fraction(3, 8)], [Fraction(3, 8), Fraction(5, 8)]]
    erased = FLIP.cascade(ERASURE)
    assert erased.matrix.tolist() == [[Fraction(3, 8), Fraction(1, 8), HALF], [Fraction(1, 8), Fraction(3, 8), HALF]]
    assert (erased.inputs, erased.outputs) == (("no", "yes"), ("no", "yes", "nothing"))


def test_a_cascade_with_floats_is_in_floats():
    mixed = Channel(FLIP.matrix).cascade(Channel([[0.5, 0.5], [0.0, 1.0]]))
    assert not mixed.is_exact
    np.testing.assert_allclose(mixed.matrix, [[0.375, 0.625], [0.125, 0.875]])


def test_a_cascade_needs_labels_that_fit():
    with pytest.raises(InvalidParameterError, match="after must have inputs"):
        ERASURE.cascade(FLIP)
    with pytest.raises(InvalidParameterError, match=r"after.inputs=\(0, 1, 2\)"):
        ERASURE.cascade(SKEWED)


def test_a_product_is_of_independent_inputs_with_pairs_as_labels():
    both = FLIP.product(ERASURE)
    assert both.matrix.shape == (4, 6)
    assert both.inputs[1] == ("no", "yes")
    assert both.outputs[2] == ("no", "nothing")
    for i, (x, y) in enumerate(both.inputs):
        for j, (u, v) in enumerate(both.outputs):
            left = FLIP.matrix[FLIP.inputs.index(x), FLIP.outputs.index(u)]
            right = ERASURE.matrix[ERASURE.inputs.index(y), ERASURE.outputs.index(v)]
            assert both.matrix[i, j] == left * right


def test_epsilon_is_the_largest_log_ratio_in_a_column():
    assert FLIP.epsilon() == math.log(3)
    for order in ([0, 1, 2], [1, 2, 0], [2, 0, 1]):
        assert Channel(SKEWED.matrix[order]).epsilon() == pytest.approx(math.log(5))
    assert FLIP.product(FLIP).epsilon() == pytest.approx(2 * math.log(3))
    assert FLIP.cascade(FLIP).epsilon() == pytest.approx(math.log(5 / 3))
    assert Channel([[0.3, 0.7], [0.3, 0.7]]).epsilon() == 0


def test_epsilon_is_infinite_if_an_output_excludes_an_input_and_ignores_outputs_that_never_come():
    assert ERASURE.epsilon() == math.inf
    never = Channel([[HALF, HALF, ZERO], [QUARTER, THREE_QUARTERS, ZERO]])
    assert never.epsilon() == math.log(2)


@pytest.mark.parametrize("exact", [True, False])
def test_delta_is_the_hockey_stick_divergence_of_the_worst_pair(exact):
    flip, erasure = (
        each if exact else Channel(each.matrix.astype(np.float64), each.inputs, each.outputs)
        for each in (FLIP, ERASURE)
    )
    assert flip.delta(0.0) == 0.5
    assert flip.delta(math.log(2)) == pytest.approx(0.75 - 2 * 0.25)
    assert flip.delta(math.log(3)) == pytest.approx(0.0, abs=1e-15)
    assert flip.delta(5.0) == 0.0
    assert erasure.delta(0.0) == erasure.delta(3.0) == 0.5


def test_delta_of_an_asymmetric_channel_takes_the_worse_direction():
    # Row 1 against row 0 at epsilon = log 2: only the second output is more than twice as likely.
    channel = Channel([[0.5, 0.25, 0.25], [0.1, 0.6, 0.3]])
    assert channel.delta(math.log(2)) == pytest.approx(max(0.6 - 2 * 0.25, 0.5 - 2 * 0.1))


def test_delta_at_the_channels_own_epsilon_is_zero_and_just_below_it_is_not():
    for channel in (FLIP, SKEWED, FLIP.cascade(FLIP)):
        assert channel.delta(channel.epsilon() + 1e-12) == 0
        assert channel.delta(channel.epsilon() - 1e-6) > 1e-8


@pytest.mark.parametrize("epsilon", [709.0, 710.0, 1e6, math.inf])
def test_delta_at_a_huge_epsilon_is_what_no_factor_covers(epsilon):
    assert ERASURE.delta(epsilon) == 0.5
    assert Channel([[1.0, 0.0], [0.25, 0.75]]).delta(epsilon) == 0.75
    assert FLIP.delta(epsilon) == 0.0


def test_delta_of_fractions_keeps_differences_that_floats_would_lose():
    tiny = Fraction(1, 2**80)
    channel = Channel([[HALF + tiny, HALF - tiny], [HALF, HALF]])
    assert channel.delta(0.0) == 2.0**-80


@pytest.mark.parametrize("epsilon", [-1.0, math.nan, "1", True])
def test_delta_needs_an_epsilon_of_zero_or_more(epsilon):
    with pytest.raises(InvalidParameterError, match="epsilon must be"):
        FLIP.delta(epsilon)


def test_a_channel_with_one_input_reveals_nothing():
    constant = Channel([[0.5, 0.5]])
    assert constant.epsilon() == 0
    assert constant.delta(0.0) == 0


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([], "table with rows and columns"),
        ([[]], "table with rows and columns"),
        ([0.5, 0.5], "table with rows and columns"),
        (np.ones((1, 1, 1)), "table with rows and columns"),
        ([[0.5, 0.5], [1.0]], "table of numbers"),
        ([["a", "b"]], "table of numbers"),
        ([[None, 1.0]], "table of numbers|0 or more"),
        ([[1.1, -0.1]], "0 or more; got another one in row 0"),
        ([[0.5, 0.5], [np.nan, 1.0]], "0 or more; got another one in row 1"),
        ([[np.inf, 0.0]], "rows that sum to 1"),
        ([[0.5, 0.5], [0.5, 0.4]], "rows that sum to 1; got a sum of 0.9 in row 1"),
        ([[HALF, HALF - Fraction(1, 10**30)]], "rows that sum to 1"),
        ([[THREE_QUARTERS, QUARTER], [Fraction(5, 4), -QUARTER]], "0 or more"),
    ],
)
def test_what_is_not_row_stochastic_is_refused(matrix, message):
    with pytest.raises(InvalidParameterError, match=message):
        Channel(matrix)


@pytest.mark.parametrize("labels", [("a",), ("a", "a"), ("a", "b", "c")])
def test_labels_that_do_not_fit_are_refused(labels):
    with pytest.raises(InvalidParameterError, match="inputs must be 2 distinct labels"):
        Channel([[1.0], [1.0]], inputs=labels)


def test_a_channel_cannot_be_changed_and_does_not_change_with_what_it_was_made_from():
    given = np.array([[0.5, 0.5]])
    channel = Channel(given)
    given[0, 0] = 7
    assert channel.matrix[0, 0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        channel.matrix[0, 0] = 7


def test_channels_are_equal_if_matrix_and_labels_are():
    assert Channel([[HALF, HALF]]) == Channel([[0.5, 0.5]])
    assert Channel([[0.5, 0.5]]) != Channel([[0.25, 0.75]])
    assert Channel([[0.5, 0.5]]) != Channel([[0.5, 0.5]], outputs=("a", "b"))
    assert Channel([[0.5, 0.5]]) != [[0.5, 0.5]]


@pytest.mark.parametrize("channel", [FLIP, ERASURE, SKEWED, FLIP.product(ERASURE), FLIP.product(FLIP).product(FLIP)])
def test_a_channel_survives_json_exactly(channel):
    read = Channel.from_dict(json.loads(json.dumps(channel.to_dict(), allow_nan=False)))
    assert read == channel
    assert read.is_exact == channel.is_exact


@pytest.mark.parametrize(
    "change", [{"matrix": [["a half", "1/2"]]}, {"matrix": 3}, {"matrix": [["1/0"]]}, {"inputs": None}, {"outputs": 3}]
)
def test_a_description_of_something_else_is_refused(change):
    with pytest.raises(InvalidParameterError):
        Channel.from_dict(FLIP.to_dict() | change)
    with pytest.raises(InvalidParameterError, match="must have a matrix"):
        Channel.from_dict({})
