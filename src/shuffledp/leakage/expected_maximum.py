"""Expected maximum of several sums over independent reports: enumeration, convolution, sampling, normal limit."""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.table import Floats
from shuffledp.leakage.count_probabilities import NEGLIGIBLE, binomial, window
from shuffledp.leakage.guess_scores import Slots
from shuffledp.randomness.sources import RandomSource, resolve_source

_TINY = 1e-300
_SMALLEST = 1e-24  # less likely histograms are left out where there are too many
_CHUNK = 1_000_000  # numbers held at a time
FEW = 500_000  # up to this number of histograms none is left out
CONFIDENCE = 0.999
_DRAWS, _FEWEST_DRAWS = 200_000, 2_000
_MOST_DRAWN = 40_000_000  # most histograms that are drawn, one for each weight and draw
_DRAWN_AT_ONCE = 4_000_000
_POINTS, _FEWER_POINTS = 2**20, 2**16
_FEW_WEIGHTS = 8
_GRID_ROUNDING = 1e-5  # relative margin of a grid that covers the whole law
_SLACK = 1e-13  # of the grid's length: bound of rounding and aliasing
_POWER_SLACK = 1e-15  # of the grid's length: bound of rounding for each factor of a power
_SURE = 23.0  # 2 exp(-2 * 23) = 2e-20


def num_states(num_kinds: int, slots: Slots, chances: Floats) -> float:
    """Approximate number of combinations of likely histograms, one histogram for each weight of slots."""
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
    """Expected excess of the best guess over the first guess, and a bound on the excess's error.

    The excess is E[max over guesses w of the sum over slots of weight * (values[w, z] - values[0, z])].

    Reports z are independent, of law ``chances``, and the weights of all slots add up to 1. Left out are histograms of
    probability below 1e-24, if there are more than half a million; of less, if some report is worth far more than
    reports are on average. They may add their probability times the most that any report is worth.
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
    """Histograms of ``count`` reports in blocks: their probabilities, and each guess's sum of values.

    See also `_spread`.
    """
    if len(chances) == 1:
        yield np.ones(1), count * values
        return
    full = _all_histograms(count, len(chances)) <= FEW
    least, nats = (0.0, math.inf) if full else (_SMALLEST / rarity, NEGLIGIBLE + math.log(rarity))
    left_out.append(2 * len(chances) * math.exp(-nats))  # in both tails of each count
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
    """Blocks of histograms extended by the remaining kinds of reports; rare outcomes are left out.

    The counts are multinomial, and rare outcomes are those below a given probability.

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
    """Expected largest mean of values over ``count`` reports, exact in fractions, by all histograms."""
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


