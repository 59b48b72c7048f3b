"""What the definitions say, by going through all permutations: for up to eight people."""

import functools
from itertools import permutations, product

import numpy as np

DISTANCES = {
    "kendall": lambda w: sum(w[i] > w[j] for i in range(len(w)) for j in range(i + 1, len(w))),
    "footrule": lambda w: sum(abs(image - place) for place, image in enumerate(w)),
    "hamming": lambda w: sum(image != place for place, image in enumerate(w)),
    "cayley": lambda w: len(w) - cycles(w),
}


def cycles(w):
    seen, count = set(), 0
    for first in range(len(w)):
        place = first
        count += place not in seen
        while place not in seen:
            seen.add(place)
            place = w[place]
    return count


@functools.cache
def all_permutations(n):
    return np.array(list(permutations(range(n))), dtype=np.int64)


@functools.cache
def all_distances(n, distance):
    return np.array([DISTANCES[distance](w) for w in all_permutations(n).tolist()])


def largest_change(n, ranks, distance):
    """The largest change of the distance from the identity when the values in ``ranks`` are permuted in the list."""
    lists = all_permutations(n)
    masked = np.where(np.isin(lists, ranks), n, lists) @ (n + 1) ** np.arange(n)
    _, place = np.unique(masked, return_inverse=True)
    of_list = all_distances(n, distance)
    highest = np.zeros(place.max() + 1, dtype=np.int64)
    lowest = np.full(place.max() + 1, n * n)
    np.maximum.at(highest, place, of_list)
    np.minimum.at(lowest, place, of_list)
    return int((highest - lowest).max())


@functools.cache
def log_probabilities(n, letters, theta):
    """log Pr[z | y] of Kendall-Mallows for all data y and outputs z of so many letters, in ranks."""
    data = np.array(list(product(range(letters), repeat=n)))
    weights = np.exp(-theta * all_distances(n, "kendall"))
    code = letters ** np.arange(n)[::-1]
    law = np.zeros((len(data), len(data)))
    for row, y in enumerate(data):
        np.add.at(law[row], y[all_permutations(n)] @ code, weights)
    with np.errstate(divide="ignore"):
        return data, np.log(law)


def value_loss(n, letters, theta, ranks):
    """The largest log ratio over data that differ by a permutation within ``ranks``, over all outputs."""
    data, law = log_probabilities(n, letters, theta)
    inside = np.isin(np.arange(n), ranks)
    classes = [(*np.where(inside, -1, y), *np.bincount(y[inside], minlength=letters)) for y in data]
    _, place = np.unique(np.array(classes), axis=0, return_inverse=True)
    largest = 0.0
    for each in range(place.max() + 1):
        rows = law[place.ravel() == each]
        rows = rows[:, np.isfinite(rows[0])]
        largest = max(largest, float((rows.max(axis=0) - rows.min(axis=0)).max()))
    return largest


def rank_sets(n):
    return [np.flatnonzero([number >> place & 1 for place in range(n)]) for number in range(1, 2**n)]
