"""Public description of network shuffling: walks of reports along a graph, hand-in, and dummies."""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from shuffledp.core.shuffle_models import ColludingShuffleModel, DummyReports, LabelMeaning, SwapWindows
from shuffledp.core.statement_terms import Trust
from shuffledp.core.text import in_digits
from shuffledp.protocols.network.laws.overlay_loads import average_exposure, leaving_chances
from shuffledp.protocols.network.laws.walk import WalkFacts
from shuffledp.protocols.network.people.overlays import Overlay

_RARE_KEYS = ("sizes", "schedule", "gate", "slots", "onion", "unseen_chances", "unseen_overlaps")
_UNLIKE = 0.05  # in total variation: from here on it is said that estimates may be biased
_RARE = 28.0  # minus the logarithm of the chance that more reports get lost than a view may lack


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomWalkShuffleModel(WalkFacts, ColludingShuffleModel):
    """Public description of a shuffle by random walks on a graph of people.

    Statements about positions hold for each person's report and for all data. The arguments are the facts of
    `shuffledp.protocols.network.laws.walk.WalkFacts`.

    Raises:
        InvalidParameterError: if a field is out of range, or two do not go together.
    """

    kind: ClassVar[str] = "network"
    has_swap_costs: ClassVar[bool] = False
    labels: ClassVar[LabelMeaning] = LabelMeaning.SUBMITTER
    in_words: ClassVar[str] = "random walks"
    step: ClassVar[tuple[str, str]] = ("Passed on", "from hand to hand, by random walks")
    parts: tuple["RandomWalkShuffleModel", ...] = ()

    def __post_init__(self) -> None:
        self.check_facts()
        self._check_colluding()

    def to_dict(self) -> dict[str, Any]:
        """Dictionary of the fields that apply.

        Fields about overlays, attendance, colluders and links are there only where they apply.
        """
        absent = {name for name in _RARE_KEYS if not getattr(self, name)}
        absent |= set() if self.slots else {"surplus", "overflow"}
        found = super(RandomWalkShuffleModel, self).to_dict()
        return {name: value for name, value in found.items() if name not in absent}

    def counting(self, num_honest: int) -> Self:
        """Model of this shuffle with only ``num_honest`` people honest.

        A changed number drops the identities of the colluders.
        """
        found = ColludingShuffleModel.counting(self, num_honest)
        return found if num_honest == self.num_honest else replace(found, unseen_chances=(), unseen_overlaps=())

    def num_reports(self, num_messages: int) -> range:
        """Range of the possible numbers of reports in a view.

        It is one per person or ``submissions`` each; with losses, fewer hardly ever come.
        """
        handed_in = self.num_users * num_messages * (self.submissions or 1)
        lost = handed_in * (1 - self.survival) if self.protocol == "all" else 0.0
        most_lost = math.ceil(lost + math.sqrt(2 * _RARE * lost) + _RARE) if lost else 0  # by Bernstein's inequality
        if self.schedule is not None and self.schedule.handing_in is not None:
            most_lost = handed_in  # all may be with people who hand in nothing
        return range(max(handed_in - most_lost, 0), handed_in + 1)

    def released_in_words(self, released: int, senders: int) -> str:
        """Words for the number of released reports, and for the number of senders where the two differ."""
        if released < senders:
            return f"{released:,} of {senders:,} reports released. The others got lost on their way."
        handed_in = f" handed in by {senders:,} people" if released > senders else ""
        return f"{released:,} reports{handed_in} released."

    def position_windows(self) -> tuple[SwapWindows, ...]:
        """One swap window of all people, with gamma_t as the cost of an exchange; empty for some walks.

        Empty unless all people hand in all that they hold (protocol "all"), without dropout, churn, colluders and
        slots. The window holds given how many reports each person holds.

        Walks are independent; so given the bags, people are assigned to the places in them with probabilities that are
        products, and exchanging two people changes one by a factor of at most exp(gamma_t).
        """
        if self.protocol != "all" or self.dropout or self.is_churned or self.num_colluding or self.slots:
            return ()
        return (SwapWindows(sizes=(self.num_users,), costs=(self.near_uniformity,), people=self.num_users),)

    @property
    def dummies(self) -> DummyReports | None:
        """Dummy reports that an estimator must correct for; None without dummies."""
        return self.added

    @property
    def unlikeness(self) -> float:
        """Upper bound on the total variation between two people's laws of positions.

        Laws whose odds of two places differ by a factor of at most exp(g) are at most tanh(g / 4) apart; and laws that
        have all but s in common are at most s apart.
        """
        return min(self.separation, math.tanh(self.near_uniformity / 4))

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on the assumptions about relays, and on the privacy if the assumptions fail."""
        two_sides = (
            "The graph is bipartite and nobody is lazy: the number of rounds shows on which side a report began. "
            "A laziness above 0 mixes the sides.",
        )
        on_sides = self.is_bipartite and not (self.laziness or self.offline) and self.num_rounds
        return (
            *_favoring(self),
            *_unknown_dummies(self),
            *(two_sides if on_sides else ()),
            _relays(self),
            _presence(self),
            _watched(self),
        )

    def exposure(self, num_colluding: int) -> float:
        """Chance that a colluder ever holds a report, see `average_exposure`."""
        return self._exposure(num_colluding, self.num_rounds)

    @property
    def first_hop(self) -> float:
        """Chance that a report's first receiver colludes, averaged over sets of colluders."""
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
        """Remark on the chance that a colluding relay ever holds a report: a risk, and no promise."""
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
        """Trust assumptions: no shuffler is trusted, but other people, or all except the counted colluders."""
        everybody = Trust.EVERYBODY_COUNTED if self.schedule is not None or self.gate is not None else Trust.EVERYBODY
        if self.num_colluding:
            return (Trust.HONEST_RELAYS, *((Trust.LAYERS,) if self.onion else ()), Trust.UNOBSERVED)
        return (Trust.FIRST_ROUND, Trust.RELAYS, Trust.UNOBSERVED, everybody)


