"""What the default audit shows beside the exact loss, and how often it refutes a threshold that is a fifth too high.

Exact central losses are enumerated by the tests' own code: run it with ``PYTHONPATH=src:tests``.
"""

import math
import time

from attacks.twins import TooTruthful, exact_central_claim, pipeline
from shuffledp.accounting import account_all
from shuffledp.attacks import audit
from shuffledp.core.statements import PrivacyStatement
from shuffledp.pipeline import Pipeline
from shuffledp.testing import SeededSource

LOCAL = [(0.1, 2), (1.0, 2), (1.0, 10), (2.0, 10), (3.0, 100)]
CENTRAL = [(10, 1e-3), (30, 1e-3), (100, 1e-3), (1000, 1e-3), (1000, 1e-6)]
AUDITS = 10


def row(what: str, claim: PrivacyStatement, honest: Pipeline, twin: Pipeline, num_users: int) -> None:
    """One line of the table: medians of what is shown, and counts of refutations."""
    reports = {}
    start = time.perf_counter()
    for name, audited in (("honest", honest), ("twin", twin)):
        reports[name] = [
            audit(audited, claim, num_users=num_users, source=SeededSource(seed)) for seed in range(AUDITS)
        ]
    seconds = (time.perf_counter() - start) / (2 * AUDITS)
    shown = sorted(each.epsilon_lower for report in reports["honest"] if (each := report.findings[0].evidence))[
        AUDITS // 2
    ]
    claimed = float(getattr(claim.guarantee, "epsilon", math.nan))
    refuted = {name: sum(report.refuted for report in found) for name, found in reports.items()}
    print(
        f"| {what} | {claimed:.3f} | {shown:.3f} | {refuted['twin']} of {AUDITS} | "
        f"{refuted['honest']} of {AUDITS} | {seconds:.1f} s |",
        flush=True,
    )


def main() -> None:
    """Print the table."""
    print("| claim | exact epsilon | shown (99%) | twin refuted | honest refuted | an audit takes |")
    print("|---|---|---|---|---|---|")
    for epsilon0, size in LOCAL:
        honest = pipeline(epsilon0=epsilon0, domain_size=size)
        twin = pipeline(TooTruthful(epsilon0=epsilon0, domain_size=size))
        claim = account_all(honest.model(10), delta=1e-6)[-1]
        row(f"one report, k = {size}", claim, honest, twin, 10)
    for num_users, delta in CENTRAL:
        honest, twin = pipeline(), pipeline(TooTruthful(epsilon0=1.0, domain_size=2))
        claim = exact_central_claim(honest.randomizer.model, num_users, delta)
        row(f"view of {num_users}, k = 2, epsilon0 = 1, delta = {delta:g}", claim, honest, twin, num_users)


if __name__ == "__main__":
    main()
