"""Local randomizers: what runs on a person's device before anything leaves it."""

from shuffledp.randomizers.bounded import clip_to_range
from shuffledp.randomizers.laplace_mean import DiscreteLaplaceMean, DiscreteLaplaceMeanModel
from shuffledp.randomizers.one_bit_mean import OneBitMean, OneBitMeanModel
from shuffledp.randomizers.priv_unit import NORM_TOLERANCE, PrivUnit, PrivUnitModel
from shuffledp.randomizers.randomized_response import KaryRandomizedResponse, KaryRandomizedResponseModel
from shuffledp.randomizers.rounded_mean import RoundedMean, RoundedMeanModel, best_num_levels

__all__ = [
    "NORM_TOLERANCE",
    "DiscreteLaplaceMean",
    "DiscreteLaplaceMeanModel",
    "KaryRandomizedResponse",
    "KaryRandomizedResponseModel",
    "OneBitMean",
    "OneBitMeanModel",
    "PrivUnit",
    "PrivUnitModel",
    "RoundedMean",
    "RoundedMeanModel",
    "best_num_levels",
    "clip_to_range",
]
