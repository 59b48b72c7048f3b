"""Bounds on an expected maximum of several sums, for use where exact evaluation would take too long.

Four things are true for any number of guesses and of reports:

* Guesses that hardly ever win may be left out: E[(S_w - S_0)_+] <= E[exp(s (S_w - S_0))] / (e s) for all s > 0.
* For any sum A, E[max S_w] <= E[A] + sum over w of E[(S_w - A)_+], and each of these is an expectation about one sum.
* If X is a sum over heavy slots and Y one over all others, max (X + Y) is max (X + E Y) at least on average, and that
  plus E[max (Y - E Y)] at most (Jensen, both times).
* If scores are nearly those of a fullest bin, the expectation is that of a fullest bin but for the mean of the largest
  of what is left, which is at most the root of the sum of its variances.

References:
    Lai and Robbins 1976, *Maximally dependent random variables*, for the second with a constant A.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.table import Floats
from shuffledp.leakage.expected_maximum import by_convolution, expected_excess, normal_excesses, num_states
from shuffledp.leakage.guess_scores import Scores, Slots
from shuffledp.leakage.max_load import BinClass, expected_highest

_LOSING = 1e-17  # most that all omitted guesses add together, as a share of the largest bound of one guess
_TILTS = np.exp2(np.arange(-8, 9) / 2)
_LEVELS = np.linspace(-4, 8, 241)  # in standard deviations
_FEW_GUESSES = 8
_POINTS, _FEWER_POINTS, _FEWEST_POINTS = 2**18, 2**16, 2**14
_MOST_BINS = 12
_MOST_STATES = 2e6  # histograms of the heaviest slots, times guesses
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Interval:
    """Lower and upper bound on an expected excess, and the method that found them."""

    lower: float
    upper: float
    method: str


def without_losers(small: Scores, slots: Slots) -> tuple[Scores, float, float]:
    """Reduced scores of the guesses that may win, and bounds on gains of dropped and of all guesses.

    The dropped guesses add at most 1e-17 of the largest bound for one guess. The sum of all bounds falls exponentially
    with the number of people if one guess is best beforehand, which is the first of these reduced scores.
    """
    bounds = _chernoff(small.chances, small.values[1:] - small.values[:1], slots)
    order = np.argsort(bounds, kind="stable")
    added = np.cumsum(bounds[order])
    losing = order[added <= _LOSING * bounds.max()]
    kept = np.setdiff1d(np.arange(len(small.values)), losing + 1)
    return Scores(small.chances, small.values[kept]).reduced(), float(bounds[losing].sum()), float(bounds.sum())


def _chernoff(chances: Floats, differences: Floats, slots: Slots) -> Floats:
    """Bound on the expected positive part of each sum of differences.

    It is the smallest Chernoff bound over a few tilts.
    """
    total = sum(count * weight for weight, count in slots)
    squares = sum(count * weight**2 for weight, count in slots)
    means = differences @ chances
    variances = squares * ((differences - means[:, None]) ** 2 @ chances)
    spreads = np.sqrt(np.maximum(variances, 1e-300))
    best = np.full(len(differences), np.inf)
    for factor in _TILTS.tolist():
        tilts = factor * np.maximum(np.abs(means) * total, spreads) / spreads**2
        logs = np.zeros(len(differences))
        for weight, count in slots:
            exponents = (weight * tilts)[:, None] * differences
            highest = exponents.max(axis=1)
            logs += count * (highest + np.log(np.exp(exponents - highest[:, None]) @ chances))
        best = np.minimum(best, np.exp(np.minimum(logs - 1 - np.log(tilts), 700.0)))
    return best


def by_pairs(small: Scores, slots: Slots, *, quick: bool = False) -> Interval:
    """Bounds on the excess by pairs of guesses.

    From above by a sum over all guesses, and from below by the best guess and one rival. A is the mean of all scores,
    or the best guess beforehand, plus the constant that is best for normal laws.
    """
    chances, values = small.chances, small.values
    points = _POINTS if len(values) <= _FEW_GUESSES and len(slots) == 1 else _FEWER_POINTS
    points = _FEWEST_POINTS if quick else points
    total = sum(count * weight for weight, count in slots)
    squares = sum(count * weight**2 for weight, count in slots)
    plans = []
    for reference in (values.mean(axis=0), values[0]):
        means, spreads = _moments(chances, values - reference, squares)
        levels = total * float(means.max()) + _LEVELS * float(spreads.max())
        sums = [level + float(normal_excesses(total * means - level, spreads).sum()) for level in levels.tolist()]
        place = int(np.argmin(sums))
        plans.append((total * float(reference @ chances) + sums[place], float(levels[place]), reference))
    _, level, reference = min(plans, key=lambda plan: plan[0])
    upper = total * float((reference - values[0]) @ chances) + level
    for row in values:
        upper += by_convolution(chances, np.array([0 * row, row - reference - level / total]), slots, points)[1]
    means, spreads = _moments(chances, values[1:] - values[0], squares)
    rival = 1 + int(np.argmax(normal_excesses(total * means, spreads)))
    lower = by_convolution(chances, values[[0, rival]], slots, points)[0]
    return Interval(lower, max(upper, lower), "pairs")  # this order keeps nan


def _moments(chances: Floats, differences: Floats, squares: float) -> tuple[Floats, Floats]:
    """Mean of each score, and standard deviation of the weighted sum of scores."""
    means = differences @ chances
    return means, np.sqrt(squares * ((differences - means[:, None]) ** 2 @ chances))


def by_fullest_bin(small: Scores, people: int) -> Interval | None:
    """Bounds on the excess by loads of bins, where each report of a uniform shuffle favors one guess.

    Scores are taken for a number of the report, plus a number of the guess, plus a number where the report favors the
    guess. None where they are far from that, or the sum would take too long.
    """
    chances, values = small.chances, small.values
    owner = _owners(chances, values)
    if owner is None or len(values) > _MOST_BINS:
        return None
    base, shift = _fitted(chances, values, owner)
    rest = values - base - shift[:, None]
    favored = np.arange(len(values))
    weights = rest[favored, owner]
    rest[favored, owner] = 0.0
    if (weights <= 0).any():
        return None
    means, spreads = _moments(chances, rest, 1 / people)
    cells = tuple(
        BinClass(float(chance), 1, float(weight) / people, float(offset))
        for chance, weight, offset in zip(chances[owner], weights, shift + means, strict=True)
    )
    try:
        highest = expected_highest(people, cells)
    except UnsupportedModelError:
        return None
    middle = highest + float((base - values[0]) @ chances)
    margin = math.sqrt(float(spreads @ spreads)) + _ROUNDING * float(np.abs(values).max(axis=0) @ chances)
    return Interval(max(0.0, middle - margin), middle + margin, "bins")


def by_heaviest(small: Scores, slots: Slots) -> Interval | None:
    """Bounds on the excess by enumeration of the heaviest slots, with all other slots at their mean.

    From below also by a number of the heaviest slots as if they were equally heavy, which is a less concentrated law:
    the number for which the mean leaves out the least. None if not even one slot can be enumerated.
    """
    heaviest = sorted(slots, reverse=True)
    kept = 0
    while kept < len(heaviest) and _states(small, heaviest[: kept + 1]) <= _MOST_STATES:
        kept += 1
    if not kept:
        return None
    heads, rest = tuple(heaviest[:kept]), heaviest[kept:]
    middle, missing = _with_rest(small, heads)
    means, spreads = _moments(small.chances, small.values, sum(count * weight**2 for weight, count in rest))
    centered = float((small.values - means[:, None]).max(axis=0) @ small.chances)
    most = min(math.sqrt(float(spreads @ spreads)), centered * sum(count * weight for weight, count in rest))
    lower = max(middle, _with_rest(small, _evened(small, heaviest))[0])
    return Interval(lower, max(lower, middle + missing + most + _ROUNDING * centered), "heaviest")


def _states(small: Scores, slots: Sequence[tuple[float, int]]) -> float:
    return num_states(len(small.chances), tuple(slots), small.chances) * len(small.values)


def _with_rest(small: Scores, slots: Slots) -> tuple[float, float]:
    """Expected excess with all other slots at their mean, and a bound on the excess left out."""
    mass = sum(count * weight for weight, count in slots)
    relative = small.values - small.values[0]
    shift = (1 - mass) / mass * (relative @ small.chances)
    found, missing = expected_excess(small.chances, relative + shift[:, None], slots)
    return max(0.0, found), missing


def _evened(small: Scores, heaviest: Sequence[tuple[float, int]]) -> Slots:
    """Heaviest slots with equal weights, as many as make the weighted sum vary most."""
    best: tuple[float, Slots] = (-1.0, (heaviest[0],))
    mass, number = 0.0, 0
    for weight, count in heaviest:
        mass, number = mass + weight * count, number + count
        evened = ((mass / number, number),)
        if _states(small, evened) > _MOST_STATES:
            break
        best = max(best, (mass**2 / number, evened))
    return best[1]


def _owners(chances: Floats, values: Floats) -> NDArray[np.int64] | None:
    """Report that favors each guess most; None if two guesses share a report."""
    centered = values - values.mean(axis=0)
    owner = (centered - (centered @ chances)[:, None]).argmax(axis=1)
    return owner if np.unique(owner).size == owner.size else None


def _fitted(chances: Floats, values: Floats, owner: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Additive fit to the scores: a number for each report, and a number for each guess.

    It is near the scores of reports that do not favor the guess.

    Any two would do; these make what is left small.
    """
    counted = np.ones_like(values)
    counted[np.arange(len(values)), owner] = 0.0
    base, shift = np.zeros(values.shape[1]), np.zeros(len(values))
    for _ in range(30):
        base = (counted * (values - shift[:, None])).sum(axis=0) / counted.sum(axis=0)
        mass = counted @ chances
        shift = np.where(mass > 0, (counted * (values - base)) @ chances / np.maximum(mass, 1e-300), 0.0)
    return base, shift
