"""Random walks past colluders, reduced to uniform shuffles of the honest reports that colluders cannot follow.

A fixed set of people tells the analyst all that passes through their hands; they pass reports on as agreed, and nobody
chose them by answers or walks. Of one report they know all or nothing (``laws.walk_collusion``): with chance c
it can be followed from its owner to the end, else it is hidden among 1 + M others, so that

    delta_v <= c delta_local + (1 - c) E[D(1 + M)],

with D(m) any bound for a uniform shuffle of m people. Reports that are recognized keep c at the chance that the first
to receive one colludes, whatever comes later; in layers of encryption c falls with every other round. The proofs are in
docs/theorems.md ("Colluders").
"""

import math
from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from shuffledp.accounting.numerics import smallest_below
from shuffledp.accounting.theorem import LocalOnly, common_reports
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Hypothesis
from shuffledp.core.table import Floats
from shuffledp.protocols.network.theorems.network_overlap import (
    NO_GAIN,
    TOLERANCE,
    Curve,
    HidingChances,
    Precision,
    ReducedToUniform,
    charges_of,
    finest,
    mixture_curve,
    turn_of,
    uniform_bound,
)
from shuffledp.protocols.network.theorems.network_walks import dummies_by_themselves, known_walks, walks_of

if TYPE_CHECKING:
    from shuffledp.protocols.network.laws.walk import WalkFacts
    from shuffledp.protocols.network.laws.walk_collusion import Crowd, Hiding

_ROUND_UP = 1 + 1e-12


class _BesideColluders(ReducedToUniform):
    """Base of theorems about colluders; subclasses state the ways in which reports are hidden.

    The least bound over the hidings of a subclass is taken.
    """

    @abstractmethod
    def hidings(self, walks: "WalkFacts") -> "tuple[Hiding, ...]":
        """Ways in which one report is hidden from colluders; empty where unknown."""

    def concerns(self, model: ProtocolModel) -> bool:
        """Whether the reports walk past colluders."""
        walks = walks_of(model)
        return super().concerns(model) and walks is not None and walks.num_colluding > 0

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Hypotheses: independent walks, colluders, two honest people, and a bound for a uniform shuffle of reports."""
        walks = walks_of(model)
        return (
            known_walks(model),
            *dummies_by_themselves(model),
            _everybody_walks(walks),
            _some_collude(model, walks),
            *self._of_hidings(walks),
            *common_reports(model),
            uniform_bound(model, walks, delta),
        )

    @abstractmethod
    def _of_hidings(self, walks: "WalkFacts | None") -> tuple[Hypothesis, ...]:
        """Hypotheses on the people who hide a report."""

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Epsilon solved on the curve, at most epsilon0."""
        walks, local = walks_of(model), model.local.guarantee
        limit = local.epsilon if local.delta <= delta else math.inf
        if walks is None or not math.isfinite(limit):
            return limit
        curve, highest = self.at_precision(model, walks, finest(delta)), min(limit, turn_of(model, walks.num_users))

        def at(epsilon: float) -> float:
            return float(curve(np.array([epsilon]))[0])

        if at(NO_GAIN * highest) > delta:
            return limit
        return smallest_below(at, level=delta, limit=highest, tolerance=TOLERANCE)

    def at_precision(self, model: ProtocolModel, walks: "WalkFacts", precision: Precision) -> Curve:
        """Curve of delta: at each epsilon the smallest of the hidings' bounds and the local bound."""
        mixed = [
            (each, [_crowd_curve(model, crowd, precision) for crowd in each.crowds]) for each in self.hidings(walks)
        ]

        def curve(epsilons: Floats) -> Floats:
            least = alone = LocalOnly().curve(model, epsilons=epsilons)
            for hiding, crowds in mixed:
                found, worst = hiding.alone * alone, np.zeros(len(epsilons))
                for crowd, of_crowd in zip(hiding.crowds, crowds, strict=True):
                    worst = np.maximum(worst, of_crowd(epsilons))  # the chances of each crowd follow the latest one
                    found = found + crowd.weight * worst
                least = np.minimum(least, found * _ROUND_UP)
            return np.asarray(np.minimum(least + charges_of(model, walks.num_users, epsilons), alone))

        return curve


