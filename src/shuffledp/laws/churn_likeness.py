"""Churn likeness: what everybody's positions have in common, given a schedule of who is online in which round.

With pi the mean of everybody's law, u_v = max over i of P_v(i) / pi_i and l_j = min over i of P_j(i) / pi_i, a_jv is at
least l_j / u_v. Of a few people it is worked out for all pairs; more are walked some at a time, and only u and l kept.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from shuffledp.core import validate
from shuffledp.core.table import Floats
from shuffledp.laws.churned_rounds import ChurnedRound, ChurnedWays
from shuffledp.laws.walk_distributions import one_round, transitions
from shuffledp.laws.walk_likeness import Likeness, likeness_of, mean_overlap_of_extremes, mean_overlaps, nothing_alike

_FEW = 2000  # people whose laws are all kept, and compared: 32 MB
_BLOCK = 64  # starts that walk at a time
_MOST_STEPS = 2 * 10**10  # people * entries of all rounds up to which everybody's law is walked
_ROUND_UP = 1 + 1e-9
_SLACK = 1e-15  # of a probability, relative: what rounding may add in one round, for each number added up


def likeness_given(ways: ChurnedWays, *, laziness: float = 0.0) -> Likeness:
    """What the laws of positions have in common after all rounds of the schedule, given who was online.

    Nothing is known of walks of so many people that not everybody's law can be walked.

    Args:
        ways: a graph or an overlay with the schedule.
        laziness: the chance that a report stays where it is for a round, from 0 to 1.

    Raises:
        InvalidParameterError: if the chance is out of range.
    """
    rounds, people = ways.rounds, ways.num_users
    validate.probability(laziness=laziness)
    if people > _FEW:
        overlap = _swept(rounds, people, laziness)[-1] if rounds and _is_feasible(rounds, people) else 0.0
        return replace(nothing_alike(people), mean_overlap=overlap)
    return likeness_of(_laws_given(ways, laziness), slack=_slack_of(rounds))


def overlaps_given(ways: ChurnedWays, *, laziness: float = 0.0) -> Floats:
    """For each person the mean overlap of the others' laws with theirs, from below, shape (people,): public.

    Raises:
        InvalidParameterError: if the chance is out of range, or the people are more than 2000.
    """
    validate.probability(laziness=laziness)
    if ways.num_users > _FEW:
        raise validate.invalid(f"at most {_FEW}", num_users=ways.num_users)
    return np.asarray(mean_overlaps(_laws_given(ways, laziness)) * (1 - 4 * _slack_of(ways.rounds)))


def overlaps_by_round(ways: ChurnedWays, *, worth: float, laziness: float = 0.0) -> Iterator[float]:
    """After each round of the schedule the mean overlap of `likeness_given`; 0 where it is certainly below ``worth``.

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


def _laws_given(ways: ChurnedWays, laziness: float) -> Floats:
    """The laws after all rounds, one in each row."""
    laws = np.eye(ways.num_users)
    for matrix in transitions(ways.rounds):
        laws = one_round(matrix, laws, laziness)
    return np.ascontiguousarray(laws.T)


def _walked(rounds: tuple[ChurnedRound, ...], laws: Floats, laziness: float) -> Iterator[Floats]:
    """The laws, one in each column, after each round."""
    for matrix in transitions(rounds):
        laws = one_round(matrix, laws, laziness)
        yield laws


def _swept(rounds: tuple[ChurnedRound, ...], people: int, laziness: float) -> list[float]:
    """The mean overlap after each round, by the extremes of everybody's law."""
    middle = list(_walked(rounds, np.full(people, 1 / people), laziness))
    most, least = np.empty((2, len(rounds), people))
    for first in range(0, people, _BLOCK):
        starts = np.arange(first, min(first + _BLOCK, people))
        laws = np.zeros((people, starts.size))
        laws[starts, np.arange(starts.size)] = 1.0
        for done, each in enumerate(_walked(rounds, laws, laziness)):
            most[done, starts], least[done, starts] = _extremes(each, middle[done])
    return [
        mean_overlap_of_extremes(least[done], most[done]) * (1 - 8 * _slack_of(rounds[: done + 1]))
        for done in range(len(rounds))
    ]


def _extremes(laws: Floats, middle: Floats) -> tuple[Floats, Floats]:
    """For each law, one in each column, the largest and the least quotient by the mean of all."""
    quotients = laws * np.divide(1, middle, out=np.zeros_like(middle), where=middle > 0)[:, None]
    return quotients.max(axis=0), quotients[middle > 0].min(axis=0) if (middle == 0).any() else quotients.min(axis=0)


def _is_feasible(rounds: tuple[ChurnedRound, ...], people: int) -> bool:
    return people * sum(each.num_entries for each in rounds) <= _MOST_STEPS


def _slack_of(rounds: tuple[ChurnedRound, ...]) -> float:
    """By what share a probability may be off."""
    return _SLACK * (1 + len(rounds)) * max((each.most_terms for each in rounds), default=1)
