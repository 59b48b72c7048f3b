"""How full the fullest of several bins gets, on average: what a shuffled table tells about one person, in one number.

n balls fall into bins independently. Given that independent Poisson counts add up to n, they are the loads; so

    P(all loads at most m) = P(all Poisson counts at most m, and their sum is n) / P(Poisson(n) = n),

and the numerator is one Fourier sum over products of truncated characteristic functions.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp import _validate
from shuffledp.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.leakage._counts import NEGLIGIBLE, binomial, central_binomial, poisson, window
from shuffledp.leakage.scores import numbers_of

__all__ = ["Cells", "binary_vulnerability", "expected_largest", "expected_max_load"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Complex = NDArray[np.complex128]

_MOST_BALLS = 10**10
_ALIASING = 9.0  # standard deviations around a circle: what comes around is below exp(-40)
_LEFT_OUT = 38.0  # nats: what a window of counts leaves out, and how rarely a maximum exceeds the last that is tried
_NODES = 16
_BLOCK = 1.5  # of smooth sums over m, in units of the spread of the maximum
_CHUNK = 2_000_000  # complex numbers held at a time
_DIRECT_WORK = 40_000_000  # terms of a sum over frequencies and counts; beyond, an FFT for each m
_MOST_WORK = 2_000_000_000
_SMALLEST_TERM = 1e-18


@dataclass(frozen=True, slots=True)
class Cells:
    """Bins of one kind: how likely a ball falls into each, how many there are, and what a ball in one counts."""

    probability: float
    count: int
    weight: float = 1.0


def expected_max_load(balls: int, bins: "int | ArrayLike") -> float:
    """The expected number of balls in the fullest bin.

    The time is well below a second for most numbers, and about one for a billion balls in three to twenty bins.

    Guarantees:
        1. Right to a relative 1e-12, and so is the excess over ``balls / bins`` to about 1e-9.

    Args:
        balls: n, from 0 to 10^10.
        bins: k, 1 or more, for bins that are equally likely; or the probabilities of the bins, which sum to 1.

    Raises:
        InvalidParameterError: if an argument is out of range.
        UnsupportedModelError: if bins are of so many kinds that the sum would take too long.

    References:
        Jurado et al. 2023, equations (15) and (16), which say that it is infeasible. Fast evaluation is our own.

    Example:
        >>> round(expected_max_load(1_000_000, 10_000), 9)
        140.754236659
    """
    _validate.integer_at_least(0, balls=balls)
    if balls > _MOST_BALLS:
        raise _validate.invalid(f"at most {_MOST_BALLS}", balls=balls)
    if np.ndim(bins) == 0:
        _validate.integer_at_least(1, bins=bins)
        count = int(bins)  # type: ignore[arg-type]
        return expected_largest(int(balls), (Cells(1 / count, count),))
    return expected_largest(int(balls), _kinds(_checked_probabilities(bins)))


def binary_vulnerability(num_users: int, truth_probability: "float | Fraction") -> "float | Fraction":
    """How often the best guess about one bit is right, after randomized response and a uniform shuffle.

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
    _validate.integer_at_least(1, num_users=num_users)
    _validate.probability(truth_probability=truth_probability)
    if truth_probability < 0.5:
        raise _validate.invalid("from 1/2 to 1", truth_probability=truth_probability)
    if isinstance(truth_probability, Fraction):
        if num_users > 100_000:
            raise _validate.invalid("at most 100000 for an exact fraction; give a float", num_users=num_users)
        ways = Fraction(math.comb(num_users - 1, num_users // 2), 2**num_users)
        return Fraction(1, 2) + (2 * truth_probability - 1) * ways
    return 0.5 + (2 * truth_probability - 1) * central_binomial(int(num_users) // 2) / 2


def expected_largest(balls: int, kinds: tuple[Cells, ...]) -> float:
    """The expected largest of weight times load over all bins.

    Args:
        balls: 0 or more.
        kinds: the kinds of bins, of probabilities that sum to 1 and weights of 0 or more.

    Raises:
        UnsupportedModelError: if the sum would take too long.
    """
    kinds = tuple(kind for kind in kinds if kind.probability > 0)
    if balls == 0 or all(kind.weight == 0 for kind in kinds):
        return 0.0
    weights = {kind.weight for kind in kinds}
    if len(weights) == 1:
        (weight,) = weights
        return weight * _Loads(balls, tuple(Cells(kind.probability, kind.count) for kind in kinds)).common_weight()
    return _Loads(balls, kinds).any_weights()


def _checked_probabilities(bins: ArrayLike) -> Floats:
    probabilities = numbers_of(bins, "bins").astype(np.float64)
    if probabilities.ndim != 1 or not probabilities.size or not (probabilities >= 0).all():
        raise InvalidParameterError("bins must be a number of bins, or probabilities of 0 or more in one dimension.")
    if not abs(probabilities.sum() - 1) <= 1e-9:
        raise InvalidParameterError(f"bins must be probabilities that sum to 1; got a sum of {probabilities.sum()}.")
    normalized: Floats = probabilities / probabilities.sum()
    return normalized


def _kinds(probabilities: Floats) -> tuple[Cells, ...]:
    different, counts = np.unique(probabilities, return_counts=True)
    return tuple(Cells(float(each), int(count)) for each, count in zip(different, counts, strict=True))


class _Loads:
    """One evaluation: the counts of each kind that matter, the frequencies, and the thresholds of the maximum."""

    def __init__(self, balls: int, kinds: tuple[Cells, ...]) -> None:
        from scipy.fft import next_fast_len

        self.balls, self.kinds = balls, kinds
        nats = _LEFT_OUT + math.log(sum(kind.count for kind in kinds))
        self.windows = [window(balls, kind.probability, nats=nats) for kind in kinds]
        width = max(last - first + 1 for first, last in self.windows)
        reach = int(_ALIASING * math.sqrt(balls)) + 60
        self.size = int(next_fast_len(max(reach, width), real=True))
        self.at_sum = float(poisson(balls, float(balls)))

    def any_weights(self) -> float:
        """The integral of the chance that the maximum exceeds t."""
        thresholds = self._thresholds()
        within = self._chances(thresholds)
        steps = np.diff(thresholds)
        return float(thresholds[0] + ((1 - within[:-1]) * steps).sum())

    def common_weight(self) -> float:
        """For weights of 1: a sum over all integers m, or over nodes of blocks in which its terms are smooth."""
        (kind, *others), balls = self.kinds, self.balls
        if not others and kind.count <= 2:
            return balls * (1.0 if kind.count == 1 else 0.5 + central_binomial(balls // 2) / 2)
        first, last = self._range()
        nodes, weights = integer_quadrature(last - first, self._smoothness())
        within = self._chances((first + nodes).astype(np.float64))
        return first + float(((1 - within) * weights).sum())

    def _range(self) -> tuple[int, int]:
        """From the least m that has a chance, to one that is hardly ever exceeded."""
        first = -(-self.balls // sum(kind.count for kind in self.kinds))
        for kind in self.kinds:
            if kind.count > 2 * NEGLIGIBLE:
                first = max(first, self._surely_exceeded(kind))
        return first, min(self.balls, max(*(last for _, last in self.windows), first + 1))

    def _surely_exceeded(self, kind: Cells) -> int:
        """A load that all bins of a kind keep to with probability exp(-46) at most: loads are negatively associated."""
        low, high = window(self.balls, kind.probability)
        counts = np.arange(low, min(high, self.balls) + 1)
        beyond = np.cumsum(binomial(counts, self.balls, kind.probability)[::-1])[::-1]  # P(load >= count)
        return max(low, int(counts[np.searchsorted(-beyond, -NEGLIGIBLE / kind.count, side="right") - 1]) - 1)

    def _smoothness(self) -> float:
        """Over how many integers the chance of a maximum of at most m is smooth; 0 where kinds differ."""
        if len(self.kinds) > 1:
            return 0.0
        mean = self.balls * self.kinds[0].probability
        return _BLOCK * math.sqrt(mean) / math.sqrt(2 * math.log(self.kinds[0].count) + 1)

    def _thresholds(self) -> Floats:
        """All values that the maximum can take, from a lower bound of it on."""
        least = self.balls / sum(kind.count / kind.weight for kind in self.kinds if kind.weight)
        least = least if all(kind.weight for kind in self.kinds) else 0.0
        values = [
            np.arange(first, last + 1) * kind.weight
            for (first, last), kind in zip(self.windows, self.kinds, strict=True)
            if kind.weight
        ]
        every = np.unique(np.concatenate(values))
        return np.concatenate(([0.0], every)) if least == 0 else every[max(np.searchsorted(every, least) - 1, 0) :]

    def _chances(self, thresholds: Floats) -> Floats:
        """P(weight times load is at most t for all bins), for each threshold t."""
        largest = self._largest_frequency()
        work = largest * sum(max(last - first + 1, thresholds.size) for first, last in self.windows)
        if work > _DIRECT_WORK and len(self.kinds) == 1:
            return self._by_transforms(thresholds, largest)
        if work > _MOST_WORK:
            raise UnsupportedModelError(
                f"the exact expectation for {self.balls} balls in {len(self.kinds)} kinds of bins would take "
                f"{work:.1e} steps; at most {_MOST_WORK:.0e} are feasible. Use fewer balls, or method='monte-carlo'."
            )
        total = np.zeros(thresholds.size)
        chunk = max(1, _CHUNK // max(thresholds.size, *(last - first + 1 for first, last in self.windows)))
        for start in range(0, largest + 1, chunk):
            frequencies = np.arange(start, min(start + chunk, largest + 1))
            total += self._terms(thresholds, frequencies) @ self._doubled(frequencies)
        return np.clip(total / (self.size * self.at_sum), 0.0, 1.0)

    def _doubled(self, frequencies: Integers) -> Floats:
        """Each frequency stands for its negative too, except for 0 and half of all."""
        alone = (frequencies == 0) | (2 * frequencies == self.size)
        return np.where(alone, 1.0, 2.0)

    def _terms(self, thresholds: Floats, frequencies: Integers) -> Floats:
        """The real parts of the product of all centered characteristic functions; a row for each threshold."""
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
            places = _places(thresholds, kind.weight, first, last)
            possible &= places >= 0
            kept = np.maximum(places, 0)
            real, imaginary = -beyond[kept, None] - lost.real[kept], -lost.imag[kept]
            with np.errstate(divide="ignore"):
                if kind.count == 1:  # may be the only small factor, whose square would lose half of its digits
                    log_size += np.log(np.hypot(1 + real, imaginary))
                else:  # numpy's complex log1p would lose the digits of the real part
                    log_size += kind.count / 2 * np.log1p(real * (2 + real) + imaginary**2)
            phase += kind.count * np.arctan2(imaginary, 1 + real)
        return np.where(possible[:, None], np.exp(log_size) * np.cos(phase), 0.0)

    def _largest_frequency(self) -> int:
        """Beyond it no product is above 1e-18: a unimodal truncated law has |phi| <= its mode / sin(angle / 2)."""
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
        """The same for bins of one kind, by an FFT for each threshold."""
        from scipy.fft import rfft

        (kind,), ((first, last),) = self.kinds, self.windows
        mass = poisson(np.arange(first, last + 1), self.balls * kind.probability)
        frequencies = np.arange(largest + 1)
        shift = (self.balls - kind.count * first) % self.size
        phase = np.exp(2j * np.pi * (frequencies * shift % self.size) / self.size) * self._doubled(frequencies)
        out, filled, kept = np.zeros(thresholds.size), np.zeros(self.size), 0
        places = _places(thresholds, kind.weight, first, last)
        for row in np.argsort(places).tolist():
            if places[row] >= 0:
                filled[kept : places[row] + 1] = mass[kept : places[row] + 1]
                kept = places[row] + 1
                out[row] = (_power(rfft(filled)[: largest + 1], kind.count) @ phase).real
        return np.clip(out / (self.size * self.at_sum), 0.0, 1.0)


def _places(thresholds: Floats, weight: float, first: int, last: int) -> Integers:
    """The place, in a window of counts, of the largest count within each threshold; -1 if there is none."""
    if weight == 0:
        return np.full(thresholds.size, last - first)
    allowed = np.searchsorted(np.arange(first, last + 1) * weight, thresholds, side="right") - 1
    return allowed.astype(np.int64)


def _power(base: Complex, exponent: int) -> Complex:
    """An integer power, 1 or more, by squaring, faster than the general one."""
    if exponent == 1:
        return base
    half = _power(base, exponent // 2)
    power: Complex = half * half if half is base else np.multiply(half, half, out=half)
    return np.multiply(power, base, out=power) if exponent & 1 else power


def integer_quadrature(count: int, smoothness: float) -> tuple[Integers, Floats]:
    """Places and weights that sum a function over 0, ..., count - 1, if it is smooth over blocks of that length.

    Blocks have 16 rounded Chebyshev nodes, with weights that are exact for polynomials of degree 15 summed over the
    integers of the block. Blocks that are hardly longer are summed in full.
    """
    length = int(min(smoothness, count))
    if length < 2 * _NODES:
        return np.arange(count), np.ones(count)
    whole = count // length
    nodes, weights = _block_rule(length)
    starts = length * np.arange(whole)
    places = [(starts[:, None] + nodes).ravel(), np.arange(whole * length, count)]
    left = places[1].size
    if left >= 2 * _NODES:
        last_nodes, last_weights = _block_rule(left)
        places[1] = whole * length + last_nodes
    else:
        last_weights = np.ones(left)
    return np.concatenate(places), np.concatenate([np.tile(weights, whole), last_weights])


def _block_rule(length: int) -> tuple[Integers, Floats]:
    angles = (np.arange(_NODES) + 0.5) * np.pi / _NODES
    nodes = np.round((1 - np.cos(angles)) * (length - 1) / 2).astype(np.int64)
    polynomials = np.polynomial.chebyshev.chebvander(2 * np.arange(length) / (length - 1) - 1, _NODES - 1)
    weights: Floats = np.linalg.solve(polynomials[nodes].T, polynomials.sum(axis=0))
    return nodes, weights
