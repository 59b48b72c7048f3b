"""Orders inside groups: what the shuffle and what the randomizer promise, beside attacks on orders."""

from functools import cached_property

import shuffledp as sdp
from shuffledp.attacks import AuditReport, audit
from shuffledp.core.local_models import ProtocolModel
from shuffledp.protocols.d_sigma.theorems.meehan22 import d_sigma_of_local, d_sigma_of_shuffle
from shuffledp.testing import SeededSource

PEOPLE, ALPHA, DELTA = 6, 1.0, 0.01
PAIRS = sdp.Groups.from_lists([[0, 1], [2, 3], [4, 5]])
LAYOUT = {"groups": PAIRS, "alpha": ALPHA, "order": range(PEOPLE)}

RANDOMIZERS = {
    "k-rr, epsilon0 = 6": sdp.KaryRandomizedResponse(epsilon0=6.0, domain_size=3),
    "one-bit-mean, epsilon0 = 6": sdp.randomizers.OneBitMean(epsilon0=6.0, lower=0.0, upper=1.0),
}
SHUFFLERS = {
    "Mallows (Kendall)": sdp.MallowsShuffler(**LAYOUT, distance="kendall"),
    "Mallows (Hamming)": sdp.MallowsShuffler(**LAYOUT, distance="hamming"),
    "Mallows (Cayley)": sdp.MallowsShuffler(**LAYOUT, distance="cayley"),
    "noisy sort (Laplace)": sdp.NoisySortShuffler(**LAYOUT),
    "noisy sort (Gauss)": sdp.NoisySortShuffler(**LAYOUT, noise="gaussian", delta=DELTA),
}
PAIRED = [(one, other) for one in RANDOMIZERS for other in SHUFFLERS]


class OrderCell:
    """One randomizer through one shuffler of groups."""

    def __init__(self, randomizer_name, shuffler_name):
        self.randomizer, self.shuffler = RANDOMIZERS[randomizer_name], SHUFFLERS[shuffler_name]
        self.names = randomizer_name, shuffler_name

    @cached_property
    def claims(self):
        """Both that promise something, the least first."""
        model = ProtocolModel(local=self.randomizer.model, shuffle=self.shuffler.model(PEOPLE))
        found = [d_sigma_of_shuffle(model), d_sigma_of_local(model)]
        return sorted(filter(None, found), key=lambda claim: claim.guarantee.alpha)

    def attacked(self, trials: int, *, confidence: float = 0.99, seed: int = 1) -> AuditReport:
        mean = not hasattr(self.randomizer.model, "domain_size")
        pipeline = sdp.Pipeline(
            randomizer=self.randomizer,
            shuffler=self.shuffler,
            analyzer=sdp.MeanAnalyzer() if mean else sdp.FrequencyAnalyzer(),
        )
        options = {"num_users": PEOPLE, "trials": trials, "confidence": confidence, "stop_early": False}
        return audit(pipeline, self.claims, source=SeededSource(seed), **options)
