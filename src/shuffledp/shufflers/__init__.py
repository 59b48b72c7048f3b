"""Shufflers: what takes away who sent what, entirely or in part."""

from shuffledp.shufflers.identity import IdentityShuffleModel, IdentityShuffler
from shuffledp.shufflers.uniform import UniformShuffleModel, UniformShuffler

__all__ = ["IdentityShuffleModel", "IdentityShuffler", "UniformShuffleModel", "UniformShuffler"]
