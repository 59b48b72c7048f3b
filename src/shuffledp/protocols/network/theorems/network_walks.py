"""Random walks in theorems: the walk's facts in a model, and common hypotheses.

Person j's report ends at place i with probability P_j(i); who hands in which reports is seen, and nothing else. The
proofs are in docs/theorems.md, "Random walks without a shuffler".

The hypotheses are needed. Where empty-handed people hand in nothing, or the number of reports held is seen, the bound
for one report each is exceeded on a path of three people already (``tests/soundness/test_soundness_network.py``).
"""

import math
from typing import TYPE_CHECKING, cast

from shuffledp.accounting.theorem import Theorem
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import ASSUMED, Hypothesis

if TYPE_CHECKING:
    from shuffledp.protocols.network.laws.walk import WalkFacts


def walks_of(model: ProtocolModel) -> "WalkFacts | None":
    """Facts about the model's random walks; None for another shuffle."""
    return cast("WalkFacts", model.shuffle) if model.shuffle.kind == "network" else None


def known_walks(model: ProtocolModel) -> Hypothesis:
    """Hypothesis: reports walk for one round or more."""
    walks = walks_of(model)
    rounds = "" if walks is None else f", num_rounds={walks.num_rounds}"
    requirement = "random walks of at least one round, which the analyst sees the end of alone"
    value = f"shuffler {model.shuffle.kind!r}{rounds}"
    return Hypothesis("random-walks", requirement, value, walks is not None and walks.num_rounds >= 1)


def independent_walks(model: ProtocolModel) -> tuple[Hypothesis, ...]:
    """Hypotheses: reports walk independently of each other and of their content, given attendance."""
    walks = walks_of(model)
    requirement = (
        "reports that walk independently of each other and of the answers: nobody is offline, or who was online in "
        "each round is recorded"
    )
    if walks is None:
        return (Hypothesis("independent-walks", requirement, "no walks", False),)
    recorded = "a recorded schedule of who was online"
    known = recorded if walks.schedule is not None else "a gate that looks at who was online"
    given = walks.schedule is not None or walks.gate is not None
    value = "links with slots" if walks.slots else known if given else f"offline={walks.offline:g}"
    holds = not walks.slots and (given or walks.offline == 0)
    independent = Hypothesis("independent-walks", requirement, value, holds)
    return (independent, *((_independent_schedule(),) if given else ()))


def _independent_schedule() -> Hypothesis:
    requirement = "who is online when depends on no answer, report or walk, and is recorded as it was"
    return Hypothesis("independent-schedule", requirement, ASSUMED, True)


def nobody_colludes(model: ProtocolModel) -> Hypothesis:
    """Hypothesis: no relay colludes with the analyst.

    A colluder who receives a report in the first round knows its owner.
    """
    walks = walks_of(model)
    colluding = None if walks is None else walks.num_colluding
    return Hypothesis(
        name="no-colluding-relays",
        requirement="no relay that colludes with the analyst: it would know the owner of what comes in the first "
        "round, and no epsilon below epsilon0 holds with a small delta, unless reports are in layers (onion)",
        value="no walks" if colluding is None else f"num_colluding={colluding}",
        holds=colluding == 0,
    )


def fresh_dummies(model: ProtocolModel) -> Hypothesis:
    """Hypothesis: all people hand in equally many reports, with fresh dummies for missing reports."""
    walks = walks_of(model)
    dummies = None if walks is None else walks.dummy_model_among(model.local)
    made = "of no known randomizer" if dummies is None else f"of {dummies.kind!r}, epsilon0={dummies.epsilon0:.6g}"
    # Another randomizer of the same epsilon0 is not enough: its reports may differ by their domain alone.
    fresh = dummies is not None and dummies == model.local
    return Hypothesis(
        name="hidden-bag-sizes",
        requirement="one report of each person, or equally many, where those who hold too few add fresh dummies from "
        "the same randomizer, those who hold too many choose uniformly, and how many they held is not seen",
        value="no walks" if walks is None else f"protocol {walks.protocol!r}, dummies {made}",
        holds=walks is not None and walks.protocol in ("single", "padded") and fresh,
    )


def dummies_by_themselves(model: ProtocolModel) -> tuple[Hypothesis, ...]:
    """Hypothesis: dummies made by a function do not depend on reports; empty for dummies of a known model."""
    walks = walks_of(model)
    if walks is None or walks.protocol == "all" or walks.dummy_model_among(model.local) is not None:
        return ()
    requirement = "dummies are made by a function, which looks at no report and draws them by itself"
    return (Hypothesis("independent-dummies", requirement, "assumed, as no code can check it", True),)


class WalkTheorem(Theorem):
    """Base of theorems about random walks."""

    def concerns(self, model: ProtocolModel) -> bool:
        """Whether the reports walk, without slots, and without parts that `network-parts` covers."""
        walks = walks_of(model)
        return super().concerns(model) and walks is not None and not (walks.parts or walks.slots)


def likeness_text(walks: "WalkFacts") -> str:
    """Text on the likeness of positions, with the reason if walks never mix."""
    found = (
        f"mean_overlap={walks.mean_overlap:.6g}, near_uniformity={walks.near_uniformity:.6g}, "
        f"separation={walks.separation:.6g}"
    )
    alike = walks.mean_overlap > 0 or math.isfinite(walks.near_uniformity) or walks.separation < 1
    if alike or walks.num_rounds == 0:
        return found
    if walks.num_parts > 1:
        return f"{found}, as the graph is in {walks.num_parts} parts that no report leaves"
    side = (
        ", as the graph is bipartite and laziness=0, so that the number of rounds shows on which side a report began "
        "(laziness=0.1 mixes the sides)"
    )
    return found + side if walks.is_bipartite and not walks.laziness else found
