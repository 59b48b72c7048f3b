"""Plan of a network shuffle: guarantee and cost by rounds, the parts of the graph, and risks."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np

from shuffledp.accounting import account, epsilon_of
from shuffledp.core import validate
from shuffledp.core.described import Described, without_none
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Progress
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.people.graphs import Graph, lazy_gap, mixing_time
from shuffledp.people.graphs.connected_parts import together
from shuffledp.planning.family_plan import FamilyPlan
from shuffledp.protocols.network.laws.walk_distributions import mixing_rounds
from shuffledp.protocols.network.laws.walk_loads import expected_messages
from shuffledp.protocols.network.planning.constant_links import LinksPlan, plan_links
from shuffledp.protocols.network.planning.network_rounds import (
    MOST_ROUNDS,
    MOST_SEARCHED,
    NetworkShuffle,
    epsilon_of_uniform,
    fewest_rounds,
    model_of,
    why_no_rounds,
)
from shuffledp.protocols.network.planning.planned_churn import PlannedChurn
from shuffledp.protocols.network.planning.planned_facts import PlannedLoss
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.protocols.network.theorems.network_limits import first_hop_delta

_FEW = 10  # reports; an estimate from fewer is useless
_GRID, _FEWER, _MANY = 10, 5, 5_000  # numbers of rounds; where accounting takes longer
_SHARES = (0.01, 0.1, 0.5)  # of neighbors, or of all people, who collude


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterRounds(Described):
    """Guarantee and cost of one number of rounds.

    Args:
        rounds: how often every report is passed on.
        epsilon: what is guaranteed at the plan's delta.
        theorem: by which theorem.
        messages: reports that a person is expected to pass on, on average over people.
        messages_most: those of the person who passes on most.
        lacking: people expected to hold no report in the end; with "padded", reports expected to be lacking.
        exact: whether the law of everybody's position was worked out; else it is bounded by the spectral gap.
    """

    rounds: int
    epsilon: float
    theorem: str
    messages: float
    messages_most: float
    lacking: float
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PartOfGraph(Described):
    """Part of a graph: people connected to each other and to no other person.

    Args:
        people: how many.
        edges: between them.
        is_bipartite: whether they have two sides.
        gap: "alpha" in papers, laziness included; None for several graphs.
        mixing_time: log(people) / gap, in rounds; None for several graphs.
        epsilon: what is guaranteed to each of them after the planned rounds.
        uniform: epsilon of a uniform shuffle of as many.
        fewest_rounds: the fewest rounds found that come within 5% of that; None if none do, that gains nothing, or
            there are too many parts to look, or several graphs.
    """

    people: int
    edges: int
    is_bipartite: bool
    gap: float | None
    mixing_time: float | None
    epsilon: float
    uniform: float
    fewest_rounds: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Risk(Described):
    """Risk that remains if a share of people colludes: numbers to weigh, no promise.

    Args:
        share: of the people.
        exposure: the chance that a report is ever in the hands of one of them, at most, on average over who they are.
        delta_at_least: against this share of one's own neighbors, delta is at least that, whatever the theorem, at
            half of epsilon0; for the worst randomizer of that epsilon0.
    """

    share: float
    exposure: float
    delta_at_least: float


class PlannedWalks(FamilyPlan):
    """Base of the plans of walks, along graphs and on overlays."""

    __slots__ = ()
    key: ClassVar[str] = "network"

    def to_dict(self) -> dict[str, Any]:
        """Fields of the plan; ``churn`` only for plans with churn."""
        return without_none(super().to_dict(), "churn")

    @property
    @abstractmethod
    def warnings(self) -> tuple[str, ...]:
        """Warnings to read before a collection; empty if there are none."""

    def warnings_for(self, models: Sequence[ProtocolModel]) -> tuple[str, ...]:
        """Warnings about the walks, which are equal for all randomizers."""
        del models
        return self.warnings

    @property
    def all_is_better(self) -> bool:
        """Whether epsilon would be the same or smaller if people handed in all their reports.

        It also loses no reports and needs no dummies.
        """
        plan = cast("NetworkPlan", self)  # or another plan with the same fields
        return plan.epsilon_of_all is not None and plan.epsilon_of_all <= plan.epsilon


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPlan(PlannedLoss, PlannedWalks):
    """Plan of a network shuffle: guarantee and cost of its rounds.

    Args:
        fewest_rounds: the fewest rounds found after which epsilon is at most 1.05 times that, or in each part what
            its people can come near to; None if none are, or with more than 8 parts.
        mixing_time: log(people) / gap, in rounds, of the slowest part; None for several graphs or over 64 parts.
        distance_rounds: the first round after which everybody's law is within 0.01 of the stationary one: at least and
            at most, of the slowest part; None for several graphs, over 64 parts, or if there is none.
        by_rounds: ascending; the planned rounds among them.
        parts: the largest first, at most 64 of them.
        risks: if people collude, the planned share of them first.
        links: what slots of links cost; None where reports go one by one, and whoever watches follows them.
        churn: what is planned of people who go offline; None where everybody is online.
    """

    fewest_rounds: int | None
    mixing_time: float | None
    distance_rounds: tuple[int, ...] | None
    by_rounds: tuple[AfterRounds, ...]
    parts: tuple[PartOfGraph, ...]
    risks: tuple[Risk, ...]
    links: LinksPlan | None = None
    churn: PlannedChurn | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings to read before a collection; empty if there are none."""
        found = []
        if self.rounds == 0:
            found.append("rounds = 0: every report is handed in by its sender, and only epsilon0 holds.")
        elif self.two_sides:
            found.append(
                "The graph is bipartite and nobody is lazy: the number of rounds shows on which side a report began. "
                "laziness = 0.1 mixes the sides."
            )
        found.extend(self.churn.warnings if self.churn is not None else ())
        if self.num_parts > 1:
            found.append(
                f"The graph is in {self.num_parts:,} parts that no report leaves: everybody hides among those of "
                f"their own part, and the guarantee is {'that of the weakest' if self.parts else 'of no part alone'}."
            )
        if self.surviving < _FEW and self.surviving < self.num_users:
            found.append(
                f"Of {self.num_users:,} reports {self.surviving:.2g} are expected not to get lost on their way: next "
                "to nothing can be estimated, and nothing is released if none is left."
            )
        return tuple(found)

    @property
    def why_not_searched(self) -> str:
        """Reason why the fewest rounds were not searched for: too many parts of the graph; "" otherwise."""
        if self.fewest_rounds is not None or self.two_sides or self.num_parts <= MOST_SEARCHED:
            return ""
        return f"in more than {MOST_SEARCHED} parts they are not looked for"

    @property
    def own(self) -> AfterRounds:
        """Guarantee and cost of the planned rounds."""
        return next(each for each in self.by_rounds if each.rounds == self.rounds)


