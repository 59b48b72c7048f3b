"""The expectation of the largest of several sums where histograms are too many: convolution, sampling, normal limit."""

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from shuffledp.leakage._counts import NEGLIGIBLE
from shuffledp.leakage.enumerating import Slots
from shuffledp.randomness import resolve_source

if TYPE_CHECKING:
    from shuffledp.randomness import RandomSource

__all__ = ["CONFIDENCE", "by_convolution", "by_normal_limit", "by_sampling"]

Floats = NDArray[np.float64]

CONFIDENCE = 0.999
_DEVIATIONS = 3.2905267314918945  # of a normal law, for that confidence
_DRAWS = 200_000
_CHUNK = 4_000_000
_POINTS, _FEWER_POINTS = 2**20, 2**16
_FEW_WEIGHTS = 8
_ROUNDING = 1e-5  # of a grid that ends where the law ends
_SURE = 23.0  # 2 exp(-2 * 23) = 2e-20


def by_convolution(chances: Floats, values: Floats, slots: Slots) -> tuple[float, float]:
    """A lower and an upper bound of the expected excess for two guesses, from the law of their difference on a grid.

    Each value is split among two grid points with its mean kept: the difference S becomes S + M with E[M | S] = 0, and
    its positive part can only grow (Jensen). It grows by |M| at most, and only where |S + M| <= |M|; M is bounded by
    Hoeffding's inequality.
    """
    difference = values[1] - values[0]
    mean = float(difference @ chances)
    centered = difference - mean
    spread = math.sqrt(sum(count * weight**2 for weight, count in slots) * float(centered**2 @ chances))
    highest = max(weight for weight, _ in slots) * float(np.abs(centered).max())
    most = sum(count * weight for weight, count in slots) * float(np.abs(centered).max())
    reach = min(most, spread * math.sqrt(2 * NEGLIGIBLE) + highest * NEGLIGIBLE) * (1 + _ROUNDING)
    shift = mean * sum(count * weight for weight, count in slots)
    if reach == 0:
        return max(shift, 0.0), max(shift, 0.0)
    points = _POINTS if len(slots) <= _FEW_WEIGHTS else _FEWER_POINTS
    step = 2 * reach / points
    law = _law_on_grid(chances, centered / step, slots, points)
    places = shift + step * (np.arange(points) - points // 2)
    upper = float(law @ np.maximum(places, 0.0))
    most_moved = step * math.sqrt(_SURE * sum(count for _, count in slots))
    grown = most_moved * float(law[np.abs(places) <= most_moved].sum())
    return max(0.0, shift, upper - grown - 1e-15), max(upper, shift, 0.0) + 1e-15


def _law_on_grid(chances: Floats, steps: Floats, slots: Slots, points: int) -> Floats:
    """The law of the sum, in steps from the middle of the grid."""
    frequencies = np.arange(points // 2 + 1)
    product = np.ones(frequencies.size, dtype=np.complex128)
    turn = np.exp(-2j * np.pi * frequencies / points)
    for weight, count in slots:
        whole = np.floor(weight * steps)
        one = np.zeros(frequencies.size, dtype=np.complex128)
        for chance, below, rest in zip(chances, whole, weight * steps - whole, strict=True):
            angle = -2j * np.pi * (frequencies * int(below) % points) / points
            one += chance * np.exp(angle) * (1 - rest + rest * turn)
        product *= one**count
    return np.maximum(np.roll(np.fft.irfft(product, points), points // 2), 0.0)


def by_sampling(
    chances: Floats, values: Floats, slots: Slots, source: "RandomSource | None"
) -> tuple[float, float, float]:
    """The expected excess from 200,000 draws: the mean, and an interval of confidence 99.9 %."""
    generator = np.random.Generator(cast(Any, resolve_source(source).bit_generator))
    relative = (values - values[:1]).T
    chances = chances / chances.sum()
    step = max(1, _CHUNK // (relative.size + len(chances)))
    total = squares = 0.0
    for start in range(0, _DRAWS, step):
        draws = min(step, _DRAWS - start)
        sums = np.zeros((draws, relative.shape[1]))
        for weight, count in slots:
            sums += weight * (generator.multinomial(count, chances, size=draws) @ relative)
        best = sums.max(axis=1)
        total, squares = total + float(best.sum()), squares + float(best @ best)
    mean = total / _DRAWS
    margin = _DEVIATIONS * math.sqrt(max(squares / _DRAWS - mean**2, 0.0) / _DRAWS)
    return mean, max(0.0, mean - margin), mean + margin


def by_normal_limit(chances: Floats, values: Floats, slots: Slots) -> float:
    """The expected excess of the better of two guesses as if their difference were normal."""
    difference = values[1] - values[0]
    mean = float(difference @ chances)
    variance = float((difference - mean) ** 2 @ chances) * sum(count * weight**2 for weight, count in slots)
    return normal_excess(mean * sum(count * weight for weight, count in slots), math.sqrt(variance))


def normal_excess(mean: float, deviation: float) -> float:
    """E of the positive part of a normal number."""
    if deviation == 0:
        return max(mean, 0.0)
    scaled = mean / deviation
    density = math.exp(-(scaled**2) / 2) / math.sqrt(2 * math.pi)
    return deviation * density + mean * 0.5 * math.erfc(-scaled / math.sqrt(2))
