"""Plan of walks on an overlay by design: their guarantee, cost and exposure."""

import math
from dataclasses import dataclass, replace

from shuffledp.core import validate
from shuffledp.core.described import Described
from shuffledp.core.errors import InvalidParameterError
from shuffledp.protocols.network.laws.link_slots import slots_sent
from shuffledp.protocols.network.laws.overlay_loads import average_exposure, leaving_chances
from shuffledp.protocols.network.laws.walk_loads import expected_messages
from shuffledp.protocols.network.people.overlays import Overlay
from shuffledp.protocols.network.planning.constant_links import LinksPlan, plan_links, slots
from shuffledp.protocols.network.planning.network_plan import (
    AfterRounds,
    NetworkPlan,
    PlannedWalks,
    Risk,
    after_rounds,
    epsilon_of_everything,
    risks_of,
)
from shuffledp.protocols.network.planning.network_rounds import NetworkShuffle, epsilon_of_uniform
from shuffledp.protocols.network.planning.planned_churn import PlannedChurn
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler

_USUAL_SHARE = 0.01  # of colluders, where none are planned for


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlayCost(Described):
    """Cost for each person of one cycle of walks on an overlay, and the exposure to colluders.

    Args:
        sizes: of the groups, one for each round.
        contacts: other people whom somebody passes reports to, or gets reports from, in any round; of whoever has most.
        rounds: as many as sizes.
        messages: reports that a person is expected to pass on, on average over people.
        slots_per_link: for each round the number of slots of an envelope to each contact that it takes so that traffic
            tells nothing (`shuffledp.calibrate.slots`).
        slots: those that a person sends in all rounds together, to all contacts; of whoever sends most.
        colluding: people who collude, any of the others being equally likely.
        first_hop: the chance, at most, that the first to receive a person's report is one of them, and knows whose it
            is.
        exposure: the chance, at most, that it is ever in the hands of one of them.
    """

    sizes: tuple[int, ...]
    contacts: int
    rounds: int
    messages: float
    slots_per_link: tuple[int, ...]
    slots: int
    colluding: int
    first_hop: float
    exposure: float

    @classmethod
    def of(cls, overlay: Overlay, *, colluding: int, delta: float) -> "OverlayCost":
        """Cost of an overlay on which ``colluding`` people collude, with slots that are enough for this delta."""
        each, leaving = slots(overlay, overlay.num_rounds, delta=delta), leaving_chances(overlay)
        people = {"num_users": overlay.num_users, "num_colluding": colluding}
        return cls(
            sizes=overlay.sizes,
            contacts=overlay.most_contacts,
            rounds=overlay.num_rounds,
            messages=float(expected_messages(overlay, overlay.num_rounds).mean()),
            slots_per_link=each,
            slots=int(slots_sent(overlay, each).max()),
            colluding=colluding,
            first_hop=average_exposure(**people, num_rounds=1, leaving=leaving[:1]),
            exposure=average_exposure(**people, num_rounds=overlay.num_rounds, leaving=leaving),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlayPlan(PlannedWalks):
    """Plan of walks on an overlay: their guarantee and cost.

    Args:
        num_users: people.
        protocol: what people hand in: "all", "single" or "padded".
        own: guarantee and cost of the planned rounds.
        uniform: epsilon of a uniform shuffle of as many people.
        epsilon_of_all: what would be guaranteed if people handed in all that they hold; None where they do.
        surviving: reports that are expected not to be lost on their way.
        offline: the chance that somebody is offline for a round.
        cost: of one cycle in which nobody is offline, and nothing lost; but the exposure is that of all rounds.
        risks: if people collude, the planned share of them first; empty for onions, whose epsilon counts colluders.
        onion: whether reports are in layers of encryption, so that colluders recognize none of them.
        links: what slots of links cost; None where reports go one by one, and whoever watches follows them.
        churn: what is planned of people who go offline; None where everybody is online.
    """

    num_users: int
    protocol: str
    own: AfterRounds
    uniform: float
    epsilon_of_all: float | None
    surviving: float
    offline: float
    cost: OverlayCost
    risks: tuple[Risk, ...]
    onion: bool = False
    links: LinksPlan | None = None
    churn: PlannedChurn | None = None

    @property
    def epsilon(self) -> float:
        """Epsilon that is guaranteed to every person."""
        return self.own.epsilon

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings to read before a collection; empty if there are none."""
        if self.churn is None or not self.churn.is_unknown:
            return ()
        return (
            "On an overlay each report has one way to each place, so that whoever is offline in a round leaves others "
            "less mixed; several cycles mend that.",
            *self.churn.warnings,
        )


WalksPlan = NetworkPlan | OverlayPlan


def plan_overlay(walk: NetworkShuffle, shuffler: RandomWalkShuffler | None = None, *, delta: float) -> OverlayPlan:
    """Plan of walks on an overlay: their guarantee and cost, before a report is made.

    Args:
        walk: the shuffle, on an overlay.
        shuffler: the one that `NetworkShuffle.shuffler` made, of one cycle or more; None is one cycle.
        delta: of the guarantee, strictly between 0 and 1.

    Raises:
        InvalidParameterError: if an argument is out of range, or the walk is along graphs.

    Example:
        >>> from shuffledp import KaryRandomizedResponse, Overlay
        >>> randomizer = KaryRandomizedResponse(epsilon0=1.0, domain_size=4)
        >>> plan = plan_overlay(NetworkShuffle(graph=Overlay(900, (30, 30)), randomizer=randomizer), delta=1e-6)
        >>> plan.own.rounds, round(plan.own.messages, 3), plan.epsilon <= plan.uniform + 1e-6
        (2, 1.933, True)
    """
    validate.open_probability(delta=delta)
    overlay = walk.graph
    if not isinstance(overlay, Overlay):
        raise InvalidParameterError("walk must be on an overlay; `plan_walk` is for graphs.")
    shuffler = walk.shuffler(overlay.num_rounds) if shuffler is None else shuffler
    share = walk.colluding + walk.fakes / walk.num_users or _USUAL_SHARE
    cost = OverlayCost.of(overlay, colluding=colluding_of(share, overlay.num_users), delta=delta)
    own = after_rounds(shuffler, walk.local, delta)
    return OverlayPlan(
        num_users=walk.num_users,
        protocol=walk.protocol,
        own=own,
        uniform=epsilon_of_uniform(walk.local, walk.num_users, delta),
        epsilon_of_all=epsilon_of_everything(walk, shuffler.num_rounds, delta),
        surviving=walk.num_users * (1 - shuffler.dropout) ** shuffler.num_rounds,
        offline=walk.offline,
        cost=replace(cost, exposure=shuffler.model(walk.num_users).exposure(cost.colluding)),
        risks=() if walk.onion else risks_of(shuffler, walk.local, share),
        onion=walk.onion,
        links=plan_links(shuffler, walk.local, own.epsilon),
        churn=PlannedChurn.of(shuffler),
    )


def colluding_of(share: float, num_users: int) -> int:
    """Number of colluding people for this share, rounded up; at least one person stays honest."""
    return min(math.ceil(share * num_users * (1 - 1e-12)), num_users - 1)
