"""The one-bit mean, guarantee by guarantee, from the integer thresholds that are really used."""

import math
from fractions import Fraction

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import LocalModel
from shuffledp.randomizers import KaryRandomizedResponseModel, OneBitMean, OneBitMeanModel
from shuffledp.randomizers.one_bit_mean import _thresholds
from shuffledp.randomizers.sampling.coins import BATCH
from shuffledp.testing import RecordedSource, SeededSource

WORDS = 2**64
LOSSES = [1e-6, 0.01, 1.0, 5.0, 20.0, 30.5]


def thresholds(model, values):
    return [int(threshold) for threshold in _thresholds(np.array(values, dtype=np.float64), model)]


@pytest.mark.parametrize("epsilon0", LOSSES)
def test_guarantee_1_no_pair_of_values_has_a_likelihood_ratio_above_that_of_the_ends(epsilon0):
    model = OneBitMean(epsilon0=epsilon0, lower=-3, upper=5).model
    draw = np.random.default_rng(0)
    values = [-3.0, 5.0, 1.0, np.nextafter(5, 0), np.nextafter(-3, 0), *draw.uniform(-3, 5, 2000)]
    ones = thresholds(model, values)
    share = model.response.share
    assert ones[:2] == [share, WORDS - share]
    assert min(ones) == share
    assert max(ones) == WORDS - share
    largest = max(Fraction(max(ones), min(ones)), Fraction(WORDS - min(ones), WORDS - max(ones)))
    assert largest == Fraction(WORDS - share, share)
    assert model.epsilon0 <= epsilon0 < model.epsilon0 + 1e-6
    assert model.guarantee == model.response.guarantee


def test_guarantee_2_the_chance_of_the_bit_is_linear_in_the_value():
    model = OneBitMean(epsilon0=1.0, lower=0, upper=1).model
    share = model.response.share
    for value in (0.25, 0.5, 1 / 3, 0.1, 1e-10):
        (found,) = thresholds(model, [value])
        exact = share + (WORDS - 2 * share) * Fraction(value)
        assert 0 <= exact - found < 1


def test_a_word_below_the_threshold_gives_a_one_and_any_other_a_zero():
    model = OneBitMean(epsilon0=1.0, lower=0, upper=10).model
    randomizer = OneBitMean.from_model(model)
    values = [0.0, 0.0, 3.7, 3.7, 10.0, 10.0]
    at = thresholds(model, values)
    words = [at[0] - 1, at[1], at[2] - 1, at[3], at[4] - 1, at[5]]
    source = RecordedSource(words)
    reports = randomizer.randomize(values, source=source)
    assert reports["value"].tolist() == [1, 0, 1, 0, 1, 0]
    assert reports["value"].dtype == np.uint8
    assert source.remaining == 0


def test_guarantee_3_each_person_has_one_word_whatever_the_value_and_the_batch():
    randomizer = OneBitMean(epsilon0=1.0, lower=0, upper=1)
    values = np.linspace(0, 1, BATCH + 7)
    words = SeededSource(4).words(len(values))
    source = RecordedSource(words)
    reports = randomizer.randomize(values, source=source)
    assert source.remaining == 0
    assert (reports["value"] == (words < _thresholds(values, randomizer.model))).all()


@pytest.mark.parametrize("epsilon0", [0.1, 1.0, 8.0])
def test_contributions_average_out_to_the_value_exactly(epsilon0):
    model = OneBitMean(epsilon0=epsilon0, lower=-1, upper=3).model
    zero, one = model.contributions({"value": np.array([0, 1], dtype=np.uint8)})
    for value in (-1.0, 0.0, 0.3, 3.0):
        (ones,) = thresholds(model, [value])
        chance = ones / WORDS
        assert chance * one + (1 - chance) * zero == pytest.approx(value, abs=1e-14 * abs(one))
        variance = chance * (1 - chance) * (one - zero) ** 2
        assert model.noise_variance(np.array([value]))[0] == pytest.approx(variance, rel=1e-12)


def test_the_noise_of_a_batch_is_that_of_equal_values_less_their_spread():
    model = OneBitMean(epsilon0=1.5, lower=0, upper=1).model
    values = np.random.default_rng(1).uniform(0, 1, 50)
    average = model.noise_variance(values).mean()
    predicted = model.noise_variance(values.mean(keepdims=True))[0] + model.noise_curvature * values.var()
    assert average == pytest.approx(predicted, rel=1e-12)


def test_its_channel_is_that_of_the_two_ends_and_every_other_row_is_a_mixture_of_these():
    model = OneBitMean(epsilon0=2.0, lower=-1, upper=1).model
    channel = model.channel(exact=True)
    assert channel.inputs == (-1.0, 1.0)
    assert channel.outputs == (0, 1)
    (_, low), (_, high) = channel.matrix.tolist()
    assert [low * WORDS, high * WORDS] == thresholds(model, [-1.0, 1.0])
    (middle,) = thresholds(model, [0.5])
    assert middle == low * WORDS / 4 + high * WORDS * 3 / 4
    assert channel.epsilon() == pytest.approx(model.epsilon0)


def test_a_response_of_more_than_two_answers_is_refused():
    three = KaryRandomizedResponseModel.from_epsilon0(epsilon0=1.0, domain_size=3)
    with pytest.raises(InvalidParameterError, match="domain_size must be 2, for one bit"):
        OneBitMeanModel(lower=0, upper=1, response=three)


@pytest.mark.parametrize("epsilon0", [0.0, 31.0, math.nan])
def test_a_loss_that_cannot_be_represented_is_refused(epsilon0):
    with pytest.raises(InvalidParameterError, match="epsilon0 must be"):
        OneBitMean(epsilon0=epsilon0, lower=0, upper=1)


def test_a_model_from_json_with_a_wrong_range_is_refused():
    written = OneBitMean(epsilon0=1.0, lower=0, upper=1).model.to_dict()
    assert written["response"]["kind"] == "k-rr"
    with pytest.raises(InvalidParameterError, match="upper must be above lower"):
        LocalModel.from_dict(written | {"upper": -1.0})


@pytest.mark.parametrize("response", [None, 2, OneBitMean(epsilon0=1.0, lower=0, upper=1).model])
def test_a_response_that_is_none_is_refused(response):
    with pytest.raises(InvalidParameterError, match="response must be a KaryRandomizedResponseModel"):
        OneBitMeanModel(lower=0, upper=1, response=response)
