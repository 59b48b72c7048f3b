"""Members in one process: the simulated walk, agreement on what happened, and letters that tell nothing."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from parties.relay.members import NOW, Circle, published
from parties.relay.together import Together, terms_of
from shuffledp.core.errors import LocalProtocolError, RemoteProtocolError
from shuffledp.core.instants import written
from shuffledp.parties.relay.attendance import record_of
from shuffledp.parties.relay.links import Link
from shuffledp.parties.relay.rounds import HandInRefusedError, LetterRefusedError, begin, finish, prepare
from shuffledp.parties.relay.sealed_hand_ins import opened_hand_in
from shuffledp.parties.relay.terms import RelayTerms
from shuffledp.parties.wire.keys import AnalyzerKey
from shuffledp.protocols.network.laws.walk_sampling import sample_walks
from shuffledp.testing import RecordedSource, SeededSource

GRAPH = {"graph": "random-regular:3", "rounds": 4, "graph_seed": 1}


@pytest.mark.parametrize("hours", [1, 3])
def test_all_reports_are_sealed_to_one_key_whenever_their_owners_begin(hours):
    """The analyst sees which key opens a report: by a key of the moment those who came early would be told apart."""
    circle, opens = Circle(), NOW - timedelta(hours=2)
    later = AnalyzerKey.generate(other_than=[circle.analyst.config.id])
    taken_over = published(circle.analyst).followed_by(published(later, since=opens), overlap=timedelta(hours=hours))
    analyzer = replace(circle.collection.analyzer, key=taken_over)  # its key has expired, or not yet
    collection = replace(circle.collection, analyzer=analyzer, opens=written(opens))
    terms = RelayTerms(collection=collection, directory=circle.directory)
    assert terms.config == circle.analyst.config


@pytest.mark.parametrize("shuffler", [{}, GRAPH], ids=["overlay", "graph"])
def test_members_driven_by_recorded_words_take_the_simulated_walk_word_for_word(shuffler):
    circle = Circle(**shuffler)
    terms, words = terms_of(circle), SeededSource(3)
    drawn = [words.words(6) for _ in range(terms.num_rounds)]
    simulated = sample_walks(terms.ways, terms.num_rounds, source=RecordedSource(np.concatenate(drawn)))
    together = Together(circle, [0] * 6)
    owner = {report: person for person, report in enumerate(together.reports)}
    together.send()
    together.receive()
    for of_round in drawn:
        for person, state in enumerate(together.states):
            own = of_round[[owner[report] for report in state.walk.held]]
            together.sources[person] = RecordedSource(np.concatenate([own, SeededSource(4).words(50)]))
        together.send()
        together.receive()
    assert [place for _, place in sorted((owner[report], place) for report, place in together.held().items())] == (
        simulated.positions.tolist()
    )


def test_what_is_handed_in_opens_for_the_analyst_and_is_all_that_was_held():
    circle = Circle()
    together = Together(circle, [0, 1, 0, 1, 1, 0]).walk()
    held = together.held()
    together.send()
    together.receive()
    together.send()
    handed_in = {
        each.encode(): state.person
        for state in together.states
        for each in opened_hand_in(together.terms, [circle.analyst], state.person, state.letters[-2])
    }
    assert handed_in == held
    assert sorted(handed_in) == sorted(together.reports)


def test_a_capture_of_all_letters_is_equal_byte_for_byte_whatever_the_answers_and_walks():
    captures, places = set(), set()
    circle = Circle(people=12, overlay={"groups": [3, 4]})
    for answers, seed in (([0] * 12, 1), ([1] * 12, 2), ([0, 1] * 6, 3)):
        sources = [SeededSource(100 * seed + person) for person in range(12)]
        together = Together(circle, answers, sources=sources).walk()
        owner = {report: person for person, report in enumerate(together.reports)}
        places.add(tuple(sorted((owner[report], place) for report, place in together.held().items())))
        for _ in range(2):
            together.send()
            if together.stage == together.terms.vote_stage:
                together.receive()
        captures.add("\n".join(" ".join(map(str, each)) for each in together.capture).encode())
    assert len(places) == 3  # other walks
    assert len(captures) == 1
    assert captures.pop().count(b"\n") > 100


def received(together, person, **changed):
    """A member's stage with other mail, or another record, than is due."""
    mail = together.mail_of(person)
    mail.update(changed.pop("mail", {}))
    record = record_of(changed.pop("online", range(6)), 6)
    mail = {sender: letter for sender, letter in mail.items() if letter is not None}
    return finish(together.terms, together.keys[person], together.states[person], record, mail)


def test_envelopes_that_are_replayed_reordered_or_of_another_link_are_refused():
    together = Together(Circle(), [0] * 6)
    together.send()
    together.receive()
    together.send()
    person = 0
    first, second = together.mail_of(person), together.states[person].letters
    sender, *others = first
    old = first[sender]
    before = together.states[person]
    bad = {
        "flipped": old[:-1] + bytes([old[-1] ^ 1]),
        "short": old[:-1],
        "empty": b"",
        "of another link": (first[others[0]] if others else second[sender]),
        "sent back": second[sender],
    }
    for letter in bad.values():
        with pytest.raises(RemoteProtocolError, match="must be sealed for its round, link and collection"):
            received(together, person, mail={sender: letter})
        assert together.states[person] is before
    with pytest.raises(RemoteProtocolError, match="mail must be there of each of"):
        received(together, person, mail={sender: None})
    together.receive()
    together.send()
    together.receive()
    again = Together(Circle(overlay={"groups": [2, 3]}), [0] * 6)
    again.send()
    again.receive()
    again.send()
    with pytest.raises(RemoteProtocolError, match="must be sealed for its round, link and collection"):
        received(again, person, mail={sender: old})  # of another collection


