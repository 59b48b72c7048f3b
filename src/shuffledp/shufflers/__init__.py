"""Shufflers: what takes away who sent what, entirely or in part."""

from shuffledp.shufflers.identity import IdentityShuffleModel, IdentityShuffler
from shuffledp.shufflers.imperfect import (
    CayleyShuffler,
    ComposedShuffler,
    DelayShuffler,
    ImperfectShuffleModel,
    ImperfectShuffler,
    ObliviousShuffleModel,
    imperfect_shuffler,
)
from shuffledp.shufflers.least import LeastDisplacement, least_displacement, mean_displacement
from shuffledp.shufflers.mallows import MallowsShuffleModel, MallowsShuffler
from shuffledp.shufflers.noisy_sort import NoisySortShuffleModel, NoisySortShuffler
from shuffledp.shufflers.parallel import ParallelShuffleModel, ParallelShuffler
from shuffledp.shufflers.random_walk import RandomWalkShuffler
from shuffledp.shufflers.slots import SlotShuffleModel, SlotShuffler
from shuffledp.shufflers.streaming import MallowsReportStream
from shuffledp.shufflers.uniform import UniformShuffleModel, UniformShuffler
from shuffledp.shufflers.walk_model import RandomWalkShuffleModel

__all__ = [
    "CayleyShuffler",
    "ComposedShuffler",
    "DelayShuffler",
    "IdentityShuffleModel",
    "IdentityShuffler",
    "ImperfectShuffleModel",
    "ImperfectShuffler",
    "LeastDisplacement",
    "MallowsReportStream",
    "MallowsShuffleModel",
    "MallowsShuffler",
    "NoisySortShuffleModel",
    "NoisySortShuffler",
    "ObliviousShuffleModel",
    "ParallelShuffleModel",
    "ParallelShuffler",
    "RandomWalkShuffleModel",
    "RandomWalkShuffler",
    "SlotShuffleModel",
    "SlotShuffler",
    "UniformShuffleModel",
    "UniformShuffler",
    "imperfect_shuffler",
    "least_displacement",
    "mean_displacement",
]
