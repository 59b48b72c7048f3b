"""Exact views of random walks on tiny graphs, by enumeration: no formula of the library is used here.

Every person's report walks, every node submits what it holds. What the analyst sees at the end is enumerated for all
trajectories and all reports; only sums of positive terms are taken, so that float64 keeps about 13 digits.
"""

import itertools
import math
from fractions import Fraction
from functools import cache
from math import comb

import numpy as np
from numpy.typing import NDArray

Law = NDArray[np.float64]

GRAPHS = {
    "K2": (2, ((0, 1),)),
    "K3": (3, ((0, 1), (0, 2), (1, 2))),
    "K4": (4, tuple(itertools.combinations(range(4), 2))),
    "K5": (5, tuple(itertools.combinations(range(5), 2))),
    "C4": (4, ((0, 1), (1, 2), (2, 3), (3, 0))),
    "C5": (5, ((0, 1), (1, 2), (2, 3), (3, 4), (4, 0))),
    "paw": (4, ((0, 1), (1, 2), (0, 2), (2, 3))),
    "star": (4, ((0, 1), (0, 2), (0, 3))),
    "P3": (3, ((0, 1), (1, 2))),
    "P4": (4, ((0, 1), (1, 2), (2, 3))),
    "P5": (5, ((0, 1), (1, 2), (2, 3), (3, 4))),
}


def neighbors_of(name):
    """For each node the nodes beside it."""
    size, edges = GRAPHS[name]
    found = [[] for _ in range(size)]
    for one, other in edges:
        found[one].append(other)
        found[other].append(one)
    return found


def step_of(name, laziness=0.0):
    """The transition matrix."""
    neighbors = neighbors_of(name)
    matrix = laziness * np.eye(len(neighbors))
    for node, beside in enumerate(neighbors):
        matrix[node, beside] += (1 - laziness) / len(beside)
    return matrix


def positions(name, rounds, laziness=0.0):
    """Row j: the law of where person j's report is after so many rounds."""
    return np.linalg.matrix_power(step_of(name, laziness), rounds)


def stationary(name):
    """All rows the stationary law: a walk that never ends."""
    degrees = np.array([len(each) for each in neighbors_of(name)], dtype=float)
    return np.tile(degrees / degrees.sum(), (len(degrees), 1))


def positions_by_trajectories(name, start, rounds):
    """The same law as fractions, one trajectory after the other."""
    neighbors, law = neighbors_of(name), [Fraction(0)] * len(neighbors_of(name))
    paths = [((start,), Fraction(1))]
    for _ in range(rounds):
        paths = [
            ((*path, after), chance / len(neighbors[path[-1]]))
            for path, chance in paths
            for after in neighbors[path[-1]]
        ]
    for path, chance in paths:
        law[path[-1]] += chance
    return law


# ---- what lies where: for each node how many zeros and how many ones -------------------------------------------------


@cache
def fillings(nodes, people):
    """All ways in which so many reports of one bit lie at the nodes; shape (fillings, nodes, 2)."""
    cells = 2 * nodes
    found = [
        np.bincount(chosen, minlength=cells) for chosen in itertools.combinations_with_replacement(range(cells), people)
    ]
    return np.array(found).reshape(len(found), nodes, 2)


@cache
def _arrivals(nodes, people):
    """Where one more report in each cell leads to: shape (fillings, cells)."""
    before, after = (fillings(nodes, count).reshape(-1, 2 * nodes) for count in (people, people + 1))
    place = {tuple(row): index for index, row in enumerate(after.tolist())}
    more = np.eye(2 * nodes, dtype=int)
    return np.array([[place[tuple(row + one)] for one in more] for row in before])


def law_of_fillings(rows, laws):
    """The law over `fillings` of independent people: their chances of a report (bits) and of a place.

    Args:
        rows: for each person the law of the report; shape (people, 2).
        laws: for each person the law of the position; shape (people, nodes).
    """
    nodes, law = laws.shape[1], np.ones(1)
    for count, (row, place) in enumerate(zip(rows, laws, strict=True)):
        cells = np.outer(place, row).ravel()
        goals = _arrivals(nodes, count)
        law = np.bincount(goals.ravel(), weights=np.outer(law, cells).ravel(), minlength=goals.max() + 1)
    return law


# ---- what the analyst sees of it: Pr[seen | filling] -----------------------------------------------------------------


def sees_shuffled(nodes, people, dummy):
    """Every report, at no node: a uniform shuffle."""
    del dummy
    return np.eye(people + 1)[fillings(nodes, people)[:, :, 1].sum(axis=1)]


def sees_one_each(nodes, people, dummy, *, dummies=True, sizes=False):
    """One report of each node, by a uniform choice; from an empty one a dummy with the law ``dummy``, or nothing.

    With ``sizes``, how many reports it held is seen too.
    """
    submitted = fillings(nodes, people).astype(float)
    held = submitted.sum(axis=2)
    shown = np.divide(submitted, held[:, :, None], out=np.zeros_like(submitted), where=held[:, :, None] > 0)
    empty = (held == 0)[:, :, None]
    options = np.concatenate(
        [shown + (empty * dummy if dummies else 0), np.zeros_like(empty) if dummies else empty], axis=2
    )
    kernel = _product(options)
    if not sizes:
        return kernel
    _, groups = np.unique(held, axis=0, return_inverse=True)
    wide = np.zeros((len(kernel), groups.max() + 1, kernel.shape[1]))
    wide[np.arange(len(kernel)), groups.ravel()] = kernel
    return wide.reshape(len(kernel), -1)


