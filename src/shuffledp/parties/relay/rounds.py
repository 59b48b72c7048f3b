"""Steps of one member in a relay, without input or output: a stage's letters, and the next state.

The walk is that of `relay_protocol`, and the draws are those of `sample_walks` (`shuffledp.protocols.network`). To
them come encryption, and the rule by which all members agree on the rounds that happened.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from typing import cast

import numpy as np

from shuffledp.core.errors import LocalProtocolError, RemoteProtocolError
from shuffledp.core.transitions import Transition
from shuffledp.parties.relay.attendance import Attendance
from shuffledp.parties.relay.hand_in_gate import hand_in_refusal
from shuffledp.parties.relay.links import Link, LinkKeys
from shuffledp.parties.relay.member_keys import MemberKey
from shuffledp.parties.relay.onion import drawn_route, next_holder, peeled, wrapped
from shuffledp.parties.relay.sealed_hand_ins import sealed_hand_in
from shuffledp.parties.relay.terms import ANALYST, DIGEST_BYTES, EVERYBODY, RelayTerms, from_slots, in_slots
from shuffledp.parties.wire.keys import is_signed_by
from shuffledp.protocols.network.laws.walk_sampling import sample_walks
from shuffledp.protocols.network.shufflers.relay_protocol import (
    Envelope,
    HandedIn,
    RelayState,
    ReportsReceived,
    RoundEnded,
    RoundStarted,
    SubmissionDue,
    start_relay,
    step,
)
from shuffledp.randomness.permutations import random_permutation
from shuffledp.randomness.sources import RandomSource, resolve_source

Letters = Mapping[int, bytes]  # by recipient, or by sender


class HandInRefusedError(RemoteProtocolError):
    """Error: the relay ends without a hand-in, since the promised guarantee would not hold."""


class LetterRefusedError(RemoteProtocolError):
    """Error: a contact's letter is invalid.

    Args:
        message: fault of the letter.
        sender: place of the sender in the directory.
        name: name of the sender.
        letter: letter as it came.
    """

    def __init__(self, message: str, sender: int, name: str, letter: bytes) -> None:
        super().__init__(f"{message} It came from member {name}, or was changed on its way. Nothing is handed in.")
        self.sender, self.name, self.letter = sender, name, letter


class Phase(StrEnum):
    """Phase of a member's part; phases follow each other in this order."""

    SET_UP = "set-up"
    ROUND = "round"
    VOTE = "vote"
    HAND_IN = "hand-in"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MemberState:
    """State of a member: reports, keys, attendance, and the letters of the stage.

    Args:
        walk: held reports, sealed to the analyst, in layers if the task says so, and the round.
        keys: link keys of the next round.
        attendance: attendance so far.
        stage: current stage, as in `shuffledp.parties.relay.terms`.
        letters: settled letters of the stage: once set, these bytes and no others are sent.
        refused: number of reports in layers not passed on: repeated, unopenable, or without a slot.
    """

    walk: RelayState
    keys: LinkKeys
    attendance: Attendance
    stage: int = 0
    letters: Letters | None = field(default=None)
    refused: int = 0

    @property
    def person(self) -> int:
        """Place of the member in the directory."""
        return self.walk.person

    def phase(self, terms: RelayTerms) -> Phase:
        """Phase of the member's part."""
        if self.stage == 0:
            return Phase.SET_UP
        return {terms.vote_stage: Phase.VOTE, terms.hand_in_stage: Phase.HAND_IN}.get(self.stage, Phase.ROUND)


def begin(terms: RelayTerms, person: int, report: bytes, *, source: RandomSource | None = None) -> MemberState:
    """State before the set-up, in which the member holds its own report, sealed to the analyst.

    Args:
        terms: terms of the relay.
        person: place of the member.
        report: sealed report of the member.
        source: randomness of its route, where reports are in layers; None is the cryptographic source.
    """
    if len(report) != terms.report_bytes:
        raise LocalProtocolError(f"a sealed report must have {terms.report_bytes} bytes; got {len(report)}.")
    if terms.section.onion:
        route = drawn_route(terms.rounds, person, resolve_source(source))
        report = wrapped(report, route, terms.collection_id, terms.directory)
    contacts = [terms.contacts(person, stage) for stage in range(1, terms.num_rounds + 1)]
    return MemberState(
        walk=start_relay(person, contacts, terms.num_rounds, report, slots=terms.slots),
        keys=LinkKeys.drawn(terms.contacts(person, 0)),
        attendance=Attendance(terms.collection_id, terms.num_users),
    )


# ---- what is sent ----------------------------------------------------------------------------------------------------


