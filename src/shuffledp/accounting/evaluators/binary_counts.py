"""Number of ones among shuffled binary reports: the exact privacy loss over all data sets.

A report is wrong with chance p = 1/(E+1), E = exp(epsilon0). If m of the other n-1 people hold 1, the ones among their
reports are T ~ Bin(m, 1-p) + Bin(n-1-m, p), and with e = exp(epsilon), for a victim who holds 1 instead of 0,

    delta_m = max_k A_m(k),    A_m(k) = a Pr[T = k] - (e-1) Pr[T > k],    a = (E-e)/(E+1).

The two directions of a data set are m and n-1-m, so the largest delta_m over all m is the exact one.

**Which k.** A_m(k+1) - A_m(k) = b Pr[T = k+1] - a Pr[T = k] with b = (E e - 1)/(E+1). So with r = b/a the best k is a
mode of the law of T tilted by r^T, which again is a sum of n-1 independent binary variables. Modes of such sums are
less than 1 away from the mean (Darroch 1964): two values of k to look at for each m, and one tilt for all m.

**Evaluation.** With t the tilted law and M = E[r^T], A_m(k) = M r^-k (a t(k) - (e-1) sum_{i>0} r^-i t(k+i)), where the
factors in the sum add up to at most a. Probabilities are sums over the N-th roots of unity, of which only the first
matter: the modulus of the characteristic function is at most exp(-2 V sin(w/2)^2) with V the variance of t. They count
t(k+N), t(k-N), ... as well, of which Bernstein's inequality leaves nothing. What is left out, and rounding, is added.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.evaluators.covered_counts import CoveredCounts, symmetric_channel
from shuffledp.accounting.numerics import SMALLEST, gaussian_epsilon, smallest_below
from shuffledp.core.table import Floats

_ROUNDING = 2.0**-53
_NEGLIGIBLE = 40.0  # e^-40 is below the rounding error of the sums
_BLOCK = 256  # data sets at once
Complexes = NDArray[np.complex128]


@dataclass(frozen=True, slots=True, kw_only=True)
class BinaryCounts:
    """Counts of ones among binary reports of loss ``epsilon0`` from ``users`` people, over all data sets."""

    epsilon0: float
    users: int

    def epsilon(self, delta: float) -> float:
        """Least epsilon, rounded up, at which the delta of every data set is at most ``delta``."""
        guess = gaussian_epsilon(2 * math.sinh(self.epsilon0 / 2) / math.sqrt(self.users), delta)
        return smallest_below(self.delta, level=delta, limit=self.epsilon0, guess=guess)

    def delta(self, epsilon: float) -> float:
        """Largest delta over all data sets, rounded up; 0 from epsilon0 on."""
        if epsilon >= self.epsilon0:
            return 0.0
        return min(max(float(each.max()) for each in self.deltas(epsilon)) + SMALLEST, 1.0)

    def curve(self, epsilons: Floats) -> Floats:
        """Largest delta over all data sets, rounded up, at many epsilons.

        Data sets are evaluated in a thousand blocks. Faster than `delta`. Of up to a thousand people a block is one
        data set; of 10,000 people blocks cost 1 in 2,000 of epsilon.
        """
        covered = CoveredCounts(channel=symmetric_channel(self.epsilon0), users=self.users, limit=self.epsilon0)
        return covered.curve(epsilons)

    def deltas(self, epsilon: float) -> Iterator[Floats]:
        """Delta of each data set, rounded up, for an epsilon below epsilon0.

        Data sets come in blocks of m, which may overlap.
        """
        growth, short = math.expm1(epsilon), -math.expm1(epsilon - self.epsilon0)
        gain, tilt = short / (1 + math.exp(-self.epsilon0)), (growth - math.expm1(-self.epsilon0)) / short
        counts = _TiltedCounts(self.epsilon0, tilt=tilt, others=self.users - 1)
        for ones in counts.blocks():
            here, above, at_next, above_next = counts.chances(ones)
            best = np.maximum(gain * here - growth * above, (gain * at_next - growth * above_next) / tilt)
            yield counts.scales(ones) * (np.maximum(best, 0.0) + gain * counts.errors(ones))


class _Report:
    """Binary report with its chance of 1 tilted by r.

    ``log_growth`` is log E[r^report] before the tilt.
    """

    def __init__(self, chance: float, tilt: float) -> None:
        growth = chance * (tilt - 1)
        self.chance = chance * tilt / (1 + growth)
        self.variance = self.chance * (1 - chance) / (1 + growth)
        self.log_growth = math.log1p(growth)

    def log_characteristic(self, frequencies: Floats) -> Complexes:
        """Log characteristic function log E[exp(iw report)], after tilting."""
        real, imaginary = 1 - 2 * self.chance * np.sin(frequencies / 2) ** 2, self.chance * np.sin(frequencies)
        return np.asarray(np.log(np.maximum(np.hypot(real, imaginary), SMALLEST)) + 1j * np.arctan2(imaginary, real))


class _TiltedCounts:
    """Tilted law of the count of ones, for each number of other people who hold 1.

    T is the count of ones, and m the number of other people who hold 1. Chances are evaluated near the mean of T.
    """

    def __init__(self, epsilon0: float, *, tilt: float, others: int) -> None:
        lie, truth = 1 / (1 + math.exp(epsilon0)), 1 / (1 + math.exp(-epsilon0))
        self.zero, self.one = _Report(lie, tilt), _Report(truth, tilt)
        self.others, self.log_tilt = others, math.log(tilt)
        most = others * max(self.zero.variance, self.one.variance)
        self.reach = 2 + math.ceil(_NEGLIGIBLE / 3 + math.sqrt((_NEGLIGIBLE / 3) ** 2 + 2 * _NEGLIGIBLE * most))
        self.block = min(_BLOCK, others + 1)
        frequencies = self._frequencies(np.array([0.0, others]))
        self.of_zero, self.of_one = (each.log_characteristic(frequencies) for each in (self.zero, self.one))
        steps = np.arange(self.block)[:, np.newaxis]
        self.steps = np.exp(steps * self.of_one + (self.block - 1 - steps) * self.of_zero)
        self.turns = np.exp(-1j * frequencies * np.arange(self.block + 1)[:, np.newaxis])
        weights = np.where(np.arange(len(frequencies)) % self.reach == 0, 0.5, 1.0) / self.reach
        decay = -(max(self.log_tilt, SMALLEST) + 1j * frequencies)
        above = weights * np.exp(decay) * np.expm1((self.reach - 1) * decay) / np.expm1(decay)
        self.kernel = np.stack([weights, above, weights * self.turns[1], above * self.turns[1]])

    def _frequencies(self, ones: Floats) -> Floats:
        """Frequencies at which the characteristic functions of the counts of ones are evaluated.

        Those of the first and the last m suffice for all between.
        """
        least, number = float(self.spreads(ones)[[0, -1]].min()), self.reach
        if least > _NEGLIGIBLE / 2:
            last = 2 * math.asin(math.sqrt(_NEGLIGIBLE / 2 / least)) / math.pi
            number = min(math.ceil(last * self.reach), self.reach)
        return np.arange(number + 1, dtype=np.float64) * np.float64(math.pi / self.reach)

    def blocks(self) -> Iterator[Floats]:
        """Blocks of numbers of people who hold 1, from 0 to the number of other people."""
        for first in range(0, self.others + 1, self.block):
            yield min(first, self.others + 1 - self.block) + np.arange(self.block, dtype=np.float64)

    def spreads(self, ones: Floats) -> Floats:
        """Variance of the count of ones, for each number of other people who hold 1."""
        return np.asarray(ones * self.one.variance + (self.others - ones) * self.zero.variance)

    def places(self, ones: Floats) -> Floats:
        """Mean count of ones, rounded down to k, for each number of other people who hold 1."""
        return np.asarray(np.floor(ones * self.one.chance + (self.others - ones) * self.zero.chance))

    def chances(self, ones: Floats) -> Floats:
        """Tilted chances of k ones, of more than k, of k + 1, and of more than k + 1 ones.

        k is the rounded mean count (`places`). Four rows, for each m. In those of more, each count that is i above has
        a factor of r^-i.
        """
        frequencies, places, rest = self._frequencies(ones), self.places(ones), self.others - ones[-1]
        used, turns = slice(len(frequencies)), (places - places[0]).astype(np.int64)
        first = np.exp(ones[0] * self.of_one[used] + rest * self.of_zero[used] - 1j * places[0] * frequencies)
        turned = first * self.steps[:, used] * self.turns[turns, used]
        return np.asarray((self.kernel[:, used] @ turned.T).real)

    def scales(self, ones: Floats) -> Floats:
        """Factors E[r^T] r^-k that undo the tilt, raised to cover the rounding of all factors."""
        growths = ones * self.one.log_growth + (self.others - ones) * self.zero.log_growth
        return np.asarray(np.exp(growths - self.places(ones) * self.log_tilt) * (1 + self._unit))

    def errors(self, ones: Floats) -> Floats:
        """Bounds on the rounding errors of `chances`.

        For the plain chance and for the chance with factors. Each frequency has an error in proportion to its modulus,
        of which the mean is at most sqrt(pi / 8V) + 1/N.
        """
        mean = np.minimum(
            1.0, math.sqrt(math.pi / 8) / np.sqrt(np.maximum(self.spreads(ones), SMALLEST)) + 1 / self.reach
        )
        return np.asarray(2 * self._unit * mean + 6 * math.exp(-_NEGLIGIBLE))

    @property
    def _unit(self) -> float:
        growth = self.zero.log_growth + self.one.log_growth + self.log_tilt
        return 4 * _ROUNDING * (self.others * (growth + 4) + 100)
