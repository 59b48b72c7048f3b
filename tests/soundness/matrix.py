"""Every randomizer through every shuffler, with each accountant's claims, what is exact, and the audit's attacks.

`soundness.page` writes it as a page.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import shuffledp as sdp
from shuffledp import randomizers
from shuffledp.accounting import THEOREMS
from shuffledp.attacks import AuditReport, audit
from shuffledp.attacks.games import has_statistics
from shuffledp.core.errors import ShuffleDPError, UnsupportedModelError
from shuffledp.core.guarantees import CentralDP
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Basis, Kind
from shuffledp.core.statements import PrivacyStatement
from shuffledp.protocols.shares.shufflers.imperfect import CayleyShuffler
from shuffledp.protocols.strata.people.strata import Strata
from shuffledp.protocols.strata.shufflers.stratified import StratifiedShuffler
from shuffledp.testing import SeededSource
from soundness.exact_views import exact_loss

PEOPLE, DELTA, EPSILON0 = 6, 0.05, 1.0
CATEGORIES = {"epsilon0": EPSILON0, "domain_size": 3}
NUMBERS = {"epsilon0": EPSILON0, "lower": 0.0, "upper": 1.0}
SHARES = sdp.SplitAndMix(num_users=PEOPLE, epsilon=1.0, lower=0, upper=1, num_shares=20, modulus=2000)
BITS = sdp.CountedBits(num_users=PEOPLE, lower=0, upper=1, value_bits=1, coins=4)

RANDOMIZERS = {
    "k-rr": sdp.KaryRandomizedResponse(**CATEGORIES),
    "oue": randomizers.OptimizedUnaryEncoding(**CATEGORIES),
    "sue": randomizers.SymmetricUnaryEncoding(**CATEGORIES),
    "olh": randomizers.OptimizedLocalHashing(**CATEGORIES),
    "hadamard": randomizers.HadamardResponse(**CATEGORIES),
    "subset": randomizers.SubsetSelection(**CATEGORIES),
    "one-bit-mean": randomizers.OneBitMean(**NUMBERS),
    "rounded-mean": randomizers.RoundedMean(**NUMBERS, num_levels=4),
    "discrete-laplace-mean": randomizers.DiscreteLaplaceMean(**NUMBERS, num_steps=8),
    "priv-unit": randomizers.PrivUnit(epsilon0=EPSILON0, dimension=3),
    "split-and-mix": SHARES,
    "counted-bits": BITS,
}

STRATA = Strata.of({"region": ["a", "a", "b", "b", "b", "b"]}, by="region")
GROUPS = sdp.Groups.from_lists([list(range(PEOPLE))] * PEOPLE)
COMPLETE = sdp.Graph.from_edges([(one, other) for one in range(PEOPLE) for other in range(one)])
RING = sdp.Graph.from_edges([(one, (one + far) % PEOPLE) for one in range(PEOPLE) for far in (1, 2)])


def walks(protocol, graph, rounds, **options):
    """A shuffler for each randomizer, which makes its dummies."""
    return lambda _: sdp.RandomWalkShuffler(graph=graph, num_rounds=rounds, protocol=protocol, **options)


def _rounds_of(randomizer):
    """One for each share; others send none."""
    if randomizer.model.num_messages == 1:
        raise UnsupportedModelError("one message each needs no rounds.")
    return randomizer.model.num_messages


def _buffer_of(randomizer, construction):
    """An imperfect shuffle, of all messages together where they go through one buffer."""
    shuffler, each = (
        sdp.imperfect_shuffler(imperfection=0.5, construction=construction),
        randomizer.model.messages_per_round,
    )
    return shuffler if each == 1 else sdp.ParallelShuffler(shuffler, 1, messages_per_round=each)


SHUFFLERS = {
    "none": lambda _: sdp.IdentityShuffler(),
    "uniform": lambda _: sdp.UniformShuffler(),
    "strata": lambda _: StratifiedShuffler(STRATA),
    "imperfect (Cayley)": lambda randomizer: _buffer_of(randomizer, "cayley"),
    "imperfect (delays)": lambda randomizer: _buffer_of(randomizer, "delay"),
    "Mallows": lambda _: sdp.MallowsShuffler(groups=GROUPS, alpha=1.0, order=range(PEOPLE)),
    "noisy sort": lambda _: sdp.NoisySortShuffler(groups=GROUPS, alpha=1.0, order=range(PEOPLE)),
    "network, all": walks("all", COMPLETE, 4),
    "network, single": walks("single", RING, 3),
    "network, padded": walks("padded", RING, 3, submissions=2),
    "network, colluding": walks("all", RING, 3, num_colluding=1),
    "rounds (uniform)": lambda randomizer: sdp.ParallelShuffler(sdp.UniformShuffler(), _rounds_of(randomizer)),
    "rounds (Cayley)": lambda randomizer: sdp.ParallelShuffler(
        CayleyShuffler(imperfection=0.5), _rounds_of(randomizer)
    ),
}

PAIRED = [(one, other) for one in RANDOMIZERS for other in SHUFFLERS]


@dataclass(frozen=True)
class Cell:
    """One randomizer through one shuffler."""

    randomizer_name: str
    shuffler_name: str

    @cached_property
    def randomizer(self):
        return RANDOMIZERS[self.randomizer_name]

    @cached_property
    def shuffler(self):
        return SHUFFLERS[self.shuffler_name](self.randomizer)

    @cached_property
    def model(self) -> ProtocolModel:
        return ProtocolModel(local=self.randomizer.model, shuffle=self.shuffler.model(PEOPLE))

    @cached_property
    def claims(self) -> tuple[PrivacyStatement, ...]:
        """What each accountant promises about what is released, if its hypotheses hold."""
        found = []
        for theorem in THEOREMS:
            if not theorem.kind.promises or not all(
                hypothesis.holds for hypothesis in theorem.hypotheses(self.model, delta=DELTA)
            ):
                continue
            epsilon = theorem.epsilon(self.model, delta=DELTA)
            if math.isfinite(epsilon):
                found.append(
                    PrivacyStatement(
                        guarantee=CentralDP(epsilon=epsilon, delta=DELTA),
                        kind=Kind.UPPER_BOUND,
                        basis=Basis(theorem=theorem.id, citation=theorem.citation),
                    )
                )
        return tuple(sorted(found, key=lambda claim: claim.guarantee.epsilon))

    @property
    def is_stated(self) -> bool:
        """Whether the two can be put together and something is promised about them."""
        try:
            return bool(self.claims)
        except ShuffleDPError:
            return False

    @cached_property
    def lower(self) -> float:
        """The largest lower bound, 0 if there is none."""
        return max(
            (
                theorem.epsilon(self.model, delta=DELTA)
                for theorem in THEOREMS
                if theorem.kind is Kind.LOWER_BOUND
                and all(hypothesis.holds for hypothesis in theorem.hypotheses(self.model, delta=DELTA))
            ),
            default=0.0,
        )

    @cached_property
    def exact(self) -> float | None:
        """The exact loss of the data sets that are played, by enumeration; None where there are too many views."""
        return exact_loss(self.shuffler_name, self.randomizer, self.shuffler, PEOPLE, DELTA)

    @property
    def has_statistics(self) -> bool:
        """Whether its views can be drawn by their sufficient statistics."""
        return self.shuffler_name == "uniform" and has_statistics(self.randomizer.model)

    def attacked(self, trials: int, *, confidence: float = 0.99, seed: int = 1, mode: str = "pipeline") -> AuditReport:
        pipeline = sdp.Pipeline(randomizer=self.randomizer, shuffler=self.shuffler, analyzer=_analyzer(self.randomizer))
        return audit(
            pipeline,
            self.claims,
            num_users=PEOPLE,
            trials=trials,
            confidence=confidence,
            mode=mode,
            stop_early=False,
            source=SeededSource(seed),
        )


def _analyzer(randomizer):
    if randomizer is SHARES:
        return sdp.SumAnalyzer()
    if randomizer is BITS:
        return sdp.BitSumAnalyzer()
    return sdp.FrequencyAnalyzer() if hasattr(randomizer.model, "domain_size") else sdp.MeanAnalyzer()
