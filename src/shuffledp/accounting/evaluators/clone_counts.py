"""Privacy loss of one answer among clones, evaluated from above at any number of people.

Clones are reports of other people that look like the answer or like its substitute.

**A pair.** Of n - 1 other reports each is a clone with chance q; half of the C clones, at random, look like one answer
and half like the other. With E = exp(epsilon0), e = exp(epsilon), N = C + 1 and k = floor(N (E - e) / ((E - 1) (e +
1))), the delta given C = c is

    D_c = (E - e) / (E + 1) b_c(k) - (e - 1) S_c(k),    b_c(k) = Pr[T = k],  S_c(k) = Pr[T < k],  T ~ Bin(c, 1/2),

and does not grow with c, because a further clone is post-processing: with C in blocks, D at the low end of each is an
upper bound.

**Four values**, one of which is 0: E[(a A - b B - c D)_+]. (A, B, D) are the counts of three kinds among n messages, A
and B equally likely. Given B and D, the law of A is binomial. With b >= c >= 0, one B less adds b, and a times a coin
or less c, to the sum; one D less adds c and a times a coin: never less than 0. So the expectation falls and is convex
in B, and given B in D: chords over cells of either are upper bounds, good to the second order in their size.
"""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from shuffledp.accounting.evaluators.binomial import (
    Blocks,
    binomial_blocks,
    binomial_error,
    block_masses,
    log_probability,
    tail_ratio,
)
from shuffledp.accounting.numerics import SMALLEST, gaussian_epsilon, smallest_below
from shuffledp.core.table import Floats

_COARSE, _FINE, _CURVE = 64, 1024, 512  # blocks of the number of clones
_COARSE_CELLS, _FINE_CELLS = (32, 256), (128, 4096)  # cells of the second kind, and of the third kind in all
_MOST_CELLS = 400  # cells of the third kind for each number of the second
_LARGEST_EPSILON = 700.0
_MOST_USERS = 2**52  # counts above would not be whole numbers in floats; more people never hurt
_OUTSIDE = 1e-8  # of delta: the probability outside the window
_CLOSE = 1e-12  # chances this close to 0 or 1 are lowered, since floats hold one minus the chance badly


@dataclass(frozen=True, slots=True, kw_only=True)
class ClonePair:
    """Pair of report laws whose delta depends on a number of clones.

    Each other report is a clone with probability ``chance``; delta is evaluated from above.
    """

    epsilon0: float
    chance: float
    users: int

    def epsilon(self, delta: float) -> float:
        """Least epsilon at which the pair's delta is at most ``delta``.

        That one is strictly between 0 and 1.
        """
        # The Gaussian limit for many people: mu = 2 tanh(epsilon0 / 2) / sqrt(clones).
        mu = 2 * math.tanh(self.epsilon0 / 2) / math.sqrt(max(self.users * self.chance, 1.0))
        guess = gaussian_epsilon(mu, delta)
        for num_blocks, tolerance in ((_COARSE, 1e-4), (_FINE, 1e-7)):
            law = self.blocks(outside=max(_OUTSIDE * delta, SMALLEST), num_blocks=num_blocks)
            curve = partial(self._upper, law=law)
            guess = smallest_below(curve, level=delta, limit=self.epsilon0, guess=guess, tolerance=tolerance)
        return guess

    def delta(self, epsilon: float) -> float:
        """Delta of the pair at an epsilon of 0 or more; 0 from epsilon0 on."""
        if epsilon >= self.epsilon0:
            return 0.0
        rough = self._upper(epsilon, self.blocks(outside=SMALLEST, num_blocks=_COARSE))
        law = self.blocks(outside=max(_OUTSIDE * rough, SMALLEST), num_blocks=_FINE)
        return min(self._upper(epsilon, law), rough)

    def curve(self, epsilons: Floats) -> Floats:
        """Delta of the pair at many epsilons, down to 1e-300; less tight than `delta`."""
        law = self.blocks(outside=1e-305, num_blocks=_CURVE)
        return np.array([self._upper(float(epsilon), law) for epsilon in epsilons])

    def blocks(self, *, outside: float, num_blocks: int) -> Blocks:
        """Law of the number of clones among the other people, in blocks."""
        if self.chance < SMALLEST:  # almost surely no report is a clone
            return binomial_blocks(0, 1.0, outside=outside, num_blocks=num_blocks)
        others = min(self.users - 1, _MOST_USERS)
        return binomial_blocks(others, self.chance, outside=outside, num_blocks=num_blocks)

    def _upper(self, epsilon: float, law: Blocks) -> float:
        if epsilon >= self.epsilon0:
            return 0.0
        probability, gain, loss = self.given(law.lows, epsilon)
        error = binomial_error(int(law.highs[-1]))
        deltas = probability * np.maximum(gain * (1 + error) - loss * (1 - error), 0.0)
        return min(float(law.most @ deltas) * (1 + error) + law.outside + SMALLEST, 1.0)

    def given(self, clones: Floats, epsilon: float) -> tuple[Floats, float, Floats]:
        """Probability, gain and loss for each number of clones; delta is probability * (gain - loss)."""
        short = math.expm1(epsilon - self.epsilon0)
        gain = -short / (1 + math.exp(-self.epsilon0))
        share = short / math.expm1(-self.epsilon0) * math.exp(-epsilon) / (1 + math.exp(-epsilon))
        counts = np.minimum(np.floor((clones + 1) * share), clones)
        probability = np.exp(log_probability(counts, clones, 0.5))
        growth = math.expm1(min(epsilon, _LARGEST_EPSILON))  # a growth that is too small errs upward
        loss = growth * tail_ratio(clones - counts, clones, 1.0) if epsilon > 0 else np.zeros_like(clones)
        return probability, gain, loss


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountCells:
    """Binomial count B of ``trials`` messages, cut into cells.

    Chords over the cells replace a convex curve. A cell leads from the first B of ``lows`` to the first after it, in
    ``ends`` (the same where a cell is one number), and has the probability ``most``, from above, and the mean
    ``mean_least``, from below; ``outside`` is more than all other B.
    """

    trials: int
    lows: Floats
    ends: Floats
    most: Floats
    mean_least: Floats
    outside: float

    @property
    def nodes(self) -> Floats:
        """Counts at which `chords` needs a curve's values: 0 and the ends of the cells."""
        return np.unique(np.concatenate([[0.0], self.lows, self.ends]))

    def chords(self, values: Floats) -> float:
        """Upper bound on the mean of a falling convex curve of the count, from its values at `nodes`."""
        low, end = (values[np.searchsorted(self.nodes, ends)] for ends in (self.lows, self.ends))
        share = (self.mean_least - self.lows) / np.maximum(self.ends - self.lows, 1.0)
        return float(self.most @ (low * (1 - share) + end * share)) + self.outside * float(values[0])


