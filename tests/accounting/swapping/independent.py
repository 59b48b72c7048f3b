"""Numbers that the certified ones are compared to: dense quadrature of complex integrands, and exact enumeration."""

import math
from functools import cache
from itertools import combinations_with_replacement

import numpy as np

TURNS = np.concatenate([np.linspace(0, 3, 4001), np.geomspace(3.0005, 1e5, 6000)])


def integral(values, masses, theta, tilt) -> float:
    """F(theta) of one law of g, by the trapezoidal rule over arctan y; far beyond the last node nothing is added."""
    sigma = tilt.rate * theta / tilt.people
    logs = np.zeros(len(TURNS))
    for start in range(0, len(TURNS), 500):
        part = slice(start, start + 500)
        moments = np.exp(np.multiply.outer(sigma * (1 + 1j * TURNS[part]), values)) @ masses
        logs[part] = tilt.people * np.log(np.abs(moments))
    terms = np.exp(np.minimum(logs, 700) + tilt.smoothing**2 * (1 - TURNS**2) / 2)
    arcs = np.arctan(TURNS)
    return float(((terms[1:] + terms[:-1]) / 2 * np.diff(arcs)).sum() / (math.pi * tilt.rate))


def random_law(random, epsilon0):
    """Densities (a, b) of mean (1, 1) in the hexagon 1/E <= a, b, a/b <= E, and their masses."""
    ratio = math.exp(epsilon0)
    while True:
        count = int(random.integers(2, 6))
        points = np.exp(random.uniform(-epsilon0, epsilon0, (count, 2)))
        inside = (points[:, 0] <= ratio * points[:, 1]) & (points[:, 1] <= ratio * points[:, 0])
        points, masses = points[inside], random.dirichlet(np.ones(count))[inside]
        if len(points) < 2:
            continue
        masses /= masses.sum()
        # A point that brings the mean to (1, 1), if there is one in the hexagon for some share.
        mean = masses @ points
        for share in (0.5, 0.8, 0.95):
            rest = (1 - (1 - share) * mean) / share
            if (rest >= 1 / ratio).all() and (rest <= ratio).all() and 1 / ratio <= rest[0] / rest[1] <= ratio:
                return np.vstack([points, rest]), np.append((1 - share) * masses, share)


def gaps(points, epsilon):
    """The g of densities."""
    return (points[:, 0] - 1) - math.exp(epsilon) * (points[:, 1] - 1)


@cache
def _powers(rows, others):
    """For each row the laws of the counts of all outputs but the last, of 0 up to so many reports."""
    found = []
    for row in rows:
        laws = [np.ones((1,) * (len(row) - 1))]
        for _ in range(others):
            laws.append(with_another(laws[-1], row))
        found.append(laws)
    return found


def with_another(law, row):
    """The law of counts with one more report."""
    larger = np.zeros([size + 1 for size in law.shape])
    inner = tuple(slice(0, -1) for _ in law.shape)
    larger[inner] += row[-1] * law
    for axis, chance in enumerate(row[:-1]):
        shifted = list(inner)
        shifted[axis] = slice(1, None)
        larger[tuple(shifted)] += chance * law
    return larger


def convolved(one, other):
    """The law of the sum of independent counts."""
    shape = [a + b - 1 for a, b in zip(one.shape, other.shape, strict=True)]
    axes = tuple(range(len(shape)))
    return np.fft.irfftn(np.fft.rfftn(one, shape, axes) * np.fft.rfftn(other, shape, axes), shape, axes)


def exact_delta(matrix, pair, others, epsilon) -> float:
    """The largest delta of an ordered pair of the victim's inputs over all data sets of the others."""
    rows = tuple(tuple(row) for row in matrix.tolist())
    powers, worst = _powers(rows, others), 0.0
    for cuts in combinations_with_replacement(range(others + 1), len(rows) - 1):
        sizes = np.diff([0, *cuts, others])
        law = powers[0][sizes[0]]
        for row, size in enumerate(sizes[1:], 1):
            law = convolved(law, powers[row][size])
        one, other = (with_another(law, rows[place]) for place in pair)
        worst = max(worst, float(np.maximum(one - math.exp(epsilon) * other, 0).sum()))
    return worst
