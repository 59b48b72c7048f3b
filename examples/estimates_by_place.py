"""Estimates by place: a shuffle that hides who said what inside every group, and keeps the map."""

import numpy as np

import shuffledp as sdp

# 6,000 people along a road of 100 km; the further along, the more of them say yes.
random = np.random.default_rng(3)
kilometer = np.sort(random.random(6000) * 100)
answers = (random.random(6000) < 0.1 + 0.006 * kilometer).astype(int)

# A person's group is everybody within 200 meters of them: public information.
groups = sdp.Groups.from_radius(kilometer, 0.2)
shuffler = sdp.NoisySortShuffler(groups=groups, alpha=4.0)
randomizer = sdp.KaryRandomizedResponse(epsilon0=2.0, domain_size=2)
analyzer = sdp.RegionalAnalyzer(regions=(kilometer // 10).astype(int), shuffler=shuffler)

release = sdp.Pipeline(randomizer=randomizer, shuffler=shuffler, analyzer=analyzer).run(answers, delta=1e-7)
print(groups, "alone:", release.model.shuffle.num_alone)
for row in release.estimate.rows():
    if row["target"] == "1":
        region = row["where"]["region"]
        low, high = row["lower"], row["upper"]
        truth = answers[kilometer // 10 == region].mean()
        print(f"km {10 * region:3d} on: {row['estimate']:.3f} [{low:.3f}, {high:.3f}], truth {truth:.3f}")
for statement in release.statements:
    print(statement.guarantee)