def plan_walk(
    walk: NetworkShuffle,
    rounds: int | RandomWalkShuffler | None = None,
    *,
    delta: float,
    fewest_known: bool = False,
    progress: Progress | None = None,
) -> NetworkPlan:
    """Plan of a network shuffle: its guarantee and cost, before a report is made.

    Args:
        walk: the shuffle.
        rounds: how often every report is passed on; or the shuffler that `NetworkShuffle.shuffler` made, which keeps
            what it has worked out; None is the fewest that are enough.
        delta: of the guarantee, strictly between 0 and 1.
        fewest_known: whether ``rounds`` is already known to be the fewest that are enough, which are looked for else.
        progress: told how many numbers of rounds have been accounted for.

    Raises:
        InvalidParameterError: if an argument is out of range, or no rounds are given and none are found to be enough.

    Example:
        >>> from shuffledp import Graph, KaryRandomizedResponse
        >>> everybody = Graph.from_edges([(one, other) for one in range(20) for other in range(one)])
        >>> walk = NetworkShuffle(graph=everybody, randomizer=KaryRandomizedResponse(epsilon0=1.0, domain_size=2))
        >>> plan = plan_walk(walk, delta=0.05)
        >>> plan.rounds, plan.epsilon <= 1.05 * plan.uniform
        (4, True)
    """
    validate.instance_of(NetworkShuffle, walk=walk)
    validate.open_probability(delta=delta)
    if rounds is not None and not isinstance(rounds, RandomWalkShuffler):
        validate.integer_at_least(0, rounds=rounds)
    if rounds is None:
        rounds, fewest_known = fewest_rounds(walk, delta=delta, progress=progress), True
    if rounds is None:
        raise InvalidParameterError(f"rounds must be given here: {why_no_rounds(walk, delta=delta)}; got None.")
    shuffler = rounds if isinstance(rounds, RandomWalkShuffler) else walk.shuffler(rounds)
    first, local, everything = walk.graphs[0], walk.local, _all_edges(shuffler)
    uniform = epsilon_of_uniform(local, first.num_users, delta)
    fewest = shuffler.num_rounds if fewest_known else fewest_rounds(walk, delta=delta, progress=progress)
    mixing, distance = _mixing(shuffler)
    numbers, rows = _rounds_to_show(shuffler, fewest, mixing), []
    for done, number in enumerate(numbers):
        rows.append(after_rounds(shuffler if number == shuffler.num_rounds else walk.shuffler(number), local, delta))
        if progress is not None:
            progress(done + 1, len(numbers))
    own = next(row for row in rows if row.rounds == shuffler.num_rounds)
    return NetworkPlan(
        num_users=first.num_users,
        num_edges=first.num_edges,
        num_graphs=len(walk.graphs),
        merged_edges=first.merged_edges,
        dropped_loops=first.dropped_loops,
        num_parts=everything.num_parts,
        two_sides=everything.is_bipartite and not shuffler.resting,
        irregularity=first.irregularity,
        protocol=walk.protocol,
        rounds=shuffler.num_rounds,
        epsilon=own.epsilon,
        uniform=uniform,
        epsilon_of_all=epsilon_of_everything(walk, shuffler.num_rounds, delta),
        surviving=first.num_users * (1 - shuffler.dropout) ** shuffler.num_rounds,
        fewest_rounds=fewest,
        mixing_time=mixing,
        distance_rounds=distance,
        by_rounds=tuple(rows),
        parts=_parts(walk, shuffler, delta, own),
        risks=risks_of(shuffler, local, walk.colluding + walk.fakes / walk.num_users),
        links=plan_links(shuffler, local, own.epsilon),
        churn=PlannedChurn.of(shuffler),
    )


