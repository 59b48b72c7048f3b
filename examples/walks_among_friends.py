"""No shuffler: reports walk from friend to friend, and what that guarantees is known before anybody is asked."""

import numpy as np

import shuffledp as sdp

friends = sdp.Graph.random_regular(degree=8, num_users=1_000)
randomizer = sdp.KaryRandomizedResponse(epsilon0=1.0, domain_size=2)

for rounds in (0, 4, 8, 16, 32):
    walks = sdp.RandomWalkShuffler(graph=friends, num_rounds=rounds)
    model = sdp.ProtocolModel(local=randomizer.model, shuffle=walks.model(friends.num_users))
    guarantee = sdp.account(model, delta=1e-4).guarantee
    if isinstance(guarantee, sdp.CentralDP):
        print(f"{rounds:>2} rounds: epsilon <= {guarantee.epsilon:.4f}")

answers = np.random.default_rng(0).integers(0, 2, friends.num_users)
pipeline = sdp.Pipeline(randomizer=randomizer, shuffler=walks, analyzer=sdp.FrequencyAnalyzer())
release = pipeline.run(answers, delta=1e-4)
print(release.estimate)
print(release.statements[0])
