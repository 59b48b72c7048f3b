"""A survey in memory: randomize, shuffle, analyze, and read what is guaranteed."""

import numpy as np

import shuffledp as sdp

CATEGORIES = ["never", "once", "some times", "often"]

# 10,000 people choose one of four answers. Nobody but they themselves knows which.
answers = np.random.default_rng(7).choice(CATEGORIES, size=10_000, p=[0.5, 0.3, 0.15, 0.05])

pipeline = sdp.Pipeline(
    randomizer=sdp.KaryRandomizedResponse(epsilon0=2.0, categories=CATEGORIES),
    shuffler=sdp.UniformShuffler(),
    analyzer=sdp.FrequencyAnalyzer(),
)
release = pipeline.run(answers, delta=1e-6)

print(release.estimate)
print()
print(release.statements[0])
