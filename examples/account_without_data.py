"""How much does shuffling buy? Answered before anything is collected, from a description in JSON."""

import json

import shuffledp as sdp

DESCRIPTION = """
{
  "local": {"kind": "k-rr", "domain_size": 10, "share": 1571662889867911936},
  "shuffle": {"kind": "uniform", "num_users": 100000}
}
"""

model = sdp.ProtocolModel.from_dict(json.loads(DESCRIPTION))
print(f"each report alone: epsilon0 = {model.local.epsilon0:.4f}")

statement = sdp.account(model, delta=1e-6)
if isinstance(statement.guarantee, sdp.CentralDP):
    print(f"after shuffling:   epsilon <= {statement.guarantee.epsilon:.4f}, by {statement.basis.theorem}")
for hypothesis in statement.basis.hypotheses:
    print(f"  {hypothesis.text}")
