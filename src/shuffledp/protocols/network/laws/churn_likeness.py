"""Churn likeness: common mass of all people's position laws, given recorded attendance.

With pi the mean of everybody's law, u_v = max over i of P_v(i) / pi_i and l_j = min over i of P_j(i) / pi_i, a_jv is at
least l_j / u_v. Of a few people it is worked out for all pairs; more are walked some at a time, and only u and l kept.

Where not everybody hands in, laws are those of places that are: with s_v the chance that v's report is at one of them,
P_v / s_v takes the place of P_v. Nothing is seen of v where it is not, and the others who hide her are those whose laws
are at least a_jv = s_v min over these places of P_j(i) / P_v(i) times hers.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.table import Floats, Integers
from shuffledp.protocols.network.laws.churned_rounds import ChurnedRound, ChurnedWays
from shuffledp.protocols.network.laws.walk_distributions import Ways, from_starts, one_round, transitions
from shuffledp.protocols.network.laws.walk_likeness import (
    Likeness,
    likeness_of,
    mean_overlap_of_extremes,
    mean_overlaps,
    nothing_alike,
)

_FEW = 2000  # people whose laws are all kept, and compared: 32 MB
_BLOCK = 64  # starts that walk at a time
_MOST_STEPS = 2 * 10**10  # people * entries of all rounds up to which everybody's law is walked
_ROUND_UP = 1 + 1e-9
_TINY = 1e-300
_SLACK = 1e-15  # of a probability, relative: what rounding may add in one round, for each number added up


def likeness_given(ways: ChurnedWays, *, laziness: float = 0.0) -> Likeness:
    """Likeness of the position laws after all rounds of the schedule, given attendance.

    Only a mean overlap is known where there are too many people to compute all laws.

    Args:
        ways: a graph or an overlay with the schedule.
        laziness: the chance that a report stays where it is for a round, from 0 to 1.

    Raises:
        InvalidParameterError: if the chance is out of range.
    """
    rounds, people, last = ways.rounds, ways.num_users, ways.schedule.handing_in
    validate.probability(laziness=laziness)
    if people > _FEW:
        return replace(nothing_alike(people), mean_overlap=quick_overlap_given(ways, laziness=laziness))
    laws = _laws_given(ways, laziness)
    if last is None:
        return likeness_of(laws, slack=_slack_of(rounds))
    return replace(nothing_alike(people), mean_overlap=float(_overlaps_at(laws, last, _slack_of(rounds)).min()))


def quick_overlap_given(ways: ChurnedWays, *, laziness: float = 0.0) -> float:
    """Lower bound on the mean overlap of `likeness_given`, by the extremes of all laws; 0 if unknown.

    Of 1,000 people with 8 neighbors it takes a fifth of a second in 15 rounds.

    Raises:
        InvalidParameterError: if the chance is out of range.
    """
    validate.probability(laziness=laziness)
    rounds, people = ways.rounds, ways.num_users
    if not rounds or not _is_feasible(rounds, people):
        return 0.0
    last, (*_, middle) = handing_in(ways), _walked(rounds, np.full(people, 1 / people), laziness)
    most, least = np.empty((2, people))
    for starts, laws in _blocks(people):
        (*_, ends) = _walked(rounds, laws, laziness)
        largest, least[starts] = _extremes(ends[last], middle[last])
        arriving = np.minimum(ends[last].sum(axis=0), 1.0)
        most[starts] = np.divide(largest, arriving, out=np.full(starts.size, _TINY), where=arriving > 0)
    return mean_overlap_of_extremes(least, most) * (1 - 12 * _slack_of(rounds))


def overlaps_given(ways: ChurnedWays, *, laziness: float = 0.0) -> Floats:
    """Lower bound for each person on the mean overlap of the person's position law with others' laws.

    It is public, of shape (people,).

    Raises:
        InvalidParameterError: if the chance is out of range, or the people are more than 2000.
    """
    validate.probability(laziness=laziness)
    if ways.num_users > _FEW:
        raise validate.invalid(f"at most {_FEW}", num_users=ways.num_users)
    return _overlaps_at(_laws_given(ways, laziness), handing_in(ways), _slack_of(ways.rounds))


def handing_in(ways: ChurnedWays) -> NDArray[np.bool_]:
    """Mask of the people who hand in reports after the last round, shape (people,)."""
    last = ways.schedule.handing_in
    return np.ones(ways.num_users, dtype=np.bool_) if last is None else last


def arriving_given(ways: Ways, *, laziness: float = 0.0) -> float:
    """Expected share of reports that are handed in, given attendance if it is known."""
    if not isinstance(ways, ChurnedWays) or ways.schedule.handing_in is None:
        return 1.0
    held = np.ones(ways.num_users)
    for matrix in transitions(ways.rounds):
        held = one_round(matrix, held, laziness)
    return min(1.0, float(held[handing_in(ways)].sum()) / ways.num_users)


def overlaps_by_round(ways: ChurnedWays, *, worth: float, laziness: float = 0.0) -> Iterator[float]:
    """Mean overlap of `likeness_given` after each round; 0 where it is certainly below ``worth``.

    Raises:
        InvalidParameterError: if a chance is out of range.
    """
    validate.probability(worth=worth, laziness=laziness)
    rounds, people = ways.rounds, ways.num_users
    if people > _FEW:
        yield from _swept(rounds, people, laziness) if _is_feasible(rounds, people) else ()
        return
    for done, laws in enumerate(_walked(rounds, np.eye(people), laziness)):
        most, _ = _extremes(laws, laws.mean(axis=1))
        # By the favorite place of each alone: there others are with a chance of n pi_i - P_v(i) in all.
        at_most = 1.0 if people == 1 else (people / float(most.max()) - 1) / (people - 1)
        given = np.ascontiguousarray(laws.T)
        known = likeness_of(given, slack=_slack_of(rounds[: done + 1])) if at_most * _ROUND_UP >= worth else None
        yield 0.0 if known is None else known.mean_overlap


def _overlaps_at(laws: Floats, last: NDArray[np.bool_], slack: float) -> Floats:
    """Mean overlap by person, over the places of the hand-in; 1 if the report reaches no such place."""
    arriving = np.minimum(laws[:, last].sum(axis=1), 1.0)
    return np.asarray(mean_overlaps(np.ascontiguousarray(laws[:, last]), arriving) * (1 - 8 * slack))


def _laws_given(ways: ChurnedWays, laziness: float) -> Floats:
    """Position laws after all rounds, one person per row."""
    laws = np.eye(ways.num_users)
    for matrix in transitions(ways.rounds):
        laws = one_round(matrix, laws, laziness)
    return np.ascontiguousarray(laws.T)


def _walked(rounds: tuple[ChurnedRound, ...], laws: Floats, laziness: float) -> Iterator[Floats]:
    """Position laws after each round, one person per column."""
    for matrix in transitions(rounds):
        laws = one_round(matrix, laws, laziness)
        yield laws


def _swept(rounds: tuple[ChurnedRound, ...], people: int, laziness: float) -> list[float]:
    """Lower bound on the mean overlap after each round, by the extremes of all people's laws."""
    middle = list(_walked(rounds, np.full(people, 1 / people), laziness))
    most, least = np.empty((2, len(rounds), people))
    for starts, laws in _blocks(people):
        for done, each in enumerate(_walked(rounds, laws, laziness)):
            most[done, starts], least[done, starts] = _extremes(each, middle[done])
    return [
        mean_overlap_of_extremes(least[done], most[done]) * (1 - 8 * _slack_of(rounds[: done + 1]))
        for done in range(len(rounds))
    ]


def _blocks(people: int) -> Iterator[tuple[Integers, Floats]]:
    """Blocks of people, with each person's starting law in a column."""
    for first in range(0, people, _BLOCK):
        starts = np.arange(first, min(first + _BLOCK, people))
        yield starts, from_starts(people, starts)


def _extremes(laws: Floats, middle: Floats) -> tuple[Floats, Floats]:
    """Largest and smallest quotient of each column's law by the mean of all laws."""
    quotients = laws * np.divide(1, middle, out=np.zeros_like(middle), where=middle > 0)[:, None]
    return quotients.max(axis=0), quotients[middle > 0].min(axis=0) if (middle == 0).any() else quotients.min(axis=0)


def _is_feasible(rounds: tuple[ChurnedRound, ...], people: int) -> bool:
    return people * sum(each.num_entries for each in rounds) <= _MOST_STEPS


def _slack_of(rounds: tuple[ChurnedRound, ...]) -> float:
    """Bound on the relative rounding error of a probability."""
    return _SLACK * (1 + len(rounds)) * max((each.most_terms for each in rounds), default=1)
