"""What an attack shows is never above the exact curve of epsilon against delta, enumerated from the channel."""

import pytest

from attacks.twins import exact_central_claim, pipeline
from shuffledp.attacks import audit
from shuffledp.randomizers import HadamardResponse, KaryRandomizedResponse, OneBitMean, OptimizedUnaryEncoding
from shuffledp.testing import SeededSource
from statistical.thresholds import SIGNIFICANCE

DELTAS = (1e-6, 1e-3, 0.05)
CASES = [
    (KaryRandomizedResponse(epsilon0=0.5, domain_size=2), 40),
    (KaryRandomizedResponse(epsilon0=3.0, domain_size=2), 12),
    (KaryRandomizedResponse(epsilon0=2.0, domain_size=3), 6),
    (OptimizedUnaryEncoding(epsilon0=1.0, domain_size=2), 5),
    (HadamardResponse(epsilon0=1.0, domain_size=3), 5),
    (OneBitMean(epsilon0=1.0, lower=-1.0, upper=1.0), 10),
]


@pytest.mark.parametrize(("randomizer", "num_users"), CASES, ids=lambda case: getattr(case, "model", case))
def test_no_attack_shows_more_than_the_exact_loss_and_none_is_blind(randomizer, num_users):
    claims = [exact_central_claim(randomizer.model, num_users, delta) for delta in DELTAS]
    options = {"num_users": num_users, "trials": 3000, "source": SeededSource(11)}
    report = audit(pipeline(randomizer), claims, confidence=1 - SIGNIFICANCE, **options)
    assert not report.refuted
    for finding in report.findings:
        assert finding.evidence.epsilon_lower <= finding.statement.guarantee.epsilon
    assert report.findings[-1].evidence.epsilon >= 0.4 * claims[-1].guarantee.epsilon
