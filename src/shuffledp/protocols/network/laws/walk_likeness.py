"""Walk likeness: common mass of all people's position laws, which hides a report among others.

It counts how much every other's law overlaps with that of the person v who is hidden worst: a_jv, the least
P_j(i) / P_v(i) over i. It is bounded by the extremes of P_v(i) / pi_i, which a sweep of all starts gives; of a few
people, where the mean of these bounds is below 0.98, it is worked out for all pairs. After more rounds than can be
swept it is bounded from the mean squares after half of them, as for a reversible walk with
q_v(t) = sum over i of P_v(i)^2 / pi_i

    |P_v(i) / pi_i - 1| <= sqrt((q_v(a) - 1) (q_i(b) - 1)) (1 - gap)^(t - a - b),    a + b <= t,

where q_v(0) = 1 / pi_v: of very many people only the gap is known. As P_v(i) / pi_i after a round more is a mean of
what it was, of neighbors, the extremes after the last round that is swept are bounds after any later one of one graph.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from shuffledp.core.caching import compiled, plain_until_worth_compiling
from shuffledp.core.table import Floats
from shuffledp.people.graphs import Graph, certain_gap
from shuffledp.protocols.network.laws.walk_distributions import (
    MOST_ROUNDS,
    Graphs,
    from_starts,
    graphs_of_rounds,
    one_round,
    people_of,
    transitions,
)
from shuffledp.protocols.network.laws.walk_sweeps import Sweep, swept

MOST_STEPS = 2 * 10**10  # people * rounds * entries of the matrix up to which all starts are walked: some four seconds
FEWEST_SWEPT = 6  # rounds, or a sweep gains nothing over the gap
_AHEAD = 0.6  # share of further rounds that are swept at once: a search for the fewest rounds soon needs them
_AT_ONCE = 16  # people whose laws are compared with everybody's
_NEARLY_ALL = 0.98  # mean overlap from which on it is not worth while to compare all pairs
_STARTS, _MOST_LOOKED_AT = 16, 3 * 10**8  # starts for an estimate of when laws overlap, and their most steps
_GUARD = 1e-12  # what rounding may do to floats of 64 bits
_MOST_PAIRS = 160  # most people for whom near-uniformity is computed by pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class Likeness:
    """Likeness of the position laws P_j of all people, if no report is lost.

    Args:
        mean_overlap: the least over people v of the mean over all others j of a_jv = min over i of P_j(i) / P_v(i), or
            less.
        near_uniformity: at least log[P_j(a) P_k(b) / (P_j(b) P_k(a))] for all people j, k and places a, b.
        separation: 1 less the sum over places of the least probability of anybody's report, rounded up: all
            distributions have the rest in common.
        largest: at least P_v(i) / pi_i, for all v and i.
        deviations: for each v, at least the root of the sum over i of (P_v(i) - pi_i)^2 / pi_i; or one for all.
        worst_start: the start whose distribution has the largest mean square; None where not computed.
        exact: whether the distributions of all starts were computed.
    """

    mean_overlap: float
    near_uniformity: float
    separation: float
    largest: float
    deviations: Floats
    worst_start: int | None
    exact: bool


def likeness_of(laws: Floats, *, slack: float) -> Likeness:
    """Likeness of the position laws of all people, one in each row, shape (people, places).

    Args:
        laws: the rows.
        slack: by what share a probability may be off.
    """
    reached = laws.max(axis=0) > 0
    quotients = laws[:, reached] / laws[:, reached].mean(axis=0)
    most, least = quotients.max(axis=1), quotients.min(axis=1)
    overlap = mean_overlap_of_extremes(least, most)
    if overlap < _NEARLY_ALL:
        overlap = max(overlap, float(mean_overlaps(laws).min()))
    alike = _of_all_pairs(laws) if len(laws) <= _MOST_PAIRS else _alike(most, least)
    separation = 1 - float(laws.min(axis=0).sum()) + slack
    return replace(
        nothing_alike(len(laws)),
        mean_overlap=overlap * (1 - 4 * slack),
        near_uniformity=alike + 4 * slack,
        separation=min(1.0, max(0.0, separation)),
        worst_start=int((laws**2).sum(axis=1).argmax()),
        exact=True,
    )


def mean_overlaps(laws: Floats, arriving: Floats | None = None) -> Floats:
    """Mean overlap of each person's law with the other people's laws; shape (people,).

    Args:
        laws: of everybody's position, one in each row.
        arriving: what each of them adds up to, if that is not 1: a_jv is then the least of P_j(i) / P_v(i) times v's.
    """
    people, places = laws.shape
    if people == 1:
        return np.ones(1)
    found = np.empty(people)
    shares = np.ones(people) if arriving is None else arriving
    _compare_for(people * people * places)(np.ascontiguousarray(laws.T), shares, found)
    return found


def _compare_plainly(of_places: Floats, arriving: Floats, found: Floats) -> None:
    """Write the mean overlaps of laws, given in columns, into ``found``."""
    for person in range(found.size):
        reached = of_places[:, person] > 0
        inverse = arriving[person] / of_places[reached, person]
        overlaps = (of_places[reached] * inverse[:, None]).min(axis=0, initial=1.0)
        found[person] = (overlaps.sum() - overlaps[person]) / (found.size - 1)


def _compare(of_places: Floats, arriving: Floats, found: Floats) -> None:
    """Write the mean overlaps into ``found`` by compiled code, a few people at a time."""
    places, people = of_places.shape
    overlaps = np.empty((_AT_ONCE, people))
    for first in range(0, people, _AT_ONCE):
        last = min(first + _AT_ONCE, people)
        overlaps[:] = 1.0
        for place in range(places):
            row = of_places[place]
            for person in range(first, last):
                if row[person] > 0:
                    inverse, mine = arriving[person] / row[person], overlaps[person - first]
                    for other in range(people):
                        quotient = row[other] * inverse
                        mine[other] = quotient if quotient < mine[other] else mine[other]
        for person in range(first, last):
            mine = overlaps[person - first]
            found[person] = (mine.sum() - mine[person]) / (people - 1)


_compare_compiled = compiled(_compare)
_Compare = Callable[[Floats, Floats, Floats], None]
_compare_for: Callable[[int], _Compare] = plain_until_worth_compiling(
    _compare_plainly, _compare_compiled, items=100_000_000
)


def _of_all_pairs(laws: Floats) -> float:
    """Largest log[P_j(a) P_k(b) / (P_j(b) P_k(a))]; infinite if laws reach different places."""
    places = laws[0] > 0
    if ((laws > 0) != places).any():
        return math.inf
    logs = np.log(laws[:, places])
    found = 0.0
    for row in logs:
        differences = logs - row
        found = max(found, float((differences.max(axis=1) - differences.min(axis=1)).max()))
    return found


def likeness(graph: Graphs, num_rounds: int, laziness: float, *, most_steps: int = MOST_STEPS) -> Likeness:
    """Likeness of position laws: the best of bounds by extremes, by mean squares, and by the spectral gap.

    Args:
        graph: one graph, or one for each round; everybody has a neighbor.
        num_rounds: 0 or more.
        laziness: the chance that a report stays where it is for a round.
        most_steps: people * rounds * entries that are swept at most.
    """
    graphs, people = graphs_of_rounds(graph, num_rounds), people_of(graph)
    entries = max((people + each.neighbors.size for each in graphs), default=people)
    feasible = most_steps // (people * entries)
    exact, spectral = 0 < num_rounds <= feasible, isinstance(graph, Graph) and graph.is_connected
    walked = num_rounds if exact else feasible if spectral and num_rounds > feasible >= FEWEST_SWEPT else 0
    found = nothing_alike(people)
    if walked:
        ahead = min(math.ceil(_AHEAD * walked), feasible - walked)
        found = _of_extremes(graphs[:walked], swept(graph, walked, laziness=laziness, ahead=ahead))
    if isinstance(graph, Graph) and spectral and not (exact and found.mean_overlap < _NEARLY_ALL):
        for halves in {0, walked}:  # after very many rounds the gap alone, which rounds nothing, says more
            found = _better(found, _of_squares(graph, num_rounds, laziness, halves))
    return replace(found, exact=exact)


def _better(one: Likeness, other: Likeness) -> Likeness:
    """Likeness with the better bound in each field."""
    return Likeness(
        mean_overlap=max(one.mean_overlap, other.mean_overlap),
        near_uniformity=min(one.near_uniformity, other.near_uniformity),
        separation=min(one.separation, other.separation),
        largest=min(one.largest, other.largest),
        deviations=np.minimum(one.deviations, other.deviations),
        worst_start=one.worst_start,
        exact=False,
    )


def likely_rounds(graph: Graphs, laziness: float, *, enough: float) -> int:
    """Estimated first round with a mean overlap of at least ``enough``, from a few starts.

    Args:
        graph: one graph, or those that take turns; everybody has a neighbor.
        laziness: the chance that a report stays where it is for a round.
        enough: strictly between 0 and 1.
    """
    people = people_of(graph)
    starts = np.unique(np.linspace(0, people - 1, _STARTS, dtype=np.int64))
    laws = from_starts(people, starts)
    cycle = (graph,) if isinstance(graph, Graph) else tuple(graph)
    entries = max(people + each.neighbors.size for each in cycle)
    feasible = min(MOST_STEPS // (people * entries), _MOST_LOOKED_AT // (starts.size * entries), MOST_ROUNDS)
    pi = [each.stationary[:, None] for each in cycle]
    squares = np.array([float(1 / pi[0].min())])
    for done, matrix in enumerate(transitions(graphs_of_rounds(cycle, feasible))):
        laws = one_round(matrix, laws, laziness)
        quotients = laws / pi[done % len(cycle)]
        if quotients.min(axis=0).mean() >= enough * quotients.max():
            return done + 1
        squares = (laws * quotients).sum(axis=0)
    if len(cycle) > 1:
        return max(feasible, 1)
    # Squares of what is left fall by (1 - gap)^2 a round, and are to be (1 - enough) / (1 + enough).
    swept_rounds = feasible if feasible >= FEWEST_SWEPT else 0
    left = float(squares.max()) - 1 if swept_rounds else float(1 / cycle[0].stationary.min())
    gap, wanted = certain_gap(cycle[0], laziness), (1 - enough) / (1 + enough)
    if not 0 < gap < 1 or left <= wanted:
        return max(2 * swept_rounds, 1)
    return 2 * swept_rounds + math.ceil(math.log(wanted / left) / math.log1p(-gap))


def nothing_alike(people: int) -> Likeness:
    """Likeness of unknown laws: no overlap of positions is assumed."""
    return Likeness(
        mean_overlap=1.0 if people == 1 else 0.0,
        near_uniformity=math.inf,
        separation=1.0,
        largest=math.inf,
        deviations=np.full(1, math.inf),
        worst_start=None,
        exact=False,
    )


def one_law() -> Likeness:
    """Likeness of equal laws: every report is at a uniformly random person."""
    return Likeness(
        mean_overlap=1.0,
        near_uniformity=0.0,
        separation=0.0,
        largest=1.0,
        deviations=np.zeros(1),
        worst_start=0,
        exact=True,
    )


def _of_extremes(graphs: tuple[Graph, ...], sweep: Sweep) -> Likeness:
    done = len(graphs) - 1
    pi, off = graphs[-1].stationary, float(sweep.rounding[done])
    most, least, squares = sweep.most[done], sweep.least[done], sweep.squares[done] * (1 + off) ** 2
    # The chance of a place is the same from i to j as from j to i, by pi, if all rounds are of one graph.
    one_for_all = len({id(each) for each in graphs}) == 1
    common = float(pi @ least) if one_for_all else float(least.min())
    return Likeness(
        mean_overlap=mean_overlap_of_extremes(least * (1 - off), most * (1 + off)),
        near_uniformity=_alike(most, least) + 5 * off,
        separation=min(1.0, max(0.0, 1 - common * (1 - off))),
        largest=float(most.max()) * (1 + off),
        deviations=np.sqrt(np.maximum(squares - 1, 0.0)),
        worst_start=int(sweep.squares[done].argmax()),
        exact=True,
    )


def _of_squares(graph: Graph, num_rounds: int, laziness: float, feasible: int) -> Likeness:
    first = min(num_rounds // 2, feasible)
    second = min(num_rounds - first, feasible)
    gap, pi = certain_gap(graph, laziness), graph.stationary
    here, there = (_deviations(graph, rounds, laziness, second) for rounds in (first, second))
    beyond = (1 - gap) ** (num_rounds - first - second) * (1 + _GUARD)
    away = here * (float(there.max()) * beyond)  # |P_v(i) / pi_i - 1|, for all i
    least, most = np.maximum(1 - away, 0.0), 1 + away
    apart = np.minimum(float(here.max()) * beyond * there, 1.0)  # the same for all v
    return Likeness(
        mean_overlap=mean_overlap_of_extremes(least, most) * (1 - _GUARD),
        near_uniformity=_alike(most, least) + _GUARD,
        separation=min(float(pi @ apart) + _GUARD, 1.0),
        largest=1 + float(here.max()) * float(there.max()) * beyond,
        deviations=there * (1 - gap) ** (num_rounds - second) * (1 + _GUARD),
        worst_start=None,
        exact=False,
    )


def _deviations(graph: Graph, num_rounds: int, laziness: float, swept_rounds: int) -> Floats:
    """Root of the chi-squared distance of each start's law from the stationary law, after these rounds; rounded up."""
    if num_rounds == 0:
        return np.asarray(np.sqrt(1 / graph.stationary - 1) * (1 + _GUARD))
    sweep = swept(graph, swept_rounds, laziness=laziness)
    squares = sweep.squares[num_rounds - 1] * (1 + float(sweep.rounding[num_rounds - 1])) ** 2
    return np.asarray(np.sqrt(np.maximum(squares - 1, 0.0)))


def mean_overlap_of_extremes(least: Floats, most: Floats) -> float:
    """Lower bound on the mean overlap, by the extremes of P_v(i) / pi_i.

    Args:
        least: smallest quotient of each person, shape (people,).
        most: largest quotient of each person, shape (people,).
    """
    if least.size == 1:
        return 1.0
    others = (least.sum() - least) / (least.size - 1)
    return max(0.0, float(np.minimum(others / most, 1.0).min()) * (1 - 1e-15))


def _alike(most: Floats, least: Floats) -> float:
    with np.errstate(divide="ignore"):
        return 2 * float(np.log(most / least).max())
