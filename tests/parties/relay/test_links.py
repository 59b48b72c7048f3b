"""Links: a key for each round and direction, each of which seals once and opens nothing else."""

import pytest

from parties.relay.members import Circle
from shuffledp.core.errors import LocalProtocolError, RemoteProtocolError
from shuffledp.parties.relay.links import Link, LinkKeys

LINK = Link(collection_id=bytes(32), sender=1, recipient=2)


def test_each_round_and_direction_has_a_key_of_its_own_and_no_envelope_opens_by_another():
    """The nonce is always the same: a key that sealed twice would give both envelopes away."""
    first = LinkKeys.drawn((1, 2)).hearing({1: bytes(32), 2: b"\1" * 32})
    rounds = [first, first.after(1), first.after(1).after(2)]
    keys = [key for each in rounds for key in (*each.outward.values(), *each.inward.values())]
    assert len(set(keys)) == len(keys) == 12
    assert [each.number for each in rounds] == [1, 2, 3]
    sealed = {key: LINK.seal(key, 1, b"report") for key in keys}
    assert len(set(sealed.values())) == 12
    for key in keys:
        assert LINK.open(key, 1, sealed[key]) == b"report"
        for other in set(keys) - {key}:
            with pytest.raises(RemoteProtocolError, match="must be sealed for its round, link and collection"):
                LINK.open(other, 1, sealed[key])
    with pytest.raises(LocalProtocolError, match="keys of round 1 must be advanced after that round; got round 2"):
        first.after(2)


def test_an_envelope_is_bound_to_its_round_link_and_collection_besides_its_key():
    sealed = LINK.seal(bytes(32), 1, b"report")
    assert LINK.seal(bytes(32), 1, b"report") == sealed
    others = [
        (LINK, 2),
        (Link(collection_id=b"\1" * 32, sender=1, recipient=2), 1),
        (Link(collection_id=bytes(32), sender=2, recipient=1), 1),
        (Link(collection_id=bytes(32), sender=1, recipient=3), 1),
    ]
    for link, number in others:
        with pytest.raises(RemoteProtocolError, match="must be sealed for its round, link and collection"):
            link.open(bytes(32), number, sealed)


def test_a_first_message_signed_by_its_sender_for_another_link_or_collection_is_refused():
    circle = Circle()
    link = Link(collection_id=circle.collection.id, sender=0, recipient=1)
    message = link.set_up(bytes(32), circle.directory, circle.keys[0])
    assert link.secret_in(message, circle.directory, circle.keys[1]) == bytes(32)
    for other in (
        Link(collection_id=bytes(32), sender=0, recipient=1),
        Link(collection_id=circle.collection.id, sender=0, recipient=2),
        Link(collection_id=circle.collection.id, sender=2, recipient=1),
    ):
        with pytest.raises(RemoteProtocolError, match="must be signed by them"):
            other.secret_in(message, circle.directory, circle.keys[1])
    with pytest.raises(RemoteProtocolError, match="must open here; it does not"):
        link.secret_in(message, circle.directory, circle.keys[2])


def test_keys_come_back_from_a_journal_as_they_were():
    keys = LinkKeys.drawn((3, 7)).hearing({3: bytes(32)})
    assert LinkKeys.from_dict(keys.to_dict()) == keys
    assert keys.outward[3].hex() not in repr(keys)
