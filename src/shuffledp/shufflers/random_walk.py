"""Network shuffling: everybody passes reports on to random neighbors, and hands in what has come to them at the end.

References:
    Liew, Takahashi, Takagi, Kato, Cao, Yoshikawa, "Network Shuffling: Privacy Amplification via Random Walks", SIGMOD
    2022. Several of its statements do not hold as printed: see the list of errata.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError, LocalProtocolError, UnsupportedModelError
from shuffledp.core.flow import Randomizer, Reports, View
from shuffledp.core.shuffle_models import DummyReports
from shuffledp.core.table import Integers, Table
from shuffledp.laws import LOST, PositionBounds, Walks, position_bounds, sample_walks
from shuffledp.laws.link_slots import checked_slots, surplus_chance
from shuffledp.laws.walk_distributions import graphs_of_rounds, people_of
from shuffledp.people.graphs import Graph, Overlay
from shuffledp.people.graphs.connected_parts import parts_of, together
from shuffledp.people.graphs.overlays import check_cycles
from shuffledp.randomness.permutations import random_permutation
from shuffledp.randomness.sources import RandomSource, resolve_source
from shuffledp.shufflers.walk_dummies import DummyMaker, check_maker, fresh_dummies
from shuffledp.shufflers.walk_model import (
    PROTOCOLS,
    SURPLUS,
    RandomWalkShuffleModel,
    check_constant,
    checked_chances,
    checked_submissions,
)

_MOST_PARTS = 64  # of which each is accounted for by itself


@dataclass(frozen=True, kw_only=True, eq=False)
class RandomWalkShuffler:
    """Lets every report walk along a graph of people before it is handed in; "A_all", "A_single" in papers.

    In each round everybody passes each report that they hold on to a neighbor of theirs, chosen uniformly. After the
    last round everybody hands in all reports that they hold ("all"); or one of them, chosen uniformly, or a fresh dummy
    if they hold none ("single"); or exactly ``submissions``, of which dummies fill the places of those that are lacking
    and superfluous ones are dropped ("padded"). The label of a report is who handed it in.

    Guarantees:
        1. Walks are exactly those of the model: uniform on neighbors, independent of each other and of the reports.
        2. "single" and "padded" show equally many reports from everybody: how many were held is not seen.
        3. Among the reports of one person the order carries no information.
        4. rounds = 0 passes nothing on: every report is held by its sender.
        5. On an overlay every report ends with everybody equally likely, exactly, if nobody is offline.
        6. With ``slots``, no link carries more reports in a round, and those who wait are chosen uniformly.

    Args:
        graph: of the people, row k of the reports being person k's; or a list of graphs, one for each round, which
            begins anew after the last. Neighbors are chosen uniformly, so that weights of edges, if there are any,
            must all be equal. Or an overlay, in each round of which one digit is drawn anew.
        num_rounds: 0 or more; on an overlay one for each digit, or a multiple of that.
        protocol: "all", "single" or "padded".
        laziness: the chance that a report stays where it is for a round, below 1; it mixes a bipartite graph. 0 on an
            overlay.
        dropout: the chance that a report is lost in a round, below 1.
        offline: the chance that a person is offline for a round, below 1, so that the reports held there wait together.
            For "all" only; nothing is claimed of positions then.
        submissions: the number B of reports that everybody hands in, for "padded" only.
        dummies: who makes the dummies of "single" and "padded", each from ``dummy_value``: None is the randomizer of
            the reports; or that randomizer; or a function of a number and a source that gives that many dummies, which
            must look like reports. What a function does nobody can tell: then these protocols have no guarantee of
            their own, and what is stated of handing in all assumes that it draws dummies by itself, from no report.
        dummy_value: what each dummy is a fresh randomization of. None is 0, or the least whole number of 0 or more that
            the randomizer takes, or for vectors a uniform direction; dummies of a function then average out to nothing.
        num_colluding: people who may tell the analyst what passed through their hands.
        slots: those of the envelope that everybody sends on each link, whatever there is to send, so that traffic tells
            nothing: one number for each round (`shuffledp.calibrate.slots`). None sends reports one by one. Nobody is
            offline and nothing gets lost then.
        surplus: what becomes of reports beyond the slots of their link: they wait with their holder for the next round
            ("waits"), or nobody hands in anything ("aborts").

    Raises:
        InvalidParameterError: if an argument is out of range or of the wrong type, somebody in the graph has no
            neighbor to pass on to, edges have different weights, or there are colluders in no whole number.

    Example:
        >>> from shuffledp import Graph, KaryRandomizedResponse
        >>> randomizer = KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
        >>> graph = Graph.random_regular(4, 100)
        >>> shuffler = RandomWalkShuffler(graph=graph, num_rounds=10, protocol="single")
        >>> shuffler.shuffle(randomizer.randomize([0, 1] * 50))
        View(100 reports of 'k-rr', 'network' shuffle, labels are submitters)
    """

    graph: Graph | Overlay | Sequence[Graph]
    num_rounds: int
    protocol: str = "all"
    laziness: float = 0.0
    dropout: float = 0.0
    offline: float = 0.0
    submissions: int | None = None
    dummies: "Randomizer | DummyMaker | None" = None
    dummy_value: int | None = None
    num_colluding: int = 0
    slots: Sequence[int] | None = None
    surplus: str = SURPLUS[0]

    def __post_init__(self) -> None:
        graphs = graphs_of_rounds(self.graph, self.num_rounds)
        if isinstance(self.graph, Overlay):
            check_cycles(self.num_rounds, self.laziness, self.graph.num_rounds)
        elif not isinstance(self.graph, Graph):  # the graph of each round, however the list was given
            object.__setattr__(self, "graph", graphs or self.graph[0])
        validate.one_of(PROTOCOLS, protocol=self.protocol)
        checked_chances(**self.chances)
        checked_submissions(self.protocol, self.submissions)
        for each in {id(graph): graph for graph in graphs if isinstance(graph, Graph)}.values():
            _checked_graph(each)
        if (self.submissions or 0) > self.num_users:
            raise validate.invalid(
                f"at most the number of people, {self.num_users}: nobody can hold more reports",
                submissions=self.submissions,
            )
        self._check_dummies()
        self._check_links()
        if self.offline and self.protocol != "all":
            raise validate.invalid(f"0 for protocol={self.protocol!r}: dummies could not be told", offline=self.offline)
        validate.integer_at_least(0, num_colluding=self.num_colluding)
        if self.num_colluding > self.num_users:
            raise validate.invalid(f"at most num_users={self.num_users}", num_colluding=self.num_colluding)

    def _check_links(self) -> None:
        validate.one_of(SURPLUS, surplus=self.surplus)
        if self.slots is not None:
            object.__setattr__(self, "slots", checked_slots(self.slots, self.num_rounds))
            check_constant(dropout=self.dropout, offline=self.offline)

    def _check_dummies(self) -> None:
        if self.protocol == "all" and self.dummies is not None:
            raise InvalidParameterError(
                "dummies must be left out for protocol='all', which needs none; protocols 'single' and 'padded' do."
            )
        if self.dummy_value is not None:
            if self.protocol == "all":
                raise validate.invalid(
                    "left out for protocol='all', which needs no dummies", dummy_value=self.dummy_value
                )
            validate.integer_at_least(0, dummy_value=self.dummy_value)
        check_maker(self.dummies, self.dummy_value)

    @property
    def num_users(self) -> int:
        """People who pass reports on."""
        return people_of(self.graph)

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """The graphs of the rounds: one if it is the same in all; none of an overlay."""
        graph = self.graph
        return () if isinstance(graph, Overlay) else (graph,) if isinstance(graph, Graph) else tuple(graph)

    @property
    def chances(self) -> dict[str, float]:
        """The chances of a round by their names."""
        return {"laziness": self.laziness, "dropout": self.dropout, "offline": self.offline}

    @property
    def resting(self) -> float:
        """The chance that a report stays where it is for a round, whichever way: the law of one report by itself."""
        return 1 - (1 - self.laziness) * (1 - self.offline)

    @property
    def _different(self) -> tuple[Graph, ...]:
        """The graphs that reports walk on, each once."""
        return tuple({each.digest: each for each in self.graphs}.values())

    @cached_property
    def parts(self) -> "tuple[RandomWalkShuffler, ...]":
        """A shuffler for each part that no report leaves in any round, the largest first.

        None if there is one part, or more than 64. Nobody holds more reports than there are people in a part, so that
        ``submissions`` is at most their number there: further dummies tell nothing.
        """
        if not self.graphs or not 1 < together(self._different).num_parts <= _MOST_PARTS:
            return ()
        return tuple(
            replace(
                self,
                graph=part[0] if isinstance(self.graph, Graph) else part,
                num_colluding=min(self.num_colluding, part[0].num_users),
                submissions=None if self.submissions is None else min(self.submissions, part[0].num_users),
            )
            for part in sorted(parts_of(self.graphs), key=lambda part: -part[0].num_users)
        )

    @cached_property
    def bounds(self) -> PositionBounds:
        """What holds of everybody's position, from the graph; worked out at the first call, and kept."""
        return position_bounds(
            self.graph, self.num_rounds, laziness=self.laziness, dropout=self.dropout, submissions=self.submissions or 1
        )

    def model(self, num_users: int) -> RandomWalkShuffleModel:
        """The public description.

        Raises:
            InvalidParameterError: if the graph is of another number of people.
        """
        validate.integer_at_least(1, num_users=num_users)
        if num_users != self.num_users:
            raise validate.invalid(f"the number of people in the graph, {self.num_users}", num_users=num_users)
        return self._model

    @cached_property
    def _model(self) -> RandomWalkShuffleModel:
        added, share = self._added()
        everything = together(self._different) if self.graphs else None
        return RandomWalkShuffleModel(
            num_users=self.num_users,
            num_rounds=int(self.num_rounds),
            protocol=self.protocol,
            laziness=float(self.laziness),
            dropout=float(self.dropout),
            offline=float(self.offline),
            submissions=int(self.submissions or 0),
            num_colluding=int(self.num_colluding),
            graph_digest=graph_digest(self.graph),
            irregularity=max((each.irregularity for each in self._different), default=1.0),
            **self._positions,
            is_bipartite=everything is not None and everything.is_bipartite,
            added=added,
            arrival_share=self._survival if added is None else share,
            num_parts=1 if everything is None else everything.num_parts,
            parts=tuple(part.model(part.num_users) for part in self.parts),
            sizes=self.graph.sizes if isinstance(self.graph, Overlay) else (),
            slots=tuple(self.slots or ()),
            surplus=self.surplus,
            overflow=self.overflow,
            dummy_model=self.dummies.model if isinstance(self.dummies, Randomizer) else None,
        )

    @property
    def _positions(self) -> dict[str, Any]:
        """The model's fields about where reports are at the end; everybody may be at one place where less will do."""
        found: dict[str, Any] = {"position_probabilities": (self._survival,), "position_counts": (1,)}
        if self.offline:
            return found | {"near_uniformity": np.inf, "separation": 1.0}
        alike = self.bounds.likeness
        for name in ("mean_overlap", "near_uniformity", "separation"):
            found[name] = getattr(alike, name)
        if self.protocol != "all" or isinstance(self.graph, Overlay):
            found["position_probabilities"], found["position_counts"] = self.bounds.ranked
        if self.protocol == "single":
            found["few_held"] = self.bounds.few_held
        return found

    @cached_property
    def overflow(self) -> float:
        """The chance, at most, that some link has more reports to carry than slots; 0 where they go one by one."""
        return surplus_chance(self.graph, self.slots or (), laziness=self.laziness)

    @property
    def _survival(self) -> float:
        """The chance that a report is not lost on its way."""
        return float((1 - self.dropout) ** self.num_rounds)

    def _added(self) -> tuple[DummyReports | None, float]:
        """The dummies to expect, and the share of people whose own reports are handed in."""
        if self.protocol == "all":
            return None, 1.0
        people = self.num_users
        handed_in = people * (self.submissions or 1)
        made_of = self.dummy_value
        if made_of is None and isinstance(self.dummies, Randomizer):
            made_of = self.dummies.model.dummy_value
        added = DummyReports(
            fraction=self.bounds.dummies / handed_in,
            standard_error=min(1.0, self.bounds.dummies_error / handed_in + self.overflow),
            value=made_of,
            own=self.dummies is None,
        )
        return added, min(1.0, (handed_in - self.bounds.dummies) / people)

    def walk(self, *, source: RandomSource | None = None) -> Walks:
        """Draw where each person's report ends, and how many messages everybody passes on on the way.

        Args:
            source: None is the cryptographic source.

        Raises:
            LocalProtocolError: if some link has more to carry than slots, and that aborts the walks.
        """
        walks = sample_walks(self.graph, self.num_rounds, **self.chances, slots=self.slots or (), source=source)
        if walks.waited and self.surplus == "aborts":
            raise LocalProtocolError(
                "walks are aborted, and nothing is handed in: some link had more reports to carry than slots, with a "
                f"chance of at most {self.overflow:.3g}."
            )
        return walks

    def shuffle(self, reports: Reports, *, public: Table | None = None, source: RandomSource | None = None) -> View:
        """The view in which the label beside a report is who handed it in.

        With "all" and every report lost it holds none; an estimate of it is refused, as one of no reports.

        Args:
            reports: one row per person of the graph.
            public: one row per person, or None; it becomes the label table, also of who hands in nothing.
            source: randomness; None is the cryptographic source.

        Raises:
            InvalidParameterError: if there is not one report from everybody in the graph, or dummies are not as many
                reports as are lacking, of the same model.
            UnsupportedModelError: if people send several reports each.
            LocalProtocolError: if the walks are aborted.
        """
        if reports.model.num_messages != 1:
            raise UnsupportedModelError(
                f"walks need one report per person; {reports.model.kind!r} sends "
                f"num_messages={reports.model.num_messages}."
            )
        self.model(reports.num_users)
        source = resolve_source(source)
        return self.hand_in(reports, self.walk(source=source).positions, public=public, source=source)

    def hand_in(
        self, reports: Reports, holders: ArrayLike, *, public: Table | None = None, source: RandomSource | None = None
    ) -> View:
        """What is seen when people hand in what they hold: the end of `shuffle`, with its other arguments and errors.

        Of each report ``holders`` are who holds it after the last round, shape (reports,), integers; -1 if it is lost,
        which none is where dropout is 0.

        Raises:
            InvalidParameterError: if holders are not those of these reports.
        """
        model, source = self.model(reports.num_users), resolve_source(source)
        held_by = _checked_holders(holders, model.num_users, may_be_lost=self.dropout > 0)
        if self.protocol == "all":
            kept = np.flatnonzero(held_by != LOST)
            handed_in, labels = reports.take(kept), held_by[kept]
        else:
            kept, gaps = _handed_in(held_by, model.num_users, self.submissions or 1, source)
            handed_in = Reports.concat(
                [reports.take(kept), fresh_dummies(self.dummies, self.dummy_value, gaps.size, reports.model, source)]
            )
            labels = np.concatenate([held_by[kept], gaps])
        return View(reports=handed_in, labels=labels, label_table=public, shuffle=model, source=source)


