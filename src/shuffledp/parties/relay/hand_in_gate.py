"""Gate of a relay: the decision whether members may hand in reports, from a simulated walk.

Members may hand in all, some or no reports. Without a gate, the promise holds only for rounds in which no member was
away. With a gate, it holds for all schedules that the gate lets through; the gate looks only at the schedule, which all
members know alike.
"""

from dataclasses import replace
from functools import lru_cache

from shuffledp.parties.relay.attendance import Attendance
from shuffledp.parties.relay.terms import RelayTerms
from shuffledp.protocols.network.laws.churn_schedules import STAY, Schedule
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.protocols.network.shufflers.walk_hand_in import may_hand_in

_may_hand_in = lru_cache(maxsize=4)(may_hand_in)  # for processes in which many members run


def schedule_of(attendance: Attendance) -> Schedule:
    """Schedule of the walk: members present in each round; only members of the last round hand in.

    A report stays with its holder if the holder or the next holder was away.
    """
    rounds = attendance.online[1:]
    return Schedule(rounds, STAY, rounds[-1])


def simulated_shuffler(terms: RelayTerms, attendance: Attendance) -> RandomWalkShuffler:
    """Simulated shuffler with the same view as the relay after these rounds.

    Raises:
        InvalidParameterError: if no member was present in the last round.
    """
    shuffler = terms.shuffler
    return shuffler if shuffler.gate is None else replace(shuffler, schedule=schedule_of(attendance))


def hand_in_refusal(terms: RelayTerms, attendance: Attendance) -> str:
    """Reason why no report may be handed in after these rounds; empty if reports may be handed in."""
    away, gate = attendance.num_away, terms.shuffler.gate
    if gate is None:
        return (
            "nobody must be away where reports are handed in, since nothing was promised of other rounds; "
            f"{away} of {terms.num_users} members were. Nothing is handed in."
            if away
            else ""
        )
    if attendance.online[-1].any() and _may_hand_in(terms.shuffler, schedule_of(attendance)):
        return ""
    return (
        f"the gate must be open where reports are handed in; it is shut: {away} of {terms.num_users} members were "
        f"away, and who was there has not mixed reports enough for epsilon = {gate.epsilon:g}. Nothing is handed in."
    )
