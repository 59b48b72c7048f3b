"""A relay behind a gate: whoever is away, what is handed in is what the simulated walk of that schedule hands in."""

import json

import numpy as np
import pytest

from parties.relay.members import Circle
from parties.relay.together import Together, terms_of
from shuffledp.core.errors import InputDataError, InvalidParameterError
from shuffledp.parties.relay.attendance import Attendance, record_of
from shuffledp.parties.relay.hand_in_gate import hand_in_refusal, schedule_of, simulated_shuffler
from shuffledp.parties.relay.relay_release import HandIns, view_of, write_relay_release
from shuffledp.parties.relay.rounds import HandInRefusedError, begin, check_hand_in
from shuffledp.parties.relay.sealed_hand_ins import opened_hand_in, sealed_report
from shuffledp.parties.relay.terms import ANALYST
from shuffledp.parties.wire.grammar import HpkeCiphertext
from shuffledp.protocols.network.laws.churn_schedules import STAY, Schedule
from shuffledp.protocols.network.laws.churned_rounds import ChurnedWays
from shuffledp.protocols.network.laws.walk_sampling import sample_walks
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.testing import RecordedSource, SeededSource

PEOPLE = 30
OVERLAY = {"overlay": {"groups": [5, 6]}, "rounds": 8, "gate": 0.9}
GRAPH = {"graph": "random-regular:6", "rounds": 12, "graph_seed": 1, "gate": 0.9}
NEVER = frozenset([4])  # there for the set-up
AWAY = {2: [7], 3: [7], 5: [9], 6: [2]}  # by stage


def away_in(stage, rounds=8):
    """Number 4 is never there, 9 not at the end, and others come back."""
    return NEVER | frozenset([*AWAY.get(stage, ()), *([9] if stage == rounds else [])])


class Gated(Together):
    """Members behind a gate, who walk as the words say."""

    def walk_as(self, drawn, away):
        """The set-up and all rounds."""
        owner = {report: person for person, report in enumerate(self.reports)}
        for stage in range(self.terms.num_rounds + 1):
            for person, state in enumerate(self.states):
                there = stage and person not in away(stage)
                own = [drawn[stage][owner[each]] for each in state.walk.held] if there else []
                self.sources[person] = RecordedSource(np.array([*own, *SeededSource(4).words(60)], dtype=np.uint64))
            self.send(NEVER)
            self.receive(away(stage), NEVER)

    def hand_in(self, gone=frozenset()):
        """The vote and the hand-in of those who were there; what the analyst gets."""
        self.send(gone)
        self.receive(gone=gone)
        self.send(gone)
        attendance = next(state.attendance for state in self.states if state.person not in gone)
        opened = {
            state.person: opened_hand_in(self.terms, self.analysts, state.person, state.letters[ANALYST])
            for state in self.states
            if state.person not in gone
        }
        return HandIns(attendance=attendance, by_member=opened)


def gated(shuffler, answers=None):
    circle = Circle(people=PEOPLE, **shuffler)
    together = Gated(circle, answers or [0] * PEOPLE)
    together.analysts = [circle.analyst]
    return together


def words_by_report(terms, schedule, words):
    """For each round a word for each report whose holder is online, in the order in which samples take them."""
    drawn, places = [None], np.arange(PEOPLE)
    for online in schedule.online:
        drawn.append({report: next(words) for report in np.flatnonzero(online[places]).tolist()})
        places = places_after(terms, schedule, drawn)
    return drawn


def places_after(terms, schedule, drawn):
    """Where the simulated walk has reports after the rounds whose words are drawn."""
    source = RecordedSource(np.array([word for of_round in drawn[1:] for word in of_round.values()], dtype=np.uint64))
    number = len(drawn) - 1
    return sample_walks(ChurnedWays(terms.ways, schedule.first(number)), number, source=source).positions


