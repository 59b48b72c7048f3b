"""Network shuffling at one person as a state machine without input or output.

A simulation, or a relay between real devices, draws the choices and moves the messages; reports are opaque here. The
steps are the same as those of `shuffledp.protocols.network.sample_walks`, which makes them for everybody at once.

With ``slots``, what leaves a person in a round is one `Envelope` for each neighbor, with as many places, whatever the
person holds: the transport encrypts all of them anew, the empty ones too, in one length and at one time. Reports that
find no place wait for the next round.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import singledispatch
from typing import Any, cast

import numpy as np

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError, LocalProtocolError, RemoteProtocolError
from shuffledp.core.transitions import Transition
from shuffledp.protocols.network.laws.link_slots import checked_slots, waiting


class WalkPhase(StrEnum):
    """Phase of a walk at one person."""

    WAITING = "before a round"
    WALKING = "in a round"
    WALKED = "after the last round"
    DONE = "handed in"


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayState:
    """State of one person in a walk: contacts, round, and reports held.

    Args:
        person: this person's number.
        neighbors: possible recipients in each round of a cycle; the same in all rounds on one graph.
        num_rounds: rounds of the walk.
        round: rounds that have started.
        held: the reports held, in the order in which they came.
        sent: what was passed on to each neighbor in a round that has not ended.
        came: what came from each neighbor in it.
        is_walking: whether a round has started, and not ended.
        is_done: whether reports have been handed in.
        slots: places of an envelope in each round; empty if reports go one by one.
    """

    person: int
    neighbors: tuple[tuple[int, ...], ...]
    num_rounds: int
    slots: tuple[int, ...] = ()
    round: int = 0
    held: tuple[Any, ...] = field(default=(), repr=False)
    sent: tuple[tuple[int, tuple[Any, ...]], ...] = field(default=(), repr=False)
    came: tuple[tuple[int, tuple[Any, ...]], ...] = field(default=(), repr=False)
    is_walking: bool = False
    is_done: bool = False

    @property
    def present_neighbors(self) -> tuple[int, ...]:
        """Neighbors of this person in the current round."""
        return self.neighbors[(self.round - 1) % len(self.neighbors)]

    @property
    def phase(self) -> WalkPhase:
        """Phase of the walk at this person."""
        if self.is_done or self.is_walking:
            return WalkPhase.DONE if self.is_done else WalkPhase.WALKING
        return WalkPhase.WAITING if self.round < self.num_rounds else WalkPhase.WALKED

    def met(self, offline: frozenset[int]) -> frozenset[int]:
        """Neighbors met in the current round, given who was offline; none if this person was offline."""
        return frozenset() if self.person in offline else frozenset(self.present_neighbors) - offline

    def missing(self, offline: frozenset[int]) -> frozenset[int]:
        """Neighbors met in the current round whose message has not arrived."""
        return self.met(offline) - dict(self.came).keys()


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundStarted:
    """Start of a round, in which each held report moves to a neighbor or stays.

    Args:
        round: its number, from 1 on.
        choices: for each report held, the place of a neighbor among those of the round, drawn independently of
            everything: uniformly on a graph, and on an overlay as the round's digit is; None for one that stays, as all
            do while a person is offline.
        order: a uniform permutation of the places of the reports held, where there are slots: those that come first in
            it go, and the others wait.
    """

    round: int
    choices: tuple[int | None, ...] = field(repr=False)
    order: tuple[int, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportsReceived:
    """Arrival of one neighbor's reports of a round, even if there are none.

    It comes once for each neighbor.

    Args:
        round: number of the round in which they were passed on.
        sender: number of the neighbor who sent them.
        reports: the reports, as they are.
    """

    round: int
    sender: int
    reports: tuple[Any, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundEnded:
    """End of a round, with the public list of people who were offline.

    What was passed on to somebody who was offline, or by somebody, has not moved: it stays with its holder.

    Args:
        round: number of the round.
        offline: numbers of the people offline.
    """

    round: int
    offline: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionDue:
    """End of the last round: the reports held are to be handed in.

    Args:
        order: a uniform permutation of the places of the reports held, and of the dummies that are lacking; the first
            ``submissions`` of it are handed in.
        submissions: how many reports to hand in; None is all that are held.
        dummy: makes one fresh dummy; needed where ``submissions`` is given.
    """

    order: tuple[int, ...] = field(repr=False)
    submissions: int | None = None
    dummy: Callable[[], Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """Report to pass on, with its recipient.

    Args:
        recipient: number of the neighbor.
        round: number of the round.
        report: the report.
    """

    recipient: int = field(repr=False)
    round: int
    report: Any = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """Message with a fixed number of places, sent to one neighbor in each round, even without a report.

    Args:
        recipient: number of the neighbor.
        round: number of the round.
        places: the reports, and None in each place that is empty.
    """

    recipient: int
    round: int
    places: tuple[Any | None, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedIn:
    """Reports that this person hands in, in an order that reveals nothing.

    Args:
        submitter: this person.
        reports: the reports.
    """

    submitter: int
    reports: tuple[Any, ...] = field(repr=False)


Output = tuple[Passed | Envelope | HandedIn, ...]

# Any other event is refused.
TRANSITIONS = (
    Transition(
        WalkPhase.WAITING, RoundStarted, WalkPhase.WALKING, (Passed, Envelope), "event.round == state.round + 1"
    ),
    Transition(
        WalkPhase.WALKING,
        ReportsReceived,
        WalkPhase.WALKING,
        (),
        "event.round == state.round and event.sender in state.missing(frozenset())",
    ),
    *(
        Transition(
            WalkPhase.WALKING,
            RoundEnded,
            to,
            (),
            f"event.round == state.round {than} state.num_rounds and not state.missing(event.offline)",
        )
        for to, than in ((WalkPhase.WAITING, "<"), (WalkPhase.WALKED, "=="))
    ),
    Transition(WalkPhase.WALKED, SubmissionDue, WalkPhase.DONE, (HandedIn,)),
)


def start_relay(
    person: int,
    neighbors: Sequence[int] | Sequence[Sequence[int]],
    num_rounds: int,
    report: Any,
    *,
    slots: Sequence[int] = (),
) -> RelayState:
    """State before the first round, with the person's own report.

    ``neighbors`` are those of all rounds, or for each round its own, which begin anew after the last; ``slots`` those
    of an envelope in each round, 1 or more, or none if reports go one by one. Refused without neighbors, if there is
    any round.
    """
    validate.integer_at_least(0, person=person, num_rounds=num_rounds)
    each = [some for some in neighbors if isinstance(some, Sequence)] or [cast("Sequence[int]", neighbors)]
    cycle = tuple(map(tuple, each))
    if num_rounds and not all(cycle):
        raise InvalidParameterError("neighbors must be one or more: who has none cannot pass reports on.")
    places = checked_slots(slots, num_rounds) if slots else ()
    return RelayState(person=person, neighbors=cycle, num_rounds=num_rounds, slots=places, held=(report,))


@singledispatch
def _answer(event: Any, state: RelayState) -> tuple[RelayState, Output]:
    raise InvalidParameterError(
        "event must be a RoundStarted, ReportsReceived, RoundEnded or SubmissionDue; got event of type "
        f"{type(event).__name__}. (Person {state.person}.)"
    )


def step(
    state: RelayState, event: RoundStarted | ReportsReceived | RoundEnded | SubmissionDue
) -> tuple[RelayState, Output]:
    """State after an event, and the messages to send, by `TRANSITIONS`.

    Whoever could send a message again would multiply one person's report in the release, which tells more about that
    person than any statement says; so a neighbor is heard once a round. Who is not heard is missed when the round ends,
    unless it is known that they were offline. That a message is its sender's is up to the transport.

    Args:
        state: as it was.
        event: what happened.

    Raises:
        LocalProtocolError: if a round, its end or that of all comes when it is not due, or choices do not fit what is
            held.
        RemoteProtocolError: if reports come that were passed on in another round than the present one, by nobody who
            may, or by the same person again; or if, at the end of a round, nothing came from somebody online.
    """
    if state.is_done:
        raise LocalProtocolError(f"person {state.person} has handed in; no event may follow.")
    return _answer(event, state)


@_answer.register
def _begin_round(event: RoundStarted, state: RelayState) -> tuple[RelayState, Output]:
    if event.round != state.round + 1 or event.round > state.num_rounds or state.is_walking:
        raise LocalProtocolError(f"round {event.round} must not start after round {state.round} of {state.num_rounds}.")
    if len(event.choices) != len(state.held):
        raise LocalProtocolError(
            f"choices must be one for each of {len(state.held)} reports; got {len(event.choices)}."
        )
    neighbors = state.neighbors[state.round % len(state.neighbors)]
    if any(choice is not None and not 0 <= choice < len(neighbors) for choice in event.choices):
        raise LocalProtocolError(f"choices must be places of {len(neighbors)} neighbors, or None.")
    if state.slots:
        return _fill_envelopes(event, state, neighbors)
    pairs = tuple(zip(event.choices, state.held, strict=True))
    passed = tuple(
        Passed(recipient=neighbors[choice], round=event.round, report=report)
        for choice, report in pairs
        if choice is not None
    )
    kept = tuple(report for choice, report in pairs if choice is None)
    sent = tuple(
        (neighbor, tuple(each.report for each in passed if each.recipient == neighbor)) for neighbor in neighbors
    )
    return replace(state, round=event.round, held=kept, sent=sent, is_walking=True), passed


def _fill_envelopes(
    event: RoundStarted, state: RelayState, neighbors: tuple[int, ...]
) -> tuple[RelayState, tuple[Envelope, ...]]:
    """Envelopes for each neighbor, filled with the first reports in the order; later reports wait."""
    if sorted(event.order) != list(range(len(state.held))):
        raise LocalProtocolError(f"order must be a permutation of {len(state.held)} places where there are slots.")
    slots = state.slots[state.round]
    going = [place for place in event.order if event.choices[place] is not None]
    links = np.array([event.choices[place] for place in going], dtype=np.int64)
    late = waiting(links, np.arange(len(going)), slots)
    inside: list[list[Any]] = [[] for _ in neighbors]
    for place, link in zip(np.array(going, dtype=np.int64)[~late].tolist(), links[~late].tolist(), strict=True):
        inside[link].append(state.held[place])
    left = {place for place, waits in zip(going, late, strict=True) if not waits}
    envelopes = tuple(
        Envelope(recipient=neighbor, round=event.round, places=(*reports, *(None,) * (slots - len(reports))))
        for neighbor, reports in zip(neighbors, inside, strict=True)
    )
    kept = tuple(report for place, report in enumerate(state.held) if place not in left)
    sent = tuple((neighbor, tuple(reports)) for neighbor, reports in zip(neighbors, inside, strict=True))
    return replace(state, round=event.round, held=kept, sent=sent, is_walking=True), envelopes


@_answer.register
def _receive(event: ReportsReceived, state: RelayState) -> tuple[RelayState, Output]:
    if event.round != state.round or not state.is_walking:
        now = f"in round {state.round}" if state.is_walking else f"after round {state.round}"
        raise RemoteProtocolError(f"reports of round {event.round} must not come {now}.")
    if event.sender not in state.present_neighbors:
        raise RemoteProtocolError(f"reports of round {event.round} must come from a neighbor; they come from another.")
    if any(sender == event.sender for sender, _ in state.came):
        raise RemoteProtocolError(f"reports of round {event.round} must come once from each neighbor; some come again.")
    return replace(state, came=(*state.came, (event.sender, event.reports))), ()


@_answer.register
def _end_round(event: RoundEnded, state: RelayState) -> tuple[RelayState, Output]:
    if event.round != state.round or not state.is_walking:
        raise LocalProtocolError(f"round {event.round} must not end after round {state.round}, or before it begins.")
    met, heard = state.met(event.offline), dict(state.came)
    if missing := state.missing(event.offline):
        raise RemoteProtocolError(
            f"reports of every neighbor online must have come in round {event.round}; {len(missing)} of "
            f"{len(state.present_neighbors)} neighbors are missing."
        )
    returned = tuple(report for recipient, reports in state.sent if recipient not in met for report in reports)
    came = tuple(report for sender in sorted(met) for report in heard[sender])
    return replace(state, held=state.held + returned + came, sent=(), came=(), is_walking=False), ()


@_answer.register
def _submit(event: SubmissionDue, state: RelayState) -> tuple[RelayState, Output]:
    if state.round != state.num_rounds or state.is_walking:
        raise LocalProtocolError(f"reports must not be handed in after round {state.round} of {state.num_rounds}.")
    lacking = max(0, (event.submissions or 0) - len(state.held))
    if sorted(event.order) != list(range(len(state.held) + lacking)):
        raise LocalProtocolError(f"order must be a permutation of {len(state.held) + lacking} places.")
    if event.submissions is None:
        dummies: tuple[Any, ...] = ()
    elif event.dummy is None:
        raise LocalProtocolError("dummy must be given with submissions, since missing reports would show.")
    else:
        dummies = tuple(event.dummy() for _ in range(lacking))
    everything = state.held + dummies
    chosen = tuple(everything[place] for place in event.order[: event.submissions])
    return replace(state, held=(), is_done=True), (HandedIn(submitter=state.person, reports=chosen),)
