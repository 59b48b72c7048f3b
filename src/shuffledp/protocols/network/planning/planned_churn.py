"""Churn in a plan: absences while reports walk, the gate's promise, and the rounds until it opens."""

from dataclasses import dataclass

import numpy as np

from shuffledp.core.described import Described
from shuffledp.protocols.network.laws.churn_schedules import Schedule
from shuffledp.protocols.network.laws.churned_rounds import ChurnedWays, rule_for
from shuffledp.protocols.network.laws.walk_gates import WalkGate
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.randomness.replayable import SeededSource

_SIMULATED = 3  # schedules: they show how long it takes, without a promise
_MOST_PEOPLE = 2000  # most people for whom schedules are simulated

_BEFORE = (
    "Somebody may be offline in a round, and before the run nothing is known of positions: only epsilon0 is stated. "
    "The run records who was online, and states what holds given that; with a gate it is known before the run."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChurn(Described):
    """Planned churn: people who go offline.

    Args:
        offline: the chance that somebody is, in each round.
        gate: what is asked of who is online before anything is handed in; None if nothing is.
        recorded: how often somebody was offline, of a run; None before one.
        away: people who were offline in some round of a run.
        left_out: people who were away at the end of a run, and handed in nothing.
        opened: for each of a few simulated schedules after how many rounds the gate opened, 0 if it stayed shut: an
            estimate. Empty after a run, without a gate, or with too many people to try.
    """

    offline: float
    gate: WalkGate | None
    recorded: int | None
    opened: tuple[int, ...]
    away: int = 0
    left_out: int = 0

    @classmethod
    def of(cls, shuffler: RandomWalkShuffler) -> "PlannedChurn | None":
        """Planned churn of a shuffler; None where all people are always online."""
        if not shuffler.is_churned:
            return None
        schedule = shuffler.schedule
        offline, gate = float(shuffler.offline), shuffler.gate
        if schedule is None:
            return cls(offline=offline, gate=gate, recorded=None, opened=_opened(shuffler))
        away = int(np.count_nonzero(~schedule.online.all(axis=0)))
        left_out = 0 if schedule.handing_in is None else int(np.count_nonzero(~schedule.handing_in))
        return cls(offline=offline, gate=gate, recorded=schedule.offline, opened=(), away=away, left_out=left_out)

    @property
    def is_unknown(self) -> bool:
        """Whether positions are unknown, since there is neither a gate nor a record of attendance."""
        return self.gate is None and self.recorded is None

    @property
    def is_open_ended(self) -> bool:
        """Whether the planned rounds are an upper limit for the walks."""
        return self.gate is not None and self.recorded is None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings to read before a collection."""
        return (_BEFORE,) if self.is_unknown else ()


def _opened(shuffler: RandomWalkShuffler) -> tuple[int, ...]:
    """Rounds after which the gate opens in simulations that are equal on every machine."""
    gate = shuffler.gate
    if gate is None or shuffler.num_users > _MOST_PEOPLE:
        return ()
    found = []
    for number in range(_SIMULATED if shuffler.offline else 1):
        drawn = Schedule.drawn(
            shuffler.num_users,
            shuffler.num_rounds,
            offline=shuffler.offline,
            rule=rule_for(shuffler.graph, constant=shuffler.slots is not None),
            source=SeededSource(0).substream("churn", number),
        )
        ways = ChurnedWays(shuffler.graph, drawn)
        chances = {"laziness": shuffler.laziness, "dropout": shuffler.dropout}
        found.append(gate.first_open_round(ways, **chances, slots=shuffler.slots or ()) or 0)
    return tuple(found)
