import json
import math
from fractions import Fraction

import numpy as np
import pytest

from shuffledp.core.channels import Channel
from shuffledp.core.errors import InvalidParameterError

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
        ([[0.5, 0.5], [0.5, 0.4]], "rows that sum to 1; got another sum in row 1"),
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


# ---- reduced channels and hyper-distributions ------------------------------------------------------------------------

THIRD = Fraction(1, 3)
# Outputs: "b" and "d" are multiples of each other, "never" does not come.
WASTEFUL = Channel(
    [[HALF, THIRD, ZERO, Fraction(1, 6)], [QUARTER, HALF, ZERO, QUARTER]], ("no", "yes"), ("a", "b", "never", "d")
)


def as_floats(channel):
    return Channel(channel.matrix.astype(np.float64), channel.inputs, channel.outputs)


def test_a_reduced_channel_drops_what_never_comes_and_merges_what_says_the_same():
    reduced = WASTEFUL.reduced()
    assert reduced.inputs == ("no", "yes")
    assert dict(zip(reduced.outputs, reduced.matrix.T.tolist(), strict=True)) == {
        "a": [HALF, QUARTER],
        "b": [HALF, THREE_QUARTERS],
    }
    assert reduced.is_exact


def test_a_reduced_channel_of_floats_has_the_same_columns():
    exact, floats = WASTEFUL.reduced(), as_floats(WASTEFUL).reduced()
    assert floats.outputs == exact.outputs
    np.testing.assert_allclose(floats.matrix, exact.matrix.astype(np.float64), rtol=1e-12)


@pytest.mark.parametrize("channel", [WASTEFUL, SKEWED, ERASURE, as_floats(WASTEFUL), FLIP.product(ERASURE)])
def test_reducing_twice_is_reducing_once_and_the_order_of_outputs_does_not_matter(channel):
    reduced = channel.reduced()
    assert reduced.reduced() == reduced
    backwards = Channel(channel.matrix[:, ::-1], channel.inputs, channel.outputs[::-1]).reduced()
    np.testing.assert_allclose(backwards.matrix.astype(float), reduced.matrix.astype(float), rtol=1e-12)


def test_columns_that_are_nearly_multiples_are_merged_in_floats_only():
    tiny = Fraction(1, 10**12)
    exact = Channel([[HALF, HALF], [HALF + tiny, HALF - tiny]])
    assert exact.reduced().matrix.shape == (2, 2)
    assert as_floats(exact).reduced().matrix.shape == (2, 1)
    assert Channel([[0.5, 0.5], [0.5 + 1e-6, 0.5 - 1e-6]]).reduced().matrix.shape == (2, 2)


def test_a_column_of_small_numbers_is_not_taken_for_one_that_never_comes():
    rare = Channel([[1 - 1e-200, 1e-200, 0.0], [1.0, 0.0, 0.0]])
    assert rare.reduced().matrix.shape == (2, 2)


@pytest.mark.parametrize("prior", [[THREE_QUARTERS, QUARTER], [ONE, ZERO], None])
def test_a_hyper_averages_to_its_prior(prior):
    hyper = WASTEFUL.hyper(prior)
    assert hyper.outer.sum() == 1
    assert (hyper.inners.sum(axis=0) == 1).all()
    assert (hyper.inners @ hyper.outer).tolist() == (prior or [HALF, HALF])
    assert len({tuple(column) for column in hyper.inners.T.tolist()}) == len(hyper.outer)


def test_posteriors_follow_bayes_rule():
    hyper = WASTEFUL.hyper([THREE_QUARTERS, QUARTER])
    assert hyper.posterior("a") == {"no": Fraction(6, 7), "yes": Fraction(1, 7)}
    assert hyper.posterior("b") == hyper.posterior("d") == {"no": Fraction(2, 3), "yes": THIRD}
    assert dict(zip(hyper.outputs, hyper.outer.tolist(), strict=True)) == {
        ("a",): Fraction(7, 16),
        ("b", "d"): Fraction(9, 16),
    }
    floats = as_floats(WASTEFUL).hyper([0.75, 0.25]).posterior("d")
    assert floats == pytest.approx({"no": 2 / 3, "yes": 1 / 3})


def test_a_certain_prior_leaves_one_belief():
    assert WASTEFUL.hyper([0, 1]).outer.tolist() == [1]


@pytest.mark.parametrize(("prior", "output"), [(None, "never"), (None, "zebra"), ([1, 0], "b2")])
def test_there_is_no_belief_after_what_the_prior_excludes(prior, output):
    with pytest.raises(InvalidParameterError, match="output must be one with a probability above 0 under the prior"):
        WASTEFUL.hyper(prior).posterior(output)
    with pytest.raises(InvalidParameterError, match="output must be"):
        ERASURE.hyper([1, 0]).posterior("yes")


def test_a_joint_distribution_is_exact_if_both_are():
    assert FLIP.joint([1, 0]).tolist() == [[THREE_QUARTERS, QUARTER], [0, 0]]
    assert FLIP.joint([0.5, 0.5]).dtype == SKEWED.joint(None).dtype == np.float64


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ([HALF, QUARTER], "prior must sum to 1; got another sum"),
        ([0.5, 0.4], "prior must sum to 1; got another sum"),
        ([HALF, HALF - Fraction(1, 10**30)], "prior must sum to 1"),
        ([0.5, 0.5 + 1e-6], "prior must sum to 1"),
        ([1.5, -0.5], "prior must have entries that are 0 or more"),
        ([Fraction(3, 2), -HALF], "prior must have entries that are 0 or more"),
        ([0.5, 0.25, 0.25], "one probability for each of 2 inputs; got 3"),
        ([[0.5, 0.5]], "prior must have 1 dimension"),
        ([], "prior must have 1 dimension"),
        (0.5, "prior must have 1 dimension"),
        ([np.nan, 1.0], "prior must have finite numbers only"),
        ([np.inf, 0.0], "prior must have finite numbers only"),
        (["a", "b"], "prior must be an array of numbers"),
        ([True, False], "prior must be an array of numbers"),
        ([1j, 0], "prior must be an array of numbers"),
        (np.ma.masked_array([0.5, 0.5], [True, False]), "prior must be complete"),
    ],
)
def test_what_is_no_prior_is_refused(prior, message):
    with pytest.raises(InvalidParameterError, match=message):
        FLIP.hyper(prior)


def test_integers_of_numpy_do_not_overflow_in_exact_priors():
    many = 2**40
    big = Channel([[Fraction(1, many), 1 - Fraction(1, many)], [HALF, HALF]])
    joint = big.joint(np.array([1, 0])) @ np.array([[Fraction(1, many)], [ONE]])
    assert joint[0, 0] == Fraction(1, many**2) + 1 - Fraction(1, many)


def test_exact_cascades_are_those_of_fractions_multiplied_one_by_one():
    rng = np.random.default_rng(1)
    weights = [[[Fraction(int(w)) for w in row] for row in rng.integers(1, 50, (3, 3))] for _ in range(2)]
    first, second = (Channel([[w / sum(row) for w in row] for row in table]) for table in weights)
    product = first.matrix @ second.matrix
    assert first.cascade(second).matrix.tolist() == product.tolist()
