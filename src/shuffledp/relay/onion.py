"""Reports in layers of encryption, one for each round, which its holder in that round takes off and nobody else can.

The owner draws the whole way of a report at the start, round by round and each with the chances of the walk, and wraps
the report, sealed to the analyst, from the inside out. An *onion* before round t is the place in the directory of the
member to whom it goes in that round, and a layer that this member's key opens: to the onion before round t + 1, or
after the last round to the sealed report. A report that stays where it is has a layer for that round too.

What `network-onion` asks of honest members holds by this. All onions of a round have one length. A layer and what is in
it have nothing in common for whoever cannot open it, and members pass on in an order of chance all that came in a
round, so that nobody can tell what became of which. A layer that was changed does not open, and goes no further; one
that comes twice goes on once, as two copies would be found again where they are passed on.

Layers are bound to collection and round, and not to hops: a member need remember no layer beyond its round, as in any
other it does not open. A report that finds no slot is then lost, since the links of the next round lead elsewhere, and
the analyst, who misses it, releases nothing. That happens where walks without limits have a surplus, with the chance
that `network-constant-pattern` charges for letting everything be seen then.
"""

from collections.abc import Iterable, Sequence

from cryptography.exceptions import InvalidTag

from shuffledp.laws import sample_walks
from shuffledp.laws.walk_distributions import Round
from shuffledp.randomness.sources import RandomSource
from shuffledp.relay.directory import Directory
from shuffledp.relay.member_keys import MemberKey
from shuffledp.wire.kems import KEMS, TAG_BYTES

_CONTEXT = b"shuffledp-1 layer"
_KEM = KEMS["x25519"]
_PLACE_BYTES = 4
LAYER_BYTES = _PLACE_BYTES + _KEM.enc_length + TAG_BYTES


def drawn_route(rounds: Sequence[Round], owner: int, source: RandomSource) -> tuple[int, ...]:
    """Who is to hold a report after each round: each drawn given the one before, as `sample_walks` draws it."""
    route = [owner]
    for each in rounds:
        route.append(int(sample_walks(each, 1, starts=route[-1:], source=source).positions[0]))
    return tuple(route[1:])


def wrapped(report: bytes, route: Sequence[int], collection_id: bytes, directory: Directory) -> bytes:
    """The onion before the first round, of a report that is to be held by these members after the rounds."""
    suite, onion = _KEM.suite(), report
    for number, holder in reversed(list(enumerate(route, start=1))):
        key = _KEM.public_key(directory.entries[holder].opening_key)
        onion = holder.to_bytes(_PLACE_BYTES, "big") + suite.encrypt(onion, key, info=_info(collection_id, number))
    return onion


def next_holder(onion: bytes) -> int:
    """To whom an onion goes in its round; it may be anybody, or nobody, if its owner wants to do harm."""
    return int.from_bytes(onion[:_PLACE_BYTES], "big")


def peeled(
    onions: Iterable[bytes], person: int, number: int, collection_id: bytes, key: MemberKey
) -> tuple[bytes, ...]:
    """What is in the layers that are a member's own after a round, each once; all others are left out.

    Args:
        onions: of one round: those that came, and those that stayed.
        person: the member's place.
        number: of the round.
        collection_id: of the collection.
        key: the member's.
    """
    suite, info = _KEM.suite(), _info(collection_id, number)
    found = []
    for onion in dict.fromkeys(onions):
        if next_holder(onion) != person:  # it found no slot, or is passed on wrongly
            continue
        try:
            found.append(suite.decrypt(onion[_PLACE_BYTES:], key.opening, info=info))
        except (InvalidTag, ValueError):
            continue
    return tuple(found)


def _info(collection_id: bytes, number: int) -> bytes:
    return _CONTEXT + collection_id + number.to_bytes(4, "big")
