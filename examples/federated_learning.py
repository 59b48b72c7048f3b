"""Federated learning on made-up data: a logistic regression from sums of clipped gradients that nobody sees alone."""

import numpy as np

import shuffledp as sdp

PEOPLE, DIMENSION, ROUNDS, STEP = 5_000, 8, 10, 2.0

# Made-up people: what each of them has, and an answer that depends on it. Nobody's row leaves their device.
draw = np.random.default_rng(7)
truth = np.linspace(-2, 2, DIMENSION)
features = draw.normal(size=(PEOPLE, DIMENSION))
answers = draw.random(PEOPLE) < 1 / (1 + np.exp(-features @ truth))

# One promise about all rounds together, each of which depends on what was seen in the last ones.
randomizer = sdp.calibrate.vector_sum(
    num_users=PEOPLE, epsilon=1.0, delta=1e-6, largest_norm=2.0, dimension=DIMENSION, releases=ROUNDS, clip=True
)
pipeline = sdp.Pipeline(
    randomizer=randomizer,
    shuffler=sdp.ParallelShuffler(sdp.UniformShuffler(), randomizer.num_messages),  # each coordinate by itself
    analyzer=sdp.SumAnalyzer(statistic="mean"),
)

weights = np.zeros(DIMENSION)
for _ in range(ROUNDS):
    # On each device: the gradient of the loss on one's own row, shortened to length 2 by the randomizer.
    wrong = 1 / (1 + np.exp(-features @ weights)) - answers
    release = pipeline.run(wrong[:, np.newaxis] * features, delta=1e-6)
    weights -= STEP * release.estimate.estimate

right = ((features @ weights > 0) == answers).mean()
best = ((features @ truth > 0) == answers).mean()
print(f"{right:.1%} right, beside {best:.1%} with the true weights")
print(f"{randomizer.num_messages} messages of each person in a round")
print(release.statements[0])
