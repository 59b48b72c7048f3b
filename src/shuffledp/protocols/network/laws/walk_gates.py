"""Gate of a walk: reports are handed in only if positions overlap enough, given attendance.

It looks at the schedule of who is online and who hands in, and at nothing else. So for each schedule what is seen is
nothing, or what positions that overlap enough show; and as the schedule depends on no answer, that is what holds before
anybody walks.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from shuffledp.core import validate
from shuffledp.core.described import Described
from shuffledp.protocols.network.laws.churn_likeness import overlaps_by_round
from shuffledp.protocols.network.laws.churned_rounds import ChurnedWays
from shuffledp.protocols.network.laws.link_slots import surplus_chances


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkGate(Described):
    """Requirements on attendance before reports are handed in; made by `shuffledp.walk_gate`.

    Args:
        epsilon: what the gate promises at ``delta``, as it was asked for.
        delta: strictly between 0 and 1.
        overlap: the mean overlap that is needed of everybody, counting what arrives; above 0, at most 1. The theorem
            `network-gate` goes by this alone.
        overflow: the chance, at most, that some link has more reports to carry than slots, given who was online; 0
            where links have none. `network-constant-pattern` goes by it.

    Raises:
        InvalidParameterError: if a field is out of range.
    """

    title: ClassVar[str] = "gate"
    epsilon: float
    delta: float
    overlap: float
    overflow: float = 0.0

    def __post_init__(self) -> None:
        validate.nonnegative(epsilon=self.epsilon)
        validate.open_probability(delta=self.delta)
        validate.positive(overlap=self.overlap)
        validate.probability(overlap=self.overlap, overflow=self.overflow)

    def to_dict(self) -> dict[str, Any]:
        """Dictionary of the fields; ``overflow`` only where links have slots."""
        found = super(WalkGate, self).to_dict()
        return found if self.overflow else {name: value for name, value in found.items() if name != "overflow"}

    def is_open(self, *, overlap: float, arriving: float = 1.0, overflow: float = 0.0) -> bool:
        """Whether reports may be handed in with this mean overlap, arrival chance, and surplus chance."""
        return overlap * arriving >= self.overlap and overflow <= self.overflow

    def first_open_round(
        self, ways: ChurnedWays, *, laziness: float = 0.0, dropout: float = 0.0, slots: Sequence[int] = ()
    ) -> int | None:
        """First round of the schedule after which the gate is open; None if it stays shut.

        It is a function of who is online alone: so it may be asked after each round, of the schedule so far, whether
        this round is the one after which reports are handed in.

        Args:
            ways: a graph or an overlay with the schedule.
            laziness: the chance that a report stays where it is for a round, from 0 to 1.
            dropout: the chance that a report is lost in a round, from 0 to 1: what is lost hides nobody.
            slots: slots of a link in each round; empty for unlimited links.

        Raises:
            InvalidParameterError: if a chance is out of range.

        Example:
            >>> import numpy as np
            >>> from shuffledp.protocols.network.laws.churn_schedules import Schedule
            >>> from shuffledp.protocols.network.people.overlays import Overlay
            >>> overlay, online = Overlay(9, (3, 3)), np.ones((5, 9), dtype=bool)
            >>> gate = WalkGate(epsilon=0.9, delta=0.01, overlap=0.99)
            >>> gate.first_open_round(ChurnedWays(overlay, Schedule(online, "online")))
            2
            >>> online[1, 0] = False
            >>> gate.first_open_round(ChurnedWays(overlay, Schedule(online, "online")))
            4
        """
        validate.probability(dropout=dropout)
        overlaps = overlaps_by_round(ways, worth=self.overlap, laziness=laziness)
        surplus = surplus_chances(ways, slots, laziness=laziness) or itertools.repeat(0.0)
        found = (
            done
            for done, (overlap, overflow) in enumerate(zip(overlaps, surplus, strict=False), start=1)
            if self.is_open(overlap=overlap, arriving=(1 - dropout) ** done, overflow=overflow)
        )
        return next(found, None)