class NetworkColluders(_BesideColluders):
    """Walks past colluders who recognize every report that they see again; a first receiver knows the owner.

    Of reports that have met no colluder after some round, later rounds being shown: of the first round of an overlay,
    whoever collude, or of any round of any graph where it is said who they are. The chance c of a colluding first
    receiver stays: no epsilon below epsilon0 holds with a delta far below c.
    """

    id = "network-colluders"
    citation = "uniform shuffling of honest people's reports that have met no colluder"

    def hidings(self, walks: "WalkFacts") -> "tuple[Hiding, ...]":
        """Hidings of one report: one for each round if colluders are known, and one for an overlay's first round."""
        if not 0 < walks.num_colluding < walks.num_users:
            return ()
        from shuffledp.protocols.network.laws.walk_collusion import Crowd, Hiding

        others = walks.num_users - walks.num_colluding - 1
        found = [
            Hiding(alone=1 - unseen, crowds=(Crowd(unseen, others, overlap, math.floor(others * overlap)),))
            for unseen, overlap in zip(walks.unseen_chances, walks.unseen_overlaps, strict=True)
        ]
        if walks.sizes:
            found.append(_worst_hiding(walks, 1))
        return tuple(found)

    def _of_hidings(self, walks: "WalkFacts | None") -> tuple[Hypothesis, ...]:
        alone = min((each.alone for each in self.hidings(walks)), default=1.0) if walks is not None else 1.0
        return (
            Hypothesis(
                name="honest-first-receivers",
                requirement="somebody honest whom everybody's report may go to first: an overlay whose groups have "
                "more members than there are colluders, or colluders who are named",
                value=f"the chance that colluders see a report is at most {alone:.6g}",
                holds=alone < 1,
            ),
        )


class NetworkOnion(_BesideColluders):
    """Walks of reports in layers of encryption, so that colluders recognize no report.

    There is one layer for each relay.

    A report is hidden in the first round in which an honest person passes it to an honest one. After t rounds none has
    come with a chance of about c^(t/2), rounded up, for a share c of colluders in each group.
    """

    id = "network-onion"
    citation = "uniform shuffling of the reports that honest people pass to honest people in the same round"

    def hidings(self, walks: "WalkFacts") -> "tuple[Hiding, ...]":
        """Hiding of one report by all rounds of an overlay together.

        Empty where the theorem does not apply.
        """
        if not (walks.onion and walks.sizes and 0 < walks.num_colluding < walks.num_users and not walks.dropout):
            return ()
        return (_worst_hiding(walks, walks.num_rounds),)

    def _of_hidings(self, walks: "WalkFacts | None") -> tuple[Hypothesis, ...]:
        layered = walks is not None and walks.onion and bool(walks.sizes) and not walks.dropout
        hidings = self.hidings(walks) if walks is not None else ()
        value = "no walks" if walks is None else f"onion={str(walks.onion).lower()}, dropout={walks.dropout:g}"
        return (
            Hypothesis(
                name="layered-reports",
                requirement="reports in layers of encryption on an overlay, none of which is lost",
                value=value if walks is None or walks.sizes else f"{value}, on a graph",
                holds=layered,
            ),
            Hypothesis(
                name="honest-to-honest",
                requirement="groups with more members than there are colluders",
                value=f"the chance that no honest person passes a report to an honest one is at most "
                f"{hidings[0].alone if hidings else 1.0:.6g}",
                holds=bool(hidings) and hidings[0].alone < 1,
            ),
        )


def _worst_hiding(walks: "WalkFacts", num_rounds: int) -> "Hiding":
    from shuffledp.protocols.network.laws.walk_collusion import worst_hiding  # imported here: only walks need graphs
    from shuffledp.protocols.network.people.overlays import Overlay

    return worst_hiding(Overlay(walks.num_users, walks.sizes), walks.num_colluding, num_rounds)


def _everybody_walks(walks: "WalkFacts | None") -> Hypothesis:
    present = walks is not None and not (walks.offline or walks.schedule) and walks.gate is None
    value = "links with slots" if present and walks is not None and walks.slots else "everybody" if present else "some"
    return Hypothesis(
        name="independent-walks",
        requirement="reports that walk independently of each other and of the answers, with everybody online",
        value=value,
        holds=value == "everybody",
    )


def _some_collude(model: ProtocolModel, walks: "WalkFacts | None") -> Hypothesis:
    colluding = 0 if walks is None else walks.num_colluding
    return Hypothesis(
        name="counted-colluders",
        requirement="some relays that collude with the analyst, whom neither answers nor walks choose, and two or more "
        "people who do not",
        value=f"num_colluding={colluding} of num_users={model.num_users}",
        holds=walks is not None and 0 < colluding < walks.num_users - 1,
    )


def _crowd_curve(model: ProtocolModel, crowd: "Crowd", precision: Precision) -> Curve:
    """Upper bound on the mean of D(1 + M): M people of a crowd hide the victim.

    D is a uniform shuffle's delta.
    """
    hidden = HidingChances(exposed=0.0, chance=crowd.chance, most=crowd.most)
    return mixture_curve(model, crowd.others + 1, hidden, precision)
