"""Onions: reports in layers of encryption, one for each round, removable only by that round's holder.

The owner draws the whole way of a report at the start, round by round and each with the chances of the walk, and wraps
the report, sealed to the analyst, from the inside out. An *onion* before round t is the place in the directory of the
member to whom it goes in that round, and a layer that this member's key opens: to the onion before round t + 1, or
after the last round to the sealed report. A report that stays where it is has a layer for that round too.

This meets what `network-onion` asks of honest members. All onions of a round have one length. A layer and its content
look unrelated to a party that cannot open it, and members pass on in random order all that came in a
round, so that nobody can link incoming and outgoing onions. A changed layer does not open, and goes no further; one
that comes twice goes on once, as two copies would be found again where they are passed on.

Layers are bound to collection and round, and not to hops: a member need remember no layer beyond its round, as in any
other it does not open. A report that finds no slot is then lost, since the links of the next round lead elsewhere, and
the analyst, who misses it, releases nothing. That happens where walks without limits have a surplus, with the chance
that `network-constant-pattern` charges for letting everything be seen then.
"""

from collections.abc import Iterable, Sequence

from cryptography.exceptions import InvalidTag

from shuffledp.parties.relay.directory import Directory
from shuffledp.parties.relay.member_keys import MemberKey
from shuffledp.parties.wire.kems import KEMS, TAG_BYTES
from shuffledp.protocols.network.laws.walk_distributions import Round
from shuffledp.protocols.network.laws.walk_sampling import sample_walks
from shuffledp.randomness.sources import RandomSource

_CONTEXT = b"shuffledp-1 layer"
_KEM = KEMS["x25519"]
_PLACE_BYTES = 4
LAYER_BYTES = _PLACE_BYTES + _KEM.enc_length + TAG_BYTES


def drawn_route(rounds: Sequence[Round], owner: int, source: RandomSource) -> tuple[int, ...]:
    """Holders of a report after all rounds, each drawn given the previous holder, as in `sample_walks`."""
    route = [owner]
    for each in rounds:
        route.append(int(sample_walks(each, 1, starts=route[-1:], source=source).positions[0]))
    return tuple(route[1:])


def wrapped(report: bytes, route: Sequence[int], collection_id: bytes, directory: Directory) -> bytes:
    """Onion before the first round, for a report whose holders after the rounds are in ``route``."""
    suite, onion = _KEM.suite(), report
    for number, holder in reversed(list(enumerate(route, start=1))):
        key = _KEM.public_key(directory.entries[holder].opening_key)
        onion = holder.to_bytes(_PLACE_BYTES, "big") + suite.encrypt(onion, key, info=_info(collection_id, number))
    return onion


def next_holder(onion: bytes) -> int:
    """Next holder of an onion; a malicious owner may name any member, or a place without a member."""
    return int.from_bytes(onion[:_PLACE_BYTES], "big")


def peeled(
    onions: Iterable[bytes], person: int, number: int, collection_id: bytes, key: MemberKey
) -> tuple[bytes, ...]:
    """Contents of this member's own layers after a round, without duplicates; other onions are dropped.

    Args:
        onions: onions of one round that came or stayed.
        person: the member's place.
        number: number of the round.
        collection_id: id of the collection.
        key: private keys of the member.
    """
    suite, info = _KEM.suite(), _info(collection_id, number)
    found = []
    for onion in dict.fromkeys(onions):
        if next_holder(onion) != person:  # the onion found no slot, or was passed on wrongly
            continue
        try:
            found.append(suite.decrypt(onion[_PLACE_BYTES:], key.opening, info=info))
        except (InvalidTag, ValueError):
            continue
    return tuple(found)


def _info(collection_id: bytes, number: int) -> bytes:
    return _CONTEXT + collection_id + number.to_bytes(4, "big")
