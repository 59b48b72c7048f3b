"""Exact central delta by enumeration, from channels alone: no formula of the library is used here.

All terms that are added up are positive, so that float64 keeps about 13 digits.
"""

import math
from collections.abc import Iterator
from itertools import permutations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

Law = NDArray[np.float64]  # over histograms of reports: axis i counts output i; the last output's count is the rest


def response(size: int, epsilon0: float) -> Law:
    """The channel of k-ary randomized response."""
    lie = 1 / (math.exp(epsilon0) + size - 1)
    return np.full((size, size), lie) + np.eye(size) * (math.exp(epsilon0) - 1) * lie


def random_extremal_channel(generator: np.random.Generator, epsilon0: float, *, inputs: int, outputs: int) -> Law:
    """A random channel whose every column has entries in the ratio 1 or exp(epsilon0) only: a corner of the class."""
    while True:
        pattern = np.where(generator.random((inputs, outputs)) < 0.5, 1.0, math.exp(epsilon0))
        weights = np.linalg.lstsq(pattern, np.ones(inputs), rcond=None)[0]
        channel = pattern * weights
        stochastic = np.allclose(channel.sum(axis=1), 1, rtol=0, atol=1e-12) and (weights > 1e-3).all()
        if stochastic and np.ptp(channel, axis=0).max() > 1e-3:
            return channel


def with_another(law: Law, row: Law) -> Law:
    """The law of the histogram after one more report, distributed as ``row``."""
    shape = tuple(size + 1 for size in law.shape)
    more = np.zeros(shape)
    inside = tuple(slice(0, size) for size in law.shape)
    more[inside] = row[-1] * law
    for axis, chance in enumerate(row[:-1]):
        shifted = list(inside)
        shifted[axis] = slice(1, shape[axis])
        more[tuple(shifted)] += chance * law
    return more


def laws_of_others(channel: Law, others: int) -> Iterator[Law]:
    """For each data set of this many people (a count of people for every input), the law of their histogram."""
    start = np.ones((1,) * (channel.shape[1] - 1))

    def extend(law: Law, rows: Law, left: int) -> Iterator[Law]:
        if len(rows) == 1:
            for _ in range(left):
                law = with_another(law, rows[0])
            yield law
            return
        for count in range(left + 1):
            yield from extend(law, rows[1:], left - count)
            if count < left:
                law = with_another(law, rows[0])

    yield from extend(start, channel, others)


def binary_laws_of_others(channel: Law, others: int) -> Iterator[Law]:
    """As `laws_of_others` for two inputs and two outputs, by convolution: cheap for a thousand people."""
    for count in range(others + 1):
        left = binom.pmf(np.arange(count + 1), count, channel[0, 0])
        right = binom.pmf(np.arange(others - count + 1), others - count, channel[1, 0])
        yield np.convolve(left, right)


def hockey_stick(first: Law, second: Law, epsilons: Law) -> Law:
    """The delta of one ordered pair of laws at each epsilon."""
    factors = np.exp(epsilons)[:, np.newaxis]
    return np.maximum(first.ravel() - factors * second.ravel(), 0).sum(axis=1)


def worst_delta(channel: Law, laws: Iterator[Law], epsilons: Law) -> Law:
    """The largest exact delta over all data sets of the others and all ordered pairs of the victim's inputs."""
    worst = np.zeros(len(epsilons))
    for law in laws:
        views = [with_another(law, row) for row in channel]
        for first, second in permutations(views, 2):
            worst = np.maximum(worst, hockey_stick(first, second, epsilons))
    return worst


def pair_delta(epsilon0: float, epsilon: float, users: int) -> float:
    """The exact delta of the pair behind fmt23-closed, summed over the number c of clones.

    Given C = c with C ~ Bin(users-1, 2/(E+1)), one law is A + Bern(E/(E+1)) and the other A + Bern(1/(E+1)), for
    A ~ Bin(c, 1/2); the likelihood ratio is above exp(epsilon) from ``first`` on.
    """
    if epsilon >= epsilon0:
        return 0.0
    ratio, factor = math.exp(epsilon0), math.exp(epsilon)
    clones, truth = np.arange(users), ratio / (ratio + 1)
    first = np.ceil((clones + 1) * (ratio * factor - 1) / ((ratio - 1) * (factor + 1)))
    given = (truth - factor * (1 - truth)) * binom.pmf(first - 1, clones, 0.5)
    given -= (factor - 1) * binom.sf(first - 1, clones, 0.5)
    return float(binom.pmf(clones, users - 1, 2 / (ratio + 1)) @ np.maximum(given, 0))
