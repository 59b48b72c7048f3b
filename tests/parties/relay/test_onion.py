"""Reports in layers: each layer opens for one member in one round, and what comes of it is recognized by nobody."""

import asyncio
from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from parties.relay.members import Circle
from parties.relay.test_member import Folder, Fragile, KilledError
from parties.relay.test_post_office import Office, everybody
from parties.relay.together import Together, sealed_reports, terms_of
from shuffledp.core.errors import InputDataError, InvalidParameterError, LocalProtocolError
from shuffledp.parties.relay.attendance import record_of
from shuffledp.parties.relay.journal import Journal, begun
from shuffledp.parties.relay.links import Link
from shuffledp.parties.relay.onion import LAYER_BYTES, next_holder, peeled, wrapped
from shuffledp.parties.relay.relay_release import HandIns, gather_hand_ins, view_of
from shuffledp.parties.relay.rounds import finish
from shuffledp.parties.relay.sealed_hand_ins import opened_hand_in
from shuffledp.parties.relay.terms import from_slots, in_slots
from shuffledp.protocols.network.laws.walk_sampling import sample_walks
from shuffledp.testing import RecordedSource, SeededSource

LAYERS = {"onion": True, "colluding": 0.1, "surplus": "aborts"}
SMALL = {"overlay": {"groups": [2, 3]}, "rounds": 2} | LAYERS
ONE_GROUP = {"overlay": {"groups": [6]}, "rounds": 3} | LAYERS


# ---- layers ----------------------------------------------------------------------------------------------------------


def test_each_layer_opens_for_its_member_in_its_round_and_the_last_shows_the_report():
    circle, report, route = Circle(), bytes(range(60)), (3, 3, 0, 5)
    onion = wrapped(report, route, bytes(32), circle.directory)
    for number, holder in enumerate(route, start=1):
        assert len(onion) == len(report) + (len(route) - number + 1) * LAYER_BYTES
        assert next_holder(onion) == holder
        for person, key in enumerate(circle.keys):
            given = onion[:3] + bytes([person]) + onion[4:]  # it says that it is for this person
            if person != holder:
                assert peeled([onion], person, number, bytes(32), key) == ()
                assert peeled([given], person, number, bytes(32), key) == ()
        own = circle.keys[holder]
        assert peeled([onion], holder, number + 1, bytes(32), own) == ()
        assert peeled([onion], holder, number, b"\1" * 32, own) == ()
        (onion,) = peeled([onion], holder, number, bytes(32), own)
    assert onion == report


def test_no_changed_layer_opens_and_a_second_copy_goes_nowhere():
    circle = Circle()
    onions = [wrapped(bytes([number]) * 8, (2, 1), bytes(32), circle.directory) for number in range(3)]
    key = circle.keys[2]
    opened = peeled(onions, 2, 1, bytes(32), key)
    assert len(opened) == 3
    assert peeled([onions[0], onions[1], onions[0], onions[2], onions[0]], 2, 1, bytes(32), key) == opened
    whole = onions[0]
    for bit in range(32, 8 * len(whole)):  # behind the place; the unused bit of the point of the curve, too
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        assert peeled([bytes(changed)], 2, 1, bytes(32), key) == ()
    for length in (0, 3, 4, 36, 51, len(whole) - 1):
        assert peeled([whole[:length]], 2, 1, bytes(32), key) == ()
    assert peeled([whole + b"\0", whole + whole], 2, 1, bytes(32), key) == ()


# ---- walks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shuffler", [SMALL, ONE_GROUP], ids=["overlay", "one group"])
def test_owners_driven_by_recorded_words_draw_the_simulated_walk_word_for_word(shuffler):
    circle = Circle(**shuffler)
    terms, words = terms_of(circle), SeededSource(5)
    drawn = np.stack([words.words(6) for _ in range(terms.num_rounds)])
    simulated = sample_walks(terms.ways, terms.num_rounds, source=RecordedSource(drawn.ravel()))
    sources = [RecordedSource(np.concatenate([drawn[:, person], SeededSource(4).words(99)])) for person in range(6)]
    together = Together(circle, [0] * 6, sources=sources).walk()
    assert placed(together) == simulated.positions.tolist()
    assert any(place != person for person, place in enumerate(placed(together)))


def placed(together):
    held = together.held()
    return [held.get(report) for report in together.reports]


