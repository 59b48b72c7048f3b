"""The rounded mean, guarantee by guarantee: exact laws of small grids, and the best number of levels."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.randomizers import KaryRandomizedResponse, OneBitMean, RoundedMean, RoundedMeanModel, best_num_levels
from shuffledp.randomizers.sampling.coins import grid_positions
from shuffledp.testing import RecordedSource, SeededSource

WORDS = 2**64


def rounding(model, value):
    (index,), (rest,) = grid_positions(
        np.array([value]), lower=model.lower, upper=model.upper, num_steps=model.num_levels
    )
    return int(index), Fraction(int(rest), WORDS)


def law(model, value):
    """Exact probabilities of the reports of a value."""
    below, up = rounding(model, value)
    rows = model.channel(exact=True).matrix
    above = min(below + 1, model.num_levels)
    return [(1 - up) * p + up * q for p, q in zip(rows[below], rows[above], strict=True)]


@pytest.mark.parametrize(("epsilon0", "num_levels"), [(0.1, 1), (1.0, 2), (4.0, 5), (8.0, 16)])
def test_guarantee_1_no_pair_of_values_has_a_likelihood_ratio_above_that_of_the_response(epsilon0, num_levels):
    model = RoundedMean(epsilon0=epsilon0, lower=-1, upper=2, num_levels=num_levels).model
    laws = [law(model, value) for value in np.linspace(-1, 2, 13)]
    assert all(sum(row) == 1 for row in laws)
    largest = max(p / q for a, b in itertools.permutations(laws, 2) for p, q in zip(a, b, strict=True))
    assert largest == Fraction(model.response.truth_words, model.response.share)
    assert model.guarantee == model.response.guarantee
    assert model.epsilon0 <= epsilon0 < model.epsilon0 + 1e-6


def test_guarantee_2_what_is_rounded_goes_through_k_ary_randomized_response():
    model = RoundedMean(epsilon0=3.0, lower=0, upper=1, num_levels=6).model
    values = np.linspace(0, 1, 100)
    words = SeededSource(2).words(200)
    reports = RoundedMean.from_model(model).randomize(values, source=RecordedSource(words))
    index, rest = grid_positions(values, lower=0.0, upper=1.0, num_steps=6)
    points = index + (words[:100] < rest)
    response = KaryRandomizedResponse.from_model(model.response).randomize(points, source=RecordedSource(words[100:]))
    assert reports["value"].tolist() == response["value"].tolist()
    assert reports["value"].dtype == np.uint8


@pytest.mark.parametrize("num_levels", [1, 3, 10])
def test_guarantee_3_contributions_average_out_to_the_value_exactly(num_levels):
    model = RoundedMean(epsilon0=2.0, lower=10, upper=14, num_levels=num_levels).model
    decoded = model.contributions({"value": np.arange(num_levels + 1)})
    for value in (10.0, 10.7, 12.0, 13.99, 14.0):
        expected = float(sum(p * Fraction(c) for p, c in zip(law(model, value), decoded, strict=True)))
        assert expected == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(("epsilon0", "num_levels"), [(0.5, 1), (2.0, 2), (5.0, 7)])
def test_the_noise_variance_of_a_batch_is_bounded_by_that_of_its_mean_and_spread(epsilon0, num_levels):
    model = RoundedMean(epsilon0=epsilon0, lower=-1, upper=1, num_levels=num_levels).model
    decoded = model.contributions({"value": np.arange(num_levels + 1)})

    def exact(value):
        return float(sum(p * Fraction(c - value) ** 2 for p, c in zip(law(model, value), decoded, strict=True)))

    step = 2 / num_levels
    draw = np.random.default_rng(0)
    batches = [draw.uniform(-1, 1, 30), np.full(4, -1.0), np.linspace(-1, 1, num_levels + 1), np.full(3, 0.9)]
    for batch in batches:
        average = np.mean([exact(value) for value in batch])
        bound = model.noise_variance(batch.mean(keepdims=True))[0] + model.noise_curvature * batch.var()
        assert average <= bound * (1 + 1e-9)
        # Only rounding is bounded and not exact.
        assert bound - average <= (1 + model.noise_curvature) * step**2 / 4 * (1 + 1e-9)
    ends = np.array([-1.0])
    assert model.noise_variance(ends)[0] == pytest.approx(exact(-1.0), rel=1e-9)
    if num_levels > 1:
        half_a_step_in = np.array([-1 + step / 2])
        assert model.noise_variance(half_a_step_in)[0] == pytest.approx(exact(half_a_step_in[0]), rel=1e-9)


def test_one_level_has_the_law_of_the_one_bit_mean():
    rounded = RoundedMean(epsilon0=1.0, lower=0, upper=4, num_levels=1).model
    bit = OneBitMean(epsilon0=1.0, lower=0, upper=4).model
    assert rounded.response == bit.response
    for value in (0.0, 1.3, 4.0):
        assert rounded.noise_variance(np.array([value]))[0] == pytest.approx(bit.noise_variance(np.array([value]))[0])
    columns = {"value": np.array([0, 1])}
    np.testing.assert_allclose(rounded.contributions(columns), bit.contributions(columns))


# ---- the number of levels -------------------------------------------------------------------------------------------


def worst(epsilon0, num_levels):
    model = RoundedMeanModel.from_epsilon0(epsilon0=epsilon0, lower=0, upper=1, num_levels=num_levels)
    return model.noise_variance(np.linspace(0, 1, 4001)).max()


@pytest.mark.parametrize("epsilon0", [0.1, 1.0, 2.0, 3.5, 5.0, 7.0, 9.0])
def test_the_best_number_of_levels_has_the_smallest_of_the_largest_variances(epsilon0):
    best = best_num_levels(epsilon0=epsilon0)
    found = worst(epsilon0, best)
    assert all(found <= worst(epsilon0, other) * (1 + 1e-6) for other in range(1, 3 * best + 3))


def test_levels_grow_as_the_cube_root_of_three_halves_of_the_factor():
    for epsilon0 in (12.0, 16.0, 20.0, 30.0):
        predicted = (1.5 * math.exp(epsilon0)) ** (1 / 3)
        assert best_num_levels(epsilon0=epsilon0) == pytest.approx(predicted, rel=0.02)


def test_with_a_factor_that_grows_with_n_the_error_of_the_sum_grows_as_its_sixth_root():
    # After a shuffle, for a fixed target, exp(epsilon0) may grow in proportion to n.
    errors = []
    for num_users in (10**4, 10**6, 10**8):
        epsilon0 = math.log(num_users / 100)
        errors.append(math.sqrt(num_users * worst(epsilon0, best_num_levels(epsilon0=epsilon0))))
    growth = [math.log(b / a) / math.log(100) for a, b in itertools.pairwise(errors)]
    assert growth == pytest.approx([1 / 6, 1 / 6], abs=0.02)


def test_left_out_the_number_of_levels_is_the_best():
    assert RoundedMean(epsilon0=6.0, lower=0, upper=1).model.num_levels == best_num_levels(epsilon0=6.0)


# ---- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_levels", [0, -1, 1.5, True, 2**31])
def test_a_wrong_number_of_levels_is_refused(num_levels):
    with pytest.raises(InvalidParameterError, match="num_levels must be"):
        RoundedMean(epsilon0=1.0, lower=0, upper=1, num_levels=num_levels)


@pytest.mark.parametrize("epsilon0", [0.0, 31.0, math.nan, "1"])
def test_a_loss_that_cannot_be_represented_is_refused(epsilon0):
    with pytest.raises(InvalidParameterError, match="epsilon0 must be"):
        best_num_levels(epsilon0=epsilon0)
    with pytest.raises(InvalidParameterError, match="epsilon0 must be"):
        RoundedMean(epsilon0=epsilon0, lower=0, upper=1, num_levels=3)


def test_of_very_many_levels_there_is_no_channel():
    model = RoundedMean(epsilon0=20.0, lower=0, upper=1, num_levels=600).model
    assert model.channel() is None
    assert model.response.channel().matrix.shape == (601, 601)


@pytest.mark.parametrize("response", [None, 2, OneBitMean(epsilon0=1.0, lower=0, upper=1).model])
def test_a_response_that_is_none_is_refused(response):
    with pytest.raises(InvalidParameterError, match="response must be a KaryRandomizedResponseModel"):
        RoundedMeanModel(lower=0, upper=1, response=response)
