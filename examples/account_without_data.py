"""How much does shuffling buy? Answered before anything is collected, from numbers alone."""

import shuffledp as sdp

NUM_USERS, DELTA = 100_000, 1e-6

randomizer = sdp.KaryRandomizedResponse(epsilon0=2.0, categories=["never", "once", "some times", "often"])
print(f"each report alone: epsilon0 = {randomizer.model.epsilon0:.4f}")

statement = sdp.account(randomizer, num_users=NUM_USERS, delta=DELTA)
if isinstance(statement.guarantee, sdp.CentralDP):
    print(f"after shuffling:   epsilon <= {statement.guarantee.epsilon:.4f}, by {statement.basis.theorem}")
for hypothesis in statement.basis.hypotheses:
    print(f"  {hypothesis.text}")

print(f"any randomizer:    {sdp.bracket(epsilon0=2.0, num_users=NUM_USERS, delta=DELTA)}")
