"""A member's phases: the table of transitions says what the steps do, whoever is away and however few vote."""

import pytest

from contracts.transition_tables import row_of
from parties.relay.members import Circle
from parties.relay.together import Together
from shuffledp.core.errors import RemoteProtocolError
from shuffledp.parties.relay.attendance import record_of
from shuffledp.parties.relay.hand_in_gate import hand_in_refusal
from shuffledp.parties.relay.rounds import TRANSITIONS, Phase, finish, prepare

PEOPLE = 8
WALK = {"overlay": {"groups": [2, 4]}, "rounds": 2}


def outcome(step, *given):
    """State after a step of a member; None if it is refused."""
    try:
        return step(*given)
    except RemoteProtocolError:
        return None


def told(event, terms, state, **known):
    """Next phase by the table."""
    known |= {"terms": terms, "state": state, "hand_in_refusal": hand_in_refusal}
    return row_of(TRANSITIONS, state.phase(terms), event, **known).to


def played(away, *, votes=PEOPLE):
    """Pairs of phase and event that one member of a relay passes, each as the table says; who is away, by stage."""
    together = Together(Circle(people=PEOPLE, **WALK), [0] * PEOPLE)
    terms, passed = together.terms, []
    for stage in range(terms.hand_in_stage + 1):
        before = together.states
        after = [outcome(prepare, terms, key, state) for key, state in zip(together.keys, before, strict=True)]
        for state, settled in zip(before, after, strict=True):
            assert (None if settled is None else settled.phase(terms)) == told(prepare, terms, state)
            passed.append((state.phase(terms), prepare, settled is not None))
        if None in after or stage == terms.hand_in_stage:
            break
        together.states, together.stage = after, stage
        absent = frozenset(away.get(stage, ()))
        record, came = record_of(set(range(PEOPLE)) - absent, PEOPLE), absent
        if stage == terms.vote_stage:
            came = frozenset(range(votes, PEOPLE))
        ended = [
            outcome(finish, terms, key, state, record, together.mail_of(state.person, came))
            for key, state in zip(together.keys, after, strict=True)
        ]
        for state, done in zip(after, ended, strict=True):
            known = {"absent": absent, "votes": votes}
            assert (None if done is None else done.phase(terms)) == told(finish, terms, state, **known)
            passed.append((state.phase(terms), finish, done is not None))
        if None in ended:
            break
        together.states = ended
    return set(passed)


@pytest.mark.parametrize(
    ("away", "votes", "ends"),
    [
        ({}, PEOPLE, (Phase.HAND_IN, prepare, True)),
        ({0: [3]}, PEOPLE, (Phase.SET_UP, finish, False)),
        ({1: [3]}, PEOPLE, (Phase.VOTE, prepare, False)),
        ({}, 5, (Phase.HAND_IN, prepare, True)),
        ({}, 4, (Phase.VOTE, finish, False)),
    ],
    ids=["nobody away", "away at the set-up", "away in a round", "a quorum", "no quorum"],
)
def test_the_table_says_what_the_steps_do(away, votes, ends):
    passed = played(away, votes=votes)
    assert ends in passed
    assert sum(not is_allowed for _, _, is_allowed in passed) == (not ends[2])
