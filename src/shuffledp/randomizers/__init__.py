"""Local randomizers: what runs on a person's device before anything leaves it."""

from shuffledp.randomizers.bounded import clip_to_range
from shuffledp.randomizers.by_kind import family_of, kinds_of_loss, model_of_kind, parameters_of_kind
from shuffledp.randomizers.described import ChannelModel, LaplaceModel, PersonalizedResponseModel
from shuffledp.randomizers.generic import LdpModel
from shuffledp.randomizers.hadamard import HadamardResponse, HadamardResponseModel
from shuffledp.randomizers.laplace_mean import DiscreteLaplaceMean, DiscreteLaplaceMeanModel
from shuffledp.randomizers.local_hashing import OptimizedLocalHashing, OptimizedLocalHashingModel
from shuffledp.randomizers.one_bit_mean import OneBitMean, OneBitMeanModel
from shuffledp.randomizers.priv_unit import NORM_TOLERANCE, PrivUnit, PrivUnitModel
from shuffledp.randomizers.randomized_response import KaryRandomizedResponse, KaryRandomizedResponseModel
from shuffledp.randomizers.rounded_mean import RoundedMean, RoundedMeanModel, best_num_levels
from shuffledp.randomizers.split_and_mix import SplitAndMix, SplitAndMixModel
from shuffledp.randomizers.subset_selection import SubsetSelection, SubsetSelectionModel
from shuffledp.randomizers.unary_encoding import (
    OptimizedUnaryEncoding,
    OptimizedUnaryEncodingModel,
    SymmetricUnaryEncoding,
    SymmetricUnaryEncodingModel,
)

__all__ = [
    "NORM_TOLERANCE",
    "ChannelModel",
    "DiscreteLaplaceMean",
    "DiscreteLaplaceMeanModel",
    "HadamardResponse",
    "HadamardResponseModel",
    "KaryRandomizedResponse",
    "KaryRandomizedResponseModel",
    "LaplaceModel",
    "LdpModel",
    "OneBitMean",
    "OneBitMeanModel",
    "OptimizedLocalHashing",
    "OptimizedLocalHashingModel",
    "OptimizedUnaryEncoding",
    "OptimizedUnaryEncodingModel",
    "PersonalizedResponseModel",
    "PrivUnit",
    "PrivUnitModel",
    "RoundedMean",
    "RoundedMeanModel",
    "SplitAndMix",
    "SplitAndMixModel",
    "SubsetSelection",
    "SubsetSelectionModel",
    "SymmetricUnaryEncoding",
    "SymmetricUnaryEncodingModel",
    "best_num_levels",
    "clip_to_range",
    "family_of",
    "kinds_of_loss",
    "model_of_kind",
    "parameters_of_kind",
]
