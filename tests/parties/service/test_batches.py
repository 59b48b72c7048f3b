"""When reports leave: the phases, what no clock can undo, and how few are never released."""

import itertools
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.transition_tables import by_step, by_table
from shuffledp.core.errors import InvalidParameterError, LocalProtocolError
from shuffledp.parties.service.batches import (
    TRANSITIONS,
    Agreed,
    Clean,
    CloseAsked,
    Delivered,
    Destroy,
    Disagreed,
    Drained,
    End,
    Event,
    Freeze,
    Keep,
    MakeBatch,
    Phase,
    ReleaseRule,
    StopIntake,
    Stored,
    Tick,
    step,
)

AT_CLOSE = ReleaseRule(closes=100.0, minimum=10)
EVERY = ReleaseRule(closes=100.0, minimum=10, every=20)
FETCHED = ReleaseRule(closes=100.0, minimum=10, fetch_by=200.0)
HOST = ReleaseRule(closes=100.0, minimum=10, fetch_by=200.0, agrees=True)
RULES = [AT_CLOSE, EVERY, FETCHED, HOST]
ORDER = list(Phase)


def test_a_collection_closes_at_its_date_and_not_before():
    assert step(Phase.OPEN, Tick(99.9), AT_CLOSE) == (Phase.OPEN, ())
    assert step(Phase.OPEN, Tick(100.0), AT_CLOSE) == (Phase.CLOSING, (StopIntake(),))


def test_whoever_runs_the_shuffler_may_close_it_before():
    assert step(Phase.OPEN, CloseAsked(), AT_CLOSE) == (Phase.CLOSING, (StopIntake(),))


@pytest.mark.parametrize("phase", ORDER[1:])
@pytest.mark.parametrize("event", [Tick(-1e9), Tick(0.0), Tick(1e12), CloseAsked()])
def test_a_clock_that_jumps_opens_nothing_again(phase, event):
    assert step(phase, event, EVERY) == (phase, ())


def test_at_the_close_everything_leaves_in_one_batch():
    assert step(Phase.OPEN, Stored(10_000), AT_CLOSE) == (Phase.OPEN, ())
    assert step(Phase.CLOSING, Drained(10, 0), AT_CLOSE) == (Phase.CLOSED, (MakeBatch(10), End()))


def test_below_the_minimum_nothing_leaves_and_everything_is_destroyed():
    assert step(Phase.CLOSING, Drained(9, 0), AT_CLOSE) == (Phase.DESTROYED, (End(),))
    assert step(Phase.CLOSING, Drained(9, 3), EVERY) == (Phase.CLOSED, (End(),))


def test_a_batch_of_a_fixed_number_leaves_as_soon_as_there_are_so_many():
    assert step(Phase.OPEN, Stored(19), EVERY) == (Phase.OPEN, ())
    assert step(Phase.OPEN, Stored(23), EVERY) == (Phase.OPEN, (MakeBatch(20),))
    assert step(Phase.CLOSING, Stored(23), EVERY) == (Phase.CLOSING, ())


def test_what_is_left_on_the_disk_goes_when_the_last_batch_is_delivered():
    assert step(Phase.CLOSED, Delivered(1), AT_CLOSE) == (Phase.CLOSED, ())
    assert step(Phase.CLOSED, Delivered(0), AT_CLOSE) == (Phase.RELEASED, (Clean(),))
    assert step(Phase.DESTROYED, Delivered(0), AT_CLOSE) == (Phase.DESTROYED, (Clean(),))
    assert step(Phase.OPEN, Delivered(0), EVERY) == (Phase.OPEN, ())


def test_batches_that_nobody_has_fetched_in_time_are_destroyed():
    assert step(Phase.CLOSED, Tick(199.9), FETCHED) == (Phase.CLOSED, ())
    assert step(Phase.CLOSED, Tick(200.0), FETCHED) == (Phase.DESTROYED, (Destroy(), Clean()))
    assert step(Phase.CLOSED, Tick(1e12), AT_CLOSE) == (Phase.CLOSED, ())
    assert step(Phase.OPEN, Tick(200.0), FETCHED) == (Phase.CLOSING, (StopIntake(),))
    assert step(Phase.RELEASED, Tick(200.0), FETCHED) == (Phase.RELEASED, ())