def sees_padded(nodes, people, dummy, *, submissions):
    """Exactly so many reports of each node: dummies where it has fewer, a uniform choice where it has more."""
    options = np.zeros((len(fillings(nodes, people)), nodes, submissions + 1))
    for index, filling in enumerate(fillings(nodes, people)):
        for node, (zeros, ones) in enumerate(filling.tolist()):
            missing = submissions - zeros - ones
            for seen in range(submissions + 1):
                if missing >= 0:
                    more = seen - ones
                    inside = 0 <= more <= missing
                    chance = comb(missing, more) * dummy[1] ** more * dummy[0] ** (missing - more) if inside else 0.0
                else:
                    inside = seen <= ones and submissions - seen <= zeros
                    chance = (
                        comb(ones, seen) * comb(zeros, submissions - seen) / comb(zeros + ones, submissions) * inside
                    )
                options[index, node, seen] = chance
    return _product(options)


def _product(options):
    """From what each node shows to what all show: shape (fillings, options ** nodes)."""
    kernel = np.ones((len(options), 1))
    for node in range(options.shape[1]):
        kernel = (kernel[:, :, None] * options[:, node, None, :]).reshape(len(options), -1)
    return kernel


# ---- exact deltas ----------------------------------------------------------------------------------------------------


def pairs_of_views(channel, laws, victim, kernel=None):
    """What is seen under two answers of one victim, for all data of the others: a pair of laws, shape (pairs, 2, seen).

    Args:
        channel: rows are the laws of a report of a bit; shape (inputs, 2).
        laws: row j is the law of the position of person j's report.
        victim: who changes the answer.
        kernel: Pr[seen | filling]; all is seen if left out.
    """
    others = [person for person in range(len(laws)) if person != victim]
    order, inputs, found = np.array([*others, victim]), range(len(channel)), []
    for data in itertools.product(inputs, repeat=len(others)):
        rows = [channel[np.array([*data, answer])] for answer in inputs]
        views = [law_of_fillings(each, laws[order]) for each in rows]
        found.extend(itertools.combinations(views, 2))
    found = np.array(found)
    return found if kernel is None else found @ kernel


def worst_of_pairs(pairs, epsilons):
    """The largest delta of any of the pairs, in either direction, at each epsilon."""
    both = np.concatenate([pairs, pairs[:, ::-1]])
    return np.array([np.maximum(both[:, 0] - factor * both[:, 1], 0).sum(axis=1).max() for factor in np.exp(epsilons)])


def exact_delta(channel, laws, victim, kernel, epsilons):
    """The largest delta for one victim over the others' data and both directions, at each epsilon."""
    return worst_of_pairs(pairs_of_views(channel, laws, victim, kernel), epsilons)


def exact_epsilon(channel, laws, victims, kernel, delta):
    """The least epsilon at which the exact delta of all these victims is at most ``delta``, by bisection."""
    pairs = np.concatenate([pairs_of_views(channel, laws, victim, kernel) for victim in victims])
    low, high = 0.0, math.log((channel.max(axis=0) / channel.min(axis=0)).max())
    for _ in range(40):
        middle = (low + high) / 2
        found = worst_of_pairs(pairs, np.array([middle]))[0]
        low, high = (middle, high) if found > delta else (low, middle)
    return high


# ---- what a model says of these walks --------------------------------------------------------------------------------


def near_uniformity(laws):
    """The largest log[P_j(a) P_k(b) / (P_j(b) P_k(a))]; infinite where only the denominator is 0."""
    above = laws[:, None, :, None] * laws[None, :, None, :]
    below = laws[:, None, None, :] * laws[None, :, :, None]
    if ((below == 0) & (above > 0)).any():
        return math.inf
    used = below > 0
    return float(np.log(above[used] / below[used]).max())


def overlaps_with(laws, victim):
    """For each person the least P_j(i) / P_v(i), at most 1."""
    reached = laws[victim] > 0
    return np.minimum((laws[:, reached] / laws[victim, reached]).min(axis=1), 1.0)


def mean_overlap(laws):
    """That of the person whom the others overlap with least."""
    each = [overlaps_with(laws, victim) for victim in range(len(laws))]
    return min((chances.sum() - chances[victim]) / (len(laws) - 1) for victim, chances in enumerate(each))


def few_held(laws):
    """For k = 0, 1, ... the mean over places of the chance of at most k reports of all but one, whoever that is."""
    found = np.zeros(len(laws))
    for victim in range(len(laws)):
        held = np.zeros((len(laws), laws.shape[1]))
        held[0] = 1.0
        for law in np.delete(laws, victim, axis=0):
            held = held * (1 - law) + np.vstack([np.zeros(laws.shape[1]), held[:-1] * law])
        found = np.maximum(found, np.cumsum(held, axis=0).mean(axis=1))
    return tuple(np.minimum(found, 1.0).tolist())


def separation(laws, weights):
    """The largest 1 - P_j(i) / pi_i."""
    return float(1 - (laws / weights).min())


def ranked(laws):
    """The largest probability of each rank, over all people."""
    return np.sort(laws, axis=1)[:, ::-1].max(axis=0)