def _all_edges(shuffler: RandomWalkShuffler) -> Graph:
    """Graph of all edges that a report may take in any round."""
    return together(shuffler.graphs)


def shufflers_of_parts(shuffler: RandomWalkShuffler) -> tuple[RandomWalkShuffler, ...]:
    """Shuffler of each part of the graph, the largest first; none for too many parts.

    A single part has the given shuffler.
    """
    return (shuffler,) if _all_edges(shuffler).is_connected else shuffler.parts


def epsilon_of_everything(walk: NetworkShuffle, num_rounds: int, delta: float) -> float | None:
    """Epsilon if people handed in all reports that they hold; None if they do so already."""
    if walk.protocol == "all":
        return None
    every = replace(walk, protocol="all", submissions=None).shuffler(num_rounds)
    return epsilon_of(account(model_of(every, walk.local), delta=delta).guarantee)


def _mixing(shuffler: RandomWalkShuffler) -> tuple[float | None, tuple[int, ...] | None]:
    """Mixing times of the slowest part: a usual estimate and two bounds; None where unknown."""
    graph, resting = shuffler.graph, shuffler.resting
    parts = [each.graphs[0] for each in shufflers_of_parts(shuffler)]
    if not isinstance(graph, Graph) or not parts:
        return None, None
    distances = [found for part in parts if (found := mixing_rounds(part, resting)) is not None]
    customary = max(mixing_time(part, resting) for part in parts)
    if len(distances) < len(parts):
        return customary, None
    return customary, (max(found.least for found in distances), max(found.most for found in distances))