def test_a_host_makes_no_batch_before_all_have_agreed():
    assert step(Phase.CLOSING, Drained(12, 0), HOST) == (Phase.AGREEING, (Freeze(),))
    assert step(Phase.CLOSING, Drained(9, 0), HOST) == (Phase.DESTROYED, (End(),))
    assert step(Phase.AGREEING, Tick(199.9), HOST) == (Phase.AGREEING, ())
    assert step(Phase.AGREEING, Agreed(11, 0), HOST) == (Phase.CLOSED, (Keep(), MakeBatch(11), End()))
    assert step(Phase.AGREEING, Agreed(11, 1), HOST) == (Phase.CLOSED, (End(),))  # after a crash between the two
    assert step(Phase.AGREEING, Disagreed(), HOST) == (Phase.DESTROYED, (End(),))
    assert step(Phase.AGREEING, Tick(200.0), HOST) == (Phase.DESTROYED, (End(), Destroy(), Clean()))
    for phase in set(Phase) - {Phase.AGREEING}:
        assert step(phase, Agreed(11, 0), HOST) == step(phase, Disagreed(), HOST) == (phase, ())


@pytest.mark.parametrize("phase", ORDER[2:])
def test_nothing_is_stored_after_the_close(phase):
    with pytest.raises(LocalProtocolError, match="while a collection is open"):
        step(phase, Stored(1), AT_CLOSE)
    with pytest.raises(LocalProtocolError, match="must be closing"):
        step(phase, Drained(1, 0), AT_CLOSE)


def test_batches_smaller_than_the_minimum_cannot_be_asked_for():
    with pytest.raises(InvalidParameterError, match="every must be at least minimum=10"):
        ReleaseRule(closes=0.0, minimum=10, every=9)


EVENTS = st.lists(
    st.one_of(
        st.builds(Tick, st.floats(-1e3, 1e3)),
        st.just(CloseAsked()),
        st.integers(0, 30).map(Stored),
        st.builds(Drained, st.integers(0, 30), st.integers(0, 2)),
        st.builds(Agreed, st.integers(10, 30), st.integers(0, 1)),
        st.just(Disagreed()),
        st.integers(0, 2).map(Delivered),
    ),
    max_size=12,
)


@given(EVENTS, st.sampled_from(RULES))
def test_whatever_happens_phases_never_go_back_and_no_batch_is_too_small(events, rule):
    phases, phase = [Phase.OPEN], Phase.OPEN
    for event in events:
        try:
            phase, decisions = step(phase, event, rule)
        except LocalProtocolError:
            continue
        phases.append(phase)
        assert all(each.size >= rule.minimum for each in decisions if isinstance(each, MakeBatch))
    assert all(ORDER.index(before) <= ORDER.index(after) for before, after in itertools.pairwise(phases))


EVENTS = [
    *(Tick(now) for now in (0.0, 99.9, 100.0, 199.9, 200.0, 1e12)),
    CloseAsked(),
    *(Stored(waiting) for waiting in (0, 9, 10, 19, 20, 45)),
    *(Drained(waiting, made) for waiting in (0, 9, 10, 45) for made in (0, 1, 3)),
    *(Agreed(11, made) for made in (0, 1)),
    Disagreed(),
    *(Delivered(left) for left in (0, 1, 2)),
]


@pytest.mark.parametrize("rule", RULES, ids=["at the close", "every 20", "fetched", "one of several hosts"])
@pytest.mark.parametrize("phase", Phase)
def test_the_table_says_of_every_phase_and_event_what_the_step_does(phase, rule):
    assert {type(each) for each in EVENTS} == set(get_args(Event))
    for event in EVENTS:
        to, decisions = by_step(step, phase, event, rule)
        told = by_table(TRANSITIONS, phase, event, (phase, set()), rule=rule)
        assert (to, {type(each) for each in decisions}) == told, (phase, event)


def test_every_row_of_the_table_is_reached():
    reached = {
        each
        for each in TRANSITIONS
        for rule in RULES
        for event in EVENTS
        if by_table([each], each.state, event, None, rule=rule) is not None
    }
    assert reached == set(TRANSITIONS)
