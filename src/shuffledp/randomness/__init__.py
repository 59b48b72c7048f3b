"""Randomness from one keystream of 64-bit words, by comparing and rejecting integers.

Read `sources`, then `permutations`; below `sources` lie `keystream` and `numpy_face`. `replayable` holds seeded and
recorded sources for tests and experiments.
"""
