"""The expectation of the largest of several sums over independent reports: by enumerating how many are of each kind."""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.leakage._counts import NEGLIGIBLE, binomial, window

__all__ = ["Slots", "exact_mean_best", "expected_excess", "num_states"]

Floats = NDArray[np.float64]

Slots = tuple[tuple[float, int], ...]  # (weight, how many slots have it)

_TINY = 1e-300
_SMALLEST = 1e-24  # probability of a histogram that is left out where there are too many
_CHUNK = 1_000_000  # numbers held at a time
FEW = 500_000  # histograms: so many are enumerated without leaving any out


def num_states(num_kinds: int, slots: Slots, chances: Floats) -> float:
    """About how many combinations of histograms there are that matter, one for each weight of slots."""
    total = 1.0
    for _, count in slots:
        total *= min(_all_histograms(count, num_kinds), _likely_histograms(count, chances))
    return total


def _all_histograms(count: int, num_kinds: int) -> float:
    return math.exp(min(700.0, math.lgamma(count + num_kinds) - math.lgamma(count + 1) - math.lgamma(num_kinds)))


def _likely_histograms(count: int, chances: Floats) -> float:
    total = 1.0
    for chance in np.sort(chances)[:-1].tolist():
        low, high = window(count, chance)
        total *= min(high, count) - low + 1
    return total


def expected_excess(chances: Floats, values: Floats, slots: Slots) -> tuple[float, float]:
    """E of the largest, over guesses w, sum over slots of weight * (values[w, z] - values[0, z]).

    Reports z are independent, of law ``chances``, and the weights of all slots add up to 1.

    Left out are histograms of probability below 1e-24, if there are more than half a million; of less, if some report
    is worth far more than reports are on average.

    Returns:
        The sum over all others, and what those left out may add at most: their probability, added up, times the most
        that any report is worth.
    """
    left_out: list[float] = []
    relative = values - values[:1]
    highest = relative.max(axis=0)
    rarity = max(1.0, float(highest.max()) / max(float(highest @ chances), _TINY))
    order = np.argsort(chances, kind="stable")
    chances, relative = chances[order], np.ascontiguousarray(relative[:, order].T)
    parts = sorted(slots, key=lambda slot: slot[1])
    held_mass, held = np.ones(1), np.zeros((1, relative.shape[1]))
    for weight, count in parts[:-1]:
        blocks = list(_histograms(count, chances, weight * relative, rarity, left_out))
        mass, sums = np.concatenate([b[0] for b in blocks]), np.concatenate([b[1] for b in blocks])
        held_mass = np.multiply.outer(held_mass, mass).ravel()
        held = (held[:, None] + sums).reshape(-1, relative.shape[1])
    weight, count = parts[-1]
    total: list[float] = []
    for mass, sums in _histograms(count, chances, weight * relative, rarity, left_out):
        step = max(1, _CHUNK // max(1, sums.size))
        for start in range(0, held_mass.size, step):
            best = (held[start : start + step, None] + sums).max(axis=2)
            total.append(float(held_mass[start : start + step] @ (best @ mass)))
    return math.fsum(total), math.fsum(left_out) * max(0.0, float(highest.max()))


def _histograms(
    count: int, chances: Floats, values: Floats, rarity: float, left_out: list[float]
) -> Iterator[tuple[Floats, Floats]]:
    """Histograms of so many reports in blocks: their probabilities, and their sums of values for each guess.

    What is left out is so many times less likely as the rarity says; its probabilities are added to the list.
    """
    if len(chances) == 1:
        yield np.ones(1), count * values
        return
    full = _all_histograms(count, len(chances)) <= FEW
    least, nats = (0.0, math.inf) if full else (_SMALLEST / rarity, NEGLIGIBLE + math.log(rarity))
    left_out.append(2 * len(chances) * math.exp(-nats))  # both tails of each count
    windows = [_window(count, chance, nats) for chance in chances.tolist()]
    low, high = windows[0]
    first = np.arange(low, high + 1)
    mass = binomial(first, count, chances[0])
    each = 1.0
    for inside in windows[1:-1]:
        each *= inside[1] - inside[0] + 1
    step = max(1, int(_CHUNK // (each * values.shape[1])))
    for start in range(0, first.size, step):
        part = slice(start, start + step)
        state = (mass[part], count - first[part], first[part, None] * values[0])
        yield _spread(state, chances, values, windows, (least, left_out))


def _window(count: int, chance: float, nats: float) -> tuple[int, int]:
    if math.isinf(nats):
        return 0, count
    low, high = window(count, chance, nats=nats)
    return low, min(high, count)


def _spread(
    state: tuple[Floats, NDArray[np.int64], Floats],
    chances: Floats,
    values: Floats,
    windows: list[tuple[int, int]],
    rare: tuple[float, list[float]],
) -> tuple[Floats, Floats]:
    """All further kinds, of which the last takes what is left, without what is less likely than a probability.

    ``rare`` is that probability, and a list to which those of what is left out are added.
    """
    least, left_out = rare
    mass, left, sums = state
    for kind in range(1, len(chances) - 1):
        inside = windows[kind]
        low = np.minimum(inside[0], left)
        sizes = np.minimum(inside[1], left) - low + 1
        rows = np.repeat(np.arange(mass.size), sizes)
        counts = np.arange(rows.size) - np.repeat(np.cumsum(sizes) - sizes, sizes) + low[rows]
        share = min(1.0, chances[kind] / chances[kind:].sum())
        mass = mass[rows] * binomial(counts, left[rows], share)
        left, sums = left[rows] - counts, sums[rows] + counts[:, None] * values[kind]
        if least:
            kept = mass > least
            left_out.append(float(mass[~kept].sum()))
            mass, left, sums = mass[kept], left[kept], sums[kept]
    return mass, sums + left[:, None] * values[-1]


def exact_mean_best(chances: NDArray[Any], values: NDArray[Any], count: int) -> Fraction:
    """E of the largest, over guesses, mean of values over so many reports, in fractions; all histograms are visited."""
    kinds, total = len(chances), Fraction(0)
    for bars in combinations(range(count + kinds - 1), kinds - 1):
        ends = (-1, *bars, count + kinds - 1)
        histogram = [after - before - 1 for before, after in pairwise(ends)]
        ways = math.factorial(count)
        chance = Fraction(1)
        for number, each in zip(histogram, chances, strict=True):
            ways //= math.factorial(number)
            chance *= Fraction(each) ** number
        total += ways * chance * max(sum(c * y for c, y in zip(row, histogram, strict=True)) for row in values) / count
    return total
