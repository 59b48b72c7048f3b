"""Expected maximum load of balls in bins, which determines the leakage of a shuffled table about one person.

n balls fall into bins independently. Given that independent Poisson counts add up to n, they are the loads; so

    P(all loads at most m) = P(all Poisson counts at most m, and their sum is n) / P(Poisson(n) = n),

and the numerator is one Fourier sum over products of truncated characteristic functions.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.table import Floats, Integers
from shuffledp.leakage.count_probabilities import (
    NEGLIGIBLE,
    binomial,
    integer_quadrature,
    poisson,
    window,
)
from shuffledp.leakage.guess_scores import numbers_of

_MOST_BALLS = 10**10
_ALIASING = 9.0  # length of the circle in standard deviations: aliasing is below exp(-40)
_LEFT_OUT = 38.0  # nats: bound of the probability outside a window of counts, or above all maxima that are tried
_BLOCK = 1.5  # length of a block of a smooth sum over m, in units of the spread of the maximum
_CHUNK = 2_000_000  # complex numbers held at a time
_FEW_BINS = 100  # up to this number, the rounding of transforms, times the number of bins, hardly counts
_MOST_WORK = 200_000_000  # terms, which take some seconds
_COST = 10.0  # terms of transforms that take as long as a term of that sum
_SMALLEST_TERM = 1e-18
_NO_PROBABILITY = 1e-13


@dataclass(frozen=True, slots=True)
class BinClass:
    """Bins of one kind: their chance and number, a ball's weight, and a starting load.

    The chance is for one ball and one bin.
    """

    probability: float
    count: int
    weight: float = 1.0
    offset: float = 0.0


def expected_max_load(balls: int, bins: "int | ArrayLike") -> float:
    """Expected number of balls in the fullest bin.

    The time is well below a second for most numbers, and about one for a billion balls in three to twenty bins.

    Guarantees:
        1. Right to a relative 1e-12, and so is the excess over ``balls / bins`` to about 1e-9.

    Args:
        balls: n, from 0 to 10^10.
        bins: k, 1 or more, for bins that are equally likely; or the probabilities of the bins, which sum to 1.

    Raises:
        InvalidParameterError: if an argument is out of range.
        UnsupportedModelError: if bins are of too many kinds for the sum to end soon.

    References:
        Jurado et al. 2023, equations (15) and (16), which say that it is infeasible. Fast evaluation is our own.

    Example:
        >>> round(expected_max_load(1_000_000, 10_000), 9)
        140.754236659
    """
    validate.integer_at_least(0, balls=balls)
    if balls > _MOST_BALLS:
        raise validate.invalid(f"at most {_MOST_BALLS}", balls=balls)
    if np.ndim(bins) == 0:
        validate.integer_at_least(1, bins=bins)
        count = int(bins)  # type: ignore[arg-type]
        return expected_largest(int(balls), (BinClass(1 / count, count),))
    return expected_largest(int(balls), _kinds(_checked_probabilities(bins)))


def expected_over_max_load(balls: int, bins: int, worth: Callable[[Floats], Floats]) -> float:
    """Expected value of a function of the fullest bin's load, for equally likely bins.

    Args:
        balls: n, 1 or more.
        bins: k, 2 or more.
        worth: value at each load, for loads of shape (m,); bounded.

    Raises:
        UnsupportedModelError: if there are more than two bins, and too many balls for the sum to end soon.
    """
    if bins == 2:
        first, last = window(balls, 0.5)
        loads = np.arange(max(first, 0), min(last, balls) + 1)
        return float(binomial(loads, balls, 0.5) @ worth(np.maximum(loads, balls - loads).astype(np.float64)))
    return _Loads(balls, (BinClass(1 / bins, bins),), 0.0).expectation(worth)


def binary_vulnerability(num_users: int, truth_probability: "float | Fraction") -> "float | Fraction":
    """Bayes vulnerability of one bit after randomized response and a uniform shuffle, in closed form.

    Bits are uniform and independent: 1/2 + (2p - 1) C(n - 1, floor(n / 2)) / 2^n. It falls to 1/2 like
    (2p - 1) / sqrt(2 pi n).

    Args:
        num_users: n, 1 or more.
        truth_probability: p, from 1/2 to 1; 1 is shuffling without randomizing. A `Fraction` gives a `Fraction`, for up
            to 100,000 people.

    Raises:
        InvalidParameterError: if an argument is out of range.

    References:
        Jurado et al. 2023, Theorems 17 and 19.

    Example:
        >>> binary_vulnerability(3, Fraction(3, 4))
        Fraction(5, 8)
    """
    validate.integer_at_least(1, num_users=num_users)
    validate.probability(truth_probability=truth_probability)
    if truth_probability < 0.5:
        raise validate.invalid("from 1/2 to 1", truth_probability=truth_probability)
    if isinstance(truth_probability, Fraction):
        if num_users > 100_000:
            raise validate.invalid("at most 100000 for an exact fraction; give a float", num_users=num_users)
        ways = Fraction(math.comb(num_users - 1, num_users // 2), 2**num_users)
        return Fraction(1, 2) + (2 * truth_probability - 1) * ways
    half = int(num_users) // 2
    return 0.5 + (2 * truth_probability - 1) * float(binomial(half, 2 * half, 0.5)) / 2


def expected_largest(balls: int, kinds: tuple[BinClass, ...]) -> float:
    """Expected largest product of weight and load over all bins; refused if the sum would take too long."""
    kinds = tuple(kind for kind in kinds if kind.probability > 0)
    if balls == 0 or all(kind.weight == 0 for kind in kinds):
        return 0.0
    fullest, rest = _contenders(balls, kinds)
    if sum(kind.count for kind in fullest) == 1:
        return balls * fullest[0].probability * fullest[0].weight
    weights = {kind.weight for kind in fullest}
    if len(weights) == 1:
        (weight,) = weights
        if sum(kind.count for kind in fullest) == 2:
            return weight * _larger_of_two(balls, fullest[0].probability, fullest[-1].probability)
        return weight * _Loads(balls, tuple(replace(kind, weight=1.0) for kind in fullest), rest).common_weight()
    return _Loads(balls, fullest, rest).any_weights()


def expected_highest(balls: int, kinds: tuple[BinClass, ...]) -> float:
    """Expected maximum over the given bins of starting load plus weight times load.

    Balls may fall into other bins.
    """
    rest = 1 - sum(kind.probability * kind.count for kind in kinds)
    return _Loads(balls, kinds, rest if rest > _NO_PROBABILITY else 0.0).any_weights()


def _contenders(balls: int, kinds: tuple[BinClass, ...]) -> tuple[tuple[BinClass, ...], float]:
    """Kinds of bins that may include the fullest bin, and the total probability of all other bins.

    By Chernoff's bound for the difference of two loads, all others together add less than 1e-16 of the expectation.
    """
    top = max(kinds, key=lambda kind: kind.probability * kind.weight)
    most = top.probability * top.weight

    def surprise(kind: BinClass) -> float:
        """Negative logarithm of a bound on the load from bins of one kind, relative to the top bin's load."""
        share = kind.probability * kind.weight
        if share == 0:
            return math.inf
        tilt = math.log(most / share) / (kind.weight + top.weight)
        rise = kind.probability * math.expm1(tilt * kind.weight) + top.probability * math.expm1(-tilt * top.weight)
        return -balls * math.log1p(max(rise, -1 + 1e-15)) - math.log(kind.count * kind.weight / most)

    dropped = {kind for kind in kinds if surprise(kind) > _LEFT_OUT + math.log(len(kinds))}
    return tuple(kind for kind in kinds if kind not in dropped), sum(each.probability * each.count for each in dropped)


