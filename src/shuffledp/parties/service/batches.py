"""State machine that decides when reports leave the shuffler; without clock, disk or network.

A collection is open, until its closing date or until it is closed by hand; closing, until what was being stored is
stored; of several hosts agreeing, until all have agreed whose shares are complete; closed, until all batches are
delivered; then released. It is destroyed if there never was a batch, or if the analyzer has not fetched all batches in
time. No event leads back, whatever a clock says.
"""

from dataclasses import dataclass
from enum import StrEnum

from shuffledp.core import validate
from shuffledp.core.errors import LocalProtocolError
from shuffledp.core.transitions import Transition
from shuffledp.core.validate import invalid


class Phase(StrEnum):
    """Phase of a collection; phases follow each other in this order only."""

    OPEN = "open"
    CLOSING = "closing"
    AGREEING = "agreeing"
    CLOSED = "closed"
    RELEASED = "released"
    DESTROYED = "destroyed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRule:
    """Rule for when batches are made.

    Args:
        closes: seconds since 1970 (UTC).
        minimum: fewest reports of a batch, 1 or more.
        every: reports that make a batch, ``minimum`` or more; None makes one batch, at the close.
        fetch_by: seconds since 1970 after which batches that the analyzer has not fetched are destroyed; None if the
            shuffler sends them, and goes on until they are delivered.
        agrees: whether the shuffler is one of several hosts, which agree on what is in the batch before it is made.
    """

    closes: float
    minimum: int
    every: int | None = None
    fetch_by: float | None = None
    agrees: bool = False

    def __post_init__(self) -> None:
        validate.integer_at_least(1, minimum=self.minimum)
        if self.every is not None and self.every < self.minimum:
            raise invalid(f"at least minimum={self.minimum}", every=self.every)


# ---- events ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tick:
    """Event: the clock shows ``now``, in seconds since 1970 (UTC)."""

    now: float


@dataclass(frozen=True, slots=True)
class CloseAsked:
    """Event: the shuffler's operator ends the collection."""


@dataclass(frozen=True, slots=True)
class Stored:
    """Event: reports are stored; ``waiting`` reports per column are not yet released."""

    waiting: int


@dataclass(frozen=True, slots=True)
class Drained:
    """Event: intake has stopped, and all reports are stored; ``waiting`` is the total after ``batches`` batches."""

    waiting: int
    batches: int


@dataclass(frozen=True, slots=True)
class Agreed:
    """Event: all hosts have signed that ``waiting`` people are complete; ``batches`` counts earlier batches."""

    waiting: int
    batches: int


@dataclass(frozen=True, slots=True)
class Disagreed:
    """Event: the hosts will never agree."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """Event: the analyzer has acknowledged a batch; ``left`` batches are on their way."""

    left: int


Event = Tick | CloseAsked | Stored | Drained | Agreed | Disagreed | Delivered

# ---- decisions ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StopIntake:
    """Decision: store no more reports; the event `Drained` follows."""


@dataclass(frozen=True, slots=True)
class Freeze:
    """Decision: commit to the people whose shares have come; an agreement between the hosts follows."""


@dataclass(frozen=True, slots=True)
class Keep:
    """Decision: destroy the shares of people who are not complete at all hosts."""


@dataclass(frozen=True, slots=True)
class MakeBatch:
    """Decision: make a batch of ``size`` waiting reports per column, drawn by lot."""

    size: int


@dataclass(frozen=True, slots=True)
class End:
    """Decision: destroy waiting reports and digests, and tell the analyzer that no more batches come.

    The number of destroyed reports is told to nobody.
    """


@dataclass(frozen=True, slots=True)
class Clean:
    """Decision: after the last delivery, delete everything except the record of the collection's end."""


@dataclass(frozen=True, slots=True)
class Destroy:
    """Decision: destroy the batches that nobody has fetched in time."""


Decision = StopIntake | Freeze | Keep | MakeBatch | End | Clean | Destroy