# ---- remarks of statements ------------------------------------------------------------------------------------------


def _favoring(walks: RandomWalkShuffleModel) -> tuple[str, ...]:
    """Remark that some people's reports may be handed in more often than other people's reports."""
    if walks.protocol == "all" or not walks.num_rounds or walks.unlikeness <= _UNLIKE:
        return ()
    return (
        f"After num_rounds={walks.num_rounds} two people's positions are known to be at most "
        f"{in_digits(walks.unlikeness, 'at most')} apart, in total variation, so that protocol {walks.protocol!r} "
        "may hand in some people's reports more often than others'. Then estimates are biased where answers go "
        "with places in the graph, and no standard error counts that; protocol 'all' favors nobody.",
    )


def _unknown_dummies(walks: RandomWalkShuffleModel) -> tuple[str, ...]:
    """Remark on dummies without a known randomizer."""
    if walks.protocol == "all" or walks.dummy_model is not None or (walks.added is not None and walks.added.own):
        return ()
    return (
        "It is assumed, and cannot be checked, that dummies are made by a function, which looks at no report and "
        "draws them by itself: one that replays reports shows where they are.",
    )


def _chosen(walks: RandomWalkShuffleModel) -> str:
    """Words for the choice of a report's next holder."""
    return "to where each digit leads that is drawn" if walks.sizes else "to a neighbor chosen uniformly"


def _presence(walks: RandomWalkShuffleModel) -> str:
    """Words for the assumptions about attendance, and their effect."""
    if not walks.schedule and walks.gate is None:
        return (
            "Everybody is online in every round, but for chances stated that depend on nothing. Where somebody is "
            "offline, reports wait or get lost together, and whoever knows when learns where they cannot be: then, "
            "too, the local guarantee is left."
        )
    refused = "Nothing is handed in unless who was online has mixed the walks enough. " * (walks.gate is not None)
    return (
        f"{refused}Anybody may know who was online when, and it must depend on nobody's answer: somebody who goes "
        "offline because of an answer, and a server that lies about who was online, are not covered."
    )


def _relays(walks: RandomWalkShuffleModel) -> str:
    """Words for the assumptions about the relays."""
    said = f"Everybody passes reports on as the protocol says, {_chosen(walks)}, "
    deviates = "where a relay deviates: one that keeps, marks or misdirects reports can tell whose they are."
    if walks.num_colluding:
        return (
            f"{said}those too who are counted as colluding, and tell what they see; nobody else looks at anything. "
            f"The local guarantee is left {deviates}"
        )
    return (
        f"{said}and looks at nothing. Colluding people cannot just be subtracted: against a colluding neighbor the "
        f"local guarantee is left, as {deviates}"
    )


def _watched(walks: RandomWalkShuffleModel) -> str:
    """Remark on the information that traffic gives an observer."""
    if not walks.slots:
        return (
            "Nobody but the receiver sees who sends what to whom; somebody who watches the traffic follows each "
            "report to its sender, and the local guarantee is left."
        )
    overflow = walks.overflow if walks.gate is None else walks.gate.overflow
    return (
        "Traffic tells nothing: in each round everybody sends an envelope of one size on every link, whatever "
        "there is to send, sealed anew and at a fixed time. Some link has more to carry than slots with a chance "
        f"of at most {in_digits(overflow, 'at most')}, which delta counts. Whoever keeps messages from "
        "arriving is another danger: who is cut off from others hides among fewer."
    )
