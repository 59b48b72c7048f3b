"""Binary randomized response of a thousand people: the closed forms too, which need a crowd, and the optimal attack."""

import math

import numpy as np
from scipy.stats import binom

import shuffledp as sdp
from shuffledp.accounting import SHARP_THEOREMS
from shuffledp.attacks import AuditReport, NeighboringInputs, audit
from shuffledp.core.guarantees import CentralDP
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Basis, Kind
from shuffledp.core.statements import PrivacyStatement
from shuffledp.testing import SeededSource
from soundness.exact_deltas import response, with_another
from soundness.exact_views import loss_of

PEOPLE, DELTA, EPSILON0 = 1000, 1e-3, 0.45
PIPELINE = sdp.Pipeline(
    randomizer=sdp.KaryRandomizedResponse(epsilon0=EPSILON0, domain_size=2),
    shuffler=sdp.UniformShuffler(),
    analyzer=sdp.FrequencyAnalyzer(),
)
ALIKE = NeighboringInputs(first=0, second=1, others=0)  # the worst data sets there are, up to effects of rounding


def claims() -> list[PrivacyStatement]:
    """What each accountant promises that applies, the least first."""
    model = ProtocolModel(local=PIPELINE.randomizer.model, shuffle=PIPELINE.shuffler.model(PEOPLE))
    found = []
    for theorem in SHARP_THEOREMS:
        if theorem.kind.promises and all(each.holds for each in theorem.hypotheses(model, delta=DELTA)):
            epsilon = theorem.epsilon(model, delta=DELTA)
            if math.isfinite(epsilon):
                guarantee = CentralDP(epsilon=epsilon, delta=DELTA)
                basis = Basis(theorem=theorem.id, citation=theorem.citation)
                found.append(PrivacyStatement(guarantee=guarantee, kind=Kind.UPPER_BOUND, basis=basis))
    return sorted(found, key=lambda claim: claim.guarantee.epsilon)


def attacked(stated, trials: int, *, confidence: float = 0.99, seed: int = 1) -> AuditReport:
    """The optimal attack, on views drawn by their sufficient statistics."""
    options = {"num_users": PEOPLE, "inputs": ALIKE, "trials": trials, "confidence": confidence}
    return audit(PIPELINE, stated, mode="statistics", stop_early=False, source=SeededSource(seed), **options)


def exact(people: int = PEOPLE, epsilon0: float = EPSILON0, delta: float = DELTA) -> float:
    """The exact loss of the data sets that are played, by enumerating the number of reports of 1."""
    channel = response(2, epsilon0)
    others = binom.pmf(np.arange(people), people - 1, channel[0, 0])  # the count of 0 among those who answer 0
    return loss_of(*(with_another(others, row) for row in channel), delta)