_AFTER_INTAKE = (Phase.AGREEING, Phase.CLOSED, Phase.RELEASED, Phase.DESTROYED)
_TOO_LATE = "rule.fetch_by is not None and event.now >= rule.fetch_by"
# Any other event changes nothing, and nothing is decided: a clock that goes back, or what is told again after a crash.
TRANSITIONS = (
    Transition(Phase.OPEN, Tick, Phase.CLOSING, (StopIntake,), "event.now >= rule.closes"),
    Transition(Phase.OPEN, CloseAsked, Phase.CLOSING, (StopIntake,)),
    Transition(Phase.OPEN, Stored, Phase.OPEN, (MakeBatch,), "rule.every is not None and event.waiting >= rule.every"),
    Transition(Phase.OPEN, Drained, None),
    Transition(
        Phase.CLOSING, Drained, Phase.CLOSED, (MakeBatch, End), "event.waiting >= rule.minimum and not rule.agrees"
    ),
    Transition(Phase.CLOSING, Drained, Phase.AGREEING, (Freeze,), "event.waiting >= rule.minimum and rule.agrees"),
    Transition(Phase.CLOSING, Drained, Phase.CLOSED, (End,), "event.waiting < rule.minimum and event.batches"),
    Transition(Phase.CLOSING, Drained, Phase.DESTROYED, (End,), "event.waiting < rule.minimum and not event.batches"),
    Transition(Phase.AGREEING, Agreed, Phase.CLOSED, (Keep, MakeBatch, End), "not event.batches"),
    Transition(Phase.AGREEING, Agreed, Phase.CLOSED, (End,), "event.batches"),
    Transition(Phase.AGREEING, Disagreed, Phase.DESTROYED, (End,)),
    Transition(Phase.AGREEING, Tick, Phase.DESTROYED, (End, Destroy, Clean), _TOO_LATE),
    Transition(Phase.CLOSED, Tick, Phase.DESTROYED, (Destroy, Clean), _TOO_LATE),
    Transition(Phase.DESTROYED, Tick, Phase.DESTROYED, (Destroy, Clean), _TOO_LATE),
    Transition(Phase.CLOSED, Delivered, Phase.RELEASED, (Clean,), "not event.left"),
    Transition(Phase.DESTROYED, Delivered, Phase.DESTROYED, (Clean,), "not event.left"),
    *(Transition(each, Stored, None) for each in _AFTER_INTAKE),
    *(Transition(each, Drained, None) for each in _AFTER_INTAKE),
)


def step(phase: Phase, event: Event, rule: ReleaseRule) -> tuple[Phase, tuple[Decision, ...]]:
    """Next phase and decisions after an event, by `TRANSITIONS`; repeated events after a crash do no harm.

    Guarantees:
        1. The phase never goes back: once it is not open, nothing opens it.
        2. No batch has fewer than ``rule.minimum`` reports, and none is made by a clock before the close.
        3. Every report that is stored before the close is in one batch, or is destroyed.
        4. Of several hosts, none makes a batch before all have agreed.

    Raises:
        LocalProtocolError: if reports are stored or drained in a phase that does not allow it.
    """
    stay = phase, ()
    match event:
        case Tick(now):
            is_over = rule.fetch_by is not None and now >= rule.fetch_by
            if is_over and phase in (Phase.AGREEING, Phase.CLOSED, Phase.DESTROYED):
                end = (End(),) if phase is Phase.AGREEING else ()
                return Phase.DESTROYED, (*end, Destroy(), Clean())
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
                return (Phase.AGREEING, (Freeze(),)) if rule.agrees else (Phase.CLOSED, (MakeBatch(waiting), End()))
            return (Phase.CLOSED if batches else Phase.DESTROYED), (End(),)
        case Agreed() | Disagreed():
            return _after_agreement(event) if phase is Phase.AGREEING else stay
        case Delivered(left):
            if left or phase not in (Phase.CLOSED, Phase.DESTROYED):
                return stay
            return (Phase.RELEASED if phase is Phase.CLOSED else phase), (Clean(),)


def _after_agreement(event: Agreed | Disagreed) -> tuple[Phase, tuple[Decision, ...]]:
    """Next phase of a host after an agreement, and its decisions, which never make a second batch."""
    if isinstance(event, Disagreed):
        return Phase.DESTROYED, (End(),)
    return Phase.CLOSED, (End(),) if event.batches else (Keep(), MakeBatch(event.waiting), End())
