"""Shufflers: what takes away who sent what, entirely or in part."""

from shuffledp.shufflers.identity import IdentityShuffleModel, IdentityShuffler
from shuffledp.shufflers.imperfect import ImperfectShuffleModel
from shuffledp.shufflers.least import LeastDisplacement, least_displacement, mean_displacement
from shuffledp.shufflers.mallows import MallowsShuffleModel, MallowsShuffler
from shuffledp.shufflers.noisy_sort import NoisySortShuffleModel, NoisySortShuffler
from shuffledp.shufflers.parallel import ParallelShuffleModel
from shuffledp.shufflers.slots import SlotShuffleModel, SlotShuffler
from shuffledp.shufflers.uniform import UniformShuffleModel, UniformShuffler

__all__ = [
    "IdentityShuffleModel",
    "IdentityShuffler",
    "ImperfectShuffleModel",
    "LeastDisplacement",
    "MallowsShuffleModel",
    "MallowsShuffler",
    "NoisySortShuffleModel",
    "NoisySortShuffler",
    "ParallelShuffleModel",
    "SlotShuffleModel",
    "SlotShuffler",
    "UniformShuffleModel",
    "UniformShuffler",
    "least_displacement",
    "mean_displacement",
]
