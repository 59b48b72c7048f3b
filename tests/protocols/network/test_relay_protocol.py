"""What one person does, step by step; and everybody together does what the simulation does."""

import itertools

import numpy as np
import pytest

from contracts.transition_tables import by_step, by_table
from shuffledp.core.errors import InvalidParameterError, LocalProtocolError, RemoteProtocolError
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.laws.walk_sampling import sample_walks
from shuffledp.protocols.network.people.overlays import Overlay, rounds_of
from shuffledp.protocols.network.shufflers.relay_protocol import (
    TRANSITIONS,
    Envelope,
    HandedIn,
    Passed,
    ReportsReceived,
    RoundEnded,
    RoundStarted,
    SubmissionDue,
    WalkPhase,
    start_relay,
    step,
)
from shuffledp.randomness.sources import high_product
from shuffledp.testing import SeededSource


def delivered(states, number, passed, offline=frozenset()):
    """The states after everybody who is online has heard all neighbors, and the round has ended."""
    found = []
    for before in states:
        state = before
        for sender in before.present_neighbors:
            if not {sender, state.person} & offline:
                reports = tuple(each.report for each in passed[sender] if each.recipient == state.person)
                state, nothing = step(state, ReportsReceived(round=number, sender=sender, reports=reports))
                assert nothing == ()
        found.append(step(state, RoundEnded(round=number, offline=offline))[0])
    return found


def test_relays_take_reports_the_same_ways_as_the_simulation():
    """With the same word for the same report in the same round."""
    people, rounds = 60, 7
    graph = Graph.from_edges(np.random.default_rng(3).integers(0, people, (150, 2)), people)
    graph = graph.largest_component()
    people = graph.num_users
    simulated = sample_walks(graph, rounds, source=SeededSource(8))
    words = SeededSource(8)
    states = [
        start_relay(person, tuple(graph.neighbors_of(person).tolist()), rounds, person) for person in range(people)
    ]
    messages = np.zeros(people, dtype=int)
    for number in range(1, rounds + 1):
        drawn = words.words(people)
        passed: list[tuple[Passed, ...]] = []
        for person, state in enumerate(states):
            degree = np.uint64(len(state.neighbors[0]))
            choices = tuple(int(high_product(drawn[[report]], degree)[0]) for report in state.held)
            states[person], output = step(state, RoundStarted(round=number, choices=choices))
            messages[person] += len(output)
            passed.append(output)
        states = delivered(states, number, passed)
    held = np.full(people, -1)
    for state in states:
        done, (handed_in,) = step(state, SubmissionDue(order=tuple(range(len(state.held)))))
        assert done.is_done
        assert done.held == ()
        held[list(handed_in.reports)] = handed_in.submitter
    assert held.tolist() == simulated.positions.tolist()
    assert messages.tolist() == simulated.messages.tolist()


def test_relays_on_an_overlay_have_contacts_of_their_own_in_each_round():
    """On one of seven people, where two share an address in some rounds."""
    overlay, rounds = Overlay(7, (2, 3)), 4
    simulated = sample_walks(overlay, rounds, source=SeededSource(8))
    source, people = SeededSource(8), range(7)
    contacts = [[each.contacts_of(person).tolist() for each in rounds_of(overlay, 2)] for person in people]
    states = [start_relay(person, contacts[person], rounds, person) for person in people]
    holders = np.arange(7)
    for number, each in enumerate(rounds_of(overlay, rounds)):
        goals = sample_walks(each, 1, starts=holders, source=source).positions
        passed: list[tuple[Passed, ...]] = []
        for person, state in enumerate(states):
            there = contacts[person][number % 2]
            choices = tuple(None if goals[held] == person else there.index(goals[held]) for held in state.held)
            states[person], output = step(state, RoundStarted(round=number + 1, choices=choices))
            passed.append(output)
        states = delivered(states, number + 1, passed)
        holders = goals
    assert sorted((report, state.person) for state in states for report in state.held) == list(
        enumerate(simulated.positions.tolist())
    )


def test_a_report_stays_where_nothing_is_chosen():
    state = start_relay(4, (1, 9), 2, "mine")
    state, _ = step(state, RoundStarted(round=1, choices=(None,)))
    state = ended(state, {1: ("theirs",), 9: ()})
    state, passed = step(state, RoundStarted(round=2, choices=(None, 1)))
    assert state.held == ("mine",)
    assert passed == (Passed(recipient=9, round=2, report="theirs"),)


def ended(state, came, offline=frozenset()):
    """The state after a round in which these reports came from each neighbor."""
    for sender, reports in came.items():
        state, _ = step(state, ReportsReceived(round=state.round, sender=sender, reports=reports))
    return step(state, RoundEnded(round=state.round, offline=frozenset(offline)))[0]