def test_all_ways_of_all_reports_lead_to_the_hand_in():
    """Of four members in groups of two: in each of four runs everybody draws the same digits, so that all 16 happen."""
    circle = Circle(people=4, overlay={"groups": [2, 2]}, rounds=2, **LAYERS)
    halves = [np.uint64(0), np.uint64(2**63)]
    for digits in product(halves, halves):
        sources = [RecordedSource(np.array([*digits, *SeededSource(4).words(99)])) for _ in range(4)]
        together = Together(circle, [0, 1, 1, 0], sources=sources)
        together.walk()
        (end,) = set(placed(together))  # all with one person, whose letter held three reports, or had no place
        assert end == sum(int(digit > 0) * weight for digit, weight in zip(digits, (2, 1), strict=True))
        together.send()
        together.receive()
        together.send()
        letter = together.states[end].letters[-2]
        handed_in = opened_hand_in(together.terms, [circle.analyst], end, letter)
        assert Counter(each.encode() for each in handed_in) == Counter(together.reports)


def test_a_capture_of_all_letters_is_equal_byte_for_byte_whatever_the_answers_and_walks():
    captures, places = set(), set()
    circle = Circle(people=8, overlay={"groups": [8]}, rounds=3, **LAYERS)
    for answers, seed in (([0] * 8, 1), ([1] * 8, 2), ([0, 1] * 4, 3)):
        sources = [SeededSource(100 * seed + person) for person in range(8)]
        together = Together(circle, answers, sources=sources).walk()
        places.add(tuple(placed(together)))
        for _ in range(2):
            together.send()
            if together.stage == together.terms.vote_stage:
                together.receive()
        captures.add("\n".join(" ".join(map(str, each)) for each in together.capture).encode())
    assert len(places) == 3
    assert len(captures) == 1
    sizes = {stage: {size for at, _, _, size in together.capture if at == stage} for stage in range(1, 4)}
    assert [len(each) for each in sizes.values()] == [1] * 3
    assert {stage: size for stage, (size,) in sizes.items()} == {
        stage: together.terms.envelope_bytes(stage) for stage in sizes
    }


# ---- who does harm, and what does not get on -------------------------------------------------------------------------


def with_letter(together, sender, recipient, onions):
    """The recipient's mail, in which the sender's letter holds these."""
    terms, state, stage = together.terms, together.states[sender], together.stage
    link = Link(collection_id=terms.collection_id, sender=sender, recipient=recipient)
    inside = in_slots(tuple(onions), terms.slots[stage - 1], terms.carried_bytes(stage))
    letter = link.seal(state.keys.outward[recipient], stage, state.attendance.digest + inside)
    return together.mail_of(recipient) | {sender: letter}


def on_their_way(together, sender, recipient):
    """What one member passes on to another in this stage, as the recipient reads it."""
    terms, state = together.terms, together.states[recipient]
    link = Link(collection_id=terms.collection_id, sender=sender, recipient=recipient)
    opened = link.open(state.keys.inward[sender], together.stage, together.mail_of(recipient)[sender])
    return from_slots(opened[32:], terms.carried_bytes(together.stage))


def finished(together, person, mail):
    record = record_of(range(len(together.states)), len(together.states))
    return finish(together.terms, together.keys[person], together.states[person], record, mail)