def prepare(
    terms: RelayTerms, key: MemberKey, state: MemberState, *, source: RandomSource | None = None
) -> MemberState:
    """State with the letters of its stage; write the state down before any letter is sent.

    Args:
        terms: terms of the relay.
        key: private keys of the member.
        state: state without letters.
        source: randomness of the walk; None is the cryptographic source. Keys always use the system's randomness.

    Raises:
        HandInRefusedError: if, at the vote, the rounds that happened do not hide what was promised.
    """
    if state.letters is not None:
        raise LocalProtocolError(f"letters of stage {state.stage} must be settled once; they are.")
    if state.stage == 0:
        letters: Letters = {
            each: _link(terms, state.person, each).set_up(secret, terms.directory, key)
            for each, secret in state.keys.outward.items()
        }
    elif state.stage <= terms.num_rounds:
        return _walked(terms, state, resolve_source(source))
    elif state.stage == terms.vote_stage:
        check_hand_in(terms, state.attendance, state.person)
        letters = {EVERYBODY: key.signature(state.attendance.vote)}
    else:
        return _handed_in(terms, key, state, resolve_source(source))
    return replace(state, letters=letters)


def check_hand_in(terms: RelayTerms, attendance: Attendance, person: int | None = None) -> None:
    """Refuse a hand-in if the attendance does not allow it; all members decide alike.

    Raises:
        HandInRefusedError: if the promise does not cover these rounds, or the reports of this ``person``, who was
            away in the last round.
    """
    if reason := hand_in_refusal(terms, attendance):
        raise HandInRefusedError(reason)
    if person in attendance.absent:
        raise HandInRefusedError(
            "a member must be there in the last round to hand in; it ended before your letters came, and the "
            "collection goes on without what you hold. Nothing is handed in here."
        )


def _walked(terms: RelayTerms, state: MemberState, source: RandomSource) -> MemberState:
    """State with a round begun: each report has a next holder, and each contact gets an envelope."""
    number, held = state.stage, state.walk.held
    there = {each: place for place, each in enumerate(terms.contacts(state.person, number))}
    choices = tuple(there.get(goal) for goal in _goals(terms, state, source))
    order = tuple(random_permutation(len(held), source=source).tolist())
    walk, envelopes = step(state.walk, RoundStarted(round=number, choices=choices, order=order))
    letters = {}
    for each in cast(tuple[Envelope, ...], envelopes):
        inside = in_slots(tuple(filter(None, each.places)), len(each.places), terms.carried_bytes(number))
        link, secret = _link(terms, state.person, each.recipient), state.keys.outward[each.recipient]
        letters[each.recipient] = link.seal(secret, number, state.attendance.digest + inside)
    return replace(state, walk=walk, letters=letters)


def _goals(terms: RelayTerms, state: MemberState, source: RandomSource) -> list[int]:
    """Next holder of each report in the round that begins."""
    held, walked = state.walk.held, terms.rounds[state.stage - 1]
    if terms.section.onion:
        return [next_holder(onion) for onion in held]
    starts = np.full(len(held), state.person)
    drawn = sample_walks(walked, 1, starts=starts, laziness=terms.section.laziness, source=source)
    goals: list[int] = drawn.positions.tolist()
    return goals


def _handed_in(terms: RelayTerms, key: MemberKey, state: MemberState, source: RandomSource) -> MemberState:
    """State with the member's hand-in: held reports in random order, sealed to the analyst; surplus is dropped."""
    order = tuple(random_permutation(len(state.walk.held), source=source).tolist())
    walk, (handed_in,) = step(state.walk, SubmissionDue(order=order))
    inside = in_slots(
        cast(HandedIn, handed_in).reports[: terms.most_handed_in], terms.most_handed_in, terms.report_bytes
    )
    return replace(state, walk=walk, letters={ANALYST: sealed_hand_in(terms, key, state.person, inside)})


# ---- what follows from mail ------------------------------------------------------------------------------------------


def finish(terms: RelayTerms, key: MemberKey, state: MemberState, record: bytes, mail: Letters) -> MemberState:
    """State of the next stage, after the mail of this stage.

    Args:
        terms: terms of the relay.
        key: private keys of the member.
        state: state whose letters were sent, or came too late.
        record: attendance of this stage, as all members are told.
        mail: letters by sender, of all present contacts; at the vote, of all members.

    Raises:
        RemoteProtocolError: if a present contact is silent, or was told other attendance than this member.
        LetterRefusedError: if a letter breaks the protocol.
        HandInRefusedError: at the set-up, if this member came too late; at the vote, if too few saw the same.
    """
    if state.stage == terms.vote_stage:
        count_votes(terms, state.attendance, mail)
        return replace(state, stage=state.stage + 1, letters=None)
    attendance = state.attendance.followed_by(record)
    if state.person in attendance.absent:
        mail = {}
    else:
        met = set(terms.contacts(state.person, state.stage)) - attendance.absent
        if missing := met - mail.keys():
            raise RemoteProtocolError(
                f"mail must be there of each of {len(met)} contacts who are said to have sent it in stage "
                f"{state.stage}; {len(missing)} are missing."
            )
        mail = {each: mail[each] for each in sorted(met)}
    if state.stage == 0 and state.person in attendance.absent:
        raise HandInRefusedError(
            "a member must be there for the set-up; it has ended before your letters came, and the collection goes on "
            "without you. Nothing of your answer was sent."
        )
    if state.stage == 0:
        secrets = {}
        for each, letter in mail.items():
            with _naming(terms, each, letter):
                secrets[each] = _link(terms, each, state.person).secret_in(letter, terms.directory, key)
        return replace(state, attendance=attendance, keys=state.keys.hearing(secrets), stage=1, letters=None)
    walk = _received(terms, state, mail)
    walk, _ = step(walk, RoundEnded(round=state.stage, offline=attendance.absent))
    state = replace(
        state, walk=walk, attendance=attendance, keys=state.keys.after(state.stage), stage=state.stage + 1, letters=None
    )
    return _peeled(terms, key, state) if terms.section.onion else state


