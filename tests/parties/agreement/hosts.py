"""Hosts of an agreement, played in memory: their keys, their sets, and a courier that may be unreliable."""

from shuffledp.core.errors import RemoteProtocolError
from shuffledp.parties.agreement.agreement_rules import AgreementRules
from shuffledp.parties.agreement.agreement_steps import AgreementState, frozen, step
from shuffledp.parties.wire.agreement_messages import Kind, Signer, set_digest
from shuffledp.parties.wire.keys import ShufflerKey

ID = bytes(range(32))
KINDS = (Kind.COMMITMENT, Kind.REVEAL, Kind.AGREEMENT)


def sets_of(*numbers):
    """Digests of sets that are named by numbers."""
    return sorted(set_digest(ID, number.to_bytes(16, "big")) for number in numbers)


class Hosts:
    """Hosts with sets, each frozen; ``held`` are their states."""

    def __init__(self, *sets, needed=1):
        self.keys = [ShufflerKey.generate() for _ in sets]
        self.rules = AgreementRules(collection_id=ID, keys=tuple((key.public,) for key in self.keys), needed=needed)
        self.signers = [Signer(key, ID, host) for host, key in enumerate(self.keys)]
        self.sets = [sets_of(*each) for each in sets]
        self.held = [
            frozen(host, signer.reveal(bytes([host]) * 32, sets), signer)
            for host, (signer, sets) in enumerate(zip(self.signers, self.sets, strict=True))
        ]
        self.outputs = [[] for _ in sets]

    @property
    def stages(self):
        """Stage of each host."""
        return [each.stage(self.rules) for each in self.held]

    def shown(self, host, kind):
        """Message that a host shows; None if it does not yet."""
        return self.held[host].shown(kind, self.rules)

    def hand(self, to, message):
        """Whether a host takes a message."""
        try:
            self.held[to], outputs = step(self.held[to], message, self.rules, self.signers[to])
        except RemoteProtocolError:
            return False
        self.outputs[to].extend(outputs)
        return True

    def carry(self, *, silent=()):
        """Carry all messages that hosts wait for, until nothing changes; ``silent`` hosts answer nothing."""
        while self.carry_once(silent=silent):
            pass

    def carry_once(self, *, silent=()):
        """Whether any state changed when each host was handed what it waits for."""
        before = list(self.held)
        for host, held in enumerate(before):
            kind = held.waited_for(self.rules)
            for other in held.lacks(kind, self.rules) if kind else ():
                if host not in silent and other not in silent and (message := self.shown(other, kind)) is not None:
                    self.hand(host, message)
        return self.held != before

    def analyst(self):
        """State of the analyst, who has followed all messages that hosts show."""
        held = AgreementState(me=None)
        for kind in KINDS:
            for host in self.rules.hosts:
                if (message := self.shown(host, kind)) is not None:
                    held, _ = step(held, message, self.rules, None)
        return held
