"""Laws of permutations and of positions: samplers, explicit laws of few items, moments, what they preserve."""

from shuffledp.laws.mallows import MallowsStream, sample_mallows, stream_buffer

__all__ = ["MallowsStream", "sample_mallows", "stream_buffer"]
