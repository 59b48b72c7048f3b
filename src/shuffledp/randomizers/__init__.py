"""Local randomizers: what runs on a person's device before anything leaves it."""

from shuffledp.randomizers.hadamard import HadamardResponse, HadamardResponseModel
from shuffledp.randomizers.local_hashing import OptimizedLocalHashing, OptimizedLocalHashingModel
from shuffledp.randomizers.randomized_response import KaryRandomizedResponse, KaryRandomizedResponseModel
from shuffledp.randomizers.subset_selection import SubsetSelection, SubsetSelectionModel
from shuffledp.randomizers.unary_encoding import (
    OptimizedUnaryEncoding,
    OptimizedUnaryEncodingModel,
    SymmetricUnaryEncoding,
    SymmetricUnaryEncodingModel,
)

__all__ = [
    "HadamardResponse",
    "HadamardResponseModel",
    "KaryRandomizedResponse",
    "KaryRandomizedResponseModel",
    "OptimizedLocalHashing",
    "OptimizedLocalHashingModel",
    "OptimizedUnaryEncoding",
    "OptimizedUnaryEncodingModel",
    "SubsetSelection",
    "SubsetSelectionModel",
    "SymmetricUnaryEncoding",
    "SymmetricUnaryEncodingModel",
]
