"""Terms that all parties of a relay share: contacts in each round, and lengths of letters.

They follow from the collection file and the directory that it names, and from nothing else. A *stage* is a number:
0 is the set-up of links, 1 to T are the rounds of the walk, T + 1 is the vote on what happened, T + 2 the hand-in.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from shuffledp.core.errors import MalformedMessageError
from shuffledp.core.instants import instant
from shuffledp.parties.relay.directory import Directory
from shuffledp.parties.relay.links import SET_UP_BYTES
from shuffledp.parties.relay.onion import LAYER_BYTES
from shuffledp.parties.service.client import configs_of
from shuffledp.parties.wire.grammar import SIGNATURE_BYTES, HpkeCiphertext, HpkeConfig
from shuffledp.parties.wire.hpke import sealed_lengths
from shuffledp.parties.wire.kems import TAG_BYTES
from shuffledp.parties.wire.report_bytes import ReportLayout
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.laws.walk_distributions import Round, graphs_of_rounds
from shuffledp.protocols.network.people.overlays import Contacts, Overlay, OverlayRound
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.protocols.network.survey.network_section import NetworkSection
from shuffledp.survey import Collection
from shuffledp.survey.bound_directory import BoundDirectory

EVERYBODY, ANALYST = -1, -2  # recipients of letters besides members
RECIPIENTS = {EVERYBODY: "all", ANALYST: "analyst"}  # their names in addresses and files
DIGEST_BYTES = 32
_OVERFLOW = 1e-9  # chance that a member holds more reports than a hand-in has room for; the rest is left out


@dataclass(frozen=True, kw_only=True)
class RelayTerms:
    """Terms of one relay, from its collection and directory.

    Args:
        collection: collection with the question and its parties.
        directory: directory of the members, the one that the collection names.

    Raises:
        InvalidParameterError: if the collection names another directory, or none.
    """

    collection: Collection
    directory: Directory

    def __post_init__(self) -> None:
        self.directory.check_bound_by(self.collection)

    @cached_property
    def collection_id(self) -> bytes:
        """Id of the collection, to which every letter is bound; computed once."""
        return self.collection.id

    @property
    def num_users(self) -> int:
        """Number of members."""
        return len(self.directory.entries)

    @property
    def section(self) -> NetworkSection:
        """Task's section on the walk."""
        return cast(NetworkSection, self.collection.task.shuffler)

    @cached_property
    def contacts_of_all(self) -> Contacts:
        """Contacts of all members: the overlay of the walk, or a tuple that holds only its graph."""
        return cast(Contacts, self.section.of_people(cast(BoundDirectory, self.collection.directory).people))

    @property
    def ways(self) -> Graph | Overlay:
        """Graph or overlay on which reports walk."""
        found = self.contacts_of_all
        return found if isinstance(found, Overlay) else found[0]

    @property
    def num_rounds(self) -> int:
        """Number of rounds of the walk; for ``rounds = "auto"``, one cycle of its overlay."""
        rounds = self.section.rounds
        return int(rounds) if not isinstance(rounds, str) else cast(Overlay, self.ways).num_rounds

    @cached_property
    def rounds(self) -> tuple[Round, ...]:
        """Rounds of the walk: a graph for each round, or the rounds of the overlay."""
        return tuple(graphs_of_rounds(self.ways, self.num_rounds))

    @cached_property
    def shuffler(self) -> RandomWalkShuffler:
        """Simulated shuffler with the view of the relay: same rounds, contacts and slots."""
        column = self.collection.task.columns[0]
        walk = self.section.along(self.contacts_of_all, column.randomizer.randomizer(), column.release.delta)
        return walk.shuffler(self.num_rounds)

    @property
    def slots(self) -> tuple[int, ...]:
        """Number of report slots in an envelope, for each round."""
        return tuple(self.shuffler.slots or ())

    @cached_property
    def most_handed_in(self) -> int:
        """Number of report slots in a hand-in, exceeded with a chance of at most 1e-9."""
        places = (held for held in range(1, self.num_users) if self.num_users / math.factorial(held + 1) <= _OVERFLOW)
        return next(places, self.num_users)

    @property
    def vote_stage(self) -> int:
        """Stage of the vote, after the last round."""
        return self.num_rounds + 1

    @property
    def hand_in_stage(self) -> int:
        """Stage of the hand-in, the last stage."""
        return self.num_rounds + 2

    @property
    def quorum(self) -> int:
        """Number of equal votes that allow a hand-in; colluding members cannot reach it for two different votes.

        The quorum is more than half of the number of members plus the number of colluding members, who may vote twice.
        """
        twice = self.section.num_colluding(self.num_users)
        return (self.num_users + twice) // 2 + 1

    @cached_property
    def config(self) -> HpkeConfig:
        """HPKE config of the analyst for all reports: the key in use when the collection opens.

        A key chosen by a member's clock would tell the analyst, who sees which key opens a report, when a member began.
        """
        return configs_of(self.collection, instant(opens=self.collection.opens))[0]

    @cached_property
    def report_bytes(self) -> int:
        """Length of every sealed report in bytes."""
        layout = ReportLayout.of(self.collection.task.columns[0].randomizer.randomizer().model)
        enc, payload = sealed_lengths(self.config, layout.length)
        return len(HpkeCiphertext(0, bytes(enc), bytes(payload)).encode())

    def is_sealed(self, report: bytes) -> bool:
        """Whether the bytes look like a report sealed to the analyst's key; only the analyst can be sure."""
        try:
            found = HpkeCiphertext.decode(report)
        except MalformedMessageError:
            return False
        enc, _ = sealed_lengths(self.config, 0)
        return (found.config_id, len(found.enc), len(report)) == (self.config.id, enc, self.report_bytes)

    def carried_bytes(self, stage: int) -> int:
        """Length in bytes of a slot's content in a round: a sealed report and, in an onion, remaining layers."""
        layers = self.num_rounds - stage + 1 if self.section.onion else 0
        return self.report_bytes + layers * LAYER_BYTES

    def contacts(self, person: int, stage: int) -> tuple[int, ...]:
        """Contacts of a member in the set-up or a round, for letters in both directions; ascending."""
        if stage == 0:
            cycle = self.rounds[: self.ways.num_rounds if isinstance(self.ways, Overlay) else 1]
            return tuple(sorted({each for walked in cycle for each in _neighbors(walked, person)}))
        return _neighbors(self.rounds[stage - 1], person)

    def letters(self, person: int, stage: int) -> Mapping[int, int]:
        """Recipients of a member's letters in a stage, with the lengths in bytes, whatever reports are held."""
        if stage == self.vote_stage:
            return {EVERYBODY: SIGNATURE_BYTES}
        if stage == self.hand_in_stage:
            return {ANALYST: self.hand_in_bytes}
        length = SET_UP_BYTES if stage == 0 else self.envelope_bytes(stage)
        return dict.fromkeys(self.contacts(person, stage), length)

    def senders(self, recipient: int, stage: int) -> tuple[int, ...]:
        """Senders of letters to a recipient in a stage; links go both ways."""
        return tuple(range(self.num_users)) if recipient < 0 else self.contacts(recipient, stage)

    def envelope_bytes(self, stage: int) -> int:
        """Length of every envelope of a round in bytes: a digest of earlier stages, and marked slots."""
        return DIGEST_BYTES + self.slots[stage - 1] * (1 + self.carried_bytes(stage)) + TAG_BYTES

    @property
    def hand_in_bytes(self) -> int:
        """Length of every hand-in in bytes, sealed to the analyst and signed."""
        plaintext = self.most_handed_in * (1 + self.report_bytes)
        enc, payload = sealed_lengths(self.config, plaintext)
        return len(HpkeCiphertext(0, bytes(enc), bytes(payload)).encode()) + SIGNATURE_BYTES


def _neighbors(walked: Round, person: int) -> tuple[int, ...]:
    if isinstance(walked, OverlayRound):
        return tuple(walked.contacts_of(person).tolist())
    return tuple(walked.neighbors_of(person).tolist())


def in_slots(reports: tuple[bytes, ...], slots: int, length: int) -> bytes:
    """Slots that hold reports of one length, each after a byte 1; unused slots are zeros."""
    filled = b"".join(b"\x01" + report for report in reports)
    return filled + bytes((slots - len(reports)) * (1 + length))


def from_slots(data: bytes, length: int) -> tuple[bytes, ...]:
    """Reports that `in_slots` wrote; slots without the byte 1 are skipped."""
    several = [data[at : at + 1 + length] for at in range(0, len(data), 1 + length)]
    return tuple(each[1:] for each in several if each[:1] == b"\x01" and len(each) == 1 + length)