def by_convolution(chances: Floats, values: Floats, slots: Slots, points: int | None = None) -> tuple[float, float]:
    """Lower and upper bound on the expected excess for two guesses, from the law of their difference on a grid.

    Each value is split among two grid points with its mean kept: the difference S becomes S + M with E[M | S] = 0, and
    its positive part can only grow (Jensen). It grows by |M| at most, and only where |S + M| <= |M|; M is bounded by
    Hoeffding's inequality. If there are two kinds of reports, a sum over slots of one weight is split as a whole, by
    its binomial law. For millions of people the normal law with its greatest distance (Goldstein 2010, Theorem 1.1) is
    closer.
    """
    difference = values[1] - values[0]
    mean = float(difference @ chances)
    centered = difference - mean
    spread = math.sqrt(sum(count * weight**2 for weight, count in slots) * float(centered**2 @ chances))
    highest = max(weight for weight, _ in slots) * float(np.abs(centered).max())
    most = sum(count * weight for weight, count in slots) * float(np.abs(centered).max())
    points = points or (_POINTS if len(slots) <= _FEW_WEIGHTS else _FEWER_POINTS)
    terms = len(slots) if len(chances) == 2 else sum(count for _, count in slots)  # each moved by one step at most
    reach = min(most * (1 + 3 * terms / points), spread * math.sqrt(2 * NEGLIGIBLE) + highest * NEGLIGIBLE) * (
        1 + _GRID_ROUNDING
    )
    shift = mean * sum(count * weight for weight, count in slots)
    if reach == 0:
        return max(shift, 0.0), max(shift, 0.0)
    step = 2 * reach / points
    law = _law_on_grid(chances, centered / step, slots, points)
    places = shift + step * (np.arange(points) - points // 2)
    upper = float(law @ np.maximum(places, 0.0))
    most_moved = step * math.sqrt(_SURE * terms)
    grown = most_moved * float(law[np.abs(places) <= most_moved].sum())
    slack = 1e-15 + (_SLACK + _POWER_SLACK * terms) * reach + 2 * len(slots) * math.exp(-NEGLIGIBLE) * most
    normal, apart = normal_excess(shift, spread), _from_normal(chances, centered, slots)
    lower = max(0.0, shift, upper - grown - slack, normal - apart)
    return lower, max(min(max(upper, shift, 0.0) + slack, normal + apart), lower)  # this order keeps nan


def _from_normal(chances: Floats, centered: Floats, slots: Slots) -> float:
    """Distance of a sum from a normal law: the sum of third moments over the variance.

    It also holds for the positive part of the sum.
    """
    squares = sum(count * weight**2 for weight, count in slots) * float(centered**2 @ chances)
    return sum(count * weight**3 for weight, count in slots) * float(np.abs(centered) ** 3 @ chances) / squares


def _law_on_grid(chances: Floats, steps: Floats, slots: Slots, points: int) -> Floats:
    """Probabilities of the weighted sum on the grid, whose middle point means 0."""
    product = np.ones(points // 2 + 1, dtype=np.complex128)
    for weight, count in slots:
        law, sums, power = chances, weight * steps, count
        if len(chances) == 2:
            low, high = window(count, float(chances[0]))
            counts = np.arange(low, min(high, count) + 1)
            law = binomial(counts, count, float(chances[0]))
            sums, power = weight * (counts * steps[0] + (count - counts) * steps[1]), 1
        whole = np.floor(sums)
        above = sums - whole
        places = np.concatenate([whole, whole + 1]).astype(np.int64) % points
        one = np.bincount(places, weights=np.concatenate([law * (1 - above), law * above]), minlength=points)
        product *= np.fft.rfft(one) ** power
    return np.maximum(np.roll(np.fft.irfft(product, points), points // 2), 0.0)


def by_sampling(
    chances: Floats, values: Floats, slots: Slots, source: RandomSource | None
) -> tuple[float, float, float]:
    """Expected excess from random draws: the mean, and an interval around the mean.

    There are 200,000 draws, or fewer for many weights. The interval is Maurer and Pontil's (2009, Theorem 4, on both
    sides), of confidence 99.9% for any law of numbers from 0 to a known bound, however rarely it is above 0. By
    Bernstein's inequality a sum of many reports exceeds a bound far below that of one report so rarely that what is
    beyond adds hardly anything.
    """
    generator = np.random.Generator(cast(Any, resolve_source(source).bit_generator))
    relative = (values - values[:1]).T
    chances = chances / chances.sum()
    step = max(1, _DRAWN_AT_ONCE // (relative.size + len(chances)))
    every = max(_FEWEST_DRAWS, min(_DRAWS, _MOST_DRAWN // len(slots)))
    bound = _hardly_exceeded(chances, relative, slots)
    total = squares = 0.0
    for start in range(0, every, step):
        draws = min(step, every - start)
        sums = np.zeros((draws, relative.shape[1]))
        for weight, count in slots:
            sums += weight * (generator.multinomial(count, chances, size=draws) @ relative)
        best = np.clip(sums.max(axis=1), 0.0, bound)
        total, squares = total + float(best.sum()), squares + float(best @ best)
    mean = total / every
    variance = max(squares / every - mean**2, 0.0) * every / (every - 1)
    nats = math.log(4 / (1 - CONFIDENCE))
    margin = math.sqrt(2 * variance * nats / every) + 7 * bound * nats / (3 * (every - 1))
    beyond = relative.size * math.exp(-NEGLIGIBLE) * float(relative.max())
    return mean, max(0.0, mean - margin), mean + margin + beyond


def _hardly_exceeded(chances: Floats, relative: Floats, slots: Slots) -> float:
    """Level that a guess's sum exceeds with a chance of at most exp(-46).

    The level is at most the worth of a single report.
    """
    mean = chances @ relative
    centered = relative - mean
    squares = sum(count * weight**2 for weight, count in slots)
    spread = np.sqrt(squares * (chances @ centered**2))
    most = max(weight for weight, _ in slots) * np.abs(centered).max(axis=0)
    reach = spread * math.sqrt(2 * NEGLIGIBLE) + most * NEGLIGIBLE
    return max(0.0, float(np.minimum(relative.max(axis=0), mean + reach).max()))


def by_normal_limit(chances: Floats, values: Floats, slots: Slots) -> float:
    """Expected excess of the better of two guesses, if their difference had a normal law."""
    difference = values[1] - values[0]
    mean = float(difference @ chances)
    variance = float((difference - mean) ** 2 @ chances) * sum(count * weight**2 for weight, count in slots)
    return normal_excess(mean * sum(count * weight for weight, count in slots), math.sqrt(variance))


def normal_excess(mean: float, deviation: float) -> float:
    """Expected positive part of a normal random number with this mean and deviation."""
    return float(normal_excesses(np.array([mean]), np.array([deviation]))[0])


def normal_excesses(means: Floats, deviations: Floats) -> Floats:
    """Expected positive parts of normal random numbers with these means and deviations."""
    from scipy.special import erfc

    known = np.where(deviations > 0, deviations, 1.0)
    scaled = means / known
    excess = known * np.exp(-(scaled**2) / 2) / math.sqrt(2 * math.pi) + means * 0.5 * erfc(-scaled / math.sqrt(2))
    out: Floats = np.where(deviations > 0, excess, np.maximum(means, 0.0))
    return out
