"""Sums of independent variables with three or four values, from above, and the blanket bound from a total variation.

**Three values**, one of which stands for "neither": E[(a A - b B - c)_+]. (A, B) are the counts of two kinds among m
messages. Given B, the law of A is binomial, and what remains has a closed form. As a function of B it falls and is
convex, because one message less of B adds b, and a times a coin, to the sum: both are 0 or more. So with B in cells,
chords between the ends are an upper bound, good to the second order in the size of the cells.

**Four values**, one of which is 0: E[(a A - b B - c D)_+]. (A, B, D) are the counts of three kinds among n messages, A
and B equally likely. Given B and D, the law of A is binomial. With b >= c >= 0, one B less adds b, and a times a coin
or less c, to the sum; one D less adds c and a times a coin: never less than 0. So the expectation falls and is convex
in B, and given B in D, and chords over cells of either are upper bounds.
"""

import math
from dataclasses import dataclass

import numpy as np

from shuffledp.accounting.evaluators.binomial import binomial_blocks, block_masses, log_probability, tail_ratio
from shuffledp.accounting.numerics import SMALLEST, binomial_error, smallest_below
from shuffledp.core.table import Floats

_MOST_CELLS = 400  # of the third kind for each number of the second
_CLOSE = 1e-12  # chances as close as this to 0 or 1 are lowered: there floats tell one minus the chance badly
_OUTSIDE = 1e-8  # of delta
_COARSE, _FINE = (32, 256), (128, 4096)  # cells of the second kind, and of the third over all of them
_MOST_USERS = 2**52  # counts above would not be whole numbers in floats


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
        num_cells: at most this number.
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
        num_cells: at most this number of the second kind.
        budget: about this number of cells of the third kind, over all numbers of the second.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitedVariation:
    """Randomizers of loss epsilon0 of which no two inputs' laws are farther apart than beta in total variation.

    In units of a blanket w, (R(x), R(x')) has the atoms (E, 1) and (1, E) with mass m = beta / (E - 1) each, and (E, E)
    with mass (1 - m (1 + E)) / E. With A, B, D the numbers of each among n messages,

        delta = E[((E - e) A - (E e - 1) B - E (e - 1) D)_+] / n.

    Args:
        epsilon0: local loss in nats, above 0.
        beta: total variation distance, above 0 and at most (E - 1) / (E + 1).
        users: number of people, 1 or more.
    """

    epsilon0: float
    beta: float
    users: int

    def epsilon(self, *, delta: float) -> float:
        """The least epsilon at this delta, from above."""
        guess = None
        for size, tolerance in ((_COARSE, 1e-3), (_FINE, 1e-6)):
            law = self._law(max(_OUTSIDE * delta, SMALLEST), size)
            guess = smallest_below(
                lambda epsilon, law=law: self._upper(epsilon, law),  # type: ignore[misc]
                level=delta,
                limit=self.epsilon0,
                guess=guess,
                tolerance=tolerance,
            )
        return guess or 0.0

    def delta(self, *, epsilon: float) -> float:
        """Delta at an epsilon, from above; 0 from epsilon0 on."""
        if epsilon >= self.epsilon0:
            return 0.0
        rough = self._upper(epsilon, self._law(SMALLEST, _COARSE))
        return min(rough, self._upper(epsilon, self._law(max(_OUTSIDE * rough, SMALLEST), _FINE)))

    def _law(self, outside: float, size: tuple[int, int]) -> FourAtoms:
        odds = math.exp(-self.epsilon0)
        users = min(self.users, _MOST_USERS)  # more people never hurt
        each = self.beta * odds / -math.expm1(-self.epsilon0)
        both = max(odds * (1 - self.beta * (1 + odds) / -math.expm1(-self.epsilon0)), 0.0)
        return four_atoms(users, each=each, third=both, outside=outside, num_cells=size[0], budget=size[1])

    def _upper(self, epsilon: float, law: FourAtoms) -> float:
        if epsilon >= self.epsilon0:
            return 0.0
        odds, growth = math.exp(-self.epsilon0), math.expm1(epsilon)
        found = law.above(a=-math.expm1(epsilon - self.epsilon0), b=math.exp(epsilon) - odds, c=growth)
        return min(found / (odds * law.users) * (1 + 2 * binomial_error(self.users)) + SMALLEST, 1.0)
