"""Local randomizers, which run on a person's device before any data leave it.

In reading order: `randomized_response` and any other mechanism, one file each (`unary_encoding`, `local_hashing`,
`hadamard`, `subset_selection`, `blanketed_response`; `laplace_mean`, `one_bit_mean`, `rounded_mean`; `priv_unit`;
`masked_prefixes` over `prefix_hashes`; `tick_columns`, `one_option`, `all_sets`); `families` and `tick_lists`, what
they share; `inputs`, checks of answers; `answer_domains`, answers that are pairs, or numbers in bins; `sampling`, exact
samplers; `descriptions`, laws without a mechanism; and `randomizer_kinds`, the registry.
"""

from functools import partial

from shuffledp.protocols import name_in_families
from shuffledp.randomizers.all_sets import AllSets, AllSetsModel
from shuffledp.randomizers.answer_domains import Bins, CategoryPairs
from shuffledp.randomizers.blanketed_response import BlanketedResponse, BlanketedResponseModel
from shuffledp.randomizers.descriptions import ChannelModel, LaplaceModel, LdpModel, PersonalizedResponseModel
from shuffledp.randomizers.hadamard import HadamardResponse, HadamardResponseModel
from shuffledp.randomizers.inputs import NORM_TOLERANCE, clip_to_range
from shuffledp.randomizers.laplace_mean import DiscreteLaplaceMean, DiscreteLaplaceMeanModel
from shuffledp.randomizers.local_hashing import OptimizedLocalHashing, OptimizedLocalHashingModel
from shuffledp.randomizers.masked_prefixes import MaskedPrefixes, MaskedPrefixModel
from shuffledp.randomizers.one_bit_mean import OneBitMean, OneBitMeanModel
from shuffledp.randomizers.one_option import OneOption, OneOptionModel
from shuffledp.randomizers.priv_unit import PrivUnit, PrivUnitModel
from shuffledp.randomizers.randomized_response import KaryRandomizedResponse, KaryRandomizedResponseModel
from shuffledp.randomizers.randomizer_kinds import (
    KINDS,
    family_of,
    kinds_of_loss,
    mechanisms,
    model_of_kind,
    parameters_of_kind,
)
from shuffledp.randomizers.rounded_mean import RoundedMean, RoundedMeanModel, best_num_levels
from shuffledp.randomizers.subset_selection import SubsetSelection, SubsetSelectionModel
from shuffledp.randomizers.tick_columns import TickColumns, TickColumnsModel
from shuffledp.randomizers.unary_encoding import (
    OptimizedUnaryEncoding,
    OptimizedUnaryEncodingModel,
    SymmetricUnaryEncoding,
    SymmetricUnaryEncodingModel,
)

__all__ = [
    "KINDS",
    "NORM_TOLERANCE",
    "AllSets",
    "AllSetsModel",
    "Bins",
    "BlanketedResponse",
    "BlanketedResponseModel",
    "CategoryPairs",
    "ChannelModel",
    "DiscreteLaplaceMean",
    "DiscreteLaplaceMeanModel",
    "HadamardResponse",
    "HadamardResponseModel",
    "KaryRandomizedResponse",
    "KaryRandomizedResponseModel",
    "LaplaceModel",
    "LdpModel",
    "MaskedPrefixModel",
    "MaskedPrefixes",
    "OneBitMean",
    "OneBitMeanModel",
    "OneOption",
    "OneOptionModel",
    "OptimizedLocalHashing",
    "OptimizedLocalHashingModel",
    "OptimizedUnaryEncoding",
    "OptimizedUnaryEncodingModel",
    "PersonalizedResponseModel",
    "PrivUnit",
    "PrivUnitModel",
    "RoundedMean",
    "RoundedMeanModel",
    "SubsetSelection",
    "SubsetSelectionModel",
    "SymmetricUnaryEncoding",
    "SymmetricUnaryEncodingModel",
    "TickColumns",
    "TickColumnsModel",
    "best_num_levels",
    "clip_to_range",
    "family_of",
    "kinds_of_loss",
    "mechanisms",
    "model_of_kind",
    "parameters_of_kind",
]

__getattr__ = partial(name_in_families, __name__)
