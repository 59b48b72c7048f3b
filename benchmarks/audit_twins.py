"""How often the default audit refutes pipelines that are broken in one way each, and how often the honest ones.

Run it with ``PYTHONPATH=src:tests``; the numbers of ``docs/attacks.md`` are its output.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import cast

from attacks.test_walk_games import exact_claim, small

import shuffledp as sdp
from attacks.test_games import mallows
from attacks.twins import OneRoundEarly, TooConcentrated, walking
from shuffledp.accounting import account
from shuffledp.attacks import audit
from shuffledp.core.statements import PrivacyStatement
from shuffledp.pipeline import Pipeline
from shuffledp.protocols.d_sigma.theorems.meehan22 import d_sigma_statement
from shuffledp.testing import SeededSource

Case = Callable[[], tuple[Pipeline, Pipeline, PrivacyStatement, int]]


def concentration() -> tuple[Pipeline, Pipeline, PrivacyStatement, int]:
    """A Mallows concentration that is a fifth too large, for groups at alpha = 1."""
    truthful = sdp.KaryRandomizedResponse(epsilon0=6.0, domain_size=3)
    honest, twin = (
        sdp.Pipeline(randomizer=truthful, shuffler=each, analyzer=sdp.FrequencyAnalyzer())
        for each in (mallows(), mallows(TooConcentrated))
    )
    claim = d_sigma_statement(honest.model(4))
    if claim is None:
        raise RuntimeError("a Mallows shuffle is d_sigma-private")
    return honest, twin, claim, 4


def early() -> tuple[Pipeline, Pipeline, PrivacyStatement, int]:
    """No round in place of one, among 30 people who all know each other."""
    complete = sdp.Graph.from_edges([(one, other) for one in range(30) for other in range(one)])
    honest, twin = (walking(kind, graph=complete, num_rounds=1) for kind in (sdp.RandomWalkShuffler, OneRoundEarly))
    return honest, twin, account(honest.model(30), delta=0.05), 30


def early_on_a_path() -> tuple[Pipeline, Pipeline, PrivacyStatement, int]:
    """One round in place of two on a path of four, against the exact loss."""
    honest, twin = (walking(kind, graph=small("P4"), num_rounds=2) for kind in (sdp.RandomWalkShuffler, OneRoundEarly))
    return honest, twin, exact_claim(honest, "P4", "single", 2), 4


def colluders() -> tuple[Pipeline, Pipeline, PrivacyStatement, int]:
    """Four of six neighbors collude, and the claim forgets them."""
    graph = sdp.Graph.random_regular(6, 80, source=SeededSource(1))
    honest = walking(graph=graph, num_rounds=4, epsilon0=2.0)
    twin = replace_colluding(honest, 4)
    return honest, twin, account(honest.model(80), delta=0.05), 80


def replace_colluding(pipeline: Pipeline, number: int) -> Pipeline:
    """The pipeline, with this number of colluding people."""
    shuffler = cast(sdp.RandomWalkShuffler, pipeline.shuffler)
    return replace(pipeline, shuffler=replace(shuffler, num_colluding=number))


CASES: dict[str, Case] = {each.__name__: each for each in (concentration, early, early_on_a_path, colluders)}


def main(audits: int) -> None:
    """Print a row for each way to be broken."""
    print(
        "| broken | claimed | shown (median) | twin refuted | honest refuted | an audit takes |\n"
        "|---|---|---|---|---|---|"
    )
    for name, case in CASES.items():
        honest, twin, claim, people = case()
        start, found = time.perf_counter(), []
        for pipeline in (twin, honest):
            found.append(
                [audit(pipeline, claim, num_users=people, source=SeededSource(seed)) for seed in range(audits)]
            )
        seconds = (time.perf_counter() - start) / (2 * audits)
        shown = sorted(report.findings[0].evidence.epsilon_lower for report in found[0] if report.findings[0].evidence)[
            audits // 2
        ]
        loss = getattr(claim.guarantee, "epsilon", None) or getattr(claim.guarantee, "alpha", 0.0)
        counts = [sum(report.refuted for report in reports) for reports in found]
        print(
            f"| {name.replace('_', ' ')} | {loss:.3f} | {shown:.3f} | {counts[0]} of {audits} | "
            f"{counts[1]} of {audits} | {seconds:.0f} s |",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