def test_slots_that_hold_what_no_member_can_have_to_pass_on_name_their_sender():
    together = Together(Circle(), [0] * 6)
    together.send()
    together.receive()
    together.send()
    terms, person = together.terms, 0
    sender = next(iter(together.mail_of(person)))
    link = Link(collection_id=terms.collection_id, sender=sender, recipient=person)
    state = together.states[sender]
    slots, size = terms.slots[0], terms.carried_bytes(1)
    bad = {
        "a mark that is none": b"\x02" + bytes(size),
        "something in an empty slot": bytes(size) + b"x",
        "no report": b"\x01" + bytes(size),
        "of another key": b"\x01" + bytes([terms.config.id ^ 1]) + together.reports[0][1:],
    }
    rest = bytes((slots - 1) * (1 + size))
    for first in bad.values():
        letter = link.seal(state.keys.outward[person], 1, state.attendance.digest + first + rest)
        with pytest.raises(
            LetterRefusedError, match=r"slots must hold reports that .* one of round 1 does not"
        ) as seen:
            received(together, person, mail={sender: letter})
        assert (seen.value.sender, seen.value.letter) == (sender, letter)
    good = state.attendance.digest + b"\x01" + together.reports[0] + rest
    received(together, person, mail={sender: link.seal(state.keys.outward[person], 1, good)})


def test_an_envelope_of_an_earlier_round_is_refused():
    circle = Circle(**GRAPH)
    together = Together(circle, [0] * 6)
    for _ in range(2):
        together.send()
        old = together.mail_of(0)
        together.receive()
    together.send()
    sender = next(iter(old))
    with pytest.raises(RemoteProtocolError, match="one of round 2 is not"):
        received(together, 0, mail={sender: old[sender]})


def test_first_messages_that_were_changed_or_are_of_somebody_else_are_refused():
    together = Together(Circle(), [0] * 6)
    together.send()
    mail = together.mail_of(0)
    (first, letter), (_, other), *_ = mail.items()
    for bad in (other, letter[:-1] + bytes([letter[-1] ^ 1]), bytes(len(letter))):
        with pytest.raises(RemoteProtocolError, match=r"the first message of member .* must be signed by them"):
            received(together, 0, mail={first: bad})


def test_whoever_is_told_another_schedule_is_noticed_before_anything_is_handed_in():
    together = Together(Circle(), [0] * 6)
    together.send()
    together.receive()
    together.send()
    contact = together.terms.contacts(0, 1)[0]
    told = received(together, contact, online=set(range(6)) - {0}, mail={0: None})
    together.receive()
    together.states[contact] = told
    together.send()
    fooled = together.terms.contacts(contact, 2)
    with pytest.raises(RemoteProtocolError, match="must be told the same of the stages before 2"):
        received(together, fooled[0])


def test_reports_stay_where_somebody_was_away_and_nobody_loses_or_doubles_one():
    circle = Circle(**GRAPH)
    for seed in range(5):
        sources = [SeededSource(10 * seed + person) for person in range(6)]
        together = Together(circle, [0] * 6, sources=sources).walk({1: [2], 3: [0, 5], 4: [2]})
        held = [report for state in together.states for report in state.walk.held]
        assert sorted(held) == sorted(together.reports)


def test_nothing_is_handed_in_where_somebody_was_away():
    together = Together(Circle(), [0] * 6).walk({2: [3]})
    with pytest.raises(HandInRefusedError, match=r"1 of 6 members were\. Nothing is handed in"):
        together.send()


def test_too_few_votes_or_votes_for_other_rounds_are_not_enough():
    together = Together(Circle(), [0] * 6).walk()
    together.send()
    votes = together.mail_of(0)
    assert together.terms.quorum == 4
    for valid in (3, 4):
        mail = {sender: vote if sender < valid else bytes(64) for sender, vote in votes.items()}
        given = together.terms, together.keys[0], together.states[0], b"", mail
        if valid < together.terms.quorum:
            with pytest.raises(HandInRefusedError, match=r"at least 4 of 6 members must have voted .* 3 have"):
                finish(*given)
        else:
            assert finish(*given).stage == together.terms.hand_in_stage


def test_a_record_must_be_one_and_nobody_comes_back_who_was_not_there_for_the_set_up():
    together = Together(Circle(), [0] * 6)
    together.send()
    for record in (b"", b"\xff", b"\xfc\x00"):
        with pytest.raises(RemoteProtocolError, match="a bit for each of 6 members"):
            finish(together.terms, together.keys[0], together.states[0], record, together.mail_of(0))
    with pytest.raises(HandInRefusedError, match="must be there for the set-up"):
        received(together, 5, online=range(5))
    told = received(together, 0, online=range(5))
    with pytest.raises(RemoteProtocolError, match="must be absent from all rounds; one is not"):
        finish(together.terms, together.keys[0], told, record_of(range(6), 6), {})


def test_letters_are_settled_once_and_states_show_nothing():
    together = Together(Circle(), [0] * 6)
    together.send()
    with pytest.raises(LocalProtocolError, match="letters of stage 0 must be settled once"):
        prepare(together.terms, together.keys[0], together.states[0])
    with pytest.raises(LocalProtocolError, match="a sealed report must have"):
        begin(together.terms, 0, b"short")
    assert together.reports[0].hex() not in repr(together.states[0])
    assert replace(together.states[0]).person == 0
