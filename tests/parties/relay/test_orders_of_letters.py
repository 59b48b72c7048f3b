"""The order of reports inside a letter is uniform, whatever the order in which they came: chi-square of six orders."""

from collections import Counter
from dataclasses import replace
from itertools import permutations

import pytest
from scipy import stats

from parties.relay.members import Circle
from parties.relay.together import Together
from shuffledp.parties.relay.links import Link
from shuffledp.parties.relay.rounds import prepare
from shuffledp.parties.relay.sealed_hand_ins import opened_hand_in
from shuffledp.parties.relay.terms import DIGEST_BYTES, from_slots
from shuffledp.protocols.network.shufflers.relay_protocol import start_relay
from shuffledp.testing import SeededSource

LETTERS, REPORTS = 300, 3


def is_uniform(orders):
    """Whether six orders came about equally often; the sources are seeded, so that it is always the same."""
    counts = Counter(orders)
    assert set(counts) <= set(permutations(range(REPORTS)))
    return stats.chisquare([counts[each] for each in permutations(range(REPORTS))]).pvalue > 1e-3


def orders_in_envelopes(kept_first):
    """Orders in envelopes of three layered reports for one contact; the first is the member's own, or it came too."""
    layers = {"overlay": {"groups": [6]}, "rounds": 3, "onion": True, "colluding": 0.2, "surplus": "aborts"}
    together = Together(Circle(delta=0.3, **layers), [0] * 6)
    together.send()
    together.receive()
    terms, state, source = together.terms, together.states[0], SeededSource(11 + kept_first)
    contact = terms.contacts(0, 1)[0]
    size = terms.carried_bytes(1)
    reports = tuple(contact.to_bytes(4, "big") + bytes([each]) * (size - 4) for each in range(REPORTS))
    contacts = [terms.contacts(0, stage) for stage in range(1, terms.num_rounds + 1)]
    walk = start_relay(0, contacts, terms.num_rounds, reports[0], slots=(REPORTS,) * terms.num_rounds)
    state = replace(state, walk=replace(walk, held=reports if kept_first else reports[::-1]))
    link = Link(collection_id=terms.collection_id, sender=0, recipient=contact)
    for _ in range(LETTERS):
        letter = prepare(terms, together.keys[0], state, source=source).letters[contact]
        inside = link.open(state.keys.outward[contact], 1, letter)[DIGEST_BYTES:]
        yield tuple(reports.index(each) for each in from_slots(inside, size))


def orders_in_hand_ins():
    circle = Circle()
    together = Together(circle, [0, 1, 0, 1, 0, 1]).walk()
    together.send()
    together.receive()
    terms, source = together.terms, SeededSource(13)
    reports = tuple(together.reports[:REPORTS])
    state = replace(together.states[0], walk=replace(together.states[0].walk, held=reports))
    for _ in range(LETTERS):
        letter = prepare(terms, together.keys[0], state, source=source).letters[-2]
        found = opened_hand_in(terms, [circle.analyst], 0, letter)
        yield tuple(reports.index(each.encode()) for each in found)


@pytest.mark.parametrize("kept_first", [True, False])
def test_reports_lie_in_an_envelope_in_an_order_of_chance(kept_first):
    assert is_uniform(orders_in_envelopes(kept_first))


def test_reports_lie_in_a_hand_in_in_an_order_of_chance():
    assert is_uniform(orders_in_hand_ins())


def test_the_order_in_which_reports_came_is_not_taken_for_chance():
    assert not is_uniform([(0, 1, 2)] * LETTERS)
    assert not is_uniform([(0, 1, 2), (2, 1, 0)] * (LETTERS // 2))
