"""Distances and sensitivities by their definitions, for a handful of people."""

import itertools
from functools import cache


def inversions(permutation):
    return sum(a > b for a, b in itertools.combinations(permutation, 2))


def moved(permutation):
    return sum(place != item for place, item in enumerate(permutation))


def exchanges(permutation):
    cycles, left = 0, set(permutation)
    while left:
        cycles, item = cycles + 1, left.pop()
        while permutation[item] in left:
            item = permutation[item]
            left.remove(item)
    return len(permutation) - cycles


def footrule(permutation):
    return sum(abs(place - item) for place, item in enumerate(permutation))


MEASURES = {"kendall": inversions, "hamming": moved, "cayley": exchanges}


def inverse(permutation):
    return tuple(sorted(range(len(permutation)), key=permutation.__getitem__))


def product(first, then):
    """Apply ``first``, then ``then``."""
    return tuple(then[item] for item in first)


def relabelings(num_items, members):
    """All permutations that move members only."""
    for images in itertools.permutations(members):
        relabeled = list(range(num_items))
        for member, image in zip(members, images, strict=True):
            relabeled[member] = image
        yield tuple(relabeled)


@cache
def sensitivity(num_items, ranks, distance="kendall"):
    """The largest difference of distances of two lists that differ in who of the members sits where."""
    measure = MEASURES[distance]
    return max(
        abs(measure(product(w, relabeled)) - measure(w))
        for w in itertools.permutations(range(num_items))
        for relabeled in relabelings(num_items, ranks)
    )


def kendall_formula(ranks):
    g = len(ranks)
    gaps = sum(
        2 * (after - before - 1) * min(b, g - b) for b, (before, after) in enumerate(itertools.pairwise(ranks), 1)
    )
    return g * (g - 1) // 2 + gaps


def groups_of(num_items):
    """All groups of two or more."""
    return [group for size in range(2, num_items + 1) for group in itertools.combinations(range(num_items), size)]


def ranks_of(group, order):
    return tuple(sorted(order.index(member) for member in group))
