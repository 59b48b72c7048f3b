"""Random walks on a graph in parts: each person has the guarantee of the person's own part.

What is seen of different parts is independent, so the guarantee of everybody is the largest over parts
(docs/theorems.md, "network-parts"). Of a part with more people, whose positions are nearer to each other in all
measures of `network-overlap`, no more is stated than of another: telling some of its people's places and answers leaves
fewer, and the measures are upper bounds.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from shuffledp.accounting.theorem import LocalOnly, Theorem
from shuffledp.core.guarantees import CentralDP, Guarantee
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.core.statement_terms import Hypothesis, Status
from shuffledp.core.table import Floats
from shuffledp.protocols.network.theorems.network_overlap import NetworkOverlap
from shuffledp.protocols.network.theorems.network_single import NetworkSingle
from shuffledp.protocols.network.theorems.network_walks import (
    dummies_by_themselves,
    independent_walks,
    known_walks,
    nobody_colludes,
    walks_of,
)

if TYPE_CHECKING:
    from shuffledp.protocols.network.laws.walk import WalkFacts

_OF_PARTS: tuple[Theorem, ...] = (LocalOnly(), NetworkOverlap(), NetworkSingle())
_ANY_DELTA = 0.5

_Measures = tuple[float, float, float, float]  # how few people, and how far apart their positions: larger is worse


class NetworkParts(Theorem):
    """Guarantee for every person of a graph in parts: the largest bound of a part."""

    id = "network-parts"
    citation = "random walks in each part of the graph, of which nothing leaves it"
    status = Status.OWN_PROOF
    is_vectorized = True
    supersedes = (NetworkOverlap.id, NetworkSingle.id)

    def concerns(self, model: ProtocolModel) -> bool:
        """Whether the reports walk on a graph in parts, on links without slots."""
        walks = walks_of(model)
        return super().concerns(model) and walks is not None and walks.num_parts > 1 and not walks.slots

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Hypotheses: independent walks in known parts, no colluders, and a theorem for each part."""
        walks = walks_of(model)
        requirement = "a graph in 2 parts or more, of which it is known what holds in each (64 at most)"
        value = "no walks" if walks is None else _sizes(walks)
        known = Hypothesis("known-parts", requirement, value, walks is not None and len(walks.parts) > 1)
        walk = (known_walks(model), *dummies_by_themselves(model), *independent_walks(model))
        first = (*walk, nobody_colludes(model), known)
        if not all(each.holds for each in first):
            return first
        said = [len(_applying(part, delta)) for part in _parts(model)]
        value = f"one for {np.count_nonzero(said)} of {len(said)} parts that may be the weakest"
        covered = Hypothesis("theorem-for-each-part", "a theorem for the reports of each part", value, all(said))
        return (*first, covered)

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Epsilon: the largest of all parts."""
        return max((_epsilon(part, delta) for part in _parts(model)), default=model.local.epsilon0)

    def explained(self, model: ProtocolModel, *, delta: float) -> tuple[Guarantee, tuple[str, ...]]:
        """Guarantee, with a remark on the weakest part."""
        epsilons = [(_epsilon(part, delta), part.num_users) for part in _parts(model)]
        epsilon, people = max(epsilons, key=lambda each: (each[0], -each[1]))
        walks = walks_of(model)
        return CentralDP(epsilon=epsilon, delta=delta), (
            f"The graph is in {1 if walks is None else walks.num_parts} parts that no report leaves, each a shuffle of "
            f"its own people. This is about the weakest part, of {people} people; nobody's guarantee is weaker.",
        )

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """Delta: the largest of all parts."""
        if not self.applies(model, delta=_ANY_DELTA):
            return 1.0
        return max(
            min((each.delta(part, epsilon=epsilon) for each in _applying(part, _ANY_DELTA)), default=1.0)
            for part in _parts(model)
        )

    def curve(self, model: ProtocolModel, *, epsilons: Floats) -> Floats:
        """Delta at each of many epsilons, by fast theorems."""
        if not self.applies(model, delta=_ANY_DELTA):
            return np.ones(len(epsilons))
        curves = []
        for part in _parts(model):
            fast = [each for each in _applying(part, _ANY_DELTA) if each.is_vectorized]
            curves.append(np.min([np.ones(len(epsilons)), *(each.curve(part, epsilons=epsilons) for each in fast)], 0))
        return np.asarray(np.max(curves, axis=0))


def _sizes(walks: "WalkFacts") -> str:
    if not walks.parts:
        return f"num_parts={walks.num_parts}, known of none"
    people = [part.num_users for part in walks.parts]
    return f"num_parts={walks.num_parts}, of {min(people)} to {max(people)} people"


def _applying(part: ProtocolModel, delta: float) -> list[Theorem]:
    return [each for each in _OF_PARTS if each.applies(part, delta=delta)]


def _epsilon(part: ProtocolModel, delta: float) -> float:
    return min((each.epsilon(part, delta=delta) for each in _applying(part, delta)), default=part.local.epsilon0)


def _parts(model: ProtocolModel) -> list[ProtocolModel]:
    """Parts that may have the weakest guarantee, each as a protocol."""
    walks = walks_of(model)
    found = [] if walks is None else _perhaps_weakest(walks.parts)
    return [replace(model, shuffle=cast(ShuffleModel, part)) for part in found]


def _perhaps_weakest(parts: "tuple[WalkFacts, ...]") -> "list[WalkFacts]":
    """Parts that may have the weakest guarantee.

    Dominated parts are left out if people hand in all reports, else only equal parts.
    """
    if any(part.protocol != "all" for part in parts):
        return list({replace(cast(Any, part), graph_digest=""): part for part in parts}.values())
    found: list[tuple[_Measures, WalkFacts]] = []
    for part in parts:
        mine = (-part.num_users, -part.mean_overlap, part.near_uniformity, part.separation)
        if not any(_is_behind(measures, mine) for measures, _ in found):
            found = [each for each in found if not _is_behind(mine, each[0])]
            found.append((mine, part))
    return [part for _, part in found]


def _is_behind(one: _Measures, other: _Measures) -> bool:
    """Whether one part is as weak as the other, or weaker, in every measure."""
    return all(a >= b for a, b in zip(one, other, strict=True))
