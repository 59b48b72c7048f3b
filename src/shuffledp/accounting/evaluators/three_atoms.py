"""Sums of independent variables with three values, one of which stands for "neither": E[(a A - b B - c)_+].

(A, B) are the counts of two kinds among m messages. Given B, the law of A is binomial, and what remains has a closed
form. As a function of B it falls and is convex, because one message less of B adds b, and a times a coin, to the sum:
both are 0 or more. So with B in cells, chords between the ends are an upper bound, good to the second order in the size
of the cells.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.evaluators.binomial import binomial_blocks, block_masses, log_probability, tail_ratio
from shuffledp.accounting.numerics import SMALLEST, binomial_error

__all__ = ["ThreeAtoms", "excess", "three_atoms"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ThreeAtoms:
    """The law of (A, B) for one number of messages, with B in cells.

    Args:
        trials: the number of messages, m.
        chance: of a message that is not of the second kind to be of the first.
        lows: the first B of each cell.
        ends: the first B after it, or the same where a cell is one number.
        most: the probability of each cell, from above.
        mean_least: the mean of B in each cell, from below.
        outside: more than the probability of all other B.
    """

    trials: int
    chance: float
    lows: Floats
    ends: Floats
    most: Floats
    mean_least: Floats
    outside: float

    def above(self, *, a: float, b: float, c: float) -> float:
        """The expectation of (a A - b B - c)_+ from above, for a > 0, b >= 0."""
        nodes = self.nodes
        return a * self.chords(excess(self.trials - nodes, self.chance, (b * nodes + c) / a, sign=1))

    @property
    def nodes(self) -> Floats:
        """Values of B for `chords`: 0, and the ends of the cells."""
        return np.unique(np.concatenate([[0.0], self.lows, self.ends]))

    def chords(self, values: Floats) -> float:
        """The expectation of a curve of B that falls and is convex, given at the nodes, from above."""
        low, end = (values[np.searchsorted(self.nodes, ends)] for ends in (self.lows, self.ends))
        share = (self.mean_least - self.lows) / np.maximum(self.ends - self.lows, 1.0)
        return float(self.most @ (low * (1 - share) + end * share)) + self.outside * float(values[0])


def three_atoms(trials: int, *, first: float, second: float, outside: float, num_cells: int) -> ThreeAtoms:
    """The law of the counts of two kinds of messages.

    Args:
        trials: the number of messages, 1 or more.
        first: the chance of the first kind, above 0.
        second: the chance of the second kind, above 0; together at most 1.
        outside: what may be left out of the second kind's law, above 0.
        num_cells: at most so many.
    """
    chance = min(first / (1 - second), 1.0)
    blocks = binomial_blocks(trials, second, outside=outside, num_blocks=num_cells)
    if blocks.lows is blocks.highs:
        ends = mean_least = blocks.lows
    else:
        edges = np.append(blocks.lows, blocks.highs[-1] + 1)
        ends = np.minimum(edges[1:], trials)
        moments, sizes = block_masses(np.maximum(edges - 1, 0), trials - 1, second)
        error = 2 * binomial_error(trials)
        moments, sizes = trials * second * moments, trials * second * error * (sizes + moments)
        mean_least = np.clip((moments - sizes) / np.maximum(blocks.most, SMALLEST), blocks.lows, blocks.highs)
    return ThreeAtoms(
        trials=trials,
        chance=chance,
        lows=blocks.lows,
        ends=ends,
        most=blocks.most,
        mean_least=mean_least,
        outside=blocks.outside,
    )


def excess(trials: Floats, chance: float, level: Floats, *, sign: int) -> Floats:
    """The expectation of (A - level)_+ for A ~ Bin(trials, chance), from above (sign 1) or from below (sign -1).

    With j = ceil(level) it is Pr[A = j] (j (1 - p) - (level - m p) (1 + Pr[A > j] / Pr[A = j])); where j is below the
    mean, the mean less the level, plus the same for what is missing.
    """
    mean = trials * chance
    if chance >= 1:
        return np.asarray(np.maximum(trials - level, 0.0))
    rare = np.ceil(level) >= mean
    counted = np.where(rare, np.ceil(level), trials - np.floor(level))
    inside = (counted <= trials) & (level > 0)
    counted = np.where(inside, counted, trials)
    error, odds = sign * binomial_error(int(trials.max())), chance / (1 - chance)

    def tail(count: Floats, beyond: Floats, logs: Floats, odds: float) -> Floats:
        """From a count on, of those whose odds these are; ``beyond`` is by how much the level exceeds the mean."""
        gain, loss = count / (1 + odds), beyond * (1 + tail_ratio(count, trials, odds))
        return np.asarray(np.exp(logs) * np.maximum(gain - loss + error * (gain + np.abs(loss)), 0.0))

    upper = np.where(rare, counted, trials)
    value = np.where(rare & inside, tail(upper, level - mean, log_probability(upper, trials, chance), odds), 0.0)
    common = ~rare
    if common.any():
        missing = np.where(common, counted, trials)
        extra = np.where(
            common & inside,
            tail(missing, mean - level, log_probability(trials - missing, trials, chance), 1 / odds),
            0.0,
        )
        value = np.where(common, mean - level + extra, value)
    return np.asarray(np.where(level <= 0, mean - level, value))
