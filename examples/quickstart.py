"""A survey in memory: randomize, shuffle, analyze, and read what is guaranteed."""

import numpy as np

import shuffledp as sdp

# 10,000 people choose one of four answers, numbered 0 to 3. Nobody but they themselves knows which.
answers = np.random.default_rng(7).choice(4, size=10_000, p=[0.5, 0.3, 0.15, 0.05])

pipeline = sdp.Pipeline(
    randomizer=sdp.KaryRandomizedResponse(epsilon0=2.0, domain_size=4),
    shuffler=sdp.UniformShuffler(),
    analyzer=sdp.FrequencyAnalyzer(),
)
release = pipeline.run(answers, delta=1e-6)

print(release.estimate)
print()
print(release.statements[0])
