"""The gate: reports are handed in once everybody's positions overlap enough given who was online, or not at all.

It looks at the schedule of who is online and at nothing else. So for each schedule what is seen is nothing, or what
positions that overlap enough show; and as the schedule depends on no answer, that is what holds before anybody walks.
"""

from dataclasses import dataclass
from typing import ClassVar

from shuffledp.core import validate
from shuffledp.core.described import Described
from shuffledp.laws.churn_likeness import overlaps_by_round
from shuffledp.laws.churned_rounds import ChurnedWays


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkGate(Described):
    """What must be known of a schedule before reports are handed in; `shuffledp.walk_gate` works it out.

    Args:
        epsilon: what the gate promises at ``delta``, as it was asked for.
        delta: strictly between 0 and 1.
        overlap: the mean overlap that is needed of everybody, counting what arrives; above 0, at most 1. The theorem
            `network-gate` goes by this alone.

    Raises:
        InvalidParameterError: if a field is out of range.
    """

    title: ClassVar[str] = "gate"
    epsilon: float
    delta: float
    overlap: float

    def __post_init__(self) -> None:
        validate.nonnegative(epsilon=self.epsilon)
        validate.open_probability(delta=self.delta)
        validate.positive(overlap=self.overlap)
        validate.probability(overlap=self.overlap)

    def is_open(self, *, overlap: float, arriving: float) -> bool:
        """Whether reports may be handed in: at this least mean overlap, with this chance that each arrives."""
        return overlap * arriving >= self.overlap

    def first_open_round(self, ways: ChurnedWays, *, laziness: float = 0.0, dropout: float = 0.0) -> int | None:
        """The first round of the schedule after which the gate is open; None if it stays shut.

        It is a function of who is online alone: so it may be asked after each round, of the schedule so far, whether
        this round is the one after which reports are handed in.

        Args:
            ways: a graph or an overlay with the schedule.
            laziness: the chance that a report stays where it is for a round, from 0 to 1.
            dropout: the chance that a report is lost in a round, from 0 to 1: what is lost hides nobody.

        Raises:
            InvalidParameterError: if a chance is out of range.

        Example:
            >>> import numpy as np
            >>> from shuffledp.laws.churn_schedules import Schedule
            >>> from shuffledp.people.graphs import Overlay
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
        found = (
            done
            for done, overlap in enumerate(overlaps, start=1)
            if self.is_open(overlap=overlap, arriving=(1 - dropout) ** done)
        )
        return next(found, None)
