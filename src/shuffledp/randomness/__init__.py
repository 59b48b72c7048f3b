"""Random sources: one keystream of 64-bit words, and exact draws by comparing and rejecting integers.

Read `sources`, then `permutations`; below `sources` lie `keystream` and `numpy_face`. `replayable` holds seeded and
recorded sources for tests and experiments.
"""
