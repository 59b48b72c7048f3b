"""Public description of network shuffling: reports that walk along a graph before they are handed in, and dummies."""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import LocalModel
from shuffledp.core.shuffle_models import ColludingShuffleModel, DummyReports, LabelMeaning, SwapWindows
from shuffledp.core.statement_terms import Trust
from shuffledp.core.text import in_digits
from shuffledp.protocols.network.laws.churn_schedules import STAY, Schedule
from shuffledp.protocols.network.laws.link_slots import checked_slots
from shuffledp.protocols.network.laws.overlay_loads import leaving_chances
from shuffledp.protocols.network.laws.walk_gates import WalkGate
from shuffledp.protocols.network.people.overlays import Overlay, check_cycles, check_sizes
from shuffledp.protocols.network.shufflers.walk_exposure import average_exposure
from shuffledp.protocols.network.shufflers.walk_remarks import remarks_on

PROTOCOLS = ("all", "single", "padded")
SURPLUS = ("waits", "aborts")

_OF_KNOWN_COLLUDERS = ("unseen_chances", "unseen_overlaps")
_RARE = 28.0  # minus the logarithm of the chance that more reports get lost than a view may lack


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomWalkShuffleModel(ColludingShuffleModel):
    """Public description of a shuffle by random walks on a graph of people.

    Statements about positions hold for each person's report and for all data.

    Args:
        num_users: people in the graph, 1 or more.
        num_rounds: rounds in which every report is passed on; 0 is no shuffling.
        protocol: "all" (everybody hands in all that they hold), "single" (one of the reports that they hold, chosen
            uniformly, or a fresh dummy), or "padded" (exactly ``submissions`` reports, dummies among them).
        laziness: the chance that a report stays where it is for a round, below 1; drawn for each report.
        dropout: the chance that a report is lost in a round, below 1; drawn for each report.
        offline: the chance that a person is offline for a round, below 1, so that all reports held there wait together.
            Walks are then independent only given who is offline when: without a schedule nothing is claimed of
            positions.
        submissions: the number B of reports that everybody hands in if protocol is "padded"; else 0.
        num_colluding: people who may tell the analyst what passed through their hands.
        graph_digest: `shuffledp.Graph.digest` of the graph, or of the overlay.
        irregularity: "Gamma" in papers: n times the sum of squared stationary probabilities, 1 or more.
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
        is_bipartite: whether the graph has two sides, so that without laziness the parity of the number of rounds shows
            on which of them a report began.
        added: the dummies that an estimator must correct for, if the protocol adds any.
        arrival_share: expected share of people whose own report is handed in.
        num_parts: parts of the graph that cannot reach each other, in whatever round.
        parts: the same of each of them, as if it were alone; none if there is one part, or too many.
        dummy_model: the randomizer of which every dummy is a fresh report; None if there are none, or ``added`` says
            that it is the reports' own, or it is not known, and then no theorem may rely on them.
        schedule: the record of who was online in each round, given which is what is said of positions; None where there
            is none.
        gate: what was, or will be, asked of who is online before anything is handed in; None if nothing is. Without a
            schedule ``num_rounds`` are the most.
        sizes: of the groups of an overlay (`shuffledp.Overlay`), one for each round of a cycle; empty for a graph. A
            report ends with everybody equally likely then, exactly, unless it gets lost or people are offline.
        slots: of the envelope that everybody sends on each link in each round, whatever there is to send, so that
            traffic tells nothing; empty where reports go one by one. What is said of positions holds of walks that no
            link limits.
        surplus: what becomes of reports beyond the slots of their link: they wait with their holder for the next round
            ("waits"), chosen uniformly; or nobody hands in anything ("aborts").
        overflow: the chance, at most, that there is a surplus on any link in any round, given the schedule if there is
            one; without one as if everybody were online.
        onion: whether reports are in layers of encryption, one for each who passes them on, so that colluders do not
            recognize them behind an honest one; on an overlay only.
        unseen_chances: where it is known who collude, for each number of rounds from 1 on the chance that a report has
            met none of them, at least; else empty.
        unseen_overlaps: for each of these, for everybody honest, at most the mean over all other honest people of what
            the laws of reports that have met none have in common, as for ``mean_overlap``.

    Raises:
        InvalidParameterError: if a field is out of range, or two do not go together.
    """

    kind: ClassVar[str] = "network"
    labels: ClassVar[LabelMeaning] = LabelMeaning.SUBMITTER
    in_words: ClassVar[str] = "random walks"
    step: ClassVar[tuple[str, str]] = ("Passed on", "from hand to hand, by random walks")
    num_users: int
    num_rounds: int
    protocol: str = "all"
    laziness: float = 0.0
    dropout: float = 0.0
    offline: float = 0.0
    submissions: int = 0
    num_colluding: int = 0
    graph_digest: str
    irregularity: float
    mean_overlap: float = 0.0
    near_uniformity: float
    separation: float
    position_probabilities: tuple[float, ...]
    position_counts: tuple[int, ...]
    few_held: tuple[float, ...] = ()
    is_bipartite: bool = False
    added: DummyReports | None = None
    arrival_share: float = 1.0
    dummy_model: LocalModel | None = None
    num_parts: int = 1
    parts: tuple["RandomWalkShuffleModel", ...] = ()
    sizes: tuple[int, ...] = ()
    slots: tuple[int, ...] = ()
    surplus: str = "waits"
    overflow: float = 0.0
    schedule: Schedule | None = None
    gate: WalkGate | None = None
    onion: bool = False
    unseen_chances: tuple[float, ...] = ()
    unseen_overlaps: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        validate.integer_at_least(1, num_users=self.num_users)
        validate.integer_at_least(0, num_rounds=self.num_rounds)
        validate.one_of(PROTOCOLS, protocol=self.protocol)
        for name in ("laziness", "dropout", "offline"):
            checked_chances(**{name: getattr(self, name)})
        checked_submissions(self.protocol, self.submissions)
        validate.integer_at_least(0, submissions=self.submissions)
        validate.nonnegative(irregularity=self.irregularity, near_uniformity=self.near_uniformity)
        validate.probability(
            mean_overlap=self.mean_overlap, separation=self.separation, arrival_share=self.arrival_share
        )
        self._check_colluding()
        self._check_positions()
        self._check_parts()
        self._check_sizes()
        self._check_links()
        self._check_churn()
        self._check_colluders()
        if self.dummy_model is not None and self.added is not None and self.added.own:
            raise validate.invalid("None where dummies are the reports' own", dummy_model=self.dummy_model.kind)

    def _check_positions(self) -> None:
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

    def _check_parts(self) -> None:
        validate.integer_at_least(1, num_parts=self.num_parts)
        if not self.parts:
            return
        people = sum(part.num_users for part in self.parts)
        if len(self.parts) != self.num_parts or self.num_parts == 1 or people != self.num_users:
            raise InvalidParameterError(
                f"parts must be all parts, 2 or more, and have {self.num_users} people; got {len(self.parts)} of "
                f"num_parts={self.num_parts}, with {people} people."
            )
        walk = (self.num_rounds, self.protocol, self.laziness, self.dropout, self.offline)
        for part in self.parts:
            if (part.num_rounds, part.protocol, part.laziness, part.dropout, part.offline) != walk:
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

    def _check_churn(self) -> None:
        given = self.schedule is not None or self.gate is not None
        if given and self.protocol != "all":
            raise validate.invalid(
                "'all' with a schedule or a gate: the number of dummies would be unknown", protocol=self.protocol
            )
        if given and self.parts:
            raise InvalidParameterError("parts must be left out with a schedule or a gate; got some.")
        if self.slots and self.schedule is not None:
            check_constant_rule(self.schedule)
        if self.schedule is not None and (self.schedule.num_users, self.schedule.num_rounds) != (
            self.num_users,
            self.num_rounds,
        ):
            raise InvalidParameterError(
                f"schedule must be of num_users={self.num_users} and num_rounds={self.num_rounds}; got {self.schedule}."
            )
        if self.schedule is None or self.gate is None:
            return
        if not self.gate.is_open(overlap=self.mean_overlap, arriving=self.survival, overflow=self.overflow):
            raise InvalidParameterError(
                f"gate must be open: the attendance must leave a mean overlap of at least {self.gate.overlap:.6g}, "
                f"counting arriving reports, and overflow at most {self.gate.overflow:.3g}; got mean_overlap="
                f"{self.mean_overlap:.6g}, dropout={self.dropout:g} and overflow={self.overflow:.3g}."
            )

    @property
    def is_churned(self) -> bool:
        """Whether people may be offline, so that positions are known given attendance, or not at all."""
        return bool(self.offline) or self.schedule is not None or self.gate is not None

    def _check_links(self) -> None:
        validate.one_of(SURPLUS, surplus=self.surplus)
        validate.probability(overflow=self.overflow)
        if self.slots:
            checked_slots(self.slots, self.num_rounds)
            check_constant(dropout=self.dropout)
        elif self.overflow:
            raise validate.invalid("0 without slots", overflow=self.overflow)

    def to_dict(self) -> dict[str, Any]:
        """Dictionary of the fields; those about overlays, attendance, colluders and links only where they apply."""
        rare = ("sizes", "schedule", "gate", "slots", "onion", *_OF_KNOWN_COLLUDERS)
        absent = {name for name in rare if not getattr(self, name)} | (set() if self.slots else {"surplus", "overflow"})
        found = super(RandomWalkShuffleModel, self).to_dict()
        return {name: value for name, value in found.items() if name not in absent}

    @property
    def unlimited(self) -> Self:
        """Same walks on links without a limit of slots."""
        parts = tuple(part.unlimited for part in self.parts)
        return replace(self, slots=(), surplus=SURPLUS[0], overflow=0.0, parts=parts)

    def _check_colluders(self) -> None:
        if self.onion and not self.sizes:
            raise validate.invalid("False but on an overlay, where each round mixes groups", onion=True)
        for chance in (*self.unseen_chances, *self.unseen_overlaps):
            validate.probability(**{"each of unseen_chances and unseen_overlaps": chance})
        rounds = {len(self.unseen_chances), len(self.unseen_overlaps)}
        if rounds not in ({self.num_rounds}, {0}):
            raise InvalidParameterError(
                f"unseen_chances and unseen_overlaps must both be one for each of {self.num_rounds} rounds, or left "
                f"out; got {len(self.unseen_chances)} and {len(self.unseen_overlaps)}."
            )

    def counting(self, num_honest: int) -> Self:
        """Same shuffle, all but ``num_honest`` colluding; a changed count drops their identities."""
        found = ColludingShuffleModel.counting(self, num_honest)
        return found if num_honest == self.num_honest else replace(found, unseen_chances=(), unseen_overlaps=())

    def num_reports(self, num_messages: int) -> range:
        """Possible numbers of reports: one per person or ``submissions`` each; with losses, fewer hardly ever come."""
        handed_in = self.num_users * num_messages * (self.submissions or 1)
        lost = handed_in * (1 - self.survival) if self.protocol == "all" else 0.0
        most_lost = math.ceil(lost + math.sqrt(2 * _RARE * lost) + _RARE) if lost else 0  # by Bernstein's inequality
        if self.schedule is not None and self.schedule.handing_in is not None:
            most_lost = handed_in  # all may be with people who hand in nothing
        return range(max(handed_in - most_lost, 0), handed_in + 1)

    def released_in_words(self, released: int, senders: int) -> str:
        """Number of released reports in a sentence: those handed in, of which some may be dummies or lost."""
        if released < senders:
            return f"{released:,} of {senders:,} reports released. The others got lost on their way."
        handed_in = f" handed in by {senders:,} people" if released > senders else ""
        return f"{released:,} reports{handed_in} released."

    def position_windows(self) -> tuple[SwapWindows, ...]:
        """One window of all people if no report is lost: given how many each holds, exchanging two costs gamma_t.

        Walks are independent; so given the bags, people are assigned to the places in them with probabilities that are
        products, and exchanging two people changes one by a factor of at most exp(gamma_t).
        """
        if self.protocol != "all" or self.dropout or self.is_churned or self.num_colluding or self.slots:
            return ()
        return (SwapWindows(sizes=(self.num_users,), costs=(self.near_uniformity,), people=self.num_users),)

    @property
    def dummies(self) -> DummyReports | None:
        """Dummy reports that an estimator must correct for; None if there are none."""
        return self.added

    def dummy_model_among(self, reports: LocalModel) -> LocalModel | None:
        """Randomizer of the dummies among these reports; None if unknown, as for ``dummy_model``."""
        return reports if self.added is not None and self.added.own else self.dummy_model

    @property
    def survival(self) -> float:
        """Chance that a report is not lost on its way."""
        return float((1 - self.dropout) ** self.num_rounds)

    @property
    def unlikeness(self) -> float:
        """Upper bound on the total variation between two people's laws of positions.

        Laws whose odds of two places differ by a factor of at most exp(g) are at most tanh(g / 4) apart; and laws that
        have all but s in common are at most s apart.
        """
        return min(self.separation, math.tanh(self.near_uniformity / 4))

    @property
    def remarks(self) -> tuple[str, ...]:
        """Assumptions about the people who pass reports on, and what remains where they fail."""
        return remarks_on(self)

    def exposure(self, num_colluding: int) -> float:
        """Chance that a colluder ever holds a report, see `average_exposure`."""
        return self._exposure(num_colluding, self.num_rounds)

    @property
    def first_hop(self) -> float:
        """Chance that the first receiver of a report colludes, on average over who colludes."""
        return self._exposure(self.num_colluding, min(self.num_rounds, 1))

    def _exposure(self, num_colluding: int, num_rounds: int) -> float:
        leaving: tuple[float, ...] | None = None
        if self.sizes and not self.is_churned:
            cycles = leaving_chances(Overlay(self.num_users, self.sizes)) * (self.num_rounds // len(self.sizes))
            leaving = cycles[:num_rounds]
        people = {"num_users": self.num_users, "num_colluding": num_colluding}
        return average_exposure(**people, num_rounds=num_rounds, leaving=leaving)

    @property
    def mixing(self) -> tuple[str, ...]:
        """Chance that a colluding relay ever holds a report, if people collude: a risk, and no promise."""
        if not 0 < self.num_colluding < self.num_users:
            return ()
        first, ever = (in_digits(each, "at most") for each in (self.first_hop, self.exposure(self.num_colluding)))
        knows = "whose it is, and not what is in it" if self.onion else "whose it is"
        return (
            f"If any {self.num_colluding} of {self.num_users} people are equally likely to collude, the chance that "
            f"somebody's report is ever in their hands is at most {ever}, and that they are the first to receive it, "
            f"and know {knows}, at most {first}; these are averages, and they are close to 1 for whoever has colluding "
            "neighbors only.",
        )

    @property
    def trust(self) -> tuple[Trust, ...]:
        """Trust assumptions: no shuffler, but other people, or all but the counted colluders."""
        everybody = Trust.EVERYBODY_COUNTED if self.schedule is not None or self.gate is not None else Trust.EVERYBODY
        if self.num_colluding:
            return (Trust.HONEST_RELAYS, *((Trust.LAYERS,) if self.onion else ()), Trust.UNOBSERVED)
        return (Trust.FIRST_ROUND, Trust.RELAYS, Trust.UNOBSERVED, everybody)


def checked_chances(**chances: float) -> None:
    """Refuse chances outside the range from 0 to 1, 1 excluded."""
    validate.probability(**chances)
    for name, chance in chances.items():
        if chance == 1:
            raise validate.invalid("below 1: reports would never get anywhere", **{name: chance})


def check_constant(*, dropout: float) -> None:
    """Refuse lost messages on constant links, where they would show in the traffic."""
    if dropout:
        raise validate.invalid("0 where links have slots: a lost message would show in the traffic", dropout=dropout)


def check_constant_rule(schedule: Schedule) -> None:
    """Refuse to draw among people online on constant links: envelopes are sealed before attendance is known."""
    if schedule.rule != STAY:
        raise InvalidParameterError(
            f"schedule must have the rule {STAY!r} where links have slots: envelopes are sent before it is known who "
            f"is online; got rule={schedule.rule!r}."
        )


def checked_submissions(protocol: str, submissions: int | None) -> None:
    """Refuse a number of submissions except for the protocol that needs one."""
    if protocol == "padded":
        validate.integer_at_least(1, submissions=submissions)
    elif submissions:
        raise validate.invalid(f"left out, for protocol={protocol!r}", submissions=submissions)