def _larger_of_two(balls: int, first: float, second: float) -> float:
    """Expected load of the fuller of two bins; balls may fall into other bins too.

    It is half of the mean sum of both loads and half of the mean of |S|, S being their difference. If |S| is at most N,
    N |S| - S^2 is the sum of (1 - cos(t S)) / (1 - cos t) over the N - 1 angles t = 2 pi j / N, without cancellation.
    """
    both, apart = first + second, first - second
    variance = balls * max(both - apart**2, 0.0)
    size = min(balls, math.ceil(balls * abs(apart) + math.sqrt(2 * variance * NEGLIGIBLE) + NEGLIGIBLE)) | 1
    angles = 2 * np.pi * np.arange(1, size // 2 + 1) / size  # all others are the negatives of these
    chord = 2 * np.sin(angles / 2) ** 2
    real, imaginary = -both * chord, apart * np.sin(angles)  # of one ball's characteristic function, minus 1
    law = np.exp(balls / 2 * np.log1p(real * (2 + real) + imaginary**2))
    law *= np.cos(balls * np.arctan2(imaginary, 1 + real))
    spread = (2 * float(((1 - law) / chord).sum()) + variance + (balls * apart) ** 2) / size
    return (balls * both + spread) / 2


def _checked_probabilities(bins: ArrayLike) -> Floats:
    probabilities = numbers_of(bins, "bins").astype(np.float64)
    if probabilities.ndim != 1 or not probabilities.size or not (probabilities >= 0).all():
        raise InvalidParameterError("bins must be a number of bins, or probabilities of 0 or more in one dimension.")
    if not abs(probabilities.sum() - 1) <= 1e-9:
        raise InvalidParameterError("bins must be probabilities that sum to 1; got another sum.")
    normalized: Floats = probabilities / probabilities.sum()
    return normalized


def _kinds(probabilities: Floats) -> tuple[BinClass, ...]:
    different, counts = np.unique(probabilities, return_counts=True)
    return tuple(BinClass(float(each), int(count)) for each, count in zip(different, counts, strict=True))


class _Loads:
    """Data of one evaluation: likely counts of each kind, frequencies, and thresholds of the maximum."""

    def __init__(self, balls: int, fullest: tuple[BinClass, ...], rest: float) -> None:
        from scipy.fft import next_fast_len

        self.balls, self.fullest, self.rest = balls, fullest, rest
        kinds = self.kinds = (*fullest, BinClass(rest, 1, 0.0)) if rest > 0 else fullest
        nats = _LEFT_OUT + math.log(sum(kind.count for kind in kinds))
        self.windows = [window(balls, kind.probability, nats=nats) for kind in kinds]
        width = max(last - first + 1 for first, last in self.windows)
        reach = int(_ALIASING * math.sqrt(balls)) + 60
        self.size = int(next_fast_len(max(reach, width), real=True))
        self.at_sum = float(poisson(balls, float(balls)))

    def any_weights(self) -> float:
        """Expected maximum for any weights: the integral over t of Pr[maximum > t]."""
        thresholds = self._thresholds()
        within = self._chances(thresholds)
        steps = np.diff(thresholds)
        return float(thresholds[0] + ((1 - within[:-1]) * steps).sum())

    def common_weight(self) -> float:
        """Expected maximum for weights of 1, by a sum over all loads or over fewer nodes.

        Fewer nodes suffice where the terms of the sum are smooth.
        """
        first, last = self._range()
        nodes, weights = integer_quadrature(last - first, self._smoothness(first))
        within = self._chances((first + nodes).astype(np.float64))
        return first + float(((1 - within) * weights).sum())

    def expectation(self, worth: Callable[[Floats], Floats]) -> float:
        """Expected ``worth`` of the maximum for weights of 1, by a sum over all likely maxima.

        The sum is over the steps of ``worth``.
        """
        first, last = self._range()
        loads = np.arange(first, last + 1, dtype=np.float64)
        values = worth(loads)
        return float(values[0] + ((1 - self._chances(loads[:-1])) * np.diff(values)).sum())

    def _range(self) -> tuple[int, int]:
        """Smallest and largest load of the fullest bin that are likely enough to count."""
        windows = self.windows[: len(self.fullest)]
        beside = min(self.balls, self.windows[-1][1]) if self.rest else 0  # most balls in bins that are never fullest
        least = -(-(self.balls - beside) // sum(kind.count for kind in self.fullest))
        first = max(least, *(low - 1 for low, _ in windows))
        return first, min(self.balls, max(*(last for _, last in windows), first + 1))

    def _smoothness(self, first: int) -> float:
        """Number of successive m from ``first`` on over which Pr[maximum <= m] is smooth in m.

        If the rest could be empty when the maximum is ``first``, it blurs an edge.
        """
        count = sum(kind.count for kind in self.fullest)
        least = min(kind.probability for kind in self.fullest)
        if self.rest and first * count <= self.balls - self.windows[-1][0]:
            least = min(least, self.rest)
        return _BLOCK * math.sqrt(self.balls * least) / math.sqrt(2 * math.log(count) + 1)

    def _thresholds(self) -> Floats:
        """Thresholds in ascending order: a lower bound of the maximum, then all likely larger values."""
        each = list(zip(self.windows, self.fullest, strict=False))
        every = np.unique(
            np.concatenate([kind.offset + np.arange(low, high + 1) * kind.weight for (low, high), kind in each])
        )
        least = max(kind.offset + kind.weight * (low - 1) for (low, _), kind in each)
        if len(self.kinds) == len(self.fullest):  # least possible maximum if loads were real numbers
            shares = sum(kind.count / kind.weight for kind in self.fullest)
            least = max(least, (self.balls + sum(k.count * k.offset / k.weight for k in self.fullest)) / shares)
        least = min(max(least, *(kind.offset for kind in self.fullest)), every[-1])
        return np.concatenate(([least], every[np.searchsorted(every, least, side="right") :]))

    def _chances(self, thresholds: Floats) -> Floats:
        """Chance, for each threshold t, that weight times load is at most t in all bins."""
        largest = self._largest_frequency()
        work = float(largest) * sum(max(last - first + 1, thresholds.size) for first, last in self.windows)
        transforms = float(thresholds.size) * len(self.kinds) * self.size / _COST
        few = sum(kind.count for kind in self.kinds) <= _FEW_BINS
        transformed = transforms < work and (few or work > _MOST_WORK)
        work = transforms if transformed else work
        if work > _MOST_WORK:
            raise UnsupportedModelError(
                f"the exact expectation for {self.balls} balls in bins of {len(self.kinds)} kinds that may be the "
                f"fullest would take {work:.1e} steps; at most {_MOST_WORK:.0e} are feasible. Use fewer balls, or bins "
                "of fewer kinds."
            )
        if transformed:
            return self._by_transforms(thresholds, largest)
        total = np.zeros(thresholds.size)
        chunk = max(1, _CHUNK // max(thresholds.size, *(last - first + 1 for first, last in self.windows)))
        for start in range(0, largest + 1, chunk):
            frequencies = np.arange(start, min(start + chunk, largest + 1))
            total += self._terms(thresholds, frequencies) @ self._doubled(frequencies)
        return np.clip(total / (self.size * self.at_sum), 0.0, 1.0)

    def _doubled(self, frequencies: Integers) -> Floats:
        """Weight of each frequency: 2, but 1 for zero and for half of the circle.

        A weight of 2 counts the negative frequency too.
        """
        alone = (frequencies == 0) | (2 * frequencies == self.size)
        return np.where(alone, 1.0, 2.0)

    def _terms(self, thresholds: Floats, frequencies: Integers) -> Floats:
        """Real parts of the product of all centered characteristic functions; a row for each threshold."""
        angles = 2 * np.pi * frequencies / self.size
        shape = (thresholds.size, frequencies.size)
        log_size, phase = np.zeros(shape), np.zeros(shape)
        possible = np.ones(thresholds.size, dtype=np.bool_)
        for kind, (first, last) in zip(self.kinds, self.windows, strict=True):
            counts = np.arange(first, last + 1)
            mean = self.balls * kind.probability
            mass = poisson(counts, mean)
            turned = np.multiply.outer(counts - mean, angles)
            lost = np.cumsum(mass[:, None] * (2 * np.sin(turned / 2) ** 2 - 1j * np.sin(turned)), axis=0)
            beyond = np.append(np.cumsum(mass[::-1])[::-1][1:], 0.0)
            places = _places(thresholds, kind, first, last)
            possible &= places >= 0
            kept = np.maximum(places, 0)
            real, imaginary = -beyond[kept, None] - lost.real[kept], -lost.imag[kept]
            with np.errstate(divide="ignore"):
                if kind.count == 1:  # possibly the only small factor: its square would lose half of its digits
                    log_size += np.log(np.hypot(1 + real, imaginary))
                else:  # numpy's complex log1p would lose the digits of the real part
                    log_size += kind.count / 2 * np.log1p(real * (2 + real) + imaginary**2)
            phase += kind.count * np.arctan2(imaginary, 1 + real)
        return np.where(possible[:, None], np.exp(log_size) * np.cos(phase), 0.0)

    def _largest_frequency(self) -> int:
        """Largest frequency at which the product of characteristic functions may exceed 1e-18.

        For a unimodal truncated law |phi| <= mode / sin(angle / 2).
        """
        frequencies = np.arange(1, self.size // 2 + 1)
        log_sine = np.log(np.sin(np.pi * frequencies / self.size))
        log_bound = np.zeros(frequencies.size)
        for kind in self.kinds:
            mode = math.floor(self.balls * kind.probability)
            height = math.log(float(poisson(mode, self.balls * kind.probability)))
            log_bound += kind.count * np.minimum(0.0, height - log_sine)
        needed = np.flatnonzero(log_bound > math.log(_SMALLEST_TERM))
        return int(frequencies[needed[-1]]) if needed.size else 1

    def _by_transforms(self, thresholds: Floats, largest: int) -> Floats:
        """Chances as in `_chances`, by an FFT for each threshold and kind of bins."""
        from scipy.fft import rfft

        frequencies = np.arange(largest + 1)
        starts = sum(kind.count * first for kind, (first, _) in zip(self.kinds, self.windows, strict=True))
        shift = (self.balls - starts) % self.size
        phase = np.exp(2j * np.pi * (frequencies * shift % self.size) / self.size) * self._doubled(frequencies)
        masses = [
            poisson(np.arange(first, last + 1), self.balls * kind.probability)
            for kind, (first, last) in zip(self.kinds, self.windows, strict=True)
        ]
        places = np.array(
            [_places(thresholds, kind, *ends) for kind, ends in zip(self.kinds, self.windows, strict=True)]
        )
        out = np.zeros(thresholds.size)
        for row in np.flatnonzero((places >= 0).all(axis=0)).tolist():
            product = phase
            for kind, mass, place in zip(self.kinds, masses, places[:, row].tolist(), strict=True):
                product = product * np.asarray(rfft(mass[: place + 1], self.size))[: largest + 1] ** kind.count
            out[row] = product.sum().real
        return np.clip(out / (self.size * self.at_sum), 0.0, 1.0)


def _places(thresholds: Floats, kind: BinClass, first: int, last: int) -> Integers:
    """Index, in a window of counts, of the largest count within each threshold; -1 if there is none."""
    if kind.weight == 0:
        return np.full(thresholds.size, last - first)
    heights = kind.offset + np.arange(first, last + 1) * kind.weight
    return np.searchsorted(heights, thresholds, side="right").astype(np.int64) - 1