def all_to(*places):
    """Everybody's report goes to these members in turn; of six in one group."""
    words = [np.uint64(place * (2**64 // 6) + 2**32) for place in places]
    return [RecordedSource(np.array([*words, *SeededSource(person).words(200)])) for person in range(6)]


def begun_rounds(circle, sources, rounds):
    """Members who have sent their letters of so many rounds, those of the last not being received."""
    together = Together(circle, [0] * 6, sources=sources)
    for _ in range(rounds):
        together.send()
        together.receive()
    together.send()
    return together


def test_of_doubled_replayed_forged_and_misdirected_layers_none_goes_further():
    together = begun_rounds(Circle(**ONE_GROUP | {"slots": [1, 6, 6]}), all_to(1, 2, 3), 1)
    spy, (early,) = 0, on_their_way(together, 0, 1)
    together.receive()
    together.send()
    honest = 2
    assert len(on_their_way(together, 1, 2)) == 6
    (first, *_) = on_their_way(together, 1, 2)
    length = together.terms.carried_bytes(2)
    bad = {
        "doubled": first,
        "of the round before": (early + bytes(length))[:length],
        "changed": first[:-1] + bytes([first[-1] ^ 1]),
        "made up": honest.to_bytes(4, "big") + SeededSource(1).words(length).tobytes()[: length - 4],
        "of somebody else": (3).to_bytes(4, "big") + first[4:],
        "of nobody": b"\xff" * length,
    }
    usual = finished(together, honest, together.mail_of(honest))
    assert (len(usual.walk.held), usual.refused) == (6, 0)
    for number, onion in enumerate(bad.values(), start=1):
        given = finished(together, honest, with_letter(together, spy, honest, [onion]))
        assert (Counter(given.walk.held), given.refused) == (Counter(usual.walk.held), 1), number
    all_of_them = finished(together, honest, with_letter(together, spy, honest, bad.values()))
    assert all_of_them.refused == len(bad)
    assert sorted(all_of_them.walk.held) == sorted(usual.walk.held)


def test_a_way_to_somebody_who_is_no_contact_ends_with_its_holder():
    together = begun_rounds(Circle(**SMALL), None, 1)
    stranger = next(each for each in range(6) if each not in (0, *together.terms.contacts(0, 2)))
    report = together.reports[0]
    state = together.states[0]
    onion = wrapped(report, (0, stranger), together.terms.collection_id, together.terms.directory)
    wrong = replace(state, walk=replace(state.walk, held=(onion,)), letters=None)
    wrong = finish(together.terms, together.keys[0], wrong, record_of(range(6), 6), together.mail_of(0))
    assert stranger in [next_holder(each) for each in wrong.walk.held]
    together.receive()
    together.states[0] = wrong
    together.send()
    after = finish(together.terms, together.keys[0], together.states[0], record_of(range(6), 6), together.mail_of(0))
    assert after.refused == 1
    assert report not in after.walk.held


def test_walks_with_too_few_slots_release_nothing_exactly_where_simulated_ones_are_aborted():
    circle, aborted = Circle(**ONE_GROUP | {"slots": [1, 1, 1]}), 0
    for seed in range(12):
        drawn = SeededSource(seed).words(18).reshape(3, 6)
        sources = [RecordedSource(np.concatenate([drawn[:, j], SeededSource(9).words(99)])) for j in range(6)]
        together = Together(circle, [0] * 6, sources=sources).walk()
        words = np.concatenate([drawn.ravel(), SeededSource(seed + 100).words(99)])
        try:
            simulated = together.terms.shuffler.walk(source=RecordedSource(words))
        except LocalProtocolError:
            aborted += 1
            assert sum(state.refused for state in together.states) == placed(together).count(None) > 0
            with pytest.raises(InputDataError, match="all 6 members' reports must be handed in"):
                released(together, circle)
        else:
            assert placed(together) == simulated.positions.tolist()
            assert released(together, circle).labels.size == 6
    assert 2 < aborted < 10


def released(together, circle):
    while together.stage < together.terms.hand_in_stage:
        together.send()
        together.receive()
    together.send()
    letters = {state.person: state.letters[-2] for state in together.states}
    keys = [circle.analyst]
    opened = {person: opened_hand_in(together.terms, keys, person, letter) for person, letter in letters.items()}
    found = HandIns(attendance=together.states[0].attendance, by_member=opened)
    return view_of(together.terms, found, keys)[0]


# ---- what a colluder sees --------------------------------------------------------------------------------------------


def runs(data, length=8):
    """All parts of so many bytes that follow each other."""
    return {data[at : at + length] for at in range(len(data) - length + 1)}


def test_a_colluder_sees_whose_a_report_is_in_the_first_round_and_nothing_links_it_past_somebody_honest():
    circle = Circle(people=12, overlay={"groups": [3, 4]}, rounds=4, **LAYERS)
    sources = [SeededSource(1000 + person) for person in range(12)]
    together = Together(circle, [0] * 12, sources=sources)
    terms, spy, seen = together.terms, 4, set()
    onions, holders = [[state.walk.held[0] for state in together.states]], [list(range(12))]
    for number in range(1, 5):  # by the keys of all, which nobody has
        holders.append([next_holder(onion) for onion in onions[-1]])
        opened = [
            peeled([onion], holder, number, terms.collection_id, circle.keys[holder])
            for onion, holder in zip(onions[-1], holders[-1], strict=True)
        ]
        onions.append([each for (each,) in opened])
    assert onions[-1] == together.reports
    for stage in range(5):
        together.send()
        if stage:
            for sender in terms.contacts(spy, stage):
                seen |= {(stage, sender, onion) for onion in on_their_way(together, sender, spy)}
        together.receive()
    passed = {
        (number, holders[number - 1][owner], onions[number - 1][owner])
        for number in range(1, 5)
        for owner in range(12)
        if holders[number][owner] == spy != holders[number - 1][owner]
    }
    assert seen == passed
    assert {number for number, _, _ in seen} == {1, 2, 3, 4}
    assert all(onions[0][sender] == onion for number, sender, onion in seen if number == 1)
    assert [len({len(onion) for onion in several}) for several in onions] == [1] * 5
    assert len({onion for several in onions for onion in several}) == 12 * 5
    for owner in range(12):
        for number in range(1, 5):
            before, after = onions[number - 1][owner], onions[number][owner]
            assert not runs(before) & (runs(after) | runs(together.reports[owner]))
            mine = peeled([spy.to_bytes(4, "big") + before[4:]], spy, number, terms.collection_id, circle.keys[spy])
            assert mine == ((after,) if holders[number][owner] == spy else ())


# ---- members at work -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("stage", "moment"), [(0, "before the post"), (1, "after the mail"), (2, "after the post")])
def test_a_member_killed_goes_on_from_the_journal_with_the_same_bytes(tmp_path, stage, moment):
    folder = Folder(tmp_path, Circle(**SMALL))
    first, again = Fragile(folder.transport, stage, moment), Fragile(folder.transport, None, None)

    async def killed():
        with pytest.raises(KilledError):
            await folder.member(2, first)
        await folder.member(2, again)

    async def all_members():
        await asyncio.gather(killed(), *(folder.member(person) for person in range(6) if person != 2))

    asyncio.run(all_members())
    assert folder.handed_in() == Counter(folder.reports)
    posted = dict(first.posted)
    assert all(letters == posted[number] for number, letters in again.posted if number in posted)


def test_what_was_drawn_and_refused_is_in_the_journal(tmp_path):
    terms = terms_of(Circle(**ONE_GROUP))
    (report,) = sealed_reports(terms, [0])
    journal = Journal(terms, 0, tmp_path)
    for goal in (2, 4):  # the second time it is read
        state = begun(journal, terms, 0, lambda: report, source=all_to(goal, 1, 3)[0])
        assert next_holder(*state.walk.held) == 2
    journal.write(replace(state, refused=3))
    assert journal.read() == replace(state, refused=3)
    journal.close()


def test_through_a_post_office_all_reports_come_to_the_analyst_and_colluders_are_counted_in_layers(tmp_path):
    office = Office(tmp_path, Circle(**SMALL))

    async def running():
        async with office.open():
            assert await everybody(office) == [None] * 6
            keys = [office.circle.analyst]
            return view_of(office.terms, await gather_hand_ins(office.terms, office.transport(), keys), keys)

    view, collected = asyncio.run(running())
    assert sorted(view.reports.columns["value"].tolist()) == [0, 0, 0, 1, 1, 1]
    assert set(collected.refused.values()) == {0}
    assert (view.shuffle.onion, view.shuffle.num_colluding, view.shuffle.surplus) == (True, 1, "aborts")
    (promised, _) = office.circle.collection.promised()
    assert "layers" in {trust.value for trust in promised.trust}


REFUSED = {
    "waits": ({"surplus": "waits"}, "without surplus = 'waits' where onion = true: the way of a report is fixed"),
    "auto": ({"rounds": "auto"}, "without rounds = 'auto' where onion = true: they must be a number"),
    "naive": ({"links": "naive", "surplus": "waits"}, "without links = 'naive'"),
    "gate": ({"gate": 0.9}, "gate must be left out where colluding is above 0"),
    "nobody": ({"colluding": 0.0}, "onion must be left out where neither colluding nor fakes is above 0"),
}


@pytest.mark.parametrize(("changed", "message"), REFUSED.values(), ids=REFUSED)
def test_layers_that_members_could_not_keep_or_that_hide_nothing_are_refused(changed, message):
    with pytest.raises(InvalidParameterError, match=message):
        Circle(**ONE_GROUP | changed)
