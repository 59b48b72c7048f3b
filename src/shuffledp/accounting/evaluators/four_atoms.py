"""Sums of independent variables with four values, one of which is 0: E[(a A - b B - c D)_+], from above.

(A, B, D) are the counts of three kinds among n messages, A and B equally likely. Given B and D, the law of A is
binomial. With b >= c >= 0, one B less adds b, and a times a coin or less c, to the sum; one D less adds c and a times a
coin: never less than 0. So the expectation falls and is convex in B, and given B in D, and chords over cells of either
are upper bounds.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.evaluators.binomial import log_probability, tail_ratio
from shuffledp.accounting.evaluators.three_atoms import ThreeAtoms, excess, three_atoms
from shuffledp.accounting.numerics import binomial_error

__all__ = ["FourAtoms", "four_atoms"]

Floats = NDArray[np.float64]

_MOST_CELLS = 400  # of the third kind for each number of the second
_CLOSE = 1e-12  # chances as close as this to 0 or 1 are lowered: there floats tell one minus the chance badly


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FourAtoms:
    """The law of (A, B, D), with B and D in cells.

    Args:
        outer: the law of B, in cells.
        seconds: the numbers B at which the cells end; shape (nodes,).
        thirds: for each, numbers D; shape (nodes, thirds).
        weights: for each, its share of the law of D given B; shape (nodes, thirds).
        chance: of a message that is neither B nor D to be A.
    """

    outer: ThreeAtoms
    seconds: Floats
    thirds: Floats
    weights: Floats
    chance: float

    @property
    def users(self) -> int:
        """The number of messages."""
        return self.outer.trials

    def above(self, *, a: float, b: float, c: float) -> float:
        """E[(a A - b B - c D)_+] from above, for a > 0 and b >= c >= 0."""
        seconds = self.seconds[:, np.newaxis]
        trials = self.outer.trials - seconds - self.thirds
        values = excess(trials, self.chance, (b * seconds + c * self.thirds) / a, sign=1)
        return a * self.outer.chords((self.weights * values).sum(axis=1))


def four_atoms(users: int, *, each: float, third: float, outside: float, num_cells: int, budget: int) -> FourAtoms:
    """The law of the counts of three kinds of messages.

    Args:
        users: the number of messages, 1 or more.
        each: the chance of the first kind, and of the second, above 0.
        third: the chance of the third kind, 0 or more; all together at most 1.
        outside: what may be left out of the second kind's law, above 0.
        num_cells: at most so many of the second kind.
        budget: about so many cells of the third kind, over all numbers of the second.
    """
    outer = three_atoms(users, first=each, second=each, outside=outside, num_cells=num_cells)
    seconds = outer.nodes
    rest = 1 - each
    thirds, weights = _hats(
        users - seconds, min(third / rest, 1.0), outside, min(max(budget // len(seconds), 4), _MOST_CELLS)
    )
    chance = min(each / (rest - third), 1.0) if rest > third else 1.0
    return FourAtoms(outer=outer, seconds=seconds, thirds=thirds, weights=weights, chance=chance)


def _hats(trials: Floats, chance: float, outside: float, num_cells: int) -> tuple[Floats, Floats]:
    """For each number of trials: counts from 0 on, and what of Bin(trials, chance) each gets if chords replace a curve.

    From above for a curve that falls and is convex: what lies beyond the last count is given to it.
    """
    if chance < _CLOSE:  # fewer of the third kind, and the falling curve is higher
        return np.zeros((len(trials), 1)), np.ones((len(trials), 1))
    trials = trials[:, np.newaxis]
    if chance < 1:
        chance = min(chance, 1 - _CLOSE)
    mean = trials * chance
    level = -np.log(outside)
    low = np.maximum(np.floor(mean - np.sqrt(2 * level * mean)), 0)
    high = np.minimum(np.ceil(mean + np.sqrt(2 * level * mean * (1 - chance)) + level), trials)
    steps = np.linspace(0, 1, num_cells)
    counts = np.concatenate([np.zeros_like(mean), np.floor(low + (high - low) * steps)], axis=1)
    if chance == 1:
        return trials, np.ones_like(trials)
    masses, sizes = _masses(counts, trials, chance)
    moments, moment_sizes = _masses(np.maximum(counts - 1, 0), np.maximum(trials - 1, 0), chance)
    error = 2 * binomial_error(int(trials.max()))
    start, end = counts[:, :-1], counts[:, 1:]
    most = masses + error * sizes
    first_moments = np.clip(mean * (moments - error * moment_sizes), start * most, np.maximum(end - 1, start) * most)
    to_end = np.where(end - start > 1, (first_moments - start * most) / np.maximum(end - start, 1), 0.0)
    weights = np.zeros_like(counts)
    weights[:, :-1] += most - to_end
    weights[:, 1:] += to_end
    weights[:, -1] += _upper(counts[:, -1:], trials, chance)[:, 0] * (1 + error)
    return counts, weights


def _masses(counts: Floats, trials: Floats, chance: float) -> tuple[Floats, Floats]:
    """The probability from each count to before the next, and the size of what was subtracted to find it."""
    mean = np.floor(trials * chance)
    lower = _upper(np.maximum(trials - counts + 1, trials - mean), trials, 1 - chance)
    upper = _upper(np.maximum(counts, mean), trials, chance)
    start, end = slice(None, -1), slice(1, None)
    below, above = counts[:, end] <= mean, counts[:, start] >= mean
    masses = np.where(
        below,
        lower[:, end] - lower[:, start],
        np.where(above, upper[:, start] - upper[:, end], 1 - lower[:, start] - upper[:, end]),
    )
    sizes = np.where(below, lower[:, end] + lower[:, start], np.where(above, upper[:, start] + upper[:, end], 1.0))
    return np.maximum(masses, 0.0), sizes


def _upper(counts: Floats, trials: Floats, chance: float) -> Floats:
    """Pr[T >= count] for T ~ Bin(trials, chance) and counts near the mean or above it."""
    inside = np.minimum(counts, trials)
    ratio = 1 + tail_ratio(inside, trials, chance / (1 - chance))
    return np.where(counts > trials, 0.0, np.exp(log_probability(inside, trials, chance)) * ratio)