@pytest.mark.parametrize("shuffler", [OVERLAY, GRAPH], ids=["overlay", "graph"])
def test_the_view_is_that_of_the_simulated_walk_with_the_schedule_that_happened_word_for_word(shuffler):
    together = gated(shuffler)
    terms, rounds = together.terms, shuffler["rounds"]
    coin = KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
    reports = coin.randomize([0, 1] * (PEOPLE // 2), source=SeededSource(8))
    together.reports = [sealed_report(terms, reports.take([person])) for person in range(PEOPLE)]
    together = restarted(together)
    online = np.array(
        [[person not in away_in(stage, rounds) for person in range(PEOPLE)] for stage in range(1, rounds + 1)]
    )
    schedule = Schedule(online, STAY, online[-1])
    drawn = words_by_report(terms, schedule, iter(SeededSource(3).words(PEOPLE * rounds)))
    together.walk_as(drawn, lambda stage: away_in(stage, rounds))
    found = together.hand_in(frozenset([4, 9]))
    assert schedule_of(found.attendance) == schedule
    view, collected = view_of(terms, found, together.analysts)
    simulated = simulated_shuffler(terms, found.attendance).hand_in(
        reports, places_after(terms, schedule, drawn), source=SeededSource(1)
    )
    assert sorted(zip(view.labels, view.reports["value"], strict=True)) == (
        sorted(zip(simulated.labels, simulated.reports["value"], strict=True))
    )
    assert view.shuffle == simulated.shuffle
    assert PEOPLE - 8 < len(view) < PEOPLE
    assert set(collected.refused.values()) == {0}


def restarted(together):
    """The same members with these reports."""
    together.states = [begin(together.terms, person, report) for person, report in enumerate(together.reports)]
    return together


def test_the_release_states_what_the_gate_does_and_how_many_were_away(tmp_path):
    together = gated(OVERLAY)
    coin = KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
    reports = coin.randomize([0, 1] * (PEOPLE // 2))
    together.reports = [sealed_report(together.terms, reports.take([person])) for person in range(PEOPLE)]
    together = restarted(together)
    for stage in range(9):
        together.send(NEVER)
        together.receive(away_in(stage), NEVER)
    found = together.hand_in(frozenset([4, 9]))
    outcome, _ = write_relay_release(together.terms, found, together.analysts, tmp_path / "release")
    (statement, *_) = outcome.to_dict()["statements"]
    assert statement["guarantee"]["epsilon"] == 0.9
    assert statement["basis"]["theorem"] == "network-constant-pattern"
    page = (tmp_path / "release" / "release.html").read_text()
    assert "4 people in all, 2 of them at the end, who handed in nothing" in page
    assert "shuffledp relay release COLLECTION" in page
    assert "shuffledp analyze" not in page
    assert json.loads((tmp_path / "release" / "statement.json").read_text())["statements"][0] == statement


@pytest.mark.parametrize("shuffler", [OVERLAY, GRAPH], ids=["overlay", "graph"])
@pytest.mark.parametrize("since", [0, 1, 4])
def test_a_tenth_of_the_members_killed_for_good_leaves_the_gate_open_and_what_is_stated(shuffler, since):
    together, gone = gated(shuffler), frozenset([3, 11, 26])
    for stage in range(together.terms.num_rounds + 1):
        together.send(gone if stage >= since else frozenset())
        together.receive(gone=gone if stage >= since else frozenset())
    found = together.hand_in(gone)
    assert found.by_member.keys() == set(range(PEOPLE)) - gone
    handed_in = [each.encode() for several in found.by_member.values() for each in several]
    held = [report for person in gone for report in together.states[person].walk.held]
    assert len(set(handed_in)) == len(handed_in) >= PEOPLE - 3 - len(held)
    assert set(handed_in) <= set(together.reports)
    if since == 0:
        assert sorted(handed_in) == sorted(set(together.reports) - {together.reports[each] for each in gone})


def test_a_gate_that_stays_shut_is_refused_by_everybody_alike_and_by_the_analyst():
    """Half of the members leave after the first round: reports have not mixed, whoever looks."""
    together, gone = gated(OVERLAY | {"gate": 0.6}), frozenset(range(13))
    for stage in range(together.terms.num_rounds + 1):
        together.send(gone if stage > 1 else frozenset())
        together.receive(gone=gone if stage > 1 else frozenset())
    attendance = together.states[-1].attendance
    assert "it is shut: 13 of 30 members were away" in hand_in_refusal(together.terms, attendance)
    for person in set(range(PEOPLE)) - gone:
        with pytest.raises(HandInRefusedError, match=r"the gate must be open .* Nothing is handed in"):
            check_hand_in(together.terms, attendance, person)
    with pytest.raises(HandInRefusedError, match="the gate must be open"):
        together.send(gone)
    with pytest.raises(HandInRefusedError, match="the gate must be open"):
        check_hand_in(together.terms, attendance)
    assert all(ANALYST not in (state.letters or {}) for state in together.states)
    with pytest.raises(ValueError, match="gate must be open"):  # so that no statement can be made either
        simulated_shuffler(together.terms, attendance).model(PEOPLE)


def test_whoever_was_away_in_the_last_round_hands_in_nothing_and_is_told():
    together = gated(OVERLAY).walk({8: [5]})
    check_hand_in(together.terms, together.states[0].attendance, 0)
    with pytest.raises(HandInRefusedError, match="a member must be there in the last round to hand in"):
        check_hand_in(together.terms, together.states[5].attendance, 5)
    with pytest.raises(HandInRefusedError, match="a member must be there in the last round to hand in"):
        together.send()


def test_nobody_away_is_as_ever_and_a_gate_that_too_few_rounds_cannot_open_is_shut():
    together = gated(OVERLAY).walk()
    found = together.hand_in()
    assert sum(map(len, found.by_member.values())) == PEOPLE
    assert simulated_shuffler(together.terms, found.attendance).model(PEOPLE).arrival_share == 1.0
    few = terms_of(Circle(people=PEOPLE, **OVERLAY | {"rounds": 1}))
    attendance = Attendance(few.collection_id, PEOPLE)
    for _ in range(2):
        attendance = attendance.followed_by(record_of(range(PEOPLE), PEOPLE))
    assert "it is shut: 0 of 30" in hand_in_refusal(few, attendance)


def test_nobody_there_at_the_end_is_a_gate_that_is_shut():
    terms = terms_of(Circle(people=PEOPLE, **OVERLAY))
    attendance = Attendance(terms.collection_id, PEOPLE, (record_of(range(PEOPLE), PEOPLE),) * 8)
    assert hand_in_refusal(terms, attendance.followed_by(record_of([], PEOPLE)))


def test_more_reports_than_members_are_refused():
    together = gated(OVERLAY).walk({3: [2]})
    found = together.hand_in()
    extra = sealed_report(together.terms, KaryRandomizedResponse(epsilon0=1.0, domain_size=2).randomize([1]))
    found.by_member[0] = (*found.by_member[0], HpkeCiphertext.decode(extra))
    with pytest.raises(InputDataError, match="all 30 members' reports must be handed in, and nothing else"):
        view_of(together.terms, found, together.analysts)


@pytest.mark.parametrize("laziness", [0.0, 0.5])
def test_members_hand_in_exactly_where_the_model_of_the_simulated_walk_is_not_refused(laziness):
    """On a graph of few people, where both work out everybody's law; with laziness the walk mixes less."""
    drawn, outcomes = np.random.default_rng(5), set()
    for gate in (0.85, 0.9, 0.95):
        terms = gated(GRAPH | {"laziness": laziness, "gate": gate, "rounds": 8}).terms
        for away in (0.0, 0.02, 0.1, 0.3):
            online = drawn.random((terms.num_rounds + 1, PEOPLE)) >= away
            online[0] = True
            records = tuple(record_of(np.flatnonzero(each), PEOPLE) for each in online)
            attendance = Attendance(terms.collection_id, PEOPLE, records)
            may = not hand_in_refusal(terms, attendance)
            try:
                simulated_shuffler(terms, attendance).model(PEOPLE)
            except InvalidParameterError:
                assert not may
                outcomes.add("shut")
            else:
                assert may
                outcomes.add("open")
    assert outcomes == {"open", "shut"}
