"""Laws given for accounting: what is computed from them, and what is refused."""

import math
from fractions import Fraction

import numpy as np
import pytest

from shuffledp.core.channels import Channel
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.local_models import LocalModel
from shuffledp.randomizers import ChannelModel, LaplaceModel

FLIP = Channel([[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]])


@pytest.mark.parametrize("model", [ChannelModel(matrix=FLIP), LaplaceModel(epsilon0=1.5)])
def test_they_are_read_back_by_their_kind(model):
    assert LocalModel.from_dict(model.to_dict()) == model


def test_a_channel_has_the_loss_and_the_distance_of_its_rows():
    model = ChannelModel(matrix=FLIP)
    assert math.log(3) <= model.epsilon0 == pytest.approx(math.log(3), rel=1e-13)
    assert model.total_variation == pytest.approx(0.5)
    assert model.channel(exact=True) == FLIP
    assert model.channel().matrix.dtype == np.float64
    assert ChannelModel(matrix=Channel([[1.0, 0.0], [0.5, 0.5]])).guarantee.is_trivial


def test_laplace_noise_has_the_distance_of_its_ends():
    model = LaplaceModel(epsilon0=2.0)
    places = np.linspace(-30, 31, 2_000_001)
    density = np.exp(-2 * np.abs(places[:, np.newaxis] - [0.0, 1.0]))
    distance = np.abs(density[:, 0] - density[:, 1]).sum() / 2 * (places[1] - places[0])
    assert model.total_variation == pytest.approx(distance, rel=1e-6)
    assert (model.epsilon0, model.laplace_steps) == (2.0, math.inf)


@pytest.mark.parametrize("epsilon0", [0, -1, math.inf, math.nan, 301, "1", None])
def test_other_laplace_noise_is_refused(epsilon0):
    with pytest.raises(InvalidParameterError, match="epsilon0"):
        LaplaceModel(epsilon0=epsilon0)


def test_other_channels_are_refused():
    with pytest.raises(InvalidParameterError, match="matrix"):
        ChannelModel(matrix=Channel([[0.5, 0.5]]))
    with pytest.raises(InvalidParameterError, match="matrix"):
        ChannelModel(matrix=[[0.5, 0.5], [0.5, 0.5]])


@pytest.mark.parametrize("model", [ChannelModel(matrix=FLIP), LaplaceModel(epsilon0=1.5)])
def test_they_have_no_reports(model):
    with pytest.raises(UnsupportedModelError, match=model.kind):
        model.check({"value": np.zeros(3)})
