"""The expectation of the largest of several sums where histograms are too many: convolution, sampling, normal limit."""

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from shuffledp.leakage._counts import NEGLIGIBLE, binomial, window
from shuffledp.leakage.enumerating import Slots
from shuffledp.randomness import resolve_source

if TYPE_CHECKING:
    from shuffledp.randomness import RandomSource

__all__ = [
    "CONFIDENCE",
    "by_binomials",
    "by_convolution",
    "by_normal_limit",
    "by_sampling",
    "normal_excess",
    "normal_excesses",
]

Floats = NDArray[np.float64]

CONFIDENCE = 0.999
_DRAWS, _FEWEST_DRAWS = 200_000, 2_000
_MOST_DRAWN = 40_000_000  # histograms, one for each weight and draw
_CHUNK = 4_000_000
_POINTS, _FEWER_POINTS = 2**20, 2**16
_FEW_WEIGHTS = 8
_POINTS_OF_COUNTS = 2**13
_ROUNDING = 1e-5  # of a grid that ends where the law ends
_SLACK = 1e-13  # of that, for rounding and for what comes around
_POWER_SLACK = 1e-15  # for each factor of a power
_SURE = 23.0  # 2 exp(-2 * 23) = 2e-20


def by_convolution(chances: Floats, values: Floats, slots: Slots, points: int | None = None) -> tuple[float, float]:
    """A lower and an upper bound of the expected excess for two guesses, from the law of their difference on a grid.

    Each value is split among two grid points with its mean kept: the difference S becomes S + M with E[M | S] = 0, and
    its positive part can only grow (Jensen). It grows by |M| at most, and only where |S + M| <= |M|; M is bounded by
    Hoeffding's inequality. For millions of people the normal law with its greatest distance (Goldstein 2010, Theorem
    1.1) is closer.
    """
    difference = values[1] - values[0]
    mean = float(difference @ chances)
    centered = difference - mean
    spread = math.sqrt(sum(count * weight**2 for weight, count in slots) * float(centered**2 @ chances))
    highest = max(weight for weight, _ in slots) * float(np.abs(centered).max())
    most = sum(count * weight for weight, count in slots) * float(np.abs(centered).max())
    points = points or (_POINTS if len(slots) <= _FEW_WEIGHTS else _FEWER_POINTS)
    moved = 3 * sum(count for _, count in slots) / points  # each value by up to a step
    reach = min(most * (1 + moved), spread * math.sqrt(2 * NEGLIGIBLE) + highest * NEGLIGIBLE) * (1 + _ROUNDING)
    shift = mean * sum(count * weight for weight, count in slots)
    if reach == 0:
        return max(shift, 0.0), max(shift, 0.0)
    step = 2 * reach / points
    law = _law_on_grid(chances, centered / step, slots, points)
    places = shift + step * (np.arange(points) - points // 2)
    upper = float(law @ np.maximum(places, 0.0))
    most_moved = step * math.sqrt(_SURE * sum(count for _, count in slots))
    grown = most_moved * float(law[np.abs(places) <= most_moved].sum())
    slack = 1e-15 + (_SLACK + _POWER_SLACK * sum(count for _, count in slots)) * reach
    normal, apart = normal_excess(shift, spread), _from_normal(chances, centered, slots)
    lower = max(0.0, shift, upper - grown - slack, normal - apart)
    return lower, max(min(max(upper, shift, 0.0) + slack, normal + apart), lower)  # in this order nan stays nan


def by_binomials(chances: Floats, values: Floats, slots: Slots) -> float:
    """An upper bound of the expected excess for two guesses and two kinds of reports, in milliseconds.

    The sum over slots of one weight has a binomial law. Each of its values is split among two grid points with its mean
    kept, as in `by_convolution`, but once for a weight and not for each report.
    """
    difference = values[1] - values[0]
    spread = float(difference[0] - difference[1])
    laws, ends = [], []
    for weight, count in slots:
        low, high = window(count, float(chances[0]))
        counts = np.arange(low, min(high, count) + 1)
        sums = weight * (count * difference[1] + counts * spread)
        laws.append((sums, binomial(counts, count, float(chances[0]))))
        ends.append((float(sums.min()), float(sums.max())))
    start = sum(least for least, _ in ends)
    step = sum(most - least for least, most in ends) / (_POINTS_OF_COUNTS - 3 * len(slots))
    product = np.ones(_POINTS_OF_COUNTS // 2 + 1, dtype=np.complex128)
    for (sums, law), (least, _) in zip(laws, ends, strict=True):
        steps = (sums - least) / step if step > 0 else np.zeros_like(sums)
        whole = np.floor(steps).astype(np.int64)
        shares = np.concatenate([law * (1 - (steps - whole)), law * (steps - whole)])
        product *= np.fft.rfft(np.bincount(np.concatenate([whole, whole + 1]), shares, _POINTS_OF_COUNTS))
    law = np.fft.irfft(product, _POINTS_OF_COUNTS)
    places = np.maximum(start + step * np.arange(_POINTS_OF_COUNTS), 0.0)
    left_out = 2 * len(slots) * math.exp(-NEGLIGIBLE) * float(np.abs(difference).max())
    return float(law @ places) + _SLACK * float(np.abs(difference).max()) + left_out


def _from_normal(chances: Floats, centered: Floats, slots: Slots) -> float:
    """How far a sum, and its positive part, is from normal on average: the sum of third moments over the variance."""
    squares = sum(count * weight**2 for weight, count in slots) * float(centered**2 @ chances)
    return sum(count * weight**3 for weight, count in slots) * float(np.abs(centered) ** 3 @ chances) / squares


def _law_on_grid(chances: Floats, steps: Floats, slots: Slots, points: int) -> Floats:
    """The law of the sum, in steps from the middle of the grid."""
    product = np.ones(points // 2 + 1, dtype=np.complex128)
    for weight, count in slots:
        whole = np.floor(weight * steps)
        above = weight * steps - whole
        places = np.concatenate([whole, whole + 1]).astype(np.int64) % points
        one = np.bincount(places, weights=np.concatenate([chances * (1 - above), chances * above]), minlength=points)
        product *= np.fft.rfft(one) ** count
    return np.maximum(np.roll(np.fft.irfft(product, points), points // 2), 0.0)


def by_sampling(
    chances: Floats, values: Floats, slots: Slots, source: "RandomSource | None"
) -> tuple[float, float, float]:
    """The expected excess from 200,000 draws, or fewer of very many weights: the mean, and an interval around it.

    The interval is Maurer and Pontil's (2009, Theorem 4, on both sides), of confidence 99.9 % for any law of numbers
    from 0 to a known bound, however rarely it is above 0. By Bernstein's inequality a sum of many reports exceeds a
    bound far below that of one report so rarely that what is beyond adds hardly anything.
    """
    generator = np.random.Generator(cast(Any, resolve_source(source).bit_generator))
    relative = (values - values[:1]).T
    chances = chances / chances.sum()
    step = max(1, _CHUNK // (relative.size + len(chances)))
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
    """What the largest sum exceeds with probability exp(-46) at most for each guess; never more than one report's."""
    mean = chances @ relative
    centered = relative - mean
    squares = sum(count * weight**2 for weight, count in slots)
    spread = np.sqrt(squares * (chances @ centered**2))
    most = max(weight for weight, _ in slots) * np.abs(centered).max(axis=0)
    reach = spread * math.sqrt(2 * NEGLIGIBLE) + most * NEGLIGIBLE
    return max(0.0, float(np.minimum(relative.max(axis=0), mean + reach).max()))


def by_normal_limit(chances: Floats, values: Floats, slots: Slots) -> float:
    """The expected excess of the better of two guesses as if their difference were normal."""
    difference = values[1] - values[0]
    mean = float(difference @ chances)
    variance = float((difference - mean) ** 2 @ chances) * sum(count * weight**2 for weight, count in slots)
    return normal_excess(mean * sum(count * weight for weight, count in slots), math.sqrt(variance))


def normal_excess(mean: float, deviation: float) -> float:
    """E of the positive part of a normal number."""
    return float(normal_excesses(np.array([mean]), np.array([deviation]))[0])


def normal_excesses(means: Floats, deviations: Floats) -> Floats:
    """The same for several."""
    from scipy.special import erfc

    known = np.where(deviations > 0, deviations, 1.0)
    scaled = means / known
    excess = known * np.exp(-(scaled**2) / 2) / math.sqrt(2 * math.pi) + means * 0.5 * erfc(-scaled / math.sqrt(2))
    out: Floats = np.where(deviations > 0, excess, np.maximum(means, 0.0))
    return out
