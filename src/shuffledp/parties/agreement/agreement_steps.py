"""Steps of a host in an agreement: from state and message to the next state, without disk or network.

A host freezes the sets that it has, and commits itself to them. When it holds the commitments of all hosts it reveals
its sets, and when it holds all reveals it signs which sets are complete: once, for ever. When it holds all signatures,
over one and the same thing, it releases these sets. The state is the messages that a host holds, and only grows. The
analyst, who carries them, follows the same steps without messages of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from shuffledp.core.errors import LocalProtocolError, RemoteProtocolError
from shuffledp.core.transitions import Transition
from shuffledp.parties.agreement.agreement_rules import AgreementRules, Reason, Refusal
from shuffledp.parties.wire.agreement_messages import (
    Agreeing,
    Agreement,
    Commitment,
    Kind,
    Reveal,
    Signer,
    complete_digest,
    kind_of,
)


class Stage(StrEnum):
    """Stage of a host; stages follow each other in this order only."""

    OPEN = "open"  # before it freezes
    FROZEN = "frozen"
    REVEALED = "revealed"
    SIGNED = "signed"
    AGREED = "agreed"
    REFUSED = "refused"


class ShowReveal:
    """Output: the host shows its reveal from now on."""


class Sign:
    """Output: the host signs which sets are complete."""


class Release:
    """Output: the host makes batches of the complete sets, and destroys all other sets."""


class Refuse:
    """Output: the host destroys all its sets, and releases nothing."""


WAITED_FOR = {
    Stage.FROZEN: Kind.COMMITMENT,
    Stage.REVEALED: Kind.REVEAL,
    Stage.SIGNED: Kind.AGREEMENT,
}
TRANSITIONS = (
    Transition(Stage.FROZEN, Commitment, Stage.FROZEN, (), "not lies and not last"),
    Transition(Stage.FROZEN, Commitment, Stage.REVEALED, (ShowReveal,), "not lies and last"),
    Transition(Stage.FROZEN, Reveal, None),
    Transition(Stage.FROZEN, Agreement, None),
    Transition(Stage.REVEALED, Reveal, Stage.REVEALED, (), "not lies and not last"),
    Transition(Stage.REVEALED, Reveal, Stage.SIGNED, (Sign,), "not lies and last and enough"),
    Transition(Stage.REVEALED, Reveal, Stage.REFUSED, (Refuse,), "not lies and last and not enough"),
    Transition(Stage.REVEALED, Agreement, None),
    Transition(Stage.SIGNED, Agreement, Stage.SIGNED, (), "not lies and not last"),
    Transition(Stage.SIGNED, Agreement, Stage.AGREED, (Release,), "not lies and last"),
    Transition(Stage.FROZEN, Commitment, Stage.REFUSED, (Refuse,), "lies"),
    *(Transition(Stage.REVEALED, each, Stage.REFUSED, (Refuse,), "lies") for each in (Commitment, Reveal)),
    *(Transition(Stage.SIGNED, each, Stage.REFUSED, (Refuse,), "lies") for each in (Commitment, Reveal, Agreement)),
)
Outputs = tuple[type, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementState:
    """State of a party in an agreement: the messages that the party holds.

    Args:
        me: number of the host; None for the analyst.
        messages: by kind and host, also the party's own.
        refusal: why nothing is released; None as long as it may be.
    """

    me: int | None
    messages: Mapping[tuple[Kind, int], Agreeing] = field(default_factory=dict)
    refusal: Refusal | None = None

    def stage(self, rules: AgreementRules) -> Stage:
        """Stage of the party, which follows from the messages that it holds."""
        if self.refusal is not None:
            return Stage.REFUSED
        if self.me is not None and (Kind.COMMITMENT, self.me) not in self.messages:
            return Stage.OPEN
        for stage, kind in WAITED_FOR.items():
            if self.lacks(kind, rules):
                return stage
        return Stage.AGREED

    def waited_for(self, rules: AgreementRules) -> Kind:
        """Kind of the messages that the party waits for now."""
        return WAITED_FOR.get(self.stage(rules), Kind.NONE)

    def lacks(self, kind: Kind, rules: AgreementRules) -> list[int]:
        """Numbers of the hosts whose message of a kind the party does not hold."""
        return [host for host in rules.hosts if (kind, host) not in self.messages]

    def shown(self, kind: Kind, rules: AgreementRules) -> Agreeing | None:
        """Host's own message of a kind; None if it has none, or while other hosts may not see it.

        No reveal is shown before all hosts have committed themselves.
        """
        own = None if self.me is None else self.messages.get((kind, self.me))
        return None if kind is Kind.REVEAL and self.lacks(Kind.COMMITMENT, rules) else own

    def commitments(self, rules: AgreementRules) -> tuple[Commitment, ...]:
        """Commitments that the party holds, in the order of the hosts."""
        found = (self.messages.get((Kind.COMMITMENT, host)) for host in rules.hosts)
        return tuple(each for each in found if isinstance(each, Commitment))

    def judged(self, rules: AgreementRules) -> Refusal | list[bytes]:
        """Digests of the sets that all hosts have revealed, or else the refusal that the rules demand.

        Raises:
            LocalProtocolError: if the party does not hold all reveals.
        """
        found = [self.messages.get((Kind.REVEAL, host)) for host in rules.hosts]
        if not all(isinstance(each, Reveal) for each in found):
            raise LocalProtocolError("reveals must all be there before sets are compared; one is missing.")
        return rules.judged([each.sets for each in found if isinstance(each, Reveal)])

    def holding(self, *messages: Agreeing) -> "AgreementState":
        """State that also holds these messages."""
        further = {(kind_of(each), each.host): each for each in messages}
        return replace(self, messages={**self.messages, **further})


def frozen(me: int, reveal: Reveal, signer: Signer) -> AgreementState:
    """State of a host with frozen sets: its commitment, and its reveal, which is still secret."""
    return AgreementState(me=me).holding(signer.commitment(reveal), reveal)


def step(
    held: AgreementState, message: Agreeing, rules: AgreementRules, signer: Signer | None
) -> tuple[AgreementState, Outputs]:
    """Next state and outputs after another host's message, by `TRANSITIONS`; a repeat changes nothing.

    Guarantees:
        1. A host shows its reveal only when it holds the commitments of all hosts.
        2. A host signs one agreement in all, whatever it is handed.
        3. Sets are released only by the signatures of all hosts over the same commitments and the same sets.

    Args:
        held: state of the party.
        message: message that it is handed.
        rules: rules of the agreement.
        signer: signer of the host's own messages; None for the analyst.

    Raises:
        RemoteProtocolError: if the message is of another collection, not signed by its host, or too early; then
            nothing has changed.
    """
    stage, kind = held.stage(rules), kind_of(message)
    _check(held, message, rules)
    if stage in (Stage.AGREED, Stage.REFUSED):
        return held, ()
    if kind > held.waited_for(rules):
        raise RemoteProtocolError("a message of an agreement must come in its turn; it is too early.")
    liar = _liar(held, message, rules)
    if liar is not None:
        return replace(held, refusal=Refusal(Reason.LIES, liar)), (Refuse,)
    if (kind, message.host) in held.messages:
        return held, ()
    held = held.holding(message)
    if held.lacks(kind, rules):
        return held, ()
    if kind is not Kind.REVEAL:
        return held, (ShowReveal if kind is Kind.COMMITMENT else Release,)
    found = held.judged(rules)
    if isinstance(found, Refusal):
        return replace(held, refusal=found), (Refuse,)
    if signer is not None:
        complete = complete_digest(rules.collection_id, found)
        held = held.holding(signer.agreement(held.commitments(rules), complete))
    return held, (Sign,)


def _check(held: AgreementState, message: Agreeing, rules: AgreementRules) -> None:
    """Refuse a message unless another host of this collection has signed it; commitments inside are checked too."""
    if message.collection_id != rules.collection_id:
        raise RemoteProtocolError("a message of an agreement must be of its collection; it is of another.")
    if message.host not in rules.hosts or message.host == held.me:
        raise RemoteProtocolError("a message of an agreement must be of another host of the collection; it is not.")
    inside = message.commitments if isinstance(message, Agreement) else ()
    if isinstance(message, Agreement) and len(inside) != len(rules.keys):
        raise RemoteProtocolError("an agreement must be of all hosts of its collection; it is of others.")
    if not all(each.is_by(rules.keys[each.host]) for each in (message, *inside)):
        raise RemoteProtocolError("a message of an agreement must be signed by its host; it is not.")


def _liar(held: AgreementState, message: Agreeing, rules: AgreementRules) -> int | None:
    """Number of a host that has signed contradictory messages; None if no such host is known."""
    before = held.messages.get((Kind.COMMITMENT, message.host))
    committed = before.revealed_sha256 if isinstance(before, Commitment) else None
    if isinstance(message, Commitment):
        return message.host if committed not in (None, message.revealed_sha256) else None
    if isinstance(message, Reveal):
        return message.host if message.sha256 != committed else None
    for seen, told in zip(held.commitments(rules), message.commitments, strict=True):
        if seen.revealed_sha256 != told.revealed_sha256:
            return told.host
    found = held.judged(rules)
    agreed = None if isinstance(found, Refusal) else complete_digest(rules.collection_id, found)
    return message.host if message.complete != agreed else None
