"""Every randomizer through every shuffler, each accountant's claim beside the strongest attack; and that as a page.

Run ``PYTHONPATH=src:tests python -m soundness.matrix docs/soundness.md`` to write the page anew.
"""

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import shuffledp as sdp
from shuffledp import randomizers
from shuffledp.accounting import THEOREMS
from shuffledp.attacks import AuditReport, audit
from shuffledp.errors import ShuffleDPError, UnsupportedModelError
from shuffledp.guarantees import CentralDP
from shuffledp.models import ProtocolModel
from shuffledp.shufflers import CayleyShuffler
from shuffledp.statements import Basis, Kind, PrivacyStatement
from shuffledp.testing import SeededSource

PEOPLE, DELTA, EPSILON0 = 6, 0.05, 1.0
TRIALS = 1000  # of the page
CATEGORIES = {"epsilon0": EPSILON0, "domain_size": 3}
NUMBERS = {"epsilon0": EPSILON0, "lower": 0.0, "upper": 1.0}
SHARES = sdp.SplitAndMix(num_users=PEOPLE, epsilon=1.0, lower=0, upper=1, num_shares=20, modulus=2000)

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
}

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


SHUFFLERS = {
    "none": lambda _: sdp.IdentityShuffler(),
    "uniform": lambda _: sdp.UniformShuffler(),
    "imperfect (Cayley)": lambda _: sdp.imperfect_shuffler(imperfection=0.5),
    "imperfect (delays)": lambda _: sdp.imperfect_shuffler(imperfection=0.5, construction="delay"),
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

    def attacked(self, trials: int, *, confidence: float = 0.99, seed: int = 1) -> AuditReport:
        pipeline = sdp.Pipeline(randomizer=self.randomizer, shuffler=self.shuffler, analyzer=_analyzer(self.randomizer))
        return audit(
            pipeline,
            self.claims,
            num_users=PEOPLE,
            trials=trials,
            confidence=confidence,
            stop_early=False,
            source=SeededSource(seed),
        )


def _analyzer(randomizer):
    if randomizer is SHARES:
        return sdp.SumAnalyzer()
    return sdp.FrequencyAnalyzer() if hasattr(randomizer.model, "domain_size") else sdp.MeanAnalyzer()


def cells() -> Iterator[Cell]:
    """All pairs that can be put together and about which something is promised."""
    for randomizer in RANDOMIZERS:
        for shuffler in SHUFFLERS:
            cell = Cell(randomizer, shuffler)
            try:
                told = cell.claims
            except ShuffleDPError:
                continue
            if told:
                yield cell


def unstated() -> list[tuple[str, str]]:
    """Pairs about which nothing is promised: they cannot be put together, or no theorem applies."""
    stated = {(cell.randomizer_name, cell.shuffler_name) for cell in cells()}
    return [(one, other) for one in RANDOMIZERS for other in SHUFFLERS if (one, other) not in stated]


def claims_row(cell: Cell) -> str:
    """What is promised: the part of a row that no chance enters."""
    best = cell.claims[0]
    lower = f"{cell.lower:.3f}" if cell.lower > 0 else ""
    return (
        f"| {cell.randomizer_name} | {cell.shuffler_name} | {_up(best.guarantee.epsilon)} | "
        f"`{best.basis.theorem}` | {len(cell.claims)} | {lower} |"
    )


def _up(epsilon: float) -> str:
    return f"{math.ceil(epsilon * 1000 - 1e-9) / 1000:.3f}"


def page(trials: int = TRIALS) -> str:
    """The page, with a row for each pair and a row for each accountant."""
    rows, by_theorem = [], {}
    for cell in cells():
        report = cell.attacked(trials)
        finding = report.findings[0]
        if finding.evidence is None:
            shown, measured, attack = "", "", "not audited"
        else:
            shown, measured = f"{finding.evidence.epsilon_lower:.3f}", f"{finding.evidence.epsilon:.3f}"
            attack = f"`{finding.evidence.attack}`"
        refuted = sum(each.verdict == "refuted" for each in report.findings)
        rows.append(f"{claims_row(cell)} {shown} | {measured} | {attack} | {refuted} |")
        for each in report.findings:
            name, claimed = each.statement.basis.theorem, each.statement.guarantee.epsilon
            ratio = each.evidence.epsilon_lower / claimed if each.evidence and claimed else 0.0
            pairs, most, wrong = by_theorem.get(name, (0, 0.0, 0))
            by_theorem[name] = pairs + 1, max(most, ratio), wrong + (each.verdict == "refuted")
        sys.stderr.write(rows[-1] + "\n")
    theorems = [
        f"| `{name}` | {pairs} | {most:.2f} | {wrong} |" for name, (pairs, most, wrong) in sorted(by_theorem.items())
    ]
    missing = "; ".join(f"{one} through {other}" for one, other in unstated())
    return TEMPLATE.format(
        people=PEOPLE,
        delta=DELTA,
        epsilon0=EPSILON0,
        trials=trials,
        heads=f"| {' | '.join(HEADS)} |\n{'|---' * len(HEADS)}|",
        rows="\n".join(rows),
        theorems="\n".join(theorems),
        missing=missing,
    )


HEADS = (
    "randomizer",
    "shuffler",
    "least upper bound",
    "by",
    "accountants",
    "largest lower bound",
    "shown",
    "measured",
    "attack",
    "refuted",
)

TEMPLATE = """# Soundness: claims beside attacks

Every randomizer through every shuffler of this library, with {people} people, local loss {epsilon0:g} and
delta = {delta:g}: few people and a large delta, so that attacks have something to find. Each accountant that applies
makes its claim about what is released, and [the audit](attacks.md) attacks all of them with {trials} held-out runs at
99 %. "Shown" is the lower limit of epsilon by the strongest attack, "measured" what it measured. No claim may lie below
what is shown.

This page is written by one command, and the tests hold its claims to what the code says now:

```text
PYTHONPATH=src:tests python -m soundness.matrix docs/soundness.md
```

{heads}
{rows}

With colluding people the attack sees what passed through their hands, and the upper bound is the local one.

## By accountant

How many of these pairs each accountant applies to, and how close attacks come to its claim: the largest ratio of what
is shown to what is claimed.

| accountant | pairs | closest | refuted |
|---|---|---|---|
{theorems}

## Nothing is promised

Nothing is promised about these pairs, which do not fit together or which no theorem is about: {missing}.
"""


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
