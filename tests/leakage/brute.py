"""Vulnerabilities from their definition: every data set, every list of reports and every order is visited."""

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import numpy as np


def response(size, truth):
    """The channel of k-ary randomized response."""
    lie = (1 - truth) / (size - 1)
    return np.array([[truth if x == y else lie for y in range(size)] for x in range(size)])


def bayes(size):
    return [[int(w == x) for x in range(size)] for w in range(size)]


def vulnerability(views, prior, gain):
    """From the law of what is seen for each value of the target."""
    total = 0
    for view in {view for law in views for view in law}:
        total += max(sum(prior[x] * row[x] * views[x].get(view, 0) for x in range(len(prior))) for row in gain)
    return total


def shuffled_views(channel, prior, users, law=None):
    """For each value of person 0, the law of the list of reports after an order of the given law (uniform if None).

    Slot j holds the report of the person ``order[j]``.
    """
    uniform = Fraction(1, math.factorial(users))
    law = dict.fromkeys(itertools.permutations(range(users)), uniform) if law is None else law
    outputs, others = range(len(channel[0])), prior @ channel
    views = []
    for row in channel:
        seen = defaultdict(int)
        for reports in itertools.product(outputs, repeat=users):
            chance = row[reports[0]] * math.prod(others[report] for report in reports[1:])
            for order, weight in law.items():
                seen[tuple(reports[person] for person in order)] += chance * weight
        views.append(seen)
    return views


def known_views(channel, others):
    """For each value of the target, the law of the histogram, where the others' values are these."""
    outputs, views = range(len(channel[0])), []
    for value in range(len(channel)):
        seen = defaultdict(int)
        rows = [channel[value], *(channel[other] for other in others)]
        for reports in itertools.product(outputs, repeat=len(rows)):
            seen[tuple(sorted(reports))] += math.prod(row[y] for row, y in zip(rows, reports, strict=True))
        views.append(seen)
    return views


def expected_largest(balls, probabilities, weights):
    """Every sequence of balls is visited."""
    total = 0
    for sequence in itertools.product(range(len(weights)), repeat=balls):
        chance = math.prod(probabilities[cell] for cell in sequence)
        total += chance * max(weight * sequence.count(cell) for cell, weight in enumerate(weights))
    return total
