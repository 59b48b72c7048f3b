"""Attack your own pipeline: an honest one stands, and a shuffler that only says so is found out."""

import shuffledp as sdp
from shuffledp.accounting import account_all
from shuffledp.core.table import Table
from shuffledp.randomness.sources import RandomSource

NUM_USERS = 1000


class InName(sdp.UniformShuffler):
    """Calls itself uniform, and leaves everybody's number beside the report."""

    def shuffle(
        self, reports: sdp.Reports, *, public: Table | None = None, source: RandomSource | None = None
    ) -> sdp.View:
        """Not at all."""
        return sdp.IdentityShuffler().shuffle(reports, public=public, source=source)


for shuffler in (sdp.UniformShuffler(), InName()):
    pipeline = sdp.Pipeline(
        randomizer=sdp.KaryRandomizedResponse(epsilon0=1.0, domain_size=2),
        shuffler=shuffler,
        analyzer=sdp.FrequencyAnalyzer(),
    )
    claims = account_all(pipeline.model(NUM_USERS), delta=1e-6)
    report = sdp.attacks.audit(pipeline, claims, num_users=NUM_USERS, trials=400)
    print(f"{type(shuffler).__name__}: {[finding.verdict.value for finding in report.findings]}")
    print(report.findings[0])
    print()