def holding(*reports, slots=(1, 2)):
    state = start_relay(4, (1, 9), 2, reports[0], slots=slots)
    state, _ = step(state, RoundStarted(round=1, choices=(None,), order=(0,)))
    return ended(state, {1: tuple(reports[1:]), 9: ()})


def test_an_envelope_goes_to_every_neighbor_and_those_who_find_no_place_wait():
    state = holding("a", "b", "c", "d", "e")
    event = RoundStarted(round=2, choices=(1, 1, None, 1, 1), order=(3, 2, 0, 4, 1))
    state, envelopes = step(state, event)
    assert envelopes == (
        Envelope(recipient=1, round=2, places=(None, None)),
        Envelope(recipient=9, round=2, places=("d", "a")),
    )
    assert state.held == ("b", "c", "e")


def test_who_they_are_for_and_how_many_places_they_have_is_the_same_whatever_is_held():
    shapes = set()
    for reports, choices in ((("a",), (None,)), (("a",), (1,)), (("a", "b", "c"), (0, 0, 0)), (("a", "b"), (0, 1))):
        event = RoundStarted(round=2, choices=choices, order=tuple(range(len(reports))))
        _, envelopes = step(holding(*reports), event)
        shapes.add(tuple((each.recipient, each.round, len(each.places)) for each in envelopes))
    assert shapes == {((1, 2, 2), (9, 2, 2))}


def test_who_waits_is_chosen_uniformly_if_the_order_is():
    waited = []
    for order in itertools.permutations(range(3)):
        state, _ = step(holding("a", "b", "c"), RoundStarted(round=2, choices=(0, 0, 0), order=order))
        waited += state.held
    assert sorted(waited) == ["a", "a", "b", "b", "c", "c"]


def walking(choice=None):
    return step(start_relay(4, (1, 9), 2, "mine"), RoundStarted(round=1, choices=(choice,)))[0]


def test_a_message_that_comes_twice_is_refused_and_changes_nothing():
    message = ReportsReceived(round=1, sender=1, reports=("theirs",))
    state, _ = step(walking(), message)
    for again in (message, ReportsReceived(round=1, sender=1, reports=())):
        with pytest.raises(RemoteProtocolError, match="must come once from each neighbor"):
            step(state, again)
    with pytest.raises(RemoteProtocolError, match="must come from a neighbor"):
        step(state, ReportsReceived(round=1, sender=7, reports=("made up",)))
    assert ended(state, {9: ()}).held == ("mine", "theirs")


def test_who_is_online_and_not_heard_is_missed():
    with pytest.raises(RemoteProtocolError, match="must have come in round 1; 1 of 2 neighbors are missing"):
        ended(walking(), {1: ("theirs",)})
    assert ended(walking(), {1: ("theirs",)}, offline={9}).held == ("mine", "theirs")


def test_what_is_passed_on_to_somebody_offline_or_by_somebody_offline_stays_with_its_holder():
    assert ended(walking(0), {1: (), 9: ()}).held == ()
    assert ended(walking(0), {9: ("theirs",)}, offline={1}).held == ("mine", "theirs")
    assert ended(walking(0), {1: ("never moved",), 9: ()}, offline={1}).held == ("mine",)
    assert ended(walking(0), {1: ("theirs",), 9: ("theirs",)}, offline={4}).held == ("mine",)


def test_nobody_goes_on_before_a_round_has_ended_and_it_ends_once():
    with pytest.raises(LocalProtocolError, match="round 2 must not start after round 1"):
        step(walking(), RoundStarted(round=2, choices=()))
    with pytest.raises(LocalProtocolError, match="round 1 must not end after round 1, or before"):
        step(ended(walking(), {1: (), 9: ()}), RoundEnded(round=1))
    with pytest.raises(RemoteProtocolError, match="reports of round 1 must not come after round 1"):
        step(ended(walking(), {1: (), 9: ()}), ReportsReceived(round=1, sender=1, reports=()))


def held(*reports):
    state = start_relay(4, (1,), 1, reports[0])
    state, _ = step(state, RoundStarted(round=1, choices=(None,)))
    return ended(state, {1: tuple(reports[1:])})


def handed_in(state, **options):
    return step(state, SubmissionDue(**options))[1][0]


def test_submissions_are_taken_from_the_order_and_gaps_filled_with_dummies():
    assert handed_in(held("a", "b", "c"), order=(2, 0, 1)) == HandedIn(submitter=4, reports=("c", "a", "b"))
    one = handed_in(held("a", "b", "c"), order=(2, 0, 1), submissions=1, dummy=lambda: "dummy")
    assert one.reports == ("c",)
    padded = handed_in(held("a"), order=(1, 0, 2), submissions=3, dummy=lambda: "dummy")
    assert padded.reports == ("dummy", "a", "dummy")


