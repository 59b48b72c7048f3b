"""Crowds of honest people that hide one report from colluding relays.

What colluders may know of one report is all or nothing: either they can follow it, or it is anywhere with the chances
of others', and a uniform shuffle of it and theirs is left. A `Hiding` says with which chance it is alone, and with
which chance it is in each of some crowds; the proofs are in docs/theorems.md ("Colluders").

**Reports that are recognized.** With Q the law of a report's place on the event that it has met no colluder, s its
chance, and others' reports at the same places with Q_j(i) >= a_j Q(i) / s, the crowd is a sum of independent indicators
of chances a_j. Who colludes is either known, or on an overlay whoever harms most: of the m people of a group all but h.

**Onions.** A layer of encryption for each relay, which honest ones take off: a report is hidden in the first round in
which an honest person passes it to an honest one, among all that are passed on so in that round in the same group.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.table import Floats, Integers
from shuffledp.protocols.network.laws.overlay_loads import loads_held
from shuffledp.protocols.network.laws.walk_distributions import (
    Ways,
    from_starts,
    graphs_of_rounds,
    one_round,
    people_of,
    transitions,
)
from shuffledp.protocols.network.people.overlays import Overlay, OverlayRound, rounds_of

MOST_COMPARED = 1000  # people beside named colluders, as the time grows with their cube
_DOWN, _UP = 1 - 1e-12, 1 + 1e-12


class Crowd(NamedTuple):
    """Crowd of other people that hides a report with probability ``weight``.

    Each of ``others`` is there with a ``chance``, or a sum of unequal chances is that many times it at least, and no
    more than ``most`` of them count (Hoeffding 1956).
    """

    weight: float
    others: int
    chance: float
    most: int


@dataclass(frozen=True, slots=True)
class Hiding:
    """Bound on the chance that a report is ``alone``, with the crowds that hide it otherwise.

    The crowds are in the order of joining.

    If a later crowd is larger, a report that comes to it late may as well have come early.
    """

    alone: float
    crowds: tuple[Crowd, ...]


@dataclass(frozen=True, slots=True)
class UnseenReports:
    """Chances that reports have met no colluder, and mean overlaps of such reports with other reports.

    Both have shape (rounds, people).

    Args:
        chances: for each number of rounds from 1 on, and each person, that neither she nor her report's holders are
            among the colluders; 0 for these.
        overlaps: the mean of a_j over all other honest people j, as in the module docstring.
    """

    chances: Floats
    overlaps: Floats

    def of_worst(self, colluders: Sequence[int]) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Smallest chance to have met no colluder and smallest mean overlap, over honest people, by round."""
        honest = honest_people(colluders, self.chances.shape[1])
        chances, overlaps = (each[:, honest].min(axis=1).tolist() for each in (self.chances, self.overlaps))
        return tuple(chances), tuple(overlaps)


def unseen(graph: Ways, colluders: Sequence[int], num_rounds: int, *, laziness: float = 0.0) -> UnseenReports:
    """Chances and overlaps of walks past colluders, who recognize every report that they see again.

    Args:
        graph: as for `position_distribution`.
        colluders: who they are; fewer than all.
        num_rounds: 0 or more.
        laziness: from 0 to 1.

    Raises:
        InvalidParameterError: if an argument is out of range.
    """
    validate.probability(laziness=laziness)
    people = people_of(graph)
    honest = honest_people(colluders, people)
    laws = from_starts(people, honest)
    chances, overlaps = np.zeros((2, num_rounds, people))
    for done, matrix in enumerate(transitions(graphs_of_rounds(graph, num_rounds))):
        laws = one_round(matrix, laws, laziness)
        laws[np.setdiff1d(np.arange(people), honest)] = 0.0
        chances[done, honest] = laws.sum(axis=0) * _DOWN
        overlaps[done, honest] = _overlaps(laws) * _DOWN
    return UnseenReports(chances=np.minimum(chances, 1.0), overlaps=np.minimum(overlaps, 1.0))


def left_unseen(
    colluders: Sequence[int], graph: Ways, num_rounds: int, laziness: float
) -> dict[str, tuple[float, ...]]:
    """Model fields from `Unseen.of_worst`; empty without colluders or with too many people."""
    if not colluders or people_of(graph) > MOST_COMPARED:
        return {}
    chances, overlaps = unseen(graph, colluders, num_rounds, laziness=laziness).of_worst(colluders)
    return {"unseen_chances": chances, "unseen_overlaps": overlaps}


def honest_people(colluders: Sequence[int], people: int) -> Integers:
    """Honest people in ascending order; refused if there are none, or a colluder does not exist."""
    named = np.asarray(colluders, dtype=np.int64)
    if named.size and not 0 <= named.min() <= named.max() < people:
        raise InvalidParameterError(
            f"colluders must be from 0 to {people - 1}; got colluders from {named.min()} to {named.max()}."
        )
    found = np.setdiff1d(np.arange(people), named)
    if not found.size:
        raise InvalidParameterError(f"colluders must be fewer than all {people} people, or nobody is left to protect.")
    return found