def count_cells(trials: int, chance: float, *, outside: float, num_cells: int) -> CountCells:
    """Binomial law in at most ``num_cells`` cells, which leave out a probability of at most ``outside``.

    The chance is above 0.
    """
    blocks = binomial_blocks(trials, chance, outside=outside, num_blocks=num_cells)
    if blocks.lows is blocks.highs:
        ends = mean_least = blocks.lows
    else:
        edges = np.append(blocks.lows, blocks.highs[-1] + 1)
        ends = np.minimum(edges[1:], trials)
        moments, sizes = block_masses(np.maximum(edges - 1, 0), trials - 1, chance)
        error = 2 * binomial_error(trials)
        moments, sizes = trials * chance * moments, trials * chance * error * (sizes + moments)
        mean_least = np.clip((moments - sizes) / np.maximum(blocks.most, SMALLEST), blocks.lows, blocks.highs)
    return CountCells(
        trials=trials, lows=blocks.lows, ends=ends, most=blocks.most, mean_least=mean_least, outside=blocks.outside
    )


def excess(trials: Floats, chance: float, level: Floats) -> Floats:
    """Expected excess E[(A - level)_+] for A ~ Bin(trials, chance), rounded up.

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
    error, odds = binomial_error(int(trials.max())), chance / (1 - chance)

    def tail(count: Floats, beyond: Floats, logs: Floats, odds: float) -> Floats:
        """Expected excess of a binomial count above the level, for these odds.

        ``count`` is the least count not below the level, and ``beyond`` the level less the mean.
        """
        gain, loss = count / (1 + odds), beyond * (1 + tail_ratio(count, trials, odds))
        return np.asarray(np.exp(logs) * np.maximum(gain - loss + error * (gain + np.abs(loss)), 0.0))

    upper = np.where(rare, counted, trials)
    value = np.where(rare & inside, tail(upper, level - mean, log_probability(upper, trials, chance), odds), 0.0)
    common = ~rare
    if common.any():
        missing = np.where(common, counted, trials)
        extra = tail(missing, mean - level, log_probability(trials - missing, trials, chance), 1 / odds)
        value = np.where(common, mean - level + np.where(inside, extra, 0.0), value)
    return np.asarray(np.where(level <= 0, mean - level, value))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MultinomialCells:
    """Joint law of the counts A, B and D of three kinds of messages, with B and D in cells.

    All other messages are a fourth kind. For each of the numbers B at which the cells of ``outer`` end, ``seconds``,
    there are numbers D in a row of ``thirds``, and in ``weights`` their shares of the law of D given B. A message that
    is neither B nor D is A with this ``chance``.
    """

    outer: CountCells
    seconds: Floats
    thirds: Floats
    weights: Floats
    chance: float

    def above(self, *, a: float, b: float, c: float) -> float:
        """Upper bound on the expectation E[(a A - b B - c D)_+], for a > 0 and b >= c >= 0."""
        seconds = self.seconds[:, np.newaxis]
        trials = self.outer.trials - seconds - self.thirds
        values = excess(trials, self.chance, (b * seconds + c * self.thirds) / a)
        return a * self.outer.chords((self.weights * values).sum(axis=1))


def multinomial_cells(
    users: int, *, each: float, third: float, outside: float, num_cells: int, budget: int
) -> MultinomialCells:
    """Law of the counts of three kinds of messages, with chances ``each``, ``each`` and ``third``.

    At most ``outside`` is left out of the second kind's law, which has at most ``num_cells`` cells, with about
    ``budget`` cells of the third kind over all numbers of the second.
    """
    outer = count_cells(users, each, outside=outside, num_cells=num_cells)
    seconds, rest = outer.nodes, 1 - each
    num_thirds = min(max(budget // len(seconds), 4), _MOST_CELLS)
    thirds, weights = _hats(users - seconds, min(third / rest, 1.0), outside, num_thirds)
    chance = min(each / (rest - third), 1.0) if rest > third else 1.0
    return MultinomialCells(outer=outer, seconds=seconds, thirds=thirds, weights=weights, chance=chance)


def _hats(trials: Floats, chance: float, outside: float, num_cells: int) -> tuple[Floats, Floats]:
    """Counts and weights that replace the law Bin(trials, chance), for each number of trials.

    From above for a curve that falls and is convex: what lies beyond the last count is given to it.
    """
    if chance < _CLOSE:  # a smaller chance errs upward, as the curve falls with the third kind's number
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
    weights[:, -1] += _tail_from(counts[:, -1:], trials, chance)[:, 0] * (1 + error)
    return counts, weights


def _masses(counts: Floats, trials: Floats, chance: float) -> tuple[Floats, Floats]:
    """Probability from each count until the next, and the size of the terms subtracted to find it.

    The next count is excluded.
    """
    mean = np.floor(trials * chance)
    lower = _tail_from(np.maximum(trials - counts + 1, trials - mean), trials, 1 - chance)
    upper = _tail_from(np.maximum(counts, mean), trials, chance)
    start, end = slice(None, -1), slice(1, None)
    below, above = counts[:, end] <= mean, counts[:, start] >= mean
    masses = np.where(
        below,
        lower[:, end] - lower[:, start],
        np.where(above, upper[:, start] - upper[:, end], 1 - lower[:, start] - upper[:, end]),
    )
    sizes = np.where(below, lower[:, end] + lower[:, start], np.where(above, upper[:, start] + upper[:, end], 1.0))
    return np.maximum(masses, 0.0), sizes


def _tail_from(counts: Floats, trials: Floats, chance: float) -> Floats:
    """Tail Pr[T >= count] for T ~ Bin(trials, chance) and counts near the mean or above it."""
    inside = np.minimum(counts, trials)
    ratio = 1 + tail_ratio(inside, trials, chance / (1 - chance))
    return np.where(counts > trials, 0.0, np.exp(log_probability(inside, trials, chance)) * ratio)


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitedVariation:
    """Randomizers of loss epsilon0 with a total variation of at most beta between two inputs' laws.

    In units of a blanket w, (R(x), R(x')) has the atoms (E, 1) and (1, E) with mass m = beta / (E - 1) each, and (E, E)
    with mass (1 - m (1 + E)) / E. With A, B, D the numbers of each among n messages,

        delta = E[((E - e) A - (E e - 1) B - E (e - 1) D)_+] / n.
    """

    epsilon0: float
    beta: float
    users: int

    def epsilon(self, delta: float) -> float:
        """Least epsilon at a given delta, rounded up."""
        guess = None
        for size, tolerance in ((_COARSE_CELLS, 1e-3), (_FINE_CELLS, 1e-6)):
            law = self._law(max(_OUTSIDE * delta, SMALLEST), size)
            curve = partial(self._upper, law=law)
            guess = smallest_below(curve, level=delta, limit=self.epsilon0, guess=guess, tolerance=tolerance)
        return guess or 0.0

    def delta(self, epsilon: float) -> float:
        """Delta at a given epsilon, rounded up; 0 from epsilon0 on."""
        if epsilon >= self.epsilon0:
            return 0.0
        rough = self._upper(epsilon, self._law(SMALLEST, _COARSE_CELLS))
        return min(rough, self._upper(epsilon, self._law(max(_OUTSIDE * rough, SMALLEST), _FINE_CELLS)))

    def _law(self, outside: float, size: tuple[int, int]) -> MultinomialCells:
        odds = math.exp(-self.epsilon0)
        users = min(self.users, _MOST_USERS)  # more people never hurt
        each = self.beta * odds / -math.expm1(-self.epsilon0)
        both = max(odds * (1 - self.beta * (1 + odds) / -math.expm1(-self.epsilon0)), 0.0)
        return multinomial_cells(users, each=each, third=both, outside=outside, num_cells=size[0], budget=size[1])

    def _upper(self, epsilon: float, law: MultinomialCells) -> float:
        if epsilon >= self.epsilon0:
            return 0.0
        odds, growth = math.exp(-self.epsilon0), math.expm1(epsilon)
        found = law.above(a=-math.expm1(epsilon - self.epsilon0), b=math.exp(epsilon) - odds, c=growth)
        return min(found / (odds * law.outer.trials) * (1 + 2 * binomial_error(self.users)) + SMALLEST, 1.0)