BAD = [
    (start_relay(0, (1,), 2, "r"), RoundStarted(round=2, choices=(0,)), LocalProtocolError, "round 2 must not start"),
    (start_relay(0, (1,), 0, "r"), RoundStarted(round=1, choices=(0,)), LocalProtocolError, "round 1 must not start"),
    (
        start_relay(0, (1,), 2, "r"),
        RoundStarted(round=1, choices=()),
        LocalProtocolError,
        "choices must be one for each of 1",
    ),
    (start_relay(0, (1,), 2, "r"), RoundStarted(round=1, choices=(1,)), LocalProtocolError, "choices must be places"),
    (
        start_relay(0, (1,), 2, "r"),
        ReportsReceived(round=1, sender=1, reports=("s",)),
        RemoteProtocolError,
        "reports of round 1",
    ),
    (
        start_relay(0, (1,), 2, "r"),
        SubmissionDue(order=(0,)),
        LocalProtocolError,
        "must not be handed in after round 0",
    ),
    (held("r"), SubmissionDue(order=(0, 1)), LocalProtocolError, "order must be a permutation of 1"),
    (held("r"), SubmissionDue(order=(0,), submissions=1), LocalProtocolError, "dummy must be given"),
    (
        start_relay(0, (1,), 1, "r", slots=(1,)),
        RoundStarted(round=1, choices=(0,)),
        LocalProtocolError,
        "order must be a permutation of 1 places where there are slots",
    ),
    (held("r"), "noise", InvalidParameterError, "event must be a RoundStarted"),
]


@pytest.mark.parametrize(("state", "event", "error", "message"), BAD)
def test_what_is_not_due_is_refused_and_shows_no_report(state, event, error, message):
    with pytest.raises(error, match=message) as caught:
        step(state, event)
    assert "'r'" not in str(caught.value)


def test_nothing_happens_after_the_end():
    state, _ = step(held("r"), SubmissionDue(order=(0,)))
    with pytest.raises(LocalProtocolError, match="person 4 has handed in"):
        step(state, ReportsReceived(round=1, sender=1, reports=("late",)))


def test_who_has_nobody_to_pass_on_to_cannot_start():
    with pytest.raises(InvalidParameterError, match="neighbors must be one or more"):
        start_relay(0, (), 1, "r")
    assert start_relay(0, (), 0, "r").held == ("r",)
    with pytest.raises(InvalidParameterError, match="slots must be one number for each of 2 rounds"):
        start_relay(0, (1,), 2, "r", slots=(1,))


def test_what_is_printed_shows_no_report_and_no_way_it_takes():
    started, due = RoundStarted(round=1, choices=(4711,)), SubmissionDue(order=(4711,))
    passed = Passed(recipient=4711, round=1, report="secret")
    received, handed_in = (
        ReportsReceived(round=1, sender=1, reports=("secret",)),
        HandedIn(submitter=1, reports=("secret",)),
    )
    state, sealed = start_relay(0, (1, 2), 3, "secret"), Envelope(recipient=1, round=1, places=("secret", None))
    printed = repr([sealed, started, due, passed, received, handed_in, state])
    assert "4711" not in printed
    assert "secret" not in printed


def events_at(state):
    """Events of every kind at a state, due and not due; what they hold fits the reports held."""
    held = range(len(state.held))
    for number in range(4):
        yield RoundStarted(round=number, choices=(0,) * len(held), order=tuple(held))
        for sender in range(4):
            yield ReportsReceived(round=number, sender=sender, reports=(f"from {sender}",))
        for offline in (frozenset(), frozenset([0]), frozenset([1]), frozenset([1, 2])):
            yield RoundEnded(round=number, offline=offline)
    yield SubmissionDue(order=tuple(held))


@pytest.mark.parametrize("slots", [(), (1, 2)], ids=["one by one", "slots"])
@pytest.mark.parametrize("rounds", [0, 2])
def test_the_table_says_of_every_reachable_state_and_event_what_the_step_does(rounds, slots):
    left, known, rows = [start_relay(0, [[1, 2], [1, 3]], rounds, "own", slots=slots[:rounds])], set(), set()
    while left:
        state = left.pop()
        if state in known:
            continue
        known.add(state)
        for event in events_at(state):
            after, outputs = by_step(step, state, event)
            to, kinds = by_table(TRANSITIONS, state.phase, event, (None, set()), state=state)
            assert (None if after is None else after.phase) == to, (state, event)
            assert {type(each) for each in outputs} <= kinds, (state, event)
            rows.add((state.phase, type(event), to))
            left += [] if after is None else [after]
    phases = set(WalkPhase) if rounds else {WalkPhase.WALKED, WalkPhase.DONE}
    kinds = {RoundStarted, ReportsReceived, RoundEnded, SubmissionDue}
    assert {(phase, kind) for phase, kind, _ in rows} == set(itertools.product(phases, kinds))
    allowed = {(each.state, each.event, each.to) for each in TRANSITIONS}
    assert {row for row in rows if row[2] is not None} == {row for row in allowed if row[0] in phases}