def _overlaps(laws: Floats) -> Floats:
    """Mean overlap of each column with the other columns, which are position laws of unseen reports.

    For column v it is the mean over j of min over i of sum(Q_v) Q_j(i) / Q_v(i).

    It is 0 where v is alone.
    """
    honest = laws.shape[1]
    found = np.zeros(honest)
    for person in range(honest if honest > 1 else 0):
        own = laws[:, person]
        reached = own > 0
        if reached.any():
            shares = (laws[reached] / (own[reached] / own.sum())[:, None]).min(axis=0)
            found[person] = (shares.sum() - shares[person]) / (honest - 1)
    return found


# ---- overlays with the worst colluders -------------------------------------------------------------------------------


class _Group(NamedTuple):
    """Worst values over the groups of a round, each value for itself.

    The chance that a report goes to a colluder, honest members, reports of honest people expected with these in the
    first cycle, and in a later one.
    """

    met: float
    honest: int
    first: float
    later: float


@lru_cache(64)
def worst_hiding(overlay: Overlay, num_colluding: int, num_rounds: int) -> Hiding:
    """Crowds that hide a report in layers of encryption, for the worst colluders.

    In one round they hide any report.

    Args:
        overlay: each round of which draws one digit.
        num_colluding: 0 or more; below the number of people.
        num_rounds: 1 or more.

    Raises:
        InvalidParameterError: if an argument is out of range.
    """
    validate.integer_at_least(1, num_rounds=num_rounds)
    validate.integer_at_least(0, num_colluding=num_colluding)
    if num_colluding >= overlay.num_users:
        raise validate.invalid(f"below num_users={overlay.num_users}", num_colluding=num_colluding)
    others, cycle = overlay.num_users - num_colluding - 1, overlay.num_rounds
    groups = [_worst_group(each, num_colluding) for each in rounds_of(overlay, min(cycle, num_rounds))]
    alone = (1.0, 0.0)  # the chances to be with an honest person, and a colluder, and not hidden yet
    crowds = []
    for done in range(num_rounds):
        group = groups[done % cycle]
        weight = alone[0] * (1 - group.met)
        alone = (alone[1] * (1 - group.met), sum(alone) * group.met)
        if done == 0:
            crowds.append(_crowd(weight, group.honest - 1, 1 - group.met, equal=True))
        else:
            expected = (group.first if done < cycle else group.later) * (1 - group.met)
            crowds.append(_crowd(weight, others, expected / max(others, 1), equal=cycle == 1))
    return Hiding(alone=min(sum(alone) * _UP**num_rounds, 1.0), crowds=tuple(crowds))


def _crowd(weight: float, others: int, chance: float, *, equal: bool) -> Crowd:
    if others < 1 or chance <= 0:
        return Crowd(weight, 0, 0.0, 0)
    below = chance if chance == 1 else min(chance, 1.0) * _DOWN
    return Crowd(weight, others, below, others if equal or below == 1 else math.floor(others * below * _DOWN))


def _worst_group(each: OverlayRound, num_colluding: int) -> _Group:
    """Worst values over the groups of a round; exact if no addresses are shared."""
    grid, people = each.grid, each.num_users
    drawn = grid.sum(axis=2, dtype=np.int64)
    begun = drawn.sum(axis=1, keepdims=True)  # people with the group's first digits
    largest = ((drawn / begun)[:, :, None] / grid).max(axis=1)
    members = grid.sum(axis=1, dtype=np.int64)
    held = loads_held(each.overlay, each.place)[each.overlay.starts[:-1]].reshape(grid.shape)
    honest = np.maximum((held * grid).sum(axis=1) - num_colluding * held.max(axis=1), 0.0)
    met = num_colluding * float(largest.max())
    return _Group(
        met=min(met * _UP, 1.0) if num_colluding else 0.0,
        honest=max(int(members.min()) - num_colluding, 0),
        first=max(float((honest - (num_colluding + 1) * begun / people).min()), 0.0),
        later=float(honest.min()) * (1 - (num_colluding + 1) / people),
    )


def worst_first_hop(overlay: Overlay, num_colluding: int) -> float:
    """Chance that a report's first receiver colludes, for the worst colluders and the worst-off person."""
    each = OverlayRound(overlay, 0)
    drawn, members = each.grid.sum(axis=2, dtype=np.int64), each.grid.sum(axis=1, dtype=np.int64)
    least = ((drawn / drawn.sum(axis=1, keepdims=True))[:, :, None] / each.grid).min(axis=1)
    return float((np.minimum(members - 1, num_colluding) * least).max()) * _DOWN