def graph_digest(graph: Graph | Overlay | Sequence[Graph]) -> str:
    """The digest of a graph or an overlay, or those of the graphs of all rounds, joined by commas."""
    return graph.digest if isinstance(graph, Graph | Overlay) else ",".join(each.digest for each in graph)


def _checked_holders(holders: ArrayLike, people: int, *, may_be_lost: bool) -> Integers:
    """Refuse what is not one person of the graph for each report; of who holds what, nothing is shown."""
    validate.unmasked(holders=holders)
    given = np.asarray(holders)
    if given.shape != (people,):
        raise validate.invalid(f"one for each of {people} reports", shape_of_holders=given.shape)
    if not np.issubdtype(given.dtype, np.integer):
        raise InvalidParameterError(f"holders must be integers; got holders of type {given.dtype}.")
    lost = given == LOST
    if (((given < 0) & ~lost) | (given >= people)).any():
        raise InvalidParameterError(f"holders must be in range({people}), or {LOST} for a report that is lost.")
    if lost.any() and not may_be_lost:
        raise InvalidParameterError(
            f"holders must be people where dropout is 0, so that no report is lost; {lost.sum()} are {LOST}."
        )
    return given.astype(np.int64)


def _handed_in(holders: Integers, people: int, most: int, source: RandomSource) -> tuple[Integers, Integers]:
    """Reports that are handed in, at most ``most`` by each holder, and who fills a gap with a dummy, once for each."""
    order = random_permutation(holders.size, source=source)
    order = order[holders[order] != LOST]
    order = order[np.argsort(holders[order], kind="stable")]
    held = np.bincount(holders[order], minlength=people)
    rank = np.arange(order.size) - np.repeat(np.cumsum(held) - held, held)
    gaps = np.repeat(np.arange(people), np.maximum(most - held, 0))
    return order[rank < most], gaps


def _checked_graph(graph: Graph) -> None:
    if graph.weights is not None and graph.weights.size and graph.weights.min() < graph.weights.max():
        raise InvalidParameterError(
            "graph must have no weights, or equal ones: neighbors are chosen uniformly, and not by weight. Use "
            "graph.without_weights(), or leave the third column, or the array of weights, out of its file; "
            f"got weights from {graph.weights.min():g} to {graph.weights.max():g}."
        )
    alone = np.flatnonzero(graph.degrees == 0)
    if alone.size:
        raise InvalidParameterError(
            f"graph must have a neighbor for everybody, or their reports are not shuffled; person {alone[0]} has none, "
            f"{alone.size} in all. Use graph.largest_component(), or leave them out."
        )