def _rounds_to_show(shuffler: RandomWalkShuffler, fewest: int | None, mixing: float | None) -> list[int]:
    """Numbers of rounds to show, with the planned and the fewest among them."""
    own, slow = shuffler.num_rounds, shuffler.protocol != "all" or shuffler.num_users > _MANY
    if shuffler.gate is not None or shuffler.schedule is not None:  # no gate for other rounds
        return [own]
    customary = min(math.ceil(mixing), MOST_ROUNDS) if mixing is not None and math.isfinite(mixing) else 0
    last = max(4, math.ceil(1.5 * max(own, fewest or 0)), customary if fewest is None else 0)
    grid = np.geomspace(1, last, _FEWER if slow else _GRID).round().astype(int)
    return sorted({own, *(number for number in grid.tolist()), *([fewest] if fewest else [])})


def after_rounds(shuffler: RandomWalkShuffler, local: LocalModel, delta: float) -> AfterRounds:
    """Guarantee and cost of a shuffler's rounds."""
    stated = account(model_of(shuffler, local), delta=delta)
    messages = expected_messages(shuffler.graph, shuffler.num_rounds, **shuffler.chances)
    return AfterRounds(
        rounds=shuffler.num_rounds,
        epsilon=epsilon_of(stated.guarantee),
        theorem=stated.basis.theorem,
        messages=float(messages.mean()),
        messages_most=float(messages.max()),
        lacking=shuffler.bounds.dummies,
        exact=shuffler.bounds.likeness.exact,
    )


def _parts(
    walk: NetworkShuffle, shuffler: RandomWalkShuffler, delta: float, whole: AfterRounds
) -> tuple[PartOfGraph, ...]:
    """Facts about each part of the graph."""
    found, shufflers, local = [], shufflers_of_parts(shuffler), walk.local
    searched = 1 < len(shufflers) <= MOST_SEARCHED
    for each in shufflers:
        part, stated, fewest = each.graphs[0], whole.epsilon, None
        alone = isinstance(each.graph, Graph)
        if len(shufflers) > 1:
            stated = epsilon_of(account(model_of(each, local), delta=delta).guarantee)
        if searched and alone:
            fewest = fewest_rounds(walk.on_part((part,)), delta=delta)
        found.append(
            PartOfGraph(
                people=part.num_users,
                edges=part.num_edges,
                is_bipartite=_all_edges(each).is_bipartite,
                gap=lazy_gap(part, shuffler.resting) if alone else None,
                mixing_time=mixing_time(part, shuffler.resting) if alone else None,
                epsilon=stated,
                uniform=epsilon_of_uniform(local, part.num_users, delta),
                fewest_rounds=fewest,
            )
        )
    return tuple(found)


def risks_of(shuffler: RandomWalkShuffler, local: LocalModel, own: float) -> tuple[Risk, ...]:
    """Risks for the planned share of colluders first, and then for some other shares."""
    people, epsilon0 = shuffler.num_users, local.epsilon0
    model = shuffler.model(people)
    shares = {share: math.ceil(share * people * (1 - 1e-12)) for share in (own, *_SHARES)}
    return tuple(
        Risk(
            share=share,
            exposure=model.exposure(colluding) + 0.0,  # never -0
            delta_at_least=first_hop_delta(share=share, epsilon0=epsilon0, epsilon=epsilon0 / 2),
        )
        for share, colluding in shares.items()
        if 0 < colluding < people
    )
