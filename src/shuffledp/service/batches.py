"""When the reports of a collection leave the shuffler: a state machine without clock, disk or network.

A collection is open, until its closing date or until it is closed by hand; closing, until what was being stored is
stored; closed, until all batches are delivered; then released, or destroyed if there never was a batch. No event leads
back, whatever a clock says.
"""

from dataclasses import dataclass
from enum import StrEnum

from shuffledp.core import validate
from shuffledp.core.errors import LocalProtocolError
from shuffledp.core.validate import invalid


class Phase(StrEnum):
    """Where a collection stands; the order of the members is the only one they come in."""

    OPEN = "open"
    CLOSING = "closing"
    CLOSED = "closed"
    RELEASED = "released"
    DESTROYED = "destroyed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRule:
    """When batches are made.

    Args:
        closes: seconds since 1970 (UTC).
        minimum: fewest reports of a batch, 1 or more.
        every: a batch whenever there are so many reports, ``minimum`` or more; None is one batch, at the close.
    """

    closes: float
    minimum: int
    every: int | None = None

    def __post_init__(self) -> None:
        validate.integer_at_least(1, minimum=self.minimum)
        if self.every is not None and self.every < self.minimum:
            raise invalid(f"at least minimum={self.minimum}", every=self.every)


# ---- events ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tick:
    """It is ``now``, in seconds since 1970 (UTC), if the clock is right."""

    now: float


@dataclass(frozen=True, slots=True)
class CloseAsked:
    """Whoever runs the shuffler ends the collection."""


@dataclass(frozen=True, slots=True)
class Stored:
    """Reports are stored: ``waiting`` of each column are not yet released."""

    waiting: int


@dataclass(frozen=True, slots=True)
class Drained:
    """Intake has stopped, and what it took is stored: ``waiting`` in all, after ``batches`` that were made before."""

    waiting: int
    batches: int


@dataclass(frozen=True, slots=True)
class Delivered:
    """The analyzer has acknowledged a batch; ``left`` are on their way."""

    left: int


Event = Tick | CloseAsked | Stored | Drained | Delivered

# ---- decisions ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StopIntake:
    """Nothing more may be stored; then comes `Drained`."""


@dataclass(frozen=True, slots=True)
class MakeBatch:
    """Of so many of the waiting reports of each column, drawn by lot."""

    size: int


@dataclass(frozen=True, slots=True)
class End:
    """Destroy whatever is left, forget which reports were seen, and tell the analyzer that nothing more will come.

    How many were left is told to nobody.
    """


@dataclass(frozen=True, slots=True)
class Clean:
    """Everything has been delivered: leave nothing on the disk but how it ended."""


Decision = StopIntake | MakeBatch | End | Clean


def step(phase: Phase, event: Event, rule: ReleaseRule) -> tuple[Phase, tuple[Decision, ...]]:
    """Where an event leads, and what must be done; events that come again, after a crash, do no harm.

    Guarantees:
        1. The phase never goes back: once it is not open, nothing opens it.
        2. No batch has fewer than ``rule.minimum`` reports, and none is made by a clock before the close.
        3. Every report that is stored before the close is in one batch, or is destroyed.

    Raises:
        LocalProtocolError: for reports that are stored, or drained, where that cannot be.
    """
    stay = phase, ()
    match event:
        case Tick(now):
            return (Phase.CLOSING, (StopIntake(),)) if phase is Phase.OPEN and now >= rule.closes else stay
        case CloseAsked():
            return (Phase.CLOSING, (StopIntake(),)) if phase is Phase.OPEN else stay
        case Stored(waiting):
            if phase not in (Phase.OPEN, Phase.CLOSING):
                raise LocalProtocolError(f"reports must be stored while a collection is open; it is {phase}.")
            if phase is Phase.OPEN and rule.every is not None and waiting >= rule.every:
                return phase, (MakeBatch(rule.every),)
            return stay
        case Drained(waiting, batches):
            if phase is not Phase.CLOSING:
                raise LocalProtocolError(f"a collection must be closing when it is drained; it is {phase}.")
            if waiting >= rule.minimum:
                return Phase.CLOSED, (MakeBatch(waiting), End())
            return (Phase.CLOSED if batches else Phase.DESTROYED), (End(),)
        case Delivered(left):
            if left or phase not in (Phase.CLOSED, Phase.DESTROYED):
                return stay
            return (Phase.RELEASED if phase is Phase.CLOSED else phase), (Clean(),)