def _received(terms: RelayTerms, state: MemberState, mail: Letters) -> RelayState:
    """State of the walk with the reports that contacts passed on, each counted once."""
    walk = state.walk
    for sender, letter in mail.items():
        with _naming(terms, sender, letter):
            opened = _link(terms, sender, state.person).open(state.keys.inward[sender], state.stage, letter)
        if opened[:DIGEST_BYTES] != state.attendance.digest:  # the sender need not be at fault
            raise RemoteProtocolError(
                f"all members must be told the same of the stages before {state.stage}; member "
                f"{terms.directory.entries[sender].name} was told something else. Nothing is handed in."
            )
        with _naming(terms, sender, letter):
            reports = _passed_on(terms, state.stage, opened[DIGEST_BYTES:])
        walk, _ = step(walk, ReportsReceived(round=state.stage, sender=sender, reports=reports))
    return walk


@contextmanager
def _naming(terms: RelayTerms, sender: int, letter: bytes) -> Iterator[None]:
    """Context in which an error about a letter also names the sender and the letter."""
    try:
        yield
    except RemoteProtocolError as error:
        raise LetterRefusedError(str(error), sender, terms.directory.entries[sender].name, letter) from None


def _passed_on(terms: RelayTerms, number: int, inside: bytes) -> tuple[bytes, ...]:
    """Reports in the slots of an envelope of a round.

    Raises:
        RemoteProtocolError: if a slot holds no sealed report.
    """
    length = terms.carried_bytes(number)
    reports = from_slots(inside, length)
    is_filled = in_slots(reports, terms.slots[number - 1], length) == inside
    if not is_filled or not (terms.section.onion or all(map(terms.is_sealed, reports))):
        raise RemoteProtocolError(
            f"slots must hold reports that are sealed to the analyst, or nothing; one of round {number} does not."
        )
    return reports


def _peeled(terms: RelayTerms, key: MemberKey, state: MemberState) -> MemberState:
    """State after a round with one layer removed; reports without a layer for this member are dropped."""
    held = state.walk.held
    kept = peeled(held, state.person, state.walk.round, terms.collection_id, key)
    return replace(state, walk=replace(state.walk, held=kept), refused=state.refused + len(held) - len(kept))


def count_votes(terms: RelayTerms, attendance: Attendance, mail: Letters) -> None:
    """Refuse a hand-in without a quorum of equal votes.

    Two different records can never both reach the quorum.
    """
    absent, message, votes = attendance.absent, attendance.vote, 0
    for sender, vote in mail.items():
        votes += sender not in absent and _has_signed(terms.directory.identities[sender], vote, message)
        if votes >= terms.quorum:
            return
    raise HandInRefusedError(
        f"at least {terms.quorum} of {terms.num_users} members must have voted that they saw the same rounds; "
        f"{votes} have. Nothing is handed in."
    )


@lru_cache(maxsize=1 << 14)  # for processes in which many members run
def _has_signed(key: bytes, signature: bytes, message: bytes) -> bool:
    return is_signed_by([key], signature, message)


def _link(terms: RelayTerms, sender: int, recipient: int) -> Link:
    return Link(collection_id=terms.collection_id, sender=sender, recipient=recipient)


_REFUSED = "(hand_in_refusal(terms, state.attendance) or state.person in state.attendance.absent)"
# In conditions, `absent` are the members absent by the record, and `votes` the valid votes for this attendance.
TRANSITIONS = (
    Transition(Phase.SET_UP, prepare, Phase.SET_UP),
    Transition(Phase.SET_UP, finish, Phase.ROUND, (), "state.person not in absent"),
    Transition(Phase.SET_UP, finish, None, (), "state.person in absent"),
    Transition(Phase.ROUND, prepare, Phase.ROUND),
    Transition(Phase.ROUND, finish, Phase.ROUND, (), "state.stage < terms.num_rounds"),
    Transition(Phase.ROUND, finish, Phase.VOTE, (), "state.stage == terms.num_rounds"),
    Transition(Phase.VOTE, prepare, Phase.VOTE, (), f"not {_REFUSED}"),
    Transition(Phase.VOTE, prepare, None, (), _REFUSED),
    Transition(Phase.VOTE, finish, Phase.HAND_IN, (), "votes >= terms.quorum"),
    Transition(Phase.VOTE, finish, None, (), "votes < terms.quorum"),
    Transition(Phase.HAND_IN, prepare, Phase.HAND_IN),
)
