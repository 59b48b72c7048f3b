"""Random walks as records: rules of a walk, and public facts on where reports end.

Each field is declared here once. A task's table, the planner, the shuffler and the shuffler's public model put these
records together by inheritance, so that arguments of constructors and keys in files are flat.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import LocalModel
from shuffledp.core.shuffle_models import DummyReports
from shuffledp.protocols.network.laws.churn_schedules import STAY, Schedule
from shuffledp.protocols.network.laws.link_slots import checked_slots
from shuffledp.protocols.network.laws.walk_gates import WalkGate
from shuffledp.protocols.network.people.overlays import check_cycles, check_sizes

PROTOCOLS = ("all", "single", "padded")
SURPLUS = ("waits", "aborts")


@dataclass(frozen=True, kw_only=True, eq=False)
class HandIn:
    """Rules of the hand-in after the last round.

    Args:
        protocol: "all" (everybody hands in all that they hold), "single" (one of the reports that they hold, chosen
            uniformly, or a fresh dummy), or "padded" (exactly ``submissions`` reports, dummies among them).
        submissions: the number B of reports that everybody hands in if protocol is "padded"; else left out.
    """

    protocol: str = "all"
    submissions: int | None = None

    def check_hand_in(self) -> None:
        """Refuse an unknown protocol, and ``submissions`` that are missing or not needed."""
        validate.one_of(PROTOCOLS, protocol=self.protocol)
        if self.protocol == "padded":
            validate.integer_at_least(1, submissions=self.submissions)
        elif self.submissions:
            raise validate.invalid(f"left out, for protocol={self.protocol!r}", submissions=self.submissions)


@dataclass(frozen=True, kw_only=True, eq=False)
class WalkRules(HandIn):
    """Rules of a walk for any number of rounds.

    Args:
        laziness: the chance that a report stays where it is for a round, below 1; drawn for each report.
        dropout: the chance that a report is lost in a round, below 1; drawn for each report.
        offline: the chance that a person is offline for a round, below 1, so that all reports held there wait together.
            Walks are then independent only given who is offline when: without a schedule nothing is claimed of
            positions.
        onion: whether reports are in layers of encryption, one for each who passes them on, so that colluders do not
            recognize them behind an honest one; on an overlay only.
        gate: what was, or will be, asked of who is online before anything is handed in; None if nothing is.
    """

    laziness: float = 0.0
    dropout: float = 0.0
    offline: float = 0.0
    onion: bool = False
    gate: WalkGate | None = None

    @property
    def chances(self) -> dict[str, float]:
        """Chances of the events in one round, by name: laziness, dropout, offline."""
        return {"laziness": self.laziness, "dropout": self.dropout, "offline": self.offline}


@dataclass(frozen=True, kw_only=True, eq=False)
class Walk(WalkRules):
    """Walk of a known number of rounds.

    Args:
        num_rounds: rounds in which every report is passed on; 0 is no shuffling. With a gate and no schedule the most.
        num_colluding: people who may tell the analyst what passed through their hands.
        slots: of the envelope that everybody sends on each link in each round, whatever there is to send, so that
            traffic tells nothing; left out where reports go one by one.
        surplus: what becomes of reports beyond the slots of their link: they wait with their holder for the next round
            ("waits"), chosen uniformly; or nobody hands in anything ("aborts").
        schedule: the record of who was online in each round, and who hands in; None where there is none.
    """

    num_rounds: int
    num_colluding: int = 0
    slots: Sequence[int] | None = None
    surplus: str = SURPLUS[0]
    schedule: Schedule | None = None

    @property
    def is_churned(self) -> bool:
        """Whether people may be offline, or there is a gate or a schedule."""
        return bool(self.offline) or self.gate is not None or self.schedule is not None

    @property
    def survival(self) -> float:
        """Chance that a report is not lost on its way."""
        return float((1 - self.dropout) ** self.num_rounds)

    def check_walk(self) -> None:
        """Refuse fields that are out of range, or contradict each other.

        Raises:
            InvalidParameterError: if so.
        """
        validate.integer_at_least(0, num_rounds=self.num_rounds, num_colluding=self.num_colluding)
        self.check_hand_in()
        checked_chances(**self.chances)
        check_churn(self.protocol, gate=self.gate, schedule=self.schedule)
        validate.instance_of(bool, onion=self.onion)
        validate.one_of(SURPLUS, surplus=self.surplus)
        if self.slots:
            checked_slots(self.slots, self.num_rounds)
            if self.dropout:
                allowed = "0 where links have slots: a lost message would show in the traffic"
                raise validate.invalid(allowed, dropout=self.dropout)
            if self.schedule is not None and self.schedule.rule != STAY:
                raise InvalidParameterError(
                    f"schedule must have the rule {STAY!r} where links have slots: envelopes are sent before it is "
                    f"known who is online; got rule={self.schedule.rule!r}."
                )


@dataclass(frozen=True, kw_only=True, eq=False)
class Positions:
    """Public facts about where reports end.

    Args:
        mean_overlap: for everybody v, at most the mean over all others j of min over i of P_j(i) / P_v(i), where P_j is
            the law of where j's report is at the end, if it is not lost: 1 where all have one law; 0 where nothing is
            known.
        near_uniformity: "gamma_t": an upper bound on log[P_j(a) P_k(b) / (P_j(b) P_k(a))] for all people j, k and
            places a, b; infinite where it is not defined.
        separation: "s_t": an upper bound on 1 - P_j(i) / pi_i; 1 where nothing is known.
        position_probabilities: probabilities of places, descending, of a law that is at least as concentrated as
            everybody's own: each is at least as large as the probability of that rank for everybody. They may add up to
            more than 1.
        position_counts: how many places have each of these probabilities.
        few_held: for k = 0, 1, ... the mean over places of the chance that at most k of the others' reports end there,
            or an upper bound, for any person left out; fewer numbers, or none, where it is not known.
        overflow: the chance, at most, that there is a surplus on any link in any round, given the schedule if there is
            one; without one as if everybody were online. The other facts hold of walks that no link limits.
        unseen_chances: where it is known who collude, for each number of rounds from 1 on the chance that a report has
            met none of them, at least; else empty.
        unseen_overlaps: for each of these, for everybody honest, at most the mean over all other honest people of what
            the laws of reports that have met none have in common, as for ``mean_overlap``.
    """

    mean_overlap: float = 0.0
    near_uniformity: float
    separation: float
    position_probabilities: tuple[float, ...]
    position_counts: tuple[int, ...]
    few_held: tuple[float, ...] = ()
    overflow: float = 0.0
    unseen_chances: tuple[float, ...] = ()
    unseen_overlaps: tuple[float, ...] = ()

    def check_positions(self, num_rounds: int) -> None:
        """Refuse facts that are out of range, or not given once for each round.

        Raises:
            InvalidParameterError: if so.
        """
        validate.nonnegative(near_uniformity=self.near_uniformity)
        validate.probability(mean_overlap=self.mean_overlap, separation=self.separation, overflow=self.overflow)
        for probability in self.position_probabilities or (2.0,):
            validate.probability(**{"each of position_probabilities": probability})
        for chance in self.few_held:
            validate.probability(**{"each of few_held": chance})
        for count in self.position_counts or (0,):
            validate.integer_at_least(1, **{"each of position_counts": count})
        if len(self.position_counts) != len(self.position_probabilities):
            raise InvalidParameterError(
                f"position_counts must be one for each of {len(self.position_probabilities)} probabilities; "
                f"got {len(self.position_counts)}."
            )
        for chance in (*self.unseen_chances, *self.unseen_overlaps):
            validate.probability(**{"each of unseen_chances and unseen_overlaps": chance})
        if {len(self.unseen_chances), len(self.unseen_overlaps)} not in ({num_rounds}, {0}):
            raise InvalidParameterError(
                f"unseen_chances and unseen_overlaps must both be one for each of {num_rounds} rounds, or left "
                f"out; got {len(self.unseen_chances)} and {len(self.unseen_overlaps)}."
            )


@dataclass(frozen=True, kw_only=True, eq=False)
class WalkFacts(Walk, Positions):
    """Public facts about a walk of all people's reports on a graph, for theorems.

    Args:
        num_users: people in the graph, 1 or more.
        graph_digest: `shuffledp.Graph.digest` of the graph, or of the overlay.
        irregularity: "Gamma" in papers: n times the sum of squared stationary probabilities, 1 or more.
        is_bipartite: whether the graph has two sides, so that without laziness the parity of the number of rounds shows
            on which of them a report began.
        sizes: of the groups of an overlay (`shuffledp.Overlay`), one for each round of a cycle; empty for a graph. A
            report ends with everybody equally likely then, exactly, unless it gets lost or people are offline.
        num_parts: parts of the graph that cannot reach each other, in whatever round.
        parts: facts about each of them, as if it were alone; none if there is one part, or too many.
        arrival_share: expected share of people whose own report is handed in.
        added: the dummies that an estimator must correct for, if the protocol adds any.
        dummy_model: the randomizer of which every dummy is a fresh report; None if there are none, or ``added`` says
            that it is the reports' own, or it is not known, and then no theorem may rely on them.
    """

    submissions: int = 0
    slots: tuple[int, ...] = ()
    num_users: int
    graph_digest: str
    irregularity: float
    is_bipartite: bool = False
    sizes: tuple[int, ...] = ()
    num_parts: int = 1
    parts: "tuple[WalkFacts, ...]" = ()
    arrival_share: float = 1.0
    added: DummyReports | None = None
    dummy_model: LocalModel | None = None

    @property
    def unlimited(self) -> Self:
        """Facts of these walks on links without a limit of slots."""
        parts = tuple(part.unlimited for part in self.parts)
        return replace(self, slots=(), surplus=SURPLUS[0], overflow=0.0, parts=parts)

    def dummy_model_among(self, reports: LocalModel) -> LocalModel | None:
        """Model of the dummies among these reports; None if unknown."""
        return reports if self.added is not None and self.added.own else self.dummy_model

    def check_facts(self) -> None:
        """Refuse facts that are out of range, or contradict each other.

        Raises:
            InvalidParameterError: if so.
        """
        validate.integer_at_least(1, num_users=self.num_users, num_parts=self.num_parts)
        self.check_walk()
        validate.integer_at_least(0, submissions=self.submissions)
        validate.nonnegative(irregularity=self.irregularity)
        validate.probability(arrival_share=self.arrival_share)
        self.check_positions(self.num_rounds)
        self._check_parts()
        self._check_sizes()
        self._check_gate()
        if self.overflow and not self.slots:
            raise validate.invalid("0 without slots", overflow=self.overflow)
        if self.onion and not self.sizes:
            raise validate.invalid("False but on an overlay, where each round mixes groups", onion=True)
        if self.dummy_model is not None and self.added is not None and self.added.own:
            raise validate.invalid("None where dummies are the reports' own", dummy_model=self.dummy_model.kind)

    def _check_parts(self) -> None:
        if not self.parts:
            return
        if self.schedule is not None or self.gate is not None:
            raise InvalidParameterError("parts must be left out with a schedule or a gate; got some.")
        people = sum(part.num_users for part in self.parts)
        if len(self.parts) != self.num_parts or self.num_parts == 1 or people != self.num_users:
            raise InvalidParameterError(
                f"parts must be all parts, 2 or more, and have {self.num_users} people; got {len(self.parts)} of "
                f"num_parts={self.num_parts}, with {people} people."
            )
        walk = (self.num_rounds, self.protocol, self.chances)
        if any((part.num_rounds, part.protocol, part.chances) != walk for part in self.parts):
            raise InvalidParameterError("parts must have the rounds, the protocol and the chances of the whole.")

    def _check_sizes(self) -> None:
        if not self.sizes:
            return
        check_sizes(self.num_users, self.sizes)
        if self.is_churned:
            return
        check_cycles(self.num_rounds, self.laziness, len(self.sizes))
        alike = self.near_uniformity == self.separation == 0 and self.mean_overlap == 1
        evenly = alike and self.position_counts == (self.num_users,)
        if not evenly or self.parts:
            raise InvalidParameterError(
                f"sizes must be left out unless walks end exactly uniformly, in one part; got "
                f"sizes={list(self.sizes)} with mean_overlap={self.mean_overlap:g}, "
                f"near_uniformity={self.near_uniformity:g}, separation={self.separation:g} and "
                f"position_counts={list(self.position_counts)}."
            )

    def _check_gate(self) -> None:
        """Refuse a schedule that does not fit the walk, or does not open the gate."""
        if self.schedule is None:
            return
        if (self.schedule.num_users, self.schedule.num_rounds) != (self.num_users, self.num_rounds):
            raise InvalidParameterError(
                f"schedule must be of num_users={self.num_users} and num_rounds={self.num_rounds}; got {self.schedule}."
            )
        gate = self.gate
        if gate is not None and not gate.is_open(
            overlap=self.mean_overlap, arriving=self.survival, overflow=self.overflow
        ):
            raise InvalidParameterError(
                f"gate must be open: the attendance must leave a mean overlap of at least {gate.overlap:.6g}, "
                f"counting arriving reports, and overflow at most {gate.overflow:.3g}; got mean_overlap="
                f"{self.mean_overlap:.6g}, dropout={self.dropout:g} and overflow={self.overflow:.3g}."
            )


def checked_chances(**chances: float) -> None:
    """Refuse chances below 0, or of 1 or more."""
    validate.probability(**chances)
    for name, chance in chances.items():
        if chance == 1:
            raise validate.invalid("below 1: reports would never get anywhere", **{name: chance})


def check_churn(protocol: str, *, offline: float = 0.0, gate: Any, schedule: Any = None) -> None:
    """Refuse people offline, gates and schedules for protocols other than "all"."""
    if protocol != "all":
        for name, given in (("offline", offline), ("gate", gate), ("schedule", schedule)):
            if given:
                absent = "0" if name == "offline" else "left out"
                raise validate.invalid(
                    f"{absent} for protocol={protocol!r}: the number of dummies would be unknown", **{name: given}
                )
