"""Network shuffling: people pass reports on to random neighbors, and finally hand in the held reports.

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
from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.flow import Randomizer, Reports, View
from shuffledp.core.table import Table
from shuffledp.people.graphs import Graph
from shuffledp.people.graphs.connected_parts import parts_of, together
from shuffledp.protocols.network.laws.churn_likeness import arriving_given, likeness_given
from shuffledp.protocols.network.laws.churned_rounds import ChurnedWays
from shuffledp.protocols.network.laws.link_slots import checked_slots, surplus_chance
from shuffledp.protocols.network.laws.walk import Walk, check_churn
from shuffledp.protocols.network.laws.walk_collusion import left_unseen
from shuffledp.protocols.network.laws.walk_distributions import graphs_of_rounds, people_of
from shuffledp.protocols.network.laws.walk_gates import WalkGate
from shuffledp.protocols.network.laws.walk_positions import PositionBounds, position_bounds
from shuffledp.protocols.network.laws.walk_sampling import LOST, Walks, sample_walks
from shuffledp.protocols.network.people.overlays import Overlay, check_cycles
from shuffledp.protocols.network.shufflers import walk_checks, walk_hand_in
from shuffledp.protocols.network.shufflers.walk_hand_in import (
    DummyMaker,
    checked_holders,
    chosen_to_hand_in,
    fresh_dummies,
)
from shuffledp.protocols.network.shufflers.walk_model import RandomWalkShuffleModel
from shuffledp.randomness.sources import RandomSource, resolve_source

_MOST_PARTS = 64  # of which each is accounted for by itself


@dataclass(frozen=True, kw_only=True, eq=False)
class RandomWalkShuffler(Walk):
    """Shuffler by random walks of reports along a graph of people; "A_all", "A_single" in papers.

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
        6. With ``slots``, no link carries more reports in a round, and waiting reports are chosen uniformly.
        7. With a gate reports are handed in only if everybody's mean overlap, given who was online, is at least the
           gate's; whether they are, and after how many rounds, depends on who is online alone.

    Args:
        graph: of the people, row k of the reports being person k's; or a list of graphs, one for each round, which
            begins anew after the last. Neighbors are chosen uniformly, so that weights of edges, if there are any,
            must all be equal. Or an overlay, in each round of which one digit is drawn anew.
        num_rounds: 0 or more; on an overlay one for each digit, or a multiple of that unless people are offline. With a
            gate the most.
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
        slots: those of the envelope that everybody sends on each link, whatever there is to send, so that traffic tells
            nothing: one number for each round (`shuffledp.calibrate.slots`). None sends reports one by one. Nothing
            gets lost then, and reports stay whose next holder is offline, on an overlay too.
        surplus: what becomes of reports beyond the slots of their link: they wait with their holder for the next round
            ("waits"), or nobody hands in anything ("aborts").
        gate: `walk_gate` of the reports: walk until who was online has mixed enough, and hand in nothing if that takes
            more than ``num_rounds``. For "all" only.
        schedule: who is online in each of the rounds, as it was recorded, in place of drawing it; and who hands in.
        num_colluding: people who may tell the analyst what passed through their hands: the worst, if not named.
        colluders: who they are, where that is known or supposed; then ``num_colluding`` is left out. Of up to 1,000
            people it is worked out what is left of the guarantee on any graph.
        onion: whether reports are in layers of encryption, one for each who passes them on, so that nobody recognizes
            one that an honest person has passed on; on an overlay only. Walks are the same; colluders see less.

    Raises:
        InvalidParameterError: if an argument is out of range or of the wrong type, somebody in the graph has no
            neighbor to pass on to, edges have different weights, or colluders are nobody, all, or in no whole number.

    Example:
        >>> from shuffledp import Graph, KaryRandomizedResponse
        >>> randomizer = KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
        >>> graph = Graph.random_regular(4, 100)
        >>> shuffler = RandomWalkShuffler(graph=graph, num_rounds=10, protocol="single")
        >>> shuffler.shuffle(randomizer.randomize([0, 1] * 50))
        View(100 reports of 'k-rr', 'network' shuffle, labels are submitters)
    """

    graph: Graph | Overlay | Sequence[Graph]
    dummies: "Randomizer | DummyMaker | None" = None
    dummy_value: int | None = None
    colluders: Sequence[int] = ()

    def __post_init__(self) -> None:
        graphs = graphs_of_rounds(self.graph, self.num_rounds)
        if isinstance(self.graph, Overlay):
            cycle = 1 if self.is_churned else self.graph.num_rounds
            check_cycles(self.num_rounds, self.laziness, cycle)
        elif not isinstance(self.graph, Graph):  # the graph of each round, however the list was given
            object.__setattr__(self, "graph", graphs or self.graph[0])
        self.check_walk()
        for each in {id(graph): graph for graph in graphs if isinstance(graph, Graph)}.values():
            walk_checks.check_graph(each)
        if (self.submissions or 0) > self.num_users:
            raise validate.invalid(
                f"at most the number of people, {self.num_users}: nobody can hold more reports",
                submissions=self.submissions,
            )
        walk_hand_in.check_dummies(self.protocol, self.dummies, self.dummy_value)
        if self.slots is not None:
            object.__setattr__(self, "slots", checked_slots(self.slots, self.num_rounds))
        check_churn(self.protocol, offline=self.offline, gate=self.gate)
        if self.gate is not None:
            validate.instance_of(WalkGate, gate=self.gate)
        if self.schedule is not None:
            walk_checks.check_schedule(self.graph, self.schedule, self.num_rounds)
        named = walk_checks.checked_colluders(self.colluders, self.num_colluding, self.graph, onion=self.onion)
        for name, value in named.items():
            object.__setattr__(self, name, value)

    @property
    def ways(self) -> "Graph | Overlay | Sequence[Graph] | ChurnedWays":
        """Graph, graphs or overlay of the walks, with the schedule of attendance where one is given."""
        return self.graph if self.schedule is None else ChurnedWays(self.graph, self.schedule)

    @property
    def num_users(self) -> int:
        """Number of people who pass reports on."""
        return people_of(self.graph)

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """Graphs of the rounds; only one if all rounds share it, none for an overlay."""
        graph = self.graph
        return () if isinstance(graph, Overlay) else (graph,) if isinstance(graph, Graph) else tuple(graph)

    @property
    def resting(self) -> float:
        """Chance that a report rests for a round, by laziness or absent people.

        It rests by laziness, if its holder is offline or, on a graph, if the drawn neighbor is offline.
        """
        meeting = 1 - self.offline if isinstance(self.graph, Overlay) else (1 - self.offline) ** 2
        return 1 - (1 - self.laziness) * meeting

    @property
    def _different(self) -> tuple[Graph, ...]:
        """Distinct graphs of the walk."""
        return tuple({each.digest: each for each in self.graphs}.values())

    @cached_property
    def parts(self) -> "tuple[RandomWalkShuffler, ...]":
        """Shufflers of the parts between which no report moves, the largest part first.

        None if there is one part, or more than 64. Nobody holds more reports than there are people in a part, so that
        ``submissions`` is at most their number there: further dummies tell nothing.
        """
        if self.gate is not None or self.schedule is not None:  # who is online is looked at in all parts together
            return ()
        if not self.graphs or not 1 < together(self._different).num_parts <= _MOST_PARTS:
            return ()
        return tuple(
            replace(
                self,
                graph=part[0] if isinstance(self.graph, Graph) else part,
                num_colluding=min(self.num_colluding, part[0].num_users),
                colluders=(),
                submissions=None if self.submissions is None else min(self.submissions, part[0].num_users),
            )
            for part in sorted(parts_of(self.graphs), key=lambda part: -part[0].num_users)
        )

    @cached_property
    def bounds(self) -> PositionBounds:
        """Bounds on every report's position if all people are online; computed at first use.

        After rounds that end within a cycle of an overlay, the bounds are for the end of the cycle.
        """
        rounds = self.num_rounds
        if isinstance(self.graph, Overlay):
            rounds += -rounds % self.graph.num_rounds
        return position_bounds(
            self.graph, rounds, laziness=self.laziness, dropout=self.dropout, submissions=self.submissions or 1
        )

    def model(self, num_users: int) -> RandomWalkShuffleModel:
        """Public description of the shuffle.

        Raises:
            InvalidParameterError: if the graph is of another number of people.
        """
        validate.integer_at_least(1, num_users=num_users)
        if num_users != self.num_users:
            raise validate.invalid(f"the number of people in the graph, {self.num_users}", num_users=num_users)
        return self._model

    @cached_property
    def _model(self) -> RandomWalkShuffleModel:
        added, share = None, self.survival * arriving_given(self.ways, laziness=self.laziness)
        if self.protocol != "all":
            added, share = walk_hand_in.expected_dummies(
                self.bounds, self.dummies, self.dummy_value, overflow=self.overflow
            )
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
            graph_digest=walk_checks.graph_digest(self.graph),
            irregularity=max((each.irregularity for each in self._different), default=1.0),
            **self._positions,
            is_bipartite=everything is not None and everything.is_bipartite,
            added=added,
            arrival_share=share,
            num_parts=1 if everything is None else everything.num_parts,
            parts=tuple(part.model(part.num_users) for part in self.parts),
            schedule=self.schedule,
            gate=self.gate,
            sizes=self.graph.sizes if isinstance(self.graph, Overlay) else (),
            slots=tuple(self.slots or ()),
            surplus=self.surplus,
            overflow=self.overflow,
            onion=self.onion,
            **self._unseen,
            dummy_model=self.dummies.model if isinstance(self.dummies, Randomizer) else None,
        )

    @property
    def _unseen(self) -> dict[str, Any]:
        """Model fields on reports that colluders do not see; empty if people may be offline."""
        return left_unseen(() if self.is_churned else self.colluders, self.graph, self.num_rounds, self.laziness)

    @property
    def _positions(self) -> dict[str, Any]:
        """Model fields about the final positions of reports.

        Where the protocol needs none, each report has one certain place.
        """
        found: dict[str, Any] = {"position_probabilities": (self.survival,), "position_counts": (1,)}
        if self.is_churned and self.schedule is None:
            return found | {"near_uniformity": np.inf, "separation": 1.0}
        ways = self.ways if isinstance(self.ways, ChurnedWays) else None
        alike = self.bounds.likeness if ways is None else likeness_given(ways, laziness=self.laziness)
        for name in ("mean_overlap", "near_uniformity", "separation"):
            found[name] = getattr(alike, name)
        if self.protocol != "all" or (isinstance(self.graph, Overlay) and ways is None):
            found["position_probabilities"], found["position_counts"] = self.bounds.ranked
        if self.protocol == "single":
            found["few_held"] = self.bounds.few_held
        return found

    @cached_property
    def overflow(self) -> float:
        """Upper bound on the chance that a link has too few slots.

        Given the schedule, or if all people are online.
        """
        return surplus_chance(self.ways, self.slots or (), laziness=self.laziness)

    def walk(self, *, source: RandomSource | None = None) -> Walks:
        """Random walks: final holder of each report, and number of messages that each person passes on.

        Args:
            source: None is the cryptographic source.

        Raises:
            LocalProtocolError: if the gate stays shut, or some link has more to carry than slots, and that aborts the
                walks.
        """
        source = resolve_source(source)
        found = self.scheduled(source=source)
        chances = {"laziness": self.laziness, "dropout": self.dropout}
        walks = sample_walks(found.ways, found.num_rounds, **chances, slots=self.slots or (), source=source)
        walk_checks.check_surplus(walks, self.surplus, self.overflow)
        return walks

    def scheduled(self, *, source: RandomSource | None = None) -> "RandomWalkShuffler":
        """Shuffler with a drawn schedule of attendance until the gate opens; itself if it needs none.

        Args:
            source: None is the cryptographic source.

        Raises:
            LocalProtocolError: if the gate stays shut: then nothing may be handed in.
        """
        if not self.is_churned or self.schedule is not None:
            return self
        schedule = walk_checks.drawn_schedule(
            self.graph,
            self.num_rounds,
            **self.chances,
            gate=self.gate,
            slots=self.slots or (),
            source=resolve_source(source),
        )
        rounds = schedule.num_rounds
        graph = self.graph if isinstance(self.graph, Graph | Overlay) else tuple(self.graph[:rounds])
        slots = None if self.slots is None else self.slots[:rounds]
        return replace(self, graph=graph, num_rounds=rounds, slots=slots, schedule=schedule)

    def shuffle(self, reports: Reports, *, public: Table | None = None, source: RandomSource | None = None) -> View:
        """View in which the label of a report is the person who handed it in.

        With "all" and every report lost it holds none; an estimate of it is refused, as one of no reports.

        Args:
            reports: one row per person of the graph.
            public: one row per person, or None; it becomes the label table, also of who hands in nothing.
            source: randomness; None is the cryptographic source.

        Raises:
            InvalidParameterError: if there is not one report from everybody in the graph, or dummies are not as many
                reports as are lacking, of the same model.
            UnsupportedModelError: if people send several reports each.
            LocalProtocolError: if the gate stays shut, or the walks are aborted.
        """
        if reports.model.num_messages != 1:
            raise UnsupportedModelError(
                f"walks need one report per person; {reports.model.kind!r} sends "
                f"num_messages={reports.model.num_messages}."
            )
        self.model(reports.num_users)
        source = resolve_source(source)
        found = self.scheduled(source=source)
        return found.hand_in(reports, found.walk(source=source).positions, public=public, source=source)

    def hand_in(
        self, reports: Reports, holders: ArrayLike, *, public: Table | None = None, source: RandomSource | None = None
    ) -> View:
        """View of the reports that their holders hand in: the last step of `shuffle`.

        Other arguments and errors are those of `shuffle`.

        With a schedule that says who hands in, what others hold is not seen.

        Of each report ``holders`` are who holds it after the last round, shape (reports,), integers; -1 if it is lost,
        which none is where dropout is 0.

        Raises:
            InvalidParameterError: if the holders do not belong to these reports.
        """
        model, source = self.model(reports.num_users), resolve_source(source)
        held_by = checked_holders(holders, model.num_users, may_be_lost=self.dropout > 0)
        if self.protocol == "all":
            last = None if self.schedule is None else self.schedule.handing_in
            kept = np.flatnonzero((held_by != LOST) & (True if last is None else last[held_by]))
            handed_in, labels = reports.take(kept), held_by[kept]
        else:
            kept, gaps = chosen_to_hand_in(held_by, model.num_users, self.submissions or 1, source)
            handed_in = Reports.concat(
                [reports.take(kept), fresh_dummies(self.dummies, self.dummy_value, gaps.size, reports.model, source)]
            )
            labels = np.concatenate([held_by[kept], gaps])
        return View(reports=handed_in, labels=labels, label_table=public, shuffle=model, source=source)
